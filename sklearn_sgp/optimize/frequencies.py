"""Frequencies of Fourier features as a group of parameters: cosine and sine share each of them."""

from dataclasses import dataclass, replace

import numpy as np

from .parameters import Group


@dataclass(frozen=True)
class Frequencies(Group):
    """The group "Z" where it has features; see `kernels._features` for their order.

    Parameters
    ----------
    n_constants : int
        Features without a frequency, which come last.
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


def holding_function(space):
    """Return the space of what later rows may move where the variables are weights of features.

    Kernel and frequencies say what the weights mean: moved, they would change the function at rows
    that are gone, and nothing would count it.
    """
    return replace(space.without("theta").without("Z"), prior=None)
