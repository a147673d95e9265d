"""Noise of each row: the motorcycle beside two rivals, coverage by width, recovery of a model."""

from collections import defaultdict

from experiments.records import Found, gain, mean_of, mean_or_level, over_splits, seconds_to

WIDTH_TABLES = ("california_housing", "power_plant", "uk_house_price")
MODELS = {"svgp": "SVGPRegressor", "vif": "AnytimeSGPRegressor"}
RIVALS = ("GPflow, chained", "GPBoost, heteroscedastic")
DRAWS = 5
# a hundred rows, a second or less each: all folds, always
_FOLDS = 10


def row_noise(context):
    """Rivals only where their interpreters are given."""
    found, details = Found(), {}
    details["motorcycle"] = _motorcycle(context, found)
    details["width"] = _width(context, found)
    details["recovered"] = _recovered(context, found)
    return found.result(details=details)


def _motorcycle(context, found):
    paths = [context.problem("mcycle_folds", fold) for fold in range(context.size(_FOLDS, 1))]
    records = {}
    for model in MODELS:
        for likelihood in ("gaussian", "heteroscedastic"):
            records[model, likelihood] = context.run(
                "ours/row_noise", "fit", *paths, model=model, likelihood=likelihood,
                **_few(context),
            )  # fmt: skip
        plain, ours = records[model, "gaussian"], records[model, "heteroscedastic"]
        found.add(f"{model}_nlpd", mean_or_level(ours, "nlpd"))
        found.add(f"{model}_coverage", mean_or_level(ours, "coverage"))
        found.add(f"{model}_gain", gain(plain, ours, "nlpd"))
        found.values[f"{model}_seconds"] = mean_of(ours, "seconds")
        found.values[f"{model}_cost"] = mean_of(ours, "seconds") / mean_of(plain, "seconds")
        found.peers[f"{model}_nlpd"]["ours, constant noise"] = mean_of(plain, "nlpd")
    curves = context.run_peer(
        "peers/gpflow_row_noise", "curve", *paths, seconds=context.size(context.seconds, 1)
    )
    boosted = context.run_peer("peers/gpboost_row_noise", "fit", *paths, max_rows=1000)
    for rival, points in zip(RIVALS, (curves, boosted), strict=True):
        if points:
            ours = {name: records[name, "heteroscedastic"] for name in MODELS}
            _beside(found, rival, points, ours)
    return {"ours": {" ".join(key): made for key, made in records.items()},
            RIVALS[0]: _last(curves), RIVALS[1]: boosted}  # fmt: skip


def _few(context):
    return context.size({}, {"max_iter": 3, "n_inducing": 20})


def _beside(found, rival, points, ours):
    """Gains over a rival, and how many times as long it takes to its own last log density.

    A split that a rival did not come to is left out of both.
    """
    last, times = _last(points), _times(points)
    for model, records in ours.items():
        same = records[: len(last)]
        found.add(f"{model}_gain {rival}", gain(last, same, "nlpd"))
        found.values[f"{model}_times {rival}"] = sum(times) / sum(r["seconds"] for r in same)
        found.peers[f"{model}_nlpd"][rival] = mean_of(last, "nlpd")
        found.peers[f"{model}_coverage"][rival] = mean_of(last, "coverage")
        found.peers[f"{model}_seconds"][rival] = sum(times) / len(times)


def _by_fold(points):
    """Lists of the records of each fold, which are numbered from 0."""
    parts = []
    for point in points:
        if point["number"] == 0:
            parts.append([])
        parts[-1].append(point)
    return parts


def _last(points):
    return [part[-1] for part in _by_fold(points)]


def _times(points):
    """Seconds to the last log density of each fold."""
    return [seconds_to(part, part[-1]["nlpd"]) for part in _by_fold(points)]


def _width(context, found):
    """Coverage of 90 % intervals in terciles of their width."""
    details = {}
    for name in context.size(WIDTH_TABLES, WIDTH_TABLES[:1]):
        path, details[name] = context.problem(name), {}
        for likelihood in ("gaussian", "heteroscedastic_student_t"):
            options = context.size({"max_time": 120}, {"max_iter": 3, "n_inducing": 20})
            (record,) = context.run(
                "ours/row_noise", "fit", path, model="svgp", likelihood=likelihood, **options
            )
            details[name][likelihood] = record
            key = f"{name}_{likelihood}"
            found.values[f"{key}_least"] = min(record["by_width"])
            found.values[f"{key}_most"] = max(record["by_width"])
            found.add(f"{key}_nlpd", mean_or_level([record], "nlpd"))
    return details


def _recovered(context, found):
    records = context.run(
        "ours/row_noise", "recovered", n=context.size(20_000, 300), draws=context.size(DRAWS, 1),
        **_few(context),
    )  # fmt: skip
    by_key = defaultdict(list)
    for record in records:
        for key, value in record.items():
            by_key[key].append(value)
    for key in ("df_ratio", "sd_error", "seconds"):
        found.add(f"recovered_{key}", over_splits(by_key[key], of="draws"))
    found.values["recovered_df_error"] = max(abs(ratio - 1.0) for ratio in by_key["df_ratio"])
    found.values["recovered_sd_worst"] = max(by_key["sd_error"])
    return records
