"""Gradients from the cotangents of blocks up to the parameters' groups."""

import numpy as np
import pytest
from dense import (
    EVERY_KERNEL,
    EVERY_MODEL,
    MODELS,
    WEIGHTED,
    assert_gradient,
    assert_same_gradient,
    block_factor,
    make_case,
    make_space,
    random_information,
)
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.factors.gradients import BlockGradient, Gradient, GradientSums, pull_back
from sklearn_sgp.gp.prior import Prior

H, H_VECTOR = random_information(5, 2)
MEAN, COVARIANCE = H_VECTOR, np.linalg.inv(np.eye(5) + H)


def block_gradients(case, model, parameters):
    """The prior, and for each block its inputs, A and gradient at a q(v) that is held."""
    prior, noise = Prior.build(parameters.kernel, parameters.Z, case.delta), parameters
    found = []
    for rows in case.blocks():
        factor = block_factor(prior, rows, noise.noise_variance, model)
        found.append((rows.X, factor.A, factor.gradient(MEAN, COVARIANCE)))
    return prior, found


@EVERY_MODEL
@WEIGHTED
@EVERY_KERNEL
def test_gradients_are_those_of_the_value(name, weighted, kernel):
    """Pulled back and summed, blocks have the derivatives of their expected log factors."""
    case, model = make_case(kernel, t=2, weighted=weighted), MODELS[name]
    start = case.parameters

    def value(parameters):
        return sum(part.value for _, _, part in block_gradients(case, model, parameters)[1])

    prior, blocks = block_gradients(case, model, start)
    sums = GradientSums.total(pull_back(prior, *block) for block in blocks)
    assert_allclose(sums.value, value(start), rtol=1e-12)
    space = make_space(len(start.theta), np.ones(2))
    assert_gradient(sums.gradient(prior), value, space, start, rtol=1e-5, atol=1e-5)


def test_without_inputs():
    """Without the gradient in Z the others are the same, and Z's is the number 0."""
    case = make_case("columns", t=2)
    prior, blocks = block_gradients(case, MODELS["pitc"], case.parameters)
    _, again = block_gradients(case, MODELS["pitc"], case.parameters)
    both = GradientSums.total(pull_back(prior, *block) for block in blocks).gradient(prior)
    sums = GradientSums.total(pull_back(prior, *block, with_inputs=False) for block in again)
    one = sums.gradient(prior, with_inputs=False)
    assert one["Z"] == 0.0
    assert_allclose(one["theta"], both["theta"], rtol=1e-12)
    assert one["log_noise"] == both["log_noise"]


def some_sums(value, **others):
    return GradientSums(
        value, np.full(2, value), 2.0 * value, np.full((3, 1), value), np.eye(3) * value, others
    )


def test_sums_add_up_with_further_groups():
    """Every part adds up, that of a group that only some of the summands have included."""
    a, b = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    total = GradientSums.total(
        [some_sums(1.0), some_sums(2.0, likelihood=a), some_sums(3.0, likelihood=b)]
    )
    expected = some_sums(6.0)
    assert (total.value, total.log_noise) == (expected.value, expected.log_noise)
    for name in ("theta", "Z", "AAt"):
        assert_array_equal(getattr(total, name), getattr(expected, name))
    assert list(total.others) == ["likelihood"]
    assert_array_equal(total.others["likelihood"], a + b)


def test_further_groups_are_in_the_gradient():
    """The gradient has the kernel's, the noise's and Z's groups, and those that were added."""
    case = make_case()
    cotangent = BlockGradient(0.0, np.ones((5, 24)), None, 0.7)
    sums = pull_back(case.prior, case.X, case.prior.whitened(case.X), cotangent)
    assert list(sums.gradient(case.prior)) == ["theta", "log_noise", "Z"]
    sums.others["likelihood"] = np.array([3.0])
    gradient = sums.gradient(case.prior)
    assert list(gradient) == ["theta", "log_noise", "Z", "likelihood"]
    assert gradient["log_noise"] == 0.7
    assert_array_equal(gradient["likelihood"], [3.0])


@pytest.mark.parametrize("factor", [0.0, 1.0, -2.5])
def test_a_scaled_gradient(factor):
    """Every group is multiplied by the factor, whatever its shape, and the old one stays."""
    gradient = Gradient(theta=np.arange(3.0), log_noise=2.0, Z=np.ones((4, 2)), likelihood=0.0)
    scaled = gradient.scaled(factor)
    assert type(scaled) is Gradient
    expected = Gradient((name, factor * part) for name, part in gradient.items())
    assert_same_gradient(scaled, expected, rtol=0)
    assert_array_equal(gradient["theta"], np.arange(3.0))
