"""Predictions of rows that lack what no training row lacked."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Columns
from sklearn_sgp.predict import unforeseen
from sklearn_sgp.predict.observations import CombinedMean

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (600, 2))
Y = X[:, 0] + 0.1 * np.exp(1.5 * X[:, 1]) * RNG.standard_normal(600)
ROWS = np.where([False, True], np.nan, X[:80])


@pytest.fixture(scope="module")
def model():
    model = SVGPRegressor(n_inducing=20, likelihood="heteroscedastic", max_iter=40, random_state=0)
    return model.fit(X, Y)


def each_of(model, rows):
    """Return what rows may be, all as if nothing were missing, (n, s, d)."""
    missing, mask = model._format.missing, np.isnan(rows)
    each = np.empty((len(rows), 8, 2))
    for places, points in missing.alternatives(missing.filled(rows), mask):
        each[places] = points
    return each


def averaged_model(model, rows):
    missing, mask = model._format.missing, np.isnan(rows)
    inputs = unforeseen.Inputs(missing.filled(rows), unforeseen=mask if mask.any() else None)
    whole = model._model()
    return whole.averaged(missing) if mask.any() else whole, inputs


def noise_std(model, rows):
    averaged, inputs = averaged_model(model, rows)
    return averaged.noise_std(inputs)


def test_noise_is_averaged(model):
    """The noise variance, and that of observations, are the means over what a row may be."""
    each = each_of(model, ROWS)
    noise = noise_std(model, each.reshape(-1, 2)).reshape(each.shape[:2])
    assert_allclose(noise_std(model, ROWS) ** 2, (noise**2).mean(axis=1), rtol=1e-8)
    mean, std = (
        part.reshape(each.shape[:2]) for part in model.predict(each.reshape(-1, 2), return_std=True)
    )
    variance = (std**2).mean(axis=1) + mean.var(axis=1)
    assert_allclose(model.predict(ROWS, return_std=True)[1] ** 2, variance, rtol=1e-8)
    bands = model.predict_quantiles(ROWS, [0.05, 0.95])
    assert 0.8 < np.mean((bands[:, 0] < Y[:80]) & (Y[:80] < bands[:, 1])) < 0.99


def test_both_parts_of_a_told_mean_are_averaged(model):
    """A mean that is told in part by another fit is averaged in both."""
    fitted = model._fitted
    other = SVGPRegressor(n_inducing=20, max_iter=20, random_state=0).fit(X, X[:, 1] ** 2)
    asked = SVGPRegressor(n_inducing=20, max_iter=20, random_state=0).fit(X, Y)
    told = CombinedMean(other._fitted, np.array([0.3]))
    asked._fitted = replace(fitted, told_mean=told)
    each = each_of(model, ROWS)
    at_each = asked.predict(each.reshape(-1, 2)).reshape(each.shape[:2])
    assert np.ptp(at_each, axis=1).max() > 1.0
    assert_allclose(asked.predict(ROWS), at_each.mean(axis=1), rtol=1e-8, atol=1e-10)


def test_covariances_have_the_variances(model):
    """Joint covariances have the variances of single rows at their diagonal, be they smaller."""
    rows = np.concatenate([ROWS, X[:20], np.where([True, False], np.nan, X[:20])])
    for observed in (True, False):
        std = model.predict_std(rows, include_noise=observed)
        averaged, inputs = averaged_model(model, rows)
        covariance = averaged.mean_cov(inputs, observed)[1]
        assert_allclose(np.diagonal(covariance), std**2, rtol=1e-6)
        assert np.linalg.eigvalsh(covariance).min() > -1e-9


def test_rows_are_answered_in_parts(model, monkeypatch):
    """A prediction does not depend on how many rows are answered at a time."""
    rows = np.concatenate([ROWS, X[:20], np.where([True, False], np.nan, X[:20])])
    whole = model.predict(rows, return_std=True)
    monkeypatch.setattr(unforeseen, "_ROWS_AT_A_TIME", 7)
    assert_allclose(model.predict(rows, return_std=True), whole, rtol=1e-9, atol=1e-12)


SLOPED = X[:, 0] + 3.0 * X[:, 1] + 0.1 * RNG.standard_normal(600)
KINDS = pytest.mark.parametrize("options", [{}, {"n_latent": 1}], ids=["one", "mixed"])


def sloped(n_latent=None):
    """A model of a function of both columns, which outputs may share."""
    kernel, held = 9.0 * RBF([4.0, 4.0]), {"noise_variance": 1e-3, "optimizer": None}
    model = SVGPRegressor(kernel, n_inducing=20, n_latent=n_latent, random_state=0, **held)
    return model.fit(X, SLOPED if n_latent is None else np.column_stack([SLOPED, 2.0 - SLOPED]))


@KINDS
def test_draws_vary_as_bands_say(options):
    """Drawn jointly or as functions, rows have their means and deviations."""
    model, rows = sloped(**options), ROWS[:40]
    mean, std = model.predict(rows), model.predict_std(rows, include_noise=False)
    assert std.mean() > 5.0 * model.predict_std(X[:40], include_noise=False).mean()
    for method in ("joint", "pathwise"):
        draws = model.sample_y(rows, 300, include_noise=False, method=method)
        assert np.abs((draws.mean(axis=-1) - mean) / std).mean() < 0.1
        assert_allclose((draws.std(axis=-1) / std).mean(), 1.0, rtol=0.05)
    assert model.sample_y(rows, 0, method="pathwise").shape == (*mean.shape, 0)


def test_covariances_between_outputs_are_those_of_a_mixture():
    """Of each row over what it may be; with other rows it remains a covariance."""
    model, rows = sloped(n_latent=1), np.concatenate([ROWS[:9], X[:9]])
    averaged, inputs = averaged_model(model, rows)
    mean, covariance = averaged.mean_cov(inputs, include_noise=False)
    flat = covariance.transpose(0, 2, 1, 3).reshape(36, 36)
    assert np.linalg.eigvalsh(flat).min() > -1e-9 * np.trace(flat)
    for k, each in enumerate(each_of(model, ROWS[:9])):
        plain, places = averaged_model(model, each)
        means, between = plain.mean_cov(places, include_noise=False)
        within = between[np.arange(8), np.arange(8)].mean(axis=0)
        assert_allclose(mean[k], means.mean(axis=0), rtol=1e-8)
        assert_allclose(covariance[k, k], within + np.cov(means.T, bias=True), rtol=1e-7)
    density = model.log_density(ROWS[:9], mean[:9])
    noise = np.diag(model.noise_variance_ * model.y_scale_**2)
    expected = [
        -0.5 * np.linalg.slogdet(2.0 * np.pi * (covariance[k, k] + noise))[1] for k in range(9)
    ]
    assert_allclose(density, expected, rtol=1e-6)


@pytest.fixture(scope="module")
def additive():
    """A model of a sum of two terms, each of a column."""
    kernel = Columns(ConstantKernel() * RBF(), [0]) + Columns(ConstantKernel() * RBF(), [1])
    model = SVGPRegressor(kernel, n_inducing=25, max_iter=20, random_state=0)
    return model.fit(X, np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2)


def test_terms_are_averaged(additive):
    """Terms and the centre add up to the mean: terms were those at the values expected."""
    terms, std = additive.predict_terms(ROWS, return_std=True)
    assert_allclose(terms.sum(axis=1) + additive.y_mean_, additive.predict(ROWS), rtol=1e-6)
    each = each_of(additive, ROWS)
    mean, own = additive.predict_terms(each.reshape(-1, 2), return_std=True)
    variance = (own**2).reshape(each.shape).mean(axis=1) + mean.reshape(each.shape).var(axis=1)
    assert_allclose(std**2, variance, rtol=1e-8)


def test_slopes_are_averaged(additive):
    """Those in columns that are known; there is none where the value is missing."""
    each = each_of(additive, ROWS)
    at_each = additive.predict_gradient(each.reshape(-1, 2)).reshape(each.shape)
    slopes, std = additive.predict_gradient(ROWS, return_std=True)
    assert_allclose(slopes[:, 0], at_each[..., 0].mean(axis=1), rtol=1e-8, atol=1e-10)
    assert np.isnan(slopes[:, 1]).all() and np.isnan(std[:, 1]).all()
    assert np.isfinite(std[:, 0]).all()
    assert np.isfinite(additive.predict_gradient(np.vstack([ROWS, X[:5]]))[-5:]).all()


def test_what_is_missing_is_not_known(additive):
    """Novelty has the variance of the means besides that of the function: it was that of a row."""
    each, fitted = each_of(additive, ROWS), additive._fitted
    points = each.reshape(-1, 2)
    prior = fitted.posterior.prior_variance(points).reshape(each.shape[:2]).mean(axis=1)
    means = additive.predict(points).reshape(each.shape[:2]) / fitted.targets.scale
    novelty = additive.novelty(points).reshape(each.shape[:2]).mean(axis=1)
    expected = np.minimum(novelty + means.var(axis=1) / prior, 1.0)
    assert_allclose(additive.novelty(ROWS), expected, rtol=1e-8)
    assert additive.novelty(ROWS).min() > 10.0 * additive.novelty(X[:80]).max()


def test_outputs_that_depend_on_one_another_are_averaged_together():
    """Covariances between outputs have the variances of single rows; densities have them."""
    targets = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 1] - X[:, 0]])
    targets += 0.1 * np.random.default_rng(1).standard_normal(targets.shape)
    model = SVGPRegressor(n_latent=2, n_inducing=15, max_iter=15, random_state=0).fit(X, targets)
    rows = np.concatenate([ROWS[:10], X[:10]])
    mean, std = model.predict(rows, return_std=True)
    found, covariance = model.predict(rows, return_cov=True)
    assert_allclose(found, mean, rtol=1e-9, atol=1e-9)
    own = covariance[np.arange(20), np.arange(20)]
    assert_allclose(np.diagonal(own, axis1=1, axis2=2), std**2, rtol=1e-7)
    assert np.linalg.eigvalsh(covariance.transpose(0, 2, 1, 3).reshape(40, 40)).min() > -1e-9
    parts = zip(mean[:10], own[:10], targets[:10], strict=True)
    log_p = [stats.multivariate_normal(m, c).logpdf(y) for m, c, y in parts]
    assert_allclose(model.log_density(rows[:10], targets[:10]), log_p, rtol=1e-7)
