"""A scikit-learn kernel of straight lines through a center, with a scale for each column."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel


class Linear(Kernel):
    r"""Straight lines in the columns, whose slopes are unknown.

    :math:`k(x, z) = \sum_j (x_j - c_j)(z_j - c_j) / l_j^2`: the slope in column j has the prior
    deviation 1 / l_j. In contrast to ``DotProduct`` the columns may have different units, and lines
    go through the center, not through 0. Added to a kernel that returns to the mean it lets a
    trend go on beyond the data.

    Parameters
    ----------
    length_scale : float or array-like of shape (n_features,), default=1.0
        One number, or one for each column: what a column has to move for the line to move by 1.

    center : array-like of shape (n_features,), default=None
        Where all lines are 0; None for the origin.

    length_scale_bounds : pair of float or "fixed", default=(1e-5, 1e5)
        Bounds of the length scales. "fixed" holds them.

    See Also
    --------
    sklearn.gaussian_process.kernels.DotProduct : Lines through the origin in columns of one unit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp.kernels import Linear
    >>> kernel = Linear([10.0, 2.0], center=[1950.0, 0.0])
    >>> kernel(np.array([[1960.0, 2.0]]), np.array([[1970.0, 4.0]]))
    array([[4.]])
    """

    def __init__(
        self,
        length_scale: float | ArrayLike = 1.0,
        center: ArrayLike | None = None,
        length_scale_bounds: tuple[float, float] | ArrayLike | Literal["fixed"] = (1e-5, 1e5),
    ) -> None:
        self.length_scale = length_scale
        self.center = center
        self.length_scale_bounds = length_scale_bounds

    @property
    def hyperparameter_length_scale(self):
        """The length scales, as scikit-learn's kernels describe what may be learned."""
        count = np.size(self.length_scale)
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds, count)

    def _scaled(self, X):
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        return (X if self.center is None else X - self.center) / self.length_scale

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
        X = self._scaled(X)
        K = X @ (X if Y is None else self._scaled(Y)).T
        if not eval_gradient:
            return K
        if Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        if self.hyperparameter_length_scale.fixed:
            return K, np.empty((*K.shape, 0))
        if np.size(self.length_scale) == 1:
            return K, -2.0 * K[:, :, None]
        return K, -2.0 * X[:, None] * X[None]

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
        return (self._scaled(X) ** 2).sum(axis=1)

    def is_stationary(self):
        """Tell that the kernel is not stationary."""
        return False

    def __repr__(self):
        scales = ", ".join(f"{scale:.3g}" for scale in np.ravel(self.length_scale))
        return f"Linear(length_scale={f'[{scales}]' if np.ndim(self.length_scale) else scales})"
