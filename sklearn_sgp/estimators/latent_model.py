"""The base of models of latent inputs: validation, learning and fitted attributes."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import validate_data
from .._parallel import one_blas_thread_each
from ..data.checks import LARGEST
from ..data.targets import read_only_copy
from ..engines.latent_inputs.new_columns import joined_columns
from ..engines.latent_inputs.partial_fit import add_rows
from ..engines.latent_inputs.problem import LatentChoices, LatentProblem, LatentTrace
from ..engines.latent_inputs.solver import learn, snapshot
from ..engines.latent_inputs.starts import Earlier
from ..kernels._length_scales import scale_places
from ..latents.table import Columns, Scaling, Table
from .base import BaseSGP
from .chosen import fingerprints, settings_of

# Noise variance of a constant column, in the units of its scale of 1.
CONSTANT_VARIANCE = 1e-6


class LatentModel(BaseSGP):
    """The base of models of latent inputs.

    A fitted one holds ``_fitted``, a `latents.learning.result.LatentResult`, and ``_start``, the
    `latents.learning.problem.LatentStart` that it was learned from, without latent inputs, both of
    the columns that vary. ``_columns``, a `latents.table.Columns`, knows which these are.
    """

    _fixed_after_fit = (
        "n_components",
        "kernel",
        "inducing",
        "optimize_inducing",
        "noise_variance",
        "noise_variance_bounds",
        "noise",
        "normalize",
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # ---- Validation

    def _validated_table(self, Y, *, reset):
        """Return the `Table` of checked rows, scaled as the first ones."""
        Y = self._validated_rows(Y, reset=reset)
        if not reset:
            return self._table(Y)
        scaling = Scaling.fit(Y, self.normalize)
        self._columns = columns = Columns.of(scaling)
        return Table.of(columns.cut(Y), scaling.select(columns.varying))

    def _table(self, Y):
        return Table.of(self._columns.cut(Y), self._fitted.scaling)

    def _validated_rows(self, Y, *, reset):
        """Return checked rows."""
        if not reset:
            check_is_fitted(self)
        Y = validate_data(
            self,
            Y,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        _check_sizes(Y)
        if not reset:
            return Y
        missing = [p for p in range(Y.shape[1]) if np.isnan(Y[:, p]).all()]
        if missing:
            names = getattr(self, "feature_names_in_", range(Y.shape[1]))
            raise ValueError(
                "Every column of Y must hold at least one number. Got nothing but NaN in "
                f"{', '.join(repr(names[p]) for p in missing[:5])}: leave such columns out."
            )
        return Y

    def _rng(self):
        return check_random_state(self.random_state)

    def _choices(self):
        chosen = {name: getattr(self, name) for name in LatentChoices.__dataclass_fields__}
        noise, varying = np.asarray(self.noise_variance), self._columns.varying
        if self.noise == "shared" and noise.ndim:
            raise ValueError(
                "The 'noise_variance' parameter must be a number or None with noise='shared'. Got "
                f"{self.noise_variance!r}: noise='columns' takes one for each column."
            )
        if self.noise == "columns" and noise.shape == varying.shape:
            chosen["noise_variance"] = noise[varying]
        return LatentChoices(**chosen)

    # ---- Learning

    def _learn_anew(self, Y, clock, progress):
        """Learn from rows as they came, from where an earlier fit ended if the user says so."""
        before = getattr(self, "_columns", None) if self.warm_start else None
        table, earlier = self._validated_table(Y, reset=True), None
        if before is not None and np.array_equal(before.varying, self._columns.varying):
            earlier = Earlier(self._fitted, self._start.inducing)
            earlier = earlier if earlier.result.q.mean.shape[1] == self.n_components else None
        self._learn_table(table, clock, progress, earlier)

    def _learn_table(self, table, clock, progress, earlier):
        progress.begin()
        trace = LatentTrace(clock)
        given = self._choices(), settings_of(self), trace, self._rng()
        problem = LatentProblem(table, *given, earlier)

        def on_iteration(trace, parameters_now):
            if self.verbose > 1:
                self._print_entry(trace, trace.objectives[-1] - log_scale)
            return progress.step(lambda: self._attributes(snapshot(problem, parameters_now())))

        log_scale, trace.on_iteration = float(table.log_scales().sum()), on_iteration
        trace.on_stage = self._print_stage if self.verbose else None
        try:
            with one_blas_thread_each(problem.settings.n_jobs):
                result, start = learn(problem)
        finally:
            trace.on_iteration = trace.on_stage = None
        self._keep(result, start)
        self._given = fingerprints(self)
        self.objectives_ = np.array(trace.objectives) - log_scale
        self.fit_times_ = np.array(trace.times)
        self._print_end(trace)
        progress.end()

    def _learn_batch(self, Y, clock):
        """Learn from checked rows of a later batch."""
        result, start, self._columns = joined_columns(self._fitted, self._start, self._columns, Y)
        table = Table.of(self._columns.cut(Y), result.scaling)
        settings = settings_of(self)
        with one_blas_thread_each(settings.n_jobs):
            found = add_rows(result, start, table, settings, self._rng(), clock.left())
        self._keep(*found)
        self.objectives_ = np.append(self.objectives_, self.objective_)
        seconds = self.fit_times_[-1:].sum() + clock.elapsed()  # no entry yet: 0
        self.fit_times_ = np.append(self.fit_times_, seconds)

    # ---- Fitted attributes

    def _keep(self, result, start):
        self._start = start
        for name, value in self._attributes(result).items():
            setattr(self, name, value)

    def _attributes(self, result):
        """Return the fitted attributes as a dictionary."""
        columns = self._columns
        return {
            "_fitted": result,
            "kernel_": result.sklearn_kernel,
            "inducing_points_": read_only_copy(result.parameters.Z),
            "noise_variance_": _noise_of(result.parameters, columns),
            "embedding_": read_only_copy(result.q.mean),
            "embedding_std_": read_only_copy(np.sqrt(result.q.variance)),
            "relevance_": read_only_copy(_relevance(result)),
            "mean_": read_only_copy(columns.full(result.scaling.mean, columns.constants)),
            "scale_": read_only_copy(columns.full(result.scaling.scale, 1.0)),
            "objective_": result.objective - result.log_scale,
            "calibration_": read_only_copy(result.factors),
            "jitter_": result.jitter,
            "n_iter_": result.n_iter,
            "n_steps_": result.n_steps,
            "n_samples_seen_": result.n_rows,
        }

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]


def _check_sizes(Y):
    """Refuse numbers whose squares could overflow; NaN is a missing value."""
    largest = float(np.nanmax(np.abs(Y), initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"Y must hold numbers of at most {LARGEST:g} in size, so that their squares are "
            f"finite. Got {largest:g}: use another unit."
        )


def _noise_of(parameters, columns):
    noise = parameters.noise_variance
    return columns.full(noise, CONSTANT_VARIANCE).copy() if np.ndim(noise) else noise


def _relevance(result):
    """Squared inverse length scales of the latent dimensions, or variances of their means."""
    expression, Q = result.parameters.expression, result.q.mean.shape[1]
    places = [place for place in scale_places(expression) if len(place) == Q]
    if not places or (Q == 1 and not len(scale_places(expression))):
        return result.q.mean.var(axis=0)
    theta = result.parameters.theta
    return np.max([np.exp(-2.0 * theta[place]) for place in places], axis=0)
