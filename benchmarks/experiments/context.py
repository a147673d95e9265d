"""What every experiment is given: sizes, files of problems, and ways to run an adapter."""

import sys
import time
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from problems.data_sets import load
from protocol import AdapterError, call

BATCH = 1000
TOY = {"init_size": 128, "batch_size": 64, "max_iter": 3}
FEW = {"max_iter": 3, "max_time": 1}  # of toys whose other parameters are the defaults


NOT_RUN = "not run"
FAILED = "failed"


@dataclass(frozen=True)
class Said:
    """What a peer answered.

    Parameters
    ----------
    records : list of dict
    why_not : str
        Why there are no records, or not all: "not run", "failed", or after how many seconds the
        call was ended.
    """

    records: list
    why_not: str = ""


@dataclass
class Context:
    """Where things are and how large to make them.

    Parameters
    ----------
    data : Path or None
    peers : dict
        Interpreter of each peer's environment, by the library that begins its adapters' names.
    seconds : float
        Training time of peers, and our longest, on the curves.
    splits : int
        How many of the splits of a data set are taken, where it has several.
    smoke : bool
    folder : Path
        For files that live as long as the run.
    stored : dict
        Experiments that this run or an earlier one has stored, by name.
    limit : float
        Seconds that an experiment may take, whatever its own limit.
    quick : bool
        Whether experiments on many tables take few of them.
    """

    data: Path | None
    peers: dict
    seconds: float
    splits: int
    smoke: bool
    folder: Path
    stored: dict = field(default_factory=dict)
    limit: float = float("inf")
    quick: bool = False
    notes: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    _end: float = float("inf")

    def begin(self, limit):
        """A new experiment, which ends in so many seconds."""
        self.notes, self.calls = [], []
        self._end = time.monotonic() + min(limit, self.limit)

    def seconds_left(self):
        """Of the experiment."""
        return self._end - time.monotonic()

    def longest_call(self):
        """Seconds that a rival's call may take: half of what is left, so that others follow."""
        return 0.5 * max(0.0, self.seconds_left())

    def size(self, full, toy):
        return toy if self.smoke else full

    def lacks(self, *packages):
        """Return whether one of the packages is not installed, which is noted."""
        absent = [one for one in packages if not find_spec(one)]
        if absent:
            self.notes.append(f"not run: pip install {' '.join(absent)}")
        return bool(absent)

    def options(self, **full):
        """Parameters of `SVGPRegressor`: the defaults and those given, or a toy's."""
        if not self.smoke:
            return full
        full["n_inducing"] = min(full.get("n_inducing", 20), 20)
        full["max_time"] = min(full.get("max_time", 0.3), 0.3)
        return {**full, **TOY}

    def problem(self, name, split=0, n_inducing=None):
        """File of a problem, written at its first use."""
        path = self.folder / f"{name}-{split}-{n_inducing}.npz"
        if not path.exists():
            problem = load(name, self.data, split, self.smoke)
            if n_inducing is not None:
                from ours.internals import default_inducing  # slow, and of no use to --report

                Z = default_inducing(problem.X, self.size(n_inducing, 20))
                problem = replace(problem, Z=Z)
            problem.save(path)
        return path

    def run(self, adapter, task, *paths, **options):
        """Records of a task in this interpreter, which has scikit-learn and `sklearn_sgp`.

        Parameters
        ----------
        adapter : str
            "ours/..." or "peers/sklearn_...".
        task : str
        *paths : Path
            Problems; the task runs once for each.
        **options
            Keyword arguments of the task.

        Returns
        -------
        records : list of dict
        """
        return self._call(sys.executable, adapter, task, paths, options)

    def run_peer(self, adapter, task, *paths, **options):
        """The same in the interpreter of the library that begins the adapter's name.

        No records where the library is absent, and a note where it breaks or is cut off.
        """
        return self.ask_peer(adapter, task, *paths, **options).records

    def ask_peer(self, adapter, task, *paths, limit=float("inf"), **options):
        """Records of `run_peer`, and why there are none, or not all.

        Parameters
        ----------
        limit : float
            Seconds after which the call is ended, at most.
        adapter, task, *paths, **options
            As of `run`.

        Returns
        -------
        said : Said
        """
        python = self.interpreter(adapter)
        if python is None:
            return Said([], NOT_RUN)
        try:
            records = self._call(python, adapter, task, paths, options, limit)
        except AdapterError as error:
            self.notes.append(str(error))
            return Said([], FAILED)
        if not self.calls[-1]["cut_off"]:
            return Said(records)
        return Said(records, f"not done after {self.calls[-1]['seconds']:,.0f} s")

    def interpreter(self, adapter):
        """Of the environment of a peer's library, or None; scikit-learn's is this one."""
        library = adapter.removeprefix("peers/").partition("_")[0]
        return sys.executable if library == "sklearn" else self.peers.get(library)

    def _call(self, python, adapter, task, paths, options, limit=float("inf")):
        """Records of a call, which is noted with how far it was allowed to go.

        A rival gets at most half of the time that is left, so that others have their turn. What it
        wrote until then counts; ours must come to its end.
        """
        is_rival = adapter.startswith("peers/")
        limit = min(limit, self.longest_call() if is_rival else max(0.0, self.seconds_left()))
        answer = call(python, adapter, task, paths, limit=None if limit > 1e9 else limit, **options)
        made = {"adapter": adapter.partition("/")[2], "task": task, "problems": len(paths)}
        made |= {"allowed": answer.allowed if is_rival else options, "rival": is_rival}
        self.calls.append({**made, "seconds": answer.seconds, "cut_off": answer.cut_off})
        if answer.cut_off:
            said = f"{adapter} {task} was cut off after {answer.seconds:.0f} s"
            if not is_rival:
                raise AdapterError(said)
            self.notes.append(f"{said}; what it wrote until then counts")
        return answer.records
