"""Rows of `AnytimeSGPRegressor`."""

from tables.measure import Measure

BLOCKS = [
    Measure("airline_blocks", "route_rmse", "AIRLINE, 1.95 million rows, PIC, 100 inducing inputs, "
            "2,000 blocks by distance and departure: RMSE", "min", high=33.35,
            reference="paper 33.35, tuned boosting 32.66"),
    Measure("airline_blocks", "route_rmse_mean", "the same, mean over splits", "min"),
    Measure("airline_blocks", "route_rmse_sd", "the same, standard deviation over splits", "min"),
    Measure("airline_blocks", "route_nlpd", "the same, NLPD", "nats"),
    Measure("airline_blocks", "route_coverage", "the same, 90 % intervals cover"),
    Measure("airline_blocks", "route_seconds", "the same, fit from raw rows", "s", high=900.0),
    Measure("airline_blocks", "pic_rmse", "the same with 2,000 blocks by k-means: RMSE", "min",
            high=33.35, reference="paper 33.35, drafts 34.6"),
    Measure("airline_blocks", "pic_nlpd", "the same, NLPD", "nats"),
    Measure("airline_blocks", "pic_coverage", "the same, 90 % intervals cover"),
    Measure("airline_blocks", "pic_seconds", "the same, fit from raw rows", "s", high=900.0),
    Measure("airline_blocks", "fitc_rmse", "AIRLINE, FITC: RMSE", "min", high=37.3,
            reference="paper 39.53"),
    Measure("airline_blocks", "dtc_rmse", "AIRLINE, DTC: RMSE", "min", high=37.3,
            reference="paper 39.53"),
    Measure("airline_blocks", "route_part_rmse", "PIC by distance and departure after 60 blocks "
            "against exact, worst of 5: RMSE", "%", high=0.5, reference="paper 0.04"),
    Measure("airline_blocks", "route_part_nlpd", "the same: NLPD", "%", high=0.5,
            reference="paper 0.04"),
    Measure("airline_blocks", "route_epoch_rmse", "the same after an epoch: RMSE, share",
            high=1e-9),
    Measure("airline_blocks", "part_rmse", "PIC by k-means after 60 blocks "
            "against exact, worst of 5: RMSE", "%", high=0.5, reference="paper 0.04"),
    Measure("airline_blocks", "part_nlpd", "PIC by k-means after 60 blocks "
            "against exact, worst of 5: NLPD", "%", high=0.5, reference="paper 0.04"),
    Measure("airline_blocks", "epoch_rmse", "PIC by k-means after an epoch against "
            "exact: RMSE, share", high=1e-9),
    Measure("sea_level_pressure", "gain", "sea level pressure: RMSE of PIC below FITC's", "%",
            low=10.0, reference="paper 12"),
    Measure("sea_level_pressure", "gain_sd", "the same, standard deviation over splits", "%"),
    Measure("sea_level_pressure", "pic_rmse", "the same, RMSE of PIC", "Pa"),
    Measure("block_steps", "pic", "step of PIC, 512 inducing inputs, 1,200 rows", "ms", high=60.0,
            reference="paper 1530", factor=1e3),
    Measure("block_steps", "fitc", "step of FITC", "ms", high=12.0, reference="paper 1150",
            factor=1e3),
    Measure("block_steps", "dtc", "step of DTC", "ms", high=11.0, reference="paper 320",
            factor=1e3),
    *[
        Measure("block_steps", f"{name} gflops", f"step of {name.upper()}: arithmetic owed",
                "GFLOP/s")
        for name in ("pic", "fitc", "dtc")
    ],
    Measure("airline_passes", "pass_seconds", "exact PIC over all blocks", "s", high=40.0,
            reference="NumPy draft 190 to 240"),
    Measure("airline_passes", "pass_megabytes", "exact PIC over all blocks: memory", "MB",
            high=3072.0),
    Measure("airline_passes", "pass_speed_up", "exact PIC: 2 jobs against 1, BLAS on one thread",
            low=1.7),
    Measure("airline_passes", "predict_seconds", "PIC: predict 100,000 rows, nothing cached", "s",
            high=40.0),
]  # fmt: skip
