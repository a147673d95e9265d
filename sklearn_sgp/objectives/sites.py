"""q(u) for any likelihood: natural-gradient iterations, and the bound at their end.

Each latent function c has its own data part (H_c, h_c) on one shared prior. A row enters through
its sites, -2 gamma and g - 2 gamma mean, from the two derivatives g and gamma of its expected log
density (docs/theory.md, eq. 15 and section 10). At the optimal q(u) the bound's derivative in q is
zero, so that its gradient in kernel, noise and Z is the partial one: L-BFGS follows the bound at
its optimum over q, as it does for Gaussian noise.
"""

import time
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from ..factors.block_factors import BlockGradient, PulledBack, pull_back
from ..factors.row_sums import CHUNK, block_store, each_store
from ..gp.latents import Latents
from .._linalg import NotPositiveDefiniteError, copy_of, product
from .._parallel import group_bounds, map_groups, shares_memory
from ..gp.posterior import Prior

_MAX_INNER = 30
_MIN_STEP = 1e-3
# A step that fails costs a pass, and a length that was right stays nearly so.
_SHORTER, _LONGER = 0.6, 1.1


class SitePass(NamedTuple):
    """What a pass over the rows at some q(u) finds.

    ``value`` and ``log_noise`` are the expected log density of all rows and its derivative, ``g``
    and ``gamma`` (n, C) the weighted derivatives in means and variances, ``first`` and ``second``
    (n, C) the weighted sites, and ``target`` the q(u) that they make.
    """

    value: float
    log_noise: float
    g: np.ndarray
    gamma: np.ndarray
    first: np.ndarray
    second: np.ndarray
    target: Latents


def _information_group(prior, rows, first, second, blocks):
    """Data parts (H_c, h_c) that sites make, over one group of rows."""
    m, n_latent = len(prior.Z), first.shape[1]
    H, h, lo = [np.zeros((m, m)) for _ in range(n_latent)], np.zeros((m, n_latent)), 0
    for A, piece in _with_blocks(prior, rows, blocks):
        hi = lo + len(piece)
        _add_sites(A, first[lo:hi], second[lo:hi], H, h)
        lo = hi
    return H, h


def _with_blocks(prior, rows, blocks):
    """Whitened blocks and their rows, kept from the first pass on where there is a list for it."""
    kept = blocks is not None and len(blocks) > 0
    for i, piece in enumerate(rows.chunks(CHUNK)):
        A = blocks[i] if kept else prior.whitened(piece.X)
        if blocks is not None and not kept:
            blocks.append(A)
        yield A, piece


def _add_sites(A, first, second, H, h):
    weighted = empty(A.shape)
    for c, H_c in enumerate(H):
        la.syrk(np.multiply(A, np.sqrt(second[:, c]), out=weighted), H_c, 1.0, 1.0)
    la.gemm(A, np.ascontiguousarray(first), h, False, False, 1.0, 1.0)


def _pass_group(states, likelihood, noise_variance, rows, blocks):
    """`SitePass` of one group of rows, the target as its sums."""
    prior, n_latent = states[0].prior, len(states)
    coefficients = np.hstack([state.coefficients for state in states])
    m = len(prior.Z)
    H, h = [np.zeros((m, m)) for _ in range(n_latent)], np.zeros((m, n_latent))
    value, log_noise, found = 0.0, 0.0, []
    for A, piece in _with_blocks(prior, rows, blocks):
        mean = product(A, coefficients, trans_a=True)
        unexplained = prior.kernel.diag(piece.X)
        la.column_dots(A, A, unexplained, -1.0)
        np.maximum(unexplained, 0.0, out=unexplained)  # never negative but for rounding
        variance = np.empty((len(piece), n_latent))
        for c, state in enumerate(states):
            root, column = copy_of(A), unexplained.copy()
            la.trmm(state.posterior.LB_inv, root)
            la.column_dots(root, root, column)
            variance[:, c] = column
        expected = likelihood.expected_log_density(
            piece.targets, mean, np.maximum(variance, 1e-300), noise_variance
        )
        weight = np.ones(len(piece)) if piece.weight is None else piece.weight
        g, gamma = expected.d_mean * weight[:, None], expected.d_variance * weight[:, None]
        second = np.maximum(-2.0 * gamma, 0.0)
        first = g + second * mean
        _add_sites(A, first, second, H, h)
        value += float(weight @ expected.value)
        log_noise += float(weight @ expected.d_log_noise)
        found.append((g, gamma, first, second))
    arrays = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    return value, log_noise, arrays, H, h


def _factorised(state):
    return state.posterior.LB_inv, state.coefficients


def _inverted(state):
    return state.middle


def _once(prepare, latents, n_jobs):
    """Let every q(u) keep what all tasks ask for; in parallel where that reaches the caller."""
    if shares_memory():
        map_groups(prepare, [(state,) for state in latents.states], n_jobs)
    for state in latents.states:
        prepare(state)


class SiteProblem:
    """The bound as a function of q(u), at fixed kernel, noise and inducing inputs.

    Parameters
    ----------
    prior : posterior.Prior
    rows : rows.Rows
    likelihood : object
    noise_variance : float
    n_jobs : int or None
    store : list or None
        From `factors.block_store`.
    rho : float
        Length of the first step of `ascend`; afterwards that of the next.
    """

    def __init__(self, prior, rows, likelihood, noise_variance, n_jobs=None, store=None, rho=1.0):
        self.prior, self.rows, self.likelihood = prior, rows, likelihood
        self.noise_variance, self.n_jobs = noise_variance, n_jobs
        self.bounds = group_bounds(len(rows), CHUNK)
        self.groups = [rows.select(slice(*bounds)) for bounds in self.bounds]
        self.stores = each_store(store, self.groups)
        self.rho = min(rho, likelihood.natural_step)
        prior.L_inv  # noqa: B018  (once, not in every task)

    def _summed(self, parts):
        H = [sum(some) for some in zip(*(H for H, _ in parts), strict=True)]
        for H_c in H:
            la.mirror(H_c)
        return Latents(self.prior, tuple(H), sum(h for _, h in parts))

    def from_sites(self, first, second):
        """q(u) that weighted sites (n, C) make."""
        tasks = [
            (self.prior, group, first[lo:hi], second[lo:hi], blocks)
            for group, (lo, hi), blocks in zip(self.groups, self.bounds, self.stores, strict=True)
        ]
        return self._summed(map_groups(_information_group, tasks, self.n_jobs))

    def visit(self, latents):
        """A pass over all rows at some q(u)."""
        _once(_factorised, latents, self.n_jobs)
        tasks = [
            (latents.states, self.likelihood, self.noise_variance, group, blocks)
            for group, blocks in zip(self.groups, self.stores, strict=True)
        ]
        parts = map_groups(_pass_group, tasks, self.n_jobs)
        arrays = [np.concatenate(some) for some in zip(*(part[2] for part in parts), strict=True)]
        return SitePass(
            sum(part[0] for part in parts),
            sum(part[1] for part in parts),
            *arrays,
            self._summed([part[3:] for part in parts]),
        )

    def ascend(self, latents, tol, max_iter=_MAX_INNER, deadline=np.inf, base=None):
        """Natural-gradient steps until one gains less than ``tol``; shorter where the bound falls.

        Parameters
        ----------
        latents : Latents
            Where to begin.
        tol : float
            In nats.
        max_iter : int
        deadline : float
            Seconds after which no further step is begun.
        base : Latents or None
            Information of other rows, which stays as it is.

        Returns
        -------
        latents : Latents
        found : SitePass
            At these.
        bound : float
        """
        begin = time.perf_counter()
        found = self.visit(latents)
        bound = self._bound(latents, found, base)
        seconds = time.perf_counter() - begin
        for _ in range(max_iter):
            if time.perf_counter() - begin + seconds > deadline:
                break
            target = found.target if base is None else found.target.joined(base)
            candidate = latents.towards(target, self.rho)
            if base is None and self.likelihood.shift_invariant:
                candidate = candidate.centred()
            there = self.visit(candidate)
            value = self._bound(candidate, there, base)
            if not value >= bound - tol:
                self.rho *= _SHORTER
                if self.rho < _MIN_STEP:
                    break
                continue
            gain = value - bound
            latents, found, bound = candidate, there, value
            self.rho = min(self.likelihood.natural_step, _LONGER * self.rho)
            if gain < tol:
                break
        return latents, found, bound

    @staticmethod
    def _bound(latents, found, base):
        bound = found.value - latents.kl()
        return bound if base is None else bound + base.expectation(latents)

    def gradient(self, latents, found, with_inputs=True):
        """Derivatives of the bound in kernel, noise and Z, q(u) held in whitened coordinates."""
        return self.pulled_back(latents, found, with_inputs).gradient(self.prior, with_inputs)

    def pulled_back(self, latents, found, with_inputs=True):
        """What the rows contribute to the gradient, a `blocks.PulledBack`."""
        _once(_inverted, latents, self.n_jobs)
        tasks = [
            (latents.states, group, found.g[lo:hi], found.gamma[lo:hi], blocks, with_inputs)
            for group, (lo, hi), blocks in zip(self.groups, self.bounds, self.stores, strict=True)
        ]
        pulled = PulledBack.total(map_groups(_pull_back_group, tasks, self.n_jobs))
        pulled.log_noise = found.log_noise
        return pulled


def _pull_back_group(*task):
    return PulledBack.total(_pulled_back(*task))


def _pulled_back(states, rows, g, gamma, blocks, with_inputs):
    prior, lo = states[0].prior, 0
    coefficients = np.hstack([state.coefficients for state in states])
    for A, piece in _with_blocks(prior, rows, blocks):
        own = slice(lo, lo + len(piece))
        lo += len(piece)
        A_bar = product(coefficients, np.ascontiguousarray(g[own]), trans_b=True)
        MA = empty(A.shape)
        for c, state in enumerate(states):
            la.gemm(state.middle, A, MA)
            MA *= 2.0 * gamma[own, c]
            A_bar += MA
        cotangent = BlockGradient(0.0, A_bar, gamma[own].sum(axis=1), 0.0)
        yield pull_back(prior, piece.X, A, cotangent, with_inputs)


class SiteBound:
    """The bound at its optimum over q(u), as a function of kernel, noise and inducing inputs.

    Between evaluations the sites stay, so that a small step in the kernel asks for few inner ones.

    Parameters
    ----------
    rows : rows.Rows
    likelihood : object
    n_latent : int
    delta : float
        Jitter in units of the kernel.
    tol : float
        Gain of the bound, in nats, with which inner iterations end.
    with_inputs : bool
    n_jobs : int or None
    deadline : float
        Reading of time.perf_counter() after which no inner iteration is begun; the bound is then
        one at a q(u) that is not the best.
    """

    def __init__(
        self,
        rows,
        likelihood,
        n_latent,
        delta,
        tol,
        with_inputs=True,
        n_jobs=None,
        deadline=np.inf,
    ):
        self.rows, self.likelihood, self.n_latent = rows, likelihood, n_latent
        self.delta, self.tol, self.with_inputs, self.n_jobs = delta, tol, with_inputs, n_jobs
        self.deadline = deadline
        self.sites = self.latents = None
        self.rho = 1.0

    def begin(self, latents):
        """Let the first evaluation start from some q(u)."""
        self.latents = latents

    def at(self, parameters):
        """Optimal q(u), the pass at it, and the bound."""
        prior = Prior.build(parameters.kernel, parameters.Z, self.delta)
        problem = SiteProblem(
            prior,
            self.rows,
            self.likelihood,
            parameters.noise_variance,
            self.n_jobs,
            block_store(len(prior.Z), self.rows),
            self.rho,
        )
        if self.sites is not None:
            latents = problem.from_sites(*self.sites)
        elif self.latents is not None:
            latents = Latents(prior, self.latents.H, self.latents.h)
        else:
            latents = Latents.at_prior(prior, self.n_latent)
        left = self.deadline - time.perf_counter()
        latents, found, bound = problem.ascend(latents, self.tol, deadline=left)
        if not np.isfinite(bound):
            raise NotPositiveDefiniteError("the bound is not finite")
        self.sites, self.latents = (found.first, found.second), latents
        self.rho = problem.rho
        return problem, latents, found, bound

    def __call__(self, parameters):
        """Value and gradient."""
        problem, latents, found, bound = self.at(parameters)
        return bound, problem.gradient(latents, found, self.with_inputs)
