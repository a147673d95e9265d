"""How a fit in blocks goes: learn on sampled blocks, partition anew, then all blocks once or more.

The counterpart of `fitting/stages.py` for models whose factors belong to blocks of rows.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from .._linalg import NotPositiveDefiniteError
from .._warnings import warn_caller
from ..factors.block_sums import block_sums
from ..factors.passes import Pieces
from ..fitting.budget import Budget, measured_seconds
from ..fitting.problem import FitResult
from ..gp.jitter import SingularCovarianceError
from ..kernels._length_scales import input_scales
from .hyperparameters import learn_on_sample
from .models import Specification
from .natural_gradient import NaturalGradientAscent, learn_stochastic
from .partition import Blocks, PartitionChoice, check_labels, position_of
from .schedules import Average

# Rows of a block of a model whose factors are rows: any number gives the same sums.
_ROW_BLOCK = 1024
# Largest block of a model whose blocks are dense: its matrices take 3 GB each.
LARGEST_BLOCK = 20_000
# Blocks that a pass over all is timed with.
_TIMED_BLOCKS = 4
# Inputs whose length scales are so many standard deviations play no role in a partition.
_LARGEST_SCALE = 100.0


@dataclass(frozen=True)
class BlockPlan:
    """What distinguishes one fit in blocks from another.

    Parameters
    ----------
    specification : Specification
    schedule : RobbinsMonro, Average or None
        None visits every block once, in parallel.
    blocks_per_step : int
    partition : PartitionChoice
        Where the rows have no labels.
    """

    specification: Specification
    schedule: object
    blocks_per_step: int
    partition: PartitionChoice

    @property
    def model(self):
        """Of the posterior."""
        return self.specification.model

    @property
    def objective(self):
        """The model whose evidence is followed."""
        return self.specification.objective


@dataclass(frozen=True)
class BlockFitResult:
    """What a fit in blocks leaves behind.

    Parameters
    ----------
    result : FitResult
    specification : Specification
    constant : float
        Of the evidence.
    blocks : Blocks
    partition : object or None
        Assigns rows to blocks by their inputs; see partition.py.
    labels : ndarray or None
        The user's labels, in the order of the blocks.
    interrupted : bool
        Whether Ctrl-C ended the fit after some step.
    """

    result: FitResult
    specification: Specification
    constant: float
    blocks: Blocks
    partition: object
    labels: np.ndarray | None
    interrupted: bool = False

    def check_labels(self, labels, n_rows):
        """Labels of blocks as the first batch had them, or a ValueError."""
        if self.labels is None:
            raise ValueError(
                "blocks must be given to fit for other methods to take them. The model was fitted "
                "without labels: fit it with blocks=."
            )
        return check_labels(labels, n_rows, self.labels)

    def assign(self, X, labels=None):
        """Number of the block of each row, -1 for none."""
        if labels is not None:
            return position_of(labels, self.labels)
        if self.partition is None:
            return np.full(len(X), -1)
        return self.partition.assign(X)


def learn(problem, plan):
    """Learn hyperparameters, then find q(u).

    Parameters
    ----------
    problem : Problem
    plan : BlockPlan

    Returns
    -------
    found : BlockFitResult

    Raises
    ------
    ValueError
        If a block is too large, or the weights of a mixture leave no q(u).
    """
    try:
        return _learn(problem, plan)
    except NotPositiveDefiniteError as error:
        components = plan.model.components
        if len(components) == 1 or isinstance(error, SingularCovarianceError):
            raise
        shares = [share for _, share in components]
        raise ValueError(
            "The weights of the 'model' parameter must leave the precision of q(u) positive "
            f"definite on these rows. Got the weights {shares}: raise the negative weights."
        ) from error


def _learn(problem, plan):
    parameters, budget = problem.start.parameters, Budget(problem.trace.clock)
    n_iter = n_steps = 0
    if problem.learns:
        begin = time.perf_counter()
        blocks = _make_blocks(problem, plan)[0]
        partition_seconds = time.perf_counter() - begin
        budget.keep_for_finish(_pass_seconds(problem, plan, parameters, blocks, budget))
        budget.reserve += partition_seconds
        run = learn_stochastic if problem.settings.optimizer == "adam" else learn_on_sample
        parameters, n_iter, n_steps = run(problem, plan, blocks, budget)
    blocks, partition, labels = _make_blocks(problem, plan, parameters)
    result, constant, interrupted = _finish(
        problem, plan, parameters, blocks, budget, n_iter, n_steps
    )
    return BlockFitResult(
        result, plan.specification, constant, blocks, partition, labels, interrupted
    )


def _sums(problem, plan, prior, noise_variance, blocks, numbers):
    """`BlockSums` of some blocks."""
    pieces = Pieces([blocks(k) for k in numbers], n_jobs=problem.settings.n_jobs)
    return block_sums(prior, pieces, noise_variance, plan.model)


def _pass_seconds(problem, plan, parameters, blocks, budget):
    """Measured time of a pass over all blocks; 0 without a budget."""
    if not budget.is_limited:
        return 0.0
    prior, s2 = problem.prior(parameters), parameters.noise_variance
    count = min(_TIMED_BLOCKS, len(blocks))
    some = np.linspace(0, len(blocks) - 1, count).astype(int)
    seconds = measured_seconds(lambda: _sums(problem, plan, prior, s2, blocks, some))
    return seconds * len(blocks) / count


def _make_blocks(problem, plan, parameters=None):
    """Blocks, partition and labels: at the inputs' scales, or at learned length scales."""
    rows = problem.rows
    if rows.labels is not None:
        labels = np.unique(rows.labels)
        blocks = Blocks(replace(rows, labels=None), position_of(rows.labels, labels))
        return _checked(blocks, plan), None, labels
    if not plan.model.dense:
        return Blocks(rows, problem.rng.permutation(len(rows)) // _ROW_BLOCK), None, None
    std = np.asarray(rows.X[:: max(1, len(rows) // 50_000)], dtype=np.float64).std(axis=0)
    std = np.where(std > 0, std, 1.0)
    scale = std
    if parameters is not None:
        scale = np.minimum(input_scales(parameters.kernel, std), _LARGEST_SCALE * std)
    partition = plan.partition.make(scale)
    return _checked(Blocks(rows, partition.fit(rows.X, problem.rng)), plan), partition, None


def _checked(blocks, plan):
    largest = int(np.diff(blocks.bounds).max())
    if plan.model.dense and largest > LARGEST_BLOCK:
        raise ValueError(
            f"A block must have at most {LARGEST_BLOCK} rows, as it takes memory quadratic in "
            f"them. Got one of {largest}: split it, or use a model of independent rows, 'fitc'."
        )
    return blocks


def _finish(problem, plan, parameters, blocks, budget, n_iter, n_steps):
    """q(u) from all blocks, in one pass or step by step while time and epochs last."""
    prior, interrupted = problem.settings.final_prior(parameters), False
    s2 = parameters.noise_variance
    if plan.schedule is None:
        posterior, constant = _affordable_sums(problem, plan, prior, s2, blocks, budget)
        epochs = 1
    else:
        ascent, interrupted = _ascend(problem, plan, prior, s2, blocks)
        posterior, constant = ascent.posterior, ascent.constant
        n_steps += ascent.n_steps
        epochs = max(1, round(ascent.epochs))
    posterior.warm_cache()
    objective = posterior.log_evidence(constant)
    problem.trace.add(objective, lambda: parameters)
    result = FitResult(
        problem.start, parameters, posterior, objective, prior.jitter, n_iter + epochs, n_steps
    )
    return result, constant, interrupted


def _affordable_sums(problem, plan, prior, s2, blocks, budget):
    """Sums over all blocks, or over as many as the time left allows for, scaled to all."""
    order, count = problem.rng.permutation(len(blocks)), len(blocks)
    timed = _TIMED_BLOCKS
    if not budget.is_limited or problem.trace.stopped or count <= timed:
        return _sums(problem, plan, prior, s2, blocks, range(count))
    begin = time.perf_counter()
    sums = _sums(problem, plan, prior, s2, blocks, order[:timed])
    seconds_each = (time.perf_counter() - begin) / timed
    chosen = order[timed : timed + budget.affordable(count - timed, seconds_each)]
    if len(chosen):
        sums = sums.joined(_sums(problem, plan, prior, s2, blocks, chosen))
    used = timed + len(chosen)
    if used == count:
        return sums
    warn_caller(
        f"max_time={problem.trace.clock.max_time:g} seconds leave no time for all {count} blocks: "
        f"q(u) rests on {used} of them, scaled up. Raise max_time or lower block_size.",
    )
    return sums.scaled(count / used)


def _ascend(problem, plan, prior, s2, blocks):
    """Steps until time or epochs are over, and whether Ctrl-C ended them."""
    settings, clock = problem.settings, problem.trace.clock
    t = problem.rows.y.shape[1]
    ascent = NaturalGradientAscent(prior, s2, plan.model, blocks, plan.schedule, t, settings.n_jobs)
    epochs = 1 if isinstance(plan.schedule, Average) else settings.max_iter
    for chosen in plan.schedule.draw(len(blocks), plan.blocks_per_step, problem.rng):
        begin = time.perf_counter()
        try:
            ascent.step(chosen)
        except KeyboardInterrupt:
            if not ascent.n_steps:
                raise
            return ascent, True
        spent = settings.max_steps is not None and ascent.n_steps >= settings.max_steps
        late = clock.left() < time.perf_counter() - begin
        if spent or late or problem.trace.stopped or ascent.epochs >= epochs:
            return ascent, False
    raise AssertionError("schedules do not end")


def add_rows(found, rows, n_jobs=None):
    """Add rows to blocks, at fixed kernel, noise and inducing inputs: only what changes is redone.

    Parameters
    ----------
    found : BlockFitResult
    rows : Rows
        Of positive weight, targets scaled as before, with labels where the first batch had some.
        Unknown labels begin new blocks, as do rows of a model without blocks.
    n_jobs : int or None

    Returns
    -------
    found : BlockFitResult

    Raises
    ------
    ValueError
        If there are no labels and the first batch had some.
    """
    known, labels = found.labels, rows.labels
    if labels is None and known is not None:
        raise ValueError("blocks must be given, as they were in the first batch. Got None.")
    if labels is not None:
        known = np.concatenate([known, np.setdiff1d(labels, known)])
        numbers = position_of(labels, known)
    elif found.partition is not None:
        numbers = found.partition.assign(rows.X)
    else:
        numbers = len(found.blocks) + np.arange(len(rows)) // _ROW_BLOCK
    result, constant, blocks = _added(found, rows, numbers, n_jobs)
    return replace(found, result=result, constant=constant, blocks=blocks, labels=known)


def _added(found, rows, numbers, n_jobs):
    result, blocks, model = found.result, found.blocks, found.specification.model
    prior, s2 = result.posterior.prior, result.parameters.noise_variance
    extended, changed = blocks.extended(rows, numbers), np.unique(numbers)

    def sums(pieces):
        return block_sums(prior, Pieces(pieces, n_jobs=n_jobs), s2, model)

    old = [blocks(k) for k in changed if k < len(blocks)]
    posterior, constant = result.posterior, found.constant
    if old:
        gone = sums(old)
        posterior = posterior.joined(gone.posterior.scaled(-1.0))
        constant -= gone.constant
    come = sums([extended(k) for k in changed])
    posterior, constant = posterior.joined(come.posterior), constant + come.constant
    try:
        posterior.warm_cache()
    except NotPositiveDefiniteError:  # a block was taken out that a partial epoch had never seen
        posterior, constant = sums([extended(k) for k in range(len(extended))])
        posterior.warm_cache()
    objective = posterior.log_evidence(constant)
    return replace(result, posterior=posterior, objective=objective), constant, extended
