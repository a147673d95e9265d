"""How long a fit has left, as it is foretold: by a clock that tests set."""

import numpy as np
from numpy.testing import assert_allclose

from sklearn_sgp.optimize.forecast import Forecast
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
    forecast.expect("rounds", 10.0)
    forecast.expect("rest", 1.0)
    assert forecast.seconds_left() == np.inf  # nothing is measured
    clock.now = 6.0
    forecast.did("trials", 2.0)  # 3 s each
    assert_allclose(forecast.seconds_left(), 3.0 * (2.0 + 10.0 + 1.0))
    clock.now = 7.0
    forecast.did("something that was not expected")
    clock.now = 12.0
    forecast.did("rounds", 5.0)  # 1 s each; 7 units took 11 s
    assert_allclose(forecast.seconds_left(), 3.0 * 2.0 + 1.0 * 5.0 + 11.0 / 7.0)
    forecast.expect("trials", 0.0)
    forecast.expect("rounds", 2.0)
    assert_allclose(forecast.seconds_left(), 2.0 + 11.0 / 7.0)


def test_a_part_without_an_end_leaves_all_unknown():
    """While nobody knows what some part takes nothing is foretold, whatever was measured of it."""
    clock = SetClock()
    forecast = Forecast(clock)
    forecast.expect("rounds", 2.0)
    forecast.expect("search", np.inf)
    forecast.did("search", 1.0)  # in no time
    clock.now = 6.0
    forecast.did("rounds", 1.0)
    assert forecast.seconds_left() == np.inf
    forecast.expect("search", 0.0)
    assert forecast.seconds_left() == 6.0


def test_a_limit_of_a_part_is_one_of_all():
    """While work that may end early is ahead, what is left is a limit."""
    clock = SetClock()
    forecast = Forecast(clock)
    forecast.expect("iterations", 10.0, is_limit=True)
    forecast.expect("rest", 1.0)
    clock.now = 4.0
    forecast.did("iterations", 2.0)
    assert forecast.is_limit and forecast.seconds_left() == 18.0
    forecast.expect("iterations", 0.0, is_limit=True)
    assert not forecast.is_limit and forecast.seconds_left() == 2.0
    forecast.expect("iterations", 3.0)
    assert not forecast.is_limit


def test_more_work_than_was_expected_leaves_nothing():
    """A part that takes more work than it was expected to is over."""
    clock = SetClock()
    forecast = Forecast(clock)
    forecast.expect("rounds", 2.0)
    clock.now = 6.0
    forecast.did("rounds", 3.0)
    assert forecast.seconds_left() == 0.0


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
    trace.forecast.expect("rounds", 10.0, is_limit=True)
    trace.begin("learning", Steps(ITERATIONS, 10, "rounds", 1.0))
    assert trace.words() == "learning, iteration 1 of at most 10"
    assert trace.seconds() == "4.0 s (at most 40 s left)"
    assert trace.seconds_left() == np.inf
    clock.max_time = 30.0
    trace.forecast.expect("rounds", 10.0)
    assert trace.seconds() == "4.0 s (26.0 s left)"
    assert trace.seconds_left() == 26.0
