"""`BayesianGPLVM`: maps, missing entries with error bars, and columns for a classifier."""

from experiments.context import FAILED, NOT_RUN
from experiments.records import Found, mean_of, mean_or_level, over_splits

OIL, DIGITS, MANIFOLD = "table_oil_flow", "table_digits", "table_manifold"
COVERED = ("digits", "pendigits", "oil_flow", "california", "manifold")
_OURS = "ours/bayesian_gplvm"
_Q, _INDUCING = 10, 50  # of oil flow, as Titsias & Lawrence (2010)
_IMPUTERS = {
    "KNNImputer": ("knn", {}),
    "IterativeImputer": ("iterative", {}),
    "PPCA": ("ppca", {"n_components": 10}),
}


def latent_inputs(context):
    """All rows of the table; each part has its own data."""
    found, details = Found(), {}
    _oil_flow(context, found, details)
    _digits(context, found, details)
    _coverage(context, found, details)
    _pendigits(context, found, details)
    _manifold(context, found, details)
    return found.result(details=details)


def _toy(context):
    return context.size({}, {"n_inducing": 8, "max_iter": 3})


def _oil_flow(context, found, details):
    """Errors of the three splits, and the time to GPflow's bound on the first."""
    paths = [context.problem(OIL, split) for split in range(context.size(3, 1))]
    options = {"n_components": _Q, "n_inducing": _INDUCING, **_toy(context)}
    records = context.run(_OURS, "embed", *paths, **options)
    for split, record in enumerate(records):
        found.values[f"oil_errors_{split}"] = record["errors"]
        found.values[f"oil_relevant_{split}"] = record["relevant"]
    found.values["oil_seconds"] = mean_of(records, "seconds")
    seconds = 2 if context.smoke else 300
    said = context.ask_peer(
        "peers/gpflow_latents", "bound", paths[0],
        seconds=seconds, n_components=options["n_components"], n_inducing=options["n_inducing"],
    )  # fmt: skip
    if said.records:
        best = max(record["bound"] for record in said.records)
        course = records[0]["course"]
        reached = next((t for t, value in course if value >= best), None)
        found.values["oil_bound"] = records[0]["bound"]
        found.peers["oil_bound"]["GPflow"] = best
        found.values["oil_to_gpflow"] = reached
        last = next(record["seconds"] for record in said.records if record["bound"] == best)
        found.values["oil_times_gpflow"] = None if reached is None else last / reached
    elif said.why_not not in (NOT_RUN, FAILED):
        context.notes.append(f"GPflow on oil flow: {said.why_not}")
    details["oil_flow"] = [{**record, "course": record["course"][::10]} for record in records]


def _digits(context, found, details):
    """Half of the pixels missing, beside imputers."""
    path = context.problem(DIGITS)
    ours = context.run(_OURS, "impute", path, n_components=_Q, **_toy(context))
    for key in ("rmse", "nlpd", "coverage"):
        found.add(f"digits_{key}", mean_or_level(ours, key))
    found.values["digits_seconds"] = ours[0]["seconds"]
    for name, (task, options) in _IMPUTERS.items():
        options = {key: context.size(value, 2) for key, value in options.items()}
        theirs = context.run_peer("peers/sklearn_tables", task, path, **options)
        for key in ("rmse", "nlpd", "coverage"):
            found.peers[f"digits_{key}"][name] = theirs[0][key]
    details["digits"] = ours


def _coverage(context, found, details):
    """90 % intervals of entries missing at random, on tables of all kinds, three draws each."""
    for name in COVERED:
        paths = [context.problem(f"coverage_{name}", draw) for draw in range(context.size(3, 1))]
        records = context.run(_OURS, "impute", *paths, n_components=5, **_toy(context))
        found.add(f"covered_{name}", over_splits([record["coverage"] for record in records]))
        found.add(f"nlpd_{name}", over_splits([record["nlpd"] for record in records]))
        details[f"coverage_{name}"] = records


def _pendigits(context, found, details):
    """Five dimensions for a classifier, and five principal components."""
    path, iterations = context.problem("pendigits"), context.size(20, 2)
    for reducer, options in (("gplvm", _toy(context)), ("pca", {})):
        records = context.run(
            _OURS, "classify", path,
            n_components=context.size(5, 2), reducer=reducer, classifier_iter=iterations,
            **options,
        )  # fmt: skip
        if reducer == "pca":
            found.peers["pendigits_error"]["PCA"] = records[0]["error"]
            gain = records[0]["error"] - found.values["pendigits_error"]
            found.values["pendigits_gain"] = gain
        else:
            found.add("pendigits_error", mean_or_level(records, "error"))
        details[f"pendigits_{reducer}"] = records


def _manifold(context, found, details):
    """100,000 rows in five minutes, a tenth of the entries missing."""
    path = context.problem(MANIFOLD)
    limit = {"max_time": 300.0} if not context.smoke else {"max_time": 2.0, **_toy(context)}
    ours = context.run(_OURS, "impute", path, n_components=3, **limit)[0]
    theirs = context.run_peer("peers/sklearn_tables", "ppca", path, n_components=3, max_iter=30)[0]
    for key in ("seconds", "procrustes", "coverage", "megabytes"):
        found.values[f"manifold_{key}"] = ours[key]
    found.peers["manifold_procrustes"]["PPCA"] = theirs["procrustes"]
    found.values["manifold_gain"] = theirs["nlpd"] - ours["nlpd"]
    found.values["manifold_overrun"] = ours["seconds"] - limit["max_time"]
    details["manifold"] = [ours, theirs]
