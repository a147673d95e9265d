"""What of a fit depends on the likelihood: the bound that L-BFGS follows, and the last q(u).

`Collapsed` is for Gaussian noise, whose optimal q(u) is known in closed form; `BySites` finds it by
natural-gradient iterations, for any likelihood. Both answer the same three questions of a fit.
"""

import time

import numpy as np

from ..objectives.rounding import gradient_limit, input_units, sample_of
from .stochastic import ascend_stochastic
from .stochastic_sites import ascend_sites
from ..factors.row_sums import CHUNK, block_store
from ..gp.latents import Latents
from ..objectives.collapsed import collapsed_bound, collapsed_value, optimal_state, suitable_form
from ..gp.posterior import Prior
from ..objectives.sites import SiteBound, SiteProblem

_UNIT_ROWS = 8192
# Passes over all rows that the last q(u) is expected to take where there is no closed form.
_PASSES = 4
# Gains of the bound, in nats a row, with which iterations for q(u) end: during learning, where the
# gradient is off by the root of it, and at last.
_INNER_TOL, _FINAL_TOL = 1e-6, 1e-9


class Collapsed:
    """Gaussian noise."""

    n_latent = 1  # as all outputs share their covariance
    stochastic = staticmethod(ascend_stochastic)

    def run(self, space, parameters, rows, delta, begun, n_jobs, deadline):
        """Space with units for a run of L-BFGS, and its objective.

        Parameters
        ----------
        space : learning.ParameterSpace
        parameters : learning.Parameters
            Where the run begins.
        rows : rows.Rows
        delta : float
            Jitter in units of the kernel.
        begun : bool
            Whether something has been learned before.
        n_jobs : int or None
        deadline : float
            Reading of time.perf_counter() at which the run should be over.

        Returns
        -------
        space : learning.ParameterSpace
        objective : callable
            ``objective(parameters) -> (value, Gradient)``.
        """
        squares = None
        if begun and space.learns_inputs:
            prior = Prior.build(parameters.kernel, parameters.Z, delta)
            sample, s2 = sample_of(rows, _UNIT_ROWS), parameters.noise_variance
            state, _ = optimal_state(prior, sample, s2, n_jobs=n_jobs)
            squares = (state.posterior.coefficients**2).sum(axis=1)
        space = input_units(space, squares)
        limit = gradient_limit(parameters, rows, delta, space, n_jobs)

        def objective(candidate):
            return collapsed_bound(
                candidate,
                rows,
                delta,
                with_inputs=space.learns_inputs,
                n_jobs=n_jobs,
                limit=limit,
            )

        return space, objective

    def seconds(self, prior, noise_variance, rows, n_jobs):
        """Measured time of the last pass over all rows."""
        sample = rows.select(slice(0, 4 * CHUNK))
        form, seconds = suitable_form(rows, prior, noise_variance), np.inf
        for _ in range(2):  # the first may pay for cold caches
            begin = time.perf_counter()
            optimal_state(prior, sample, noise_variance, form=form, n_jobs=n_jobs)
            seconds = min(seconds, time.perf_counter() - begin)
        return seconds * len(rows) / len(sample)

    def last(self, prior, noise_variance, rows, n_jobs, deadline):
        """Optimal q(u) and the bound, from all rows."""
        state, sums = optimal_state(prior, rows, noise_variance, n_jobs=n_jobs)
        return state.posterior, collapsed_value(state, sums, noise_variance)


class BySites:
    """Any likelihood; methods as those of `Collapsed`.

    Parameters
    ----------
    likelihood : object
        See likelihoods/.
    n_latent : int
    """

    stochastic = staticmethod(ascend_sites)

    def __init__(self, likelihood, n_latent):
        self.likelihood, self.n_latent = likelihood, n_latent
        self.held = None  # the last q(u), and the weight of the rows that it rests on

    def _start(self, prior, rows):
        if self.held is None:
            return Latents.at_prior(prior, self.n_latent)
        latents, weight = self.held
        return Latents(prior, latents.H, latents.h).scaled(rows.total_weight / weight)

    def run(self, space, parameters, rows, delta, begun, n_jobs, deadline):
        tol, weight = _INNER_TOL * rows.total_weight, rows.total_weight
        options = {"with_inputs": space.learns_inputs, "n_jobs": n_jobs, "deadline": deadline}
        bound = SiteBound(rows, self.likelihood, self.n_latent, delta, tol, **options)
        prior = Prior.build(parameters.kernel, parameters.Z, delta)
        bound.begin(self._start(prior, rows))
        squares = None
        if begun and space.learns_inputs:
            latents = bound.at(parameters)[1]
            squares = (latents.coefficients**2).sum(axis=1)

        best = -np.inf

        def objective(candidate):
            nonlocal best
            value, gradient = bound(candidate)
            if value > best:  # that of a trial point may be far off where the run ends
                best, self.held = value, (bound.latents, weight)
            return value, gradient

        return input_units(space, squares), objective

    def seconds(self, prior, noise_variance, rows, n_jobs):
        sample, seconds = rows.select(slice(0, 4 * CHUNK)), np.inf
        problem = SiteProblem(prior, sample, self.likelihood, noise_variance, n_jobs)
        start = self._start(prior, sample)
        for _ in range(2):
            begin = time.perf_counter()
            problem.visit(start)
            seconds = min(seconds, time.perf_counter() - begin)
        return _PASSES * seconds * len(rows) / len(sample)

    def last(self, prior, noise_variance, rows, n_jobs, deadline):
        store = block_store(len(prior.Z), rows)
        problem = SiteProblem(prior, rows, self.likelihood, noise_variance, n_jobs, store)
        latents, _, bound = problem.ascend(
            self._start(prior, rows), _FINAL_TOL * rows.total_weight, deadline=deadline
        )
        return latents, bound
