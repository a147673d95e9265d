"""Kernel and noise learned from groups of near rows: how well each follows from rows around it.

What a model that knows its near rows predicts depends on kernel and noise at short distances. The
density of a group of rows given the rows around it measures just that, at the full density of the
data, without inducing inputs and for a fraction of the work of whole blocks. It is the logarithm
of a product of conditional densities of the exact process (a composite likelihood; docs/theory.md,
section 12), so that it has no bound to be loose and nothing to overfit but kernel and noise.

Which rows are near depends on the length scales. Groups are therefore drawn anew as these change,
and what a stage has learned must hold on groups that it has not seen. Where targets have heavy
tails, the kernel is learned without these first.
"""

import time
from contextlib import suppress
from copy import copy
from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError, single_blas_thread
from ..._warnings import warn_caller
from ...data.repeats import least_noise_variance
from ...data.rows import ConditionedRows, column_mean_std
from ...data.winsorize import with_light_tails
from ...kernels._length_scales import matern12_component, nearness_scales
from ...kernels.categories._node import category_slots
from ...objectives.composite_likelihood import CompositeLikelihood
from ...objectives.left_out_classes import LeftOutClasses
from ...optimize.budget import LEAST_EVALUATIONS, count_within
from ...optimize.probes import far_steps
from ...partitions.sampling import LARGEST_WHOLE, random_groups, sampled_groups, whole_group
from ..start import default_starts
from .candidates import best_start, task_of
from .hyperparameters import ascend_scaled

# Numbers are learned from so few rows in one group, the exact process: many groups of 300 rows cost
# as much. 18 draws of 700 rows from nine tables gain 0.04 nats a row by it (RMSE 3 % less) in a
# ninth of the time, 14 draws of 1,500 0.007 nats (RMSE 3 % less) in half of it. Where time is
# limited, so many evaluations have to fit in.
_LARGEST_EXACT, _EXACT_EVALUATIONS = 1536, 100
# Where so many numbers are learned of categories, this density is too optimistic, and such a share
# of the rows judges what the others say. Of 48 draws of 300 to 1,300 rows with 12 to 120 categories
# none loses more than 0.04 nats a row, 24 gain 0.03 and more, in half of the time. Of 18 draws with
# 3 to 5 categories half lose. Nor do length scales need such a judge (32 draws of 60 to 160 rows
# from four tables of 26 to 60 columns).
_MANY_NUMBERS, _JUDGING_SHARE = 32, 0.25
# Rows of a group, and rows around it that it is conditioned on.
GROUP_SIZE, NEIGHBORS = 50, 100
# Learning goes on in rounds with so many neighbours, of 20 iterations, or 40 after a round that
# gained less than so many nats a row on other groups. Some structure shows at no smaller size:
# delays of 200,000 flights have RMSE 0.935 sd and -1.341 nats with 100 neighbours, 0.886 and -1.189
# with 250.
MORE_NEIGHBORS, _ROUND_ITERATIONS, _LEAST_ROUND_GAIN = 250, (20, 40), 3e-3
# One group in so many besides is of so many rows from anywhere, which know what is smooth and wide.
WIDE_EVERY, WIDE_SIZE = 40, 400
# Every start learns for so many iterations, draws groups anew and learns for as many more.
_GROUP_TRIAL_ITERATIONS, _TRIAL_ROUNDS = 15, 2
_LEAST_GROUPS = 8
# What is local in a few columns and wide in others (flights of one route at much the same time of
# one day) has a narrow valley, which ascents from equal length scales miss. After the trials each
# length scale of the rough part, with half of the noise, is tried so many times shorter, one after
# the other, on one group in so many, in such a share of the time; a trial follows where that comes
# as close as so many nats to the best one. 200,000 flights: -1.293 nats without, -1.12 with.
_SHORTER, _PROBE_SWEEPS, _PROBE_EVERY, _GROUP_PROBE_SECONDS, _PROMISING = (
    (0.2, 0.03),
    5,
    3,
    0.1,
    0.05,
)
# Share of a time budget in which left-out labels may be judged each time; that is some ten times.
_LABEL_TEST_SHARE = 0.02
# Where 90 % intervals, so many deviations to each side, hold less, that is told.
_LEAST_COVERAGE, _WITHIN = 0.85, 1.645
# Logarithms of a default kernel's parameters move at most so far in one ascent: the first step of
# L-BFGS may jump to a far corner, where equal targets of equal rows are all that counts.
_LARGEST_LOG_MOVE = 3.0


def learn_from_near_rows(problem, budget):
    """Learn from several starts by L-BFGS on sampled groups, and return the best.

    Returns
    -------
    start : engines.base.Start
        With the kernel that was chosen.
    parameters : Parameters
        Inducing inputs are as in the start.
    n_iter : int
    """
    sample = CompositeLearning(problem)
    if not sample.has_time(problem.start.parameters, budget):
        sample.whole = False
    with single_blas_thread(not sample.whole):  # groups are small
        return _best(problem, sample, budget)


def _best(problem, sample, budget):
    learns_noise = sample.is_first and sample.rows is problem.rows
    starts = default_starts(problem.start)
    if learns_noise:
        starts = [_above_repeats(start, sample.rows) for start in starts]
    if max(map(_numbers_of_categories, starts)) >= _MANY_NUMBERS:
        sample.hold_out()
    start, parameters, value, n_iter = best_start(problem, sample, starts, budget)
    if problem.trace.stopped:
        return start, parameters, n_iter
    task = task_of(problem, start)
    if sample.whole and sample.held_out is None:
        parameters, more = sample.learn_whole(task, parameters, budget)
    else:
        parameters, more = sample.learn(task, parameters, value, budget)
    if sample.rows is not problem.rows and not problem.trace.stopped:
        sample.rows, start = problem.rows, _above_repeats(start, problem.rows)
        parameters, last = sample.learn_further(task_of(problem, start), parameters, budget)
        more += last
    if not (sample.whole or problem.is_interim or sample.has_labels):
        _check_coverage(sample.coverage(parameters))
    return start, parameters, n_iter + more


def _check_coverage(coverage):
    """Say so where intervals hold far too few of the rows that were not learned from."""
    if coverage < _LEAST_COVERAGE:
        warn_caller(
            "Intervals of 90 % should hold so many of the rows that nothing was learned from. Got "
            f"{coverage:.0%}: standard deviations are too small. Learn from more rows (init_size), "
            "choose another kernel, or raise the lower one of noise_variance_bounds.",
            UserWarning,
        )


def can_learn(problem):
    """Return whether anything is free and ``optimizer="auto"``."""
    space = task_of(problem, problem.start).space
    free = len(space.pack(problem.start.parameters))
    return problem.settings.optimizer == "auto" and free > 0


def _numbers_of_categories(start):
    slots = category_slots(start.parameters.expression)
    return sum(b.size + factor.size for b, factor, _ in slots)


def _above_repeats(start, rows):
    """Raise the bound of the noise to what rows with equal inputs show, which no group may have."""
    if "log_noise" not in start.with_default_bounds:
        return start
    return replace(start, space=start.space.raised("log_noise", least_noise_variance(rows)))


class CompositeLearning:
    """Draws groups and learns from them."""

    def __init__(self, problem):
        self.rng, self.has_labels = problem.rng, problem.rows.of_classes
        self.rows, n_rows = problem.rows, len(problem.rows)
        self.begins = not (problem.is_interim or self.has_labels)
        if self.begins and n_rows > LARGEST_WHOLE:
            self.rows = with_light_tails(problem.rows)
        # light tails are for the kernel, and what is left to learn then takes other groups to judge
        needs_groups = self.has_labels or self.rows is not problem.rows
        self.whole = n_rows <= (LARGEST_WHOLE if needs_groups else _LARGEST_EXACT)
        self.held_out = None  # rows to learn from and rows that judge
        self.n_groups = max(_LEAST_GROUPS, problem.settings.init_size // GROUP_SIZE)
        self.std = column_mean_std(problem.rows.X, problem.rows.observations)[1]
        self.test_seed = problem.rng.randint(2**31)
        self.seconds_each, self.n_tests, self.n_neighbors = 0.0, None, NEIGHBORS
        self.more_neighbors = NEIGHBORS if self.has_labels else MORE_NEIGHBORS
        self.n_jobs = problem.settings.n_jobs

    @property
    def is_first(self):
        """True if a kernel is chosen by groups of rows."""
        return self.begins and not self.whole

    def has_time(self, parameters, budget):
        """Return whether the exact process of all rows is affordable, where it is learned from."""
        n_rows = len(self.rows)
        if not (self.whole and budget.is_limited) or n_rows <= LARGEST_WHOLE:
            return True
        some = whole_group(self.rows.fixed_subset(LARGEST_WHOLE))
        seconds = self._seconds_of_group([some], parameters) * (n_rows / LARGEST_WHOLE) ** 3
        return _EXACT_EVALUATIONS * seconds <= budget.left()

    def hold_out(self):
        """Leave rows out that judge, where all would be one group."""
        n_rows = len(self.rows)
        judges = int(_JUDGING_SHARE * n_rows)
        if self.whole and judges and not self.has_labels:
            order = np.random.RandomState(self.test_seed).permutation(n_rows)
            self.held_out = order[judges:], order[:judges]

    def groups(self, parameters, rng=None):
        """Draw groups of rows that are near at these length scales, and wide ones."""
        if self.whole:
            rows = self.rows
            return [whole_group(rows if self.held_out is None else rows.select(self.held_out[0]))]
        scale, rng = nearness_scales(parameters.kernel, self.std), rng or self.rng
        near = sampled_groups(self.rows, scale, self.n_groups, GROUP_SIZE, self.n_neighbors, rng)
        # those of labels are as large as the other groups, with which their defaults were chosen
        size = GROUP_SIZE + NEIGHBORS if self.has_labels else WIDE_SIZE
        return random_groups(self.rows, self.n_groups // WIDE_EVERY, size, rng) + near

    def value(self, task, parameters):
        """Compute the mean log density of a row given those around it; -inf where it fails.

        On groups that nothing is learned from, around the same rows whatever the parameters. Of
        labels it is the log probability of a row's class given all other rows of its group.
        """
        if self.held_out is None:
            groups = self.groups(parameters, np.random.RandomState(self.test_seed))
        else:
            groups = [ConditionedRows(self.rows, (self.held_out,))]
        try:
            if self.has_labels:
                likelihood = task.start.likelihood
                if self.n_tests is None:
                    seconds = _LABEL_TEST_SHARE * task.trace.clock.max_time
                    self.n_tests = self._tests_within(groups, parameters, likelihood, seconds)
                return self._of_labels(groups[: self.n_tests], parameters, likelihood)
            evidence, begin = CompositeLikelihood(groups, self.n_jobs), time.perf_counter()
            total, _ = evidence(parameters)
            self.seconds_each = (time.perf_counter() - begin) / len(groups)
            return total / evidence.weight
        except NotPositiveDefiniteError:
            return -np.inf

    def _of_labels(self, groups, parameters, likelihood):
        evidence = CompositeLikelihood(groups, self.n_jobs)
        value = LeftOutClasses.of_groups(evidence, parameters, likelihood).best_temperature()[1]
        return value if np.isfinite(value) else -np.inf

    def _tests_within(self, groups, parameters, likelihood, seconds):
        """Count the groups whose best temperature can be found in some seconds."""
        if seconds == np.inf or len(groups) <= _LEAST_GROUPS:
            return len(groups)
        begin, some = time.perf_counter(), groups[-_LEAST_GROUPS:]
        self._of_labels(some, parameters, likelihood)
        each = (time.perf_counter() - begin) / len(some)
        return max(_LEAST_GROUPS, count_within(len(groups), seconds, each))

    def left_out(self, parameters, likelihood, n_rows, seconds):
        """Return `LeftOutClasses` of groups of near rows, about so many rows or as time allows.

        Parameters
        ----------
        seconds : float
            Of one search for the best temperature.
        """
        scale, count = nearness_scales(parameters.kernel, self.std), -(-n_rows // GROUP_SIZE)
        rng = np.random.RandomState(self.test_seed)
        groups = sampled_groups(self.rows, scale, count, GROUP_SIZE, self.more_neighbors, rng)
        groups = groups[: self._tests_within(groups, parameters, likelihood, seconds)]
        evidence = CompositeLikelihood(groups, self.n_jobs)
        return LeftOutClasses.of_groups(evidence, parameters, likelihood)

    def coverage(self, parameters):
        """Return the share of rows of those groups in 90 % intervals, given what is near them."""
        groups = self.groups(parameters, np.random.RandomState(self.test_seed))
        errors = CompositeLikelihood(groups).standardised_errors(parameters)
        return np.mean(np.abs(errors) <= _WITHIN)

    def trial(self, task, parameters, limit, budget):
        """Learn from a start; return parameters, iterations, and the value on other groups."""
        n_iter, rounds = 0, 1 if self.whole else _TRIAL_ROUNDS
        for left in range(rounds, 0, -1):
            seconds = (limit - time.perf_counter()) / left
            groups = self.affordable(task, parameters, seconds, budget)
            iterations = min(_GROUP_TRIAL_ITERATIONS, task.settings.max_iter)
            parameters, more = self.ascend(task, groups, parameters, iterations, seconds, budget)
            n_iter += more
            if task.trace.stopped or time.perf_counter() > limit:
                break
        return parameters, n_iter, self.value(task, parameters)

    def probe(self, problem, start, parameters, budget):
        """Try short length scales of the Matern-1/2 component by column; None if none promises."""
        part = matern12_component(parameters.expression)
        seconds = _GROUP_PROBE_SECONDS * budget.left()
        is_given = part is None or "theta" not in start.with_default_bounds
        if is_given or not self.is_first or seconds <= 0:
            return None
        limit, (variance, scales), some = time.perf_counter() + seconds, part, copy(self)
        some.n_groups = max(_LEAST_GROUPS, self.n_groups // _PROBE_EVERY)
        task, begin = task_of(problem, start), parameters.theta.copy()
        half = 0.5 * (np.exp(begin[variance]) + parameters.noise_variance)
        begin[variance], begin[scales] = np.log(np.mean(half)), start.parameters.theta[scales]
        begins = parameters.with_values(log_noise=np.log(half))
        theta, value = far_steps(
            lambda theta: some.value(task, begins.with_values(theta=theta)),
            begin, scales, np.log(_SHORTER), _LEAST_ROUND_GAIN, _PROBE_SWEEPS,
            lambda: time.perf_counter() < limit,
        )  # fmt: skip
        if value < some.value(task, parameters) - _PROMISING:
            return None
        return start, begins.with_values(theta=theta)

    def learn_whole(self, task, parameters, budget):
        """Learn in one long ascent with all rows in one group."""
        groups, limit = self.groups(parameters), task.settings.max_iter
        return self.ascend(task, groups, parameters, limit, budget.left(), budget)

    def first_round(self, task, parameters, limit, budget):
        """Return parameters, iterations and the value after a round, or before it if better."""
        self.n_neighbors = self.more_neighbors
        value, seconds = self.value(task, parameters), limit - time.perf_counter()
        iterations = min(_ROUND_ITERATIONS[0], task.settings.max_iter)
        return self.round(task, parameters, value, iterations, seconds, budget)

    def round(self, task, parameters, value, iterations, seconds, budget):
        """Do the same where the value before it is known."""
        groups = self.affordable(task, parameters, seconds, budget)
        learned, n_iter = self.ascend(task, groups, parameters, iterations, seconds, budget)
        after = self.value(task, learned)
        return (learned, n_iter, after) if after > value else (parameters, n_iter, value)

    def learn_further(self, task, parameters, budget):
        """Learn the noise, then in rounds, of targets that had no tails until then."""
        n_iter, space = 0, task.space.only("log_noise")
        if space.groups:
            of_noise = replace(task, start=replace(task.start, space=space))
            groups = self.affordable(of_noise, parameters, budget.left(), budget)
            iterations = min(_GROUP_TRIAL_ITERATIONS, task.settings.max_iter)
            parameters, n_iter = self.ascend(
                of_noise, groups, parameters, iterations, budget.left(), budget
            )
        parameters, more = self.learn(task, parameters, None, budget, most_misses=1)
        return parameters, n_iter + more

    def learn(self, task, parameters, value, budget, most_misses=2):
        """Learn in rounds on new groups, as long as that gains on other groups.

        A round that gains little is followed by a long one, a second such by nothing.
        """
        left, trace, n_iter, misses = task.settings.max_iter, task.trace, 0, 0
        if budget.left() <= 0.0:
            return parameters, n_iter
        self.n_neighbors = self.more_neighbors
        value = self.value(task, parameters) if value is None else value
        while misses < most_misses and n_iter < left and not trace.stopped:
            iterations, before = min(_ROUND_ITERATIONS[misses], left - n_iter), value
            parameters, more, value = self.round(
                task, parameters, before, iterations, budget.left(), budget
            )
            n_iter += more
            misses = 0 if value - before >= _LEAST_ROUND_GAIN else misses + 1
            if trace.cut_by == "max_time":
                break
        if trace.cut_by == "max_iter" and n_iter < left:
            trace.cut_by = None  # a round was over, not learning
        return parameters, n_iter

    def affordable(self, task, parameters, seconds, budget):
        """Draw new groups, as many as there is time to follow."""
        groups = self.groups(parameters)
        if not budget.is_limited or self.whole:
            return groups
        if not self.seconds_each:
            self.seconds_each = self._seconds_of_group(groups, parameters)
        each = LEAST_EVALUATIONS * self.seconds_each
        return groups[: max(_LEAST_GROUPS, count_within(len(groups), seconds, each))]

    def _seconds_of_group(self, groups, parameters):
        """Measure the seconds of an evaluation, on average; 0 where it fails."""
        some = groups[-_LEAST_GROUPS:]
        with suppress(NotPositiveDefiniteError):
            evidence, seconds = CompositeLikelihood(some, self.n_jobs), np.inf
            for _ in range(2):  # the first has costs that come once
                begin = time.perf_counter()
                evidence(parameters)
                seconds = min(seconds, time.perf_counter() - begin)
            work, of_some = (sum(len(piece) ** 3 for piece in part) for part in (groups, some))
            return seconds * work / (of_some * len(groups))
        return 0.0

    def ascend(self, task, groups, parameters, max_iter, seconds, budget):
        """Follow the density of some groups by L-BFGS, scaled to all rows."""
        evidence = CompositeLikelihood(groups, task.settings.n_jobs)
        space = task.space.within_reach(parameters, _LARGEST_LOG_MOVE)
        scale = self.rows.total_weight / evidence.weight
        n_rows = sum(len(piece) for piece in groups)
        task = replace(task, start=replace(task.start, space=space))
        task.trace.begin(f"learning from {n_rows} of {len(self.rows)} rows, given those near them")
        kind = self.n_neighbors, n_rows  # groups are of different sizes
        result, _, n_iter = ascend_scaled(
            evidence, scale, 1, task, parameters, max_iter, seconds, budget, kind
        )
        return result, n_iter
