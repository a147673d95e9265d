"""Experiments with `AnytimeSGPRegressor`: accuracy, anytime behaviour, speed of its parts."""

import numpy as np

# Hoang et al. (2015): 100 inducing inputs and 2,000 blocks on AIRLINE, 512 and 1,000 on EMSLP.
_AIRLINE = {"n_inducing": 100, "n_blocks": 2000}
_PRESSURE = {"n_inducing": 512, "n_blocks": 1000, "max_time": 120}
_AIRLINE_SPLITS, _PRESSURE_SPLITS = 3, 5
# distance, then time of departure: flights of one distance are nearly those of one route
_ROUTE = [1, 3]


def block_steps(context):
    """One anytime step, m = 512, blocks of 1,200 rows, against the arithmetic it owes."""
    records = context.run(
        "ours/anytime_parts", "steps", d=8, n_inducing=context.size(512, 20),
        block_size=context.size(1200, 40), repeats=context.size(100, 3),
    )  # fmt: skip
    values = {record["model"]: record["seconds"] for record in records}
    for record in records:
        values[f"{record['model']} gflops"] = record["gflop_owed"] / record["seconds"]
    return {"values": values, "details": {"steps": records}}


def airline_blocks(context):
    """AIRLINE, all rows, 5 % for testing: PIC by route on several splits, the rest on the first."""
    options = _options(context, **_AIRLINE)
    splits = range(context.size(_AIRLINE_SPLITS, 1))
    paths = [context.problem("airline_all", split) for split in splits]
    kept = str(context.folder / "pic.pickle")
    pic = context.run("ours/anytime", "fit", paths[0], keep=kept, **options)
    by_route = str(context.folder / "pic_by_route.pickle")
    routes = []
    for path in paths:
        routes += context.run(
            "ours/anytime", "fit", path, **options, sort_by=_ROUTE,
            keep=by_route if path is paths[0] else None,
        )  # fmt: skip
    others = {
        name: context.run("ours/anytime", "fit", paths[0], **options, model=name)[0]
        for name in ("fitc", "dtc")
    }
    counts = {"count": context.size(5, 2), "max_steps": context.size(60, 2)}
    runs = context.run("ours/anytime", "instances", paths[0], kept=kept, **counts)
    route_runs = context.run(
        "ours/anytime", "instances", paths[0], kept=by_route, sort_by=_ROUTE, **counts
    )
    errors = np.array([record["rmse_in_units"] for record in routes])
    values = {
        "route_rmse": errors[0],
        "route_rmse_mean": errors.mean(),
        "route_rmse_sd": errors.std(),
        "route_nlpd": routes[0]["nlpd_in_units"],
        "route_seconds": routes[0]["seconds"],
        "route_coverage": routes[0]["coverage"],
        "pic_rmse": pic[0]["rmse_in_units"],
        "pic_nlpd": pic[0]["nlpd_in_units"],
        "pic_seconds": pic[0]["seconds"],
        "pic_coverage": pic[0]["coverage"],
        "fitc_rmse": others["fitc"]["rmse_in_units"],
        "dtc_rmse": others["dtc"]["rmse_in_units"],
        **_apart(runs, ""),
        **_apart(route_runs, "route_"),
    }
    details = {
        "pic": pic, "routes": routes, "others": others, "runs": runs, "route_runs": route_runs,
    }  # fmt: skip
    return {"values": values, "details": details}


def airline_passes(context):
    """Seconds of exact PIC over all blocks of AIRLINE, and of predictions with nothing cached."""
    path, kept = context.problem("airline_all", 0), str(context.folder / "passes.pickle")
    # hyperparameters do not matter to the time
    options = {**_options(context, **_AIRLINE), "max_iter": 3, "max_time": 60}
    context.run("ours/anytime", "fit", path, keep=kept, **options)
    one, two, predicted = context.run(
        "ours/anytime_parts", "passes", path, kept=kept, predict_rows=context.size(100_000, 100)
    )
    values = {
        "pass_seconds": two["seconds"],
        "pass_megabytes": two["megabytes"],
        "pass_speed_up": one["seconds"] / two["seconds"],
        "predict_seconds": predicted["seconds"],
    }
    return {"values": values, "details": {"parts": [one, two, predicted]}}


def _apart(runs, prefix):
    """Anytime runs against the closed form: per cent after some blocks, share after all."""
    exact, found = runs[0], {}
    for key, score in (("rmse", "rmse"), ("nlpd", "nlpd_in_units")):
        part = [abs(run[score] / exact[score] - 1) for run in runs if run["way"] == "part"]
        found[f"{prefix}part_{key}"] = 100 * max(part)
    epoch = next(run for run in runs if run["way"] == "epoch")
    found[f"{prefix}epoch_rmse"] = abs(epoch["rmse"] / exact["rmse"] - 1)
    return found


def sea_level_pressure(context):
    """PIC against FITC with the same inducing inputs, over five splits."""
    values, details = {}, []
    for split in range(context.size(_PRESSURE_SPLITS, 1)):
        path = context.problem("sea_level_pressure", split)
        options = _options(context, **_PRESSURE)
        details.append(context.run("ours/anytime", "against_fitc", path, **options))
    ratios = [
        1 - records[0]["rmse"] / min(record["rmse"] for record in records[1:])
        for records in details
    ]
    values["gain"], values["gain_sd"] = 100 * float(np.mean(ratios)), 100 * float(np.std(ratios))
    values["pic_rmse"] = float(np.mean([records[0]["rmse_in_units"] for records in details]))
    return {"values": values, "details": {"splits": details}}


def _options(context, **full):
    full["solver"] = "exact"
    if not context.smoke:
        return full
    return {**full, "n_inducing": 10, "n_blocks": 5, "init_size": 60, "max_iter": 3}
