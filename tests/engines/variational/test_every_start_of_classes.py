"""Where the start that regressions choose tells little of labels held out, others are learned."""

import numpy as np
import pytest

from sklearn_sgp import SVGPClassifier


def table(seed, n_columns, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(560, n_columns))
    return X, np.searchsorted([-0.8, 0.0, 0.8], X[:, 0] + noise * rng.normal(size=560))


def started(model):
    return [one for one in model.choices_ if one["choice"].startswith("start of classes")]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_few_labels_of_many_columns(seed):
    """Four levels of one column of 30, with noise: it was as if there were none of them."""
    X, y = table(seed, 30)
    model = SVGPClassifier(random_state=0).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) > 0.5
    assert sum(one["taken"] for one in started(model)) == 1


def test_labels_that_are_found_are_left_alone():
    X, y = table(1, 2, noise=0.0)
    assert not started(SVGPClassifier(random_state=0).fit(X[:60], y[:60]))
