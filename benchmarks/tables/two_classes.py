"""Rows of two classes with defaults, beside every rival that has probabilities."""

from experiments.two_classes import TABLES

from tables.measure import Measure

_NAME = "two_classes"
_TITLES = {
    "error": "error",
    "nlpd": "mean negative log probability",
    "ece": "expected calibration error, 15 bins",
    "seconds": "seconds of the fit",
}
_UNITS = {"nlpd": "nats", "seconds": "s"}
_MOST = {"ece": 0.02}

TWO_CLASSES = [
    Measure(_NAME, "ahead_nlpd", f"two classes, tables of {len(TABLES)}: log probability of "
            "`AnytimeSGPClassifier()` ahead of every rival", low=7),
    Measure(_NAME, "near_error", "error at most a standard error behind the best", low=8),
    *[
        Measure(_NAME, f"{name}_{key}", f"{name.replace('_random', '').replace('_', ' ')}: {what}",
                _UNITS.get(key, ""), high=_MOST.get(key))
        for name in TABLES
        for key, what in _TITLES.items()
    ],
]  # fmt: skip
