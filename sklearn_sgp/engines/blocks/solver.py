"""How a fit in blocks goes: learn on sampled blocks, partition anew, then all blocks once or more.

Rows of a later batch join blocks, and only what changes is computed again. The counterpart of
`variational/schedule.py` and `partial_fit.py` for models whose factors belong to blocks of rows.
"""

import time
from dataclasses import replace
from functools import reduce

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._parallel import single_blas_thread
from ...collections.blocks import Renumbered, blocks_of, regrouped
from ...data.column_spread import column_mean_std
from ...data.inducing import choose_inducing
from ...factors.block_sums import block_sums
from ...factors.joined_rows import KnownBlocks, kept, may_join, sums_of_joined
from ...factors.passes import Pieces
from ...gp.posterior import Posterior
from ...kernels._length_scales import input_scales, nearness_scales
from ...kernels.categories._units import largest_change, units_of
from ...optimize.budget import Budget
from ...partitions.blocks import NOT_KEPT, Blocks
from ...partitions.partition import LARGEST_SHARE, GivenBlocks, IndependentRows
from ..ascent import Run
from ..fingerprints import fingerprint
from ..fitted import Fitted
from ..standard_units import GivenUnits, learning_units
from ..variational.schedule import looks_at_all, refinement_sizes
from .class_scale import with_variance_of_labels
from .composite_learning import can_learn, learn_from_near_rows
from .final_posterior import (
    check_shares,
    explained,
    final_posterior,
    keep_time_for_all_blocks,
    with_enough_jitter,
)
from .honest_noise import with_honest_noise
from .hyperparameters import learn_on_sample
from .natural_gradient import learn_stochastic
from .state import BlockState, Progress, check_sizes

# Rows of a block of a model whose factors are rows: any number gives the same sums.
ROW_BLOCK = 1024
# Logarithms of length scales may move so far before near rows are searched for anew.
_SAME_SCALE = 0.2


def fit_in_blocks(problem, plan, previous=None):
    """Learn hyperparameters, then find q(u).

    Where nothing but the number of steps has changed, those of a ``previous`` fit, a `Fitted`, go
    on. That is with ``warm_start``; ``problem.previous`` is the fit before in an alternation.

    Raises
    ------
    ValueError
        If a block is too large, or a covariance is not positive definite at any jitter.
    """
    learned, n_steps = Run(problem.start.parameters, -np.inf, 0), 0
    budget = Budget(problem.trace.clock)
    if problem.learns:
        units = GivenUnits() if plan.model.dense else learning_units(problem)
        with units.told(problem.trace):
            posed = units.posed(problem, looks_at_all(problem))
            found, learned, n_steps = _learn(posed, plan, budget)
        problem, learned = units.again(problem, found), units.run_again(learned)
    parameters = learned.parameters
    mark = _mark_of_steps(problem, plan, parameters)
    if mark is not None and previous is not None and previous.state.progress.mark == mark:
        seed = previous.state.progress.seed
    else:
        previous, seed = None, int(problem.rng.randint(2**31))
    if previous is not None and previous.state.blocks.is_kept:
        blocks, partition = previous.state.blocks, previous.state.partition
    else:
        made = _blocks_again(problem, parameters) or _make_blocks(problem, plan, parameters, seed)
        blocks, partition = made
    with single_blas_thread():
        final = final_posterior(problem, plan, learned, blocks, budget, previous)
    state = BlockState(
        plan.specification,
        final.constant,
        _kept(blocks, plan),
        partition,
        max(plan.block_size, plan.partition.block_size),
        replace(final.progress, seed=seed, mark=mark),
    )
    return Fitted(
        problem.start,
        parameters,
        state.predictor(final.posterior, parameters.noise_variance),
        final.objective,
        final.posterior.prior.jitter,
        learned.n_iter + final.n_iter,
        n_steps + final.n_steps,
        problem.rows.total_weight,
        n_samples=problem.n_samples or len(problem.rows),
        n_used=final.n_used,
        times=_times(blocks, plan, final),
        state=state,
        interrupted=final.interrupted,
        cut_by=learned.cut_by,
    )


def _times(blocks, plan, final):
    """Return how often each row counts, as `Fitted` has it."""
    if final.n_used is None or plan.uses_near_rows or blocks.rows.live_elsewhere:
        return None
    number, _ = blocks.within(np.arange(len(blocks.rows)))
    return final.progress.seen[number].astype(np.float64)


def _kept(blocks, plan):
    """Return the blocks that predictions or later batches need, if any."""
    if not plan.model.dense:
        return NOT_KEPT
    if blocks.rows.live_elsewhere:  # they stay where they are
        return blocks if plan.uses_near_rows else NOT_KEPT
    return blocks.owned() if plan.copies and not blocks.sorted else blocks


def _learn(problem, plan, budget):
    """Return the problem with its kernel chosen, a `Run` and the number of steps."""
    rows = problem.rows
    if _is_partitioned_apart(rows, plan):
        learned, *result = _learn(replace(problem, rows=_sample(problem)), plan, budget)
        return replace(learned, rows=rows), *result
    start = problem.start.parameters
    near = plan.uses_near_rows and not problem.rows.live_elsewhere and can_learn(problem)
    begin = time.perf_counter()
    blocks = None
    again = _blocks_again(problem, start)
    if again is not None:
        blocks = again[0]
    elif budget.is_limited or not near:  # with limited time, to see what all blocks will take
        blocks = _make_blocks(problem, plan, None, int(problem.rng.randint(2**31)))[0]
    seconds = time.perf_counter() - begin
    try:
        keep_time_for_all_blocks(problem, plan, start, blocks, budget, seconds)
        if problem.settings.optimizer == "adam":
            return problem, *learn_stochastic(problem, plan, blocks, budget)
        if not near:
            anew = _rearranged(problem, plan)
            return problem, learn_on_sample(problem, plan, blocks, budget, anew), 0
        chosen, parameters, n_iter, cut_by = learn_from_near_rows(problem, budget)
        problem = replace(problem, start=chosen)
        parameters = with_honest_noise(problem, parameters, budget)
        if not budget.is_limited:
            parameters = with_variance_of_labels(problem, parameters)
        parameters = with_inducing(problem, plan, parameters)
        # the composite likelihood of groups is no objective of all rows: `final_posterior` has that
        return problem, Run(parameters, np.nan, n_iter, cut_by), 0
    except NotPositiveDefiniteError as error:
        check_shares(plan.model, error)
        raise explained(error, problem.rows, start.noise_variance) from error


def with_inducing(problem, plan, parameters):
    """Choose inducing inputs for a kernel that was learned; those given stay."""
    if plan.inducing is None:
        return parameters
    rows = problem.rows
    scale = input_scales(parameters.kernel, _column_std(rows))
    chosen = rows.X, rows.observations, len(parameters.Z), parameters.kernel, scale
    chosen = *chosen, problem.rng, problem.trace.clock.left()
    return parameters.with_values(Z=choose_inducing(plan.inducing, *chosen))


def _rearranged(problem, plan):
    """Return a function that makes blocks anew where the model depends on near rows, else None."""
    if plan.conditioning is None:
        return None
    return lambda result: _make_blocks(problem, plan, result, int(problem.rng.randint(2**31)))[0]


def _mark_of_steps(problem, plan, parameters):
    """Return what must be the same for steps to go on; None where they cannot."""
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
    """Return blocks and partition of `problem.previous`, None if length scales moved far."""
    before = None if problem.previous is None else problem.previous.state
    if before is None or not before.blocks.is_kept:
        return None
    if before.partition.by_inputs:
        scale = nearness_scales(parameters.kernel, _column_std(problem.rows))
        if largest_change(scale, before.partition.scale) > _SAME_SCALE:
            return None
    return before.blocks.weighted_as(problem.rows), before.partition


def _make_blocks(problem, plan, parameters, seed):
    """Make blocks and their partition, at the inputs' scales or at learned length scales."""
    rows = problem.rows
    if _is_partitioned_apart(rows, plan):
        return _blocks_apart(problem, plan, parameters)
    if rows.live_elsewhere:
        blocks = check_sizes(blocks_of(rows, ROW_BLOCK, np.random.RandomState(seed)), plan.model)
        named = blocks.block_labels
        return blocks, IndependentRows(ROW_BLOCK) if named is None else GivenBlocks(named)
    if rows.labels is not None:
        given = GivenBlocks(np.unique(rows.labels))
        blocks = Blocks(replace(rows, labels=None), given.number(rows))
        if plan.conditioning is not None:
            blocks = plan.conditioning.chained(blocks, np.arange(len(blocks)))
        return check_sizes(blocks, plan.model), given
    if not plan.model.dense:
        order = np.random.RandomState(seed).permutation(len(rows))
        return Blocks(rows, order // ROW_BLOCK), IndependentRows(ROW_BLOCK)
    scale = _scale(problem, parameters)
    if plan.conditioning is not None:
        blocks, partition = plan.conditioning.make(rows, plan.partition, scale, problem.rng)
    else:
        partition = plan.partition.make(scale)
        blocks = Blocks(rows, partition.fit(rows.X, problem.rng))
    return check_sizes(blocks, plan.model), partition


def _is_partitioned_apart(rows, plan):
    """Return whether rows live elsewhere, and a partition says which blocks they are of."""
    return rows.live_elsewhere and plan.model.dense and rows.labels is None


def _scale(problem, parameters):
    """Return units of the inputs for distances.

    Before learning, when ``parameters`` are None, they are the deviations of the columns: length
    scales are those of the start, and say nothing of the data.
    """
    std = _column_std(problem.rows)
    if parameters is None:
        return units_of(problem.start.parameters.kernel, std)
    return nearness_scales(parameters.kernel, std)


def _blocks_apart(problem, plan, parameters):
    """Make blocks of rows that live elsewhere, by a partition of a sample of them."""
    rows, sample = problem.rows, _sample(problem)
    size = max(2, round(plan.partition.block_size * len(sample) / len(rows)))
    partition = replace(plan.partition, block_size=size).make(_scale(problem, parameters))
    partition.fit(sample.X, problem.rng)
    blocks = check_sizes(regrouped(rows, partition), plan.model)
    return blocks, Renumbered(partition, blocks.block_labels)


def _sample(problem):
    """Draw as many of the rows as learning looks at, into memory."""
    size = refinement_sizes(len(problem.rows), problem.settings.init_size)[-1]
    return problem.rows.random_subset(size, problem.rng)


def _column_std(rows):
    return column_mean_std(rows.X, rows.observations)[1]


def add_to_blocks(fitted, problem):
    """Add rows to blocks, at fixed kernel, noise and inducing inputs: only what changes is redone.

    Parameters
    ----------
    problem : Problem
        With rows of positive weight, targets scaled as before, and labels where the first batch had
        them. Unknown labels begin new blocks, as do rows of a model without blocks. Blocks of a
        partition that have grown too large are split by its rule.

    Raises
    ------
    ValueError
        If a block is too large.
    """
    state, rows = fitted.state, problem.rows
    if not state.keeps_rows and state.specification.model.dense:
        raise ValueError(
            "partial_fit needs the blocks of the rows before, which stayed on the workers of a "
            "dask collection. Fit on arrays, or all rows at once."
        )
    partition, numbers = state.partition.joined_by(rows, state.n_blocks)
    update = _Update(fitted, rows, problem.settings, partition)
    if not state.blocks.is_kept:
        return update.joined(numbers)
    if state.blocks.is_conditioned:
        grows = rows, numbers, partition, state.block_size, problem.rng
        blocks, partition = state.blocks.layout.with_rows(state.blocks, *grows)
        check_sizes(blocks, state.specification.model)
        changed = np.arange(state.n_blocks, len(blocks))
        return update.replaced(blocks, partition, changed)
    changed, counts = np.unique(numbers, return_counts=True)
    blocks = state.blocks.extended(rows, numbers)
    if partition.by_inputs:
        partition, blocks = _split(partition, blocks, changed, state.block_size, problem.rng)
    check_sizes(blocks, state.specification.model)
    return update.replaced(blocks, partition, changed, counts)


def _split(partition, blocks, changed, size, rng):
    """Return partition and blocks, those that are too large split."""
    labels, sizes = blocks.labels, np.diff(blocks.bounds)
    for k in changed[sizes[changed] > LARGEST_SHARE * size]:
        own = np.flatnonzero(labels == k)
        partition, labels[own] = partition.split(k, blocks.rows.X[own], size, rng)
    return partition, Blocks(blocks.rows, labels)


class _Update:
    """A fitted model that more rows join; the partition knows of their blocks."""

    def __init__(self, fitted, rows, settings, partition):
        self.fitted, self.rows, self.settings = fitted, rows, settings
        self.state = replace(fitted.state, partition=partition)
        self.noise_variance = fitted.parameters.noise_variance

    def joined(self, numbers):
        """Add the information of independent rows, which are not kept."""
        posterior, progress, rows = self.fitted.posterior, self.state.progress, self.rows
        pieces = [rows.select(slice(lo, lo + ROW_BLOCK)) for lo in range(0, len(rows), ROW_BLOCK)]
        try:
            added = self._sums(posterior.prior, pieces)
            constant = self.state.constant + added.constant
            sums = _WithEvidence(posterior.joined(added.posterior), constant)
        except NotPositiveDefiniteError as error:
            raise explained(error, rows, self.noise_variance) from error
        more = max(0, int(numbers.max()) + 1 - self.state.n_blocks)
        seen = np.pad(progress.seen, (0, more), constant_values=True)
        return self._fitted(sums, self.state, Progress(seen, progress.n_rows + len(rows)))

    def replaced(self, blocks, partition, changed, counts=()):
        """Replace the factors of the blocks that gained rows, or put these to them.

        ``changed`` are the numbers of these blocks, ``counts`` of their new rows.
        """
        before, state = self.fitted.posterior, self.state
        joins = self._joins(blocks, changed, counts)
        known = [k for k in changed if k < state.n_blocks and k not in joins]
        new = np.append(known, np.arange(state.n_blocks, len(blocks))).astype(np.intp)

        # what sites and the noise of rows have added to the evidence is of no block
        more = state.site_constant + self.fitted.row_noise.constant

        def all_blocks(prior):
            posterior, constant = self._sums(prior, [blocks(k) for k in range(len(blocks))])
            return _WithEvidence(posterior, constant + more)

        seen = np.pad(state.progress.seen, (0, len(blocks) - state.n_blocks))
        seen[new] = True
        try:
            old = [state.blocks(k) for k in known if state.progress.seen[k]]
            sums, held = self._changes(blocks, joins, new, old)
            constant = state.constant + sum(part.constant for part in sums)
            posterior = reduce(Posterior.joined, [part.posterior for part in sums], before)
            sums = _WithEvidence(posterior, constant)
        except NotPositiveDefiniteError:
            # rounding, or steps that weigh blocks unequally
            model, seen, held = state.specification.model, np.ones(len(blocks), dtype=bool), {}
            sums = with_enough_jitter(
                all_blocks, before.prior, self.settings, model, blocks.rows, self.noise_variance
            )
        progress = Progress(seen, int(np.diff(blocks.bounds)[seen].sum()))
        held = KnownBlocks((blocks, sums.posterior.prior), held)
        state = replace(state, blocks=blocks, partition=partition, held=held)
        return self._fitted(sums, state, progress)

    def _joins(self, blocks, changed, counts):
        """Return blocks that new rows join, none of which was split, and their sizes before."""
        state = self.state
        if not may_join(state.specification.model, self.rows):
            return {}
        sizes, before = np.diff(blocks.bounds), np.diff(state.blocks.bounds)
        pairs = zip(changed, counts, strict=True)
        some = [(k, n) for k, n in pairs if k < state.n_blocks and state.progress.seen[k]]
        return {k: before[k] for k, n in some if sizes[k] == before[k] + n}

    def _changes(self, blocks, joins, new, old):
        """Return the sums of what changes, and what is known of blocks that rows join."""
        prior, sums = self.fitted.posterior.prior, []
        held = self.state.held.among(self.state.blocks, prior)
        held = {k: one for k, one in held.items() if k not in new}
        if len(new):
            sums.append(self._sums(prior, [blocks(k) for k in new]))
        if old:
            sums.append(self._sums(prior, old).scaled(-1.0))
        if joins:
            some = {k: blocks(k) for k in joins}
            given = joins, held, self.noise_variance, self.settings.n_jobs
            joined, found = sums_of_joined(prior, some, *given)
            sums.append(joined)
            held = kept(held, found)
        return sums, held

    def _sums(self, prior, pieces):
        pieces = Pieces(pieces, n_jobs=self.settings.n_jobs)
        return block_sums(prior, pieces, self.noise_variance, self.state.specification.model)

    def _fitted(self, sums, state, progress):
        """Return the fitted model with the sums of more rows."""
        state = replace(state, constant=sums.constant, progress=progress)
        return replace(
            self.fitted,
            predictor=state.predictor(sums.posterior, self.noise_variance),
            objective=sums.objective / progress.share,
            jitter=sums.posterior.prior.jitter,
            weight=self.fitted.weight + self.rows.total_weight,
            state=state,
        )


class _WithEvidence:
    """A posterior and its evidence, or a NotPositiveDefiniteError where it has none."""

    def __init__(self, posterior, constant):
        posterior.warm_cache()
        self.posterior, self.constant = posterior, constant
        self.objective = posterior.log_evidence(constant)
