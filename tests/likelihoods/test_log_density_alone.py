"""A likelihood that gives nothing but log p(y | f) is learned by every estimator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln, expit, gammaln
from slow_variants import slow
from waiting_times import Exponential

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.likelihoods import Likelihood, Logit, Poisson


class OnlyDensity(Likelihood):
    """The log density of another likelihood, and no more of it."""

    max_classes = None

    def __init__(self, inner):
        self.inner = inner

    def log_density(self, y, f, noise_variance=None):
        return self.inner.log_density(y, f)


class Hurdle(Likelihood):
    """Zero with probability 0.3; else one more than a Poisson count of mean exp(f)."""

    identity_mean = False

    def log_density(self, y, f, noise_variance=None):
        more = np.maximum(y - 1.0, 0.0)
        counted = np.log(0.7) + more * f - np.exp(f) - gammaln(more + 1.0)
        return np.where(y == 0.0, np.log(0.3), counted)

    def moments(self, mean, variance, noise_variance=None):
        rate = np.exp(mean + 0.5 * variance)
        second = rate + np.exp(2.0 * (mean + variance)) + 2.0 * rate + 1.0
        first = 0.7 * (1.0 + rate)
        return first, 0.7 * second - first**2


class Binomial(Likelihood):
    """Successes among ten, of probability expit(f)."""

    identity_mean = False

    def log_density(self, y, f, noise_variance=None):
        chosen = -betaln(11.0 - y, y + 1.0) - np.log(11.0)
        return chosen - y * np.logaddexp(0.0, -f) - (10.0 - y) * np.logaddexp(0.0, f)

    def moments(self, mean, variance, noise_variance=None):
        p = expit(mean)
        return 10.0 * p, 10.0 * p * (1.0 - p) + 100.0 * (p * (1.0 - p)) ** 2 * variance


class Strict(Binomial):
    """The same, which knows what cannot be."""

    def log_density(self, y, f, noise_variance=None):
        at = np.clip(y, 0.0, 10.0)
        return np.where(y == at, super().log_density(at, f), -np.inf)


def hurdle(f, rng):
    return np.where(rng.rand(len(f)) < 0.3, 0.0, 1.0 + rng.poisson(np.exp(f)))


def binomial(f, rng):
    return rng.binomial(10, expit(f)).astype(np.float64)


@pytest.mark.parametrize(
    ("likelihood", "y"), [(Poisson(0.3), [0.0, 3.0, 12.0]), (Logit(0.2), [1.0, -1.0, 1.0])]
)
def test_expectations_and_derivatives_are_those_of_the_likelihood(likelihood, y):
    """The default by quadrature is what closed forms and finer rules give."""
    y = np.array(y)[:, None]
    for variance in (1e-300, 0.01, 1.0, 2.0):
        mean, v = np.array([-1.0, 0.5, 2.0])[:, None], np.full((3, 1), variance)
        expected = likelihood.expected_log_density(y, mean, v)
        found = OnlyDensity(likelihood).expected_log_density(y, mean, v)
        for one, other in zip(found[:4], expected[:4], strict=True):
            assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.slow_cases("AnytimeSGPRegressor-likelihood2-hurdle")
@pytest.mark.parametrize(
    ("make", "likelihood", "draw"),
    [
        (SVGPRegressor, Hurdle(), hurdle),
        (SVGPRegressor, Binomial(), binomial),
        (AnytimeSGPRegressor, Hurdle(), hurdle),
        slow(AnytimeSGPRegressor, Binomial(), binomial),
        (StreamingSGPRegressor, Binomial(), binomial),
        slow(StreamingSGPRegressor, Hurdle(), hurdle),
    ],
)
def test_ten_lines_are_a_likelihood(make, likelihood, draw):
    """A hurdle model and a binomial learn means that the data have."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-3.0, 3.0, (200, 1))
    f = np.sin(2.0 * X[:, 0])
    y = draw(f, rng)
    model = make(likelihood=likelihood, n_inducing=20, max_iter=30, random_state=0)
    mean = model.fit(X, y).predict(X)
    truth = likelihood.moments(f, np.zeros(200))[0]
    assert np.mean((mean - truth) ** 2) < 0.3 * np.var(truth)


def test_densities_follow_from_the_likelihood():
    """Of targets of two outputs by quadrature, of classes from their probabilities."""
    y = np.array([[0.0, 2.0], [3.0, 1.0], [12.0, 0.0]])
    mean, variance = np.array([[-1.0, 0.5], [0.5, 0.0], [2.0, -0.3]]), np.full((3, 2), 0.3)
    likelihood = OnlyDensity(Poisson(0.3))
    expected = likelihood.inner.log_predictive_density(y, mean, variance)
    assert_allclose(likelihood.log_predictive_density(y, mean, variance), expected, rtol=1e-6)
    zero = likelihood.log_predictive_density(y, mean, 0.0 * variance)
    assert_allclose(zero, likelihood.inner.log_density(y, mean).sum(axis=1), rtol=1e-6)
    logit, code = Logit(0.2), np.array([[1.0], [-1.0], [1.0]])
    of_logit = logit.log_predictive_density(code, mean[:, :1], variance[:, :1])
    found = Likelihood.log_predictive_density(logit, code, mean[:, :1], variance[:, :1])
    assert_allclose(found, of_logit, rtol=1e-6)


@pytest.mark.parametrize("likelihood", [Binomial(), Exponential()])
def test_streams_take_later_batches(likelihood, rng):
    """They are scored where the likelihood tells a density, and learned from anyhow."""
    X = rng.uniform(-3.0, 3.0, (80, 1))
    y = binomial(np.sin(X[:, 0]), np.random.RandomState(0))
    model = StreamingSGPRegressor(likelihood=likelihood, n_inducing=8, max_iter=5, random_state=0)
    model.partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    assert model.n_samples_seen_ == 80
    assert np.isfinite(model.batch_log_density_) == isinstance(likelihood, Binomial)
    assert np.isfinite(model.predict(X)).all()


def test_a_target_that_cannot_be_has_no_density():
    """It was NaN by quadrature."""
    X = np.linspace(0.0, 1.0, 30)[:, None]
    y = np.arange(30.0) % 11.0
    model = SVGPRegressor(likelihood=Strict(), n_inducing=4, max_iter=5, random_state=0).fit(X, y)
    told = model.log_density(X[:3], [11.0, 3.0, -1.0])
    assert np.isneginf(told[[0, 2]]).all() and np.isfinite(told[1])
