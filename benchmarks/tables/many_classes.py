"""Rows of classes with defaults, beside a support vector machine and boosting."""

from experiments.many_classes import LETTERS, PENDIGITS, TABLES

from tables.measure import Measure

_NAME, _GROWTH = "many_classes", "growth_classes"
_REACHED = {"error": 0.018, "nlpd": 0.08, "ece": 0.015}
TITLES = {
    "error": "error",
    "nlpd": "mean negative log probability",
    "ece": "expected calibration error, 15 bins",
    "seconds": "seconds of the fit",
}
UNITS = {"nlpd": "nats", "seconds": "s"}


def _scores(name, title, reached=None):
    """Rows of one table, ours by `AnytimeSGPClassifier` and by `SVGPClassifier`."""
    return [
        Measure(_NAME, f"{prefix}{name}_{key}", f"{title}, {who}: {what}", UNITS.get(key, ""),
                high=(reached or {}).get(key))
        for prefix, who in (("", "`AnytimeSGPClassifier()`"), ("svgp_", "`SVGPClassifier()`"))
        for key, what in TITLES.items()
    ]  # fmt: skip


MANY_CLASSES = [
    Measure(_NAME, "tables_error", f"tables of {len(TABLES)} where the error of "
            "`AnytimeSGPClassifier()` is at most a standard error above that of the better of SVM "
            "and boosting", low=5),
    Measure(_NAME, "tables_nlpd", "where its log probability is ahead of both", low=5),
    *_scores(PENDIGITS, "pendigits, the split it comes with", _REACHED),
    *[row for name in TABLES for row in _scores(name, name.replace("_random", ""))],
    Measure(_NAME, "bayes_error", "26 classes, 16,000 rows of 16 columns: least error there can "
            "be"),
    Measure(_NAME, "excess", "the same: error of `AnytimeSGPClassifier()` above 1.2 times that",
            high=0.01),
    *_scores(LETTERS, "the same"),
    Measure(_GROWTH, "slope", "seconds of a fit of 16,000 rows against classes, 2 to 100: slope of "
            "the logarithms", high=1.0),
    Measure(_GROWTH, "slope with predictions", "the same with predictions of 4,000 rows"),
]  # fmt: skip
