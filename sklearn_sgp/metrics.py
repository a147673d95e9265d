"""Scores of predictive distributions, and scorers for model selection.

Nothing here imports the package: any model that predicts mean and deviation can be scored.
"""

from collections.abc import Iterable
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, log_ndtr
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

# Intervals of fewer deviations have differences of probabilities that lose digits.
_NARROW = 1e-4

__all__ = [
    "continuous_ranked_probability_score",
    "interval_coverage",
    "log_density_scorer",
    "neg_crps_scorer",
    "negative_log_predictive_density",
    "predictive_efficiency",
    "time_efficiency",
]


def negative_log_predictive_density(
    y: ArrayLike,
    mean: ArrayLike,
    std: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    resolution: float = 0.0,
) -> float:
    r"""Compute the mean negative log density of observations under Gaussian predictions.

    Lower is better. The log is natural, so the unit is nats, and the density is that of ``y`` in
    its own units: the score of ``a + b * y`` is larger by ``log(b)`` for each output.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Observations.

    mean : array-like of the shape of ``y``
        Predictive means.

    std : array-like of the shape of ``y``
        Predictive standard deviations of an observation, noise included. Positive.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; None means equal weights.

    resolution : float, default=0.0
        Step that ``y`` was rounded to, such as 1 for whole minutes. 0 takes the density.

    Returns
    -------
    score : float
        Weighted mean over the rows of the negative joint log density of a row's outputs. A value
        above the largest float is ``inf``.

    See Also
    --------
    continuous_ranked_probability_score : A score in units of y, less sensitive to outliers.
    log_density_scorer : A scorer of the log density, for any likelihood.

    Notes
    -----
    One output of one row contributes

    .. math:: \tfrac12 \left[ (y - \mu)^2 / \sigma^2 + \log 2 \pi \sigma^2 \right].

    A density may put a spike on each of few values. What was rounded to multiples of
    :math:`\delta` has the probability of an interval, which ``resolution`` scores:

    .. math:: -\log \left[ \Phi((y + \delta / 2 - \mu) / \sigma) -
              \Phi((y - \delta / 2 - \mu) / \sigma) \right] + \log \delta.

    Examples
    --------
    >>> from sklearn_sgp.metrics import negative_log_predictive_density
    >>> score = negative_log_predictive_density([0.0, 1.0], [0.0, 0.0], [1.0, 1.0])
    >>> round(score, 4)
    1.1689
    """
    y, mean, std = _gaussian_predictions(y, mean, std)
    with np.errstate(over="ignore", under="ignore"):
        z = (y - mean) / std
        each = 0.5 * z**2 + 0.5 * np.log(2.0 * np.pi)
        if _step(resolution):
            each = -_log_mean_density(z, 0.5 * _step(resolution) / std)
        return _mean(each + np.log(std), sample_weight, np.sum)


def continuous_ranked_probability_score(
    y: ArrayLike, mean: ArrayLike, std: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Compute the mean continuous ranked probability score of Gaussian predictions.

    Lower is better. The score is in units of ``y``; for predictions without spread it is the mean
    absolute error.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Observations.

    mean : array-like of the shape of ``y``
        Predictive means.

    std : array-like of the shape of ``y``
        Predictive standard deviations of an observation, noise included. Positive.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; None means equal weights.

    Returns
    -------
    score : float
        Weighted mean over the rows of the average over the outputs.

    See Also
    --------
    negative_log_predictive_density : The logarithmic score.
    neg_crps_scorer : The negative score as a scorer.

    Notes
    -----
    The score of a predictive distribution function F is the integral over t of
    :math:`(F(t) - 1[y \le t])^2`. For a Gaussian, with :math:`z = (y - \mu) / \sigma` [1]_,

    .. math:: \sigma \left[ z (2 \Phi(z) - 1) + 2 \varphi(z) - 1 / \sqrt\pi \right].

    References
    ----------
    .. [1] Gneiting, T. and Raftery, A. E. (2007). `Strictly proper scoring rules, prediction, and
       estimation <https://doi.org/10.1198/016214506000001437>`_. Journal of the American
       Statistical Association 102, 359-378.

    Examples
    --------
    >>> from sklearn_sgp.metrics import continuous_ranked_probability_score
    >>> score = continuous_ranked_probability_score([0.0, 1.0], [0.0, 0.0], [1.0, 1.0])
    >>> round(score, 4)
    0.4181
    """
    y, mean, std = _gaussian_predictions(y, mean, std)
    with np.errstate(over="ignore", under="ignore"):
        residual = y - mean
        z = residual / std
        # with sigma z = residual and 2 Phi(z) - 1 = erf(z / sqrt 2), a tiny sigma is harmless
        height = np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z**2) - 1.0 / np.sqrt(np.pi)
        return _mean(residual * erf(z / np.sqrt(2.0)) + std * height, sample_weight)


def interval_coverage(
    y: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Compute the share of observations inside their intervals, ends included.

    Calibrated 90 % intervals cover about 0.9 of the observations.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Observations.

    lower : array-like of the shape of ``y``
        Lower ends.

    upper : array-like of the shape of ``y``
        Upper ends, nowhere below the lower ends.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; None means equal weights.

    Returns
    -------
    coverage : float
        Weighted mean over the rows of the average over the outputs, between 0 and 1.

    Examples
    --------
    >>> from sklearn_sgp.metrics import interval_coverage
    >>> interval_coverage([0.0, 1.0, 2.0, 9.0], [-1.0] * 4, [3.0] * 4)
    0.75
    """
    y, lower, upper = _arrays_of_one_shape(y=y, lower=lower, upper=upper)
    _require(
        lower <= upper,
        lower,
        "lower must not exceed upper. Got {value:g} above it at {index}: are they in this order?",
    )
    return _mean((lower <= y) & (y <= upper), sample_weight)


def time_efficiency(
    full_seconds: ArrayLike, anytime_seconds: ArrayLike
) -> float | NDArray[np.float64]:
    """Divide the time of the full computation by the time of the anytime variant.

    Parameters
    ----------
    full_seconds : float or array-like
        Seconds that the full computation takes.

    anytime_seconds : float or array-like
        Seconds that the anytime variant has taken. An array, such as ``fit_times_``, gives the
        efficiency at each entry.

    Returns
    -------
    efficiency : float or ndarray
        Above 1 where the anytime variant is faster [1]_.

    See Also
    --------
    predictive_efficiency : The accuracy that is traded for it.

    References
    ----------
    .. [1] Hoang, T. N., Hoang, Q. M. and Low, B. K. H. (2015). `A unifying framework of anytime
       sparse Gaussian process regression models with stochastic variational inference for big
       data <https://proceedings.mlr.press/v37/hoang15.html>`_. ICML.

    Examples
    --------
    >>> from sklearn_sgp.metrics import time_efficiency
    >>> time_efficiency(120.0, 8.0)
    15.0
    """
    return _ratio(full_seconds=full_seconds, anytime_seconds=anytime_seconds)


def predictive_efficiency(
    full_rmse: ArrayLike, anytime_rmse: ArrayLike
) -> float | NDArray[np.float64]:
    """Divide the error of the full computation by the error of the anytime variant.

    Parameters
    ----------
    full_rmse : float or array-like
        Root mean squared error of the full computation on held-out rows.

    anytime_rmse : float or array-like
        Root mean squared error of the anytime variant on the same rows. An array gives the
        efficiency at each entry.

    Returns
    -------
    efficiency : float or ndarray
        1 where the anytime variant is as accurate, and below 1 where it is less accurate.

    See Also
    --------
    time_efficiency : The time that is gained; it cites the definition of both efficiencies.

    Examples
    --------
    >>> from sklearn_sgp.metrics import predictive_efficiency
    >>> predictive_efficiency(3.0, [6.0, 4.0, 3.0])
    array([0.5 , 0.75, 1.  ])
    """
    return _ratio(full_rmse=full_rmse, anytime_rmse=anytime_rmse)


def log_density_scorer(
    estimator: Any, X: ArrayLike, y: ArrayLike, *, resolution: float = 0.0
) -> float:
    """Compute the mean log predictive density of observations, as a scorer for model selection.

    Parameters
    ----------
    estimator : estimator instance
        Fitted, with a ``log_density`` method; or a regressor whose ``predict`` takes
        ``return_std``, taken as Gaussian; or a fitted pipeline or search that ends in one.
        ``GaussianProcessRegressor`` predicts with the noise of a ``WhiteKernel``, not ``alpha``.

    X : array-like of shape (n_samples, n_features)
        Inputs.

    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Observations, or labels for a classifier.

    resolution : float, default=0.0
        Step that ``y`` was rounded to, such as 1 for whole minutes; 0 takes the density, which may
        be a spike on each of few values. See :func:`negative_log_predictive_density`.

    Returns
    -------
    score : float
        In nats per row; higher is better.

    Examples
    --------
    For a search over models of rounded targets use
    ``functools.partial(log_density_scorer, resolution=1.0)``.

    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_sgp import SVGPRegressor
    >>> from sklearn_sgp.metrics import log_density_scorer
    >>> search = GridSearchCV(
    ...     SVGPRegressor(), {"kernel": [RBF(), Matern()]}, scoring=log_density_scorer
    ... )
    """
    model, inputs = final_step(estimator, X)
    if hasattr(model, "log_density"):
        rounded = {"resolution": resolution} if np.any(resolution) else {}
        return float(np.mean(model.log_density(inputs, y, **rounded)))
    if "return_std" not in signature(model.predict).parameters:
        raise TypeError(
            "log_density_scorer needs an estimator with a log_density method or a predict that "
            "takes return_std, or a fitted pipeline or search that ends in one. Got "
            f"{estimator!r}. To scale the targets, use the estimator's own normalize_y."
        )
    moments = model.predict(inputs, return_std=True)
    return -negative_log_predictive_density(y, *moments, resolution=resolution)


def neg_crps_scorer(estimator: Any, X: ArrayLike, y: ArrayLike) -> float:
    """Compute the negative mean continuous ranked probability score, as a scorer.

    It is that of Gaussian observations with predicted means and standard deviations, whatever the
    likelihood is: of small counts take :func:`log_density_scorer`.

    Parameters
    ----------
    estimator : estimator instance
        Fitted regressor whose ``predict`` takes ``return_std``, of this package, scikit-learn or
        your own; or a fitted pipeline or search that ends in one.

    X : array-like of shape (n_samples, n_features)
        Inputs.

    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Observations.

    Returns
    -------
    score : float
        In units of y; higher is better.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn_sgp.metrics import neg_crps_scorer
    >>> prior_at_zero = GaussianProcessRegressor(optimizer=None).fit([[0.0]], [0.0])
    >>> round(neg_crps_scorer(prior_at_zero, [[99.0]], [0.0]), 4)
    -0.2337
    """
    model, inputs = final_step(estimator, X)
    try:
        mean, std = predicted_observations(model, inputs)
    except TypeError as error:
        raise TypeError(
            "neg_crps_scorer needs a regressor whose predict takes return_std, or a fitted "
            f"pipeline or search that ends in one. Got {estimator!r}: {error}. log_density_scorer "
            "takes classifiers, too."
        ) from error
    return -continuous_ranked_probability_score(y, mean, std)


def predicted_observations(model, inputs):
    """Return means and standard deviations of observations, whatever ``include_noise`` is."""
    if hasattr(model, "predict_distribution"):
        return model.predict(inputs, return_std=True, include_noise=True)
    return model.predict(inputs, return_std=True)


def final_step(estimator, X=None):
    """Return the model inside fitted searches and pipelines, and X as it reaches that model.

    A pipeline or a search does not forward ``log_density``, and a search's ``predict`` takes no
    ``return_std``, so both must be called on the model itself.
    """
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            if X is not None and len(estimator) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        else:
            return estimator, X


def _step(resolution):
    """Return a step of at least 0, or raise a ValueError."""
    if not (np.ndim(resolution) == 0 and 0.0 <= resolution < np.inf):
        raise ValueError(
            "resolution must be a number of at least 0, in units of y. Got "
            f"{resolution!r}: 0 takes the density."
        )
    return float(resolution)


def _log_mean_density(z, half):
    """Compute the log of the mean standard normal density between z - half and z + half."""
    away = np.minimum(np.abs(z), 1e150)  # in the lower tail probabilities keep their digits
    high, low = log_ndtr(half - away), log_ndtr(-half - away)
    fall, slope = high - low, np.minimum(away * half, 1e300)
    # where the log density is as good as a line its mean is sinh(slope) / slope times the middle
    is_wide = (half > _NARROW) & (fall > 0.0)
    wide = high + np.log(-np.expm1(-np.where(is_wide, fall, 1.0))) - np.log(2.0 * half)
    steep = np.maximum(slope, _NARROW)
    narrow = steep + np.log(-np.expm1(-2.0 * steep) / (2.0 * steep))
    narrow = np.where(slope > _NARROW, narrow, slope**2 / 6.0)
    return np.where(is_wide, wide, narrow - 0.5 * z**2 - 0.5 * np.log(2.0 * np.pi))


def _gaussian_predictions(y, mean, std) -> Iterable[NDArray[np.float64]]:
    """Return checked float64 arrays of one shape with positive ``std``."""
    y, mean, std = _arrays_of_one_shape(y=y, mean=mean, std=std)
    _require(
        std > 0,
        std,
        "std must be positive. Got {value:g} at {index}: a standard deviation that includes the "
        "noise of an observation never is zero.",
    )
    return y, mean, std


def _arrays_of_one_shape(**arrays) -> Iterable[NDArray[np.float64]]:
    """Return finite float64 arrays of one shape, or raise a ValueError that names them."""
    arrays = {name: _floats(values, name) for name, values in arrays.items()}
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"{', '.join(arrays)} must have the same shape, (n_samples,) or (n_samples, "
            f"n_targets). Got {shapes}: reshape those that differ."
        )
    return arrays.values()


def _floats(values, name):
    """Return a finite float64 array with an entry for each row."""
    if np.ndim(values) == 0:
        raise ValueError(
            f"{name} must have one entry for each row. Got the scalar {values!r}: repeat it with "
            "numpy.full."
        )
    return check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)


def _require(condition, values, message):
    """Raise ``message`` with the first value for which ``condition`` fails, and its index."""
    failing = np.argwhere(~condition)
    if len(failing):
        first = tuple(failing[0])
        index = "index " + ", ".join(map(str, first))
        raise ValueError(message.format(value=values[first], index=index))


def _mean(scores, sample_weight, over_outputs=np.mean) -> float:
    """Average over the rows by weight; rows of weight 0 are left out, even of an infinite score."""
    rows = scores if scores.ndim == 1 else over_outputs(scores, axis=1)
    if sample_weight is None:
        return float(np.mean(rows))
    weight = _floats(sample_weight, "sample_weight")
    if weight.shape != rows.shape:
        raise ValueError(
            f"sample_weight must have shape {rows.shape}, one weight for each row. Got "
            f"{weight.shape}."
        )
    _require(weight >= 0, weight, "sample_weight must not be negative. Got {value:g} at {index}.")
    kept = weight > 0
    if not kept.any():
        raise ValueError("sample_weight must be positive for at least one row. Got only zeros.")
    return float(np.average(rows[kept], weights=weight[kept]))


def _ratio(**quantities) -> float | NDArray[np.float64]:
    """Divide the first of two positive quantities by the second."""
    for name, values in quantities.items():
        values = np.asarray(values, dtype=np.float64)
        if not ((values > 0) & np.isfinite(values)).all():
            raise ValueError(f"{name} must be positive and finite. Got {quantities[name]!r}.")
    full, anytime = (np.asarray(values, dtype=np.float64) for values in quantities.values())
    ratio = full / anytime
    return float(ratio) if ratio.ndim == 0 else ratio
