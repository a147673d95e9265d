"""A compiled kernel: the interface through which models see covariance functions.

A model asks for K(Z, X), K(Z, Z) and the diagonal of K(X, X). It hands in the cotangent G of one of
them, the gradient of its objective F in each entry, and gets the gradients of F in the free
parameters (scikit-learn's ``theta``, mostly logarithms) and in Z. The model never sees a formula.
`Groups` say which rows meet which in many small blocks that are made together.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .nodes import Sum, leaves


@dataclass(frozen=True)
class KernelExpression:
    """The structure of a kernel, without values for its free parameters.

    Parameters
    ----------
    kernel : Kernel
        The scikit-learn kernel, without white noise.
    node : node
        Root of the expression tree (see ``nodes``).
    values : ndarray of shape (n_values,)
        Natural values of all parameters, fixed ones included.
    free : ndarray of bool, shape (n_values,)
        Which parameters are free, in scikit-learn's order: theta has their logarithms.
    n_features : int
        Number of columns of the inputs.
    signed : ndarray of bool, shape (n_values,)
        Which parameters may be negative: theta has these as they are.
    """

    kernel: object
    node: object
    values: np.ndarray
    free: np.ndarray
    n_features: int
    signed: np.ndarray

    @property
    def theta(self):
        """Free parameters of the scikit-learn kernel, mostly as logarithms, shape (n_theta,)."""
        return self.theta_of(self.values)

    def theta_of(self, values):
        """Return theta from the natural values of all parameters."""
        theta, is_log = values[self.free], ~self.signed[self.free]
        theta[is_log] = np.log(theta[is_log])
        return theta

    @property
    def leaves(self):
        """An iterator of the leaves and the columns that each of them sees."""
        return leaves(self.node, np.arange(self.n_features))

    @cached_property
    def held_columns(self):
        """Columns in which inducing inputs stay where they are, such as those of categories."""
        held = [columns for leaf, columns in self.leaves if leaf.holds_inputs]
        return np.unique(np.concatenate([np.empty(0, dtype=np.intp), *held]))

    @property
    def differentiable_inputs(self):
        """True if the gradient in Z is available."""
        return self.node.differentiable_inputs

    @cached_property
    def has_kink(self):
        """True if covariances fall from distance zero on with a slope, as those of Matern-1/2."""
        return any(leaf.has_kink for leaf, _ in self.leaves)

    @property
    def summands(self):
        """Nodes of the terms of a sum, in its order; the root alone where it is none."""
        return _summands(self.node)

    def bind(self, theta):
        """Return the kernel at the free log parameters ``theta``."""
        values = self.values.copy()
        is_log, natural = ~self.signed[self.free], np.array(theta, dtype=np.float64)
        natural[is_log] = np.exp(natural[is_log])
        values[self.free] = natural
        return BoundKernel(self, values)


@dataclass(frozen=True)
class BoundKernel:
    """A compiled kernel at given parameters. It is immutable, so threads may share it."""

    expression: KernelExpression
    values: np.ndarray

    @property
    def theta(self):
        """Free parameters, mostly as logarithms, shape (n_theta,)."""
        return self.expression.theta_of(self.values)

    @property
    def sklearn_kernel(self):
        """The same kernel as a scikit-learn object."""
        return self.expression.kernel.clone_with_theta(self.theta)

    def block(self, Z, X):
        """Compute K(Z, X), shape (m, n), C order."""
        return self.expression.node.block(self.values, _read(Z), _read(X))

    def gram(self, Z):
        """Compute K(Z, Z), shape (m, m), exactly symmetric, with distances from differences."""
        Z = _read(Z)
        K = self.expression.node.block(self.values, Z, Z, direct=True)
        la.mirror(K)
        return K

    def blocks(self, Z, X, groups):
        """Compute K(Z[rows], X[columns]) of each group, the entries of all of them in one array.

        Returns
        -------
        values : ndarray of shape (n_values,)
            Row by row, one group after the other.
        """
        return self.expression.node.blocks(self.values, _read(Z), _read(X), groups)

    def diag(self, X):
        """Compute k(x, x) of each row, shape (n,)."""
        return self.expression.node.diag(self.values, _read(X))

    def block_vjp(self, Z, X, G, with_inputs=True, direct=False):
        """Compute the gradients of sum(G * K(Z, X)) in theta and in Z.

        ``block_vjp(X, Z, G.T)`` gives the gradient in X.

        Parameters
        ----------
        G : ndarray of shape (m, n)
            The cotangent. It may be overwritten.
        with_inputs : bool, default=True
            Whether to compute the gradient in Z.
        direct : bool, default=False
            Whether distances are sums of squared differences, whatever the number of columns.

        Returns
        -------
        grad_theta : ndarray of shape (n_theta,)
        grad_Z : ndarray of shape (m, d), or None
            None without ``with_inputs``, and for kernels that do not have this gradient.
        """
        grad = np.zeros_like(self.values)
        with_inputs = with_inputs and self.expression.differentiable_inputs
        grad_Z = np.zeros(Z.shape) if with_inputs else None
        node, Z, X = self.expression.node, _read(Z), _read(X)
        node.block_vjp(self.values, Z, X, np.ascontiguousarray(G), grad, grad_Z, direct=direct)
        return grad[self.expression.free], grad_Z

    def gram_vjp(self, Z, G, with_inputs=True):
        """Compute the gradients of sum(G * K(Z, Z)), with G symmetric, as ``block_vjp``."""
        grad_theta, grad_Z = self.block_vjp(Z, Z, G, with_inputs, direct=True)
        if grad_Z is not None:
            grad_Z *= 2.0  # both arguments are Z, and G and K are symmetric
        return grad_theta, grad_Z

    def triangles(self, X, groups):
        """Compute upper triangles of K(X[rows], X[rows]), and a function for their gradient.

        Returns
        -------
        values : ndarray of shape (n_values,)
            As ``blocks`` has the entries; they must stay as they are.
        gradient : callable
            ``gradient(G)``, to be called once, returns the gradient of sum(G * values) in theta.
        """
        values, add_gradient = self.expression.node.triangles(self.values, _read(X), groups)

        def gradient(G):
            grad = np.zeros_like(self.values)
            add_gradient(G, grad)
            return grad[self.expression.free]

        return values, gradient

    def slope_block(self, Z, X, column):
        """Compute the derivatives of K(Z, X) in a column of X, shape (m, n)."""
        return self.expression.node.slope_block(self.values, _read(Z), _read(X), column)

    def slope_variance(self, X, column):
        """Compute variances of slopes, (n,), infinite where the process has none."""
        along = np.zeros(self.expression.n_features)
        along[column] = 1.0
        return self.expression.node.slopes_at(self.values, _read(X), along)[2]

    def terms(self):
        """Return the terms of a kernel that is a sum, as kernels of the same inputs, or itself."""
        every = self.expression.summands
        return [BoundKernel(replace(self.expression, node=node), self.values) for node in every]

    def diag_vjp(self, X, g):
        """Compute the gradient of sum(g * diag K(X, X)) in theta, shape (n_theta,).

        There is no gradient in X. The diagonal of a stationary kernel has none; a model that moves
        rows under a kernel with ``DotProduct``, whose diagonal depends on X, would have to add it.
        """
        grad = np.zeros_like(self.values)
        self.expression.node.diag_vjp(self.values, _read(X), g, grad)
        return grad[self.expression.free]


def _summands(node):
    if isinstance(node, Sum):
        return [*_summands(node.left), *_summands(node.right)]
    return [node]


def _read(X):
    """Return the inputs as an array, also those that are never copied as a whole."""
    return X if isinstance(X, np.ndarray) else np.asarray(X)


@dataclass(frozen=True)
class Groups:
    """Rows and columns of small blocks, and where their entries are in one array.

    Parameters
    ----------
    rows, columns : ndarray of int
        Rows of Z and rows of X, those of one group after those of the other.
    row_bounds, column_bounds : ndarray of int, shape (g + 1,)
        Where those of each group begin, and their end.
    upper : bool
        Whether of each block, which is square and symmetric, only the upper triangle is kept.
    """

    rows: np.ndarray
    columns: np.ndarray
    row_bounds: np.ndarray
    column_bounds: np.ndarray
    upper: bool = False

    @classmethod
    def of(cls, rows, columns):
        """Make groups from a list of index arrays for Z, and one for X."""
        (index, bounds), (others, ends) = _concatenated(rows), _concatenated(columns)
        return cls(index, others, bounds, ends)

    @classmethod
    def whole(cls, m, n):
        """Make the one group of all m rows of Z and all n of X."""
        index, others = np.arange(m, dtype=np.intp), np.arange(n, dtype=np.intp)
        return cls(index, others, np.array([0, m], dtype=np.intp), np.array([0, n], dtype=np.intp))

    @classmethod
    def triangles(cls, rows):
        """Make groups of the upper triangles of the kernel matrices of some rows."""
        index, bounds = _concatenated(rows)
        return cls(index, index, bounds, bounds, True)

    @cached_property
    def bounds(self):
        """Bounds of the entries of each group, shape (g + 1,)."""
        m, n = np.diff(self.row_bounds), np.diff(self.column_bounds)
        return np.append(0, np.cumsum(m * (m + 1) // 2 if self.upper else m * n))

    @property
    def places(self):
        """Rows and columns, and the bounds of both."""
        return self.rows, self.columns, self.row_bounds, self.column_bounds

    def __len__(self):
        return len(self.row_bounds) - 1

    def __iter__(self):
        """Yield rows, columns and the slice of the entries of each group."""
        for g in range(len(self)):
            rows = self.rows[self.row_bounds[g] : self.row_bounds[g + 1]]
            columns = self.columns[self.column_bounds[g] : self.column_bounds[g + 1]]
            yield rows, columns, slice(self.bounds[g], self.bounds[g + 1])


def _concatenated(parts):
    bounds = np.append(0, np.cumsum([len(part) for part in parts], dtype=np.intp))
    return np.concatenate([np.empty(0, dtype=np.intp), *parts]), bounds.astype(np.intp)
