"""Weights of thousands for every row are told of, unless nothing is learned of them."""

import numpy as np
import pytest

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

REGRESSORS = SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor
CLASSIFIERS = SVGPClassifier, AnytimeSGPClassifier, StreamingSGPClassifier


@pytest.fixture
def rows(rng):
    """Rows of a sine with noise."""
    X = rng.uniform(-3.0, 3.0, (40, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(40)


@pytest.mark.slow_cases("AnytimeSGPClassifier-*")
@pytest.mark.parametrize("weight", [1e4, 1e12])
@pytest.mark.parametrize("kind", [*REGRESSORS, *CLASSIFIERS])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:(Probabilities|Intervals) should")
def test_equal_and_large_weights_are_told_of_once(kind, weight, rows):
    """Of every estimator: classes fell to probabilities of chance, and to 0, in silence."""
    X, y = rows
    y = y if kind in REGRESSORS else y > 0.0
    with pytest.warns(UserWarning) as told:
        try:
            kind(max_iter=2, random_state=0).fit(X, y, sample_weight=np.full(40, weight))
        except ValueError as error:
            assert "sample weights" in str(error)
    about = [w for w in told if str(w.message).startswith("sample_weight should count rows")]
    assert len(about) == 1


@pytest.mark.parametrize("kind", REGRESSORS)
def test_known_noise_is_weighted_in_silence(kind, rows):
    """Weights that are inverse variances of a known noise are as large as they are."""
    X, y = rows
    model = kind(max_iter=2, noise_variance_bounds="fixed", optimizer=None, random_state=0)
    model.fit(X, y, sample_weight=np.full(40, 1e4))


def test_counts_of_hundreds_are_counts(rows):
    """Labels seen hundreds of times, for and against at each place, are told of by nobody."""
    X, y = rows
    X, y = np.vstack([X, X]), np.repeat([0, 1], 40)
    SVGPClassifier(max_iter=2, random_state=0).fit(X, y, sample_weight=np.full(80, 300.0))
