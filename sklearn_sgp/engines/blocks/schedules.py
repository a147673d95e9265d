"""Which blocks a step of the anytime solver takes, and how long the step is."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RobbinsMonro:
    """rho_t = size / (1 + decay size t)^power, blocks drawn with replacement: the paper's steps.

    With ``is_natural`` steps follow the natural gradient; else mean and covariance follow their own
    slopes.
    """

    size: float
    decay: float
    power: float
    is_natural: bool = True
    in_one_epoch = False  # steps go on after it

    def draw(self, n_blocks, count, rng):
        """Yield sets of blocks without end."""
        while True:
            yield rng.randint(n_blocks, size=count)

    def rho(self, step, taken, seen):
        return self.size / (1.0 + self.decay * self.size * step) ** self.power


def epochs(n_blocks, count, order):
    """Yield sets of blocks without end; an epoch's last may be smaller.

    ``count`` blocks are in a set, and ``order()`` returns a permutation for the next epoch.
    """
    while True:
        sequence = order()
        for lo in range(0, n_blocks, count):
            yield sequence[lo : lo + count]


def spread_order(n_blocks, rng):
    """Return a permutation whose first few blocks, however many, are spread evenly over all.

    Bit reversal from a random start. Blocks of a partition are numbered so that neighbours have
    near numbers; with blocks in random order some region would by chance come late, and the error
    there is what a partial epoch is judged by. Each place in the sequence is uniform over blocks.
    """
    index, reverse = np.arange(n_blocks), np.zeros(n_blocks, dtype=np.intp)
    bits = max(1, int(n_blocks - 1).bit_length())
    for bit in range(bits):
        reverse |= ((index >> bit) & 1) << (bits - 1 - bit)
    return (np.argsort(reverse) + rng.randint(n_blocks)) % n_blocks


@dataclass(frozen=True)
class Average:
    """rho_t = |S_t| / sum of |S_s| up to t, each epoch in a new order.

    The average of all targets so far: unbiased at any time, and after whole epochs the optimum.
    """

    in_one_epoch = is_natural = True

    def draw(self, n_blocks, count, rng):
        """Yield sets of blocks without end."""
        return epochs(n_blocks, count, lambda: spread_order(n_blocks, rng))

    def rho(self, step, taken, seen):
        return taken / seen


@dataclass(frozen=True)
class Constant:
    """Steps of one length, each epoch in a new random order."""

    size: float

    def draw(self, n_blocks, count, rng):
        """Yield sets of blocks without end."""
        return epochs(n_blocks, count, lambda: rng.permutation(n_blocks))

    def rho(self, step, taken, seen):
        return self.size
