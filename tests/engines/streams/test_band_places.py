"""Bands of a stream that depend on the place, as a sample of its rows says."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from stream_helpers import (
    assert_all_have_the_same_bands,
    batches,
    split,
    taught,
    with_equal_bands,
    without_residuals,
    without_sample,
)

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams import band_places
from sklearn_sgp.engines.streams.band_places import BandPlaces, RowSample
from sklearn_sgp.predict.vouched_bands import NearSample

pytestmark = pytest.mark.filterwarnings("ignore:Batches should go on")  # too few inducing inputs


def numbered(n):
    """Rows that say which they are."""
    number = np.arange(float(n))
    return Rows(number[:, None], number[:, None], None, np.zeros(1), np.ones(1))


def uneven_stream(factor=1.0, weight=None, **options):
    """A stream that is fast at first and quiet then, with too few inducing inputs, and the grid."""
    X = np.linspace(0.0, 10.0, 1600)[:, None]
    y = np.sin(12.0 * X[:, 0]) * np.where(X[:, 0] < 6.0, factor, 0.02 * factor)
    pieces = batches(X[::2], y[::2], *range(200, 800, 100))
    if weight is not None:
        pieces = [(*piece, np.full(len(piece[1]), weight)) for piece in pieces]
    model = StreamingSGPRegressor(n_inducing=25, random_state=0, **options)
    return taught(model, pieces), X[1::2], y[1::2]


# The sample


def test_a_sample_does_not_depend_on_the_split():
    rows, one, other = numbered(1000), RowSample(), RowSample().joined(numbered(1000), 60)
    for part in split(rows, 10, 300, 301, 777):
        one = one.joined(part, 60)
    assert one.n_seen == other.n_seen == 1000
    assert_array_equal(np.sort(one.rows.y[:, 0]), other.rows.y[:, 0])


@pytest.mark.parametrize("period", [7, 8, 24])
def test_a_sample_is_even_over_all_rows_and_their_periods(period):
    number = RowSample().joined(numbered(4000), 240).rows.y[:, 0]
    assert np.histogram(number, 10, (0.0, 4000.0))[0].min() > 12  # of 24
    counts = np.bincount(number.astype(int) % period, minlength=period)
    assert counts.min() > 0.3 * 240 / period


@pytest.mark.slow
@pytest.mark.parametrize("at_a_time", [3, 1024])
def test_a_batch_of_other_noise_leaves_rows_that_are_away_from_it(at_a_time, monkeypatch):
    monkeypatch.setattr(band_places, "_OF_BATCH_AT_A_TIME", at_a_time)
    model = uneven_stream()[0]
    kernel, sample = model._fitted.parameters.kernel, model._fitted.state.places.sample
    batch = sample.rows.select(np.flatnonzero(sample.rows.X[:, 0] > 8.0))
    left = BandPlaces(sample).away_from(batch, kernel).sample
    every = np.asarray(sample.rows.X, dtype=float)
    near = kernel.block(every, np.asarray(batch.X, dtype=float)) / kernel.diag(every)[:, None]
    assert_array_equal(left.rows.X, sample.rows.X[(near <= 0.5).all(axis=1)])
    assert 0.4 * len(sample) < len(left) < len(sample) and left.n_seen == sample.n_seen


def test_rows_that_are_gone_repeat_no_others():
    """A pair counted as many as if the sample were one of all rows, and none told of a place."""
    kernel = uneven_stream()[0]._fitted.parameters.kernel
    places = BandPlaces(RowSample().joined(numbered(4000), 80))
    places = places.away_from(numbered(4000), kernel)
    assert len(places.sample) == 0 and places.sample.n_told == 0.0
    again = replace(numbered(100), X=np.append(np.arange(98.0), [7.0, 8.0])[:, None])
    sample = places.joined(again, 20).sample
    assert sample.n_seen == 4100 and sample.n_told == 100.0 and 60 <= len(sample.alone()) < 80


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of rows that repeat others
def test_bands_by_place_after_noise_has_fallen():
    """They came and went, as one row of the new sample repeated another: .5 nats a row, or 1.1."""
    rng, told = np.random.default_rng(0), []
    X = np.round(rng.uniform(0.0, 6.0, (3200, 1)), 3)
    noise = np.where(np.arange(3200) < 2400, 1.0, np.where(X[:, 0] < 3.0, 0.02, 0.2))
    y = np.sin(3.0 * X[:, 0]) + noise * rng.standard_normal(3200)
    model = StreamingSGPRegressor(n_inducing=20, max_iter=10, random_state=0)
    for piece in batches(X, y, *range(100, 3200, 100)):
        model.partial_fit(*piece)
        told.append(model._fitted.state.places.near is not None)
    assert all(told[24:])


@pytest.mark.slow
@pytest.mark.parametrize("frequency, m", [(20.0, 15), (20.0, 25), (30.0, 40)])
def test_a_quiet_end_does_not_end_the_sample(frequency, m):
    """The rest was lost, in bands of the quiet end: -394 to -688 nats a row."""
    X = np.linspace(0.0, 10.0, 1600)[:, None]
    y = np.sin(frequency * X[:, 0]) * np.where(X[:, 0] < 6.0, 1.0, 0.02)
    pieces = batches(X[::2], y[::2], *range(200, 800, 100))
    model = taught(StreamingSGPRegressor(n_inducing=m, random_state=0), pieces)
    assert model.log_density(X[1::2], y[1::2]).mean() > -1.5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what the batch is not like
def test_a_sample_has_the_units_of_a_batch_that_tells_nothing():
    """Its many rows count little each, and yet decide the units."""
    model, X, _ = uneven_stream()
    more = np.repeat(X, 5, axis=0)
    model.partial_fit(more, 300.0 * np.sin(12.0 * more[:, 0]), np.full(len(more), 0.004))
    fitted = model._fitted
    assert fitted.state.places.sample.n_seen > 0
    assert_array_equal(fitted.state.places.sample.rows.y_scale, fitted.targets.scale)


# Bands


def test_bands_are_as_wide_as_the_stream_is_off_there():
    """A quiet stretch has narrow bands, and says nothing of a place that is lost."""
    model, X, y = uneven_stream()
    model = without_residuals(model)
    assert model._fitted.state.places.near is not None
    mean, std = model.predict(X, return_std=True)
    same = with_equal_bands(model)
    assert_allclose(same.predict(X), mean, rtol=1e-9, atol=1e-12)
    lost, quiet = X[:, 0] < 5.8, X[:, 0] > 7.0
    error, before = (y - mean)[lost].std(), same.predict(X, return_std=True)[1]
    assert before[lost].mean() < 0.4 * error < 0.6 * error < std[lost].mean() < 1.5 * error
    assert std[quiet].mean() < 0.8 * before[quiet].mean()
    assert model.log_density(X, y).mean() > same.log_density(X, y).mean() + 0.5


@pytest.mark.slow
def test_bands_are_those_of_their_definition():
    """In loops, from the rows of the sample."""
    model, X, _ = uneven_stream()
    model = without_residuals(model)
    near, kernel = model._fitted.state.places.near, model._fitted.parameters.kernel
    equal, other = with_equal_bands(model), with_equal_bands(model)
    share = np.maximum(other._fitted.state.band_share[0], 1.0)
    state = replace(other._fitted.state, band_share=(share, *other._fitted.state.band_share[1:]))
    other._fitted = replace(other._fitted, state=state)
    scale = model.y_scale_**2
    for x in (X[40:41], X[700:701], np.array([[10.3]]), np.array([[30.0]])):
        ratios, variances, weights, correlations = [], [], [], []
        for j in range(len(near.X)):
            pair = np.vstack([x, near.X[j : j + 1]])
            K = kernel.gram(pair)
            correlations.append(K[0, 1] / np.sqrt(K[0, 0] * K[1, 1]))
            weights.append(correlations[-1] ** (4.0**near.power))
            variances.append(near.variance[j, 0])
            ratios.append(near.squares[j, 0] / near.variance[j, 0])
        weights = np.array(weights)
        total = near.prior + weights.sum()
        c = (near.prior * np.mean(ratios) + weights @ ratios) / total
        u = (near.prior * np.mean(variances) + weights @ variances) / total
        v = other.predict(x, return_std=True)[1] ** 2 / scale
        expected = v - (1.0 - c) * np.minimum(v, u)
        nearness, same = (
            min(max(correlations) / near.reach, 1.0),
            equal.predict(x, return_std=True)[1] ** 2 / scale,
        )
        expected += (1.0 - nearness) * max(same - expected, 0.0)
        assert_allclose(model.predict(x, return_std=True)[1] ** 2 / scale, expected, rtol=1e-8)


@pytest.mark.slow
def test_everything_predicted_has_the_bands_of_its_place():
    model, X, y = uneven_stream()
    assert_all_have_the_same_bands(without_residuals(model), X[::160], y[::160], rtol=1e-6)


@pytest.mark.slow
def test_each_output_has_the_noise_of_its_place(monkeypatch):
    monkeypatch.setattr(band_places, "is_gain", lambda gains: True)
    X = np.linspace(0.0, 10.0, 1600)[:, None]
    y = np.sin(12.0 * X) * np.where(X < 6.0, 1.0, 0.02) * [1.0, 3.0]
    pieces = batches(X[::2], y[::2], *range(200, 800, 100))
    model = taught(StreamingSGPRegressor(n_inducing=25, random_state=0), pieces)
    model = without_residuals(model)
    assert model._fitted.state.places.near is not None
    X, y = X[1::160], y[1::160]
    mean, std = model.predict(X, return_std=True)
    own, told = norm(mean, std), model.predict_distribution(X)
    assert_allclose(told.cdf(y), own.cdf(y), rtol=1e-9)
    assert_allclose(told.logpdf(y), own.logpdf(y), rtol=1e-9)
    rounded = model.log_density(X, y, resolution=1e-6)
    assert_allclose(rounded, own.logpdf(y).sum(axis=1), rtol=1e-6, atol=1e-6)
    draws = model.sample_y(X, 4000, random_state=0, method="pathwise")
    assert_allclose(draws.std(axis=2), std, rtol=0.08)


def test_a_missing_place_has_the_mean_noise_of_places():
    model = uneven_stream()[0]
    missing, nowhere = model._format.missing, np.array([[np.nan]])
    ((_, places),) = missing.alternatives(missing.filled(nowhere), np.isnan(nowhere))
    places = places.reshape(-1, 1)
    mean, std = model.predict(places, return_std=True)
    expected = np.mean(std**2) + mean.var()
    assert_allclose(model.predict(nowhere, return_std=True)[1] ** 2, expected, rtol=1e-9)


@pytest.mark.slow
def test_slopes_and_terms_have_the_factor_of_their_place():
    model, X, _ = uneven_stream()
    X, equal = X[5::160], with_equal_bands(model)
    slope, std = model.predict_gradient(X, return_std=True)
    step = np.array([[1e-5]])
    expected = (model.predict(X + step) - model.predict(X - step)) / 2e-5
    assert_allclose(slope[:, 0], expected, rtol=1e-4, atol=1e-5)
    own = model.predict(X, return_std=True, include_noise=False)[1]
    term = model.predict_terms(X, return_std=True)
    assert_allclose(term[0][:, 0] + model.y_mean_, model.predict(X), rtol=1e-9)
    assert_allclose(term[1][:, 0], own, rtol=1e-9)
    before = equal.predict_gradient(X, return_std=True)[1]
    factor = own / equal.predict(X, return_std=True, include_noise=False)[1]
    assert_allclose(std / before, factor[:, None], rtol=1e-9)


def test_deviations_need_correlations_with_the_sample_once(monkeypatch):
    model, X, y = uneven_stream()
    asked, correlations = [], NearSample.correlations
    monkeypatch.setattr(
        NearSample, "correlations", lambda self, X: asked.append(len(X)) or correlations(self, X)
    )
    model.predict(X[:9], return_std=True)
    model.predict_quantiles(X[:9])
    model.log_density(X[:9], y[:9])
    assert asked == [9, 9, 9]


def test_right_bands_stay_as_they_are(rng):
    """Equal noise, and inducing inputs enough, give no place bands of its own."""
    X = rng.uniform(0.0, 6.0, (800, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(800)
    model = taught(StreamingSGPRegressor(n_inducing=25, random_state=0), batches(X, y, 200, 400))
    assert len(model._fitted.state.places.sample) == 100
    assert model._fitted.state.places.near is None


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 4, 6, 7, 10])
def test_bands_by_place_do_not_hang_on_rounding(k):
    assert uneven_stream(1.0 + 1e-12 * k)[0]._fitted.state.places.near is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what a few inducing inputs miss
def test_a_sample_says_nothing_of_places_that_it_has_no_rows_of():
    """It was begun anew where the stream is quiet."""
    model, X, y = uneven_stream(factor=0.5)
    places = model._fitted.state.places
    assert places.near is not None and places.sample.rows.X.min() > 2.0
    away, same = X[:, 0] < 1.0, with_equal_bands(model)
    std, before = (each.predict(X[away], return_std=True)[1] for each in (model, same))
    assert (std > (1.0 - 1e-9) * before).all()
    assert model.log_density(X, y).mean() > same.log_density(X, y).mean()


# What ends them


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [False, True])
def test_rows_that_repeat_say_nothing_of_other_places(at_once):
    """They are known where they are, in one batch or in two."""
    model, X, y = uneven_stream()
    assert model._fitted.state.places.near is not None
    batch = X, y
    pieces = [tuple(np.repeat(each, 2, axis=0) for each in batch)] if at_once else [batch, batch]
    assert taught(model, pieces)._fitted.state.places.near is None


@pytest.mark.slow
def test_few_rows_that_repeat_are_left_out_of_what_is_judged():
    model, X, y = uneven_stream()
    weight = np.ones(100)
    weight[::25] = 3.0
    taught(model, [(X[:100] + 1e-3, y[:100], weight)])
    places = model._fitted.state.places
    n_merged = (places.sample.rows.weights[1] > 1.0).sum()
    assert n_merged > 0
    assert len(places.near.X) == len(places.sample) - n_merged


@without_sample
def test_where_there_is_no_sample(options):
    model = uneven_stream(**options)[0]
    places = model._fitted.state.places
    assert places.near is None and not len(places.sample)


@pytest.mark.filterwarnings("ignore:Batches should go on as those before")
def test_a_level_that_moved_ends_the_sample(rng):
    X = rng.uniform(0.0, 6.0, (400, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(400)
    y[300:] += 5.0
    model = StreamingSGPRegressor(n_inducing=25, random_state=0)
    taught(model, batches(X, y, 100, 200, 300))
    assert model.n_shifts_ == 1
    assert len(model._fitted.state.places.sample) == 100
    assert (model._fitted.state.places.sample.rows.y > 3.0).all()


@pytest.mark.slow
def test_a_saved_stream_has_its_sample_and_goes_on():
    model, X, y = uneven_stream()
    loaded = pickle.loads(pickle.dumps(model))
    for each in (model, loaded):
        each.partial_fit(X[:60], y[:60])
    assert_array_equal(loaded.predict(X, return_std=True), model.predict(X, return_std=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what a few inducing inputs miss
def test_rows_that_cannot_be_left_out_say_no_place():
    """Most rows of a stretch that is lost cannot, and those of a quiet one spoke for all."""
    X = np.linspace(0.0, 10.0, 1600)[:, None]
    y = np.sin(12.0 * X[:, 0]) * np.where(X[:, 0] < 6.0, 1.0, 0.02)
    kept = np.flatnonzero(np.arange(800) % 5)
    pieces = batches(X[::2][kept], y[::2][kept], *range(160, 640, 80))
    model = taught(StreamingSGPRegressor(n_inducing=25, random_state=0), pieces)
    same = with_equal_bands(model)
    assert model.log_density(X, y).mean() > same.log_density(X, y).mean() - 0.1


def test_rows_that_are_far_off_at_random_are_no_place():
    """Two of them side by side took the next one elsewhere for 500 nats less likely."""
    rng = np.random.default_rng(2)
    time = np.arange(420) / 60.0
    y = np.sin(2.0 * time) + 0.1 * rng.standard_normal(900)[:420]
    y += 6.0 * (rng.random(900)[:420] < 0.02)
    pieces = batches(time[:, None], y, *range(60, 420, 60))
    model = taught(StreamingSGPRegressor(n_inducing=40, random_state=0), pieces)
    assert len(model._fitted.state.places.sample) > 100
    assert model._fitted.state.places.near is None


def test_a_way_that_was_chosen_is_remembered_while_rows_say_nothing():
    """It was looked for anew with the next batch."""
    places = BandPlaces(sought=60.0, process=(2, 0.01)).unjudged()
    assert places.sought == 60.0 and places.process == (2, 0.01)


def test_a_way_is_chosen_anew_where_the_kernel_has_moved():
    """Residuals are followed at a length in units of the kernel's."""
    model, *_ = uneven_stream()
    fitted = model._fitted
    places, kernel = fitted.state.places, fitted.posterior.prior.kernel
    assert places.process is not None and not places._is_due(kernel)
    for factor, is_due in ((1.1, False), (1.3, True)):
        moved = band_places._log_scales(kernel) + np.log(factor)
        assert replace(places, log_scales=moved)._is_due(kernel) == is_due


@pytest.mark.parametrize("precision", [0.95, 0.01])
def test_rows_that_lack_what_hardly_matters_end_no_residuals_by_place(precision):
    """One row in the sample that counted for .99 did, for the rest of a stream."""
    fitted = uneven_stream()[0]._fitted
    rows, share = fitted.state.places.sample.alone(), fitted.state.band_share
    weight = np.ones(len(rows))
    weight[:: len(rows) // 5] = precision
    for own, is_told in ((weight, True), (np.where(np.arange(len(rows)) % 2, 1.0, 0.5), False)):
        some = rows.with_precision(own)
        left_out = band_places._left_out(some, fitted, share, 0.0, 1)
        told = band_places._of_residuals(some, fitted, left_out, left_out[0].variance, 1)
        assert (told is not None) == is_told
