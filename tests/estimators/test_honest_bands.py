"""Bands that hold far too few of the rows that are left out are widened, and that is told."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.engines.variational import schedule
from sklearn_sgp.estimators import noise_steps
from sklearn_sgp.noise import honest_bands
from sklearn_sgp.noise.heteroscedastic import alternate_noise
from sklearn_sgp.noise.variance_scale import VarianceScale
from sklearn_sgp.optimize.progress import Clock, Trace

KINDS = [
    pytest.param(SVGPRegressor(n_inducing=20, max_iter=20, random_state=0), id="svgp"),
    pytest.param(AnytimeSGPRegressor(n_inducing=20, random_state=0), id="vif"),
]


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 10.0, (n, 1))
    return X, np.sin(X[:, 0]) + 0.5 * rng.normal(size=n)


def coverage(model, X, y):
    lower, upper = model.predict_quantiles(X, quantiles=(0.05, 0.95)).T
    return np.mean((lower <= y) & (y <= upper))


def bands_of(ratios, weight, width):
    """Bands of one output, as rows that are left out show them."""
    part = np.argsort(np.argsort(width)) * 3 // len(width)
    return honest_bands._Bands(ratios, weight, part)


def share_within(found, factor):
    """What bands hold that are wider by a factor."""
    return found._replace(ratios=found.ratios / factor).share_within()


def test_the_factor_is_a_weighted_quantile():
    """With the least factor the weights of the rows within are a share of nine tenths."""
    rng = np.random.default_rng(0)
    ratios, weight = rng.gamma(2.0, size=500), rng.uniform(size=500)
    found = bands_of(ratios, weight, rng.uniform(size=500))
    factor = found.factor(0.9)
    assert share_within(found, factor) >= 0.9
    assert share_within(found, factor * (1.0 - 1e-9)) < 0.9
    assert found.widening() == factor


def test_a_third_that_holds_too_few_rows_widens_all():
    """All bands hold 89 %, the widest third 77 %: with the least factor it holds 85 %."""
    rng = np.random.default_rng(0)
    part = np.repeat([0, 1, 2], 1000)
    ratios = np.where(rng.uniform(size=3000) < np.array([0.95, 0.95, 0.77])[part], 0.5, 2.0)
    ratios *= rng.uniform(0.9, 1.1, 3000)
    found = bands_of(ratios, np.ones(3000), part + rng.uniform(size=3000))
    assert found.share_within() > 0.87
    factor = found.widening()
    assert 0.85 <= share_within(found.parts[2], factor) < 0.851
    assert "and 77%" in found.told(factor)
    assert found.told(1.0) == ""


@pytest.mark.parametrize("shares", [(0.9, 0.9, 0.9), (0.93, 0.92, 0.87)])
def test_thirds_that_hold_enough_stay(shares):
    """Thirds of 85 % and more, and all rows at 87 % and more, are as they were."""
    ratios = np.concatenate([np.linspace(0.0, 1.0 / share, 1000) for share in shares])
    found = bands_of(ratios, np.ones(3000), np.arange(3000.0))
    assert found.widening() == 1.0


@pytest.mark.parametrize("wrong", [25.0, np.inf])
def test_bands_become_ten_times_as_wide_at_most(wrong):
    """More has another cause: that factor was told where bands became ten times as wide."""
    found = bands_of(np.full(300, wrong), np.ones(300), np.arange(300.0))
    factor = found.widening()
    assert factor == 10.0 and "10" in found.told(factor)
    assert VarianceScale(np.zeros(1)).widened(factor).range == pytest.approx((10.0, 10.0))


@pytest.mark.slow
def test_bands_are_told_of_once(monkeypatch):
    """What learning says of its bands gives way to what left-out rows say in the end."""
    trace, X, y = Trace(Clock()), *data(600)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace.keeps_doubts = True
        trace.doubt("while learning")
        trace.doubt("of left-out rows")
        assert not caught
        trace.tell_doubt()
        trace.tell_doubt()
    assert [str(one.message) for one in caught] == ["of left-out rows"]

    def doubtful(problem, likelihood, learn):
        problem.trace.doubt("while learning")
        return alternate_noise(problem, likelihood, learn)

    monkeypatch.setattr(noise_steps, "alternate_noise", doubtful)
    AnytimeSGPRegressor(likelihood="auto", random_state=0).fit(X, y)  # bands are as they should
    with pytest.warns(UserWarning, match="while learning"):  # no rows are left out
        AnytimeSGPRegressor(likelihood="auto", random_state=0).fit(X[:100], y[:100])


def _far_too_narrow(problem, likelihood, fitted):
    """Scale predicted deviations by a fifth."""
    scale = VarianceScale(np.full(1, 2.0 * np.log(0.2)))
    yield from ()  # it asks for no fits
    return fitted.with_noise(replace(fitted.row_noise, variance_scale=scale), 0.0)


@pytest.mark.quick_cases("svgp")
@pytest.mark.parametrize("model", KINDS)
def test_deviations_that_are_far_too_small_are_widened(model, monkeypatch):
    """Deviations of a fifth: new rows are in the bands as they should, and a warning says so."""
    monkeypatch.setattr(noise_steps, "with_variance_scale", _far_too_narrow)
    (X, y), new = data(600), data(1000, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(likelihood="heteroscedastic").fit(X, y)
    told = [str(one.message) for one in caught if "left out" in str(one.message)]
    assert len(told) == 1
    assert 0.86 < coverage(model, *new) < 0.94
    assert model.variance_scale_[0] > 0.5


@pytest.mark.quick_cases("svgp")
@pytest.mark.parametrize("model", KINDS)
def test_bands_that_hold_what_they_should_stay(model, monkeypatch):
    """Where left-out rows are held there is no warning, and nothing is wider than before."""
    X, y = data(600)
    model.set_params(likelihood="heteroscedastic").fit(X, y)
    before = model.predict_std(X)
    monkeypatch.setattr(
        noise_steps, "with_honest_bands", lambda problem, likelihood, one, targets: one
    )
    np.testing.assert_array_equal(model.fit(X, y).predict_std(X), before)


def test_outputs_are_widened_each_for_itself(monkeypatch):
    """One of two outputs with deviations of a fifth: the other one's bands stay as they are."""

    def narrow(problem, likelihood, fitted):
        scale = VarianceScale(np.array([2.0 * np.log(0.2), 0.0]))
        yield from ()  # it asks for no fits
        return fitted.with_noise(replace(fitted.row_noise, variance_scale=scale), 0.0)

    monkeypatch.setattr(noise_steps, "with_variance_scale", narrow)
    X, y = data(600)
    Y = np.column_stack([y, 2.0 * y[::-1]])
    model = SVGPRegressor(n_inducing=20, max_iter=20, random_state=0, likelihood="heteroscedastic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    scale = model._fitted.variance_scale
    assert scale.widening[0] > 2.0 and scale.widening[1] < 0.5
    mean, std = model.predict(X, return_std=True)
    held = np.mean(np.abs(Y - mean) < 1.645 * std, axis=0)
    assert (held > 0.84).all() and (held < 0.97).all()


FIXED = {"n_inducing": 40, "likelihood": "heteroscedastic", "init_size": 1000, "random_state": 0}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        SVGPRegressor(max_iter=5, max_time=60.0, **FIXED),
        AnytimeSGPRegressor(model="fitc", max_steps=1, **FIXED),
        AnytimeSGPRegressor(model="pitc", block_size=50, max_steps=4, **FIXED),
    ],
)
def test_rows_that_were_not_seen_are_judged_as_they_are_predicted(model, monkeypatch):
    """Something was left out that they had not said: bands of 90 % held over 99 % of new rows."""

    def some(problem, *_):
        return np.arange(0, 4000, 40) if len(problem.rows) == 4000 else None

    monkeypatch.setattr(schedule, "_affordable", some)
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (6000, 2))
    y = np.sin(1.5 * X[:, 0]) + (0.1 + 0.02 * X[:, 1]) * rng.normal(size=6000)
    model.fit(X[:4000], y[:4000])
    assert model.n_samples_seen_ < 1100
    assert model._fitted.times is None
    z = (y[4000:] - model.predict(X[4000:])) / model.predict_std(X[4000:])
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.25
    assert 0.85 < coverage(model, X[4000:], y[4000:]) < 0.95
