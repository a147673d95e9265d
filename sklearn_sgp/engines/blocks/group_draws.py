"""Which groups of near rows are drawn of a table, to learn from and to judge by."""

from dataclasses import dataclass, replace

import numpy as np

from ...data.column_spread import column_mean_std
from ...data.rows import Rows
from ...kernels._length_scales import nearness_scales
from ...partitions.sampling import random_groups, sampled_groups
from .pace import LEAST_GROUPS

# Rows of a group, and rows around it that it is conditioned on.
GROUP_SIZE, NEIGHBORS = 50, 100
# One group in so many besides is of so many rows from anywhere, which know what is smooth and wide.
_WIDE_EVERY, _WIDE_SIZE = 40, 400


@dataclass(frozen=True)
class GroupDraws:
    """Groups of rows that are near at the length scales of a kernel, and wide ones.

    Parameters
    ----------
    std : ndarray of shape (d,)
        Deviations of the columns.
    count : int
        Groups of a draw.
    seed : int
        Of the groups that judge: nothing is learned from these.
    n_neighbors : int
        Rows around a group.
    wide_size : int or None
        Rows of a wide group; None where those are as large as the others.
    """

    rows: Rows
    std: np.ndarray
    count: int
    seed: int
    n_neighbors: int = NEIGHBORS
    wide_size: int | None = None

    @classmethod
    def of(cls, problem, rows=None):
        """Return those of a `Problem`: one of its random numbers becomes the seed."""
        rows = problem.rows if rows is None else rows
        std = column_mean_std(problem.rows.X, problem.rows.observations)[1]
        count = max(LEAST_GROUPS, problem.settings.init_size // GROUP_SIZE)
        return cls(rows, std, count, problem.rng.randint(2**31))

    @classmethod
    def of_density(cls, problem, rows=None):
        """Return those that learn by densities of rows given those around them.

        Groups of labels are all as large as at first, with which defaults of these were chosen.
        """
        wide_size = GROUP_SIZE + NEIGHBORS if problem.rows.of_classes else _WIDE_SIZE
        return replace(cls.of(problem, rows), wide_size=wide_size)

    @property
    def group_rows(self):
        """Rows of a group, with those around it."""
        return GROUP_SIZE + self.n_neighbors

    def around(self, n_neighbors):
        """Return the same with so many rows around each group."""
        return replace(self, n_neighbors=n_neighbors)

    def fewer(self, times):
        """Return the same with so many times fewer groups, as far as that may be."""
        return replace(self, count=max(LEAST_GROUPS, self.count // times))

    def draw(self, parameters, rng, count=None):
        """Draw `ConditionedRows`, near at the length scales of parameters, and wide ones."""
        count = count or self.count
        near = self.draw_near(parameters, rng, count)
        wide_size = self.wide_size or self.group_rows
        return random_groups(self.rows, self.wide(count), wide_size, rng) + near

    def draw_near(self, parameters, rng, count):
        """Draw the near ones alone."""
        scale = nearness_scales(parameters.kernel, self.std)
        return sampled_groups(self.rows, scale, count, GROUP_SIZE, self.n_neighbors, rng)

    @staticmethod
    def wide(count):
        """Return how many wide groups there are besides so many near ones."""
        return count // _WIDE_EVERY

    @property
    def judging_rng(self):
        """Random numbers of the groups that judge, the same ones each time."""
        return np.random.RandomState(self.seed)
