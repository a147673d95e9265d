"""Expectations of any kernel with gradients by points and weights.

One to three latent dimensions have a product of Gauss-Hermite rules; more have points of a Sobol
sequence, each with its mirror image, moved to mean 0 and covariance I. The rule is the same for
every row and evaluation, so that bounds stay smooth.
"""

from itertools import product as pairs

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from .packed import pack

# Points of Gauss-Hermite for each dimension; of the Sobol sequence without their mirror images.
_HERMITE_POINTS = {1: 20, 2: 9, 3: 6}
_SOBOL_POINTS = 128


def standard_points(Q):
    """Return points (J, Q) and weights (J,) for N(0, I)."""
    if Q in _HERMITE_POINTS:
        x, w = np.polynomial.hermite_e.hermegauss(_HERMITE_POINTS[Q])
        points = np.array(list(pairs(x, repeat=Q)))
        weights = np.array([np.prod(each) for each in pairs(w / w.sum(), repeat=Q)])
        return points, weights
    count = max(_SOBOL_POINTS, 1 << int(np.ceil(np.log2(2 * Q))))
    u = qmc.Sobol(Q, scramble=True, rng=np.random.default_rng(0)).random(count)
    points = ndtri(np.clip(u, 1e-9, 1.0 - 1e-9))
    L = np.linalg.cholesky(points.T @ points / count)
    points = np.linalg.solve(L, points.T).T
    return np.concatenate([points, -points]), np.full(2 * count, 0.5 / count)


class Points:
    """Computes expectations by points, for kernels without a closed form here."""

    def __init__(self, kernel, Z):
        self.kernel, self.Z = kernel, Z
        self.points, self.weights = standard_points(Z.shape[1])

    def _at(self, mean, variance):
        """Return the inputs of all points, (n J, Q)."""
        X = mean[:, None] + np.sqrt(variance)[:, None] * self.points
        return X.reshape(-1, mean.shape[1])

    def _block(self, X):
        """Return k(x, Z) at all points, (n, J, m)."""
        return self.kernel.block(X, self.Z).reshape(-1, len(self.points), len(self.Z))

    def rows(self, mean, variance):
        """Return psi0, psi1 and psi2 of rows; see `expectations`."""
        X = self._at(mean, variance)
        A = self._block(X)
        weighted = A * self.weights[:, None]
        psi2 = np.matmul(weighted.transpose(0, 2, 1), A)
        return self._diagonal(X) @ self.weights, weighted.sum(axis=1), pack(psi2)

    def _diagonal(self, X):
        return self.kernel.diag(X).reshape(-1, len(self.points))

    def new_sums(self):
        """Make room for the cotangents of theta and Z."""
        return [np.zeros(len(self.kernel.theta)), np.zeros(self.Z.shape)]

    def reverse(self, mean, variance, cotangents, sums=None):
        """Carry cotangents back; see `squared_exponential.SquaredExponential.reverse`."""
        (n, Q), m = mean.shape, len(self.Z)
        X = self._at(mean, variance)
        A, diagonal = self._block(X), self._diagonal(X)
        full = np.zeros((len(cotangents.psi2), m, m))
        i, j = np.tril_indices(m)
        full[:, i, j] = full[:, j, i] = cotangents.psi2
        second = np.matmul(A, full)  # (n, J, m)
        weighted = self.weights[:, None] * (cotangents.psi1[:, None] + 2.0 * second)
        on_diagonal = cotangents.psi0[:, None] * self.weights  # (n, J)
        value = np.einsum("njm,njm,j->n", second, A, self.weights)
        value += np.einsum("nm,njm,j->n", cotangents.psi1, A, self.weights)
        value += (on_diagonal * diagonal).sum(axis=1)
        G = np.ascontiguousarray(weighted.reshape(-1, m))
        X_ = self.kernel.block_vjp(X, self.Z, G.copy())[1] + self._diagonal_slope(X, on_diagonal)
        X_ = X_.reshape(n, -1, Q)
        if sums is not None:
            theta, Z_ = self.kernel.block_vjp(self.Z, X, np.ascontiguousarray(G.T))
            sums[0] += theta + self.kernel.diag_vjp(X, on_diagonal.ravel())
            sums[1] += Z_
        variance_ = np.einsum("njq,jq->nq", X_, self.points) / (2.0 * np.sqrt(variance))
        return value, X_.sum(axis=1), variance_

    def _diagonal_slope(self, X, weight):
        """Weight the derivatives of k(x, x) in x, by central differences."""
        slope, step = np.zeros(X.shape), 1e-5
        for q in range(X.shape[1]):
            shift = step * np.eye(1, X.shape[1], q)
            ends = self.kernel.diag(X + shift), self.kernel.diag(X - shift)
            slope[:, q] = (ends[0] - ends[1]) / (2.0 * step)
        return slope * weight.reshape(-1, 1)

    def gradients(self, sums):
        """Return cotangents of theta and Z from sums."""
        return sums[0], sums[1]
