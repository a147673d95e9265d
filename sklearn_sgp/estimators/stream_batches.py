"""One batch after another, as the two streaming estimators take them."""

from dataclasses import replace
from itertools import pairwise
from numbers import Integral, Real

from .._compat import FitProgress, Interval, _fit_context
from ..data.rows import drop_zero_weight, merge_repeated
from ..data.targets import count_samples, observed_columns, target_columns
from ..engines.streams import stream
from ..engines.streams.inducing import StreamInducing
from ..optimize.progress import Clock, Trace
from .base import FIXED_AFTER_FIT, transactional

STREAM_CONSTRAINTS = {
    "forget_factor": [Interval(Real, 0, 1, closed="right")],
    "trust_region": [Interval(Real, 0, None, closed="neither")],
    "min_inducing": [None, Interval(Integral, 1, None, closed="left")],
}


class StreamBatches:
    """Mixin of estimators that take one batch after another.

    A fitted one holds ``_stream``, a `streams.stream.StreamState`. A subclass has
    ``_encoded_batch(X, y, weight)``, a first batch with its scaling.
    """

    alpha_divergence = 0.0  # where it is no parameter
    # inducing inputs may be given later: then they stay where the stream has them
    _fixed_after_fit = tuple(name for name in FIXED_AFTER_FIT if name != "inducing")

    def _fit_stream(self, X, y, weight, given):
        """One pass over validated rows, in batches; the estimator is as after `partial_fit`.

        ``given`` are X and y as the user gave them.
        """
        clock = Clock(self.max_time)
        previous = getattr(self, "_result", None) if self.warm_start else None
        progress = FitProgress(self, *self._for_callbacks(given, (X, y))).begin()
        self.__dict__.pop("_result", None)
        edges = [0, *range(min(self.init_size, len(X)), len(X), self.batch_size), len(X)]
        for lo, hi in pairwise(edges):
            part = None if weight is None else weight[lo:hi]
            self._take_batch(X[lo:hi], y[lo:hi], part, clock, previous)
            if progress.step(self._fitted_so_far):
                break
        progress.end()

    def _take_batch(self, X, y, weight, clock, previous=None):
        """Learn from a validated batch."""
        choices = self._stream_choices()
        if not hasattr(self, "_result"):
            self.log_evidence_ = 0.0
            self._begin(X, y, weight, clock, choices, previous)
        elif stream.begins_anew(self._stream, choices):
            self._begin_anew(X, y, weight, clock, choices)
        else:
            self._check_same_parameters()
            rows, trace = self._later_rows(X, y, weight), Trace(clock)
            rows, state = stream.examined(self._stream, rows, self._targets)
            n_damped = state.outliers.count - self._stream.outliers.count
            informative = n_damped < len(rows) and self._targets.is_informative(rows)
            before, (rows, noise) = self._result.row_noise, self._with_precisions(rows)
            state = stream.add(state, rows, choices, trace, self._targets.n_outputs, informative)
            if noise is not None:  # the objective is that of this batch alone
                state = state.with_noise(noise, noise.constant - before.constant)
            targets = self._targets.of_rows(y, weight)
            self._keep(state, targets, rows.total_weight, trace)
            self.n_samples_seen_ += count_samples(X, weight)
        self.log_evidence_ += self.objective_
        if self.verbose:
            print(
                f"[{type(self).__name__}] {Trace(clock).seconds()}: batch {self.n_steps_}, "
                f"{self.n_samples_seen_} rows, {len(self.inducing_points_)} inducing inputs, "
                f"objective {self.objective_:.6g}"
            )

    def _begin(self, X, y, weight, clock, choices, previous, earlier=None):
        """The first batch, after ``earlier`` ones that were too short to begin with."""
        initial = stream.InitialRows.of(X, y, weight, previous, earlier)
        rows = initial.rows
        data = self._encoded_batch(rows.X, rows.y, rows.weight)
        choose = None if choices.inducing is None else choices.inducing.first
        likelihood, data = data.likelihood, self._learned_alone(data)
        problem = self._problem(data, clock, previous=previous, choose=choose)
        informative = data.targets.is_informative(problem.rows)

        def learner(problem):
            own = replace(choices, settings=problem.settings)
            return stream.begin(problem, own, initial, data.targets.n_outputs, informative)

        state = self._alternating(learner, likelihood)(problem)
        self._keep(state, data.targets, problem.rows.total_weight, problem.trace)
        self.n_samples_seen_ = data.n_samples
        self._learned_with = self._fingerprints()

    def _begin_anew(self, X, y, weight, clock, choices):
        """As if the rows so far and these had been one batch."""
        self._later_rows(X, y, weight)  # an error where they do not fit those before
        n_batches, evidence = self.n_steps_ + 1, self.log_evidence_
        earlier = self._stream.initial_rows
        self._begin(X, y, weight, clock, choices, earlier.previous, earlier)
        result = replace(self._result, n_steps=n_batches)
        self._stream, self._result = replace(self._stream, result=result), result
        self.n_steps_ = n_batches
        self.objective_ -= evidence
        self.objectives_ = self.objectives_ - evidence

    def _later_rows(self, X, y, weight):
        """Rows of a later batch, repeated ones merged."""
        rows = super()._later_rows(X, y, weight)
        if self.n_latent is not None:  # each has outputs of its own
            return rows
        X, y, weight = merge_repeated(rows.X, rows.y, rows.weight)
        return replace(rows, X=X, y=y, weight=weight)

    def _keep(self, state, targets, weight, trace):
        self._stream = state
        self._store(state.result, targets, weight, trace)

    def _stream_choices(self):
        inducing = None
        if isinstance(self.inducing, str):
            inducing = StreamInducing(self.inducing, self.n_inducing, self.min_inducing)
        return stream.StreamChoices(
            settings=self._settings(),
            inducing=inducing,
            alpha_divergence=float(self.alpha_divergence),
            forget_factor=float(self.forget_factor),
            trust_region=float(self.trust_region),
            keeps_scales=self.kernel is None,
            random_state=self.random_state,
        )

    def _fitted_so_far(self):
        """Fitted attributes after the batches so far."""
        given = self.get_params(deep=False)
        return {name: value for name, value in vars(self).items() if name not in given}


class RegressionStream(StreamBatches):
    """What targets that are numbers add: outliers, and the scale of a first batch."""

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows in one pass, in their order, as if they came in batches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Several columns are independent outputs with a shared kernel, each with a noise
            variance of its own, or mix latent functions (``n_latent``) and may be NaN.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If inputs or parameters are not valid. The estimator is then as before.
        """
        given = X, y
        X, y, weight = self._checked(X, y, sample_weight, reset=True)
        self._check_targets(y)
        self._fit_stream(*drop_zero_weight(X, y, weight), given)
        return self

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from one more batch.

        The first batch decides starting values and the scaling of the targets, so it should have a
        few hundred rows. Later batches may have any size. If the kernel is learned, rows are kept
        until there are 25 of positive weight, and the stream begins anew with each batch until
        then. What is learned from a few rows at a time is not sure: with batches of 10 rows, 90 %
        bands held 81 to 100 % of new rows (ten tables).

        ``kernel``, ``likelihood``, ``optimize_inducing``, ``noise_variance``,
        ``noise_variance_bounds``, ``normalize_y`` and ``categorical_features`` are those of the
        first batch: a change of one of them needs a new ``fit``. Other parameters may change
        between batches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If inputs or parameters are not valid, or if a parameter has changed that needs a new
            ``fit``. The estimator is then as before, and the next batch can come.
        """
        first = not hasattr(self, "_result")
        X, y, weight = self._checked(X, y, sample_weight, reset=first)
        if first:
            self._check_targets(y)
        self._take_batch(X, y, weight, Clock(self.max_time))
        return self

    def _check_targets(self, y):
        """Refuse targets of rows of weight zero, too, before those rows are left out."""
        (target_columns if self.n_latent is None else observed_columns)(y)

    def _keep(self, state, targets, weight, trace):
        super()._keep(state, targets, weight, trace)
        self.n_outliers_ = state.outliers.count

    def _encoded_batch(self, X, y, weight):
        data = self._encoded(X, y, weight)
        if self.n_latent is not None and self.alpha_divergence > 0.0:
            raise ValueError(
                "The 'alpha_divergence' parameter must be 0 with n_latent. Got "
                f"{self.alpha_divergence} with n_latent={self.n_latent}."
            )
        if self.alpha_divergence > 0.0 and not self._learned_alone(data).likelihood.conjugate:
            raise ValueError(
                "The 'alpha_divergence' parameter must be 0 for a likelihood other than Gaussian "
                f"noise. Got {self.alpha_divergence} with {self.likelihood!r}."
            )
        given = isinstance(self.normalize_y, tuple) or not self.normalize_y
        if given or not data.likelihood.scales_targets:
            return data
        return data._replace(targets=data.targets.with_scale_of_constants(data.y))
