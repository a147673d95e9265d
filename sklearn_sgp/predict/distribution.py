"""The distributions of new observations as one object, in the manner of scipy's frozen ones."""

from operator import itemgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .._floating_point import with_numpys_errors
from ..data.varying_noise import each_output, of_rows

_TINY = np.finfo(np.float64).tiny  # whose logarithm is a number
_Array: TypeAlias = NDArray[np.float64]


@with_numpys_errors
class PredictiveDistribution:
    """Distributions of new observations, one for each row and output.

    `predict_distribution` of a regressor makes it. Its methods are those of the frozen
    distributions of `scipy.stats`, and all values are in units of y. Arguments broadcast against
    the shape of the predictions: a number holds for all of them, an array of their shape has an
    entry for each, and an array of shape ``(k, 1)``, or ``(k, 1, 1)`` for several outputs, gives k
    results for each.

    The predictions of different rows are correlated, and with ``n_latent`` those of the outputs of
    a row, which this object leaves out: it has their marginal distributions. `sample_y` of the
    regressor draws from the joint distribution.

    Attributes
    ----------
    shape : tuple of int
        ``(n_samples,)`` or ``(n_samples, n_targets)``.
    """

    def __init__(self, likelihood, mean, variance, noise_variance, targets, mean_parts):
        self._mean_parts = mean_parts
        self._likelihood, self._noise, self._targets = likelihood, noise_variance, targets
        self._latent = tuple(np.array(part) for part in (mean, variance))  # both (n, t)
        self.shape = targets.squeezed(self._latent[0]).shape

    def __repr__(self):
        return f"{type(self).__name__}(shape={self.shape}, likelihood={self._likelihood!r})"

    # ---- Moments

    def mean(self) -> _Array:
        """Compute the means, as ``predict`` does.

        Returns
        -------
        mean : ndarray
            Of shape `shape`.
        """
        share, rest = self._mean_parts
        return self._targets.not_below_lowest(share * self._moments()[0] + rest)

    def var(self) -> _Array:
        """Compute the variances.

        Returns
        -------
        var : ndarray
            Of shape `shape`.
        """
        return self._moments()[1]

    def std(self) -> _Array:
        """Compute the standard deviations, as ``predict_std`` does.

        A share of rows that may be unlike all others is in probabilities, quantiles and draws only.

        Returns
        -------
        std : ndarray
            Of shape `shape`.
        """
        return np.sqrt(self.var())

    def median(self) -> _Array:
        """Compute the medians.

        Returns
        -------
        median : ndarray
            Of shape `shape`.
        """
        return self.ppf(0.5)

    def _moments(self):
        return self._targets.moments(self._likelihood, *self._latent, self._noise)

    # ---- Probabilities and quantiles

    def cdf(self, y: ArrayLike) -> _Array:
        """Compute P(observation <= y).

        Parameters
        ----------
        y : float or array-like
            Values, in units of y.

        Returns
        -------
        cdf : ndarray
            Of the shape that ``y`` and `shape` broadcast to.
        """
        return np.clip(self._at(y, "cdf", 0.0), 0.0, 1.0)

    def sf(self, y: ArrayLike) -> _Array:
        """Compute P(observation > y), the survival function ``1 - cdf(y)``.

        Parameters
        ----------
        y : float or array-like
            Values, in units of y.

        Returns
        -------
        sf : ndarray
            Of the shape that ``y`` and `shape` broadcast to.
        """
        return np.clip(self._at(y, "sf", 1.0), 0.0, 1.0)

    def ppf(self, q: ArrayLike) -> _Array:
        """Compute quantiles, the inverse of `cdf`. Of counts, the smallest with ``cdf >= q``.

        Parameters
        ----------
        q : float or array-like
            Levels, strictly between 0 and 1.

        Returns
        -------
        quantiles : ndarray
            Of the shape that ``q`` and `shape` broadcast to.

        Raises
        ------
        ValueError
            If a level is not strictly between 0 and 1.
        """
        levels, shape = self._broadcast(check_levels("q", q))
        mean, variance = self._latent_at(shape)
        noise, values = self._noise_at(shape), np.empty(levels.shape)
        order = np.argsort(levels, axis=None, kind="stable")
        distinct, first = np.unique(levels.ravel()[order], return_index=True)
        for level, entries in zip(distinct, np.split(order, first[1:]), strict=True):
            rows = np.unique(entries // levels.shape[1])
            result = self._likelihood.quantiles(
                mean[rows], variance[rows], of_rows(noise, itemgetter(rows)), np.array([level])
            )
            values[rows] = np.where(levels[rows] == level, result[:, :, 0], values[rows])
        return self._in_units(values, shape)

    def interval(self, confidence: ArrayLike) -> tuple[_Array, _Array]:
        """Compute intervals with equal tails around the medians.

        Parameters
        ----------
        confidence : float or array-like
            Probability of an observation in the interval, strictly between 0 and 1.

        Returns
        -------
        lower, upper : ndarray
            Ends of the intervals, of the shape that ``confidence`` and `shape` broadcast to.

        Raises
        ------
        ValueError
            If a probability is not strictly between 0 and 1.
        """
        half = 0.5 * check_levels("confidence", confidence)
        return self.ppf(0.5 - half), self.ppf(0.5 + half)

    # ---- Densities

    def logpdf(self, y: ArrayLike) -> _Array:
        """Compute log densities; of counts, log probabilities.

        Where a warp is taken for targets that are 0 or more, 0 has a probability, which is that of
        all at 0 and below on the scale of the warp. There this is the log of it, and below 0 -inf.

        The sum over the outputs of a row is what `log_density` of the regressor returns, but with
        ``n_latent`` and Gaussian noise, where that is joint and these are marginal.

        Parameters
        ----------
        y : float or array-like
            Observations, in units of y.

        Returns
        -------
        logpdf : ndarray
            Log densities in nats, of the shape that ``y`` and `shape` broadcast to.
        """
        log_density = self._at(y, "log_predictive_density", -np.inf)
        columns, shape = self._broadcast(np.asarray(y, dtype=np.float64))
        slope = np.broadcast_to(self._targets.log_slope(columns), columns.shape)
        log_density = log_density + slope.reshape(shape)
        # at infinity the slope of a warp may be infinite, too
        log_density = np.where(np.isinf(columns).reshape(shape), -np.inf, log_density)
        is_atom = self._is_atom(columns).reshape(shape)
        if not is_atom.any():
            return log_density
        return np.where(is_atom, np.log(np.maximum(self.cdf(y), _TINY)), log_density)

    def pdf(self, y: ArrayLike) -> _Array:
        """Compute densities; of counts, and of a lowest target (see `logpdf`), probabilities.

        Parameters
        ----------
        y : float or array-like
            Observations, in units of y.

        Returns
        -------
        pdf : ndarray
            Of the shape that ``y`` and `shape` broadcast to.
        """
        return np.exp(self.logpdf(y))

    # ---- Draws

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> _Array:
        """Draw new observations, independently of each other, outputs of a row included.

        Their mean is that of the distribution, which is part of `mean` alone where the estimator's
        ``mean_share_`` is below 1.

        Parameters
        ----------
        size : int or tuple of int, default=None
            Shape of the result, as in `scipy.stats`: it ends with `shape`. ``(k, n_samples)`` has k
            draws for each row. None means `shape`.

        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        draws : ndarray
            Of shape ``size``, or `shape`.

        Raises
        ------
        ValueError
            If ``size`` does not end with `shape`.
        """
        size = self.shape if size is None else tuple(np.atleast_1d(size).tolist())
        if self._broadcast_shape(size) != size:
            raise ValueError(
                f"The 'size' parameter must end with the shape of the predictions, {self.shape}: "
                f"k draws for each take (k, {', '.join(map(str, self.shape))}). Got {size}."
            )
        rng = check_random_state(random_state)
        mean, variance = self._latent_at(size)
        f = mean + np.sqrt(variance) * rng.standard_normal(mean.shape)
        draws = self._likelihood.draw(f[:, :, None], self._noise_at(size), rng)
        return self._in_units(draws[:, :, 0], size)

    # ---- Broadcasting

    def _at(self, y, method, below):
        """Evaluate a method of the likelihood at each value, one for those below all targets."""
        y, shape = self._broadcast(np.asarray(y, dtype=np.float64))
        targets = self._targets
        # a lowest target is learned as one value, and has the probability of all up to others
        scaled = targets.scaled(np.where(self._is_atom(y), np.nextafter(y, np.inf), y))
        mean, variance = self._latent_at(shape)
        noise, result = self._noise_at(shape), np.empty(scaled.shape)
        for own, one, own_noise in each_output(self._likelihood, noise, targets.n_outputs):
            at = scaled[:, own], mean[:, own], variance[:, own], own_noise
            # a log density has lost its last axis
            result[:, own] = getattr(one, method)(*at).reshape(-1, 1)
        return np.where(y < targets.lowest, below, result).reshape(shape)

    def _is_atom(self, columns):
        """Return whether values are the lowest target, where there is one."""
        return np.isfinite(columns) & (columns == self._targets.lowest)

    def _broadcast_shape(self, shape):
        """Return the shape that values of a shape and the predictions broadcast to, or None."""
        try:
            return np.broadcast_shapes(shape, self.shape)
        except ValueError:
            return None

    def _broadcast(self, values):
        """Return values as columns (k, t), and the shape of the result."""
        shape = self._broadcast_shape(values.shape)
        if shape is None:
            raise ValueError(
                f"Values must broadcast against the shape of the predictions, {self.shape}: k "
                f"values for each of them have shape (k, {', '.join('1' for _ in self.shape)}). "
                f"Got {values.shape}."
            )
        return self._columns(values, shape), shape

    def _columns(self, values, shape):
        return np.broadcast_to(values, shape).reshape(-1, self._targets.n_outputs)

    def _latent_at(self, shape):
        """Return latent means and variances as columns (k, t), for each value of a shape."""
        return (self._columns(self._targets.squeezed(part), shape) for part in self._latent)

    def _noise_at(self, shape):
        """Return the noise for each value of a shape."""
        return of_rows(self._noise, lambda part: self._columns(self._targets.squeezed(part), shape))

    def _in_units(self, scaled, shape):
        return self._targets.in_units(scaled).reshape(shape)


def check_levels(name, levels, max_ndim=np.inf):
    """Return probabilities as an array, or raise a ValueError that names the parameter."""
    try:
        array = np.asarray(levels, dtype=np.float64)
        valid = array.ndim <= max_ndim and bool(((array > 0) & (array < 1)).all())
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(
            f"The '{name}' parameter must be numbers strictly between 0 and 1. Got {levels!r}."
        )
    return array
