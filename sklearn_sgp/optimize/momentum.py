"""Stochastic gradient ascent with momentum, and which optimisers take stochastic steps."""

import numpy as np

from .adam import STEEPEST, Adam

# Values of ``optimizer`` that take steps on a few rows.
STOCHASTIC = ("adam", "sgd")


class Momentum:
    """Stochastic gradient ascent with momentum, on a vector within bounds.

        velocity <- 0.9 velocity + gradient,    x <- x + learning_rate velocity

    as Hensman et al. (2013, section 4) learn kernel and noise, beside natural gradients of another
    rate. The gradient is that of the whole bound, and so grows with the number of rows.
    """

    decay = 0.9

    def __init__(self, size, learning_rate):
        self.learning_rate = self.asked_rate = learning_rate
        self.velocity, self.t = np.zeros(size), 0

    asks = Adam.asks

    @property
    def size(self):
        """Length of the vector."""
        return len(self.velocity)

    def step(self, x, gradient, bounds):
        """Return the vector after one step up the gradient."""
        self.t += 1
        velocity = self.decay * self.velocity + np.clip(gradient, -STEEPEST, STEEPEST)
        self.velocity = np.clip(velocity, -STEEPEST, STEEPEST)
        moved = x + self.learning_rate * self.velocity
        return np.clip(moved, bounds[:, 0], bounds[:, 1])


def stochastic_optimizer(size, settings, before=None):
    """Return the optimiser of stochastic steps: "sgd" if that is asked for, else Adam.

    One ``before`` of the same kind and size goes on, at the rate that is asked for now: where
    another one was before, at that.
    """
    kind = Momentum if settings.optimizer == "sgd" else Adam
    if not isinstance(before, kind) or before.size != size:
        return kind(size, settings.learning_rate)
    before.asks(settings.learning_rate)
    return before
