"""Outputs that mix latent functions beside outputs by themselves, and columns of categories."""

import numpy as np
from problems.several_outputs import drawn

from experiments.records import Found, gain, gain_over_rows, mean_or_level, over_splits

LATENT = (1, 2, 3)
# Of the flights: distance (nearly a route), day of the week, day of the month, month.
_FLIGHT_COLUMNS = [1, 5, 6, 7]
WAYS = ("categories", "one_hot", "none")


def several_outputs(context):
    """Accuracy, densities and correlations beside independent outputs, and the bound's cost."""
    found, details = Found(), {}
    _jura(context, found, details)
    for kind in ("outputs_single", "outputs_stretches"):
        _synthetic(context, found, details, kind)
    sizes = context.size({"n": 100_000, "m": 200}, {"n": 2000, "m": 20})
    (cost,) = context.run("ours/several_outputs", "speed", t=10, n_latent=3, **sizes)
    for key in ("complete", "missing"):
        found.values[f"times_{key}"] = cost[key] / cost["one"]
    return found.result(details={**details, "speed": cost})


def _run(context, names, n_latent, **options):
    options = {**options, **context.size({}, {"max_time": 0.3, "n_inducing": 15})}
    return context.run("ours/several_outputs", "fit", *names, n_latent=n_latent, **options)


def _jura(context, found, details):
    """Cadmium of the usual test rows; then all three metals of random ones."""
    path = [context.problem("jura_hidden")]
    records = {Q: _run(context, path, Q, n_inducing=359)[0] for Q in (*LATENT, None)}
    best = max(LATENT, key=lambda Q: records[Q]["bound"])  # by the training rows alone
    for Q in (*LATENT, None):
        found.values[f"jura_mae_{Q or 'alone'}"] = records[Q]["mae"]
    found.values |= {"jura_latent": best, "jura_mae": records[best]["mae"]}
    found.add("jura_gain", gain_over_rows(records[None], records[best], "nlpd"))
    paths = [context.problem("jura_random", split) for split in range(context.size(10, 2))]
    *tried, alone = (_run(context, paths, Q, n_inducing=299) for Q in (*LATENT, None))
    mixed = [max(of_split, key=lambda one: one["bound"]) for of_split in zip(*tried, strict=True)]
    for key in ("nlpd", "rmse"):
        found.add(f"jura_random_{key}", gain(alone, mixed, key))
    # Targets of one place together: for independent outputs that is the sum of each by itself.
    joint = [one["nlpd"] - own["joint_nlpd"] for one, own in zip(alone, mixed, strict=True)]
    found.add("jura_random_joint", over_splits(joint))
    details["jura"] = [*records.values(), *(one for of_Q in tried for one in of_Q), *alone]


def _synthetic(context, found, details, kind):
    splits = range(context.size(3, 1))
    paths = [context.problem(kind, split) for split in splits]
    mixed, alone = (_run(context, paths, Q) for Q in (2, None))
    found.add(f"{kind}_gain", gain(alone, mixed, "nlpd"))
    # The bound weighs a function's slow and fast parts alike and estimates the mixing's
    # correlations; those of the drawn values weigh slow parts more and differ by chance.
    off, off_drawn, known = [], [], []
    for split, path, record in zip(splits, paths, mixed, strict=True):
        _, g, mixing, _ = drawn(split, context.smoke)
        scale = np.linalg.norm(mixing, axis=1)
        true = mixing @ mixing.T / np.outer(scale, scale)
        off.append(np.abs(record["correlation"] - true).max())
        off_drawn.append(np.abs(record["correlation"] - np.corrcoef(mixing @ g.T)).max())
        options = {"split": split, "toy": context.smoke, "m": context.size(400, 40)}
        known += context.run("ours/several_outputs", "ceiling", path, **options)
    found.add(f"{kind}_ceiling", over_splits([one["gain"] for one in known]))
    found.add(f"{kind}_correlation", over_splits(off))
    found.add(f"{kind}_correlation_drawn", over_splits(off_drawn))
    details[kind] = [*mixed, *alone, *known]


def categories(context):
    """Flights with columns of categories beside the numbers, as such, one-hot, and without them."""
    found, path = Found(), context.problem("airline")
    options = context.size({"max_time": 300}, {"max_iter": 3, "n_inducing": 10, "n_neighbors": 10})
    columns = _FLIGHT_COLUMNS
    records = {
        way: context.run("ours/categories", "fit", path, columns=columns, way=way, **options)
        for way in WAYS
    }
    boosted = context.run_peer(
        "peers/sklearn_boosting_and_svm", "boosting_with_categories", path, columns=columns
    )
    for way in WAYS:
        for key in ("rmse", "nlpd"):
            found.add(f"{way}_{key}", mean_or_level(records[way], key))
        found.values[f"{way}_seconds"] = records[way][0]["seconds"]
        if way != "categories":
            for key in ("rmse", "nlpd"):
                found.add(f"gain_{way}_{key}", gain(records[way], records["categories"], key))
    if boosted:
        for key in ("rmse", "nlpd", "seconds"):
            found.peers[f"categories_{key}"]["boosting"] = boosted[0][key]
    return found.result(details=records)
