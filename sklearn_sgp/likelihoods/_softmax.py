"""Several classes: softmax over independent latent functions (docs/theory.md, section 10).

With x_c = exp(s + f_c) and P_c(s) the product of E[exp(-x_j)] over the other classes,

    E[log sum exp f] = integral of exp(-exp s) - E[exp(-x_c)] P_c(s) ds,
    E[p_c] = integral of E[x_c exp(-x_c)] P_c(s) ds,    E[p_c^2] the same with x_c^2,

one-dimensional and exact. Each expectation on the right is a function of s + mean_c and variance_c
alone: it is made on one fixed lattice for all rows, and read at an offset.
"""

from functools import cached_property, lru_cache

import numpy as np
from scipy.fft import irfft, next_fast_len, rfftfreq
from scipy.special import loggamma, ndtr, roots_hermitenorm

from ._base import ExpectedLogDensity

# At this step the trapezoidal rule for the integral of x exp(-x), which is 1, is off by
# 2 |Gamma(1 + 2 pi i / step)| = 1.2e-11, and that of x^2 exp(-x) by 2e-10.
_STEP = 0.35
# Largest step, in units of (sum 1 / sd_c^2)^(-1/2), for functions that are as smooth as that.
_SMOOTH_STEP = 0.9
_REACH = 7.2  # standard deviations
_LEFT, _RIGHT = -27.0, 4.0  # x exp(-x) is negligible outside, for x = exp of it
# A lattice of that step cannot hold a normal density of a smaller sd: Gauss-Hermite.
_SMALL, _NODES = 0.45, 12
_PIECE = 1 << 13  # values at a time: they stay in the cache


class Softmax:
    """p(y = c | f) = exp(f_c) / sum exp(f), c from 0."""

    n_noise = 0
    # The classes together bend from once to twice as much as each alone: this is halfway, and each
    # step then leaves a third of the error, where full steps oscillate.
    natural_step = 2.0 / 3.0
    # Means common to all classes change nothing but the divergence, least where they are zero;
    # steps class by class would be slow to find that.
    shift_invariant = True

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
    widest = np.ceil(np.log2(np.maximum(sd.max(axis=1), 1.0))).astype(int)
    # A product of functions smoothed by sd_c has a spectrum of variance sum 1 / sd_c^2 at most
    smooth = _SMOOTH_STEP / np.sqrt((1.0 / np.maximum(variance, 1e-12)).sum(axis=1))
    coarse = np.floor(np.log2(np.maximum(smooth / _STEP, 1.0))).astype(int)
    log_sum, p, p2 = np.empty(n), np.empty((n, C)), np.empty((n, C))
    for power, halvings in np.unique(np.column_stack([widest, coarse]), axis=0):
        lattice = _Lattice(int(power), int(halvings))
        rows = np.flatnonzero((widest == power) & (coarse == halvings))
        size = max(1, _PIECE // (C * lattice.s.size))
        for lo in range(0, len(rows), size):
            piece = rows[lo : lo + size]
            log_sum[piece], p[piece], p2[piece] = _moments(shifted[piece], sd[piece], lattice)
    return log_sum + top, p, p2


@lru_cache(maxsize=64)
class _Lattice:
    """s, covering all that matters where the largest mean is 0 and no sd above 2^power."""

    def __init__(self, power, halvings):
        self.widest, self.step = 2.0**power, _STEP * 2.0**halvings
        lo = np.floor((_LEFT - _REACH * self.widest) / self.step)
        hi = np.ceil((_RIGHT + _REACH * self.widest) / self.step)
        self.s = np.arange(lo, hi + 1) * self.step
        # by products of matrices where these are small
        self.by_products = power <= 1 and halvings == 0

    @cached_property
    def smoothers(self):
        """Offsets of a normal density's lattice, and each function at s + offset."""
        half = int(np.ceil(_REACH * self.widest / self.step)) + 1
        offset = np.arange(-half, half + 1) * self.step
        x = np.exp(np.minimum(offset[:, None] + self.s, 6.0))
        F = np.exp(-x)
        return offset, [F, x * F, x * x * F]

    @cached_property
    def spectrum(self):
        """Frequencies, and the transforms of exp(-x) less a smooth step, x exp(-x), x^2 exp(-x)."""
        size = next_fast_len(self.s.size, real=True)
        omega = 2.0 * np.pi * rfftfreq(size, self.step)
        D1 = np.exp(loggamma(1.0 - 1j * omega))
        step = np.exp(-0.5 * omega**2)
        F = np.full(len(omega), -np.euler_gamma, dtype=complex)
        F[1:] = (step[1:] - D1[1:]) / (1j * omega[1:])
        # to the lattice's origin, and from integrals to sums
        shift = np.exp(1j * omega * self.s[0]) / self.step
        return size, omega, [part * shift for part in (F, D1, (1.0 - 1j * omega) * D1)]


def _moments(mean, sd, lattice):
    """As `softmax_moments`, for rows whose largest mean is 0."""
    s, step = lattice.s, lattice.step
    G, D1, D2 = _on_lattice(mean, sd, lattice)
    before, after = np.ones_like(G), np.ones_like(G)
    np.cumprod(G[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = np.cumprod(G[:, :0:-1], axis=1)[:, ::-1]
    others = before * after
    product = others[:, 0] * G[:, 0]
    # exp(-exp s) has the integral of a step at 0 less Euler's constant; any smooth step will do
    log_sum = step * (ndtr(-s * (_STEP / step)) - product).sum(axis=1) - np.euler_gamma
    p, p2 = step * (D1 * others).sum(axis=2), step * (D2 * others).sum(axis=2)
    return log_sum, p, p2


def _on_lattice(mean, sd, lattice):
    """E[exp(-x)], E[x exp(-x)] and E[x^2 exp(-x)], x = exp(s + f), shape (n, C, n_lattice)."""
    s, step = lattice.s, lattice.step
    shift = np.floor(mean / step).astype(np.intp)
    rest = (mean - shift * step).ravel()
    flat, values = sd.ravel(), np.empty((3, mean.size, s.size))
    small = flat < _SMALL
    values[:, small] = _by_hermite(s, rest[small], flat[small])
    smooth = _by_products if lattice.by_products else _by_fourier
    values[:, ~small] = smooth(lattice, rest[~small], flat[~small])
    # read at s + shift: to the left of the lattice 1, and proportional to x and x^2
    place = np.arange(s.size) + shift.reshape(-1, 1)
    inside = np.maximum(place, 0)
    G, D1, D2 = (np.take_along_axis(value, inside, axis=1) for value in values)
    below = np.exp(step * np.minimum(place, 0))
    shape = (*mean.shape, s.size)
    return G.reshape(shape), (D1 * below).reshape(shape), (D2 * below**2).reshape(shape)


@lru_cache(maxsize=1)
def _hermite():
    nodes, weights = roots_hermitenorm(_NODES)
    return nodes, weights / weights.sum()


def _by_hermite(s, rest, sd):
    nodes, weights = _hermite()
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


def _by_products(lattice, rest, sd):
    offset, functions = lattice.smoothers
    weight = np.exp(-0.5 * ((offset - rest[:, None]) / sd[:, None]) ** 2)
    weight *= (lattice.step / np.sqrt(2.0 * np.pi)) / sd[:, None]
    return np.stack([weight @ f for f in functions])


def _by_fourier(lattice, rest, sd):
    """Smoothing multiplies the transforms, which are Gamma functions, by that of the density."""
    size, omega, transforms = lattice.spectrum
    s = lattice.s
    density = np.exp(-0.5 * (sd[:, None] * omega) ** 2 + 1j * omega * rest[:, None])
    out = np.stack([irfft(density * part, size, axis=1)[:, : s.size] for part in transforms])
    # the smooth step has unit variance before the smoothing
    out[0] += ndtr(-(s + rest[:, None]) / np.sqrt(1.0 + sd[:, None] ** 2))
    # rounding: probabilities, and densities, are not negative
    np.clip(out[0], 0.0, 1.0, out=out[0])
    np.maximum(out[1:], 0.0, out=out[1:])
    return out
