"""The collapsed bound and its gradient against dense definitions, in both coordinates."""

from dataclasses import replace

import numpy as np
import pytest
from dense import (
    COORDINATES,
    EVERY_KERNEL,
    KERNEL_AND_FIXED,
    OUTPUTS,
    WEIGHTED,
    assert_gradient,
    assert_same_gradient,
    exact_gp,
    make_case,
    make_parameters,
    moments_of_information,
    optimal_q,
    vfe_bound,
)
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from sklearn.gaussian_process.kernels import Sum as SumKernel

from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.gp.coordinates import (
    DIRECT_GRADIENT_LIMIT,
    Direct,
    Whitened,
    choose_coordinates,
)
from sklearn_sgp.objectives.collapsed import collapsed_bound


@COORDINATES
@WEIGHTED
@OUTPUTS
@EVERY_KERNEL
def test_collapsed_value(kernel, t, weighted, coordinates):
    """The collapsed bound is that of Titsias, in both coordinates."""
    case = make_case(kernel, t=t, weighted=weighted)
    value, _ = collapsed_bound(case.parameters, case.rows, case.delta, coordinates=coordinates)
    expected = vfe_bound(*case.matrices(), case.y, case.noise, case.weight)
    assert_allclose(value, expected, rtol=1e-9)


@COORDINATES
@WEIGHTED
@OUTPUTS
@KERNEL_AND_FIXED
def test_collapsed_gradient(kernel, t, weighted, coordinates, fixed):
    """Gradients in kernel, noise and Z are those of the dense bound, whatever of them is free."""
    case = make_case(kernel, t=t, weighted=weighted)
    space, start = case.space(fixed), case.parameters
    _, gradient = collapsed_bound(
        start, case.rows, case.delta, with_inputs=space.learns("Z"), coordinates=coordinates
    )

    def value(parameters):
        matrices = case.matrices(parameters)
        return vfe_bound(*matrices, case.y, parameters.noise_variance, case.weight)

    assert_gradient(gradient, value, space, start)


@pytest.mark.parametrize("weight, coordinates", [(1.0, Direct), (1e12, Whitened)])
def test_condition_number_chooses_the_coordinates(weight, coordinates):
    """Unless told, direct coordinates are taken where they are safe, whitened ones elsewhere."""
    case = make_case("sum", t=2)
    case = replace(case, weight=np.full(len(case.y), weight))
    for limit in ((), (DIRECT_GRADIENT_LIMIT,)):
        assert choose_coordinates(case.rows, case.prior, case.noise, *limit) is coordinates
    (value, gradient), (expected, expected_gradient) = (
        collapsed_bound(case.parameters, case.rows, case.delta, coordinates=given)
        for given in (None, coordinates)
    )
    assert value == expected
    assert_same_gradient(gradient, expected_gradient, rtol=0)


@pytest.mark.parametrize("limit, coordinates", [(1e-20, Whitened), (np.inf, Direct)])
def test_the_limit_decides_the_coordinates(limit, coordinates):
    """Direct coordinates are taken below the limit of amplification that was given."""
    case = make_case("sum", t=2)
    value, gradient = collapsed_bound(case.parameters, case.rows, case.delta, limit=limit)
    expected, expected_gradient = collapsed_bound(
        case.parameters, case.rows, case.delta, coordinates=coordinates
    )
    assert value == expected
    assert_same_gradient(gradient, expected_gradient, rtol=0)


@pytest.mark.parametrize("with_inputs", [False, True])
def test_integer_weights_are_repetitions(with_inputs):
    """Weighting rows gives the bound, gradient and posterior of repeating them."""
    case = make_case(t=2)
    times = np.random.default_rng(0).integers(0, 4, len(case.y))
    weighted = replace(case, weight=times.astype(float))
    repeated = replace(case, X=np.repeat(case.X, times, 0), y=np.repeat(case.y, times, 0))
    (value, gradient), (expected, expected_gradient) = (
        collapsed_bound(c.parameters, c.rows, c.delta, with_inputs=with_inputs)
        for c in (weighted, repeated)
    )
    assert_allclose(value, expected, rtol=1e-12)
    assert_same_gradient(gradient, expected_gradient, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_workers_change_nothing(n_jobs):
    """Any number of workers gives the bound and gradient of one."""
    case = make_case("columns", n=60, t=2, weighted=True)
    X, y, weight = np.tile(case.X, (40, 1)), np.tile(case.y, (40, 1)), np.tile(case.weight, 40)
    case = replace(case, X=X, y=y, weight=weight)
    value, gradient = collapsed_bound(case.parameters, case.rows, case.delta, n_jobs=n_jobs)
    expected, expected_gradient = collapsed_bound(case.parameters, case.rows, case.delta, n_jobs=1)
    assert_allclose(value, expected, rtol=1e-13)
    assert_same_gradient(gradient, expected_gradient, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("delta", [1e-6, 1e-2, 1.0])
def test_collapsed_bound_is_a_bound(delta):
    """It never exceeds the exact evidence, however large the jitter; Z = X comes close to it."""
    case = make_case(n=25, delta=delta)
    K = case.kernel(case.X)
    evidence = exact_gp(K, case.y, case.noise, K, K)[0]
    assert collapsed_bound(case.parameters, case.rows, delta)[0] < evidence - 1.0
    at_data = replace(case, Z=case.X)
    gap = evidence - collapsed_bound(at_data.parameters, case.rows, delta)[0]
    assert 0.0 <= gap + 1e-6
    assert gap < 25 * delta / (2.0 * case.noise) + 1e-6


@pytest.mark.parametrize("kernel", [ConstantKernel(1.5) * Matern(0.8, nu=1.5), RBF(0.4)])
def test_inducing_inputs_at_the_data_give_the_evidence(kernel):
    """With Z = X the collapsed bound and its gradient are those of the exact log evidence."""
    case = replace(make_case(n=25, delta=1e-10), kernel=kernel)
    case = replace(case, Z=case.X)

    def evidence(parameters):
        K = kernel.clone_with_theta(parameters.theta)(case.X)
        return exact_gp(K, case.y, parameters.noise_variance, K, K)[0]

    value, gradient = collapsed_bound(case.parameters, case.rows, case.delta, with_inputs=False)
    assert_allclose(value, evidence(case.parameters), rtol=1e-8)
    assert_gradient(gradient, evidence, case.space(("Z",)), case.parameters)


@COORDINATES
@WEIGHTED
@OUTPUTS
def test_optimal_q(t, weighted, coordinates):
    """One pass gives the optimal q(u) and the bound there, in both coordinates."""
    case = make_case(t=t, weighted=weighted)
    q, value = case.optimum_and_bound(coordinates)
    assert type(q) is coordinates
    Kuu, Kuf, kff = case.matrices()
    assert_allclose(value, vfe_bound(Kuu, Kuf, kff, case.y, case.noise, case.weight), rtol=1e-9)
    u_mean, u_cov = moments_of_information(Kuu, q.posterior.H[0], q.posterior.h)
    expected_mean, expected_cov = optimal_q(Kuu, Kuf, case.y, case.noise, case.weight)
    assert_allclose(u_mean, expected_mean, atol=1e-8)
    assert_allclose(u_cov, expected_cov, atol=1e-8)


def test_values_that_are_not_finite():
    """A kernel or targets that overflow raise what the optimisers step back from."""
    case = make_case()
    overflow = case.parameters.with_values(theta=np.array([800.0, 0.0, 0.0]))
    with np.errstate(all="ignore"), pytest.raises(NotPositiveDefiniteError):
        collapsed_bound(overflow, case.rows, case.delta)
    case = replace(case, y=1e200 * case.y)
    with np.errstate(all="ignore"), pytest.raises(NotPositiveDefiniteError, match="not finite"):
        collapsed_bound(case.parameters, case.rows, case.delta)


def test_opaque_kernels_have_gradients_in_theta():
    """A kernel of unknown type gets its gradient by differences, and none in Z."""

    class Unknown(SumKernel):
        pass

    kernel = Unknown(ConstantKernel(0.2), RBF(0.9))
    case = replace(make_case(), kernel=kernel)
    start = make_parameters(kernel, case.Z, case.noise)
    _, gradient = collapsed_bound(start, case.rows, case.delta)

    def value(parameters):
        return vfe_bound(*case.matrices(parameters), case.y, parameters.noise_variance)

    assert_gradient(gradient, value, case.space(("Z",)), start, rtol=1e-5, atol=0.0)
    assert gradient["Z"] == 0.0
