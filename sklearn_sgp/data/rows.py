"""Training rows as the learning code sees them: weighted, targets scaled, read in pieces."""

from dataclasses import dataclass, replace

import numpy as np

_SUMMARY_ROWS = 10_000
_MERGE_ROWS = 2048


def random_index(n_rows, size, rng):
    """Distinct row numbers in random order, in memory that grows with ``size`` only.

    scikit-learn's reservoir sampling takes 29 s for 131,072 of 10 million rows, this 8 ms. For more
    than a fiftieth of more than 10,000 rows NumPy shuffles an array of all of them: up to a quarter
    are drawn with repetitions here, until enough distinct ones are found.

    Parameters
    ----------
    n_rows, size : int
    rng : numpy.random.RandomState

    Returns
    -------
    index : ndarray of shape (size,)
    """
    generator = np.random.default_rng(rng.randint(2**31))
    if not max(10_000, 4 * size) < n_rows < 50 * size:
        return generator.choice(n_rows, size, replace=False)
    index = np.empty(0, dtype=np.int64)
    while len(index) < size:
        more = generator.integers(n_rows, size=size + size // 4 - len(index))
        index = np.union1d(index, more)
    return generator.permutation(index)[:size]


@dataclass(frozen=True)
class Rows:
    """Inputs, targets and weights, scaled only when a piece is read.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs, float32 or float64, possibly a memory map; never copied whole.
    y : ndarray of shape (n, t)
        Targets in their own units.
    weight : ndarray of shape (n,) or None
        Non-negative weights; None means 1.
    y_mean, y_scale : ndarray of shape (t,)
        Targets are read as ``(y - y_mean) / y_scale``.
    labels : ndarray of shape (n,) or None
        The user's labels of the blocks that the rows belong to.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    y_mean: np.ndarray
    y_scale: np.ndarray
    labels: np.ndarray | None = None

    def __len__(self):
        return len(self.X)

    @property
    def total_weight(self):
        return float(len(self) if self.weight is None else self.weight.sum(dtype=np.float64))

    def select(self, index):
        """Rows at a slice or an array of indices; a slice copies nothing."""
        weight = None if self.weight is None else self.weight[index]
        labels = None if self.labels is None else self.labels[index]
        return Rows(self.X[index], self.y[index], weight, self.y_mean, self.y_scale, labels)

    def of_outputs(self, own):
        """The same rows with a slice of the outputs."""
        return replace(self, y=self.y[:, own], y_mean=self.y_mean[own], y_scale=self.y_scale[own])

    def weighted(self, factor):
        """The same rows with all weights multiplied by ``factor``."""
        weight = np.ones(len(self)) if self.weight is None else self.weight
        return replace(self, weight=factor * weight)

    def joined(self, *others):
        """These rows and more, targets scaled alike; without labels."""
        parts, weight = (self, *others), None
        if any(part.weight is not None for part in parts):
            weights = [np.ones(len(r)) if r.weight is None else r.weight for r in parts]
            weight = np.concatenate(weights)
        X, y = (np.concatenate(each) for each in zip(*((r.X, r.y) for r in parts), strict=True))
        return Rows(X, y, weight, self.y_mean, self.y_scale)

    def chunks(self, size):
        """Successive pieces of at most ``size`` rows."""
        for lo in range(0, len(self), size):
            yield self.select(slice(lo, lo + size))

    def spread_sample(self, size):
        """About ``size`` rows at regular distances, with weights that sum to those of all."""
        step = -(-len(self) // size)
        if step == 1:
            return self
        sample = self.select(slice(None, None, step))
        return sample.weighted(self.total_weight / sample.total_weight)

    def random_subset(self, size, rng):
        """Random rows without replacement, in their order; all of them where there are fewer."""
        if len(self) <= size:
            return self
        return self.select(np.sort(random_index(len(self), size, rng)))

    @property
    def targets(self):
        """Scaled targets, shape (n, t), float64."""
        return (self.y - self.y_mean) / self.y_scale

    @property
    def root_weight(self):
        return None if self.weight is None else np.sqrt(self.weight, dtype=np.float64)


@dataclass(frozen=True)
class ConditionedRows:
    """Rows in small groups, each conditioned on rows that come before it; a piece of a pass.

    Parameters
    ----------
    rows : Rows
        The rows of the groups, and those that they are conditioned on.
    groups : tuple of (ndarray of int, ndarray of int)
        Positions of the rows that a group is conditioned on, and of its own.
    """

    rows: Rows
    groups: tuple

    def __len__(self):
        """Number of own rows."""
        return sum(len(own) for _, own in self.groups)

    X = property(lambda self: self.rows.X)
    y = property(lambda self: self.rows.y)
    weight = property(lambda self: self.rows.weight)
    targets = property(lambda self: self.rows.targets)

    @property
    def total_weight(self):
        """Of the own rows."""
        if self.weight is None:
            return float(len(self))
        return float(sum(self.weight[own].sum(dtype=np.float64) for _, own in self.groups))


def column_mean_std(X, weight):
    """Weighted mean and standard deviation of the columns; 1 for a constant column.

    A regular subsample stands in for very many rows.
    """
    step = max(1, len(X) // _SUMMARY_ROWS)
    sample = np.asarray(X[::step], dtype=np.float64)
    w = None if weight is None else weight[::step]
    if w is not None and not w.any():
        w = None
    mean = np.average(sample, axis=0, weights=w)
    std = np.sqrt(np.average((sample - mean) ** 2, axis=0, weights=w))
    tiny = 1e-12 * np.maximum(np.abs(mean), np.abs(sample).max(axis=0))
    return mean, np.where(std > tiny, std, 1.0)


def drop_zero_weight(X, y, weight, *more):
    """Inputs, targets, weights and further arrays without rows of weight zero."""
    if weight is None or weight.all():
        return X, y, weight, *more
    keep = weight > 0
    return tuple(None if part is None else part[keep] for part in (X, y, weight, *more))


def merge_repeated(X, y, weight):
    """Sort and merge repeated rows, up to 2,048 rows; larger sets only lose rows of weight zero.

    Weights and repetitions then are one problem to the last bit. Equal to rounding is not enough:
    where a model can interpolate, L-BFGS amplifies the difference (in 5 of 12 data sets of 15 rows
    and 30 columns scikit-learn's check failed, predictions differing by up to 0.6).
    """
    X, y, weight = drop_zero_weight(X, y, weight)
    if len(X) > _MERGE_ROWS:
        return X, y, weight
    _, first, inverse = np.unique(
        np.column_stack([X, y]), axis=0, return_index=True, return_inverse=True
    )
    mass = np.bincount(inverse.ravel(), weights=weight)
    return X[first], y[first], None if (mass == 1.0).all() else mass


def make_rows(X, y, weight, targets, labels=None):
    """`Rows` of positive weight, with the scaling of their targets.

    Parameters
    ----------
    X : array of shape (n, d)
    y : ndarray of shape (n, t)
        As `targets.encode` returns them.
    weight : ndarray of shape (n,) or None
    targets : targets.Targets or targets.ClassLabels
    labels : ndarray of shape (n,) or None
        Of blocks.

    Returns
    -------
    rows : Rows
    """
    X, y, weight, labels = drop_zero_weight(X, y, weight, labels)
    return Rows(X, y, weight, targets.mean, targets.scale, labels)
