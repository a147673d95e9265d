"""Regression with `SVGPRegressor` against its peers: curves, one-off fits, paired splits."""

from experiments.records import (
    Found,
    gain,
    gain_over_rows,
    mean_of,
    mean_or_level,
    over_rows,
    seconds_to,
    times_faster,
)

# Seconds for which our curves are fitted, each from scratch: what `max_time` gives a user. No
# longer than the peers.
_BUDGETS = (1, 2, 4, 10, 25, 60, 150)
_STOCHASTIC_RIVALS = {
    "GPflow SVGP": ("peers/gpflow_regression", {"model": "svgp"}),
    "GPyTorch SVGP": ("peers/gpytorch_regression", {}),
}


def _curves(context, name, n_inducing, rivals):
    """Test scores against seconds, ours and the peers', and the seconds to each one's last.

    Parameters
    ----------
    rivals : dict
        Name on the picture: adapter, options of its ``curve``.
    """
    budgets = [seconds for seconds in _BUDGETS if seconds < context.seconds] + [context.seconds]
    path = context.problem(name, n_inducing=n_inducing)
    ours = context.run(
        "ours/svgp_regressor", "curve", path, budgets=context.size(budgets, [0.1, 0.3]),
        **context.options(n_inducing=n_inducing),
    )  # fmt: skip
    curves, found = {"ours": ours}, Found(**ours[-1])
    for key in ("coverage", "nlpd", "rmse"):
        found.add(key, over_rows(ours[-1], key))
    for rival, (adapter, options) in rivals.items():
        points = context.run_peer(adapter, "curve", path, seconds=context.seconds, **options)
        curves[rival] = points
        if not points:
            continue
        last = points[-1]
        own, theirs = (seconds_to(curve, last["nlpd"]) for curve in (ours, points))
        found.values[f"times {rival}"] = times_faster(theirs, own)
        found.peers[f"times {rival}"] = {"seconds of ours": own, f"of {rival}": theirs}
        for score in ("nlpd", "rmse"):
            found.peers[score][rival] = last[score]
            found.add(f"{score}_gain {rival}", gain_over_rows(last, ours[-1], score))
    return found.result(curves=curves)


def synthetic(context):
    return _curves(context, "synthetic", 500, _STOCHASTIC_RIVALS)


def kin40k(context):
    rivals = {
        "GPflow SGPR": ("peers/gpflow_regression", {"model": "sgpr"}),
        "GPyTorch SVGP": ("peers/gpytorch_regression", {}),
    }
    return _curves(context, "kin40k", 512, rivals)


def airline_speed(context):
    return _curves(context, "airline_720k", 500, _STOCHASTIC_RIVALS)


def house_prices(context):
    return _curves(context, "uk_house_price", 500, _STOCHASTIC_RIVALS)


def airline_accuracy(context):
    """700,000 flights; boosting, which is quick, is the rival."""
    path = context.problem("airline")
    options = context.options(n_inducing=1000, max_time=180)
    (ours,) = context.run("ours/svgp_regressor", "fit", path, **options)
    boosted = context.run(
        "peers/sklearn_boosting_and_svm", "boosting", path, trees=context.size([100, 200], [5])
    )
    found = Found(seconds=ours["seconds"])
    scale = ours["rmse_in_units"] / ours["rmse"]
    found.add("rmse", over_rows(ours, "rmse").scaled(scale))
    found.add("coverage", over_rows(ours, "coverage"))
    if boosted:
        best = min(boosted, key=lambda record: record["nlpd"])
        found.add("rmse_gain", gain_over_rows(best, ours, "rmse").scaled(scale))
        found.add("log_density_gain", gain_over_rows(best, ours, "nlpd"))
        found.peers["rmse"]["boosting"] = best["rmse_in_units"]
        found.peers["seconds"]["boosting"] = best["seconds"]
    return found.result(details={"ours": ours, "boosting": boosted})


def uci_small(context):
    """Against the exact GP with the same kernel, paired over the splits."""
    names = context.size(["concrete", "energy", "wine_red", "yacht"], ["concrete"])
    return _paired(
        context, names, context.options(n_inducing=256), "exact GP",
        lambda paths: context.run("peers/sklearn_exact_gp", "fit", *paths),
    )  # fmt: skip


def uci_large(context):
    """Against GPflow's SGPR at the same number of inducing inputs, paired over the splits."""
    names = context.size(["power_plant", "kin8nm"], ["power_plant"])
    # twice those of the curves: more iterations than the 200 that a stage of ours may take
    seconds = context.size(2 * context.seconds, 3)
    return _paired(
        context, names, context.options(n_inducing=512), "GPflow SGPR",
        lambda paths: context.run_peer(
            "peers/gpflow_regression", "fit", *paths, seconds=seconds
        ),
        n_inducing=512,
    )  # fmt: skip


def _paired(context, names, options, rival_name, rival, n_inducing=None):
    found, details = Found(), {}
    for name in names:
        paths = [
            context.problem(name, split, n_inducing)
            for split in range(context.size(context.splits, 1))
        ]
        ours = context.run("ours/svgp_regressor", "fit", *paths, **options)
        theirs = rival(paths)
        details[name] = {"ours": ours, rival_name: theirs}
        found.add(f"{name}_nlpd", mean_or_level(ours, "nlpd"))
        found.add(f"{name}_coverage", mean_or_level(ours, "coverage"))
        found.values[f"{name}_worst_rmse"] = max(record["rmse"] for record in ours)
        for key in ("seconds", "n_iter"):
            found.values[f"{name}_{key}"] = mean_of(ours, key)
        if theirs:
            found.add(f"{name}_gain", gain(theirs, ours, "nlpd"))
            for key in ("nlpd", "seconds", "n_iter"):
                if key in theirs[0]:
                    found.peers[f"{name}_{key}"][rival_name] = mean_of(theirs, key)
    return found.result(details=details)


def california(context):
    path = context.problem("california_housing")
    (ours,) = context.run("ours/svgp_regressor", "fit", path, **context.options(n_inducing=512))
    found = Found(**ours)
    found.add("coverage", over_rows(ours, "coverage"))
    return found.result()


def noise_floor(context):
    path = context.problem("noise_floor", n_inducing=256)
    (ours,) = context.run("ours/svgp_regressor", "fit", path, **context.options(n_inducing=256))
    found = Found(**ours)
    found.add("nlpd", over_rows(ours, "nlpd"))
    for rival, (adapter, options) in _STOCHASTIC_RIVALS.items():
        seconds = min(30, context.seconds)
        points = context.run_peer(adapter, "curve", path, seconds=seconds, **options)
        if points:
            for key in ("nlpd", "rmse"):
                found.peers[key][rival] = points[-1][key]
            found.add(f"nlpd_gain {rival}", gain_over_rows(points[-1], ours, "nlpd"))
    return found.result()
