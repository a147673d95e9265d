"""Whether a batch varies faster, or has less noise, than was found, and where to begin then.

A fast function is noise at the usual length scales, and no gradient leads away from there.
"""

import numpy as np
from scipy.linalg import eigh

from ...kernels._length_scales import variance_mask, with_shorter_scales

# Rows that are looked at together: 7 ms in one column, where learning from 200 rows takes 20. With
# 256 of them and 0.03 of what was found no more was seen, in 2 to 4 times the time.
_LOOKED_AT_ROWS, _FEWEST_LOOKED_AT = 160, 20
# Length scales, as shares of those found and of those that a stream starts with. sin(16 x) and
# sin(14 x) with noise of 0.7 on [0, 6], and a fast sine beside a slow one, are seen in 9 of 10
# first batches of 200 rows; smooth functions, steps, pure noise and 24 first batches of nine tables
# are left alone (one of 36 draws of noise and smooth functions was not, with 256 rows).
_OF_FOUND, _OF_START = (0.3, 0.1), (0.15, 0.04)
# Rows that are left out, those farthest from what the others predict, when shorter scales must
# explain the others better too: broken readings have passed for a fast function. Of two
# first batches of 120 rows with one off by 8 the RMSE was 1.31 and 1.49, and is .25; 3, 5 and 10 %
# give the same.
_LEFT_OUT = 0.05
# Noise, as shares of the function's variance.
_RATIOS = np.array([1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0])


def better_start(start, parameters, rows, n_inducing):
    """Return parameters that explain rows better, or None, also where none are looked for.

    They have shorter length scales if these explain better even the rows that are not far off.
    Otherwise they have the length scales found, with less noise, as repeated rows can prove it; not
    where these are at more places than inducing inputs can hold, which take the rest for noise.

    Parameters
    ----------
    start : Start
        Of the stream.
    parameters : Parameters
        As found.
    n_inducing : int
        Most inducing inputs.
    """
    rows = rows.fixed_subset(_LOOKED_AT_ROWS)
    if not (start.learns_default_kernel and start.likelihood.conjugate) or parameters.mixes_outputs:
        return None
    if len(rows) < _FEWEST_LOOKED_AT or not _can_be_explained(rows):
        return None
    X, y = np.asarray(rows.X, dtype=np.float64), rows.targets
    tried = [_shorter(parameters, share) for share in _OF_FOUND]
    tried += [_shorter(start.parameters, share) for share in _OF_START]
    as_long = _best(parameters, X, y)
    best = _with_shorter(parameters, as_long, tried, X, y)
    if best is None and len(np.unique(X, axis=0)) <= n_inducing:
        best = _with_less_noise(parameters, as_long, X, y)
    return None if best is None else start.space.clipped(best.with_values(Z=parameters.Z))


def _with_shorter(parameters, as_long, tried, X, y):
    """Return the best of those tried, None where it explains rows, or the near ones, no better.

    Parameters
    ----------
    parameters : Parameters
        As found.
    as_long : (float, Parameters)
        What `_best` says of them.
    tried : list of Parameters
    """
    best = _best_of(tried, X, y)
    if best[0] <= as_long[0] + np.log(len(X)):
        return None
    near = _near(as_long[1], X, y)
    X, y = X[near], y[near]
    is_rough = _best_of(tried, X, y)[0] > _best(parameters, X, y)[0] + np.log(len(X))
    return best[1] if is_rough else None


def _with_less_noise(parameters, as_long, X, y):
    """Return parameters with the best amplitude and noise, None where that is hardly less noise.

    Of 12 tables of 82 rows at 50 places, with another value at each and without noise, 11 had a
    noise of 0.23 to 1 deviations of the targets.
    """
    value, best = as_long
    is_less = np.mean(best.noise_variance) < np.mean(parameters.noise_variance)
    has_proof = value > _evidence(parameters, X, y) + np.log(len(X))
    return best if is_less and has_proof else None


def _best_of(tried, X, y):
    return max((_best(one, X, y) for one in tried), key=lambda pair: pair[0])


def _covariance(parameters, X):
    """Return that of rows of the exact process, with the noise that outputs have in the mean."""
    noise = float(np.mean(parameters.noise_variance))
    return parameters.kernel.gram(X) + noise * np.eye(len(X))


def _evidence(parameters, X, y):
    """Return that of the exact process as `_best` counts it."""
    values, Q = eigh(_covariance(parameters, X), check_finite=False)
    squares = ((Q.T @ y) ** 2).mean(axis=1)
    return 0.5 * (len(X) - np.sum(squares / values + np.log(values)))


def _near(parameters, X, y):
    """Return the rows that the others predict best, all but a few."""
    precision = np.linalg.inv(_covariance(parameters, X))
    off = (precision @ y) ** 2 / np.diagonal(precision)[:, None]  # squares, in predicted deviations
    return np.sort(np.argsort(off.max(axis=1))[: len(X) - int(np.ceil(_LEFT_OUT * len(X)))])


def with_best_units(parameters, rows):
    """Return parameters with the amplitude and noise that explain some rows best."""
    rows = rows.fixed_subset(_LOOKED_AT_ROWS)
    if not _can_be_explained(rows):
        return parameters
    return _best(parameters, np.asarray(rows.X, dtype=np.float64), rows.targets)[1]


def _can_be_explained(rows):
    """Return whether all targets are there, and not all of them alike."""
    return not np.isnan(rows.y).any() and np.ptp(rows.y, axis=0).any()


def _shorter(parameters, share):
    theta = with_shorter_scales(parameters.expression, parameters.theta, share)
    return parameters.with_values(theta=theta)


def _best(parameters, X, y):
    """Return the evidence of the exact process, and parameters with the best amplitude and noise.

    Up to a constant; outputs share the amplitude, and count as one in the mean.
    """
    K, n = parameters.kernel.gram(X), len(X)
    variance = float(np.mean(np.diagonal(K)))
    values, Q = eigh(K / variance, check_finite=False)
    squares, values = ((Q.T @ y) ** 2).mean(axis=1), np.maximum(values, 0.0)
    spread = values + _RATIOS[:, None]
    amplitude = (squares / spread).mean(axis=1)
    evidence = -0.5 * (n * np.log(amplitude) + np.log(spread).sum(axis=1))
    k = int(np.argmax(evidence))
    move = np.log(amplitude[k] / variance) * variance_mask(parameters.expression)
    noise = np.log(_RATIOS[k] * amplitude[k]) + np.zeros_like(parameters.log_noise)
    noise = noise if noise.ndim else float(noise)
    return evidence[k], parameters.with_values(theta=parameters.theta + move, log_noise=noise)
