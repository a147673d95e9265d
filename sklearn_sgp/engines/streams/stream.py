"""The engine of streams: how a batch begins one, and how a later batch changes it."""

from dataclasses import dataclass, replace
from numbers import Integral

from ...data.distinct import n_distinct
from ...data.running_moments import RunningMoments
from ...gp.jitter import warn_about_jitter
from ...optimize.frequencies import ROWS_FOR_A_NUMBER, holding_frequencies, learned_numbers
from ..best_so_far import BestSoFar
from ..diagnostics import by_mean, warn_at_bounds, warn_of_missed
from ..new_categories import with_variance_of_new_categories
from ..one_column import or_fast_along_columns
from ..parts_of_outputs import or_with_parts_of_outputs
from ..variational.class_regressions import begins_with_regressions
from ..variational.equal_outputs import or_as_one_output
from .answers import are_elsewhere
from .band_places import NO_PLACES
from .bands import NO_BANDS
from .batch import first_batch, next_batch
from .inducing import StreamInducing
from .initial_rows import MIN_INITIAL_ROWS, InitialRows, most_kept
from .plan import LEAST_POWER, Known, StreamPlan
from .rounds import sees_signal
from .search_space import alike, humble
from .state import MIN_ROWS_FOR_SIGNAL, StreamState
from .waiting import LEAST_LEARNED, NONE_WAITING

# What a state knows of how kernel and noise were learned.
_LEARNED = "weight_learned", "has_signal", "initial_rows"


@dataclass(frozen=True)
class Stream:
    """Fits a stream batch by batch (Bui et al. 2017; docs/theory.md, section 11).

    Parameters
    ----------
    inducing : StreamInducing or None
        None where the inducing inputs were given.
    keeps_scales : bool
        Whether the kernel is the default one.
    old_posterior_power : float or None
        None: that of the rows, at least a half.
    n_outputs : int
        Columns of the targets, or classes.
    initial : InitialRows or None
        Of a first batch: kept as long as they are so few that the next batch begins anew.
    is_informative : bool
        Whether the batch can say anything about the kernel.
    follows_units : bool
        Whether centre and scale of the targets are those of all rows so far.
    keeps_rows : bool
        Whether rows may be kept to begin anew: nothing of them fades, and there is time to learn.
    follows_level : bool
        Whether these may say that a level wanders.
    samples_rows : bool
        Whether a sample of all rows is kept: nothing of them fades.
    known : Known or None
        Of a later batch: all rows so far.
    """

    inducing: StreamInducing | None
    alpha_divergence: float
    forget_factor: float
    trust_region: float
    keeps_scales: bool
    random_state: object
    old_posterior_power: float | None = None
    n_outputs: int = 1
    initial: InitialRows | None = None
    is_informative: bool = True
    follows_units: bool = False
    keeps_rows: bool = False
    follows_level: bool = False
    samples_rows: bool = False
    known: Known | None = None

    @property
    def old_power(self):
        """Power of the old posterior's factor."""
        asked = self.old_posterior_power
        return max(self.alpha_divergence, LEAST_POWER) if asked is None else asked

    @property
    def first_inducing(self):
        """Choice of the inducing inputs of the first batch; None where they were given."""
        return None if self.inducing is None else self.inducing.first

    def fit(self, problem):
        """Learn from the first batch; see `Engine`."""
        n_rows, learns = len(self.initial.rows), problem.settings.optimizer is not None
        least = _least_rows(problem)
        is_short = learns and n_rows < least
        every, weight = problem.rows, problem.rows.total_weight
        every = every if learns else replace(every, grid=0.0)
        rows = self.initial.to_learn_from(every)
        has_signal = len(rows) < MIN_ROWS_FOR_SIGNAL
        posed = _of_so_many(_humble(problem), n_rows) if learns else problem
        if n_distinct(problem.rows) < least:  # as many as a line has numbers are on one
            posed = replace(posed, start=replace(posed.start, alternatives=()))
        posed = _with_categories_alike(posed, weight)
        plan = self._plan(posed, 0, has_signal, 0.0)
        plan = replace(plan, earlier_theta=self.initial.theta, before=self.initial.before)
        fitted, ones = begun = first_batch(rows, plan, every)
        if plan.learns:
            fitted, ones, posed = _or_otherwise(rows, every, posed, plan, begun)
        warn_about_jitter(fitted.jitter, plan.settings.jitter)  # of the one that is taken
        if plan.restarts:
            has_signal = sees_signal(fitted, rows, rows.total_weight)
        room = most_kept(has_signal) // (1 if self.initial.level.may_wander else 2)
        stays = self.may_keep(problem.start, problem.settings) and n_rows <= room
        is_kept = is_short or stays or self.initial.rule.in_turn
        state = StreamState(
            weight,
            plan.learns * rows.total_weight,
            has_signal,
            n_rows + self.initial.rule.n_gone,
            self.initial.begun(fitted, least) if is_kept else None,
            RunningMoments.of(rows.y, rows.observations) if self.follows_units else None,
            ones,
        )
        earlier = problem.previous
        if earlier is not None:  # given the noise of each row, which left little to learn
            state = replace(state, **{name: getattr(earlier.state, name) for name in _LEARNED})
        if plan.learns and problem.warns and not problem.trace.stopped:
            # what a few rows say is soon forgotten, but where they are all that one has
            if not is_short:
                warn_at_bounds(problem.start, fitted.parameters)
            asks_reach = not (is_short and self.initial.are_joined)
            warn_of_missed(problem, fitted, by_mean, asks_reach)
        before = (posed.start,) if plan.before is None else (posed.start, plan.before.start)
        start = fitted.start if is_short else _same_start(fitted.start, problem.start, *before)
        start = start if earlier is None else earlier.start
        fitted = with_variance_of_new_categories(fitted) if plan.learns else fitted
        return replace(fitted, start=start, state=self._with_bands(state, fitted, problem, None))

    def add(self, fitted, problem):
        """Learn from one more batch, already `counted`; see `Engine`."""
        state, rows, weight = fitted.state, problem.rows, problem.rows.total_weight
        ever = max(state.weight_seen + weight, state.n_rows)  # forgotten rows have taught, too
        held = alike(problem.start, fitted.parameters, ever)
        posed = replace(problem, start=held)
        plan = self._plan(posed, fitted.n_steps, state.has_signal, state.weight_learned)
        plan = replace(
            plan,
            restarts=plan.learns if state.begins_anew else plan.restarts,
            holds_noise=fitted.noise.differs,
            waiting=state.waiting,
            noise_fell=state.watch.noise_fell,
        )
        if plan.learns and _is_to_wait(plan, weight):
            plan = replace(plan, learns=False, waits=True)
        in_turn = not plan.start.likelihood.conjugate  # labels are known then, and teach no kernel
        if (plan.learns or in_turn) and not (plan.restarts or plan.holds_noise):
            plan = replace(plan, known=self.known)
        learn = _with_features if fitted.parameters.has_features else next_batch
        more, ones = learn(fitted, rows, state.weight_seen, plan)
        weight_seen, has_signal = state.weight_seen + weight, state.has_signal
        if plan.restarts:
            has_signal = sees_signal(more, rows, weight_seen)
        learned = plan.learns * (weight + state.waiting.weight)
        if plan.learns:
            state = replace(state, waiting=NONE_WAITING)
        elif plan.waits:
            state = replace(state, waiting=state.waiting.joined(more, rows))
        state = replace(
            state,
            weight_seen=weight_seen,
            weight_learned=state.weight_learned + learned,
            has_signal=has_signal,
            ones=ones,
            begins_anew=state.begins_anew and not plan.learns,
        )
        more = with_variance_of_new_categories(more) if plan.learns else more
        state = self._with_bands(state, more, problem, fitted)
        start = fitted.start if fitted.parameters.has_features else more.start
        if held is not problem.start:
            start = replace(start, space=problem.start.space)
        return replace(more, start=start, state=state)

    def _with_bands(self, state, fitted, problem, before):
        """Return a state with bands as a batch that was learned from vouches for them.

        By place, as far as a sample of all rows does, or as wide everywhere.

        Parameters
        ----------
        before : Fitted or None
            The stream before the batch. Where its noise fell, rows near the batch that told of more
            say nothing of what comes, unless the batch is elsewhere.
        """
        places, n_jobs = state.places, problem.settings.n_jobs
        is_measure = _measures_bands(fitted if before is None else before, problem)
        if is_measure:
            state = replace(state, bands=self._bands(state, fitted, problem))
        state = state.with_band_share()
        if not (is_measure and self.samples_rows):
            return replace(state, places=NO_PLACES)
        m = len(fitted.parameters.Z) if self.inducing is None else self.inducing.n_inducing
        if state.watch.noise_fell and not are_elsewhere(before, problem.rows, n_jobs):
            places = places.away_from(problem.rows, before.posterior.prior.kernel)
        places = places.joined(state.telling(problem.rows), m)
        if not state.is_established:
            return replace(state, places=places.unjudged())
        places, share = places.judged(fitted, state.band_share, self.alpha_divergence, n_jobs)
        return replace(state, places=places, band_share=share)

    def _bands(self, state, fitted, problem):
        """Return `Bands` with the rows of a batch that was learned from.

        Of all rows where these are known, and some came several times, maybe in several batches.
        """
        bands, rows, n_jobs = state.bands, problem.rows.certain(), problem.settings.n_jobs
        if self.known is not None and (self.known.rows.weights[1] > 1.0).any():
            bands, rows = NO_BANDS, self.known.rows
        return bands.joined(fitted, rows, self.alpha_divergence, n_jobs) if len(rows) else bands

    def may_keep(self, start, settings):
        """Return whether rows are kept to begin with more, though they are enough to go on."""
        learns = settings.optimizer is not None
        has_features = start.parameters.has_features  # which wait for many rows anyway
        likelihood = start.likelihood
        is_known = likelihood.conjugate or begins_with_regressions(likelihood)
        return learns and self.keeps_rows and is_known and not has_features

    def may_begin_anew(self, fitted, settings):
        """Return whether the stream may begin again with its initial rows and a batch."""
        initial, is_spent = fitted.state.initial_rows, _is_spent(settings, fitted.n_steps)
        if initial is None or is_spent:
            return False
        return settings.optimizer is not None or initial.rule.in_turn

    def _seed(self, n_batches):
        """Return a seed: another one for every batch, the same after a restart."""
        if isinstance(self.random_state, Integral):
            return (int(self.random_state) + n_batches) % 2**32
        return self.random_state

    def _plan(self, problem, n_batches, has_signal, weight_learned):
        settings, trace = problem.settings, problem.trace
        learns = (
            settings.optimizer is not None
            and not _is_spent(settings, n_batches)
            and trace.clock.left() > 0
            and self.is_informative
        )
        return StreamPlan(
            start=problem.start,
            settings=settings,
            inducing=self.inducing,
            n_outputs=self.n_outputs,
            alpha=self.alpha_divergence,
            forget_factor=self.forget_factor,
            trust_region=self.trust_region,
            restarts=learns and not has_signal and len(problem.rows) >= MIN_ROWS_FOR_SIGNAL,
            keeps_scales=self.keeps_scales,
            weight_learned=weight_learned,
            learns=learns,
            seed=self._seed(n_batches),
            trace=trace,
            follows_units=self.follows_units,
            old_power=self.old_power,
        )


def _measures_bands(fitted, problem):
    """Return whether there is one noise, which is learned; what is given has its own bands."""
    parameters, varies = fitted.parameters, problem.has_row_noise or fitted.noise.differs
    is_plain = fitted.likelihood.conjugate and not parameters.mixes_outputs
    is_plain = is_plain and not (parameters.has_features or varies)
    learns = problem.settings.optimizer is not None
    return is_plain and learns and fitted.start.space.learns("log_noise")


def _with_categories_alike(problem, weight):
    """Return the problem with what few rows can tell of categories, in every start; see `alike`."""
    first = problem.start
    every = [alike(one, one.parameters, weight) for one in (first, *first.alternatives)]
    return replace(problem, start=replace(every[0], alternatives=tuple(every[1:])))


def _or_otherwise(rows, every, posed, plan, begun):
    """Return what `first_batch` does, or does better from another start, and the problem of that.

    Fast along columns that are missed, with a part of the kernel for each output, or with shares of
    nearly equal outputs.
    """
    told = []

    def begin(problem):
        begun = first_batch(rows, replace(plan, start=problem.start), every)
        return problem, whole(problem, *begun)

    def whole(problem, fitted, ones):
        """Return what has taken all its iterations as ended: no batch has more than some."""
        told.append((problem, ones, fitted.cut_by))
        return replace(fitted, cut_by=None) if fitted.cut_by == "max_iter" else fitted

    best = BestSoFar(posed, whole(posed, *begun))
    best = or_fast_along_columns(posed, best, begin)
    best = or_with_parts_of_outputs(posed, best, begin)
    best = or_as_one_output(posed, best, begin)
    ones, cut_by = next(more for problem, *more in told if problem is best.problem)
    return replace(best.fitted, cut_by=cut_by), ones, best.problem


def _same_start(begun, posed, *others):
    """Return the one of some starts that a stream has begun with, before few rows bounded it."""
    starts = (replace(one, alternatives=()) for one in (posed, *posed.alternatives, *others))
    return next((one for one in starts if one.kernel is begun.kernel), begun)


def _least_rows(problem):
    """Return with how many rows a stream goes on from what it has learned."""
    numbers = learned_numbers(problem.space, problem.start.parameters.Z)
    return max(MIN_INITIAL_ROWS, ROWS_FOR_A_NUMBER * numbers)


def _of_so_many(problem, n_rows):
    """Return the problem of what so many rows can tell; see `holding_frequencies`."""
    start = problem.start
    space = holding_frequencies(start.space, start.parameters.Z, n_rows)
    return replace(problem, start=replace(start, space=space))


def _with_features(fitted, rows, weight_seen, plan):
    """Learn from a batch as `next_batch` does, where the variables are weights of features.

    Kernel and frequencies stay, as they say what the weights mean. Where the rows so far count no
    longer they are learned from this batch, and so are the weights; also where the rows so far have
    shown nothing but noise, and this batch by itself shows more.
    """
    if plan.restarts or plan.forget_factor == 0.0:
        space = holding_frequencies(plan.start.space, fitted.parameters.Z, len(rows))
        anew = replace(plan, forget_factor=0.0, start=replace(plan.start, space=space))
        found = next_batch(fitted, rows, weight_seen, anew)
        if plan.forget_factor == 0.0 or sees_signal(found[0], rows, rows.total_weight):
            return found
    held = replace(plan, holds_function=True, restarts=False)
    return next_batch(fitted, rows, weight_seen, held)


def _humble(problem):
    """Let few rows claim only so much; repeated ones count once, as a weight says the same."""
    missing = 1.0 - n_distinct(problem.rows) / MIN_INITIAL_ROWS
    if missing <= 0.0:
        return problem
    return replace(problem, start=humble(problem.start, missing))


def _is_to_wait(plan, weight):
    """Return whether the rows of a batch are so few that more are to come first."""
    knows = plan.weight_learned >= LEAST_LEARNED and not plan.restarts
    is_plain = plan.start.likelihood.conjugate and plan.forget_factor > 0.0
    return knows and is_plain and plan.waiting.weight + weight < LEAST_LEARNED


def _is_spent(settings, n_batches):
    """Return whether no further batch may be learned from."""
    return settings.max_steps is not None and n_batches >= settings.max_steps
