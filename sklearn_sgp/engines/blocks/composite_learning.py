"""Kernel and noise learned from groups of near rows: how well each follows from rows around it.

What a model that knows its near rows predicts depends on kernel and noise at short distances. The
density of a group of rows given the rows around it measures just that, at the full density of the
data, without inducing inputs and for a fraction of the work of whole blocks. It is the logarithm
of a product of conditional densities of the exact process (a composite likelihood; docs/theory.md,
section 12), so that it has no bound to be loose and nothing to overfit but kernel and noise.

Which rows are near depends on the length scales. Groups are therefore drawn anew in every pass,
and what a round has learned must hold on groups that it has not seen. Where targets have heavy
tails, the kernel is learned without these first.
"""

import time
from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._parallel import blas_threads_for
from ...data.rows import ConditionedRows
from ...data.winsorize import with_light_tails
from ...objectives.composite_likelihood import CompositeLikelihood
from ...objectives.left_out_classes import LeftOutClasses
from ...objectives.scores import Score
from ...optimize import time_shares
from ...optimize.budget import MIN_SECONDS, count_within
from ...optimize.lbfgs import ascend_lbfgs
from ...optimize.progress import ITERATIONS, PASSES
from ...optimize.stochastic import ascend_in_passes, scaled
from ...partitions.sampling import LARGEST_WHOLE, whole_group
from ..other_starts import default_starts
from .coverage import check_coverage
from .group_draws import GROUP_SIZE, NEIGHBORS, GroupDraws
from .hyperparameters import lbfgs_options
from .pace import LEAST_GROUPS, Ahead, seconds_of_group
from .trials import above_repeats, best_start, numbers_of_categories, task_of, with_variances_of
from .ways import FIRST_PASSES, RATE, AllRows, Labels, Numbers, learn_in_rounds

# Numbers are learned from so few rows in one group, the exact process: many groups of 300 rows cost
# as much. 18 draws of 700 rows from nine tables gain 0.04 nats a row by it (RMSE 3 % less) in a
# ninth of the time, 14 draws of 1,500 0.007 nats (RMSE 3 % less) in half of it. Where time is
# limited, so many evaluations have to fit in.
_LARGEST_EXACT, _EXACT_EVALUATIONS = 1536, 100
# Where so many numbers are learned of categories, this density is too optimistic, and such a share
# of the rows judges what the others say. Of 48 draws of 300 to 1,300 rows with 12 to 120 categories
# none loses more than 0.04 nats a row, 24 gain 0.03 and more, in half of the time. Of 18 draws with
# 3 to 5 categories half lose. Nor do length scales need such a judge (32 draws of 60 to 160 rows
# from four tables of 26 to 60 columns). Labels of at most 512 rows are judged so, too: 12 draws of
# six tables of 97 to 176 rows gain -.10 to .13 nats a row, .026 in the mean; of six of 300 rows
# four gain .05 to .10, two lose .03 and .10.
_MANY_NUMBERS, _JUDGING_SHARE = 32, 0.25
# Learning goes on with so many neighbours. Some structure shows at no smaller size: delays of
# 200,000 flights have RMSE 0.935 sd and -1.341 nats with 100 neighbours, 0.886 and -1.189 with 250.
MORE_NEIGHBORS = 250
# Groups of a step of numbers. With 8, a peak of few rows beside noise of a thousandth of the scale
# was learned with errors twice as large in four of four draws; six tables of 2,000 to 5,000 rows
# had 0.002 nats less in the mean and took 1.1 to 1.5 times as long.
_GROUPS_OF_A_STEP = 4
# Logarithms of a default kernel's parameters move at most so far in one ascent: the first step of
# L-BFGS may jump to a far corner, where equal targets of equal rows are all that counts.
_LARGEST_LOG_MOVE, _AT_REACH = 3.0, 1e-6


def learn_from_near_rows(problem, budget):
    """Learn from several starts on groups of near rows, and return the best.

    Returns
    -------
    start : engines.base.Start
        With the kernel that was chosen.
    parameters : Parameters
        Inducing inputs are as in the start.
    n_iter : int
    cut_by : str or None
        See `engines.fitted.Fitted`.
    """
    n_iter, cut_by, n_told = 0, None, len(problem.trace.choices)
    for may_be_whole in (True, False):
        del problem.trace.choices[n_told:]  # those of what was given up
        sample = CompositeLearning(problem, may_be_whole)
        sample.limit(problem.start.parameters, budget)
        with blas_threads_for(len(sample.rows) if sample.whole else 0):
            starts = _planned_starts(problem, sample, budget)
            start, parameters, value, more = best_start(problem, sample, starts, budget)
            n_iter += more
            if not problem.trace.stopped:
                best = start, parameters, value
                start, parameters, more, cut_by = _from_best(problem, sample, *best, budget)
                n_iter += more
        if not sample.misses_far_targets or problem.trace.stopped or budget.left() <= 0.0:
            break
    return start, parameters, n_iter, cut_by


def learns_much_of_categories(start):
    """Return whether rows that have told what is learned of categories do not judge that."""
    return numbers_of_categories(start) >= _MANY_NUMBERS


def _planned_starts(problem, sample, budget):
    """Return the starts that are compared, once the sample knows how many there are."""
    starts = _starts(problem, sample)
    if any(map(learns_much_of_categories, starts)):
        sample.hold_out()
    n_starts = len(starts) + problem.settings.n_restarts_optimizer
    sample.plan(n_starts, starts[0].parameters, budget)
    sample.ahead.learning(n_starts, Numbers(sample).expected, sample.is_first)
    return starts


def _starts(problem, sample):
    """Return the starts that are compared."""
    starts = default_starts(problem.start)
    if sample.rows is not problem.rows:
        return [with_variances_of(start, sample.rows, problem.rows) for start in starts]
    if sample.is_first:
        return [above_repeats(start, sample.rows) for start in starts]
    return starts


def _from_best(problem, sample, start, parameters, value, budget):
    """Go on from the best start; return it, as what is left to learn needs it, and the rest."""
    task = task_of(problem, start)
    if sample.whole and sample.held_out is None:
        parameters, more, cut_by = sample.way.learn_whole(task, parameters, budget)
    else:
        parameters, more, cut_by = sample.learn(task, parameters, value, budget)
    if sample.rows is not problem.rows and not problem.trace.stopped:
        start = above_repeats(start, problem.rows)
        task = task_of(problem, start)
        parameters, last, cut_by = sample.learn_with_tails(task, parameters, budget)
        more += last
    sample.ahead.learned()
    if problem.warns and not (sample.whole or sample.has_labels):
        check_coverage(sample.judging_groups(parameters), parameters, problem.trace)
    return start, parameters, more, cut_by


def can_learn(problem):
    """Return whether anything is free and ``optimizer="auto"``."""
    space = task_of(problem, problem.start).space
    free = len(space.pack(problem.start.parameters))
    return problem.settings.optimizer == "auto" and free > 0


class CompositeLearning:
    """Draws groups and learns from them."""

    has_finalists = True  # the two best trials get a round each, unless one is clearly better

    def __init__(self, problem, may_be_whole=True):
        self.rng, self.has_labels = problem.rng, problem.rows.of_classes
        rows, n_rows = problem.rows, len(problem.rows)
        self.begins = not (problem.is_interim or self.has_labels)
        if self.begins and n_rows > LARGEST_WHOLE:
            rows = with_light_tails(problem.rows)
        largest = LARGEST_WHOLE if self.has_labels or not may_be_whole else _LARGEST_EXACT
        self.whole, self.misses_far_targets = n_rows <= largest, False
        self.held_out = None  # rows to learn from and rows that judge
        self.near = GroupDraws.of_density(problem, rows)
        self.n_tests = None
        self.more_neighbors = NEIGHBORS if self.has_labels else MORE_NEIGHBORS
        self.n_jobs, self.seconds_of_pass = problem.settings.n_jobs, 0.0
        has_passes = not (self.whole or self.has_labels) and problem.start.likelihood.conjugate
        self.ahead = Ahead(problem.trace, rows, has_passes)

    @property
    def rows(self):
        """Rows that are learned from."""
        return self.near.rows

    @property
    def is_first(self):
        """True if a kernel is chosen by groups of rows."""
        return self.begins and not self.whole

    @property
    def way(self):
        """The class of `ways` that follows its groups."""
        return (AllRows if self.whole else Labels if self.has_labels else Numbers)(self)

    @property
    def later(self):
        """Groups once learning goes on, with more rows around them."""
        return self.near.around(self.more_neighbors)

    def limit(self, parameters, budget):
        """Learn from groups where the exact process of all rows takes too long."""
        if not self.has_time(parameters, budget):
            self.whole = False

    def has_time(self, parameters, budget):
        """Return whether the exact process of all rows is affordable, where it is learned from."""
        n_rows = len(self.rows)
        if not (self.whole and budget.is_limited) or n_rows <= LARGEST_WHOLE:
            return True
        if budget.left() <= 0.0:
            return False
        some = whole_group(self.rows.fixed_subset(LARGEST_WHOLE))
        seconds = seconds_of_group([some], parameters, self.n_jobs) * (n_rows / LARGEST_WHOLE) ** 3
        return _EXACT_EVALUATIONS * seconds <= budget.left()

    def plan(self, n_starts, parameters, budget):
        """Choose how many groups are drawn at a time, where time is limited.

        The evaluations of a fit are counted, and the speed of the machine is measured once: a slow
        one learns from fewer groups, and compares the same starts in as many passes.
        """
        if not budget.is_limited or self.whole or self.has_labels:
            return
        if budget.left() <= 0.0:
            self.near = replace(self.near, count=LEAST_GROUPS)
            return
        begin = time.perf_counter()
        groups = self.later.draw(parameters, self.rng)
        draw = (time.perf_counter() - begin) / len(groups)
        each = draw + seconds_of_group(groups, parameters, self.n_jobs)
        of_trial = (self.near.group_rows / self.later.group_rows) ** 3
        work = Numbers(self).work(n_starts, of_trial)
        count = max(LEAST_GROUPS, count_within(self.near.count, budget.left(), work * each))
        self.near, self.seconds_of_pass = replace(self.near, count=count), count * each

    def hold_out(self):
        """Leave rows out that judge, where all would be one group."""
        n_rows = len(self.rows)
        judges = int(_JUDGING_SHARE * n_rows)
        if self.whole and judges:
            order = self.near.judging_rng.permutation(n_rows)
            self.held_out = order[judges:], order[:judges]

    def groups(self, parameters, count=None, near=None, rng=None):
        """Draw groups to learn from."""
        if not self.whole:
            return (near or self.near).draw(parameters, rng or self.rng, count)
        rows = self.rows if self.held_out is None else self.rows.select(self.held_out[0])
        return [whole_group(rows)]

    def judging_groups(self, parameters, near=None):
        """Draw the groups that nothing is learned from."""
        return self.groups(parameters, near=near, rng=self.near.judging_rng)

    def value(self, task, parameters, near=None):
        """Compute the log density of each row given those around it: `Score`.

        On groups that nothing is learned from, around the same rows whatever the parameters. Of
        labels it is the log probability of a row's class given all other rows of its group. What
        the user expects of parameters counts besides. ``near`` are other groups than those of now,
        or None.
        """
        if self.held_out is None:
            groups = self.judging_groups(parameters, near)
        else:
            groups = [ConditionedRows(self.rows, (self.held_out,))]
        try:
            if self.has_labels:
                likelihood = task.start.likelihood
                if self.n_tests is None:
                    seconds = time_shares.JUDGING_LABELS * task.trace.clock.max_time
                    self.n_tests = self._tests_within(groups, parameters, likelihood, seconds)
                score = self._left_out(groups[: self.n_tests], parameters, likelihood).score()
            else:
                score = CompositeLikelihood(groups, self.n_jobs).score(parameters)
        except NotPositiveDefiniteError:
            return Score.none()
        if self.has_labels and not np.isfinite(score.each).all():
            return Score.none()
        return task.raised(score, parameters)

    def _left_out(self, groups, parameters, likelihood):
        evidence = CompositeLikelihood(groups, self.n_jobs)
        return LeftOutClasses.of_groups(evidence, parameters, likelihood)

    def _tests_within(self, groups, parameters, likelihood, seconds):
        """Count the groups whose best temperature can be found in some seconds."""
        if seconds == np.inf or len(groups) <= LEAST_GROUPS:
            return len(groups)
        begin, some = time.perf_counter(), groups[-LEAST_GROUPS:]
        self._left_out(some, parameters, likelihood).score()
        each = (time.perf_counter() - begin) / len(some)
        return max(LEAST_GROUPS, count_within(len(groups), seconds, each))

    def left_out(self, parameters, likelihood, n_rows, seconds):
        """Return `LeftOutClasses` of groups of near rows, about so many rows or as time allows.

        ``seconds`` are those of one search for the best temperature.
        """
        return self.leaving_out(parameters, likelihood, n_rows, seconds)(parameters)

    def leaving_out(self, parameters, likelihood, n_rows, seconds=np.inf):
        """Return a function of parameters that does the same, for the groups of some."""
        rng, count = self.near.judging_rng, -(-n_rows // GROUP_SIZE)
        groups = self.later.draw_near(parameters, rng, count)
        groups = groups[: self._tests_within(groups, parameters, likelihood, seconds)]
        evidence = CompositeLikelihood(groups, self.n_jobs)
        return lambda changed: LeftOutClasses.of_groups(evidence, changed, likelihood)

    def trial(self, task, parameters, limit, budget):
        """Learn from a start; return parameters, iterations, and the score on other groups."""
        parameters, n_iter, _ = self.way.trial(task, parameters, limit, budget)
        return parameters, n_iter, self.value(task, parameters)

    def first_round(self, task, parameters, limit, budget):
        """Return parameters, iterations and the score after half a round, or before if better.

        It learns around as few rows as a trial, which costs a quarter, and is judged around as many
        as the rounds that follow.
        """
        self.ahead.finalist()
        value = self.value(task, parameters, self.later)
        most, seconds = min(FIRST_PASSES, task.settings.max_iter), limit - time.perf_counter()
        learned, n_iter, _ = self.way.round(task, parameters, most, RATE, seconds, budget)
        after = self.value(task, learned, self.later)
        return self._kept(parameters, value, learned, n_iter, after)

    def _kept(self, parameters, value, learned, n_iter, after):
        """Return what was learned where that holds, or else what was before, with its score."""
        if self.way.holds(after, value):
            return learned, n_iter, after
        return parameters, n_iter, value

    def learn_with_tails(self, task, parameters, budget):
        """Learn from targets that had no tails until then, as the way that it follows does."""
        self.near = replace(self.near, rows=task.rows)
        return self.way.learn_with_tails(task, parameters, budget)

    def learn(self, task, parameters, value, budget):
        """Learn in rounds, as long as they gain more on other groups than its standard error."""
        if budget.left() <= 0.0:
            return parameters, 0, "max_time"
        self.near = self.later
        if value is None:
            value = self.value(task, parameters)

        def do_round(parameters, value, most, rate):
            self.ahead.round()
            options = most, rate, budget.left(), budget
            learned, n_iter, cut_by = self.way.round(task, parameters, *options)
            after = self.value(task, learned)
            return *self._kept(parameters, value, learned, n_iter, after), cut_by

        def has_time():
            return budget.left() > self.seconds_of_pass

        limit, least_gain = task.settings.max_iter, self.way.least_gain
        return learn_in_rounds(
            do_round, parameters, value, RATE, limit, task.trace, has_time, least_gain
        )

    def climb(self, task, parameters, n_passes, rate, seconds, every=1):
        """Follow the density of new groups in every pass by Adam, scaled to all rows.

        One of ``every`` of the groups that judge is followed in a pass. Returns as
        `ascend_in_passes`.
        """
        near = self.near.fewer(every)
        count, size = near.count, near.group_rows
        steps = self.ahead.steps(PASSES, n_passes, self.ahead.seconds_of(count, size))
        self._tell(task, count * size, steps)

        def draw(now):
            groups = []
            while len(groups) < count:  # few rows have few groups at a time
                groups += self.groups(now, count=count)
            order = self.rng.permutation(len(groups))[: count + near.wide(count)]
            n_steps = max(1, len(order) // _GROUPS_OF_A_STEP)
            seen = sum(groups[i].total_weight for i in order)
            scale = self.rows.total_weight * n_steps / seen
            return [
                scaled(CompositeLikelihood([groups[i] for i in some], task.settings.n_jobs), scale)
                for some in np.array_split(order, n_steps)
            ]

        return ascend_in_passes(
            draw, task.space, parameters, rate=rate, n_passes=n_passes, trace=task.trace,
            seconds=max(seconds, MIN_SECONDS),
        )  # fmt: skip

    def _tell(self, task, n_rows, steps):
        n_rows = min(n_rows, len(self.rows))  # groups share rows
        stage = f"learning from {n_rows} of {len(self.rows)} rows, given those near them"
        task.trace.begin(stage, steps)

    def affordable(self, parameters, n_evaluations, seconds, budget):
        """Return how many groups can be evaluated so often in some seconds."""
        if not budget.is_limited:
            return self.near.count
        each = seconds_of_group(self.groups(parameters), parameters, self.n_jobs)
        return max(LEAST_GROUPS, count_within(self.near.count, seconds, n_evaluations * each))

    def ascend(self, task, groups, parameters, max_iter, seconds, budget, goes_on=False):
        """Follow the density of some groups by L-BFGS, scaled to all rows.

        With ``goes_on`` another ascent begins where one has ended at its reach.
        """
        evidence = CompositeLikelihood(groups, task.settings.n_jobs)
        scale = self.rows.total_weight / evidence.weight
        n_rows = sum(len(piece) for piece in groups)
        seconds_each = sum(self.ahead.seconds_of(1, len(piece.rows)) for piece in groups)
        kind = self.near.n_neighbors, n_rows  # groups are of different sizes
        n_iter, deadline = 0, time.perf_counter() + seconds
        while True:
            begin, most = parameters.theta, max_iter - n_iter
            space = task.space.within_reach(parameters, _LARGEST_LOG_MOVE)
            near = replace(task, start=replace(task.start, space=space))
            self._tell(near, n_rows, self.ahead.steps(ITERATIONS, most, seconds_each))
            options = lbfgs_options(near, budget, deadline - time.perf_counter(), kind=kind)
            options |= {"max_iter": most, "scale": scale}
            density = evidence if space.learns("theta") else evidence.of_noise(parameters)
            parameters, _, more, cut_by = ascend_lbfgs(density, space, parameters, **options)
            n_iter += more
            moved = np.abs(parameters.theta - begin).max(initial=0.0)
            is_over = n_iter >= max_iter or task.trace.stopped or cut_by is not None
            if is_over or not goes_on or moved < _LARGEST_LOG_MOVE - _AT_REACH:
                return parameters, n_iter, cut_by
