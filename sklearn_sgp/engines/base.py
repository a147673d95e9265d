"""What engines share: the problem of a fit, the fitted model, and the protocol of an engine."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..data.categories import PLAIN_COLUMNS, InputColumns
from ..data.rows import Rows
from ..data.target_units import UNIT, TargetUnits
from ..gp.jitter import factorise_above, factorise_finally, factorise_with_jitter
from ..kernels._length_scales import scale_places, with_larger_variance
from ..kernels._white_noise import split_noise
from ..optimize.parameters import Parameters, ParameterSpace
from ..optimize.progress import VISIBLE_GAIN, Plateau, Trace

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
    sees_more_rows : bool
        Whether more rows come later, which decide what the first ones are too few for.
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
    sees_more_rows: bool = False

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

    @property
    def has_learned_kernel(self):
        """True if kernel and noise are learned from these rows, or were in an earlier fit."""
        return self.learns or self.start.earlier is not None

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
