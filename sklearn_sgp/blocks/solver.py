"""How a fit in blocks goes: learn on sampled blocks, partition anew, then all blocks once or more.

The counterpart of `_stages.py` for models whose factors belong to blocks of rows.
"""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .hyperparameters import learn_on_sample
from .stochastic import learn_stochastic
from .._core import _linalg as la
from ..fitting.stages import MAX_RESERVE_SHARE, Learned
from .._warnings import warn_caller
from .natural_gradient import Ascent, Average
from .models import Specification
from ..factors.block_sums import FactorSums, evidence, factor_sums
from ..kernels._length_scales import input_scales
from .._linalg import NotPositiveDefiniteError
from .partition import position_of
from ..gp.posterior import Posterior, settle_jitter, warn_about_jitter

# Rows of a block of a model whose factors are rows: any number gives the same sums.
ROW_BLOCK = 1024
# Largest block of a model whose blocks are whole: its matrices take 3 GB each.
LARGEST_BLOCK = 20_000
# Blocks that a pass over all is timed with.
_TIMED_BLOCKS = 4
# By which a fit may be late rather than leave blocks out.
_SLACK_SECONDS = 0.5
# Inputs whose length scales are so many standard deviations play no role in a partition.
_LARGEST_SCALE = 100.0
_FINAL_JITTER_SHARE = 1e-5


@dataclass(frozen=True)
class Plan:
    """What distinguishes one fit in blocks from another.

    Parameters
    ----------
    specified : block_models.Specification
    schedule : anytime_steps.RobbinsMonro, anytime_steps.Average or None
        None visits every block once, in parallel.
    blocks_per_step : int
    make_partition : callable
        ``make_partition(scale)``: a partition, as in partition.py.
    labels : ndarray of shape (n,) or None
        The user's own blocks.
    """

    specified: Specification
    schedule: object
    blocks_per_step: int
    make_partition: object
    labels: np.ndarray | None = None

    @property
    def model(self):
        """Of the posterior."""
        return self.specified.model

    @property
    def objective(self):
        """The model whose evidence is followed."""
        return self.specified.objective


class Blocks:
    """Rows in blocks: an order of the rows, and where each block begins in it.

    Parameters
    ----------
    rows : rows.Rows
    labels : ndarray of int, shape (n,)
        From 0, none left out.
    """

    def __init__(self, rows, labels):
        self.rows = rows
        self.order = np.argsort(labels, kind="stable")
        self.bounds = np.concatenate([[0], np.cumsum(np.bincount(labels))])

    def __len__(self):
        return len(self.bounds) - 1

    def __call__(self, k):
        """Rows of block k."""
        return self.rows.select(self.order[self.bounds[k] : self.bounds[k + 1]])

    def extended(self, rows, labels):
        """These blocks and more rows; labels beyond the last block begin new ones.

        Parameters
        ----------
        rows : rows.Rows
            Targets scaled as before.
        labels : ndarray of int, shape (n,)

        Returns
        -------
        blocks : Blocks
        """
        own = np.empty(len(self.rows), dtype=np.intp)
        own[self.order] = np.repeat(np.arange(len(self)), np.diff(self.bounds))
        return Blocks(self.rows.joined(rows), np.concatenate([own, labels]))


@dataclass(frozen=True)
class Outcome:
    """What a fit in blocks leaves behind besides `Learned`.

    ``interrupted`` says that Ctrl-C ended it after some step.
    """

    learned: Learned
    constant: float
    interrupted: bool
    blocks: Blocks
    partition: object
    classes: np.ndarray | None


def learn_in_blocks(problem, plan):
    """Run the course.

    Parameters
    ----------
    problem : _stages.Problem
    plan : Plan

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    ValueError
        If a block is too large.
    """
    parameters, n_iter, n_steps = problem.start, 0, 0
    if problem.settings.optimizer is not None and len(problem.space.pack(parameters)):
        begin = time.perf_counter()
        blocks = _make_blocks(problem, plan)[0]
        partition_seconds = time.perf_counter() - begin
        reserve = _pass_seconds(problem, plan, parameters, blocks) + partition_seconds
        learn = learn_stochastic if problem.settings.optimizer == "adam" else learn_on_sample
        parameters, n_iter, n_steps = learn(problem, plan, blocks, reserve)
    blocks, partition, classes = _make_blocks(problem, plan, parameters)
    found = _finish(problem, plan, parameters, blocks, n_iter, n_steps)
    return Outcome(*found, blocks, partition, classes)


def _pass_seconds(problem, plan, parameters, blocks):
    """Measured time of a pass over all blocks, at most half of the budget; 0 without one."""
    clock, count = problem.trace.clock, min(_TIMED_BLOCKS, len(blocks))
    if not np.isfinite(clock.max_time):
        return 0.0
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, problem.settings.jitter)
    some = [blocks(k) for k in np.linspace(0, len(blocks) - 1, count).astype(int)]
    begin = time.perf_counter()
    factor_sums(prior, some, parameters.noise_variance, plan.model, problem.settings.n_jobs)
    seconds = 1.1 * (time.perf_counter() - begin) * len(blocks) / count
    return min(seconds, MAX_RESERVE_SHARE * clock.max_time)


def absorb(learned, constant, blocks, rows, labels, model, n_jobs=None):
    """Add rows to blocks, at fixed kernel, noise and inducing inputs: only what changes is redone.

    Parameters
    ----------
    learned : Learned
    constant : float
        Of the evidence.
    blocks : Blocks
    rows : rows.Rows
        Of positive weight.
    labels : ndarray of int, shape (n,)
        Block of each; beyond the last, new ones.
    model : blocks.Model or blocks.Mixture
    n_jobs : int or None

    Returns
    -------
    learned : Learned
    constant : float
    blocks : Blocks
    """
    prior, s2 = learned.posterior.prior, learned.parameters.noise_variance
    extended, changed = blocks.extended(rows, labels), np.unique(labels)
    H, h = learned.posterior.H.copy(), learned.posterior.h.copy()
    old = [blocks(k) for k in changed if k < len(blocks)]
    new = [extended(k) for k in changed]
    for sign, some in ((-1.0, old), (1.0, new)):
        if some:
            sums = factor_sums(prior, some, s2, model, n_jobs)
            la.axpy(sign, sums.H, H)
            h += sign * sums.h
            constant += sign * sums.constant
    try:
        posterior = Posterior(prior, H, h)
        posterior.prepare()
    except NotPositiveDefiniteError:  # a block was taken out that a partial epoch had never seen
        sums = factor_sums(prior, [extended(k) for k in range(len(extended))], s2, model, n_jobs)
        posterior, constant = Posterior(prior, sums.H, sums.h), sums.constant
        posterior.prepare()
    objective = evidence(posterior, constant)
    return replace(learned, posterior=posterior, objective=objective), constant, extended


def _make_blocks(problem, plan, parameters=None):
    """Blocks, partition and labels: at the inputs' scales, or at learned length scales."""
    rows = problem.rows
    if plan.labels is not None:
        classes = np.unique(plan.labels)
        blocks = Blocks(rows, position_of(plan.labels, classes))
        return _checked(blocks, plan), None, classes
    if not plan.model.whole:
        return Blocks(rows, problem.rng.permutation(len(rows)) // ROW_BLOCK), None, None
    spread = np.asarray(rows.X[:: max(1, len(rows) // 50_000)], dtype=np.float64).std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scale = spread
    if parameters is not None:
        scale = np.minimum(input_scales(parameters.kernel, spread), _LARGEST_SCALE * spread)
    partition = plan.make_partition(scale)
    return _checked(Blocks(rows, partition.fit(rows.X, problem.rng)), plan), partition, None


def _checked(blocks, plan):
    largest = int(np.diff(blocks.bounds).max())
    if plan.model.whole and largest > LARGEST_BLOCK:
        raise ValueError(
            f"A block must have at most {LARGEST_BLOCK} rows, as it takes memory quadratic in "
            f"them. Got one of {largest}: split it, or use a model of independent rows, 'fitc'."
        )
    return blocks


def _finish(problem, plan, parameters, blocks, n_iter, n_steps):
    """q(u) from all blocks, in one pass or step by step while time and epochs last."""
    settings, trace = problem.settings, problem.trace
    prior, jitter = settle_jitter(
        parameters.kernel, parameters.Z, _FINAL_JITTER_SHARE * settings.jitter
    )
    warn_about_jitter(jitter, settings.jitter)
    s2, interrupted = parameters.noise_variance, False
    if plan.schedule is None:
        sums = _affordable_sums(problem, plan, prior, s2, blocks)
        posterior, constant = Posterior(prior, sums.H, sums.h), sums.constant
        epochs = 1
    else:
        ascent, interrupted = _ascent(problem, plan, prior, s2, blocks)
        posterior, constant = ascent.posterior(), ascent.constant
        n_steps += ascent.n_steps
        epochs = max(1, round(ascent.epochs))
    posterior.prepare()
    objective = evidence(posterior, constant)
    trace.add(objective, lambda: parameters)
    learned = Learned(parameters, posterior, objective, jitter, n_iter + epochs, n_steps)
    return learned, constant, interrupted


def _affordable_sums(problem, plan, prior, s2, blocks):
    """Sums over all blocks, or over as many as the time left allows for, scaled to all."""
    order, count = problem.rng.permutation(len(blocks)), len(blocks)
    clock, n_jobs, timed = problem.trace.clock, problem.settings.n_jobs, _TIMED_BLOCKS
    if not np.isfinite(clock.max_time) or problem.trace.stopped or count <= timed:
        return factor_sums(prior, [blocks(k) for k in range(count)], s2, plan.model, n_jobs)
    begin = time.perf_counter()
    first = factor_sums(prior, [blocks(k) for k in order[:timed]], s2, plan.model, n_jobs)
    seconds = (time.perf_counter() - begin) / timed
    more = int(max(clock.left(), 0.0) / seconds)
    if 1.2 * more + _SLACK_SECONDS / seconds >= count - timed:
        more = count - timed
    chosen = order[timed : timed + more]
    if len(chosen):
        rest = factor_sums(prior, [blocks(k) for k in chosen], s2, plan.model, n_jobs)
        first = FactorSums(*(a + b for a, b in zip(first, rest, strict=True)))
    if timed + more == count:
        return first
    warn_caller(
        f"max_time={clock.max_time:g} seconds leave no time for all {count} blocks: q(u) rests on "
        f"{timed + more} of them, scaled up. Raise max_time or lower block_size.",
    )
    return first.scaled(count / (timed + more))


def _ascent(problem, plan, prior, s2, blocks):
    """Steps until time or epochs are over, and whether Ctrl-C ended them."""
    settings, clock = problem.settings, problem.trace.clock
    t = problem.rows.y.shape[1]
    ascent = Ascent(prior, s2, plan.model, blocks, len(blocks), plan.schedule, t)
    epochs = 1 if isinstance(plan.schedule, Average) else settings.max_iter
    step = partial(ascent.step, n_jobs=settings.n_jobs)
    for chosen in plan.schedule.draw(len(blocks), plan.blocks_per_step, problem.rng):
        begin = time.perf_counter()
        try:
            step(chosen)
        except KeyboardInterrupt:
            if not ascent.n_steps:
                raise
            return ascent, True
        spent = settings.max_steps is not None and ascent.n_steps >= settings.max_steps
        late = clock.left() < time.perf_counter() - begin
        if spent or late or problem.trace.stopped or ascent.epochs >= epochs:
            return ascent, False
    raise AssertionError("schedules do not end")
