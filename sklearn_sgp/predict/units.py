"""What is predicted of scaled, perhaps warped targets, in units of y."""

from functools import partial

import numpy as np

from .._compat import check_array
from ..gp.chunks import in_chunks
from .warped import warped_covariance, warped_mean_variance

_DTYPE = [np.float64, np.float32]


def moments_in_units(targets, likelihood, mean, variance, noise):
    """Means and variances of observations, or of the function, of the shape of y.

    Parameters
    ----------
    targets : data.targets.Targets
    likelihood : Likelihood or None
        None for the function.
    mean, variance : ndarray of shape (n, t)
        Of the latent function.
    noise : object
        As the likelihood takes it.

    Returns
    -------
    mean, variance : ndarray of shape (n,) or (n, t)
    """
    if targets.warps is not None:
        found = warped_mean_variance(targets, likelihood, mean, variance, noise)
        return tuple(targets.squeezed(part) for part in found)
    if likelihood is not None:
        mean, variance = likelihood.moments(mean, variance, noise)
    return targets.mean_in_units(mean), targets.squeezed(variance * targets.scale**2)


def mean_std_in_units(targets, likelihood, mean, variance, noise):
    """Means and standard deviations; see `moments_in_units`."""
    if targets.warps is not None:
        mean, variance = moments_in_units(targets, likelihood, mean, variance, noise)
        return mean, np.sqrt(variance)
    if likelihood is not None:
        mean, variance = likelihood.moments(mean, variance, noise)
    std = np.sqrt(variance) * targets.scale
    std = targets.squeezed(np.broadcast_to(std, mean.shape).copy())
    return targets.mean_in_units(mean), std


def covariance_in_units(targets, likelihood, mean, covariance, noise):
    """Means and joint covariances of observations, the latter (n, n) or (n, n, t).

    Parameters
    ----------
    targets : data.targets.Targets
    likelihood : Likelihood
    mean : ndarray of shape (n, t)
        Of the latent function.
    covariance : ndarray of shape (n, n, t) or (n, n, 1)
        It may be overwritten.
    noise : object
        As the likelihood takes it.

    Returns
    -------
    mean, covariance : ndarray
    """
    if targets.warps is not None:
        found = warped_covariance(targets, likelihood, mean, covariance, noise)
        return tuple(targets.squeezed(part) for part in found)
    mean, covariance = likelihood.covariance(mean, covariance, noise)
    return targets.mean_in_units(mean), targets.squeezed(covariance * targets.scale**2)


class FunctionsInUnits:
    """Functions that were drawn, with values in units of y, computed in chunks of rows.

    Parameters
    ----------
    functions : gp.pathwise.PathwiseDraws
    targets : Targets
    n_jobs : int or None
    form : data.inputs.InputFormat
        Of the columns of X.
    """

    def __init__(self, functions, targets, n_jobs, form):
        self.functions, self.targets, self.n_jobs, self.form = functions, targets, n_jobs, form

    def __call__(self, X):
        X = self.form.read(self.form.split(X)[0], partial(check_array, dtype=_DTYPE))
        if X.shape[1] != self.functions.n_features:
            raise ValueError(
                f"X must have {self.functions.n_features} features, as in fit. Got {X.shape[1]}."
            )
        return self.targets.samples_in_units(in_chunks(self.functions, X, self.n_jobs))
