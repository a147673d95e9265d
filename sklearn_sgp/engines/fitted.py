"""The fitted model that engines return, and the state that each leaves for later rows."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.base import clone

from .._parallel import in_chunks
from ..gp.posterior import Posterior
from ..kernels._white_noise import join_noise
from ..optimize.parameters import Parameters
from ..predict.base import Predictor
from ..predict.observations import EQUAL_NOISE, NONE_UNLIKE, OWN_MEAN, UnlikeRows
from .base import Start


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

    def with_site_constant(self, constant):
        """Add a constant that some rows have to the bound, where that is a part of it."""
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

    def with_constant(self, constant):
        """Add what some rows have besides to the bound, also where it is computed anew."""
        if not constant:
            return self
        state = self.state.with_site_constant(constant)
        return replace(self, objective=self.objective + constant, state=state)

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
