"""Regression with `SVGPRegressor` against its peers: curves, one-off fits, paired splits."""

from collections import defaultdict
from functools import partial

import numpy as np

from experiments.records import first_record, mean_of, seconds_to

# Seconds for which our curves are fitted, each from scratch: what `max_time` gives a user.
_BUDGETS = (2, 3, 4.5, 7, 11, 16, 22, 28, 60)
_STOCHASTIC_RIVALS = {
    "GPflow SVGP": ("peers/gpflow_regression", {"model": "svgp"}),
    "GPyTorch SVGP": ("peers/gpytorch_regression", {}),
}


def _curves(context, name, n_inducing, rivals, thresholds, last_budget=90):
    """Test scores against seconds, ours and the peers', and the seconds to thresholds.

    Our curve ends at ``last_budget``, the peers' at the seconds they are given.

    Parameters
    ----------
    rivals : dict
        Name on the picture: adapter, options of its ``curve``.
    thresholds : dict
        Key of a value: NLPD, or the name of the rival whose last NLPD it is.
    """
    budgets = context.size([*_BUDGETS, last_budget], [0.1, 0.3])
    path = context.problem(name, n_inducing=n_inducing)
    curves = {
        "ours": context.run(
            "ours/svgp_regressor", "curve", path, budgets=budgets,
            **context.options(n_inducing=n_inducing),
        )
    }  # fmt: skip
    for rival, (adapter, options) in rivals.items():
        curves[rival] = context.run_peer(adapter, "curve", path, seconds=context.seconds, **options)
    values, peers = dict(curves["ours"][-1]), defaultdict(dict)
    for key, nlpd in thresholds.items():
        if isinstance(nlpd, str):
            if not curves.get(nlpd):
                continue
            nlpd = curves[nlpd][-1]["nlpd"]
        values[key] = seconds_to(curves["ours"], nlpd)
        for rival in rivals:
            if curves[rival]:
                peers[key][rival] = seconds_to(curves[rival], nlpd)
    for rival in rivals:
        if curves[rival]:
            peers["nlpd"][rival] = curves[rival][-1]["nlpd"]
            peers["rmse"][rival] = curves[rival][-1]["rmse"]
    return {"values": values, "peers": dict(peers), "curves": curves}


def synthetic(context):
    thresholds = {
        "to_0.104": 0.104,
        "to_0.091": 0.091,
        "to_gpflow": "GPflow SVGP",
        "to_gpytorch": "GPyTorch SVGP",
    }
    return _curves(context, "synthetic", 500, _STOCHASTIC_RIVALS, thresholds)


def kin40k(context):
    rivals = {
        "GPflow SGPR": ("peers/gpflow_regression", {"model": "sgpr"}),
        "GPyTorch SVGP": ("peers/gpytorch_regression", {}),
    }
    thresholds = {"to_-0.349": -0.349, "to_gpflow": "GPflow SGPR"}
    return _curves(context, "kin40k", 512, rivals, thresholds, last_budget=120)


def airline_speed(context):
    thresholds = {
        "to_1.334": 1.334,
        "to_gpflow": "GPflow SVGP",
        "to_gpytorch": "GPyTorch SVGP",
    }
    return _curves(context, "airline_720k", 500, _STOCHASTIC_RIVALS, thresholds)


def house_prices(context):
    return _curves(context, "uk_house_price", 500, _STOCHASTIC_RIVALS, {})


def airline_accuracy(context):
    path = context.problem("airline")
    options = context.options(n_inducing=1000, max_time=540)
    (ours,) = context.run("ours/svgp_regressor", "fit", path, **options)
    boosted = context.run(
        "peers/sklearn_boosting_and_svm", "boosting", path, trees=context.size([100, 200], [5])
    )
    best = min(boosted, key=lambda record: record["nlpd"])
    values = {
        "rmse": ours["rmse_in_units"],
        "log_density_gain": best["nlpd"] - ours["nlpd"],
        "coverage": ours["coverage"],
        "seconds": ours["seconds"],
    }
    peers = {"rmse": {"boosting": best["rmse_in_units"]}, "seconds": {"boosting": best["seconds"]}}
    return {"values": values, "peers": peers, "details": {"ours": ours, "boosting": boosted}}


def uci_small(context):
    """Against the exact GP with the same kernel, paired over the splits."""
    names = context.size(["concrete", "energy", "wine_red", "yacht"], ["concrete"])
    return _paired(
        context,
        names,
        context.options(n_inducing=256),
        lambda path: context.run("peers/sklearn_exact_gp", "fit", path),
        "exact GP",
    )


def uci_large(context):
    """Against GPflow's SGPR at the same number of inducing inputs, paired over the splits."""
    names = context.size(["power_plant", "kin8nm"], ["power_plant"])
    return _paired(
        context,
        names,
        context.options(n_inducing=512),
        lambda path: context.run_peer("peers/gpflow_regression", "fit", path),
        "GPflow SGPR",
        n_inducing=512,
    )


def _paired(context, names, options, rival, rival_name, n_inducing=None):
    values, peers, details = {}, defaultdict(dict), {}
    for name in names:
        paths = [
            context.problem(name, split, n_inducing)
            for split in range(context.size(context.splits, 1))
        ]
        ours = context.run("ours/svgp_regressor", "fit", *paths, **options)
        theirs = [
            context.kept(f"{rival_name}, {name}, split {split}", partial(first_record, rival, path))
            for split, path in enumerate(paths)
        ]
        theirs = theirs if all(theirs) else []
        details[name] = {"ours": ours, rival_name: theirs}
        values[f"{name}_log_density"] = -mean_of(ours, "nlpd")
        values[f"{name}_coverage"] = mean_of(ours, "coverage")
        values[f"{name}_worst_rmse"] = max(record["rmse"] for record in ours)
        if theirs:
            difference = [b["nlpd"] - a["nlpd"] for a, b in zip(ours, theirs, strict=True)]
            values[f"{name}_gain"] = float(np.mean(difference))
            peers[f"{name}_log_density"][rival_name] = -mean_of(theirs, "nlpd")
    return {"values": values, "peers": dict(peers), "details": details}


def california(context):
    path = context.problem("california_housing")
    (ours,) = context.run("ours/svgp_regressor", "fit", path, **context.options(n_inducing=512))
    return {"values": ours}


def noise_floor(context):
    path = context.problem("noise_floor", n_inducing=256)
    (ours,) = context.run("ours/svgp_regressor", "fit", path, **context.options(n_inducing=256))
    peers = defaultdict(dict)
    for rival, (adapter, options) in _STOCHASTIC_RIVALS.items():
        seconds = min(60, context.seconds)
        points = context.run_peer(adapter, "curve", path, seconds=seconds, **options)
        if points:
            peers["nlpd"][rival], peers["rmse"][rival] = points[-1]["nlpd"], points[-1]["rmse"]
    return {"values": ours, "peers": dict(peers)}
