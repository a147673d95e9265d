"""The node of a kernel over categories, and where its parameters are."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..nodes import Constant, Leaf, Product, Selection, Sum, leaves
from ._covariance import CategoryCovariance, codes_of


class CategoricalNode(Leaf):
    """B = F F' + diag(b) at the codes of one column; see `nodes`.

    Parameters
    ----------
    diagonal, factor : slice
        Slots of b, and of F row by row.
    rank : int
    learned_variance : slice
        Slot of what a category not seen before has alone; see `CategoryCovariance`.
    """

    differentiable_inputs = True  # the gradient in codes is zero
    holds_inputs = True

    def variance(self, p):
        """Return 1, as there is no variance besides F and b."""
        return 1.0

    def __init__(self, diagonal, factor, rank, learned_variance=slice(0, 0)):
        self.diagonal, self.factor, self.rank = diagonal, factor, rank
        self.learned_variance = learned_variance

    def covariance(self, p):
        """Return the `CategoryCovariance`."""
        factor, learned = p[self.factor].reshape(-1, self.rank), p[self.learned_variance]
        return CategoryCovariance(factor, p[self.diagonal], float(learned.sum()))

    def block(self, p, Z, X, direct=False):
        return self.covariance(p).block(codes_of(Z), codes_of(X))

    def blocks(self, p, Z, X, groups):
        return self.covariance(p).blocks(codes_of(Z), codes_of(X), groups)

    def triangles(self, p, X, groups):
        covariance, codes = self.covariance(p), codes_of(X)

        def add_gradient(G, grad):
            self._add(p, grad, *covariance.blocks_vjp(codes, codes, groups, G))

        return covariance.blocks(codes, codes, groups), add_gradient

    def diag(self, p, X):
        return self.covariance(p).diag(codes_of(X))

    def diag_vjp(self, p, X, g, grad):
        self._add(p, grad, *self.covariance(p).diag_vjp(codes_of(X), g))

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        self._add(p, grad, *self.covariance(p).block_vjp(codes_of(Z), codes_of(X), G))

    def _add(self, p, grad, in_b, in_F):
        grad[self.diagonal] += p[self.diagonal] * in_b
        grad[self.factor] += in_F.ravel()


def category_leaves(expression):
    """Return the leaves over categories of a compiled kernel, and the column each of them sees."""
    return [
        (leaf, int(columns[0]))
        for leaf, columns in expression.leaves
        if isinstance(leaf, CategoricalNode)
    ]


def category_slots(expression):
    """Return the places of the parameters of categories among a compiled kernel's free parameters.

    Returns
    -------
    slots : list of (ndarray of int, ndarray of int, float)
        For each kernel over categories: of b, shape (n_categories,), and of F, shape (n_categories,
        rank), each empty where it is fixed; and the mean of b where that is fixed, else 0.
    """
    place = np.cumsum(expression.free) - 1
    slots_of = []
    for leaf, _ in category_leaves(expression):
        diagonal, factor = (
            place[slots][expression.free[slots]] for slots in (leaf.diagonal, leaf.factor)
        )
        fixed = 0.0 if len(diagonal) else float(expression.values[leaf.diagonal].mean())
        slots_of.append((diagonal, factor.reshape(-1, leaf.rank), fixed))
    return slots_of


def of_known_categories(Z, expression):
    """Drop inducing inputs in categories that only later batches of a fit had.

    Their codes are those of any category that the next fit has not seen.
    """
    known = np.ones(len(Z), dtype=bool)
    for leaf, column in category_leaves(expression):
        known &= Z[:, column] < leaf.diagonal.stop - leaf.diagonal.start
    return Z[known]


class CategoryPart(NamedTuple):
    """A summand of a kernel, multiplied out, with a kernel over categories as a factor.

    Attributes
    ----------
    kernel : BoundKernel
        The summand alone.
    leaf : CategoricalNode
    column : int
    covariance : CategoryCovariance
    is_level : bool
        Whether it gives each category a level, and nothing else.
    """

    kernel: object
    leaf: CategoricalNode
    column: int
    covariance: CategoryCovariance
    is_level: bool

    def other_factors(self, X):
        """Return the variances of the other factors at X, (n,)."""
        return self.kernel.diag(X) / self.covariance.diag(codes_of(X[:, [self.column]]))


def learned_parts(kernel):
    """Return each `CategoryPart` of a bound kernel whose categories have something to learn.

    Kernels over categories that were given are none, nor are those within powers.
    """
    expression, parts = kernel.expression, []
    for leaf, column in category_leaves(expression):
        node = _summand_with(expression.node, leaf)
        learns = expression.free[leaf.factor].any() or expression.free[leaf.diagonal].any()
        has_slot = leaf.learned_variance.stop > leaf.learned_variance.start
        if node is None or not (learns and has_slot):
            continue
        every = leaves(node, np.arange(expression.n_features))
        is_level = all(one is leaf or isinstance(one, Constant) for one, _ in every)
        own = replace(kernel, expression=replace(expression, node=node))
        parts.append(CategoryPart(own, leaf, column, leaf.covariance(kernel.values), is_level))
    return parts


def _summand_with(node, leaf):
    """Return the summand of a tree that has a leaf as a factor; None where there is no such."""
    if node is leaf:
        return node
    for child in node.children:
        part = _summand_with(child, leaf)
        if part is not None:
            return _in_place_of(child, part, node)
    return None


def _in_place_of(child, part, node):
    """Return the summand of a node whose child has a part of its own in it."""
    if isinstance(node, Sum):
        return part
    if isinstance(node, Product):
        return Product(*(part if one is child else one for one in node.children))
    return Selection(part, node.columns) if isinstance(node, Selection) else None
