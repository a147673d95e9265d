"""The outputs as functions of latent inputs, given q(u): moments, and bounds of single rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._linalg import product, sandwich
from ..gp.posterior import Posterior
from .expectations import chunk_of, expectations_of
from .packed import for_inner_products, pack, packed_size
from .passes import InputPosteriors, LatentSums, row_cotangents


@dataclass(frozen=True)
class OutputModel:
    """Outputs as functions of latent inputs, given q(u), as scaled.

    Parameters
    ----------
    noise_variance : ndarray of shape (P,)
    """

    posterior: Posterior
    noise_variance: np.ndarray

    @cached_property
    def expectations(self):
        """Expectations of the kernel under q(x)."""
        return expectations_of(self.posterior.prior.kernel, self.posterior.prior.Z)

    @cached_property
    def second_coefficients(self):
        """C of each output with E f^2 = psi0 + <psi2, C>, packed; shape (P, packed)."""
        posterior, c = self.posterior, self.posterior.coefficients  # (m, P)
        m, P = c.shape
        C = np.empty((P, packed_size(m)))
        for precision, columns in posterior.by_precision:
            C[columns] = pack(
                sandwich(posterior.prior.L_inv, precision.covariance_change, trans=True)
            )
        i, j = np.tril_indices(m)
        for p in range(P):
            C[p] += c[i, p] * c[j, p]
        return C

    @cached_property
    def cotangents(self):
        """Derivatives of the bound in the sums of an output: `LatentSums` with K = P."""
        s2 = self.noise_variance
        cross = np.ascontiguousarray((self.posterior.coefficients / s2).T)
        psi2 = self.second_coefficients * (-0.5 / s2)[:, None]
        return LatentSums(-0.5 / s2, cross, psi2)

    def without_caches(self):
        """Return the same: it is saved as it is."""
        return self

    def warm_cache(self):
        """Compute once what parallel tasks would otherwise each compute."""
        return self.cotangents, self.expectations

    def row_objective(self, Y, observed):
        """Return the bound of rows as a function of their q(x).

        Parameters
        ----------
        Y : ndarray of shape (n, P)
            Scaled, 0 where missing.
        observed : ndarray of shape (n, P)
        """
        s2 = self.noise_variance
        # summed row by row, so that rows get the same to the last bit alone and among others
        constant = -0.5 * (observed * np.log(2.0 * np.pi * s2) + Y * Y / s2).sum(axis=1)
        return RowObjective(
            self.expectations, row_cotangents(Y, observed, self.cotangents), constant
        )

    def moments(self, q):
        """Return means and variances of the functions at rows with q(x), both (n, P)."""
        psi0, psi1, psi2 = self.expectations.rows(*q)
        mean = product(psi1, self.posterior.coefficients)
        second = np.empty(mean.shape)
        weights = for_inner_products(self.second_coefficients, psi1.shape[1])
        la.gemm(psi2, weights, second, False, True)
        second += psi0[:, None]
        return mean, np.maximum(second - mean**2, 0.0)

    def moments_in_chunks(self, q):
        """Return the same; psi2 of a chunk of rows exist together."""
        chunk = chunk_of(len(self.expectations.Z))
        parts = [self.moments(q[lo : lo + chunk]) for lo in range(0, len(q.mean), chunk)]
        return tuple(np.concatenate([part[k] for part in parts]) for k in (0, 1))

    def with_moments(self, q):
        """Make `Candidates` from q(x) of some rows."""
        mean, variance = self.moments_in_chunks(q)
        return Candidates(q, mean, mean**2 + variance)

    def bounds_at(self, candidates, Y, observed):
        """Return bounds of rows at each of some `Candidates`, without their constant, (n, J)."""
        s2 = self.noise_variance
        fitted = product(Y / s2, candidates.mean, trans_b=True)
        fitted -= 0.5 * product(observed / s2, candidates.second, trans_b=True)
        return fitted - candidates.q.kl()


class Candidates(NamedTuple):
    """q(x) that rows may start from, and first and second moments of the outputs there."""

    q: InputPosteriors
    mean: np.ndarray  # (J, P)
    second: np.ndarray  # (J, P)


@dataclass(frozen=True)
class RowObjective:
    """Bounds of some rows, each a function of its own q(x)."""

    expectations: object
    cotangents: object
    constant: np.ndarray

    def __call__(self, mean, log_variance, active=None):
        """Return values (n,) and gradients (n, 2 Q) in means and logarithms of variances."""
        variance = np.exp(log_variance)
        cotangents, constant = self.cotangents, self.constant
        if active is not None:
            cotangents, constant = _some(cotangents, active), constant[active]
        value, mean_, variance_ = self.expectations.reverse(mean, variance, cotangents)
        value = value + constant - InputPosteriors(mean, variance).kl()
        slope = variance * variance_ - 0.5 * (variance - 1.0)
        return value, np.hstack([mean_ - mean, slope])


def _some(cotangents, active):
    psi2 = cotangents.psi2 if len(cotangents.psi2) == 1 else cotangents.psi2[active]
    return type(cotangents)(cotangents.psi0[active], cotangents.psi1[active], psi2)
