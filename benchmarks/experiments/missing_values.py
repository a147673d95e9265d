"""Values of X that are missing: without an imputer, behind one, and boosting."""

from problems.missing import REASONS

from experiments.records import Found

MISSING_TABLES = ("concrete", "wine_red", "power_plant", "california_housing", "kin8nm")
SHARES = (0.05, 0.2, 0.5)
MODELS = {"svgp": "SVGPRegressor", "anytime": "AnytimeSGPRegressor"}
PIPELINE, BOOSTING = "SimpleImputer(add_indicator=True)", "boosting"


def missing_values(context):
    """Mean negative log densities by table and share, a reason for each; how often ours are ahead.

    Over the tables each share has each reason.
    """
    found, details = Found(), {}
    ahead = {(model, rival): [] for model in MODELS for rival in (PIPELINE, BOOSTING)}
    for place, name in enumerate(context.size(MISSING_TABLES, MISSING_TABLES[:1])):
        path = context.problem(name)
        for k, share in enumerate(context.size(SHARES, SHARES[:1])):
            reason = REASONS[(k + place) % len(REASONS)]
            holes = {"share": share, "reason": reason, "n": context.size(1000, 100)}
            records = _all(context, path, holes)
            details[f"{name}, {share:.0%}, {reason}"] = records
            for (model, rival), gains in ahead.items():
                other = records[rival if rival == BOOSTING else f"{model}, {rival}"]
                gains.append(other["nlpd"] - records[model]["nlpd"])
    for (model, rival), gains in ahead.items():
        found.values[f"{model}_ahead {rival}"] = sum(gain > 0.0 for gain in gains)
        found.values[f"{model}_least {rival}"] = min(gains)
    return found.result(details=details)


def _all(context, path, holes):
    few, records = context.size({}, {"max_iter": 3, "n_inducing": 20}), {}
    for model in MODELS:
        for key, imputes in ((model, False), (f"{model}, {PIPELINE}", True)):
            (records[key],) = context.run(
                "ours/missing_values", "fit", path, model=model, imputes=imputes, **holes, **few
            )
    (records[BOOSTING],) = context.run(
        "peers/sklearn_boosting_and_svm", "boosting_with_missing", path, **holes
    )
    return records
