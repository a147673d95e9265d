"""What engines share: the problem of a fit, the fitted model, and the protocol of an engine."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from sklearn.base import clone

from ..data.categories import PLAIN_COLUMNS, InputColumns
from ..data.rows import Rows
from ..gp.chunks import in_chunks
from ..gp.jitter import (
    factorise_again,
    factorise_finally,
    factorise_larger,
    factorise_with_jitter,
)
from ..kernels._white_noise import join_noise
from ..optimize.parameters import Parameters, ParameterSpace
from ..optimize.progress import Plateau, Trace
from ..predict.base import Predictor
from ..predict.noise import EqualNoise

# A stage that another follows stops at so many times `tol`: a larger subset moves its optimum more.
_INTERIM_TOL = 10.0


@dataclass(frozen=True)
class Settings:
    """Choices of the user about learning; names as in the public interface."""

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

    def prior(self, parameters):
        """Factorise p(u) at some parameters, with the jitter that it needs."""
        return factorise_with_jitter(parameters.kernel, parameters.Z, self.jitter)

    def final_prior(self, parameters):
        """Factorise p(u) of the posterior that is kept; warn where the jitter had to be raised."""
        return factorise_finally(parameters.kernel, parameters.Z, self.jitter)

    def prior_again(self, prior):
        """Factorise p(u) with more jitter, where something that rests on the last one failed."""
        return factorise_again(prior, self.jitter)

    def larger_prior(self, prior, Z, jitter):
        """Factorise p(u) at more inducing inputs, with the old jitter if that is enough."""
        return factorise_larger(prior, Z, jitter)

    def plateau(self, weight, interim=False):
        """Return the `Plateau` at which rows of this weight have nothing more to gain."""
        tol = self.tol * (_INTERIM_TOL if interim else 1.0)
        return Plateau(tol * weight, self.n_iter_no_change)


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
        Groups whose bounds the user did not choose.
    alternatives : tuple of Start
        With other default kernels.
    """

    kernel: object
    likelihood: object
    parameters: Parameters
    space: ParameterSpace
    inducing: object = None
    with_default_bounds: tuple = ()
    alternatives: tuple = ()
    columns: InputColumns = PLAIN_COLUMNS

    @property
    def in_proportion(self):
        """True if length scales of the columns are learned in a common proportion."""
        return self.space.learns("theta") and len(self.space.group("theta").shared) > 0

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
    inference : inference.ConjugateInference, inference.SiteInference or None
        None where the engine finds q(u) in its own way.
    n_samples : int or None
        Rows before repeated ones were merged; None for as many as there are.
    is_interim : bool
        Whether others go on from what is found, so that nobody is warned.
    before : Fitted or None
        From other weights of the same rows: its blocks may serve again.
    """

    rows: Rows
    start: Start
    inference: object
    settings: Settings
    trace: Trace
    rng: np.random.RandomState
    n_samples: int | None = None
    is_interim: bool = False
    before: object = None

    @property
    def space(self):
        return self.start.space

    @property
    def learns(self):
        """Return whether there is anything to learn, and an optimiser to do it."""
        return self.start.learns(self.settings.optimizer)

    def prior(self, parameters):
        """Factorise p(u) at some parameters, with the jitter that it needs."""
        return self.settings.prior(parameters)

    def plateau(self, interim=False):
        return self.settings.plateau(self.rows.total_weight, interim)


class Engine(Protocol):
    """Fits one family of models, and adds later rows to a fitted one."""

    def fit(self, problem):
        """Learn from all rows of a `Problem`; return a `Fitted`."""

    def add(self, fitted, problem):
        """Add the rows of a `Problem` to a `Fitted`; return another."""


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
    state : object
        What the engine needs to add rows.
    row_noise : noise.row_noise.RowNoise or None
        Where the noise differs from row to row.
    targets : Targets, ClassLabels, ClassTargets or latents.table.Columns
        The encoding of targets, set when learning has ended.
    interrupted : bool
        Whether Ctrl-C ended the fit after some step.
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
    state: object = None
    row_noise: object = None
    targets: object = None
    interrupted: bool = False

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

    def with_noise(self, noise, constant=None):
        """Add noise of each row, and its constant or another one to the bound."""
        constant = noise.constant if constant is None else constant
        state = None if self.state is None else self.state.with_constant(constant)
        return replace(self, objective=self.objective + constant, row_noise=noise, state=state)

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        noise = None if self.row_noise is None else self.row_noise.without_caches()
        return replace(self, predictor=self.predictor.without_caches(), row_noise=noise)

    def moments_at(self, X, n_jobs):
        """Return mean (n, t) and variance (n, t) or (n, 1) of the function of q(u) at X."""
        return in_chunks(self.posterior.mean_variance, X, n_jobs)

    @property
    def noise(self):
        """The noise of the rows: `noise.row_noise.RowNoise` or `EqualNoise`."""
        if self.row_noise is not None:
            return self.row_noise
        return EqualNoise(self.start.likelihood.with_theta(self.parameters.likelihood_theta))

    @property
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

    @property
    def noise_variance(self):
        """Noise variance in units of the scaled targets; None for a likelihood without one."""
        return self.parameters.noise_variance if self.likelihood.has_noise else None

    @property
    def sklearn_kernel(self):
        """The learned kernel in the shape it was given."""
        kernel = self.parameters.kernel.sklearn_kernel
        if not self.likelihood.has_noise:
            return kernel
        return join_noise(self.start.kernel, kernel, self.parameters.noise_variance)
