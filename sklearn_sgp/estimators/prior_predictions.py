"""Predictions and draws before `fit`, from the prior, as `GaussianProcessRegressor` has them."""

import copy
from dataclasses import replace

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ..data.categories import PLAIN_COLUMNS
from ..data.missing import NO_MISSING
from ..data.rows import make_rows
from ..data.targets import Targets
from ..engines.start import of_columns, start
from ..gp.posterior import Posterior
from ..kernels._defaults import with_categories
from ..kernels.categories._binding import bound_to
from ..likelihoods._names import regression_likelihood
from ..predict.inducing import InducingPoints
from ..predict.observations import NONE_UNLIKE, EqualNoise, Observations
from .settings import choices_of, settings_of
from .validation import inputs_of_batch


def prior_model(estimator, X):
    """Return the distribution of observations under the prior, and checked inputs.

    q(u) is p(u), at one inducing input. The estimator has Gaussian noise, and is not fitted; X is
    where it is to predict.
    """
    estimator = copy.copy(estimator)
    inputs = inputs_of_batch(estimator, X, reset=True)
    kernel = _kernel(estimator, inputs.X)
    with np.errstate(over="ignore", invalid="ignore"):  # `start` refuses what is not finite
        variance = kernel.diag(inputs.X)
    Z = inputs.X[[np.argmax(variance)]]  # the variance there is not zero, if it is not anywhere
    normalize_y = estimator.normalize_y if isinstance(estimator.normalize_y, tuple) else False
    # as many outputs as parameters have entries
    given = (estimator.noise_variance, *(normalize_y if isinstance(normalize_y, tuple) else ()))
    n_outputs = max(np.size(value) for value in given)
    y = np.zeros((1, n_outputs))
    targets = Targets.fit(y, None, normalize_y, ndim=1 if n_outputs == 1 else 2)
    likelihood = regression_likelihood(estimator.likelihood)
    bound = {"kernel": kernel, "inducing": Z, "columns": PLAIN_COLUMNS, "missing": NO_MISSING}
    choices = replace(choices_of(estimator), **bound, learns=False, normalize_y=True)
    started = start(make_rows(Z, y, None, targets), choices, likelihood, np.random.RandomState(0))
    noise_variance = started.parameters.noise_variance
    prior = settings_of(estimator).prior(started.parameters)
    q = Posterior.at_prior(prior, n_outputs, np.size(noise_variance))
    predictor = InducingPoints(q, noise_variance)
    noise = noise_variance, EqualNoise(likelihood)
    parts = likelihood, NONE_UNLIKE, *noise, targets, estimator.n_jobs
    return Observations.of(predictor, *parts), inputs


def _kernel(estimator, X):
    """Return the kernel, bound to the columns of X."""
    form, kernel = estimator._format, estimator.kernel
    if kernel is None:  # the length scales of the default kernel come from the data of a fit
        plain, categorical = ConstantKernel(1.0) * RBF(1.0), form.columns.categorical
        kernel = with_categories(lambda _: [plain], np.ones(X.shape[1]), categorical)[0]
        return bound_to(kernel, X)
    return of_columns(kernel, X, form.columns)
