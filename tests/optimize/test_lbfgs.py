"""L-BFGS on objectives of named parameters: bounds, failures, and what ends it."""

import time
from dataclasses import replace

import numpy as np
import pytest
from dense import make_space
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.factors.gradients import Gradient
from sklearn_sgp.optimize.lbfgs import ascend_lbfgs
from sklearn_sgp.optimize.parameters import Parameters
from sklearn_sgp.optimize.progress import Clock, Plateau, Trace

START = Parameters(
    None,
    {
        "theta": np.array([0.5, -1.0]),
        "log_noise": -2.0,
        "Z": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    },
)
PEAK = Parameters(
    None,
    {
        "theta": np.array([0.3, 0.8]),
        "log_noise": -0.6,
        "Z": np.array([[0.0, 9.0], [2.0, 7.0], [4.0, 5.0]]),
    },
)
FREE = [(True, True), (True, False), (False, True), (False, False)]


def _space(noise=True, inputs=True, bound=10.0):
    return make_space(2, np.array([0.5, 20.0]) if inputs else None, noise=noise, bound=bound)


def _concave(parameters):
    """A concave function with its maximum 3 at PEAK; its curvatures differ by a factor of 100."""
    d_theta, d_Z = parameters.theta - PEAK.theta, parameters.Z - PEAK.Z
    d_noise = parameters.log_noise - PEAK.log_noise
    curvature = np.array([0.5, 50.0])
    value = 3.0 - (curvature @ d_theta**2) - d_noise**4 - d_noise**2 - np.sum(d_Z**2)
    gradient = Gradient(
        theta=-2.0 * curvature * d_theta,
        log_noise=-4.0 * d_noise**3 - 2.0 * d_noise,
        Z=-2.0 * d_Z,
    )
    return value, gradient


def _ascend(objective, space, start=START, **options):
    options = {
        "max_iter": 200,
        "plateau": Plateau(0.0, 10**6),
        "trace": Trace(Clock()),
        **options,
    }
    return ascend_lbfgs(objective, space, start, **options)


@pytest.mark.parametrize("noise, inputs", FREE)
def test_lbfgs_finds_the_maximum(noise, inputs):
    """The maximum over the free parameters is found, the others stay."""
    found, value, n_iter, _ = _ascend(_concave, _space(noise, inputs))
    assert_allclose(found.theta, PEAK.theta, atol=1e-5)
    assert_allclose(found.log_noise, PEAK.log_noise if noise else START.log_noise, atol=1e-5)
    assert_allclose(found.Z, PEAK.Z if inputs else START.Z, atol=1e-5)
    assert value == _concave(found)[0]
    assert 0 < n_iter < 100


def test_lbfgs_adds_the_prior_of_the_space():
    """The maximum is that of the sum; trace and value have the objective alone."""

    def prior(theta):
        return -float(theta @ theta), -2.0 * theta

    trace = Trace(Clock())
    space = replace(_space(), prior=prior)
    found, value, *_ = _ascend(_concave, space, trace=trace)
    assert_allclose(found.theta, PEAK.theta * [0.5 / 1.5, 50.0 / 51.0], atol=1e-5)
    assert value == _concave(found)[0] == trace.objectives[-1]


def test_lbfgs_respects_bounds():
    """No point outside the bounds is tried, not even the start; the best within them is found."""
    seen = []

    def objective(parameters):
        seen.append(np.append(parameters.theta, parameters.log_noise))
        return _concave(parameters)

    found, *_ = _ascend(objective, _space(bound=0.5))
    assert np.abs(seen).max() <= 0.5
    assert_allclose(found.theta, [0.3, 0.5], atol=1e-6)
    assert_allclose(found.log_noise, -0.5)


def test_lbfgs_backs_away_from_failures():
    """Points where K(Z, Z) does not factorise are stepped back from, and the maximum is found."""
    failures = []

    def objective(parameters):
        if parameters.theta[1] > 0.85:  # PEAK is at 0.8
            failures.append(parameters.theta[1])
            raise NotPositiveDefiniteError("beyond the wall")
        return _concave(parameters)

    start = START.with_values(theta=np.array([0.5, 0.5]))
    found, value, *_ = _ascend(objective, _space(inputs=False), start)
    assert failures
    assert_allclose(found.theta, PEAK.theta, atol=1e-4)
    assert_allclose(value, _concave(PEAK.with_values(Z=START.Z))[0], atol=1e-6)


def test_lbfgs_raises_where_the_start_fails():
    """A failure at the start itself is the caller's to handle."""

    def objective(parameters):
        raise NotPositiveDefiniteError("at the start")

    with pytest.raises(NotPositiveDefiniteError, match="at the start"):
        _ascend(objective, _space())


def _rosenbrock(parameters):
    """A curved valley: takes L-BFGS some forty iterations."""
    a, b = parameters.theta
    value = -((1.0 - a) ** 2) - 100.0 * (b - a * a) ** 2
    slope = np.array([2.0 * (1.0 - a) + 400.0 * a * (b - a * a), -200.0 * (b - a * a)])
    return value, Gradient(theta=slope, log_noise=0.0, Z=0.0)


VALLEY = START.with_values(theta=np.array([-1.2, 1.0]))
THETA_ONLY = _space(noise=False, inputs=False)


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_lbfgs_stops_by_time(seconds):
    """When the time is over the best point so far is returned, at the least the start."""
    seen = []

    def slow(parameters):
        time.sleep(0.02)
        seen.append(_rosenbrock(parameters))
        return seen[-1]

    begin = time.perf_counter()
    found, value, n_iter, _ = _ascend(slow, THETA_ONLY, VALLEY, seconds=seconds)
    assert time.perf_counter() - begin < seconds + 1.0
    assert len(seen) <= 1 + seconds / 0.02
    assert value == max(v for v, _ in seen) == _rosenbrock(found)[0]
    assert (value > _rosenbrock(VALLEY)[0]) == (seconds > 0)
    assert n_iter < 20


def test_lbfgs_stops_by_plateau():
    """It stops when the plateau is reached: after the first iteration no gain is enough here."""
    trace = Trace(Clock())
    _, value, n_iter, _ = _ascend(
        _rosenbrock, THETA_ONLY, VALLEY, plateau=Plateau(1e6, 3), trace=trace
    )
    assert n_iter == len(trace.objectives) == 4
    assert trace.objectives == sorted(trace.objectives)
    assert value == trace.objectives[-1]


def test_lbfgs_stops_by_callback():
    """A listener that returns True ends the run; it can look at the best parameters so far."""
    snapshots = []

    def listener(trace, snapshot):
        snapshots.append(snapshot())
        return len(snapshots) == 5

    trace = Trace(Clock(), listener)
    found, value, n_iter, _ = _ascend(_rosenbrock, THETA_ONLY, VALLEY, trace=trace)
    assert n_iter == 5
    assert trace.stopped
    assert_array_equal(found.theta, snapshots[-1].theta)
    assert [_rosenbrock(s)[0] for s in snapshots] == trace.objectives
    assert value == trace.objectives[-1]


@pytest.mark.parametrize("max_iter", [1, 7])
def test_lbfgs_stops_by_iterations(max_iter):
    """No more than max_iter iterations are made."""
    assert _ascend(_rosenbrock, THETA_ONLY, VALLEY, max_iter=max_iter)[2] == max_iter


def test_lbfgs_returns_the_best_seen():
    """Cut short after a trial step that went too far, it returns the start it came from."""
    seen = []

    def objective(parameters):
        time.sleep(0.3 * len(seen))  # the second call ends after the deadline
        seen.append(_rosenbrock(parameters))
        return seen[-1]

    found, value, n_iter, _ = _ascend(objective, THETA_ONLY, VALLEY, seconds=0.3)
    assert len(seen) == 2
    assert seen[1][0] < seen[0][0] == value
    assert_array_equal(found.theta, VALLEY.theta)
    assert n_iter == 0
