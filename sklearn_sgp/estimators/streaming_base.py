"""What both streaming estimators share: parameters, batches, and what is carried between them."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from .._compat import FitProgress, Interval
from .learned import SHARED_CONSTRAINTS, BaseLearned
from ..fitting.starting_values import input_summary, positive_rows
from ..streams.batch import Plan, first_batch, next_batch
from ..kernels._length_scales import input_scales
from ..optimize.learning import Clock, Trace
from ..data.rows import Rows
from ..streams.inducing import Chooser, all_kept

# Least power of the carried factor. With 0 what is known of an old inducing value counts in full
# even where the new ones do not determine it, and a posterior that has to drop some contradicts
# itself: on a noise-free series with 100 inducing inputs and room for 150 the RMSE went up to 0.3
# from 0.04, with 0.5 it ends at 0.02. Nothing changes where old inducing inputs are kept.
_LEAST_POWER = 0.5

# A stream begins anew with every batch until it has so many rows. Scaling, starting values and
# bounds that come from a few rows may be wrong by any factor, and later batches do not always undo
# that: of 800 random streams 5 that began with 2 to 24 rows ended with a mean squared standardised
# residual of 5 to 16,000; now all of them with less than 4, and so with twice as many rows.
_BEGINNING = 25

# Fewer rows of a batch say little about whether there is a signal.
_JUDGED = 50

STREAM_CONSTRAINTS = SHARED_CONSTRAINTS | {
    "forget_factor": [Interval(Real, 0, 1, closed="right")],
    "trust_region": [Interval(Real, 0, None, closed="neither")],
    "min_inducing": [None, Interval(Integral, 1, None, closed="left")],
}


def _unscaled(X, y, weight):
    return Rows(X, y, weight, 0.0, 1.0)


class BaseStreaming(BaseLearned):
    """Estimators that take one batch after another.

    A subclass has ``_begin(X, y, weight, clock, previous)``, which learns from the first batch, and
    ``_batch_rows(X, y, weight)``, rows of a later one as the model has them.
    """

    def _pass(self, X, y, weight, previous):
        """One pass over validated rows, in batches; the estimator is as after `partial_fit`."""
        clock, progress = Clock(self.max_time), FitProgress(self, X, y)
        progress.begin()
        self.__dict__.pop("_learned", None)
        X, y, weight = positive_rows(X, y, weight)
        edges = [0, *range(min(self.init_size, len(X)), len(X), self.batch_size), len(X)]
        for lo, hi in pairwise(edges):
            part = None if weight is None else weight[lo:hi]
            self._take(X[lo:hi], y[lo:hi], part, clock, previous)
            if progress.step(self._now):
                break
        progress.end()

    def _take(self, X, y, weight, clock, previous=None):
        """Learn from a validated batch."""
        if not hasattr(self, "_learned"):
            self._seen = self._taught = self.log_evidence_ = 0.0
            self._begin(X, y, weight, clock, previous)
            self._keep_beginning(_unscaled(X, y, weight), previous)
        elif self._beginning is not None and self.optimizer is not None and not self._spent():
            self._begin_anew(X, y, weight, clock)
        else:
            rows = self._batch_rows(X, y, weight)
            trace = Trace(clock, self._listener(None, rows))
            plan = self._plan(rows, self._space, trace)
            learned = next_batch(self._learned, rows, self._seen, plan)
            self._taught += plan.learns * rows.total_weight
            self._store(learned, rows.y_scale, rows.total_weight)
            offset = rows.total_weight * np.log(rows.y_scale).sum()
            self.objectives_ = np.array(trace.objectives) - offset
            self.fit_times_ = np.array(trace.times)
            self._seen += rows.total_weight
            self._look_for_signal(plan, learned, rows)
            self.n_samples_seen_ += len(X) if weight is None else int(np.count_nonzero(weight))
        self.log_evidence_ += self.objective_
        if self.verbose:
            print(
                f"[{type(self).__name__}] batch {self.n_steps_}: {self.n_samples_seen_} rows, "
                f"{len(self.inducing_points_)} inducing inputs, objective {self.objective_:.6g}"
            )

    def _begin_anew(self, X, y, weight, clock):
        """As if the rows so far and these had been one batch."""
        self._batch_rows(X, y, weight)  # an error where they do not fit those before
        steps, evidence = self._steps() + 1, self.log_evidence_
        before, previous = self._beginning
        rows = before.joined(_unscaled(X, y, weight))
        del self._learned
        self._seen = self._taught = 0.0
        self._begin(rows.X, rows.y, rows.weight, clock, previous)
        self.n_steps_, self._learned = steps, replace(self._learned, n_steps=steps)
        self.objective_ -= evidence
        self.objectives_ = self.objectives_ - evidence
        self._keep_beginning(rows, previous)

    def _keep_beginning(self, rows, previous):
        short = self.optimizer is not None and self._seen < _BEGINNING
        self._beginning = (rows, previous) if short else None

    def _spent(self):
        return self.max_steps is not None and self._steps() >= self.max_steps

    def _course(self, problem):
        """The first batch."""
        rows, self._space, self._start_parameters = problem.rows, problem.space, problem.start
        self._seen = rows.total_weight
        self._signal = len(rows) < _JUDGED
        plan = self._plan(rows, problem.space, problem.trace)
        self._taught = plan.learns * self._seen
        learned = first_batch(rows, problem.start, plan)
        self._look_for_signal(plan, learned, rows)
        return learned

    def _look_for_signal(self, plan, learned, rows):
        if plan.start is not None:
            model = learned.posterior, learned.parameters
            self._signal = plan.sees_signal(*model, rows, self._seen)

    def _plan(self, rows, space, trace):
        learns = (
            self.optimizer is not None
            and not self._spent()
            and trace.clock.left() > 0
            and self._teaches(rows)
        )
        anew = learns and not self._signal and len(rows) >= _JUDGED
        return Plan(
            settings=self._settings(),
            space=space,
            make_bound=partial(self._make_bound, power=max(self._power(), _LEAST_POWER)),
            choose=self._chosen_inducing,
            most=self._most(),
            forget_factor=float(self.forget_factor),
            trust_region=float(self.trust_region),
            start=self._start_parameters if anew else None,
            keeps_scales=self.kernel is None,
            noise_of=self._noise_of,
            taught=self._taught,
            learns=learns,
            trace=trace,
        )

    def _chosen_inducing(self, rows, parameters, old, seen, spare=0):
        if not isinstance(self.inducing, str):
            return parameters.Z, all_kept(parameters.Z)
        chooser = Chooser(self.inducing, self.n_inducing, self.min_inducing)
        kernel = parameters.kernel
        scale = input_scales(kernel, input_summary(rows.X, rows.weight)[1])
        noise = self._noise_of(parameters)
        return chooser.choose(rows, kernel, noise, old, seen, scale, self._draws(), spare)

    def _noise_of(self, parameters):
        """What unexplained variances are compared with: that of the noise, or 1."""
        return parameters.noise_variance if self._likelihood.n_noise else 1.0

    def _most(self):
        """Number to thin out to, where there are more; None where they are not chosen greedily."""
        greedy = isinstance(self.inducing, str) and self.inducing == "greedy"
        return self.n_inducing if greedy else None

    def _inducing_inputs(self, rows, start, spread, rng):
        if not isinstance(self.inducing, str):
            return super()._inducing_inputs(rows, start, spread, rng)
        chooser = Chooser(self.inducing, self.n_inducing, self.min_inducing)
        scale, none = input_scales(start.kernel, spread), rows.X[:0].astype(np.float64)
        return chooser.choose(rows, start.kernel, start.noise_variance, none, 0.0, scale, rng)[0]

    def _power(self):
        return 0.0

    def _teaches(self, rows):
        """Whether a batch can say anything about the kernel."""
        return True

    def _draws(self):
        """Random numbers for a batch: others for every batch, the same after a restart."""
        if isinstance(self.random_state, Integral):
            return np.random.RandomState((int(self.random_state) + self._steps()) % 2**32)
        return check_random_state(self.random_state)

    def _steps(self):
        return self._learned.n_steps if hasattr(self, "_learned") else 0

    def _listener(self, progress, rows):
        """Iterations within a batch are told to nobody."""

    def _now(self):
        """Fitted attributes after the batches so far."""
        given = self.get_params(deep=False)
        return {name: value for name, value in vars(self).items() if name not in given}
