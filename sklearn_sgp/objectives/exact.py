"""The exact process of rows that are all inducing inputs: evidence, gradient and posterior.

Bounds and evidences of sparse models are equal to it there, but for the jitter and for rounding: in
them terms of the size of 1 / noise cancel. Here the noise stands beside K(X, X), as in any exact
process, and the jitter is a part of the noise (docs/theory.md, section 7).
"""

from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._linalg import NotPositiveDefiniteError, cholesky, copy_of, inverse_from_cholesky, product
from ..data.rows import outputs_by_noise, weight_of
from ..factors.gradients import Gradient, noise_gradient
from ..gp.posterior import Posterior
from ..gp.prior import Prior
from ..gp.rows_posterior import PosteriorOfRows, RowsPosterior
from .scores import Score, left_out_errors, log_normal_density

# Largest share of the noise of a row that the jitter may be.
_LARGEST_SHARE = 0.5
# Those that are tried where predictions come from K(X, X) alone: 400 rows of five clusters, with
# noise of 1e-10 beside a variance of 1,400, need the second, and had an objective 50 nats too low.
_JITTER_SHARES = (0.1 * _LARGEST_SHARE, _LARGEST_SHARE)
# Where the noise is a smaller share of the function's variance predictions come from K(X, X) alone:
# 100 runs of Branin's function (noise of 1e-8, variance of 1e4) had errors of 0.01 deviations by
# (I + H)^-1 h, now of 0.0001, as by a dense solution.
_DELICATE = 1e-9
# And where it is a smaller one than this, what a row says by itself is taken from K(X, X). From
# (I + H)^-1, deviations of 60 smooth runs left out were a tenth too small with a share of 1e-7, and
# up to 27 times with 2e-9.
_KNOWN_BELOW = 1e-5


class ExactPosterior(NamedTuple):
    """q(u) of the exact process, its evidence, and the constant with which q(u) has it."""

    posterior: Posterior
    evidence: float
    constant: float


class _Output:
    """The outputs of one noise variance: (k, t) means with a noise variance (k,) of each row."""

    def __init__(self, rows, columns, s2, K):
        self.s2, self.mass = s2, weight_of(rows.weight, columns)
        self.means = np.ascontiguousarray(rows.means[:, columns])
        self.within, self.count = float(rows.within[columns].sum()), rows.count
        self.noise = s2 / self.mass
        covariance = copy_of(K)
        covariance.flat[:: len(K) + 1] += self.noise
        self.L = cholesky(covariance, overwrite=True)
        self.solved = copy_of(self.means)
        la.trsm(self.L, self.solved)
        la.trsm(self.L, self.solved, True)

    @property
    def t(self):
        return self.means.shape[1]

    @property
    def value(self):
        """The log density of all observations, without what weights say of their noise."""
        half_log_det = float(np.log(np.diagonal(self.L)).sum())
        own = half_log_det - 0.5 * float(np.log(self.noise).sum())
        each = 0.5 * self.count * np.log(2.0 * np.pi * self.s2) + own
        fit = float(np.vdot(self.means, self.solved)) + self.within / self.s2
        return -0.5 * fit - self.t * each

    def gradient(self):
        """Return the cotangent of K(X, X) and the derivative in the log noise variance."""
        cotangent = inverse_from_cholesky(self.L)
        cotangent *= -0.5 * self.t
        la.gemm(self.solved, self.solved, cotangent, False, True, 0.5, 1.0)
        log_noise = float(np.diagonal(cotangent) @ self.noise) + 0.5 * self.within / self.s2
        return cotangent, log_noise - 0.5 * self.t * (self.count - len(self.noise))


def exact_evidence(parameters, rows):
    """Compute the log evidence of the exact process and its gradient.

    The gradient of the inducing inputs is zero: they are the rows.
    """
    kernel, s2 = parameters.kernel, parameters.noise_variance
    outputs = _outputs(kernel, rows, s2)
    value = _sum_of_values(outputs)
    cotangents, log_noise = zip(*(one.gradient() for one in outputs), strict=True)
    theta, _ = kernel.gram_vjp(rows.X, sum(cotangents), False)
    by_output = np.array(log_noise) if np.ndim(s2) else log_noise[0]
    return value, Gradient(theta=theta, log_noise=noise_gradient(s2, by_output), Z=0.0)


def exact_value(parameters, rows):
    """Compute the log evidence alone, in half of the time or less; see `exact_evidence`."""
    return _sum_of_values(_outputs(parameters.kernel, rows, parameters.noise_variance))


def _sum_of_values(outputs):
    return _finite(sum(one.value for one in outputs))


def left_out_score(parameters, rows):
    """Return the `Score` of the rows, each given all others: log densities of their means."""
    each = 0.0
    for errors in _left_out(parameters, rows):
        each = each + log_normal_density(*errors).sum(axis=1)
    return Score(each, np.ones(len(each)))


def left_out_means(parameters, rows):
    """Return what is predicted of the rows' means, (k, t), of each from all others."""
    errors = np.hstack([errors for errors, _ in _left_out(parameters, rows)])
    return rows.means - errors


def _left_out(parameters, rows):
    """Yield, for outputs of one noise variance, errors of rows left out and their variances."""
    for one in _outputs(parameters.kernel, rows, parameters.noise_variance):
        precision = np.diagonal(inverse_from_cholesky(one.L))[:, None]
        yield left_out_errors(one.solved, precision)


def exact_posterior(prior, rows, noise_variance):
    """Find q(u) of the exact process; None where the noise is too small for it.

    The inducing values of the prior have an error of their own, the jitter. It counts as a part of
    the noise of the rows, at most half, which then have the rest: together they are the exact
    process, whatever the jitter is. The inducing inputs of the prior contain the rows.
    """
    try:
        outputs = _outputs(prior.kernel, rows, noise_variance)
        prior = _with_jitter_within(_least_noise(outputs), prior)
    except NotPositiveDefiniteError:
        return None
    return _found(Posterior(prior, *_information(prior, rows, outputs)), outputs)


def exact_posterior_of_rows(prior, rows, noise_variance):
    """Find q(u) as `exact_posterior` does, of noise that may be next to nothing.

    There predictions come from K(X, X) alone, and a twentieth of the noise is the jitter, or more
    where that is lost in rounding. Rows of little noise are known, to be left out one by one.
    Parameters and result are those of `exact_posterior`.
    """
    try:
        outputs = _outputs(prior.kernel, rows, noise_variance)
        least, variance = _least_noise(outputs), float(prior.kernel.diag(rows.X).mean())
        is_delicate = least < _DELICATE * variance
        with_jitter = _with_jitter_below if is_delicate else _with_jitter_within
        prior = with_jitter(least, prior)
    except NotPositiveDefiniteError:
        return None
    known = prior, *_information(prior, rows, outputs)
    if least >= _KNOWN_BELOW * variance:
        return _found(Posterior(*known), outputs)
    weights = np.zeros((len(prior.Z), sum(one.t for one in outputs)))
    weights[rows.places] = np.hstack([one.solved for one in outputs])
    of_rows = rows.places, weights, *zip(*((one.L, one.noise) for one in outputs), strict=True)
    kind = RowsPosterior if is_delicate else PosteriorOfRows
    return _found(kind(*known, *of_rows), outputs)


def _with_jitter_within(noise, prior):
    """Return a prior whose jitter is at most `_LARGEST_SHARE` of the noise."""
    most = _LARGEST_SHARE * noise
    return _with_jitter(prior, most) if prior.delta > most else prior


def _with_jitter_below(noise, prior):
    """Return a prior whose jitter is the first of `_JITTER_SHARES` of the noise that suffices."""
    first, second = (share * noise for share in _JITTER_SHARES)
    try:
        return _with_jitter(prior, first)
    except NotPositiveDefiniteError:
        return _with_jitter(prior, second)


def _with_jitter(prior, delta):
    relative = delta / float(prior.kernel.diag(prior.Z).mean())
    return Prior.build(prior.kernel, prior.Z, delta, relative)


def _least_noise(outputs):
    return min(float(one.noise.min()) for one in outputs)


def _found(posterior, outputs):
    evidence = _finite(sum(one.value for one in outputs))
    return ExactPosterior(posterior, evidence, evidence - posterior.log_evidence())


def _outputs(kernel, rows, noise_variance):
    K = kernel.gram(rows.X)
    return [_Output(rows, *noise, K) for noise in outputs_by_noise(noise_variance)]


def _information(prior, rows, outputs):
    """Return H, a tuple of (m, m), and h (m, t) of the rows, whose jitter is in the prior."""
    B = np.ascontiguousarray(prior.L[rows.places])  # (k, m): the rows' values are B v
    each = [_of_observations(B, one.noise - prior.delta, one.means) for one in outputs]
    H, h = zip(*each, strict=True)
    return H, np.hstack(h)


def _of_observations(B, noise, means):
    """Return H (m, m) and h (m, t) of independent observations of B v."""
    scaled = B / noise[:, None]
    H = product(B, scaled, trans_a=True)
    la.symmetrize(H)
    return H, product(scaled, means, trans_a=True)


def _finite(value):
    if not np.isfinite(value):
        raise NotPositiveDefiniteError("the evidence is not finite")
    return value
