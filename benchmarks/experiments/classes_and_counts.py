"""Experiments with classes, counts and outliers."""

from collections import defaultdict
from functools import partial

from experiments.context import BATCH
from experiments.records import first_record, mean_of, seconds_to

_RIVAL = "GPflow SVGP"
_CURVE_SECONDS, _FIT_SECONDS = 120, 60
_SMALL_SPLITS = 10
_SVM_GRID = {"C": [1, 10, 100], "gamma": [0.03, 0.1, 0.3, "scale"]}
_COUNTS = {"coal_mining": "poisson", "mcycle": "student_t"}


def pendigits(context):
    """Ten classes, the standard split, m = 300, with support vector machines beside it."""
    found = _curves(context, "pendigits", (4, 8, 12, 30, 60))
    machines = context.run(
        "peers/sklearn_boosting_and_svm", "svm", context.problem("pendigits"), grid=_SVM_GRID
    )
    for machine in machines:
        for key in ("error", "seconds"):
            found["peers"][key][f"SVM, {machine['way']}"] = machine[key]
    return {**found, "details": {"svm": machines}}


def pendigits_selected(context):
    """The kernel by cross-validation, as the machines' parameters are, not by the bound."""
    (found,) = context.run(
        "ours/svgp_classifier", "selected", context.problem("pendigits_as_drawn"),
        variances=context.size([10.0, 30.0, 100.0], [10.0]),
        length_scales=context.size([1.4, 2.0, 2.8, 4.0], [1.0, 3.0]),
        n_searched=context.size(300, 5), n_inducing=context.size(800, 10),
    )  # fmt: skip
    return {"values": found}


def elec2(context):
    """A stream of two classes: the first 30,000 rows against the rest, m = 300."""
    return _curves(context, "elec2", (2, 4, 8, 12, 30))


def _curves(context, name, budgets, n_inducing=300):
    """Fits with growing ``max_time`` against GPflow's scores over time."""
    path = context.problem(name, n_inducing=n_inducing)
    seconds = context.size(min(_CURVE_SECONDS, context.seconds), 3)
    ours = context.run(
        "ours/svgp_classifier", "curve", path, budgets=context.size(budgets, [0.1, 0.3]),
        **context.options(n_inducing=n_inducing),
    )  # fmt: skip
    rival = partial(context.run_peer, "peers/gpflow_classes", "curve", path, seconds=seconds)
    # its natural-gradient steps may end in NaN
    theirs = rival() or rival(natural_gradients=False)
    values, peers = dict(ours[-1]), defaultdict(dict)
    values["overrun"] = max(point["seconds"] - point["budget"] for point in ours)
    if theirs:
        last = theirs[-1]
        values["to_gpflow"] = seconds_to(ours, last["nlpd"])
        peers["to_gpflow"][_RIVAL] = seconds_to(theirs, last["nlpd"])
        values["gain"] = last["nlpd"] - values["nlpd"]
        # scores of a stream go up and down: its last one may be a bad moment
        peers["nlpd"][f"{_RIVAL} at its best"] = min(point["nlpd"] for point in theirs)
        for key in ("error", "nlpd", "ece", "seconds"):
            peers[key][_RIVAL] = last[key]
    curves = {"ours": ours, _RIVAL: theirs}
    return {"values": values, "peers": peers, "curves": curves, "peer_seconds": seconds}


def small_classes(context):
    """Defaults, m = 100, against GPflow's SVGP by L-BFGS, paired over random splits."""
    values, peers, details = {}, {}, {}
    splits = context.size(min(_SMALL_SPLITS, context.splits), 1)
    for name in ("ionosphere", "sonar"):
        ours, theirs = _paired(context, name, 100, splits)
        details[name] = {"ours": ours, _RIVAL: theirs}
        for key in ("error", "nlpd"):
            values[f"{name}_{key}"] = mean_of(ours, key)
            peers[f"{name}_{key}"] = {_RIVAL: mean_of(theirs, key)} if theirs else {}
        if theirs:
            values[f"{name}_gain"] = mean_of(theirs, "nlpd") - mean_of(ours, "nlpd")
            values[f"{name}_bound_gain"] = mean_of(ours, "bound") - mean_of(theirs, "bound")
    return {"values": values, "peers": peers, "details": details}


def banana(context):
    """The split of Bui et al. (2017), m = 30."""
    (ours,), theirs = _paired(context, "banana", 30, 1)
    peers = {key: {_RIVAL: theirs[0][key]} for key in ("error", "nlpd")} if theirs else {}
    return {"values": ours, "peers": peers, "details": {_RIVAL: theirs}}


def _paired(context, name, n_inducing, splits):
    """Records of ours and of GPflow's, none of these where it is absent, split by split."""
    paths = [context.problem(name, split, n_inducing) for split in range(splits)]
    options = context.options(n_inducing=n_inducing)
    ours = context.run("ours/svgp_classifier", "fit", *paths, **options)
    seconds = context.size(_FIT_SECONDS, 3)
    rival = partial(context.run_peer, "peers/gpflow_classes", "fit", seconds=seconds)
    theirs = [
        context.kept(f"{_RIVAL}, {name}, split {split}", partial(first_record, rival, path))
        for split, path in enumerate(paths)
    ]
    return ours, theirs if all(theirs) else []


def classifier_steps(context):
    """Stochastic steps, whitened, d = 8: two classes, and ten against two."""
    sizes = {
        "binary": ("synthetic_2", 500),
        "binary 300": ("synthetic_2", 300),
        "softmax 300": ("synthetic_10", 300),
    }
    repeats, values, peers = context.size(200, 3), {}, defaultdict(dict)
    for key, (name, n_inducing) in sizes.items():
        path = context.problem(name, n_inducing=n_inducing)
        (record,) = context.run(
            "ours/svgp_parts", "class_step", path, batch_size=context.size(BATCH, 64),
            repeats=repeats,
        )  # fmt: skip
        values[key] = record["seconds"]
        for record in context.run_peer("peers/gpflow_classes", "class_step", path, repeats=repeats):
            peers[key]["GPflow"] = record["seconds"]
    values["ratio"] = values["softmax 300"] / values["binary 300"]
    if "softmax 300" in peers and "binary 300" in peers:
        peers["ratio"]["GPflow"] = peers["softmax 300"]["GPflow"] / peers["binary 300"]["GPflow"]
    return {"values": values, "peers": peers}


def counts(context):
    """Poisson for counts and Student-t for outliers against Gaussian noise, over random splits.

    For counts the Gaussian has the probability of the unit about each, and of all below for zero.
    """
    values, peers, details = {}, {}, {}
    for name, likelihood in _COUNTS.items():
        paths = [context.problem(name, split) for split in range(context.size(context.splits, 1))]
        records = context.run(
            "ours/svgp_regressor", "against_gaussian", *paths, likelihood=likelihood,
            **context.options(n_inducing=20),
        )  # fmt: skip
        density, gaussian = mean_of(records, "log_density"), mean_of(records, "gaussian")
        values[name], values[f"{name}_gain"] = density, density - gaussian
        peers[name], details[name] = {"ours, Gaussian": gaussian}, records
    return {"values": values, "peers": peers, "details": details}
