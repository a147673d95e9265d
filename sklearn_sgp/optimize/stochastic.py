"""Adam on a sum of which every step sees a few terms, anew in every pass."""

import time

import numpy as np

from .._linalg import NotPositiveDefiniteError
from .adam import Adam

# Squares of slopes are averaged over some hundred steps, as many as there are.
_DECAY_SQUARE = 0.99
# The rate falls from the first share of the steps on, to the last share of what it was, and what
# is returned is the mean over the last steps.
_CONSTANT, _LAST_RATE, _AVERAGED = 0.5, 0.1, 0.25


def ascend_in_passes(draw, space, start, *, rate, n_passes, trace, seconds=np.inf):
    """Maximise what is drawn anew for every pass, and the log prior of the space.

    A step to where the objective raises NotPositiveDefiniteError is taken back, and steps are half
    as long from then on.

    Parameters
    ----------
    draw : callable
        ``draw(parameters)``: the objectives of the steps of a pass, each an unbiased estimate:
        ``objective(parameters) -> (value, Gradient)``.
    start : Parameters
    rate : float
        Of Adam, in units of the logarithms.
    n_passes : int
    trace : Trace
        Gets the mean of each pass.
    seconds : float
        No pass after the first is begun that would end later than so many seconds from now.

    Returns
    -------
    parameters : Parameters
    n_passes : int
    cut_by : str or None
        "max_time" where that cut it short.
    """
    deadline, last_seconds = time.perf_counter() + seconds, 0.0
    steps = _Steps(space, start, rate)
    for done in range(n_passes):
        begin = time.perf_counter()
        if done and begin + last_seconds > deadline:
            return steps.evaluated, done, "max_time"
        objectives = draw(steps.parameters)
        values = [
            steps.take(objective, (done + i / len(objectives)) / n_passes)
            for i, objective in enumerate(objectives)
        ]
        last_seconds = time.perf_counter() - begin
        if trace.add(np.mean(values), lambda now=steps.evaluated: now):
            return steps.evaluated, done + 1, None
    return steps.averaged(), n_passes, None


def scaled(objective, factor):
    """Return an objective times a factor."""

    def times(parameters):
        value, gradient = objective(parameters)
        return factor * value, gradient.scaled(factor)

    return times


class _Steps:
    """Takes steps of Adam within a space, and averages the last ones."""

    def __init__(self, space, start, rate):
        self.space, self.start, self.rate = space, start, rate
        self.bounds = space.bounds(start)
        self.x = np.clip(space.pack(start), *self.bounds.T)
        self.before, self.last_value = None, None
        self.adam = Adam(len(self.x), rate)
        self.adam.decay_square = _DECAY_SQUARE
        self.tail = []

    @property
    def parameters(self):
        return self.space.unpack(self.x, self.start)

    def take(self, objective, share):
        """Take a step after a share of all; return the objective before it."""
        parameters = self.parameters
        try:
            value, gradient = objective(parameters)
        except NotPositiveDefiniteError:
            if self.before is None:
                raise
            self.x, self.rate = self.before, 0.5 * self.rate
            return self.last_value
        falls = max(0.0, share - _CONSTANT) / (1.0 - _CONSTANT)
        self.adam.learning_rate = self.rate * (1.0 - (1.0 - _LAST_RATE) * falls)
        _, gradient = self.space.with_prior(0.0, gradient, parameters)
        self.before, self.last_value = self.x, value
        self.x = self.adam.step(self.x, self.space.pack_gradient(gradient), self.bounds)
        if share >= 1.0 - _AVERAGED:
            self.tail.append(self.before)
        return value

    @property
    def evaluated(self):
        """The last parameters at which the objective is known."""
        return self.space.unpack(self.before, self.start)

    def averaged(self):
        """Return the mean of those of the last steps."""
        return self.space.unpack(np.mean(self.tail or [self.before], axis=0), self.start)
