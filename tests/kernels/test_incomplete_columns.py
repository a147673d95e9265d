"""A kernel of a table's columns sees where values are missing, term by term."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sklearn_sgp.kernels import Columns
from sklearn_sgp.kernels._columns import with_missing

RNG = np.random.default_rng(0)
X = np.c_[RNG.standard_normal((12, 3)), RNG.integers(0, 2, (12, 2))]  # of columns 0 and 2


def apart(places):
    """exp(-k / 2) for rows of which k of these marks differ."""
    return np.exp(-0.5 * (X[:, None, places] != X[None][..., places]).sum(axis=-1))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF(), lambda: RBF()(X[:, :3]) * apart([3, 4])),
        (RBF([1.0, 2.0, 3.0]), lambda: RBF([1.0, 2.0, 3.0])(X[:, :3]) * apart([3, 4])),
        (Columns(RBF(), [1]), lambda: RBF()(X[:, [1]])),
        (
            Columns(RBF(), [2]) + Columns(Matern(), [0, 1]),
            lambda: RBF()(X[:, [2]]) * apart([4]) + Matern()(X[:, :2]) * apart([3]),
        ),
        (
            Columns(Columns(RBF(), [1]), [1, 2]) * 2.0 + ConstantKernel(3.0),
            lambda: 2.0 * RBF()(X[:, [2]]) * apart([4]) + 3.0,
        ),
        (RBF() ** 2 + WhiteKernel(), lambda: RBF()(X[:, :3]) ** 2 * apart([3, 4]) + np.eye(12)),
    ],
)
def test_terms(kernel, expected):
    """A term has a factor for the columns that it sees and that lack values, and no other one."""
    assert_allclose(with_missing(kernel, 3, (0, 2))(X), expected(), rtol=1e-12)


def test_nothing_is_missing():
    """Where no column lacks values the kernel is the same object."""
    kernel = RBF() + WhiteKernel()
    assert with_missing(kernel, 3, ()) is kernel
