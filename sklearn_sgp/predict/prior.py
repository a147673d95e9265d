"""Predictions and draws before `fit`, from the prior, as `GaussianProcessRegressor` has them."""

import copy
from dataclasses import replace

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ..data.rows import make_rows
from ..data.targets import Targets
from ..engines.base import FitResult
from ..engines.start import start
from ..gp.posterior import Posterior
from ..kernels._defaults import with_categories
from ..kernels.categories._binding import bound_to


class PriorPredictions:
    """A mixin: with Gaussian noise, a model that is not fitted predicts by its prior.

    Other likelihoods take parameters from the targets, so that they need a fit.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = not self._has_prior()
        return tags

    def _has_prior(self):
        try:
            return self._given_likelihood().conjugate
        except ValueError:  # tags and `dir` are of any parameters; `fit` refuses this one
            return False

    def _ready(self, X):
        if hasattr(self, "_result") or not self._has_prior():
            return self
        self._validate_params()
        return self._prior_model(X)

    def _prior_model(self, X):
        """A copy whose q(u) is p(u), at one inducing input: its predictions are the prior's."""
        model = copy.copy(self)
        X = model._numbers(X, lambda X: model._validate_X(X, reset=True), reset=True)
        kernel = self.kernel
        if kernel is None:  # the length scales of the default kernel come from the data of a fit
            plain, columns = ConstantKernel(1.0) * RBF(1.0), model._input_columns()
            kernels = with_categories(lambda _: [plain], np.ones(X.shape[1]), columns.categorical)
            kernel = kernels[0]
        kernel = bound_to(kernel, X, getattr(model, "feature_names_in_", None))
        with np.errstate(over="ignore", invalid="ignore"):  # `start` refuses what is not finite
            variance = kernel.diag(X)
        Z = X[[np.argmax(variance)]]  # the variance there is not zero, if it is not anywhere
        normalize_y = self.normalize_y if isinstance(self.normalize_y, tuple) else False
        # as many outputs as parameters have entries
        given = (self.noise_variance, *(normalize_y if isinstance(normalize_y, tuple) else ()))
        n_outputs = max(np.size(value) for value in given)
        y = np.zeros((1, n_outputs))
        targets = Targets.fit(y, None, normalize_y, ndim=1 if n_outputs == 1 else 2)
        likelihood = self._given_likelihood()
        choices = replace(model._choices(), kernel=kernel, inducing=Z, learns=False)
        rows = make_rows(Z, y, None, targets)
        started = start(rows, choices, likelihood, np.random.RandomState(0))
        prior = self._settings().prior(started.parameters)
        n_factors = np.size(started.parameters.noise_variance)
        q = Posterior.at_prior(prior, n_outputs, n_factors)
        model._result = FitResult(started, started.parameters, q, 0.0, prior.jitter, 0, 0)
        model._targets, model.likelihood_ = targets, likelihood
        return model
