"""Nodes of a compiled kernel that are made of others; the package says what every node has."""

import numpy as np

from ..._core._memory import empty


def _times(bend, k):
    """Return the product where k may be zero and a second derivative infinite."""
    return np.where(k == 0.0, 0.0, bend) * k


class _Composite:
    """A kernel made of others, its ``children``."""

    @property
    def differentiable_inputs(self):
        return all(child.differentiable_inputs for child in self.children)

    def columns_of_children(self, columns):
        """Return the columns that the children see, given the columns that this node sees."""
        return columns


class _Pair(_Composite):
    """Two kernels, whose entries ``_join`` makes one, np.add or np.multiply."""

    def __init__(self, left, right):
        self.left, self.right = self.children = left, right

    def block(self, p, Z, X, direct=False):
        K = self.left.block(p, Z, X, direct)
        return self._join(K, self.right.block(p, Z, X, direct), out=K)

    def blocks(self, p, Z, X, groups):
        K = self.left.blocks(p, Z, X, groups)
        return self._join(K, self.right.blocks(p, Z, X, groups), out=K)

    def diag(self, p, X):
        return self._join(self.left.diag(p, X), self.right.diag(p, X))


class Sum(_Pair):
    """k1 + k2."""

    _join = np.add

    def triangles(self, p, X, groups):
        K, of_left = self.left.triangles(p, X, groups)
        other, of_right = self.right.triangles(p, X, groups)

        def add_gradient(G, grad):
            of_left(G, grad)
            of_right(G, grad)

        return np.add(K, other, out=empty(K.shape)), add_gradient

    def diag_vjp(self, p, X, g, grad):
        self.left.diag_vjp(p, X, g, grad)
        self.right.diag_vjp(p, X, g, grad)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        self.left.block_vjp(p, Z, X, G.copy(), grad, grad_Z, direct)
        self.right.block_vjp(p, Z, X, G, grad, grad_Z, direct)

    def slope_block(self, p, Z, X, column):
        slopes = self.left.slope_block(p, Z, X, column)
        slopes += self.right.slope_block(p, Z, X, column)
        return slopes

    def slopes_at(self, p, X, along):
        left, right = (child.slopes_at(p, X, along) for child in self.children)
        return tuple(a + b for a, b in zip(left, right, strict=True))


class Product(_Pair):
    """k1 * k2."""

    _join = np.multiply

    def triangles(self, p, X, groups):
        K, of_left = self.left.triangles(p, X, groups)
        other, of_right = self.right.triangles(p, X, groups)

        def add_gradient(G, grad):
            of_left(np.multiply(G, other, out=empty(G.shape)), grad)
            of_right(np.multiply(G, K, out=empty(G.shape)), grad)

        return np.multiply(K, other, out=empty(K.shape)), add_gradient

    def diag_vjp(self, p, X, g, grad):
        self.left.diag_vjp(p, X, g * self.right.diag(p, X), grad)
        self.right.diag_vjp(p, X, g * self.left.diag(p, X), grad)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        cotangent = self.right.block(p, Z, X, direct)
        cotangent *= G
        G *= self.left.block(p, Z, X, direct)
        self.left.block_vjp(p, Z, X, cotangent, grad, grad_Z, direct)
        self.right.block_vjp(p, Z, X, G, grad, grad_Z, direct)

    def slope_block(self, p, Z, X, column):
        slopes = self.left.slope_block(p, Z, X, column) * self.right.block(p, Z, X)
        slopes += self.left.block(p, Z, X) * self.right.slope_block(p, Z, X, column)
        return slopes

    def slopes_at(self, p, X, along):
        (k1, g1, s1), (k2, g2, s2) = (child.slopes_at(p, X, along) for child in self.children)
        bend = _times(s1, k2) + 2.0 * g1 * g2 + _times(s2, k1)
        return k1 * k2, g1 * k2 + k1 * g2, bend


class Power(_Composite):
    """k ** exponent."""

    def __init__(self, child, exponent):
        self.child, self.children = child, (child,)
        self.exponent = exponent

    def block(self, p, Z, X, direct=False):
        return self.child.block(p, Z, X, direct) ** self.exponent

    def blocks(self, p, Z, X, groups):
        return self.child.blocks(p, Z, X, groups) ** self.exponent

    def triangles(self, p, X, groups):
        K, of_child = self.child.triangles(p, X, groups)
        return K**self.exponent, lambda G, grad: of_child(G * self._slope(K), grad)

    def diag(self, p, X):
        return self.child.diag(p, X) ** self.exponent

    def _slope(self, K):
        """Return the derivative of the power at K."""
        if self.exponent < 1:
            # K and its derivative underflow to 0 for distant inputs; the slope there must be finite
            K = np.where(K == 0.0, np.inf, K)
        return self.exponent * K ** (self.exponent - 1)

    def slope_block(self, p, Z, X, column):
        slopes = self.child.slope_block(p, Z, X, column)
        slopes *= self._slope(self.child.block(p, Z, X))
        return slopes

    def slopes_at(self, p, X, along):
        k, g, s = self.child.slopes_at(p, X, along)
        e, slope = self.exponent, self._slope(k)
        # a power below 0 of what has underflowed, where the power itself is of no size
        base = k if e >= 2 else np.where(k > 0.0, k, np.inf)
        bend = e * (e - 1) * base ** (e - 2) if e != 1 else 0.0
        return k**e, slope * g, _times(s, slope) + bend * g**2

    def diag_vjp(self, p, X, g, grad):
        self.child.diag_vjp(p, X, g * self._slope(self.child.diag(p, X)), grad)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        G *= self._slope(self.child.block(p, Z, X, direct))
        self.child.block_vjp(p, Z, X, G, grad, grad_Z, direct)


class Selection(_Composite):
    """A kernel on some of the columns."""

    def __init__(self, child, columns):
        self.child, self.children = child, (child,)
        self.columns = list(columns)

    def columns_of_children(self, columns):
        return columns[self.columns]

    def block(self, p, Z, X, direct=False):
        return self.child.block(p, Z[:, self.columns], X[:, self.columns], direct)

    def blocks(self, p, Z, X, groups):
        return self.child.blocks(p, Z[:, self.columns], X[:, self.columns], groups)

    def triangles(self, p, X, groups):
        return self.child.triangles(p, X[:, self.columns], groups)

    def diag(self, p, X):
        return self.child.diag(p, X[:, self.columns])

    def slope_block(self, p, Z, X, column):
        Z, X = Z[:, self.columns], X[:, self.columns]
        slopes = np.zeros((len(Z), len(X)))
        for k in np.flatnonzero(np.equal(self.columns, column)):  # a column may come twice
            slopes += self.child.slope_block(p, Z, X, k)
        return slopes

    def slopes_at(self, p, X, along):
        return self.child.slopes_at(p, X[:, self.columns], along[self.columns])

    def diag_vjp(self, p, X, g, grad):
        self.child.diag_vjp(p, X[:, self.columns], g, grad)

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        Z, X = Z[:, self.columns], X[:, self.columns]
        part = None if grad_Z is None else np.zeros(Z.shape)
        self.child.block_vjp(p, Z, X, G, grad, part, direct)
        if part is not None:
            np.add.at(grad_Z, (slice(None), self.columns), part)  # a column may come twice
