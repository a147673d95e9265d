"""Measures of the streaming estimators."""

from tables.measure import Measure, timed

_ROBUST = "stream_robust"


def _against_memory(experiment, name, m, batch, title, unit):
    """Rows of one stream beside rivals that keep the last 3,000 rows."""
    key = f"{name} {m}"
    return [
        Measure(experiment, f"{key} gain", f"{title}, batches of {batch}, m = {m}: log density "
                "above the best rival's, worst in the second half", "nats", low=0.0),
        Measure(experiment, f"{key} rmse_gain", "the same, RMSE below the best rival's at the end",
                "sd", low=0.0),
        Measure(experiment, f"{key} rmse_in_units", "the same, RMSE at the end", unit, ratio=True),
        Measure(experiment, f"{key} seconds", "the same, seconds of learning", "s", ratio=True),
    ]  # fmt: skip


STREAMS = [
    Measure("stream_line", "worst 50", "left to right, 500 + 10 x 100 rows, m = 50: RMSE to the "
            "truth, worst of 20", high=0.03),
    Measure("stream_line", "mean 50", "the same, mean", high=0.03),
    Measure("stream_line", "failures 50", "the same, failures", high=0.0),
    Measure("stream_line", "gain 20", "the same with m = 20, mean below that of the paper's "
            "algorithm, same streams", rival="GPflow"),
    Measure("stream_line", "worst 20", "the same with m = 20, worst", ratio=True),
    Measure("stream_line", "mean 20", "the same with m = 20, mean", ratio=True),
    Measure("stream_line", "failures 20", "the same with m = 20, failures"),
    *[
        Measure("stream_banana", f"worst {k}", f"banana, sorted, m = 30: error after batch {k} "
                "of 3, worst of 5", high=high, published=f"paper {paper}")
        for k, high, paper in ((1, 0.30, 0.28), (2, 0.17, 0.15), (3, 0.105, 0.10))
    ],
    *[
        Measure("stream_draws", key, f"GP draws, alpha = 0: {name} against the exact GP's, "
                "relative difference, median of 5", high=0.20)
        for key, name in (("length_scale", "length scale"), ("noise_std", "noise sd"))
    ],
    *[
        row
        for name, title in (("pseudo_periodic", "pseudo-periodic"), ("speech_subband", "speech"))
        for batch, m in ((300, 100), (500, 200))
        for row in _against_memory("stream_series", name, m, batch, title, "")
    ],
    *[
        row
        for batch, m in ((750, 400), (1000, 600))
        for row in _against_memory("stream_space", "terrain50_ny20", m, batch, "terrain", "m")
    ],
    *[
        row
        for factor in ("1", "0.9")
        for row in (
            Measure("stream_elec2", f"error_gain {factor}", "elec2, test then train, m = 50, "
                    f"forget_factor {factor}: error below the best rival's", low=0.0),
            Measure("stream_elec2", f"gain {factor}", "the same, log probability above "
                    "SGDClassifier's", "nats", low=0.0),
            Measure("stream_elec2", f"seconds {factor}", "the same, seconds", "s"),
        )
    ],
    *[
        row
        for way, when, low in (("compiled once", " for all batches", 10.0),
                               ("compiled anew", " with each, for information", None))
        for row in (
            Measure("stream_speed", f"times {way}", "batch of 300, d = 2, m = 100, 20 iterations: "
                    f"times as fast as the paper's algorithm on GPflow, {way}{when}", "times",
                    low=low, rival="GPflow", density=f"gain {way}"),
            Measure("stream_speed", f"gain {way}", "the same: log density above it on fresh rows "
                    "after 43 such batches", "nats", rival="GPflow"),
        )
    ],
    timed("stream_speed", "learned", "the same: time", "ms", 1e3),
    timed("stream_speed", "updated", "such a batch with optimizer=None", "ms", 1e3),
    Measure(_ROBUST, "failures", "300 random streams: errors or not finite", high=0.0),
    Measure(_ROBUST, "bad", "mean squared standardised residual above 4", high=0.0),
    Measure(_ROBUST, "percentile", "its 95th percentile"),
    Measure("stream_soak", "seconds", "100,000 batches of 10 rows, m = 50", "s"),
    Measure("stream_soak", "megabytes", "memory at the end above that after a tenth", "MB",
            high=1.0),
    Measure("stream_soak", "ratio", "seconds of a batch, last tenth over second", low=0.8,
            high=1.25),
    Measure("stream_soak", "not_finite", "predictions that are not finite", high=0.0),
    Measure("stream_soak", "rmse", "RMSE to the truth at the end"),
]  # fmt: skip
