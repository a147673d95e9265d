"""A sum of functions of single columns, by one call."""

from collections.abc import Sequence
from functools import reduce
from numbers import Integral
from operator import add

from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from ._columns import Columns


def additive(
    columns: int | Sequence[int | str | Sequence[int] | Sequence[str]], kernel: Kernel | None = None
) -> Kernel:
    """Return the kernel of a sum of functions, one of each column, or of each group of columns.

    `predict_terms` of a regressor then tells each function, and `TermsDisplay` draws it. A sum
    needs fewer rows than a function of all columns together, and cannot have interactions but
    within a group.

    Parameters
    ----------
    columns : int or sequence
        Number of columns of X, each of which gets a function; or a list of columns, by index or
        name. A list within the list is a group, of which there is one function.

    kernel : Kernel, default=None
        The kernel of each function, a copy for each. None is ``ConstantKernel() * RBF()``, whose
        length scales begin at 1, in units of X: scale columns whose spread is not about one.

    Returns
    -------
    kernel : Kernel
        Sum of the kernel of each column or group, behind `Columns`.

    See Also
    --------
    Columns : The kernel of one function.

    Examples
    --------
    >>> from sklearn_sgp.kernels import additive
    >>> additive(2)
    1**2 * Columns(RBF(length_scale=1), [0]) + 1**2 * Columns(RBF(length_scale=1), [1])
    >>> kernel = additive(["hour", ["east", "north"]])
    """
    groups = range(columns) if _is_index(columns) else columns
    if isinstance(groups, str) or not hasattr(groups, "__len__") or not len(groups):
        raise ValueError(
            "The 'columns' parameter must be a number of columns above 0, or a list of columns or "
            f"of groups of columns. Got {columns!r}."
        )
    return reduce(add, (_term(group, kernel) for group in groups))


def _is_index(columns):
    return isinstance(columns, Integral) and not isinstance(columns, bool)


def _term(group, kernel):
    columns = [group] if isinstance(group, str) or _is_index(group) else list(group)
    if kernel is None:
        return ConstantKernel() * Columns(RBF(), columns)
    return Columns(clone(kernel), columns)
