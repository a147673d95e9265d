"""Anytime learning of kernel, noise and inducing inputs, a few blocks at a step.

The stochastic gradient of sum_B E_q[log t_B] - KL for Adam, alongside natural-gradient steps on
q(u): what Hoang et al. (2015) leave for later. q(u) is held whitened while the kernel moves, so the
divergence has no gradient in it.
"""

from functools import partial

import numpy as np

from .natural_gradient import Ascent, epochs
from ..factors.block_sums import factor_gradient
from ..optimize.learning import Adam
from .._linalg import NotPositiveDefiniteError
from ..gp.posterior import Prior, settle_jitter


class Constant:
    """Steps of one length, each epoch in a new random order.

    Parameters
    ----------
    size : float
    """

    def __init__(self, size):
        self.size = size

    def draw(self, n_blocks, count, rng):
        return epochs(n_blocks, count, lambda: rng.permutation(n_blocks))

    def rho(self, step, taken, seen):
        return self.size


def learn_stochastic(problem, plan, blocks, reserve):
    """Epochs over all blocks until the smoothed objective is flat.

    Parameters
    ----------
    problem : _stages.Problem
    plan : _blocks_course.Plan
    blocks : _blocks_course.Blocks
    reserve : float
        Seconds to be left over.

    Returns
    -------
    parameters : Parameters
    n_iter, n_steps : int
        Epochs and steps.
    """
    settings, space, trace = problem.settings, problem.space, problem.trace
    parameters = problem.start
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, settings.jitter)
    ascent = Ascent(
        prior,
        parameters.noise_variance,
        plan.objective,
        blocks,
        len(blocks),
        Constant(settings.natural_step),
        problem.rows.y.shape[1],
    )
    x, bounds = space.pack(parameters), space.bounds(parameters)
    adam = Adam(len(x), settings.learning_rate)
    plateau, values, epoch = problem.plateau(problem.rows.total_weight), [], 1
    for chosen in ascent.schedule.draw(len(blocks), plan.blocks_per_step, problem.rng):
        ascent.step(chosen, settings.n_jobs)
        value, gradient = _gradient(ascent, chosen, space.learns_inputs, settings.n_jobs)
        values.append(value)
        if epoch > 1:  # at first only q(u) moves, as it starts at the prior
            moved = adam.step(x, space.pack_gradient(gradient), bounds)
            candidate = space.unpack(moved, parameters)
            try:
                ascent.prior = Prior.build(candidate.kernel, candidate.Z, prior.delta)
            except NotPositiveDefiniteError:
                adam.learning_rate *= 0.5
            else:
                x, parameters = moved, candidate
                ascent.noise_variance = parameters.noise_variance
        spent = settings.max_steps is not None and ascent.n_steps >= settings.max_steps
        if spent or trace.clock.left() < reserve:
            break
        if ascent.n_seen >= epoch * len(blocks):
            mean, values, epoch = np.mean(values), [], epoch + 1
            stop = trace.add(mean, partial(_same, parameters)) or plateau.reached(mean)
            if stop or epoch > settings.max_iter:
                break
    return parameters, epoch - 1, ascent.n_steps


def _same(parameters):
    return parameters


def _gradient(ascent, chosen, with_inputs, n_jobs):
    """Unbiased estimate of the objective and its gradient at the q(u) of now."""
    posterior, share = ascent.posterior(), ascent.n_blocks / len(chosen)
    found = factor_gradient(
        ascent.prior,
        [ascent.block(k) for k in chosen],
        ascent.noise_variance,
        ascent.model,
        posterior.v_mean,
        posterior.B_inv,
        with_inputs=with_inputs,
        n_jobs=n_jobs,
    )
    gradient = found.gradient(ascent.prior, with_inputs).scaled(share)
    return share * found.value - posterior.kl(), gradient
