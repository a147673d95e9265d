"""Kernels over things that are no rows of numbers, such as strings: scikit-learn has them."""

from sklearn.gaussian_process.kernels import (
    CompoundKernel,
    ConstantKernel,
    Exponentiation,
    Kernel,
    KernelOperator,
    WhiteKernel,
)

from ._columns import Columns

_ANYWHERE = (ConstantKernel, WhiteKernel)  # they look at no entry


def generic_parts(kernel):
    """Return the parts of a kernel that say they need no rows of numbers.

    Constants and white noise do not either, but have nothing to say of strings alone.

    Parameters
    ----------
    kernel : object
        As the user gave it.
    """
    if isinstance(kernel, KernelOperator):
        return generic_parts(kernel.k1) + generic_parts(kernel.k2)
    if isinstance(kernel, Exponentiation | Columns):
        return generic_parts(kernel.kernel)
    is_one = isinstance(kernel, Kernel) and not isinstance(kernel, (*_ANYWHERE, CompoundKernel))
    return [kernel] if is_one and not kernel.requires_vector_input else []
