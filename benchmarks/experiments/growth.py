"""How cost grows with n, m and d."""

import numpy as np

from experiments.speed_and_memory import VIF, VIF_COLUMNS

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


def slope(sizes, values):
    """Slope of the logarithms, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def grow(context, axis):
    """Fit with given kernel and Z, collapsed evaluation and stochastic step, 1 and 2 jobs."""
    records = context.run(
        "ours/svgp_parts", "growth", points=_points(context, axis), jobs=[1, 2],
        steps=context.size(20, 2),
    )  # fmt: skip
    values = {}
    for n_jobs in (1, 2):
        found = [record for record in records if record["n_jobs"] == n_jobs]
        for quantity in _QUANTITIES:
            if quantity == "step" and (axis == "n" or n_jobs == 2):
                continue  # a step knows neither
            rows = [record for record in found if quantity in record]
            sizes = [record[axis] for record in rows]
            measured = slope(sizes, [record[quantity] for record in rows])
            counted = slope(sizes, [record[f"{quantity}_counted"] for record in rows])
            key = f"{quantity} {n_jobs} jobs"
            values[f"{key} slope"], values[f"{key} counted"] = measured, counted
            values[f"{key} excess"] = measured - counted
    largest = max(records, key=lambda record: (record[axis], record["n_jobs"]))
    data = 4.0 * largest["n"] * (largest["d"] + 2)  # float32 inputs, float64 targets
    values["largest_times_data"] = 1e6 * largest["megabytes"] / data
    values["largest_evaluation"] = largest["evaluation"]
    return {"values": values, "details": {"points": records}}


def growth_n(context):
    return grow(context, "n")


def growth_m(context):
    return grow(context, "m")


def growth_d(context):
    return grow(context, "d")


def vif_growth(context):
    """A pass of "vif" over all rows, as far as memory allows: what does not fit is told."""
    n_rows = context.size((10_000, 100_000, 1_000_000, 10_000_000), (300, 600))
    records = context.run("ours/anytime_vif", "growth", n_rows=n_rows, d=VIF_COLUMNS, **VIF)
    points = [record for record in records if "seconds" in record]
    context.notes += [
        f"vif with {record['n']:,} rows was left out: {record['left_out']}"
        for record in records
        if "left_out" in record
    ]
    sizes, largest = [record["n"] for record in points], points[-1]
    values = {"slope": slope(sizes, [record["seconds"] for record in points])}
    values |= {f"largest_{key}": largest[key] for key in ("n", "seconds", "megabytes")}
    return {"values": values, "details": {"points": records}}
