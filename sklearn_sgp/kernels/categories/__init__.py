"""Kernels over categories: which categories vary together is learned."""

from ._kernel import Categorical

__all__ = ["Categorical"]
