"""A scikit-learn kernel of some columns, and kernels of tables in which columns lack values."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    Hyperparameter,
    Kernel,
    KernelOperator,
    Sum,
    WhiteKernel,
)

# What a step of differences in a weight moves the farthest row, near the cube root of the rounding.
_DIFFERENCE = 1e-5


class Columns(Kernel):
    """Apply a kernel to some of the columns of the inputs, or to linear combinations of them.

    Sums and products of ``Columns`` build additive and interaction models, for instance a smooth
    function of place plus a periodic function of time. With ``directions`` the kernel sees a few
    weighted sums of the columns, which may be learned.

    Parameters
    ----------
    kernel : Kernel
        Any scikit-learn kernel. An anisotropic kernel has one length scale for each chosen column.

    columns : int, str, slice, or sequence of int, str or bool
        Indices of the columns that ``kernel`` sees, negative ones counted from the last, or a
        slice or a mask of them; or their names, where X is a dataframe. One number or name is one
        column. ``kernel_`` of a fitted estimator has a list of indices; inside of ``directions``,
        which have no names, columns are as they were given. Indices do not count an estimator's
        ``block_column`` and ``offset_column``, which no kernel sees.

    directions : array-like of shape (n_directions, n_columns), default=None
        Weights: ``kernel`` sees ``X[:, columns] @ directions.T``, a column for each row of weights.
        None means the columns themselves.

    directions_bounds : pair of float or "fixed", default="fixed"
        Bounds of the weights where they are learned, such as ``(-10, 10)``, or a pair for each,
        row by row; they may be negative. Weights outside begin at the next bound, as other
        parameters do. "fixed" holds them.

    See Also
    --------
    sklearn.gaussian_process.kernels : The kernels that can be wrapped.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, ExpSineSquared
    >>> from sklearn_sgp.kernels import Columns
    >>> place_and_time = Columns(RBF([1.0, 2.0]), [0, 1]) + Columns(ExpSineSquared(), [2])
    >>> place_and_time(np.zeros((1, 3)), np.ones((2, 3))).shape
    (1, 2)

    A function of the sum of two columns:

    >>> along = Columns(RBF(), [0, 1], directions=[[1.0, 1.0]])
    >>> along(np.array([[1.0, 2.0]]), np.array([[2.0, 1.0]]))
    array([[1.]])

    Notes
    -----
    ``theta`` has the parameters of ``kernel``, then learned weights, row by row, as they are, not
    as logarithms. With ``eval_gradient`` their derivatives are central differences; estimators of
    this package have exact ones. Weights and length scales of ``kernel`` say the same twice: hold
    the length scales, as in ``RBF(1.0, "fixed")``, where weights are learned. Begin with rows that
    differ: equal ones stay equal, and those of 0 stay 0.
    """

    directions = None  # of kernels that were saved before they had them
    directions_bounds = "fixed"

    def __init__(
        self,
        kernel: Kernel,
        columns: int | str | slice | Sequence[int] | Sequence[str],
        directions: ArrayLike | None = None,
        directions_bounds: tuple[float, float] | Literal["fixed"] = "fixed",
    ) -> None:
        self.kernel = kernel
        self.columns = columns
        self.directions = directions
        self.directions_bounds = directions_bounds

    def _seen(self, X):
        if X is None:
            return None
        X = self._select(X)
        A = self.matrix(X.shape[1])
        return X if A is None else X @ A.T

    def matrix(self, n_columns):
        """Return the directions as an array of so many columns, or raise a ValueError.

        Parameters
        ----------
        n_columns : int
            Number of the columns that were selected.

        Returns
        -------
        matrix : ndarray of shape (n_directions, n_columns)
            None where there are none.
        """
        A = self._checked()[0]
        if A is not None and A.shape[1] != n_columns:
            raise ValueError(_told_directions(f"the {n_columns} columns", self.directions))
        return A

    def _checked(self):
        """Return the directions, or None, and their bounds, or raise a ValueError."""
        bounds = self.directions_bounds
        is_fixed = isinstance(bounds, str) and bounds == "fixed"
        if self.directions is None:
            if not is_fixed:
                raise ValueError(
                    "The 'directions_bounds' of Columns must be 'fixed' where there are no "
                    f"'directions' to be learned. Got {bounds!r}."
                )
            return None, bounds
        A = _finite(self.directions)
        if A.ndim != 2 or not A.size:
            raise ValueError(_told_directions("the columns", self.directions))
        if is_fixed:
            return A, bounds
        pairs = np.atleast_2d(_finite(bounds))
        has_shape = pairs.shape in ((1, 2), (A.size, 2))
        if not has_shape or (pairs[:, 0] > pairs[:, 1]).any():
            raise ValueError(
                "The 'directions_bounds' of Columns must be 'fixed', a pair of finite numbers "
                f"lower <= upper, or such a pair for each of the {A.size} weights. Got {bounds!r}."
            )
        return A, pairs

    def check_start(self):
        """Refuse learned directions that would stay as they are: weights that begin at 0."""
        A, bounds = self._checked()
        if self.learns_directions and not np.clip(A.ravel(), *bounds.T).any():
            raise ValueError(
                "The 'directions' of Columns must have weights other than 0 within their bounds "
                "where they are learned: where all are 0 none is better than its negative, and "
                f"they stay. Got {self.directions!r} with directions_bounds="
                f"{self.directions_bounds!r}."
            )

    @property
    def learns_directions(self):
        """True if there are directions, and if they are not held."""
        return not isinstance(self._checked()[1], str)

    @property
    def hyperparameter_directions(self):
        """The directions, whose entries may be negative."""
        A, bounds = self._checked()
        return Hyperparameter("directions", "signed", bounds, A.size)

    def _select(self, X):
        if not _has_names(_listed(self.columns)):
            X = np.asarray(X)
            return X[:, column_indices(self.columns, X.shape[1])]
        if not hasattr(X, "columns"):
            raise ValueError(
                "Columns with names of columns must be called with a dataframe. Got "
                f"{type(X).__name__} and {self.columns!r}: give indices, as kernel_ has them."
            )
        names = list(X.columns)
        return np.asarray(X[[names[k] for k in column_indices(self.columns, len(names), names)]])

    def get_params(self, deep=True):
        """Get the parameters; the names of the wrapped kernel's start with ``kernel__``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the wrapped kernel.

        Returns
        -------
        params : dict
            Names and values.
        """
        names = "kernel", "columns", "directions", "directions_bounds"
        params = {name: getattr(self, name) for name in names}
        if deep:
            params.update((f"kernel__{k}", v) for k, v in self.kernel.get_params().items())
        return params

    @property
    def hyperparameters(self):
        """Hyperparameters of the wrapped kernel, with the prefix ``kernel__``, and directions."""
        own = [h._replace(name=f"kernel__{h.name}") for h in self.kernel.hyperparameters]
        has_directions = self._checked()[0] is not None
        return [*own, self.hyperparameter_directions] if has_directions else own

    @property
    def theta(self):
        """Logarithms of free hyperparameters of the wrapped kernel; learned directions."""
        of_kernel = self.kernel.theta
        return np.append(of_kernel, self._checked()[0]) if self.learns_directions else of_kernel

    @theta.setter
    def theta(self, theta):
        if self.learns_directions:
            n_first = self.kernel.n_dims
            self.directions = np.reshape(theta[n_first:], np.shape(self.directions)).copy()
            theta = theta[:n_first]
        self.kernel.theta = theta

    @property
    def bounds(self):
        """Bounds of theta, shape (n_theta, 2)."""
        of_kernel = self.kernel.bounds
        if not self.learns_directions:
            return of_kernel
        return np.vstack([np.reshape(of_kernel, (-1, 2)), self.hyperparameter_directions.bounds])

    @property
    def requires_vector_input(self):
        """True, as the kernel selects columns: it is defined on vectors only."""
        return True

    def is_stationary(self):
        """Tell whether the wrapped kernel is stationary."""
        return self.kernel.is_stationary()

    def diag(self, X):
        """Evaluate the diagonal of the kernel.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        diag : ndarray of shape (n_samples,)
            ``k(x, x)`` for each row.
        """
        return self.kernel.diag(self._seen(X))

    def __call__(self, X, Y=None, eval_gradient=False):
        """Evaluate the kernel and, with ``eval_gradient``, its gradient in the log parameters.

        Parameters
        ----------
        X : array of shape (n_samples_X, n_features)
            Left inputs.

        Y : array of shape (n_samples_Y, n_features), default=None
            Right inputs; None means ``X``.

        eval_gradient : bool, default=False
            Whether to return the gradient as well, which needs ``Y=None``.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            Covariances.

        K_gradient : ndarray of shape (n_samples_X, n_samples_X, n_dims)
            Gradient, only with ``eval_gradient=True``.
        """
        found = self.kernel(self._seen(X), self._seen(Y), eval_gradient=eval_gradient)
        if not eval_gradient or not self.learns_directions:
            return found
        return found[0], np.concatenate([found[1], self._in_directions(self._select(X))], axis=-1)

    def _in_directions(self, X):
        """Return derivatives of the kernel matrix in the directions, (n, n, n_weights)."""
        A = self.matrix(X.shape[1])
        if self.is_stationary():
            X = X - X.mean(axis=0)  # so that rows far from 0 lose no digits
        largest = np.abs(X).max(axis=0)
        steps = np.tile(_DIFFERENCE / np.where(largest > 0.0, largest, 1.0), len(A))
        slopes = np.empty((len(X), len(X), A.size))
        for k, step in enumerate(steps):
            above, below = A.copy(), A.copy()
            above.flat[k] += step
            below.flat[k] -= step
            ends = self.kernel(X @ above.T), self.kernel(X @ below.T)
            slopes[:, :, k] = (ends[0] - ends[1]) / (above.flat[k] - below.flat[k])
        return slopes

    def __eq__(self, other):
        return (
            type(self) is type(other)
            and _plain(self.columns) == _plain(other.columns)
            and self.kernel == other.kernel
            and np.array_equal(self.directions, other.directions)
            and np.array_equal(self.directions_bounds, other.directions_bounds)
        )

    def __repr__(self):
        what = f"{self.kernel!r}, {_plain(self.columns)!r}"
        if self.directions is None:
            return f"Columns({what})"
        A, one = _finite(self.directions), {"all": "{:.3g}".format}
        if not A.size:
            return f"Columns({what}, directions={self.directions!r})"
        weights = np.array2string(A, separator=", ", threshold=20, formatter=one)
        return f"Columns({what}, directions={' '.join(weights.split())})"

    def of_columns(self, kernel, columns):
        """Return the same with another kernel, of columns that are given in other words.

        Parameters
        ----------
        kernel : Kernel
        columns : list of int

        Returns
        -------
        of_columns : Columns
        """
        return Columns(kernel, columns, self.directions, self.directions_bounds)


def _finite(given):
    """Return an array of finite numbers; an empty one for anything else."""
    try:
        given = np.asarray(given)
        numbers = given.astype(np.float64) if given.dtype.kind in "biufO" else np.empty(0)
    except (TypeError, ValueError):
        return np.empty(0)
    return numbers if np.isfinite(numbers).all() else np.empty(0)


def _told_directions(columns, given):
    return (
        "The 'directions' of Columns must be an array of finite numbers, a row for each direction "
        f"and a column for each of {columns}. Got {given!r}."
    )


def column_indices(columns, n_features, names=None):
    """Return the ``columns`` of `Columns` as a list of indices from 0.

    Parameters
    ----------
    n_features : int
        Number of the columns that they are taken from.
    names : sequence of str or None
        Names of these.

    Raises
    ------
    ValueError
        If a column is not there, or if they are none of what `Columns` takes.
    """
    given = _listed(columns)
    if isinstance(columns, slice):
        given = _of_slice(columns, n_features)
    elif _has_names(given):
        given = [_index(column, names) for column in given]
    elif given and all(isinstance(column, bool | np.bool_) for column in given):
        given = np.flatnonzero(given).tolist() if len(given) == n_features else []
    are_indices = all(
        isinstance(c, int | np.integer)
        and not isinstance(c, bool)
        and -n_features <= c < n_features
        for c in given
    )
    if not given or not are_indices:
        raise ValueError(
            "The 'columns' of Columns must be indices between 0 and n_features - 1 = "
            f"{n_features - 1}, negative ones counted from the last; a slice or a mask of the "
            f"{n_features} columns with one at least; or names, where X is a dataframe. Got "
            f"{columns!r}."
        )
    return [int(c) % n_features for c in given]


def _listed(columns):
    """Return what may be one column or several as a list; a slice is one thing."""
    listed = np.asarray(columns, dtype=object)
    return listed.tolist() if listed.ndim == 1 else [columns]


def _of_slice(columns, n_features):
    """Return the indices of a slice of numbers; an empty list for one of anything else."""
    try:
        return list(range(*columns.indices(n_features)))
    except TypeError:
        return []


def _has_names(columns):
    return any(isinstance(column, str) for column in columns)


def _index(column, names):
    """Return the index of a named column; a number as it is."""
    if not isinstance(column, str):
        return column
    if names is None or column not in names:
        known = "X has no names of columns" if names is None else f"X has {list(names)}"
        raise ValueError(
            f"The 'columns' of Columns must be names of columns of X, or indices. Got {column!r}, "
            f"where {known}."
        )
    return list(names).index(column)


def _plain(columns):
    """Return columns as they are compared and printed: a slice, a value or a list."""
    try:
        return columns if isinstance(columns, slice) else np.asarray(columns).tolist()
    except ValueError:  # lists of several lengths, which are no columns
        return columns


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
    seen = _columns_seen(kernel, list(range(n_columns)))
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


def _columns_seen(kernel, columns):
    """Return the columns, among those that it is given, that a kernel depends on."""
    if isinstance(kernel, Columns):
        chosen = [columns[place] for place in kernel.columns]
        is_plain = kernel.directions is None
        return _columns_seen(kernel.kernel, chosen) if is_plain else set(chosen)
    if isinstance(kernel, KernelOperator):
        return {*_columns_seen(kernel.k1, columns), *_columns_seen(kernel.k2, columns)}
    if isinstance(kernel, Exponentiation):
        return _columns_seen(kernel.kernel, columns)
    return set() if isinstance(kernel, WhiteKernel | ConstantKernel) else set(columns)
