"""The state of a stream between batches, and how a batch changes it."""

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from ...data.rows import Rows, drop_zero_weight
from ..base import FitResult, Settings
from .batch import StreamPlan, first_batch, next_batch, sees_signal
from .inducing import StreamInducing
from .outliers import Outliers

# A stream begins anew with every batch until it has so many rows. Scaling, starting values and
# bounds that come from a few rows may be wrong by any factor, and later batches do not always undo
# that: of 800 random streams 5 that began with 2 to 24 rows ended with a mean squared standardised
# residual of 5 to 16,000; now all of them with less than 4, and so with twice as many rows.
_MIN_INITIAL_ROWS = 25
# Fewer rows of a batch say little about whether there is a signal.
_MIN_ROWS_FOR_SIGNAL = 50


@dataclass(frozen=True)
class StreamChoices:
    """What the user chose about streams; names as in the public interface.

    ``keeps_scales`` says whether the kernel is the default one, ``inducing`` is None where the
    inducing inputs were given.
    """

    settings: Settings
    inducing: StreamInducing | None
    alpha_divergence: float
    forget_factor: float
    trust_region: float
    keeps_scales: bool
    random_state: object

    def seed(self, n_batches):
        """Random numbers for a batch: others for every batch, the same after a restart."""
        if isinstance(self.random_state, Integral):
            return (int(self.random_state) + n_batches) % 2**32
        return self.random_state

    def is_spent(self, n_batches):
        """Whether no further batch may be learned from."""
        return self.settings.max_steps is not None and n_batches >= self.settings.max_steps


@dataclass(frozen=True)
class InitialRows:
    """The rows with which a stream began, and the fit that it began from.

    Parameters
    ----------
    rows : Rows
        Targets as the user gave them, not scaled.
    previous : FitResult or None
    """

    rows: Rows
    previous: FitResult | None

    @classmethod
    def of(cls, X, y, weight, previous, earlier=None):
        """With the rows of a batch, after those of earlier ones."""
        rows = Rows(*drop_zero_weight(X, y, weight), 0.0, 1.0)
        return cls(rows if earlier is None else earlier.rows.joined(rows), previous)

    def copied(self):
        """With arrays of its own: the user may fill those of a batch with the next one."""
        rows = self.rows
        weight = None if rows.weight is None else np.array(rows.weight)
        own = replace(rows, X=np.array(rows.X), y=np.array(rows.y), weight=weight)
        return replace(self, rows=own)


@dataclass(frozen=True)
class StreamState:
    """What is kept of a stream; replaced by every batch, never changed.

    Parameters
    ----------
    result : FitResult
    weight_seen : float
        Weight of all rows so far.
    weight_learned : float
        Weight of the rows that kernel and noise were learned from.
    has_signal : bool
        Whether something other than noise was seen, or too few rows to tell.
    n_rows : int
        Number of rows so far.
    outliers : Outliers
    initial_rows : InitialRows or None
        The rows themselves, as long as they are few.
    """

    result: FitResult
    weight_seen: float
    weight_learned: float
    has_signal: bool
    n_rows: int
    outliers: Outliers
    initial_rows: InitialRows | None = None
    interrupted = False

    def with_noise(self, noise, constant=None):
        """The same with noise of each row; see `FitResult.with_noise`."""
        return replace(self, result=self.result.with_noise(noise, constant))

    def moments_of(self, rows, n_jobs):
        """As those of `FitResult`."""
        return self.result.moments_of(rows, n_jobs)

    def left_out_moments(self, rows, places, n_jobs):
        """As those of `FitResult`."""
        return self.result.left_out_moments(rows, places, n_jobs)

    def drawn(self, n_rows, size, rng):
        """As that of `FitResult`."""
        return self.result.drawn(n_rows, size, rng)


def begin(problem, choices, initial, n_outputs, is_informative):
    """The state after the first batch.

    Parameters
    ----------
    problem : Problem
    choices : StreamChoices
    initial : InitialRows
        Kept as long as they are so few that the next batch begins the stream anew.
    n_outputs : int
        Columns of the targets, or classes.
    is_informative : bool
        Whether the batch can say anything about the kernel.

    Returns
    -------
    state : StreamState
    """
    rows, weight = problem.rows, problem.rows.total_weight
    has_signal = len(rows) < _MIN_ROWS_FOR_SIGNAL
    plan = _plan(
        choices, problem.start, rows, problem.trace, n_outputs, 0, has_signal, is_informative, 0.0
    )
    result = first_batch(rows, plan)
    if plan.restarts:
        has_signal = sees_signal(result, rows, weight)
    n_rows = len(initial.rows)
    is_short = choices.settings.optimizer is not None and n_rows < _MIN_INITIAL_ROWS
    return StreamState(
        result,
        weight,
        plan.learns * weight,
        has_signal,
        n_rows,
        Outliers().seen(n_rows),
        initial.copied() if is_short else None,
    )


def examined(state, rows, targets):
    """The rows of a later batch with outliers damped, and the state that has counted them.

    Only Gaussian noise has no word for outliers, and only a stream that has learned from enough
    rows knows what is one. ``targets`` (`Targets`) has the units in which a warning tells of them.
    """
    knows = state.has_signal and state.weight_learned > 0.0 and state.n_rows >= _MIN_ROWS_FOR_SIGNAL
    is_gaussian = state.result.start.likelihood.conjugate
    if knows and is_gaussian and not state.result.likelihood.allows_outliers:
        rows, outliers = state.outliers.damped(rows, state.result, targets)
    else:
        outliers = state.outliers.seen(len(rows))
    return rows, replace(state, n_rows=state.n_rows + len(rows), outliers=outliers)


def add(state, rows, choices, trace, n_outputs, is_informative):
    """The state after one more batch that was `examined`; parameters as in `begin`."""
    result, weight = state.result, rows.total_weight
    plan = _plan(
        choices,
        result.start,
        rows,
        trace,
        n_outputs,
        result.n_steps,
        state.has_signal,
        is_informative,
        state.weight_learned,
    )
    result = next_batch(result, rows, state.weight_seen, plan)
    weight_seen, has_signal = state.weight_seen + weight, state.has_signal
    if plan.restarts:
        has_signal = sees_signal(result, rows, weight_seen)
    return replace(
        state,
        result=result,
        weight_seen=weight_seen,
        weight_learned=state.weight_learned + plan.learns * weight,
        has_signal=has_signal,
    )


def begins_anew(state, choices):
    """Whether a batch joins the initial rows, and the stream begins again with all of them."""
    return (
        state.initial_rows is not None
        and choices.settings.optimizer is not None
        and not choices.is_spent(state.result.n_steps)
    )


def _plan(
    choices, start, rows, trace, n_outputs, n_batches, has_signal, is_informative, weight_learned
):
    learns = (
        choices.settings.optimizer is not None
        and not choices.is_spent(n_batches)
        and trace.clock.left() > 0
        and is_informative
    )
    return StreamPlan(
        start=start,
        settings=choices.settings,
        inducing=choices.inducing,
        n_outputs=n_outputs,
        alpha=choices.alpha_divergence,
        forget_factor=choices.forget_factor,
        trust_region=choices.trust_region,
        restarts=learns and not has_signal and len(rows) >= _MIN_ROWS_FOR_SIGNAL,
        keeps_scales=choices.keeps_scales,
        weight_learned=weight_learned,
        learns=learns,
        seed=choices.seed(n_batches),
        trace=trace,
    )
