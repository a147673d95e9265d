"""Rivals of `AnytimeSGPRegressor()` on tables, each as its users would run it.

They do not depend on what is measured of ours, and take hours: each has its answers stored once.
"""

from dataclasses import dataclass, field

from experiments.context import FAILED, NOT_RUN

NO_TIME = "no time was left"
# Seconds of the experiment that must be left for another call.
_LEAST_LEFT = 60.0


@dataclass(frozen=True)
class Rival:
    """How a rival is run.

    Parameters
    ----------
    adapter, task : str
    options, toy : dict
        Of the task, and of a smoke run where they are others.
    n_inducing : int or None
        Number of inducing inputs that it is given, by k-means as for ours.
    constant_noise : bool
        Whether the noise is the same for every row; else it predicts that of each.
    limit : float
        Seconds after which a fit, its predictions included, is ended.
    splits : int
        How many of the splits of a table it is run on, at most.
    """

    adapter: str
    task: str
    options: dict = field(default_factory=dict)
    toy: dict = field(default_factory=dict)
    n_inducing: int | None = None
    constant_noise: bool = True
    limit: float = 1200
    splits: int = 3


def _gpboost(gp_approx, rows_to_learn, limit):
    options = {"gp_approx": gp_approx, "rows_to_learn": rows_to_learn, "max_rows": 200_000}
    toy = {"rows_to_learn": [100]}
    return Rival("peers/gpboost_regression", "fit", options, toy, limit=limit, splits=1)


TUNED = "tuned boosting"
# In the order in which they run; tuned boosting beside ours, in the same run.
RIVALS = {
    TUNED: Rival(
        "peers/sklearn_boosting_and_svm", "tuned_boosting", {"trees": 2000}, {"trees": 10}
    ),
    "CatBoost": Rival(
        "peers/catboost_regression", "fit", {"trees": 3000, "seconds": 600}, {"trees": 10},
        constant_noise=False,
    ),
    "NGBoost": Rival(
        "peers/ngboost_regression", "fit", {"trees": 2000, "max_rows": 20_000}, {"trees": 10},
        constant_noise=False,
    ),
    "GPBoost vecchia": _gpboost("vecchia", [10_000], 1200),
    "GPflow SGPR": Rival(
        "peers/gpflow_regression", "fit_some", {"seconds": 120, "max_rows": 50_000},
        {"seconds": 2}, n_inducing=500, splits=1,
    ),
    "exact GP, 2,000 rows": Rival(
        "peers/sklearn_exact_gp", "fit_some", {"max_rows": 2000}, {"max_rows": 100},
        splits=1,
    ),
    "GPBoost full-scale vecchia": _gpboost("full_scale_vecchia", [2000, 10_000], 1800),
}  # fmt: skip
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
    "sea_level_pressure": (1, 300),
    "airline": (1, 300),
}


def rivals(context):
    """Answers of each rival on each table: first one split of all, then the others.

    What a stored run of this experiment has is kept, so that another one fills in what is missing.
    """
    before = context.stored.get("rivals", {}).get("details", {})
    details = {
        name: {key: _kept(before.get(name, {}).get(key)) for key in RIVALS if key != TUNED}
        for name in context.size(list(TABLES), ["power_plant"])
    }
    for split in range(context.splits):
        for key in details[next(iter(details))]:
            for name, found in details.items():
                if split < min(RIVALS[key].splits, len(splits(context, name))):
                    answer(context, name, split, RIVALS[key], found[key])
    return {"values": {}, "details": details}


def splits(context, name):
    """Of a table, as many as there are and as were asked for."""
    return range(context.size(min(TABLES[name][0], context.splits), 1))


def _kept(found):
    """Stored records and why there are no more; a rival that was not run may be run now."""
    found = found or {"records": [], "why_not": ""}
    lacking = found["why_not"] in (NOT_RUN, NO_TIME)
    return {"records": list(found["records"]), "why_not": "" if lacking else found["why_not"]}


def answer(context, name, split, rival, found):
    """Add the record of a split to what is found, unless it is there or an earlier one failed.

    Of a call that is ended what it wrote last counts, if it wrote something.
    """
    if found["why_not"] or split < len(found["records"]):
        return
    if context.interpreter(rival.adapter) is None:
        found["why_not"] = NOT_RUN
    elif context.seconds_left() < _LEAST_LEFT:
        found["why_not"] = "" if found["records"] else NO_TIME
    else:
        path = context.problem(name, split, rival.n_inducing)
        options = {**rival.options, **context.size({}, rival.toy)}
        is_short = context.longest_call() < rival.limit
        said = context.ask_peer(rival.adapter, rival.task, path, limit=rival.limit, **options)
        if said.why_not and said.why_not != FAILED and is_short:
            found["why_not"] = NO_TIME  # to be run again, for as long as it may take
        else:
            found["records"] += said.records[-1:]  # the last of several is the best
            found["why_not"] = said.why_not
