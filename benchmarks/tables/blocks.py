"""Rows of `AnytimeSGPRegressor`."""

from tables.measure import Measure, share

_STEPS = (("pic", "PIC", 45, "paper 1530"), ("fitc", "FITC", 52, "paper 1150"),
          ("dtc", "DTC", 57, "paper 320"))  # fmt: skip


def _anytime(experiment, high):
    """Rows of what an answer is worth before its end."""
    return [
        Measure(experiment, "part_rmse", "the same, after 60 blocks against exact, worst of 3: "
                "RMSE", "%", high=high, published="paper 0.04"),
        Measure(experiment, "part_nlpd", "the same, after 60 blocks against exact, worst of 3: "
                "NLPD", "%", high=high, published="paper 0.04"),
        Measure(experiment, "epoch_rmse", "the same, after an epoch against exact: RMSE, share",
                high=1e-9 if high else None),
    ]  # fmt: skip


def _scores(experiment, name):
    return [
        Measure(experiment, f"{name}_nlpd_in_units", "the same, NLPD", "nats"),
        Measure(experiment, f"{name}_coverage", "the same, 90 % intervals cover"),
        Measure(experiment, f"{name}_seconds", "the same, fit from raw rows", "s"),
    ]


BLOCKS = [
    Measure("airline_blocks", "pic_rmse_in_units", "AIRLINE, 1.95 million rows, PIC, 100 inducing "
            "inputs, 2,000 default blocks, max_time = 60: RMSE", "min", high=33.35,
            published="paper 33.35"),
    *_scores("airline_blocks", "pic"),
    *_anytime("airline_blocks", 0.5),
    Measure("airline_blocks", "fitc_rmse_in_units", "AIRLINE, FITC: RMSE", "min", high=37.3,
            published="paper 39.53"),
    Measure("airline_blocks", "dtc_rmse_in_units", "AIRLINE, DTC: RMSE", "min", high=37.3,
            published="paper 39.53"),
    Measure("airline_pic", "gaussian_rmse_in_units", "AIRLINE, 1.95 million rows, PIC with "
            "defaults: RMSE", "min", high=33.35, published="paper 33.35"),
    *_scores("airline_pic", "gaussian"),
    Measure("airline_pic", "auto_rmse_in_units", "AIRLINE, PIC with likelihood=\"auto\", "
            "max_time = 600: RMSE", "min", high=33.35, published="paper 33.35"),
    *_scores("airline_pic", "auto"),
    Measure("airline_by_route", "pic_rmse_in_units", "AIRLINE, PIC, blocks made by hand (distance, "
            "then departure), no default: RMSE", "min", published="paper 33.35"),
    *_scores("airline_by_route", "pic"),
    *_anytime("airline_by_route", None),
    Measure("sea_level_pressure", "gain", "sea level pressure, max_time = 45: RMSE of PIC below "
            "FITC's", "%", low=10.0, published="paper 12"),
    Measure("sea_level_pressure", "pic_rmse", "the same, RMSE of PIC", "Pa"),
    *[
        row
        for name, title, low, published in _STEPS
        for row in (
            share("block_steps", f"{name} share", f"step of {title}, 512 inducing inputs, 1,200 "
                  "rows: arithmetic owed", low),
            Measure("block_steps", name, "the same: time", "ms", published=published, factor=1e3),
        )
    ],
    share("airline_blocks", "pass_share", "AIRLINE, exact PIC over all blocks: arithmetic owed",
          29),
    Measure("airline_blocks", "pass_seconds", "the same: time", "s"),
    Measure("airline_blocks", "pass_times_data", "the same: memory, times the data", high=22.0),
    Measure("airline_blocks", "pass_speed_up", "the same: 2 jobs against 1, BLAS on one thread",
            "times", low=1.7),
    share("airline_blocks", "predict_share", "AIRLINE, PIC: predict 100,000 rows, nothing cached: "
          "arithmetic owed", 31),
    Measure("airline_blocks", "predict_seconds", "the same: time", "s"),
]  # fmt: skip
