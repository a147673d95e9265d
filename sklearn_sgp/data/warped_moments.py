"""Moments of observations whose warped values are mixtures of normal distributions.

With z a mixture and y = h(z), h the inverse of a warp, E[y] is an integral over z, by the
trapezoidal rule for each component. With jointly normal functions f the covariance of two
observations is a Hermite series (Mehler's formula):

    cov(y, y') = sum over k >= 1 of a_k a'_k corr(f, f')^k,    a_k = E[h(z) He_k(u)] / sqrt(k!)

where u is f, standardised (docs/theory.md, section 13). A normal z of variance s^2 = v + noise,
where v is that of f, has E[h(z) He_k(u)] = (v / s^2)^(k/2) E[h(z) He_k((z - m) / s)].
"""

from typing import NamedTuple

import numpy as np

from .continued_warps import Within
from .varying_noise import each_output

# Nodes, in standard deviations: dense for one normal distribution, as a warp may bend within a
# part of one; the many of a mixture have nodes between one another's.
_NODES_REACH, _DENSE_NODES_STEP, _NODES_STEP = 8.0, 0.125, 0.5
# Components of smaller probability do not count, and of more than so many some are joined.
_LEAST_LOG_WEIGHT, _MOST_COMPONENTS = -28.0, 80
_HERMITE_TERMS = 24
_LEAST_LACKING = 1e-9  # share of a variance; less is rounding, which a steep end would magnify
_TINY = np.finfo(np.float64).tiny
_LARGEST_PIECE = 1 << 18  # function values in memory


class Observations(NamedTuple):
    """Moments of observations of one output, in units of y.

    Attributes
    ----------
    mean, variance : ndarray of shape (n,)
    terms : ndarray of shape (n, n_terms)
        The a_k of the series, k from 1 on.
    """

    mean: np.ndarray
    variance: np.ndarray
    terms: np.ndarray


def warped_moments(targets, likelihood, mean, variance, noise, n_terms=0):
    """Compute moments of observations, or of the function.

    Parameters
    ----------
    likelihood : Likelihood or None
        None for the function itself, h(f).
    mean, variance : ndarray of shape (n, t)
        Of f.
    noise : object
        As the likelihood takes it.
    n_terms : int
        Of the Hermite series.

    Returns
    -------
    observations : list of Observations
        One for each output.
    """
    total = variance
    if likelihood is not None:
        total = likelihood.moments(mean, variance, noise)[1]
    total, observations = np.broadcast_to(total, mean.shape), []
    for own, pieces in _mixtures(targets, likelihood, mean, variance, noise):
        (warp,), (of_mean,) = targets.warps[own], targets.mean_warps[own]
        (scale,) = targets.scale[own]
        parts = [
            _moments(
                warp,
                of_mean,
                *mixture,
                scale**2 * total[rows, own].ravel(),
                scale**2 * variance[rows, own].ravel(),
                n_terms,
            )
            for rows, mixture in pieces
        ]
        observations.append(Observations(*_joined(parts)))
    return observations


def warped_means_within(targets, within, likelihood, mean, variance, noise):
    """Compute means of observations, and of what their values are when these are cut, both (n, t).

    ``within`` are the warps with the ranges to which values are cut.
    """
    means = []
    for own, pieces in _mixtures(targets, likelihood, mean, variance, noise):
        (cut,) = within[own]
        means.append(_joined([_means_within(cut, *mixture) for _, mixture in pieces]))
    return [np.stack(each, axis=1) for each in zip(*means, strict=True)]


def _joined(parts):
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def _mixtures(targets, likelihood, mean, variance, noise):
    """Yield the place of each output, and rows with mean, variances and weights of warped values.

    Parameters are those of `warped_moments`.
    """
    if likelihood is None:
        each = [(slice(c, c + 1), None, None) for c in range(mean.shape[1])]
    else:
        each = each_output(likelihood, noise, mean.shape[1])
    for own, one, own_noise in each:
        (center,), (scale,) = targets.mean[own], targets.scale[own]
        variances, log_weights = _components(one, variance[:, own], own_noise)
        middle = (center + scale * mean[:, own]).ravel()
        yield own, _each_piece(middle, scale, variances, log_weights)


def _each_piece(middle, scale, variances, log_weights):
    for rows in _pieces(len(middle), len(log_weights)):
        yield rows, (middle[rows], *_fewer(scale**2 * variances(rows), log_weights))


def _components(likelihood, variance, noise):
    """Return the normal distributions of one output, or of its function for None."""
    if likelihood is not None:
        return likelihood.components(variance, noise)
    flat = variance.ravel()
    return lambda rows: flat[rows, None], np.zeros(1)


def warped_mean_variance(targets, likelihood, mean, variance, noise):
    """Compute means and variances of observations, or of the function; both (n, t)."""
    observations = warped_moments(targets, likelihood, mean, variance, noise)
    means, variances, _ = zip(*observations, strict=True)
    return np.stack(means, axis=1), np.stack(variances, axis=1)


def warped_covariance(targets, likelihood, mean, covariance, noise):
    """Compute means (n, t) and joint covariances (n, n, t) of observations; see above."""
    diagonal = np.moveaxis(np.diagonal(covariance), -1, 0)
    variance = np.maximum(np.broadcast_to(diagonal, mean.shape), 0.0)
    observations = warped_moments(targets, likelihood, mean, variance, noise, _HERMITE_TERMS)
    joint = np.empty((len(mean), *mean.shape))
    for c, each in enumerate(observations):
        sd = np.sqrt(variance[:, c])
        inverse = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0.0)
        scaled = covariance[:, :, min(c, covariance.shape[2] - 1)] * inverse[:, None] * inverse
        correlation = np.clip(scaled, -1.0, 1.0)
        joint[:, :, c] = _series(each, correlation)
    return np.stack([each.mean for each in observations], axis=1), joint


def _series(observations, correlation):
    """Sum the Hermite series at correlations of the function, (n, n)."""
    total, power = np.zeros_like(correlation), correlation.copy()
    left = (observations.terms**2).max(axis=0)
    for k, term in enumerate(observations.terms.T):
        if left[k:].max() <= 1e-12 * left.max():
            break
        total += np.outer(term, term) * power
        power *= correlation
    np.fill_diagonal(total, observations.variance)
    return total


def _pieces(n, n_components):
    """Cut n rows into runs whose function values fit into memory."""
    nodes = 2.0 * _NODES_REACH / (_DENSE_NODES_STEP if n_components == 1 else _NODES_STEP)
    size = max(1, int(_LARGEST_PIECE / (nodes * min(n_components, _MOST_COMPONENTS))))
    for lo in range(0, n, size):
        yield np.arange(lo, min(lo + size, n))


def _fewer(variances, log_weights):
    """Return variances and probabilities, both (n, k), of not too many components.

    Where there are more, they are moved to variances whose logarithms are at regular distances,
    each to four of these, with the weights of cubic interpolation.
    """
    counts = log_weights > _LEAST_LOG_WEIGHT
    variances, weights = variances[:, counts], np.exp(log_weights[counts])
    n, k = variances.shape
    if k <= _MOST_COMPONENTS:
        return variances, np.broadcast_to(weights, (n, k))
    log = np.log(variances)
    low, high = log.min(axis=1, keepdims=True), log.max(axis=1, keepdims=True)
    step = np.maximum(high - low, 1e-12) / (_MOST_COMPONENTS - 1)
    place = (log - low) / step
    first = np.clip(place.astype(np.intp) - 1, 0, _MOST_COMPONENTS - 4)
    x = place - first
    shares = (
        -(x - 1.0) * (x - 2.0) * (x - 3.0) / 6.0,
        x * (x - 2.0) * (x - 3.0) / 2.0,
        -x * (x - 1.0) * (x - 3.0) / 2.0,
        x * (x - 1.0) * (x - 2.0) / 6.0,
    )
    cells = first + _MOST_COMPONENTS * np.arange(n)[:, None]
    moved = np.zeros(n * _MOST_COMPONENTS)
    for j, share in enumerate(shares):
        moved += np.bincount((cells + j).ravel(), (share * weights).ravel(), len(moved))
    grid = np.exp(low + step * np.arange(_MOST_COMPONENTS))
    return grid, moved.reshape(grid.shape)


def _nodes(n_components):
    """Return nodes in standard deviations, and their shares of a normal distribution."""
    step = _DENSE_NODES_STEP if n_components == 1 else _NODES_STEP
    u = np.arange(-_NODES_REACH, _NODES_REACH + 0.5 * step, step)
    density = np.exp(-0.5 * u**2)
    return u, density / density.sum()


def _means_within(within, mean, variances, weights):
    """Compute the mean of h(z), and of h(z) within a range; see `_moments`."""
    u, density = _nodes(variances.shape[1])
    y = within.warp.near_inverse(mean[:, None, None] + np.sqrt(variances)[:, :, None] * u)
    middle = within.warp.near_inverse(mean)
    return [
        _mean(one(y), one(middle), weights, density) for one in (lambda values: values, within.cut)
    ]


def _mean(values, middle, weights, density):
    """Average values at nodes, (n, k, nodes), by their distances from those at the means, (n,)."""
    apart = (values - middle[:, None, None]) @ density
    return middle + np.einsum("ij,ij->i", weights, apart)


def _moments(warp, of_mean, mean, variances, weights, total, variance, n_terms):
    """Compute mean, variance and terms of h(z), z mixtures about ``mean`` (n,), before scaling.

    The mean is that of ``of_mean``, the warp or `Within` a range; variance and terms are of h as it
    is. Beyond the data h is a line on either side, so that far components of a mixture add to
    E[h(z)^2] the mean of the two squared slopes times their variance: what the given ones lack of
    the total.
    """
    u, density = _nodes(variances.shape[1])
    sd = np.sqrt(variances)
    y = warp.near_inverse(mean[:, None, None] + sd[:, :, None] * u)
    middle = warp.near_inverse(mean)
    is_cut = isinstance(of_mean, Within)
    cut = _mean(of_mean.cut(y), of_mean.cut(middle), weights, density) if is_cut else None
    y -= middle[:, None, None]
    first = np.einsum("ij,ij->i", weights, y @ density)
    second = np.einsum("ij,ij->i", weights, np.square(y) @ density)
    lacking = total - np.einsum("ij,ij->i", weights, variances)
    size = 0.5 * (warp.end_slopes[0] ** 2 + warp.end_slopes[1] ** 2)
    second += np.where(lacking > _LEAST_LACKING * total, size * lacking, 0.0)
    terms = np.empty((len(mean), n_terms))
    ratio = np.sqrt(variance)[:, None] / np.maximum(sd, _TINY)
    before, hermite, share = np.zeros_like(u), np.ones_like(u), weights
    for k in range(1, n_terms + 1):  # He_k / sqrt(k!)
        before, hermite = hermite, (u * hermite - np.sqrt(k - 1) * before) / np.sqrt(k)
        share = share * ratio
        terms[:, k - 1] = np.einsum("ij,ij->i", share, y @ (density * hermite))
    variance_of_h = np.maximum(second - first**2, 0.0)
    return middle + first if cut is None else cut, variance_of_h, terms
