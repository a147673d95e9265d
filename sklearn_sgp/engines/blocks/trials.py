"""Which start goes on: trials of all of them on groups of near rows, rounds of the two best.

Starts are made by `engines.start`. What they are for near rows stands below the choice.

Where some columns are categories, kernels of the numbers alone are tried first. What the best of
them has learned is where a kernel with levels begins, besides starts of its own, and it goes on by
itself where categories gain nothing.
"""

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...data.repeats import least_noise_variance
from ...kernels._length_scales import variance_mask
from ...kernels._parts import in_words
from ...kernels.categories._node import category_leaves, category_slots
from ...kernels.nodes import leaves
from ...optimize import time_shares
from ...optimize.choices import Comparison, Tried, numbered, tell
from ..explained import explains_little
from ..lines import explain_most, gains_enough, line_starts, may_be_lines
from ..other_starts import bic_penalty, random_starts
from ..proportions import with_own_scales
from ..variational.class_start import with_regressed_start
from .short_scales import probed

# The two best trials get a round unless one is better by more than so many standard errors; the
# better one goes on.
CLEARLY_BETTER = 2.0
# Variance of all levels together, beside what was learned without them, as a share of the noise;
# a constant that all categories of a column have is no level.
_LEVELS_VARIANCE = 0.1


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
    trials, rows = Trials(problem, sample, budget), problem.rows
    if {has_categories(start) for start in starts} == {True, False}:
        found = trials.numbers_first(starts, drawn)
    else:
        found = trials.best_of(_as_begun(starts) + drawn, time_shares.TRIALS)
        found = trials.elsewhere(found, time_shares.TRIALS)
        found = trials.with_another_kernel(found, starts)
        if sample.whole:
            found = trials.with_lines(found)
    if rows.of_classes and explains_little(rows, found.scores[0].mean):
        found = trials.with_column_scales(found, starts)
    if sample.has_labels:  # rounds have as many neighbours as trials
        return *found.begins[0], found.scores[0], found.n_iter
    is_clear = len(found.scores) == 1 or not sample.has_finalists or _is_clear(*found.scores[:2])
    if is_clear or sample.whole or trials.are_over:
        return *found.begins[0], None, found.n_iter
    about, share = "kernel and start, further", time_shares.FINALISTS
    last = trials.best_of(found.begins[:2], share, about, run=sample.first_round)
    return *last.begins[0], last.scores[0], found.n_iter + last.n_iter


class Found(NamedTuple):
    """Starts with what they have learned, (Start, Parameters), and their scores, the best first.

    ``n_iter`` counts the iterations of all that were tried.
    """

    begins: tuple
    scores: tuple
    n_iter: int


@dataclass(frozen=True)
class Trials:
    """Tries starts on groups of a sample, within a budget.

    What is tried after others returns these with it, the best one first.
    """

    problem: object
    sample: object
    budget: object

    @property
    def are_over(self):
        """True if nothing further may be tried."""
        return self.problem.trace.stopped or self.budget.left() <= 0.0

    def best_of(self, begins, share, about="kernel and start", before=(), run=None):
        """Run each start, in a share of what is left.

        ``before`` are `Tried` that these are compared with, and ``run`` is the sample's trial if
        it is None.
        """
        run, seconds = run or self.sample.trial, share * self.budget.left() / len(begins)
        names = [one.name for one in before] + [in_words(start.kernel) for start, _ in begins]
        names = numbered(names)[len(before) :]
        comparison = Comparison(about, self.problem.trace)
        comparison.tried.extend(before)

        def in_time():
            for named in zip(names, begins, strict=True):
                if comparison.tried and self.budget.left() <= 0.0:
                    return
                yield named

        for start, parameters in comparison.over(in_time()):
            limit, task = time.perf_counter() + seconds, task_of(self.problem, start)
            with comparison:
                learned, n_iter, score = run(task, parameters, limit, self.budget)
                comparison.add(((start, learned), n_iter), score)
        tried = comparison.best_first()
        begins, n_iter = zip(*(each.result for each in tried), strict=True)
        return Found(begins, tuple(each.score for each in tried), sum(n_iter))

    def numbers_first(self, starts, drawn):
        """Try kernels of numbers alone, then those with categories from the best of these."""
        numbers = [start for start in starts if not has_categories(start)]
        share = time_shares.TRIALS_OF_NUMBERS
        alone = self.elsewhere(self.best_of(_as_begun(numbers), share), share)
        alone = self.with_another_kernel(alone, numbers)
        if self.problem.trace.stopped:
            return alone
        begins = begins_with_categories(*alone.begins[0], starts) + drawn
        found = self.best_of(begins, time_shares.TRIALS_OF_CATEGORIES)
        both = zip((alone.begins[0], *found.begins), (alone.scores[0], *found.scores), strict=True)
        begins, scores = zip(*sorted(both, key=lambda pair: -pair[1].mean), strict=True)
        found = Found(begins, scores, alone.n_iter + found.n_iter)
        return self.with_lines(found) if self.sample.whole else found

    def _further(self, found, more, about, share):
        """Try further starts, of which the best comes first if it gains."""
        if self.are_over or not more:
            return found
        first = found.begins[0]
        tried = self.best_of(more, share, about, (_tried(first, found.scores[0]),))
        n_iter = found.n_iter + tried.n_iter
        if tried.begins[0] is first:
            return found._replace(n_iter=n_iter)
        begins, scores = (tried.begins[0], *found.begins), (tried.scores[0], *found.scores)
        return Found(begins, scores, n_iter)

    def elsewhere(self, found, share):
        """Try the best start from where probes find a higher density, too."""
        if self.problem.trace.stopped:
            return found
        start, parameters = found.begins[0]
        task = task_of(self.problem, start)
        elsewhere = probed(task, self.sample, parameters, self.budget)
        more = [] if elsewhere is None else [(start, elsewhere)]
        return self._further(found, more, "shorter length scales", share / len(found.begins))

    def with_another_kernel(self, found, starts):
        """Try a kernel where another one has won that was behind where both start.

        Further starts, and probes, are of one kernel only.
        """
        if not self.sample.is_first:
            return found
        (start, parameters), count = found.begins[0], len(found.begins)
        there = {"theta": parameters.theta, "log_noise": parameters.log_noise}
        # what probes have made of a start comes before it
        pairs = zip(found.begins, found.scores, strict=True)
        means = {id(one): score.mean for (one, _), score in pairs}
        first = {in_words(one.kernel): one for one in starts[::-1] if id(one) in means}
        least = means[id(first[in_words(start.kernel)])]
        ahead = [
            (one, one.space.clipped(one.parameters.with_values(**there)))
            for one in first.values()
            if means[id(one)] > least and len(one.parameters.theta) == len(parameters.theta)
        ]
        return self._further(found, ahead, "another kernel there", time_shares.TRIALS / count)

    def with_column_scales(self, found, starts):
        """Try a length scale for each column where what all share explains next to nothing.

        Few of many columns may be all that counts: of 12 draws of 160 rows with 23 columns two had
        an accuracy of 0.61, now all 0.9 and more. Where that finds nothing either, what regressions
        of some labels have found is tried: of 24 further draws three had 0.6, now 0.93 and more.
        """
        own, share, rows = _as_begun(with_own_scales(starts)), time_shares.TRIALS, self.problem.rows
        found = self._further(found, own, "length scales of columns", share)
        if self.problem.trace.stopped or not explains_little(rows, found.scores[0].mean):
            return found
        begun = with_regressed_start(self.problem)
        begins = _as_begun([begun.start] if begun else [])
        return self._further(found, begins, "start of regressions", share)

    def with_lines(self, found):
        """Try lines in the place of the smooth part where they may explain the rows.

        If they do so better the rough part stays only where it gains what its parameters cost.
        """
        problem, sample, rows = self.problem, self.sample, self.sample.rows
        before = rows.total_weight * found.scores[0].mean
        lines = [] if problem.trace.stopped else _likely_lines(problem.start, rows, before)
        if not lines:
            return found
        tried, costs = [_tried(found.begins[0], found.scores[0])], []
        for start in lines:
            begin, begun = time.perf_counter(), (task_of(problem, start), start.parameters)
            limit = begin + time_shares.TRIALS * self.budget.left() / len(lines)
            learned, n_iter, score = sample.trial(*begun, limit, self.budget)
            tried.append(_tried((start, learned), score, n_iter, time.perf_counter() - begin))
            costs.append(bic_penalty(start, len(rows)))
        after = rows.total_weight * np.array([one.score.mean for one in tried[1:]])
        is_better = gains_enough(after.max(), before, len(rows))
        taken = tried[1 + int(np.argmax(after - costs))] if is_better else tried[0]
        tell("lines in the place of the smooth part", tried, taken, problem.trace)
        n_iter = found.n_iter + sum(one.result[1] for one in tried)
        if not is_better:
            return found._replace(n_iter=n_iter)
        return Found((taken.result[0],), (taken.score,), n_iter)


def _as_begun(starts):
    return [(start, start.parameters) for start in starts]


def _is_clear(first, second):
    gain, error = first.gain(second)
    return gain > CLEARLY_BETTER * error


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
