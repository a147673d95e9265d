"""Random features whose products are, on average, a compiled kernel.

A stationary kernel is the mean of cos(w'(x - z)) over frequencies w drawn from its spectral density
(Rahimi and Recht, 2007); cosine and sine of each frequency then are two features. Sums put features
side by side. A product of stationary kernels has the sum of independent frequencies, so a kernel is
first multiplied out into terms, each a product of leaves. Constants scale a term; linear kernels
multiply each of its features by an entry of (sigma_0, x), all entries in turn.
"""

import itertools
import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._core import _linalg as la
from . import _nodes as nodes

# Terms of a kernel when multiplied out; each gets a share of the features.
_MAX_TERMS = 64
_CURE = 'Draw joint samples instead: sample_y(method="joint").'


def sample_features(kernel, n_features, rng):
    """Draw features whose products approximate the kernel.

    Parameters
    ----------
    kernel : BoundKernel
    n_features : int
        Features to share among the terms of the kernel; about so many are returned.
    rng : numpy.random.RandomState or numpy.random.Generator

    Returns
    -------
    features : RandomFeatures
        Callable on X of shape (n, d), with result Phi of shape (n, n_features), so that the mean of
        ``Phi @ Phi.T`` over ``rng`` is K(X, X). Constant and linear terms are exact.

    Raises
    ------
    ValueError
        If part of the kernel has no spectral density to draw from.
    """
    products = [_Product.of(pairs) for pairs in _expand(kernel.expression.node, None)]
    exact = sum(product.width for product in products if not product.waves)
    n_random = sum(1 for product in products if product.waves)
    share = max(n_features - exact, n_features // 2) // max(n_random, 1)
    return RandomFeatures(
        [
            _sample_term(kernel.values, product, share if product.waves else n_features, rng)
            for product in products
        ]
    )


@dataclass(frozen=True)
class RandomFeatures:
    """Features of a kernel; what ``sample_features`` returns."""

    terms: list

    @property
    def n_features(self):
        return sum(term.n_features for term in self.terms)

    def __call__(self, X):
        """Phi, shape (n, n_features), C order."""
        X = np.asarray(X, dtype=np.float64)
        Phi = np.empty((len(X), self.n_features))
        ends = list(itertools.accumulate(term.n_features for term in self.terms))
        for term, part in zip(self.terms, np.split(Phi, ends[:-1], axis=1), strict=True):
            term.fill(X, part)
        return Phi


@dataclass(frozen=True)
class _Term:
    """amplitude * product of linear factors * (cosines and sines, or 1).

    ``phases`` is None or the columns (c,), center (c,) and frequencies (c, F); each line is
    (sigma_0, columns, index (F,)), the index saying which entry of (sigma_0, x) multiplies.
    """

    amplitude: float
    phases: tuple | None
    lines: tuple
    n_columns: int  # F

    @property
    def n_features(self):
        return self.n_columns if self.phases is None else 2 * self.n_columns

    def fill(self, X, out):
        parts = (out,) if self.phases is None else np.split(out, 2, axis=1)
        if self.phases is None:
            out[...] = 1.0
        else:
            angles = self._angles(X)
            np.cos(angles, out=parts[0])
            np.sin(angles, out=parts[1])
        out *= self.amplitude
        for sigma_0, columns, index in self.lines:
            entries = np.column_stack([np.full(len(X), sigma_0), X[:, columns]])[:, index]
            for part in parts:
                part *= entries

    def _angles(self, X):
        columns, center, frequencies = self.phases
        angles = np.empty((len(X), self.n_columns))
        la.gemm(np.ascontiguousarray(X[:, columns] - center), frequencies, angles)
        return angles


# ---- The kernel multiplied out: a list of terms, each a list of (leaf, columns or None for all)


def _expand(node, columns):
    return _EXPAND[type(node)](node, columns)


def _expand_leaf(node, columns):
    return [[(node, columns)]]


def _expand_sum(node, columns):
    return _expand(node.left, columns) + _expand(node.right, columns)


def _expand_product(node, columns):
    return _multiplied(_expand(node.left, columns), _expand(node.right, columns))


def _expand_power(node, columns):
    if node.exponent < 0 or node.exponent != int(node.exponent):
        raise ValueError(
            f"Random features need powers of kernels to have a whole number as exponent. Got "
            f"{node.exponent}. {_CURE}"
        )
    terms, child = [[]], _expand(node.child, columns)
    for _ in range(int(node.exponent)):
        terms = _multiplied(terms, child)
    return terms


def _expand_selection(node, columns):
    inner = np.asarray(node.columns)
    return _expand(node.child, inner if columns is None else columns[inner])


def _no_density(node, columns):
    raise ValueError(
        f"Random features need a kernel with a known spectral density. {node.kernel!r} has none. "
        f"{_CURE}"
    )


def _multiplied(left, right):
    if len(left) * len(right) > _MAX_TERMS:
        raise ValueError(
            f"Random features need a kernel of at most {_MAX_TERMS} terms when its products and "
            f"powers of sums are multiplied out. Got more. {_CURE}"
        )
    return [a + b for a, b in itertools.product(left, right)]


_EXPAND = {
    nodes.Sum: _expand_sum,
    nodes.Product: _expand_product,
    nodes.Power: _expand_power,
    nodes.Selection: _expand_selection,
    nodes.Opaque: _no_density,
    nodes.Stationary: _expand_leaf,
    nodes.Linear: _expand_leaf,
    nodes.Constant: _expand_leaf,
}


# ---- One term


@dataclass(frozen=True)
class _Product:
    """A product of leaves; the stationary and the linear ones of them with their columns."""

    leaves: list
    waves: list
    lines: list

    @classmethod
    def of(cls, pairs):
        located = [(leaf, _columns_of(leaf, columns)) for leaf, columns in pairs]
        waves = [pair for pair in located if isinstance(pair[0], nodes.Stationary)]
        lines = [pair for pair in located if isinstance(pair[0], nodes.Linear)]
        return cls([leaf for leaf, _ in pairs], waves, lines)

    @property
    def width(self):
        """Number of entries of the product of all (sigma_0, x)."""
        return math.prod(1 + len(columns) for _, columns in self.lines)


def _columns_of(leaf, columns):
    if columns is None and not isinstance(leaf, nodes.Constant):
        return np.arange(leaf.n_columns)
    return columns


def _sample_term(p, product, n_features, rng):
    waves, width = product.waves, product.width
    limit = n_features // 2 if waves else n_features
    if width > limit and len(waves) + len(product.lines) > 1:
        raise ValueError(
            f"Random features need a product with DotProduct to have at most {limit} entries, as "
            f"many as there are features or frequencies for it. Got {width} entries. {_CURE}"
        )
    copies = max(1, n_features // (2 * width)) if waves else 1
    count = copies * width
    variance = math.prod(leaf.variance(p) for leaf in product.leaves)
    phases = _sample_phases(p, waves, count, rng) if waves else None
    return _Term(math.sqrt(variance / copies), phases, _entries(p, product.lines, count), count)


def _entries(p, lines, count):
    """Which entry of each (sigma_0, x) multiplies a feature: all combinations in turn."""
    if not lines:
        return ()
    shape = [1 + len(columns) for _, columns in lines]
    indices = np.unravel_index(np.arange(count) % math.prod(shape), shape)
    return tuple(
        (p[leaf.sigma_0], columns, index)
        for (leaf, columns), index in zip(lines, indices, strict=True)
    )


def _sample_phases(p, waves, count, rng):
    """Columns, center and frequencies; leaves on the same columns add up in the angle."""
    columns = np.concatenate([columns for _, columns in waves])
    center = np.concatenate([leaf.center for leaf, _ in waves])
    frequencies = np.concatenate([_sample_frequencies(p, leaf, count, rng) for leaf, _ in waves])
    return columns, center, frequencies


def _sample_frequencies(p, leaf, count, rng):
    """Frequencies in the units of the inputs, shape (n_columns, count)."""
    shape = p[list(leaf.shape)]
    unscaled = _DENSITIES[leaf.name](leaf.n_columns, count, rng, *shape)
    return unscaled / np.reshape(leaf.scales(p), (-1, 1))


# ---- Spectral densities at unit length scale: (d, count, rng, own parameters) -> (d, count)


def _gaussian(d, count, rng):
    return rng.standard_normal((d, count))


def _student_t(d, count, rng, dof):
    """Spectral density of the Matern kernel with nu = dof / 2."""
    return _gaussian(d, count, rng) / np.sqrt(rng.chisquare(dof, count) / dof)


def _gamma_mixture(d, count, rng, alpha):
    """A rational quadratic is a Gamma(alpha, rate alpha) mixture of squared exponentials."""
    return _gaussian(d, count, rng) * np.sqrt(rng.gamma(alpha, 1.0 / alpha, count))


def _harmonics(d, count, rng, length_scale, period):
    """Harmonic j of the period has probability exp(-1/l^2) I_j(1/l^2), over all integers j.

    That is the Fourier series of exp((cos t - 1) / l^2), and the law (Skellam's) of the difference
    of two Poisson numbers of mean 1 / (2 l^2).
    """
    if d != 1:
        raise ValueError(
            f"Random features need ExpSineSquared to see one column, as in "
            f"Columns(ExpSineSquared(), [0]). Got {d} columns. {_CURE}"
        )
    mean = 0.5 / length_scale**2
    j = rng.poisson(mean, (1, count)) - rng.poisson(mean, (1, count))
    return 2.0 * np.pi / period * j


_DENSITIES = {
    "squared_exponential": _gaussian,
    "matern12": partial(_student_t, dof=1.0),
    "matern32": partial(_student_t, dof=3.0),
    "matern52": partial(_student_t, dof=5.0),
    "rational_quadratic": _gamma_mixture,
    "periodic": _harmonics,
}
