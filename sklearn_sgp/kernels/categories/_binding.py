"""What a kernel takes from the data before learning: places of columns, and numbers of categories.

A kernel that the user gave may name columns, and says nothing about how many categories there are.
"""

from sklearn.base import clone
from sklearn.gaussian_process.kernels import Exponentiation, KernelOperator

from .._columns import Columns, column_indices
from ._covariance import check_codes
from ._kernel import Categorical


def bound_to(kernel, X, names=None):
    """Replace names of columns in a kernel by indices, and count its categories.

    Parameters
    ----------
    kernel : Kernel
        It stays as it is.
    X : array of shape (n, d)
        Inputs of all rows of positive weight.
    names : array-like of str, shape (d,), or None
        Names of the columns of X.

    Returns
    -------
    kernel : Kernel
        The same object where there is nothing to find.

    Raises
    ------
    ValueError
        If a name is not one of a column, or if a column has no codes of categories.
    """
    names = None if names is None else list(names)
    return _bound(kernel, X, names, list(range(X.shape[1])))


def _bound(kernel, X, names, seen):
    """Do the same as `bound_to` for a kernel that sees the columns ``seen``."""
    if isinstance(kernel, KernelOperator):
        parts = [_bound(part, X, names, seen) for part in (kernel.k1, kernel.k2)]
        same = parts[0] is kernel.k1 and parts[1] is kernel.k2
        return kernel if same else type(kernel)(*parts)
    if isinstance(kernel, Exponentiation):
        inner = _bound(kernel.kernel, X, names, seen)
        return kernel if inner is kernel.kernel else Exponentiation(inner, kernel.exponent)
    if isinstance(kernel, Columns):
        return _bound_columns(kernel, X, names, seen)
    if isinstance(kernel, Categorical) and len(seen) == 1:
        return _counted(kernel, X[:, seen[0]], _label(seen[0], names))
    return kernel


def _bound_columns(kernel, X, names, seen):
    given = None if names is None else [names[place] for place in seen]
    columns = column_indices(kernel.columns, len(seen), given)
    chosen = [seen[c] for c in columns]
    inner = kernel.kernel  # of directions, which have no names and are no categories
    if kernel.directions is None:
        inner = _bound(inner, X, names, chosen)
    is_bound = isinstance(kernel.columns, list | tuple) and columns == list(kernel.columns)
    return kernel if inner is kernel.kernel and is_bound else kernel.of_columns(inner, columns)


def _counted(kernel, codes, label):
    check_codes(codes, label)
    if kernel.is_counted:
        return kernel
    return clone(kernel).set_params(n_categories=int(codes.max()) + 1)


def check_seen_codes(expression, X, columns):
    """Refuse inputs that have no codes of categories where a compiled kernel wants them.

    The columns that it has as categories were encoded, and may have codes beyond the largest count.
    """
    for column in expression.held_columns:
        # what says where values are missing is behind inputs, once they are filled
        if column not in columns.categorical and column < X.shape[1]:
            check_codes(X[:, column], _label(column, columns.names))


def _label(column, names):
    return f"column {column}" if names is None else f"column {names[column]!r}"
