"""Roots of the joint covariance of predictions, which draws are made with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.predict.between_outputs import joint_root


def with_eigenvalues(values, rng):
    """A symmetric matrix with these eigenvalues."""
    axes = np.linalg.qr(rng.standard_normal((len(values),) * 2))[0]
    return (axes * values) @ axes.T


def test_rounding_below_zero_is_cleared():
    """Where rounding is a share of the variances, draws are of the nearest covariance."""
    values = np.array([-0.02, -0.01, 0.0, 1.0, 2.0])
    root = joint_root(with_eigenvalues(values, np.random.default_rng(0)))
    nearest = with_eigenvalues(np.maximum(values, 0.0), np.random.default_rng(0))
    assert_allclose(root @ root.T, nearest, atol=1e-12)


def test_what_is_no_covariance_is_refused(rng):
    """Eigenvalues further below zero than variances are above it are more than rounding."""
    with pytest.raises(ValueError, match="must be positive definite"):
        joint_root(with_eigenvalues(np.array([-2.0, 1.0, 2.0]), rng))
