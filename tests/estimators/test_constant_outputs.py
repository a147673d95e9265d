"""An output that never varies teaches the others nothing, and is predicted as it is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

ESTIMATORS = [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor]


@pytest.fixture(scope="module")
def data():
    """120 rows of a sine with noise of 0.3."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (120, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(120)


def beside_constants(model, X, y, gaps=False):
    """Predictions of a function: means and deviations alone, and beside outputs of 7 and -2."""
    new = np.linspace(-1.8, 1.8, 40)[:, None]
    alone, own = model.set_params(random_state=0).fit(X, y).predict(new, return_std=True)
    outputs = np.column_stack([y, np.full(120, 7.0), np.full(120, -2.0)])
    if gaps:
        outputs[::7, 1] = outputs[3::5, 2] = np.nan
    mean, std = model.fit(X, outputs).predict(new, return_std=True)
    assert_allclose(mean[:, 1:], [[7.0, -2.0]] * 40, atol=1e-6)
    assert_allclose(mean[:, 0], alone, atol=0.15)
    return own, std


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_constants_beside_a_function(data, estimator):
    """Two zeros without noise took all variance from the kernel, and the sine was noise."""
    own, std = beside_constants(estimator(), *data)
    assert_allclose(std[:, 0], own, rtol=0.2)
    assert std[:, 1:].max() < 0.02  # .31 where the constants' own density made all look missed


@pytest.mark.parametrize("estimator", ESTIMATORS[:2])
@pytest.mark.parametrize("likelihood", ["auto", "student_t", "heteroscedastic"])
def test_constants_beside_noise_of_each_row(data, estimator, likelihood):
    """The sine was noise there, too: errors of .66."""
    own, std = beside_constants(estimator(likelihood=likelihood), *data)
    assert_allclose(std[:, 0], own, rtol=0.2)


def test_constants_with_gaps(data):
    """A stream takes outputs that are missing in some rows; the error was .66."""
    beside_constants(StreamingSGPRegressor(), *data, gaps=True)


@pytest.mark.filterwarnings("ignore:Most of 50 new rows")  # rightly
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_constant_may_vary_later(data, estimator):
    """Its noise is the least there may be, and a later batch is learned."""
    X, y = data
    beside = np.column_stack([y, np.zeros(120)])
    model = estimator(random_state=0).fit(X, beside)
    assert model.noise_variance_[1] < 1e-5
    model.partial_fit(X[:50] + 0.01, np.column_stack([y[:50], 0.1 * y[:50]]))
    assert np.isfinite(model.predict_std(X)).all()
