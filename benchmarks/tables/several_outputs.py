"""Outputs that share strength beside independent ones, and columns of categories."""

from experiments.several_outputs import LATENT, WAYS

from tables.measure import Measure

_OUTPUTS, _CATEGORIES = "several_outputs", "categories"
_NAMES = {"categories": "as categories", "one_hot": "one-hot", "none": "as numbers only"}
_KINDS = {
    "outputs_single": "60 % of the targets missing one by one",
    "outputs_stretches": "missing in 12 of 20 stretches",
}


def _synthetic(kind, title):
    head = f"4 outputs of 2 functions, 20,000 rows, {title}"
    # one by one nobody can gain: see `problems.several_outputs.outputs_single`
    least = 0.5 if kind == "outputs_stretches" else None
    return [
        Measure(_OUTPUTS, f"{kind}_gain", f"{head}: log density of the missing ones ahead of "
                "independent outputs", "nats", low=least),
        Measure(_OUTPUTS, f"{kind}_ceiling", "the same if kernels, mixing and noise were known",
                "nats"),
        Measure(_OUTPUTS, f"{kind}_correlation", f"{head}: largest error of a correlation of "
                "outputs, against the mixing's", high=0.05),
        Measure(_OUTPUTS, f"{kind}_correlation_drawn", "the same against the drawn values'"),
    ]  # fmt: skip


SEVERAL_OUTPUTS = [
    Measure(_OUTPUTS, "jura_mae", "jura, cadmium of 100 places with nickel and zinc: mean absolute "
            "error, number of functions by the bound", high=0.47,
            published="independent 0.57, cokriging 0.51, coregionalisation 0.45 to 0.47"),
    *[Measure(_OUTPUTS, f"jura_mae_{Q}", f"the same, {Q} functions") for Q in LATENT],
    Measure(_OUTPUTS, "jura_mae_alone", "the same, cadmium by itself"),
    Measure(_OUTPUTS, "jura_gain", "the same: log density ahead of cadmium by itself", "nats",
            low=0.1),
    Measure(_OUTPUTS, "jura_random_joint", "jura, three metals, ten random splits, number of "
            "functions by the bound: log density of all targets of a place, for each target, ahead "
            "of independent outputs", "nats", low=0.0),
    Measure(_OUTPUTS, "jura_random_nlpd", "the same of single targets", "nats", low=0.0),
    Measure(_OUTPUTS, "jura_random_rmse", "the same: RMSE below that of independent outputs, in "
            "standard deviations", low=0.0),
    *[row for kind, title in _KINDS.items() for row in _synthetic(kind, title)],
    Measure(_OUTPUTS, "times_complete", "bound of 10 outputs of 3 functions, n = 100,000, m = 200, "
            "over that of one output", "times", high=6.0),
    Measure(_OUTPUTS, "times_missing", "the same with 60 % of the targets missing", "times",
            high=6.0),
    *[
        Measure(_CATEGORIES, f"{way}_{key}", "flights with month, days and distance "
                f"{_NAMES[way]}: {what}", unit)
        for way in WAYS
        for key, what, unit in (("rmse", "RMSE", "sd"), ("nlpd", "mean negative log density",
                                 "nats"), ("seconds", "seconds", "s"))
    ],
    *[
        Measure(_CATEGORIES, f"gain_{way}_{key}", f"the same: {what} as categories below that "
                f"{_NAMES[way]}", unit, low=0.0)
        for way in WAYS[1:]
        for key, what, unit in (("rmse", "RMSE", "sd"), ("nlpd", "negative log density", "nats"))
    ],
]  # fmt: skip
