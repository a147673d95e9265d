"""Covariance functions: scikit-learn kernel objects, compiled to blocks and their reverse mode."""

from ._columns import Columns
from ._compile import compile_kernel, split_noise
from ._compiled import BoundKernel, KernelExpression

__all__ = ["BoundKernel", "Columns", "KernelExpression", "compile_kernel", "split_noise"]
