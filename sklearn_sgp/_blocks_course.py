"""How a fit in blocks goes: learn on sampled blocks, partition anew, then all blocks once or more.

The counterpart of `_stages.py` for models whose factors belong to blocks of rows.
"""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ._blocks_stochastic import learn_stochastic
from ._core import _linalg as la
from ._stages import Learned
from .anytime_steps import Ascent, Average
from .block_objectives import block_evidence, evidence, factor_sums
from .blocks import Mixture, Model
from .kernels._scales import input_scales, with_shorter_scales
from .learning import ascend_lbfgs
from .parallel import one_blas_thread_each
from .partition import position_of
from .posterior import Posterior, settle_jitter, warn_about_jitter

# Rows of a block of a model whose factors are rows: any number gives the same sums.
ROW_BLOCK = 1024
# Starting length scales of blocks, as shares of those of the inducing inputs: local data can use
# short ones that inducing inputs cannot, and the evidence has an optimum near each.
_STARTS = (1.0, 0.2)
# Iterations after which only the better start goes on.
_TRIAL_ITERATIONS = 12
# Inputs whose length scales are so many standard deviations play no role in a partition.
_LARGEST_SCALE = 100.0
_FINAL_JITTER_SHARE = 1e-5
_MIN_SECONDS = 0.05


@dataclass(frozen=True)
class Plan:
    """What distinguishes one fit in blocks from another.

    Parameters
    ----------
    model : blocks.Model or blocks.Mixture
        Of the posterior.
    objective : blocks.Model or blocks.Mixture
        Whose evidence is followed: another one for SoR and DTC.
    schedule : anytime_steps.RobbinsMonro, anytime_steps.Average or None
        None visits every block once, in parallel.
    blocks_per_step : int
    make_partition : callable
        ``make_partition(scale)``: a partition, as in partition.py.
    labels : ndarray of shape (n,) or None
        The user's own blocks.
    """

    model: Model | Mixture
    objective: Model | Mixture
    schedule: object
    blocks_per_step: int
    make_partition: object
    labels: np.ndarray | None = None


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
    """What a fit in blocks leaves behind besides `Learned`."""

    learned: Learned
    constant: float
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
    """
    parameters, n_iter, n_steps = problem.start, 0, 0
    if problem.settings.optimizer is not None and len(problem.space.pack(parameters)):
        learn = learn_stochastic if problem.settings.optimizer == "adam" else _learn
        parameters, n_iter, n_steps = learn(problem, plan, _make_blocks(problem, plan)[0])
    blocks, partition, classes = _make_blocks(problem, plan, parameters)
    learned, constant = _finish(problem, plan, parameters, blocks, n_iter, n_steps)
    return Outcome(learned, constant, blocks, partition, classes)


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
    posterior = Posterior(prior, H, h)
    posterior.prepare()
    objective = evidence(posterior, constant)
    return replace(learned, posterior=posterior, objective=objective), constant, extended


def _make_blocks(problem, plan, parameters=None):
    """Blocks, partition and labels: at the inputs' scales, or at learned length scales."""
    rows = problem.rows
    if plan.labels is not None:
        classes = np.unique(plan.labels)
        return Blocks(rows, position_of(plan.labels, classes)), None, classes
    if not plan.model.whole:
        return Blocks(rows, np.arange(len(rows)) // ROW_BLOCK), None, None
    spread = np.asarray(rows.X[:: max(1, len(rows) // 50_000)], dtype=np.float64).std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scale = spread
    if parameters is not None:
        scale = np.minimum(input_scales(parameters.kernel, spread), _LARGEST_SCALE * spread)
    partition = plan.make_partition(scale)
    return Blocks(rows, partition.fit(rows.X, problem.rng)), partition, None


def _learn(problem, plan, blocks):
    """L-BFGS on the evidence of sampled blocks, from the better of two starts."""
    settings, trace = problem.settings, problem.trace
    n_rows = len(problem.rows) if settings.optimizer == "lbfgs" else settings.init_size
    sample = _sampled(blocks, n_rows, problem.rng)
    seconds = trace.clock.left() / 2
    starts = [problem.start]
    if plan.model.whole:
        starts = [_shortened(problem, share) for share in _STARTS]
    trials, n_iter = [], 0
    for start in starts:
        run = _ascend(problem, plan, sample, start, _TRIAL_ITERATIONS, seconds / (2 * len(starts)))
        trials.append(run)
        n_iter += run[2]
    parameters, _, _ = max(trials, key=lambda run: run[1])
    left = settings.max_iter - min(n_iter, settings.max_iter)
    if left and not trace.stopped:
        parameters, _, more = _ascend(problem, plan, sample, parameters, left, seconds / 2)
        n_iter += more
    return parameters, n_iter, 0


def _sampled(blocks, n_rows, rng):
    """Random whole blocks with about so many rows, at least one."""
    chosen, total = [], 0
    for k in rng.permutation(len(blocks)):
        chosen.append(blocks(k))
        total += len(chosen[-1])
        if total >= n_rows:
            break
    return chosen


def _shortened(problem, share):
    """The start with length scales multiplied by a share, within their bounds."""
    start, space = problem.start, problem.space
    theta = with_shorter_scales(start.expression, start.theta, share)
    x = space.pack(replace(start, theta=theta))
    return space.unpack(np.clip(x, *space.bounds(start).T), start)


def _ascend(problem, plan, sample, start, max_iter, seconds):
    settings = problem.settings
    delta = settle_jitter(start.kernel, start.Z, settings.jitter)[0].delta
    scale = problem.rows.total_weight / sum(rows.total_weight for rows in sample)

    def objective(candidate):
        value, gradient = block_evidence(
            candidate,
            sample,
            delta,
            plan.objective,
            with_inputs=problem.space.learns_inputs,
            n_jobs=settings.n_jobs,
        )
        return scale * value, type(gradient)(*(scale * part for part in gradient))

    with one_blas_thread_each(settings.n_jobs):
        return ascend_lbfgs(
            objective,
            problem.space,
            start,
            max_iter=max_iter,
            plateau=problem.plateau(problem.rows.total_weight),
            trace=problem.trace,
            time_left=max(seconds, _MIN_SECONDS),
        )


def _finish(problem, plan, parameters, blocks, n_iter, n_steps):
    """q(u) from all blocks, in one pass or step by step while time and epochs last."""
    settings, trace = problem.settings, problem.trace
    prior, jitter = settle_jitter(
        parameters.kernel, parameters.Z, _FINAL_JITTER_SHARE * settings.jitter
    )
    warn_about_jitter(jitter, settings.jitter)
    s2 = parameters.noise_variance
    if plan.schedule is None:
        every = [blocks(k) for k in range(len(blocks))]
        sums = factor_sums(prior, every, s2, plan.model, settings.n_jobs)
        posterior, constant = Posterior(prior, sums.H, sums.h), sums.constant
        epochs = 1
    else:
        ascent = _ascent(problem, plan, prior, s2, blocks)
        posterior, constant = ascent.posterior(), ascent.constant
        n_steps += ascent.n_steps
        epochs = max(1, round(ascent.epochs))
    posterior.prepare()
    objective = evidence(posterior, constant)
    trace.add(objective, lambda: parameters)
    learned = Learned(parameters, posterior, objective, jitter, n_iter + epochs, n_steps)
    return learned, constant


def _ascent(problem, plan, prior, s2, blocks):
    settings, clock = problem.settings, problem.trace.clock
    t = problem.rows.y.shape[1]
    ascent = Ascent(prior, s2, plan.model, blocks, len(blocks), plan.schedule, t)
    epochs = 1 if isinstance(plan.schedule, Average) else settings.max_iter
    step = partial(ascent.step, n_jobs=settings.n_jobs)
    for chosen in plan.schedule.draw(len(blocks), plan.blocks_per_step, problem.rng):
        begin = time.perf_counter()
        step(chosen)
        spent = settings.max_steps is not None and ascent.n_steps >= settings.max_steps
        late = clock.left() < time.perf_counter() - begin
        if spent or late or problem.trace.stopped or ascent.epochs >= epochs:
            return ascent
    raise AssertionError("schedules do not end")
