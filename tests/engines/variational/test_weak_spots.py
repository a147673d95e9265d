"""Warnings where a fit explains little."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sklearn_sgp import StreamingSGPClassifier, SVGPClassifier, SVGPRegressor
from sklearn_sgp.engines.explained import _explained


@pytest.mark.parametrize("size", [0.0, 1e-300])
def test_numbers_without_squares_are_explained(size):
    """Constants, and numbers whose squares are zero, leave nothing to explain."""
    y = size * np.arange(4.0)[:, None] + 1e-300
    assert _explained(y, np.zeros((4, 1))) == 1.0


@pytest.mark.filterwarnings("ignore:y should vary by more than")
def test_tiny_targets():
    """A fit of targets of 1e-300 ends without a word about overflow or division."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 2)), 1e-300 * rng.standard_normal(60)
    model = SVGPRegressor(init_size=20, max_iter=2, n_inducing=5, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("n_rows", [20, 60])
def test_noise_beside_a_kernel_with_reach(n_rows, n_features):
    """Pure noise asks for no reach: a kernel that had it is not said to have missed anything."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n_rows, n_features)), rng.normal(size=n_rows)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message="The optimal value found")
            SVGPRegressor(1.0 * RBF(1.0) + WhiteKernel(), random_state=0).fit(X, y)


@pytest.mark.slow
@pytest.mark.quick_cases("2-SVGPClassifier", "1-StreamingSGPClassifier")
@pytest.mark.parametrize("kind", [SVGPClassifier, StreamingSGPClassifier])
@pytest.mark.parametrize("n_odd", [1, 2])
def test_few_rows_of_another_class(kind, n_odd, rng):
    """One or two labels of another class are nothing that neighbours are said to explain."""
    X, y = rng.uniform(size=(120, 1)), np.zeros(120)
    y[:n_odd] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(n_inducing=12, random_state=0).fit(X, y)
