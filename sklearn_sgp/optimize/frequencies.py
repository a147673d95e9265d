"""Frequencies of Fourier features as a group of parameters: cosine and sine share each of them."""

from dataclasses import dataclass, replace

import numpy as np

from .parameters import Group

# Rows for each learned number of Fourier features. 90 % intervals of eight fits of five tables with
# fewer hold 0.58 to 0.87 of new rows, and densities of six of them are worse than with inducing
# inputs, by up to 1.2 nats; of eight fits of four tables with 10 to 43 rows they hold 0.86 to 0.92,
# and densities are better by up to 0.7 nats, one worse by 0.01.
ROWS_FOR_A_NUMBER = 5


@dataclass(frozen=True)
class Frequencies(Group):
    """The group "Z" where it has features; see `kernels._features` for their order.

    The ``n_constants`` features without a frequency come last.
    """

    n_constants: int = 0

    def _count(self, value):
        return (len(value) - self.n_constants) // 2

    def entries(self, value):
        """Return the frequencies of the cosines as a vector, without the numbers of terms."""
        return np.ravel(value[: self._count(value), :-1])

    def slopes(self, gradient):
        """Return the derivatives: those of cosines have those of sines in them."""
        return self.entries(gradient)

    def value(self, entries, old):
        """Return features from a vector, with the terms that the old ones have."""
        count, value = self._count(old), old.copy()
        value[:count, :-1] = entries.reshape(count, -1) * self.unit
        value[count : 2 * count, :-1] = value[:count, :-1]
        return value


def learned_numbers(space, Z):
    """Return how many numbers of frequencies are learned: none of inducing inputs."""
    group = space.group("Z") if space.learns("Z") else None
    return len(group.entries(Z)) if isinstance(group, Frequencies) else 0


def holding_frequencies(space, Z, n_rows):
    """Return the space of what so many rows can tell: frequencies, if they are not too few."""
    few = n_rows < ROWS_FOR_A_NUMBER * learned_numbers(space, Z)
    return space.without("Z") if few else space


def holding_function(space):
    """Return the space of what later rows may move where the variables are weights of features.

    Kernel and frequencies say what the weights mean: moved, they would change the function at rows
    that are gone, and nothing would count it.
    """
    return replace(space.without("theta").without("Z"), prior=None)
