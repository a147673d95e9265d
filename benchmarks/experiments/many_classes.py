"""`AnytimeSGPClassifier()` and `SVGPClassifier()` beside a support vector machine and boosting."""

import numpy as np
from problems.synthetic import mixture

from experiments.growth import slope
from experiments.records import Found, mean_of, over_splits

# Tables, and how many splits are taken where the data come with none.
TABLES = {
    "digits": 3,
    "oil_flow": 3,
    "banana_random": 3,
    "ionosphere_random": 3,
    "sonar_random": 3,
    "elec2_random": 3,
}
PENDIGITS, LETTERS = "pendigits_in_one_unit", "mixture_26"
ANYTIME, SVGP = "ours", "ours, SVGPClassifier"
# Adapter, task, and its options: those of a run and those of a toy.
_PEERS = {
    "SVM": ("peers/sklearn_classes", "svm", {}, {}),
    "boosting": ("peers/sklearn_classes", "boosting", {}, {"trees": 2}),
    "GPflow SVGP": ("peers/gpflow_classes", "fit", {"seconds": 30}, {"seconds": 2}),
}
_INDUCING = 100  # of GPflow's
_DRAWS = 3  # of the 26 classes


def many_classes(context):
    """Scores with defaults, and on how many tables ours are not behind the better of the peers."""
    found, details = Found(), {}
    tables = context.size(TABLES, {"digits": 1})  # a toy of each of six would call the same code
    for name, splits in {PENDIGITS: 1, **tables, LETTERS: _DRAWS}.items():
        details[name] = _compared(context, found, name, context.size(splits, 1))
    values, best = found.values, ("SVM", "boosting")
    for key, doubt in (("error", True), ("nlpd", False)):
        values[f"tables_{key}"] = sum(
            _is_ahead(details[name], key, best, doubt) for name in TABLES if name in details
        )
    if not context.smoke:
        least = np.array([mixture(26, seed=draw)[1] for draw in range(_DRAWS)])
        values["bayes_error"] = least.mean()
        errors = np.array([record["error"] for record in details[LETTERS][ANYTIME]])
        found.add("excess", over_splits(errors - 1.2 * least))
    return found.result(details=details)


def _compared(context, found, name, splits):
    """Records of everyone on one table."""
    paths = [context.problem(name, split, _INDUCING) for split in range(splits)]
    records = {
        ANYTIME: context.run("ours/anytime_classifier", "fit", *paths, **_toy(context)),
        SVGP: context.run("ours/svgp_classifier", "fit", *paths, **_toy(context)),
    }
    for peer, (adapter, task, *options) in _PEERS.items():
        records[peer] = context.run_peer(adapter, task, *paths, **context.size(*options))
    theirs = {peer: records[peer] for peer in _PEERS}
    found.add_class_scores(name, records[ANYTIME], theirs)
    found.add_class_scores(f"svgp_{name}", records[SVGP], theirs)
    return records


def _toy(context):
    return context.size({}, {"max_iter": 3, "init_size": 128, "n_inducing": 10})


def _is_ahead(records, key, peers, doubt):
    """Whether ours is below the better of some peers, or at most a standard error above it."""
    ours = [record[key] for record in records[ANYTIME]]
    best = min((records[peer] for peer in peers), key=lambda one: mean_of(one, key))
    gain = over_splits([record[key] - own for record, own in zip(best, ours, strict=True)])
    return gain.value >= (-(gain.se or 0.0) if doubt else 0.0)


def growth_classes(context):
    """Seconds of a fit of 16,000 rows with defaults against the number of classes."""
    sizes = context.size((2, 5, 10, 26, 50, 100), (2, 3))
    paths = [context.problem(f"mixture_{size}") for size in sizes]
    records = context.run("ours/anytime_classifier", "fit", *paths, **_toy(context))
    values = {f"seconds {record['n_classes']}": record["seconds"] for record in records}
    values["slope"] = slope(sizes, [record["seconds"] for record in records])
    fits = [record["seconds"] + record["predict_seconds"] for record in records]
    values["slope with predictions"] = slope(sizes, fits)
    return {"values": values, "details": {"points": records, "sizes": np.array(sizes).tolist()}}
