"""q(u) for any likelihood: natural-gradient iterations, and the bound at their end.

A site is the Gaussian approximation of one row's likelihood term (Khan and Lin 2017). Each latent
function c has its own data part (H_c, h_c) on one shared prior. A row enters through its sites,
-2 gamma and g - 2 gamma mean, from the two derivatives g and gamma of its expected log density
(docs/theory.md, eq. 15 and section 10). At the optimal q(u) the bound's derivative in q is zero, so
that its gradient in kernel, noise, Z and the likelihood's parameters is the partial one: L-BFGS
follows the bound at its optimum over q, as it does for Gaussian noise.
"""

import time
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import NotPositiveDefiniteError, copy_of, product
from .._parallel import map_groups, shares_memory
from ..factors.gradients import BlockGradient, GradientSums, pull_back
from ..factors.passes import Pieces, each_made
from ..gp.posterior import Posterior

_MAX_INNER = 30
_MIN_STEP = 1e-3
# A step that fails costs a pass, and a length that was right stays nearly so.
_SHORTER, _LONGER = 0.6, 1.1


class SitePass(NamedTuple):
    """What a pass over the rows at some q(u) finds.

    ``value`` is the expected log density of all rows, ``log_noise`` its derivative in the log noise
    variance and ``theta`` (k,) those in the likelihood's own parameters, 0.0 where it has none.
    ``g`` and ``gamma`` (n, C) are the weighted derivatives in means and variances, ``lambda_1`` and
    ``lambda_2`` (n, C) the weighted natural parameters of the sites, and ``target`` the q(u) that
    they make.
    """

    value: float
    log_noise: float
    theta: np.ndarray
    g: np.ndarray
    gamma: np.ndarray
    lambda_1: np.ndarray
    lambda_2: np.ndarray
    target: Posterior


class SiteProblem:
    """The bound as a function of q(u), at fixed kernel, noise and inducing inputs.

    Parameters
    ----------
    prior : Prior
    rows : Rows
    likelihood : Likelihood
        With numbers for its parameters.
    noise_variance : float
    n_jobs : int or None
    rho : float
        Length of the first step of `ascend`; afterwards that of the next.
    keep : bool
        Whether passes keep their blocks where these are small enough.
    """

    def __init__(self, prior, rows, likelihood, noise_variance, n_jobs=None, *, rho=1.0, keep=True):
        self.prior, self.likelihood, self.noise_variance = prior, likelihood, noise_variance
        self.pieces = Pieces.of_rows(rows, len(prior.Z) if keep else None, n_jobs)
        self.rho = min(rho, likelihood.natural_step)
        prior.warm_cache()

    def _summed(self, parts):
        """Posterior from the sums (H, h) of groups."""
        H = [sum(some) for some in zip(*(H for H, _ in parts), strict=True)]
        for H_c in H:
            la.mirror(H_c)
        return Posterior(self.prior, tuple(H), sum(h for _, h in parts))

    def from_sites(self, lambda_1, lambda_2):
        """q(u) that weighted sites (n, C) make."""
        return self._summed(
            self.pieces.map(_information_group, self.prior, slices=(lambda_1, lambda_2))
        )

    def site_pass(self, q):
        """A pass over all rows at some q(u)."""
        _for_each_precision(_factorised, q, self.pieces.n_jobs)
        parts = self.pieces.map(_pass_group, q, self.likelihood, self.noise_variance)
        arrays = [np.concatenate(some) for some in zip(*(part[3] for part in parts), strict=True)]
        return SitePass(
            sum(part[0] for part in parts),
            sum(part[1] for part in parts),
            sum(part[2] for part in parts),
            *arrays,
            self._summed([part[4:] for part in parts]),
        )

    def ascend(self, q, tol, max_iter=_MAX_INNER, deadline=np.inf, base=None):
        """Natural-gradient steps until one gains less than ``tol``; shorter where the bound falls.

        A step that lowers the bound by more than ``tol`` is not taken and the next one is 0.6 times
        as long; after a step that is taken the next one is 1.1 times as long.

        Parameters
        ----------
        q : Posterior
            Where to begin.
        tol : float
            In nats.
        max_iter : int
        deadline : float
            Seconds after which no further step is begun.
        base : Posterior or None
            Information of other rows, which stays as it is.

        Returns
        -------
        q : Posterior
        found : SitePass
            At this q(u).
        bound : float
        """
        begin = time.perf_counter()
        found = self.site_pass(q)
        bound = _bound(q, found, base)
        seconds = time.perf_counter() - begin
        for _ in range(max_iter):
            if time.perf_counter() - begin + seconds > deadline:
                break
            target = found.target if base is None else found.target.joined(base)
            candidate = q.towards(target, self.rho)
            if base is None and self.likelihood.shift_invariant:
                candidate = candidate.centred()
            there = self.site_pass(candidate)
            value = _bound(candidate, there, base)
            if not value >= bound - tol:
                self.rho *= _SHORTER
                if self.rho < _MIN_STEP:
                    break
                continue
            gain = value - bound
            q, found, bound = candidate, there, value
            self.rho = min(self.likelihood.natural_step, _LONGER * self.rho)
            if gain < tol:
                break
        return q, found, bound

    def gradient(self, q, found, with_inputs=True):
        """Derivatives of the bound in all parameters, q(u) held in whitened coordinates."""
        return self.gradient_sums(q, found, with_inputs).gradient(self.prior, with_inputs)

    def gradient_sums(self, q, found, with_inputs=True):
        """What the rows contribute to the gradient, as `GradientSums`."""
        _for_each_precision(_covariance_changed, q, self.pieces.n_jobs)
        slices = found.g, found.gamma
        sums = GradientSums.total(self.pieces.map(_gradient_group, q, with_inputs, slices=slices))
        sums.log_noise = found.log_noise
        if np.ndim(found.theta):
            sums.others["likelihood"] = found.theta
        return sums


def _bound(q, found, base):
    bound = found.value - q.kl()
    return bound if base is None else bound + base.expected_log_factor(q)


# ---- Tasks of the passes


def _whitened(group, kept, prior):
    return each_made(group, kept, lambda piece: prior.whitened(piece.X))


def _information_group(group, kept, prior, lambda_1, lambda_2):
    """Data parts (H_c, h_c) that sites make, over one group of rows."""
    m, n_latent = len(prior.Z), lambda_1.shape[1]
    H, h, lo = [np.zeros((m, m)) for _ in range(n_latent)], np.zeros((m, n_latent)), 0
    for piece, A in _whitened(group, kept, prior):
        hi = lo + len(piece)
        _add_sites(A, lambda_1[lo:hi], lambda_2[lo:hi], H, h)
        lo = hi
    return H, h


def _add_sites(A, lambda_1, lambda_2, H, h):
    weighted = empty(A.shape)
    for c, H_c in enumerate(H):
        la.syrk(np.multiply(A, np.sqrt(lambda_2[:, c]), out=weighted), H_c, 1.0, 1.0)
    la.gemm(A, np.ascontiguousarray(lambda_1), h, False, False, 1.0, 1.0)


def _pass_group(group, kept, q, likelihood, noise_variance):
    """`SitePass` of one group of rows, the target as its sums."""
    prior, (m, n_latent) = q.prior, q.h.shape
    H, h = [np.zeros((m, m)) for _ in range(n_latent)], np.zeros((m, n_latent))
    value, log_noise, theta, found = 0.0, 0.0, 0.0, []
    for piece, A in _whitened(group, kept, prior):
        mean = product(A, q.v_mean, trans_a=True)  # (n, C)
        unexplained = prior.kernel.diag(piece.X)
        la.column_dots(A, A, unexplained, -1.0)
        np.maximum(unexplained, 0.0, out=unexplained)  # below 0 by rounding only
        variance = np.empty((len(piece), n_latent))
        for c, precision in enumerate(q.precisions):
            root, column = copy_of(A), unexplained.copy()
            la.trmm(precision.L_inv, root)
            la.column_dots(root, root, column)
            variance[:, c] = column
        expected = likelihood.expected_log_density(
            piece.targets, mean, np.maximum(variance, 1e-300), noise_variance
        )
        weight = np.ones(len(piece)) if piece.weight is None else piece.weight
        g, gamma = expected.d_mean * weight[:, None], expected.d_variance * weight[:, None]
        lambda_2 = np.maximum(-2.0 * gamma, 0.0)
        lambda_1 = g + lambda_2 * mean
        _add_sites(A, lambda_1, lambda_2, H, h)
        value += float(weight @ expected.value)
        log_noise += float(weight @ expected.d_log_noise)
        if expected.d_theta is not None:
            theta = theta + weight @ expected.d_theta
        found.append((g, gamma, lambda_1, lambda_2))
    arrays = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    return value, log_noise, theta, arrays, H, h


def _gradient_group(group, kept, q, with_inputs, g, gamma):
    return GradientSums.total(_gradient_parts(group, kept, q, with_inputs, g, gamma))


def _gradient_parts(group, kept, q, with_inputs, g, gamma):
    lo = 0
    for piece, A in _whitened(group, kept, q.prior):
        own = slice(lo, lo + len(piece))
        lo += len(piece)
        A_bar = product(q.v_mean, np.ascontiguousarray(g[own]), trans_b=True)  # (m, n)
        MA = empty(A.shape)
        for c, precision in enumerate(q.precisions):
            la.gemm(precision.covariance_change, A, MA)
            MA *= 2.0 * gamma[own, c]
            A_bar += MA
        cotangent = BlockGradient(0.0, A_bar, gamma[own].sum(axis=1), 0.0)
        yield pull_back(q.prior, piece.X, A, cotangent, with_inputs)


def _factorised(q, c):
    precision = q.precisions[c]
    return precision.L_inv


def _covariance_changed(q, c):
    return q.precisions[c].covariance_change


def _for_each_precision(compute, q, n_jobs):
    """Fill cached properties before the tasks start; in parallel where that reaches the caller."""
    if shares_memory():
        map_groups(compute, [(q, c) for c in range(len(q.H))], n_jobs)
    for c in range(len(q.H)):
        compute(q, c)
    q.v_mean  # noqa: B018


class SiteBound:
    """The bound at its optimum over q(u), as a function of the parameters.

    Between evaluations the sites stay, so that a small step in the kernel asks for few inner ones.

    Parameters
    ----------
    rows : Rows
    likelihood : Likelihood
        Its free parameters come with the `Parameters`.
    n_latent : int
    tol : float
        Gain of the bound, in nats, with which inner iterations end.
    with_inputs : bool
    n_jobs : int or None
    rho : float
        Length of the first inner step.
    deadline : float
        Reading of time.perf_counter() after which no inner iteration is begun; the bound is then
        one at a q(u) that is not the best.
    """

    def __init__(
        self,
        rows,
        likelihood,
        n_latent,
        tol,
        *,
        with_inputs=True,
        n_jobs=None,
        rho=1.0,
        deadline=np.inf,
    ):
        self.rows, self.likelihood, self.n_latent, self.tol = rows, likelihood, n_latent, tol
        self.with_inputs, self.n_jobs, self.deadline = with_inputs, n_jobs, deadline
        self.sites, self.rho = None, rho

    def at(self, parameters, prior, start=None, base=None):
        """Optimal q(u), the pass at it, and the bound.

        Parameters
        ----------
        parameters : Parameters
        prior : Prior
            At these parameters.
        start : Posterior or None
            Where the first call begins; later ones begin at the last sites.
        base : Posterior or None
            Information of other rows, which stays as it is.

        Returns
        -------
        problem : SiteProblem
        q : Posterior
        found : SitePass
        bound : float

        Raises
        ------
        NotPositiveDefiniteError
            If the bound is not finite.
        """
        likelihood = self.likelihood.with_theta(parameters.likelihood_theta)
        problem = SiteProblem(
            prior, self.rows, likelihood, parameters.noise_variance, self.n_jobs, rho=self.rho
        )
        if self.sites is not None:
            q = problem.from_sites(*self.sites)
            q = q if base is None else q.joined(base)
        elif start is not None:
            q = start
        else:
            q = Posterior.at_prior(prior, self.n_latent, self.n_latent)
        left = self.deadline - time.perf_counter()
        q, found, bound = problem.ascend(q, self.tol, deadline=left, base=base)
        if not np.isfinite(bound):
            raise NotPositiveDefiniteError("the bound is not finite")
        self.sites, self.rho = (found.lambda_1, found.lambda_2), problem.rho
        return problem, q, found, bound
