"""How a fit in blocks goes: learn on sampled blocks, partition anew, then all blocks once or more.

The counterpart of `_stages.py` for models whose factors belong to blocks of rows.
"""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ._stages import Learned
from .anytime_steps import Ascent, Average
from .block_objectives import block_evidence, evidence, factor_sums
from .blocks import Model
from .kernels._scales import input_scales, with_shorter_scales
from .learning import ascend_lbfgs
from .parallel import one_blas_thread_each
from .partition import position_of
from .posterior import Posterior, settle_jitter, warn_about_jitter

# Rows of a block of a model whose factors are rows: any number gives the same sums.
_ROW_BLOCK = 1024
# Starting length scales of blocks, as shares of those of the inducing inputs: local data can use
# short ones that inducing inputs cannot, and the evidence has an optimum near each.
_STARTS = (1.0, 0.2)
# Iterations after which only the better start goes on.
_TRIAL_ITERATIONS = 12
_FINAL_JITTER_SHARE = 1e-5
_MIN_SECONDS = 0.05


@dataclass(frozen=True)
class Plan:
    """What distinguishes one fit in blocks from another.

    Parameters
    ----------
    model : blocks.Model
        Of the posterior.
    objective : blocks.Model
        Whose evidence is followed: another one for SoR and DTC.
    schedule : anytime_steps.RobbinsMonro, anytime_steps.Average or None
        None visits every block once, in parallel.
    blocks_per_step : int
    make_partition : callable
        ``make_partition(scale)``: a partition, as in partition.py.
    labels : ndarray of shape (n,) or None
        The user's own blocks.
    """

    model: Model
    objective: Model
    schedule: object
    blocks_per_step: int
    make_partition: object
    labels: np.ndarray | None = None

    @property
    def whole(self):
        """Whether rows of a block belong together."""
        return self.model.part == "block" and self.model.alpha > 0.0


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

    def size(self, k):
        return int(self.bounds[k + 1] - self.bounds[k])


@dataclass(frozen=True)
class Outcome:
    """What a fit in blocks leaves behind besides `Learned`."""

    learned: Learned
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
    parameters, n_iter = problem.start, 0
    if problem.settings.optimizer is not None and len(problem.space.pack(parameters)):
        parameters, n_iter = _learn(problem, plan)
    blocks, partition, classes = _make_blocks(problem, plan, parameters)
    learned = _finish(problem, plan, parameters, blocks, n_iter)
    return Outcome(learned, blocks, partition, classes)


def _make_blocks(problem, plan, parameters):
    """Blocks at the length scales of the kernel as it stands."""
    rows = problem.rows
    if plan.labels is not None:
        classes = np.unique(plan.labels)
        return Blocks(rows, position_of(plan.labels, classes)), None, classes
    if not plan.whole:
        return Blocks(rows, np.arange(len(rows)) // _ROW_BLOCK), None, None
    spread = np.asarray(rows.X[:: max(1, len(rows) // 50_000)], dtype=np.float64).std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scale = np.minimum(input_scales(parameters.kernel, spread), 100.0 * spread)
    partition = plan.make_partition(scale)
    return Blocks(rows, partition.fit(rows.X, problem.rng)), partition, None


def _learn(problem, plan):
    """L-BFGS on the evidence of sampled blocks, from the better of two starts."""
    settings, trace = problem.settings, problem.trace
    blocks, _, _ = _make_blocks(problem, plan, problem.start)
    sample = _sampled(blocks, settings.init_size, problem.rng)
    seconds = trace.clock.left() / 2
    starts = [problem.start]
    if plan.whole:
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
    return parameters, n_iter


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


def _finish(problem, plan, parameters, blocks, n_iter):
    """q(u) from all blocks, in one pass or step by step while time and epochs last."""
    settings, trace = problem.settings, problem.trace
    prior, jitter = settle_jitter(
        parameters.kernel, parameters.Z, _FINAL_JITTER_SHARE * settings.jitter
    )
    warn_about_jitter(jitter, settings.jitter)
    s2, n_steps = parameters.noise_variance, 0
    if plan.schedule is None:
        every = [blocks(k) for k in range(len(blocks))]
        sums = factor_sums(prior, every, s2, plan.model, settings.n_jobs)
        posterior, constant = Posterior(prior, sums.H, sums.h), sums.constant
        epochs = 1
    else:
        ascent = _ascent(problem, plan, prior, s2, blocks)
        posterior, constant, n_steps = ascent.posterior(), ascent.constant, ascent.n_steps
        epochs = max(1, round(ascent.epochs))
    posterior.prepare()
    objective = evidence(posterior, constant)
    trace.add(objective, lambda: parameters)
    return Learned(parameters, posterior, objective, jitter, n_iter + epochs, n_steps)


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
