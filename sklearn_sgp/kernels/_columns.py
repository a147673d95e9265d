"""A scikit-learn kernel that sees only some of the columns."""

from collections.abc import Sequence

import numpy as np
from sklearn.gaussian_process.kernels import Kernel


class Columns(Kernel):
    """Apply a kernel to some of the columns of the inputs.

    Sums and products of ``Columns`` build additive and interaction models, for instance a smooth
    function of place plus a periodic function of time.

    Parameters
    ----------
    kernel : Kernel
        Any scikit-learn kernel. An anisotropic kernel has one length scale for each chosen column.

    columns : sequence of int or str
        Indices of the columns that ``kernel`` sees, or their names, where X is a dataframe.
        ``kernel_`` of a fitted estimator has indices.

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
    """

    def __init__(self, kernel: Kernel, columns: Sequence[int] | Sequence[str]) -> None:
        self.kernel = kernel
        self.columns = columns

    def _select(self, X):
        if X is None:
            return None
        columns = list(self.columns)
        if any(isinstance(column, str) for column in columns):
            if not hasattr(X, "columns"):
                raise ValueError(
                    "Columns with names of columns must be called with a dataframe. Got "
                    f"{type(X).__name__} and {columns}: give indices, as kernel_ has them."
                )
            return np.asarray(X[columns])
        X = np.asarray(X)
        try:
            return X[:, columns]
        except IndexError as error:
            raise ValueError(
                "The 'columns' of Columns must be indices between 0 and n_features - 1 = "
                f"{X.shape[1] - 1}. Got {self.columns!r}."
            ) from error

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
        params = {"kernel": self.kernel, "columns": self.columns}
        if deep:
            params.update((f"kernel__{k}", v) for k, v in self.kernel.get_params().items())
        return params

    @property
    def hyperparameters(self):
        """Hyperparameters of the wrapped kernel, whose names get the prefix ``kernel__``."""
        return [h._replace(name=f"kernel__{h.name}") for h in self.kernel.hyperparameters]

    @property
    def theta(self):
        """Logarithms of the free hyperparameters of the wrapped kernel."""
        return self.kernel.theta

    @theta.setter
    def theta(self, theta):
        self.kernel.theta = theta

    @property
    def bounds(self):
        """Logarithms of the bounds of the wrapped kernel's free hyperparameters."""
        return self.kernel.bounds

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
        return self.kernel.diag(self._select(X))

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
        return self.kernel(self._select(X), self._select(Y), eval_gradient=eval_gradient)

    def __eq__(self, other):
        return (
            type(self) is type(other)
            and list(self.columns) == list(other.columns)
            and self.kernel == other.kernel
        )

    def __repr__(self):
        return f"Columns({self.kernel!r}, {np.asarray(self.columns).tolist()})"
