"""A table of outputs with missing entries, scaled only when a piece is read."""

from dataclasses import dataclass, field

import numpy as np

from ..data.scaling import unit_of

# Scaled numbers beyond this are refused: products of four of them would not be finite.
_FARTHEST = 1e50
# Noise variance of a constant column, in the units of its scale of 1.
CONSTANT_VARIANCE = 1e-6


@dataclass(frozen=True)
class Scaling:
    """Centres and scales columns: y = mean + scale * y', with y' what models see.

    Parameters
    ----------
    mean, scale : ndarray of shape (P,)
    constant : ndarray of bool, shape (P,)
        Columns without a scale of their own; none where nothing is normalised.
    """

    mean: np.ndarray
    scale: np.ndarray
    constant: np.ndarray

    @classmethod
    def fit(cls, Y, normalize):
        """Take means and standard deviations of what was observed; 1 for constant columns."""
        P = Y.shape[1]
        if not normalize:
            return cls(np.zeros(P), np.ones(P), np.zeros(P, dtype=bool))
        mean, scale, constant = np.empty(P), np.empty(P), np.zeros(P, dtype=bool)
        for p in range(P):  # no copy of the whole table
            column = Y[:, p][~np.isnan(Y[:, p])].astype(np.float64)
            unit = unit_of(np.abs(column).max())
            mean[p], scale[p] = column.mean(), unit * (column / unit).std()
            # a constant column may have a standard deviation of rounding
            if not scale[p] > 1e-10 * np.abs(column).max():
                scale[p], constant[p] = max(1.0, scale[p]), True
                mean[p] = column[0] if np.ptp(column) == 0.0 else mean[p]
        return cls(mean, scale, constant)

    def select(self, columns):
        """Return the scaling of some columns."""
        return Scaling(self.mean[columns], self.scale[columns], self.constant[columns])

    def check(self, Y):
        """Refuse numbers that are too far from the means."""
        low, high = (np.asarray(f.reduce(Y, axis=0), np.float64) for f in (np.fmin, np.fmax))
        with np.errstate(over="ignore"):
            farthest = np.fmax(high - self.mean, self.mean - low) / self.scale
        largest = np.fmax.reduce(farthest, initial=0.0)
        if largest > _FARTHEST:
            raise ValueError(
                f"Y must hold numbers of at most {_FARTHEST:g} in size, as scaled by the first "
                f"rows' means and standard deviations. Got {largest:g}: use another unit, or fit "
                "with normalize=True."
            )

    def scaled(self, Y):
        """Scale a copy."""
        scaled = np.subtract(Y, self.mean, dtype=np.float64, order="C")
        scaled /= self.scale
        return scaled


@dataclass(frozen=True)
class Columns:
    """Encodes the columns of a table, as first rows ask for.

    Constant columns take no part: they would say that noise is nothing.

    Parameters
    ----------
    constants : ndarray of shape (P,)
        Values of the constant columns, 0 for others, in the precision of the first rows.
    varying : ndarray of bool, shape (P,)
    scaling : Scaling
        Of the P' columns that vary.
    """

    constants: np.ndarray
    varying: np.ndarray
    scaling: Scaling

    @classmethod
    def of(cls, Y, normalize):
        """Encode first rows; without ``normalize``, or if all are constant, all columns vary."""
        scaling = Scaling.fit(Y, normalize)
        varying = ~scaling.constant
        if not varying.any():
            varying[:] = True
        constants = np.where(varying, 0.0, scaling.mean).astype(Y.dtype)
        return cls(constants, varying, scaling.select(varying))

    def table(self, Y):
        """Return the `Table` of rows."""
        Y = Y if self.varying.all() else np.ascontiguousarray(Y[..., self.varying])
        return Table.of(Y, self.scaling)

    def full(self, values, rest):
        """Return values of all columns: (..., P') of those that vary, and ``rest``."""
        if self.varying.all():
            return values
        shape = (*np.shape(values)[:-1], len(self.varying))
        filled = np.array(np.broadcast_to(np.asarray(rest, dtype=np.float64), shape))
        filled[..., self.varying] = values
        return filled

    @property
    def mean(self):
        """Means, (P,)."""
        return self.full(self.scaling.mean, self.constants)

    @property
    def scale(self):
        """Standard deviations, 1 for constant columns, (P,)."""
        return self.full(self.scaling.scale, 1.0)

    def mean_in_units(self, mean):
        """Return means of all columns, (n, P), from scaled ones, (n, P')."""
        return self.full(self.scaling.mean + self.scaling.scale * mean, self.constants)

    def std_in_units(self, variance):
        """Return standard deviations of all columns, (n, P), from scaled variances, (n, P')."""
        return self.full(self.scaling.scale * np.sqrt(variance), np.sqrt(CONSTANT_VARIANCE))

    def noise_in_units(self, noise_variance):
        """Return the noise variance, or that of each column, scaled, (P,)."""
        if not np.ndim(noise_variance):
            return noise_variance
        return self.full(noise_variance, CONSTANT_VARIANCE).copy()


def pattern_of_columns(Y):
    """Number the patterns of missing entries: columns with equal ones share a number, (P,)."""
    packed = np.stack([np.packbits(np.isnan(column)) for column in Y.T])
    return np.unique(packed, axis=0, return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class Table:
    """Holds rows of outputs, NaN where missing.

    Parameters
    ----------
    Y : ndarray of shape (n, P)
        In the user's units; never copied whole.
    pattern : ndarray of int, shape (P,)
        Columns with equal numbers miss the same entries.
    """

    Y: np.ndarray
    scaling: Scaling
    pattern: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, Y, scaling):
        """Check rows, and number the patterns of their columns."""
        scaling.check(Y)
        return cls(Y, scaling, pattern_of_columns(Y))

    def __len__(self):
        return len(self.Y)

    @property
    def n_patterns(self):
        return int(self.pattern.max()) + 1

    @property
    def first_of_pattern(self):
        """One column of each pattern, (K,)."""
        return np.unique(self.pattern, return_index=True)[1]

    def piece(self, index):
        """Return scaled outputs, 0 where missing, and 1 where observed, else 0; both (n, P)."""
        Y = self.scaling.scaled(self.Y[index])
        observed = (~np.isnan(Y)).astype(np.float64)
        Y[observed == 0.0] = 0.0
        return Y, observed

    def select(self, index):
        """Return the table of some rows; columns keep their numbers."""
        return Table(self.Y[index], self.scaling, self.pattern)

    def log_scales(self):
        """Sum log scales over what was observed in each row, (n,)."""
        return (~np.isnan(self.Y)) @ np.log(self.scaling.scale)

    def counts(self):
        """Count observed entries of each column, and sum their squares, both (P,)."""
        counts, squares = np.zeros(self.Y.shape[1]), np.zeros(self.Y.shape[1])
        for lo in range(0, len(self), 4096):
            Y, observed = self.piece(slice(lo, lo + 4096))
            counts += observed.sum(axis=0)
            squares += (Y * Y).sum(axis=0)
        return counts, squares
