"""Noise that depends on the input: the logarithm of its variance is a Gaussian process."""

from dataclasses import replace
from functools import partial
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.gaussian_process.kernels import Kernel

from .._row_precision import LogNoisePrior, RowPrecision, equal_precisions
from ._heavy_tails import HeavyTails
from ._mixtures import NormalMixture, with_noise

# Nodes of the logarithm of the noise variance, and their weights, by Gauss and Hermite.
_LOG_NOISE_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())


class HeteroscedasticGaussian(NormalMixture):
    """y = f + e with Gaussian noise e whose log variance is a function of the input.

    That function is a Gaussian process with a kernel and inducing inputs of its own, added to the
    logarithm of the estimator's noise variance. Several outputs have such a function each, with one
    kernel; only where they share a noise variance, that of a ``WhiteKernel``, do they share it
    (docs/theory.md, section 13).

    Parameters
    ----------
    kernel : Kernel, default=None
        Of the logarithm of the noise variance. None means ``ConstantKernel() * RBF() +
        ConstantKernel() * Matern(nu=0.5)`` with a length scale for each column.
    n_inducing : int, default=None
        Largest number of its inducing inputs. None means 100, or as many as the function has where
        those are fewer.

    Examples
    --------
    >>> from sklearn_sgp.likelihoods import HeteroscedasticGaussian
    >>> HeteroscedasticGaussian(n_inducing=50)
    HeteroscedasticGaussian(n_inducing=50)
    """

    has_noise = True
    scales_targets = True

    def __init__(self, kernel: Kernel | None = None, n_inducing: int | None = None) -> None:
        self.kernel, self.n_inducing = kernel, n_inducing

    @property
    def row_precision(self):
        """All precisions are 1, in units of each row's own noise variance."""
        log_noise = LogNoisePrior(self.kernel, self.n_inducing)
        return RowPrecision(partial(equal_precisions, self), log_noise=log_noise)

    def initialized(self, y, weight):
        """Check the parameters, and return this instance."""
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            raise ValueError(
                f"The 'kernel' parameter of {type(self).__name__} must be a kernel of "
                f"sklearn.gaussian_process.kernels or None. Got {self.kernel!r}."
            )
        n = self.n_inducing
        if n is not None and not (isinstance(n, Integral) and n >= 1):
            raise ValueError(
                f"The 'n_inducing' parameter of {type(self).__name__} must be a positive integer "
                f"or None. Got {n!r}."
            )
        return self

    def moments(self, mean, variance, noise_variance):
        """Return mean and variance of y, shape (n, t)."""
        return mean, variance + self._row_variance(noise_variance)

    def _row_variance(self, noise_variance):
        """Return the variance of the noise of each row, (n, t)."""
        return noise_variance.mean

    def covariance(self, mean, covariance, noise_variance):
        """Return mean (n, t) and joint covariance (n, n, t) of y."""
        return mean, with_noise(covariance, self._row_variance(noise_variance))

    def draw(self, f, noise_variance, rng):
        """Draw observations for latent values of shape (n, t, k)."""
        log_mean, log_std = noise_variance.log_mean, np.sqrt(noise_variance.log_variance)
        log_noise = log_mean[..., None] + log_std[..., None] * rng.standard_normal(f.shape)
        return f + np.exp(0.5 * log_noise) * self._drawn(f.shape, rng)

    def _drawn(self, shape, rng):
        """Draw noise of unit scale, (n, t, k)."""
        return rng.standard_normal(shape)

    def _of_each(self, noise, shape):
        return tuple(np.broadcast_to(part, shape).ravel() for part in noise)

    def _components(self, noise, furthest):
        log_mean, log_std = noise[0], np.sqrt(noise[1])
        if not log_std.any():  # it is known
            return lambda rows: np.exp(log_mean[rows, None]), np.zeros(1)

        def variances(rows):
            return np.exp(log_mean[rows, None] + log_std[rows, None] * _LOG_NOISE_NODES)

        return variances, _LOG_WEIGHTS

    def _widest(self, noise):
        return np.exp(noise[0] + np.sqrt(noise[1]) * _LOG_NOISE_NODES[-1])

    def _tail(self, tail, noise):
        return ndtri(tail)


class HeteroscedasticStudentT(HeavyTails, HeteroscedasticGaussian):
    """Student-t noise whose log squared scale is a function of the input.

    Errors of several outputs are independent, as those of `StudentT`.

    Parameters
    ----------
    df : float, array-like of shape (n_outputs,) or None, default=None
        Degrees of freedom, above 2 so that y has a variance: of all outputs, or of each. None:
        learned, for each output.
    kernel : Kernel, default=None
        Of the logarithm of the squared scale, as that of `HeteroscedasticGaussian`.
    n_inducing : int, default=None
        Largest number of its inducing inputs, as that of `HeteroscedasticGaussian`.

    Examples
    --------
    >>> from sklearn_sgp.likelihoods import HeteroscedasticStudentT
    >>> HeteroscedasticStudentT(df=5.0)
    HeteroscedasticStudentT(df=5.0)
    """

    def __init__(
        self,
        df: ArrayLike | None = None,
        kernel: Kernel | None = None,
        n_inducing: int | None = None,
    ) -> None:
        super().__init__(kernel, n_inducing)
        self.df = df

    @property
    def row_precision(self):
        """Each row and output has a precision besides that of its input."""
        log_noise = LogNoisePrior(self.kernel, self.n_inducing)
        return replace(super().row_precision, log_noise=log_noise)

    def _row_variance(self, noise_variance):
        return self._variance(noise_variance.mean)

    def _components(self, noise, furthest):
        variances, log_weights = super()._components(noise, furthest)
        of_tails, log_of_tails = self._mixture(furthest)

        def both(rows):
            of_rows = variances(rows)
            return (of_rows[:, :, None] * of_tails).reshape(len(of_rows), -1)

        return both, (log_weights[:, None] + log_of_tails).ravel()
