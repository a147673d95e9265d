"""Which default starts are worth learning from many rows: those that may be best on few.

They are compared with few inducing inputs. What is learned there is not gone on from: few rows and
few inducing inputs prefer functions that are too smooth, an optimum that L-BFGS may not leave.
"""

from dataclasses import replace

import numpy as np

from ...data.inducing import choose_inducing
from ...data.rows import column_mean_std, each_weight, random_index
from ...kernels._length_scales import input_scales
from ...objectives.scores import Score
from .starts import FEW_ROWS, starts_of, trials

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
        n_iter += sum(one.result[2] for one in done)
        likely = _likely(done, some, others)
        if not likely:
            left = [(one, None) for one in starts]
            break
        given = {id(one): start for start, one in left}
        left = [(given[id(one.problem.start)], _further(one)) for one in likely]
        left = left[: len(starts) // 2]
        if len(left) == 1 or problem.trace.stopped:
            break
    problem.inference.kept = None  # that of few inducing inputs
    return [one for one, _ in left], n_iter


def _are_plain(problem):
    """Return whether few rows and inducing inputs tell kernels apart: not where levels are many."""
    start = problem.start
    differs = start.columns.categorical or start.parameters.mixes_outputs
    return not (differs or problem.inputs_are_rows)


def _some(rows, size, rng):
    """Return the places of random rows, whatever the order of the rows is."""
    by_value = np.lexsort((*rows.X.T, *rows.y.T))
    return by_value[random_index(len(rows), min(size, len(rows)), rng)]


def _with_few_inputs(start, rows, rng):
    """Return a start with few inducing inputs, chosen among some rows."""
    kernel, m = start.parameters.kernel, min(_FEW_INDUCING, len(start.parameters.Z))
    scale = input_scales(kernel, column_mean_std(rows.X, rows.observations)[1])
    Z = choose_inducing("kmeans", rows.X, rows.observations, m, kernel, scale, rng)
    return replace(start, parameters=start.parameters.with_values(Z=Z))


def _further(trial):
    """Return a start that goes on from a trial."""
    return replace(trial.problem.start, parameters=trial.result[0])


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
    problem, parameters = trial.problem, trial.result[0]
    problem.inference.kept = trial.kept
    n_jobs, prior = problem.settings.n_jobs, problem.prior(parameters)
    each = problem.inference.densities(prior, parameters, rows, others, n_jobs)
    return Score(each, each_weight(others.observations, len(others)))
