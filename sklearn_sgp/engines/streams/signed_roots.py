"""Roots of information that may be negative in some directions.

Log densities that are not concave, as those of Student-t noise, have sites of negative precision: a
row far off makes q(u) wider. Their sum H keeps I + H positive definite, and is itself indefinite. A
root that ends where pivots end would leave out all that H and h say in the directions that are
left: of 80 rows with Student-t noise, h was off by three prior standard deviations.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from ..._core import _linalg as la
from ..._linalg import cholesky, copy_of, pivoted_cholesky, product, triangular_inverse


@dataclass(frozen=True)
class SignedRoot:
    """R, g and signs S = diag(1, ..., 1, -1, ..., -1) with H = R^T S R and h = R^T g.

    Parameters
    ----------
    R : ndarray of shape (rank, m)
    g : ndarray of shape (rank, t)
    n_negative : int
        Number of last rows whose sign is negative.
    """

    R: np.ndarray
    g: np.ndarray
    n_negative: int = 0

    @classmethod
    def of(cls, H, h):
        """Return the root of information H (m, m) and h (m, t)."""
        L, order = pivoted_cholesky(H)
        rank, m = L.shape[1], len(H)
        # where pivoting ends; 60 random streams with Gaussian noise leave up to 0.4 times as much
        rounding = m * np.finfo(np.float64).eps * float(np.diagonal(H).max())
        rest = order[rank:]
        left = H[np.ix_(rest, rest)] - L[rank:] @ L[rank:].T
        if np.abs(left).max(initial=0.0) > rounding:
            return cls._of_indefinite(H, h, rounding)
        R = np.zeros((rank, m))
        R[:, order] = L.T
        return cls(R, solve_triangular(L[:rank], h[order[:rank]], lower=True))

    @classmethod
    def _of_indefinite(cls, H, h, rounding):
        values, vectors = np.linalg.eigh(H)
        values, vectors = values[::-1], vectors[:, ::-1]
        n_negative = int(np.sum(values < 0.0))
        lengths = np.sqrt(np.maximum(np.abs(values), rounding))[:, None]
        return cls(copy_of(lengths * vectors.T), vectors.T @ h / lengths, n_negative)

    def signed(self, rows):
        """Return S times some rows, a new array."""
        rows = copy_of(rows)
        rows[len(rows) - self.n_negative :] *= -1.0
        return rows

    def divided(self, N, alpha):
        """Divide the root by the factor C of G = S + alpha N N^T.

        Returns
        -------
        divided : DividedRoot

        Raises
        ------
        NotPositiveDefiniteError
            If S G has no positive determinant, as the old information is lost in what it meets.
        """
        G = product(N, N, trans_b=True)
        G *= alpha
        C = _signed_cholesky(G, len(G) - self.n_negative)
        C_inv, R, g = triangular_inverse(C), copy_of(self.R), self.signed(self.g)
        la.trmm(C_inv, R)
        la.trmm(C_inv, g)
        return DividedRoot(SignedRoot(R, g, self.n_negative), C)


@dataclass(frozen=True)
class DividedRoot:
    """A root R, g of which inv(C) R and inv(C) S g are left, with G = C S C^T.

    Parameters
    ----------
    root : SignedRoot
        What is left.
    C : ndarray of shape (rank, rank)
    """

    root: SignedRoot
    C: np.ndarray

    @property
    def log_det(self):
        """The logarithm of the determinant of S G."""
        return 2.0 * float(np.log(np.diagonal(self.C)).sum())

    def information(self):
        """Compute R^T inv(G) R."""
        R = self.root.R
        return product(R, self.root.signed(R), trans_a=True)

    def shift(self):
        """Compute R^T inv(G) S g."""
        return product(self.root.R, self.root.signed(self.root.g), trans_a=True)


def _signed_cholesky(G, n_positive):
    """Factorise S + G as C S C^T; overwrites G, which is positive semidefinite.

    The signs S are positive first. A negative one has a pivot of less than one.
    """
    p = n_positive
    G.flat[:: len(G) + 1] += 1.0
    if p == len(G):
        return cholesky(G, overwrite=True)
    C = np.zeros(G.shape)
    C[:p, :p] = cholesky(np.ascontiguousarray(G[:p, :p]))
    C[p:, :p] = B = solve_triangular(C[:p, :p], G[:p, p:], lower=True).T
    rest = B @ B.T - G[p:, p:]
    rest.flat[:: len(rest) + 1] += 2.0  # the one in G counts with the other sign
    C[p:, p:] = cholesky(rest)
    return C
