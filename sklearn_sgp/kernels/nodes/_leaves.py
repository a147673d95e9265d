"""Nodes of a compiled kernel that are no combination of others."""

from math import prod

import numpy as np

from ..._core import _linalg as la
from ..._core import _stationary, _triangles
from ..._core._memory import empty
from ..._linalg import product, transposed

# Squared distances by differences cost about 3 d flops an entry; by GEMM they cost 2 d flops and
# two more passes. Both took the same time at d = 10 (AVX-512) to 15 (baseline).
DIRECT_MAX_FEATURES = 12
_NO_SHAPE = np.ones(2)
# Second derivatives of the profiles in x and x', at x = x', in units of the length scale.
_BENDS = {
    "squared_exponential": lambda shape: 1.0,
    "matern12": lambda shape: np.inf,
    "matern32": lambda shape: 3.0,
    "matern52": lambda shape: 5.0 / 3.0,
    "rational_quadratic": lambda shape: 1.0,
    "periodic": lambda shape: (2.0 * np.pi / (shape[0] * shape[1])) ** 2,
}
_ONE_SCALE = np.ones(1)


def leaves(node, columns):
    """Yield the leaves of a tree, from left to right, and the columns that each of them sees.

    ``columns``, (d,), are those that the root sees.

    Yields
    ------
    leaf, columns
    """
    if not node.children:
        yield node, columns
    for child in node.children:
        yield from leaves(child, node.columns_of_children(columns))


class Leaf:
    """A kernel that is no combination of others."""

    children = ()
    length_scale = None  # slice into p, for leaves that have one
    holds_inputs = False  # whether inducing inputs keep their values in the columns it sees
    has_kink = False  # whether it falls from distance zero on with a slope

    def slope_block(self, p, Z, X, column):
        return np.zeros((len(Z), len(X)))  # of constants, and of categories

    def slopes_at(self, p, X, along):
        return self.diag(p, X), np.zeros(len(X)), np.zeros(len(X))

    def blocks(self, p, Z, X, groups):
        out = empty((groups.bounds[-1],))
        for rows, columns, place in groups:
            if place.start == place.stop:
                continue  # a user's kernel may refuse inputs without rows
            block = self.block(p, Z[rows], X[columns], direct=groups.upper)
            out[place] = block[on_and_above(len(rows))] if groups.upper else block.ravel()
        return out

    def triangles(self, p, X, groups):
        def add_gradient(G, grad):
            self.triangles_vjp(p, X, groups, G.copy(), grad)

        return self.blocks(p, X, X, groups), add_gradient

    def triangles_vjp(self, p, X, groups, G, grad):
        """Add the gradient of sum(G * K) of the entries of ``triangles``; G is overwritten."""
        for rows, _, place in groups:
            if place.start == place.stop:
                continue
            inputs, of_block = X[rows], np.zeros((len(rows), len(rows)))
            of_block[on_and_above(len(rows))] = G[place]
            self.block_vjp(p, inputs, inputs.copy(), of_block, grad, None)


def on_and_above(n):
    """Return a mask of the entries of an (n, n) array on its diagonal or above it."""
    return np.tri(n, dtype=bool).T


class ScaledLeaf(Leaf):
    """A leaf times constants; ``amplitudes`` holds the slots of the constants."""

    amplitudes = ()

    def variance(self, p):
        """Return the product of the constants."""
        return float(prod(p[slot] for slot in self.amplitudes))

    def diag(self, p, X):
        return np.full(len(X), self.variance(p))

    def diag_vjp(self, p, X, g, grad):
        grad[list(self.amplitudes)] += self.variance(p) * g.sum()


class Stationary(ScaledLeaf):
    """variance * profile(|x - z|^2 / length_scale^2), or the periodic kernel of |x - z|."""

    differentiable_inputs = True

    def __init__(self, profile, center, *, kernel_name, length_scale=None, shape=()):
        self.profile = _stationary.PROFILES[profile]
        self.name = profile
        self.kernel_name = kernel_name  # name of the scikit-learn class
        self.center = center
        self.length_scale = length_scale  # None for the periodic kernel
        self.shape = tuple(shape)  # slots of the profile's own parameters
        self.has_kink = profile == "matern12"

    def scales(self, p):
        """Return the length scales, one number or shape (d,)."""
        return 1.0 if self.length_scale is None else p[self.length_scale]

    def _scaled(self, p, X, transposed=False):
        """Return inputs in units of the length scales, (n, d), or (d, n) if ``transposed``."""
        scales = _ONE_SCALE if self.length_scale is None else p[self.length_scale]
        X = np.asarray(X, dtype=np.float64)
        out = empty(X.shape[::-1] if transposed else X.shape)
        _stationary.scale_rows(X, self.center, scales, out.T if transposed else out)
        return out

    def _of_profile(self, p):
        """Return the profile's own parameters."""
        if not self.shape:
            return _NO_SHAPE
        shape = _NO_SHAPE.copy()
        shape[: len(self.shape)] = p[list(self.shape)]
        return shape

    def block(self, p, Z, X, direct=False):
        variance, shape, Zs = self.variance(p), self._of_profile(p), self._scaled(p, Z)
        Xt = self._scaled(p, X, transposed=True)
        out = empty((len(Zs), Xt.shape[1]))  # (m, n)
        lower = direct and X is Z
        direct = direct or Zs.shape[1] <= DIRECT_MAX_FEATURES
        _stationary.value_block(self.profile, Zs, Xt, variance, shape, out, direct, lower)
        if lower:
            la.mirror(out)
        return out

    def blocks(self, p, Z, X, groups):
        variance, shape, Zs = self.variance(p), self._of_profile(p), self._scaled(p, Z)
        Xs = Zs if X is Z else self._scaled(p, X)
        out, direct = empty((groups.bounds[-1],)), Zs.shape[1] <= DIRECT_MAX_FEATURES
        _stationary.value_blocks(
            self.profile, Zs, Xs, *groups.places, variance, shape, out, direct, groups.upper
        )
        return out

    def triangles(self, p, X, groups):
        if self.name not in _triangles.WITH_SLOPES:
            return super().triangles(p, X, groups)
        variance, Xs, index = self.variance(p), self._scaled(p, X), (groups.rows, groups.row_bounds)
        n_values = groups.bounds[-1]
        K, slopes = empty((n_values,)), empty((n_values,))
        _triangles.values_and_slopes(self.profile, Xs, *index, variance, K, slopes)

        def add_gradient(G, grad):
            squares = np.empty(Xs.shape[1])
            by_products = len(squares) > DIRECT_MAX_FEATURES
            total = _triangles.slopes_vjp(Xs, *index, K, slopes, G, squares, by_products)
            grad[list(self.amplitudes)] += total
            self._add_length_scale(grad, squares)

        return K, add_gradient

    def triangles_vjp(self, p, X, groups, G, grad):
        variance, shape, Xs = self.variance(p), self._of_profile(p), self._scaled(p, X)
        sums, per_column = np.empty(3), np.empty(Xs.shape[1])
        index = (groups.rows, groups.row_bounds)
        _triangles.vjp_triangles(self.profile, Xs, *index, variance, shape, G, sums, per_column)
        self._add_values(p, grad, sums)
        self._add_length_scale(grad, per_column)

    def slope_block(self, p, Z, X, column):
        variance, shape = self.variance(p), self._of_profile(p)
        Zs, Xs = self._scaled(p, Z), self._scaled(p, X)
        slopes = np.ones((len(Zs), len(Xs)))  # becomes that in squared distances
        direct, sums = Zs.shape[1] <= DIRECT_MAX_FEATURES, np.empty(3)
        _stationary.vjp_block(
            self.profile, Zs, transposed(Xs), variance, shape, slopes, sums, direct, False
        )
        slopes *= Xs[:, column] - Zs[:, column, None]
        slopes *= 2.0 / self._scale(p, column)
        return slopes

    def slopes_at(self, p, X, along):
        variance, square = self.variance(p), np.sum((along / self.scales(p)) ** 2)
        # functions without slopes have one where nothing moves
        bend = variance * _BENDS[self.name](self._of_profile(p)) * square if square else 0.0
        return np.full(len(X), variance), np.zeros(len(X)), np.full(len(X), bend)

    def _scale(self, p, column):
        scales = np.ravel(self.scales(p))
        return scales[column if len(scales) > 1 else 0]

    def _add_values(self, p, grad, sums):
        """Add the gradients in the variance and in the profile's parameters."""
        grad[list(self.amplitudes)] += sums[0]
        for k, slot in enumerate(self.shape):
            grad[slot] += p[slot] * sums[k + 1]

    def _add_length_scale(self, grad, squares):
        """Add its gradient from sums of dF / d(squared distance) (x - z)^2, one for each column."""
        if self.length_scale is not None:
            target = grad[self.length_scale]
            target += -2.0 * (squares if target.size == len(squares) else squares.sum())

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        variance, shape, Zs = self.variance(p), self._of_profile(p), self._scaled(p, Z)
        Xs = Zs if X is Z else self._scaled(p, X)
        Xt = transposed(Xs)
        lower = direct and X is Z and grad_Z is None  # G is symmetric, for sums half is enough
        direct = direct or Zs.shape[1] <= DIRECT_MAX_FEATURES
        sums = np.empty(3)  # gradients in log variance and in the profile's parameters
        # G becomes W = dF / d(squared distance), (m, n)
        _stationary.vjp_block(self.profile, Zs, Xt, variance, shape, G, sums, direct, lower)
        self._add_values(p, grad, sums)
        if grad_Z is None and self.length_scale is None:
            return
        if lower:
            self._add_length_scale(grad, _squared_differences(G, Zs))
            return
        # Both gradients need W only through its products with x, x^2 and 1: one GEMM.
        d = Zs.shape[1]
        features = np.ones((len(Xs), 2 * d + 1))  # columns x, x^2 and 1
        features[:, :d] = Xs
        np.multiply(Xs, Xs, out=features[:, d : 2 * d])
        products = np.empty((len(Zs), 2 * d + 1))
        la.gemm(G, features, products)
        WX, WX2, row_sums = products[:, :d], products[:, d : 2 * d], products[:, 2 * d :]
        self._add_length_scale(grad, (WX2 - 2.0 * Zs * WX + row_sums * Zs * Zs).sum(axis=0))
        if grad_Z is not None:
            grad_Z += 2.0 * (row_sums * Zs - WX) / self.scales(p)


def _squared_differences(W, X):
    """Sum of W (x - z)^2 over all entries, column by column, both inputs the rows of X: (d,)."""
    ones = np.ones((len(X), 1))
    sums = product(W, ones) + product(W, ones, trans_a=True)  # of rows and columns
    return (sums * X * X - 2.0 * X * product(W, X)).sum(axis=0)


class Linear(ScaledLeaf):
    """variance * (sigma_0^2 + <x, z>)."""

    differentiable_inputs = True

    def __init__(self, sigma_0):
        self.sigma_0 = sigma_0  # slot

    def entries(self, p, X):
        """Return vectors whose products, times the variance, are the kernel: (n, 1 + d)."""
        return np.column_stack([np.full(len(X), p[self.sigma_0]), X])

    def block(self, p, Z, X, direct=False):
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        out = np.full((len(Z), len(X)), p[self.sigma_0] ** 2)  # (m, n)
        la.gemm(Z, np.ascontiguousarray(X, dtype=np.float64), out, trans_b=True, beta=1.0)
        out *= self.variance(p)
        return out

    def diag(self, p, X):
        X = np.asarray(X, dtype=np.float64)
        return self.variance(p) * (p[self.sigma_0] ** 2 + np.einsum("ij,ij->i", X, X))

    def slope_block(self, p, Z, X, column):
        slopes = self.variance(p) * np.asarray(Z, dtype=np.float64)[:, column, None]
        return np.repeat(slopes, len(X), axis=1)

    def slopes_at(self, p, X, along):
        variance = self.variance(p)
        slope = variance * (np.asarray(X, dtype=np.float64) @ along)
        return self.diag(p, X), slope, np.full(len(X), variance * (along @ along))

    def diag_vjp(self, p, X, g, grad):
        grad[list(self.amplitudes)] += self.diag(p, X) @ g
        grad[self.sigma_0] += 2.0 * self.variance(p) * p[self.sigma_0] ** 2 * g.sum()

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        X = np.ascontiguousarray(X, dtype=np.float64)
        variance, total = self.variance(p), G.sum()
        GX = np.empty_like(Z)  # (m, d)
        la.gemm(G, X, GX)
        grad[list(self.amplitudes)] += variance * (p[self.sigma_0] ** 2 * total + (GX * Z).sum())
        grad[self.sigma_0] += 2.0 * variance * p[self.sigma_0] ** 2 * total
        if grad_Z is not None:
            grad_Z += variance * GX


class Constant(ScaledLeaf):
    """variance, for all x and z."""

    differentiable_inputs = True

    def __init__(self, amplitudes):
        self.amplitudes = tuple(amplitudes)

    def block(self, p, Z, X, direct=False):
        return np.full((len(Z), len(X)), self.variance(p))

    def blocks(self, p, Z, X, groups):
        return np.full(groups.bounds[-1], self.variance(p))

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        grad[list(self.amplitudes)] += self.variance(p) * G.sum()

    def triangles_vjp(self, p, X, groups, G, grad):
        grad[list(self.amplitudes)] += self.variance(p) * G.sum()


class Opaque(Leaf):
    """A kernel of unknown formula: its own code gives values, differences give gradients."""

    differentiable_inputs = False
    step = 1e-5  # in log parameters; the truncation error is of the order of its square

    def __init__(self, kernel, slots):
        self.kernel, self.slots = kernel, slots

    def _at(self, p, index=None, shift=0.0):
        """Return the scikit-learn kernel at ``p``, with one log parameter shifted if asked for."""
        theta = np.log(p[self.slots])
        if index is not None:
            theta[index] += shift
        return self.kernel.clone_with_theta(theta)

    def block(self, p, Z, X, direct=False):
        K = self._at(p)(np.asarray(Z, dtype=np.float64), np.asarray(X, dtype=np.float64))
        return np.array(K, dtype=np.float64, order="C")

    def diag(self, p, X):
        return np.array(self._at(p).diag(np.asarray(X, dtype=np.float64)), dtype=np.float64)

    def _differences(self, p, grad, inner):
        """Add the gradient of ``inner(kernel)``, a number, to ``grad``."""
        for k, slot in enumerate(range(self.slots.start, self.slots.stop)):
            ends = (inner(self._at(p, k, shift)) for shift in (self.step, -self.step))
            grad[slot] += (next(ends) - next(ends)) / (2.0 * self.step)

    def diag_vjp(self, p, X, g, grad):
        X = np.asarray(X, dtype=np.float64)
        self._differences(p, grad, lambda kernel: kernel.diag(X) @ g)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        Z, X = np.asarray(Z, dtype=np.float64), np.asarray(X, dtype=np.float64)
        self._differences(p, grad, lambda kernel: np.vdot(kernel(Z, X), G))
