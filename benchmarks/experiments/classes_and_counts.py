"""Experiments with classes, counts and outliers."""

from functools import partial

from experiments.context import BATCH
from experiments.records import (
    Found,
    gain_over_rows,
    mean_of,
    over_rows,
    over_splits,
    seconds_to,
    times_faster,
)

_RIVAL = "GPflow SVGP"
# random tenths of a hundred or three hundred rows, a second or less each: all of them, always
_COUNT_SPLITS = 20
_SVM_GRID = {"C": [1, 10, 100], "gamma": [0.03, 0.1, 0.3, "scale"]}
_COUNTS = {"coal_mining": "poisson", "mcycle": "student_t"}


def pendigits(context):
    """Ten classes, the standard split, m = 300, with support vector machines beside it."""
    found, ours, curves = _curves(context, "pendigits", (4, 12, 60))
    machines = context.run(
        "peers/sklearn_boosting_and_svm", "svm", context.problem("pendigits"), grid=_SVM_GRID
    )
    for machine in machines:
        name = f"SVM, {machine['way']}"
        for key in ("error", "seconds"):
            found.peers[key][name] = machine[key]
        found.add(f"error_gain {name}", gain_over_rows(machine, ours, "error"))
    return found.result(curves=curves, details={"svm": machines})


def elec2(context):
    """A stream of two classes: the first 30,000 rows against the rest, m = 300."""
    found, _, curves = _curves(context, "elec2", (2, 4, 12, 30))
    return found.result(curves=curves)


def _curves(context, name, budgets, n_inducing=300):
    """Fits with growing ``max_time`` against GPflow's scores over time."""
    path = context.problem(name, n_inducing=n_inducing)
    budgets = [budget for budget in budgets if budget <= context.seconds]
    points = context.run(
        "ours/svgp_classifier", "curve", path, budgets=context.size(budgets, [0.1, 0.3]),
        **context.options(n_inducing=n_inducing),
    )  # fmt: skip
    seconds = context.size(context.seconds, 3)
    rival = partial(context.run_peer, "peers/gpflow_classes", "curve", path, seconds=seconds)
    # its natural-gradient steps may end in NaN
    theirs = rival() or rival(natural_gradients=False)
    ours = points[-1]
    found = Found(**ours)
    for key in ("error", "nlpd"):
        found.add(key, over_rows(ours, key))
    found.values["overrun"] = max(point["seconds"] - point["budget"] for point in points)
    if theirs:
        last = theirs[-1]
        own, other = (seconds_to(curve, last["nlpd"]) for curve in (points, theirs))
        found.values["times_gpflow"] = times_faster(other, own)
        found.peers["times_gpflow"] = {"seconds of ours": own, f"of {_RIVAL}": other}
        found.add("gain", gain_over_rows(last, ours, "nlpd"))
        # scores of a stream go up and down: its last one may be a bad moment
        found.peers["nlpd"][f"{_RIVAL} at its best"] = min(point["nlpd"] for point in theirs)
        for key in ("error", "nlpd", "ece", "seconds"):
            found.peers[key][_RIVAL] = last[key]
    return found, ours, {"ours": points, _RIVAL: theirs}


def small_classes(context):
    """Defaults, m = 100, against GPflow's SVGP by L-BFGS, on the split that the data come with."""
    found, details = Found(), {}
    for name in ("ionosphere", "sonar"):
        details[name] = _compared(context, found, name, 100, f"{name}_")
    return found.result(details=details)


def banana(context):
    """The split of Bui et al. (2017), m = 30."""
    found = Found()
    details = _compared(context, found, "banana", 30, "")
    return found.result(details=details)


def _compared(context, found, name, n_inducing, prefix):
    """Scores of ours, and what it gains on GPflow, on one split."""
    path = context.problem(name, n_inducing=n_inducing)
    (ours,) = context.run(
        "ours/svgp_classifier", "fit", path, **context.options(n_inducing=n_inducing)
    )
    seconds = context.size(context.seconds, 3)
    theirs = context.run_peer("peers/gpflow_classes", "fit", path, seconds=seconds)
    found.values[f"{prefix}seconds"] = ours["seconds"]
    for key in ("error", "nlpd"):
        found.add(f"{prefix}{key}", over_rows(ours, key))
    for record in theirs:
        found.add(f"{prefix}gain", gain_over_rows(record, ours, "nlpd"))
        found.values[f"{prefix}bound_gain"] = ours["bound"] - record["bound"]
        for key in ("error", "nlpd", "seconds"):
            found.peers[f"{prefix}{key}"][_RIVAL] = record[key]
    return {"ours": ours, _RIVAL: theirs}


def classifier_steps(context):
    """Stochastic steps, whitened, d = 8: two classes, and ten against two."""
    sizes = {
        "binary": ("synthetic_2", 500),
        "binary 300": ("synthetic_2", 300),
        "softmax 300": ("synthetic_10", 300),
    }
    repeats, found = context.size(100, 3), Found()
    for key, (name, n_inducing) in sizes.items():
        path = context.problem(name, n_inducing=n_inducing)
        (record,) = context.run(
            "ours/svgp_parts", "class_step", path, batch_size=context.size(BATCH, 64),
            repeats=repeats,
        )  # fmt: skip
        found.values[key] = record["seconds"]
        for rival in context.run_peer("peers/gpflow_classes", "class_step", path, repeats=repeats):
            found.peers[key]["GPflow"] = rival["seconds"]
            found.values[f"times {key}"] = rival["seconds"] / record["seconds"]
    found.values["ratio"] = found.values["softmax 300"] / found.values["binary 300"]
    if found.peers["softmax 300"] and found.peers["binary 300"]:
        theirs = found.peers["softmax 300"]["GPflow"] / found.peers["binary 300"]["GPflow"]
        found.peers["ratio"]["GPflow"] = theirs
    return found.result()


def counts(context):
    """Poisson for counts and Student-t for outliers against Gaussian noise, over random splits.

    For counts the Gaussian has the probability of the unit about each, and of all below for zero.
    """
    found, details = Found(), {}
    for name, likelihood in _COUNTS.items():
        paths = [context.problem(name, split) for split in range(context.size(_COUNT_SPLITS, 1))]
        records = context.run(
            "ours/svgp_regressor", "against_gaussian", *paths, likelihood=likelihood,
            **context.options(n_inducing=20),
        )  # fmt: skip
        found.add(name, over_splits([record["log_density"] for record in records]))
        gains = [record["log_density"] - record["gaussian"] for record in records]
        found.add(f"{name}_gain", over_splits(gains))
        found.peers[name]["ours, Gaussian"] = mean_of(records, "gaussian")
        details[name] = records
    return found.result(details=details)
