"""Rows of `AnytimeSGPRegressor()` beside gradient boosting."""

from experiments.boosting import TABLES

from tables.measure import Measure

BOOSTING = [
    row
    for name in TABLES
    for row in (
        Measure("against_boosting", f"{name}_nlpd_gain",
                f"{name}: log density above that of tuned boosting", "nats", low=0.0),
        Measure("against_boosting", f"{name}_rmse_gain", f"{name}: RMSE below it", "sd", low=0.0),
        Measure("against_boosting", f"{name}_nlpd", f"{name}: NLPD", "nats"),
        Measure("against_boosting", f"{name}_rmse", f"{name}: RMSE", "sd"),
        Measure("against_boosting", f"{name}_coverage", f"{name}: 90 % intervals cover",
                low=0.87, high=0.93),
        Measure("against_boosting", f"{name}_seconds", f"{name}: seconds of the fit", "s"),
    )
]  # fmt: skip
