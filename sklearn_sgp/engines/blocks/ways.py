"""Three ways to follow groups of near rows: all rows as one group, labels, numbers.

Each has a trial, which every start gets, and a round, which the best one repeats while it gains
more on groups that nothing is learned from than the standard error of that.
"""

import time
from dataclasses import replace

import numpy as np

from ...kernels._length_scales import variance_mask
from ...optimize.budget import LEAST_EVALUATIONS
from ...partitions.sampling import whole_group

# L-BFGS follows a start, and then the groups of a round, for at most so many iterations. A round
# must gain so many nats a row besides: a group of all rows has no standard error.
_TRIAL_ITERATIONS, _ROUND_ITERATIONS, _LEAST_ROUND_GAIN = 15, 20, 3e-3
# One group is of so many rows until a start has been chosen; of all where some columns are
# categories, whose noise was missed in 2 of 6 draws of 600 to 1,500 rows.
_TRIAL_ROWS = 400
# Groups of labels that a start learns from, before the best one learns from all. Densities of
# labels as regressions are not what is scored, and noise of steps costs: 1,257 digits have 0.054
# nats by Adam, 0.040 by L-BFGS. 40 groups: 0.0009 nats more on 15 draws of elec2, banana and a made
# table of 6 classes, in 1.25 times the seconds.
_LABEL_TRIAL_GROUPS = 20
# L-BFGS on labels ends after so many iterations that gain less than so many times `tol` each. With
# the plateau of other objectives (1, and 5 iterations): 0.0004 nats less on the same 15 draws, in
# 1.5 times the seconds.
_LABEL_TOL, _LABEL_PATIENCE = 10.0, 2
# Passes of Adam in a trial, its rate, and one in so many of the groups that judge, from which it
# learns; passes of a round and the rate of the first. Each other has half of the rate before it. A
# pass has new groups, so that nothing is learned from any of them twice. Rounds of 5, 6 and 8 did
# equally on 12 draws of four tables; 20 to 120 iterations of L-BFGS on the same groups took two to
# five times as long for 0.01 nats less in the mean (11 draws).
_TRIAL_PASSES, _TRIAL_RATE, _TRIAL_EVERY = 2, 0.15, 2
_ROUND_PASSES, RATE = 6, 0.1
# A trial of many rows has as many passes as there are so many rows, up to those of a round: what is
# dense and all but free of noise lies far from where starts begin. Of 1,946,334 pressures on a grid
# 2 passes chose another kernel (2.5 nats) than 4 (3.65) and 6 (3.68); of 600,000 of them two draws
# have 2.75 and 3.55 nats by 2 passes, 3.47 and 3.42 by 6. Flights (700,000, heavy tails, three
# draws) have 0.009, 0.065 and -0.001 nats more on groups that judge by 6, new rows -0.10, 0.03 and
# -0.05 with standard errors of 0.1, and the same squared errors.
_ROWS_OF_A_PASS = 100_000
# Passes after which one of the two best starts goes on: after whole rounds 0.001 nats more on 15
# draws of eight tables, where this choice took as long as all learning after it. They are around as
# few rows as trials, and what they reach is judged around as many as later rounds have. Around as
# many themselves, 1,800 houses, 1,800 rows of pol and 60,000 flights had 0.0003, 0.0007 and -0.0035
# nats more, and took 1.27, 1.14 and 1.04 times the CPU seconds of the fit.
FIRST_PASSES = 3
# What time is planned for: rounds of the start that goes on (default fits of 2,000 to 10,000 rows
# of seven tables end after 2 or 3), and the work of a value without its gradient.
_PLANNED_ROUNDS, _WORK_OF_VALUE = 3, 0.4
# Far targets are a function's where a kernel that has learned with them predicts rows that are held
# out by so many nats better; then groups of near rows, which few of them are in, are learned from.
# Peaks of few rows gain .17 to 3.7 nats (seven draws), outliers and long tails lose .002 to .7
# (seven tables).
_FAR_TARGETS_GAIN = 0.05


def learn_in_rounds(do_round, parameters, value, rate, max_iter, trace, has_time, least_gain=0.0):
    """Repeat rounds, each at half of the rate, while they gain more than the standard error of it.

    Parameters
    ----------
    do_round : callable
        ``do_round(parameters, value, most, rate)`` learns for at most so many iterations, and
        returns parameters, iterations, the score on groups that nothing is learned from, and what
        cut it short.
    value : Score
        Before the first round.
    has_time : callable
        Returns whether a round is begun.
    least_gain : float
        Nats a row that a round must gain besides.

    Returns
    -------
    parameters : Parameters
    n_iter : int
    cut_by : str or None
        See `engines.fitted.Fitted`.
    """
    n_iter = 0
    while n_iter < max_iter and not trace.stopped:
        if not has_time():
            return parameters, n_iter, "max_time"
        before = value
        parameters, more, value, cut_by = do_round(parameters, before, max_iter - n_iter, rate)
        n_iter, rate = n_iter + more, 0.5 * rate
        gain, error = value.gain(before)
        if cut_by == "max_time" or gain <= max(error, least_gain):
            return parameters, n_iter, cut_by
    return parameters, n_iter, None if trace.stopped else "max_iter"


class AllRows:
    """All rows are one group, the exact process, which L-BFGS follows.

    Like each way, it returns parameters, iterations or passes, and what cut these short.
    """

    least_gain = _LEAST_ROUND_GAIN

    def __init__(self, sample):
        self.sample = sample

    def trial(self, task, parameters, limit, budget):
        """Learn from a start, before a time."""
        iterations = min(_TRIAL_ITERATIONS, task.settings.max_iter)
        groups, seconds = self._trial_groups(task, parameters), limit - time.perf_counter()
        return self.sample.ascend(task, groups, parameters, iterations, seconds, budget)

    def round(self, task, parameters, most, rate, seconds, budget):
        """Go on for at most so many iterations."""
        groups, iterations = self.sample.groups(parameters), min(_ROUND_ITERATIONS, most)
        return self.sample.ascend(task, groups, parameters, iterations, seconds, budget)

    @staticmethod
    def holds(after, before):
        """Return whether what a round has learned is kept, by scores after it and before."""
        return after.mean > before.mean

    def learn_whole(self, task, parameters, budget):
        """Learn in one long ascent.

        That of the exact process goes on from its reach: the variance of a function without noise
        is far from where it starts.
        """
        sample = self.sample
        sample.ahead.round()
        options = task.settings.max_iter, budget.left(), budget, task.inputs_are_rows
        return sample.ascend(task, sample.groups(parameters), parameters, *options)

    def learn_with_tails(self, task, parameters, budget):
        """Learn variances and noise; see whether far targets tell of length scales.

        These then follow the targets of some rows, and predict those of others far better.
        """
        sample = self.sample
        of_variances = replace(task.start, space=_of_variances(task.space, parameters))
        of_variances = replace(task, start=of_variances)
        found, n_iter, cut_by = self.learn_whole(of_variances, parameters, budget)
        if cut_by == "max_time" or task.trace.stopped:
            return found, n_iter, cut_by
        if sample.held_out is None:
            sample.hold_out()
        before, most = sample.value(task, found), task.settings.max_iter
        learned, more, _ = self.round(task, found, most, RATE, budget.left(), budget)
        gain = sample.value(task, learned).mean - before.mean
        sample.misses_far_targets = gain > _FAR_TARGETS_GAIN
        return found, n_iter + more, cut_by

    def _trial_groups(self, task, parameters):
        groups = self.sample.groups(parameters)
        if task.start.columns.categorical or len(groups[0]) <= _TRIAL_ROWS:
            return groups
        rng = self.sample.near.judging_rng  # the same for all starts
        return [whole_group(groups[0].rows.random_subset(_TRIAL_ROWS, rng))]


def _of_variances(space, parameters):
    """Return the space where all of the kernel but its variances stays where it is.

    The evidence of all rows explains far targets by short length scales, where it may: 1,000 rows
    with 1 % of outliers had -3.95 nats of new rows by 45 weights of directions, now -1.04.
    """
    if not space.learns("theta"):
        return space
    stays = np.repeat(parameters.theta[:, None], 2, axis=1)
    varies = variance_mask(parameters.expression)[:, None]
    return space.with_group("theta", bounds=np.where(varies, space.group("theta").bounds, stays))


class Labels:
    """L-BFGS follows groups of labels, few in a trial, until an iteration gains next to nothing."""

    least_gain = _LEAST_ROUND_GAIN

    def __init__(self, sample):
        self.sample = sample

    def trial(self, task, parameters, limit, budget):
        """Learn from a start, before a time."""
        seconds = limit - time.perf_counter()
        return self._follow(
            task, parameters, _LABEL_TRIAL_GROUPS, _TRIAL_ITERATIONS, seconds, budget
        )

    def round(self, task, parameters, most, rate, seconds, budget):
        """Go on for at most so many iterations."""
        most = min(_ROUND_ITERATIONS, most)
        return self._follow(task, parameters, self.sample.near.count, most, seconds, budget)

    @staticmethod
    def holds(after, before):
        """Return whether what more groups say is kept: it may look worse by the standard error."""
        gain, error = after.gain(before)
        return gain > -error

    def _follow(self, task, parameters, count, iterations, seconds, budget):
        sample, settings = self.sample, task.settings
        affordable = sample.affordable(parameters, LEAST_EVALUATIONS, seconds, budget)
        groups = sample.groups(parameters, count=min(count, affordable))
        patience = min(settings.n_iter_no_change, _LABEL_PATIENCE)
        coarse = replace(settings, tol=_LABEL_TOL * settings.tol, n_iter_no_change=patience)
        task, iterations = replace(task, settings=coarse), min(iterations, settings.max_iter)
        return sample.ascend(task, groups, parameters, iterations, seconds, budget)


class Numbers:
    """Adam follows groups that are new in every pass."""

    least_gain = 0.0

    def __init__(self, sample):
        self.sample = sample

    @property
    def _trial_passes(self):
        return min(max(_TRIAL_PASSES, len(self.sample.rows) // _ROWS_OF_A_PASS), _ROUND_PASSES)

    @property
    def expected(self):
        """Seconds of a trial, of a finalist and of a round, on the machine of `Ahead`."""
        seconds_of, near = self.sample.ahead.seconds_of, self.sample.near
        few = seconds_of(near.fewer(_TRIAL_EVERY).count, near.group_rows)
        of_finalist = seconds_of(near.count, near.group_rows)
        each = seconds_of(near.count, self.sample.later.group_rows)
        return self._trial_passes * few, FIRST_PASSES * of_finalist, _ROUND_PASSES * each

    def work(self, n_starts, of_trial):
        """Count the evaluations that a fit makes for each group, all starts and rounds included.

        ``of_trial`` is the work of an evaluation in a trial, or of a finalist, in units of one in a
        round.
        """
        trials = n_starts * of_trial * (self._trial_passes / _TRIAL_EVERY + _WORK_OF_VALUE)
        finals = min(n_starts - 1, 2) * (FIRST_PASSES * of_trial + 2.0 * _WORK_OF_VALUE)
        return trials + finals + _PLANNED_ROUNDS * (_ROUND_PASSES + _WORK_OF_VALUE)

    def trial(self, task, parameters, limit, budget):
        """Learn from a start, before a time."""
        options = self._trial_passes, _TRIAL_RATE, limit - time.perf_counter()
        return self.sample.climb(task, parameters, *options, every=_TRIAL_EVERY)

    def round(self, task, parameters, most, rate, seconds, budget):
        """Go on for at most so many passes."""
        passes = min(_ROUND_PASSES, most)
        return self.sample.climb(task, parameters, passes, rate, seconds)

    def learn_with_tails(self, task, parameters, budget):
        """Learn the noise, then in rounds.

        The search for the noise ends at the first iteration that gains next to nothing, as rounds
        go on with it: 20,000 flights, whose log noise then is -1.0990 in the place of -1.0995, took
        28 evaluations, a fifth of the fit, and take 6.
        """
        sample, space, n_iter = self.sample, task.space.only("log_noise"), 0
        if space.groups:
            settings, limit = replace(task.settings, n_iter_no_change=1), task.settings.max_iter
            of_noise = replace(task, start=replace(task.start, space=space), settings=settings)
            groups = sample.groups(parameters)[-sample.near.count :]
            options = min(_TRIAL_ITERATIONS, limit), budget.left(), budget
            parameters, n_iter, _ = sample.ascend(of_noise, groups, parameters, *options)
        parameters, more, cut_by = sample.learn(task, parameters, None, budget)
        return parameters, n_iter + more, cut_by

    @staticmethod
    def holds(after, before):
        """Return whether what a round has learned is kept, by scores after it and before."""
        return after.mean > before.mean
