"""Tasks of the passes that `objectives.sites` makes where outputs mix latent functions.

f = W g + means, with a site for each target that was observed (docs/theory.md, section 16). An
entry's site acts on W_p^T g alone, so that H has the parts sum beta_np W_pq W_pr a a^T, of one
matrix for each pair of latent functions, whatever the number of outputs.
"""

from dataclasses import dataclass

import numpy as np

from .._core import _linalg as la
from .._linalg import product
from ..data.observed_outputs import expected_log_density
from ..factors.gradients import BlockGradient, GradientSums, noise_gradient, pull_back
from ..gp.multi_output import CoregionalisedPosterior
from .site_passes import whitened


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

    def information_group(self, group, kept, prior, lambda_1, lambda_2):
        """Sum the data parts (H, h) that sites (n, t) make, over one group of rows."""
        m, Q = len(prior.Z), self.mixing.shape[1]
        H, h, lo = np.zeros((Q, m, Q, m)), np.zeros((Q, m)), 0
        for piece, A in whitened(group, kept, prior):
            hi = lo + len(piece)
            self._add_sites(A, lambda_1[lo:hi], lambda_2[lo:hi], H, h)
            lo = hi
        return H, h

    def equal_sites_group(self, group, kept, prior, n_latent, precision):
        """Sum them for sites of mean zero and one precision."""
        shape = sum(len(piece) for piece in group), len(self.mixing)
        zeros, equal = np.zeros(shape), np.full(shape, precision)
        return self.information_group(group, kept, prior, zeros, equal)

    def _add_sites(self, A, lambda_1, lambda_2, H, h):
        W = self.mixing
        h += product(np.ascontiguousarray((lambda_1 @ W).T), A, trans_b=True)
        for q in range(len(h)):
            for r in range(q + 1):
                H[q, :, r] += product(A * (lambda_2 @ (W[:, q] * W[:, r])), A, trans_b=True)

    def _latent_moments(self, piece, A, q):
        """Return means (n, Q) and covariances (n, Q, Q) of the latent functions at some rows."""
        unexplained = q.prior.kernel.diag(piece.X)
        la.column_dots(A, A, unexplained, -1.0)
        np.maximum(unexplained, 0.0, out=unexplained)  # below 0 by rounding only
        Q = self.mixing.shape[1]
        C = np.empty((len(piece), Q, Q))
        for k in range(Q):
            for r in range(k + 1):
                column = unexplained.copy() if r == k else np.zeros(len(piece))
                la.column_dots(product(_part(q.covariance, k, r), A), A, column)
                C[:, k, r] = C[:, r, k] = column
        return product(A, q.v_mean, trans_a=True), C

    def _outputs(self, mean, covariance):
        """Return means and variances of the outputs' functions, both (n, t), from those of g."""
        W = self.mixing
        variance = np.einsum("pq,nqr,pr->np", W, covariance, W)
        return mean @ W.T + self.means, variance

    def pass_group(self, group, kept, q, likelihood, noise_variance, returns_sites=True):
        """Return the `SitePass` of one group of rows, the target as its sums."""
        m, Q = len(q.prior.Z), self.mixing.shape[1]
        H, h = np.zeros((Q, m, Q, m)), np.zeros((Q, m))
        value, log_noise, theta, sites = 0.0, 0.0, 0.0, []
        with np.errstate(over="ignore", invalid="ignore"):  # `site_pass` looks for these
            for piece, A in whitened(group, kept, q.prior):
                latent, covariance = self._latent_moments(piece, A, q)
                mean, variance = self._outputs(latent, covariance)
                moments = piece.shifted(mean), np.maximum(variance, 1e-300)
                expected = expected_log_density(likelihood, piece.targets, *moments, noise_variance)
                weight, _ = piece.weights
                g, gamma = expected.d_mean * weight[:, None], expected.d_variance * weight[:, None]
                lambda_2 = -2.0 * gamma
                # the sites are of W g alone
                lambda_1 = g + lambda_2 * (latent @ self.mixing.T)
                self._add_sites(A, lambda_1, lambda_2, H, h)
                value += float(weight @ expected.value)
                log_noise = log_noise + noise_gradient(
                    noise_variance, weight @ expected.d_log_noise
                )
                if expected.d_theta is not None:
                    theta = theta + weight @ expected.d_theta
                sites.append((g, gamma, lambda_1, lambda_2))
        arrays = [np.concatenate(parts) for parts in zip(*sites, strict=True)]
        return value, log_noise, theta, arrays, H, h

    def gradient_group(self, group, kept, q, with_inputs, g, gamma):
        """Return `GradientSums` of one group of rows."""
        return GradientSums.total(self._gradient_parts(group, kept, q, with_inputs, g, gamma))

    def gradient_at_group(self, group, kept, q, with_inputs, likelihood, noise_variance):
        """Return them where the derivatives of the rows were not kept."""
        g, gamma, _, _ = self.pass_group(group, None, q, likelihood, noise_variance)[3]
        return self.gradient_group(group, kept, q, with_inputs, g, gamma)

    def _gradient_parts(self, group, kept, q, with_inputs, g, gamma):
        W, lo = self.mixing, 0
        for piece, A in whitened(group, kept, q.prior):
            rows = slice(lo, lo + len(piece))
            lo += len(piece)
            latent, covariance = self._latent_moments(piece, A, q)
            of_C = np.einsum("np,pq,pr->nqr", gamma[rows], W, W)
            A_bar = product(q.v_mean, np.ascontiguousarray((g[rows] @ W).T))
            for k in range(W.shape[1]):
                for r in range(W.shape[1]):
                    change = product(_part(q.covariance, k, r), A)
                    if k == r:
                        change -= A
                    A_bar += 2.0 * of_C[:, k, r] * change
            diagonal = np.ascontiguousarray(np.einsum("nqq->n", of_C))
            sums = pull_back(
                q.prior, piece.X, A, BlockGradient(0.0, A_bar, diagonal, 0.0), with_inputs
            )
            along = np.einsum("np,nqr,pr->pq", gamma[rows], covariance, W)
            sums.others["mixing"] = g[rows].T @ latent + 2.0 * along
            sums.others["means"] = g[rows].sum(axis=0)
            yield sums


def _part(covariance, q, r):
    """Return the covariance (m, m) of two latent functions."""
    return np.ascontiguousarray(covariance[q, :, r])
