"""The node of a kernel that sees linear combinations of the columns."""

import numpy as np

from ..._linalg import product
from ._leaves import Leaf, leaves, on_and_above
from ._lines import _MOST_SCALES


class Directions(Leaf):
    """k(A x, A z), where k is a kernel of its own: to those who walk the tree this is a leaf.

    Parameters
    ----------
    child : node
        k, which sees a column for each row of A.
    center : ndarray of shape (d,)
        Subtracted from x and z before. Zero where k is not stationary.
    slots : slice
        Of A, row by row.
    n_directions : int
    learns : bool
        Whether A is free.
    is_stationary : bool
        Whether k is.
    """

    def __init__(self, child, center, slots, n_directions, learns, is_stationary):
        self.child, self.center, self.slots = child, center, slots
        self.n_directions, self.learns, self.is_stationary = n_directions, learns, is_stationary

    @property
    def inner(self):
        """The leaves of k, each with the rows of A that it sees."""
        return list(leaves(self.child, np.arange(self.n_directions)))

    @property
    def differentiable_inputs(self):
        return self.child.differentiable_inputs

    @property
    def has_kink(self):
        return any(leaf.has_kink for leaf, _ in self.inner)

    def matrix(self, p):
        """Return A, (k, d)."""
        return p[self.slots].reshape(self.n_directions, -1)

    def metrics(self, p):
        """Return, for each leaf of k that has length scales, A in units of these, (k', d)."""
        A, found = self.matrix(p), []
        for leaf, rows in self.inner:
            if leaf.length_scale is not None:
                scales = np.broadcast_to(p[leaf.length_scale], rows.shape)
                found.append((leaf, A[rows] / scales[:, None]))
            elif isinstance(leaf, Directions):
                found += [(one, own @ A[rows]) for one, own in leaf.metrics(p)]
        return found

    def _centred(self, X):
        return np.ascontiguousarray(X, dtype=np.float64) - self.center

    def _seen(self, p, X):
        """Return what k sees of inputs, (n, k)."""
        A = np.ascontiguousarray(self.matrix(p))
        with np.errstate(over="ignore", invalid="ignore"):
            seen = product(self._centred(X), A, trans_b=True)
        far = {"nan": _MOST_SCALES, "posinf": _MOST_SCALES, "neginf": -_MOST_SCALES}
        seen = np.nan_to_num(seen, copy=False, **far)
        return np.clip(seen, -_MOST_SCALES, _MOST_SCALES, out=seen)

    def _both(self, p, Z, X):
        seen = self._seen(p, Z)
        return seen, seen if X is Z else self._seen(p, X)

    def block(self, p, Z, X, direct=False):
        return self.child.block(p, *self._both(p, Z, X), direct)

    def blocks(self, p, Z, X, groups):
        return self.child.blocks(p, *self._both(p, Z, X), groups)

    def diag(self, p, X):
        return self.child.diag(p, self._seen(p, X))

    def diag_vjp(self, p, X, g, grad):
        seen = self._seen(p, X)
        self.child.diag_vjp(p, seen, g, grad)
        if self.learns and not self.is_stationary:
            each = np.eye(self.n_directions)
            slopes = np.array([self.child.slopes_at(p, seen, one)[1] for one in each])
            grad[self.slots] += (2.0 * (slopes * g) @ self._centred(X)).ravel()

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        seen_Z, seen_X = self._both(p, Z, X)
        if grad_Z is None and not self.learns:
            self.child.block_vjp(p, seen_Z, seen_X, G, grad, None, direct)
            return
        of_X = np.zeros(seen_X.shape)
        of_Z = of_X if direct and X is Z else np.zeros(seen_Z.shape)  # then G is symmetric
        if self.learns and of_Z is not of_X:
            ignored, flipped = np.zeros_like(grad), G.T.copy()
            self.child.block_vjp(p, seen_X, seen_Z, flipped, ignored, of_X, direct)
        self.child.block_vjp(p, seen_Z, seen_X, G, grad, of_Z, direct)
        if self.learns:
            in_matrix = product(of_Z, self._centred(Z), trans_a=True)
            in_matrix += product(of_X, self._centred(X), trans_a=True)
            grad[self.slots] += in_matrix.ravel()
        if grad_Z is not None:
            grad_Z += of_Z @ self.matrix(p)

    def triangles(self, p, X, groups):
        seen = self._seen(p, X)
        K, of_child = self.child.triangles(p, seen, groups)

        def add_gradient(G, grad):
            of_child(G, grad)
            if self.learns:
                self._add_of_triangles(p, X, seen, groups, G, grad)

        return K, add_gradient

    def _add_of_triangles(self, p, X, seen, groups, G, grad):
        """Add the gradient in A of sum(G * K) of entries of triangles."""
        ignored, in_seen = np.zeros_like(grad), np.zeros(seen.shape)
        for rows, _, place in groups:
            inputs, part = seen[rows], np.zeros((len(rows), self.n_directions))
            cotangent = np.zeros((len(rows), len(rows)))
            cotangent[on_and_above(len(rows))] = G[place]
            cotangent += cotangent.T.copy()  # twice that of each entry, as both inputs are rows
            self.child.block_vjp(p, inputs, inputs, cotangent, ignored, part, True)
            np.add.at(in_seen, rows, part)
        grad[self.slots] += product(in_seen, self._centred(X), trans_a=True).ravel()

    def slope_block(self, p, Z, X, column):
        seen_Z, seen_X = self._both(p, Z, X)
        slopes = np.zeros((len(Z), len(X)))
        for i, share in enumerate(self.matrix(p)[:, column]):
            slopes += share * self.child.slope_block(p, seen_Z, seen_X, i)
        return slopes

    def slopes_at(self, p, X, along):
        return self.child.slopes_at(p, self._seen(p, X), self.matrix(p) @ along)
