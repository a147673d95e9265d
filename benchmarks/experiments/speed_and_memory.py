"""Parts of a fit, predictions, memory, import and first fits."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from problems.synthetic import NOISE_STD, STANDARDISED_LENGTH_SCALES

from experiments.context import BATCH, FEW

# A pass of "vif" that is timed, and the columns of its rows
VIF, VIF_COLUMNS = {"n_inducing": 200, "n_neighbors": 30}, 9


def micro(context):
    """Parts of a fit and predictions, m = 500, batch 1000, d = 8, float64."""
    path = context.problem("synthetic", n_inducing=500)
    repeats = context.size(100, 3)
    rows = context.size(8000, 200)
    records = context.run(
        "ours/svgp_parts", "micro", path, batch_size=context.size(BATCH, 64),
        evaluation_rows=rows, repeats=repeats, noise_variance=NOISE_STD**2,
        length_scale=STANDARDISED_LENGTH_SCALES.tolist(),
    )  # fmt: skip
    machine, parts = records[0], records[1:]
    values, peers = {"peak_gflops": machine["peak_gflops"]}, defaultdict(dict)
    for part in parts:
        key = f"{part['part']} {part['form']}"
        values[key] = part["seconds"]
        for kind in ("owed", "done"):
            needed = part[f"gflop_{kind}"] / machine["peak_gflops"]
            part[f"share_{kind}"] = needed / part["seconds"]
        values[f"{key} share"] = part["share_owed"]
    for record in context.run_peer(
        "peers/gpflow_regression", "micro", path, repeats=repeats, evaluation_rows=rows
    ):
        for form in ("direct", "whitened"):
            peers[f"{record['part']} {form}"]["GPflow"] = record["seconds"]
    for record in context.run_peer("peers/gpytorch_regression", "micro", path, repeats=repeats):
        for form in ("direct", "whitened"):
            peers[f"{record['part']} {form}"][f"GPyTorch {record['dtype']}"] = record["seconds"]
    return {"values": values, "peers": dict(peers), "details": {"machine": machine, "parts": parts}}


def predict(context):
    """Rows per second of mean and standard deviation, in chunks of 1,024 rows."""
    path = context.problem("synthetic", n_inducing=500)
    sizes = {"rows": context.size(40 * 1024, 512), "chunk": 1024}
    (ours,) = context.run("ours/svgp_regressor", "predict", path, rows=sizes["rows"])
    values, rates = {"rows_per_second": ours["rows_per_second"]}, {}
    for record in context.run_peer("peers/gpflow_regression", "predict", path, **sizes):
        rates[f"GPflow {record['way']}"] = record["rows_per_second"]
        values[f"times_{record['way']}"] = ours["rows_per_second"] / record["rows_per_second"]
    for record in context.run_peer("peers/gpytorch_regression", "predict", path, **sizes):
        rates["GPyTorch"] = record["rows_per_second"]
    return {"values": values, "peers": {"rows_per_second": rates}}


def vif_speed(context):
    """A default fit, passes of "vif" with given kernel and noise beside FITC's, predictions.

    The least of a few seconds counts, as the ratio of two small times is wanted.
    """
    n_predicted = context.size(50_000, 200)
    records = context.run(
        "ours/anytime_vif", "speed", n=context.size(50_000, 300), d=VIF_COLUMNS,
        n_large=context.size(1_000_000, 600), predict_rows=n_predicted, repeats=3,
        max_time=context.size(None, 2), **VIF,
    )  # fmt: skip
    times = defaultdict(list)
    for record in records:
        times[record["part"]].append(record["seconds"])
    least = {part: min(seconds) for part, seconds in times.items()}
    values = {
        "default_fit": least["default fit"],
        "pass": least["vif pass"],
        "pass_over_fitc": least["vif pass"] / least["fitc pass"],
        "sums_over_fitc": least["vif sums"] / least["fitc sums"],
        "large_pass": least["large vif pass"],
        "predict": n_predicted / least["predict"],
        "default_predict": n_predicted / least["default predict"],
    }
    return {"values": values, "details": {"parts": records}}


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
    (record,) = context.run(
        "ours/svgp_regressor", "memory", X=str(paths["X"]), y=str(paths["y"]), shape=[n, d],
        predict_rows=context.size(1_000_000, 2000),
        **context.options(n_inducing=256, max_time=120),
    )  # fmt: skip
    for path in paths.values():
        path.unlink()
    record["times_data"] = record["megabytes"] * 1e6 / (4.0 * n * (d + 1))
    return {"values": record}


def memory_of_methods(context):
    """Peak memory of fits and of methods that predict, with growing rows."""
    adapter, values, details = "ours/memory_of_methods", {}, {}
    rows = context.size((100_000, 1_000_000), (300,))
    predicted = context.size((5_000, 20_000), (50, 100))
    (known,) = context.run(adapter, "names")
    for name in known["names"]:
        fits, methods = [], []
        for n in rows:
            records = context.run(
                adapter, "megabytes", name=name, n=n, **context.size({"max_time": 40}, FEW),
                predicted=predicted if n == rows[0] else [],
            )  # fmt: skip
            fits += records[:1]
            methods += records[1:]
        details[name] = fits + methods
        values[f"{name} fit"] = fits[-1]["megabytes"]
        values[f"{name} fit growth"] = fits[-1]["megabytes"] - fits[0]["megabytes"]
        for k, count in enumerate(predicted):
            found = [record["megabytes"] for record in methods if record["rows"] == count]
            values[f"{name} predictions {k}"] = max(found)
    return {"values": values, "details": details}


def latency(context):
    """Milliseconds of one prediction, and of a thousand together."""
    adapter, values, details = "ours/latency", {}, {}
    (known,) = context.run(adapter, "names")
    for name in known["names"]:
        details[name] = context.run(
            adapter, "milliseconds", name=name, n=context.size(100_000, 300),
            **context.size({"max_time": 40}, FEW), counts=context.size((1, 1000), (1, 10)),
            seconds=context.size(4.0, 0.1),
        )  # fmt: skip
        for record in details[name]:
            values[f"{name} {record['method']} {record['rows']}"] = record["median"]
    return {"values": values, "details": details}


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
        "import": ours["imported"],
        "import_share": ours["imported"] / exact["imported"],
        "first_fit": ours["first"],
        "later_fit": ours["later"],
        "first_fit_share": ours["first"] / exact["first"],
        "later_fit_share": ours["later"] / exact["later"],
    }
    peers = {f"{key}_fit": {"exact GP": exact[key]} for key in ("first", "later")}
    peers["import"] = {"exact GP": exact["imported"]}
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
