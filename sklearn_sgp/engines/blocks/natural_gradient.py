"""Stochastic natural gradient ascent on q(u), block by block (Hoang et al. 2015).

q(u) is held by its data part (H, h), the natural parameters without those of the prior, so that

    (H, h) <- (1 - rho) (H, h) + rho n_blocks / |S| sum_{B in S} (H_B, h_B)

is the paper's eqs. 24 to 26 where they start at the prior (docs/theory.md, eq. 33). Every step is a
convex combination of positive semidefinite matrices: any step of any sequence gives a q(u). Before
all blocks have come, that state counts those that have for the others, too; what is left to predict
from is the state times the share of blocks seen, a posterior of the rows that have come.
"""

import time
from functools import partial
from itertools import chain, islice

import numpy as np

from ..._parallel import begun_ahead
from ...data.rows import outputs_by_noise
from ...factors.block_sums import block_gradient_sums, block_sums
from ...factors.passes import Pieces
from ...gp.posterior import Posterior
from ...optimize.adam import Adam, adam_step
from ..ascent import Run
from .schedules import Constant


class NaturalGradientAscent:
    """q(u) between steps at fixed kernel, noise and inducing inputs."""

    def __init__(self, prior, noise_variance, model, blocks, schedule, n_outputs=1, n_jobs=None):
        self.noise_variance, self.model = noise_variance, model
        self.blocks, self.schedule, self.n_jobs = blocks, schedule, n_jobs
        n_factors = len(outputs_by_noise(noise_variance))
        self.posterior, self.constant = Posterior.at_prior(prior, n_outputs, n_factors), 0.0
        self.n_steps = self.n_seen = 0
        self.seen = np.zeros(len(blocks), dtype=bool)  # blocks that q(u) rests on

    def pieces(self, chosen):
        """Return some blocks as pieces of a pass."""
        return Pieces([self.blocks(k) for k in chosen], n_jobs=self.n_jobs)

    def go_on_from(self, previous):
        """Take over what a fit with the same prior and blocks has come to."""
        progress = previous.state.progress
        self.posterior, self.constant = previous.posterior, constant_of_blocks(previous)
        if not progress.is_complete:
            more = 1.0 / progress.share
            self.posterior, self.constant = self.posterior.scaled(more), more * self.constant
        self.n_steps, self.n_seen, self.seen = previous.n_steps, progress.n_seen, progress.seen

    def drawn(self, count, rng):
        """Return an iterator of sets of so many blocks, without end, and of what each asks for.

        That is a call that returns `BlockSums`. Where steps end with a first epoch, threads begin
        on sets that come next in it: what blocks ask for does not depend on q(u), and no random
        number is drawn before its time.
        """
        schedule, n_blocks = self.schedule, len(self.blocks)
        sets = schedule.draw(n_blocks, count, rng)
        if schedule.in_one_epoch:
            sets = (chosen[~self.seen[chosen]] for chosen in sets)
        calls = ((chosen, self._asked(chosen)) for chosen in sets)
        n_ahead = -(-n_blocks // count) if schedule.in_one_epoch else 0
        first = (pair for pair in islice(calls, n_ahead) if len(pair[0]))
        self.posterior.prior.warm_cache()
        return chain(begun_ahead(first, self.n_jobs), calls)

    def _asked(self, chosen):
        if not len(chosen):
            return None
        prior, pieces = self.posterior.prior, self.pieces(chosen)
        return partial(block_sums, prior, pieces, self.noise_variance, self.model)

    def step(self, chosen, asked=None):
        """Take one natural-gradient step towards the target of these blocks.

        Atomic: an exception at any moment leaves q(u) as it was before the step or after it. For
        ``asked`` see `drawn`.
        """
        asked, constant = (asked or self._asked(chosen))()
        n_seen, seen = self.n_seen + len(chosen), self.seen.copy()
        seen[chosen] = True
        rho = self.schedule.rho(self.n_steps, len(chosen), n_seen)
        moved = self._moved(asked, constant, rho, len(chosen))
        steps = self.n_steps + 1
        # no call between these assignments, so that no signal is handled there
        vars(self).update(moved)
        self.n_steps, self.n_seen, self.seen = steps, n_seen, seen

    def _moved(self, asked, constant, rho, count):
        """Return what a step changes, by name, given what so many blocks say."""
        share = len(self.blocks) / count
        return {
            "posterior": self.posterior.towards(asked, rho, share),
            "constant": (1.0 - rho) * self.constant + (rho * share) * constant,
        }

    def of_rows_seen(self):
        """Return q(u) and its constant as of the blocks that have come, none counted for others."""
        if self.seen.all():
            return self.posterior, self.constant
        share = float(self.seen.mean())
        return self.posterior.scaled(share), share * self.constant

    def log_evidence(self):
        """Estimate the evidence of all rows by that of the blocks that have come."""
        posterior, constant = self.of_rows_seen()
        return posterior.log_evidence(constant) / self.seen.mean()

    def move(self, prior, noise_variance):
        """Move to other hyperparameters, (H, h) held in whitened coordinates."""
        self.posterior, self.noise_variance = self.posterior.under(prior), noise_variance

    def objective(self, chosen, with_inputs):
        """Estimate the objective, unbiased, and its gradient at the current q(u)."""
        q, share = self.posterior, len(self.blocks) / len(chosen)
        pieces = self.pieces(chosen)
        sums = block_gradient_sums(
            q, pieces, self.noise_variance, self.model, with_inputs=with_inputs
        )
        gradient = sums.gradient(q.prior, with_inputs).scaled(share)
        return share * sums.value - q.kl(), gradient

    @property
    def epochs(self):
        return self.n_seen / len(self.blocks)


def constant_of_blocks(fitted):
    """Return the constant of the evidence without that of row noise, which each fit adds itself."""
    return fitted.state.constant - fitted.row_noise.constant


def learn_stochastic(problem, plan, blocks, budget):
    """Learn kernel, noise and inducing inputs a few blocks at a step; epochs until it is flat.

    The stochastic gradient of sum_B E_q[log t_B] - KL for Adam, alongside natural-gradient steps on
    q(u): what Hoang et al. (2015) leave for later. q(u) is held whitened while the kernel moves, so
    the divergence has no gradient in it. Returns a `Run`, whose iterations are epochs, and the
    number of steps.
    """
    settings, space, trace = problem.settings, problem.space, problem.trace
    parameters = problem.start.parameters
    prior = problem.prior(parameters)
    ascent = NaturalGradientAscent(
        prior,
        parameters.noise_variance,
        plan.objective,
        blocks,
        Constant(settings.natural_step),
        problem.rows.y.shape[1],
        settings.n_jobs,
    )
    adam = Adam(len(space.pack(parameters)), settings.learning_rate)
    plateau, values, epoch, mean, cut_by = problem.plateau(), [], 1, -np.inf, None
    trace.begin("stochastic steps")
    for chosen in ascent.schedule.draw(len(blocks), plan.blocks_per_step, problem.rng):
        begin = time.perf_counter()
        ascent.step(chosen)
        value, gradient = ascent.objective(chosen, space.learns("Z"))
        budget.took((time.perf_counter() - begin) / len(chosen))
        values.append(value)
        if epoch > 1:  # at first only q(u) moves, as it starts at the prior
            moved = adam_step(adam, space, parameters, gradient, prior.delta)
            if moved is not None:
                parameters, new_prior = moved
                ascent.move(new_prior, parameters.noise_variance)
        spent = settings.max_steps is not None and ascent.n_steps >= settings.max_steps
        if spent or budget.left() < 0.0:
            break
        if ascent.n_seen >= epoch * len(blocks):
            mean, values, epoch = np.mean(values), [], epoch + 1
            stop = trace.add(mean, lambda now=parameters: now) or plateau.reached(mean)
            if stop or epoch > settings.max_iter:
                cut_by = "max_iter" if plateau.is_gaining and not stop else None
                break
    return Run(parameters, mean, epoch - 1, cut_by), ascent.n_steps
