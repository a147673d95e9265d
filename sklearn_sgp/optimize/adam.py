"""Adam, and its one move in kernel, noise and inducing inputs."""

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..gp.prior import Prior

STEEPEST = 1e150  # squares of steeper slopes are not finite


class Adam:
    """Adam (Kingma & Ba 2015), ascending, on a vector within bounds."""

    decay_mean, decay_square, floor = 0.9, 0.999, 1e-8

    def __init__(self, size, learning_rate):
        self.learning_rate = self.asked_rate = learning_rate
        self.mean, self.square, self.t = np.zeros(size), np.zeros(size), 0

    @property
    def size(self):
        """Length of the vector."""
        return len(self.mean)

    def asks(self, learning_rate):
        """Take another rate where that is not what was asked for; else a shorter one stays."""
        if learning_rate != self.asked_rate:
            self.learning_rate = self.asked_rate = learning_rate

    def step(self, x, gradient, bounds):
        """Return the vector after one step up the gradient."""
        self.t += 1
        gradient = np.clip(gradient, -STEEPEST, STEEPEST)
        self.mean += (1.0 - self.decay_mean) * (gradient - self.mean)
        self.square += (1.0 - self.decay_square) * (gradient**2 - self.square)
        mean = self.mean / (1.0 - self.decay_mean**self.t)
        square = self.square / (1.0 - self.decay_square**self.t)
        moved = x + self.learning_rate * mean / (np.sqrt(square) + self.floor)
        return np.clip(moved, bounds[:, 0], bounds[:, 1])


def adam_step(adam, space, parameters, gradient, delta):
    """Step up a gradient and that of the space's prior; return parameters and prior of q(u).

    ``delta`` is the jitter in units of the kernel. None where K(Z, Z) is not positive definite:
    steps are half as long from then on.
    """
    _, gradient = space.with_prior(0.0, gradient, parameters)
    x = adam.step(space.pack(parameters), space.pack_gradient(gradient), space.bounds(parameters))
    moved = space.unpack(x, parameters)
    try:
        return moved, Prior.build(moved.kernel, moved.Z, delta)
    except NotPositiveDefiniteError:
        adam.learning_rate *= 0.5
        return None
