"""Negative binomial, Gamma, Beta and censored numbers: densities and predictions of y."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from sklearn_sgp.likelihoods import Beta, Censored, Gamma, NegativeBinomial
from sklearn_sgp.likelihoods._integrated import increasing_roots

OWN = {
    NegativeBinomial: ("dispersion", [1e-3, 0.3, 5.0], [0.0, 1.0, 7.0, 300.0]),
    Gamma: ("shape", [0.3, 1.0, 50.0], [1e-5, 0.1, 1.0, 30.0]),
    Beta: ("precision", [0.5, 5.0, 1e4], [1e-7, 0.01, 0.4, 0.999]),
}
CASES = [(kind, value) for kind, (_, values, _) in OWN.items() for value in values]
EACH = pytest.mark.parametrize(("kind", "value"), CASES)
LATENT = pytest.mark.parametrize(("mean", "sd"), [(-2.0, 0.05), (0.5, 0.6), (1.5, 3.0)])


def given(kind, value, f):
    """The distribution of y given the function, by scipy."""
    if kind is NegativeBinomial:
        return stats.nbinom(1.0 / value, 1.0 / (1.0 + value * np.exp(f)))
    if kind is Gamma:
        return stats.gamma(value, scale=np.exp(f) / value)
    return stats.beta(value * special.expit(f), value * special.expit(-f))


def grid(mean, sd):
    """Values of the function, and their probabilities."""
    f = np.linspace(mean - 16.0 * sd, mean + 16.0 * sd, 60_001)
    weight = np.exp(-0.5 * ((f - mean) / sd) ** 2)
    return f, weight / weight.sum()


def column(*values):
    return tuple(np.reshape(np.asarray(value, dtype=float), (-1, 1)) for value in values)


@pytest.mark.slow_cases(
    "1.5-3.0-Beta-5.0",
    "1.5-3.0-Beta-0.5",
    "0.5-0.6-Beta-0.5",
    "0.5-0.6-Beta-5.0",
    "1.5-3.0-Beta-10000.0",
    "-2.0-0.05-Beta-0.5",
    "-2.0-0.05-Beta-5.0",
)
@EACH
@LATENT
def test_predictions_are_integrals(kind, value, mean, sd):
    """Densities, tails and moments are those of a fine sum over values of the function."""
    likelihood, y = kind(value), np.array(OWN[kind][2])
    f, weight = grid(mean, sd)
    of_f = given(kind, value, f)
    at = column(y, np.full(len(y), mean), np.full(len(y), sd**2))
    for name in ("cdf", "sf"):
        expected = [getattr(of_f, name)(one) @ weight for one in y]
        assert_allclose(getattr(likelihood, name)(*at)[:, 0], expected, atol=2e-9)
    log_p = np.array([(of_f.logpmf if kind is NegativeBinomial else of_f.logpdf)(one) for one in y])
    expected = special.logsumexp(log_p, axis=1, b=weight)
    known = expected > -30.0
    found = likelihood.log_predictive_density(*at)
    assert_allclose(found[known], expected[known], rtol=1e-6, atol=1e-7)
    first = of_f.mean() @ weight
    second = (of_f.var() + (of_f.mean() - first) ** 2) @ weight
    found = likelihood.moments(*column(mean, sd**2))
    assert_allclose(np.ravel(found), [first, second], rtol=1e-6)


@EACH
@LATENT
def test_quantiles_undo_the_cdf(kind, value, mean, sd):
    """P(y <= quantile) is the level; of counts the quantile is the first that reaches it."""
    levels, likelihood = np.array([0.01, 0.3, 0.5, 0.95, 0.999]), kind(value)
    q = likelihood.quantiles(*column(mean, sd**2), None, levels)[0, 0]
    at = column(q, np.full(5, mean), np.full(5, sd**2))
    below = likelihood.cdf(*at)[:, 0]
    if kind is NegativeBinomial:
        assert_array_equal(q, np.rint(q))
        assert (below >= levels - 1e-12).all()
        assert (likelihood.cdf(at[0] - 1.0, *at[1:])[:, 0] < levels).all()
    else:
        inside = (q > 1e-300) & (q < 1.0 - 1e-9) if kind is Beta else q > 1e-300
        assert_allclose(below[inside], levels[inside], rtol=1e-7)


@pytest.mark.parametrize("kind", OWN)
def test_derivatives_are_differences(kind):
    """Expected log densities have the derivatives that they state, learned parameters included."""
    rng, name = np.random.default_rng(0), OWN[kind][0]
    y = np.resize(OWN[kind][2], (6, 2))
    mean, variance = rng.normal(size=(6, 2)), rng.uniform(0.1, 1.0, (6, 2))
    likelihood = kind().initialized(np.clip(y, 1e-3, None), None)
    likelihood = likelihood.with_theta(np.log([0.7, 2.0]))
    assert_allclose(getattr(likelihood, name), [0.7, 2.0])
    found, step, none = likelihood.expected_log_density(y, mean, variance), 1e-4, np.zeros(2)

    def value(in_mean, in_variance, in_theta):
        moved = likelihood.with_theta(likelihood.theta + in_theta)
        return moved.expected_log_density(y, mean + in_mean, variance + in_variance).value

    slopes = found.d_mean, found.d_variance, found.d_theta
    for place, slope in enumerate(slopes):
        for c in range(2):
            up, down = ([none] * 3, [none] * 3)
            up[place], down[place] = step * np.eye(2)[c], -step * np.eye(2)[c]
            expected = (value(*up) - value(*down)) / (2.0 * step)
            assert_allclose(slope[:, c], expected, rtol=1e-5, atol=1e-6)


@EACH
def test_expected_densities_are_those_of_quadrature(kind, value):
    """Closed forms agree with the rule that every likelihood with a log density has."""
    likelihood, y = kind(value), np.array(OWN[kind][2])[:, None]
    mean, variance = np.linspace(-1.0, 1.0, 4)[:, None], np.full((4, 1), 0.3)
    found = likelihood.expected_log_density(y, mean, variance)
    expected = super(kind, likelihood).expected_log_density(y, mean, variance)
    for one, other in zip(found[:3], expected[:3], strict=True):
        assert_allclose(one, other, rtol=2e-6, atol=1e-6)


@EACH
def test_draws_are_of_the_distribution(kind, value):
    """Draws at one value of the function have its mean, and quantiles at their levels."""
    f, rng = np.full((1, 1, 20_000), 0.4), np.random.RandomState(0)
    draws, of_f = kind(value).draw(f, None, rng)[0, 0], given(kind, value, 0.4)
    assert abs(draws.mean() - of_f.mean()) < 6.0 * of_f.std() / np.sqrt(len(draws))
    assert abs((draws <= of_f.ppf(0.7)).mean() - of_f.cdf(of_f.ppf(0.7))) < 0.02
    assert kind(value)._possible(draws).all()


@pytest.mark.parametrize("kind", OWN)
def test_joint_covariances_are_those_of_draws(kind):
    """Covariances of y at two inputs are those of many draws of the function."""
    likelihood, mean = kind(OWN[kind][1][1]), np.array([[0.2], [-0.3]])
    covariance = np.array([[0.5, 0.35], [0.35, 0.4]])
    first, joint = likelihood.covariance(mean, covariance[:, :, None])
    rng = np.random.default_rng(0)
    f = rng.multivariate_normal(mean[:, 0], covariance, 400_000)
    of_f = given(kind, OWN[kind][1][1], f).mean()
    assert_allclose(first[:, 0], of_f.mean(axis=0), rtol=0.01)
    assert_allclose(joint[0, 1, 0], np.cov(of_f.T)[0, 1], rtol=0.03)
    variance = np.diag(covariance)[:, None]
    assert_allclose(np.diagonal(joint[:, :, 0]), likelihood.moments(mean, variance)[1][:, 0])


@pytest.mark.parametrize(
    ("likelihood", "y", "words"),
    [
        (NegativeBinomial(), [1.0, 0.5], "counts"),
        (NegativeBinomial(), [1.0, -1.0], "counts"),
        (Gamma(), [1.0, 0.0], "above 0"),
        (Beta(), [0.2, 1.0], "between 0 and 1"),
    ],
    ids=str,
)
def test_targets_that_cannot_be(likelihood, y, words):
    """They are refused with the rule and what came, and have no probability."""
    y = np.array(y)[:, None]
    with pytest.raises(ValueError, match=words) as error:
        likelihood.check_targets(y)
    assert f"{y[1, 0]:g}" in str(error.value)
    log_p = likelihood.log_predictive_density(y, np.zeros((2, 1)), np.ones((2, 1)))
    assert_array_equal(np.isneginf(log_p), [False, True])


@pytest.mark.parametrize("kind", [*OWN, Censored])
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, "much", [1.0, 2.0, 3.0]], ids=str)
def test_parameters_that_cannot_be(kind, wrong):
    """A parameter that is no positive number is refused by name."""
    name = OWN[kind][0] if kind in OWN else "noise_variance"
    with pytest.raises(ValueError, match=name):
        kind(**{name: wrong}).initialized(np.array([[0.5], [0.5], [0.7]]), None)


# ---- Limits


def test_beyond_a_limit_there_are_probabilities():
    """A target at or beyond a limit has the probability of what lies there, others the density."""
    y, mean, variance = column([-1.0, 0.0, 0.4, 2.0, 3.0], np.zeros(5), np.full(5, 0.5))
    likelihood = Censored(lower=0.0, upper=2.0, noise_variance=0.3)
    normal = stats.norm(0.0, np.sqrt(0.8))
    expected = [normal.logcdf(0.0)] * 2 + [normal.logpdf(0.4)] + [normal.logsf(2.0)] * 2
    assert_allclose(likelihood.log_predictive_density(y, mean, variance), expected)
    assert_array_equal(likelihood.are_numbers(y)[:, 0], [False, False, True, False, False])


def test_units_change_no_density():
    """Targets as scaled have the densities of targets, in units of the scale."""
    y, center, scale = np.array([[1.0], [3.0], [9.0]]), np.array([2.0]), np.array([4.0])
    plain = Censored(lower=1.0, upper=8.0, noise_variance=0.16 * 16.0)
    scaled = Censored(lower=1.0, upper=8.0, noise_variance=0.16).for_scaled_targets(center, scale)
    mean, variance = np.full((3, 1), 3.5), np.full((3, 1), 2.0)
    expected = plain.log_predictive_density(y, mean, variance)
    latent = (mean - center) / scale, variance / scale**2
    found = scaled.log_predictive_density((y - center) / scale, *latent)
    assert_allclose(found - np.log(scale), expected, rtol=1e-12)
    f = np.linspace(-1.0, 12.0, 30)
    for row in y:
        found = scaled.log_density((row - center) / scale, (f - center) / scale)
        assert_allclose(found - np.log(scale), plain.log_density(row, f), rtol=1e-12)


def test_limits_of_the_targets_are_their_repeated_ends():
    """Without limits they are the ends of the targets that two rows have, or there is an error."""
    y = np.array([[0.5, 1.0], [0.5, 2.0], [0.7, 3.0], [0.9, 3.0]])
    found = Censored().initialized(y, None)
    assert_array_equal(found.lower, [0.5, -np.inf])
    assert_array_equal(found.upper, [np.inf, 3.0])
    with pytest.raises(ValueError, match=r"give the limit"):
        Censored().initialized(y[:, :1] + np.arange(4.0)[:, None], None)
    twice = Censored().initialized(y[1:, :1], np.array([2.0, 1.0, 1.0]))
    assert twice.lower == 0.5
    with pytest.raises(ValueError, match="below"):
        Censored(lower=2.0, upper=1.0).initialized(y, None)
    with pytest.raises(ValueError, match="lower"):
        Censored(lower="none").initialized(y, None)


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_tilted_moments_of_limits_are_those_of_quadrature(power):
    """Closed forms for numbers and limits are what quadrature finds."""
    likelihood = Censored(lower=-0.5, upper=1.0, noise_variance=0.2)
    likelihood = likelihood.for_scaled_targets(np.zeros(1), np.full(1, 2.0)).for_output(0)
    y, mean = np.array([[-3.0], [-0.25], [0.1], [0.5], [4.0]]), np.linspace(-1.0, 1.0, 5)
    parts = y, mean, np.full(5, 0.7), np.full(5, power)
    found = likelihood.tilted_moments(*parts)
    expected = super(Censored, likelihood).tilted_moments(*parts)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_expected_densities_of_limits():
    """They are those of quadrature, with derivatives in the noise variance of each output."""
    y = np.array([[-1.0, 0.3], [0.0, 0.9], [0.5, 2.0]])
    likelihood = Censored(lower=0.0, upper=1.0).initialized(y, None)
    likelihood = likelihood.with_theta(np.log([0.2, 0.6]))
    mean, variance = np.array([[0.1, 0.0], [-0.4, 0.5], [0.3, 1.2]]), np.full((3, 2), 0.3)
    found = likelihood.expected_log_density(y, mean, variance)
    expected = super(Censored, likelihood).expected_log_density(y, mean, variance)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_roots_at_ends_of_the_range():
    """Where a function has no zero in the range, the nearer end is returned."""
    shift = np.array([0.0, 50.0, -50.0])
    found = increasing_roots(
        lambda u, rows: np.tanh(u - shift[rows]), np.zeros(3), np.ones(3), -10.0, 10.0
    )
    assert_allclose(found, [0.0, 10.0, -10.0], atol=1e-9)


@pytest.mark.parametrize("function", [np.tanh, np.expm1, lambda u: u**3 + u])
def test_roots_are_found_by_straight_lines(function):
    """Smooth functions are asked a few times, far fewer than halves of the range would need."""
    roots, asked = np.array([0.3, 3.0, -2.0]), []

    def at(u, rows):
        asked.append(len(rows))
        return function(u - roots[rows])

    found = increasing_roots(at, np.zeros(3), np.ones(3), -10.0, 10.0)
    assert_allclose(found, roots, rtol=1e-11)
    assert len(asked) <= 30


def test_the_component_of_limits_is_the_prediction():
    """The one normal distribution of y has the variance of the prediction."""
    likelihood = Censored(lower=0.0, upper=1.0, noise_variance=0.2)
    mean, variance = np.array([[0.1], [0.7], [2.0]]), np.array([[0.3], [0.05], [1.0]])
    variances, log_weights = likelihood.components(variance)
    expected = likelihood.moments(mean, variance)[1]
    assert_allclose(expected, variance + 0.2)
    assert_allclose(variances(np.array([2, 0])), expected[[2, 0]])
    assert_array_equal(log_weights, [0.0])


def test_limits_are_seen_in_targets_on_the_grid(rng):
    """Learning rounds targets as scaled to multiples of 2^-24, and with them those at a limit."""
    for center, scale in rng.uniform(0.1, 9.0, (40, 2)):
        likelihood = Censored(lower=0.0, upper=5.0, noise_variance=0.2)
        likelihood = likelihood.for_scaled_targets(np.array([center]), np.array([scale]))
        y = (np.array([[0.0], [1e-3], [4.999], [5.0]]) - center) / scale
        rounded = np.round(y * 2.0**24) / 2.0**24
        assert_array_equal(likelihood.are_numbers(rounded)[:, 0], [False, True, True, False])


def test_noise_of_limits_is_relative_to_the_targets():
    """Start and bounds follow the variance of targets that are not scaled, output by output."""
    y = np.array([[0.0, 0.0], [0.0, 0.0], [2e3, 2.0], [4e3, np.nan]])
    begun = Censored(lower=0.0).initialized(y, None)
    scaled = begun.for_scaled_targets(np.zeros(2), np.ones(2))
    variance = np.nanvar(y, axis=0)
    assert_allclose(np.exp(scaled.theta), 0.1 * variance)
    assert_allclose(np.exp(scaled.theta_bounds[:, 1]), 1e3 * variance)
    one = scaled.for_output(1)
    assert_allclose(np.exp(one.theta_bounds[0]), [1e-6 * variance[1], 1e3 * variance[1]])
    usual = begun.for_scaled_targets(y.mean(axis=0), np.sqrt(variance))
    assert_array_equal(usual.theta_bounds, Censored().initialized(y[:2] * 0, None).theta_bounds)


def test_rows_of_little_weight_are_rows():
    """Ends that many rows of weight 0.1 have are limits."""
    y = np.repeat([[0.0], [1.0], [2.0]], [30, 5, 5], axis=0)
    found = Censored().initialized(y, np.full(40, 0.1))
    assert_array_equal([found.lower[0], found.upper[0]], [0.0, 2.0])
