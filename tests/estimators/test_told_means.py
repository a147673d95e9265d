"""The mean that "auto" tells: what left-out rows vouch for, one number everywhere."""

import copy
import pickle
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.data.targets import Targets
from sklearn_sgp.engines.blocks import engine, solver
from sklearn_sgp.estimators import mean_steps, recipes
from sklearn_sgp.estimators.fit import Fit
from sklearn_sgp.optimize.progress import Clock, Trace
from sklearn_sgp.predict.observations import OWN_MEAN, CombinedMean
from sklearn_sgp.selection.means import MeanChoice, best_mean, costs_mean

KINDS = [
    pytest.param(SVGPRegressor(n_inducing=30, max_iter=30, random_state=0), id="svgp"),
    pytest.param(AnytimeSGPRegressor(n_inducing=30, random_state=0), id="vif"),
]


def tails(n, seed=0):
    """A function with skewed, heavy-tailed noise that grows with it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 1))
    noise = rng.standard_t(2.5, n)
    return X, np.sinh(np.sin(2.0 * X[:, 0]) + 0.7 * noise)


def steps(n, seed=0):
    """A step and waves, with noise in proportion to them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, (n, 2))
    f = 1.0 + np.where(X[:, 0] > 0.5, 12.0, 0.0) + 3.0 * np.sin(9.0 * X[:, 1]) ** 2
    return X, f * (1.0 + 0.02 * rng.normal(size=n))


def interims(monkeypatch, answer):
    """Let ``answer(fitted)`` take the place of what is learned beside the fit that is told."""
    usual = engine.BlockModels.fit

    def fit(self, problem):
        fitted = usual(self, problem)
        return answer(fitted) if problem.is_silent else fitted

    monkeypatch.setattr(engine.BlockModels, "fit", fit)


@pytest.mark.parametrize("few", [0, 1536])
def test_ctrl_c_amid_the_plain_mean_ends_the_fit(few, monkeypatch):
    interims(monkeypatch, lambda fitted: replace(fitted, interrupted=True))
    monkeypatch.setattr(recipes, "_PLAIN_FIRST_ROWS", few)
    X, _ = tails(60)
    with pytest.raises(KeyboardInterrupt):
        AnytimeSGPRegressor(likelihood="auto", random_state=0).fit(X, np.exp(2.0 * np.sin(X[:, 0])))


def test_ctrl_c_amid_the_other_mean_leaves_the_fit(monkeypatch):
    """It was lost where Ctrl-C came between two steps of the fit of that mean."""

    def ends(fitted):
        raise KeyboardInterrupt

    interims(monkeypatch, ends)
    monkeypatch.setattr(recipes, "_PLAIN_FIRST_ROWS", 0)
    X, _ = tails(60)
    model = AnytimeSGPRegressor(likelihood="auto", random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, np.exp(2.0 * np.sin(X[:, 0])))
    assert model.predict(X).shape == (60,)


@pytest.mark.parametrize("error", [KeyboardInterrupt, NotPositiveDefiniteError])
def test_what_ends_learning_of_the_other_mean_leaves_what_is_known_of_it(error, monkeypatch):
    """That takes the default's time, and the one with the same kernel was lost, or the fit."""
    usual = engine.BlockModels.fit

    def fit(self, problem):
        if problem.is_silent and problem.settings.optimizer is not None:
            raise error
        return usual(self, problem)

    monkeypatch.setattr(mean_steps, "best_mean", lambda *_: MeanChoice(0.5, False))
    monkeypatch.setattr(recipes, "_PLAIN_FIRST_ROWS", 0)
    X, y = steps(120, 7)
    model = AnytimeSGPRegressor(n_inducing=20, random_state=0, likelihood="auto")
    monkeypatch.setattr(engine.BlockModels, "fit", fit)
    with pytest.raises(KeyboardInterrupt) if error is KeyboardInterrupt else nullcontext():
        model.fit(X, y)
    told = model._fitted.told_mean
    assert_array_equal(told.share, 0.5)
    assert_array_equal(told.reference.parameters.theta, model._fitted.parameters.theta)


def test_warped_targets_are_learned_where_plain_ones_cannot_be(monkeypatch):
    failed = []

    def answer(fitted):
        if not failed:
            failed.append(fitted)
            raise NotPositiveDefiniteError("lost")
        return fitted

    interims(monkeypatch, answer)
    X, _ = tails(60)
    y = np.exp(2.0 * np.sin(X[:, 0]) + 0.1 * np.random.RandomState(0).standard_normal(60))
    model = AnytimeSGPRegressor(likelihood="auto", random_state=0).fit(X, y)
    assert failed
    assert model.score(X, y) > 0.8


def test_least_squares_decide():
    """The share is that of least squares, from 0 to 1, and 1 where that gains hardly anything."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=5000)
    weight = rng.uniform(0.5, 2.0, 5000)
    one, other = y + rng.normal(size=5000), y + rng.normal(size=5000)
    best = best_mean(y, weight, one, one, other)
    errors = (weight * (one - other)) @ (y - other) / (weight @ (one - other) ** 2)
    assert_allclose(best.share, errors, rtol=1e-4)
    assert best_mean(y, weight, y, y, other).share == 1.0
    assert best_mean(y, weight, other, other, y).share < 0.002
    assert best_mean(y, weight, one, one, one + 1e-3 * rng.normal(size=5000)).share == 1.0


def test_a_share_that_few_rows_tell_is_drawn_to_one_half():
    """As far as it is uncertain: what some rows prefer others need not."""
    rng = np.random.default_rng(1)
    y, weight = rng.standard_t(3, size=60), np.ones(60)
    one, other = y + 0.9 * rng.standard_t(3, size=60), y + rng.standard_t(3, size=60)
    least = (one - other) @ (y - other) / ((one - other) @ (one - other))
    share = best_mean(y, weight, one, one, other, is_learned=True).share
    assert min(0.5, least) < share < max(0.5, least)
    assert abs(share - 0.5) < 0.9 * abs(least - 0.5)


def test_a_mean_that_is_cut_is_taken_where_it_is_nearer():
    """Of the own mean and its cut form the one with smaller squares is combined."""
    y, weight = np.zeros(4), np.ones(4)
    far = np.array([0.0, 0.0, 0.0, np.inf])
    assert best_mean(y, weight, far, np.full(4, 0.1), np.full(4, 1.0)) == (1.0, True)
    assert best_mean(y, weight, np.full(4, 0.1), np.full(4, 0.2), np.full(4, 1.0)) == (1.0, False)


def test_a_mean_that_is_cut_follows_larger_targets():
    """It stayed at the largest target of the first batch, with a deviation of 0."""
    X = np.linspace(0.0, 3.0, 60)[:, None]
    y = np.exp(X[:, 0])
    held = {"optimizer": None, "noise_variance": 0.01, "inducing": X[::5]}
    model = SVGPRegressor(RBF(1.0), normalize_y="yeo-johnson", **held).fit(X[:40], y[:40])
    targets = model._fitted.targets.with_means_within(y[:40, None], True)
    model._fitted = replace(model._fitted, targets=targets)
    assert model.predict(X).max() <= y[39]
    mean, std = model.partial_fit(X[40:], y[40:]).predict(X[-5:], return_std=True)
    distribution = model.predict_distribution(X[-5:])
    assert_allclose(mean, y[-5:], rtol=0.1)
    assert_allclose(std, distribution.rvs((20_000, 5), random_state=0).std(axis=0), rtol=0.05)


def test_a_mean_at_the_wrong_level_is_not_told():
    """Where few large targets make the squares, the mean of the residuals decides."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(4000) < 0.97, 0.0, np.exp(rng.normal(size=4000)))
    weight, level = np.ones(4000), np.full(4000, y.mean())
    assert best_mean(y, weight, 0.3 * level, 0.3 * level, level).share == 0.0
    assert costs_mean(y, weight, 0.3 * level, level)
    assert best_mean(y, weight, level, level, 0.3 * level).share == 1.0
    assert not costs_mean(y, weight, level, 0.3 * level)


@pytest.mark.slow
@pytest.mark.quick_cases("svgp")
@pytest.mark.parametrize("model", KINDS)
def test_is_one_number_everywhere(model):
    """predict, with std and covariance, and the distribution tell the same mean, saved as well."""
    X, y = tails(400)
    model = clone(model).set_params(likelihood="auto").fit(X, y)
    mean = model.predict(X)
    assert_array_equal(model.predict_distribution(X).mean(), mean)
    assert_array_equal(model.predict(X, return_std=True)[0], mean)
    assert_allclose(model.predict(X[:5], return_cov=True)[0], mean[:5], rtol=1e-9)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), mean)
    told = model._fitted.told_mean
    assert 0.0 <= model.mean_share_ <= 1.0
    assert told.is_own == (model.mean_share_ == 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("model", KINDS)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_costs_no_mean(model, seed):
    """New rows have at most 1.01 times the squared errors' root of the default's mean."""
    X, y = tails(1600, seed)
    old, new = slice(0, 500), slice(500, 1600)
    rmse = {}
    for likelihood in ("gaussian", "auto"):
        fitted = clone(model).set_params(likelihood=likelihood).fit(X[old], y[old])
        rmse[likelihood] = np.sqrt(np.mean((fitted.predict(X[new]) - y[new]) ** 2))
    assert rmse["auto"] <= 1.01 * rmse["gaussian"]


@pytest.mark.slow
@pytest.mark.quick_cases("svgp")
@pytest.mark.parametrize("model", KINDS)
def test_the_combination_is_of_the_two_means(model):
    """The mean is the share of the distribution's own, the rest that of the reference."""
    X, y = tails(400)
    model = clone(model).set_params(likelihood="auto").fit(X, y)
    own = _own_mean(model, X)
    reference = clone(model).set_params(likelihood="gaussian").fit(X, y)
    other = reference.predict(X)
    model._fitted = _with_share(model, reference, 0.3)
    assert_allclose(model.predict(X), 0.3 * own + 0.7 * other, rtol=1e-10, atol=1e-12)
    quantiles = model.predict_quantiles(X)
    model._fitted = _with_share(model, reference, 0.9)
    assert_array_equal(model.predict_quantiles(X), quantiles)


@pytest.mark.slow
@pytest.mark.quick_cases("svgp")
@pytest.mark.parametrize("model", KINDS)
def test_later_batches_reach_both_parts(model):
    """After partial_fit the reference knows the new rows as a model of its own does."""
    X, y = tails(500)
    first, later = slice(0, 300), slice(300, 500)
    model = clone(model).set_params(likelihood="auto", normalize_y=True).fit(X[first], y[first])
    reference = clone(model).set_params(likelihood="gaussian").fit(X[first], y[first])
    model._fitted = _with_share(model, reference, 0.4)
    model.partial_fit(X[later], y[later])
    reference.partial_fit(X[later], y[later])
    both = 0.4 * _own_mean(model, X) + 0.6 * reference.predict(X)
    assert_allclose(model.predict(X), both, rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_columns_have_shares_of_their_own():
    """With several outputs each has a share, and means are of the shape of y."""
    X, y = tails(400)
    Y = np.column_stack([y, np.cos(X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=400)])
    model = SVGPRegressor(likelihood="auto", n_inducing=20, max_iter=20, random_state=0).fit(X, Y)
    assert model.mean_share_.shape == (2,)
    assert_array_equal(model.predict_distribution(X).mean(), model.predict(X))


def _own_mean(model, X):
    distribution = model.predict_distribution(X)
    return distribution._moments()[0]


def _with_share(model, reference, share):
    told = CombinedMean(reference._fitted, np.array([share]))
    return replace(model._fitted, told_mean=told)


@pytest.mark.slow
@pytest.mark.parametrize("n_used", [None, 100])
def test_the_other_mean_of_many_rows_is_the_default_where_it_is_told(n_used, monkeypatch):
    """Unless time was over before all rows told it: then it shares the kernel of the targets."""
    usual = engine.BlockModels.fit

    def fit(self, problem):
        fitted = usual(self, problem)
        learned = problem.is_silent and problem.settings.optimizer is not None
        return replace(fitted, n_used=n_used) if learned else fitted

    monkeypatch.setattr(engine.BlockModels, "fit", fit)
    monkeypatch.setattr(mean_steps, "best_mean", lambda *_: MeanChoice(0.5, False))
    monkeypatch.setattr(recipes, "_PLAIN_FIRST_ROWS", 100)
    X, y = steps(200, 7)
    model = AnytimeSGPRegressor(n_inducing=20, random_state=0)
    auto = clone(model).set_params(likelihood="auto").fit(X, y)
    told = auto._fitted.told_mean.reference.parameters.values["theta"]
    default = model.fit(X, y)._fitted.parameters.values["theta"]
    own = auto._fitted.parameters.values["theta"]
    assert_allclose(told, default if n_used is None else own, rtol=1e-6)


def test_the_other_mean_of_many_rows_shares_the_kernel_where_that_predicts_better(monkeypatch):
    """Left-out squares decide: a default that was cut short is not told."""
    usual = engine.BlockModels.fit

    def fit(self, problem):
        if problem.is_silent and problem.settings.optimizer is not None:
            settings = replace(problem.settings, optimizer=None)
            problem = replace(problem, settings=settings)
        return usual(self, problem)

    monkeypatch.setattr(engine.BlockModels, "fit", fit)
    monkeypatch.setattr(mean_steps, "best_mean", lambda *_: MeanChoice(0.5, False))
    monkeypatch.setattr(recipes, "_PLAIN_FIRST_ROWS", 100)
    X, y = steps(200, 7)
    model = AnytimeSGPRegressor(n_inducing=20, random_state=0, likelihood="auto").fit(X, y)
    told = model._fitted.told_mean.reference.parameters.values["theta"]
    assert_allclose(told, model._fitted.parameters.values["theta"], rtol=1e-6)


@pytest.mark.slow
def test_the_other_mean_of_few_rows_is_the_default(monkeypatch):
    """It is learned first, as without a likelihood that is chosen, and kernels are tried once."""
    posed, fit = [], solver.fit_in_blocks

    def recorded(problem, *more):
        posed.append(problem)
        return fit(problem, *more)

    monkeypatch.setattr(engine, "fit_in_blocks", recorded)
    X, y = steps(200, 7)
    model = AnytimeSGPRegressor(n_inducing=20, random_state=0)
    auto = clone(model).set_params(likelihood="auto").fit(X, y)
    assert [len(one.start.alternatives) > 0 for one in posed[:2]] == [True, False]
    assert sum(len(one.start.alternatives) > 0 for one in posed) == 1
    default = model.fit(X, y)._fitted.parameters.values["theta"]
    told = auto._fitted.told_mean.reference.parameters.values["theta"]
    assert_allclose(told, default, rtol=1e-6)
    assert 0.0 < auto.mean_share_ < 1.0


@pytest.mark.slow
def test_the_other_mean_of_many_rows_has_the_near_rows_of_the_fit(monkeypatch):
    """They are not searched for again where the kernel is the same; targets are in their units."""
    made, searches, held = [], [], []
    make, fit = solver._make_blocks, solver.fit_in_blocks

    def counted(*arguments):
        made.append(arguments)
        return make(*arguments)

    def recorded(problem, *more):
        before, fitted = len(made), fit(problem, *more)
        if problem.settings.optimizer is None and problem.rows.counts is None:
            searches.append(len(made) - before)
            held.append(fitted.state.blocks)
        return fitted

    monkeypatch.setattr(solver, "_make_blocks", counted)
    monkeypatch.setattr(engine, "fit_in_blocks", recorded)
    monkeypatch.setattr(recipes, "_PLAIN_FIRST_ROWS", 100)
    X, y = steps(200, 7)
    AnytimeSGPRegressor(n_inducing=20, random_state=0, likelihood="auto").fit(X, y)
    assert searches == [0]
    rows = held[0].rows
    told = (rows.targets * rows.y_scale + rows.y_mean)[np.argsort(rows.X[:, 0]), 0]
    assert_allclose(told, y[np.argsort(X[:, 0])], rtol=1e-8)


def test_a_mean_of_some_rows_is_not_compared(monkeypatch):
    """Where time was over before all rows told it, the distribution's own is told, in silence."""
    interims(monkeypatch, lambda fitted: replace(fitted, n_used=100))
    monkeypatch.setattr(recipes, "_PLAIN_FIRST_ROWS", 100)
    X, y = steps(200, 7)
    model = AnytimeSGPRegressor(n_inducing=20, random_state=0, likelihood="auto").fit(X, y)
    assert model.mean_share_ == 1.0
    assert "distribution" not in {one["choice"] for one in model.choices_}


def test_the_other_mean_has_no_more_time_than_is_left():
    """It had all that it asked for where none was left."""
    clock = Clock(10.0)
    clock.start -= 20.0
    fit = Fit(
        None, np.zeros(3), None, None, 1, 3, targets=Targets.fit(np.zeros((3, 1)), None, True)
    )
    begun = mean_steps.BeginPlain()(replace(fit, trace=Trace(clock)))
    assert begun.trace.clock.max_time == 0.0
    assert mean_steps.BeginPlain()(replace(fit, trace=Trace(Clock()))).trace.clock.left() == np.inf


@pytest.mark.parametrize("given", [False, True])
def test_rows_left_out_have_the_told_mean(monkeypatch, given):
    """It is the share of both means of the row given all others, as `predict` tells it."""
    monkeypatch.setattr(mean_steps, "best_mean", lambda *_: MeanChoice(0.5, False))
    monkeypatch.setattr(recipes, "_PLAIN_FIRST_ROWS", 100)
    X, y = steps(200, 7)
    model = AnytimeSGPRegressor(n_inducing=20, random_state=0, likelihood="auto").fit(X, y)
    own, plain = copy.copy(model), copy.copy(model)
    own._fitted = replace(model._fitted, told_mean=OWN_MEAN)
    plain._fitted = model._fitted.told_mean.reference
    plain.likelihood_ = plain._fitted.public_likelihood
    rows = (X, y) if given else ()
    mean, std = model.leave_one_out(*rows)
    assert model.mean_share_ == 0.5
    expected = 0.5 * (own.leave_one_out()[0] + plain.leave_one_out()[0])
    assert_allclose(mean, expected, rtol=1e-6)
    assert_allclose(std, own.leave_one_out()[1], rtol=1e-6)
    assert np.mean((mean - y) ** 2) < 0.3 * np.var(y)


def test_rows_left_out_after_a_batch_have_the_told_mean(monkeypatch):
    """The means of other rows were mixed in: the reference's groups were ordered as the fit's."""
    monkeypatch.setattr(mean_steps, "best_mean", lambda *_: MeanChoice(0.5, False))
    X, y = steps(240, 7)
    model = AnytimeSGPRegressor(n_inducing=20, random_state=0, likelihood="auto")
    model.fit(X[:200], y[:200])
    for batch in (slice(200, 220), slice(220, 240)):
        model.partial_fit(X[batch], y[batch])
    assert model.mean_share_ == 0.5
    assert_allclose(model.leave_one_out(), model.leave_one_out(X, y), rtol=1e-9)


def test_rows_that_a_plain_fit_has_not_seen_are_left_out_already(monkeypatch):
    """What they had never said was taken from it once more, where time ended the plain fit."""
    X, y = steps(200, 7)
    times, told = 2.0 * (np.arange(200) % 2), []
    usual, judged = mean_steps.PlainFirst.__call__, mean_steps._Judged.of

    def of_some(self, fit):
        fit = yield from usual(self, fit)
        fitted = replace(fit.plain.fitted, n_used=100, times=times)
        return replace(fit, plain=replace(fit.plain, fitted=fitted))

    def kept(*given, **options):
        told.append(judged(*given, **options))
        return told[0]

    monkeypatch.setattr(mean_steps.PlainFirst, "__call__", of_some)
    monkeypatch.setattr(mean_steps._Judged, "of", kept)
    SVGPRegressor(likelihood="auto", n_inducing=20, max_iter=20, random_state=0).fit(X, y)
    mean, variance = told[0].others[1:3]
    known, of_known = told[0].reference.fitted.predictor.moments(told[0].rows)
    assert_array_equal(mean[::2], known[::2])
    assert_allclose(variance[::2], np.broadcast_to(of_known, mean.shape)[::2])
    assert (mean[1::2] != known[1::2]).all()


def test_columns_count_by_the_mean_of_the_distribution():
    """The words were of predicted means, in which a second fit may have a part."""
    X, y = steps(200, 7)
    model = SVGPRegressor(n_inducing=20, max_iter=20, random_state=0).fit(X, y)
    shares = model.feature_importances_
    reference = SVGPRegressor(n_inducing=20, max_iter=20, random_state=0).fit(X, X[:, 1])
    model._fitted = _with_share(model, reference, 0.4)
    assert_array_equal(model.feature_importances_, shares)
    assert "of the latent function's mean" in SVGPRegressor.__doc__
