"""Rough parts of default kernels in few columns."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Sum

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.engines.variational.rough_columns import _is_gain

OPTIONS = {"n_inducing": 60, "init_size": 512, "tol": 1e-3, "random_state": 0}
N_LEVELS = 30


def rows_with_levels(size, n=6000):
    """A smooth function of two columns, and a level of its own for each value of the fourth."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(0.0, 1.0, (n, 3)), rng.integers(0, N_LEVELS, n)])
    levels = size * rng.standard_normal(N_LEVELS)
    f = np.sin(4.0 * X[:, 0]) + X[:, 1] + levels[X[:, 3].astype(int)]
    return X, f, f + rng.standard_normal(n)


def test_levels_are_found_where_the_bound_on_few_rows_does_not_see_them():
    X, f, y = rows_with_levels(0.4)
    model = SVGPRegressor(**OPTIONS).fit(X, y)
    assert isinstance(model.kernel_, Sum)
    scales = model.kernel_.k2.k2.length_scale / X.std(axis=0)
    assert scales[3] < 0.5
    assert (scales[:3] > 5.0).all()
    error = np.sqrt(np.mean((model.predict(X) - f) ** 2))
    assert error < 0.25  # 0.38 with a smooth function alone


def test_kernel_stays_smooth_where_nothing_is_rough():
    X, _, y = rows_with_levels(0.0)
    model = SVGPRegressor(**OPTIONS).fit(X, y)
    assert not isinstance(model.kernel_, Sum)


def test_given_kernels_are_not_changed():
    X, _, y = rows_with_levels(0.4)
    model = SVGPRegressor(RBF(np.ones(4)), max_iter=100, **OPTIONS).fit(X, y)
    assert isinstance(model.kernel_, RBF)


@pytest.mark.parametrize(("gain", "is_gain"), [(0.05, True), (0.0005, False), (-0.05, False)])
def test_gains_must_be_clear(gain, is_gain):
    before = np.random.default_rng(0).standard_normal(1000)
    assert _is_gain(before + gain, before, np.ones(1000)) is is_gain


def test_gains_of_few_rows_among_many_are_chance():
    before, after = np.zeros(1000), np.zeros(1000)
    after[:5] = 100.0
    assert not _is_gain(after, before, np.ones(1000))


def test_points_without_density_are_no_gain():
    before = np.zeros(10)
    assert not _is_gain(np.full(10, -np.inf), before, np.ones(10))
