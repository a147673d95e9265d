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
