"""Which start goes on: trials of all of them on groups of near rows, rounds of the two best.

Starts are made by `engines.start`. What they are for near rows stands below the choice.

Where some columns are categories, kernels of the numbers alone are tried first. What the best of
them has learned is where a kernel with levels begins, besides starts of its own, and it goes on by
itself where categories gain nothing.
"""

import time
from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._sampling import fixed_index
from ...data.repeats import least_noise_variance
from ...kernels._length_scales import matern12_component, variance_mask
from ...kernels._parts import in_words
from ...kernels.categories._node import category_leaves, category_slots
from ...kernels.nodes import leaves
from ...optimize import time_shares
from ...optimize.choices import Comparison, Tried, numbered, tell
from ...optimize.momentum import STOCHASTIC
from ...optimize.probes import far_steps
from ...optimize.progress import Clock, Trace
from ..explained import explains_little
from ..lines import explain_most, gains_enough, line_starts, may_be_lines
from ..other_starts import bic_penalty, random_starts
from ..proportions import with_own_scales
from ..variational import schedule
from ..variational.class_start import with_regressed_start
from ..variational.engine import Variational

# The two best trials get a round unless one is better by more than so many standard errors; the
# better one goes on.
CLEARLY_BETTER = 2.0
# Variance of all levels together, beside what was learned without them, as a share of the noise;
# a constant that all categories of a column have is no level.
_LEVELS_VARIANCE = 0.1
# Rows and inducing inputs of the bound.
_BOUND_ROWS, _BOUND_INDUCING = 2048, 128
# Share of the variance with which a second term of a default kernel begins.
_SECOND_TERM = 0.1
# What is local in a few columns and wide in others (flights of one route at much the same time of
# one day) has a narrow valley, which ascents from equal length scales miss. After the trials each
# length scale of the rough part, with half of the noise, is tried so many times shorter, one after
# the other, on one group in so many; a trial follows where that comes as close as so many nats to
# the best one. 200,000 flights: -1.293 nats without, -1.12 with.
_SHORTER, _PROBE_SWEEPS, _PROBE_EVERY, _PROMISING = (0.2, 0.03), 5, 3, 0.05
# A sweep over all columns that gains fewer nats a row is the last.
_LEAST_SWEEP_GAIN = 3e-3


def task_of(problem, start):
    """Return the problem with inducing inputs that stay where they are."""
    return replace(problem, start=replace(start, space=start.space.without("Z")))


def best_start(problem, sample, starts, budget):
    """Find the start that goes on, by trials and rounds.

    Returns
    -------
    start : engines.base.Start
    parameters : Parameters
    value : Score or None
        Given more neighbours, None where no round has told.
    n_iter : int
        Of all starts.
    """
    drawn = [(replace(starts[0]), parameters) for parameters in random_starts(problem)]
    if len(starts) + len(drawn) == 1:
        return starts[0], starts[0].parameters, None, 0
    if {has_categories(start) for start in starts} == {True, False}:
        result = _numbers_first(problem, sample, starts, drawn, budget)
    else:
        begins = _as_begun(starts) + drawn
        result = _best_of(begins, sample.trial, time_shares.TRIALS, problem, budget)
        result = _or_elsewhere(problem, sample, result, time_shares.TRIALS, budget)
        result = _or_with_another_kernel(problem, sample, starts, result, budget)
        if sample.whole:
            result = _or_lines(problem, sample, result, budget)
    if problem.rows.of_classes and explains_little(problem.rows, result[1][0].mean):
        result = _with_own_scales(problem, sample, starts, result, budget)
    begins, values, n_iter = result
    if sample.has_labels:  # rounds have as many neighbours as trials
        return *begins[0], values[0], n_iter
    is_clear = len(values) == 1 or not sample.has_finalists or _is_clear(*values[:2])
    if is_clear or sample.whole or problem.trace.stopped or budget.left() <= 0.0:
        return *begins[0], None, n_iter
    begins, values, more = _best_of(
        begins[:2],
        sample.first_round,
        time_shares.FINALISTS,
        problem,
        budget,
        "kernel and start, further",
    )
    return *begins[0], values[0], n_iter + more


def _as_begun(starts):
    return [(start, start.parameters) for start in starts]


def _is_clear(first, second):
    gain, error = first.gain(second)
    return gain > CLEARLY_BETTER * error


def _with_own_scales(problem, sample, starts, result, budget):
    """Try a length scale for each column, too, where what all share explains next to nothing.

    Few of many columns may be all that counts: of 12 draws of 160 rows with 23 columns two had an
    accuracy of 0.61, now all 0.9 and more. Where that finds nothing either, what regressions of
    some labels have found is tried: of 24 further draws three had 0.6, now 0.93 and more.
    """
    own = _as_begun(with_own_scales(starts))
    where, share = (problem, sample), time_shares.TRIALS
    result = _or_from(own, "length scales of columns", *where, result, share, budget)
    is_over = problem.trace.stopped or not explains_little(problem.rows, result[1][0].mean)
    begun = None if is_over else with_regressed_start(problem)
    begins = _as_begun([begun.start] if begun else [])
    return _or_from(begins, "start of regressions", *where, result, share, budget)


def _or_from(more, about, problem, sample, result, share, budget):
    """Try further starts; return as `_best_of`, with the best of them first where that gains."""
    begins, values, n_iter = result
    if problem.trace.stopped or budget.left() <= 0.0 or not more:
        return result
    before = (_tried(begins[0], values[0]),)
    found, more_values, n = _best_of(more, sample.trial, share, problem, budget, about, before)
    if found[0] is not begins[0]:
        begins, values = (found[0], *begins), (more_values[0], *values)
    return begins, values, n_iter + n


def _best_first(begins, values):
    """Return starts and their scores, the best one first."""
    pairs = zip(begins, values, strict=True)
    return zip(*sorted(pairs, key=lambda pair: -pair[1].mean), strict=True)


def _numbers_first(problem, sample, starts, drawn, budget):
    """Try kernels of numbers alone, then those with categories from the best of these."""
    numbers = [start for start in starts if not has_categories(start)]
    share = time_shares.TRIALS_OF_NUMBERS
    result = _best_of(_as_begun(numbers), sample.trial, share, problem, budget)
    result = _or_elsewhere(problem, sample, result, share, budget)
    result = _or_with_another_kernel(problem, sample, numbers, result, budget)
    alone, values, n_iter = result
    if problem.trace.stopped:
        return result
    begins = begins_with_categories(*alone[0], starts) + drawn
    result, more_values, n = _best_of(
        begins, sample.trial, time_shares.TRIALS_OF_CATEGORIES, problem, budget
    )
    result = *_best_first([alone[0], *result], [values[0], *more_values]), n_iter + n
    return _or_lines(problem, sample, result, budget) if sample.whole else result


def _or_elsewhere(problem, sample, result, share, budget):
    """Try the best start from where probes find a higher density, too; return as `_best_of`."""
    if problem.trace.stopped:
        return result
    begins = result[0]
    start, parameters = begins[0]
    elsewhere = probed(task_of(problem, start), sample, parameters, budget)
    if elsewhere is None:
        return result
    share /= len(begins)
    more = [(start, elsewhere)]
    return _or_from(more, "shorter length scales", problem, sample, result, share, budget)


def _or_with_another_kernel(problem, sample, starts, result, budget):
    """Try a kernel where another one has won that was behind where both start; as `_best_of`.

    Further starts, and probes, are of one kernel only.
    """
    begins, values, _ = result
    if not sample.is_first:
        return result
    start, parameters = begins[0]
    there = {"theta": parameters.theta, "log_noise": parameters.log_noise}
    # what probes have made of a start comes before it
    scores = {id(one): value.mean for (one, _), value in zip(begins, values, strict=True)}
    first = {in_words(one.kernel): one for one in starts[::-1] if id(one) in scores}
    least = scores[id(first[in_words(start.kernel)])]
    ahead = [
        (one, one.space.clipped(one.parameters.with_values(**there)))
        for one in first.values()
        if scores[id(one)] > least and len(one.parameters.theta) == len(parameters.theta)
    ]
    share = time_shares.TRIALS / len(begins)
    return _or_from(ahead, "another kernel there", problem, sample, result, share, budget)


def _or_lines(problem, sample, result, budget):
    """Try lines in the place of the smooth part where they may explain the rows; as `_best_of`.

    If they do so better the rough part stays only where it gains what its parameters cost.
    """
    (begins, values, n_iter), rows = result, sample.rows
    before = rows.total_weight * values[0].mean
    lines = [] if problem.trace.stopped else _likely_lines(problem.start, rows, before)
    if not lines:
        return result
    tried, costs = [_tried(begins[0], values[0])], []
    for start in lines:
        begin = time.perf_counter()
        limit = begin + time_shares.TRIALS * budget.left() / len(lines)
        learned, n, score = sample.trial(task_of(problem, start), start.parameters, limit, budget)
        tried.append(_tried((start, learned), score, n, time.perf_counter() - begin))
        costs.append(bic_penalty(start, len(rows)))
    after = rows.total_weight * np.array([one.score.mean for one in tried[1:]])
    is_better = gains_enough(after.max(), before, len(rows))
    taken = tried[1 + int(np.argmax(after - costs))] if is_better else tried[0]
    tell("lines in the place of the smooth part", tried, taken, problem.trace)
    n_iter += sum(one.result[1] for one in tried)
    return ((taken.result[0],), (taken.score,), n_iter) if is_better else (begins, values, n_iter)


def _likely_lines(start, rows, before):
    """Return starts with lines that may explain rows better than a log density says, or none.

    Where some columns are categories lines may do so beside a rough part, too.
    """
    lines, categorical = line_starts(start), start.columns.categorical
    if not lines or may_be_lines(rows, before, categorical):
        return lines
    return lines[:1] if categorical and explain_most(rows, before, categorical) else []


def _tried(begin, score, n_iter=0, seconds=0.0):
    return Tried(in_words(begin[0].kernel), (begin, n_iter), score, seconds)


def _best_of(begins, run, share, problem, budget, about="kernel and start", before=()):
    """Run each start; return starts with what is learned, best first, values, all iterations.

    ``before`` are `Tried` that these are compared with.
    """
    seconds = share * budget.left() / len(begins)
    names = [one.name for one in before] + [in_words(start.kernel) for start, _ in begins]
    names = numbered(names)[len(before) :]

    comparison = Comparison(about, problem.trace)
    comparison.tried.extend(before)

    def in_time():
        for named in zip(names, begins, strict=True):
            if comparison.tried and budget.left() <= 0.0:
                return
            yield named

    for start, parameters in comparison.over(in_time()):
        limit = time.perf_counter() + seconds
        with comparison:
            learned, n_iter, value = run(task_of(problem, start), parameters, limit, budget)
            comparison.add(((start, learned), n_iter), value)
    tried = comparison.best_first()
    begins, n_iter = zip(*(each.result for each in tried), strict=True)
    return begins, tuple(each.score for each in tried), sum(n_iter)


# ---- Starts of kernels with categories, once one of the numbers alone has learned


def has_categories(start):
    """Return whether the kernel of a `Start` has a part over categories."""
    return bool(category_leaves(start.parameters.expression))


def begins_with_categories(of_numbers, result, starts):
    """Return (Start, Parameters) of kernels with categories whose numbers have a certain kernel.

    As they start, as functions of categories may have nothing in common; before these a sum with
    levels at what was learned without them.

    Parameters
    ----------
    of_numbers : Start
        With a default kernel of the numbers alone.
    result : Parameters
        What was learned with it.
    starts : list of Start
        With and without categories.
    """
    own = _parts(of_numbers)
    starts = [start for start in starts if has_categories(start) and _parts(start) == own]
    sums = [start for start in starts if len(_places_of_numbers(start)) == len(result.theta)]
    begins = [(start, _with_small_levels(start, result)) for start in sums]
    return begins + _as_begun(starts)


def _parts(start):
    """Return names and starting length scales of the parts that see numbers."""
    expression = start.parameters.expression
    every = leaves(expression.node, np.arange(expression.n_features))
    return [
        (leaf.name, expression.values[leaf.length_scale].tolist())
        for leaf, _ in every
        if leaf.length_scale is not None
    ]


def _places_of_numbers(start):
    """Return the places of free kernel parameters that are not of categories."""
    expression = start.parameters.expression
    slots = [slot.ravel() for pair in category_slots(expression) for slot in pair[:2]]
    return np.delete(np.arange(len(expression.theta)), np.concatenate(slots))


def _with_small_levels(start, result):
    """Start a sum with levels at what was learned without these."""
    theta, slots = start.parameters.theta.copy(), category_slots(start.parameters.expression)
    theta[_places_of_numbers(start)] = result.theta
    noise_variance = float(np.mean(result.noise_variance)) / start.units.middle
    variance = _LEVELS_VARIANCE * noise_variance / len(slots)
    for diagonal, _, _ in slots:
        theta[diagonal] = np.log(variance)
    values = {**result.values, "theta": theta}
    return start.space.clipped(start.parameters.with_values(**values))


def numbers_of_categories(start):
    """Count what a kernel learns of categories."""
    slots = category_slots(start.parameters.expression)
    return sum(b.size + factor.size for b, factor, _ in slots)


# ---- Noise above what repeats show, units of targets without their tails


def above_repeats(start, rows):
    """Raise the bound of the noise to what rows with equal inputs show, which no group may have."""
    if "log_noise" not in start.with_default_bounds:
        return start
    return replace(start, space=start.space.raised("log_noise", least_noise_variance(rows)))


def with_variances_of(start, rows, all_rows):
    """Begin default kernel and noise in proportion to the targets, which have lost their tails."""
    share = np.log(np.mean(rows.targets**2) / np.mean(all_rows.targets**2))
    parameters = start.parameters
    if start.learns_default_kernel:
        shift = share * variance_mask(parameters.expression)
        parameters = parameters.with_values(theta=parameters.theta + shift)
    if "log_noise" in start.with_default_bounds and start.space.learns("log_noise"):
        parameters = parameters.with_values(log_noise=parameters.log_noise + share)
    return replace(start, parameters=start.space.clipped(parameters))


# ---- A start for sites


def with_variational_start(problem, budget, looks_elsewhere=True):
    """Return a problem whose start, and alternatives, have the kernel that a bound has found.

    Evidences of groups of near rows hardly lead from the usual kernel to those that classes ask for
    which hardly overlap: variances of 400 and length scales as much longer, over which sites change
    little at a time. L-BFGS on the bound of independent rows given inducing inputs goes there in a
    second.

    Length scales in a common proportion, as classes have, stay where one for each column, unless
    they are too many, does not gain its BIC penalty. With one for all, 3,000 rows of which three
    columns of five count had -.469 nats a row by sites, now -.374.

    The same problem where likelihood or kernel have no such bound, or categories are learned.
    ``looks_elsewhere`` lets a bound that explains little begin at other starts as well.
    """
    start, likelihood = problem.start, problem.start.likelihood
    if start.columns.categorical or not hasattr(likelihood, "expected_log_density"):
        return problem
    seconds, rows = time_shares.BOUND_BEFORE_SITES * budget.left(), problem.rows
    if seconds <= 0.0 or not start.space.learns("theta"):
        return problem
    few, Z = rows.random_subset(_BOUND_ROWS, problem.rng), start.parameters.Z
    if not len(Z):
        Z = np.asarray(few.X[fixed_index(len(few), _BOUND_INDUCING)], dtype=np.float64)
    some = start.parameters.with_values(Z=Z[fixed_index(len(Z), _BOUND_INDUCING)])
    optimizer = problem.settings.optimizer
    optimizer = "auto" if optimizer in STOCHASTIC else optimizer  # of few rows
    bound = replace(
        problem,
        rows=few,
        settings=replace(problem.settings, optimizer=optimizer, n_restarts_optimizer=0),
        is_interim=True,
        inputs_are_rows=False,
    )
    starts = [replace(start, parameters=some, alternatives=())]
    if not all(other.in_proportion for other in start.alternatives):
        starts += with_own_scales(starts)
    try:
        fit = Variational("kmeans", len(some.Z)).fit if looks_elsewhere else _by_bound_alone
        each = seconds / len(starts)
        found = [_by_bound(replace(bound, start=one), fit, each) for one in starts]
    except NotPositiveDefiniteError:  # sites will do without, or say what is wrong
        return problem
    if any(one.interrupted for one in found):  # nothing with sites is there
        raise KeyboardInterrupt
    costs = [bic_penalty(one, len(few)) for one in starts]
    best = int(np.argmax([one.objective - cost for one, cost in zip(found, costs, strict=True)]))
    learned = found[best].parameters
    others = tuple(_moved(other, learned) for other in start.alternatives)
    begun = _moved(replace(start, space=starts[best].space), learned)
    return replace(problem, start=replace(begun, alternatives=others))


def _by_bound(problem, fit, seconds):
    """Learn the kernel of a few rows given inducing inputs in these seconds."""
    clock = Clock(None if seconds == np.inf else seconds)
    return fit(replace(problem, trace=Trace(clock)))


def _by_bound_alone(problem):
    return schedule.run(problem)[1]


def _moved(start, learned):
    """Return a start at learned parameters, which its first terms have, too.

    A second term of a default kernel begins at the same length scales.
    """
    theta, n = start.parameters.theta, len(learned.theta)
    values = {"likelihood": learned.likelihood_theta} if len(learned.likelihood_theta) else {}
    if len(theta) in (n, 2 * n):
        terms = np.tile(learned.theta, len(theta) // n)
        second = (np.arange(len(theta)) >= n) & variance_mask(start.parameters.expression)
        values["theta"] = terms + np.log(_SECOND_TERM) * second
    return replace(start, parameters=start.space.clipped(start.parameters.with_values(**values)))


# ---- Short length scales of a rough part, one column at a time


def probed(task, sample, parameters, budget):
    """Try short length scales of the Matern-1/2 component by column; None where none promises.

    Inducing inputs of the task stay where they are.
    """
    part, start = matern12_component(parameters.expression), task.start
    seconds = time_shares.SHORT_SCALES * budget.left()
    is_given = part is None or "theta" not in start.with_default_bounds
    if is_given or not sample.is_first or seconds <= 0:
        return None
    limit, (variance, scales) = time.perf_counter() + seconds, part
    few = sample.near.fewer(_PROBE_EVERY)
    begin = parameters.theta.copy()
    half = 0.5 * (np.exp(begin[variance]) + parameters.noise_variance)
    begin[variance], begin[scales] = np.log(np.mean(half)), start.parameters.theta[scales]
    begins = parameters.with_values(log_noise=np.log(half))
    theta, value = far_steps(
        lambda theta: sample.value(task, begins.with_values(theta=theta), few).mean,
        begin, scales, np.log(_SHORTER), _LEAST_SWEEP_GAIN, _PROBE_SWEEPS,
        lambda: time.perf_counter() < limit,
    )  # fmt: skip
    promises = value >= sample.value(task, parameters, few).mean - _PROMISING
    sample.ahead.probed()
    if not promises:
        return None
    return begins.with_values(theta=theta)
