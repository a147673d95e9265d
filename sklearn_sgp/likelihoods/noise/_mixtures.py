"""Noise that is a mixture of normal distributions: densities, tails and quantiles of y."""

from functools import partial

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from .._base import Likelihood
from .._quadrature import pieces

# Newton's method ends with relative changes below, or after so many steps; ten are usual.
_TOL, _STEPS = 1e-12, 100
_NEAR = 0.25  # levels below are those of tails
_FURTHEST = 1e100  # errors, in standard deviations, from which no digits are kept


class NormalMixture(Likelihood):
    """Base of likelihoods whose noise is a mixture of normal distributions with mean zero.

    A subclass says which components there are, for noise in whatever shape it comes:

    ``_of_each(noise, shape)``
        A tuple of flat arrays, with an entry for each of an array of the shape (n, t). It is the
        noise variances, unless a subclass says otherwise.
    ``_components(noise, furthest)``
        From such a tuple, a function of row numbers that returns the variances of the components
        (k, n_nodes), and the logarithms of their probabilities (n_nodes,). Errors of up to
        ``furthest``, in standard deviations of `_widest`, keep their digits.
    ``_widest(noise)``
        Of such a tuple, variances with which the standard quantiles of `_tail` bound the noise's.
    ``_tail(tail, noise)``
        Quantiles of noise of unit scale.
    """

    def contaminated(self, share, variance):
        """Return the same noise with a share of wide normal noise; see `Contaminated`."""
        return Contaminated(self, share, variance)

    def _of_each(self, noise_variance, shape):
        return (of_each(noise_variance, shape),)

    def components(self, variance, noise_variance):
        """Return the normal distributions whose mixture y - mean is; see `Likelihood`."""
        noise, flat = self._of_each(noise_variance, variance.shape), variance.ravel()
        of_noise, log_weights = self._components(noise, 0.0)
        return lambda entries: flat[entries, None] + of_noise(entries), log_weights

    def log_predictive_density(self, y, mean, variance, noise_variance):
        """Return log p(y), summed over outputs, shape (n,)."""
        noise = self._of_each(noise_variance, y.shape)
        log_p = self._mixed(_log_density, (y - mean).ravel(), _flat(variance, y.shape), noise)
        return log_p.reshape(y.shape).sum(axis=1)

    def cdf(self, y, mean, variance, noise_variance):
        """Return P(Y <= y), shape (n, t)."""
        noise = self._of_each(noise_variance, y.shape)
        below = self._mixed(_cdf, (y - mean).ravel(), _flat(variance, y.shape), noise)
        return below.reshape(y.shape)

    def sf(self, y, mean, variance, noise_variance):
        """Return P(Y > y), shape (n, t)."""
        return self.cdf(-y, -mean, variance, noise_variance)

    def quantiles(self, mean, variance, noise_variance, levels):
        """Return quantiles of y, shape (n, t, n_levels), by Newton's method."""
        v = np.repeat(_flat(variance, mean.shape), len(levels))
        noise = self._of_each(noise_variance, mean.shape)
        noise = tuple(np.repeat(part, len(levels)) for part in noise)
        level = np.tile(levels, mean.size)
        # At a level p < 1/2 let a and b be the quantiles of f and of the noise at p / 2. y < a + b
        # implies f < a or noise < b, so it has probability p at most; and so for p > 1/2.
        tail = np.minimum(level, 1.0 - level)
        low = np.sqrt(v) * ndtri(0.5 * tail) + self._of_noise(0.5 * tail, noise)
        error = self._mixed(_tail_quantile, low, v, noise, tail)
        error *= np.where(level > 0.5, -1.0, 1.0)
        return mean[..., None] + error.reshape(*mean.shape, len(levels))

    def _of_noise(self, tail, noise):
        """Return bounds from below of the quantiles of the noise, at levels below 1/2."""
        return np.sqrt(self._widest(noise)) * self._tail(tail, noise)

    def _mixed(self, function, error, variance, noise, *others):
        """Evaluate ``function(variances, log_weights, error, *others)``, (n,), piece by piece.

        The variances (k, n_nodes) are those of the normal distributions whose mixture f + noise is.
        """
        values = np.empty(len(error))
        for at, likelihood, own in self._alike(noise):
            parts = (part[at] for part in (error, variance, *others))
            values[at] = likelihood._mixed_alike(function, own, *parts)
        return values

    def _alike(self, noise):
        """Yield entries with components of the same probabilities, their likelihood and noise."""
        yield slice(None), self, noise

    def _mixed_alike(self, function, noise, error, variance, *others):
        away = np.abs(error) / np.sqrt(self._widest(noise))
        furthest = float(away.max(initial=0.0, where=away < _FURTHEST))
        variances, log_weights = self._components(noise, furthest)
        values = np.empty(len(error))
        for rows in pieces(np.arange(len(error)), len(log_weights)):
            total = variance[rows, None] + variances(rows)
            values[rows] = function(total, log_weights, *(part[rows] for part in (error, *others)))
        return values


class Contaminated(NormalMixture):
    """Contaminated normal noise: that of a likelihood, and a small share of wide normal noise.

    Densities, distribution functions and quantiles of y have the share (docs/theory.md, eq. 93).
    Its moments, and draws for latent values, are those of the likelihood.

    Parameters
    ----------
    likelihood : Gaussian or NormalMixture
    share : float
        Probability that the noise of a row is wide.
    variance : ndarray of shape (t,) or float
        Of that noise.
    """

    has_noise = True
    scales_targets = True

    def __init__(self, likelihood, share, variance):
        self.likelihood, self.share, self.variance = likelihood, share, variance

    def moments(self, mean, variance, noise_variance):
        """Return mean and variance of y, shape (n, t), without the share."""
        return self.likelihood.moments(mean, variance, noise_variance)

    def components(self, variance, noise_variance):
        """Return the normal distributions whose mixture y - mean is, without the share."""
        return self.likelihood.components(variance, noise_variance)

    def draw(self, f, noise_variance, rng):
        """Draw observations for latent values of shape (n, t, k)."""
        drawn = self.likelihood.draw(f, noise_variance, rng)
        is_wide = rng.random_sample(f.shape) < self.share
        wide = np.reshape(np.sqrt(self.variance), (-1, 1)) * rng.standard_normal(f.shape)
        return np.where(is_wide, f + wide, drawn)

    def for_output(self, output):
        """Return the noise of one output."""
        variance = np.ravel(self.variance)
        own = float(variance[output if len(variance) > 1 else 0])
        return Contaminated(self.likelihood.for_output(output), self.share, own)

    @property
    def _own(self):
        return self.likelihood if isinstance(self.likelihood, NormalMixture) else _NORMAL

    def _of_each(self, noise_variance, shape):
        wide = of_each(self.variance, shape)
        return wide, *self._own._of_each(noise_variance, shape)

    def _alike(self, noise):
        wide, *own_noise = noise
        for at, own, rest in self._own._alike(tuple(own_noise)):
            yield at, Contaminated(own, self.share, self.variance), (wide[at], *rest)

    def _components(self, noise, furthest):
        (wide, *own), share = noise, self.share
        variances, log_weights = self._own._components(tuple(own), furthest)

        def all_variances(rows):
            return np.column_stack((variances(rows), wide[rows]))

        return all_variances, np.append(log_weights + np.log1p(-share), np.log(share))

    def _widest(self, noise):
        return self._own._widest(noise[1:])

    def _of_noise(self, tail, noise):
        own, wide = noise[1:], np.sqrt(noise[0]) * ndtri(tail)
        least = np.minimum(self._own._of_noise(tail, own), wide)
        # above its share the noise that is wide may all lie below
        rest = (tail - self.share) / (1.0 - self.share)
        nearer = self._own._of_noise(np.where(rest > 0.0, rest, tail), own)
        return np.where(rest > 0.0, np.maximum(least, nearer), least)


class _Normal(NormalMixture):
    """One normal distribution as a mixture."""

    def _components(self, noise, furthest):
        return lambda rows: noise[0][rows, None], np.zeros(1)

    def _widest(self, noise):
        return noise[0]

    def _tail(self, tail, noise):
        return ndtri(tail)


_NORMAL = _Normal()


def of_each(number, shape):
    """Repeat a number, or one of each output, for all entries of an array (n, t), flat."""
    return np.broadcast_to(number, shape).ravel()


def with_noise(covariance, of_outputs):
    """Add variances of the noise, a number, (t,) or (n, t), to covariances (n, n, t) or (n, n, 1).

    The covariances may be overwritten.
    """
    n, _, k = covariance.shape
    t = np.shape(of_outputs)[-1] if np.ndim(of_outputs) else k
    if k < t:
        covariance = np.repeat(covariance, t // k, axis=2)
    covariance[np.diag_indices(n)] += of_outputs
    return covariance


def _flat(variance, shape):
    return np.broadcast_to(variance, shape).ravel()


def _log_density(variances, log_weights, error):
    with np.errstate(over="ignore"):  # -inf
        square = error[:, None] ** 2 / variances
    return logsumexp(log_weights - 0.5 * (np.log(2.0 * np.pi * variances) + square), axis=1)


def _cdf(variances, log_weights, error):
    return ndtr(error[:, None] / np.sqrt(variances)) @ np.exp(log_weights)


def _tail_quantile(variances, log_weights, low, tail):
    """Find the error between ``low`` and 0 whose distribution function is ``tail``."""
    sd, weight = np.sqrt(variances), np.exp(log_weights)
    weight_over_sd, error = weight / np.sqrt(2.0 * np.pi) / sd, np.empty(len(low))

    def function_and_density(x, rows):
        u = x[:, None] / sd[rows]
        density = np.einsum("ij,ij->i", np.exp(-0.5 * u * u), weight_over_sd[rows])
        return ndtr(u) @ weight, density

    near = tail > _NEAR
    for rows, solve in ((near, _near_quantile), (~near, _far_quantile)):
        index, least = np.flatnonzero(rows), sd[rows].min(axis=1, initial=np.inf)
        error[rows] = solve(partial(function_and_density, rows=index), low[rows], least, tail[rows])
    return error


def _near_quantile(function_and_density, low, least, tail):
    """Take Newton steps from 0: the function is convex to its left, no step goes too far."""
    x = np.zeros(len(low))
    for _ in range(_STEPS):
        value, density = function_and_density(x)
        step = (value - tail) / density
        x -= step
        if (np.abs(step) <= _TOL * np.abs(x)).all():
            break
    return x


def _far_quantile(function_and_density, low, least, tail):
    """Take Newton steps for log function and log error, nearly linear in each other.

    A step out of the bounds that are known is to the middle of these.
    """
    lower, upper = np.log(-ndtri(_NEAR) * least), np.log(-low)
    s = upper.copy()
    for _ in range(_STEPS):
        value, density = function_and_density(-np.exp(s))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = (np.log(tail) - np.log(value)) * value / (np.exp(s) * density)
        lower, upper = np.where(value > tail, s, lower), np.where(value > tail, upper, s)
        new = s - step
        new = np.where((new >= lower) & (new <= upper), new, 0.5 * (lower + upper))
        done, s = np.abs(new - s) <= _TOL, new
        if done.all():
            break
    return -np.exp(s)
