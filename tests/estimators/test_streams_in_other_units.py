"""Streams in other units of the inputs, or with other weights: none loses its function in silence.

A fast function that ends quiet, with too few inducing inputs: what is learned hangs on rounding.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from stream_helpers import batches, taught

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams.bands import vouched_share

X = np.linspace(0.0, 10.0, 1600)[:, None]
Y = np.sin(12.0 * X[:, 0]) * np.where(X[:, 0] < 6.0, 1.0, 0.02)


def stream_of(inputs, weight=None):
    """A stream of half of the rows, and its log densities of the others."""
    pieces = batches(inputs[::2], Y[::2], *range(200, 800, 100))
    if weight is not None:
        pieces = [(*piece, np.full(len(piece[1]), weight)) for piece in pieces]
    model = taught(StreamingSGPRegressor(n_inducing=25, random_state=0), pieces)
    return model, model.log_density(inputs[1::2], Y[1::2])


# As it came, it had 0.385 nats a row and has them. By the side is what others had.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what a few inducing inputs miss
@pytest.mark.quick_cases("1e8", "weight 0.3")
@pytest.mark.parametrize(
    ("inputs", "weight"),
    [
        pytest.param(2.0 * X, None, id="2"),  # -116
        pytest.param(1e8 * X, None, id="1e8"),  # -204
        pytest.param(X.astype(np.float32), None, id="float32"),  # -201
        pytest.param(X, 0.25, id="weight 0.25"),  # -102
        pytest.param(X, 0.3, id="weight 0.3"),  # -700
        pytest.param(X, 0.5, id="weight 0.5"),  # -24
        pytest.param(X, 2.0, id="weight 2"),  # -104
    ],
)
def test_a_fast_function_that_ends_quiet_is_not_lost(inputs, weight):
    model, log_p = stream_of(inputs, weight)
    assert log_p.mean() > -1.5
    assert np.std(model.predict(inputs[1::2])[:480]) > 0.1  # where a level took its place: 0


# Bands of a sample ------------------------------------------------------------------------------


def lost_stream(rng, noise=0.1):
    """A stream of a sine with noise, its rows, and shares of bands that are as they are."""
    x = rng.uniform(0.0, 6.0, (200, 1))
    y = np.sin(x[:, 0]) + noise * rng.standard_normal(200)
    model = StreamingSGPRegressor(n_inducing=20, random_state=0).fit(x, y)
    fitted = model._fitted
    targets = fitted.targets
    rows = Rows(x, y[:, None], None, targets.mean, targets.scale)
    usual = np.atleast_1d(2.0 * fitted.noise_variance)
    return fitted, rows, usual


def test_bands_are_no_narrower_than_a_sample_bears_out(rng):
    fitted, rows, usual = lost_stream(rng)
    for share, expected in ((0.95, 0.95), (0.01, 1.0)):
        given = (np.array([share]), usual, np.ones(1))
        assert_array_equal(vouched_share(fitted, rows, given, 1)[0], expected)


def test_few_rows_of_a_sample_say_nothing_of_bands(rng):
    """A single one after a shift made variances ten times as large."""
    fitted, rows, usual = lost_stream(rng)
    given = (np.array([0.5]), usual, np.ones(1))
    few = Rows(rows.X[:19], 3.0 + rows.y[:19], None, rows.y_mean, rows.y_scale)
    for n in (1, 19):
        assert vouched_share(fitted, few.select(np.arange(n)), given, 1) is given
    few = Rows(rows.X[:20], 3.0 + rows.y[:20], None, rows.y_mean, rows.y_scale)
    assert vouched_share(fitted, few, given, 1)[0] > 1.0


def test_bands_are_as_wide_as_a_sample_is_off_where_the_function_is_lost(rng):
    """Nearly all squares are what is expected then; single rows far off say nothing."""
    fitted, rows, usual = lost_stream(rng)
    given = (np.ones(1), usual, np.ones(1))
    few = rows.y.copy()
    few[:8] += 50.0
    for y, is_lost in ((rows.y, False), (few, False), (3.0 + rows.y, True)):
        other = Rows(rows.X, y, None, rows.y_mean, rows.y_scale)
        share = vouched_share(fitted, other, given, 1)[0]
        assert (share > 1.0).all() == is_lost
    mean, variance = fitted.predictor.moments(Inputs(rows.X), 1)
    variance = variance + fitted.noise_variance
    wide = variance + (share - 1.0) * np.minimum(variance, usual)
    assert 0.9 < np.mean((other.targets - mean) ** 2) / np.mean(wide) < 1.15
