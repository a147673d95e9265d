"""Regressors with warped targets: everything public is in units of y, and skewness is learned."""

import pickle
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import PowerTransformer

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.data.continued_warps import Identity
from sklearn_sgp.data.inputs import Inputs

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
REGRESSORS = (SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor)
LIKELIHOODS = ("gaussian", "student_t", "heteroscedastic", "heteroscedastic_student_t")
each_regressor = pytest.mark.parametrize("kind", REGRESSORS, ids=lambda kind: kind.__name__)
each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)
each_warp = pytest.mark.parametrize("normalize_y", ["yeo-johnson", "warped"])
NOISE = 0.3


def skewed(n=300, seed=0):
    """X and y = exp(f + noise), and f."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 1))
    f = 1.5 * np.sin(2.0 * X[:, 0])
    return X, np.exp(f + NOISE * rng.standard_normal(n)), f


def in_quantiles(y):
    """Targets about their median, in units of the deviation that their quantiles say."""
    low, center, high = np.quantile(y, [0.1, 0.5, 0.9], axis=0)
    return (y - center) * (norm.ppf(0.9) - norm.ppf(0.1)) / (high - low)


def fitted(kind=SVGPRegressor, normalize_y="warped", n=300, **options):
    X, y, _ = skewed(n)
    options = {"n_inducing": 20, "random_state": 0, "max_iter": 60} | options
    return kind(normalize_y=normalize_y, **options).fit(X, y)


@pytest.fixture(scope="module")
def models():
    """A fitted model of each likelihood."""
    with np.errstate(all="ignore"):
        return {name: fitted(likelihood=name) for name in LIKELIHOODS}


# What is learned


@pytest.mark.slow
@pytest.mark.quick_cases("SVGPRegressor")
@each_regressor
def test_auto_warps_where_that_is_left_open(kind):
    """It takes ``normalize_y=True`` for "warped", and leaves what the user has chosen."""
    auto = fitted(kind, True, likelihood="auto", max_iter=20)
    assert_array_equal(auto.y_scale_, fitted(kind, "warped", max_iter=20).y_scale_)
    assert type(auto.likelihood_).__name__ == "Gaussian"
    assert fitted(kind, (0.0, 2.0), likelihood="auto", max_iter=20).y_scale_ == 2.0


@pytest.mark.quick_cases("SVGPRegressor")
@each_regressor
def test_skewed_targets_are_predicted_as_well_as_by_who_knows(kind):
    """y = exp(f + noise): the log density is near the true one, far better than without a warp."""
    X, y, _ = skewed(400)
    new, seen, f = skewed(1000, seed=1)
    true = np.mean(norm.logpdf(np.log(seen), f, NOISE) - np.log(seen))
    scores = {}
    for normalize_y in (True, "warped"):
        model = kind(normalize_y=normalize_y, n_inducing=30, max_iter=40, random_state=0)
        model.fit(X, y)
        scores[normalize_y] = model.log_density(new, seen).mean()
    # without a warp a stream's bands are wider where targets are large, as its sample of rows says
    margin = 0.15 if kind is StreamingSGPRegressor else 0.3
    assert scores["warped"] > scores[True] + margin
    assert scores["warped"] > true - 0.1
    low, high = model.predict_quantiles(new, (0.05, 0.95)).T
    assert 0.86 < np.mean((seen > low) & (seen < high)) < 0.94
    assert (model.predict(new) > 0.0).all()


@pytest.mark.quick_cases("SVGPRegressor", "StreamingSGPRegressor")
@each_regressor
def test_gaussian_targets_lose_nothing(kind, rng):
    """Where no warp is needed, the density is at most 0.02 nats a row lower than without one."""
    X = rng.uniform(-3.0, 3.0, (800, 1))
    y = np.sin(2.0 * X[:, 0]) + NOISE * rng.standard_normal(800)
    scores = [
        kind(normalize_y=normalize_y, n_inducing=25, random_state=0)
        .fit(X[:400], y[:400])
        .log_density(X[400:], y[400:])
        .mean()
        for normalize_y in (True, "warped")
    ]
    assert scores[1] > scores[0] - 0.02


def test_objectives_of_choices_of_normalize_y_compare():
    """The objective is for y as it is given: that of the warped model is larger by the gain."""
    plain, warped = fitted(normalize_y=True), fitted()
    X, y, _ = skewed()
    gain = (warped.objective_ - plain.objective_) / len(y)
    assert_allclose(gain, (warped.log_density(X, y) - plain.log_density(X, y)).mean(), atol=0.1)
    again = warped.log_marginal_likelihood(warped.kernel_.theta, X=X, y=y)
    assert_allclose(again, warped.objective_, rtol=1e-6)
    assert_allclose(warped.objectives_[-1], warped.objective_, rtol=1e-6)


def test_all_rows_as_inducing_inputs_have_the_evidence_of_the_warped_process():
    """The objective is log N(z; 0, K + noise) + sum of log dz/dy, for z = (phi(y) - m) / s."""
    X, y, _ = skewed(60)
    model = SVGPRegressor(
        ConstantKernel(2.0) * RBF(0.7),
        inducing=X,
        optimize_inducing=False,
        optimizer=None,
        noise_variance=0.1,
        normalize_y="yeo-johnson",
        random_state=0,
    ).fit(X, y)
    t = in_quantiles(y)
    power = PowerTransformer(standardize=True).fit(t[:, None])
    z = power.transform(t[:, None])[:, 0]
    S = 2.0 * RBF(0.7)(X) + 0.1 * np.eye(60)
    expected = -0.5 * (z @ np.linalg.solve(S, z) + np.linalg.slogdet(2.0 * np.pi * S)[1])
    step = 1e-6
    ends = (power.transform((t + sign * step)[:, None])[:, 0] for sign in (1, -1))
    expected += np.log(np.subtract(*ends) / (2.0 * step)).sum()
    expected += len(y) * np.log(np.ptp(t) / np.ptp(y))
    assert_allclose(model.objective_, expected, rtol=1e-5)


def test_the_power_is_that_of_scikit_learn():
    """The learned function sees what a standardised PowerTransformer makes of scaled targets."""
    X, y, _ = skewed(200)
    Y = np.column_stack([y, -(y**1.5), np.log(y)])
    model = SVGPRegressor(normalize_y="yeo-johnson", n_inducing=10, max_iter=2, random_state=0)
    scaled = model.fit(X, Y)._fitted.targets.scaled(Y)
    assert_allclose(scaled, PowerTransformer().fit_transform(in_quantiles(Y)), rtol=1e-6, atol=1e-6)


@pytest.mark.quick_cases(
    "-50000.0-units1-warped-SVGPRegressor",
    "0.0-units0-yeo-johnson-SVGPRegressor",
    "0.0-units0-warped-AnytimeSGPRegressor",
    "-50000.0-units1-yeo-johnson-StreamingSGPRegressor",
)
@each_regressor
@each_warp
@pytest.mark.parametrize("shift, units", [(0.0, (1.0 / 1024, 1000.0)), (-5e4, (1000.0,))])
def test_every_unit_of_y(kind, normalize_y, shift, units):
    """Means, deviations and densities in another unit are those in the first, to rounding.

    Targets that are all positive have a logarithm, and with a shift they may not be.
    """
    X, y, _ = skewed(150)
    y = y - 5.0 if shift else y
    options = {"n_inducing": 20, "random_state": 0, "max_iter": 10}
    first = kind(normalize_y=normalize_y, **options).fit(X, y)
    expected, expected_std = first.predict(X[:50], return_std=True)
    for unit in units:
        model = clone(first).fit(X, unit * y + shift)
        mean, std = model.predict(X[:50], return_std=True)
        assert_allclose((mean - shift) / unit, expected, atol=1e-3 * y.std())
        assert_allclose(std / unit, expected_std, atol=1e-3 * y.std())
        density = model.log_density(X[:50], unit * y[:50] + shift) + np.log(unit)
        assert_allclose(density, first.log_density(X[:50], y[:50]), atol=1e-3)


@pytest.mark.parametrize("options", [{"likelihood": "auto"}, {"normalize_y": "warped"}])
def test_categories_may_be_any_numbers(options):
    """Codes of years were taken for years where the warp is chosen: an error about ``inducing``."""
    rng = np.random.default_rng(0)
    x, year = rng.uniform(0.0, 6.0, 150), 2021.0 + np.arange(150) % 3
    y = np.exp(np.sin(x) + 0.3 * (year - 2021.0) + 0.1 * rng.standard_normal(150))
    found = []
    for first in (2021.0, 0.0):
        X = np.column_stack([x, year - 2021.0 + first])
        model = SVGPRegressor(
            n_inducing=20, max_iter=10, categorical_features=[1], random_state=0, **options
        )
        found.append(model.fit(X, y).predict(X))
    assert_allclose(*found, rtol=1e-6)


def test_without_an_optimizer_only_the_warp_is_learned():
    """optimizer=None holds kernel and noise, also while a warp is learned."""
    kernel = ConstantKernel(1.0) * RBF(0.5)
    model = fitted(kernel=kernel, noise_variance=0.1, optimizer=None)
    assert model.kernel_ == kernel
    assert_allclose(model.noise_variance_, 0.1)
    plain = fitted(kernel=kernel, noise_variance=0.1, optimizer=None, normalize_y=True)
    assert model.objective_ > plain.objective_ + 50.0


# Predictions in units of y


@pytest.mark.quick_cases("student_t", "heteroscedastic")
@each_likelihood
def test_quantiles_invert_the_distribution_function(models, likelihood):
    """cdf(ppf(q)) = q, and predict_quantiles is ppf; sf is 1 - cdf."""
    X, levels = np.linspace(-3.0, 3.0, 7)[:, None], np.array([0.01, 0.3, 0.5, 0.95])
    model = models[likelihood]
    found, quantiles = model.predict_distribution(X), model.predict_quantiles(X, levels)
    for level, values in zip(levels, quantiles.T, strict=True):
        assert_allclose(found.cdf(values), level, atol=1e-8)
        assert_allclose(found.sf(values), 1.0 - level, atol=1e-8)
        assert_allclose(found.ppf(level), values, rtol=1e-8)
    assert_allclose(found.median(), quantiles[:, 2], rtol=1e-8)


@pytest.mark.slow_cases("heteroscedastic_student_t")
@each_likelihood
def test_the_density_is_the_slope_of_the_distribution_function(models, likelihood):
    """pdf is the derivative of cdf, inside the data and beyond; its integral is 1."""
    X, model = np.array([[-2.0], [0.7]]), models[likelihood]
    found = model.predict_distribution(X)
    step = 1e-5
    for y in (0.2, 1.0, 3.0, 40.0, -1.0):
        slope = (found.cdf(y + step) - found.cdf(y - step)) / (2.0 * step)
        assert_allclose(found.pdf(y), slope, rtol=2e-4, atol=1e-8)
    grid = np.concatenate([-np.geomspace(1e4, 1e-5, 2000), np.geomspace(1e-5, 1e4, 8000)])
    total = np.trapezoid(found.pdf(grid[:, None]), grid, axis=0)
    assert_allclose(total, 1.0, atol=2e-3)
    assert_allclose(model.log_density(X, [1.0, 2.0]), found.logpdf([1.0, 2.0]), rtol=1e-12)


@each_likelihood
def test_moments_are_those_of_draws(models, likelihood):
    """predict, return_std, predict_std and the distribution's moments are those of sample_y."""
    X, model = np.linspace(-2.5, 2.5, 5)[:, None], models[likelihood]
    mean, std = model.predict(X, return_std=True)
    assert_allclose(model.predict(X), mean, rtol=1e-12)
    assert_allclose(model.predict_std(X), std, rtol=1e-12)
    found = model.predict_distribution(X)
    assert_allclose(found.mean(), mean, rtol=1e-12)
    assert_allclose(found.std(), std, rtol=1e-12)
    draws = model.sample_y(X, 40_000, random_state=0)
    assert_allclose(draws.mean(axis=1), mean, atol=0.06 * std.max())
    levels = (0.1, 0.5, 0.9)
    assert_allclose(
        np.quantile(draws, levels, axis=1).T, model.predict_quantiles(X, levels), rtol=0.08
    )
    independent = found.rvs((40_000, 5), random_state=0)
    assert_allclose(
        np.quantile(independent, levels, axis=0).T, model.predict_quantiles(X, levels), rtol=0.08
    )
    assert (model.predict_std(X, include_noise=False) < std).all()
    # under the exponential of heavy tails far nodes decide, to some thousandths
    assert (model.noise_std(X) < 1.01 * std).all()


@each_likelihood
def test_the_joint_covariance(models, likelihood):
    """Its diagonal is std squared, it is positive definite, and its mean is that of predict."""
    X, model = np.linspace(-0.5, 0.5, 6)[:, None], models[likelihood]
    mean, covariance = model.predict(X, return_cov=True)
    expected, std = model.predict(X, return_std=True)
    assert_allclose(mean, expected, rtol=1e-6)
    assert_allclose(np.diag(covariance), std**2, rtol=1e-5)
    assert_allclose(covariance, covariance.T, rtol=1e-10)
    assert np.linalg.eigvalsh(covariance).min() > 0.0


def test_covariances_are_those_of_joint_draws():
    """Off the diagonal, too, where few rows leave the function uncertain."""
    X, y, _ = skewed(25)
    kernel = ConstantKernel(1.0, "fixed") * RBF(0.8, "fixed")
    model = SVGPRegressor(kernel, inducing=X, normalize_y="yeo-johnson", noise_variance=0.05)
    new = np.array([[3.4], [3.7], [4.0]])
    _, covariance = model.fit(X, y).predict(new, return_cov=True)
    draws = model.sample_y(new, 300_000, random_state=1)
    low, high = np.quantile(draws, [0.0, 1.0])
    assert np.isfinite([low, high]).all()
    scale = np.sqrt(np.diag(covariance))
    assert_allclose(
        np.cov(draws) / np.outer(scale, scale), covariance / np.outer(scale, scale), atol=0.08
    )


def test_functions_are_in_units_of_y(models):
    """Drawn functions are phi^-1 of latent ones: all positive here, their quantiles as f's."""
    X, model = np.linspace(-2.5, 2.5, 5)[:, None], models["gaussian"]
    draws = model.sample_functions(2000, random_state=0)(X)
    mean, variance = model._fitted.predictor.moments(Inputs(X))
    expected = model._fitted.targets.in_units(mean + np.sqrt(variance) * norm.ppf(0.9))[:, 0]
    assert_allclose(np.quantile(draws, 0.9, axis=1), expected, rtol=0.05)


def test_noise_is_larger_where_y_is(models):
    """exp(f + noise): the standard deviation of the noise is in proportion to exp(f)."""
    X, _, f = skewed(200, seed=3)
    std = models["gaussian"].noise_std(X)
    expected = np.exp(f + 0.5 * NOISE**2) * np.sqrt(np.expm1(NOISE**2))
    assert_allclose(np.log(std / expected), 0.0, atol=0.6)


@each_warp
def test_one_unit_of_y_is_as_good_as_another(normalize_y):
    """The score is that of predict; scorers and r2 see targets in their own units."""
    X, y, _ = skewed(200)
    model = fitted(normalize_y=normalize_y, n=200)
    residual = y - model.predict(X)
    assert_allclose(model.score(X, y), 1.0 - (residual**2).sum() / ((y - y.mean()) ** 2).sum())


@pytest.mark.slow
def test_the_learned_warp_has_no_unit():
    """Targets of both signs in another unit and from another origin: the same model there."""
    X, y, _ = skewed()
    y = y - 1.0
    one = fitted().fit(X, y)
    other = clone(one).fit(X, 1e4 * y - 7e5)
    new = np.linspace(-3.0, 3.0, 9)[:, None]
    assert_allclose(other.predict(new), 1e4 * one.predict(new) - 7e5, rtol=1e-2)
    expected = one.log_density(X, y) - np.log(1e4)  # in the tails a little warp changes more
    assert_allclose(other.log_density(X, 1e4 * y - 7e5), expected, rtol=0.03, atol=0.1)


# Batches, outputs, weights


@pytest.mark.slow
def test_deviations_are_those_of_quantiles_where_one_end_is_steep():
    """An outlier of 1e8 makes the inverse steep at one end, by far more than at other rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (300, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(300)
    y[-1] = 1e8
    for likelihood in ("gaussian", "student_t"):
        model = SVGPRegressor(
            normalize_y="yeo-johnson", likelihood=likelihood, n_inducing=15, max_iter=10
        ).fit(X, y)
        assert (model.predict_std(X[:100]) > 0.0).all()
    predicted = SVGPRegressor(normalize_y="yeo-johnson", n_inducing=15, max_iter=10, random_state=0)
    predicted = predicted.fit(X, y).predict_distribution(X[:20])
    levels = (np.arange(20_000) + 0.5) / 20_000
    values = np.array([predicted.ppf(level) for level in levels])
    assert_allclose(predicted.std(), values.std(axis=0), rtol=0.05)


@pytest.mark.quick_cases("0.1")
@pytest.mark.filterwarnings("ignore:sample_weight should have a mean")  # two are told of
@pytest.mark.parametrize("total", [300.0, 1.0, 0.1])
def test_small_weights_do_not_make_parameters_cheap(total, rng):
    """Where weights sum to less than 1, parameters still cost what the number of rows asks."""
    X = rng.uniform(-3.0, 3.0, (300, 2))
    y, weight = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(300), np.full(300, total / 300)
    model = SVGPRegressor(likelihood="auto", n_inducing=15, max_iter=20, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert model._fitted.targets.keeps_means
    assert type(model.likelihood_).__name__ == "Gaussian"


@each_warp
def test_later_batches_keep_the_warp_of_the_first(normalize_y):
    """partial_fit scales as the first batch did; with all held, batches give what fit gives."""
    X, y, _ = skewed()
    options = {
        "kernel": ConstantKernel(1.0) * RBF(0.7),
        "optimizer": None,
        "noise_variance": 0.1,
        "inducing": np.linspace(-3.0, 3.0, 15)[:, None],
        "random_state": 0,
    }
    first = SVGPRegressor(normalize_y=normalize_y, **options).fit(X[:200], y[:200])
    both = clone(first).partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    Y = both._fitted.targets.scaled(y[:, None])
    assert_array_equal(Y, first._fitted.targets.scaled(y[:, None]))
    assert both.y_scale_ == first.y_scale_
    assert not both._fitted.targets.keeps_means
    jacobian = both._fitted.targets.log_slope(y[:, None]).sum()
    scaled = SVGPRegressor(normalize_y=False, **options).fit(X, Y[:, 0])
    assert_allclose(both.objective_, scaled.objective_ + jacobian, rtol=1e-7)
    new = X[:20]
    expected = both._fitted.targets.in_units(scaled.predict_quantiles(new, [0.3]))[:, 0]
    assert_allclose(both.predict_quantiles(new, [0.3])[:, 0], expected, rtol=1e-8)


@each_warp
def test_streams_keep_the_warp_of_the_first_batch(normalize_y):
    """Warped targets are centred and scaled by all rows; bounds are for y in its own units."""
    X, y, _ = skewed(400)
    model = StreamingSGPRegressor(normalize_y=normalize_y, n_inducing=20, random_state=0)
    model.partial_fit(X[:300], y[:300])
    warped = model._fitted.targets.warped(y[:, None])
    model.partial_fit(X[300:], y[300:])
    assert_array_equal(model._fitted.targets.warped(y[:, None]), warped)
    assert_allclose([model.y_mean_, model.y_scale_], [warped.mean(), warped.std()], rtol=1e-10)
    density = model.log_density(X[300:], y[300:]).sum()
    assert_allclose(model.objective_ / 100, density / 100, atol=0.3)
    new, seen, _ = skewed(500, seed=2)
    low, high = model.predict_quantiles(new, (0.05, 0.95)).T
    assert 0.8 < np.mean((seen > low) & (seen < high)) < 0.97


def test_the_evidence_of_rows_that_a_stream_keeps_has_the_slopes_of_all():
    """It is that of scaled targets, and of the warp at all rows, not at those of the last batch."""
    X, y, _ = skewed(120)
    stream = StreamingSGPRegressor(normalize_y="yeo-johnson", n_inducing=15, random_state=0)
    for lo, hi in ((0, 70), (70, 95), (95, 120)):
        stream.partial_fit(X[lo:hi], y[lo:hi])
    targets = stream._fitted.targets
    held = {"optimizer": None, "normalize_y": False, "inducing": stream.inducing_points_}
    scaled = SVGPRegressor(stream.kernel_, noise_variance=stream.noise_variance_, **held)
    scaled.fit(X, targets.scaled(y[:, None])[:, 0])
    expected = scaled.objective_ + targets.log_slope(y[:, None]).sum()
    assert_allclose(stream.log_evidence_, expected, rtol=1e-5)


def test_a_stream_tells_of_outliers_in_units_of_y():
    """A reading far off is told as it came, with what was predicted."""
    X, y, _ = skewed(300)
    model = StreamingSGPRegressor(normalize_y="warped", n_inducing=15, random_state=0)
    model.partial_fit(X, y)
    predicted = str(model.predict_quantiles(X[:1], [0.5])[0, 0])[:4]
    with pytest.warns(UserWarning, match=rf"y = \[1000000\.\] where \[{predicted}"):
        model.partial_fit(X[:10], np.append(1e6, y[1:10]))


@pytest.mark.quick_cases(
    "warped-SVGPRegressor", "yeo-johnson-AnytimeSGPRegressor", "yeo-johnson-StreamingSGPRegressor"
)
@each_regressor
@each_warp
def test_each_output_has_a_warp_of_its_own(kind, normalize_y):
    """Two outputs: shapes as ever, one skewed, one not; each is predicted in its units."""
    X, y, f = skewed(200)
    Y = np.column_stack([y, f + NOISE * np.random.default_rng(5).standard_normal(200)])
    model = kind(normalize_y=normalize_y, n_inducing=15, max_iter=30, random_state=0).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (200, 2)
    assert model.predict(X[:4], return_cov=True)[1].shape == (4, 4, 2)
    assert model.predict_quantiles(X, (0.1, 0.9)).shape == (200, 2, 2)
    assert model.sample_y(X[:4], 3).shape == (4, 2, 3)
    assert model.log_density(X, Y).shape == (200,)
    assert_allclose(
        model.predict_distribution(X).logpdf(Y).sum(axis=1), model.log_density(X, Y), rtol=1e-9
    )
    assert model.y_mean_.shape == (2,)
    assert np.mean(np.abs(mean - Y) < 3.0 * std) > 0.9


@each_warp
def test_a_weight_of_two_is_the_row_twice(normalize_y):
    """Weights and repetitions give one model."""
    X, y, _ = skewed(150)
    weight = np.where(np.arange(150) % 4 == 0, 2, 1)
    index = np.repeat(np.arange(150), weight)
    model = SVGPRegressor(normalize_y=normalize_y, n_inducing=15, max_iter=10, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X[index], y[index])
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-7)


def test_an_identity_is_what_normalize_y_true_is(monkeypatch):
    """A model whose warp is the identity predicts as one without, to 1e-10."""
    X, y, _ = skewed(100)
    plain = SVGPRegressor(n_inducing=10, max_iter=10, random_state=0)
    other = clone(plain).set_params(normalize_y="yeo-johnson")
    monkeypatch.setattr(
        "sklearn_sgp.estimators.steps.power_warps", lambda y, weight: (Identity(),) * y.shape[1]
    )
    plain.fit(X, y), other.fit(X, y)
    for method, arguments in (
        ("predict_std", (X,)),
        ("predict_std", (X, False)),
        ("predict", (X,)),
        ("predict_quantiles", (X,)),
        ("log_density", (X, y)),
        ("noise_std", (X,)),
        ("sample_y", (X[:5],)),
    ):
        expected = getattr(plain, method)(*arguments)
        assert_allclose(getattr(other, method)(*arguments), expected, rtol=1e-10, atol=1e-10)
    assert_allclose(other.objective_, plain.objective_, rtol=1e-12)
    joint, expected = (m.predict(X[:9], return_cov=True)[1] for m in (other, plain))
    assert_allclose(joint, expected, rtol=1e-9, atol=1e-12)


# Poor data and bad values


POOR = {
    "one row": (np.zeros((1, 1)), np.array([3.0])),
    "a constant": (np.arange(30.0)[:, None], np.full(30, 7.0)),
    "two values": (np.arange(40.0)[:, None], np.arange(40) % 2 * 1.0),
    "an outlier": (np.arange(60.0)[:, None], np.append(np.sin(np.arange(59.0)), 1e8)),
    "a negative outlier": (np.arange(60.0)[:, None], np.append(np.sin(np.arange(59.0)), -1e8)),
    "huge": (np.arange(60.0)[:, None], 1e80 * np.sin(np.arange(60.0))),
    "tiny": (np.arange(60.0)[:, None], 1e-80 * np.sin(np.arange(60.0))),
    "far from zero": (np.arange(60.0)[:, None], 1e12 + np.sin(np.arange(60.0))),
    "repeated": (np.arange(60.0)[:, None], np.round(2.0 * np.sin(np.arange(60.0)) + 5.0)),
}


@pytest.mark.quick_cases(
    "*-SVGPRegressor-*", "*-AnytimeSGPRegressor-warped", "*-StreamingSGPRegressor-yeo-johnson"
)
@pytest.mark.filterwarnings("ignore")
@each_warp
@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("case", POOR)
def test_poor_data_give_finite_predictions(kind, normalize_y, case):
    """One row, constants, outliers and extreme units: all predictions are finite."""
    X, y = POOR[case]
    model = kind(normalize_y=normalize_y, n_inducing=8, max_iter=5, random_state=0).fit(X, y)
    new = np.array([[0.0], [3.3], [1e3]])
    mean, std = model.predict(new, return_std=True)
    quantiles = model.predict_quantiles(new, (0.001, 0.5, 0.999))
    for values in (mean, std, quantiles, model.log_density(X, y), model.objective_):
        assert np.isfinite(values).all()
    assert (np.diff(quantiles) >= 0.0).all()


@each_regressor
@pytest.mark.parametrize("bad", ["log", "Warped", "box-cox", 1.5, None, ["warped"]])
def test_other_values_are_refused(kind, bad):
    """What is no bool, known name or pair is an error that names the parameter."""
    X, y, _ = skewed(20)
    with pytest.raises(ValueError, match=r"The 'normalize_y' parameter.*must be.*Got"):
        kind(normalize_y=bad).fit(X, y)


@each_warp
def test_a_failed_fit_leaves_the_model(normalize_y):
    """After an error the model predicts as before."""
    model = fitted(normalize_y=normalize_y, n=100, max_iter=5)
    X, before = np.zeros((3, 1)), None
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit([[0.0], [1.0]], [1.0, np.nan])
    with pytest.raises(ValueError, match="inducing"):
        model.set_params(inducing=np.zeros((2, 5))).fit(*skewed(50)[:2])
    assert_array_equal(model.predict(X), before)


def test_counts_are_never_warped():
    """Likelihoods that do not scale targets take the parameter without effect, as True."""
    X = np.linspace(0.0, 3.0, 60)[:, None]
    y = np.random.default_rng(0).poisson(np.exp(X[:, 0]))
    one, other = (
        SVGPRegressor(likelihood="poisson", normalize_y=given, n_inducing=6, random_state=0)
        .fit(X, y)
        .predict(X)
        for given in (True, "warped")
    )
    assert_array_equal(one, other)


# scikit-learn's tools


def test_pickles_clones_and_searches(models):
    """A loaded model predicts bit-equal; normalize_y can be searched; clones are equal."""
    X, y, _ = skewed(120)
    model = models["gaussian"]
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).normalize_y == "warped"
    search = GridSearchCV(
        SVGPRegressor(n_inducing=10, max_iter=5, random_state=0),
        {"normalize_y": [True, "yeo-johnson", "warped", (1.0, 2.0)]},
        scoring=lambda model, X, y: model.log_density(X, y).mean(),
        cv=2,
    ).fit(X, y)
    assert search.best_params_["normalize_y"] in ("yeo-johnson", "warped")


def test_fits_repeat(models):
    """The same random_state gives the same model."""
    X = np.linspace(-3.0, 3.0, 5)[:, None]
    assert_array_equal(fitted().predict(X), models["gaussian"].predict(X))


@pytest.mark.quick_cases("StreamingSGPRegressor-student_t", "AnytimeSGPRegressor-heteroscedastic")
@pytest.mark.parametrize(("kind", "likelihood"), product(REGRESSORS[1:], LIKELIHOODS[1:3]))
def test_other_models_take_other_noise(kind, likelihood):
    """Block models and streams predict with warps and other noise: bands hold what they say."""
    model = fitted(kind, likelihood=likelihood, max_iter=20)
    new, seen, _ = skewed(400, seed=2)
    low, high = model.predict_quantiles(new, (0.05, 0.95)).T
    assert 0.75 < np.mean((seen > low) & (seen < high)) < 0.99
    assert np.isfinite(model.predict(new[:50], return_std=True)).all()


@pytest.mark.parametrize("given", [[0.1, 0.2], [0.1, 0.2, 0.3, 0.4], [0.1, -0.2, 0.3]])
def test_noise_that_cannot_be(given):
    """A noise variance of another length or sign is refused before a warp is learned with it."""
    X, y = np.linspace(0.0, 1.0, 9)[:, None], np.tile(np.arange(9.0)[:, None], 3)
    with pytest.raises(ValueError, match="'noise_variance' parameter must be"):
        SVGPRegressor(normalize_y="warped", noise_variance=given).fit(X, y)
