"""Adam in passes over terms drawn anew: where it ends, what it takes back, when it stops."""

import numpy as np
import pytest
from dense import make_case, make_space
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.factors.gradients import Gradient
from sklearn_sgp.optimize.progress import Clock, Trace
from sklearn_sgp.optimize.stochastic import ascend_in_passes


@pytest.fixture
def begin():
    """Parameters of a small problem, and the space of its kernel and noise."""
    parameters = make_case().parameters
    return parameters, make_space(len(parameters.theta))


def hill(top, noise=0.0, rng=None):
    """A step's objective: a paraboloid around a place in kernel and noise, with noisy slopes."""

    def objective(parameters):
        theta = parameters.theta - top
        shift = noise * rng.standard_normal(len(theta)) if noise else 0.0
        return -0.5 * float(theta @ theta), Gradient(theta=-theta + shift, log_noise=-1.0)

    return objective


def test_noisy_slopes_end_near_the_top(begin):
    """The mean of the last steps is nearer than the noise of slopes would leave a step."""
    parameters, space = begin
    top, rng, trace = parameters.theta + 0.7, np.random.default_rng(0), Trace(Clock())
    found, n_passes, _ = ascend_in_passes(
        lambda _: [hill(top, 0.3, rng)] * 20, space, parameters, rate=0.1, n_passes=20, trace=trace
    )
    assert n_passes == len(trace.objectives) == 20
    assert_allclose(found.theta, top, atol=0.15)
    assert found.log_noise < parameters.log_noise


def test_a_step_to_nowhere_is_taken_back(begin):
    """Steps are shorter from then on; where nothing can be evaluated the error comes through."""
    parameters, space = begin
    edge = parameters.theta[0] + 0.15

    def objective(candidate):
        if candidate.theta[0] > edge:
            raise NotPositiveDefiniteError("beyond the edge")
        return candidate.theta[0], Gradient(theta=np.eye(len(candidate.theta))[0], log_noise=0.0)

    def ascent(start):
        draw = lambda _: [objective] * 10  # noqa: E731
        return ascend_in_passes(draw, space, start, rate=0.1, n_passes=2, trace=Trace(Clock()))

    found, *_ = ascent(parameters)
    assert parameters.theta[0] < found.theta[0] <= edge
    with pytest.raises(NotPositiveDefiniteError):
        ascent(parameters.with_values(theta=parameters.theta + 1.0))


def test_callbacks_and_time_end_it(begin):
    """Between passes: what was found by then is returned."""
    parameters, space = begin
    trace = Trace(Clock(), on_iteration=lambda trace, _: len(trace.objectives) == 2)
    options = {"rate": 0.1, "n_passes": 50}
    draw = lambda _: [hill(parameters.theta + 9.0)] * 4  # noqa: E731
    found, n_passes, _ = ascend_in_passes(draw, space, parameters, trace=trace, **options)
    assert n_passes == 2
    assert not np.allclose(found.theta, parameters.theta)
    late = Trace(Clock())
    end = ascend_in_passes(draw, space, parameters, trace=late, seconds=0.0, **options)
    assert end[1:] == (1, "max_time")


def test_groups_are_drawn_at_the_parameters_of_the_moment(begin):
    """The first pass at the start, the next where it has ended."""
    parameters, space = begin
    seen = []

    def draw(now):
        seen.append(now.theta)
        return [hill(parameters.theta + 9.0)] * 3

    ascend_in_passes(draw, space, parameters, rate=0.1, n_passes=2, trace=Trace(Clock()))
    assert_array_equal(seen[0], parameters.theta)
    assert_allclose(seen[1], parameters.theta + 0.3, atol=1e-3)
