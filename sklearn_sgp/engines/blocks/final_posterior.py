"""The posterior that a fit in blocks keeps: one pass over all blocks, or steps from block to block.

A pass or a first epoch rests on all rows, unless `max_time`, `max_steps` or a callback ends it:
then q(u) is the posterior of the rows that have come. The jitter climbs where a block or q(u) is
not positive definite in floating point.
"""

import time
from typing import NamedTuple

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._sampling import fixed_index
from ..._warnings import warn_caller
from ...factors.block_factors import SingularBlockError
from ...factors.block_sums import block_sums
from ...factors.passes import Pieces
from ...gp.jitter import MAX_JITTER, SingularCovarianceError, factorise_again, warn_about_jitter
from ...gp.posterior import Posterior
from ...optimize import time_shares
from ...optimize.budget import measured_seconds
from ..exact_fits import exact_fit
from .gradient_ascent import GradientAscent
from .natural_gradient import NaturalGradientAscent
from .state import Progress

# Blocks that a pass over all is timed with.
_TIMED_BLOCKS = 4
# Seconds by which a first epoch may take longer than was measured rather than leave blocks out.
_OVERRUN_SECONDS = 1.0
# Entries of the trace in an epoch, about: a callback may take as long as some steps.
_REPORTS = 25
# Cause and cure where blocks are missing: before "all n blocks".
_BY_CALLBACK = "A callback ended the steps before", "Let it end them later"


class FinalPosterior(NamedTuple):
    """q(u) of all blocks, or of as many as there was time for.

    Attributes
    ----------
    posterior : Posterior
    objective : float
        The evidence; where blocks are missing, that of the others over their share of all.
    constant : float
        Of the evidence of the blocks that q(u) rests on.
    progress : Progress
    n_iter, n_steps : int
        Epochs and steps.
    n_used : int or None
        Number of rows that q(u) rests on; None for all.
    interrupted : bool
    """

    posterior: Posterior
    objective: float
    constant: float
    progress: Progress
    n_iter: int
    n_steps: int
    n_used: int | None
    interrupted: bool


class _Run(NamedTuple):
    """A posterior and how it came about; steps and epochs of this fit alone."""

    posterior: Posterior
    constant: float
    seen: np.ndarray
    n_steps: int = 0
    n_seen: int = 0
    epochs: float = 1.0
    interrupted: bool = False


def keep_time_for_all_blocks(problem, plan, parameters, blocks, budget, more):
    """Measure what the finish takes and reserve it, ``more`` seconds besides."""
    if not budget.is_limited:
        return
    if blocks.rows.live_elsewhere:  # workers make that pass, in a time of their own
        return
    prior, s2 = problem.prior(parameters), parameters.noise_variance
    some = fixed_index(len(blocks), _TIMED_BLOCKS)
    size = len(some) if plan.schedule is None else plan.blocks_per_step

    def seconds_of(some, repeats):
        def run():
            for lo in range(0, len(some), size):
                _sums(problem, plan, prior, s2, blocks, some[lo : lo + size])

        return measured_seconds(run, repeats) / len(some)

    each = seconds_of(some[:1], 1)
    if each < time_shares.MEASURING * budget.clock.max_time:
        each = seconds_of(some, 2)
    seconds = each * len(blocks)
    budget.keep_for_finish(seconds + more, time_shares.FINISH_OF_BLOCKS)


def final_posterior(problem, plan, learned, blocks, budget, previous=None):
    """Find q(u) from all blocks, in one pass or step by step while time and epochs last.

    The steps of a ``previous`` fit go on, which is from the same rows, parameters and plan.

    Raises
    ------
    ValueError
        If no jitter makes the blocks and q(u) positive definite.
    """
    parameters, settings = learned.parameters, problem.settings
    s2 = parameters.noise_variance
    prior = settings.final_prior(parameters) if previous is None else previous.posterior.prior

    by_steps = "" if plan.schedule is None else ", step by step"
    problem.trace.begin(f"q(u) from {len(problem.rows)} rows{by_steps}")

    def run(prior):
        if plan.schedule is None:
            result = _one_pass(problem, plan, prior, s2, blocks, budget)
        else:
            # with more jitter the earlier steps are of another model
            same = previous is not None and prior is previous.posterior.prior
            earlier = previous if same else None
            result = _steps(problem, plan, parameters, prior, blocks, budget, earlier)
        result.posterior.warm_cache()
        return result, result.posterior.log_evidence(result.constant) / result.seen.mean()

    of_model = settings, plan.model, problem.rows, s2
    result, objective = with_enough_jitter(run, prior, *of_model)
    if previous is None:
        result, objective = exact_where_it_is((result, objective), problem, plan, s2)
    reached = learned.reached if plan.model == plan.objective else None
    is_optimal = result.seen.all() and (plan.schedule is None or plan.schedule.in_one_epoch)
    if reached is not None and is_optimal and previous is None:
        if objective < reached - problem.plateau().tol:  # by rounding
            other = with_enough_jitter(run, problem.prior(parameters), *of_model)
            other = exact_where_it_is(other, problem, plan, s2)
            result, objective = max((result, objective), other, key=lambda one: one[1])
    if not problem.trace.objectives or problem.trace.objectives[-1] != objective:
        problem.trace.add(objective, lambda: parameters)
    n_rows = int(np.diff(blocks.bounds)[result.seen].sum())
    return FinalPosterior(
        result.posterior,
        objective,
        result.constant,
        Progress(result.seen, n_rows, result.n_seen),
        max(1, round(result.epochs)),
        result.n_steps,
        None if result.seen.all() else n_rows,
        result.interrupted,
    )


def exact_where_it_is(result, problem, plan, noise_variance):
    """Return q(u) and evidence of the exact process where the inducing inputs are all rows."""
    run, objective = result
    in_order = plan.schedule is None or plan.schedule.in_one_epoch
    if not (plan.model.becomes_exact and in_order and run.seen.all()):
        return result
    exact = exact_fit(run.posterior.prior, noise_variance, problem.rows)
    if exact is None:
        return result
    exact.posterior.warm_cache()
    problem.trace.corrected(objective, exact.evidence)
    return run._replace(posterior=exact.posterior, constant=exact.constant), exact.evidence


def with_enough_jitter(run, prior, settings, model, rows, noise_variance):
    """Call ``run(prior)``, with more jitter as long as a covariance is not positive definite.

    Returns
    -------
    result : object
        What ``run`` returns.

    Raises
    ------
    ValueError
        If the jitter is as large as it may be.
    """
    first = prior
    while True:
        try:
            result = run(prior)
            break
        except NotPositiveDefiniteError as error:
            check_shares(model, error)
            try:
                prior = factorise_again(prior, MAX_JITTER)
            except SingularCovarianceError:
                raise explained(error, rows, noise_variance) from error
    if prior is not first and not np.isclose(prior.jitter, settings.jitter):
        warn_about_jitter(prior.jitter, settings.jitter)
    return result


def check_shares(model, error):
    """Raise a ValueError where weights of a mixture keep q(u) from being positive definite."""
    shares = [share for _, share in model.components]
    if min(shares) < 0.0 and not isinstance(error, SingularBlockError):
        raise ValueError(
            "The weights of the 'model' parameter must leave the precision of q(u) positive "
            f"definite on these rows. Got the weights {shares}: raise the negative weights."
        ) from error


def explained(error, rows, noise_variance):
    """Return an error with cause and cure; the same error if it has them."""
    if isinstance(error, SingularBlockError | SingularCovarianceError):
        return error
    largest = 1.0 if rows.weight is None else float(rows.weight.max())
    noise = float(np.min(noise_variance))
    return ValueError(
        "The precision of q(u) must be positive definite and finite. Got one that is not, with "
        f"{len(rows)} rows, a noise variance of {noise:.1e} of scaled targets and weights "
        f"up to {largest:.1e}. Lower the largest sample_weight, or raise noise_variance and its "
        "bounds."
    )


def _sums(problem, plan, prior, noise_variance, blocks, numbers):
    """Compute `BlockSums` of some blocks; of all where they live elsewhere."""
    if blocks.rows.live_elsewhere:
        pieces = blocks.as_pieces(problem.settings.n_jobs)
        return block_sums(prior, pieces, noise_variance, plan.model)
    pieces = Pieces([blocks(k) for k in numbers], n_jobs=problem.settings.n_jobs)
    return block_sums(prior, pieces, noise_variance, plan.model)


def _one_pass(problem, plan, prior, s2, blocks, budget):
    """Sum over all blocks, or over as many as the time left allows for."""
    order, count = problem.rng.permutation(len(blocks)), len(blocks)
    timed, seen = _TIMED_BLOCKS, np.ones(len(blocks), dtype=bool)
    if not budget.is_limited or count <= timed or blocks.rows.live_elsewhere:
        return _Run(*_sums(problem, plan, prior, s2, blocks, range(count)), seen)
    begin = time.perf_counter()
    sums = _sums(problem, plan, prior, s2, blocks, order[:timed])
    seconds_each = (time.perf_counter() - begin) / timed
    chosen = order[timed : timed + budget.affordable(count - timed, seconds_each)]
    if len(chosen):
        sums = sums.joined(_sums(problem, plan, prior, s2, blocks, chosen))
    seen[order[timed + len(chosen) :]] = False
    if problem.warns and not seen.all():
        _warn_of_part(blocks, seen, _no_time(problem))
    return _Run(*sums, seen)


def _no_time(problem):
    return f"max_time={problem.trace.clock.max_time:g} seconds leave no time for", "Raise max_time"


def _warn_of_part(blocks, seen, why):
    cause, cure = why
    n_rows = int(np.diff(blocks.bounds)[seen].sum())
    warn_caller(
        f"{cause} all {len(blocks)} blocks: q(u) rests on {int(seen.sum())} of them, "
        f"that is on {n_rows} of {int(blocks.bounds[-1])} rows. {cure} or lower block_size."
    )


def _steps(problem, plan, parameters, prior, blocks, budget, previous):
    """Take steps until time or epochs are over, or a callback or Ctrl-C ends them."""
    settings, schedule = problem.settings, plan.schedule
    kind = NaturalGradientAscent if schedule.is_natural else GradientAscent
    ascent = kind(
        prior,
        parameters.noise_variance,
        plan.model,
        blocks,
        schedule,
        problem.rows.y.shape[1],
        settings.n_jobs,
    )
    if previous is not None:
        ascent.go_on_from(previous)
    monitor = _StepMonitor(problem, plan, parameters, ascent, budget.reserve)
    for chosen, asked in ascent.drawn(plan.blocks_per_step, problem.rng):
        if monitor.is_over():
            break
        if not len(chosen):
            continue
        begin = time.perf_counter()
        try:
            ascent.step(chosen, asked)
            monitor.report()
        except KeyboardInterrupt:
            if not ascent.n_steps:
                raise
            return monitor.run(interrupted=True)
        monitor.seconds.append(time.perf_counter() - begin)
    if problem.warns and monitor.why is not None:
        _warn_of_part(blocks, ascent.seen, monitor.why)
    return monitor.run()


class _StepMonitor:
    """When steps are reported, and when they end.

    ``reserve`` are seconds that were kept for all this; learning may have used some of them up.
    """

    def __init__(self, problem, plan, parameters, ascent, reserve):
        self.problem, self.plan, self.ascent = problem, plan, ascent
        self.parameters = parameters
        self.trace, clock = problem.trace, problem.trace.clock
        self.latest = max(clock.max_time, clock.elapsed() + reserve) + _OVERRUN_SECONDS
        self.stopped_in_learning = self.trace.stopped
        self.steps_before, self.seen_before = ascent.n_steps, ascent.n_seen
        self.seconds, self.why = [], None
        self.epochs = 1 if plan.schedule.in_one_epoch else problem.settings.max_iter
        # an evidence is cubic in the inducing inputs, a step at most linear in its rows
        rows = len(problem.rows) / len(ascent.blocks) * plan.blocks_per_step
        steps = -(-len(ascent.blocks) // plan.blocks_per_step)
        costly = len(ascent.posterior.h) / rows
        self.every = max(1, int(np.ceil(costly)), -(-steps // _REPORTS))

    @property
    def n_steps(self):
        """Steps of this fit."""
        return self.ascent.n_steps - self.steps_before

    @property
    def n_missing(self):
        """Blocks that are missing in the first epoch."""
        if self.plan.schedule.in_one_epoch:
            return int((~self.ascent.seen).sum())
        return max(0, len(self.ascent.blocks) - self.ascent.n_seen)

    def report(self):
        """Add an entry to the trace, after so many steps and after an epoch."""
        if self.n_steps % self.every and self.ascent.n_seen % len(self.ascent.blocks):
            return
        try:
            estimate = self.ascent.log_evidence()
        except NotPositiveDefiniteError:  # a mixture with negative weights, in part of an epoch
            return
        self.trace.add(estimate, lambda: self.parameters)

    def is_over(self):
        """Return whether steps end here; ``why`` says it where blocks are missing."""
        max_steps = self.problem.settings.max_steps
        if max_steps is not None and self.n_steps >= max_steps:
            return True
        if not self.n_missing:
            why = self._end_of_epochs()
            if why is not None and not self.ascent.seen.all():  # blocks are drawn with replacement
                self.why = why
            return why is not None
        if self.trace.stopped and not self.stopped_in_learning:
            self.why = _BY_CALLBACK
            return True
        if self.seconds and self.trace.clock.left() < self.last_seconds:
            missing = -(-self.n_missing // self.plan.blocks_per_step)
            if self.trace.clock.elapsed() + missing * np.mean(self.seconds) > self.latest:
                self.why = _no_time(self.problem)
                return True
        return False

    def _end_of_epochs(self):
        """Return what ends steps after a first epoch, as cause and cure; None while they go on."""
        if self.trace.stopped:
            return _BY_CALLBACK
        if self.ascent.epochs >= self.epochs:
            return f"max_iter={self.epochs} epochs of random blocks do not hold", "Raise max_iter"
        is_late = self.trace.clock.left() < self.last_seconds
        return _no_time(self.problem) if is_late else None

    @property
    def last_seconds(self):
        return self.seconds[-1] if self.seconds else 0.0

    def run(self, interrupted=False):
        ascent = self.ascent
        epochs = (ascent.n_seen - self.seen_before) / len(ascent.blocks)
        return _Run(
            *ascent.of_rows_seen(), ascent.seen, ascent.n_steps, ascent.n_seen, epochs, interrupted
        )
