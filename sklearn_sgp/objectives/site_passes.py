"""Tasks of the passes over rows that `objectives.sites` makes: sites, their sums, the gradient."""

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import copy_of, product
from .._parallel import map_groups, shares_memory
from ..factors.gradients import BlockGradient, GradientSums, noise_gradient, pull_back
from ..factors.passes import computed
from ..gp.posterior import Posterior


def whitened(group, kept, prior):
    return computed(group, kept, lambda piece: prior.whitened(piece.X))


def unexplained_variances(piece, A, prior):
    """Return the variances at some rows that the inducing inputs leave unexplained, (n,)."""
    variance = prior.kernel.diag(piece.X)
    la.column_dots(A, A, variance, -1.0)
    return np.maximum(variance, 0.0, out=variance)  # below 0 by rounding only


# ---- Tasks; `functions` is `IndependentFunctions` or `mixed_site_passes.MixedFunctions`


def information_group(group, kept, functions, prior, lambda_1, lambda_2):
    """Sum the data parts (H, h) that sites make, over one group of rows."""
    sums, lo = functions.no_information(len(prior.Z), lambda_1.shape[1]), 0
    for piece, A in whitened(group, kept, prior):
        hi = lo + len(piece)
        functions.add_sites(A, lambda_1[lo:hi], lambda_2[lo:hi], *sums)
        lo = hi
    return sums


def equal_sites_group(group, kept, functions, q, precision):
    """Sum them for sites of mean zero and one precision."""
    shape = sum(len(piece) for piece in group), functions.n_sites(q)
    return information_group(
        group, kept, functions, q.prior, np.zeros(shape), np.full(shape, precision)
    )


def pass_group(group, kept, functions, q, likelihood, noise_variance, returns_sites=True):
    """Return the `SitePass` of one group of rows, the target as its sums.

    Without the sites of the rows, the value says whether these are finite.
    """
    expected_log_density = functions.density_of(likelihood)
    sums = functions.no_information(len(q.prior.Z), functions.n_sites(q))
    value, log_noise, theta, sites = 0.0, 0.0, 0.0, []
    with np.errstate(over="ignore", invalid="ignore"):  # `site_pass` looks for these
        for piece, A in whitened(group, kept, q.prior):
            unexplained = unexplained_variances(piece, A, q.prior)
            center, mean, variance = functions.moments(A, q, unexplained)
            moments = piece.shifted(mean), np.maximum(variance, 1e-300)
            expected = expected_log_density(piece.targets, *moments, noise_variance)
            weight, _ = piece.weights
            g, gamma = expected.d_mean * weight[:, None], expected.d_variance * weight[:, None]
            lambda_2 = -2.0 * gamma
            lambda_1 = g + lambda_2 * center
            functions.add_sites(A, lambda_1, lambda_2, *sums)
            value += float(weight @ expected.value)
            log_noise = log_noise + noise_gradient(noise_variance, weight @ expected.d_log_noise)
            if expected.d_theta is not None:
                theta = theta + weight @ expected.d_theta
            if returns_sites:
                sites.append((g, gamma, lambda_1, lambda_2))
            elif not (np.isfinite(g).all() and np.isfinite(gamma).all()):
                value = np.nan
    if not returns_sites:
        return value, log_noise, theta, None, *sums
    arrays = [np.concatenate(parts) for parts in zip(*sites, strict=True)]
    return value, log_noise, theta, arrays, *sums


def gradient_group(group, kept, functions, q, with_inputs, g, gamma):
    """Return `GradientSums` of one group of rows."""
    sums, lo = None, 0
    for piece, A in whitened(group, kept, q.prior):
        hi = lo + len(piece)
        part = functions.gradient(piece, A, q, with_inputs, g[lo:hi], gamma[lo:hi])
        sums, lo = part if sums is None else GradientSums.total((sums, part)), hi
    return sums


def gradient_at_group(group, kept, functions, q, with_inputs, likelihood, noise_variance):
    """Return them where the derivatives of the rows were not kept."""
    g, gamma, _, _ = pass_group(group, None, functions, q, likelihood, noise_variance)[3]
    return gradient_group(group, kept, functions, q, with_inputs, g, gamma)


class IndependentFunctions:
    """Say how latent functions that are independent given the sites enter a pass.

    Each has its own (H_c, h_c).
    """

    # ---- q(u)

    @staticmethod
    def at_prior(prior, n_latent):
        """Return q(u) before any data."""
        return Posterior.at_prior(prior, n_latent, n_latent)

    @staticmethod
    def under(q, prior):
        """Return q(u) under another prior, its data part held."""
        return q.under(prior)

    @staticmethod
    def posterior(prior, parts):
        """Return q(u) from the sums (H, h) of groups."""
        H = [sum(each) for each in zip(*(H for H, _ in parts), strict=True)]
        for H_c in H:
            la.mirror(H_c)
        with np.errstate(invalid="ignore"):  # infinities of both signs: a step that is not taken
            return Posterior(prior, tuple(H), sum(h for _, h in parts))

    @staticmethod
    def largest_information(q):
        """Return the largest trace of an H."""
        return max(float(np.trace(H)) for H in q.H)

    @staticmethod
    def fill_caches(q, name, n_jobs):
        """Compute a cached property of each precision before the tasks start, and the mean of v.

        In parallel where that reaches the caller.
        """
        if shares_memory():
            map_groups(getattr, [(precision, name) for precision in q.precisions], n_jobs)
        for precision in q.precisions:
            getattr(precision, name)
        q.v_mean  # noqa: B018

    # ---- Passes

    @staticmethod
    def density_of(likelihood):
        """Return the function that computes the `ExpectedLogDensity` of rows."""
        return likelihood.expected_log_density

    @staticmethod
    def n_sites(q):
        """Return the number of sites of a row."""
        return q.h.shape[1]

    @staticmethod
    def no_information(m, n_sites):
        """Return sums (H, h) to which sites are added."""
        return [np.zeros((m, m)) for _ in range(n_sites)], np.zeros((m, n_sites))

    @staticmethod
    def add_sites(A, lambda_1, lambda_2, H, h):
        """Add sites (n, C) of rows with the whitened block A (m, n)."""
        weighted = empty(A.shape)
        for c, H_c in enumerate(H):
            precision = lambda_2[:, c]
            la.syrk(np.multiply(A, np.sqrt(np.abs(precision)), out=weighted), H_c, 1.0, 1.0)
            below = np.flatnonzero(precision < 0.0)  # where a density is not log-concave
            if len(below):
                la.syrk(np.ascontiguousarray(weighted[:, below]), H_c, -2.0, 1.0)
        la.gemm(A, np.ascontiguousarray(lambda_1), h, False, False, 1.0, 1.0)

    @staticmethod
    def moments(A, q, unexplained):
        """Return means that the sites are about, and means and variances of outputs, all (n, C)."""
        mean = product(A, q.v_mean, trans_a=True)
        variance = np.empty(mean.shape)
        for c, precision in enumerate(q.precisions):
            root, column = copy_of(A), unexplained.copy()
            la.trmm(precision.L_inv, root)
            la.column_dots(root, root, column)
            variance[:, c] = column
        return mean, mean, variance

    @staticmethod
    def gradient(piece, A, q, with_inputs, g, gamma):
        """Return `GradientSums` of some rows."""
        A_bar = product(q.v_mean, np.ascontiguousarray(g), trans_b=True)  # (m, n)
        MA = empty(A.shape)
        for c, precision in enumerate(q.precisions):
            la.gemm(precision.covariance_change, A, MA)
            MA *= 2.0 * gamma[:, c]
            A_bar += MA
        cotangent = BlockGradient(0.0, A_bar, gamma.sum(axis=1), 0.0)
        return pull_back(q.prior, piece.X, A, cotangent, with_inputs)


INDEPENDENT = IndependentFunctions()
