"""Weights count rows: weights that make many rows few are told of, in every estimator."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

ESTIMATORS = [
    SVGPRegressor,
    AnytimeSGPRegressor,
    StreamingSGPRegressor,
    SVGPClassifier,
    AnytimeSGPClassifier,
    StreamingSGPClassifier,
]


def rows(kind, rng):
    """Rows, and targets that suit an estimator."""
    X = rng.uniform(-2.0, 2.0, (60, 2))
    y = np.sin(2.0 * X[:, 0])
    return X, y if "Regressor" in kind.__name__ else y > 0.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_weights_that_add_up_to_one_are_told_of(kind, method, rng):
    """Normalised weights warn, with their sum, the number of rows and the cure."""
    X, y = rows(kind, rng)
    alpha = {"alpha_epsilon": 0.01} if kind is AnytimeSGPClassifier else {}
    model, weight = kind(n_inducing=10, max_iter=3, **alpha), np.full(60, 1.0 / 40.0)
    weight[40:] = 0.0
    with pytest.warns(UserWarning, match="sum of 1 for 40 rows.*multiplied by the number of rows"):
        getattr(model, method)(X, y, sample_weight=weight)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_a_later_batch_are_told_of(rng):
    """A later batch with normalised weights warns as well."""
    X, y = rows(SVGPRegressor, rng)
    model = SVGPRegressor(n_inducing=10, max_iter=3).partial_fit(X, y)
    with pytest.warns(UserWarning, match="sum of 1 for 60 rows"):
        model.partial_fit(X, y, sample_weight=np.full(60, 1.0 / 60.0))


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_weights_that_count_rows_are_not_told_of(scale, rng):
    """Weights with a mean of a tenth or more are the user's own affair."""
    X, y = rows(SVGPRegressor, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        SVGPRegressor(n_inducing=10, max_iter=3).fit(X, y, sample_weight=np.full(60, scale))


@pytest.mark.parametrize("kind", [SVGPClassifier, StreamingSGPClassifier])
def test_labels_that_weigh_little_say_what_their_bound_says(kind):
    """Sixty labels of a tenth each say next to nothing, and no kernel has a better bound.

    That of the exact process, with short and long length scales, small and large variances.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y, weight = X[:, 0] + 0.3 * rng.normal(size=60) > 0.0, np.full(60, 0.1)
    model = kind(random_state=0).fit(X, y, sample_weight=weight)
    exact = SVGPClassifier(inducing=X, optimizer=None)
    bounds = [
        exact.set_params(kernel=variance * RBF(scale)).fit(X, y, sample_weight=weight).objective_
        for variance in (0.01, 1.0, 100.0)
        for scale in (0.5, 2.0, 10.0)
    ]
    assert model.objective_ > max(bounds)
    assert abs(model.predict_proba(X) - 0.5).max() < 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_boosting_is_told_of(rng):
    """Boosting, which normalises weights itself, passes the warning on."""
    X, y = rows(SVGPClassifier, rng)
    boosted = AdaBoostClassifier(SVGPClassifier(n_inducing=10, max_iter=3), n_estimators=1)
    with pytest.warns(UserWarning, match="sum of 1 for 60 rows"):
        boosted.fit(X, y)


def test_weights_of_a_collection_are_told_of(rng):
    """Normalised weights of a dask collection warn, too."""
    array = pytest.importorskip("dask.array")
    X, y = rows(SVGPRegressor, rng)
    X, y, weight = (array.from_array(part, 20) for part in (X[:, :1], y, np.full(60, 1.0 / 60.0)))
    model = SVGPRegressor(n_inducing=10, optimizer=None)
    with pytest.warns(UserWarning, match="sum of 1 for 60 rows"):
        model.fit(X, y, sample_weight=weight)
