"""How cost grows with n, m and d; the paper's figures 7 and 8."""

import numpy as np

_QUANTITIES = ("fit", "evaluation", "step")
_AXES = {"n": 0, "m": 1, "d": 2}


def _points(context, axis):
    """Sizes (n, m, d), the one of the axis growing."""
    base = list(context.size((50_000, 256, 8), (400, 20, 3)))
    sizes = {
        "n": context.size((1_000, 10_000, 100_000, 1_000_000, 10_000_000), (200, 400)),
        "m": context.size((50, 100, 200, 500, 1000, 2000), (10, 20)),
        "d": context.size((1, 2, 5, 10, 20, 50, 100), (1, 3)),
    }[axis]
    points = []
    for size in sizes:
        base[_AXES[axis]] = size
        points.append(tuple(base))
    return points


def _slope(sizes, values):
    """Slope of the logarithms, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def grow(context, axis):
    """Fit with given kernel and Z, collapsed evaluation and stochastic step, 1 and 2 jobs."""
    records = context.ours(
        "growth", adapter="inside", points=_points(context, axis), jobs=[1, 2],
        steps=context.size(20, 2), max_evaluation_rows=1_000_000,
    )  # fmt: skip
    values = {}
    for n_jobs in (1, 2):
        found = [record for record in records if record["n_jobs"] == n_jobs]
        for quantity in _QUANTITIES:
            if quantity == "step" and (axis == "n" or n_jobs == 2):
                continue  # a step knows neither
            rows = [record for record in found if quantity in record]
            sizes = [record[axis] for record in rows]
            measured = _slope(sizes, [record[quantity] for record in rows])
            counted = _slope(sizes, [record[f"{quantity}_counted"] for record in rows])
            key = f"{quantity} {n_jobs} jobs"
            values[f"{key} slope"], values[f"{key} counted"] = measured, counted
            values[f"{key} excess"] = measured - counted
    values["largest_megabytes"] = max(record["megabytes"] for record in records)
    return {"values": values, "details": {"points": records}}


def growth_n(context):
    return grow(context, "n")


def growth_m(context):
    return grow(context, "m")


def growth_d(context):
    return grow(context, "d")


def figure7(context):
    """AIRLINE: test RMSE over iterations of 10 runs, against exact GPs on random rows."""
    path = context.problem("airline")
    runs = context.ours(
        "trajectory", path, adapter="inside", n_steps=context.size(1000, 20),
        runs=context.size(10, 2), every=context.size(100, 5),
        n_inducing=context.size(500, 10), batch_size=context.size(1024, 64),
    )  # fmt: skip
    subsets = context.ours(
        "subsets", path, adapter="sklearn", sizes=context.size([800, 1000, 1200], [40, 60]),
        repeats=context.size(10, 2),
    )  # fmt: skip
    final = [record["rmse"] for record in runs if record["step"] is None]
    best_subset = float(np.median([r["rmse"] for r in subsets if r["size"] == subsets[-1]["size"]]))
    values = {"rmse": float(np.median(final)), "rmse_gain": best_subset - float(np.median(final))}
    peers = {"rmse": {f"exact GP, {subsets[-1]['size']} rows": best_subset}}
    return {"values": values, "peers": peers, "details": {"runs": runs, "subsets": subsets}}


def figure8(context):
    """AIRLINE: test RMSE against the number of inducing inputs, a minute each."""
    path = context.problem("airline")
    found = []
    for m in context.size([50, 100, 200, 500, 1000], [5, 10]):
        options = context.options(n_inducing=m, max_time=60)
        options["n_inducing"] = m
        (record,) = context.ours("fit", path, **options)
        found.append({"m": m, "rmse": record["rmse_in_units"], "seconds": record["seconds"]})
    best = min(found, key=lambda record: record["rmse"])
    return {"values": {"rmse": best["rmse"], "m": best["m"]}, "details": {"fits": found}}
