"""Hyperparameters of models in blocks: L-BFGS on the evidence of sampled whole blocks, then more.

The evidence of PITC has an optimum where length scales are as long as inducing inputs can follow,
and one where they are as short as only data of the same block can use. Several starts are tried.
"""

import time
from dataclasses import replace

import numpy as np

from ..fitting.stages import LARGEST_WEIGHT, STAGE_SHARE, refinements, subset
from .._warnings import warn_caller
from ..factors.block_sums import block_evidence
from ..factors.block_factors import Model
from ..factors.row_sums import CHUNK
from ..kernels._length_scales import with_shorter_scales
from ..optimize.learning import ascend_lbfgs
from .._parallel import one_blas_thread_each
from ..gp.posterior import settle_jitter

# Starting length scales, as shares of those that inducing inputs can follow.
_STARTS = (1.0, 0.3, 0.1)
# Iterations after which only the best start goes on.
_TRIAL_ITERATIONS = 12
# Fewer blocks, or fewer evaluations of them, teach less than the variational bound of rows does,
# which gets this share of a budget that is short.
_LEAST_BLOCKS, _LEAST_EVALUATIONS, _ROWS_SHARE = 8, 25, 0.4
_MIN_SECONDS = 0.05


def learn_on_sample(problem, plan, blocks, reserve):
    """L-BFGS on the evidence of sampled blocks: several starts on few, the best one on more.

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
    """
    settings, trace, n_rows = problem.settings, problem.trace, len(problem.rows)
    order = problem.rng.permutation(len(blocks))
    init_size = n_rows if settings.optimizer == "lbfgs" else settings.init_size
    sample = _whole_blocks(blocks, order, init_size)
    left = trace.clock.left() - reserve
    evaluation = _block_seconds(problem, plan.objective, sample)
    enough = min(_LEAST_BLOCKS, len(sample)) * evaluation
    if STAGE_SHARE * left < len(_STARTS) * _TRIAL_ITERATIONS * enough:
        return _from_rows(problem, plan.objective, sample, left, evaluation)
    seconds = STAGE_SHARE * left
    few = _affordable(sample, seconds, len(_STARTS) * _TRIAL_ITERATIONS * evaluation)
    parameters, n_iter = _warm_start(problem, plan.objective, few, seconds)
    if len(few) == len(blocks):
        return parameters, n_iter, 0
    sizes = refinements(n_rows, init_size)
    for size in sizes:
        if trace.stopped:
            break
        share = 1.0 if size == sizes[-1] else STAGE_SHARE
        seconds = share * (trace.clock.left() - reserve)
        more_blocks = _whole_blocks(blocks, order, size)
        few = max(few, _affordable(more_blocks, seconds, _LEAST_EVALUATIONS * evaluation), key=len)
        copies = min(len(blocks) / len(few), LARGEST_WEIGHT)
        parameters, _, more = _ascend(
            problem, plan.objective, few, parameters, settings.max_iter, seconds, copies
        )
        n_iter += more
    return parameters, n_iter, 0


def _block_seconds(problem, objective, sample):
    """Measured time of an evaluation, a block; 0 without a budget."""
    if not np.isfinite(problem.trace.clock.max_time):
        return 0.0
    some, start = sample[:2], problem.start
    delta = settle_jitter(start.kernel, start.Z, problem.settings.jitter)[0].delta
    begin = time.perf_counter()
    block_evidence(start, some, delta, objective, n_jobs=problem.settings.n_jobs)
    return (time.perf_counter() - begin) / len(some)


def _affordable(sample, seconds, a_block):
    """As many blocks as there is time for, at least one."""
    if a_block == 0.0:
        return sample
    return sample[: max(1, int(seconds / a_block))]


def _from_rows(problem, objective, sample, seconds, evaluation):
    """Where time is short: the variational bound of some rows, then of blocks if there is time."""
    deadline = time.perf_counter() + seconds
    few = _affordable(sample, (1.0 - _ROWS_SHARE) * seconds, _LEAST_EVALUATIONS * evaluation)
    enough = len(few) >= min(_LEAST_BLOCKS, len(sample))
    rows = subset(problem.rows, problem.settings.init_size, problem.rng)
    pieces, limit = list(rows.chunks(CHUNK)), problem.settings.max_iter
    bound = Model("diagonal", 0.0)
    seconds *= _ROWS_SHARE if enough else 1.0
    parameters, _, n_iter = _ascend(problem, bound, pieces, problem.start, limit, seconds)
    if not enough:
        warn_caller(
            f"max_time={problem.trace.clock.max_time:g} seconds leave no time to learn from whole "
            "blocks: kernel, noise and inducing inputs are learned by the variational bound, which "
            "finds no structure within blocks. Raise max_time or lower block_size."
        )
        return parameters, n_iter, 0
    left = deadline - time.perf_counter()
    parameters, _, more = _ascend(problem, objective, few, parameters, limit, left)
    return parameters, n_iter + more, 0


def _warm_start(problem, objective, sample, seconds):
    deadline, max_iter = time.perf_counter() + seconds, problem.settings.max_iter
    starts = [problem.start]
    if objective.whole:
        starts = [_shortened(problem, share) for share in _STARTS]
    trial = min(_TRIAL_ITERATIONS, max_iter)
    trials = [
        _ascend(problem, objective, sample, start, trial, seconds / (2 * len(starts)))
        for start in starts
    ]
    parameters, _, _ = max(trials, key=lambda run: run[1])
    n_iter = sum(run[2] for run in trials)
    if max_iter > trial and not problem.trace.stopped:
        left = deadline - time.perf_counter()
        parameters, _, more = _ascend(
            problem, objective, sample, parameters, max_iter - trial, left
        )
        n_iter += more
    return parameters, n_iter


def _whole_blocks(blocks, order, n_rows):
    """The first blocks of an order with about so many rows, at least one."""
    chosen, total = [], 0
    for k in order:
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


def _ascend(problem, objective, sample, start, max_iter, seconds, copies=1.0):
    """Follow the evidence of some blocks; the trace is scaled to all rows."""
    settings = problem.settings
    delta = settle_jitter(start.kernel, start.Z, settings.jitter)[0].delta
    scale = problem.rows.total_weight / (copies * sum(rows.total_weight for rows in sample))

    def evidence(candidate):
        value, gradient = block_evidence(
            candidate,
            sample,
            delta,
            objective,
            copies=copies,
            with_inputs=problem.space.learns_inputs,
            n_jobs=settings.n_jobs,
        )
        return scale * value, gradient.scaled(scale)

    with one_blas_thread_each(settings.n_jobs):
        return ascend_lbfgs(
            evidence,
            problem.space,
            start,
            max_iter=max_iter,
            plateau=problem.plateau(problem.rows.total_weight),
            trace=problem.trace,
            time_left=max(seconds, _MIN_SECONDS),
        )
