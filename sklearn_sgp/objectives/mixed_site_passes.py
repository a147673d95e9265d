"""Tasks of the passes that `objectives.sites` makes where outputs mix latent functions.

f = W g + means, with a site for each target that was observed (docs/theory.md, section 16). An
entry's site acts on W_p^T g alone, so that H has the parts sum beta_np W_pq W_pr a a^T, of one
matrix for each pair of latent functions, whatever the number of outputs.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from .._core import _linalg as la
from .._linalg import product
from ..data.observed_outputs import expected_log_density
from ..factors.gradients import BlockGradient, pull_back
from ..gp.multi_output import CoregionalisedPosterior
from .site_passes import unexplained_variances


@dataclass(frozen=True)
class MixedFunctions:
    """Say how mixed latent functions enter a pass; see `IndependentFunctions`.

    Sites, derivatives and moments of rows have an entry for each output; q(u) is that of all latent
    functions together. ``means``, (t,) or 0, are added to the outputs' functions.
    """

    mixing: np.ndarray
    means: object = 0.0

    @classmethod
    def of(cls, parameters):
        """Take what `Parameters` say of them."""
        return cls(parameters.mixing, parameters.means)

    # ---- q(u)

    def at_prior(self, prior, n_latent):
        """Return q(u) before any data."""
        m, Q = len(prior.Z), self.mixing.shape[1]
        return CoregionalisedPosterior(prior, np.zeros((Q * m,) * 2), np.zeros((Q, m)), self.mixing)

    def under(self, q, prior):
        """Return q(u) under another prior, its data part held."""
        return CoregionalisedPosterior(prior, q.H, q.h, self.mixing)

    def posterior(self, prior, parts):
        """Return q(u) from the sums (H, h) of groups: H (Q, m, Q, m), its lower blocks."""
        with np.errstate(invalid="ignore"):  # infinities of both signs: a step that is not taken
            H, h = (sum(each) for each in zip(*parts, strict=True))
        Q, m = h.shape
        for q in range(Q):
            for r in range(q):
                H[r, :, q] = H[q, :, r].T
        return CoregionalisedPosterior(prior, H.reshape(Q * m, Q * m), h, self.mixing)

    @staticmethod
    def largest_information(q):
        """Return the trace of H."""
        return float(np.trace(q.H))

    @staticmethod
    def fill_caches(q, name, n_jobs):
        """Compute once what tasks need of q(u)."""
        q.covariance, q.v_mean  # noqa: B018

    # ---- Passes

    @staticmethod
    def density_of(likelihood):
        """Return the function that computes the `ExpectedLogDensity` of targets that are known."""
        return partial(expected_log_density, likelihood)

    def n_sites(self, q):
        """Return the number of sites of a row."""
        return len(self.mixing)

    def no_information(self, m, n_sites):
        """Return sums (H, h) to which sites are added; of H the lower blocks."""
        Q = self.mixing.shape[1]
        return np.zeros((Q, m, Q, m)), np.zeros((Q, m))

    def add_sites(self, A, lambda_1, lambda_2, H, h):
        """Add sites (n, t) of rows with the whitened block A (m, n)."""
        W = self.mixing
        h += product(np.ascontiguousarray((lambda_1 @ W).T), A, trans_b=True)
        for q in range(len(h)):
            for r in range(q + 1):
                H[q, :, r] += product(A * (lambda_2 @ (W[:, q] * W[:, r])), A, trans_b=True)

    def moments(self, A, q, unexplained):
        """Return means that the sites are about, and means and variances of outputs, all (n, t).

        The sites are of W g alone.
        """
        (latent, covariance), W = self._latent_moments(A, q, unexplained), self.mixing
        center = latent @ W.T
        return center, center + self.means, np.einsum("pq,nqr,pr->np", W, covariance, W)

    def _latent_moments(self, A, q, unexplained):
        """Return means (n, Q) and covariances (n, Q, Q) of the latent functions at some rows."""
        n, Q = len(unexplained), self.mixing.shape[1]
        C = np.empty((n, Q, Q))
        for k in range(Q):
            for r in range(k + 1):
                column = unexplained.copy() if r == k else np.zeros(n)
                la.column_dots(product(_part(q.covariance, k, r), A), A, column)
                C[:, k, r] = C[:, r, k] = column
        return product(A, q.v_mean, trans_a=True), C

    def gradient(self, piece, A, q, with_inputs, g, gamma):
        """Return `GradientSums` of some rows."""
        W, unexplained = self.mixing, unexplained_variances(piece, A, q.prior)
        latent, covariance = self._latent_moments(A, q, unexplained)
        of_C = np.einsum("np,pq,pr->nqr", gamma, W, W)
        A_bar = product(q.v_mean, np.ascontiguousarray((g @ W).T))
        for k in range(W.shape[1]):
            for r in range(W.shape[1]):
                change = product(_part(q.covariance, k, r), A)
                if k == r:
                    change -= A
                A_bar += 2.0 * of_C[:, k, r] * change
        diagonal = np.ascontiguousarray(np.einsum("nqq->n", of_C))
        cotangent = BlockGradient(0.0, A_bar, diagonal, 0.0)
        sums = pull_back(q.prior, piece.X, A, cotangent, with_inputs)
        along = np.einsum("np,nqr,pr->pq", gamma, covariance, W)
        sums.others["mixing"] = g.T @ latent + 2.0 * along
        sums.others["means"] = g.sum(axis=0)
        return sums


def _part(covariance, q, r):
    """Return the covariance (m, m) of two latent functions."""
    return np.ascontiguousarray(covariance[q, :, r])
