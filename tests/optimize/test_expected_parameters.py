"""What a user expects of parameters: densities as scipy has them, slopes as differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta, gamma, lognorm, norm, uniform

from sklearn_sgp.factors.gradients import Gradient
from sklearn_sgp.optimize.kernel_priors import KernelPrior, KernelPriors
from sklearn_sgp.optimize.parameters import Group, Parameters, ParameterSpace

PARTS = (
    KernelPrior.of("length_scale", "theta", np.array([1, 2]), lognorm(0.5, scale=[2.0, 30.0])),
    KernelPrior.of("constant_value", "theta", np.array([0]), gamma(3.0)),
    KernelPrior.of("noise_variance", "log_noise", np.array([0]), norm(0.2, 0.1)),
)
PRIORS = KernelPriors(PARTS)


def parameters(theta=(0.1, 0.3, 3.0), log_noise=-1.3):
    return Parameters(None, {"theta": np.array(theta), "log_noise": log_noise})


def test_density_is_that_of_the_parameters_themselves():
    """The log density is scipy's at the parameters, without a Jacobian."""
    a, b, c = np.exp(parameters().theta)
    expected = lognorm(0.5, scale=2.0).logpdf(b) + lognorm(0.5, scale=30.0).logpdf(c)
    expected += gamma(3.0).logpdf(a) + norm(0.2, 0.1).logpdf(np.exp(-1.3))
    assert_allclose(PRIORS.log_density(parameters()), expected)


def test_value_is_0_at_the_medians():
    """The level is that at the medians, so that units of parameters do not matter."""
    theta = np.log([gamma(3.0).median(), 2.0, 30.0])
    assert_allclose(PRIORS.value(parameters(theta, float(np.log(0.2)))), 0.0, atol=1e-12)
    wide = KernelPrior.of("x", "theta", np.array([0]), lognorm(0.5, scale=2e3))
    narrow = KernelPrior.of("x", "theta", np.array([0]), lognorm(0.5, scale=2.0))
    values = [
        KernelPriors((one,)).value(parameters(np.log([size, 1.0, 1.0])))
        for one, size in ((wide, 1e3), (narrow, 1.0))
    ]
    assert_allclose(*values)


def test_gradient_agrees_with_differences():
    """Slopes of the weighted value, of each group."""
    priors, at = PRIORS.weighted(0.3), parameters()
    slopes = priors.value_and_gradient(at)[1]
    eye = 1e-5 * np.eye(4)
    values = [
        [priors.value(parameters(at.theta + e[:3], -1.3 + e[3])) for e in (step, -step)]
        for step in eye
    ]
    expected = np.subtract(*np.transpose(values)) / 2e-5
    assert_allclose([*slopes["theta"], slopes["log_noise"]], expected, rtol=1e-6)


def test_what_is_learned_has_the_sum_and_its_gradient():
    """The objective of a space is raised by the priors, and its gradient by theirs."""
    space = ParameterSpace((Group("theta", None), Group("log_noise", None)), None, PRIORS)

    def raised(x):
        now = space.unpack(x, parameters())
        gradient = Gradient(theta=2.0 * now.theta, log_noise=1.0)
        value, gradient = space.with_prior(now.theta @ now.theta + now.log_noise, gradient, now)
        return value, space.pack_gradient(gradient)

    x = space.pack(parameters())
    steps = 1e-6 * np.eye(len(x))
    expected = [(raised(x + e)[0] - raised(x - e)[0]) / 2e-6 for e in steps]
    assert_allclose(raised(x)[1], expected, rtol=1e-6)
    assert_allclose(space.merit(parameters(), 1.0), 1.0 + PRIORS.value(parameters()))


@pytest.mark.parametrize("distribution", [uniform(0.5, 1.0), beta(2.0, 3.0, loc=0.5, scale=1.0)])
def test_slopes_at_the_ends_of_a_support_are_finite(distribution):
    """Differences stay within the support."""
    part = KernelPrior.of("x", "theta", np.array([0]), distribution)
    for end in part.support()[0]:
        value, slopes = part.value_and_slopes(parameters((end, 0.0, 0.0)))
        assert np.isfinite(value) and np.isfinite(slopes).all()


def test_nothing_expected_changes_nothing():
    """The same objects come back."""
    gradient, space = Gradient(theta=np.ones(3), log_noise=1.0), ParameterSpace(())
    value, same = space.with_prior(1.5, gradient, parameters())
    assert value == 1.5 and same is gradient
