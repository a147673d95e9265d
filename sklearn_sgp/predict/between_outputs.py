"""Observations of outputs that mix latent functions: covariances, and densities of a row."""

import numpy as np

from .._linalg import NotPositiveDefiniteError, cholesky

# Least eigenvalue of correlations. Functions that outputs share may be so much larger than their
# noise that no number holds both.
_LEAST_EIGENVALUE = 1e-15


def of_observations(likelihood, mean, covariance, noise_variance):
    """Return covariances (n, n, t, t) of observations from those of the functions.

    Given the functions observations are independent, so that they vary together as their means do.

    Parameters
    ----------
    mean : ndarray of shape (n, t)
        Of the functions.
    covariance : ndarray of shape (n, n, t, t)
        It is overwritten.
    noise_variance : object
        As the likelihood takes it.
    """
    rows, outputs = np.arange(len(mean))[:, None], np.arange(mean.shape[1])
    own = rows, rows, outputs, outputs
    if likelihood.conjugate:
        covariance[own] += noise_variance
        return covariance
    variance = likelihood.moments(mean, covariance[own], noise_variance)[1]
    if not likelihood.identity_mean:
        covariance = _of_means(likelihood, mean, covariance)
    covariance[own] = variance
    return covariance


def _of_means(likelihood, mean, covariance):
    """Return covariances of the means given the functions, but for those with themselves."""
    if not hasattr(likelihood, "as_one_output"):
        raise ValueError(
            "return_cov must be False where outputs mix latent functions (n_latent) under a "
            "likelihood whose means are not those of the functions and that has no method "
            f"'as_one_output'. Got {likelihood!r}: sample_y draws from the joint distribution."
        )
    n, t = mean.shape
    one, f = likelihood.as_one_output(mean)
    flat = covariance.transpose(0, 2, 1, 3).reshape(n * t, n * t, 1)
    joint = one.covariance(f.reshape(n * t, 1), flat, None)[1]
    return np.ascontiguousarray(joint.reshape(n, t, n, t).transpose(0, 2, 1, 3))


def log_normal(residual, covariance, scale):
    """Return log densities of the outputs that were observed, (n,), rows of one pattern at once."""
    log_p, seen = np.zeros(len(residual)), ~np.isnan(residual)
    patterns, own = np.unique(seen, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        rows, places = np.flatnonzero(own.ravel() == k), np.flatnonzero(pattern)
        if not len(places):
            continue  # nothing was observed, with density 1
        block = covariance[np.ix_(rows, places, places)]
        std = np.sqrt(np.diagonal(block, axis1=1, axis2=2))
        variance, axes = np.linalg.eigh(block / (std[:, :, None] * std[:, None, :]))
        variance = np.maximum(variance, _LEAST_EIGENVALUE)
        along = np.einsum("npk,np->nk", axes, residual[np.ix_(rows, places)] / std)
        square = (along**2 / variance).sum(axis=1)
        log_det = np.log(variance).sum(axis=1) + 2.0 * np.log(std * scale[places]).sum(axis=1)
        log_p[rows] = -0.5 * (square + log_det + len(places) * np.log(2.0 * np.pi))
    return log_p


def joint_root(covariance):
    """Return the lower Cholesky factor. If rounding makes it fail, the diagonal is raised.

    Where variances are little more than rounding of a far larger prior variance, it is a root
    of the nearest covariance, without what is negative.
    """
    covariance = np.array(covariance, order="C")
    size = np.diagonal(covariance).mean()
    for jitter in (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4):
        try:
            return cholesky(covariance + jitter * size * np.eye(len(covariance)))
        except NotPositiveDefiniteError:
            continue
    variance, axes = np.linalg.eigh(covariance)
    if variance[0] >= -size:
        return axes * np.sqrt(np.maximum(variance, 0.0))
    raise ValueError(
        f"The joint covariance of {len(covariance)} predictions must be positive definite to draw "
        "from it. Got one that is not, to rounding: draw fewer rows at a time."
    )
