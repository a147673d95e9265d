"""Stochastic natural gradient ascent on q(u), block by block (Hoang et al. 2015).

q(u) is held by its data part (H, h), the natural parameters without those of the prior, so that

    (H, h) <- (1 - rho) (H, h) + rho n_blocks / |S| sum_{B in S} (H_B, h_B)

is the paper's eqs. 24 to 26 where they start at the prior (docs/theory.md, eq. 33). Every step is a
convex combination of positive semidefinite matrices: any step of any sequence gives a q(u).
"""

from dataclasses import dataclass

import numpy as np

from .._core import _linalg as la
from ..factors.block_sums import factor_sums
from ..gp.posterior import Posterior


@dataclass(frozen=True)
class RobbinsMonro:
    """rho_t = size / (1 + decay size t)^power, blocks drawn with replacement: the paper's steps.

    Parameters
    ----------
    size, decay, power : float
    """

    size: float
    decay: float
    power: float

    def draw(self, n_blocks, count, rng):
        """Endless sequence of sets of blocks."""
        while True:
            yield rng.randint(n_blocks, size=count)

    def rho(self, step, taken, seen):
        return self.size / (1.0 + self.decay * self.size * step) ** self.power


def epochs(n_blocks, count, order):
    """Endless sequence of sets of blocks; an epoch's last may be smaller.

    Parameters
    ----------
    n_blocks, count : int
        Blocks in all, and in a set.
    order : callable
        ``order()``: a permutation for the next epoch.
    """
    while True:
        sequence = order()
        for lo in range(0, n_blocks, count):
            yield sequence[lo : lo + count]


def spread_order(n_blocks, rng):
    """Permutation in which the first few blocks, however many, are spread evenly over all.

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

    def draw(self, n_blocks, count, rng):
        """Endless sequence of sets of blocks, as `epochs`."""
        return epochs(n_blocks, count, lambda: spread_order(n_blocks, rng))

    def rho(self, step, taken, seen):
        return taken / seen


class Ascent:
    """q(u) between steps at fixed kernel, noise and inducing inputs.

    Parameters
    ----------
    prior : posterior.Prior
    noise_variance : float
    model : blocks.Model
    block : callable
        ``block(k)``: the rows.Rows of block k.
    n_blocks : int
    schedule : RobbinsMonro or Average
    n_outputs : int
    """

    def __init__(self, prior, noise_variance, model, block, n_blocks, schedule, n_outputs=1):
        self.prior, self.noise_variance, self.model = prior, noise_variance, model
        self.block, self.n_blocks, self.schedule = block, n_blocks, schedule
        m = len(prior.Z)
        self.H, self.h, self.constant = np.zeros((m, m)), np.zeros((m, n_outputs)), 0.0
        self.n_steps = self.n_seen = 0

    def step(self, chosen, n_jobs=None):
        """Move towards the target of some blocks; interrupted at any moment, stay or be there."""
        rows = [self.block(k) for k in chosen]
        sums = factor_sums(self.prior, rows, self.noise_variance, self.model, n_jobs)
        seen = self.n_seen + len(chosen)
        rho = self.schedule.rho(self.n_steps, len(chosen), seen)
        keep, gain = 1.0 - rho, rho * self.n_blocks / len(chosen)
        H = keep * self.H
        la.axpy(gain, sums.H, H)
        h = keep * self.h + gain * sums.h
        constant = keep * self.constant + gain * sums.constant
        steps = self.n_steps + 1
        # no call between these assignments, so that no signal is handled there
        self.H, self.h, self.constant, self.n_steps, self.n_seen = H, h, constant, steps, seen

    @property
    def epochs(self):
        return self.n_seen / self.n_blocks

    def posterior(self):
        """q(u) as it stands; later steps leave it as it is."""
        return Posterior(self.prior, self.H, self.h)
