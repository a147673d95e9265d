"""Groups of near rows around random ones, each conditioned on the next nearest rows."""

import numpy as np

from ..data.rows import ConditionedRows, random_index
from .search import nearest_in_table

# So few rows are one group, conditioned on nothing: the exact Gaussian process.
LARGEST_WHOLE = 512
_MOST_GROUPS_OF_A_ROW = 3


def random_groups(rows, n_groups, size, rng):
    """Draw groups from anywhere, conditioned on nothing: they show what is smooth and wide."""
    return [whole_group(rows.random_subset(size, rng)) for _ in range(n_groups)]


def whole_group(rows):
    """Return one group of all rows, conditioned on nothing: `ConditionedRows`."""
    return ConditionedRows(rows, ((np.empty(0, dtype=np.intp), np.arange(len(rows))),))


def sampled_groups(rows, scale, n_groups, size, n_neighbors, rng):
    """Sample groups of near rows to learn from, the nearest of all rows; `ConditionedRows` of each.

    Among half of two million pressures on a grid a kernel was learned for predictions from half of
    them: 3.1 nats where one from all has 3.7.

    Parameters
    ----------
    scale : ndarray of shape (d,) or Units
        Units in which distances are taken.
    n_groups : int
        Fewer where a row would be in more than three groups.
    size, n_neighbors : int
        Rows of a group, and rows that it is conditioned on.
    """
    if len(rows) <= LARGEST_WHOLE:
        return [whole_group(rows)]
    n_groups = min(n_groups, -(-_MOST_GROUPS_OF_A_ROW * len(rows) // size))
    middles = random_index(len(rows), n_groups, rng)
    near = nearest_in_table(rows.X, scale, middles, size + n_neighbors, rng)
    group = (np.arange(size, size + n_neighbors), np.arange(size))
    return [ConditionedRows(rows.select(index), (group,)) for index in near]
