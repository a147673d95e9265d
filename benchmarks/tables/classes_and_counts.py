"""Rows of classes, counts and outliers."""

from tables.measure import Measure, timed, times

_GPFLOW = {"rival": "GPflow"}

CLASSES_AND_COUNTS = [
    Measure("pendigits", "error", "pendigits, m = 300, max_time = 60: error", high=0.02),
    *[
        Measure("pendigits", f"error_gain SVM, {way}", f"the same: error below that of a support "
                f"vector machine, {way} parameters")
        for way in ("usual", "grid")
    ],
    Measure("pendigits", "ece", "the same: expected calibration error, 15 bins", high=0.02),
    Measure("pendigits", "nlpd", "the same: mean negative log probability", "nats"),
    Measure("pendigits", "gain", "the same: log probability above GPflow's after as long", "nats",
            **_GPFLOW),
    times("pendigits", "times_gpflow", "pendigits: to GPflow's last log probability, times as "
          "fast", 10, "GPflow"),
    Measure("pendigits", "seconds", "pendigits: seconds of the longest fit", "s"),
    Measure("pendigits", "overrun", "pendigits: largest excess over max_time", "s"),
    Measure("elec2", "gain", "elec2, m = 300, max_time = 30: log probability above GPflow's",
            "nats", low=0.0, **_GPFLOW),
    times("elec2", "times_gpflow", "elec2: to GPflow's last log probability, times as fast", 10,
          "GPflow"),
    Measure("elec2", "nlpd", "elec2: mean negative log probability", "nats"),
    Measure("elec2", "error", "elec2: error"),
    Measure("elec2", "overrun", "elec2: largest excess over max_time", "s"),
    *[
        row
        for name in ("ionosphere", "sonar")
        for row in (
            Measure("small_classes", f"{name}_gain", f"{name}, m = 100: log probability minus "
                    "GPflow's", "nats", low=0.0, **_GPFLOW),
            Measure("small_classes", f"{name}_nlpd", f"{name}: mean negative log probability",
                    "nats"),
            Measure("small_classes", f"{name}_error", f"{name}: error"),
        )
    ],
    Measure("banana", "error", "banana, m = 30: error", high=0.105,
            published="Bui et al. 2017 0.10"),
    Measure("banana", "nlpd", "banana: mean negative log probability", "nats", high=0.26),
    Measure("banana", "gain", "banana: log probability minus GPflow's", "nats", **_GPFLOW),
    times("classifier_steps", "times binary", "stochastic step, two classes, m = 500, whitened: "
          "times GPflow's speed", 2.8, "GPflow"),
    timed("classifier_steps", "binary", "the same: time", "ms", 1e3),
    timed("classifier_steps", "binary 300", "the same, m = 300", "ms", 1e3),
    timed("classifier_steps", "softmax 300", "ten classes, m = 300", "ms", 1e3),
    Measure("classifier_steps", "ratio", "ten classes: times two classes", "times", high=7.0),
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
