"""What every experiment is given: sizes, files of problems, and ways to run an adapter."""

import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from problems.data_sets import load
from protocol import AdapterError, call

BATCH = 1000
TOY = {"init_size": 128, "batch_size": 64, "max_iter": 3}


@dataclass
class Context:
    """Where things are and how large to make them.

    Parameters
    ----------
    data : Path or None
    peers : dict
        Interpreter of each peer's environment, by "gpflow" and "gpytorch".
    seconds : float
        Training time of peers, and our longest, on the curves.
    splits : int
        Of the standard splits of the UCI sets.
    smoke : bool
    folder : Path
        For files that live as long as the run.
    keep : Path or None
        File of the rivals' records that need not be made again, for measures without a clock.
    """

    data: Path | None
    peers: dict
    seconds: float
    splits: int
    smoke: bool
    folder: Path
    keep: Path | None = None
    notes: list = field(default_factory=list)

    def size(self, full, toy):
        return toy if self.smoke else full

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
        return call(sys.executable, adapter, task, paths, **options)

    def run_peer(self, adapter, task, *paths, **options):
        """The same in the interpreter of the library that begins the adapter's name.

        No records where the library is absent, and a note where it breaks.
        """
        library = adapter.removeprefix("peers/").partition("_")[0]
        if library not in self.peers:
            return []
        try:
            return call(self.peers[library], adapter, task, paths, **options)
        except AdapterError as error:
            self.notes.append(str(error))
            return []

    def kept(self, key, make):
        """A rival's record of an earlier run, or a new one, kept unless there is none."""
        if self.keep is None:
            return make()
        records = json.loads(self.keep.read_text()) if self.keep.exists() else {}
        if key not in records:
            made = make()
            if made is None:
                return None
            records[key] = made
            self.keep.write_text(json.dumps(records, indent=1))
        return records[key]
