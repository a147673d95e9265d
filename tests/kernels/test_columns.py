"""Columns behaves as a scikit-learn kernel on some of the columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    WhiteKernel,
)

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Columns


@pytest.mark.parametrize(
    "columns", [[2, 0], (2, 0), np.array([2, 0])], ids=lambda c: type(c).__name__
)
def test_columns_is_the_kernel_on_those_columns(columns):
    """Values, diagonal and gradient are those of the inner kernel on the chosen columns."""
    inner = Matern([0.8, 1.5], nu=1.5)
    kernel = Columns(inner, columns)
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((4, 3)), rng.standard_normal((7, 3))
    assert_array_equal(kernel(Z, X), inner(Z[:, [2, 0]], X[:, [2, 0]]))
    assert_array_equal(kernel.diag(X), inner.diag(X[:, [2, 0]]))
    for ours, theirs in zip(
        kernel(X, eval_gradient=True), inner(X[:, [2, 0]], None, True), strict=True
    ):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "columns", [[2, 0], (2, 0), np.array([2, 0])], ids=lambda c: type(c).__name__
)
def test_columns_clones_compares_and_prints(columns):
    """clone gives an equal, separate kernel, and so does evaluating the repr."""
    kernel = Columns(RBF([0.8, 1.5]), columns)
    copy = clone(kernel)
    assert copy == kernel and copy.kernel is not kernel.kernel
    assert eval(repr(kernel)) == kernel
    assert repr(kernel) == "Columns(RBF(length_scale=[0.8, 1.5]), [2, 0])"


@pytest.mark.parametrize(
    "other", [Columns(RBF(), [0]), Columns(RBF(2.0), [1]), Columns(Matern(), [1]), RBF()], ids=str
)
def test_columns_differs(other):
    """Columns differs from another inner kernel, from other columns and from a bare kernel."""
    assert Columns(RBF(), [1]) != other
    assert other != Columns(RBF(), [1])


def test_columns_parameters():
    """set_params and get_params reach the inner kernel as kernel__<name>, also inside sums."""
    kernel = Columns(RBF(1.2), [0]) + Columns(Matern(0.7), [1])
    kernel.set_params(k1__kernel__length_scale=3.0, k2__columns=[2])
    assert kernel == Columns(RBF(3.0), [0]) + Columns(Matern(0.7), [2])
    assert kernel.get_params()["k1__kernel__length_scale"] == 3.0
    own = {"kernel", "columns", "directions", "directions_bounds"}
    assert Columns(RBF(), [0]).get_params(deep=False).keys() == own


def test_columns_hyperparameters():
    """theta and bounds are the inner kernel's, and names have the prefix kernel__."""
    inner = ConstantKernel(2.0, "fixed") * RBF([0.8, 1.5], (0.1, 10.0))
    kernel = Columns(inner, [2, 0])
    assert_array_equal(kernel.theta, inner.theta)
    assert_array_equal(kernel.bounds, inner.bounds)
    assert [h.name for h in kernel.hyperparameters] == [
        f"kernel__{h.name}" for h in inner.hyperparameters
    ]
    assert_allclose(kernel.clone_with_theta([0.0, 1.0]).kernel.k2.length_scale, [1.0, np.e])
    assert kernel.is_stationary() and not Columns(DotProduct(), [0]).is_stationary()


def test_columns_in_gaussian_process_regressor():
    """scikit-learn's regressor learns Columns(k, c) on X as it learns k on X[:, c]."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (30, 3))
    y = np.sin(X[:, 2]) + 0.1 * rng.standard_normal(30)
    whole = GaussianProcessRegressor(Columns(RBF(), [2]) + WhiteKernel(0.1)).fit(X, y)
    part = GaussianProcessRegressor(RBF() + WhiteKernel(0.1)).fit(X[:, [2]], y)
    assert_allclose(whole.kernel_.theta, part.kernel_.theta)
    assert_allclose(whole.predict(X), part.predict(X[:, [2]]))


@pytest.mark.parametrize(
    "columns",
    [2, -1, np.int64(2), [-1], slice(2, None), slice(-1, None), [False, False, True], (2,)],
    ids=str,
)
def test_one_column_in_other_words(columns):
    """A number, a negative index, a slice or a mask is the list of what it stands for."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (30, 3))
    kernel, listed = Columns(RBF(), columns), Columns(RBF(), [2])
    assert clone(kernel) == kernel
    assert repr(kernel).startswith("Columns(RBF(length_scale=1), ")
    assert_array_equal(kernel(X), listed(X))
    assert_array_equal(kernel.diag(X), listed.diag(X))
    few = {"n_inducing": 8, "max_iter": 3, "noise_variance": 0.1}
    model, same = (SVGPRegressor(k, random_state=0, **few) for k in (kernel, listed))
    with pytest.warns(ConvergenceWarning):
        model.fit(X, np.sin(X[:, 2]))
    with pytest.warns(ConvergenceWarning):
        same.fit(X, np.sin(X[:, 2]))
    assert_array_equal(model.predict(X), same.predict(X))
    assert list(model.kernel_.columns) == [2]


def test_one_name_is_one_column():
    """A name alone is the column of that name, not its letters."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"time": [0.0, 1.0, 3.0], "place": ["a", "b", "c"]})
    K = Columns(RBF(), "time")(frame)
    assert_array_equal(K, RBF()(frame[["time"]].to_numpy()))
    with pytest.raises(ValueError, match="Got 'hour', where X has"):
        Columns(RBF(), "hour")(frame)


def test_a_column_that_is_not_there():
    """A kernel on such a column says so, alone and in predictions before a fit."""
    X = np.random.default_rng(0).standard_normal((4, 3))
    kernel, told = Columns(RBF(), [3]), "columns.*between 0 and n_features - 1"
    for ask in (kernel, kernel.diag, SVGPRegressor(kernel).predict):
        with pytest.raises(ValueError, match=told):
            ask(X)
