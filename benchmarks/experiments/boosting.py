"""Tables with defaults: `AnytimeSGPRegressor()` beside boosting and other Gaussian processes."""

import numpy as np

from experiments.context import FEW, NOT_RUN
from experiments.records import Found, gain, mean_of, mean_or_level
from experiments.rivals import RIVALS, TABLES, TUNED, answer, splits

WITH_NOISE = '`likelihood="auto"`'
OURS, OURS_WITH_NOISE = "ours", f"ours, {WITH_NOISE}"
# What 90 % intervals are to cover.
COVERED = (0.87, 0.93)


def against_boosting(context):
    """Gains in density and error, over splits or over neighbouring test rows, and coverage.

    The rivals' answers are those that the experiment ``rivals`` has stored.
    """
    found, details, why_not = Found(), {}, {}
    for name in context.size(list(TABLES), ["power_plant"]):
        answers = {**_stored(context, name), TUNED: _tuned(context, name)}
        ours = _ours(context, name)
        with_noise = _ours(context, name, likelihood="auto")
        theirs = {key: answers[key]["records"][: len(ours)] for key in RIVALS}
        details[name] = {OURS: ours, OURS_WITH_NOISE: with_noise, **theirs}
        why_not[name] = {key: answers[key]["why_not"] for key in RIVALS if answers[key]["why_not"]}
        _add_ours(found, name, ours)
        _add_ours(found, f"{name}_noise", with_noise)
        for key, records in theirs.items():
            if records:
                _add_rival(found, name, key, records)
        if theirs[TUNED]:
            _add_gains(found, name, ours, theirs[TUNED])
    found.values |= _tables_won(details, why_not)
    return found.result(details=details, why_not=why_not)


def _stored(context, name):
    """Answers of the rivals on a table; that they were not run where there are none."""
    before = context.stored.get("rivals", {}).get("details", {}).get(name, {})
    return {key: before.get(key, {"records": [], "why_not": NOT_RUN}) for key in RIVALS}


def _tuned(context, name):
    found = {"records": [], "why_not": ""}
    for split in splits(context, name):
        answer(context, name, split, RIVALS[TUNED], found)
    return found


def _ours(context, name, **options):
    paths = [context.problem(name, split) for split in splits(context, name)]
    options |= context.size({"max_time": TABLES[name][1]}, FEW)
    return context.run("ours/anytime", "fit", *paths, model="auto", **options)


def _add_ours(found, name, records):
    for key in ("rmse", "coverage"):
        found.add(f"{name}_{key}", mean_or_level(records, key))
    found.add(f"{name}_log_density", mean_or_level(records, "nlpd").scaled(-1.0))
    found.values[f"{name}_seconds"] = mean_of(records, "seconds")


def _add_rival(found, name, rival, records):
    for key in ("rmse", "coverage", "seconds"):
        found.peers[f"{name}_{key}"][rival] = mean_of(records, key)
    found.peers[f"{name}_log_density"][rival] = -mean_of(records, "nlpd")


def _add_gains(found, name, ours, tuned):
    found.add(f"{name}_log_density_gain", gain(tuned, ours, "nlpd"))
    found.add(f"{name}_rmse_gain", gain(tuned, ours, "rmse"))


def gain_over(records, rival, key, ours=OURS):
    """Ours below a rival in a score that is better if lower, over the splits that it finished."""
    theirs = records[rival]
    return mean_of(theirs, key) - mean_of(records[ours][: len(theirs)], key)


def _tables_won(details, why_not):
    """In how many tables ours is ahead of all of some rivals that have a result there; seconds.

    Nothing is said of rivals of which one was run on no table.
    """
    constant = [name for name, rival in RIVALS.items() if rival.constant_noise]
    varying = [name for name, rival in RIVALS.items() if not rival.constant_noise]
    groups = {
        "tables_ahead_of_constant_noise": ("nlpd", constant, OURS),
        "tables_ahead_of_varying_noise": ("nlpd", varying, OURS),
        "tables_ahead_of_tuned": ("nlpd", [TUNED], OURS),
        "tables_ahead_in_rmse": ("rmse", [TUNED], OURS),
        "tables_ahead_with_noise": ("nlpd", [*constant, *varying], OURS_WITH_NOISE),
    }
    values = {}
    for key, (score, rivals, ours) in groups.items():
        reasons = {rival: [why.get(rival) for why in why_not.values()] for rival in rivals}
        if any(set(why) == {NOT_RUN} for why in reasons.values()):
            continue
        values[key] = sum(
            all(gain_over(records, rival, score, ours) > 0.0 for rival in rivals if records[rival])
            for records in details.values()
        )
    return {
        **values,
        "tables_covered": _covered(details, OURS),
        "tables_covered_with_noise": _covered(details, OURS_WITH_NOISE),
        "tuned_seconds_ratio": _seconds_ratio(details),
    }


def _covered(details, ours):
    low, high = COVERED
    return sum(low <= mean_of(records[ours], "coverage") <= high for records in details.values())


def _seconds_ratio(details):
    """Seconds of ours over those of tuned boosting, geometric mean of the tables."""
    ratios = [
        mean_of(records[OURS], "seconds") / mean_of(records[TUNED], "seconds")
        for records in details.values()
        if records[TUNED]
    ]
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else None
