"""Regressors that learn kernel, noise and inducing inputs: targets, scaling, likelihoods."""

import numpy as np
from sklearn.utils import check_random_state

from .base import check_size
from .._compat import FitProgress, HasMethods, StrOptions
from ..fitting.inference import BySites, Collapsed
from .learned import BaseLearned
from .regressor import BaseSparseGPRegressor
from ..fitting.starting_values import (
    check_counts,
    merged_rows,
    no_noise,
    scaled_rows,
    starting_noise,
    target_scaling,
)
from ..kernels._compile import join_noise
from ..likelihoods import Gaussian, Poisson, StudentT

LIKELIHOODS = {"gaussian": Gaussian, "student_t": StudentT, "poisson": Poisson}
LIKELIHOOD_CONSTRAINT = [
    StrOptions(set(LIKELIHOODS)),
    HasMethods(["expected_log_density", "moments"]),
]


class BaseLearnedRegressor(BaseLearned, BaseSparseGPRegressor):
    """Regressors with the shared constructor parameters and Gaussian noise."""

    def _likelihood_for(self, y, weight):
        return Gaussian()

    def _observed(self):
        return self._likelihood, Collapsed()

    def _noise_start(self, whites):
        if not self._likelihood.n_noise:
            return no_noise(whites, self.kernel, self._likelihood)
        return starting_noise(whites, self.noise_variance, self.noise_variance_bounds)

    def _targets_like_before(self, y):
        if y.ndim != self._y_ndim or (y.ndim == 2 and y.shape[1] != len(self.y_mean_)):
            raise ValueError(
                f"y must have as many columns as in the first batch. Got shape {y.shape}."
            )
        return self._target_columns(y)

    def _target_columns(self, y):
        y = y.reshape(len(y), -1).astype(np.float64, copy=False)
        check_size("y", y)
        return y

    def _learn(self, X, y, weight, clock, previous, course, merge=True):
        """Everything of a fit after the validation of its inputs."""
        progress = FitProgress(self, X, y)
        progress.begin()
        self._learn_batch(X, y, weight, clock, previous, course, progress, merge)
        progress.end()

    def _learn_batch(self, X, y, weight, clock, previous, course, progress, merge=True):
        """Scaling, start and course of a fit, or of the first batch of one."""
        self._y_ndim = y.ndim
        y = self._target_columns(y)
        self.n_samples_seen_ = len(X) if weight is None else int(np.count_nonzero(weight))
        if merge:
            X, y, weight = merged_rows(X, y, weight)
        self._likelihood = self._likelihood_for(y, weight)
        counts = isinstance(self._likelihood, Poisson)
        scaling = self._scaling_of(y, weight, False if counts else self.normalize_y)
        self.y_mean_, self.y_scale_ = scaling
        if self._y_ndim == 1:
            self.y_mean_, self.y_scale_ = float(scaling[0][0]), float(scaling[1][0])
        rows, rng = scaled_rows(X, y, weight, scaling), check_random_state(self.random_state)
        self._learn_rows(rows, rng, progress, clock, previous, course)

    def _scaling_of(self, y, weight, normalize_y):
        return target_scaling(y, weight, normalize_y)

    def _fitted_attributes(self, learned, y_scale, weight):
        found = super()._fitted_attributes(learned, y_scale, weight)
        if not self._likelihood.n_noise:
            return found
        noise = learned.parameters.noise_variance
        found["kernel_"] = join_noise(self._given_kernel, found["kernel_"], noise)
        return found | {"noise_variance_": noise}


class AnyLikelihoodRegressor(BaseLearnedRegressor):
    """Regressors with a ``likelihood`` parameter."""

    def _likelihood_for(self, y, weight):
        """Instance of the likelihood, or a ValueError where the targets do not fit."""
        if not isinstance(self.likelihood, str):
            return self.likelihood
        if self.likelihood != "poisson":
            return LIKELIHOODS[self.likelihood]()
        check_counts(y)
        total = len(y) if weight is None else weight.sum()
        # half a count keeps the logarithm finite where all counts are zero
        return Poisson(np.log((np.average(y, axis=0, weights=weight) * total + 0.5) / total))

    def _observed(self):
        if isinstance(self._likelihood, Gaussian):
            return super()._observed()
        n_outputs = np.size(self.y_mean_)
        return self._likelihood, BySites(self._likelihood, n_outputs)
