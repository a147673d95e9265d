"""Fingerprints tell what a user has changed."""

from functools import partial

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.engines.fingerprints import fingerprint
from sklearn_sgp.kernels import Columns


class Powers:
    """Something of a user's own."""

    def __init__(self, power):
        self.power = power


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (slice(0, 2), slice(2, 4)),
        (Powers(0.5), Powers(1.0)),
        ([True, False], [1, 0]),
        (np.sin, np.cos),
        (np.array(["a"]), np.array(["b"])),
        (np.array(["a", "b"], dtype=object), np.array(["a", "c"], dtype=object)),
        (Columns(RBF(), np.array(["a"])), Columns(RBF(), np.array(["b"]))),
        (Columns(RBF(), slice(0, 2)), Columns(RBF(), slice(2, 4))),
    ],
)
def test_what_differs_has_another_fingerprint(one, other):
    """Slices, arrays of strings, own objects and masks were equal to others of their kind."""
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(other)


def test_equal_things_have_equal_fingerprints():
    assert fingerprint(Powers(0.5)) == fingerprint(Powers(0.5))
    assert fingerprint([1, 2]) == fingerprint(np.array([1.0, 2.0]))


@pytest.mark.filterwarnings("ignore:The fit explains")  # by columns that tell nothing
def test_a_warm_start_does_not_return_the_fit_of_other_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = np.sin(X[:, 0]) + X[:, 1]
    make = partial(Columns, RBF([1.0, 1.0]))
    model = SVGPRegressor(
        ConstantKernel() * make(slice(0, 2)), n_inducing=20, warm_start=True, random_state=0
    ).fit(X, y)
    model.set_params(kernel=ConstantKernel() * make(slice(2, 4))).fit(X, y)
    assert "2, 3" in str(model.kernel_)
    model.set_params(kernel=ConstantKernel() * make(slice(0, 2)))
    with pytest.raises(ValueError, match="kernel"):
        model.partial_fit(X, y)


def test_names_of_categories_in_an_array_cannot_change_between_batches():
    """A later batch took ``np.array(["b"])`` for ``np.array(["a"])``."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    k = np.arange(60)
    X = pd.DataFrame({"x": rng.normal(size=60), "a": k % 2, "b": k % 3})
    y = np.sin(X["x"]) + X["a"]
    model = SVGPRegressor(n_inducing=10, max_iter=3, random_state=0)
    model.set_params(categorical_features=np.array(["a"])).partial_fit(X, y)
    model.set_params(categorical_features=np.array(["b"]))
    with pytest.raises(ValueError, match="categorical_features"):
        model.partial_fit(X, y)
