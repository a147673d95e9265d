"""Regressors with counts that vary more than Poisson's, positive numbers, shares and limits."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.likelihoods import Beta, Censored, Gamma, NegativeBinomial

NAMES = ["negative_binomial", "gamma", "beta", "censored"]
EACH = pytest.mark.parametrize("name", NAMES)
ESTIMATORS = {
    "variational": SVGPRegressor(n_inducing=12, max_iter=30),
    "near rows": AnytimeSGPRegressor(
        1.0 * RBF(1.0), n_inducing=12, n_neighbors=60, init_size=400, max_iter=15
    ),
    "stream": StreamingSGPRegressor(n_inducing=12, init_size=150, batch_size=150),
}
EVERYWHERE = pytest.mark.parametrize("where", ESTIMATORS)


def table(name, n=300, seed=0):
    """Inputs, targets, and the function."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 1))
    f = np.sin(X[:, 0])
    if name == "negative_binomial":
        rate = np.exp(1.5 + f) * rng.gamma(2.0, 0.5, n)
        return X, rng.poisson(rate).astype(float), np.exp(1.5 + f)
    if name == "gamma":
        return X, np.exp(f) * rng.gamma(4.0, 0.25, n), np.exp(f)
    if name == "beta":
        mean = 1.0 / (1.0 + np.exp(-f))
        return X, rng.beta(8.0 * mean, 8.0 - 8.0 * mean), mean
    y = 50.0 + 10.0 * (f + 0.2 * rng.standard_normal(n))
    return X, np.maximum(y, 47.0), 50.0 + 10.0 * f


def learned(model, name, where, **options):
    X, y, mean = table(name)
    model = clone(model).set_params(likelihood=name, random_state=0, n_jobs=1, **options)
    return model.fit(X, y), X, y, mean


@pytest.mark.quick_cases(
    "near rows-censored", "variational-gamma", "stream-beta", "stream-negative_binomial"
)
@EACH
@EVERYWHERE
def test_they_are_learned_by_every_regressor(name, where):
    """Means are found, the parameter of width is learned and told, predictions go together."""
    model, X, y, mean = learned(ESTIMATORS[where], name, where)
    spread = mean.std()
    assert np.sqrt(np.mean((model.predict(X) - mean) ** 2)) < 0.35 * spread
    own, truth = {
        "negative_binomial": (lambda one: one.dispersion, 0.5),
        "gamma": (lambda one: one.shape, 4.0),
        "beta": (lambda one: one.precision, 8.0),
        "censored": (lambda one: np.sqrt(one.noise_variance) * model.y_scale_, 2.0),
    }[name]
    assert 0.6 * truth < own(model.likelihood_) < 1.6 * truth
    new = X[:40]
    first, std = model.predict(new, return_std=True)
    assert_allclose(model.predict_distribution(new).mean(), first, rtol=1e-9)
    assert_allclose(model.predict_std(new), std)
    low, high = model.predict_quantiles(X, (0.05, 0.95)).T
    assert 0.84 < np.mean((y >= low) & (y <= high)) or name == "censored"
    draws = model.sample_y(new, 400, random_state=1)
    assert draws.shape == (40, 400)
    assert_allclose(draws.mean(axis=1).mean(), first.mean(), rtol=0.1)
    assert np.isfinite(model.log_density(X, y)).all()
    covariance = model.predict(new, return_cov=True)[1]
    assert_allclose(np.sqrt(np.diag(covariance)), std, rtol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(new), model.predict(new))


@pytest.mark.quick_cases("variational-*", "near rows-censored")
@EACH
@pytest.mark.parametrize("where", ["variational", "near rows"])
def test_weights_are_repetitions(name, where):
    """Weight 2 is the row twice."""
    X, y, _ = table(name, 60)
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(60), weight.astype(int))
    model = clone(ESTIMATORS[where]).set_params(
        likelihood=name, kernel=1.0 * RBF(1.0), inducing=X[::5], optimize_inducing=False
    )
    one = clone(model).fit(X, y, weight)
    two = clone(model).fit(X[repeated], y[repeated])
    assert_allclose(one.predict(X), two.predict(X), rtol=1e-4)
    assert_allclose(one.objective_, two.objective_, rtol=1e-5)


@EACH
def test_no_numbers_of_other_kinds(name):
    """Targets that cannot be are refused by name, before and in later batches."""
    X, y, _ = table(name, 60)
    model = SVGPRegressor(likelihood=name, n_inducing=5, max_iter=3)
    if name == "censored":
        with pytest.raises(ValueError, match="normalize_y"):
            model.set_params(normalize_y="warped").fit(X, y)
        return
    with pytest.raises(ValueError, match="y must hold"):
        model.fit(X, np.append(y[1:], -0.5))
    model.partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="y must hold"):
        model.partial_fit(X, -1.0 - y)
    assert_array_equal(model.predict(X), before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Intervals of 90%")  # of Poisson counts, which is right
def test_counts_that_vary_more_have_wider_bands():
    """Where counts vary more than Poisson's, bands hold their share, and counts are more likely."""
    X, y, _ = table("negative_binomial", 600)
    train, test = slice(0, 400), slice(400, None)
    share, density = {}, {}
    for name in ("poisson", "negative_binomial"):
        model = SVGPRegressor(likelihood=name, n_inducing=12, random_state=0).fit(
            X[train], y[train]
        )
        low, high = model.predict_quantiles(X[test], (0.05, 0.95)).T
        share[name] = np.mean((y[test] >= low) & (y[test] <= high))
        density[name] = model.log_density(X[test], y[test]).mean()
    assert 0.86 < share["negative_binomial"] < 0.98
    assert density["negative_binomial"] > density["poisson"] + 0.1


BEYOND = {
    "variational": (SVGPRegressor, {"n_inducing": 15}),
    "near rows": (AnytimeSGPRegressor, {}),
    "stream": (StreamingSGPRegressor, {"n_inducing": 15, "init_size": 150, "batch_size": 150}),
}


@pytest.mark.slow
@pytest.mark.parametrize("where", BEYOND)
def test_limits_are_no_values(where):
    """Predictions beyond a limit are those of targets without it; as values limits mislead.

    The values that were censored are predicted with 1.1 times the RMSE of knowing them all, and a
    tenth of the bias. Errors of the function itself are 2 to 3 times those of knowing: no row of
    the valley tells how deep it is.
    """
    make, options = BEYOND[where]
    names, squares, biases = ("known", "values", "limits"), [], []
    for seed in range(3, 9):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0.0, 6.0, (400, 1))
        truth = np.sin(X[:, 0])
        full = truth + 0.15 * rng.standard_normal(400)
        y, beyond = np.maximum(full, -0.5), full < -0.5
        assert 0.28 < beyond.mean() < 0.45
        likelihoods = dict.fromkeys(names, "gaussian") | {"limits": Censored(lower=-0.5)}
        means = [
            make(likelihood=likelihood, random_state=0, **options)
            .fit(X, full if name == "known" else y)
            .predict(X)[beyond]
            for name, likelihood in likelihoods.items()
        ]
        squares.append([np.mean((mean - full[beyond]) ** 2) for mean in means])
        biases.append([np.mean(mean - truth[beyond]) for mean in means])
    known, _, limits = np.sqrt(np.mean(squares, axis=0))
    assert limits < 1.1 * known
    _, of_values, of_limits = np.transpose(biases)
    error = of_limits.std(ddof=1) / np.sqrt(len(of_limits))
    assert abs(of_limits.mean()) < 0.1 * of_values.mean() + error
    assert error < 0.1 * of_values.mean()


@pytest.mark.filterwarnings("ignore:Intervals of 90%:UserWarning")
def test_parameters_that_are_given_stay():
    """A number of one's own is not learned; several outputs may have one each."""
    X, y, _ = table("gamma", 80)
    Y = np.column_stack([y, y[::-1]])
    kernel = 1.0 * RBF(1.0)
    model = SVGPRegressor(kernel, likelihood=Gamma(shape=[3.0, 5.0]), n_inducing=8, max_iter=5)
    model.fit(X, Y)
    assert_array_equal(model.likelihood_.shape, [3.0, 5.0])
    apart = SVGPRegressor(likelihood=Gamma(), n_inducing=8, random_state=0).fit(X, Y)
    assert apart.likelihood_.shape.shape == (2,)
    for given in (NegativeBinomial(0.5), Beta(3.0), Censored(lower=0.1, noise_variance=0.2)):
        assert clone(given).get_params() == given.get_params()


def test_units_of_numbers_with_limits_do_not_matter():
    """Targets and limits times a thousand have predictions times a thousand."""
    X, y, _ = table("censored", 150)
    one = SVGPRegressor(likelihood=Censored(lower=47.0), n_inducing=10, random_state=0).fit(X, y)
    other = clone(one).set_params(likelihood=Censored(lower=47e3)).fit(X, 1e3 * y)
    assert_allclose(other.predict(X), 1e3 * one.predict(X), rtol=1e-6)
    assert_allclose(other.log_density(X, 1e3 * y)[y > 47.0], one.log_density(X, y)[y > 47.0]
                    - np.log(1e3), rtol=1e-5)  # fmt: skip
    assert_allclose(other.log_density(X, 1e3 * y)[y <= 47.0], one.log_density(X, y)[y <= 47.0],
                    rtol=1e-5)  # fmt: skip


@pytest.mark.slow
def test_batches_beyond_a_limit_are_no_drift():
    """Rows that are predicted far beyond the limit at which they are count as what is expected."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 2.0, (200, 1))
    y = 2.0 * X[:, 0] + 0.05 * rng.standard_normal(200)
    model = SVGPRegressor(likelihood=Censored(upper=2.5), n_inducing=10, random_state=0)
    model.partial_fit(X, np.minimum(y, 2.5))
    later = rng.uniform(1.5, 2.0, (60, 1))
    model.partial_fit(later, np.full(60, 2.5))


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_numbers_with_limits_need_no_scaling(unit):
    """As they are given they have much the predictions that they have when they are scaled."""
    X, y, _ = table("censored", 150)
    options = {"likelihood": Censored(lower=47.0 * unit), "n_inducing": 10, "random_state": 0}
    scaled = SVGPRegressor(**options).fit(X, unit * y)
    given = SVGPRegressor(**options, normalize_y=(50.0 * unit, 1.0)).fit(X, unit * y)
    mean, std = scaled.predict(X, return_std=True)
    error = np.abs(given.predict(X) - mean) / std
    assert error.max() < 0.2
    assert_allclose(given.predict_std(X), std, rtol=0.1)


def test_limits_of_a_first_batch_that_is_constant_have_its_units():
    """They were those of a scale of 1, so that numbers from half of the upper limit on were it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (240, 1))
    y = 4.5 + 3.5 * np.sin(X[:, 0]) + 0.2 * rng.standard_normal(240)
    model = StreamingSGPRegressor(
        likelihood=Censored(lower=0.5, upper=10.0), n_inducing=15, random_state=0
    )
    model.partial_fit(X[:40], np.full(40, 0.5)).partial_fit(X[40:200], y[40:200])
    likelihood, targets = model.likelihood_, model._fitted.targets
    at = targets.scaled(np.array([[0.5], [0.6], [6.0], [9.9], [10.0]]))
    assert_array_equal(likelihood.are_numbers(at).ravel(), [False, True, True, True, False])
    one = model.log_density(X[200:201], [0.5])
    assert_allclose(np.exp(one), model.predict_distribution(X[200:201]).cdf(0.5), rtol=1e-6)


def test_constant_targets_are_one_limit():
    """As both limits they made all later targets say only that they are above or below."""
    X = np.linspace(0.0, 6.0, 80)[:, None]
    model = StreamingSGPRegressor(likelihood="censored", n_inducing=10, random_state=0)
    model.partial_fit(X[:40], np.zeros(40))
    y = np.maximum(3.0 * np.sin(X[40:, 0]), 0.0)
    model.partial_fit(X[40:], y)
    at = model._fitted.targets.scaled(y[:, None])
    assert_array_equal(model.likelihood_.are_numbers(at)[:, 0], y > 0.0)


def test_one_parameter_in_a_list_is_that_of_all_outputs():
    X = np.linspace(0.0, 6.0, 40)[:, None]
    counts = np.random.default_rng(0).poisson(3.0, (40, 2)).astype(float)
    for likelihood in (NegativeBinomial(dispersion=[0.5]), Gamma(shape=[3.0])):
        model = SVGPRegressor(likelihood=likelihood, n_inducing=5, max_iter=3, random_state=0)
        model.fit(X, counts + 1.0)
        assert model.predict(X, quantiles=[0.5]).shape == (40, 2, 1)
