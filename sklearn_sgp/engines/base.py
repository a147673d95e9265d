"""What a fit starts from, what it needs to know, and what it finds."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from ..data.categories import PLAIN_COLUMNS, InputColumns
from ..data.rows import Rows, random_index
from ..gp.chunks import in_chunks
from ..gp.conditionals import ExactConditional, SoRConditional, without_own
from ..gp.jitter import (
    factorise_again,
    factorise_finally,
    factorise_larger,
    factorise_with_jitter,
)
from ..gp.posterior import Posterior
from ..kernels._white_noise import join_noise
from ..optimize.parameters import Parameters, ParameterSpace
from ..optimize.progress import Plateau, Trace

# A stage that another follows stops at so many times `tol`: a larger subset moves its optimum more.
_INTERIM_TOL = 10.0


@dataclass(frozen=True)
class Settings:
    """What the user chose about learning; names as in the public interface."""

    optimizer: str | None
    init_size: int
    batch_size: int | None  # None where steps take whole blocks
    max_iter: int
    max_steps: int | None
    tol: float
    n_iter_no_change: int
    learning_rate: float
    natural_step: float
    jitter: float
    n_jobs: int | None
    n_restarts_optimizer: int = 0

    def prior(self, parameters):
        """p(u) at some parameters, with the jitter that it needs."""
        return factorise_with_jitter(parameters.kernel, parameters.Z, self.jitter)

    def final_prior(self, parameters):
        """p(u) of the posterior that is kept; warns where the jitter had to be raised."""
        return factorise_finally(parameters.kernel, parameters.Z, self.jitter)

    def prior_again(self, prior):
        """p(u) with more jitter, where something that rests on the last one failed."""
        return factorise_again(prior, self.jitter)

    def larger_prior(self, prior, Z, jitter):
        """p(u) at more inducing inputs, with the jitter of the old ones if that is enough."""
        return factorise_larger(prior, Z, jitter)

    def plateau(self, weight, interim=False):
        """When rows of this weight have nothing to gain any more."""
        tol = self.tol * (_INTERIM_TOL if interim else 1.0)
        return Plateau(tol * weight, self.n_iter_no_change)


@dataclass(frozen=True)
class Start:
    """Where learning starts.

    Parameters
    ----------
    kernel : sklearn Kernel
        As it was given, white noise included, or the default one.
    likelihood : Likelihood
        Its free parameters are the group "likelihood".
    parameters : Parameters
    space : ParameterSpace
    inducing : object
        The fingerprint of what the user gave as ``inducing``.
    with_default_bounds : tuple of str
        Groups whose bounds the user did not choose.
    alternatives : tuple of Start
        With other default kernels.
    columns : InputColumns
    """

    kernel: object
    likelihood: object
    parameters: Parameters
    space: ParameterSpace
    inducing: object = None
    with_default_bounds: tuple = ()
    alternatives: tuple = ()
    columns: InputColumns = PLAIN_COLUMNS

    def learns(self, optimizer):
        """Whether there is anything to learn, and an optimiser to do it."""
        return optimizer is not None and bool(len(self.space.pack(self.parameters)))


@dataclass(frozen=True)
class Problem:
    """Everything a fit needs to know.

    Parameters
    ----------
    rows : Rows
    start : Start
    inference : inference.ConjugateInference or inference.SiteInference
    settings : Settings
    trace : Trace
    rng : numpy.random.RandomState
    n_samples : int or None
        Rows before repeated ones were merged; None for as many as there are.
    is_interim : bool
        Whether others go on from what is found, so that nobody is warned.
    before : object
        What a learner found with other weights of the same rows, whose blocks may serve again.
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
        """Whether this fit moves any parameter."""
        return self.start.learns(self.settings.optimizer)

    def prior(self, parameters):
        """p(u) at some parameters, with the jitter that it needs."""
        return self.settings.prior(parameters)

    def plateau(self, interim=False):
        return self.settings.plateau(self.rows.total_weight, interim)


@dataclass(frozen=True)
class RowScalars:
    """Sums over rows that the collapsed bound has besides (H, h): w, w y^2 (t,) and w k(x, x)."""

    weight: float
    targets: np.ndarray
    diagonal: float

    def plus(self, sums):
        return RowScalars(
            self.weight + sums.weight, self.targets + sums.targets, self.diagonal + sums.diagonal
        )


@dataclass(frozen=True)
class FitResult:
    """What a fit found.

    Parameters
    ----------
    start : Start
    parameters : Parameters
    posterior : Posterior
    objective : float
        In nats, for targets as scaled.
    jitter : float
        Relative.
    n_iter, n_steps : int
    weight : float
        Of the rows that the objective counts.
    scalars : RowScalars or None
        Of the rows, where the bound has a closed form.
    partial : partial_fit.PartialFitState or None
        After a later batch of `partial_fit`.
    n_samples : int
        Number of rows that the posterior stands for, whatever their weights.
    n_used : int or None
        Number of rows that it rests on after a fit; None for all.
    row_noise : noise.row_noise.RowNoise or None
        Where the noise differs from row to row.
    """

    start: Start
    parameters: Parameters
    posterior: Posterior
    objective: float
    jitter: float
    n_iter: int
    n_steps: int
    weight: float = 0.0
    scalars: RowScalars | None = None
    partial: object = None
    n_samples: int = 0
    n_used: int | None = None
    row_noise: object = None
    interrupted = False

    @property
    def result(self):
        """Itself: what learners return has a `FitResult` of this name, and ``interrupted``."""
        return self

    def without(self, name):
        """The same less a group of parameters, which others hold from now on."""
        start, parameters = self.start, self.parameters.without(name)
        begun = start.parameters.without(name)
        start = replace(start, parameters=begun, space=start.space.without(name))
        return replace(self, start=start, parameters=parameters)

    def with_noise(self, noise, constant=None):
        """The same with noise of each row, its constant or another one added to the bound."""
        constant = noise.constant if constant is None else constant
        return replace(self, objective=self.objective + constant, row_noise=noise)

    def moments_at(self, X, n_jobs):
        """Mean (n, t) and variance (n, t) or (n, 1) of the function."""
        return in_chunks(self.posterior.mean_variance, X, n_jobs)

    def moments_of(self, rows, n_jobs):
        """The same at training rows."""
        return self.moments_at(rows.X, n_jobs)

    def left_out_moments(self, rows, places, n_jobs):
        """Mean (n, t) and variance (n, t) or (n, 1) at training rows, each given all others.

        Parameters
        ----------
        rows : Rows
            Of the fit, with the precisions that q(u) rests on.
        places : ndarray of int or None
            Of these rows among all; None for all of them.
        n_jobs : int or None

        Returns
        -------
        mean, variance : ndarray
            NaN where it cannot be had.
        """
        return self.without_factors(rows, ExactConditional, 0.0, n_jobs)

    def without_factors(self, rows, conditional, alpha, n_jobs):
        """The same where each row has a factor ``N(y; E[f | u], noise + alpha var[f | u])``."""
        mean, variance = in_chunks(conditional(self.posterior).mean_variance, rows.X, n_jobs)
        through_u = in_chunks(SoRConditional(self.posterior).mean_variance, rows.X, n_jobs)[1]
        own, (weight, counts) = variance - through_u, rows.weights
        noise = self.parameters.noise_variance / weight.reshape(len(rows), -1)
        noise = noise + alpha * own / counts[:, None]
        mean, through_u = without_own(mean, through_u, rows.targets, noise)
        return mean, through_u + own

    def drawn(self, n_rows, size, rng):
        """Places of so many of the training rows, at random."""
        return random_index(n_rows, size, rng)

    @property
    def log_noise(self):
        """`FitResult` of the function that the log noise variance is, or None."""
        return None if self.row_noise is None else self.row_noise.log_noise

    @property
    def likelihood(self):
        """The likelihood with learned parameters."""
        if self.row_noise is not None:
            return self.row_noise.likelihood
        return self.start.likelihood.with_theta(self.parameters.likelihood_theta)

    @property
    def public_likelihood(self):
        """The same, with what was learned as its parameters: it learns nothing further."""
        likelihood = self.likelihood
        return clone(likelihood) if hasattr(likelihood, "get_params") else likelihood

    @property
    def noise_variance(self):
        """In units of the scaled targets; None for a likelihood without one."""
        return self.parameters.noise_variance if self.likelihood.has_noise else None

    @property
    def sklearn_kernel(self):
        """The learned kernel in the shape it was given."""
        kernel = self.parameters.kernel.sklearn_kernel
        if not self.likelihood.has_noise:
            return kernel
        return join_noise(self.start.kernel, kernel, self.parameters.noise_variance)
