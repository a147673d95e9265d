"""How a fit in blocks goes: learn on sampled blocks, partition anew, then all blocks once or more.

Rows of a later batch join blocks, and only what changes is computed again. The counterpart of
`fitting/stages.py` and `partial_fit.py` for models whose factors belong to blocks of rows.
"""

import time
from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._parallel import one_blas_thread_each
from ...collections.blocks import Renumbered, blocks_of, regrouped
from ...data.inducing import choose_inducing
from ...factors.block_sums import block_sums
from ...factors.passes import Pieces
from ...kernels._length_scales import input_scales, nearness_scales
from ...kernels.categories._units import units_of
from ...optimize.budget import Budget
from ...partitions.blocks import Blocks
from ...partitions.partition import LARGEST_SHARE, position_of
from ..diagnostics import warn_of_weak_spots
from ..fingerprints import fingerprint
from ..variational.schedule import refinement_sizes
from .composite_likelihood import can_learn, learn_from_near_rows
from .final_posterior import (
    check_shares,
    explained,
    finish,
    keep_time_for_all_blocks,
    with_enough_jitter,
)
from .hyperparameters import learn_on_sample
from .natural_gradient import learn_stochastic
from .state import BlockFitResult, Progress, check_sizes

# Rows of a block of a model whose factors are rows: any number gives the same sums.
ROW_BLOCK = 1024
# Logarithms of length scales may move so far before near rows are searched for anew.
_SAME_SCALE = 0.2


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
        problem, parameters, n_iter, n_steps = _learn(problem, plan, budget)
    mark = _mark(problem, plan, parameters)
    if mark is not None and before is not None and before.progress.mark == mark:
        seed = before.progress.seed
    else:
        before, seed = None, int(problem.rng.randint(2**31))
    if before is not None and before.blocks is not None:
        blocks, partition, labels = before.blocks, before.partition, before.labels
    else:
        made = _blocks_again(problem, parameters) or _make_blocks(problem, plan, parameters, seed)
        blocks, partition, labels = made
    with one_blas_thread_each(problem.settings.n_jobs):
        done = finish(problem, plan, parameters, blocks, budget, before, n_iter, n_steps)
    if not done.interrupted:
        warn_of_weak_spots(problem, done.result, plan.model.dense)
    return BlockFitResult(
        done.result,
        plan.specification,
        done.constant,
        _kept(blocks, plan),
        partition,
        labels,
        _size(plan),
        replace(done.progress, seed=seed, mark=mark),
        done.interrupted,
    )


def _kept(blocks, plan):
    """Blocks that predictions or later batches need, or None."""
    if not plan.model.dense:
        return None
    if blocks.rows.live_elsewhere:  # they stay where they are
        return blocks if plan.uses_near_rows else None
    return blocks.owned() if plan.copies and not blocks.sorted else blocks


def _learn(problem, plan, budget):
    """The problem with its kernel chosen, parameters, iterations and steps."""
    rows = problem.rows
    if rows.live_elsewhere and plan.model.dense and rows.labels is None:
        learned, *found = _learn(replace(problem, rows=_sample(problem)), plan, budget)
        return replace(learned, rows=rows), *found
    start = problem.start.parameters
    near = plan.uses_near_rows and not problem.rows.live_elsewhere and can_learn(problem)
    begin = time.perf_counter()
    blocks = None
    again = _blocks_again(problem, start)
    if again is not None:
        blocks = again[0]
    elif budget.is_limited or not near:
        blocks = _make_blocks(problem, plan, None, int(problem.rng.randint(2**31)))[0]
    seconds = time.perf_counter() - begin
    try:
        keep_time_for_all_blocks(problem, plan, start, blocks, budget, seconds)
        if problem.settings.optimizer == "adam":
            return problem, *learn_stochastic(problem, plan, blocks, budget)
        if near:
            return _learn_near(problem, plan, budget)
        return problem, *learn_on_sample(problem, plan, blocks, budget, _rearranged(problem, plan))
    except NotPositiveDefiniteError as error:
        check_shares(plan.model, error)
        raise explained(error, problem.rows, start.noise_variance) from error


def _learn_near(problem, plan, budget):
    """Kernel and noise from near rows; then inducing inputs for them."""
    chosen, parameters, n_iter = learn_from_near_rows(problem, budget)
    rows, problem = problem.rows, replace(problem, start=chosen)
    if plan.inducing is not None:
        scale = input_scales(parameters.kernel, _column_std(rows))
        Z = choose_inducing(
            plan.inducing,
            rows.X,
            rows.observations,
            len(parameters.Z),
            parameters.kernel,
            scale,
            problem.rng,
        )
        parameters = parameters.with_values(Z=Z)
    return problem, parameters, n_iter, 0


def _rearranged(problem, plan):
    """What makes blocks anew where near rows are what the model depends on, else None."""
    if plan.conditioning is None:
        return None
    return lambda found: _make_blocks(problem, plan, found, int(problem.rng.randint(2**31)))[0]


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


def _blocks_again(problem, parameters):
    """Blocks, partition and labels of the fit before, None where length scales have moved far."""
    before = problem.before
    if before is None or before.blocks is None:
        return None
    if before.partition is not None:
        scale = nearness_scales(parameters.kernel, _column_std(problem.rows))
        if scale.largest_change(before.partition.scale) > _SAME_SCALE:
            return None
    return before.blocks.weighted_as(problem.rows), before.partition, before.labels


def _make_blocks(problem, plan, parameters, seed):
    """Blocks, partition and labels: at the inputs' scales, or at learned length scales."""
    rows = problem.rows
    if rows.live_elsewhere and plan.model.dense and rows.labels is None:
        return _blocks_apart(problem, plan, parameters)
    if rows.live_elsewhere:
        blocks = check_sizes(blocks_of(rows, ROW_BLOCK, np.random.RandomState(seed)), plan.model)
        return blocks, None, blocks.block_labels
    if rows.labels is not None:
        labels = np.unique(rows.labels)
        blocks = Blocks(replace(rows, labels=None), position_of(rows.labels, labels))
        if plan.conditioning is not None:
            blocks = plan.conditioning.chained(blocks, np.arange(len(blocks)))
        return check_sizes(blocks, plan.model), None, labels
    if not plan.model.dense:
        order = np.random.RandomState(seed).permutation(len(rows))
        return Blocks(rows, order // ROW_BLOCK), None, None
    scale = _scale(problem, parameters)
    if plan.conditioning is not None:
        blocks, partition = plan.conditioning.make(rows, plan.partition, scale, problem.rng)
    else:
        partition = plan.partition.make(scale)
        blocks = Blocks(rows, partition.fit(rows.X, problem.rng))
    return check_sizes(blocks, plan.model), partition, None


def _scale(problem, parameters):
    """Units of the inputs for distances."""
    std = _column_std(problem.rows)
    if parameters is None:
        return units_of(problem.start.parameters.kernel, std)
    return nearness_scales(parameters.kernel, std)


def _blocks_apart(problem, plan, parameters):
    """Blocks of rows that live elsewhere, by a partition of a sample of them."""
    rows, sample = problem.rows, _sample(problem)
    size = max(2, round(plan.partition.block_size * len(sample) / len(rows)))
    partition = replace(plan.partition, block_size=size).make(_scale(problem, parameters))
    partition.fit(sample.X, problem.rng)
    blocks = check_sizes(regrouped(rows, partition), plan.model)
    return blocks, Renumbered(partition, blocks.block_labels), None


def _sample(problem):
    """As many of the rows as learning looks at, in memory."""
    size = refinement_sizes(len(problem.rows), problem.settings.init_size)[-1]
    return problem.rows.random_subset(size, problem.rng)


def _column_std(rows):
    std = np.asarray(rows.X[:: max(1, len(rows) // 50_000)], dtype=np.float64).std(axis=0)
    return np.where(std > 0, std, 1.0)


def add_rows(found, rows, settings, rng):
    """Add rows to blocks, at fixed kernel, noise and inducing inputs: only what changes is redone.

    Parameters
    ----------
    found : BlockFitResult
    rows : Rows
        Of positive weight, targets scaled as before, with labels where the first batch had some.
        Unknown labels begin new blocks, as do rows of a model without blocks. Blocks of a partition
        that have grown too large are split by its rule.
    settings : Settings
    rng : numpy.random.RandomState

    Returns
    -------
    found : BlockFitResult

    Raises
    ------
    ValueError
        If there are no labels and the first batch had some, or if a block is too large.
    """
    stayed = found.blocks is None or found.blocks.rows.live_elsewhere
    if stayed and found.specification.model.dense:
        raise ValueError(
            "partial_fit needs the blocks of the rows before, which stayed on the workers of a "
            "dask collection. Fit on arrays, or all rows at once."
        )
    known, labels, partition = found.labels, rows.labels, found.partition
    if labels is None and known is not None:
        raise ValueError("blocks must be given, as they were in the first batch. Got None.")
    if labels is not None:
        known = np.concatenate([known, np.setdiff1d(labels, known)])
        numbers = position_of(labels, known)
    elif partition is not None:
        partition, numbers = partition.joined_by(rows.X)
    else:
        numbers = found.n_blocks + np.arange(len(rows)) // ROW_BLOCK
    if found.blocks is None:
        return replace(_joined(found, rows, numbers, settings), labels=known)
    if found.blocks.is_conditioned:
        added = _conditioned(found, rows, numbers, settings, rng)
        return replace(added, partition=partition, labels=known)
    blocks = found.blocks.extended(rows, numbers)
    if partition is not None:
        partition, blocks = _split(partition, blocks, np.unique(numbers), found.block_size, rng)
    check_sizes(blocks, found.specification.model)
    added = _replaced(found, rows, blocks, np.unique(numbers), settings)
    return replace(added, blocks=blocks, partition=partition, labels=known)


def _conditioned(found, rows, cells, settings, rng):
    """New groups join, conditioned on earlier rows; no factor of an earlier group changes."""
    blocks = found.blocks.layout.with_rows(found.blocks, rows, cells, rng)
    check_sizes(blocks, found.specification.model)
    new = np.arange(found.n_blocks, len(blocks))
    return replace(_replaced(found, rows, blocks, new, settings), blocks=blocks)


def _split(partition, blocks, changed, size, rng):
    """Partition and blocks without blocks that are too large."""
    labels, sizes = blocks.labels, np.diff(blocks.bounds)
    for k in changed[sizes[changed] > LARGEST_SHARE * size]:
        own = np.flatnonzero(labels == k)
        partition, labels[own] = partition.split(k, blocks.rows.X[own], size, rng)
    return partition, Blocks(blocks.rows, labels)


def _joined(found, rows, numbers, settings):
    """Independent rows: their information joins that of the others, which are not kept."""
    posterior, progress = found.result.posterior, found.progress
    pieces = [rows.select(slice(lo, lo + ROW_BLOCK)) for lo in range(0, len(rows), ROW_BLOCK)]
    try:
        added = _sums(found, posterior.prior, pieces, settings)
        sums = _WithEvidence(posterior.joined(added.posterior), found.constant + added.constant)
    except NotPositiveDefiniteError as error:
        raise explained(error, rows, found.result.parameters.noise_variance) from error
    more = max(0, int(numbers.max()) + 1 - found.n_blocks)
    seen = np.pad(progress.seen, (0, more), constant_values=True)
    return _with(found, sums, rows, seen, progress.n_rows + len(rows))


def _replaced(found, rows, blocks, changed, settings):
    """Dense blocks: those that were hit come in place of their old selves."""
    before, s2 = found.result.posterior, found.result.parameters.noise_variance
    known = changed[changed < found.n_blocks]
    old = [found.blocks(k) for k in known]
    new = np.concatenate([known, np.arange(found.n_blocks, len(blocks))])

    def all_blocks(prior):
        every = [blocks(k) for k in range(len(blocks))]
        return _WithEvidence(*_sums(found, prior, every, settings))

    seen = np.pad(found.progress.seen, (0, len(blocks) - found.n_blocks))
    seen[new] = True
    try:
        added = _sums(found, before.prior, [blocks(k) for k in new], settings)
        posterior, constant = before.joined(added.posterior), found.constant + added.constant
        if old:
            removed = _sums(found, before.prior, old, settings)
            posterior = posterior.joined(removed.posterior.scaled(-1.0))
            constant -= removed.constant
        sums = _WithEvidence(posterior, constant)
    except NotPositiveDefiniteError:
        # rounding, or a block was taken out that a partial epoch had never seen
        model, seen = found.specification.model, np.ones(len(blocks), dtype=bool)
        sums = with_enough_jitter(all_blocks, before.prior, settings, model, blocks.rows, s2)
    return _with(found, sums, rows, seen, int(np.diff(blocks.bounds)[seen].sum()))


class _WithEvidence:
    """A posterior and its evidence, or a NotPositiveDefiniteError where it has none."""

    def __init__(self, posterior, constant):
        posterior.warm_cache()
        self.posterior, self.constant = posterior, constant
        self.objective = posterior.log_evidence(constant)


def _sums(found, prior, pieces, settings):
    s2, model = found.result.parameters.noise_variance, found.specification.model
    return block_sums(prior, Pieces(pieces, n_jobs=settings.n_jobs), s2, model)


def _with(found, sums, rows, seen, n_rows):
    """What is found with the sums of more rows."""
    result = replace(
        found.result,
        posterior=sums.posterior,
        objective=sums.objective,
        jitter=sums.posterior.prior.jitter,
        weight=found.result.weight + rows.total_weight,
    )
    return replace(found, result=result, constant=sums.constant, progress=Progress(seen, n_rows))
