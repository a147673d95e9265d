"""Hyperparameters of models in blocks: L-BFGS on the evidence of sampled whole blocks, then more.

The evidence of PITC has an optimum where length scales are as long as inducing inputs can follow,
and one where they are as short as only data of the same block can use. Several starts are tried.
"""

import time

import numpy as np

from ..._parallel import blas_threads_for
from ..._warnings import warn_caller
from ...factors.block_factors import Model
from ...factors.passes import CHUNK
from ...objectives.block_evidence import block_evidence
from ...objectives.scores import Score
from ...optimize import time_shares
from ...optimize.budget import LEAST_EVALUATIONS, MIN_SECONDS, count_within, measured_seconds
from ...optimize.choices import Comparison
from ...optimize.lbfgs import ascend_lbfgs
from ..ascent import Ascents, better, inputs_at_kinks, lbfgs_memory
from ..exact_fits import exact_objective
from ..other_starts import of_the_same_kernel, random_starts, shorter_start
from ..variational.schedule import LARGEST_WEIGHT, refinement_sizes

# Starting length scales, as shares of those that inducing inputs can follow.
_STARTS = (1.0, 0.3, 0.1)
# Iterations after which only the best start goes on.
_BLOCK_TRIAL_ITERATIONS = 12
# Fewer blocks teach less than the variational bound of rows does.
_LEAST_BLOCKS = 8


def learn_on_sample(problem, plan, blocks, budget, rearranged=None):
    """Learn by L-BFGS on the evidence of sampled blocks: several starts on few, the best on more.

    ``rearranged(parameters)`` returns the blocks for later stages, once the first has learned; None
    keeps them.

    Returns
    -------
    run : Run
        Its iterations are those of all stages.
    """
    settings, trace, n_rows = problem.settings, problem.trace, len(problem.rows)
    order = problem.rng.permutation(len(blocks))
    init_size = n_rows if settings.optimizer == "lbfgs" else settings.init_size
    sample = _whole_blocks(blocks, order, init_size)
    seconds_each = _evaluation_seconds(problem, plan.objective, sample, budget)
    seconds = budget.stage_seconds(is_last=False)
    trials = len(_STARTS) * _BLOCK_TRIAL_ITERATIONS
    if seconds < trials * min(_LEAST_BLOCKS, len(sample)) * seconds_each:
        return _from_rows(problem, plan.objective, sample, budget, seconds_each)
    few = sample[: count_within(len(sample), seconds, trials * seconds_each)]
    run = _warm_start(problem, plan.objective, few, seconds, budget)
    anew = blocks if trace.stopped or rearranged is None else rearranged(run.parameters)
    if anew is not blocks:
        blocks, order = anew, problem.rng.permutation(len(anew))
        few = _whole_blocks(blocks, order, 1)  # those of the first stage are gone
    elif len(few) == len(blocks):
        return run
    sizes, n_iter = refinement_sizes(n_rows, init_size), run.n_iter
    for size in sizes:
        if trace.stopped:
            break
        seconds = budget.stage_seconds(is_last=size == sizes[-1])
        more_blocks = _whole_blocks(blocks, order, size)
        count = count_within(len(more_blocks), seconds, LEAST_EVALUATIONS * seconds_each)
        few = max(few, more_blocks[:count], key=len)
        copies = min(len(blocks) / len(few), LARGEST_WEIGHT)
        begin, most = run.parameters, settings.max_iter
        run = ascend_blocks(problem, plan.objective, few, begin, most, seconds, budget, copies)
        n_iter += run.n_iter
    return run._replace(n_iter=n_iter)


def _evaluation_seconds(problem, objective, sample, budget):
    """Measure the time of an evaluation, for each block; 0 without a budget."""
    if not budget.is_limited:
        return 0.0
    few, start = sample[:2], problem.start.parameters
    delta, n_jobs = problem.prior(start).delta, problem.settings.n_jobs
    return measured_seconds(
        lambda: block_evidence(start, few, delta, objective, n_jobs=n_jobs)
    ) / len(few)


def _from_rows(problem, objective, sample, budget, seconds_each):
    """Learn by the variational bound of some rows, then of blocks if there is time."""
    seconds, limit = budget.left(), problem.settings.max_iter
    for_blocks = (1.0 - time_shares.ROWS_BEFORE_BLOCKS) * seconds
    if len(_evaluable(sample, for_blocks, seconds_each)) >= min(_LEAST_BLOCKS, len(sample)):
        seconds *= time_shares.ROWS_BEFORE_BLOCKS
    rows = problem.rows.random_subset(problem.settings.init_size, problem.rng)
    chunks, bound = list(rows.chunks(CHUNK)), Model("diagonal", 0.0)
    start = problem.start.parameters
    first = ascend_blocks(problem, bound, chunks, start, limit, seconds)
    few = _evaluable(sample, budget.left(), seconds_each)  # the rows may have left more
    if problem.trace.stopped:
        return first
    if len(few) < min(_LEAST_BLOCKS, len(sample)):
        warn_caller(
            f"max_time={problem.trace.clock.max_time:g} seconds leave no time to learn from whole "
            "blocks: kernel, noise and inducing inputs are learned by the variational bound, which "
            "finds no structure within blocks. Raise max_time or lower block_size."
        )
        return first
    run = ascend_blocks(problem, objective, few, first.parameters, limit, budget.left(), budget)
    return run._replace(n_iter=first.n_iter + run.n_iter)


def _evaluable(sample, seconds, seconds_each):
    """Return the first blocks of a sample whose evidence there is time to follow."""
    return sample[: count_within(len(sample), seconds, LEAST_EVALUATIONS * seconds_each)]


def _warm_start(problem, objective, sample, seconds, budget):
    """Return the best `Run`; its iterations are those of all starts."""
    deadline, max_iter = time.perf_counter() + seconds, problem.settings.max_iter
    starts = [problem.start.parameters]
    if objective.dense:
        starts = [shorter_start(problem.start, share) for share in _STARTS]
    noisier = of_the_same_kernel(problem.start)
    starts += [one.parameters for one in noisier]
    starts += random_starts(problem)
    if len(starts) == 1 and not problem.space.learns("Z"):  # nothing to choose or to measure
        return ascend_blocks(problem, objective, sample, starts[0], max_iter, seconds, budget)
    trial, share = min(_BLOCK_TRIAL_ITERATIONS, max_iter), seconds / (2 * len(starts))
    names = [f"length scales {share:g}" for share in _STARTS] if objective.dense else ["as given"]
    names += ["more noise" for _ in noisier]
    names += [f"random ({k + 1})" for k in range(len(starts) - len(names))]
    comparison = Comparison("start", problem.trace)
    for start in comparison.over(zip(names, starts, strict=True)):
        with comparison:
            run = ascend_blocks(problem, objective, sample, start, trial, share, budget)
            value = problem.with_expected(run.parameters, run.value)
            comparison.add(run, Score.of_objective(value, problem.rows.total_weight))
    tried = comparison.best_first()
    best = last = tried[0].result
    n_iter = sum(one.result.n_iter for one in tried)
    if max_iter > trial and not problem.trace.stopped:
        left = deadline - time.perf_counter()
        last = ascend_blocks(
            problem, objective, sample, best.parameters, max_iter - trial, left, budget
        )
        best, n_iter = better(problem.space, best, last), n_iter + last.n_iter
    return last._replace(parameters=best.parameters, value=best.value, n_iter=n_iter)


def _whole_blocks(blocks, order, n_rows):
    """Return the first blocks of an order with about so many rows, at least one."""
    total = np.cumsum(np.diff(blocks.bounds)[order])
    chosen = order[: np.searchsorted(total, n_rows) + 1]
    return blocks.several(chosen)


def ascend_blocks(problem, objective, sample, start, max_iter, seconds, budget=None, copies=1.0):
    """Follow the evidence of some blocks; trace, and value of the `Run`, are scaled to all rows.

    Parameters
    ----------
    sample : list of Rows
    budget : Budget or None
        Evaluations tell it how fast the machine is, and the finish keeps its time.
    copies : float
        How many blocks each of these stands for.
    """
    settings, n_rows = problem.settings, sum(len(rows) for rows in sample)
    scale = problem.rows.total_weight / (copies * sum(rows.total_weight for rows in sample))
    of_blocks = f"{len(sample)} blocks, " if objective.dense else ""
    problem.trace.begin(f"learning from {of_blocks}{n_rows} of {len(problem.rows)} rows")
    deadline = time.perf_counter() + max(seconds, MIN_SECONDS)
    exact, held = _exact_and_held(problem, objective, sample, start, copies)
    options = held, settings, exact is not None, problem.has_given_inputs
    runs = Ascents(problem.space, start, max_iter, problem.trace, *options)

    def evidence(candidate):
        if exact is not None:
            return exact(candidate)
        value, gradient = block_evidence(
            candidate,
            sample,
            runs.delta,
            objective,
            copies=copies,
            with_inputs=problem.space.learns("Z"),
            n_jobs=settings.n_jobs,
        )
        return value, runs.moves(gradient)

    with blas_threads_for(n_rows if exact is not None else 0):
        while not runs.is_over:
            options = lbfgs_options(
                problem,
                budget,
                deadline - time.perf_counter(),
                work=len(sample),
                exact=exact is not None,
            )
            options |= {"max_iter": runs.left, "scale": scale}
            found = ascend_lbfgs(evidence, problem.space, runs.parameters, **options)
            runs.add(*found, exact)
    return runs.result(n_rows == len(problem.rows))


def _exact_and_held(problem, objective, sample, start, copies):
    """Return the exact evidence, or None, and a mask of inducing inputs to be held at first."""
    if objective.dense:
        return None, None
    rows, exact = sample[0].joined(*sample[1:]), None
    if objective.becomes_exact:
        exact = exact_objective(problem.space, start, rows, copies)
    return exact, inputs_at_kinks(problem.space, start, rows)


def lbfgs_options(problem, budget, seconds, *, work=1, kind=None, exact=False):
    """Return options of `ascend_lbfgs` to a plateau, or until only the finish has time.

    The budget is told how long an evaluation takes for each unit of its ``work``, of one ``kind``.
    ``exact`` says whether the evidence is that of the exact process.
    """
    return {
        "plateau": _PlateauOrLate(problem.plateau(exact=exact), budget),
        "trace": problem.trace,
        "seconds": max(seconds, MIN_SECONDS),
        "took": None if budget is None else lambda took: budget.took(took / work, kind),
        **lbfgs_memory(exact),
    }


class _PlateauOrLate:
    """A plateau that also counts as reached when only the time of the finish is left."""

    def __init__(self, plateau, budget):
        self.plateau, self.budget = plateau, budget

    @property
    def is_gaining(self):
        return self.plateau.is_gaining

    def reached(self, value):
        late = self.budget is not None and self.budget.left() < 0.0
        return self.plateau.reached(value) or late
