"""Covariances between categories: B = F F' + diag(b), and what it is for those not seen before.

A category that was not seen before is one at random of those that were: its covariances with them
are their means, and its variance is the mean variance. That is one more row of F, the mean of the
others, and one more entry of b (docs/theory.md, section 15). Two such categories share that row
alone, each has a part of its own.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..._core import _categories
from ..._core._memory import empty
from .._compiled import Groups

# Of every category before anything is learned: the variance that all share, and that of each alone.
_SHARED, _SPECIFIC = 0.5, 0.5
# Scale of further columns of F at the start: with equal rows none of them would ever move.
_FURTHER_COLUMNS = 0.2
LARGEST_COUNT = 10_000


@lru_cache(maxsize=64)
def starting_factor(n_categories, rank):
    """Return F at the start, (n_categories, rank): all categories share half of their variance.

    It is read-only, as kernels ask for the same one again and again.
    """
    factor = np.zeros((n_categories, rank))
    factor[:, 0] = np.sqrt(_SHARED)
    drawn = np.random.RandomState(0).uniform(-1.0, 1.0, (n_categories, rank - 1))
    factor[:, 1:] = _FURTHER_COLUMNS * np.sqrt(_SHARED) * drawn
    factor.setflags(write=False)
    return factor


def starting_diagonal(n_categories):
    """Return b at the start, shape (n_categories,)."""
    return np.full(n_categories, _SPECIFIC)


def codes_of(X):
    """Return codes of categories, shape (n,), from inputs of one column."""
    return np.rint(np.asarray(X)[:, 0]).astype(np.intp)


def check_codes(values, name):
    """Refuse what is no code of a category.

    ``name`` is that of the column, for the message.
    """
    if not len(values):
        return
    least, largest = values.min(), values.max()
    if np.isnan(least):
        raise ValueError(
            f"Categories in {name} of X must be codes 0, 1, 2, ... in every row. Got NaN: name the "
            "column in categorical_features, where missing values are one category."
        )
    whole = np.rint(values) == values
    got = None
    if not whole.all():
        got = f"{values[~whole][0]}, which is no whole number"
    elif least < 0:
        got = f"{least:g}, which is negative"
    elif largest >= LARGEST_COUNT:
        got = f"{largest:g}, which is more than there may be"
    if got is not None:
        raise ValueError(
            f"Categories in {name} of X must be codes 0, 1, 2, ..., at most {LARGEST_COUNT} of "
            f"them. Got {got}: encode them by OrdinalEncoder, or name the column in "
            "categorical_features and leave the kernel out."
        )


@dataclass(frozen=True)
class DrawnNumbers:
    """Random numbers of categories, whose covariances are those of the categories.

    Parameters
    ----------
    numbers : ndarray of shape (n_categories, count)
    shared : ndarray of shape (count,)
        The part that categories not seen before have in common.
    std : float
        Standard deviation of the part that each of these has alone, drawn from its code.
    """

    numbers: np.ndarray
    shared: np.ndarray
    std: float
    seed: int

    def at(self, codes):
        """Return the numbers of codes (n,), shape (n, count)."""
        n_known = len(self.numbers)
        new, place = np.unique(codes[codes >= n_known], return_inverse=True)
        values = np.empty((len(codes), len(self.shared)))
        values[codes < n_known] = self.numbers[codes[codes < n_known]]
        if len(new):
            values[codes >= n_known] = np.array([self._of_new(code) for code in new])[place]
        return values

    def _of_new(self, code):
        signs = np.random.default_rng((self.seed, int(code))).choice([-1.0, 1.0], self.shared.shape)
        return self.shared + self.std * signs


@dataclass(frozen=True)
class CategoryCovariance:
    """Covariances of categories by their codes, those beyond the last seen one included.

    Parameters
    ----------
    factor : ndarray of shape (n_categories, rank)
        F.
    diagonal : ndarray of shape (n_categories,)
        b.
    learned_variance : float
        The variance that a category not seen before has alone, as levels were found to scatter; 0
        if it is that of F and b.
    """

    factor: np.ndarray
    diagonal: np.ndarray
    learned_variance: float = 0.0

    @cached_property
    def rows(self):
        """F with a last row for categories not seen before, shape (n_categories + 1, rank)."""
        if not len(self.factor):
            return np.sqrt(_SHARED) * np.eye(1, self.factor.shape[1])
        return np.vstack([self.factor, self.factor.mean(axis=0)])

    @cached_property
    def specific(self):
        """The variance that each category shares with no other, shape (n_categories + 1,)."""
        if not len(self.factor):
            return starting_diagonal(1)
        if self.learned_variance:
            return np.append(self.diagonal, self.learned_variance)
        mean_variance = np.einsum("ij,ij->", self.factor, self.factor) / len(self.factor)
        mean_variance += self.diagonal.mean()
        return np.append(self.diagonal, mean_variance - self.rows[-1] @ self.rows[-1])

    def places(self, codes):
        """Return the rows of F of codes."""
        return np.minimum(codes, len(self.factor))

    def block(self, left, right):
        """Compute the covariances of codes (m,) and codes (n,), shape (m, n), C order."""
        shape = len(left), len(right)
        return self.blocks(left, right, Groups.whole(*shape)).reshape(shape)

    def blocks(self, left, right, groups):
        """Compute many small blocks of them, in one array as `Groups` lays them out."""
        out = empty((groups.bounds[-1],))
        codes = left, right, *groups.places
        _categories.value_blocks(self.rows, self.specific, *codes, out, groups.upper)
        return out

    def diag(self, codes):
        """Return the variances of codes."""
        return (np.einsum("ij,ij->i", self.rows, self.rows) + self.specific)[self.places(codes)]

    def drawn(self, count, rng):
        """Draw ``count`` numbers for each category, of mean product B, as `DrawnNumbers`."""
        signs = rng.choice([-1.0, 1.0], (len(self.specific), count))
        shared = self.rows @ rng.choice([-1.0, 1.0], (self.rows.shape[1], count))
        numbers = np.sqrt(self.specific[:-1, None]) * signs[:-1] + shared[:-1]
        seed = int.from_bytes(rng.bytes(4), "little")
        return DrawnNumbers(numbers, shared[-1], np.sqrt(self.specific[-1]), seed)

    def block_vjp(self, left, right, G):
        """Compute the gradients of sum(G * block) in b and in F."""
        return self.blocks_vjp(left, right, Groups.whole(len(left), len(right)), G.ravel())

    def blocks_vjp(self, left, right, groups, G):
        """Compute the gradients of sum(G * blocks) in b and in F."""
        in_rows, in_specific = np.empty(self.rows.shape), np.empty(self.specific.shape)
        codes = left, right, *groups.places
        of_rows = in_rows, in_specific
        _categories.vjp_blocks(self.rows, self.specific, *codes, G, groups.upper, *of_rows)
        return self.to_categories(in_specific, in_rows)

    def diag_vjp(self, codes, g):
        """Compute the gradients of sum(g * diag) in b and in F."""
        in_specific = np.bincount(self.places(codes), weights=g, minlength=len(self.specific))
        return self.to_categories(in_specific, 2.0 * in_specific[:, None] * self.rows)

    def to_categories(self, in_specific, in_rows):
        """Carry gradients in `specific` and `rows`, with leading axes alike, to b and F."""
        in_b, in_F = in_specific[..., :-1].copy(), in_rows[..., :-1, :].copy()
        if len(self.factor):
            # the last row is the mean of the others; its specific variance completes the mean one
            in_F += in_rows[..., -1:, :] / len(self.factor)
            if not self.learned_variance:
                share = in_specific[..., -1:] / len(self.factor)
                in_b += share
                in_F += 2.0 * share[..., None] * (self.factor - self.rows[-1])
        return in_b, in_F
