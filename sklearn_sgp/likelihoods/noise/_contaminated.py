"""Noise of which a small share is as wide as the targets."""

import numpy as np
from scipy.special import ndtri

from ._mixtures import NormalMixture, of_each


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
