"""Figures 7 and 8 of Hensman, Fusi and Lawrence (2013)."""

import numpy as np

from experiments.records import over_splits


def figure7(context):
    """AIRLINE: test RMSE over iterations of 10 runs, against exact GPs on random rows."""
    path = context.problem("airline")
    runs = context.run(
        "ours/svgp_parts", "trajectory", path, n_steps=context.size(1000, 20),
        runs=context.size(10, 2), every=context.size(100, 5),
        n_inducing=context.size(500, 10), batch_size=context.size(1024, 64),
    )  # fmt: skip
    subsets = context.run(
        "peers/sklearn_exact_gp", "subsets", path, sizes=context.size([800, 1000, 1200], [40, 60]),
        repeats=context.size(10, 2),
    )  # fmt: skip
    final = [record["rmse"] for record in runs if record["step"] is None]
    best_subset = float(np.median([r["rmse"] for r in subsets if r["size"] == subsets[-1]["size"]]))
    spread = over_splits(final, "runs")
    values = {"rmse": float(np.median(final)), "rmse_gain": best_subset - float(np.median(final))}
    errors = {"rmse": {"se": spread.se, "n": spread.n, "of": "runs"}}
    errors["rmse_gain"] = errors["rmse"]
    peers = {"rmse": {f"exact GP, {subsets[-1]['size']} rows": best_subset}}
    details = {"runs": runs, "subsets": subsets}
    return {"values": values, "errors": errors, "peers": peers, "details": details}


def figure8(context):
    """AIRLINE: test RMSE against the number of inducing inputs, a minute each."""
    path = context.problem("airline")
    found = []
    for m in context.size([50, 100, 200, 500, 1000], [5, 10]):
        options = context.options(n_inducing=m, max_time=60)
        options["n_inducing"] = m
        (record,) = context.run("ours/svgp_regressor", "fit", path, **options)
        found.append({"m": m, "rmse": record["rmse_in_units"], "seconds": record["seconds"]})
    best = min(found, key=lambda record: record["rmse"])
    return {"values": {"rmse": best["rmse"], "m": best["m"]}, "details": {"fits": found}}
