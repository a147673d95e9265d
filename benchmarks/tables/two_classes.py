"""Rows of two classes with defaults, beside every rival that has probabilities."""

from experiments.two_classes import TABLES

from tables.many_classes import TITLES, UNITS
from tables.measure import Measure

_NAME = "two_classes"
_MOST = {"ece": 0.02}

TWO_CLASSES = [
    Measure(_NAME, "ahead_nlpd", f"two classes, tables of {len(TABLES)}: log probability of "
            "`AnytimeSGPClassifier()` ahead of every rival", low=7),
    Measure(_NAME, "near_error", "error at most a standard error behind the best", low=8),
    *[
        Measure(_NAME, f"{name}_{key}", f"{name.replace('_random', '').replace('_', ' ')}: {what}",
                UNITS.get(key, ""), high=_MOST.get(key))
        for name in TABLES
        for key, what in TITLES.items()
    ],
]  # fmt: skip
