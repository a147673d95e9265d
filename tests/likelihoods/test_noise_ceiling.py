"""The largest noise that rows bear out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from varying_noise import data, made

from sklearn_sgp.noise.ceiling import largest_log_noise
from sklearn_sgp.noise.row_noise import LogNoiseMoments


def drawn(n, rng, outputs=1):
    """A log noise at some rows, and squared errors that it tells the truth about."""
    g = rng.normal(0.0, 1.5, (n, 1))
    moments = LogNoiseMoments(g - 0.05, np.full(g.shape, 0.1))
    return moments, np.exp(g) * rng.standard_normal((n, outputs)) ** 2, np.ones(n)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_noise_that_is_right_keeps_a_margin(seed, outputs):
    """Where squared errors are as the log noise says, predictions may have twice its deviation."""
    moments, squares, weight = drawn(2000, np.random.default_rng(seed), outputs)
    level = largest_log_noise(moments, squares, weight)
    assert_allclose(level, (moments.mean + 0.05).max() + 2.0 * np.log(2.0))


def test_overshoot_is_cut_where_the_likelihood_says_so():
    """The level maximises the likelihood of the smaller of log noise and level."""
    rng = np.random.default_rng(0)
    moments, squares, weight = drawn(500, rng)
    moments.mean[:60] += 6.0
    weight = rng.uniform(0.5, 2.0, 500)
    (level,) = largest_log_noise(moments, squares, weight)
    g = (moments.mean + 0.5 * moments.variance)[:, 0]

    def value(c):
        cut = np.minimum(g, c)
        return -0.5 * weight @ (cut + squares[:, 0] * np.exp(-cut))

    grid = np.linspace(-3.0, g.max(), 20_001)
    best = grid[np.argmax([value(c) for c in grid])]
    assert abs(level - best) < 1e-3 and value(level) >= value(best)
    assert_allclose(np.exp(level), np.average(squares[g > level, 0], weights=weight[g > level]))


def test_rows_without_weight_say_nothing():
    """Weights of zero are no rows; squared errors of zero are no failure."""
    moments, squares, weight = drawn(200, np.random.default_rng(0))
    rest = LogNoiseMoments(*(part[20:] for part in moments))
    weight[:20] = 0.0
    moments.mean[:20] += 9.0
    level = largest_log_noise(moments, squares, weight)
    assert_allclose(level, largest_log_noise(rest, squares[20:], weight[20:]))
    least = (moments.mean + 0.5 * moments.variance)[20:].min()
    assert_allclose(largest_log_noise(moments, 0.0 * squares, weight), least)


def test_each_output_has_its_own():
    """Log noises of several outputs have a level each, those of the outputs alone."""
    rng = np.random.default_rng(0)
    parts = [drawn(300, rng) for _ in range(2)]
    parts[0][0].mean[:40] += 5.0
    both = LogNoiseMoments(*(np.hstack(part) for part in zip(*(p[0] for p in parts), strict=True)))
    squares, weight = np.hstack([part[1] for part in parts]), parts[0][2]
    alone = [largest_log_noise(*part)[0] for part in parts]
    assert_allclose(largest_log_noise(both, squares, weight), alone)


@pytest.mark.parametrize("model", [None, "vif"])
def test_noise_far_from_all_rows_is_no_larger_than_rows_bear_out(model):
    """Far away a log noise with a wide prior expected any noise."""
    X, y = data(400)
    fitted = made(model).fit(X, y)
    far, near = fitted.noise_std([[60.0], [1e4]]), fitted.noise_std(X)
    assert (far <= 2.0 * near.max() * 1.001 * fitted.variance_scale_[1]).all()
    largest = np.exp(0.5 * fitted._fitted.row_noise.ceiling)
    unspread = np.sqrt(fitted.noise_variance_) * largest
    assert (far <= unspread * 10.0).all() and np.isfinite(far).all()


def test_where_nothing_is_known_the_expected_precision_is_a_number():
    """A wide prior of the log noise expects e^750 and more."""
    moments = LogNoiseMoments(np.array([[0.0], [1.0]]), np.array([[1500.0], [3.0]]))
    assert_allclose(np.log(moments.precision), [[300.0], [0.5]])


def test_no_expected_noise_is_above_the_ceiling():
    """Means come down to it, and variances until E exp(g) is its exponential; others stay."""
    moments = LogNoiseMoments(np.array([[0.0], [0.5], [3.0]]), np.array([[0.6], [4.0], [1.0]]))
    mean, variance = moments.below(1.0)
    assert_allclose(mean, [[0.0], [0.5], [1.0]])
    assert_allclose(mean + 0.5 * variance, [[0.3], [1.0], [1.0]])
