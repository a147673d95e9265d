"""`AnytimeSGPRegressor()` with more or less time."""

from itertools import combinations

from experiments.context import FEW
from experiments.records import Found, over_rows

_BUDGETS = (15, 30, 60, 120, 240)
BUDGETED = (
    "kin40k",
    "pol",
    "california_housing",
    "power_plant",
    "uk_house_price",
    "sea_level_pressure",
)


def airline_all(context):
    """AIRLINE, 1.95 million rows, a twentieth for testing, a quarter of an hour."""
    (ours,) = context.run(
        "ours/anytime", "fit", context.problem("airline_all"), model="auto",
        **context.size({"max_time": 900}, FEW),
    )  # fmt: skip
    found = Found(seconds=ours["seconds"])
    found.add("rmse", over_rows(ours, "rmse").scaled(ours["rmse_in_units"] / ours["rmse"]))
    found.add("log_density", over_rows(ours, "nlpd").scaled(-1.0))
    found.add("coverage", over_rows(ours, "coverage"))
    return found.result(details={"ours": ours})


def budgets(context):
    """How far the log density falls, at most, from one time to a longer one.

    Each is a fit from scratch in a process of its own. None is left out because a shorter one ended
    early: what is planned depends on the time.
    """
    found, details = Found(), {}
    for name in context.size(BUDGETED, ["power_plant"]):
        path = context.problem(name)
        details[name] = [
            {**context.run("ours/anytime", "fit", path, model="auto", max_time=time)[0],
             "budget": time}
            for time in context.size(_BUDGETS, (0.5, 1))
        ]  # fmt: skip
        pairs = combinations([-record["nlpd"] for record in details[name]], 2)
        found.values[f"{name}_fall"] = max(0.0, *(less - more for less, more in pairs))
        over = [record["seconds"] - record["budget"] for record in details[name]]
        found.values[f"{name}_overrun"] = max(over)
    falls = {key: value for key, value in found.values.items() if key.endswith("_fall")}
    found.values["largest_fall"] = max(falls.values())
    return found.result(details=details)
