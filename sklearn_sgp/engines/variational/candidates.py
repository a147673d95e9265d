"""Which start goes on: starts and default kernels compared by their bounds, and learned.

Starts are made by `engines.start`. Of many rows some say first which of them may be best. They are
then compared with few inducing inputs, and what is learned there is not gone on from: few rows and
few inducing inputs prefer functions that are too smooth, an optimum that L-BFGS may not leave.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...data.column_spread import column_mean_std
from ...data.inducing import choose_inducing
from ...data.rows import each_weight, random_index
from ...kernels._length_scales import input_scales
from ...kernels._parts import in_words
from ...objectives.scores import Score
from ...optimize import time_shares
from ...optimize.choices import Comparison, Tried, numbered, tell
from ..ascent import FEW_ROWS, Run, ascend
from ..base import has_predictive_density
from ..lines import gains_enough, line_starts, may_be_lines
from ..other_starts import bic_penalty, default_starts
from .inference import knowing

# Iterations of the warm start after which the units of its variables are taken anew.
WARM_ITERATIONS = 20
# Default kernels that fits of no more iterations compare where there are categories: with a level
# for each, and with a function for each. Where functions differ, 60 stations of 12 rows have RMSE
# 0.61 with the first and 0.30 with the second after 20 iterations, where they do not 0.21 and 0.31.
_FEW_KERNELS = 2
# Rows on which starts are compared, half of them on the latter, and their inducing inputs: 0.2 s
# where 20 iterations of each of four starts on 5,000 rows with 256 take 3 s. Of nine draws of 5,000
# and more rows from six tables the kernel that is taken was the one that all rows choose. Two kinds
# of mistakes were seen and are avoided: power_plant had RBF (0.035 nats a row less than Matern-3/2)
# where two starts with one kernel took both places, and pumadyn32nm learned nothing (1.27 nats
# less) where all was left to rows that show nothing in 32 columns.
_COMPARED_ROWS, _FEW_INDUCING = (1024, 2048), 64
# Rows that judge, of which nothing is learned: with 1,024 the standard error of the difference of
# two starts was 0.003 to 0.02 nats a row, and differences of kernels that matter 0.03 and more.
_JUDGES = 1024


def starts_of(problem):
    """Return the default starts that a fit compares: few of them where it shall be short."""
    starts = default_starts(problem.start)
    if problem.settings.max_iter <= WARM_ITERATIONS:
        starts = starts[: _FEW_KERNELS if problem.start.columns.categorical else 1]
    return starts


def with_best_kernel(problem, starts, rows, seconds, interim):
    """Choose the default kernel whose bound is best after a few iterations.

    More parameters have to gain their `bic_penalty`.

    Returns
    -------
    problem : Problem
    run : Run or None
        The first with this kernel; None where there is nothing to choose.
    n_iter : int
        Iterations with other kernels.
    """
    if len(starts) == 1:
        return replace(problem, start=starts[0]), None, 0
    every = trials(problem, starts, rows, time_shares.KERNELS * seconds, interim)
    if len(rows) == len(problem.rows):
        every = _or_lines(problem, every, rows, time_shares.KERNELS * seconds, interim)
    best = every[0]
    n_iter = sum(one.run.n_iter for one in every) - best.run.n_iter
    return knowing(best.problem, best.run.known), best.run, n_iter


def _or_lines(problem, every, rows, seconds, interim):
    """Try straight lines, too, where they may explain the rows; return all trials, best first."""
    best, lines, trace = every[0], line_starts(problem.start), problem.trace
    ended = trace.stopped or any(one.run.cut_by == "max_time" for one in every)
    categorical = problem.start.columns.categorical
    if ended or not lines or not may_be_lines(rows, best.run.value, categorical):
        return every
    try:
        line = trials(problem, lines[-1:], rows, seconds, interim)[0]
    except NotPositiveDefiniteError:  # of inputs far from all others
        return every
    is_taken = gains_enough(line.run.value, best.run.value, len(rows))
    tried = []
    for one in (best, line):
        score = Score.of_objective(one.run.value, problem.rows.total_weight)
        tried.append(Tried(in_words(one.problem.start.kernel), one, score, seconds))
    tell("lines in the place of the kernel", tried, tried[is_taken], trace)
    return [line, *every] if is_taken else [*every, line]


class Trial(NamedTuple):
    """A start that was tried: its score, its problem and a short `Run` from it."""

    score: float
    problem: object
    run: Run


def trials(problem, starts, rows, seconds, interim):
    """Learn a little from each start; return a list of `Trial`, best first.

    Where time is over the others are not tried.
    """
    trace, is_cut = problem.trace, False
    scale = problem.rows.total_weight / rows.total_weight
    most = min(WARM_ITERATIONS, problem.settings.max_iter)

    names = numbered(in_words(start.kernel) for start in starts)

    def until_cut():
        for named in zip(names, starts, strict=True):
            yield named
            if is_cut:
                return

    kernels = Comparison(f"kernel and start, {len(rows)} rows", trace)
    for start in kernels.over(until_cut()):
        trial = knowing(replace(problem, start=start), None)
        with kernels:
            run = ascend(trial, start.parameters, rows, seconds / len(starts), most, interim)
            is_cut = run.cut_by == "max_time"
            cost, settings = scale * bic_penalty(start, len(rows)), problem.settings
            score = trial.inference.selection_score(run.parameters, rows, settings, run.value, cost)
            score = trial.with_expected(run.parameters, score)
            known = Score.of_objective(score, problem.rows.total_weight)
            kernels.add(Trial(score, trial, run), known)
    return [one.result for one in kernels.best_first()]


# ---- Those that may be best on few rows


def likely_starts(problem, rows, seconds):
    """Return the default starts that may be best on some rows, and iterations that this took.

    All of them where there are few rows, or where even the best one finds nothing in few rows.

    Returns
    -------
    starts : list of Start
        At most half of them otherwise, the best first.
    n_iter : int
    """
    starts = starts_of(problem)
    if len(starts) == 1 or len(rows) <= FEW_ROWS or not _are_plain(problem):
        return starts, 0
    order = _some(rows, _JUDGES + _COMPARED_ROWS[-1], problem.rng)
    others, order = rows.select(order[:_JUDGES]), order[_JUDGES:]
    few = rows.select(np.sort(order[: _COMPARED_ROWS[0]]))
    left, n_iter = [(one, _with_few_inputs(one, few, problem.rng)) for one in starts], 0
    for size in _COMPARED_ROWS:
        some, tried = rows.select(np.sort(order[:size])), [one for _, one in left]
        done = trials(problem, tried, some, seconds / len(_COMPARED_ROWS), True)
        n_iter += sum(one.run.n_iter for one in done)
        likely = _likely(done, some, others)
        if not likely:
            left = [(one, None) for one in starts]
            break
        given = {id(one): start for start, one in left}
        tried = [(one.problem.start, one.run.parameters) for one in likely[: len(starts) // 2]]
        left = [(given[id(one)], replace(one, parameters=learned)) for one, learned in tried]
        if len(left) == 1 or problem.trace.stopped:
            break
    return [one for one, _ in left], n_iter


def _are_plain(problem):
    """Return whether few rows and inducing inputs tell kernels apart: not where levels are many."""
    start = problem.start
    differs = start.columns.categorical or start.parameters.mixes_outputs
    can_judge = has_predictive_density(start.likelihood)
    return can_judge and not (differs or problem.inputs_are_rows)


def _some(rows, size, rng):
    """Return the places of random rows, whatever the order of the rows is."""
    by_value = np.lexsort((*rows.X.T, *rows.y.T))
    return by_value[random_index(len(rows), min(size, len(rows)), rng)]


def _with_few_inputs(start, rows, rng):
    """Return a start with few inducing inputs, chosen among some rows; features stay."""
    if start.parameters.has_features:
        return start
    kernel, m = start.parameters.kernel, min(_FEW_INDUCING, len(start.parameters.Z))
    scale = input_scales(kernel, column_mean_std(rows.X, rows.observations)[1])
    Z = choose_inducing("kmeans", rows.X, rows.observations, m, kernel, scale, rng)
    return replace(start, parameters=start.parameters.with_values(Z=Z))


def _likely(done, rows, others):
    """Return the best of some trials, which comes first, and those that chance may have put behind.

    A start is left behind where its score is less by more than the standard error of the difference
    of densities of other rows, or where one of its kind is better. None is likely where predictions
    at rows say no more of their targets than those at others do.
    """
    best, *behind = done
    score = _score(best, rows, others)
    elsewhere = replace(others, X=np.roll(np.asarray(others.X), 1, axis=0))
    gain, error = score.gain(_score(best, rows, elsewhere))
    if not gain > error:
        return []
    kinds, likely = {_kind(best)}, [best]
    for trial in behind:
        error = _score(trial, rows, others).gain(score)[1] * trial.problem.rows.total_weight
        if _kind(trial) not in kinds and trial.score + error >= best.score:
            likely.append(trial)
        kinds.add(_kind(trial))
    return likely


def _kind(trial):
    start = trial.problem.start
    return id(start.kernel), start.in_proportion


def _score(trial, rows, others):
    """Return the `Score` of other rows, given those that a trial has learned from."""
    problem, parameters = knowing(trial.problem, trial.run.known), trial.run.parameters
    n_jobs, prior = problem.settings.n_jobs, problem.prior(parameters)
    each = problem.inference.densities(prior, parameters, rows, others, n_jobs)
    return Score(each, each_weight(others.observations, len(others)))
