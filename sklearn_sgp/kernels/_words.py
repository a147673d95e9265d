"""Kernels in few words: names of their terms, without numbers."""

from sklearn.gaussian_process.kernels import ConstantKernel, Matern, Product, Sum

from ._columns import Columns


def in_words(kernel):
    """Return names of the terms and factors of a kernel; constants besides others are left out.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
    >>> in_words(ConstantKernel(2.0) * RBF([1.0, 2.0]) + ConstantKernel() * Matern(nu=0.5))
    'RBF + Matern(nu=0.5)'
    """
    if isinstance(kernel, Columns):
        return in_words(kernel.kernel)
    if isinstance(kernel, Sum):
        return f"{in_words(kernel.k1)} + {in_words(kernel.k2)}"
    if isinstance(kernel, Product):
        return " * ".join(_factor(part) for part in _factors(kernel)) or "ConstantKernel"
    if isinstance(kernel, Matern) and type(kernel) is Matern:
        return f"Matern(nu={kernel.nu:g})"
    return type(kernel).__name__


def _factors(kernel):
    """Return the factors of a product that are no constants."""
    if isinstance(kernel, Product):
        return _factors(kernel.k1) + _factors(kernel.k2)
    return [] if isinstance(kernel, ConstantKernel) else [kernel]


def _factor(kernel):
    words = in_words(kernel)
    return f"({words})" if " + " in words else words
