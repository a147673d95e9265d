"""p(u) against dense definitions, and the ladder of jitters."""

from dataclasses import replace

import numpy as np
import pytest
from dense import EVERY_KERNEL, make_case
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.gp.prior import Prior, projection


@EVERY_KERNEL
def test_prior_is_its_definition(kernel):
    """K is k(Z, Z) + delta I, L its Cholesky factor, whitened(X) is inv(L) K(Z, X)."""
    case = make_case(kernel)
    Kuu, Kuf, _ = case.matrices()
    L = np.linalg.cholesky(Kuu)
    prior = case.prior
    assert_allclose(prior.K, Kuu, atol=1e-12)
    assert_allclose(prior.L, L, atol=1e-10)
    assert_allclose(prior.L_inv, np.linalg.inv(L), atol=1e-8)
    assert_allclose(prior.K_inv, np.linalg.inv(Kuu), atol=1e-7)
    assert_allclose(prior.log_det, np.linalg.slogdet(Kuu)[1])
    assert_allclose(prior.whitened(case.X), np.linalg.solve(L, Kuf), atol=1e-9)


@pytest.mark.parametrize("length_scale", [0.3, 3.0, 30.0])
def test_condition(length_scale):
    """The estimated condition number is within a factor of 10 of NumPy's."""
    case = replace(make_case(m=12, delta=1e-8), kernel=ConstantKernel(5.0) * RBF(length_scale))
    prior = case.prior
    assert 0.1 < prior.condition / np.linalg.cond(prior.K, 1) < 10.0


def test_projection_is_its_definition():
    """The projection is inv(L) K(Z, Z_old) inv(L_old)^T, and the identity on the same prior."""
    case = make_case(m=6)
    old = Prior.build(case.parameters.kernel, case.Z[:4] + 0.1, case.delta)
    L, L_old = case.prior.L, old.L
    expected = np.linalg.solve(L, case.kernel(case.Z, old.Z)) @ np.linalg.inv(L_old).T
    assert_allclose(projection(old, case.prior), expected, atol=1e-9)
    assert_allclose(projection(case.prior, case.prior), np.eye(6), atol=1e-9)


# the jitter ladder
