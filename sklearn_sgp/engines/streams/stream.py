"""The engine of streams: the state between batches, and how a batch changes it."""

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from ..._warnings import warn_caller
from ...data.distinct import n_distinct
from ...data.inputs import Inputs
from ...data.rows import Rows, drop_zero_weight
from ...data.running_moments import RunningMoments
from ...data.winsorize import MAD
from ...optimize.frequencies import ROWS_FOR_A_NUMBER, holding_frequencies, learned_numbers
from ..base import Fitted
from ..best_so_far import BestSoFar
from ..diagnostics import by_mean, warn_at_bounds, warn_of_missed
from ..new_categories import with_variance_of_new_categories
from ..variational.class_regressions import begins_with_regressions
from ..variational.equal_outputs import or_as_one_output
from .band_places import NO_PLACES, BandPlaces
from .bands import NO_BANDS, Bands
from .batch import first_batch, next_batch
from .batch_levels import NO_LEVELS, BatchLevels
from .class_turns import Turns
from .inducing import StreamInducing
from .plan import LEAST_POWER, Known, StreamPlan
from .rounds import sees_signal
from .search_space import alike, humble
from .shifts import are_elsewhere
from .waiting import LEAST_LEARNED, NONE_WAITING, Waiting
from .wandering import STRAY, UNKNOWN_LEVEL, Level
from .watch import UNWATCHED, Watch, quantiles

# A stream begins anew with every batch until it has so many rows. Scaling, starting values and
# bounds that come from a few rows may be wrong by any factor, and later batches do not always undo
# that: of 800 random streams 5 that began with 2 to 24 rows ended with a mean squared standardised
# residual of 5 to 16,000; now all of them with less than 4, and so with twice as many rows.
_MIN_INITIAL_ROWS = 25
# Up to so many are kept, and a stream begins anew with each batch that doubles them: what few rows
# have chosen, and a function that they did not show, would be for ever. sin(6 x) in the first of
# six columns in batches of 200 was missed in one of 12 draws with 512, in half of them in batches
# of 60 without; in 10 parts of four tables in their order densities rose by 0.08 nats a row in the
# mean, and fell by 0.09 at most. It is as many as `fit` begins with. Half of them where there is a
# signal: of 40 days by the hour 100 inducing inputs hold no daily cycle, of 20 days they do.
# So it is with labels, in batches of 60 to 100 rows: 19 of R's tables, 84 to 298 rows, have .0105
# nats a row more in the mean (-.004 to .057) than with the kernel of the first batch, in 1.5 times
# the CPU time.
_MOST_INITIAL_ROWS = 1024
# Fewer rows of a batch say little about whether there is a signal.
_MIN_ROWS_FOR_SIGNAL = 50
# Prior standard deviations of an observation by which a broken one differs from its prediction. The
# posterior's are no measure: where a model is too sure, good rows differ by many of them.
_HOPELESS = 10.0
# A row that counts less, beside what rows so far count in the mean, tells nothing of a change: its
# weight says that it is next to absent, wherever it lies.
_SHARE_THAT_TELLS = 0.1
# If a larger share of a batch is far off, the function has moved.
_RARE = 0.1
# What a state knows of how kernel and noise were learned.
_LEARNED = "weight_learned", "has_signal", "initial_rows"


@dataclass(frozen=True)
class InitialRows:
    """The rows with which a stream began, and the fit that it began from.

    Parameters
    ----------
    rows : Rows
        Targets as the user gave them, not scaled.
    are_joined : bool
        Whether they came in several batches.
    n_begun : int
        Number of rows with which the stream last began.
    least : int
        Number of rows from which it goes on.
    theta : ndarray or None
        What the default kernel has learned from them.
    level : Level
        Whether it wanders.
    before : Fitted or None
        The stream before a batch spoke for a level that wanders, or for none.
    turns : Turns or None
        Of labels that have come class after class so far.
    """

    rows: Rows
    previous: Fitted | None
    are_joined: bool = False
    n_begun: int = 0
    least: int = _MIN_INITIAL_ROWS
    theta: np.ndarray | None = None
    level: Level = UNKNOWN_LEVEL
    before: Fitted | None = None
    turns: Turns | None = None

    @classmethod
    def of(cls, inputs, y, weight, previous, earlier=None, turns=None):
        """Return the rows of a batch, after those of earlier ones."""
        *parts, offset = drop_zero_weight(inputs.X, y, weight, inputs.offset)
        rows = Rows(*parts, 0.0, 1.0, offset=offset)
        if earlier is None:
            return cls(rows, previous, turns=turns)
        level, turns = earlier.level.beyond(earlier.rows.X, rows.X), earlier.turns
        if turns is not None:
            turns = turns.after(earlier.rows.y, rows.y)
        joined = earlier.rows.joined(rows)
        return replace(earlier, rows=joined, are_joined=True, level=level, turns=turns)

    def judged(self, earlier, fitted, batch, n_jobs):
        """Return these as a batch speaks for a level that wanders, or for none.

        Parameters
        ----------
        earlier : InitialRows
            Without the batch.
        fitted : Fitted
            The stream, which has not learned from the batch.
        batch : Rows
        """
        level = self.level.judged(fitted, earlier.rows, batch, n_jobs)
        if level.wanders == self.level.wanders:
            return replace(self, level=level, theta=fitted.parameters.theta)
        return replace(self, level=level, theta=None, n_begun=0, before=fitted)  # to begin anew

    def begun(self, fitted, least):
        """Return a copy after a stream has begun with them; it may have kept its kernel."""
        level, before = self.level, self.before
        if before is not None and fitted.start.kernel is before.start.kernel:
            level = level.refused()
        turns = None if self.turns is None else self.turns.begun(self.rows)
        counts = {"n_begun": len(self.rows), "least": least, "turns": turns}
        return replace(self.copied(), level=level, before=None, **counts).kept()

    @property
    def is_short(self):
        """True if they are too few to go on from."""
        return len(self.rows) < self.least

    @property
    def begins_otherwise(self):
        """True if a stream is to begin anew with another kernel."""
        return not self.n_begun

    @property
    def has_doubled(self):
        """True if a stream is to begin anew with them."""
        if self.turns is not None:
            return self.turns.is_due(self.rows)
        return len(self.rows) >= 2 * self.n_begun

    def kept(self):
        """Return these with no more rows than are kept of classes that come one after another."""
        if self.turns is None:
            return self
        turns, rows = self.turns.thinned(self.rows)
        return replace(self, rows=rows, turns=turns).copied()

    @property
    def n_gone(self):
        """Number of rows before that are kept no longer."""
        return 0 if self.turns is None else self.turns.n_gone

    def to_learn_from(self, rows):
        """Return these, as a fit has them, where none stands for others as well."""
        return rows if self.turns is None else self.turns.as_kept(self.rows, rows)

    def worth_keeping(self, earlier, has_signal, of_classes=False):
        """Return a copy; None where they will not begin a stream any more.

        That is where they are too many, where one lies far outside, or the batch of them that came
        after earlier ones: a fit to all rows would make that the unit of everything. No label is a
        reading that may be broken, whatever its row is.
        """
        is_far = np.ptp(self.rows.X, axis=0) > _HOPELESS * np.ptp(earlier.rows.X, axis=0)
        is_far &= np.ptp(earlier.rows.X, axis=0) > 0.0
        is_kept = len(self.rows) <= _most_kept(has_signal) and not is_far.any()
        is_usual = of_classes or _are_of_one_size(self.rows)
        return self.copied() if is_kept and is_usual else None

    def copied(self):
        """Copy the arrays: the user may fill those of a batch with the next one."""
        rows = self.rows
        weight = None if rows.weight is None else np.array(rows.weight)
        offset = None if rows.offset is None else np.array(rows.offset)
        own = replace(rows, X=np.array(rows.X), y=np.array(rows.y), weight=weight, offset=offset)
        return replace(self, rows=own)


@dataclass(frozen=True)
class StreamState:
    """State of a stream besides the fitted model; replaced by every batch, never changed.

    Parameters
    ----------
    weight_seen : float
        Weight of all rows so far.
    weight_learned : float
        Weight of the rows that kernel and noise were learned from.
    has_signal : bool
        Whether something other than noise was seen, or too few rows to tell.
    n_rows : int
        Number of rows so far.
    initial_rows : InitialRows or None
        The rows themselves, as long as they are few.
    moments : RunningMoments or None
        Of the targets so far; None where their units stay what they are.
    ones : ndarray of shape (m, t) or None
        With ``moments``: the h of targets that are all 1.
    watch : Watch
        How batches were predicted.
    begins_anew : bool
        Whether the next batch is to begin at the starting values, as nothing is what it was.
    waiting : Waiting
        Rows that kernel and noise are to be learned from with later ones.
    bands : Bands
        How far left-out rows were from their predictions; of none where bands are what they are.
    band_share : tuple of ndarray of shape (t,)
        Share of the usual variance that predictions have, that variance, scaled, and the share of
        what is beyond it.
    levels : BatchLevels
        Of a level that wanders from batch to batch.
    places : BandPlaces
        A sample of the rows, and bands that depend on the place.
    """

    weight_seen: float
    weight_learned: float
    has_signal: bool
    n_rows: int
    initial_rows: InitialRows | None = None
    moments: RunningMoments | None = None
    ones: np.ndarray | None = None
    watch: Watch = UNWATCHED
    begins_anew: bool = False
    waiting: Waiting = NONE_WAITING
    bands: Bands = NO_BANDS
    band_share: tuple = (1.0, 0.0, 1.0)
    levels: BatchLevels = NO_LEVELS
    places: BandPlaces = NO_PLACES

    keeps_rows = False
    labels = None  # of blocks

    def with_constant(self, constant):
        """Return the same: the bound's constant is no part of it."""
        return self

    @property
    def attributes(self):
        """Fitted attributes of an estimator."""
        return self.watch.attributes

    def with_band_share(self):
        """Return the same with bands as what is known of them says."""
        narrow, (inside, beyond) = self.bands.share(self.watch.told), self.watch.misses.factors
        wide, established = self.bands.widening, self.is_established
        share, beyond = np.where(narrow < 1.0, narrow, inside), np.maximum(beyond, wide)
        share = np.where(wide > 1.0, np.maximum(share, wide), share)
        share, beyond = (np.where(established, each, 1.0) for each in (share, beyond))
        return replace(self, band_share=(share, self.bands.usual, beyond))

    @property
    def goes_on(self):
        """True if a stream does not begin anew with rows that are kept."""
        return self.initial_rows is None

    @property
    def mean_weight(self):
        """Mean weight of the rows so far; inf where none counts any more."""
        return self.weight_seen / self.n_rows if self.weight_seen > 0.0 else np.inf

    def telling(self, rows):
        """Return those of later rows that count enough to tell what has changed."""
        if rows.observations is None:
            return rows
        tells = rows.observations >= _SHARE_THAT_TELLS * min(self.mean_weight, 1.0)
        return rows if tells.all() else rows.select(np.flatnonzero(tells))

    @property
    def is_established(self):
        """True if kernel and noise were learned from enough rows that have a signal."""
        is_long = self.n_rows >= _MIN_ROWS_FOR_SIGNAL
        return self.has_signal and self.weight_learned > 0.0 and is_long


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
        has_signal = len(rows) < _MIN_ROWS_FOR_SIGNAL
        posed = _of_so_many(_humble(problem), n_rows) if learns else problem
        if n_distinct(problem.rows) < least:  # as many as a line has numbers are on one
            posed = replace(posed, start=replace(posed.start, alternatives=()))
        posed = _with_categories_alike(posed, weight)
        plan = self._plan(posed, 0, has_signal, 0.0)
        plan = replace(plan, earlier_theta=self.initial.theta, before=self.initial.before)
        fitted, ones = begun = first_batch(rows, plan, every)
        if plan.learns:
            fitted, ones = _or_as_one_output(rows, every, posed, plan, begun)
        if plan.restarts:
            has_signal = sees_signal(fitted, rows, rows.total_weight)
        room = _most_kept(has_signal) // (1 if self.initial.level.may_wander else 2)
        stays = self.may_keep(problem.start, problem.settings) and n_rows <= room
        is_kept = is_short or stays or self.initial.turns is not None
        state = StreamState(
            weight,
            plan.learns * rows.total_weight,
            has_signal,
            n_rows + self.initial.n_gone,
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
        before = () if plan.before is None else (plan.before.start,)
        start = fitted.start if is_short else _same_start(fitted.start, problem.start, *before)
        start = start if earlier is None else earlier.start
        measures_bands = self._measures_bands(fitted, problem)
        if measures_bands:
            state = replace(state, bands=self._bands(NO_BANDS, fitted, problem))
        state = state.with_band_share()
        fitted = with_variance_of_new_categories(fitted) if plan.learns else fitted
        if measures_bands and self.samples_rows:
            state = self._with_places(state, fitted, problem, None)
        return replace(fitted, start=start, state=state)

    def add(self, fitted, problem):
        """Learn from one more batch, already `counted`; see `Engine`."""
        state, rows, weight = fitted.state, problem.rows, problem.rows.total_weight
        ever = max(state.weight_seen + weight, state.n_rows)  # forgotten rows have taught, too
        held = alike(problem.start, fitted.parameters, ever)
        posed = replace(problem, start=held)
        plan = self._plan(posed, fitted.n_steps, state.has_signal, state.weight_learned)
        if state.begins_anew:
            plan = replace(plan, restarts=plan.learns)
        plan = replace(plan, holds_noise=fitted.noise.differs, waiting=state.waiting)
        plan = replace(plan, noise_fell=state.watch.noise_fell)
        if plan.learns and _is_to_wait(plan, weight):
            plan = replace(plan, learns=False, waits=True)
        if plan.learns and not (plan.restarts or plan.holds_noise):
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
            begins_anew=False,
        )
        measures_bands = self._measures_bands(fitted, problem)
        if measures_bands:
            state = replace(state, bands=self._bands(state.bands, more, problem))
        state = state.with_band_share()
        more = with_variance_of_new_categories(more) if plan.learns else more
        if measures_bands and self.samples_rows:
            state = self._with_places(state, more, problem, fitted)
        else:
            state = replace(state, places=NO_PLACES)
        start = fitted.start if fitted.parameters.has_features else more.start
        if held is not problem.start:
            start = replace(start, space=problem.start.space)
        return replace(more, start=start, state=state)

    def _with_places(self, state, fitted, problem, before):
        """Return a state with a batch in its sample of rows, and bands as this vouches for them.

        By place, or as wide everywhere.

        Parameters
        ----------
        before : Fitted or None
            The stream before the batch. Where its noise fell, rows near the batch that told of more
            say nothing of what comes, unless the batch is elsewhere.
        """
        chosen, places, n_jobs = self.inducing, state.places, problem.settings.n_jobs
        m = len(fitted.parameters.Z) if chosen is None else chosen.n_inducing
        if state.watch.noise_fell and not are_elsewhere(before, problem.rows, n_jobs):
            places = places.away_from(problem.rows, before.posterior.prior.kernel)
        places = places.joined(state.telling(problem.rows), m)
        if not state.is_established:
            return replace(state, places=places.unjudged())
        places, share = places.judged(fitted, state.band_share, self.alpha_divergence, n_jobs)
        return replace(state, places=places, band_share=share)

    def _measures_bands(self, fitted, problem):
        """Return whether there is one noise, which is learned; what is given has its own bands."""
        parameters, varies = fitted.parameters, problem.has_row_noise or fitted.noise.differs
        is_plain = fitted.likelihood.conjugate and not parameters.mixes_outputs
        is_plain = is_plain and not (parameters.has_features or varies)
        learns = problem.settings.optimizer is not None
        return is_plain and learns and fitted.start.space.learns("log_noise")

    def _bands(self, bands, fitted, problem):
        """Return `Bands` with the rows of a batch that was learned from.

        Of all rows where these are known, and some came several times, maybe in several batches.
        """
        rows, n_jobs = problem.rows, problem.settings.n_jobs
        if self.known is not None and (self.known.rows.weights[1] > 1.0).any():
            bands, rows = NO_BANDS, self.known.rows
        return bands.joined(fitted, rows, self.alpha_divergence, n_jobs)

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
        return settings.optimizer is not None or initial.turns is not None

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
            restarts=learns and not has_signal and len(problem.rows) >= _MIN_ROWS_FOR_SIGNAL,
            keeps_scales=self.keeps_scales,
            weight_learned=weight_learned,
            learns=learns,
            seed=self._seed(n_batches),
            trace=trace,
            follows_units=self.follows_units,
            old_power=self.old_power,
        )


def _with_categories_alike(problem, weight):
    """Return the problem with what few rows can tell of categories, in every start; see `alike`."""
    first = problem.start
    every = [alike(one, one.parameters, weight) for one in (first, *first.alternatives)]
    return replace(problem, start=replace(every[0], alternatives=tuple(every[1:])))


def _or_as_one_output(rows, every, posed, plan, begun):
    """Return what `first_batch` does, with shares of nearly equal outputs if that is better."""
    told = [begun]

    def begin(problem):
        told.append(first_batch(rows, replace(plan, start=problem.start), every))
        return problem, told[-1][0]

    best = or_as_one_output(posed, BestSoFar(posed, begun[0]), begin)
    return best.fitted, told[0 if best.problem is posed else -1][1]


def _same_start(begun, posed, *others):
    """Return the one of some starts that a stream has begun with, before few rows bounded it."""
    starts = (replace(one, alternatives=()) for one in (posed, *posed.alternatives, *others))
    return next((one for one in starts if one.kernel is begun.kernel), posed)


def _least_rows(problem):
    """Return with how many rows a stream goes on from what it has learned."""
    numbers = learned_numbers(problem.space, problem.start.parameters.Z)
    return max(_MIN_INITIAL_ROWS, ROWS_FOR_A_NUMBER * numbers)


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


def _most_kept(has_signal):
    """Return how many rows may be kept: half of all where there is a function already."""
    return _MOST_INITIAL_ROWS // 2 if has_signal else _MOST_INITIAL_ROWS


def _are_of_one_size(rows):
    """Return whether no row is an outlier of targets or inputs that nobody would begin with."""
    values = np.column_stack([np.asarray(rows.X, dtype=np.float64), rows.y])
    low, middle, high = np.nanquantile(values, [0.1, 0.5, 0.9], axis=0)
    off, spread = np.nanmax(np.abs(values - middle), axis=0), high - low
    return not ((off > _HOPELESS * spread) & (spread > 0.0)).any()


def _humble(problem):
    """Let few rows claim only so much; repeated ones count once, as a weight says the same."""
    missing = 1.0 - n_distinct(problem.rows) / _MIN_INITIAL_ROWS
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


def trusts(fitted, rows):
    """Return whether a stream may begin anew with a batch, already `counted`.

    Not where a few of its rows are far from what is predicted: a stream that goes on takes them for
    noise as far as its trust region lets it, one that begins anew for whatever explains them.
    """
    state = fitted.state
    if not (state.is_established and fitted.likelihood.conjugate):
        return True
    if fitted.likelihood.allows_outliers:
        return True
    rows = state.telling(rows)
    if not len(rows):
        return True
    inputs = Inputs(np.asarray(rows.X, dtype=np.float64), None, rows.offset)
    mean, variance = fitted.predictor.moments(inputs, 1)
    variance = np.broadcast_to(variance, mean.shape)
    noise = fitted.noise.noise_at(rows.X, fitted.noise_variance, mean.shape[1], 1)
    mean, variance = fitted.likelihood.moments(mean, variance, noise)
    off = np.abs(rows.targets - mean) / np.sqrt(variance)
    usual = np.maximum(MAD * quantiles(off, 0.5), 1.0)  # of a model that is too sure: more
    n_far = (off > STRAY * usual).any(axis=1).sum()
    return not 0 < n_far <= max(_RARE * len(rows), 1)


def counted(fitted, rows, targets):
    """Count the rows of a later batch; warn where Gaussian noise makes nothing of some.

    Before anything is learned from them: one broken reading moves the function for good. Only a
    stream that has learned from enough rows knows what is one. A warning tells of them in units of
    the targets.

    Returns
    -------
    fitted : Fitted
        With a state that has counted the rows.
    """
    state, likelihood = fitted.state, fitted.start.likelihood
    knows = state.is_established and likelihood.conjugate
    if knows and not fitted.likelihood.allows_outliers:
        _warn_of_broken(state.telling(rows), fitted, targets)
    return replace(fitted, state=replace(state, n_rows=state.n_rows + len(rows)))


def _warn_of_broken(rows, fitted, targets):
    if not len(rows):
        return
    mean, parameters = fitted.posterior.mean(rows.X), fitted.parameters
    amplitude = (parameters.mixing**2).sum(axis=1) if parameters.mixes_outputs else 1.0
    prior = fitted.posterior.prior.kernel.diag(rows.X)[:, None] * amplitude
    off = rows.targets - mean  # NaN where an output was not observed
    most = _HOPELESS**2 * (prior + fitted.parameters.noise_variance)
    broken = np.flatnonzero((off**2 > most).any(axis=1))
    if 0 < len(broken) <= max(_RARE * len(rows), 1):
        worst = broken[0]
        observed, predicted = targets.in_units(np.stack([rows.targets[worst], mean[worst]]))
        warn_caller(
            f"y should be near what the stream predicts. Got {len(broken)} of {len(rows)} rows "
            f"that are not, the first with y = {np.array2string(observed, precision=4)} where "
            f"{np.array2string(predicted, precision=4)} is predicted. With Gaussian noise they "
            "move the function for good: leave broken readings out, or take "
            'likelihood="student_t".',
            UserWarning,
        )
