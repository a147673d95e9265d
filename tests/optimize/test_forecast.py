"""How long a fit has left, as it is foretold: by a clock that tests set."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.optimize.forecast import LEAST_ENTRIES, Forecast, entries_left
from sklearn_sgp.optimize.progress import ITERATIONS, PASSES, Clock, Steps, Trace


class SetClock(Clock):
    """Tells the time that it is given."""

    now = 0.0

    def elapsed(self):
        return self.now


def test_parts_keep_their_speed_and_others_have_that_of_all():
    """What has begun goes on as fast as it was, what has not as fast as all that was measured."""
    clock = SetClock()
    forecast = Forecast(clock)
    assert forecast.seconds_left() == np.inf
    forecast.expect("trials", 4.0)
    forecast.expect("rounds", 10.0, most=30.0)
    forecast.expect("rest", 1.0)
    assert forecast.seconds_left() == np.inf  # nothing is measured
    clock.now = 6.0
    forecast.did("trials", 2.0)  # 3 s each
    assert_allclose(forecast.seconds_left(), 3.0 * (2.0 + 10.0 + 1.0))
    assert_allclose(forecast.most_seconds_left(), 3.0 * (2.0 + 30.0 + 1.0))
    clock.now = 7.0
    forecast.did("something that was not expected")
    clock.now = 12.0
    forecast.did("rounds", 5.0)  # 1 s each; 7 units took 11 s
    assert_allclose(forecast.seconds_left(), 3.0 * 2.0 + 1.0 * 5.0 + 11.0 / 7.0)
    forecast.expect("trials", 0.0)
    forecast.expect("rounds", 2.0)
    assert_allclose(forecast.seconds_left(), 2.0 + 11.0 / 7.0)
    assert_allclose(forecast.most_seconds_left(), forecast.seconds_left())


def test_more_work_than_was_expected_leaves_nothing():
    """A part that takes more work than it was expected to is over."""
    clock = SetClock()
    forecast = Forecast(clock)
    forecast.expect("rounds", 2.0)
    clock.now = 6.0
    forecast.did("rounds", 3.0)
    assert forecast.seconds_left() == 0.0


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("n", [60, 90, 200])
def test_the_end_of_gains_that_fall_as_a_power_is_known(power, n):
    """Gains that fall as a power of the number of entries tell the entry that is the last."""
    values = -1e4 * np.arange(1.0, 5000.0) ** -power
    gains = values[10:] - values[:-10]
    least = gains[int(1.5 * n)]
    left = np.flatnonzero(gains <= least)[0] + 11 - n  # entries with which it ends, less those made
    assert_allclose(entries_left(values[:n], least), left, rtol=0.3)


def test_an_end_that_is_reached_or_never_comes():
    """Gains that are small enough leave nothing, and those that do not fall leave many entries."""
    line = np.arange(80.0)
    assert entries_left(line, least=10.0) == 0.0
    assert np.inf > entries_left(line, least=9.0) > 300.0
    growing = line[:LEAST_ENTRIES] ** 2
    assert np.isfinite(entries_left(growing, least=1.0))


def test_words_of_a_trace():
    """A trace says what goes on, how far it is, and what is left where it is known."""
    clock = SetClock()
    trace = Trace(clock)
    trace.begin("learning")
    assert (trace.words(), trace.seconds()) == ("learning", "0.0 s")
    trace.forecast.expect("rounds", 6.0)
    trace.begin("learning", Steps(PASSES, 6, "rounds", 1.0))
    clock.now = 4.0
    trace.add(0.0, None)
    assert trace.words() == "learning, pass 2 of 6"
    assert trace.seconds() == "4.0 s (about 20 s left)"
    assert trace.seconds_left() == 20.0
    trace.forecast.expect("rounds", 2.0, most=10.0)
    trace.begin("learning", Steps(ITERATIONS, 10, "rounds", 1.0))
    assert trace.words() == "learning, iteration 1 of at most 10"
    assert trace.seconds() == "4.0 s (about 8.0 s left, at most 40)"
    clock.max_time = 30.0
    assert trace.seconds() == "4.0 s (about 8.0 s left, at most 26)"
    trace.forecast.expect("rounds", 10.0)
    assert trace.seconds() == "4.0 s (26.0 s left)"
    assert trace.seconds_left() == 26.0
