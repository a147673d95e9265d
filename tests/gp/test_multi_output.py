"""q(u) of mixed latent functions: what is asked of it, from the dense Gaussian."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp.gp.multi_output import CoregionalisedPosterior
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.kernels import compile_kernel

Q, M = 2, 4


@pytest.fixture
def posterior():
    """A q(u) with some information on two latent functions."""
    rng = np.random.default_rng(0)
    kernel = compile_kernel(RBF([0.9, 1.4]), np.zeros(2)).bind(np.log([0.9, 1.4]))
    prior = Prior.build(kernel, rng.uniform(-2.0, 2.0, (M, 2)), 1e-6)
    root = rng.standard_normal((Q * M, Q * M))
    return CoregionalisedPosterior(
        prior, root @ root.T, rng.standard_normal((Q, M)), rng.standard_normal((3, Q))
    )


def test_the_divergence_from_the_prior(posterior):
    """That of the whitened values' Gaussian from the standard normal."""
    S = np.linalg.inv(np.eye(Q * M) + posterior.H)
    mean = S @ posterior.h.ravel()
    expected = 0.5 * (np.trace(S) + mean @ mean - Q * M - np.linalg.slogdet(S)[1])
    assert_allclose(posterior.kl(), expected, rtol=1e-10)


def test_slopes_in_information(posterior):
    """They are differences of the evidence, of a sum over functions and of each pair of them."""
    rng = np.random.default_rng(1)
    C, Phi = (one + one.T for one in (rng.standard_normal((k, k)) for k in (Q, M)))
    step = 1e-5 * np.kron(C, Phi)
    above, below = (
        replace(posterior, H=posterior.H + sign * step).log_evidence() for sign in (1.0, -1.0)
    )
    slope = (above - below) / 2e-5
    assert_allclose(np.vdot(posterior.information_sum(C), Phi), slope, rtol=1e-6)
    assert_allclose(np.vdot(posterior.information_dots(Phi), C), slope, rtol=1e-6)
