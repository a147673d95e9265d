"""Rows of `AnytimeSGPRegressor()` beside boosting and other Gaussian processes."""

from experiments.boosting import COVERED, WITH_NOISE
from experiments.rivals import TABLES

from tables.measure import Measure

_NAME = "against_boosting"
_LOW, _HIGH = COVERED

BOOSTING = [
    Measure(_NAME, "tables_ahead_of_constant_noise", f"tables of {len(TABLES)} where the log "
            "density is above that of each rival with constant noise that has a result", low=9,
            rival="gpboost and gpflow"),
    Measure(_NAME, "tables_ahead_of_varying_noise", "where it is above that of CatBoost and of "
            "NGBoost", low=7, rival="catboost and ngboost"),
    Measure(_NAME, "tables_ahead_of_tuned", "where it is above that of tuned boosting", low=10),
    Measure(_NAME, "tables_ahead_in_rmse", "where the RMSE is below that of tuned boosting",
            low=9),
    Measure(_NAME, "tuned_seconds_ratio", "seconds of the fit over those of tuned boosting, "
            "geometric mean of the tables", "times", high=2.0),
    Measure(_NAME, "tables_covered", f"where 90 % intervals cover {_LOW:g} to {_HIGH:g}", low=9),
    Measure(_NAME, "tables_ahead_with_noise", f"with {WITH_NOISE}, where the log density is above "
            "that of every rival that has a result", low=9,
            rival="catboost, gpboost, gpflow and ngboost"),
    Measure(_NAME, "tables_covered_with_noise", f"with it, where 90 % intervals cover {_LOW:g} to "
            f"{_HIGH:g}", low=10),
    Measure(_NAME, "kin40k_rmse", "kin40k, 36,000 rows: RMSE", "sd", high=0.09),
    Measure(_NAME, "kin40k_log_density", "kin40k, 36,000 rows: log density", "nats", low=1.0),
    *[
        row
        for name in TABLES
        for row in (
            Measure(_NAME, f"{name}_log_density_gain",
                    f"{name}: log density above that of tuned boosting", "nats", low=0.0),
            Measure(_NAME, f"{name}_rmse_gain", f"{name}: RMSE below it", "sd", low=0.0),
            Measure(_NAME, f"{name}_log_density", f"{name}: log density", "nats"),
            Measure(_NAME, f"{name}_rmse", f"{name}: RMSE", "sd"),
            Measure(_NAME, f"{name}_coverage", f"{name}: 90 % intervals cover", low=_LOW,
                    high=_HIGH),
            Measure(_NAME, f"{name}_seconds", f"{name}: seconds of the fit", "s"),
            Measure(_NAME, f"{name}_noise_log_density",
                    f"{name}, {WITH_NOISE}: log density", "nats"),
            Measure(_NAME, f"{name}_noise_rmse", "the same: RMSE", "sd"),
            Measure(_NAME, f"{name}_noise_coverage", "the same: 90 % intervals cover", low=_LOW,
                    high=_HIGH),
            Measure(_NAME, f"{name}_noise_seconds", "the same: seconds of the fit", "s"),
        )
    ],
]  # fmt: skip
