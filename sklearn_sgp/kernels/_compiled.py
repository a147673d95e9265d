"""A compiled kernel: the interface through which models see covariance functions.

Models hand over cotangents of K(Z, Z), K(Z, X) and diag K(X, X) and get gradients in the free
log parameters (scikit-learn's ``theta``) and in Z; they never see a formula.
"""

from dataclasses import dataclass

import numpy as np

from .._core import _linalg as la


@dataclass(frozen=True)
class KernelExpression:
    """The structure of a kernel, without values for its free parameters.

    Parameters
    ----------
    kernel : Kernel
        The scikit-learn kernel it was compiled from (noise taken out).
    node : object
        Root of the expression tree (see ``_nodes.py``).
    values : ndarray of shape (n_values,)
        All parameters, natural values, fixed ones included.
    free : ndarray of bool, shape (n_values,)
        Which of them are free; the free ones are ``exp(theta)``, in scikit-learn's order.
    """

    kernel: object
    node: object
    values: np.ndarray
    free: np.ndarray

    @property
    def theta(self):
        """Natural logarithms of the free parameters at the start."""
        return np.log(self.values[self.free])

    @property
    def differentiable_inputs(self):
        """Whether the gradient in Z is available."""
        return self.node.differentiable_inputs

    def bind(self, theta):
        """Kernel with the free log parameters ``theta``."""
        values = self.values.copy()
        values[self.free] = np.exp(theta)
        return BoundKernel(self, values)


@dataclass(frozen=True)
class BoundKernel:
    """A compiled kernel with its parameters; immutable, safe to share between threads."""

    expression: KernelExpression
    values: np.ndarray

    @property
    def theta(self):
        return np.log(self.values[self.expression.free])

    @property
    def sklearn_kernel(self):
        """The same kernel as a scikit-learn object."""
        return self.expression.kernel.clone_with_theta(self.theta)

    def block(self, Z, X):
        """K(Z, X), shape (m, n), C order."""
        return self.expression.node.block(self.values, Z, X)

    def gram(self, Z):
        """K(Z, Z), shape (m, m), by differences; exactly symmetric."""
        K = self.expression.node.block(self.values, Z, Z, direct=True)
        la.mirror(K)
        return K

    def diag(self, X):
        """k(x, x) for each row, shape (n,)."""
        return self.expression.node.diag(self.values, X)

    def block_vjp(self, Z, X, G, with_inputs=True):
        """Pull the cotangent G of K(Z, X) back; G is overwritten.

        Returns
        -------
        grad_theta : ndarray of shape (n_theta,)
        grad_Z : ndarray of shape (m, d), or None
            The gradient in X is that of the transposed block: ``block_vjp(X, Z, G.T)``.
        """
        return self._vjp(Z, X, G, with_inputs, direct=False)

    def gram_vjp(self, Z, G, with_inputs=True):
        """Pull the symmetric cotangent G of K(Z, Z) back; G is overwritten."""
        grad_theta, grad_Z = self._vjp(Z, Z, G, with_inputs, direct=True)
        if grad_Z is not None:
            grad_Z *= 2.0  # both arguments move, and G and K are symmetric
        return grad_theta, grad_Z

    def diag_vjp(self, X, g):
        """Pull the cotangent g of diag K(X, X) back onto theta.

        The diagonal of a stationary kernel does not depend on X, and no model moves data rows, so
        there is no gradient in X.
        """
        grad = np.zeros_like(self.values)
        self.expression.node.diag_vjp(self.values, X, g, grad)
        return grad[self.expression.free]

    def _vjp(self, Z, X, G, with_inputs, direct):
        grad = np.zeros_like(self.values)
        with_inputs = with_inputs and self.expression.differentiable_inputs
        grad_Z = np.zeros(Z.shape) if with_inputs else None
        node = self.expression.node
        node.block_vjp(self.values, Z, X, np.ascontiguousarray(G), grad, grad_Z, direct=direct)
        return grad[self.expression.free], grad_Z
