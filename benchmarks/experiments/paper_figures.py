"""Figures of Hensman, Fusi and Lawrence (2013) and of Hoang, Hoang and Low (2015), cut to size.

Each takes minutes of one core: fewer rows, runs or inducing inputs than the paper, as the titles of
the pictures and docs/papers.md say.
"""

import numpy as np

from experiments.records import Found, over_splits

# Steps of the anytime solver at which it is scored
_STEPS = [1, 3, 10, 30, 60, 100]
_NAMES = ("pic", "fitc", "dtc")
# PIC as it is by default, and with tails and noise of each row, given ten minutes
_PIC = {"gaussian": {}, "auto": {"likelihood": "auto", "max_time": 600}}


def figure7(context):
    """AIRLINE: test RMSE over iterations of 3 runs, against exact GPs on random rows."""
    path = context.problem("airline")
    runs = context.run(
        "ours/svgp_parts", "trajectory", path, n_steps=context.size(300, 20),
        runs=context.size(3, 2), every=context.size(50, 5),
        n_inducing=context.size(500, 10), batch_size=context.size(1000, 64),
    )  # fmt: skip
    subsets = context.run(
        "peers/sklearn_exact_gp", "subsets", path, sizes=context.size([800, 1200], [40, 60]),
        repeats=context.size(2, 2),
    )  # fmt: skip
    final = [record["rmse"] for record in runs if record["step"] is None]
    best_subset = float(np.median([r["rmse"] for r in subsets if r["size"] == subsets[-1]["size"]]))
    spread = over_splits(final, "runs")
    values = {"rmse": float(np.median(final)), "rmse_gain": best_subset - float(np.median(final))}
    values["worst"] = max(final)
    values["best_subset"] = min(record["rmse"] for record in subsets)
    errors = {"rmse": {"se": spread.se, "n": spread.n, "of": "runs"}}
    errors["rmse_gain"] = errors["rmse"]
    peers = {"rmse": {f"exact GP, {subsets[-1]['size']} rows": best_subset}}
    details = {"runs": runs, "subsets": subsets}
    return {"values": values, "errors": errors, "peers": peers, "details": details}


def figure8(context):
    """AIRLINE, 100,000 of its flights: test RMSE against the number of inducing inputs."""
    path = context.problem("airline_100k")
    found = []
    for m in context.size([25, 50, 100, 200, 400], [5, 10]):
        options = context.options(n_inducing=m, max_iter=30)
        options["n_inducing"] = m
        (record,) = context.run("ours/svgp_regressor", "fit", path, **options)
        found.append({"m": m, "rmse": record["rmse_in_units"], "seconds": record["seconds"]})
    best = min(found, key=lambda record: record["rmse"])
    values = {"rmse": best["rmse"], "m": best["m"]}
    values |= {f"rmse {record['m']}": record["rmse"] for record in found}
    return {"values": values, "details": {"fits": found}}


def pressure_curves(context):
    """Sea level pressure, 30,000 of its rows, five draws: DTC+, FITC+ and PIC+ against exact."""
    return _anytime_curves(context, "pressure_30k", context.size(5, 1), n_inducing=200)


def airline_curves(context):
    """AIRLINE, 30,000 of its flights, five draws: the same."""
    return _anytime_curves(context, "airline_30k", context.size(5, 1), n_inducing=100)


def _anytime_curves(context, name, n_draws, **full):
    full |= {"block_size": 285, "max_iter": 30}  # about a hundred blocks
    toy = {"n_inducing": 10, "block_size": 30, "max_iter": 3, "init_size": 60}
    found, curves = Found(), {}
    paths = [context.problem(name, draw) for draw in range(n_draws)]
    for model in _NAMES:
        curves[model] = records = context.run(
            "ours/anytime", "curve", *paths, model=model, steps=context.size(_STEPS, [1, 3]),
            **context.size(full, toy),
        )  # fmt: skip
        exact, whole = _of(records, "exact"), _of(records, "epoch")
        found.add(f"{model} rmse", over_splits([one["rmse_in_units"] for one in exact], "draws"))
        for key in ("nlpd_in_units", "coverage", "seconds"):
            found.add(f"{model} {key}", over_splits([one[key] for one in exact], "draws"))
        ends = zip(whole, exact, strict=True)
        apart = [abs(end["rmse"] / one["rmse"] - 1) for end, one in ends]
        found.values[f"{model} epoch"] = max(apart)
        for steps in context.size((1, 10, 60), (1,)):
            part = [one for one in records if one["way"] == "part" and one["n_steps"] == steps]
            if part:
                ends = zip(part, exact, strict=True)
                shares = [100 * (one["rmse"] / full["rmse"] - 1) for one, full in ends]
                found.add(f"{model} after {steps}", over_splits(shares, "draws"))
    return found.result(details={"curves": curves})


def _of(records, way):
    return [record for record in records if record["way"] == way]


def airline_pic(context):
    """AIRLINE, all rows, a twentieth for testing: PIC with defaults, and with noise of each row."""
    found, details = Found(), {}
    path = context.problem("airline_all")
    for way, options in _PIC.items():
        toy = context.size({}, {"n_inducing": 10, "max_iter": 3})
        (record,) = context.run("ours/anytime", "fit", path, **options, **toy)
        details[way] = record
        for key in ("rmse_in_units", "nlpd_in_units", "coverage", "seconds"):
            found.values[f"{way}_{key}"] = record[key]
    return found.result(details=details)
