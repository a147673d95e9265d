"""Whitened and direct coordinates hold the same q(u); the direct ones where rounding allows."""

from dataclasses import replace

import numpy as np
import pytest
from dense import COORDINATES, EVERY_KERNEL, OUTPUTS, make_case, random_information
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp.gp.coordinates import (
    DIRECT_LIMIT,
    Direct,
    Whitened,
    choose_coordinates,
    information_bound,
    rounding_amplification,
)


@pytest.mark.parametrize("length_scale", [0.3, 3.0])
def test_coordinates_are_chosen_by_their_rule(length_scale):
    """Direct ones are taken while eps cond(K) information < 1e-3, on either side of that bound."""
    case = replace(make_case(m=12, delta=1e-8), kernel=RBF(length_scale))
    prior, bound = case.prior, 1e-3
    unit = np.finfo(float).eps * prior.condition * len(case.y)  # k(x, x) is 1
    assert bound == DIRECT_LIMIT
    assert choose_coordinates(case.rows, prior, 1.01 * unit / bound) is Direct
    assert choose_coordinates(case.rows, prior, 0.99 * unit / bound) is Whitened
    assert choose_coordinates(case.rows, prior, 1.01 * unit / 0.2, 0.2) is Direct
    assert choose_coordinates(case.rows, prior, 0.99 * unit / 0.2, 0.2) is Whitened


def test_where_direct_is_called_unsafe_it_is():
    """The rule refuses a case in which direct coordinates give I + H a negative eigenvalue."""
    rng = np.random.default_rng(0)
    case = replace(
        make_case(n=200),
        kernel=RBF(0.5),
        Z=np.linspace(-1.0, 1.0, 15)[:, None],
        X=rng.uniform(-1.0, 1.0, (200, 1)),
        y=rng.standard_normal((200, 1)),
        weight=np.full(200, 1e6),  # as many rows as it takes
        delta=1e-10,
    )
    direct, whitened = (case.optimum(form).posterior.H[0] for form in (Direct, Whitened))
    assert choose_coordinates(case.rows, case.prior, case.noise) is Whitened
    assert np.linalg.eigvalsh(np.eye(15) + direct).min() < 0.0
    assert np.linalg.eigvalsh(np.eye(15) + whitened).min() > 0.99


@EVERY_KERNEL
def test_information_bound(kernel):
    """The trace of H does not exceed what information_bound says."""
    case = make_case(kernel, weighted=True)
    trace = np.trace(case.optimum(Whitened).H)
    bound = information_bound(case.prior.kernel, case.rows, case.noise)
    mass = case.weight @ case.kernel.diag(case.X)
    assert trace < mass / case.noise <= bound * (1.0 + 1e-12)
    assert bound < 100.0 * trace
    amplification = rounding_amplification(case.prior, case.rows, case.noise)
    assert_allclose(amplification, np.finfo(float).eps * case.prior.condition * bound)


@COORDINATES
@OUTPUTS
def test_kl_divergence(t, coordinates):
    """The divergence is zero at the prior and that of the dense Gaussians elsewhere."""
    case = make_case()
    H, h = random_information(5, t)
    S = np.linalg.inv(np.eye(5) + H)
    expected = 0.5 * t * (np.trace(S) - 5 - np.linalg.slogdet(S)[1]) + 0.5 * np.sum((S @ h) ** 2)
    q = coordinates.from_posterior(case.posterior(H, h))
    assert_allclose(q.kl(), expected, rtol=1e-9)
    assert abs(coordinates.from_posterior(case.posterior(0.0 * H, 0.0 * h)).kl()) < 1e-9


@OUTPUTS
@EVERY_KERNEL
def test_both_coordinates_hold_the_same_q(kernel, t):
    """Held in either way, a posterior gives itself back, and the same numbers to the bounds."""
    case = make_case(kernel)
    posterior = case.posterior(*random_information(5, t))
    direct, whitened = Direct.from_posterior(posterior), Whitened.from_posterior(posterior)
    for q in (direct, whitened):
        assert_allclose(q.posterior.H[0], posterior.H[0], atol=1e-9)
        assert_allclose(q.posterior.h, posterior.h, atol=1e-9)
    for name in ("log_det", "trace_H", "quadratic"):
        assert_allclose(getattr(direct, name), getattr(whitened, name), rtol=1e-9)

    def moments(q):
        A = q.block(case.X)
        return A.T @ q.coefficients, np.sum(A * (q.covariance_change @ A), axis=0)

    for one, other in zip(moments(direct), moments(whitened), strict=True):
        assert_allclose(one, other, atol=1e-8)


@COORDINATES
@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_steps_are_the_same_in_both_coordinates(rho, coordinates):
    """A natural-gradient step between two q(u) is that of their posteriors."""
    case = make_case()
    one, other = (case.posterior(*random_information(5, 2, seed)) for seed in (0, 1))
    moved = coordinates.from_posterior(one).towards(coordinates.from_posterior(other), rho)
    assert type(moved) is coordinates
    expected = one.towards(other, rho)
    assert_allclose(moved.posterior.H[0], expected.H[0], atol=1e-9)
    assert_allclose(moved.posterior.h, expected.h, atol=1e-9)
