"""Where the start that regressions choose tells little of labels held out, others are learned."""

import numpy as np
import pytest

from sklearn_sgp import SVGPClassifier
from sklearn_sgp.engines.variational import class_regressions


def table(seed, n_columns, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(560, n_columns))
    return X, np.searchsorted([-0.8, 0.0, 0.8], X[:, 0] + noise * rng.normal(size=560))


def started(model):
    return [one for one in model.choices_ if one["choice"].startswith("start of classes")]


@pytest.mark.quick_cases("False-0")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("by_regressions", [False, True])
def test_few_labels_of_many_columns(seed, by_regressions, monkeypatch):
    """Four levels of one column of 30, with noise: it was as if there were none of them."""
    if by_regressions:  # as of more rows
        monkeypatch.setattr(class_regressions, "_LEAST_REGRESSED_ROWS", 0)
    X, y = table(seed, 30)
    model = SVGPClassifier(random_state=0).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) > 0.5
    assert sum(one["taken"] for one in started(model)) == by_regressions


@pytest.mark.slow
def test_labels_that_are_found_are_left_alone(monkeypatch):
    monkeypatch.setattr(class_regressions, "_LEAST_REGRESSED_ROWS", 0)
    X, y = table(1, 2, noise=0.0)
    assert not started(SVGPClassifier(random_state=0).fit(X[:60], y[:60]))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_labels_at_repeated_inputs(seed):
    """120 labels of five classes at 30 places: -.96 and -.86 nats a row by regressions."""
    rng = np.random.default_rng([seed, 380])
    places, number = rng.normal(size=(30, 3)), rng.integers(0, 30, 120)
    X = np.concatenate([places[number], rng.normal(size=(500, 3))])
    f = np.sin(X) @ (2.0 * rng.normal(size=(3, 5))) * 1.5
    y = (f + rng.gumbel(size=f.shape)).argmax(axis=1)
    model = SVGPClassifier(random_state=0).fit(X[:120], y[:120])
    assert model.log_density(X[120:], y[120:]).mean() > -0.8
