"""Stochastic steps for any likelihood: q(u), kernel, noise and inducing inputs together."""

from functools import partial

import numpy as np

from ..optimize.adam import move_by_adam
from ..factors.row_sums import block_store
from ..gp.latents import Latents
from ..optimize.learning import Adam
from ..gp.posterior import settle_jitter
from ..objectives.sites import SiteProblem


def ascend_sites(problem, parameters, reserve):
    """Natural gradient on q(u), Adam on the rest; as `_stochastic.ascend_stochastic`."""
    settings, rows, trace = problem.settings, problem.rows, problem.trace
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, settings.jitter)
    followed = problem.followed
    step = SiteStep(
        Latents.at_prior(prior, followed.n_latent), parameters, problem.space, followed.likelihood
    )
    adam = Adam(len(problem.space.pack(parameters)), settings.learning_rate)
    plateau, n_iter, n_steps = problem.plateau(rows.total_weight), 0, 0
    for epoch in range(settings.max_iter):
        order, values = problem.rng.permutation(len(rows)), []
        for lo in range(0, len(rows), settings.batch_size):
            spent = settings.max_steps is not None and n_steps >= settings.max_steps
            if spent or trace.clock.left() < reserve:
                break
            batch = rows.select(np.sort(order[lo : lo + settings.batch_size]))
            batch = batch.weighted(rows.total_weight / batch.total_weight)
            # at first only q(u) moves, as it starts at the prior
            values.append(
                step.take(batch, settings.natural_step, adam if epoch else None, settings.n_jobs)
            )
            n_steps += 1
        else:
            n_iter += 1
            stopped = trace.add(np.mean(values), partial(_same, step.parameters))
            if not (stopped or plateau.reached(np.mean(values))):
                continue
        break
    followed.held = step.latents, rows.total_weight
    return step.parameters, max(n_iter, 1), n_steps


def _same(parameters):
    return parameters


class SiteStep:
    """q(u) and hyperparameters between stochastic steps.

    Parameters
    ----------
    latents : Latents
    parameters : learning.Parameters
    space : learning.ParameterSpace
    likelihood : object
    """

    def __init__(self, latents, parameters, space, likelihood):
        self.latents, self.parameters = latents, parameters
        self.space, self.likelihood = space, likelihood

    def take(self, batch, natural_step, adam=None, n_jobs=None):
        """One step with some rows, weighted as all; returns the estimate of the bound before it.

        While kernel and inducing inputs move, (H, h) stay in whitened coordinates.
        """
        parameters = self.parameters
        prior, s2 = self.latents.prior, parameters.noise_variance
        store = block_store(len(prior.Z), batch)
        problem = SiteProblem(prior, batch, self.likelihood, s2, n_jobs, store)
        found = problem.visit(self.latents)
        value = found.value - self.latents.kl()
        before, self.latents = self.latents, self.latents.towards(found.target, natural_step)
        if adam is None:
            return value
        gradient = problem.gradient(before, found, self.space.learns_inputs)
        moved = move_by_adam(adam, self.space, parameters, gradient, before.prior.delta)
        if moved is not None:
            self.parameters, prior = moved
            self.latents = Latents(prior, self.latents.H, self.latents.h)
        return value
