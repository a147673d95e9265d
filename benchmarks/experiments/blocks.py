"""Experiments with `AnytimeSGPRegressor`: accuracy, anytime behaviour, speed of its parts."""

from experiments.records import Found, over_splits

# Hoang et al. (2015): 100 inducing inputs and 2,000 blocks on AIRLINE, 512 and 1,000 on EMSLP.
_AIRLINE = {"n_inducing": 100, "n_blocks": 2000, "max_time": 60}
_PRESSURE = {"n_inducing": 512, "n_blocks": 1000, "max_time": 45}
# a fit and its predictions on two million rows take two minutes
_MOST_SPLITS = 3
# distance, then time of departure: flights of one distance are nearly those of one route
_ROUTE = [1, 3]


def block_steps(context):
    """One anytime step, m = 512, blocks of 1,200 rows, against the arithmetic it owes."""
    records = context.run(
        "ours/anytime_parts", "steps", d=8, n_inducing=context.size(512, 20),
        block_size=context.size(1200, 40), repeats=context.size(100, 3),
    )  # fmt: skip
    found = Found()
    for record in records:
        found.values[record["model"]] = record["seconds"]
        found.values[f"{record['model']} share"] = record["share"]
    return found.result(details={"steps": records})


def airline_blocks(context):
    """AIRLINE, all rows, 5 % for testing: PIC with its default blocks on several splits.

    FITC, DTC, the anytime runs and the speed of the parts on the first.
    """
    splits = range(context.size(min(_MOST_SPLITS, context.splits), 1))
    paths = [context.problem("airline_all", split) for split in splits]
    kept, options = str(context.folder / "pic.pickle"), _options(context, **_AIRLINE)
    found, pic = Found(), []
    for path in paths:
        keep = kept if path is paths[0] else None
        pic += context.run("ours/anytime", "fit", path, keep=keep, **options)
    others = {
        name: context.run("ours/anytime", "fit", paths[0], **options, model=name)[0]
        for name in ("fitc", "dtc")
    }
    runs = _anytime_runs(context, paths[0], kept)
    parts = context.run(
        "ours/anytime_parts", "passes", paths[0], kept=kept,
        predict_rows=context.size(100_000, 100),
    )  # fmt: skip
    _add_scores(found, "pic", pic)
    for name, record in others.items():
        _add_scores(found, name, [record])
    found.values |= _apart(runs) | _part_values(*parts)
    details = {"pic": pic, "others": others, "runs": runs, "parts": parts}
    return found.result(details=details)


def airline_by_route(context):
    """The same with blocks that were made by hand for these data: information, no default."""
    path, kept = context.problem("airline_all", 0), str(context.folder / "route.pickle")
    options = _options(context, **_AIRLINE)
    records = context.run("ours/anytime", "fit", path, **options, sort_by=_ROUTE, keep=kept)
    runs = _anytime_runs(context, path, kept, sort_by=_ROUTE)
    found = Found()
    _add_scores(found, "pic", records)
    found.values |= _apart(runs)
    return found.result(details={"pic": records, "runs": runs})


def _anytime_runs(context, path, kept, **more):
    """Exact PIC, and anytime runs after a part of an epoch and after a whole one."""
    counts = {"count": context.size(3, 2), "max_steps": context.size(60, 2)}
    return context.run("ours/anytime", "instances", path, kept=kept, **counts, **more)


def _add_scores(found, name, records):
    for key in ("rmse_in_units", "nlpd_in_units", "coverage"):
        found.add(f"{name}_{key}", over_splits([record[key] for record in records]))
    found.values[f"{name}_seconds"] = max(record["seconds"] for record in records)


def _part_values(one, two, predicted):
    """Exact PIC over all blocks of AIRLINE, and predictions with nothing cached."""
    return {
        "pass_seconds": two["seconds"],
        "pass_share": two["share"],
        "pass_times_data": two["times_data"],
        "pass_speed_up": one["seconds"] / two["seconds"],
        "predict_seconds": predicted["seconds"],
        "predict_share": predicted["share"],
    }


def _apart(runs):
    """Anytime runs against the closed form: per cent after some blocks, share after all."""
    exact, found = runs[0], {}
    for key, score in (("rmse", "rmse"), ("nlpd", "nlpd_in_units")):
        part = [abs(run[score] / exact[score] - 1) for run in runs if run["way"] == "part"]
        found[f"part_{key}"] = 100 * max(part)
    epoch = next(run for run in runs if run["way"] == "epoch")
    return {**found, "epoch_rmse": abs(epoch["rmse"] / exact["rmse"] - 1)}


def sea_level_pressure(context):
    """PIC against FITC with the same inducing inputs, over some splits."""
    found, details = Found(), []
    for split in range(context.size(min(_MOST_SPLITS, context.splits), 1)):
        path = context.problem("sea_level_pressure", split)
        options = _options(context, **_PRESSURE)
        details.append(context.run("ours/anytime", "against_fitc", path, **options))
    shares = [
        100 * (1 - records[0]["rmse"] / min(record["rmse"] for record in records[1:]))
        for records in details
    ]
    found.add("gain", over_splits(shares))
    found.add("pic_rmse", over_splits([records[0]["rmse_in_units"] for records in details]))
    return found.result(details={"splits": details})


def _options(context, **full):
    full["solver"] = "exact"
    if not context.smoke:
        return full
    return {**full, "n_inducing": 10, "n_blocks": 5, "init_size": 60, "max_iter": 3}
