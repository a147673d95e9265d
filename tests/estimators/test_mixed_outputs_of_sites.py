"""SVGPRegressor(n_latent=Q) with counts, amounts, shares, limits and heavy tails."""

import pickle
import warnings

import numpy as np
import pytest
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from waiting_times import Exponential

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.likelihoods import (
    Beta,
    Censored,
    Gaussian,
    Poisson,
    StudentT,
)

MIXING = np.array([[1.0, 0.3], [0.8, -0.5], [-0.2, 1.0]])
KINDS = ("poisson", "negative_binomial", "student_t", "gamma", "beta", "censored")


class GaussianBySites(Gaussian):
    """Gaussian noise that does not say it is."""

    conjugate = False


def table(kind, n=240, seed=0):
    """Inputs, targets with gaps, and the functions' means of three outputs of two functions."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 1))
    f = np.hstack([np.sin(2.0 * X), np.cos(1.5 * X + 1.0)]) @ MIXING.T
    rate = np.exp(1.5 + f)
    noise = {"student_t": rng.standard_t(3, f.shape), "censored": rng.standard_normal(f.shape)}
    if kind == "poisson":
        y = rng.poisson(rate)
    elif kind == "negative_binomial":
        y = rng.poisson(rate * rng.gamma(5.0, 0.2, f.shape))
    elif kind == "gamma":
        y = rate * rng.gamma(4.0, 0.25, f.shape)
    elif kind == "beta":
        share = 1.0 / (1.0 + np.exp(-f))
        y = np.clip(rng.beta(20.0 * share, 20.0 * (1.0 - share)), 1e-6, 1.0 - 1e-6)
    else:
        y = [0.0, 100.0, 3.0] + [1.0, 20.0, 0.1] * (f + 0.2 * noise[kind])
        y = np.maximum(y, [-0.5, 90.0, 2.95]) if kind == "censored" else y
    y = y.astype(float)
    seen = rng.random(y.shape) < 0.6
    seen[~seen.any(axis=1), 0] = True
    return X, np.where(seen, y, np.nan), y


def likelihood_of(kind):
    return Censored(lower=[-0.5, 90.0, 2.95]) if kind == "censored" else kind


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    kind = request.param
    X, y, complete = table(kind)
    model = SVGPRegressor(likelihood=likelihood_of(kind), n_latent=2, n_inducing=15, random_state=0)
    return kind, X, y, complete, model.fit(X, y)


@pytest.mark.slow
@pytest.mark.quick_cases("student_t", "poisson")
def test_what_is_missing_is_predicted(case):
    """Better than the mean of each output, and about as well as what was there."""
    _, X, y, complete, model = case
    gone, mean = np.isnan(y), model.predict(X)
    centre = np.nanmean(y, axis=0)
    for p in range(3):
        own = gone[:, p]
        error, usual = (
            np.median(np.abs(each[own, p] - complete[own, p]))
            for each in (mean, np.broadcast_to(centre, mean.shape))
        )
        assert error < 0.8 * usual
    assert model.mixing_.shape == (3, 2)
    assert_allclose(np.diag(model.output_correlation_), 1.0)


@pytest.mark.quick_cases("student_t", "poisson")
def test_predictions_agree_with_one_another(case):
    """Moments, covariances, quantiles, distributions, densities and draws are of one model."""
    kind, X, y, _, model = case
    assert np.isfinite(model.score(X, y))
    X, y = X[:6], y[:6]
    mean, std = model.predict(X, return_std=True)
    assert_allclose(model.predict_std(X), std)
    again, cov = model.predict(X, return_cov=True)
    assert_allclose(again, mean)
    rows, outputs = np.arange(6)[:, None], np.arange(3)
    assert cov.shape == (6, 6, 3, 3)
    assert_allclose(cov[rows, rows, outputs, outputs], std**2, rtol=1e-6)
    assert_allclose(cov, cov.transpose(1, 0, 3, 2), rtol=1e-9, atol=1e-12)
    draws = model.sample_y(X, 4000, random_state=0)
    assert draws.shape == (6, 3, 4000)
    assert_allclose(np.median(draws, axis=2), model.predict_quantiles(X, [0.5])[..., 0], rtol=0.5)
    if kind != "student_t":  # whose draws have tails
        assert_allclose(draws.mean(axis=2), mean, atol=0.1 * std.max())
        flat = np.cov(draws.reshape(18, -1)).reshape(6, 3, 6, 3).transpose(0, 2, 1, 3)
        scale = np.outer(std.max(axis=0), std.max(axis=0))
        assert_allclose(flat / scale, cov / scale, atol=0.12)
    distribution = model.predict_distribution(X)
    assert_allclose(distribution.std(), std)
    each = np.where(np.isnan(y), 0.0, distribution.logpdf(np.where(np.isnan(y), mean, y)))
    if kind in ("poisson", "negative_binomial"):
        each = np.where(np.isnan(y), 0.0, distribution.logpdf(np.nan_to_num(y)))
    assert_allclose(model.log_density(X, y), each.sum(axis=1), rtol=1e-8)
    nothing = np.full_like(y, np.nan)
    assert_array_equal(model.log_density(X, nothing), np.zeros(6))
    assert model.sample_y(X, 5, random_state=0, method="pathwise").shape == (6, 3, 5)


@pytest.mark.quick_cases("student_t", "poisson")
def test_later_batches_join(case):
    """They are taken, with gaps; a pickle of the result predicts the same."""
    _, X, y, _, model = case
    parts = pickle.loads(pickle.dumps(model))
    before = parts.predict(X[:5])
    assert_array_equal(before, model.predict(X[:5]))
    parts.partial_fit(X[:60], y[:60])
    assert parts.n_samples_seen_ == 300
    assert np.isfinite(parts.objective_)
    assert (parts.predict_std(X[:60], include_noise=False) > 0.0).all()
    latent = (one.predict_std(X[:60], include_noise=False).mean() for one in (parts, model))
    assert next(latent) < next(latent)


def fixed(likelihood, **more):
    """A model of which nothing is learned but q(u)."""
    Z = np.linspace(0.0, 6.0, 12)[:, None]
    options = {"inducing": Z, "optimizer": None, "noise_variance": 0.05, **more}
    return SVGPRegressor(RBF(), likelihood=likelihood, **options)


@pytest.mark.parametrize("kind", ["poisson", "student_t"])
def test_one_output_is_the_plain_model(kind):
    """With n_latent=1 and one output the bound and the predictions are those without."""
    X, _, y = table(kind)
    y = y[:, 0]
    mixed = fixed(kind, n_latent=1).fit(X, y)
    plain = fixed(kind).set_params(kernel=float(mixed.mixing_[0, 0]) ** 2 * RBF()).fit(X, y)
    assert_allclose(mixed.objective_, plain.objective_, rtol=1e-5)
    for ours, theirs in zip(
        mixed.predict(X, return_std=True), plain.predict(X, return_std=True), strict=True
    ):
        assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    assert_allclose(mixed.log_density(X, y), plain.log_density(X, y), rtol=1e-4, atol=1e-5)
    assert mixed.sample_y(X[:3], 2).shape == (3, 2)
    cov = mixed.predict(X[:4], return_cov=True)[1]
    assert_allclose(cov, plain.predict(X[:4], return_cov=True)[1], rtol=1e-3, atol=1e-6)


def test_gaussian_noise_by_sites_is_gaussian_noise():
    """The model with a closed form is the same, but for the start of the mixing."""
    X, y, _ = table("student_t")
    y = np.clip(y, [-3.0, 40.0, 2.7], [3.0, 160.0, 3.3])
    usual = fixed("gaussian", n_latent=2, warm_start=True).fit(X, y)
    by_sites = fixed(GaussianBySites(), n_latent=2, warm_start=True)
    by_sites.fit(X, y)
    learned = SVGPRegressor(
        RBF(), likelihood=GaussianBySites(), n_latent=2, n_inducing=12, random_state=0
    ).fit(X, y)
    closed = clone(learned).set_params(likelihood="gaussian").fit(X, y)
    assert_allclose(learned.objective_, closed.objective_, atol=1.0)
    assert_allclose(learned.predict(X), closed.predict(X), atol=0.05, rtol=0.02)
    assert usual.mixing_.shape == by_sites.mixing_.shape


@pytest.mark.parametrize("kind", ["poisson", "negative_binomial", "student_t"])
def test_weights_are_repetitions(kind):
    """Weight 2 counts a row twice, weight 0 leaves it out, for rows with gaps too."""
    X, y, _ = table(kind, 60)
    weight = np.tile([0.0, 1.0, 2.0], 20)
    times = np.repeat(np.arange(60), weight.astype(int))
    model = fixed(kind, n_latent=2, normalize_y=([0.0, 100.0, 3.0], [1.0, 20.0, 0.1]))
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X[times], y[times])
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-6)
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-4)


def test_later_batches_are_near_the_fit_of_all():
    """With all parameters held, the sites of earlier rows stay; q(u) is near that of all rows."""
    X, y, _ = table("poisson")
    whole = fixed("poisson", n_latent=2).fit(X, y)
    W, offset = whole.mixing_, fitted(whole).likelihood.offset
    parts = fixed(Poisson(offset=offset), n_latent=2).fit(X[:120], y[:120])
    ratio = np.abs(parts.mixing_ - W).max()
    parts.partial_fit(X[120:], y[120:])
    assert parts.n_samples_seen_ == 240
    assert_allclose(parts.predict(X), whole.predict(X), rtol=0.2 + ratio, atol=0.2)


@pytest.mark.slow
def test_means_of_outputs_with_gaps_are_learned():
    """An output that is missing where it is high has a higher mean than that of what is there."""
    X, _, y = table("poisson", 400)
    y = y.copy()
    y[(X[:, 0] > 3.0) & (y[:, 0] > np.median(y[:, 0])), 1] = np.nan
    model = SVGPRegressor(likelihood="poisson", n_latent=2, n_inducing=20, random_state=0)
    model.fit(X, y)
    offset = fitted(model).likelihood.offset
    assert np.shape(offset) == (3,)
    assert not np.allclose(offset, np.log(np.nanmean(y, axis=0)))
    given = clone(model).set_params(likelihood=Poisson(offset=[1.0, 1.1, 1.2])).fit(X, y)
    assert_allclose(fitted(given).likelihood.offset, [1.0, 1.1, 1.2])


def test_an_offset_column_is_added():
    """Exposures of rows: predictions at ten times the exposure are ten times as large."""
    X, y, _ = table("poisson")
    exposure = np.random.default_rng(1).uniform(0.0, 2.0, len(X))
    counts = np.where(
        np.isnan(y),
        np.nan,
        np.random.default_rng(2).poisson(np.nan_to_num(y) * np.exp(exposure)[:, None]),
    )
    model = SVGPRegressor(
        likelihood="poisson", n_latent=2, n_inducing=15, offset_column=1, random_state=0
    ).fit(np.column_stack([X, exposure]), counts)
    low, high = (model.predict(np.column_stack([X[:5], np.full(5, e)])) for e in (0.0, np.log(10)))
    assert_allclose(high, 10.0 * low, rtol=1e-8)
    draws = model.sample_y(np.column_stack([X[:5], np.full(5, np.log(10))]), 2000, random_state=0)
    assert_allclose(draws.mean(axis=2), high, rtol=0.2)


def test_a_likelihood_of_ones_own():
    """It is mixed, too; what it does not define is named."""
    X, y, _ = table("gamma")
    model = SVGPRegressor(likelihood=Exponential(), n_latent=2, n_inducing=15, random_state=0)
    model.fit(X, y)
    assert model.predict(X).shape == y.shape
    with pytest.raises(ValueError, match="as_one_output"):
        model.predict(X[:3], return_cov=True)
    with pytest.raises(NotImplementedError, match="quantiles"):
        model.predict_quantiles(X[:3], [0.5])


def test_targets_that_cannot_be_are_refused():
    """In a fit and in later batches, beside others that are missing; nothing changes."""
    X, y, _ = table("poisson", 60)
    model = SVGPRegressor(likelihood="poisson", n_latent=1, n_inducing=8, random_state=0)
    model.fit(X, y)
    before = model.predict(X)
    wrong = y.copy()
    wrong[3, 0] = 0.5
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="counts"):
            learn(X, wrong)
    assert_array_equal(model.predict(X), before)
    shares = np.where(np.isnan(y), np.nan, 2.0)
    with pytest.raises(ValueError, match="y must"):
        SVGPRegressor(likelihood=Beta(), n_latent=1).fit(X, shares)


@pytest.mark.parametrize("likelihood", ["auto", "heteroscedastic", "heteroscedastic_student_t"])
def test_noise_of_each_row_is_refused(likelihood):
    """And the error has a cure."""
    X, y, _ = table("student_t", 60)
    with pytest.raises(ValueError, match=r"differs from row to row.*write a row for each target"):
        SVGPRegressor(likelihood=likelihood, n_latent=1).fit(X, y)


@pytest.mark.slow
def test_tails_of_each_output_are_learned():
    """Degrees of freedom and scale of each; outliers do not move the functions."""
    X, _, y = table("student_t", 400)
    y = y.copy()
    y[::20, 1] += 2000.0
    model = SVGPRegressor(likelihood=StudentT(df=None), n_latent=2, n_inducing=15, random_state=0)
    model.fit(X, y)
    assert np.shape(model.likelihood_.df) == (3,)
    f = 100.0 + 20.0 * (np.hstack([np.sin(2.0 * X), np.cos(1.5 * X + 1.0)]) @ MIXING.T)[:, 1]
    assert np.sqrt(np.mean((model.predict(X)[:, 1] - f) ** 2)) < 6.0


def test_several_jobs_and_fourier_features():
    """Results do not depend on n_jobs; features take the place of inducing inputs."""
    X, y, _ = table("poisson", 120)
    model = SVGPRegressor(RBF(), likelihood="poisson", n_latent=2, n_inducing=10, random_state=0)
    one, two = (clone(model).set_params(n_jobs=k).fit(X, y) for k in (1, 2))
    assert_allclose(one.predict(X), two.predict(X), rtol=1e-8)
    features = clone(model).set_params(inducing="fourier", optimize_inducing=False).fit(X, y)
    assert np.isfinite(features.predict(X)).all()


@pytest.mark.quick_cases("poisson")
@pytest.mark.parametrize("kind", ["poisson", "gamma"])
def test_means_of_complete_outputs_are_learned(kind):
    """One function is enough for what one function made; without a gap as with one."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (150, 1))
    f = 1.3 * np.sin(2.0 * X) * [1.3, -0.9, 0.6, 1.1]
    rate = np.exp(1.0 + f)
    y = rng.poisson(rate) if kind == "poisson" else rate * rng.gamma(4.0, 0.25, f.shape)
    y = y.astype(float)
    gap = y.copy()
    gap[0, 0] = np.nan
    model = SVGPRegressor(likelihood=kind, n_latent=1, n_inducing=15, random_state=0)
    complete, with_gap = (clone(model).fit(X, each) for each in (y, gap))
    assert complete.objective_ > with_gap.objective_ - 10.0
    assert_allclose(complete.predict(X), with_gap.predict(X), rtol=0.05, atol=0.05)
    assert not fitted(complete).parameters.has_means


@pytest.mark.slow
@pytest.mark.quick_cases("True-poisson")
@pytest.mark.parametrize("likelihood", ["poisson", "negative_binomial"])
@pytest.mark.parametrize("has_gap", [False, True])
def test_counts_that_are_all_zero(likelihood, has_gap):
    """They have a rate of half a count in all rows, or near it, not as small as can be."""
    X, _, y = table("poisson", 200)
    y = y.copy()
    y[:, 1] = 0.0
    if has_gap:
        y[0, 0] = np.nan
    model = SVGPRegressor(likelihood=likelihood, n_latent=2, n_inducing=15, random_state=0)
    rate = model.fit(X, y).predict(X)[:, 1]
    assert 5e-4 < rate.min() < rate.max() < 0.02
    few = np.where(np.arange(200)[:, None] % [1, 70, 1] == 0, y, np.nan)
    few[:, 2] = y[:, 2]
    assert model.fit(X, few).predict(X)[:, 1].max() < 2.0


@pytest.mark.quick_cases("*-poisson", "True-gamma")
@pytest.mark.parametrize("kind", ["poisson", "gamma", "student_t"])
@pytest.mark.parametrize("has_gaps", [False, True])
def test_warm_starts_begin_with_learned_means(kind, has_gaps):
    """A fit of the same rows that learns nothing is the one before; another likelihood is taken."""
    X, y, complete = table(kind, 120)
    y = y if has_gaps else complete
    y = y + 50.0 * (np.arange(360).reshape(y.shape) % 18 == 0) if kind == "student_t" else y
    model = SVGPRegressor(
        RBF(), likelihood=kind, n_latent=2, n_inducing=12, warm_start=True, random_state=0
    ).fit(X, y)
    before = model.objective_, model.predict(X)
    model.set_params(optimizer=None).fit(X, y)
    assert_allclose(model.objective_, before[0], atol=0.01)
    assert_allclose(model.predict(X), before[1], rtol=0.01, atol=0.01)
    other = "negative_binomial" if kind == "poisson" else "censored"
    y = np.maximum(y, np.nanquantile(y, 0.2, axis=0)) if other == "censored" else y
    assert np.isfinite(model.set_params(likelihood=other).fit(X, y).objective_)


@pytest.mark.quick_cases("2")
@pytest.mark.parametrize("n_latent", [None, 2])
def test_functions_beyond_limits_are_not_doubted(n_latent):
    """What they predict there is compared with targets as if it was at the limit."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.0, 6.0, (150, 1))
    g = 1.3 * np.hstack([np.sin(2.0 * X), np.sin(3.0 * X + 1.0)])
    f = g @ (1.2 * rng.standard_normal((2, 4)))
    y = np.maximum(f + 0.2 * rng.standard_normal(f.shape) - 1.0, 0.0)
    model = SVGPRegressor(
        likelihood=Censored(lower=0.0), n_latent=n_latent, n_inducing=15, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
