"""Noise that the package does not know, Gaussian given a precision of each row, needs one class."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, ndtr
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from slow_variants import slow
from varying_noise import sd

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.likelihoods import (
    Gaussian,
    HeteroscedasticGaussian,
    HeteroscedasticStudentT,
    Likelihood,
    LogNoisePrior,
    NoiseChoice,
    NoiseUpdate,
    RowPrecision,
    StudentT,
)
from sklearn_sgp.likelihoods._names import (
    may_vary,
    needs_row_noise,
    takes_row_noise,
    warps_targets,
)

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(8)


class ContaminatedNormal(Likelihood):
    """Normal noise, of which a share has a variance that is larger by a factor."""

    has_noise = True
    scales_targets = True
    allows_outliers = True

    def __init__(self, share=0.05, factor=100.0, varies=False):
        self.share, self.factor, self.varies = share, factor, varies

    @property
    def row_precision(self):
        return RowPrecision(
            self.updated,
            has_tails=True,
            n_parameters=1,
            log_noise=LogNoisePrior(n_inducing=15) if self.varies else None,
            varying=lambda: clone(self).set_params(varies=True),
        )

    def _parts(self):
        return np.array([1.0, self.factor]), np.log([1.0 - self.share, self.share])

    def _log_parts(self, squares):
        variances, log_p = self._parts()
        return log_p - 0.5 * (np.log(variances) + squares[..., None] / variances)

    def updated(self, squares, weight, *, learns, n_scales):
        likelihood, scale = self, np.ones(max(n_scales, 1))
        for _ in range(50 if learns or n_scales else 0):  # expectation, maximisation
            log_p = likelihood._log_parts(squares / scale)
            p = np.exp(log_p - logsumexp(log_p, axis=2, keepdims=True))
            if learns:
                share = np.average(p[..., 1], axis=0, weights=weight).mean()
                likelihood = clone(self).set_params(share=float(np.clip(share, 1e-3, 0.5)))
            if n_scales:
                precision = (p / self._parts()[0]).sum(axis=2)
                each = np.average(precision * squares, axis=0, weights=weight)
                scale = each if n_scales > 1 else each.mean(keepdims=True)
        log_p = likelihood._log_parts(squares / scale)
        log_sum = logsumexp(log_p, axis=2)
        precision = (np.exp(log_p - log_sum[..., None]) / self._parts()[0]).sum(axis=2)
        constant = (weight @ (log_sum + 0.5 * precision * squares / scale)).sum()
        scale = scale if n_scales > 1 else float(scale[0])
        return NoiseUpdate(likelihood, scale, precision, float(constant))

    def _noise(self, noise_variance, shape):
        """Variances (n, t, k) of the noise, and logarithms of their probabilities (k,)."""
        variances, log_p = self._parts()
        if not self.varies:
            return np.broadcast_to(noise_variance, shape)[..., None] * variances, log_p
        log_sd = np.sqrt(noise_variance.log_variance)
        own = np.exp(noise_variance.log_mean[..., None] + log_sd[..., None] * NODES)
        log_weight = np.log(WEIGHTS / WEIGHTS.sum())
        both = (own[..., None] * variances).reshape(*shape, -1)
        return both, (log_weight[:, None] + log_p).ravel()

    def components(self, variance, noise_variance):
        of_noise, log_p = self._noise(noise_variance, variance.shape)
        total = (variance[..., None] + of_noise).reshape(variance.size, -1)
        return lambda entries: total[entries], log_p

    def moments(self, mean, variance, noise_variance):
        of_noise, log_p = self._noise(noise_variance, mean.shape)
        return mean, variance + of_noise @ np.exp(log_p)

    def log_predictive_density(self, y, mean, variance, noise_variance):
        of_noise, log_p = self._noise(noise_variance, y.shape)
        std = np.sqrt(variance[..., None] + of_noise)
        return logsumexp(log_p + norm.logpdf((y - mean)[..., None], 0.0, std), axis=2).sum(axis=1)

    def cdf(self, y, mean, variance, noise_variance):
        of_noise, log_p = self._noise(noise_variance, y.shape)
        return ndtr((y - mean)[..., None] / np.sqrt(variance[..., None] + of_noise)) @ np.exp(log_p)

    def quantiles(self, mean, variance, noise_variance, levels):
        variances, log_p = self.components(variance, noise_variance)
        std, p = np.sqrt(variances(slice(None))), np.exp(log_p)
        low, high = (np.full((len(std), len(levels)), end) for end in (-99.0, 99.0))
        for _ in range(60):  # halves
            middle = 0.5 * (low + high)
            is_below = ndtr(middle[..., None] / std[:, None]) @ p < levels
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return mean[..., None] + middle.reshape(*mean.shape, len(levels))


class Choice(Likelihood):
    """One of several noises, by the bound."""

    has_noise = True
    scales_targets = True
    allows_outliers = True

    def __init__(self, candidates):
        self.candidates = candidates

    @property
    def noise_choice(self):
        return NoiseChoice([clone(one) for one in self.candidates])

    def moments(self, mean, variance, noise_variance):
        raise NotImplementedError


def model_of(kind, likelihood, **more):
    kernel = ConstantKernel() * RBF(1.0)
    parameters = {"kernel": kernel, "n_inducing": 20, "max_iter": 30, "random_state": 0, **more}
    if kind is AnytimeSGPRegressor:
        parameters |= {"model": "vif", "n_neighbors": 20}
    return kind(likelihood=likelihood, **parameters)


def contaminated(n=500, varies=False):
    """A sine with noise of which one error in ten is ten times as large."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 10.0, (n, 1))
    noise = (sd(X) if varies else 0.1) * rng.standard_normal(n)
    return X, np.sin(X[:, 0]) + noise * np.where(rng.random(n) < 0.1, 10.0, 1.0)


BOTH = pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor])
AT = np.linspace(0.5, 9.5, 7)[:, None]


@pytest.mark.parametrize("t", [1, 3])
def test_precisions_are_expectations_over_the_components(t):
    """Precisions, and the bound with the Gaussian part, are those of Bayes' theorem."""
    weight = np.array([1.0, 2.0, 0.5, 1.0])
    squares = np.array([0.0, 0.5, 3.0, 200.0])[:, None] * np.arange(1.0, 1.0 + t)
    fixed = {"learns": False, "n_scales": 0}
    update = ContaminatedNormal(0.2, 9.0).row_precision.updated(squares, weight, **fixed)
    joint = [0.8 * np.exp(-squares / 2.0), 0.2 / 3.0 * np.exp(-squares / 18.0)]
    assert_allclose(update.precision, (joint[0] + joint[1] / 9.0) / (joint[0] + joint[1]))
    bound = update.constant - 0.5 * (weight @ (update.precision * squares)).sum()
    assert_allclose(bound, (weight @ np.log(joint[0] + joint[1])).sum())


@pytest.mark.quick_cases("SVGPRegressor")
@BOTH
def test_it_is_learned_and_predicts(kind):
    """The share and the function are found, and predictions are those of its methods."""
    X, y = contaminated()
    model, gaussian = (model_of(kind, one).fit(X, y) for one in (ContaminatedNormal(), "gaussian"))
    truth = np.sin(AT[:, 0])
    assert 0.05 < model.likelihood_.share < 0.2
    assert np.abs(model.predict(AT) - truth).max() < 0.1
    noise_variance = model.noise_variance_ * model.y_scale_**2
    assert_allclose(np.sqrt(noise_variance), 0.1, rtol=0.25)
    assert model.log_density(X, y).mean() > gaussian.log_density(X, y).mean() + 0.2
    levels = np.array([0.05, 0.5, 0.95])
    quantiles, distribution = model.predict_quantiles(AT, levels), model.predict_distribution(AT)
    for q, level in zip(quantiles.T, levels, strict=True):
        assert_allclose(distribution.cdf(q), level, atol=1e-8)
    mean, std = model.predict(AT, return_std=True)
    latent = model.predict_std(AT, include_noise=False)
    tails = 1.0 + model.likelihood_.share * (model.likelihood_.factor - 1.0)
    assert_allclose(std**2, latent**2 + tails * noise_variance)
    step, y = 1e-5, mean + 0.3
    slope = (distribution.cdf(y + step) - distribution.cdf(y - step)) / (2.0 * step)
    assert_allclose(model.log_density(AT, y), np.log(slope), atol=1e-5)


@pytest.mark.parametrize("kind", [SVGPRegressor, slow(AnytimeSGPRegressor)])
def test_a_third_noise_that_varies_can_be_chosen(kind):
    """Beside those of "auto", where noise has both outliers and a function of the input."""
    X, y = contaminated(800, varies=True)
    mine = ContaminatedNormal(varies=True)
    tails = [StudentT(None), HeteroscedasticStudentT()]
    choice = Choice([Gaussian(), *tails, HeteroscedasticGaussian(), mine])
    model = model_of(kind, choice).fit(X, y)
    assert isinstance(model.likelihood_, ContaminatedNormal) and model.likelihood_.varies
    near, far = model.noise_std([[6.0], [1.0]])
    assert near > 2.0 * far
    assert may_vary(choice) and not warps_targets(choice)


@pytest.mark.slow
def test_bands_may_vary_where_the_chosen_noise_does_not():
    """Noise with the same parameters predicts then, with what the rows left out ask for."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 10.0, (500, 1)), axis=0)
    rough = Matern(0.05, nu=0.5)
    f = np.linalg.cholesky(rough(X) + 1e-9 * np.eye(500)) @ rng.standard_normal(500)
    y = np.where(X[:, 0] > 5.0, 1.0, 0.2) * f + 0.05 * rng.standard_normal(500)
    y[::15] += 5.0 * rng.standard_normal(34)
    choice = Choice([Gaussian(), ContaminatedNormal(factor=1e4), HeteroscedasticGaussian()])
    kernel = ConstantKernel(0.5) * rough
    model = model_of(AnytimeSGPRegressor, choice, kernel=kernel, max_iter=10).fit(X, y)
    noise = model._fitted.row_noise
    assert noise.log_noise is None and noise.variance_scale.gain > 0.1
    assert isinstance(noise.likelihood, ContaminatedNormal) and noise.likelihood.varies
    assert 0.03 < noise.likelihood.share < 0.08
    low, high = model.predict_quantiles(X, [0.1, 0.9]).T
    assert np.median((high - low)[X[:, 0] > 6.0]) > 1.5 * np.median((high - low)[X[:, 0] < 4.0])


@pytest.mark.parametrize(
    ("likelihood", "expected"),
    [
        (Gaussian(), HeteroscedasticGaussian()),
        (StudentT(3.5), HeteroscedasticStudentT(3.5)),
        (StudentT(None), HeteroscedasticStudentT()),
        (ContaminatedNormal(0.2, 7.0), ContaminatedNormal(0.2, 7.0, varies=True)),
    ],
    ids=repr,
)
def test_the_same_noise_where_it_varies(likelihood, expected):
    """It has the parameters of the other, and says that it varies."""
    assert not likelihood.row_precision.varies
    varying = likelihood.row_precision.varying()
    assert repr(varying) == repr(expected) and varying.row_precision.varies


def test_what_noise_says_of_itself():
    """A fit finds precisions for noise in which they differ, by sites too where it has these."""
    gaussian, t, mine = Gaussian(), StudentT(), ContaminatedNormal()
    assert [takes_row_noise(one) for one in (gaussian, t, mine)] == [False, True, True]
    assert [needs_row_noise(one) for one in (gaussian, t, mine)] == [False, False, True]
    assert not (may_vary(t) or may_vary(mine)) and may_vary(HeteroscedasticGaussian())
    assert t.row_precision.n_parameters == 0 and StudentT(None).row_precision.n_parameters == 1
    for silent in (Likelihood(), object()):
        assert NoiseChoice.of(silent).candidates == [] and not needs_row_noise(silent)
