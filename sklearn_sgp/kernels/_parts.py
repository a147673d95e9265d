"""Parts of a kernel: their names, in few words, and those over things that are no numbers."""

from sklearn.gaussian_process.kernels import (
    CompoundKernel,
    ConstantKernel,
    Exponentiation,
    Kernel,
    KernelOperator,
    Matern,
    Product,
    Sum,
    WhiteKernel,
)

from ._columns import Columns

_ANYWHERE = (ConstantKernel, WhiteKernel)  # they look at no entry


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


def generic_parts(kernel):
    """Return the parts of a kernel that say they need no rows of numbers.

    Constants and white noise do not either, but have nothing to say of strings alone. The kernel is
    as the user gave it.
    """
    if isinstance(kernel, KernelOperator):
        return generic_parts(kernel.k1) + generic_parts(kernel.k2)
    if isinstance(kernel, Exponentiation | Columns):
        return generic_parts(kernel.kernel)
    is_one = isinstance(kernel, Kernel) and not isinstance(kernel, (*_ANYWHERE, CompoundKernel))
    return [kernel] if is_one and not kernel.requires_vector_input else []
