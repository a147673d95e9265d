"""Every measure: where it comes from, its reference figure, and what is to be reached.

References were measured on such a machine (2 cores of an AMD EPYC, AVX-512) before the package
existed; the peers of the same run stand beside them in the table.
"""

import block_experiments
import classification_experiments as classes
import experiments
import growth
import stream_experiments as streams
from measure import Measure, timed
from stream_measures import STREAMS

# Names for --only, in the order in which they run.
EXPERIMENTS = {
    "startup": experiments.startup,
    "micro": experiments.micro,
    "predict": experiments.predict,
    "synthetic": experiments.synthetic,
    "kin40k": experiments.kin40k,
    "airline_speed": experiments.airline_speed,
    "house_prices": experiments.house_prices,
    "airline_accuracy": experiments.airline_accuracy,
    "uci_small": experiments.uci_small,
    "uci_large": experiments.uci_large,
    "california": experiments.california,
    "noise_floor": experiments.noise_floor,
    "memory": experiments.memory,
    "block_steps": block_experiments.block_steps,
    "airline_blocks": block_experiments.airline_blocks,
    "airline_passes": block_experiments.airline_passes,
    "sea_level_pressure": block_experiments.sea_level_pressure,
    "pendigits": classes.pendigits,
    "elec2": classes.elec2,
    "pendigits_selected": classes.pendigits_selected,
    "small_classes": classes.small_classes,
    "banana": classes.banana,
    "classifier_steps": classes.classifier_steps,
    "counts": classes.counts,
    "growth_n": growth.growth_n,
    "growth_m": growth.growth_m,
    "growth_d": growth.growth_d,
    "figure7": growth.figure7,
    "figure8": growth.figure8,
    "stream_line": streams.stream_line,
    "stream_banana": streams.stream_banana,
    "stream_draws": streams.stream_draws,
    "stream_series": streams.stream_series,
    "stream_space": streams.stream_space,
    "stream_elec2": streams.stream_elec2,
    "stream_speed": streams.stream_speed,
    "stream_robust": streams.stream_robust,
    "stream_soak": streams.stream_soak,
}
# Run only when named (or in a smoke run): long, and the figures are pictures more than measures.
ON_REQUEST = ("figure7", "figure8", "stream_soak")
NEEDS_DATA = (
    "kin40k",
    "airline_speed",
    "house_prices",
    "airline_accuracy",
    "uci_small",
    "uci_large",
    "california",
    "airline_blocks",
    "airline_passes",
    "sea_level_pressure",
    "pendigits",
    "elec2",
    "pendigits_selected",
    "small_classes",
    "banana",
    "counts",
    "figure7",
    "figure8",
    "stream_banana",
    "stream_draws",
    "stream_series",
    "stream_space",
    "stream_elec2",
)

ACCURACY = [
    Measure("airline_accuracy", "rmse", "AIRLINE, m = 1000, max_time = 540: RMSE", "min",
            high=34.6, reference="boosting 34.46"),
    Measure("airline_accuracy", "log_density_gain",
            "AIRLINE: log density above the better boosting's", "nats", low=0.0),
    Measure("airline_accuracy", "seconds", "AIRLINE: seconds of that fit", "s"),
    Measure("kin40k", "rmse", "kin40k, m = 512, within 300 s: RMSE", "sd", high=0.16,
            reference="GPflow SGPR 0.1605"),
    Measure("kin40k", "nlpd", "kin40k: NLPD", "nats", high=-0.36,
            reference="GPflow SGPR -0.349"),
    *[
        Measure("uci_small", f"{name}_gain",
                f"{name}, m = 256: log density minus the exact GP's", "nats", low=-0.03)
        for name in ("concrete", "energy", "wine_red", "yacht")
    ],
    *[
        Measure("uci_large", f"{name}_gain",
                f"{name}, m = 512: log density minus GPflow SGPR's", "nats", low=0.0)
        for name in ("power_plant", "kin8nm")
    ],
    Measure("uci_large", "power_plant_worst_rmse", "power_plant: RMSE of the worst split", "sd",
            high=0.3, reference="GPy 1e12 (breaks)"),
    Measure("noise_floor", "nlpd", "noise sd 1e-6: NLPD", "nats", high=0.0,
            reference="GPyTorch on such a set 3784"),
    Measure("kin40k", "coverage", "kin40k: 90 % intervals cover", low=0.87, high=0.93),
    Measure("uci_large", "power_plant_coverage", "power_plant: 90 % intervals cover",
            low=0.87, high=0.93),
    Measure("california", "coverage", "California housing: 90 % intervals cover",
            low=0.87, high=0.95),
]  # fmt: skip

SPEED = [
    timed("synthetic", "to_0.104", "synthetic: to NLPD 0.104 (GPflow SVGP after 240 s)", 12,
          "GPflow 240"),
    timed("synthetic", "to_gpflow", "synthetic: to GPflow SVGP's last NLPD of this run", 12, ""),
    timed("synthetic", "to_0.091", "synthetic: to NLPD 0.091 (GPyTorch SVGP after 240 s)", 24,
          "GPyTorch 240"),
    timed("synthetic", "to_gpytorch", "synthetic: to GPyTorch SVGP's last NLPD of this run", 24,
          ""),
    timed("kin40k", "to_-0.349", "kin40k, m = 512: to NLPD -0.349 (GPflow SGPR)", 30,
          "GPflow 181"),
    timed("kin40k", "to_gpflow", "kin40k: to GPflow SGPR's last NLPD of this run", None, ""),
    timed("airline_speed", "to_1.334", "AIRLINE, 720,000 rows: to NLPD 1.334", 5,
          "GPflow, GPyTorch 240"),
    timed("airline_speed", "to_gpflow", "AIRLINE: to GPflow SVGP's last NLPD of this run", None,
          ""),
    timed("airline_speed", "to_gpytorch", "AIRLINE: to GPyTorch SVGP's last NLPD of this run",
          None, ""),
    timed("micro", "step direct", "stochastic step, direct", 27,
          "GPflow 105, GPyTorch 85 (float32 61)", "ms", 1e3),
    timed("micro", "step whitened", "stochastic step, whitened", 35,
          "GPflow 105, GPyTorch 85 (float32 61)", "ms", 1e3),
    timed("micro", "collapsed direct", "collapsed evaluation, 8,000 rows, direct", 100,
          "NumPy draft 300", "ms", 1e3),
    timed("micro", "collapsed whitened", "collapsed evaluation, 8,000 rows, whitened", 125,
          "NumPy draft 300", "ms", 1e3),
    timed("micro", "pass whitened", "exact pass, a row, whitened", 6.5, "limit 5.5", "µs", 1e6),
    timed("micro", "pass direct", "exact pass, a row, direct", 3.8, "", "µs", 1e6),
    timed("micro", "pass, 2 jobs whitened", "the same with 2 jobs, whitened", 6.5, "limit 5.5",
          "µs", 1e6),
    timed("micro", "pass, 2 jobs direct", "the same with 2 jobs, direct", 3.8, "", "µs", 1e6),
    Measure("micro", "peak_gflops", "general product, 1024 x 1024, of this run", "GFLOP/s"),
    Measure("predict", "rows_per_second", "predict mean and std", "rows/s", ratio=True),
    Measure("predict", "times_predict_y", "predict: times GPflow's predict_y", low=2.5),
    Measure("predict", "times_posterior", "predict: times GPflow's cached posterior", low=1.2),
    Measure("memory", "megabytes", "10 million x 8 memmap, m = 256: anonymous memory", "MB",
            high=1024.0, reference="peers run out or copy"),
    Measure("memory", "fit_seconds", "10 million rows: fit, max_time = 120", "s"),
    Measure("memory", "predict_seconds", "10 million rows: predict 1 million", "s"),
    Measure("startup", "import_extra", "import, above scikit-learn's exact GP", "s", high=0.3),
    timed("startup", "first_fit", "300 x 2, m = 30: first fit of a process", None, "", "ms", 1e3),
    timed("startup", "later_fit", "300 x 2, m = 30: later fits", None, "", "ms", 1e3),
    Measure("startup", "first_fit_share", "first fit, share of the exact GP's time", high=1.0),
    Measure("startup", "later_fit_share", "later fits, share of the exact GP's time", high=1.0),
]  # fmt: skip

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

CLASSES = [
    Measure("pendigits", "error", "pendigits, m = 300, max_time = 60: error", high=0.02),
    Measure("pendigits", "ece", "pendigits: expected calibration error, 15 bins", high=0.02),
    Measure("pendigits", "nlpd", "pendigits: mean negative log probability", "nats"),
    Measure("pendigits", "to_gpflow", "pendigits: to GPflow's log probability after 120 s", "s",
            high=12.0, ratio=True, rival="GPflow"),
    Measure("pendigits", "seconds", "pendigits: seconds of the longest fit", "s"),
    Measure("pendigits", "overrun", "pendigits: largest excess over max_time", "s"),
    Measure("pendigits_selected", "error", "pendigits, kernel by 3-fold cross-validation of "
            "accuracy, m = 800: error", high=0.02),
    Measure("pendigits_selected", "ece", "the same: expected calibration error", high=0.02),
    Measure("pendigits_selected", "nlpd", "the same: mean negative log probability", "nats"),
    Measure("pendigits_selected", "search_seconds", "the same: seconds of the search, m = 300",
            "s"),
    Measure("pendigits_selected", "seconds", "the same: seconds of the fit", "s"),
    Measure("elec2", "gain", "elec2, m = 300, max_time = 30: log probability above GPflow's after "
            "120 s", "nats", low=0.0, rival="GPflow"),
    Measure("elec2", "to_gpflow", "elec2: to GPflow's log probability after 120 s", "s", high=12.0,
            ratio=True, rival="GPflow"),
    Measure("elec2", "nlpd", "elec2: mean negative log probability", "nats"),
    Measure("elec2", "error", "elec2: error"),
    Measure("elec2", "overrun", "elec2: largest excess over max_time", "s"),
    *[
        row
        for name in ("ionosphere", "sonar")
        for row in (
            Measure("small_classes", f"{name}_gain", f"{name}, m = 100: log probability minus "
                    "GPflow's", "nats", low=0.0, rival="GPflow"),
            Measure("small_classes", f"{name}_bound_gain", f"{name}: bound minus GPflow's", "nats",
                    rival="GPflow"),
            Measure("small_classes", f"{name}_nlpd", f"{name}: mean negative log probability",
                    "nats"),
            Measure("small_classes", f"{name}_error", f"{name}: error"),
        )
    ],
    Measure("banana", "error", "banana, m = 30: error", high=0.105,
            reference="Bui et al. 2017 0.10"),
    Measure("banana", "nlpd", "banana: mean negative log probability", "nats", high=0.26),
    timed("classifier_steps", "binary", "stochastic step, two classes, m = 500, whitened", 38, "",
          "ms", 1e3),
    timed("classifier_steps", "binary 300", "the same, m = 300", None, "", "ms", 1e3),
    timed("classifier_steps", "softmax 300", "ten classes, m = 300", None, "", "ms", 1e3),
    Measure("classifier_steps", "ratio", "ten classes: times two classes", high=7.0),
    *[
        row
        for name, title in (("coal_mining", "coal mining, Poisson"),
                            ("mcycle", "motorcycle, Student-t"))
        for row in (
            Measure("counts", f"{name}_gain", f"{title}: log density minus the Gaussian's", "nats",
                    low=0.0),
            Measure("counts", name, f"{title}: log density", "nats"),
        )
    ],
]  # fmt: skip

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
    Measure("growth_n", "largest_megabytes", "10 million rows, Z given: anonymous memory", "MB"),
    Measure("figure7", "rmse", "figure 7, AIRLINE: median RMSE of 10 runs", "min"),
    Measure("figure7", "rmse_gain", "figure 7: below exact GPs on 1,200 rows by", "min", low=0.0),
    Measure("figure8", "rmse", "figure 8, AIRLINE: least RMSE", "min"),
]

TABLES = {
    "Accuracy with defaults": ACCURACY,
    "Speed and memory": SPEED,
    "Models in blocks": BLOCKS,
    "Classes, counts and outliers": CLASSES,
    "Streams": STREAMS,
    "How cost grows, and the paper's figures": GROWTH,
}
