"""How q(u) is found: what of a fit depends on the likelihood.

A conjugate likelihood, Gaussian noise, has its optimal q(u) in closed form. Any other has its q(u)
found by natural-gradient iterations on sites. Both answer the questions of `MinibatchInference`,
so that stages, minibatch steps and `partial_fit` are written once.
"""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from ...data.observed_outputs import expected_log_density
from ...factors.passes import Pieces
from ...factors.row_sums import row_sums
from ...gp.coordinates import DIRECT_GRADIENT_LIMIT, Separate, Whitened, choose_coordinates
from ...gp.posterior import Posterior
from ...gp.prior import Prior
from ...kernels._length_scales import input_scales
from ...objectives.collapsed import collapsed_bound, collapsed_value, optimal_q
from ...objectives.rounding import gradient_limit
from ...objectives.sites import SiteBound, SiteProblem, functions_of
from ...objectives.uncollapsed import MinibatchTerms, minibatch_bound, minibatch_of_outputs
from ...optimize.input_units import with_input_units
from ...predict.inducing import InducingPoints
from ..exact_fits import exact_fit, exact_objective
from .base import Added
from .scalars import RowScalars

_UNIT_ROWS = 8192
# Passes over all rows that the last q(u) is expected to take where there is no closed form.
_SITE_PASSES = 4
# Gains of the bound, in nats a row, with which iterations for q(u) end: during learning, where the
# gradient is off by the root of it, and at last.
INNER_TOL, FINAL_TOL = 1e-6, 1e-9


def inference_for(likelihood, n_outputs, tol=INNER_TOL):
    """Return the inference for a likelihood.

    Parameters
    ----------
    n_outputs : int
        Columns of the targets, or classes.
    tol : float
        Gain, in nats a row, with which iterations for the q(u) of an objective end.
    """
    if likelihood.conjugate:
        return ConjugateInference(likelihood, n_outputs)
    return SiteInference(likelihood, likelihood.n_latent(n_outputs), tol)


def knowing(problem, known):
    """Return a `Problem` whose runs begin at this q(u); see `base.LearningInference`."""
    return replace(problem, inference=problem.inference.knowing(known))


def in_measured_units(space, parameters, rows, delta, has_learned, optimal):
    """Return the space with units of Z from the optimal q(u) of some rows, if anything is learned.

    Parameters
    ----------
    space, parameters, rows, delta, has_learned
        As of `Inference.objective`.
    optimal : callable
        ``optimal(prior, sample)`` returns the q(u) of some rows.
    """
    if parameters.has_features:
        return space
    if not (has_learned and space.learns("Z")):
        return with_input_units(space)
    prior = Prior.build(parameters.kernel, parameters.Z, delta)
    q = optimal(prior, rows.fixed_sample(_UNIT_ROWS))
    return with_learned_input_units(space, parameters, q)


def with_learned_input_units(space, parameters, q):
    """Return the space with units of Z from what has been learned, and its q(u)."""
    if parameters.has_features:
        return space
    scales = input_scales(parameters.kernel, np.full(parameters.Z.shape[1], np.inf))
    return with_input_units(space, (q.coefficients**2).sum(axis=1), scales)


def nothing_known():
    """Return what a run that has q(u) in closed form says of it to the next one."""
    return None


class ClosedForm:
    """Base of inferences whose q(u) has a closed form: no run begins at another one."""

    known = None

    def knowing(self, known):
        """Return the same: there is nothing to know."""
        return self


class RowInference:
    """Base of both kinds of `MinibatchInference`: rows are independent given u."""

    @staticmethod
    def predictor(posterior, noise_variance):
        """Return the predictor of a posterior."""
        return InducingPoints(posterior, noise_variance)


class ConjugateInference(ClosedForm, RowInference):
    """Gaussian noise: the optimal q(u) takes one pass.

    All outputs share one H, unless each has a noise variance of its own.
    """

    cost = last_cost = 1  # in passes with one H; that of the last q(u)

    def __init__(self, likelihood, n_outputs):
        self.likelihood, self.n_outputs = likelihood, n_outputs

    def objective(self, space, parameters, rows, delta, has_learned, n_jobs, deadline):
        exact = exact_objective(space, parameters, rows)
        if exact is not None:
            return space, exact, nothing_known

        def optimal(prior, sample):
            return self._optimal_q(prior, parameters, sample, n_jobs)[0].posterior

        space = in_measured_units(space, parameters, rows, delta, has_learned, optimal)
        limit = gradient_limit(parameters, rows, delta, space, n_jobs)

        options = {"with_inputs": space.learns("Z"), "n_jobs": n_jobs, "limit": limit}
        return space, partial(collapsed_bound, rows=rows, delta=delta, **options), nothing_known

    def selection_score(self, parameters, rows, settings, value, bic_penalty):
        return value - bic_penalty

    @staticmethod
    def _optimal_q(prior, parameters, rows, n_jobs, coordinates=None):
        s2 = parameters.noise_variance
        coordinates = coordinates or choose_coordinates(rows, prior, s2)
        return optimal_q(prior, Pieces.of_rows(rows, n_jobs=n_jobs), s2, coordinates)

    def densities(self, prior, parameters, rows, others, n_jobs):
        q = self._optimal_q(prior, parameters, rows, n_jobs)[0].posterior
        mean, variance = q.mean_variance(np.asarray(others.X, dtype=np.float64))
        moments = mean, np.broadcast_to(variance, mean.shape), parameters.noise_variance
        return self.likelihood.log_predictive_density(others.targets, *moments)

    def pass_task(self, prior, parameters, rows, sample, n_jobs):
        coordinates = choose_coordinates(rows, prior, parameters.noise_variance)

        def task():
            self._optimal_q(prior, parameters, sample, n_jobs, coordinates)

        return task, 1

    def posterior(self, prior, parameters, rows, n_jobs, seconds):
        """Find the optimal q(u), the bound and scalar sums, from all rows, in the seconds left."""
        s2 = parameters.noise_variance
        found = exact_fit(prior, s2, rows)
        if found is not None:
            return found.posterior, found.evidence, RowScalars.of_exact(found, rows, s2)
        q, sums = self._optimal_q(prior, parameters, rows, n_jobs)
        scalars = RowScalars(sums.weight, sums.targets, sums.diagonal)
        return q.posterior, collapsed_value(q, sums, s2), scalars

    # ---- Minibatches

    def first_q(self, prior, parameters, rows, settings):
        if np.ndim(parameters.noise_variance):
            return Posterior.at_prior(prior, self.n_outputs, self.n_outputs)
        q = Whitened(Posterior.at_prior(prior, self.n_outputs))
        return self.under(q, prior, parameters, rows, settings)

    def under(self, q, prior, parameters, rows, settings):
        """Return q(u) under another prior, its data part held in the coordinates that it is in.

        Direct coordinates are taken only where a step in kernel or Z cannot throw q(u) off: held as
        L H L^T, the data part takes a relative change of K(Z, Z) times its condition number
        (docs/theory.md, eq. 14); whitened, none of it. Steps of "sgd" may be of any length.
        """
        if np.ndim(parameters.noise_variance):
            return q.under(prior)
        q, s2 = q.under(prior), parameters.noise_variance
        coordinates = Whitened
        if settings.optimizer != "sgd" and settings.learning_rate * prior.condition <= 1.0:
            coordinates = choose_coordinates(rows, prior, s2, DIRECT_GRADIENT_LIMIT)
        return q if isinstance(q, coordinates) else coordinates.from_posterior(q.posterior)

    def minibatch(self, q, parameters, batch, scale, with_inputs, n_jobs=None):
        """Return the terms of a batch.

        ``q`` is a `Posterior` if each output has a noise variance, else in coordinates.
        """
        s2 = parameters.noise_variance
        if np.ndim(s2):
            return minibatch_of_outputs(q, s2, batch, scale, with_inputs=with_inputs, n_jobs=n_jobs)
        return minibatch_bound(q, self.likelihood, s2, batch, scale, with_inputs=with_inputs)

    def _in_coordinates(self, posterior, parameters):
        """Return a posterior as `minibatch` takes it."""
        return posterior if np.ndim(parameters.noise_variance) else Whitened(posterior)

    def add(self, posterior, parameters, rows, *, scale, is_new, natural_step, gradient, n_jobs):
        prior, s2 = posterior.prior, parameters.noise_variance
        sums = row_sums(prior.kernel, prior.Z, prior.L_inv, Pieces.of_rows(rows, n_jobs=n_jobs))
        asked = Whitened.from_sums(prior, sums.gram, sums.cross, s2).posterior
        if is_new:
            posterior = posterior.joined(asked)
        else:
            posterior = posterior.towards(asked, natural_step, scale)
        terms = None
        if gradient is not None:
            q = self._in_coordinates(posterior, parameters)
            terms = self.minibatch(q, parameters, rows, scale, gradient, n_jobs)
        return Added(posterior, terms, sums)

    def bound(self, posterior, parameters, scalars):
        q = Separate.from_posterior(posterior)
        return collapsed_value(q, scalars, parameters.noise_variance) + scalars.constant

    def estimate(self, posterior, parameters, rows, scale, terms):
        q = self._in_coordinates(posterior, parameters)
        return self.minibatch(q, parameters, rows, scale, False).value


class SiteInference(RowInference):
    """Any likelihood, by natural-gradient iterations.

    Parameters
    ----------
    likelihood : Likelihood
        With its free parameters, which come with the `Parameters`.
    tol : float
        See `inference_for`.
    known : tuple or None
        See `base.LearningInference`.
    """

    def __init__(self, likelihood, n_latent, tol=INNER_TOL, known=None):
        self.likelihood, self.n_latent, self.tol, self.known = likelihood, n_latent, tol, known
        self.cost = self.last_cost = n_latent

    def knowing(self, known):
        """Return an inference whose iterations begin at another q(u)."""
        return type(self)(self.likelihood, self.n_latent, self.tol, known)

    selection_score = ConjugateInference.selection_score

    def _at_prior(self, prior, parameters):
        return functions_of(parameters).at_prior(prior, self.n_latent)

    def _first(self, prior, parameters, rows):
        if self.known is None:
            return self._at_prior(prior, parameters)
        q, weight = self.known
        return functions_of(parameters).under(q, prior).scaled(rows.total_weight / weight)

    def densities(self, prior, parameters, rows, others, n_jobs):
        """Return expected log densities, which every likelihood has, under the known q(u)."""
        X, likelihood = np.asarray(others.X, dtype=np.float64), self.likelihood
        mean, variance = self._first(prior, parameters, rows).mean_variance(X)
        mean = others.shifted(mean)
        if parameters.has_means:
            mean = mean + parameters.means
        likelihood = likelihood.with_theta(parameters.likelihood_theta)
        moments = mean, np.broadcast_to(variance, mean.shape), parameters.noise_variance
        return expected_log_density(likelihood, others.targets, *moments).value

    def _problem(self, prior, parameters, rows, n_jobs, keep=True):
        likelihood = self.likelihood.with_theta(parameters.likelihood_theta)
        s2, options = parameters.noise_variance, {"functions": functions_of(parameters)}
        return SiteProblem(prior, rows, likelihood, s2, n_jobs, keep=keep, **options)

    def objective(self, space, parameters, rows, delta, has_learned, n_jobs, deadline):
        weight, with_inputs = rows.total_weight, space.learns("Z")
        bound = SiteBound(
            rows,
            self.likelihood,
            self.n_latent,
            self.tol * weight,
            with_inputs=with_inputs,
            n_jobs=n_jobs,
            deadline=deadline,
        )
        prior = Prior.build(parameters.kernel, parameters.Z, delta)
        last = self._first(prior, parameters, rows)
        units = with_input_units(space)
        if has_learned and with_inputs:
            last = bound.at(parameters, prior, last)[1]
            units = with_learned_input_units(space, parameters, last)
        best, known = -np.inf, self.known

        def objective(candidate):
            nonlocal best, known, last
            prior = Prior.build(candidate.kernel, candidate.Z, delta)
            problem, q, result, value = bound.at(
                candidate, prior, functions_of(candidate).under(last, prior)
            )
            sums = problem.gradient_sums(q, result, with_inputs)
            if value > best:  # that of a trial point may be far off where the run ends
                best, known = value, (q, weight)
            last = q
            return value, sums.gradient(q.prior, with_inputs)

        return units, objective, lambda: known

    def pass_task(self, prior, parameters, rows, sample, n_jobs):
        problem = self._problem(prior, parameters, sample, n_jobs, keep=False)
        start = problem.ascend(self._first(prior, parameters, sample), np.inf, max_iter=1)[0]
        return lambda: problem.site_pass(start), _SITE_PASSES

    def posterior(self, prior, parameters, rows, n_jobs, seconds):
        problem = self._problem(prior, parameters, rows, n_jobs)
        tol, deadline = FINAL_TOL * rows.total_weight, time.perf_counter() + seconds
        q, _, bound = problem.ascend(self._first(prior, parameters, rows), tol, seconds=seconds)
        if problem.missed > INNER_TOL * rows.total_weight and self.known is not None:
            # the known q(u) may be far off under parameters that moved, the prior is not; from both
            # takes a third of a fit of ten classes, 5,000 rows
            begin = self._at_prior(prior, parameters)
            again = self._problem(prior, parameters, rows, n_jobs)
            other, _, value = again.ascend(begin, tol, seconds=deadline - time.perf_counter())
            q, bound = (other, value) if value > bound else (q, bound)
        return q, bound, None

    # ---- Minibatches

    def first_q(self, prior, parameters, rows, settings):
        return self._at_prior(prior, parameters)

    def under(self, q, prior, parameters, rows, settings):
        return q.under(prior)

    def minibatch(self, q, parameters, batch, scale, with_inputs, n_jobs=None):
        return self._minibatch(q, parameters, batch.weighted(scale), with_inputs, n_jobs)

    def _minibatch(self, q, parameters, rows, with_inputs, n_jobs):
        problem = self._problem(q.prior, parameters, rows, n_jobs)
        result, gradient = problem.site_pass(q), None
        if with_inputs is not None:
            gradient = problem.gradient_sums(q, result, with_inputs).gradient(q.prior, with_inputs)
        return MinibatchTerms(result.value - q.kl(), gradient, result.target)

    def add(self, posterior, parameters, rows, *, scale, is_new, natural_step, gradient, n_jobs):
        if is_new:
            problem = self._problem(posterior.prior, parameters, rows, n_jobs)
            tol = INNER_TOL * rows.total_weight
            posterior, _, _ = problem.ascend(posterior, tol, base=posterior)
        terms = self._minibatch(posterior, parameters, rows.weighted(scale), gradient, n_jobs)
        if not is_new:
            posterior = posterior.towards(terms.target, natural_step)
        return Added(posterior, terms, None)

    def estimate(self, posterior, parameters, rows, scale, terms):
        return terms.value
