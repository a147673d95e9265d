"""The distributions that `predict_distribution` returns, against scipy's and against draws."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

REGRESSORS = [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor]
LIKELIHOODS = ["gaussian", "student_t", "poisson"]
METHODS = ["cdf", "sf", "pdf", "logpdf"]


def fitted(X, y, likelihood="gaussian", kind=SVGPRegressor, **parameters):
    """A quick regressor; targets are made counts where the likelihood wants them."""
    if likelihood == "poisson":
        y = np.round(np.abs(y))
    if kind is not AnytimeSGPRegressor:
        parameters["likelihood"] = likelihood
    return kind(n_inducing=10, max_iter=5, random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("outputs", [1, 2])
def test_gaussian_noise_gives_the_normal_distribution(kind, outputs, toy, toy_outputs):
    """Every method agrees with scipy's frozen normal distribution, of one or two outputs."""
    X, y = toy if outputs == 1 else toy_outputs
    # that is said, as a share of rows may be unlike all others where next to no noise is found
    model = fitted(X, y, kind=kind, noise_variance_bounds="fixed")
    mean, std = model.predict(X[:7], return_std=True)
    ours, scipys = model.predict_distribution(X[:7]), stats.norm(mean, std)
    assert ours.shape == mean.shape
    for name in ("mean", "median", "std", "var"):
        assert_allclose(getattr(ours, name)(), getattr(scipys, name)(), rtol=1e-9)
    for value in (6.0, y[:7], np.linspace(-50, 50, 4).reshape(-1, *[1] * mean.ndim)):
        for name in METHODS:
            assert_allclose(  # what is not normal in floating point has fewer digits
                getattr(ours, name)(value), getattr(scipys, name)(value), rtol=1e-7, atol=1e-300
            )
    for q in (0.3, np.full(mean.shape, 0.9), np.reshape([0.01, 0.5], (2, *[1] * mean.ndim))):
        assert_allclose(ours.ppf(q), scipys.ppf(q), rtol=1e-9)
    assert_allclose(ours.interval(0.8), scipys.interval(0.8), rtol=1e-9)


def test_far_tails_keep_their_digits(toy):
    """P(Y > y) is right to rounding where it is too small to be 1 - cdf."""
    model = fitted(*toy)
    mean, std = model.predict(toy[0], return_std=True)
    ours = model.predict_distribution(toy[0])
    assert_allclose(ours.sf(mean + 20 * std), stats.norm.sf(20.0), rtol=1e-9)


@pytest.mark.parametrize("likelihood", ["gaussian", "student_t", "heteroscedastic"])
def test_no_density_at_infinity(likelihood, toy):
    """Where there is no lowest target -inf is none."""
    ours = fitted(*toy, likelihood).predict_distribution(toy[0][:3])
    assert_array_equal(ours.logpdf([[-np.inf], [np.inf]]), -np.inf)  # the first was log(tiny)
    assert_allclose(ours.cdf([[-np.inf], [np.inf]]), [[0.0] * 3, [1.0] * 3])


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_levels_of_their_own(likelihood, toy):
    """ppf takes a level for each row, and its column k is that of predict_quantiles."""
    X, y = toy
    model = fitted(X, y, likelihood)
    levels = np.array([0.05, 0.5, 0.95, 0.5, 0.2])
    columns = model.predict_quantiles(X[:5], levels)
    distribution = model.predict_distribution(X[:5])
    assert_allclose(distribution.ppf(levels), np.diagonal(columns), rtol=1e-7)
    assert_allclose(distribution.ppf(levels[:, None]), columns.T, rtol=1e-7)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_density_is_that_of_log_density(likelihood, toy, toy_outputs):
    """logpdf, summed over outputs, is log_density."""
    for X, y in (toy, toy_outputs):
        model = fitted(X, y, likelihood)
        y = np.round(np.abs(y))
        logpdf = model.predict_distribution(X).logpdf(y)
        assert logpdf.shape == y.shape
        assert_allclose(logpdf.reshape(len(X), -1).sum(axis=1), model.log_density(X, y), rtol=1e-9)


def test_student_t_cdf_is_the_integral_of_its_density(toy):
    """Between two values the cdf of Student-t noise rises by the integral of the density."""
    X, y = toy
    distribution = fitted(X, y, "student_t").predict_distribution(X[:1])
    low, high = y[0] - 1.0, y[0] + 0.7
    integral, _ = quad(lambda v: distribution.pdf(v).item(), low, high)
    rise = distribution.cdf(high) - distribution.cdf(low)
    assert_allclose(rise, integral, rtol=1e-8)
    assert_allclose(distribution.cdf(high) + distribution.sf(high), 1.0, rtol=1e-9)


def test_poisson_cdf_is_the_sum_of_probabilities(toy_outputs):
    """The cdf of counts is a staircase of probabilities, each output with its own offset."""
    X, y = toy_outputs
    distribution = fitted(X, y, "poisson").predict_distribution(X[:3])
    counts = np.arange(60.0)[:, None, None]
    cdf = distribution.cdf(counts)
    assert cdf.shape == (60, 3, 2)
    assert_allclose(cdf, np.cumsum(distribution.pdf(counts), axis=0), rtol=1e-7, atol=1e-12)
    assert_allclose(distribution.sf(counts), 1.0 - cdf, atol=1e-10)
    assert_array_equal(distribution.cdf(counts + 0.5), cdf)
    assert_array_equal(distribution.cdf(-0.5), 0.0)
    assert_array_equal(distribution.sf(-0.5), 1.0)
    assert_array_equal(distribution.logpdf(2.5), -np.inf)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_draws_follow_the_distribution(likelihood, toy):
    """Many draws have the mean, the deviation and the cdf of the distribution."""
    X, y = toy
    distribution = fitted(X, y, likelihood).predict_distribution(X[:3])
    draws = distribution.rvs((20_000, 3), random_state=0)
    se = distribution.std() / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - distribution.mean()) < 5 * se).all()
    middle = distribution.median()
    share = (draws <= middle).mean(axis=0)
    assert_allclose(share, distribution.cdf(middle), atol=0.02)


def test_shapes_of_draws(toy_outputs):
    """rvs draws one value for each prediction, or as many as size says, and repeats by its seed."""
    X, y = toy_outputs
    distribution = fitted(X, y).predict_distribution(X[:4])
    assert distribution.rvs().shape == (4, 2)
    assert distribution.rvs((5, 4, 2)).shape == (5, 4, 2)
    one, same = (distribution.rvs((5, 4, 2), random_state=3) for _ in range(2))
    assert_array_equal(one, same)
    assert len(np.unique(one)) == one.size
    with pytest.raises(ValueError, match=r"'size' parameter must end with .*\(4, 2\).*Got \(5,\)"):
        distribution.rvs(5)


def test_one_row_takes_many_values(toy):
    """The distribution of one row takes a grid of values, as a frozen distribution does."""
    X, y = toy
    model = fitted(X, y)
    grid = np.linspace(0.0, 10.0, 11)
    mean, std = (part.item() for part in model.predict(X[:1], return_std=True))
    distribution = model.predict_distribution(X[:1])
    assert_allclose(distribution.cdf(grid), stats.norm.cdf(grid, mean, std), rtol=1e-7)
    assert distribution.rvs(9).shape == (9,)


@pytest.mark.parametrize(("method", "name"), [("ppf", "q"), ("interval", "confidence")])
@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, np.nan, "much"])
def test_levels_that_cannot_be(method, name, level, toy):
    """A level outside of (0, 1) is an error that names the parameter, never NaN."""
    distribution = fitted(*toy).predict_distribution(toy[0])
    with pytest.raises(ValueError, match=f"'{name}' parameter must be numbers strictly between"):
        getattr(distribution, method)(level)


def test_values_that_do_not_broadcast(toy):
    """Values of a wrong shape are an error that says which shape is right."""
    distribution = fitted(*toy).predict_distribution(toy[0][:4])
    with pytest.raises(ValueError, match=r"must broadcast .*\(4,\).*\(k, 1\).*Got \(3,\)"):
        distribution.cdf(np.zeros(3))


def test_it_stays_as_it_was(toy):
    """A later fit does not change a distribution, and a pickled one is the same."""
    X, y = toy
    model = fitted(X, y)
    distribution = model.predict_distribution(X)
    before = distribution.mean()
    model.fit(X, -y)
    assert_array_equal(distribution.mean(), before)
    assert_array_equal(pickle.loads(pickle.dumps(distribution)).cdf(y), distribution.cdf(y))
    assert repr(distribution) == "PredictiveDistribution(shape=(60,), likelihood=Gaussian())"


def test_behind_a_pipeline(toy):
    """The steps before the regressor make the inputs that its distributions are of."""
    X, y = toy
    model = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0)
    pipe = make_pipeline(StandardScaler(), model).fit(X, y)
    distribution = pipe[-1].predict_distribution(pipe[:-1].transform(X))
    assert_allclose(distribution.mean(), pipe.predict(X), rtol=1e-9)


def test_blocks_are_taken(toy):
    """In blocks, the distribution is that of the block that a row is said to belong to."""
    X, y = np.column_stack([np.repeat([3, 7], 30), toy[0]]), toy[1]
    model = AnytimeSGPRegressor(n_inducing=10, max_iter=3, block_column=0, random_state=0)
    mean, std = model.fit(X, y).predict(X, return_std=True)
    distribution = model.predict_distribution(X)
    assert_allclose(distribution.mean(), mean)
    assert_allclose(distribution.std(), std)
