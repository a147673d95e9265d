"""The expression tree behind a compiled kernel.

Shapes: Z is (m, d), X is (n, d), and d counts the columns that the node sees. Every node has

- ``block(p, Z, X)``, the covariances K(Z, X) of shape (m, n). With ``direct=True``, here and in
  ``block_vjp``, all squared distances are sums of squared differences, which keeps K(Z, Z) exact
  near its diagonal;
- ``blocks(p, Z, X, groups)``, many small blocks in one array, as `Groups` lays them out;
- ``diag(p, X)``, the variances k(x, x) of shape (n,);
- ``diag_vjp(p, X, g, grad)``, which adds the gradient of sum(g * diag) to ``grad``;
- ``block_vjp(p, Z, X, G, grad, grad_Z)``, which adds the gradients of sum(G * K) to ``grad`` and,
  unless it is None, to ``grad_Z`` of shape (m, d). It may overwrite G. The gradient in X is that
  of the transposed block, ``block_vjp(p, X, Z, G.T, ...)``;
- ``triangles(p, X, groups)``, the entries of ``blocks(p, X, X, groups)`` where groups are upper
  triangles, and ``add_gradient(G, grad)``, the reverse mode of just these in theta, to be called
  once: it keeps what both need. It leaves G and the entries as they are;
- ``slope_block(p, Z, X, column)``, the derivatives of K(Z, X) in a column of X, shape (m, n), and
  ``slopes_at(p, X, along)``, three arrays (n,): k(x, x'), its derivative where x moves along a
  vector (d,), and the second one where x and x' both may, all at x' = x. The last is infinite for
  functions without slopes;
- ``children``, empty for a leaf, with which ``leaves`` walks the tree. Nodes with children have
  ``columns_of_children(columns)``.

``p`` and ``grad`` belong to the whole tree: ``p`` holds the natural values of all parameters and
``grad`` the gradient in theta. A node keeps its positions (slots) in them, so a new parameter
vector needs no new tree.
"""

from ._composites import Power, Product, Selection, Sum
from ._directions import Directions
from ._leaves import Constant, Leaf, Linear, Opaque, Stationary, leaves
from ._lines import Lines

__all__ = [
    "Constant",
    "Directions",
    "Leaf",
    "Linear",
    "Lines",
    "Opaque",
    "Power",
    "Product",
    "Selection",
    "Stationary",
    "Sum",
    "leaves",
]
