"""Metrics agree with their definitions, and scorers work in pipelines and searches."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.metrics import (
    continuous_ranked_probability_score,
    interval_coverage,
    log_density_scorer,
    neg_crps_scorer,
    negative_log_predictive_density,
    predictive_efficiency,
    time_efficiency,
)

GAUSSIAN_SCORES = [negative_log_predictive_density, continuous_ranked_probability_score]


class GaussianStub(RegressorMixin, BaseEstimator):
    """Predicts the mean of y plus ``slope`` times the first input, with a fixed spread."""

    def __init__(self, slope=0.0, std=1.0):
        self.slope = slope
        self.std = std

    def fit(self, X, y):
        self.mean_ = np.mean(y, axis=0)
        return self

    def predict(self, X, return_std=False):
        first = np.asarray(X)[:, 0]
        mean = self.mean_ + self.slope * first.reshape(-1, *(1,) * np.ndim(self.mean_))
        return (mean, np.full(mean.shape, self.std)) if return_std else mean

    def log_density(self, X, y):
        density = norm.logpdf(y, *self.predict(X, return_std=True))
        return density if density.ndim == 1 else density.sum(axis=1)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, 3.0, (60, 2))
    return X, 2.0 * X[:, 0] + rng.normal(size=60)


@pytest.fixture
def predictions():
    rng = np.random.default_rng(1)
    y, mean = rng.normal(size=(2, 12, 3))
    return y, mean, rng.uniform(0.2, 3.0, (12, 3))


def crps_by_quadrature(y, mean, std):
    def squared_distance(t):
        return (norm.cdf(t, mean, std) - (t >= y)) ** 2

    ends = sorted([mean - 12 * std, y, mean + 12 * std])
    return sum(quad(squared_distance, *piece)[0] for piece in pairwise(ends))


def test_density_is_that_of_scipy(predictions):
    """The score is the mean over the rows of the negative joint log density of the outputs."""
    y, mean, std = predictions
    expected = -norm.logpdf(y, mean, std)
    score = negative_log_predictive_density(y, mean, std)
    assert score == pytest.approx(expected.sum(axis=1).mean())
    score = negative_log_predictive_density(y[:, 0], mean[:, 0], std[:, 0])
    assert score == pytest.approx(expected[:, 0].mean())


def test_crps_is_its_integral(predictions):
    """The score is the mean integral of the squared distance of the distribution functions."""
    y, mean, std = predictions
    expected = np.vectorize(crps_by_quadrature)(y, mean, std)
    score = continuous_ranked_probability_score(y, mean, std)
    assert score == pytest.approx(expected.mean())
    score = continuous_ranked_probability_score(y[:, 0], mean[:, 0], std[:, 0])
    assert score == pytest.approx(expected[:, 0].mean())


def test_scores_follow_the_units(predictions):
    """A change of units multiplies the CRPS by b and adds log(b) to the log density score."""
    y, mean, std = predictions
    y, mean, std = y[:, 0], mean[:, 0], std[:, 0]
    moved = (7.0 + 60.0 * y, 7.0 + 60.0 * mean, 60.0 * std)
    crps = continuous_ranked_probability_score(y, mean, std)
    assert continuous_ranked_probability_score(*moved) == pytest.approx(60.0 * crps)
    nlpd = negative_log_predictive_density(y, mean, std)
    assert negative_log_predictive_density(*moved) == pytest.approx(nlpd + np.log(60.0))


@pytest.mark.parametrize("std", [1e-300, 1e-150, 1e-12])
def test_crps_without_spread_is_the_absolute_error(std):
    """A tiny standard deviation gives the absolute error and no warning."""
    score = continuous_ranked_probability_score([1.5, 2.0], [1.0, 2.0], [std, std])
    assert score == pytest.approx(0.25)


def test_density_of_a_tiny_spread():
    """Scores of tiny spreads are exact, and inf above the largest float."""
    assert negative_log_predictive_density([1.0], [1.0], [1e-300]) == pytest.approx(
        0.5 * np.log(2 * np.pi) - 300 * np.log(10.0)
    )
    assert negative_log_predictive_density([1.0], [0.0], [1e-100]) == pytest.approx(5e199)
    assert negative_log_predictive_density([1.0], [0.0], [1e-300]) == np.inf


@pytest.mark.parametrize("score", GAUSSIAN_SCORES)
def test_huge_spread(score):
    """The largest spreads give finite scores."""
    assert np.isfinite(score([1e300, -1e300], [0.0, 0.0], [1e300, 1e300]))


def test_coverage_counts_both_ends():
    """Observations at the ends of their interval are covered; observations beyond are not."""
    y = [0.0, 1.0, 2.0, 2.5]
    assert interval_coverage(y, [0.0] * 4, [2.0] * 4) == 0.75
    two_outputs = np.column_stack([y, y])
    lower, upper = np.zeros((4, 2)), np.tile([2.0, 3.0], (4, 1))
    assert interval_coverage(two_outputs, lower, upper) == pytest.approx((0.75 + 1.0) / 2)


def test_coverage_of_calibrated_bands():
    """Central bands of the true distribution cover their nominal share of observations."""
    y = np.random.default_rng(0).normal(size=20_000)
    for level in (0.5, 0.9, 0.99):
        half_width = np.full(len(y), norm.ppf(0.5 + level / 2))
        assert interval_coverage(y, -half_width, half_width) == pytest.approx(level, abs=0.01)


@pytest.mark.parametrize("metric", [*GAUSSIAN_SCORES, interval_coverage])
def test_weights_are_repetitions(metric, predictions):
    """Weight 2 counts a row twice, weight 0 leaves it out, for one output and for several."""
    y, mean, std = predictions
    std[1] = 1e-300  # infinite log density at a row of weight 0
    weight = np.resize([1, 0, 2], len(y))
    if metric is interval_coverage:
        mean, std = mean - std, mean + std
    for rows in (np.s_[:], np.s_[:, 0]):
        arrays = [array[rows] for array in (y, mean, std)]
        repeated = [np.repeat(array, weight, axis=0) for array in arrays]
        assert metric(*arrays, sample_weight=weight) == pytest.approx(metric(*repeated))


@pytest.mark.parametrize("metric", [*GAUSSIAN_SCORES, interval_coverage])
def test_results_are_floats_for_lists_and_single_precision(metric):
    """Lists, integers and float32 are accepted; the result is a Python float."""
    expected = metric([1.0, 3.0], [0.0, 1.0], [1.0, 2.0])
    assert type(expected) is float
    assert metric([1, 3], [0, 1], [1, 2]) == expected
    assert metric(*np.float32([[1, 3], [0, 1], [1, 2]])) == expected


@pytest.mark.parametrize("score", GAUSSIAN_SCORES)
@pytest.mark.parametrize(
    "arguments, message",
    [
        (([1, 2], [1, 2], [1.0, 0.0]), r"std must be positive. Got 0 at index 1"),
        (([[1, 2]], [[1, 2]], [[1, -3]]), r"std must be positive. Got -3 at index 0, 1"),
        (([1, 2], [[1], [2]], [1, 1]), r"the same shape.*y \(2,\), mean \(2, 1\), std \(2,\)"),
        (([1, 2], [1, 2], [1]), r"the same shape"),
        (([1, 2], [1, 2], 1.0), r"std must have one entry for each row. Got the scalar 1.0"),
        (([1, 2], [1, np.nan], [1, 1]), r"mean contains NaN"),
        (([1, np.inf], [1, 2], [1, 1]), r"y contains infinity"),
        (([], [], []), r"minimum of 1 is required"),
        ((np.ones((1, 1, 1)),) * 3, r"dim 3"),
    ],
)
def test_gaussian_scores_refuse(score, arguments, message):
    """Wrong arguments raise a ValueError that names the argument and the value."""
    with pytest.raises(ValueError, match=message):
        score(*arguments)


def test_coverage_refuses_swapped_ends():
    """A lower end above its upper end raises a ValueError with the index."""
    with pytest.raises(ValueError, match=r"lower must not exceed upper. Got 3 above it at index 1"):
        interval_coverage([1, 1], [0, 3], [2, 2])


@pytest.mark.parametrize(
    "weight, message",
    [
        ([1.0], r"sample_weight must have shape \(2,\).*Got \(1,\)"),
        ([[1.0], [1.0]], r"sample_weight must have shape \(2,\)"),
        ([1.0, -2.0], r"must not be negative. Got -2 at index 1"),
        ([0.0, 0.0], r"positive for at least one row"),
        ([1.0, np.nan], r"sample_weight contains NaN"),
    ],
)
def test_weights_are_checked(weight, message):
    """Weights of a wrong shape, negative, all zero or NaN raise a ValueError."""
    with pytest.raises(ValueError, match=message):
        interval_coverage([1, 1], [0, 0], [2, 2], sample_weight=weight)


@pytest.mark.parametrize("efficiency", [time_efficiency, predictive_efficiency])
def test_efficiencies_are_full_over_anytime(efficiency):
    """Efficiencies divide the full computation's number by the anytime variant's."""
    assert efficiency(6.0, 4.0) == 1.5
    assert type(efficiency(6, 4)) is float
    np.testing.assert_array_equal(efficiency(6.0, [3.0, 12.0]), [2.0, 0.5])
    for bad in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"anytime_\w+ must be positive and finite. Got"):
            efficiency(1.0, bad)
        with pytest.raises(ValueError, match=r"full_\w+ must be positive and finite. Got"):
            efficiency(bad, 1.0)


@pytest.mark.parametrize("n_targets", [None, 2])
def test_scorers_are_the_metrics(n_targets, data):
    """Scorers return the negative metrics of the estimator's predictions."""
    X, y = data
    y = y if n_targets is None else np.column_stack([y, -y])
    model = GaussianStub(slope=0.3, std=2.0).fit(X, y)
    predictions = model.predict(X, return_std=True)
    assert log_density_scorer(model, X, y) == pytest.approx(
        -negative_log_predictive_density(y, *predictions)
    )
    assert neg_crps_scorer(model, X, y) == -continuous_ranked_probability_score(y, *predictions)


@pytest.mark.parametrize("scorer", [log_density_scorer, neg_crps_scorer])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: make_pipeline(model),
        lambda model: make_pipeline(StandardScaler(), "passthrough", model),
        lambda model: Pipeline([("outer", StandardScaler()), ("inner", make_pipeline(model))]),
    ],
    ids=["one step", "three steps", "nested"],
)
def test_scorers_look_into_pipelines(scorer, wrap, data):
    """A pipeline scores like its last step on the transformed inputs."""
    X, y = data
    pipeline = wrap(GaussianStub(slope=6.0)).fit(X, y)
    inputs = X if len(pipeline) == 1 else StandardScaler().fit_transform(X)
    alone = GaussianStub(slope=6.0).fit(inputs, y)
    assert scorer(pipeline, X, y) == pytest.approx(scorer(alone, inputs, y))


@pytest.mark.parametrize("scorer", [log_density_scorer, neg_crps_scorer])
def test_scorers_choose_models(scorer, data):
    """A search over a pipeline chooses the better model, and the search itself can be scored."""
    X, y = data
    pipeline = Pipeline([("scale", StandardScaler()), ("gp", GaussianStub())])
    grid = {"gp__slope": [0.0, 6.0], "gp__std": [0.1, 1.0, 10.0]}
    search = GridSearchCV(pipeline, grid, scoring=scorer, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"gp__slope": 6.0, "gp__std": 1.0}
    expected = scorer(search.best_estimator_, X, y)
    assert scorer(search, X, y) == expected == search.score(X, y)
    inside = make_pipeline(StandardScaler(), GridSearchCV(GaussianStub(), {"slope": [6.0]}))
    assert np.isfinite(scorer(inside.fit(X, y), X, y))


def test_crps_scorer_takes_other_gaussian_processes(data):
    """Any regressor whose predict takes return_std can be scored, as in cross_val_score."""
    X, y = data
    scores = cross_val_score(
        GaussianProcessRegressor(optimizer=None, alpha=1.0), X, y, scoring=neg_crps_scorer, cv=3
    )
    assert (scores < 0).all()


@pytest.mark.parametrize(
    "model",
    [GaussianProcessRegressor(RBF() + WhiteKernel(), optimizer=None), BayesianRidge()],
    ids=["gp", "ridge"],
)
def test_log_density_scorer_takes_models_with_deviations(model, data):
    """Other people's regressors with return_std score like Gaussians, in pipelines too."""
    X, y = data
    expected = -negative_log_predictive_density(y, *model.fit(X, y).predict(X, return_std=True))
    assert log_density_scorer(model, X, y) == expected
    assert log_density_scorer(make_pipeline(model).fit(X, y), X, y) == expected
    scores = cross_val_score(model, X, y, scoring=log_density_scorer, error_score="raise")
    assert np.isfinite(scores).all()


def test_log_density_scorer_says_what_it_needs(data):
    """An estimator without densities raises a TypeError that names it and an alternative."""
    X, y = data
    for model in (LinearRegression(), TransformedTargetRegressor(GaussianStub())):
        with pytest.raises(TypeError, match=rf"needs .* log_density .* Got {type(model).__name__}"):
            log_density_scorer(model.fit(X, y), X, y)


def test_crps_scorer_says_what_it_needs(data):
    """An estimator without standard deviations raises a TypeError that names it."""
    X, y = data
    with pytest.raises(TypeError, match=r"needs .* return_std.* Got LinearRegression"):
        neg_crps_scorer(LinearRegression().fit(X, y), X, y)


def test_crps_scorer_takes_what_passes_arguments_on(data):
    """An estimator that hands all arguments of predict to another is asked for return_std."""

    class Wrapper:
        def __init__(self, model):
            self.model = model

        def predict(self, X, **options):
            return self.model.predict(X, **options)

    X, y = data
    model = GaussianStub(slope=0.3, std=2.0).fit(X, y)
    assert neg_crps_scorer(Wrapper(model), X, y) == neg_crps_scorer(model, X, y)


def test_crps_is_of_observations(rng):
    """Also of a model that predicts deviations of the function by default."""
    X = rng.uniform(0.0, 6.0, (120, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=120)
    model = SVGPRegressor(n_inducing=10, max_iter=20, random_state=0).fit(X, y)
    expected = neg_crps_scorer(model, X, y)
    assert neg_crps_scorer(model.set_params(include_noise=False), X, y) == expected
