"""q(u) in whitened information form, of any number of outputs (docs/theory.md, eqs. 4 to 8).

The data enter as two sums, H (m, m) and h (m, t): q(v) = N((I + H)^-1 h, (I + H)^-1). Eigenvalues
of I + H are at least 1, so its Cholesky factor always exists. With Gaussian noise of one variance
all outputs share one H. With a variance for each output, or any other likelihood, each latent
function has an H of its own; the prior, its factor and every kernel block are shared.

Models without near rows predict from q(u) by a test conditional p(f | u) (docs/theory.md, section
9): the exact one, or one that answers ``mean(X)``, ``mean_variance(X)`` and ``mean_covariance(X)``
in its place. That of PIC, LMA and VIF needs training rows and is in `predict/near_rows.py`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import cholesky, copy_of, inverse_from_cholesky, product, triangular_inverse
from .prior import Prior, projection

# Share of a row's noise that its own observation leaves unexplained; less is rounding.
_LEAST_LEFT = 1e-6


def with_caches_of(posterior, other, names):
    """Return another posterior, which takes what is computed of the same u from one."""
    other.__dict__.update({name: getattr(posterior, name) for name in names})
    return other


class Precision:
    """I + H, the precision of v, with its factors computed once.

    H is positive semidefinite.
    """

    def __init__(self, H):
        self.H = H

    @cached_property
    def L(self):
        """Lower Cholesky factor of I + H."""
        B = copy_of(self.H)
        B.flat[:: len(B) + 1] += 1.0
        return cholesky(B)

    @cached_property
    def L_inv(self):
        return triangular_inverse(self.L)

    @cached_property
    def covariance(self):
        """(I + H)^-1, the covariance of v."""
        return inverse_from_cholesky(self.L)

    @cached_property
    def covariance_change(self):
        """(I + H)^-1 - I: what the data change in the covariance of v."""
        change = copy_of(self.covariance)
        change.flat[:: len(change) + 1] -= 1.0
        return change

    @cached_property
    def log_det(self):
        """log |I + H|."""
        return 2.0 * float(np.log(np.diagonal(self.L)).sum())

    def solve(self, h):
        """Compute (I + H)^-1 h, shape (m, t), a new array."""
        V = np.array(h, order="C")
        la.trsm(self.L, V)
        la.trsm(self.L, V, True)
        return V

    def kl(self, mean):
        """Return KL(N(mean, (I + H)^-1) || N(0, I)) in nats, summed over columns of ``mean``."""
        m, t = mean.shape
        trace = la.dot(self.L_inv, self.L_inv)  # of (I + H)^-1
        return 0.5 * (t * (trace - m + self.log_det) + float(np.vdot(mean, mean)))


@dataclass(frozen=True)
class Posterior:
    """q(u) of all outputs, ready to predict the latent functions.

    Parameters
    ----------
    H : tuple of ndarray of shape (m, m)
        Information matrices of the data, positive semidefinite: one that all outputs share, or one
        for each.
    h : ndarray of shape (m, t)
        Information vectors, one for each output.
    """

    prior: Prior
    H: tuple
    h: np.ndarray

    @classmethod
    def at_prior(cls, prior, n_outputs, n_factors=1):
        """Return q(u) before any data, with ``n_factors`` matrices H: 1 or ``n_outputs``."""
        m = len(prior.Z)
        H = tuple(np.zeros((m, m)) for _ in range(n_factors))
        return cls(prior, H, np.zeros((m, n_outputs)))

    @classmethod
    def of_outputs(cls, posteriors):
        """Join several posteriors under one prior, with the outputs of all."""
        if len(posteriors) == 1:
            return posteriors[0]
        H = tuple(chain.from_iterable(one.H for one in posteriors))
        return cls(posteriors[0].prior, H, np.hstack([one.h for one in posteriors]))

    def sites_of(self, X):
        """Return which of its rows each row of X is: None, as it knows no rows."""
        return None

    @property
    def of_each_output(self):
        """The same, as outputs mix no functions; see `multi_output.CoregionalisedPosterior`."""
        return self

    @cached_property
    def outputs(self):
        """The posteriors with one H each that it consists of."""
        if len(self.H) == 1:
            return [self]
        outputs = []
        for c, precision in enumerate(self.precisions):
            one = Posterior(self.prior, (precision.H,), np.ascontiguousarray(self.h[:, c : c + 1]))
            one.__dict__["precisions"] = [precision]  # the factors are computed once for both
            outputs.append(one)
        return outputs

    @cached_property
    def precisions(self):
        """A `Precision` for each H."""
        return [Precision(H) for H in self.H]

    @cached_property
    def by_precision(self):
        """Pairs of a `Precision` and the slice of the outputs that it belongs to."""
        if len(self.H) == 1:
            return [(self.precisions[0], slice(None))]
        return [(precision, slice(c, c + 1)) for c, precision in enumerate(self.precisions)]

    @cached_property
    def v_mean(self):
        """Means of v, shape (m, t)."""
        parts = [precision.solve(self.h[:, part]) for precision, part in self.by_precision]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    @cached_property
    def coefficients(self):
        """L^-T (I + H)^-1 h: the means at x are K(x, Z) times these; shape (m, t)."""
        coefficients = self.v_mean.copy()
        la.trsm(self.prior.L, coefficients, True)
        return coefficients

    @property
    def inducing_values(self):
        """Prior covariance (m, m) and posterior means (m, t) of u."""
        return self.prior.K, product(self.prior.L, self.v_mean)

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        return replace(self, prior=self.prior.without_caches())

    def warm_cache(self):
        """Compute once what every prediction needs."""
        return self.coefficients, [precision.L_inv for precision in self.precisions]

    # ---- Scalars

    def kl(self):
        """Return KL(q(u) || p(u)) in nats, summed over outputs."""
        return sum(precision.kl(self.v_mean[:, part]) for precision, part in self.by_precision)

    def log_evidence(self, constant=0.0):
        """Compute log of the integral of p(u) exp(h^T v - v^T H v / 2 + constant) (eq. 2)."""
        for precision, part in self.by_precision:
            h = self.h[:, part]
            fit = float(np.vdot(h, self.v_mean[:, part]))
            constant = constant + 0.5 * (fit - h.shape[1] * precision.log_det)
        return constant

    def expected_log_factor(self, q):
        """Compute E of h^T v - v^T H v / 2 under a posterior with as many H, over all outputs."""
        total = 0.0
        for H, (precision, part) in zip(self.H, q.by_precision, strict=True):
            h, mean = self.h[:, part], q.v_mean[:, part]  # both (m, t of this H)
            total += float(np.vdot(h, mean) - 0.5 * np.vdot(mean, H @ mean))
            total -= 0.5 * h.shape[1] * la.dot(H, precision.covariance)
        return total

    # ---- Other posteriors made from this one

    def towards(self, target, rho, scale=1.0):
        """Take a natural-gradient step (H, h) <- (1 - rho) (H, h) + rho scale (H', h').

        For 0 <= rho <= 1 it is a convex combination, so that I + H stays positive definite.

        Parameters
        ----------
        target : Posterior
            The data part that some rows ask for; its prior is not used.
        rho : float
        scale : float
            What the rows of the target are multiplied by to stand for all rows.
        """
        H = []
        for old, new in zip(self.H, target.H, strict=True):
            moved = np.multiply(old, 1.0 - rho, out=empty(old.shape))
            la.axpy(rho * scale, new, moved)
            H.append(moved)
        h = (1.0 - rho) * self.h + (rho * scale) * target.h
        return Posterior(self.prior, tuple(H), h)

    def joined(self, other):
        """Add the information of both."""
        H = tuple(a + b for a, b in zip(self.H, other.H, strict=True))
        return Posterior(self.prior, H, self.h + other.h)

    def scaled(self, factor):
        """Multiply the information of the data by a factor."""
        return Posterior(self.prior, tuple(factor * H for H in self.H), factor * self.h)

    def centred(self):
        """Subtract from the means their mean over the outputs; covariances, and factors, stay."""
        shift = self.v_mean.mean(axis=1)
        moved = [H @ shift + shift for H in self.H]
        centred = Posterior(self.prior, self.H, self.h - np.column_stack(moved))
        return with_caches_of(self, centred, ("precisions",))

    def under(self, prior):
        """Hold (H, h) in whitened coordinates while the prior changes."""
        return Posterior(prior, self.H, self.h)

    def seen_by(self, prior):
        """Predict by a prior of the same u, with all that is computed; see `functionals`."""
        return with_caches_of(self, self.under(prior), ("precisions", "v_mean", "coefficients"))

    def padded(self, prior):
        """Append inducing inputs of which nothing is known yet."""
        more = len(prior.Z) - len(self.h)
        H = tuple(np.pad(H, (0, more)) for H in self.H)
        return Posterior(prior, H, np.pad(self.h, ((0, more), (0, 0))))

    def projected(self, prior):
        """Carry the information over to other inducing values (docs/theory.md, eq. 22).

        Held as they are, (H, h) would turn with the Cholesky factor, which no later row corrects:
        on power_plant one step took the RMSE from 4.4 to 6.7.
        """
        return self._carried(prior, projection(self.prior, prior))

    def restricted(self, picked):
        """Leave some inducing inputs out, which the others stand for from now on."""
        return self._carried(*self.prior.restricted(picked))

    def _carried(self, prior, W):
        """Return the information (W H W^T, W h), with W of shape (m, m_old)."""
        H = []
        for old in self.H:
            new = product(product(W, old), W, trans_b=True)
            la.symmetrize(new)
            H.append(new)
        return Posterior(prior, tuple(H), product(W, np.ascontiguousarray(self.h)))

    # ---- Predictions of the latent functions

    def prior_variance(self, X):
        """Return what the variances are before any data, (n, 1)."""
        return self.prior.kernel.diag(X)[:, None]

    def mean(self, X):
        """Return latent means, shape (n, t); no variance is computed."""
        return product(self.prior.kernel.block(self.prior.Z, X), self.coefficients, trans_a=True)

    def mean_variance(self, X):
        """Return latent means (n, t) and variances (n, q), one column for each H."""
        return self.mean_variance_through(X)[:2]

    def mean_variance_through(self, X):
        """Return the same, and the part of the variances that comes from q(u), (n, q)."""
        A = self.prior.whitened(X)  # (m, n)
        mean = product(A, self.v_mean, trans_a=True)
        unexplained = self.prior.kernel.diag(X)
        la.column_dots(A, A, unexplained, -1.0)
        np.maximum(unexplained, 0.0, out=unexplained)  # below 0 by rounding only
        variance, through_u = np.empty((len(X), len(self.H))), np.zeros((len(self.H), len(X)))
        for c, precision in enumerate(self.precisions):
            root = A if c == len(self.H) - 1 else copy_of(A)
            la.trmm(precision.L_inv, root)
            la.column_dots(root, root, through_u[c])
            variance[:, c] = unexplained + through_u[c]
        return mean, variance, through_u.T

    def mean_covariance(self, X):
        """Return latent means (n, t) and joint covariances (n, n, q), one for each H."""
        A = self.prior.whitened(X)  # (m, n)
        mean = product(A, self.v_mean, trans_a=True)
        unexplained = self.prior.kernel.gram(X)  # (n, n)
        la.gemm(A, A, unexplained, True, False, -1.0, 1.0)
        np.fill_diagonal(unexplained, np.maximum(np.diagonal(unexplained), 0.0))
        covariances = []
        for precision in self.precisions:
            root, covariance = copy_of(A), copy_of(unexplained)
            la.trmm(precision.L_inv, root)
            la.gemm(root, root, covariance, True, False, 1.0, 1.0)
            covariances.append(0.5 * (covariance + covariance.T))
        return mean, np.stack(covariances, axis=2)


# ---- Test conditionals p(f | u) of models without near rows, and what they predict from q(u)


class ExactConditional:
    """The exact conditional p(f | u): DTC, VFE, FITC, PITC and Power-EP."""

    def __init__(self, posterior):
        self.posterior = posterior

    def mean(self, X):
        return self.posterior.mean(X)

    def mean_variance(self, X):
        return self.posterior.mean_variance(X)

    def mean_variance_through(self, X):
        """Return the same, and the part of the variances that comes from q(u)."""
        return self.posterior.mean_variance_through(X)

    def mean_covariance(self, X):
        return self.posterior.mean_covariance(X)


class SoRConditional(ExactConditional):
    """f = K_XZ inv(K_ZZ) u without any variance of its own: SoR, degenerate away from Z."""

    def mean_variance(self, X):
        mean, roots = self._mean_roots(X)
        variance = np.zeros((len(roots), len(X)))
        for c, root in enumerate(roots):
            la.column_dots(root, root, variance[c])
        return mean, variance.T

    def mean_variance_through(self, X):
        """Return the same, all of which comes from q(u)."""
        mean, variance = self.mean_variance(X)
        return mean, variance, variance

    def mean_covariance(self, X):
        mean, roots = self._mean_roots(X)
        return mean, np.stack([product(root, root, trans_a=True) for root in roots], axis=2)

    def _mean_roots(self, X):
        """Return mean (n, t) and a root (m, n) of the covariance for each H."""
        A, roots = self.posterior.prior.whitened(X), []
        for precision in self.posterior.precisions:
            roots.append(copy_of(A))
            la.trmm(precision.L_inv, roots[-1])
        return product(A, self.posterior.v_mean, trans_a=True), roots


class FICConditional(SoRConditional):
    """Rows independent given u, with their full variances: FIC."""

    mean_variance = ExactConditional.mean_variance
    mean_variance_through = ExactConditional.mean_variance_through

    def mean_covariance(self, X):
        mean, covariance = super().mean_covariance(X)
        covariance[np.diag_indices(len(X))] = self.posterior.mean_variance(X)[1]
        return mean, covariance


def noise_left(noise, variance):
    """Return the noise of factors less what is known of what they tell of, NaN where none is left.

    That is where a row is all that is known, to rounding. Where a mixture takes away what a factor
    says, its noise is below 0.
    """
    left = noise - variance
    is_left = np.copysign(1.0, noise) * left > _LEAST_LEFT * np.abs(noise)
    return np.where(is_left, left, np.nan)


def without_own(mean, variance, targets, noise):
    """Return moments of functions at rows given all other rows, from those given all of them.

    A row adds ``N(y; f, noise)``, which is taken out again (docs/theory.md, eq. 85).

    Parameters
    ----------
    mean, targets : ndarray of shape (n, t)
    variance, noise : ndarray of shape (n, 1) or (n, t)

    Returns
    -------
    mean, variance : ndarray
        NaN where a row is all that is known, to rounding.
    """
    left = noise_left(noise, variance)
    return mean - variance / left * (targets - mean), variance * noise / left
