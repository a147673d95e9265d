"""Several classes: softmax over independent latent functions (docs/theory.md, section 10).

With x_c = exp(s + f_c) and P_c(s) the product of E[exp(-x_j)] over the other classes,

    E[log sum exp f] = integral of exp(-exp s) - E[exp(-x_c)] P_c(s) ds,
    E[p_c] = integral of E[x_c exp(-x_c)] P_c(s) ds,    E[p_c^2] the same with x_c^2,

one-dimensional and exact. Each expectation on the right is a function of s + mean_c and variance_c
alone: it is made on one fixed lattice for all rows, and read at an offset.
"""

from functools import lru_cache

import numpy as np
from scipy.special import roots_hermitenorm

from ._base import ExpectedLogDensity

# At this step the trapezoidal rule for the integral of x exp(-x), which is 1, is off by
# 2 |Gamma(1 + 2 pi i / step)| = 1.2e-11, and that of x^2 exp(-x) by 2e-10.
_STEP = 0.35
_REACH = 7.2  # standard deviations
_LEFT, _RIGHT = -27.0, 4.0  # x exp(-x) is negligible outside, for x = exp of it
# A lattice of that step cannot hold a normal density of a smaller sd: Gauss-Hermite.
_SMALL, _NODES = 0.45, 12
_PIECE = 1 << 19


class Softmax:
    """p(y = c | f) = exp(f_c) / sum exp(f), c from 0."""

    n_noise = 0

    def __repr__(self):
        return f"{type(self).__name__}()"

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """E[log p_y] for f_c ~ N(mean_c, variance_c), and its derivatives.

        Parameters
        ----------
        y : ndarray of int, shape (n, 1)
            Class.
        mean, variance : ndarray of shape (n, C)
        noise_variance : ignored

        Returns
        -------
        expected : ExpectedLogDensity
        """
        log_sum, p, p2 = softmax_moments(mean, variance)
        rows, label = np.arange(len(mean)), y[:, 0].astype(np.intp)
        d_mean = -p
        d_mean[rows, label] += 1.0
        d_variance = -0.5 * np.maximum(p - p2, 0.0)
        return ExpectedLogDensity(
            mean[rows, label] - log_sum, d_mean, d_variance, np.zeros(len(mean))
        )

    def probabilities(self, mean, variance):
        """E[p_c], shape (n, C), rows summing to 1."""
        p = softmax_moments(mean, variance)[1]
        return p / p.sum(axis=1, keepdims=True)

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """log P(y), shape (n,)."""
        rows, label = np.arange(len(mean)), y[:, 0].astype(np.intp)
        return np.log(self.probabilities(mean, variance)[rows, label])


def softmax_moments(mean, variance):
    """E[log sum exp f] (n,), E[p] and E[p^2] (n, C) for independent f_c ~ N(mean_c, variance_c)."""
    n, C = mean.shape
    top = mean.max(axis=1)
    shifted, sd = mean - top[:, None], np.sqrt(variance)
    level = np.ceil(np.log2(np.maximum(sd.max(axis=1), 1.0))).astype(int)
    log_sum, p, p2 = np.empty(n), np.empty((n, C)), np.empty((n, C))
    for power in np.unique(level):
        widest = 2.0**power
        rows = np.flatnonzero(level == power)
        size = max(1, _PIECE // (C * _lattice(widest).size))
        for lo in range(0, len(rows), size):
            piece = rows[lo : lo + size]
            log_sum[piece], p[piece], p2[piece] = _moments(shifted[piece], sd[piece], widest)
    return log_sum + top, p, p2


@lru_cache(maxsize=16)
def _lattice(widest):
    """s, covering all that matters where the largest mean is 0 and no sd above ``widest``."""
    lo = np.floor((_LEFT - _REACH * widest) / _STEP)
    hi = np.ceil((_RIGHT + _REACH * widest) / _STEP)
    return np.arange(lo, hi + 1) * _STEP


def _moments(mean, sd, widest):
    """As `softmax_moments`, for rows whose largest mean is 0."""
    s = _lattice(widest)
    G, D1, D2 = _on_lattice(mean, sd, widest)
    before, after = np.ones_like(G), np.ones_like(G)
    np.cumprod(G[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = np.cumprod(G[:, :0:-1], axis=1)[:, ::-1]
    others = before * after
    log_sum = _STEP * (np.exp(-np.exp(np.minimum(s, 700.0))) - others[:, 0] * G[:, 0]).sum(axis=1)
    return log_sum, _STEP * (D1 * others).sum(axis=2), _STEP * (D2 * others).sum(axis=2)


def _on_lattice(mean, sd, widest):
    """E[exp(-x)], E[x exp(-x)] and E[x^2 exp(-x)], x = exp(s + f), shape (n, C, n_lattice)."""
    s = _lattice(widest)
    shift = np.floor(mean / _STEP).astype(np.intp)
    rest = (mean - shift * _STEP).ravel()
    flat, values = sd.ravel(), np.empty((3, mean.size, s.size))
    small = flat < _SMALL
    values[:, small] = _by_hermite(s, rest[small], flat[small])
    values[:, ~small] = _by_lattice(s, rest[~small], flat[~small], widest)
    # read at s + shift: to the left of the lattice 1, and proportional to x and x^2
    place = np.arange(s.size) + shift.reshape(-1, 1)
    inside = np.maximum(place, 0)
    G, D1, D2 = (np.take_along_axis(value, inside, axis=1) for value in values)
    below = np.exp(_STEP * np.minimum(place, 0))
    shape = (*mean.shape, s.size)
    return G.reshape(shape), (D1 * below).reshape(shape), (D2 * below**2).reshape(shape)


def _functions(t):
    x = np.exp(np.minimum(t, 6.0))
    F = np.exp(-x)
    return F, x * F, x * x * F


def _by_hermite(s, rest, sd):
    nodes, weights = roots_hermitenorm(_NODES)
    weights = weights / weights.sum()
    # exp(s + rest + sd z) is a product: no exponential for each of its values
    scale = np.exp(rest[:, None] + sd[:, None] * nodes)
    base = np.exp(np.minimum(s, 6.0))
    out = np.zeros((3, len(rest), s.size))
    for node, weight in zip(scale.T, weights, strict=True):
        x = np.multiply.outer(node, base)
        F = np.exp(-x)
        F *= weight
        out[0] += F
        F *= x
        out[1] += F
        F *= x
        out[2] += F
    return out


@lru_cache(maxsize=16)
def _smoothers(widest):
    """Offsets of a normal density's lattice, and each function at s + offset, (n_offsets, n_s)."""
    s = _lattice(widest)
    half = int(np.ceil(_REACH * widest / _STEP)) + 1
    offset = np.arange(-half, half + 1) * _STEP
    return offset, [np.ascontiguousarray(f) for f in _functions(offset[:, None] + s)]


def _by_lattice(s, rest, sd, widest):
    offset, functions = _smoothers(widest)
    weight = np.exp(-0.5 * ((offset - rest[:, None]) / sd[:, None]) ** 2)
    weight *= (_STEP / np.sqrt(2.0 * np.pi)) / sd[:, None]
    return np.stack([weight @ f for f in functions])
