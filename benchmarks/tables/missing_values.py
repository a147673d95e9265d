"""Rows of values of X that are missing."""

from experiments.missing_values import BOOSTING, MISSING_TABLES, MODELS, PIPELINE, SHARES

from tables.measure import Measure

_NAME = "missing_values"
_RIVALS = {PIPELINE: "the same behind `SimpleImputer(add_indicator=True)`", BOOSTING: "boosting"}
_DRAWS = len(MISSING_TABLES) * len(SHARES)

MISSING_VALUES = [
    row
    for model, title in MODELS.items()
    for rival, named in _RIVALS.items()
    for row in (
        Measure(_NAME, f"{model}_ahead {rival}", f"{_DRAWS} draws of five tables, 5 to 50 % "
                f"missing, {title}: of more log density than {named}", low=12),
        Measure(_NAME, f"{model}_least {rival}", f"the same: least gain over {named}", "nats",
                low=-0.02 if rival == PIPELINE else None),
    )
]  # fmt: skip
