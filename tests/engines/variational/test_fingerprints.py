"""Fingerprints are equal for equal values, whatever objects hold them, and only for these."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, PairwiseKernel

from sklearn_sgp.engines.fingerprints import fingerprint, structure
from sklearn_sgp.kernels import Columns
from sklearn_sgp.likelihoods import Poisson, StudentT

DIFFERENT = [
    None,
    True,
    False,
    0.3,
    "fixed",
    (0.1, 1.0),
    (0.1, 2.0),
    ((0.0, 0.0), 1.0),
    ((0.0, 1.0), 1.0),
    np.zeros((2, 3)),
    np.zeros((3, 2)),
    RBF(1.0),
    RBF(2.0),
    RBF(1.0, (0.1, 1.0)),
    RBF(1.0, "fixed"),
    RBF([1.0]),
    Matern(1.0),
    Matern(1.0, nu=0.5),
    2.0 * RBF(1.0),
    RBF(1.0) * 2.0,
    Columns(RBF(1.0), [0]),
    Columns(RBF(1.0), [1]),
    StudentT(3.0),
    StudentT(None),
    Poisson(),
]


def test_different_values():
    """Values that differ have different fingerprints; True is 1, as it is in Python."""
    prints = [fingerprint(value) for value in DIFFERENT]
    assert len({repr(p) for p in prints}) == len(prints)


@pytest.mark.parametrize("value", DIFFERENT, ids=repr)
def test_equal_values(value):
    """A copy, and one that has been pickled, has the same fingerprint."""
    for other in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert fingerprint(other) == fingerprint(value)


def test_lists_are_arrays():
    """Arrays, lists and integers of the same values are the same."""
    assert fingerprint(np.array([[1.0], [2.0]])) == fingerprint([[1], [2]])
    assert fingerprint(RBF(1)) == fingerprint(RBF(1.0))


def test_fingerprints_hold_nothing():
    """What is kept of a large array is small."""
    assert len(pickle.dumps(fingerprint(np.zeros((1000, 10))))) < 200


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (RBF(1.0), RBF(2.0, (0.1, 3.0)), True),
        (RBF(1.0), RBF([1.0]), True),
        (RBF(1.0), RBF([1.0, 1.0]), False),
        (RBF(1.0), RBF(1.0, "fixed"), False),
        (RBF(1.0, "fixed"), RBF(2.0, "fixed"), False),
        (RBF(1.0), Matern(1.0), False),
        (Matern(1.0, nu=0.5), Matern(1.0, nu=1.5), False),
        (ConstantKernel(4.0) * RBF(0.5), ConstantKernel(1.0) * RBF(3.0), True),
        (ConstantKernel(4.0) * RBF(0.5), RBF(0.5) * ConstantKernel(4.0), False),
        (RBF(1.0) ** 2, RBF(2.0) ** 2, True),
        (RBF(1.0) ** 2, RBF(1.0) ** 3, False),
        (Columns(RBF(1.0), [0]), Columns(RBF(2.0), [0]), True),
        (Columns(RBF(1.0), [0]), Columns(RBF(1.0), [1]), False),
        (PairwiseKernel(metric="linear"), PairwiseKernel(metric="rbf"), False),
    ],
    ids=str,
)
def test_structure(one, other, same):
    """Values and bounds of free parameters are no part of a kernel's structure; all else is."""
    assert (structure(one) == structure(other)) == same
