"""How wide a stream's bands are, as rows vouch for narrower ones."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2
from sklearn.gaussian_process.kernels import RBF
from slow_variants import slow
from stream_helpers import (
    assert_all_have_the_same_bands,
    batches,
    fixed,
    taught,
    with_equal_bands,
    without_residuals,
)

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams.bands import Bands, Fading, Misses
from sklearn_sgp.engines.streams.joint_prediction import Prediction
from sklearn_sgp.engines.streams.shifts import missed

pytestmark = pytest.mark.filterwarnings("ignore:Batches should go on")  # noise that falls


def smooth_stream(rng, **options):
    """A stream of a function without noise, in batches of random rows, and other rows of it."""
    X = rng.uniform(0.0, 6.0, (600, 1))
    y = np.sin(X[:, 0]) + np.cos(1.7 * X[:, 0])
    model = StreamingSGPRegressor(n_inducing=25, random_state=0, **options)
    return taught(model, batches(X[:400], y[:400], 100, 200, 300)), X[400:], y[400:]


def own_variance(model, X):
    """Variances of new observations that the posterior has, in units of y."""
    fitted = model._fitted
    variance = fitted.predictor.moments(Inputs(X))[1].ravel() + fitted.noise_variance
    return model.y_scale_**2 * variance


# Their parts


def test_other_units_change_no_share():
    """Logarithms of variances move by that of the factor's square."""
    bands = Bands(Fading(10.0, 1.0), Fading(10.0, 10.0 * np.log(0.5)), np.array([0.2]))
    share = bands.share(Fading())
    assert 0.0 < share[0] < 1.0
    assert_allclose(bands.in_units(np.array([3.0])).share(Fading()), share, rtol=1e-12)


@pytest.mark.slow
def test_rows_within_the_usual_variance_are_told_of(rng):
    """Rows to come whose predicted variance is larger say nothing of what is usual."""
    model, X, y = smooth_stream(rng)
    fitted = model._fitted
    rows = Rows(X, y[:, None], None, fitted.targets.mean, fitted.targets.scale)
    mean, function = fitted.predictor.moments(Inputs(X))
    variance = function + fitted.noise_variance
    usual = np.quantile(variance, 0.3)
    bands = replace(fitted.state.bands, usual=np.array([usual]))
    squares = np.where(variance <= usual, (rows.targets - mean) ** 2 / variance, np.nan)
    told, expected = bands.told(fitted, rows, Fading(), 1), Fading().joined(squares)
    assert_allclose(told.count, expected.count, rtol=1e-12)
    assert_allclose(told.total, expected.total, rtol=1e-3)  # targets are rounded to a grid


# Their width


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, *map(slow, range(2, 6))])
def test_bands_of_a_function_without_noise_are_narrow(seed):
    """Noise has a floor; errors far below it have deviations of their own size in every draw.

    What residuals of the sample say makes errors smaller yet, and deviations by less.
    """
    full, X, y = smooth_stream(np.random.default_rng(seed))
    model = without_residuals(full)
    assert full.log_density(X, y).mean() >= model.log_density(X, y).mean()
    mean, std = model.predict(X, return_std=True)
    assert np.mean((y - mean) ** 2 / own_variance(model, X)) < 0.02
    assert 0.25 <= np.mean(((y - mean) / std) ** 2) <= 2.0


@pytest.mark.slow
def test_far_from_the_rows_bands_stay_as_wide(rng):
    """Rows vouch for the usual variance alone: far away no more than it is missing."""
    model, X, _ = smooth_stream(rng)
    model = with_equal_bands(model)
    far = np.array([[-4.0], [14.0]])
    _, std = model.predict(far, return_std=True)
    own = own_variance(model, far)
    usual = model._fitted.state.bands.usual * model.y_scale_**2
    less = np.broadcast_to((1.0 - model.band_scale_**2) * usual, own.shape)
    assert_allclose(own - std**2, less, rtol=1e-6)
    assert (std**2 > 0.99 * own).all()
    assert (usual < 1e-3 * own).all()
    assert (model.predict(X, return_std=True)[1] ** 2 < 0.2 * own_variance(model, X)).all()


def test_right_bands_are_hardly_touched(rng):
    """Where noise is what it is taken for, rows that were off by chance widen bands by little."""
    X = rng.uniform(0.0, 6.0, (800, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(800)
    model = taught(StreamingSGPRegressor(n_inducing=25, random_state=0), batches(X, y, 200, 400))
    assert 1.0 <= model.band_scale_ < 1.1
    ratio = model.predict(X, return_std=True)[1] ** 2 / own_variance(model, X)
    assert (ratio >= 1.0).all() and (ratio <= model.band_scale_**2 * (1.0 + 1e-9)).all()


@pytest.mark.slow
def test_bands_of_a_function_that_drifts_become_wider():
    """A stream that is too sure of what comes next has its misses in its bands."""
    held, own = [], []
    for seed in (2, 10, 11):
        rng, weight = np.random.default_rng(seed), 0.0
        model = StreamingSGPRegressor(n_inducing=25, random_state=0)
        for k in range(14):
            X, weight = rng.uniform(0.0, 6.0, (40, 1)), weight + 0.35 * rng.standard_normal()
            y = np.sin(X[:, 0]) + weight * np.cos(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(40)
            if k >= 6:
                mean, std = model.predict(X, return_std=True)
                held.append(np.mean(np.abs(y - mean) < 1.645 * std))
                own.append(np.mean(np.abs(y - mean) < 1.645 * np.sqrt(own_variance(model, X))))
            model.partial_fit(X, y)
        assert model.band_scale_ > 1.0
    assert np.mean(held) > np.mean(own) + 0.05
    assert np.mean(held) > 0.8


@pytest.mark.parametrize(
    "options",
    [{"optimizer": None}, {"noise_variance": 1e-6, "noise_variance_bounds": "fixed"}],
    ids=["nothing learned", "noise given"],
)
def test_what_is_given_has_its_own_bands(options, rng):
    """Without a noise that is learned the bands are those of the posterior."""
    model, X, _ = smooth_stream(rng, **options)
    assert model.band_scale_ == 1.0
    assert_allclose(model.predict(X, return_std=True)[1] ** 2, own_variance(model, X), rtol=1e-12)


@pytest.mark.slow
def test_everything_predicted_has_the_same_bands(rng):
    """Covariances, draws, quantiles and densities agree with the deviations of `predict`."""
    model, X, y = smooth_stream(rng)
    assert_all_have_the_same_bands(without_residuals(model), X[:6], y[:6], rtol=1e-7)


@pytest.mark.slow
def test_a_saved_stream_has_its_bands_and_goes_on(rng):
    """After a pickle bands are the same to the last bit, and so they are after the next batch."""
    model, X, y = smooth_stream(rng)
    loaded = pickle.loads(pickle.dumps(model))
    for each in (model, loaded):
        each.partial_fit(X[:60], y[:60])
    assert loaded.band_scale_ == model.band_scale_ < 1.0
    assert_array_equal(loaded.predict(X, return_std=True), model.predict(X, return_std=True))


def test_bands_follow_the_units_of_y(rng):
    """A factor of y, and a constant, change deviations by the factor alone."""
    X = rng.uniform(0.0, 6.0, (300, 1))
    y = np.column_stack([np.sin(X[:, 0]), np.sin(X[:, 0]) + 0.2 * rng.standard_normal(300)])
    one, other = (
        taught(StreamingSGPRegressor(n_inducing=25, random_state=0), batches(X, each, 100, 200))
        for each in (y, 4.0 * y + 8.0)
    )
    assert one.band_scale_.shape == (2,)
    assert_allclose(other.band_scale_, one.band_scale_, rtol=1e-3)
    first, second = (model.predict(X, return_std=True)[1] for model in (one, other))
    assert_allclose(second, 4.0 * first, rtol=1e-3)


# What they are made of


def test_left_out_rows_are_those_of_a_stream_without_them():
    """Squares are of predictions by all rows at other places, those of the old batch included."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(0.0, 4.0, (12, 1)), 2, axis=0)
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(24)
    Z = rng.uniform(0.0, 4.0, (6, 1))
    options = {"inducing": Z, "kernel": RBF(0.8), "noise_variance": 0.05}
    model = taught(fixed_inducing(**options), batches(X, y, 12))
    rows = Rows(X[12:], y[12:, None], None, 0.0, 1.0)
    learned = StreamingSGPRegressor(RBF(0.8), noise_variance=0.05).fit(X[:12], y[:12])
    fitted = replace(model._fitted, start=learned._fitted.start)
    bands = Bands().joined(fitted, rows, 0.0, None)
    squares = []
    for place in range(12, 24, 2):
        others = np.delete(np.arange(12, 24), [place - 12, place - 11])
        less = taught(fixed_inducing(**options), [(X[:12], y[:12]), (X[others], y[others])])
        mean, std = less.predict(X[place : place + 2], return_std=True)
        squares.append((y[place : place + 2] - mean) ** 2 / std**2)
    expected = Fading().joined(np.ravel(squares)[:, None])
    assert_allclose(bands.left_out.total, expected.total, rtol=1e-6)


def fixed_inducing(kernel, **options):
    """A stream that learns nothing, with given inducing inputs."""
    return fixed(optimize_inducing=False, **options).set_params(kernel=kernel)


def test_squares_of_a_batch_count_as_if_rows_came_one_by_one():
    """Any split has the same count, and the same total where rows are all alike."""
    whole = Fading().joined(np.full((50, 1), 0.3))
    parts = Fading()
    for n in (1, 9, 40):
        parts = parts.joined(np.full((n, 1), 0.3))
    assert_allclose([parts.count, parts.total], [whole.count, whole.total], rtol=1e-12)
    assert_allclose(whole.total / whole.count, 0.3, rtol=1e-12)


def test_a_row_of_weight_two_counts_as_two():
    """Weights and rows that come twice say the same of the bands."""
    rng = np.random.default_rng(2)
    X, y = rng.uniform(0.0, 4.0, (30, 1)), rng.standard_normal((30, 1))
    weight = rng.integers(1, 4, 30)
    fitted = fixed_inducing(RBF(0.8), inducing=X[::5]).partial_fit(X, y[:, 0])._fitted
    repeated = np.repeat(np.arange(30), weight)
    weighted = Rows(X, y, weight.astype(float), 0.0, 1.0)
    each = Rows(X[repeated], y[repeated], None, 0.0, 1.0)
    one, other = (Bands().joined(fitted, rows, 0.0, None) for rows in (weighted, each))
    told = [one.told(fitted, rows, Fading(), None) for rows in (weighted, each)]
    assert told[0].count > 0.0
    assert_allclose(one.share(told[0]), other.share(told[1]), rtol=1e-9)
    assert_allclose(one.usual, other.usual, rtol=1e-12)
    assert_allclose(told[0].total, told[1].total, rtol=1e-9)


def test_missing_rows_are_no_width():
    """NaN does not count."""
    squares = np.array([[1.0, 9.0], [1.0, 2.0], [np.nan, np.nan]])
    found = Fading().joined(squares)
    assert_allclose(found.total / found.count, [1.0, 5.5])
    assert_allclose(found.count, Fading().joined(squares[:2]).count)


def test_the_share_is_an_upper_limit():
    """Of right rows, n in number, the variance is above it with a probability of 0.05."""
    rng = np.random.default_rng(1)
    n = 8
    shares = np.array(
        [
            vouched(n, 0.01 * (rng.standard_normal(n) ** 2).sum()).share(Fading()).item()
            for _ in range(2000)
        ]
    )
    assert 0.03 < np.mean(shares < 0.01) < 0.07
    assert_allclose(vouched(8, 0.08).share(Fading()), 0.08 / chi2.ppf(0.05, 8))
    assert Bands().share(Fading()) == 1.0


def vouched(n, total, before=1.0):
    """Bands of n rows with a sum of squares, whose usual variance was once another than 1."""
    sums = (Fading(np.array([float(n)]), np.array([each])) for each in (total, n * np.log(before)))
    return Bands(*sums, np.ones(1))


def test_rows_that_were_further_off_ask_for_wider_bands():
    """Of n right rows the factor is above 1 with a probability of 0.2; usual rows say theirs."""
    rng, ones = np.random.default_rng(1), np.ones(1)
    n = 12
    found = [
        Misses().joined(rng.standard_normal((n, 1)) ** 2, np.ones((n, 1)), ones, ones).factors
        for _ in range(2000)
    ]
    inside, beyond = np.array(found)[:, :, 0].T
    assert 0.14 < np.mean(inside > 1.0) < 0.22  # later rows of a batch count no more than others
    assert (beyond == 1.0).all()
    squares, variance = np.full((n, 1), 9.0), np.full((n, 1), 2.0)
    inside, beyond = Misses().joined(squares, variance, ones, ones).factors
    assert inside == 1.0 and beyond > 4.0
    two = Misses().joined(squares, variance, ones, np.array([2.0 / n])).factors[1]
    assert_allclose(two, 18.0 / chi2.ppf(0.8, 2), rtol=0.05)


def test_rows_that_go_together_count_as_one():
    """Rows of one correlation count as many as are independent; outliers alone are brought in."""
    correlated = 1.0 - 1e-9 + 1e-9 * np.eye(20)
    residual = np.where(np.arange(20) == 7, 1e3, 2.0)[:, None]
    for function, count in ((np.zeros((20, 20)), 20.0), (correlated, 1.0)):
        noise = np.full((20, 1), 1.0 if count > 1.0 else 1e-9)
        prediction = Prediction(residual, function[:, :, None], noise)
        misses = missed(Misses(), prediction, np.ones(1))
        expected = Fading().joined(np.zeros((20, 1)), independent=count / 20.0).count
        assert_allclose(misses.inside.count, expected, rtol=1e-6)
        assert misses.inside.total < 7.0 * misses.inside.count
    assert missed(Misses(), prediction, 0.0) == Misses()


def test_what_a_stream_has_made_narrower_itself_is_not_made_so_twice():
    """Squares in variances that were k times those of now count k times, those of less once."""
    share = vouched(40, 4.0).share(Fading())
    assert_allclose(vouched(40, 4.0, before=3.0).share(Fading()), 3.0 * share)
    assert_allclose(vouched(40, 4.0, before=0.2).share(Fading()), share)
    assert vouched(40, 4.0, before=50.0).share(Fading()) == 1.0


@pytest.mark.slow
def test_a_change_of_units_changes_no_share(rng):
    """Variances, and what they were, have a factor's square; the share has none."""
    bands = smooth_stream(rng)[0]._fitted.state.bands
    other = bands.in_units(np.array([3.0]))
    assert_allclose(other.usual, 9.0 * bands.usual, rtol=1e-12)
    assert_allclose(other.share(Fading()), bands.share(Fading()), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n_draws", [2, slow(6)])
def test_spikes_do_not_come_between_narrow_bands(n_draws):
    """Of rows of which one in fifty is far off, quiet stretches vouch for little: density stays."""
    gains = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        time = np.arange(900) / 60.0
        y = np.sin(2.0 * time) + 0.1 * rng.standard_normal(900) + 6.0 * (rng.random(900) < 0.02)
        model = StreamingSGPRegressor(n_inducing=40, random_state=0)
        for lo in range(0, 900, 60):
            X, values = time[lo : lo + 60, None], y[lo : lo + 60]
            if lo:
                mean, std = model.predict(X, return_std=True)
                own = own_variance(model, X)
                gains.append(
                    log_densities(values - mean, std**2) - log_densities(values - mean, own)
                )
            model.partial_fit(X, values)
    assert np.mean(gains) > -0.02


def log_densities(errors, variance):
    """Log densities of errors, in nats."""
    return -0.5 * np.log(2.0 * np.pi * variance) - 0.5 * errors**2 / variance


def test_rows_that_came_several_times_ask_for_wider_bands():
    """Each tells once how far off the others are; rows that came once ask for nothing."""
    rng = np.random.default_rng(3)
    X, y = rng.uniform(0.0, 4.0, (40, 1)), 2.0 * rng.standard_normal((40, 1))
    three = Rows(X, y, np.full(40, 3.0), 0.0, 1.0)
    model = fixed_inducing(RBF(0.8), inducing=X[::5])
    fitted = model.partial_fit(X, y[:, 0], three.weight)._fitted
    bands = Bands().joined(fitted, three, 0.0, None)
    once, left_out = bands.repeated, bands.left_out
    assert_allclose(once.count, Fading().joined(np.ones((40, 1))).count)
    assert_allclose(once.total / once.count, left_out.total / left_out.count, rtol=1e-9)
    assert_allclose(bands.widening, once.total / chi2.ppf(0.5, once.count), rtol=1e-9)
    assert bands.widening > 1.5
    some = Rows(X, y, np.where(np.arange(40) < 25, 3.0, 1.0), 0.0, 1.0)
    assert_allclose(
        Bands().joined(fitted, some, 0.0, None).repeated.count,
        Fading().joined(np.ones((25, 1))).count,
    )
    none = Bands().joined(fitted, replace(three, weight=None), 0.0, None)
    assert none.repeated.count == 0.0 and none.widening == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 1.0])
@pytest.mark.parametrize("across", [False, True])
def test_repeated_rows_are_no_new_rows(across, noise):
    """50 rows, four times each, in one batch and in five: 90 % bands held .78 of new ones."""
    held = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, T = rng.uniform(-3.0, 3.0, (50, 1)), rng.uniform(-3.0, 3.0, (500, 1))
        y, t = (np.sin(2.0 * x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, T))
        order = rng.permutation(np.tile(np.arange(50), 4))
        model = StreamingSGPRegressor(random_state=0)
        taught(model, batches(X[order], y[order], *(range(40, 200, 40) if across else ())))
        low, high = model.predict_quantiles(T, quantiles=(0.05, 0.95)).T
        held.append(np.mean((low < t) & (t < high)))
    assert np.mean(held) > 0.83
