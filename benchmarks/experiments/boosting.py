"""Tables with defaults: `AnytimeSGPRegressor()` beside gradient boosting, tuned a little."""

from experiments.records import Found, gain, mean_of, mean_or_level

RIVAL = "boosting"
# Name: number of splits at most, and seconds that ours may take.
TABLES = {
    "kin40k": (3, 120),
    "pol": (3, 120),
    "california_housing": (1, 120),
    "power_plant": (3, 120),
    "kin8nm": (3, 120),
    "pumadyn32nm": (1, 120),
    "uk_house_price": (1, 120),
    "terrain50_ny20": (1, 120),
    "airline": (1, 300),
}


def against_boosting(context):
    """Gains in density and error, over splits or over neighbouring test rows, and coverage."""
    found, details = Found(), {}
    for name in context.size(list(TABLES), ["power_plant"]):
        n_splits, seconds = TABLES[name]
        splits = range(context.size(min(n_splits, context.splits), 1))
        paths = [context.problem(name, split) for split in splits]
        limit = context.size(seconds, 5)
        ours = context.run("ours/anytime", "fit", *paths, model="auto", max_time=limit)
        trees = context.size(2000, 10)
        theirs = context.run(
            "peers/sklearn_boosting_and_svm", "tuned_boosting", *paths, trees=trees
        )
        details[name] = {"ours": ours, RIVAL: theirs}
        for key in ("nlpd", "rmse", "coverage"):
            found.add(f"{name}_{key}", mean_or_level(ours, key))
        found.values[f"{name}_seconds"] = mean_of(ours, "seconds")
        if theirs:
            for key in ("nlpd", "rmse"):
                found.add(f"{name}_{key}_gain", gain(theirs, ours, key))
            for key in ("nlpd", "rmse", "coverage", "seconds"):
                found.peers[f"{name}_{key}"][RIVAL] = mean_of(theirs, key)
    return found.result(details=details)
