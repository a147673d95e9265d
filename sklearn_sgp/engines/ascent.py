"""L-BFGS as engines run it: again with more jitter, or with some inducing inputs held at first.

Whatever comes later, what is returned is the best that was seen.
"""

import time
from typing import NamedTuple

import numpy as np

from .._linalg import NotPositiveDefiniteError
from .._parallel import blas_threads_for
from ..data.distinct import are_rows
from ..kernels._turned import directions_of
from ..optimize.budget import MIN_SECONDS
from ..optimize.lbfgs import FEW_PAIRS, SINGULAR, ascend_lbfgs
from ..optimize.progress import FURTHER, ITERATIONS, VISIBLE_GAIN, Steps
from .base import EXACT_TOL

# With no more rows all starts learn from all of them, and to the end: 2,000 rows take 1 to 5 s.
FEW_ROWS = 2048
# Iterations within which the bound of many rows is to rise. To the end of 200 iterations, which
# take two to three times as long, 5,000 rows of kin40k, kin8nm and california_housing gain 0.003 to
# 0.005 nats a row of test density, power_plant 0.006; ended at twice that pace kin40k lost 0.018.
_LOOK = 10
# What is told of a fit before it is measured: the seconds of an evaluation on one machine, for each
# row and inducing input, which grow as there are more of these.
_EACH, _MANY_INDUCING = 2e-8, 1000
# Where a run of the exact process has ended, each parameter is moved alone by so many logarithms:
# far where the slope is next to nothing, which a first step may have led to, and near otherwise,
# where rounding has ended it. Of 13 kernels, 5 noises and designs of 15 and 40 rows 19 fits ended
# .0015 to .93 nats below scikit-learn's optimum, of 90 rows 32 up to 21; now none, and 17 up to .22
# with noise of 1e-10, where the 13th digit of theta moves the evidence by .001 to .13.
_FLAT_SLOPE, _FAR_MOVES, _NEAR_MOVES = 0.1, (1.0, 2.0, 3.0, 4.5, 6.0, 7.5, 9.0), (0.01, 0.1, 1.0)
# Weights of directions are not moved alone, which had no end amid rounding: three of ten designs of
# Friedman's function, 150 rows of five columns, took 10 to 29 s for 3 to 4, and one was worse.
# A way that has lost so many nats is not followed further: 1,000 rows of 8 columns take 147
# evaluations in the place of 229.
_LOST = 50.0


def seconds_of_rows(rows, parameters):
    """Return what an evaluation of the bound of some rows is expected to take."""
    m = max(len(parameters.Z), 1)
    return _EACH * len(rows) * m * (1.0 + m / _MANY_INDUCING)


def expect_ascent(trace, rows, parameters, most):
    """Tell the forecast of ascents to come, of so many iterations at most.

    They end as gains fall, which nobody knows before: eight fits of four tables had 1 to 53 times
    less to do, and none had more.
    """
    each = seconds_of_rows(rows, parameters)
    trace.forecast.expect(_part(rows), most * each, is_limit=True)


def _part(rows):
    return f"{len(rows)} rows"


class Run(NamedTuple):
    """Hold what runs of L-BFGS have come to.

    Parameters
    ----------
    parameters : Parameters
        The best.
    value : float
        The objective there; NaN where every pass has another one.
    cut_by : str or None
        What cut the last one short: "max_iter", "max_time", "max_steps" or `SINGULAR`.
    known : tuple or None
        The q(u) at which the next run begins: see `variational.base.LearningInference`.
    reached : float or None
        What the last one came to, if its objective is one of all rows.
    """

    parameters: object
    value: float
    n_iter: int
    cut_by: str | None = None
    known: object = None
    reached: float | None = None


def lbfgs_memory(is_exact):
    """Return the option of L-BFGS that differs for the evidence of the exact process."""
    return {"memory": FEW_PAIRS} if is_exact else {}


def merit(space, result):
    """Return what a run maximised: its objective and the log prior of its parameters."""
    return space.merit(*result[:2])


def better(space, first, second):
    """Return the result of the second run, or that of the first where the second lost."""
    return second if merit(space, second) >= merit(space, first) else first


def inputs_at_kinks(space, parameters, rows):
    """Return a mask (m,) of learned inducing inputs at rows where the kernel has a kink, or None.

    A bound has one there, too: its slope says nothing of where it rises, and no line search
    succeeds along it.
    """
    if not (space.learns("Z") and parameters.expression.has_kink) or rows.live_elsewhere:
        return None
    held = are_rows(parameters.Z, rows.X)
    return held if held.any() else None


class Ascents:
    """Runs of L-BFGS one after the other, each from the best that was seen.

    Inducing inputs at kinks are held in the first, and free where that has converged. A run that
    covariances which are singular have ended is followed by one with more jitter. Of 60 places with
    three rows each, with `Matern(nu=0.5)`, the bound ended 52 nats below its optimum where inputs
    were free from the beginning: kernel and noise were as they had started.

    Parameters
    ----------
    start : Parameters
    max_iter : int
        Of all runs together.
    held : ndarray of bool, shape (m,), or None
        See `inputs_at_kinks`.
    settings : Settings or None
        None where the jitter is not to be raised.
    is_exact : bool
        Whether the evidence is that of the exact process: runs then follow until one gains nothing,
        as a line search may fail by rounding where the noise is small.
    probes : bool
        Whether each parameter is moved alone, too, where runs of the exact process have ended: not
        where inducing inputs were chosen.
    """

    def __init__(
        self, space, start, max_iter, trace, held=None, settings=None, is_exact=False, probes=False
    ):
        self.space, self.trace, self.held, self.settings = space, trace, held, settings
        self.is_exact, self.start = is_exact, start
        self.probes = is_exact and probes
        self.parameters, self.value, self.n_iter, self.cut_by = start, -np.inf, 0, None
        self.delta = None if settings is None else settings.prior(start).delta
        self.left, self.is_over = max_iter, False

    def moves(self, gradient):
        """Return the gradient without that of inducing inputs that are held."""
        if self.held is None:
            return gradient
        return type(gradient)(gradient, Z=np.where(self.held[:, None], 0.0, gradient["Z"]))

    def add(self, parameters, value, n_iter, cut_by, objective=None):
        """Take what a run of an objective has come to, and see whether another one follows."""
        first, second = (self.parameters, self.value), (parameters, value)
        is_first, expected = self.value == -np.inf, self.space.expected
        gain = value - self.value + expected.value(parameters) - expected.value(self.parameters)
        self.parameters, self.value = second if is_first else better(self.space, first, second)[:2]
        self.n_iter, self.left = self.n_iter + n_iter, self.left - n_iter
        self.cut_by = cut_by
        may_go_on = self.left > 0 and not self.trace.stopped
        gains = self.is_exact and gain > EXACT_TOL and cut_by is None
        goes_on = gains or self._frees_inputs() or self._raises_jitter()
        self.is_over = not (may_go_on and (goes_on or self._steps_aside(objective)))

    def _frees_inputs(self):
        is_next = self.held is not None and self.cut_by is None
        self.held = None if is_next else self.held
        return is_next

    def _raises_jitter(self):
        if self.settings is None or self.cut_by != SINGULAR:
            return False
        prior = self.settings.prior_above(self.parameters, self.delta)
        self.delta = self.delta if prior is None else prior.delta
        return prior is not None

    def _steps_aside(self, objective):
        """Move each parameter alone where that gains; return whether another run follows."""
        if not self.probes or self.cut_by not in (None, SINGULAR):
            return False
        space, like = self.space, self.parameters
        begun = best = space.merit(like, self.value)
        x, bounds = space.pack(like), space.bounds(like)
        slopes = space.pack_gradient(space.with_prior(*objective(like), like)[1])
        value_of = getattr(objective, "value", lambda parameters: objective(parameters)[0])
        for k, begin in enumerate(space.pack(self.start)):
            for way in _ways(x[k], begin, bounds[k], slopes[k]):
                x, best = self._follow(way, k, begin, x, best, value_of)
        return self.trace.clock.left() > 0.0 and best - begun > EXACT_TOL

    def _follow(self, way, k, begin, x, best, value_of):
        """Move the k-th parameter of x from place to place; return x and the best merit so far."""
        for place in way:
            if self.trace.clock.left() <= 0.0:
                break
            moved = np.append(x[:k], [place, *x[k + 1 :]])
            parameters = self.space.unpack(moved, self.parameters)
            try:
                value = value_of(parameters)
            except NotPositiveDefiniteError:
                continue
            gain = self.space.merit(parameters, value) - best
            if gain > (-EXACT_TOL if place == begin else 0.0):
                x = moved
            if gain > 0.0:
                best, self.parameters, self.value = best + gain, parameters, value
            if gain < -_LOST:
                break
        return x, best

    def result(self, of_all_rows, known=None):
        """Return the `Run` that all of them were; ``known`` as it has it."""
        reached = self.value if of_all_rows else None
        return Run(self.parameters, self.value, self.n_iter, self.cut_by, known, reached)


def _ways(x, begin, bounds, slope):
    """Return where a parameter is moved alone, from x, each way: down, up, and, where it is flat,
    to where it began and to its bounds.
    """
    is_flat = abs(slope) < _FLAT_SLOPE
    steps = np.array(_FAR_MOVES if is_flat else _NEAR_MOVES)
    ways = x - steps, x + steps, *((place,) for place in (begin, *bounds) if is_flat)
    return [_places(way, x, bounds) for way in ways]


def _places(way, x, bounds):
    places = np.clip(way, *bounds)
    places = places[np.sort(np.unique(places, return_index=True)[1])]
    return places[np.isfinite(places) & (places != x)]


def ascend(problem, parameters, rows, seconds, max_iter=None, interim=False, is_short=False):
    """Follow the bound of some rows, scaled to all; return a `Run`.

    With ``interim`` gains count only if they are ten times as large; with ``is_short`` a run on
    many rows ends where more iterations would gain nothing visible.
    """
    settings, trace = problem.settings, problem.trace
    deadline = time.perf_counter() + max(seconds, MIN_SECONDS)
    scale = problem.rows.total_weight / rows.total_weight
    max_iter = settings.max_iter if max_iter is None else max_iter
    steps = Steps(ITERATIONS, max_iter, _part(rows), seconds_of_rows(rows, parameters))
    trace.begin(f"learning from {len(rows)} of {len(problem.rows)} rows", steps)
    if is_short:
        expect_ascent(trace, rows, parameters, max_iter)
    held = inputs_at_kinks(problem.space, parameters, rows)
    probes = problem.has_given_inputs and directions_of(parameters.kernel.sklearn_kernel) is None
    options = held, settings, problem.is_exact, probes
    runs = Ascents(problem.space, parameters, max_iter, trace, *options)

    inference = problem.inference
    with blas_threads_for(len(rows) if problem.is_exact else 0):
        while not runs.is_over:
            has_learned = runs.parameters is not problem.start.parameters
            options = runs.delta, has_learned, settings.n_jobs, deadline
            space, bound, trace.known_now = inference.objective(
                problem.space, runs.parameters, rows, *options
            )
            found = ascend_lbfgs(
                bound,
                space,
                runs.parameters,
                max_iter=runs.left,
                plateau=problem.plateau(interim, problem.is_exact),
                trace=trace,
                seconds=deadline - time.perf_counter(),
                ends=_small_gain(problem, interim) if is_short else None,
                scale=scale,
                changed=runs.moves,
                **lbfgs_memory(problem.is_exact),
            )
            runs.add(*found, bound)
            inference = inference.knowing(trace.known_now())
    if is_short:
        expect_ascent(trace, rows, parameters, 0)
    return runs.result(len(rows) == len(problem.rows), inference.known)


def _small_gain(problem, interim):
    """Return what ends a run on many rows: True where more iterations would gain nothing.

    That is where so many more, at the pace of the last ten, would gain nothing visible; where
    another stage follows, where the last ten themselves gained nothing visible. None for few rows,
    and for the evidence of the exact process. See `ascend_lbfgs`.
    """
    if len(problem.rows) <= FEW_ROWS or problem.is_exact:
        return None
    values = []
    least = VISIBLE_GAIN * problem.n_observations * (1.0 if interim else _LOOK / FURTHER)

    def ends(trace):
        values.append(trace.objectives[-1])
        return len(values) > _LOOK and values[-1] - values[-1 - _LOOK] < least

    return ends


def best_of_priors(find, problem, learned):
    """Return what is found with the last jitter, or with that of learning where that is better.

    With the last jitter, a smaller one, rounding may cost more than the jitter does.
    ``find(prior)`` returns a tuple of the prior, the posterior, the objective and more; ``learned``
    is a `Run`.
    """
    settings, reached = problem.settings, learned.reached
    found = find(settings.final_prior(learned.parameters))
    if reached is None or found[2] >= reached - problem.plateau().tol:
        return found
    return max(found, find(settings.prior(learned.parameters)), key=lambda one: one[2])
