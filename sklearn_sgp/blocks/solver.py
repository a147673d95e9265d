"""How a fit in blocks goes: learn on sampled blocks, partition anew, then all blocks once or more.

The counterpart of `fitting/stages.py` for models whose factors belong to blocks of rows.
"""

import time
from dataclasses import replace

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..fitting.budget import Budget
from ..fitting.fingerprints import fingerprint
from ..fitting.weak_spots import warn_of_weak_spots
from ..kernels._length_scales import input_scales
from .finish import check_shares, explained, finish, keep_time_for_all_blocks
from .hyperparameters import learn_on_sample
from .natural_gradient import learn_stochastic
from .partition import Blocks, position_of
from .results import BlockFitResult, check_sizes

# Rows of a block of a model whose factors are rows: any number gives the same sums.
ROW_BLOCK = 1024
# Inputs whose length scales are so many standard deviations play no role in a partition.
_LARGEST_SCALE = 100.0


def learn(problem, plan, before=None):
    """Learn hyperparameters, then find q(u).

    Parameters
    ----------
    problem : Problem
    plan : BlockPlan
    before : BlockFitResult or None
        Of the fit before. Where nothing but the number of steps has changed, they go on.

    Returns
    -------
    found : BlockFitResult

    Raises
    ------
    ValueError
        If a block is too large, or a covariance is not positive definite at any jitter.
    """
    parameters, budget = problem.start.parameters, Budget(problem.trace.clock)
    n_iter = n_steps = 0
    if problem.learns:
        parameters, n_iter, n_steps = _learn(problem, plan, budget)
    mark = _mark(problem, plan, parameters)
    if mark is not None and before is not None and before.progress.mark == mark:
        seed = before.progress.seed
    else:
        before, seed = None, int(problem.rng.randint(2**31))
    if before is not None and before.blocks is not None:
        blocks, partition, labels = before.blocks, before.partition, before.labels
    else:
        blocks, partition, labels = _make_blocks(problem, plan, parameters, seed)
    done = finish(problem, plan, parameters, blocks, budget, before, n_iter, n_steps)
    if not done.interrupted:
        warn_of_weak_spots(problem, done.result, plan.model.dense)
    if not plan.model.dense:
        kept = None
    else:
        kept = blocks.owned() if plan.copies and not blocks.sorted else blocks
    return BlockFitResult(
        done.result,
        plan.specification,
        done.constant,
        kept,
        partition,
        labels,
        _size(plan),
        replace(done.progress, seed=seed, mark=mark),
        done.interrupted,
    )


def _learn(problem, plan, budget):
    """Parameters, iterations and steps."""
    begin = time.perf_counter()
    blocks = _make_blocks(problem, plan, None, int(problem.rng.randint(2**31)))[0]
    seconds = time.perf_counter() - begin
    start = problem.start.parameters
    run = learn_stochastic if problem.settings.optimizer == "adam" else learn_on_sample
    try:
        keep_time_for_all_blocks(problem, plan, start, blocks, budget, seconds)
        return run(problem, plan, blocks, budget)
    except NotPositiveDefiniteError as error:
        check_shares(plan.model, error)
        raise explained(error, problem.rows, start.noise_variance) from error


def _size(plan):
    """Rows of a block from which later ones are counted."""
    return max(plan.block_size, plan.partition.block_size)


def _mark(problem, plan, parameters):
    """What must be the same for steps to go on; None where they cannot."""
    if not plan.continues or plan.schedule is None or problem.learns:
        return None
    rows = problem.rows
    parts = (rows.X, rows.y, rows.weight, rows.y_mean, rows.y_scale, rows.labels, parameters.Z)
    return (
        *(fingerprint(part) for part in parts),
        fingerprint(parameters.kernel.sklearn_kernel),
        fingerprint(parameters.noise_variance),
        repr((plan, problem.settings.jitter)),
    )


def _make_blocks(problem, plan, parameters, seed):
    """Blocks, partition and labels: at the inputs' scales, or at learned length scales."""
    rows = problem.rows
    if rows.labels is not None:
        labels = np.unique(rows.labels)
        blocks = Blocks(replace(rows, labels=None), position_of(rows.labels, labels))
        return check_sizes(blocks, plan.model), None, labels
    if not plan.model.dense:
        order = np.random.RandomState(seed).permutation(len(rows))
        return Blocks(rows, order // ROW_BLOCK), None, None
    std = np.asarray(rows.X[:: max(1, len(rows) // 50_000)], dtype=np.float64).std(axis=0)
    std = np.where(std > 0, std, 1.0)
    scale = std
    if parameters is not None:
        scale = np.minimum(input_scales(parameters.kernel, std), _LARGEST_SCALE * std)
    partition = plan.partition.make(scale)
    blocks = Blocks(rows, partition.fit(rows.X, problem.rng))
    return check_sizes(blocks, plan.model), partition, None
