"""The kernel of a likelihood that is not Gaussian, learned from groups of near rows by their sites.

What `composite_learning` is for Gaussian noise: the evidence of a group of rows given the rows
around it, here by expectation propagation (docs/theory.md, section 13). A group costs some five
times as much, so that few are followed, and in several passes: their sites begin where the pass
before left them. What a round has learned must hold on groups that it has not seen.
"""

import time
from functools import partial

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._parallel import single_blas_thread
from ...objectives.near_sites import NearSites
from ...objectives.scores import Score
from ...optimize import time_shares
from ...optimize.budget import MIN_SECONDS, count_within, measured_seconds
from ...optimize.lbfgs import ascend_lbfgs
from ...optimize.stochastic import ascend_in_passes, scaled
from ...partitions.sampling import LARGEST_WHOLE, whole_group
from ..other_starts import default_starts
from .bound_start import with_variational_start
from .group_draws import GroupDraws
from .hyperparameters import lbfgs_options
from .pace import LEAST_GROUPS
from .trials import best_start, task_of
from .ways import learn_in_rounds

# Rows around a group from the second round on.
_MORE_NEIGHBORS = 200
# Groups of a start's trial, of a step, and those that judge; passes of a trial and of a round over
# their groups. Seven default fits of two classes (gammas, prices of electricity, a rare class; of
# 3,000 and 17,000 rows) took 149 CPU seconds with 24, 8, 32, 6, 4, 12 and 3 sweeps, rounds of two
# finalists and a trial of each start; they take 102 with these. Five of them, with one seed, have
# 0.0022 nats of new rows less in the mean (0.0058 less to 0.0026 more); two that lost most have 0
# and 0.0145 more with another seed. With three passes of a round one has 0.0025 less.
_TRIAL_GROUPS, _STEP_GROUPS, _JUDGING, _TRIAL_TURNS, _ROUND_TURNS = 16, 4, 24, 4, 4
# Sweeps over a group that is new to a pass, and over one that it has seen before, whose sites are
# nearly right, as steps move the kernel by little, and move by a sweep with each step; those over
# groups that judge.
_PASS_SWEEPS, _JUDGE_SWEEPS = (5, 1), (10, 3)
# Groups that are timed where time is limited.
_TIMED_GROUPS = 2
# Standard errors by which a start is behind what others have learned, and gets no trial: short
# length scales beside those that a bound has found.
_FAR_BEHIND = 5.0
# Rate of Adam in trials and in the first round; each further round has half of it.
_TRIAL_SPEED, _ROUND_SPEED = 0.15, 0.1
# Iterations of L-BFGS in a trial where all rows are one group, whose sites are found so precisely
# that it sees one function.
_WHOLE_TRIAL, _WHOLE_TOLERANCE = 15, 1e-5


def learn_by_sites(problem, budget):
    """Learn from several starts on sampled groups; return as `learn_from_near_rows`."""
    sample = SiteLearning(problem)
    if not sample.whole:
        problem = with_variational_start(problem, budget)
    return learn_from_starts(problem, sample, budget)


def learn_from_starts(problem, sample, budget):
    """Do the same from starts that stand, with groups of a `SiteLearning`."""
    if not task_of(problem, problem.start).learns:  # but inducing inputs, which stay
        return problem.start, problem.start.parameters, 0, None
    with single_blas_thread():  # groups are small
        starts = default_starts(problem.start)
        start, parameters, value, n_iter = best_start(problem, sample, starts, budget)
        if problem.trace.stopped:
            return start, parameters, n_iter, None
        task = task_of(problem, start)
        parameters, more, cut_by = sample.learn(task, parameters, value, budget)
    return start, parameters, n_iter + more, cut_by


class SiteLearning:
    """Draws groups and learns from them; see `trials.best_start` for what it is asked."""

    is_first = False  # no short length scales are looked for one by one
    has_labels = False  # in the place of numbers: they are labels here
    # the best trial goes on: it was the better one in all of nine draws after rounds of two
    has_finalists = False

    def __init__(self, problem):
        self.rows, self.rng = problem.rows, problem.rng
        self.whole = len(problem.rows) <= LARGEST_WHOLE
        self.near, self._judging, self._n_judging = GroupDraws.of(problem), {}, _JUDGING
        self._best = Score.none()  # of the trials so far

    def groups(self, parameters, count, rng=None):
        """Draw groups of rows that are near at these length scales, and wide ones."""
        if self.whole:
            return [whole_group(self.rows)]
        return self.near.draw(parameters, rng or self.rng, count)

    def value(self, task, parameters):
        """Compute the evidence of each row given those around it: `Score`.

        On groups that nothing is learned from: the same ones whatever the parameters, so that
        their sites are known, but for a few sweeps.
        """
        n_neighbors = self.near.n_neighbors
        if n_neighbors not in self._judging:
            count, rng = min(self.near.count, self._n_judging), self.near.judging_rng
            groups = self.groups(parameters, count, rng)
            self._judging[n_neighbors] = self._sites(task, groups, sweeps=_JUDGE_SWEEPS)
        return task.raised(self._score(self._judging[n_neighbors], parameters), parameters)

    @staticmethod
    def _score(evidence, parameters):
        try:
            return evidence.score(parameters)
        except NotPositiveDefiniteError:
            return Score.none()

    def _sites(self, task, groups, **options):
        if self.whole:
            options = {"tol": _WHOLE_TOLERANCE}
        options |= {"clock": task.trace.clock}
        return NearSites(groups, task.start.likelihood, task.settings.n_jobs, **options)

    def trial(self, task, parameters, limit, budget):
        """Learn from a start; return parameters, iterations, and the score on other groups.

        Where a bound has found it, the start may be better than what noisy steps make of it.
        """
        seconds = limit - time.perf_counter()
        if budget.is_limited and not self.whole:
            some = self.groups(parameters, _TIMED_GROUPS, self.near.judging_rng)
            each = self._seconds_each(task, some, parameters) if seconds > 0.0 else np.inf
            most = count_within(_JUDGING, time_shares.JUDGING_SITES * seconds, each)
            self._n_judging = max(LEAST_GROUPS, most)
        before = self.value(task, parameters)
        gain, error = self._best.gain(before)
        if not self.whole and gain > _FAR_BEHIND * error:
            return parameters, 0, before
        if self.whole:
            most = min(_WHOLE_TRIAL, task.settings.max_iter)
            learned, n_iter, _ = self._ascend(task, parameters, most, seconds, budget)
        else:
            learned, n_iter, _ = self._climb(
                task, parameters, _TRIAL_GROUPS, _TRIAL_TURNS, _TRIAL_SPEED, seconds, budget
            )
        after = self.value(task, learned)
        self._best = max(self._best, after, before, key=lambda score: score.mean)
        is_kept = after.mean > before.mean
        return (learned, n_iter, after) if is_kept else (parameters, n_iter, before)

    def learn(self, task, parameters, value, budget):
        """Learn in rounds, as long as they gain more on other groups than its standard error."""
        limit, speed = task.settings.max_iter, _ROUND_SPEED
        if budget.left() <= 0.0:
            return parameters, 0, "max_time"
        if self.whole:
            return self._ascend(task, parameters, limit, budget.left(), budget)
        self.near = self.near.around(_MORE_NEIGHBORS)
        if value is None:
            value = self.value(task, parameters)
        else:
            speed *= 0.5

        def do_round(parameters, value, most, speed):
            given, turns = (task, parameters, self.near.count), min(_ROUND_TURNS, most)
            learned, n_iter, cut_by = self._climb(*given, turns, speed, budget.left(), budget)
            after = self.value(task, learned)
            if after.mean > value.mean:
                return learned, n_iter, after, cut_by
            return parameters, n_iter, value, cut_by

        def has_time():
            return budget.left() > 0.0

        return learn_in_rounds(do_round, parameters, value, speed, limit, task.trace, has_time)

    def _ascend(self, task, parameters, max_iter, seconds, budget):
        """Follow the evidence of all rows, one group, by L-BFGS."""
        evidence = self._sites(task, self.groups(parameters, 1))
        self._tell(task, len(self.rows))
        options = lbfgs_options(task, budget, seconds) | {"max_iter": max_iter}
        result, _, n_iter, cut_by = ascend_lbfgs(evidence, task.space, parameters, **options)
        return result, n_iter, cut_by

    def _climb(self, task, parameters, count, turns, speed, seconds, budget):
        """Follow the evidence of some groups by Adam, scaled to all rows; as `ascend_in_passes`."""
        groups = self.groups(parameters, count)
        if budget.is_limited:
            groups, turns = self._affordable(task, groups, parameters, turns, seconds)
        n_groups = len(groups)
        evidence = self._sites(task, groups, sweeps=_PASS_SWEEPS)
        self._tell(task, sum(len(piece.X) for piece in groups))

        def draw(_):
            order = self.rng.permutation(n_groups)
            steps = np.array_split(order, max(1, n_groups // _STEP_GROUPS))
            scale = self.rows.total_weight / evidence.weight * len(steps)
            return [scaled(partial(evidence.of_groups, step), scale) for step in steps]

        return ascend_in_passes(
            draw, task.space, parameters, rate=speed, n_passes=turns, trace=task.trace,
            seconds=max(seconds, MIN_SECONDS),
        )  # fmt: skip

    def _tell(self, task, n_rows):
        n_rows = min(n_rows, len(self.rows))  # groups share rows
        task.trace.begin(f"learning from {n_rows} of {len(self.rows)} rows, given those near them")

    def _affordable(self, task, groups, parameters, turns, seconds):
        """Return as many groups and passes over them as there is time for."""
        if seconds <= 0.0:
            return groups[-LEAST_GROUPS:], 1
        each = self._seconds_each(task, groups[-_TIMED_GROUPS:], parameters)
        count = max(LEAST_GROUPS, count_within(len(groups), seconds, turns * each))
        return groups[-count:], max(1, min(turns, count_within(turns, seconds, count * each)))

    def _seconds_each(self, task, groups, parameters):
        """Measure the seconds of a group that is new to a pass."""
        some = self._sites(task, groups, sweeps=_PASS_SWEEPS)
        return measured_seconds(lambda: some(parameters)) / len(groups)
