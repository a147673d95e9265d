"""q(u) for any likelihood: natural-gradient iterations, and the bound at their end.

A site is the Gaussian approximation of one row's likelihood term (Khan and Lin 2017). Each latent
function c has its own data part (H_c, h_c) on one shared prior. A row enters through its sites,
-2 gamma and g - 2 gamma mean, from the two derivatives g and gamma of its expected log density
(docs/theory.md, eq. 15 and section 10). At the optimal q(u) the bound's derivative in q is zero, so
that its gradient in kernel, noise, Z and the likelihood's parameters is the partial one: L-BFGS
follows the bound at its optimum over q, as it does for Gaussian noise.
"""

import time
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..factors.gradients import GradientSums
from ..factors.passes import Pieces
from ..gp.posterior import Posterior
from .mixed_site_passes import MixedFunctions
from .site_passes import (
    INDEPENDENT,
    equal_sites_group,
    gradient_at_group,
    gradient_group,
    information_group,
    pass_group,
)

_MAX_INNER = 30
# Precisions of pseudo-sites to start from where sites cannot be held at the q(u) that was given.
_FIRST_PRECISIONS = (1.0, 1e2, 1e4, 1e6)
# Largest trace of H: with more, I + H has no digits of I.
_LARGEST_INFORMATION = 1e15
_NO_FACTOR = "a precision without a Cholesky factor"
_MIN_STEP = 1e-3
# Rows of others that an error tells of.
_SHOWN_ROWS = 1000
# A step that fails costs a pass, and a length that was right stays nearly so.
_STEP_SHRINKAGE, _STEP_GROWTH = 0.6, 1.1


class UnboundedSitesError(NotPositiveDefiniteError, ValueError):
    """Expected log densities or sites of the rows are beyond what floating point can hold.

    A ValueError, which names cause and cure; an optimiser that tries such a point steps back.
    """


class SitePass(NamedTuple):
    """Result of a pass over the rows at some q(u); entries of rows that live elsewhere are None.

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


def functions_of(parameters):
    """Return how latent functions enter the passes over rows, by what the parameters mix."""
    return MixedFunctions.of(parameters) if parameters.mixes_outputs else INDEPENDENT


class SiteProblem:
    """The bound as a function of q(u), at fixed kernel, noise and inducing inputs.

    Parameters
    ----------
    likelihood : Likelihood
        With numbers for its parameters.
    rho : float
        Length of the first step of `ascend`; afterwards that of the next.
    keep : bool
        Whether passes keep their blocks where these are small enough.
    functions : IndependentFunctions or MixedFunctions
        See `functions_of`.
    """

    def __init__(
        self,
        prior,
        rows,
        likelihood,
        noise_variance,
        n_jobs=None,
        *,
        rho=1.0,
        keep=True,
        functions=INDEPENDENT,
    ):
        self.prior, self.rows, self.functions = prior, rows, functions
        self.likelihood, self.noise_variance = likelihood, noise_variance
        self.pieces = Pieces.of_rows(rows, len(prior.Z) if keep else None, n_jobs)
        self.rho, self.missed = min(rho, likelihood.natural_step), 0.0
        prior.warm_cache()

    def from_sites(self, lambda_1, lambda_2):
        """Return the q(u) that weighted sites (n, C) make."""
        slices = lambda_1, lambda_2
        parts = self.pieces.map(information_group, self.functions, self.prior, slices=slices)
        return self.functions.posterior(self.prior, parts)

    def site_pass(self, q):
        """Pass over all rows at some q(u); raise UnboundedSitesError where sites are not finite."""
        try:
            self.functions.fill_caches(q, "L_inv", self.pieces.n_jobs)
        except NotPositiveDefiniteError as error:
            raise self.unbounded(_NO_FACTOR) from error
        in_memory, model = self.pieces.in_memory, (self.likelihood, self.noise_variance)
        parts = self.pieces.map(pass_group, self.functions, q, *model, in_memory)
        arrays = [None] * 4
        if in_memory:
            each = zip(*(part[3] for part in parts), strict=True)
            arrays = [np.concatenate(array) for array in each]
        result = SitePass(
            sum(part[0] for part in parts),
            sum(part[1] for part in parts),
            sum(part[2] for part in parts),
            *arrays,
            self.functions.posterior(self.prior, [part[4:] for part in parts]),
        )
        finite = (result.value, result.g, result.gamma) if in_memory else (result.value,)
        if not all(np.isfinite(part).all() for part in finite):
            raise self.unbounded(f"an expected log density of {result.value:g}")
        information = self.functions.largest_information(result.target)
        if not information <= _LARGEST_INFORMATION:
            raise self.unbounded(f"a precision of {information:.0e} times the prior's")
        return result

    def unbounded(self, what):
        """Return the error that tells ``what`` came instead of finite sites."""
        rows = self.rows if self.pieces.in_memory else self.rows.fixed_sample(_SHOWN_ROWS)
        variance = float(self.prior.kernel.diag(rows.X).max())
        weight = 1.0 if self.rows.weight is None else float(rows.weight.max())
        return UnboundedSitesError(
            f"The rows must have finite expected log densities under {self.likelihood!r}, and the "
            "precision of q(u) that follows must be positive definite. "
            f"Got {what}, with a prior variance of up to {variance:g} from the kernel "
            f"{self.prior.kernel.sklearn_kernel!r} and sample weights of up to {weight:g}. Lower "
            "the variance of the kernel or its upper bound, scale sample_weight so that 1 is its "
            "mean, or check the units of y."
        )

    def ascend(
        self, q, tol, max_iter=_MAX_INNER, seconds=np.inf, base=None, precisions=_FIRST_PRECISIONS
    ):
        """Take natural-gradient steps until one gains less than ``tol``.

        A step that lowers the bound by more than ``tol`` is not taken and the next one is 0.6 times
        as long; after a step that is taken the next one is 1.1 times as long. Where the sites of
        the given q(u) cannot be held, as rates of counts under a wide prior, the steps begin at one
        of the prior's mean and less variance. Afterwards ``missed`` has the last gain, in nats,
        where ``max_iter`` steps were not enough, inf where no step was short enough, else 0.

        Parameters
        ----------
        q : Posterior
            Where to begin.
        tol : float
            In nats.
        seconds : float
            No step is begun that would end later than so many seconds from now.
        base : Posterior or None
            Information of other rows, which stays as it is.
        precisions : tuple of float
            Of the sites with which it begins in turn where those of q cannot be held.

        Returns
        -------
        q : Posterior
        sites : SitePass
            At this q(u).
        bound : float

        Raises
        ------
        UnboundedSitesError
            If the steps can begin nowhere.
        """
        begin, rho, self.missed, gain = time.perf_counter(), self.rho, 0.0, np.inf
        deadline = begin + seconds
        try:
            sites = self.site_pass(q)
            bound = _bound(q, sites, base)
            if not np.isfinite(bound):
                raise self.unbounded(f"a bound of {bound:g}")
            step_seconds = time.perf_counter() - begin
            for _ in range(max_iter):
                if time.perf_counter() + step_seconds > deadline:
                    break
                error = None
                try:
                    candidate = self._step(q, sites, base)
                    there = self.site_pass(candidate)
                    value = _bound(candidate, there, base)
                except NotPositiveDefiniteError as caught:
                    value, error = -np.inf, caught
                if error is not None or not value >= bound - tol:  # tol may be infinite
                    self.rho *= _STEP_SHRINKAGE
                    if self.rho < _MIN_STEP:
                        if error is not None:
                            raise self.unbounded(_NO_FACTOR) from error
                        self.missed = np.inf
                        break
                    continue
                gain = value - bound
                q, sites, bound = candidate, there, value
                self.rho = min(self.likelihood.natural_step, _STEP_GROWTH * self.rho)
                if gain < tol:
                    break
            else:
                self.missed = gain
            return q, sites, bound
        except UnboundedSitesError:
            if precisions:
                self.rho = rho
                start, left = self._narrow(precisions[0], q, base), deadline - time.perf_counter()
                with suppress(UnboundedSitesError):
                    return self.ascend(start, tol, max_iter, left, base, precisions[1:])
            raise

    def _narrow(self, precision, q, base):
        """Return q(u) with the mean of the prior, or of the base, and less variance at the rows."""
        parts = self.pieces.map(equal_sites_group, self.functions, q, precision)
        q = self.functions.posterior(self.prior, parts)
        return q if base is None else q.joined(base)

    def _step(self, q, sites, base):
        """Return the next q(u)."""
        target = sites.target if base is None else sites.target.joined(base)
        candidate = q.towards(target, self.rho)
        if base is None and self.likelihood.shift_invariant:
            return candidate.centred()
        return candidate

    def gradient_sums(self, q, sites, with_inputs=True):
        """Return the rows' part of the derivatives in all parameters, q(u) held when whitened."""
        functions = self.functions
        functions.fill_caches(q, "covariance_change", self.pieces.n_jobs)
        if self.pieces.in_memory:
            slices = sites.g, sites.gamma
            parts = self.pieces.map(gradient_group, functions, q, with_inputs, slices=slices)
        else:
            model = self.likelihood, self.noise_variance
            parts = self.pieces.map(gradient_at_group, functions, q, with_inputs, *model)
        sums = GradientSums.total(parts)
        sums.log_noise = sites.log_noise
        if np.ndim(sites.theta):
            sums.others["likelihood"] = sites.theta
        return sums


def _bound(q, sites, base):
    bound = sites.value - q.kl()
    return bound if base is None else bound + base.expected_log_factor(q)


class SiteBound:
    """The bound at its optimum over q(u), as a function of the parameters.

    Between evaluations the sites stay, so that a small step in the kernel asks for few inner ones.

    Parameters
    ----------
    likelihood : Likelihood
        Its free parameters come with the `Parameters`.
    tol : float
        Gain of the bound, in nats, with which inner iterations end.
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
        """Return the optimal q(u), the pass at it, and the bound.

        Parameters
        ----------
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
        sites : SitePass
        bound : float

        Raises
        ------
        UnboundedSitesError
            If the bound is not finite.
        """
        problem, q = self._begun(parameters, prior, start, base)
        seconds = self.deadline - time.perf_counter()
        q, sites, bound = problem.ascend(q, self.tol, seconds=seconds, base=base)
        if not np.isfinite(bound):
            raise problem.unbounded(f"a bound of {bound:g}")
        self.rho = problem.rho
        if problem.pieces.in_memory:
            self.sites = sites.lambda_1, sites.lambda_2
        return problem, q, sites, bound

    def _begun(self, parameters, prior, start, base):
        """Return the problem of some parameters and where its steps begin."""
        likelihood = self.likelihood.with_theta(parameters.likelihood_theta)
        functions = functions_of(parameters)
        model, options = (likelihood, parameters.noise_variance, self.n_jobs), {"rho": self.rho}
        problem = SiteProblem(prior, self.rows, *model, **options, functions=functions)
        if self.sites is not None:
            q = problem.from_sites(*self.sites)
            return problem, q if base is None else q.joined(base)
        if start is not None:
            return problem, start
        return problem, functions.at_prior(prior, self.n_latent)
