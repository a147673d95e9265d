"""Tables with defaults: `AnytimeSGPRegressor()` beside boosting and other Gaussian processes."""

from dataclasses import dataclass, field

from experiments.context import NOT_RUN
from experiments.records import Found, gain, mean_of, mean_or_level


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
    """

    adapter: str
    task: str
    options: dict = field(default_factory=dict)
    toy: dict = field(default_factory=dict)
    n_inducing: int | None = None
    constant_noise: bool = True
    limit: float = 1200


def _gpboost(gp_approx, rows_to_learn, limit):
    options = {"gp_approx": gp_approx, "rows_to_learn": rows_to_learn, "max_rows": 200_000}
    return Rival("peers/gpboost_regression", "fit", options, {"rows_to_learn": [100]}, limit=limit)


TUNED = "tuned boosting"
RIVALS = {
    TUNED: Rival(
        "peers/sklearn_boosting_and_svm", "tuned_boosting", {"trees": 2000}, {"trees": 10}
    ),
    "CatBoost": Rival(
        "peers/catboost_regression", "fit", {"trees": 3000, "seconds": 1500}, {"trees": 10},
        constant_noise=False, limit=2000,
    ),
    "NGBoost": Rival(
        "peers/ngboost_regression", "fit", {"trees": 2000, "max_rows": 20_000}, {"trees": 10},
        constant_noise=False,
    ),
    "GPBoost vecchia": _gpboost("vecchia", [10_000], 1200),
    "GPBoost full-scale vecchia": _gpboost("full_scale_vecchia", [2000, 10_000], 900),
    "GPflow SGPR": Rival(
        "peers/gpflow_regression", "fit_some", {"seconds": 300, "max_rows": 50_000},
        {"seconds": 2}, n_inducing=500,
    ),
    "exact GP, 2,000 rows": Rival(
        "peers/sklearn_exact_gp", "fit_some", {"max_rows": 2000}, {"max_rows": 100}
    ),
}  # fmt: skip
# What 90 % intervals are to cover.
COVERED = (0.87, 0.93)
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


def against_boosting(context):
    """Gains in density and error, over splits or over neighbouring test rows, and coverage.

    Ours comes first on all tables: if it fails, hours of rivals are not lost.
    """
    names = context.size(list(TABLES), ["power_plant"])
    details = {name: {"ours": _ours(context, name)} for name in names}
    found, why_not = Found(), {name: {} for name in names}
    for name, records in details.items():
        _add_ours(found, name, records["ours"])
        for key, rival in RIVALS.items():
            theirs, why = _answers(context, name, rival)
            records[key] = theirs
            if why:
                why_not[name][key] = why
            if theirs:
                _add_rival(found, name, key, theirs)
        if records[TUNED]:
            _add_gains(found, name, records["ours"], records[TUNED])
    found.values |= _tables_won(details, why_not)
    return found.result(details=details, why_not=why_not)


def _splits(context, name):
    return range(context.size(min(TABLES[name][0], context.splits), 1))


def _ours(context, name):
    paths = [context.problem(name, split) for split in _splits(context, name)]
    seconds = context.size(TABLES[name][1], 5)
    return context.run("ours/anytime", "fit", *paths, model="auto", max_time=seconds)


def _answers(context, name, rival):
    """A record for each split up to the first that it does not finish, and why it did not.

    Of that one what it wrote last counts, if it wrote something.
    """
    records, options = [], {**rival.options, **context.size({}, rival.toy)}
    for split in _splits(context, name):
        if context.interpreter(rival.adapter) is None:
            return [], NOT_RUN
        path = context.problem(name, split, rival.n_inducing)
        said = context.ask_peer(rival.adapter, rival.task, path, limit=rival.limit, **options)
        records += said.records[-1:]  # the last of several is the best
        if said.why_not:
            return records, said.why_not
    return records, ""


def _add_ours(found, name, records):
    for key in ("rmse", "coverage"):
        found.add(f"{name}_{key}", mean_or_level(records, key))
    found.add(f"{name}_log_density", mean_or_level(records, "nlpd").scaled(-1.0))
    found.values[f"{name}_seconds"] = mean_of(records, "seconds")


def _add_rival(found, name, rival, records):
    for key in ("rmse", "coverage", "seconds"):
        found.peers[f"{name}_{key}"][rival] = mean_of(records, key)
    found.peers[f"{name}_log_density"][rival] = -mean_of(records, "nlpd")


def _add_gains(found, name, ours, tuned):
    found.add(f"{name}_log_density_gain", gain(tuned, ours, "nlpd"))
    found.add(f"{name}_rmse_gain", gain(tuned, ours, "rmse"))


def gain_over(records, rival, key):
    """Ours below a rival in a score that is better if lower, over the splits that it finished."""
    theirs = records[rival]
    return mean_of(theirs, key) - mean_of(records["ours"][: len(theirs)], key)


def _tables_won(details, why_not):
    """In how many tables ours is ahead of all of some rivals that have a result there.

    Nothing is said of rivals of which one was not run at all.
    """
    constant = [name for name, rival in RIVALS.items() if rival.constant_noise]
    varying = [name for name, rival in RIVALS.items() if not rival.constant_noise]
    groups = {
        "tables_ahead_of_constant_noise": ("nlpd", constant),
        "tables_ahead_of_varying_noise": ("nlpd", varying),
        "tables_ahead_in_rmse": ("rmse", [TUNED]),
    }
    values = {}
    for key, (score, rivals) in groups.items():
        if any(why.get(rival) == NOT_RUN for why in why_not.values() for rival in rivals):
            continue
        values[key] = sum(
            all(gain_over(records, rival, score) > 0.0 for rival in rivals if records[rival])
            for records in details.values()
        )
    low, high = COVERED
    shares = [mean_of(records["ours"], "coverage") for records in details.values()]
    return {**values, "tables_covered": sum(low <= share <= high for share in shares)}
