"""A kernel of a table's columns, for a table in which some of them lack values."""

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    KernelOperator,
    Sum,
    WhiteKernel,
)

from ._columns import Columns


def with_missing(kernel, n_columns, incomplete):
    """Let each term of a kernel tell rows that lack a value from rows that have one.

    Parameters
    ----------
    kernel : Kernel
        Of ``n_columns`` columns, without names of columns.
    n_columns : int
    incomplete : sequence of int
        Columns that lack values; of each, one more column says where, behind the others.

    Returns
    -------
    kernel : Kernel
        Of all columns. A term that sees incomplete columns is multiplied by a kernel of what says
        where they lack values; the same object where no column does.
    """
    if not len(incomplete):
        return kernel
    if isinstance(kernel, Sum):
        terms = (with_missing(term, n_columns, incomplete) for term in (kernel.k1, kernel.k2))
        return Sum(*terms)
    if isinstance(kernel, WhiteKernel | ConstantKernel):
        return kernel
    seen = _seen(kernel, list(range(n_columns)))
    tells = [n_columns + place for place, column in enumerate(incomplete) if column in seen]
    if not isinstance(kernel, Columns):
        kernel = Columns(kernel, list(range(n_columns)))
    return kernel * Columns(RBF(np.ones(len(tells))), tells) if tells else kernel


def least_columns(kernel):
    """Return how many columns there must be, as far as a kernel says: 0 where it does not.

    Parameters
    ----------
    kernel : Kernel
    """
    if isinstance(kernel, Columns):
        indices = [c for c in np.ravel(kernel.columns) if type(c) in (int, np.int64)]
        return int(max(indices, default=-1)) + 1
    if isinstance(kernel, KernelOperator):
        return max(least_columns(kernel.k1), least_columns(kernel.k2))
    if isinstance(kernel, Exponentiation):
        return least_columns(kernel.kernel)
    count = np.size(getattr(kernel, "length_scale", 0.0))
    return count if count > 1 else 0


def _seen(kernel, columns):
    """Return the columns, among those that it is given, that a kernel depends on."""
    if isinstance(kernel, Columns):
        return _seen(kernel.kernel, [columns[place] for place in kernel.columns])
    if isinstance(kernel, KernelOperator):
        return {*_seen(kernel.k1, columns), *_seen(kernel.k2, columns)}
    if isinstance(kernel, Exponentiation):
        return _seen(kernel.kernel, columns)
    return set() if isinstance(kernel, WhiteKernel | ConstantKernel) else set(columns)
