"""Covariance functions: scikit-learn kernel objects, compiled to blocks of K and their gradients.

The folder imports only ``_core``, ``_linalg``, ``_warnings`` and ``_compat`` of the package, and
every folder that computes with a Gaussian process imports it.
"""

from ._additive import additive
from ._columns import Columns
from ._compile import compile_kernel
from ._compiled import BoundKernel, Groups, KernelExpression
from ._length_scales import category_counts, length_scales
from ._linear import Linear
from ._white_noise import split_noise
from .categories import Categorical

__all__ = [
    "BoundKernel",
    "Categorical",
    "Columns",
    "Groups",
    "KernelExpression",
    "Linear",
    "additive",
    "category_counts",
    "compile_kernel",
    "length_scales",
    "split_noise",
]
