"""What a stream remembers of its batches."""

import numpy as np

from sklearn_sgp.engines.streams.watch import UNWATCHED, Gathered


def batch(rng, scale, hangs):
    """Residuals of twenty rows of a sensor, which may have one value in most of them."""
    distances = np.abs(rng.normal(size=(20, 1))) * scale
    y = rng.normal(size=(20, 1))
    y[: 15 if hangs else 0] = 0.5
    return Gathered(20, np.zeros(1), np.ones(1), distances, distances, y)


def test_a_sensor_that_hangs_is_not_what_is_usual():
    """Small residuals of rounded targets hid that the noise fell in the batches after them."""
    rng, watch, moves, usual = np.random.default_rng(0), UNWATCHED, np.array([True]), np.ones(1)
    for _ in range(12):
        watch = watch.after(batch(rng, 1.0, False), moves, usual)[0]
    hung, _, alarm = watch.after(batch(rng, 0.01, True), moves, usual)
    assert not alarm.any() and not hung.noise_fell
    assert hung.scales == watch.scales
    fell, _, alarm = hung.after(batch(rng, 0.01, False), moves, usual)
    assert fell.noise_fell and not alarm.any()
    assert fell.after(batch(rng, 0.01, False), moves, usual)[2].all()
