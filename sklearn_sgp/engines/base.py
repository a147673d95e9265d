"""What engines share: the problem of a fit, the fitted model, and the protocol of an engine."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from sklearn.base import clone

from .._parallel import in_chunks
from ..data.categories import PLAIN_COLUMNS, InputColumns
from ..data.rows import Rows
from ..data.target_units import UNIT, TargetUnits
from ..gp.jitter import factorise_above, factorise_finally, factorise_with_jitter
from ..gp.posterior import Posterior
from ..kernels._length_scales import scale_places, with_larger_variance
from ..kernels._white_noise import join_noise, split_noise
from ..optimize.parameters import Parameters, ParameterSpace
from ..optimize.progress import VISIBLE_GAIN, Plateau, Trace
from ..predict.base import Predictor
from ..predict.observations import EQUAL_NOISE, NONE_UNLIKE, OWN_MEAN, UnlikeRows

# A stage that another follows stops at so many times `tol`: a larger subset moves its optimum more.
_INTERIM_TOL = 10.0
# Gains in nats that the evidence of the exact process goes on for: with 1e-5 nats a row 9 of 40
# designs (see `optimize.lbfgs`) ended up to 2 nats below scikit-learn's optimum, now none.
EXACT_TOL = 1e-6


@dataclass(frozen=True)
class Settings:
    """Choices of the user about learning; names as in the public interface.

    ``has_noise`` says whether the noise variance is that of targets, and not a number without
    meaning.
    """

    optimizer: str | None
    init_size: int
    max_iter: int
    max_steps: int | None
    tol: float
    n_iter_no_change: int
    learning_rate: float
    natural_step: float
    jitter: float
    n_jobs: int | None
    n_restarts_optimizer: int = 0
    batch_size: int | None = None  # steps take whole blocks
    has_noise: bool = True

    def prior(self, parameters):
        """Factorise p(u) at some parameters, with the jitter that it needs."""
        noise = self._noise(parameters)
        return factorise_with_jitter(parameters.kernel, parameters.Z, self.jitter, noise)

    def _noise(self, parameters):
        """Return the noise variance beside which the jitter is to be small."""
        has_noise = self.has_noise and not parameters.mixes_outputs
        return parameters.least_noise_variance if has_noise else np.inf

    def final_prior(self, parameters):
        """Factorise p(u) of the posterior that is kept; warn where the jitter had to be raised."""
        noise = self._noise(parameters)
        return factorise_finally(parameters.kernel, parameters.Z, self.jitter, noise)

    def prior_above(self, parameters, delta):
        """Factorise p(u) with more jitter than ``delta``; None where that is no longer small.

        It may be what was asked for, or what the noise is.
        """
        noise = self._noise(parameters)
        return factorise_above(parameters.kernel, parameters.Z, delta, self.jitter, noise)

    def plateau(self, weight, interim=False, exact=False):
        """Return the `Plateau` at which rows of this weight have nothing more to gain.

        The evidence of the exact process is followed further, as it costs little.
        """
        tol = self.tol * (_INTERIM_TOL if interim else 1.0)
        finest = EXACT_TOL if exact else np.inf
        return Plateau(tol * weight, self.n_iter_no_change, finest, VISIBLE_GAIN * weight)


def has_equal_noise(likelihood):
    """Return whether the noise is Gaussian, and the same in all rows."""
    return getattr(likelihood, "has_equal_noise", False)  # it may have another base


def has_predictive_density(likelihood):
    """Return whether log densities of targets can be predicted, which one of your own may lack."""
    return getattr(likelihood, "has_predictive_density", True)  # it may have another base


@dataclass(frozen=True)
class Start:
    """Starting point of learning.

    Parameters
    ----------
    kernel : sklearn Kernel
        As it was given, white noise included, or the default one.
    likelihood : Likelihood
        Its free parameters are the group "likelihood".
    inducing : object
        The fingerprint of what the user gave as ``inducing``.
    with_default_bounds : tuple of str
        Groups of which the user said nothing: neither bounds, nor what is expected.
    left_open : tuple of str
        Groups whose bounds the user did not choose.
    alternatives : tuple of Start
        With other default kernels.
    units : TargetUnits
        What starting values and default bounds are relative to.
    earlier : Likelihood or None
        Of the fit that learned the parameters of the kernel; None where they are a first guess.
    n_idle : int
        Length scales that columns of one value have for themselves, which say nothing.
    wider : float
        What learned variances were multiplied by, for rows too few to learn from.
    """

    kernel: object
    likelihood: object
    parameters: Parameters
    space: ParameterSpace
    inducing: object = None
    with_default_bounds: tuple = ()
    left_open: tuple = ()
    alternatives: tuple = ()
    columns: InputColumns = PLAIN_COLUMNS
    units: TargetUnits = UNIT
    earlier: object = None
    n_idle: int = 0
    wider: float = 1.0

    @property
    def learns_default_kernel(self):
        """True if the kernel is learned, and the user said nothing of it."""
        return "theta" in self.with_default_bounds and self.space.learns("theta")

    @property
    def is_by_default(self):
        """True if the user said nothing of kernel and noise, which are learned."""
        is_told = "log_noise" not in self.with_default_bounds or self.parameters.mixes_outputs
        return self.learns_default_kernel and not is_told

    @property
    def shares_noise(self):
        """True if all outputs have the noise variance of the kernel's ``WhiteKernel`` terms."""
        return not np.ndim(self.parameters.log_noise) or bool(split_noise(self.kernel)[1])

    @property
    def has_equal_noise(self):
        """True if the noise is Gaussian, and the same in all rows."""
        return has_equal_noise(self.likelihood)

    @property
    def has_known_noise(self):
        """True if the user gave the noise variance, so that weights of rows may be precisions."""
        is_open = "log_noise" in self.with_default_bounds or self.space.learns("log_noise")
        return getattr(self.likelihood, "has_noise", False) and not is_open  # of any base

    @property
    def in_proportion(self):
        """True if length scales of the columns are learned in a common proportion."""
        return self.space.learns("theta") and len(self.space.group("theta").shared) > 0

    def telling_outputs_apart(self, n_outputs):
        """Return a start whose outputs have a noise variance each, though it may be one number.

        With it come a sum over the rows and an H for each output, as precisions of each need them.
        """
        parameters, space = self.parameters, self.space
        if n_outputs == 1 or np.ndim(parameters.log_noise):
            return self
        if space.learns("log_noise"):
            bounds = np.tile(space.group("log_noise").bounds, (n_outputs, 1))
            space = space.with_group("log_noise", bounds=bounds, shared=np.arange(n_outputs))
        log_noise = np.full(n_outputs, parameters.log_noise)
        return replace(
            self,
            parameters=parameters.with_values(log_noise=log_noise),
            space=space,
            alternatives=tuple(one.telling_outputs_apart(n_outputs) for one in self.alternatives),
        )

    def with_kernel(self, kernel, parameters, **group):
        """Return a start at parameters of another kernel, without alternatives.

        ``group`` is what changes of the group "theta" besides, such as its bounds. Its length
        scales are in no common proportion, and have the prior of those of the kernel before.
        """
        space = self.space.with_group("theta", shared=(), **group)
        if space.prior is not None:
            space = replace(space, prior=space.prior.at(scale_places(parameters.expression)))
        parameters = space.clipped(parameters)
        return replace(self, kernel=kernel, parameters=parameters, space=space, alternatives=())

    def times(self, factor, parameters):
        """Multiply the variances of parameters by a factor, of the noise where none was given."""
        theta = with_larger_variance(parameters.expression, parameters.theta, factor)
        parameters = parameters.with_values(theta=theta)
        if "log_noise" not in self.with_default_bounds:
            return parameters
        return parameters.with_values(log_noise=parameters.log_noise + np.log(factor))

    def learns(self, optimizer):
        """Return whether there is anything to learn, and an optimiser to do it."""
        return optimizer is not None and bool(len(self.space.pack(self.parameters)))


@dataclass(frozen=True)
class Problem:
    """Everything a fit needs to know.

    Parameters
    ----------
    start : Start or None
        None where the engine finds it from the rows.
    inference : variational.base.Inference or None
        None where the engine finds q(u) in its own way.
    n_samples : int or None
        Rows before repeated ones were merged; None for as many as there are.
    is_interim : bool
        Whether others go on from what is found, so that nobody is warned.
    is_silent : bool
        Whether nobody is warned of what is learned otherwise as if it were told.
    previous : Fitted or None
        From other weights of the same rows: its blocks may serve again.
    inputs_are_rows : bool
        Whether the inducing inputs contain all distinct rows, so that none of them moves.
    has_row_noise : bool
        Whether noise of each row is learned from what is found.
    widths : ndarray of shape (n, t) or float
        Of the intervals that targets as scaled were rounded from; 0 where they were not.
    """

    rows: Rows
    start: Start
    inference: object
    settings: Settings
    trace: Trace
    rng: np.random.RandomState
    n_samples: int | None = None
    is_interim: bool = False
    is_silent: bool = False
    previous: object = None
    inputs_are_rows: bool = False
    has_row_noise: bool = False
    widths: object = 0.0

    @property
    def space(self):
        """The space of what is learned from the rows."""
        space = self.start.space
        return space.without("Z") if self.inputs_are_rows else space

    @property
    def warns(self):
        """True if the user is told what makes the fit doubtful."""
        return not (self.is_interim or self.is_silent)

    @property
    def learns(self):
        """Return whether there is anything to learn, and an optimiser to do it."""
        free = self.space.pack(self.start.parameters)
        return self.settings.optimizer is not None and bool(len(free))

    def prior(self, parameters):
        """Factorise p(u) at some parameters, with the jitter that it needs."""
        return self.settings.prior(parameters)

    @property
    def is_exact(self):
        """True if the objective is the evidence of the exact process, and is to be maximised."""
        return self.inputs_are_rows and self.start.likelihood.conjugate and not self.is_interim

    @property
    def has_given_inputs(self):
        """True if the user gave the inducing inputs."""
        return isinstance(self.start.inducing, tuple)

    def is_left_open(self, fitted):
        """Return whether a whole fit has learned a default kernel of rows with equal noise."""
        start, trace = self.start, self.trace
        is_default = "theta" in start.with_default_bounds and start.earlier is None
        has_precisions = self.rows.counts is not None
        is_plain = start.has_equal_noise and not (has_precisions or start.parameters.mixes_outputs)
        ended = trace.stopped or fitted.interrupted or fitted.cut_by is not None
        return self.learns and is_default and is_plain and not ended

    def with_expected(self, parameters, value):
        """Return a value in nats of all rows, raised by what the user expects of parameters."""
        return value + self.start.space.expected.value(parameters)

    def raised(self, score, parameters):
        """Return a `Score` of rows left out, raised by what the user expects of parameters."""
        return score.raised(self.with_expected(parameters, 0.0) / self.rows.total_weight)

    def widths_of(self, places):
        """Return the widths of the rows at some places, of all for None: (k, t) or 0."""
        return self.widths if places is None or not np.ndim(self.widths) else self.widths[places]

    @property
    def n_observations(self):
        """The number of observations, by which what is gained from them is weighed.

        It is the sum of the weights, or, where the noise is known, the number of the rows: weights
        may be precisions then, whose sum depends on the unit of y.
        """
        n_rows = float(self.n_samples or len(self.rows))
        return n_rows if self.start.has_known_noise else self.rows.total_weight

    def plateau(self, interim=False, exact=False):
        return self.settings.plateau(self.n_observations, interim, exact)


class Engine(Protocol):
    """Fits one family of models, and adds later rows to a fitted one."""

    def fit(self, problem):
        """Learn from all rows of a `Problem`; return a `Fitted`."""

    def add(self, fitted, problem):
        """Add the rows of a `Problem` to a `Fitted`; return another."""


class State:
    """State that a fit leaves for later rows, of which each engine has its own kind.

    Attributes
    ----------
    attributes : dict
        Fitted attributes of an estimator.
    keeps_rows : bool
        Whether training rows are at hand.
    labels : ndarray or None
        The user's labels of blocks, in their order.
    goes_on : bool
        Whether later batches learn kernel and noise from where the fit has ended.
    is_in_blocks : bool
        Whether the model is one of rows in blocks, which has a specification.
    """

    attributes = {}
    keeps_rows = False
    labels = None
    goes_on = False
    is_in_blocks = False

    def with_constant(self, constant):
        """Add a constant to the bound, where that is a part of it."""
        return self


@dataclass(frozen=True)
class Fitted:
    """A fitted model: all that predictions and later batches need.

    It is replaced, never changed.

    Parameters
    ----------
    objective : float
        In nats, for targets as scaled.
    jitter : float
        Relative.
    weight : float
        Total weight of the rows that the objective counts.
    n_samples : int
        Number of rows that the posterior stands for, whatever their weights.
    n_used : int or None
        Number of rows that it rests on after a fit; None for all.
    state : State or None
        What the engine needs to add rows.
    row_noise : noise.row_noise.RowNoise or EqualNoise
        What is known of the noise besides the parameters.
    targets : Targets, ClassLabels, ClassTargets or latents.table.Columns
        The encoding of targets, set when learning has ended.
    interrupted : bool
        Whether Ctrl-C ended the fit after some step.
    told_mean : predict.observations.OwnMean or CombinedMean
    unlike_rows : predict.observations.UnlikeRows
        Set when learning has ended.
    cut_by : str or None
        What ended learning while the objective rose: "max_iter", "max_time", "max_steps" or
        `optimize.lbfgs.SINGULAR`.
    times : ndarray of shape (n,) or None
        How often each row counts, 0 or a number that all others share, where it rests on some rows
        and predictions on it alone. Only amid a fit.
    """

    start: Start
    parameters: Parameters
    predictor: Predictor
    objective: float
    jitter: float
    n_iter: int
    n_steps: int
    weight: float = 0.0
    n_samples: int = 0
    n_used: int | None = None
    state: State | None = None
    row_noise: object = EQUAL_NOISE
    targets: object = None
    interrupted: bool = False
    told_mean: object = OWN_MEAN
    unlike_rows: UnlikeRows = NONE_UNLIKE
    cut_by: str | None = None
    times: np.ndarray | None = None

    @property
    def merit(self):
        """The objective, raised by what the user expects of the parameters."""
        return self.objective + self.start.space.expected.value(self.parameters)

    @property
    def parameters_to_start_from(self):
        """Parameters for a next fit, with one noise variance where all outputs share it.

        They are as they were learned, where rows were too few to learn from.
        """
        parameters = self.parameters
        if self.start.wider != 1.0:
            parameters = self.start.times(1.0 / self.start.wider, parameters)
        if not self.start.shares_noise:
            return parameters
        return parameters.with_values(log_noise=float(np.min(parameters.log_noise)))

    @property
    def posterior(self):
        """q(u)."""
        return self.predictor.posterior

    def without(self, name):
        """Remove a group of parameters, which others hold from now on."""
        start, parameters = self.start, self.parameters.without(name)
        begun = start.parameters.without(name)
        start = replace(start, parameters=begun, space=start.space.without(name))
        return replace(self, start=start, parameters=parameters)

    def telling_outputs_apart(self):
        """Return the same with an H for each output, though they had one for all."""
        t, parameters, old = self.targets.n_outputs, self.parameters, self.posterior
        if np.ndim(parameters.log_noise) or parameters.mixes_outputs or t == 1:
            return self
        parameters = parameters.with_values(log_noise=np.full(t, parameters.log_noise))
        posterior = Posterior(old.prior, old.H * t, old.h)
        noise_variance = parameters.noise_variance
        predictor = replace(self.predictor, posterior=posterior, noise_variance=noise_variance)
        start = self.start.telling_outputs_apart(t)
        return replace(self, start=start, parameters=parameters, predictor=predictor)

    def after_labels(self, y):
        """Return the same after codes of later labels, which may be the first of their class."""
        begun = self.start.likelihood
        if not hasattr(begun, "after_labels") or begun.after_labels(y) is begun:
            return self
        now = begun.with_theta(self.parameters.likelihood_theta)
        start = replace(self.start, likelihood=now.after_labels(y))
        parameters = self.parameters.with_values(likelihood=now.theta)
        return replace(self, start=start, parameters=parameters)

    def with_noise(self, noise, constant=None):
        """Add noise of the rows, and its constant or another one to the bound."""
        constant = noise.constant if constant is None else constant
        state = None if self.state is None else self.state.with_constant(constant)
        return replace(self, objective=self.objective + constant, row_noise=noise, state=state)

    def with_information(self, factor):
        """Multiply what the rows say of q(u)."""
        posterior = self.posterior.scaled(factor)
        posterior.warm_cache()
        return replace(self, predictor=self.predictor.with_posterior(posterior))

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        predictor, noise = self.predictor.without_caches(), self.row_noise.without_caches()
        told_mean = self.told_mean.mapped(Fitted.without_caches)
        return replace(self, predictor=predictor, row_noise=noise, told_mean=told_mean)

    def moments_at(self, X, n_jobs):
        """Return mean (n, t) and variance (n, t) or (n, 1) of the function of q(u) at X."""
        return in_chunks(self.posterior.mean_variance, X, n_jobs)

    @cached_property
    def noise(self):
        """The noise of the rows: `noise.row_noise.RowNoise` or `EqualNoise`."""
        likelihood = self.start.likelihood.with_theta(self.parameters.likelihood_theta)
        return self.row_noise.under(likelihood)

    @cached_property
    def variance_scale(self):
        """The factor of predicted deviations, or None."""
        return self.noise.variance_scale

    @property
    def log_noise(self):
        """Fit of the log-noise GP, or None."""
        return self.noise.log_noise

    @property
    def likelihood(self):
        """The likelihood with learned parameters."""
        return self.noise.likelihood

    @property
    def public_likelihood(self):
        """The likelihood with what was learned as its parameters: it learns nothing further."""
        likelihood = self.likelihood
        return clone(likelihood) if hasattr(likelihood, "get_params") else likelihood

    @cached_property
    def noise_variance(self):
        """Noise variance in units of the scaled targets; None for a likelihood without one."""
        return self.parameters.noise_variance if self.likelihood.has_noise else None

    def with_unlike_rows(self, n):
        """Return the same, with `UnlikeRows` where a default kernel found next to no noise.

        ``n`` is how many observations there were. Streams, which do not count rows, have none.

        The share is there where normal noise would lose more than a nat a row by what rows cannot
        exclude. Of 81 tables of 135 to 900 rows it was there in 27: six gained 1 to 260 nats a
        row, two 0.07 and 0.17, others lost 0.006 at most.
        """
        variance, unlike, is_counted = self.start.units.variance, NONE_UNLIKE, self.n_samples > 0
        if is_counted and self.start.is_by_default and hasattr(self.likelihood, "contaminated"):
            if (n + 2.0) * np.min(self.noise_variance / variance) < 1.0:
                unlike = UnlikeRows(1.0 / (n + 2.0), 2.0 * variance)
        return replace(self, unlike_rows=unlike)

    @property
    def sklearn_kernel(self):
        """The learned kernel in the shape it was given."""
        kernel = self.parameters.kernel.sklearn_kernel
        if not self.likelihood.has_noise:
            return kernel
        # noise terms are of all outputs
        return join_noise(self.start.kernel, kernel, self.parameters.least_noise_variance)
