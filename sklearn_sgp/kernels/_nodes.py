"""The expression tree behind a compiled kernel.

Every node evaluates blocks K(Z, X) of shape (m, n) and pulls cotangents back onto the natural
logarithms of its parameters and onto Z. Parameters live in one vector ``p`` of natural values that
all nodes of a tree index into, so that a new parameter vector needs no new tree.

``G`` is consumed: a node may overwrite the cotangent it is given. The gradient in X is that of the
transposed block, ``block_vjp(p, X, Z, G.T)``.
"""

from math import prod

import numpy as np

from .._core import _linalg as la
from .._core import _stationary
from .._core._memory import empty

# Squared distances by differences cost about 3 d flops an entry, by GEMM 2 d and two more passes:
# measured to meet at d = 10 (AVX-512) to 15 (baseline).
DIRECT_MAX_FEATURES = 12
_NO_SHAPE = np.ones(2)


class Stationary:
    """variance * profile(|x - z|^2 / length_scale^2), or the periodic kernel of |x - z|."""

    differentiable_inputs = True

    def __init__(self, profile, center, *, length_scale=None, shape=()):
        self.profile = _stationary.PROFILES[profile]
        self.name = profile
        self.center = center
        self.n_columns = len(center)
        self.length_scale = length_scale  # slice into p, None for the periodic kernel
        self.shape = tuple(shape)  # slots of the profile's own parameters
        self.amplitudes = ()  # slots of constants multiplied in

    def scales(self, p):
        return 1.0 if self.length_scale is None else p[self.length_scale]

    def variance(self, p):
        return float(prod(p[slot] for slot in self.amplitudes))

    def _scaled(self, p, X):
        return (np.asarray(X, dtype=np.float64) - self.center) / self.scales(p)

    def _arguments(self, p, Z, X):
        shape = _NO_SHAPE.copy()
        shape[: len(self.shape)] = p[list(self.shape)]
        Zs = np.ascontiguousarray(self._scaled(p, Z))
        Xs = self._scaled(p, X)
        return Zs, Xs, np.ascontiguousarray(Xs.T), self.variance(p), shape

    def block(self, p, Z, X, direct=False):
        Zs, _, Xt, variance, shape = self._arguments(p, Z, X)
        out = empty((len(Zs), Xt.shape[1]))
        direct = direct or Zs.shape[1] <= DIRECT_MAX_FEATURES
        _stationary.value_block(self.profile, Zs, Xt, variance, shape, out, direct)
        return out

    def diag(self, p, X):
        return np.full(len(X), self.variance(p))

    def diag_vjp(self, p, X, g, grad):
        grad[list(self.amplitudes)] += self.variance(p) * g.sum()

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        Zs, Xs, Xt, variance, shape = self._arguments(p, Z, X)
        direct = direct or Zs.shape[1] <= DIRECT_MAX_FEATURES
        sums = np.empty(3)
        _stationary.vjp_block(self.profile, Zs, Xt, variance, shape, G, sums, direct)
        grad[list(self.amplitudes)] += sums[0]
        for k, slot in enumerate(self.shape):
            grad[slot] += p[slot] * sums[k + 1]
        if grad_Z is None and self.length_scale is None:
            return
        # With W = dF/dr2 all that is left of it are its products with x, x^2 and 1.
        d = Zs.shape[1]
        features = np.ones((len(Xs), 2 * d + 1))
        features[:, :d] = Xs
        np.multiply(Xs, Xs, out=features[:, d : 2 * d])
        products = np.empty((len(Zs), 2 * d + 1))
        la.gemm(G, features, products)
        WX, WX2, row_sums = products[:, :d], products[:, d : 2 * d], products[:, 2 * d :]
        if self.length_scale is not None:
            per_column = -2.0 * (WX2 - 2.0 * Zs * WX + row_sums * Zs * Zs).sum(axis=0)
            target = grad[self.length_scale]
            target += per_column if target.size == d else per_column.sum()
        if grad_Z is not None:
            grad_Z += 2.0 * (row_sums * Zs - WX) / self.scales(p)


class Linear:
    """variance * (sigma_0^2 + <x, z>)."""

    differentiable_inputs = True
    name = "linear"

    def __init__(self, sigma_0, n_columns):
        self.sigma_0 = sigma_0
        self.n_columns = n_columns
        self.amplitudes = ()

    variance = Stationary.variance

    def block(self, p, Z, X, direct=False):
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        out = np.full((len(Z), len(X)), p[self.sigma_0] ** 2)
        la.gemm(Z, np.ascontiguousarray(X, dtype=np.float64), out, trans_b=True, beta=1.0)
        out *= self.variance(p)
        return out

    def diag(self, p, X):
        X = np.asarray(X, dtype=np.float64)
        return self.variance(p) * (p[self.sigma_0] ** 2 + np.einsum("ij,ij->i", X, X))

    def diag_vjp(self, p, X, g, grad):
        grad[list(self.amplitudes)] += self.diag(p, X) @ g
        grad[self.sigma_0] += 2.0 * self.variance(p) * p[self.sigma_0] ** 2 * g.sum()

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        X = np.ascontiguousarray(X, dtype=np.float64)
        variance, total = self.variance(p), G.sum()
        GX = np.empty_like(Z)
        la.gemm(G, X, GX)
        grad[list(self.amplitudes)] += variance * (p[self.sigma_0] ** 2 * total + (GX * Z).sum())
        grad[self.sigma_0] += 2.0 * variance * p[self.sigma_0] ** 2 * total
        if grad_Z is not None:
            grad_Z += variance * GX


class Constant:
    """The product of some parameters, everywhere."""

    differentiable_inputs = True
    name = "constant"

    def __init__(self, amplitudes):
        self.amplitudes = tuple(amplitudes)

    variance = Stationary.variance

    def block(self, p, Z, X, direct=False):
        return np.full((len(Z), len(X)), self.variance(p))

    def diag(self, p, X):
        return np.full(len(X), self.variance(p))

    def diag_vjp(self, p, X, g, grad):
        grad[list(self.amplitudes)] += self.variance(p) * g.sum()

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        grad[list(self.amplitudes)] += self.variance(p) * G.sum()


class _Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right
        self.differentiable_inputs = left.differentiable_inputs and right.differentiable_inputs


class Sum(_Pair):
    """k1 + k2."""

    def block(self, p, Z, X, direct=False):
        K = self.left.block(p, Z, X, direct)
        K += self.right.block(p, Z, X, direct)
        return K

    def diag(self, p, X):
        return self.left.diag(p, X) + self.right.diag(p, X)

    def diag_vjp(self, p, X, g, grad):
        self.left.diag_vjp(p, X, g, grad)
        self.right.diag_vjp(p, X, g, grad)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        self.left.block_vjp(p, Z, X, G.copy(), grad, grad_Z, direct)
        self.right.block_vjp(p, Z, X, G, grad, grad_Z, direct)


class Product(_Pair):
    """k1 * k2."""

    def block(self, p, Z, X, direct=False):
        K = self.left.block(p, Z, X, direct)
        K *= self.right.block(p, Z, X, direct)
        return K

    def diag(self, p, X):
        return self.left.diag(p, X) * self.right.diag(p, X)

    def diag_vjp(self, p, X, g, grad):
        self.left.diag_vjp(p, X, g * self.right.diag(p, X), grad)
        self.right.diag_vjp(p, X, g * self.left.diag(p, X), grad)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        cotangent = self.right.block(p, Z, X, direct)
        cotangent *= G
        G *= self.left.block(p, Z, X, direct)
        self.left.block_vjp(p, Z, X, cotangent, grad, grad_Z, direct)
        self.right.block_vjp(p, Z, X, G, grad, grad_Z, direct)


class Power:
    """k ** exponent."""

    def __init__(self, child, exponent):
        self.child, self.exponent = child, exponent
        self.differentiable_inputs = child.differentiable_inputs

    def block(self, p, Z, X, direct=False):
        return self.child.block(p, Z, X, direct) ** self.exponent

    def diag(self, p, X):
        return self.child.diag(p, X) ** self.exponent

    def _slope(self, K):
        if self.exponent < 1:
            # far apart K and its derivative are 0, where the slope must not be infinite
            K = np.where(K == 0.0, np.inf, K)
        return self.exponent * K ** (self.exponent - 1)

    def diag_vjp(self, p, X, g, grad):
        self.child.diag_vjp(p, X, g * self._slope(self.child.diag(p, X)), grad)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        G *= self._slope(self.child.block(p, Z, X, direct))
        self.child.block_vjp(p, Z, X, G, grad, grad_Z, direct)


class Selection:
    """A kernel on some of the columns."""

    def __init__(self, child, columns):
        self.child, self.columns = child, list(columns)
        self.differentiable_inputs = child.differentiable_inputs

    def block(self, p, Z, X, direct=False):
        return self.child.block(p, Z[:, self.columns], X[:, self.columns], direct)

    def diag(self, p, X):
        return self.child.diag(p, X[:, self.columns])

    def diag_vjp(self, p, X, g, grad):
        self.child.diag_vjp(p, X[:, self.columns], g, grad)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        Z, X = Z[:, self.columns], X[:, self.columns]
        part = None if grad_Z is None else np.zeros((len(Z), len(self.columns)))
        self.child.block_vjp(p, Z, X, G, grad, part, direct)
        if part is not None:
            np.add.at(grad_Z, (slice(None), self.columns), part)


class Opaque:
    """A kernel we know nothing about: values by its own code, gradients by central differences."""

    differentiable_inputs = False
    step = 1e-5  # in log parameters; the truncation error is of the order of its square

    def __init__(self, kernel, slots):
        self.kernel, self.slots = kernel, slots

    def _at(self, p, index=None, shift=0.0):
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
        for k in range(self.slots.stop - self.slots.start):
            ends = (inner(self._at(p, k, shift)) for shift in (self.step, -self.step))
            grad[self.slots.start + k] += (next(ends) - next(ends)) / (2.0 * self.step)

    def diag_vjp(self, p, X, g, grad):
        X = np.asarray(X, dtype=np.float64)
        self._differences(p, grad, lambda kernel: kernel.diag(X) @ g)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        Z, X = np.asarray(Z, dtype=np.float64), np.asarray(X, dtype=np.float64)
        self._differences(p, grad, lambda kernel: np.vdot(kernel(Z, X), G))
