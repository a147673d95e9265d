"""From what the user gave to starting values, bounds and scaled rows."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ..estimators.base import LARGEST
from ..kernels import compile_kernel, split_noise
from ..optimize.learning import ParameterSpace
from ..data.rows import Rows

_SUMMARY_ROWS = 10_000
_MERGE_ROWS = 2048
_START_NOISE = 0.1  # of the variance of the scaled targets
_LENGTH_SCALE_RANGE = np.array([1e-4, 1e4])  # in units of the inputs' standard deviations


def input_summary(X, weight):
    """Weighted mean and standard deviation of the columns; 1 for a constant column.

    A regular subsample stands in for very many rows.
    """
    step = max(1, len(X) // _SUMMARY_ROWS)
    sample = np.asarray(X[::step], dtype=np.float64)
    w = None if weight is None else weight[::step]
    if w is not None and not w.any():
        w = None
    mean = np.average(sample, axis=0, weights=w)
    spread = np.sqrt(np.average((sample - mean) ** 2, axis=0, weights=w))
    tiny = 1e-12 * np.maximum(np.abs(mean), np.abs(sample).max(axis=0))
    return mean, np.where(spread > tiny, spread, 1.0)


def target_scaling(y, weight, normalize_y):
    """Offset and scale of each output, shapes (t,).

    Parameters
    ----------
    y : ndarray of shape (n, t)
    weight : ndarray of shape (n,) or None
    normalize_y : bool or tuple of (mean, scale)

    Returns
    -------
    mean, scale : ndarray of shape (t,)
    """
    t = y.shape[1]
    if isinstance(normalize_y, tuple):
        return _given_scaling(y, normalize_y)
    if not normalize_y:
        return np.zeros(t), np.ones(t)
    mean = np.average(y, axis=0, weights=weight)
    scale = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weight))
    rounding = 10 * np.finfo(np.float64).eps * np.abs(y).max(axis=0)
    return mean, np.where(scale > rounding, scale, 1.0)


def _given_scaling(y, normalize_y):
    """The two entries of ``normalize_y``, or a ValueError."""
    try:
        mean, scale = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), y.shape[1:]).copy()
            for v in normalize_y
        )
        valid = np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(
            "The 'normalize_y' parameter must be a bool or a pair of a finite mean and a positive "
            f"scale, numbers or one for each of the {y.shape[1]} outputs. Got {normalize_y!r}."
        )
    if (np.abs(y - mean) > LARGEST * scale).any():
        raise ValueError(
            f"The scale of the 'normalize_y' parameter must leave targets of at most {LARGEST:g} "
            f"in size. Got {normalize_y!r}."
        )
    return mean, scale


def merged_rows(X, y, weight):
    """Few rows sorted, repeated ones merged into one of their weight; many only of positive weight.

    Weights and repetitions then are one problem to the last bit. Equal to rounding is not enough:
    where a model can interpolate, L-BFGS amplifies the difference (in 5 of 12 data sets of 15 rows
    and 30 columns scikit-learn's check failed, predictions differing by up to 0.6).
    """
    X, y, weight = positive_rows(X, y, weight)
    if len(X) > _MERGE_ROWS:
        return X, y, weight
    _, first, inverse = np.unique(
        np.column_stack([X, y]), axis=0, return_index=True, return_inverse=True
    )
    mass = np.bincount(inverse.ravel(), weights=weight)
    return X[first], y[first], None if (mass == 1.0).all() else mass


def scaled_rows(X, y, weight, scaling):
    """Rows of positive weight."""
    return Rows(*positive_rows(X, y, weight), *scaling)


def positive_rows(X, y, weight):
    """Inputs, targets and weights without rows of weight zero."""
    if weight is None or weight.all():
        return X, y, weight
    keep = weight > 0
    return X[keep], y[keep], weight[keep]


def starting_length_scale(spread):
    """Length scales with which typical rows are about 2 squared length scales apart.

    Inducing inputs are optimised in these units too: on kin40k that takes L-BFGS to a bound 125
    nats higher in 60 iterations than units of ``spread`` do.
    """
    return spread * np.sqrt(len(spread))


def default_kernel(spread):
    """Constant times squared exponential, one length scale for each column, from the data."""
    length_scale = starting_length_scale(spread)
    bounds = length_scale[:, None] * _LENGTH_SCALE_RANGE
    if len(spread) == 1:
        return ConstantKernel(1.0, (1e-4, 1e4)) * RBF(float(length_scale[0]), tuple(bounds[0]))
    return ConstantKernel(1.0, (1e-4, 1e4)) * RBF(length_scale, bounds)


def starting_noise(whites, noise_variance, noise_variance_bounds):
    """Noise variance and its bounds, None if fixed.

    Parameters
    ----------
    whites : list of WhiteKernel
        Terms of the kernel that are noise.
    noise_variance : float or None
    noise_variance_bounds : tuple of float or "fixed"

    Returns
    -------
    noise_variance : float
    bounds : tuple of float, or None
    """
    if whites:
        if noise_variance is not None:
            raise ValueError(
                "The noise must be given once: the kernel has a WhiteKernel term and "
                f"noise_variance={noise_variance!r} was given as well. Drop one of the two."
            )
        return _noise_from_whites(whites)
    value = _START_NOISE if noise_variance is None else float(noise_variance)
    if isinstance(noise_variance_bounds, str):
        return value, None
    lower, upper = check_bounds("noise_variance_bounds", noise_variance_bounds)
    return float(np.clip(value, lower, upper)), (lower, upper)


def _noise_from_whites(whites):
    level = float(sum(white.noise_level for white in whites))
    if not level > 0:
        raise ValueError(f"The noise_level of WhiteKernel must be positive. Got {level}.")
    fixed = [white.hyperparameter_noise_level.fixed for white in whites]
    if all(fixed):
        return level, None
    ends = [
        [white.noise_level] * 2 if is_fixed else np.ravel(white.noise_level_bounds)
        for white, is_fixed in zip(whites, fixed, strict=True)
    ]
    lower, upper = check_bounds("noise_level_bounds", np.sum(ends, axis=0))
    return float(np.clip(level, lower, upper)), (lower, upper)


def check_bounds(name, bounds):
    """A pair 0 < lower <= upper as floats, or a ValueError."""
    try:
        pair = np.asarray(bounds, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        pair = np.empty(0)
    if pair.shape != (2,) or not (np.isfinite(pair).all() and 0 < pair[0] <= pair[1]):
        raise ValueError(
            f"The '{name}' parameter must be a pair 0 < lower <= upper or 'fixed'. Got {bounds!r}."
        )
    return float(pair[0]), float(pair[1])


def compile_process(kernel, center):
    """Expression of the kernel without its noise, the noise terms, and the bounds of theta."""
    process, whites = split_noise(kernel)
    _check_kernel(process)
    return compile_kernel(process, center), whites, _theta_bounds(process)


@np.errstate(invalid="ignore")  # a kernel with a negative constant prints its root
def _check_kernel(kernel):
    values = kernel.get_params()
    for parameter in kernel.hyperparameters:
        value = np.asarray(values[parameter.name], dtype=np.float64)
        # a fixed sigma_0 of 0 is a linear kernel through the origin
        may_vanish = parameter.fixed and parameter.name.endswith("sigma_0")
        if not (np.isfinite(value).all() and ((value > 0) | (may_vanish & (value == 0))).all()):
            raise ValueError(
                f"The {parameter.name} of the 'kernel' parameter must be positive and finite. Got "
                f"{value.tolist()} in {kernel!r}."
            )


@np.errstate(divide="ignore", invalid="ignore")  # logarithms of bad bounds
def _theta_bounds(kernel):
    try:
        bounds = np.asarray(kernel.bounds, dtype=np.float64).reshape(-1, 2)
    except TypeError:
        bounds = np.full((1, 2), np.nan)
    lower, upper = bounds.T
    if not ((lower > -np.inf) & (lower <= upper)).all():
        raise ValueError(
            "The bounds of the hyperparameters of the 'kernel' parameter must be pairs 0 < lower "
            f"<= upper or 'fixed'. Got {[h.bounds for h in kernel.hyperparameters]} for {kernel!r}."
        )
    return bounds


def parameter_space(theta_bounds, noise_bounds, Z_scale, prior=None):
    """Space of the free parameters, bounds in logarithms."""
    log_noise_bounds = None if noise_bounds is None else tuple(np.log(noise_bounds))
    return ParameterSpace(theta_bounds, log_noise_bounds, Z_scale, prior)


def no_noise(whites, kernel, likelihood):
    """Start and bounds of the noise of a likelihood without one: 1, fixed, and of no effect."""
    if whites:
        raise ValueError(
            f"The 'kernel' parameter must have no WhiteKernel with the likelihood {likelihood!r}, "
            f"as no noise is added there. Got {kernel!r}."
        )
    return 1.0, None


def check_counts(y):
    """Refuse targets that are not counts."""
    bad = y[(y < 0) | (y != np.floor(y))]
    if len(bad):
        raise ValueError(
            "y must hold counts, 0, 1, 2 and so on, with likelihood='poisson'. Got "
            f"{len(bad)} other values such as {bad[0]:g}: numbers take 'gaussian' or 'student_t'."
        )
