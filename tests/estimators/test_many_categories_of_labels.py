"""Labels beside many categories: rows that are held out judge kernels that learn much of these."""

import numpy as np

from sklearn_sgp import AnytimeSGPClassifier


def test_labels_that_have_nothing_to_do_with_categories(rng):
    """A product over columns seemed to explain half of the labels of the rows that it had seen."""
    X, y = rng.integers(0, 4, size=(60, 5)), rng.integers(0, 2, size=60)
    model = AnytimeSGPClassifier(
        alpha_epsilon=0.1, max_iter=20, categorical_features=[0, 1, 2, 3, 4], random_state=0
    ).fit(X, y)
    scores = [one["score"] for one in model.choices_ if one["choice"] == "kernel and start"]
    assert len(scores) > 1
    assert max(scores) < np.log(0.5) + 0.05


def test_evidence_of_sites_does_not_explain_each_label():
    """New labels had -1.14 nats a row, as sites learned a product over columns by all labels."""
    rng = np.random.default_rng([2, 2356535875])
    X, levels = rng.integers(0, 6, (800, 4)), 1.2 * rng.normal(size=(4, 6))
    log_odds = sum(levels[c][X[:, c]] for c in range(4))
    y = (rng.random(800) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    model = AnytimeSGPClassifier(categorical_features=[0, 1, 2, 3], random_state=0)
    log_p = np.log(model.fit(X[:200], y[:200]).predict_proba(X[200:]))
    assert log_p[np.arange(600), y[200:]].mean() > -0.7
