"""Rows of regression: times a peer's speed, parts of a fit, predictions, memory, first fits.

Limits of the parts were demanded in milliseconds for a machine of 100 GFLOP/s: they stand here as
the share of the peak that these are.
"""

from tables.measure import Measure, share, timed, times

_TO_LAST = (
    ("synthetic", "synthetic", "GPflow SVGP", 20),
    ("synthetic", "synthetic", "GPyTorch SVGP", 10),
    ("kin40k", "kin40k", "GPflow SGPR", 6),
    ("kin40k", "kin40k", "GPyTorch SVGP", None),
    ("airline_speed", "AIRLINE, 720,000 rows", "GPflow SVGP", 48),
    ("airline_speed", "AIRLINE, 720,000 rows", "GPyTorch SVGP", 48),
    ("house_prices", "UK house prices", "GPflow SVGP", None),
    ("house_prices", "UK house prices", "GPyTorch SVGP", None),
)
_PARTS = (
    ("step direct", "stochastic step, direct", 60),
    ("step whitened", "stochastic step, whitened", 59),
    ("collapsed direct", "collapsed evaluation, 8,000 rows, direct", 74),
    ("collapsed whitened", "collapsed evaluation, 8,000 rows, whitened", 74),
    ("pass direct", "exact pass, direct", 73),
    ("pass whitened", "exact pass, whitened", 81),
    ("pass, 2 jobs direct", "exact pass with 2 jobs, direct", 73),
    ("pass, 2 jobs whitened", "exact pass with 2 jobs, whitened", 81),
)

_IN_MEMORY = (
    "SVGPRegressor()",
    "SVGPRegressor(likelihood='heteroscedastic')",
    "SVGPClassifier()",
    "AnytimeSGPRegressor(model='fitc')",
    "AnytimeSGPRegressor(model='pic')",
    "AnytimeSGPRegressor(model='lma')",
    "AnytimeSGPRegressor()",
    "AnytimeSGPClassifier()",
    "StreamingSGPRegressor()",
    "StreamingSGPClassifier()",
    "BayesianGPLVM()",
)
_MEGABYTES = {
    "fit": "8 float32 columns in memory, peak beyond them: fit to 1,000,000 rows",
    "fit growth": "the same: beyond the fit to 100,000 rows",
    "predictions 0": "the same: largest of the methods that predict, 5,000 rows",
    "predictions 1": "the same: largest of the methods that predict, 20,000 rows",
}

_ANSWERING = (
    "SVGPRegressor()",
    "SVGPRegressor(n_inducing=50)",
    "StreamingSGPRegressor()",
    "AnytimeSGPRegressor(model='fitc')",
    "AnytimeSGPRegressor()",
    "SVGPClassifier()",
    "AnytimeSGPClassifier()",
)
_MILLISECONDS = {
    "predict 1": "100,000 training rows of 8 columns: predict one row",
    "uncertain 1": "the same, with a standard deviation or probabilities",
    "predict 1000": "the same: predict 1,000 rows",
    "uncertain 1000": "the same, with standard deviations or probabilities",
}

SPEED_AND_MEMORY = [
    *[
        times(name, f"times {rival}", f"{title}: to {rival}'s last density, times as fast", low,
              rival)
        for name, title, rival, low in _TO_LAST
    ],
    Measure("micro", "peak_gflops", "general product, 1024 x 1024: the peak", "GFLOP/s"),
    *[
        share("micro", f"{key} share", f"{title}: arithmetic owed", low)
        for key, title, low in _PARTS
    ],
    *[timed("micro", key, f"{title}: time", "ms", 1e3) for key, title, _ in _PARTS[:4]],
    Measure("predict", "rows_per_second", "predict mean and std", "rows/s", ratio=True),
    times("predict", "times_predict_y", "predict: times GPflow's predict_y", 2.5, "GPflow"),
    times("predict", "times_posterior", "predict: times GPflow's cached posterior", 1.2, "GPflow"),
    Measure("vif_speed", "default_fit", "AnytimeSGPRegressor(), 50,000 rows of 9 columns: fit",
            "s", high=60.0),
    Measure("vif_speed", "pass_over_fitc", "the same rows, model=\"vif\", kernel and noise given, "
            "30 neighbours, 200 inducing inputs: pass over that of FITC", "times", high=5.0),
    Measure("vif_speed", "sums_over_fitc", "the same: its sums alone, blocks and near rows known, "
            "over those of FITC", "times"),
    timed("vif_speed", "pass", "the same: pass"),
    Measure("vif_speed", "large_pass", "the same: pass over a million rows", "s", high=60.0),
    Measure("vif_speed", "predict", "the same: predict mean and std", "rows/s", low=60_000.0),
    Measure("vif_speed", "default_predict", "the default fit: predict mean and std", "rows/s"),
    Measure("memory", "times_data", "10 million x 8 float32 in a memmap, m = 256: anonymous "
            "memory, times the data", high=2.8),
    Measure("memory", "megabytes", "the same", "MB"),
    Measure("memory", "fit_seconds", "the same: fit, max_time = 120", "s"),
    Measure("memory", "predict_seconds", "the same: predict 1 million", "s"),
    *[
        Measure("memory_of_methods", f"{name} {key}", f"{name}, {title}", "MB")
        for name in _IN_MEMORY
        for key, title in _MEGABYTES.items()
    ],
    *[
        Measure("latency", f"{name} {key}", f"{name}, {title}", "ms",
                high=0.4 if key.endswith(" 1") else None)
        for name in _ANSWERING
        for key, title in _MILLISECONDS.items()
    ],
    Measure("startup", "import_share", "import, times that of scikit-learn's exact GP", high=1.4),
    timed("startup", "import", "import", "ms", 1e3),
    Measure("startup", "first_fit_share", "300 x 2, m = 30: first fit of a process, share of the "
            "exact GP's time", high=1.0),
    timed("startup", "first_fit", "the same", "ms", 1e3),
    Measure("startup", "later_fit_share", "300 x 2, m = 30: later fits, share of the exact GP's "
            "time", high=1.0),
    timed("startup", "later_fit", "the same", "ms", 1e3),
]  # fmt: skip
