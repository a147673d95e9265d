"""Rows of classes, counts and outliers."""

from tables.measure import Measure, timed

CLASSES_AND_COUNTS = [
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
