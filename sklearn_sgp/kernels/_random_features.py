"""Random features whose products are, on average, a compiled kernel.

A stationary kernel is the mean of cos(w'(x - z)) over frequencies w drawn from its spectral density
(Rahimi and Recht, 2007). The cosine and the sine of each frequency are two features. The features
of a sum are the features of its terms, side by side. The frequency of a product of stationary
kernels is the sum of independent frequencies of its factors. A kernel is therefore first multiplied
out into terms, and each term is a product of leaves. Constants scale a term. A linear kernel
multiplies each feature of a term by one entry of (sigma_0, x); the features take all entries in
turn. A kernel over categories multiplies it by a random number for each category, and the numbers
of two categories have their covariance. Of directions, which are linear combinations of columns,
frequencies are combined, too: w'(A x) is (A'w)'x.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from . import nodes
from .categories._covariance import codes_of
from .categories._node import CategoricalNode

# Such a share of the frequencies of a squared exponential is drawn so many times as wide, and all
# are weighed by what the spectral density says: the correction of a draw at the inducing inputs
# makes rare high frequencies large. FITC of 900 rows in the plane, 2,000 draws from 125 sets of
# frequencies, four data sets: within two length scales of the data the worst of 200 deviations are
# 0.91 to 1.03 of the right ones without it, one set being 4.2 times as large, and 0.95 to 1.04 with
# it, the largest set 2.0; shares of 0.5, or twice as wide, are as good there and worse far away.
_WIDER, _WIDE_SHARE = 1.5, 0.25
_MAX_TERMS = 64  # of a kernel when multiplied out; they share the features
_CURE = 'Draw joint samples instead: sample_y(method="joint").'


def sample_features(kernel, n_features, rng):
    """Draw features whose products approximate the kernel.

    Parameters
    ----------
    n_features : int
        Number of features, shared among the terms of the kernel. Rounding may give slightly
        fewer, and a wide linear kernel gives more.
    rng : numpy.random.RandomState or numpy.random.Generator

    Returns
    -------
    features : RandomFeatures
        ``features(X)``, with X of shape (n, d), is Phi of shape (n, n_features). The mean of
        ``Phi @ Phi.T`` over draws is K(X, X); constant and linear terms are exact in every draw.

    Raises
    ------
    ValueError
        If part of the kernel has no known spectral density.
    """
    expression = kernel.expression
    terms = multiplied_out(expression.node, np.arange(expression.n_features))
    products = [_Product.of(pairs) for pairs in terms]
    exact = sum(product.width for product in products if not product.is_random)
    n_random = sum(1 for product in products if product.is_random)
    share = max(n_features - exact, n_features // 2) // max(n_random, 1)
    return RandomFeatures(
        [
            _sample_term(kernel.values, product, share if product.is_random else n_features, rng)
            for product in products
        ]
    )


@dataclass(frozen=True)
class RandomFeatures:
    """Features of a kernel, drawn by ``sample_features``."""

    terms: list

    @property
    def n_features(self):
        return sum(term.n_features for term in self.terms)

    def __call__(self, X):
        """Compute Phi, shape (n, n_features), C order."""
        X = np.asarray(X, dtype=np.float64)
        Phi = np.empty((len(X), self.n_features))
        ends = list(itertools.accumulate(term.n_features for term in self.terms))
        for term, part in zip(self.terms, np.split(Phi, ends[:-1], axis=1), strict=True):
            term.fill(X, part)
        return Phi


@dataclass(frozen=True)
class _Term:
    """amplitude * product of linear factors * (cosines and sines, or 1).

    The amplitude is one for each column, (F,). ``phases`` is None or the columns (c,), the center
    (c,) and the frequencies (c, F). Each of the ``lines`` is a linear factor: a function of x that
    gives its entries, as (sigma_0, x), the columns (c,) of x and, for each feature, the index (F,)
    of the entry that multiplies it. Each of the ``intercepts`` is a factor over categories: its
    column, and the `DrawnNumbers` of F columns.
    """

    amplitude: np.ndarray
    phases: tuple | None
    lines: tuple
    intercepts: tuple
    n_columns: int  # F

    @property
    def n_features(self):
        return self.n_columns if self.phases is None else 2 * self.n_columns

    def fill(self, X, out):
        """Write the features at X into ``out``, shape (n, n_features)."""
        parts = (out,) if self.phases is None else np.split(out, 2, axis=1)
        if self.phases is None:
            out[...] = 1.0
        else:
            angles = self._angles(X)
            np.cos(angles, out=parts[0])
            np.sin(angles, out=parts[1])
        for part in parts:
            part *= self.amplitude
        for entries_of, columns, index in self.lines:
            entries = entries_of(X[:, columns])[:, index]  # (n, F)
            for part in parts:
                part *= entries
        for column, numbers in self.intercepts:
            of_rows = numbers.at(codes_of(X[:, [column]]))
            for part in parts:
                part *= of_rows

    def _angles(self, X):
        columns, center, frequencies = self.phases
        angles = np.empty((len(X), self.n_columns))  # (n, F)
        la.gemm(np.ascontiguousarray(X[:, columns] - center), frequencies, angles)
        # 1e300 length scales away the functions may be anything, but not NaN
        return np.nan_to_num(angles, copy=False, nan=0.0, posinf=0.0, neginf=0.0)


# ---- The kernel multiplied out


class Factor(NamedTuple):
    """A leaf in a term of a kernel, with the columns that it sees.

    Parameters
    ----------
    columns : ndarray of int
    weights : callable or None
        ``weights(p)``, shape (k, n_columns): the leaf sees linear combinations of its columns.
    center : ndarray of shape (n_columns,) or None
        Subtracted from the columns before they are combined.
    n_directions : int or None
        Number k of linear combinations.
    """

    leaf: object
    columns: np.ndarray
    weights: Callable | None = None
    center: np.ndarray | None = None
    n_directions: int | None = None

    @property
    def n_inputs(self):
        """Number of entries that the leaf sees of a row."""
        return len(self.columns) if self.n_directions is None else self.n_directions

    def behind(self, node, columns):
        """Return the factor for rows of which its leaf sees directions."""

        def weights(p):
            A = node.matrix(p)[self.columns]
            return A if self.weights is None else self.weights(p) @ A

        return Factor(self.leaf, columns, weights, node.center, self.n_inputs)


def multiplied_out(node, columns):
    """Return the terms of a node, each of them a list of `Factor`."""
    _check_expandable(node)
    if isinstance(node, nodes.Directions):
        terms = multiplied_out(node.child, np.arange(node.n_directions))
        return [[factor.behind(node, columns) for factor in term] for term in terms]
    if not node.children:
        return [[Factor(node, columns)]]
    inner = node.columns_of_children(columns)
    children = [multiplied_out(child, inner) for child in node.children]
    if isinstance(node, nodes.Product):
        return _product(children)
    if isinstance(node, nodes.Power):
        return _product(children * int(node.exponent))
    return list(itertools.chain(*children))


def _check_expandable(node):
    """Refuse a leaf without a spectral density and a power that is no product."""
    if isinstance(node, nodes.Opaque):
        raise ValueError(
            f"Random features need a kernel with a known spectral density. {node.kernel!r} has "
            f"none. {_CURE}"
        )
    if isinstance(node, nodes.Power) and (node.exponent < 0 or node.exponent % 1 != 0):
        raise ValueError(
            f"Random features need powers of kernels to have a whole number as exponent. Got "
            f"{node.exponent}. {_CURE}"
        )


def _product(factors):
    """Multiply sums, given the terms of each of them, and return the terms of the product."""
    return reduce(_multiplied, factors, [[]])


def _multiplied(left, right):
    if len(left) * len(right) > _MAX_TERMS:
        raise ValueError(
            f"Random features need a kernel of at most {_MAX_TERMS} terms when its products and "
            f"powers of sums are multiplied out. Got more. {_CURE}"
        )
    return [a + b for a, b in itertools.product(left, right)]


# ---- One term


@dataclass(frozen=True)
class _Product:
    """A product of leaves: waves are stationary, lines linear, intercepts over categories.

    Each of them is a `Factor`.
    """

    leaves: list
    waves: list
    lines: list
    intercepts: list

    @property
    def is_random(self):
        """True if features are drawn, False if they are exact."""
        return bool(self.waves or self.intercepts)

    @classmethod
    def of(cls, factors):
        waves = [one for one in factors if isinstance(one.leaf, nodes.Stationary)]
        lines = [one for one in factors if isinstance(one.leaf, nodes.Linear | nodes.Lines)]
        intercepts = [one for one in factors if isinstance(one.leaf, CategoricalNode)]
        return cls([one.leaf for one in factors], waves, lines, intercepts)

    @property
    def width(self):
        """Number of entries of the outer product of all vectors (sigma_0, x)."""
        return math.prod(1 + line.n_inputs for line in self.lines)


def _sample_term(p, product, n_features, rng):
    waves, width = product.waves, product.width
    limit = n_features // 2 if waves else n_features
    if width > limit and len(waves) + len(product.lines) > 1:
        raise ValueError(
            f"Random features need a product with DotProduct to have at most {limit} entries, as "
            f"many as there are features or frequencies for it. Got {width} entries. {_CURE}"
        )
    copies = max(1, limit // width) if product.is_random else 1
    count = copies * width
    variance = math.prod(leaf.variance(p) for leaf in product.leaves)
    phases, weight = _sample_phases(p, waves, count, rng) if waves else (None, np.ones(count))
    intercepts = tuple(
        (int(one.columns[0]), one.leaf.covariance(p).drawn(count, rng))
        for one in product.intercepts
    )
    lines = _entries(p, product.lines, count)
    return _Term(np.sqrt(variance / copies * weight), phases, lines, intercepts, count)


def _entries(p, lines, count):
    """Make ``_Term.lines``; features take all combinations of entries in turn."""
    if not lines:
        return ()
    shape = [1 + line.n_inputs for line in lines]
    indices = np.unravel_index(np.arange(count) % math.prod(shape), shape)
    return tuple(
        (partial(_entries_of, p, line), line.columns, index)
        for line, index in zip(lines, indices, strict=True)
    )


def _entries_of(p, line, X):
    """Return vectors of the columns of a linear factor, whose products are its kernel."""
    return line.leaf.entries(p, X if line.weights is None else X @ line.weights(p).T)


def _sample_phases(p, waves, count, rng):
    """Draw columns (c,), center (c,) and frequencies (c, count) of all waves, concatenated.

    An angle is a sum over these columns, so it adds up the angles of the waves. Their weights have
    the mean 1, so that the variance is exact.
    """
    columns = np.concatenate([one.columns for one in waves])
    center = np.concatenate(
        [one.leaf.center if one.center is None else one.center for one in waves]
    )
    drawn = [_sample_frequencies(p, one, count, rng) for one in waves]
    weight = math.prod(weight for _, weight in drawn)
    frequencies = np.concatenate([frequencies for frequencies, _ in drawn])
    return (columns, center, frequencies), weight / np.mean(weight)


def _sample_frequencies(p, wave, count, rng):
    """Draw frequencies per unit of the inputs, (d, count), and their weights, (count,)."""
    leaf, shape = wave.leaf, p[list(wave.leaf.shape)]
    unscaled, weight = DENSITIES[leaf.name](len(leaf.center), count, rng, *shape), np.ones(count)
    if leaf.name == "squared_exponential":
        unscaled, weight = _widened(unscaled, rng)
    with np.errstate(over="ignore", invalid="ignore"):  # of scales of 1e-309: see `_Term._angles`
        frequencies = unscaled / np.reshape(leaf.scales(p), (-1, 1))
        if wave.weights is not None:
            frequencies = wave.weights(p).T @ frequencies
    return frequencies, weight


def _widened(normal, rng):
    """Make some of normal frequencies wider; return them and the ratio of the densities."""
    d, count = normal.shape
    frequencies = normal * np.where(rng.uniform(size=count) < _WIDE_SHARE, _WIDER, 1.0)
    square = (frequencies**2).sum(axis=0)
    log_ratio = 0.5 * (1.0 - _WIDER**-2) * square - d * np.log(_WIDER)
    log_q = np.logaddexp(np.log(1.0 - _WIDE_SHARE), np.log(_WIDE_SHARE) + log_ratio)
    return frequencies, np.exp(-log_q)


# ---- Spectral densities at unit length scale: (d, count, rng, own parameters) -> (d, count)


def _gaussian(d, count, rng):
    return rng.standard_normal((d, count))


def _student_t(d, count, rng, dof):
    """Draw from the spectral density of the Matern kernel with nu = dof / 2."""
    return _gaussian(d, count, rng) / np.sqrt(rng.chisquare(dof, count) / dof)


def _gamma_mixture(d, count, rng, alpha):
    """Draw from squared exponentials mixed over Gamma(alpha, rate alpha): a rational quadratic."""
    return _gaussian(d, count, rng) * np.sqrt(rng.gamma(alpha, 1.0 / alpha, count))


def _harmonics(d, count, rng, length_scale, period):
    """Draw harmonics of the period: j has probability exp(-1/l^2) I_j(1/l^2), over all integers j.

    These probabilities are the Fourier coefficients of exp((cos t - 1) / l^2). They are also
    Skellam's law: the law of the difference of two Poisson numbers of mean 1 / (2 l^2).
    """
    if d != 1:
        raise ValueError(
            f"Random features need ExpSineSquared to see one column, as in "
            f"Columns(ExpSineSquared(), [0]). Got {d} columns. {_CURE}"
        )
    mean = 0.5 / length_scale**2
    j = rng.poisson(mean, (1, count)) - rng.poisson(mean, (1, count))
    return 2.0 * np.pi / period * j


DENSITIES = {
    "squared_exponential": _gaussian,
    "matern12": partial(_student_t, dof=1.0),
    "matern32": partial(_student_t, dof=3.0),
    "matern52": partial(_student_t, dof=5.0),
    "rational_quadratic": _gamma_mixture,
    "periodic": _harmonics,
}
