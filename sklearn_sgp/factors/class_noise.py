"""Classes as regressions whose noise has two values in each row: one factorisation serves all.

With S_0 of the noise that rows have in the regressions of classes that are not theirs, that of
class c is S_c = S_0 - diag(e) at its own rows alone. Each row has one class, so that with W =
inv(S_0), D = diag(e)^(1/2) and the lower Cholesky factors L_c of 1 - D W D between rows of class c

    inv(S_c) = W + F_c^T F_c,  F_c = inv(L_c) (D W at rows of c)        |S_c| = |S_0| |L_c|^2

The rows of all F_c together are as many as those of W (docs/theory.md, eq. 56).
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._core._classes import factorise_classes, solve_classes
from .._core._memory import empty
from .._linalg import NotPositiveDefiniteError, inverse_from_cholesky, product


@dataclass(frozen=True)
class ClassNoise:
    """The noise of some rows.

    Parameters
    ----------
    number : ndarray of int, shape (n,)
        Class of each row.
    other : ndarray of shape (n,)
        Noise variances in the regressions of classes that a row does not have.
    less : ndarray of shape (n,)
        How much less they are in that of the class that it has.
    """

    number: np.ndarray
    other: np.ndarray
    less: np.ndarray

    @classmethod
    def of(cls, weight):
        """Take the noise from precisions (n, C), the largest of a row being that of its class."""
        other = 1.0 / weight.min(axis=1)
        return cls(np.argmax(weight, axis=1), other, other - 1.0 / weight.max(axis=1))

    def __len__(self):
        return len(self.number)

    def select(self, index):
        """Select rows by an array of indices."""
        return ClassNoise(self.number[index], self.other[index], self.less[index])

    @cached_property
    def order(self):
        """Places of the rows, class after class."""
        return np.argsort(self.number, kind="stable")

    @cached_property
    def ends(self):
        """Bounds of the rows of each class in `order`, from 0 to n."""
        return np.append(0, np.cumsum(np.bincount(self.number)))

    @property
    def members(self):
        """Each class that is there, with the slice of `order` that has its rows."""
        return [(c, slice(lo, hi)) for c, (lo, hi) in enumerate(pairwise(self.ends)) if lo < hi]

    @cached_property
    def root(self):
        """D of the rows in `order`, shape (n,)."""
        return np.sqrt(self.less[self.order])

    @cached_property
    def log_ratio(self):
        """Logarithm of the smaller noise variance of each row over the larger one."""
        return np.log1p(-self.less / self.other)

    def column(self, values):
        """Return the entry of each row's class in an array (n, C), shape (n, 1)."""
        return np.ascontiguousarray(values[np.arange(len(self)), self.number][:, None])

    def at_classes(self, column, n_classes):
        """Put entries, rows in `order`, at each row's class into an array (n, C), 0 elsewhere."""
        values = np.zeros((len(self), n_classes))
        values[self.order, self.number[self.order]] = column[:, 0]
        return values


class ClassFactors:
    """L_c of all classes; ``U`` holds them, transposed, one after the other.

    Parameters
    ----------
    W : ndarray of shape (n, n)
        inv(S_0).

    Raises
    ------
    NotPositiveDefiniteError
        If the S_c of a class is not positive definite.
    """

    def __init__(self, W, class_noise):
        self.class_noise, self.U = class_noise, empty((np.sum(np.diff(class_noise.ends) ** 2),))
        # log |S_c| - log |S_0|, summed over classes
        self.log_det = 2.0 * factorise_classes(
            W, class_noise.order, class_noise.ends, class_noise.root, self.U
        )
        if not np.isfinite(self.log_det):
            raise NotPositiveDefiniteError("the noise of a class leaves nothing of a covariance")

    def F_times(self, solved):
        """Compute F_c B of all classes, rows in the order of `class_noise`, from W B (n, k)."""
        result = np.take(solved, self.class_noise.order, axis=0)
        result *= self.class_noise.root[:, None]
        solve_classes(self.U, self.class_noise.ends, result)
        return result

    def F_times_column(self, solved):
        """Compute F_c y_c of all classes, (n, 1), rows ordered alike, from W y (n, C)."""
        return self.F_times(self.class_noise.column(solved))

    def corrections(self, solved):
        """Compute e_c with inv(S_c) y_c = W (y_c + e_c), all in one array (n, C), from W y."""
        moved = self.F_times_column(solved)
        solve_classes(self.U, self.class_noise.ends, moved, True)
        moved *= self.class_noise.root[:, None]
        return self.class_noise.at_classes(moved, solved.shape[1])


class ClassTerms(NamedTuple):
    """The information of the classes' regressions beyond that of S_0.

    With P_c and p_c the rows of class c, H of the class has scale P_c^T P_c more, h has scale P_c^T
    p_c, and the constant, summed over classes, less scale p^T p / 2 and less ``normaliser``.

    Parameters
    ----------
    P : ndarray of shape (n, m)
    p : ndarray of shape (n, 1)
    number : ndarray of int, shape (n,)
        Class of each row.
    """

    P: np.ndarray
    p: np.ndarray
    number: np.ndarray
    normaliser: float
    scale: float = 1.0

    @classmethod
    def of_covariance(cls, L, At, y, class_noise):
        """Return the terms of a dense block; the caller adds the noise part of the normaliser.

        Parameters
        ----------
        L : ndarray of shape (n, n)
            Cholesky factor of S_0.
        At : ndarray of shape (n, m)
        y : ndarray of shape (n, C)
        """
        W = inverse_from_cholesky(L)
        factors = ClassFactors(W, class_noise)
        P, p = factors.F_times(product(W, At)), factors.F_times_column(product(W, y))
        return cls(P, p, class_noise.number[class_noise.order], 0.5 * factors.log_det)

    def add_to(self, every_H, h):
        """Add the information to that of each class; returns the constant."""
        order = np.argsort(self.number, kind="stable")
        numbers, first = np.unique(self.number[order], return_index=True)
        for c, rows in zip(numbers, np.split(order, first[1:]), strict=True):
            P, p = self.P[rows], self.p[rows]
            la.syrk(P, every_H[c], self.scale, 1.0, True)
            h[:, c] += self.scale * product(P, p, trans_a=True)[:, 0]
        return -0.5 * self.scale * float(np.vdot(self.p, self.p)) - self.normaliser

    def times(self, share):
        """Return the terms of a factor to a power."""
        return self._replace(normaliser=share * self.normaliser, scale=share * self.scale)

    @classmethod
    def joined(cls, parts):
        """Join terms of one scale, so that few products serve many groups."""
        P, p, number, normaliser, scale = zip(*parts, strict=True)
        rows = (np.concatenate(each) for each in (P, p, number))
        return cls(*rows, sum(normaliser), scale[0])
