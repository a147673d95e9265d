"""The jitter policy: how much is added to the diagonal of K(Z, Z), and when that is said.

The jitter is constant while an optimiser runs. Between runs it may climb a ladder, tenfold at each
rung, up to `MAX_JITTER`.
"""

import numpy as np

from .._core import _linalg as la
from .._linalg import NotPositiveDefiniteError, copy_of
from .._warnings import warn_caller
from ..kernels._features import are_features
from .prior import Prior

MAX_JITTER = 1e-3
_LEAST_JITTER = 1e-12  # after none at all, or where the noise is below rounding
# Least rung of a ladder that begins below it, as where noise is a billionth of the kernel's
# variance or less: rounding is as large. With 1e-12 the jitter came to 100 times the noise, and
# four of nine fits of smooth functions to bounds that were 3,900 to 12,000 nats too low.
_LEAST_RUNG = 1e-16
# No line search follows the last factorisation, so it first tries less jitter by this factor. That
# brings Z = X with noise 1e-3 within 1e-6 of the exact GP (7e-5 with a factor of 1e-3; with 1e-7
# rounding costs as much again).
_FINAL_JITTER_SHARE = 1e-5
# Largest jitter that a ladder begins with, as a share of the noise: what is more counts as noise.
# Of 18 smooth functions without noise (n = 50, 100, 200, inducing inputs the rows) whose kernel
# had come to a variance of 1e4, 4 ended at "all is noise" with a jitter of 100 times the noise.
_SHARE_OF_NOISE = 1e-2


class SingularCovarianceError(NotPositiveDefiniteError, ValueError):
    """No jitter that is allowed makes the covariance of the inducing inputs positive definite."""


def _next(rung):
    """Return the next rung. One that is no share of a noise above rounding is followed by some."""
    is_above = rung >= _SHARE_OF_NOISE * np.finfo(float).eps
    return max(10.0 * rung, _LEAST_RUNG) if is_above else _LEAST_JITTER


def factorise_with_jitter(kernel, Z, jitter, noise_variance=np.inf):
    """Factorise with the smallest jitter of the ladder ``jitter * 10^k`` that suffices.

    ``jitter`` is the first rung, relative to the mean of diag K(Z, Z); a lower one is taken where
    that is not small beside the noise.

    Raises
    ------
    SingularCovarianceError
        A ValueError: not even ``MAX_JITTER`` helps. Names cause and cure.
    """
    if are_features(kernel.expression, Z):
        return Prior.build(kernel, Z, 0.0, 0.0)  # their covariance is the identity
    scale = _scale(kernel, Z)
    rung = _small_beside(noise_variance, jitter, scale)
    while True:
        try:
            return Prior.build(kernel, Z, rung * scale, rung)
        except NotPositiveDefiniteError:
            if not np.isfinite(scale) or rung >= MAX_JITTER:
                raise SingularCovarianceError(_ladder_message(kernel, Z, jitter)) from None
            rung = min(_next(rung), MAX_JITTER)


def _scale(kernel, Z):
    return float(kernel.diag(Z).mean()) if len(Z) else 1.0


def _small_beside(noise_variance, jitter, scale):
    """Return a jitter that is at most a share of the noise, in units of the kernel's variance."""
    if not scale > 0.0:
        return jitter
    return min(jitter, _SHARE_OF_NOISE * noise_variance / scale)


def factorise_finally(kernel, Z, jitter, noise_variance=np.inf):
    """Factorise for the posterior that is kept, with less jitter where the arithmetic allows.

    No line search follows, so the ladder begins lower. It climbs until rounding changes what the
    inducing inputs leave unexplained, K - A^T A, by less than the jitter itself does.

    Parameters and errors are those of `factorise_with_jitter`; warns where the jitter is above the
    one asked for.
    """
    prior = factorise_with_jitter(kernel, Z, _FINAL_JITTER_SHARE * jitter, noise_variance)
    most = _small_beside(noise_variance, jitter, _scale(kernel, Z))
    while prior.jitter < most and rounding_error(prior) > prior.delta:
        prior = factorise_with_jitter(kernel, Z, min(10.0 * prior.jitter, most))
    warn_about_jitter(prior.jitter, jitter)
    return prior


def factorise_above(kernel, Z, delta, jitter, noise_variance):
    """Factorise with ten times the jitter ``delta``, in units of the kernel, or more.

    Returns
    -------
    prior : Prior or None
        None where it would be both above the noise and above the ``jitter`` asked for.
    """
    if are_features(kernel.expression, Z):
        return None
    scale = _scale(kernel, Z)
    rung = _next(delta / scale)
    if rung > min(max(jitter, noise_variance / scale), MAX_JITTER):
        return None
    try:
        return factorise_with_jitter(kernel, Z, rung)
    except SingularCovarianceError:
        return None


def factorise_again(prior, jitter):
    """Factorise with ten times the jitter, after something that rests on the last one failed.

    The prior has the jitter that was too small; ``jitter`` is what was asked for, and a warning
    tells of more.

    Raises
    ------
    SingularCovarianceError
        If the ladder ends here.
    """
    rung = _next(prior.jitter)
    if rung > MAX_JITTER or are_features(prior.kernel.expression, prior.Z):
        raise SingularCovarianceError(_ladder_message(prior.kernel, prior.Z, jitter))
    larger = factorise_with_jitter(prior.kernel, prior.Z, rung)
    warn_about_jitter(larger.jitter, jitter)
    return larger


def rounding_error(prior):
    """Return the largest error of K - A^T A at the inducing inputs, in units of the kernel.

    There the truth is known: for the covariance without jitter it is delta I - delta^2 inv(K), K
    with jitter. The error does not depend on the noise, and elsewhere it is of the same size.
    """
    bare = prior.K.copy()
    bare.flat[:: len(bare) + 1] -= prior.delta
    A = copy_of(bare)
    la.trmm(prior.L_inv, A)
    error = bare + prior.delta * (prior.delta * prior.K_inv)  # the square may be no number
    la.gemm(A, A, error, True, False, -1.0, 1.0)
    error.flat[:: len(error) + 1] -= prior.delta
    return float(np.abs(error).max(initial=0.0))


def factorise_larger(prior, Z, jitter):
    """Factorise at more inducing inputs, with the jitter of the old ones if that is enough.

    The old inducing inputs are the first ones of Z, and ``jitter`` is the relative one in use: the
    first rung where the old jitter is not enough.
    """
    try:
        # zeros appended to H and h are exact only if the old inducing inputs keep their jitter
        return Prior.build(prior.kernel, Z, prior.delta, jitter)
    except NotPositiveDefiniteError:
        larger = factorise_with_jitter(prior.kernel, Z, jitter)
        warn_about_jitter(larger.jitter, jitter)
        return larger


def warn_about_jitter(jitter, start):
    """Say once per fit that the jitter had to be raised."""
    if jitter > start:
        warn_caller(
            f"The covariance of the inducing inputs needed a jitter of {jitter:.0e} of its mean "
            f"diagonal to be positive definite (jitter={start:.0e} was asked for). Nearly "
            "duplicated inducing inputs or very long length scales are the usual causes; fewer "
            "inducing inputs or a rougher kernel such as Matern avoid it."
        )


def _ladder_message(kernel, Z, jitter):
    distinct = len(np.unique(Z, axis=0))
    return (
        f"The covariance of the {len(Z)} inducing inputs ({distinct} of them distinct) must be "
        f"positive definite, but its Cholesky factorisation failed with jitter from {jitter:.0e} "
        f"up to {MAX_JITTER:.0e} of its mean diagonal, with kernel {kernel.sklearn_kernel!r}. "
        "Remove duplicated inducing inputs, check the units of X against the length scales, or "
        "lower n_inducing. ExpSineSquared is a kernel of one column: over several it fails, too."
    )
