"""What is run for each group of measures; what comes out is plain data.

An experiment takes a `Context` and returns a dict: ``values`` (ours, by key), ``peers`` (by key and
library, in the same run), ``curves`` (by library), and ``details``. measures.py says which
values are asked for and what they must be.
"""

import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import problems
from protocol import AdapterError, call

# Seconds for which our curves are fitted, each from scratch: what `max_time` gives a user.
BUDGETS = (2, 3, 4.5, 7, 11, 16, 22, 28, 60)
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
            problem = problems.load(name, self.data, split, self.smoke)
            if n_inducing is not None:
                problem = problems.with_inducing(problem, self.size(n_inducing, 20))
            problem.save(path)
        return path

    def ours(self, task, *paths, adapter="ours", **options):
        return call(sys.executable, adapter, task, paths, **options)

    def peer(self, library, task, *paths, adapter=None, **options):
        """Records of a peer; none where it is absent, and a note where it breaks."""
        if library not in self.peers:
            return []
        try:
            return call(self.peers[library], adapter or library, task, paths, **options)
        except AdapterError as error:
            self.notes.append(str(error))
            return []

    def kept(self, key, make):
        """A record of an earlier run, or a new one, which is kept unless there is none."""
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


def seconds_to(curve, nlpd):
    """Training seconds at the first point of a curve with at most this NLPD, or None."""
    return next((point["seconds"] for point in curve if point["nlpd"] <= nlpd), None)


def _curves(context, name, n_inducing, rivals, thresholds, last_budget=90):
    """Test scores against seconds, ours and the peers', and the seconds to thresholds.

    Our curve ends at ``last_budget``, the peers' at the seconds they are given.

    Parameters
    ----------
    rivals : dict
        Name on the picture: library, options of its ``curve``.
    thresholds : dict
        Key of a value: NLPD, or the name of the rival whose last NLPD it is.
    """
    budgets = context.size([*BUDGETS, last_budget], [0.1, 0.3])
    path = context.problem(name, n_inducing=n_inducing)
    curves = {
        "ours": context.ours(
            "curve", path, budgets=budgets, **context.options(n_inducing=n_inducing)
        )
    }
    for rival, (library, options) in rivals.items():
        curves[rival] = context.peer(library, "curve", path, seconds=context.seconds, **options)
    values, peers = dict(curves["ours"][-1]), defaultdict(dict)
    for key, nlpd in thresholds.items():
        if isinstance(nlpd, str):
            if not curves.get(nlpd):
                continue
            nlpd = curves[nlpd][-1]["nlpd"]
        values[key] = seconds_to(curves["ours"], nlpd)
        for rival in rivals:
            if curves[rival]:
                peers[key][rival] = seconds_to(curves[rival], nlpd)
    for rival in rivals:
        if curves[rival]:
            peers["nlpd"][rival] = curves[rival][-1]["nlpd"]
            peers["rmse"][rival] = curves[rival][-1]["rmse"]
    return {"values": values, "peers": dict(peers), "curves": curves}


STOCHASTIC_RIVALS = {
    "GPflow SVGP": ("gpflow", {"model": "svgp"}),
    "GPyTorch SVGP": ("gpytorch", {}),
}


def synthetic(context):
    thresholds = {
        "to_0.104": 0.104,
        "to_0.091": 0.091,
        "to_gpflow": "GPflow SVGP",
        "to_gpytorch": "GPyTorch SVGP",
    }
    return _curves(context, "synthetic", 500, STOCHASTIC_RIVALS, thresholds)


def kin40k(context):
    rivals = {
        "GPflow SGPR": ("gpflow", {"model": "sgpr"}),
        "GPyTorch SVGP": ("gpytorch", {}),
    }
    thresholds = {"to_-0.349": -0.349, "to_gpflow": "GPflow SGPR"}
    return _curves(context, "kin40k", 512, rivals, thresholds, last_budget=120)


def airline_speed(context):
    thresholds = {
        "to_1.334": 1.334,
        "to_gpflow": "GPflow SVGP",
        "to_gpytorch": "GPyTorch SVGP",
    }
    return _curves(context, "airline_720k", 500, STOCHASTIC_RIVALS, thresholds)


def house_prices(context):
    return _curves(context, "uk_house_price", 500, STOCHASTIC_RIVALS, {})


def airline_accuracy(context):
    path = context.problem("airline")
    options = context.options(n_inducing=1000, max_time=540)
    (ours,) = context.ours("fit", path, **options)
    boosted = context.ours("boosting", path, adapter="sklearn", trees=context.size([100, 200], [5]))
    best = min(boosted, key=lambda record: record["nlpd"])
    values = {
        "rmse": ours["rmse_in_units"],
        "log_density_gain": best["nlpd"] - ours["nlpd"],
        "coverage": ours["coverage"],
        "seconds": ours["seconds"],
    }
    peers = {"rmse": {"boosting": best["rmse_in_units"]}, "seconds": {"boosting": best["seconds"]}}
    return {"values": values, "peers": peers, "details": {"ours": ours, "boosting": boosted}}


def uci_small(context):
    """Against the exact GP with the same kernel, paired over the splits."""
    names = context.size(["concrete", "energy", "wine_red", "yacht"], ["concrete"])
    return _paired(
        context,
        names,
        context.options(n_inducing=256),
        lambda path: context.ours("fit", path, adapter="sklearn"),
        "exact GP",
    )


def uci_large(context):
    """Against GPflow's SGPR at the same number of inducing inputs, paired over the splits."""
    names = context.size(["power_plant", "kin8nm"], ["power_plant"])
    return _paired(
        context,
        names,
        context.options(n_inducing=512),
        lambda path: context.peer("gpflow", "fit", path),
        "GPflow SGPR",
        n_inducing=512,
    )


def _paired(context, names, options, rival, rival_name, n_inducing=None):
    values, peers, details = {}, defaultdict(dict), {}
    for name in names:
        paths = [
            context.problem(name, split, n_inducing)
            for split in range(context.size(context.splits, 1))
        ]
        ours = context.ours("fit", *paths, **options)
        theirs = [
            context.kept(f"{rival_name}, {name}, split {split}", partial(only, rival, path))
            for split, path in enumerate(paths)
        ]
        theirs = theirs if all(theirs) else []
        details[name] = {"ours": ours, rival_name: theirs}
        mean = _means(ours)
        values[f"{name}_log_density"] = -mean["nlpd"]
        values[f"{name}_coverage"] = mean["coverage"]
        values[f"{name}_worst_rmse"] = max(record["rmse"] for record in ours)
        if theirs:
            difference = [b["nlpd"] - a["nlpd"] for a, b in zip(ours, theirs, strict=True)]
            values[f"{name}_gain"] = float(np.mean(difference))
            peers[f"{name}_log_density"][rival_name] = -_means(theirs)["nlpd"]
    return {"values": values, "peers": dict(peers), "details": details}


def only(rival, path):
    """The rival's record for one problem, or None."""
    return next(iter(rival(path)), None)


def _means(records):
    keys = ("nlpd", "rmse", "coverage")
    return {key: float(np.mean([record[key] for record in records])) for key in keys}


def california(context):
    path = context.problem("california_housing")
    (ours,) = context.ours("fit", path, **context.options(n_inducing=512))
    return {"values": ours}


def noise_floor(context):
    path = context.problem("noise_floor", n_inducing=256)
    (ours,) = context.ours("fit", path, **context.options(n_inducing=256))
    peers = defaultdict(dict)
    for rival, (library, options) in STOCHASTIC_RIVALS.items():
        seconds = min(60, context.seconds)
        points = context.peer(library, "curve", path, seconds=seconds, **options)
        if points:
            peers["nlpd"][rival], peers["rmse"][rival] = points[-1]["nlpd"], points[-1]["rmse"]
    return {"values": ours, "peers": dict(peers)}


def micro(context):
    """Parts of a fit and predictions, m = 500, batch 1000, d = 8, float64."""
    path = context.problem("synthetic", n_inducing=500)
    repeats = context.size(200, 3)
    rows = context.size(8000, 200)
    records = context.ours(
        "micro", path, adapter="inside", batch_size=context.size(BATCH, 64),
        evaluation_rows=rows, repeats=repeats, noise_variance=problems.NOISE_STD**2,
        length_scale=problems.STANDARDISED_LENGTH_SCALES.tolist(),
    )  # fmt: skip
    machine, parts = records[0], records[1:]
    values, peers = {"peak_gflops": machine["peak_gflops"]}, defaultdict(dict)
    for part in parts:
        key = f"{part['part']} {part['form']}"
        values[key] = part["seconds"]
        for kind in ("owed", "done"):
            needed = part[f"gflop_{kind}"] / machine["peak_gflops"]
            part[f"share_{kind}"] = needed / part["seconds"]
    for record in context.peer("gpflow", "micro", path, repeats=repeats, evaluation_rows=rows):
        for form in ("direct", "whitened"):
            peers[f"{record['part']} {form}"]["GPflow"] = record["seconds"]
    for record in context.peer("gpytorch", "micro", path, repeats=repeats):
        for form in ("direct", "whitened"):
            peers[f"{record['part']} {form}"][f"GPyTorch {record['dtype']}"] = record["seconds"]
    return {"values": values, "peers": dict(peers), "details": {"machine": machine, "parts": parts}}


def predict(context):
    """Rows per second of mean and standard deviation, in chunks of 1,024 rows."""
    path = context.problem("synthetic", n_inducing=500)
    rows, chunk = context.size(40 * 1024, 512), 1024
    (ours,) = context.ours("predict", path, rows=rows)
    values, rates = {"rows_per_second": ours["rows_per_second"]}, {}
    for record in context.peer("gpflow", "predict", path, rows=rows, chunk=chunk):
        rates[f"GPflow {record['way']}"] = record["rows_per_second"]
        values[f"times_{record['way']}"] = ours["rows_per_second"] / record["rows_per_second"]
    for record in context.peer("gpytorch", "predict", path, rows=rows, chunk=chunk):
        rates["GPyTorch"] = record["rows_per_second"]
    return {"values": values, "peers": {"rows_per_second": rates}}


def memory(context):
    """10 million rows in a memory map."""
    n, d = context.size(10_000_000, 20_000), 8
    paths = {name: context.folder / f"{name}.float32" for name in ("X", "y")}
    X = np.memmap(paths["X"], dtype=np.float32, mode="w+", shape=(n, d))
    y = np.memmap(paths["y"], dtype=np.float32, mode="w+", shape=(n,))
    rng = np.random.default_rng(0)
    for lo in range(0, n, 1_000_000):
        rows = slice(lo, min(n, lo + 1_000_000))
        X[rows] = rng.random((rows.stop - lo, d), dtype=np.float32)
        y[rows] = np.sin(6.0 * X[rows, 0]) + X[rows, 1] * X[rows, 2]
        y[rows] += 0.3 * rng.standard_normal(rows.stop - lo, dtype=np.float32)
    X.flush()
    y.flush()
    del X, y
    (record,) = context.ours(
        "memory", X=str(paths["X"]), y=str(paths["y"]), shape=[n, d],
        predict_rows=context.size(1_000_000, 2000),
        **context.options(n_inducing=256, max_time=120),
    )  # fmt: skip
    for path in paths.values():
        path.unlink()
    return {"values": record}


_STARTUP = """
import json, time
begin = time.perf_counter()
{imports}
imported = time.perf_counter() - begin
import numpy as np
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (300, 2))
y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(300)
fits = []
for _ in range({fits}):
    begin = time.perf_counter()
    {fit}
    fits.append(time.perf_counter() - begin)
print(json.dumps(dict(imported=imported, first=fits[0], later=float(np.median(fits[1:])))))
"""
_STARTUPS = {
    "ours": {
        "imports": "from sklearn_sgp import SVGPRegressor",
        "fit": "SVGPRegressor(n_inducing=30, random_state=0).fit(X, y)",
    },
    "exact GP": {
        "imports": "from sklearn.gaussian_process import GaussianProcessRegressor\n"
        "from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel",
        "fit": "GaussianProcessRegressor(ConstantKernel() * RBF([1.0, 1.0]) + WhiteKernel(0.1), "
        "normalize_y=True).fit(X, y)",
    },
}


def startup(context):
    """Import, and fits of 300 x 2 rows, each in a fresh interpreter."""
    runs, fits = defaultdict(list), context.size(6, 2)
    for _ in range(context.size(6, 1)):
        for name, code in _STARTUPS.items():
            runs[name].append(_interpreter(_STARTUP.format(fits=fits, **code)))
    # the first finds cold disk caches
    warm = {name: some[len(some) > 1 :] for name, some in runs.items()}
    medians = {
        name: {key: float(np.median([run[key] for run in some])) for key in some[0]}
        for name, some in warm.items()
    }
    ours, exact = medians["ours"], medians["exact GP"]
    values = {
        "import_extra": ours["imported"] - exact["imported"],
        "first_fit": ours["first"],
        "later_fit": ours["later"],
        "first_fit_share": ours["first"] / exact["first"],
        "later_fit_share": ours["later"] / exact["later"],
    }
    peers = {f"{key}_fit": {"exact GP": exact[key]} for key in ("first", "later")}
    return {"values": values, "peers": peers, "details": medians}


def _interpreter(code):
    # elsewhere than in the project's folder, which would hide an installed package
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    return json.loads(done.stdout.splitlines()[-1])
