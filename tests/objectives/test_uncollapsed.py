"""The bound from minibatches, its gradient and its natural-gradient target."""

from dataclasses import replace

import numpy as np
import pytest
from dense import (
    COORDINATES,
    EVERY_KERNEL,
    EVERY_LIKELIHOOD,
    KERNEL_AND_FIXED,
    LIKELIHOODS,
    OUTPUTS,
    WEIGHTED,
    assert_gradient,
    assert_same_gradient,
    held_moments,
    make_case,
    minibatch,
    moments_of_information,
    random_information,
    uncollapsed_bound,
)
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.gaussian_process.kernels import Sum as SumKernel

from sklearn_sgp.objectives.collapsed import collapsed_bound


def hold(coordinates, case, t=1, seed=0):
    """A q(u) that belongs to no data."""
    return coordinates.from_posterior(case.posterior(*random_information(5, t, seed)))


@EVERY_LIKELIHOOD
@COORDINATES
@WEIGHTED
@OUTPUTS
@EVERY_KERNEL
def test_minibatch_value(kernel, t, weighted, coordinates, likelihood):
    """With all rows it is the bound of Hensman et al. at q(u), for any H and h."""
    case = make_case(kernel, t=t, weighted=weighted)
    given, expectation = LIKELIHOODS[likelihood]
    terms = minibatch(hold(coordinates, case, t), case, likelihood=given)
    matrices = case.matrices()
    q = moments_of_information(matrices[0], *random_information(5, t))
    expected = uncollapsed_bound(*matrices, case.y, case.noise, *q, case.weight, expectation)
    assert_allclose(terms.value, expected, rtol=1e-8)


@COORDINATES
@WEIGHTED
@OUTPUTS
def test_uncollapsed_equals_collapsed_at_the_optimum(t, weighted, coordinates):
    """At the optimal q(u) value and gradients are those of the collapsed bound."""
    case = make_case("sum", t=t, weighted=weighted)
    value, gradient = collapsed_bound(case.parameters, case.rows, case.delta)
    terms = minibatch(case.optimum(coordinates), case)
    assert_allclose(terms.value, value, rtol=1e-10)
    assert_same_gradient(terms.gradient, gradient, rtol=1e-6, atol=1e-6)


@COORDINATES
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_uncollapsed_is_below_away_from_the_optimum(seed, size, coordinates):
    """Any change of H and h, small or large, lowers the bound."""
    case = make_case(t=2, weighted=True)
    best, value = case.optimum_and_bound(coordinates)
    H, h = random_information(5, 2, seed)
    moved = coordinates.from_information(case.prior, best.H + size * H, best.h + size * h)
    assert minibatch(moved, case).value < value - 1e-9


@pytest.mark.quick_cases("*-1-weighted-*", "*-2-unweighted-*")
@EVERY_LIKELIHOOD
@COORDINATES
@WEIGHTED
@OUTPUTS
@KERNEL_AND_FIXED
def test_minibatch_gradient(kernel, t, weighted, coordinates, fixed, likelihood):
    """Gradients hold (H, h) in whitened coordinates, (L H L^T, L h) in direct ones."""
    case = make_case(kernel, t=t, weighted=weighted)
    given, expectation = LIKELIHOODS[likelihood]
    space, q = case.space(fixed), hold(coordinates, case, t)
    terms = minibatch(q, case, scale=1.7, likelihood=given, with_inputs=space.learns("Z"))
    moments = held_moments(case, *random_information(5, t), coordinates)
    weight = 1.7 * (np.ones(len(case.y)) if case.weight is None else case.weight)

    def value(parameters):
        matrices = case.matrices(parameters)
        return uncollapsed_bound(
            *matrices,
            case.y,
            parameters.noise_variance,
            *moments(matrices[0]),
            weight,
            expectation,
        )

    assert_gradient(terms.gradient, value, space, case.parameters)


@COORDINATES
@EVERY_LIKELIHOOD
def test_minibatches_average_to_the_whole(likelihood, coordinates):
    """Over a partition of the rows, values, gradients and targets average to those of all rows."""
    case = make_case("columns", n=31, t=2, weighted=True)
    q = hold(coordinates, case, 2)
    order = np.random.default_rng(0).permutation(31)
    batches = [case.rows.select(np.sort(part)) for part in np.array_split(order, 4)]
    given = LIKELIHOODS[likelihood][0]

    def vector(rows, scale):
        terms = minibatch(q, case, rows=rows, scale=scale, likelihood=given)
        assert type(terms.target) is coordinates
        parts = (terms.value, *terms.gradient.values(), terms.target.H, terms.target.h)
        return np.concatenate([np.ravel(part) for part in parts])

    whole = vector(case.rows, 1.0)
    average = np.mean([vector(rows, 4.0) for rows in batches], axis=0)
    assert_allclose(average, whole, rtol=1e-9, atol=1e-9)
    assert np.abs(vector(batches[0], 4.0) - whole).max() > 1.0


@COORDINATES
def test_minibatch_leaves_q_alone(coordinates):
    """Computing a step changes nothing that q(u) caches, so that it can be repeated."""
    case = make_case(t=2, weighted=True)
    q = hold(coordinates, case, 2)
    first, second = (minibatch(q, case) for _ in range(2))
    assert_same_gradient(first.gradient, second.gradient, rtol=0)
    assert first.value == second.value


@pytest.mark.parametrize("seed", range(3))
@COORDINATES
@WEIGHTED
@OUTPUTS
def test_the_target_of_all_rows_is_the_optimum(t, weighted, coordinates, seed):
    """For Gaussian noise all rows ask for the optimal q(u), wherever q(u) is."""
    case = make_case(t=t, weighted=weighted)
    target = minibatch(hold(coordinates, case, t, seed), case).target
    best, value = case.optimum_and_bound(coordinates)
    assert_allclose(target.H, best.H, atol=1e-10)
    assert_allclose(target.h, best.h, atol=1e-10)
    assert_allclose(minibatch(target, case).value, value, rtol=1e-9)


def test_opaque_kernels_have_no_gradient_in_inputs():
    """A kernel of unknown type has no gradient in Z."""

    class Unknown(SumKernel):
        pass

    case = replace(make_case(), kernel=Unknown(ConstantKernel(0.2), RBF(0.9)))
    q = case.optimum()
    assert minibatch(q, case).gradient["Z"] == 0.0
