"""Residuals of a stream's sample, predicted from one another."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from stream_helpers import (
    assert_all_have_the_same_bands,
    batches,
    taught,
    without_residuals,
    without_sample,
)

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.engines.streams import band_places
from sklearn_sgp.engines.streams.place_residuals import LeftOutRows, weighed
from sklearn_sgp.predict import stream_residuals
from sklearn_sgp.predict.observations import NONE_UNLIKE
from sklearn_sgp.predict.stream_residuals import NearResiduals

pytestmark = pytest.mark.filterwarnings("ignore:Batches should go on")  # too few inducing inputs


def waves(X):
    return sum(np.sin(f * X[:, 0] + f) for f in (4.0, 6.0, 8.0))


def fast_stream(dtype=float, weight=None, outputs=1, unit=1.0, **options):
    """A stream of a fast function, with too few inducing inputs, and new rows among its own."""
    X = np.linspace(0.0, 20.0, 1000)[:, None].astype(dtype)
    y = unit * waves(X)
    if outputs > 1:
        y = np.column_stack([y, 3.0 * np.sin(9.0 * X[:, 0])])
    pieces = batches(X[::2], y[::2], *range(200, 500, 100))
    if weight is not None:
        pieces = [(*piece, np.resize(weight, len(piece[1]))) for piece in pieces]
    options = {"kernel": RBF(0.3), "n_inducing": 30, "random_state": 0} | options
    return taught(StreamingSGPRegressor(**options), pieces), X[1:-1:2], y[1:-1:2]


def residuals_of(model):
    return model._fitted.state.places.residuals


@pytest.fixture(scope="module")
def stream():
    return fast_stream()


def correlation(kernel, a, b):
    K = kernel.gram(np.vstack([a, b]))
    return max(K[0, 1] / np.sqrt(K[0, 0] * K[1, 1]), 0.0)


def dense(process, x):
    """What is expected at a place, and the factor of variances, in loops."""
    n, X = len(process.X), process.X
    rho = [correlation(process.kernel, x, row[None]) for row in X]
    K, k = np.eye(n), np.zeros(n)
    for i in range(n):
        k[i] = (1.0 - process.own) * rho[i] ** 2**process.squared
        for j in range(n):
            if i != j:
                between = correlation(process.kernel, X[i : i + 1], X[j : j + 1])
                K[i, j] = (1.0 - process.own) * between**2**process.squared
    share = min(max(rho) / process.reach, 1.0)
    for c in range(X.shape[1]):
        above = sum(r * max(row[c] - x[0, c], 0.0) for r, row in zip(rho, X, strict=True))
        below = sum(r * max(x[0, c] - row[c], 0.0) for r, row in zip(rho, X, strict=True))
        share *= min(min(above, below) / (max(above, below) + 1e-300) / 0.01, 1.0)
    share *= process.weight
    told = share * (2.0 - share)
    weights = np.array(rho) ** 4
    off = (weights @ process.ratios + process.ratios.mean(axis=0)) / (weights.sum() + 1.0)
    left = 1.0 - told * (k @ np.linalg.solve(K, k))
    expected = share * (k @ np.linalg.solve(K, process.residuals))
    return expected, left * (1.0 + told * (off - 1.0))


# What is expected


def test_residuals_are_those_of_their_definition(stream, rng):
    """In one column and in two, among rows, at their ends, and away from them."""
    kernel = stream[0]._fitted.parameters.kernel
    for columns in (1, 2):
        X = rng.uniform(0.0, 2.0, (30, columns))
        kernel = kernel if columns == 1 else plane_kernel()
        residuals, ratios = rng.standard_normal((30, 2)), rng.gamma(2.0, size=(30, 2))
        process = NearResiduals(kernel, X, residuals, 2, 0.1, 0.7, ratios, weight=0.8)
        places = np.vstack([rng.uniform(0.0, 2.0, (6, columns)), np.full((1, columns), 40.0)])
        expected, factor = process.at(places)
        assert_allclose(process.mean_at(places), expected, rtol=1e-12)
        for k, x in enumerate(places):
            mean, left = dense(process, x[None])
            assert_allclose(expected[k], mean, rtol=1e-7, atol=1e-12)
            assert_allclose(factor[k], left, rtol=1e-7)


def plane_kernel():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 2.0, (100, 2))
    model = StreamingSGPRegressor(n_inducing=10, random_state=0)
    return model.partial_fit(X, np.sin(3.0 * X.sum(axis=1)))._fitted.parameters.kernel


def test_rows_are_left_out_as_their_definition_says(stream, rng):
    """Without each, and without it and its nearest, all that is expected is computed anew."""
    kernel = stream[0]._fitted.parameters.kernel
    X = np.sort(rng.uniform(0.0, 2.0, (25, 1)), axis=0)
    residuals, left, variance = rng.standard_normal((3, 25, 1))
    variance = variance**2
    near = NearResiduals(kernel, X, residuals, 0, 0.0, 0.5)._near(X)[0]
    np.fill_diagonal(near, 0.0)
    rows = LeftOutRows(kernel, X, residuals, left, variance, near, 0.5)
    process = rows.process(1, 0.1)
    root = process.root_inverse
    precision = root.T @ root
    pair = precision[np.arange(25), rows.nearest]
    found = list(rows.expected(np.diagonal(precision), pair, precision @ residuals))
    found = list(rows.judged(found, 0.7))
    for i in range(25):
        for gone, (squares, bands) in zip(([i], [i, rows.nearest[i]]), found, strict=True):
            kept = np.delete(np.arange(25), gone)
            ones = np.ones((len(kept), 1))
            others = NearResiduals(kernel, X[kept], residuals[kept], 1, 0.1, 0.5, ones, 0.7)
            expected, factor = others.at(X[i : i + 1])
            assert_allclose(squares[i], (left[i] - expected[0]) ** 2, rtol=1e-6)
            assert_allclose(bands[i] / variance[i], factor[0], rtol=1e-6)


# Streams


def test_rows_that_are_near_to_no_other_say_nothing_of_each_other(stream):
    """The first of them was its own nearest: a division by zero told users of it."""
    kernel = stream[0]._fitted.posterior.prior.kernel
    X, ones = np.linspace(0.0, 1e3, 6)[:, None], np.ones((6, 1))
    residuals = np.arange(1.0, 7.0)[:, None]
    rows = LeftOutRows(kernel, X, residuals, residuals, ones, np.zeros((6, 6)), 0.5)
    own, pair = np.full(6, 4.0), np.where(np.arange(6) == 0, 4.0, 0.0)
    for expected, known in rows.expected(own, pair, 4.0 * residuals):
        assert_allclose(expected, 0.0, atol=1e-12)
        assert_allclose(known, 0.75)


def test_a_dense_sample_shows_what_inducing_inputs_do_not_hold(stream):
    model, X, y = stream
    assert residuals_of(model) is not None
    before = without_residuals(model)
    rmse = [np.sqrt(np.mean((y - each.predict(X)) ** 2)) for each in (model, before)]
    assert rmse[0] < 0.5 * rmse[1]
    gain = model.log_density(X, y).mean() - before.log_density(X, y).mean()
    assert gain > 0.5


def test_rows_ahead_have_what_they_have_without(stream):
    model, before = stream[0], without_residuals(stream[0])
    last = residuals_of(model).X.max()
    ahead = np.linspace(last, last + 5.0, 200)[:, None]
    ahead = np.vstack([ahead, [[-1.0], [-100.0], [100.0]]])
    for new, old in zip(*(m.predict(ahead, return_std=True) for m in (model, before)), strict=True):
        assert_allclose(new, old, rtol=1e-12)


def test_bursts_ahead_are_not_worse():
    """Long gaps among rows are none that single rows, left out, say anything of."""
    rng = np.random.default_rng(3)
    X = np.linspace(0.0, 20.0, 1200)[:, None]
    height = np.exp(1.5 * np.interp(X[:, 0], np.linspace(0.0, 20.0, 12), rng.standard_normal(12)))
    y, gains = height * waves(X), []
    model = StreamingSGPRegressor(RBF(0.3), n_inducing=30, random_state=0)
    for piece in batches(X, y, *range(200, 1200, 100)):
        if getattr(model, "_fitted", None) is not None:
            before = without_residuals(model)
            gains.append(np.mean(model.log_density(*piece) - before.log_density(*piece)))
        model.partial_fit(*piece)
    assert min(gains) > -0.01  # what the share of rows that are like none costs


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what a few inducing inputs miss
def test_rare_rows_that_are_far_off_cost_little():
    """A sample has hardly any of them, and each cost thousands of nats."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (1500, 1))[:1000]
    y, gains = np.sin(8.0 * X[:, 0]) + 6.0 * (rng.random(1500)[:1000] < 0.01), []
    model = StreamingSGPRegressor(n_inducing=20, random_state=0)
    for piece in batches(X, y, *range(100, 1000, 100)):
        if getattr(model, "_fitted", None) is not None:
            before = without_residuals(model)
            gains.append(np.mean(model.log_density(*piece) - before.log_density(*piece)))
        model.partial_fit(*piece)
    assert min(gains) > -0.01 and np.mean(gains) > 0.2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what a few inducing inputs miss
def test_first_spikes_after_a_clean_start_cost_little():
    """They had 250 deviations of the bands that residuals of clean rows make."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 6.0, (1200, 1))
    y = np.sin(20.0 * X[:, 0]) + 0.02 * rng.standard_normal(1200)
    y[1100:] += 5.0 * (rng.random(100) < 0.02)
    model = StreamingSGPRegressor(n_inducing=20, random_state=0)
    taught(model, batches(X[:1100], y[:1100], *range(100, 1100, 100)))
    assert residuals_of(model) is not None and (y[1100:] > 3.0).any()
    before = without_residuals(model)
    gains = model.log_density(X[1100:], y[1100:]) - before.log_density(X[1100:], y[1100:])
    assert gains.mean() > 0.0 and gains.min() > -10.0


def test_the_share_is_what_rows_left_out_bear_out(stream, rng):
    """That of all rows but one where all follow, none of noise, less with each row far off."""
    process, shares = residuals_of(stream[0]), []
    kernel, n = process.kernel, 80
    X = np.linspace(0.0, 6.0, n)[:, None]
    near, smooth = kernel.gram(X) / kernel.diag(X)[0] - np.eye(n), waves(X)[:, None]
    for far in (0.0, 1.0, 3.0, np.inf):
        off = rng.standard_normal((n, 1)) * (far if np.isfinite(far) else 1.0)
        residuals = smooth * np.isfinite(far) + off * (np.arange(n) % 10 == 5)[:, None]
        residuals = residuals if np.isfinite(far) else off
        rows = LeftOutRows(kernel, X, residuals, residuals, np.ones((n, 1)), near, 0.5)
        found = weighed(rows.process(0, 1e-3), rows)
        shares.append(0.0 if found is None else found.weight)
    assert_allclose(shares[0], 81.0 / 82.0)
    assert shares[0] > shares[1] > shares[2] and shares[3] == 0.0


def test_a_first_row_that_is_far_off_costs_the_logarithm_of_those_before(stream):
    """The density is a mixture with what rows are without, the deviation is not."""
    model, X, _ = stream
    process, X = residuals_of(model), X[200:240]
    mean, std = model.predict(X, return_std=True)
    share, far = 1.0 / (len(process.X) + 2.0), np.array([[0.0], [1.0], [300.0]]) * std
    wide = 2.0 * model.y_scale_**2
    own = model.predict(X, return_std=True, include_noise=False)[1] ** 2
    parts = [np.log1p(-share) + norm.logpdf(far, 0.0, std)]
    parts += [np.log(share) + norm.logpdf(far, 0.0, np.sqrt(wide + own))]
    for off, expected in zip(far, np.logaddexp(*parts), strict=True):
        assert_allclose(model.log_density(X, mean + off), expected, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-2, 1e2])
def test_targets_that_are_not_scaled_have_units(stream, unit):
    """A row that is far off cost 12,000 nats, and of small ones no residual was enough."""
    model, X, _ = stream
    kernel = ConstantKernel(unit**2, "fixed") * RBF(0.3)
    other = fast_stream(unit=unit, kernel=kernel, normalize_y=False)[0]
    assert residuals_of(other) is not None
    far = np.array([0.0, 3.0])[:, None] * model.y_scale_
    X = X[200:240]
    densities = [model.log_density(X, model.predict(X) + off).mean() for off in far]
    scaled = [
        other.log_density(X, other.predict(X) + unit * off).mean() + np.log(unit) for off in far
    ]
    assert_allclose(scaled, densities, atol=1.0)


def test_a_batch_with_gaps_is_scored_with_the_share():
    """A row that is far off cost hundreds of nats where another one was not observed."""
    model = fast_stream(outputs=2)[0]
    assert residuals_of(model) is not None
    X = np.linspace(5.0, 6.0, 10)[:, None]
    y = model.predict(X)
    y[3] += 3.0 * model.y_scale_
    expected = model.predict_distribution(X).logpdf(y)
    y[7, 0] = expected[7, 0] = np.nan
    model.partial_fit(X, y)
    assert_allclose(model.batch_log_density_, np.nansum(expected, axis=1).mean(), rtol=1e-6)


def test_noise_has_no_shape(rng):
    """Inducing inputs enough, and noise, leave nothing that rows tell of one another."""
    X = rng.uniform(0.0, 6.0, (800, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(800)
    model = taught(StreamingSGPRegressor(n_inducing=25, random_state=0), batches(X, y, 200, 400))
    assert residuals_of(model) is None


@pytest.mark.slow
def test_everything_predicted_has_the_same_bands(stream, monkeypatch):
    """But for the share of rows that are like none."""
    monkeypatch.setattr(stream_residuals, "UnlikeRows", lambda *_: NONE_UNLIKE)
    model, X, y = pickle.loads(pickle.dumps(stream))
    assert_all_have_the_same_bands(model, X[5::60], y[5::60], rtol=1e-6)
    mean = model.predict(X[5::60])
    draws = model.sample_y(X[5::60], 4000, random_state=0, method="pathwise")
    std = model.predict(X[5::60], return_std=True)[1]
    assert_allclose(draws.mean(axis=1), mean, atol=0.08 * std.max())
    assert_allclose(model.predict_distribution(X[5::60]).mean(), mean, rtol=1e-9)
    assert_allclose(model.predict(X[5::60], return_cov=True)[0], mean, rtol=1e-9)


def test_slopes_and_terms_are_those_of_the_mean(stream):
    model, X, _ = stream
    X, step = X[5::60], np.array([[1e-5]])
    slope, std = model.predict_gradient(X, return_std=True)
    expected = (model.predict(X + step) - model.predict(X - step)) / 2e-5
    assert_allclose(slope[:, 0], expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    assert np.isfinite(std).all()
    term, std = model.predict_terms(X, return_std=True)
    assert_allclose(term.sum(axis=1) + model.y_mean_, model.predict(X), rtol=1e-9)


def test_a_saved_stream_keeps_no_factor_and_goes_on(stream):
    model, X, y = stream
    model.predict(X)
    saved = pickle.dumps(model)
    n = len(residuals_of(model).X)
    assert len(pickle.dumps(residuals_of(model))) < 8 * n * n
    one, other = pickle.loads(saved), pickle.loads(saved)
    assert_allclose(one.predict(X, return_std=True), model.predict(X, return_std=True), rtol=1e-12)
    for each in (one, other):
        each.partial_fit(X[:60], y[:60])
    assert_array_equal(one.predict(X, return_std=True), other.predict(X, return_std=True))


def test_two_outputs_have_their_own_residuals():
    model, X, y = fast_stream(outputs=2)
    assert residuals_of(model) is not None and residuals_of(model).residuals.shape[1] == 2
    before = without_residuals(model)
    assert model.log_density(X, y).mean() > before.log_density(X, y).mean() + 0.5
    slopes = model.predict_gradient(X[::100])
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("seed", [0, 3])
def test_functions_without_noise_are_known_better_than_the_least_noise(seed, rng):
    """Residuals of less than .01 deviations were let be."""
    X = rng.uniform(-3.0, 3.0, (700, 1))
    y = np.sin(2.0 * X[:, 0] + seed) + 0.3 * np.cos(3.0 * X[:, 0])
    pieces = batches(X[:500], y[:500], 100, 200, 300, 400)
    model = taught(StreamingSGPRegressor(n_inducing=20, random_state=0), pieces)
    new, truth = X[500:], y[500:]
    before = without_residuals(model).log_density(new, truth).mean()
    assert model.log_density(new, truth).mean() > before + 1.5
    mean, std = model.predict(new, return_std=True)
    assert np.mean(((truth - mean) / std) ** 2) < 2.0


def test_residuals_are_measured_in_the_bands_that_the_sample_bears_out(monkeypatch):
    """Where these are the same everywhere, and were narrowed by the last rows, in vain.

    The squares near a place were taken in units of narrow bands, and wide ones were multiplied.
    """
    predicted = []
    monkeypatch.setattr(band_places, "is_gain", lambda gains: False)
    for wider in (1.0, 30.0):
        monkeypatch.setattr(
            band_places,
            "vouched_share",
            lambda fitted, rows, share, n_jobs, by=wider: (by * np.ones(1), *share[1:]),
        )
        model, X, _ = fast_stream()
        state = model._fitted.state
        assert state.places.near is None and state.places.residuals is not None
        assert state.band_share[0] == wider
        predicted.append(model.predict(X[50:-50], return_std=True)[1])
    assert 0.5 < np.median(predicted[1] / predicted[0]) < 2.0


def test_a_column_that_never_changes_tells_nothing_of_the_others():
    """What is predicted at a place hung on the others that were asked for, and slopes were NaN."""
    X = np.linspace(0.0, 20.0, 1000)[:, None]
    y, X = waves(X), np.column_stack([X, np.full(1000, 0.1)])
    model = StreamingSGPRegressor(RBF([0.3, 1.0]), n_inducing=30, random_state=0)
    taught(model, batches(X[::2], y[::2], *range(200, 500, 100)))
    assert residuals_of(model) is not None
    X = X[101:141]
    alone = model.predict(X, return_std=True)
    together = model.predict(np.append(X, [[5.0, 0.2]], axis=0), return_std=True)
    assert_allclose(np.array(together)[:, :-1], alone, rtol=1e-9)
    slopes = model.predict_gradient(X)
    assert np.isfinite(slopes).all() and np.abs(slopes[:, 0]).max() > 1.0


@pytest.mark.parametrize("constant", [0.0, 3.0])
def test_an_output_that_never_changes_tells_nothing_of_the_other(constant):
    """Its share of bands is next to 0: variances were 0, and a batch ended in a `ValueError`."""
    X = np.linspace(0.0, 20.0, 1000)[:, None]
    y = np.column_stack([waves(X), np.full(1000, constant)])
    model = StreamingSGPRegressor(RBF(0.3), n_inducing=30, random_state=0)
    taught(model, batches(X[::2], y[::2], *range(200, 500, 100)))
    mean, std = model.predict(X[1:-1:2], return_std=True)
    assert residuals_of(model) is not None and np.isfinite(std).all() and (std > 0.0).all()
    assert_allclose(mean[:, 1], constant, atol=1e-6)
    assert np.sqrt(np.mean((mean[:, 0] - y[1:-1:2, 0]) ** 2)) < 0.3


def test_single_precision_is_as_good(stream):
    model, X, y = fast_stream(np.float32)
    assert residuals_of(model) is not None
    assert model.log_density(X, y).mean() > stream[0].log_density(*stream[1:]).mean() - 1.0


def test_equal_weights_tell_and_others_do_not():
    assert residuals_of(fast_stream(weight=[0.5])[0]) is not None
    assert residuals_of(fast_stream(weight=[0.5, 1.0])[0]) is None


@without_sample
def test_where_there_are_none(options):
    assert residuals_of(fast_stream(**options)[0]) is None


def test_a_correlation_that_is_cut_off_has_no_factor():
    """Negative ones count as 0, so that they may be those of no process."""
    near = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    X = np.arange(3.0)[:, None]
    ones = np.ones((3, 1))
    rows = LeftOutRows(None, X, ones, ones, ones, near - np.eye(3), 0.5)
    assert weighed(rows.process(0, 1e-5), rows) is None
