"""Collapsed bound of regressions of classes: one for each class, with two known noise variances.

Every class has an H of its own, but rows of one class all add to it in one of two ways. Sums over
the rows of each class give the H of all, and one matrix for each class takes the gradient back to
its rows: all classes cost a row no more than one (docs/theory.md, eqs. 54 and 58).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .._core import _linalg as la
from .._linalg import NotPositiveDefiniteError, product
from ..factors.gradients import BlockGradient, GradientSums, pull_back
from ..factors.passes import CHUNK, Pieces, computed
from ..gp.posterior import Posterior


@dataclass
class ClassSums:
    """Sums over rows of one class: w a a^T (m, m), w a (m,), w and w k(x, x)."""

    gram: np.ndarray
    first: np.ndarray
    weight: float = 0.0
    diagonal: float = 0.0

    @classmethod
    def empty(cls, m):
        return cls(np.zeros((m, m)), np.zeros(m))

    def add(self, other):
        """Add those of more rows."""
        la.axpy(1.0, other.gram, self.gram)
        self.first += other.first
        self.weight += other.weight
        self.diagonal += other.diagonal


class ClassRegressions:
    """Regressions of classes on some rows.

    Targets of the rows are numbers of classes, as `Softmax` has them; the likelihood has an offset
    for each class.
    """

    def __init__(self, rows, likelihood, n_jobs=None):
        number = rows.y[:, 0].astype(np.intp)
        order = np.argsort(number, kind="stable")
        rows, ends = rows.select(order), np.searchsorted(number[order], np.arange(number.max() + 2))
        self.rows, self.n_jobs, self.likelihood = rows, n_jobs, likelihood
        # each of one class, none of them empty
        self.chunks = [
            piece for lo, hi in pairwise(ends) for piece in rows.select(slice(lo, hi)).chunks(CHUNK)
        ]

    @property
    def _numbers(self):
        """Targets (C,) and precisions of a class for rows of others, and for its own."""
        offset, (other, same) = np.asarray(self.likelihood.offset), self.likelihood.targets
        return (other - offset, same - offset), 1.0 / self.likelihood.noise

    def _pieces(self, m=None):
        kept_size = None if m is None else m * len(self.rows)
        return Pieces(self.chunks, kept_size, self.n_jobs)

    def optimal_q(self, prior, pieces=None):
        """Return the optimal q(u), one output for each class, and the bound there.

        ``pieces`` are those of this object, where their blocks are needed again.
        """
        prior.warm_cache()
        pieces = pieces or self._pieces()
        (other, same), (low, high) = self._numbers
        m, sums = len(prior.Z), [None] * len(other)
        for part in pieces.map(_sums_group, prior):
            for c, of_class in part.items():
                if sums[c] is None:
                    sums[c] = of_class
                else:
                    sums[c].add(of_class)
        total = ClassSums.empty(m)
        for of_class in sums:
            if of_class is not None:
                la.mirror(of_class.gram)
                total.add(of_class)
        H, h, value = [], low * np.outer(total.first, other), 0.0
        for c, of_class in enumerate(sums):
            of_class = of_class or ClassSums.empty(m)
            H_c = low * total.gram
            la.axpy(high - low, of_class.gram, H_c)
            H.append(H_c)
            h[:, c] += (high * same[c] - low * other[c]) * of_class.first
            value += of_class.weight * _log_normaliser(same[c], high)
            value += (total.weight - of_class.weight) * _log_normaliser(other[c], low)
            diagonal = low * total.diagonal + (high - low) * of_class.diagonal
            value -= 0.5 * max(diagonal - float(np.trace(H_c)), 0.0)
        q = Posterior(prior, tuple(H), h)
        bound = q.log_evidence(value)
        if not np.isfinite(bound):
            raise NotPositiveDefiniteError("the bound of regressions of classes is not finite")
        return q, float(bound)

    def bound(self, prior, with_inputs=True):
        """Compute the bound and its gradient.

        ``with_inputs`` says whether the gradient in Z is wanted.
        """
        pieces = self._pieces(len(prior.Z))
        q, value = self.optimal_q(prior, pieces)
        targets, (low, high) = self._numbers
        changes = [precision.covariance_change for precision in q.precisions]
        of_all = low * sum(changes)
        changes = [of_all + (high - low) * change for change in changes]
        parts = pieces.map(_gradient_group, q, targets, (low, high), changes, with_inputs)
        return value, GradientSums.total(parts).gradient(prior, with_inputs)


def _log_normaliser(y, precision):
    """Compute log N(y; 0, 1 / precision)."""
    return 0.5 * (np.log(precision / (2.0 * np.pi)) - precision * y**2)


def _sums_group(group, kept, prior):
    """Return `ClassSums` of one group of pieces, by numbers of classes; lower triangles."""
    sums = {}
    for piece, A in computed(group, kept, lambda piece: prior.whitened(piece.X)):
        of_class = sums.setdefault(int(piece.y[0, 0]), ClassSums.empty(len(A)))
        weight, _ = piece.weights
        la.syrk(A if piece.weight is None else A * np.sqrt(weight), of_class.gram, 1.0, 1.0)
        of_class.first += product(A, weight[:, None])[:, 0]
        of_class.weight += float(weight.sum())
        of_class.diagonal += float(weight @ prior.kernel.diag(piece.X))
    return sums


def _gradient_group(group, kept, q, targets, precisions, changes, with_inputs):
    """Return `GradientSums` of one group of pieces."""
    (other, same), (low, high) = targets, precisions
    total = low * (len(other) - 1) + high

    def parts():
        for piece, A in computed(group, kept, lambda piece: q.prior.whitened(piece.X)):
            c, (weight, _) = int(piece.y[0, 0]), piece.weights
            error = other - product(A, q.v_mean, trans_a=True)  # (n, C)
            error[:, c] += same[c] - other[c]
            error *= low
            error[:, c] *= high / low
            error *= weight[:, None]
            A_bar = product(q.v_mean, error, trans_b=True)  # (m, n)
            A_bar -= product(changes[c], A) * weight
            cotangent = BlockGradient(0.0, A_bar, (-0.5 * total) * weight, 0.0)
            yield pull_back(q.prior, piece.X, A, cotangent, with_inputs)

    return GradientSums.total(parts())
