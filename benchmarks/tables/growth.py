"""Rows of how cost grows with n, m and d, and of the paper's figures 7 and 8."""

from tables.measure import Measure

GROWTH = [
    Measure(
        f"growth_{axis}",
        f"{quantity} {n_jobs} jobs excess",
        f"{name} against {axis}, n_jobs = {n_jobs}: slope above the counted one",
        high=0.1,
    )
    for axis in "nmd"
    for quantity, name in (("fit", "exact fit"), ("evaluation", "evaluation"), ("step", "step"))
    for n_jobs in (1, 2)
    if quantity != "step" or (axis != "n" and n_jobs == 1)
] + [
    Measure("growth_n", "largest_times_data", "10 million rows, Z given: anonymous memory of the "
            "fit, times the data", high=2.8),
    Measure("growth_n", "largest_evaluation", "10 million rows: one evaluation of the collapsed "
            "bound", "s"),
    Measure("vif_growth", "slope", "pass of AnytimeSGPRegressor(model=\"vif\") over n rows of 9 "
            "columns, 30 neighbours, 200 inducing inputs: slope", high=1.1),
    Measure("vif_growth", "largest_n", "the same: most rows that fitted into memory"),
    Measure("vif_growth", "largest_seconds", "the same: seconds for these", "s"),
    Measure("vif_growth", "largest_megabytes", "the same: memory, data included", "MB"),
    Measure("figure7", "rmse", "figure 7, AIRLINE: median RMSE of 3 runs", "min"),
    Measure("figure7", "rmse_gain", "figure 7: below exact GPs on 1,200 rows by", "min", low=0.0),
    Measure("figure8", "rmse", "figure 8, AIRLINE, 95,000 rows: least RMSE", "min"),
]  # fmt: skip
