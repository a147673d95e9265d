"""A scikit-learn kernel over categories."""

from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from ._covariance import (
    LARGEST_COUNT,
    CategoryCovariance,
    check_codes,
    codes_of,
    starting_diagonal,
    starting_factor,
)


class Categorical(Kernel):
    """Learn which categories vary together.

    The covariance of categories i and j is ``B[i, j]``, with ``B = F @ F.T + diag(b)`` [1]_. Inputs
    are one column of codes 0, 1, 2, ..., so that the kernel is mostly used as
    ``Columns(Categorical(), ["carrier"])``. A sum with another kernel gives each category a random
    intercept. A product lets each category have a function of its own, which it shares with
    others as much as they are alike. A category that was not seen before has the mean covariances
    of those that were.

    Parameters
    ----------
    rank : int, default=2
        Number of columns of F: how many functions all categories are combinations of, besides the
        one that each has alone.

    n_categories : int, default=None
        Number of categories, at most 10,000. None means one more than the largest code of the rows
        that a model is fitted to, or of the first batch. Without it the kernel alone has no
        parameters: categories have variance 1 and covariance 1/2.

    factor : ndarray of shape (n_categories, rank), default=None
        F. None means that all categories share half of their variance. Further columns begin at
        small numbers drawn for each code, always the same ones, so that other codes of the same
        categories are another draw.

    diagonal : ndarray of shape (n_categories,), default=None
        b, positive. None means 1/2.

    factor_bounds : pair of float or "fixed", default=(-10.0, 10.0)
        Bounds of the entries of F. "fixed" holds them.

    diagonal_bounds : pair of float or "fixed", default=(1e-5, 1e2)
        Bounds of the entries of b. "fixed" holds them.

    See Also
    --------
    Columns : A kernel on some of the columns.

    Notes
    -----
    ``theta`` has the logarithms of b, then the entries of F, row by row, as they are: these may be
    negative. Estimators learn them with a weak prior, by which categories of few rows stay near the
    mean of the others. Inducing inputs keep their categories.

    References
    ----------
    .. [1] E. V. Bonilla, K. M. A. Chai, C. K. I. Williams, "Multi-task Gaussian Process
       Prediction", NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp.kernels import Categorical
    >>> kernel = Categorical(1, factor=np.array([[1.0], [2.0], [-1.0]]), diagonal=np.full(3, 0.5))
    >>> kernel(np.array([[0], [1], [2]]))
    array([[ 1.5,  2. , -1. ],
           [ 2. ,  4.5, -2. ],
           [-1. , -2. ,  1.5]])
    """

    def __init__(
        self,
        rank: int = 2,
        *,
        n_categories: int | None = None,
        factor: ArrayLike | None = None,
        diagonal: ArrayLike | None = None,
        factor_bounds: tuple[float, float] | Literal["fixed"] = (-10.0, 10.0),
        diagonal_bounds: tuple[float, float] | Literal["fixed"] = (1e-5, 1e2),
    ) -> None:
        self.rank = rank
        self.n_categories = n_categories
        self.factor = factor
        self.diagonal = diagonal
        self.factor_bounds = factor_bounds
        self.diagonal_bounds = diagonal_bounds

    @property
    def is_counted(self):
        """True if the number of categories is known."""
        return not (self.n_categories is None and self.factor is None and self.diagonal is None)

    @property
    def covariance(self):
        """F and b as they are now, a `CategoryCovariance`, or a ValueError."""
        if not isinstance(self.rank, Integral) or self.rank < 1:
            raise ValueError(f"The rank of Categorical must be at least 1. Got {self.rank!r}.")
        arrays = (self.factor, self.diagonal)
        given = (self.n_categories, *(None if one is None else len(one) for one in arrays))
        counts = [count for count in given if count is not None]
        count = counts[0] if counts else 0
        if counts and not (
            all(isinstance(one, Integral) and one == count for one in counts)
            and 1 <= count <= LARGEST_COUNT
        ):
            raise ValueError(
                "The n_categories of Categorical must be between 1 and "
                f"{LARGEST_COUNT}, with a row of factor and an entry of diagonal for each. Got "
                f"{', '.join(map(repr, given))}."
            )
        factor, diagonal = self.factor, self.diagonal
        factor = starting_factor(count, self.rank) if factor is None else np.asarray(factor, float)
        diagonal = starting_diagonal(count) if diagonal is None else np.asarray(diagonal, float)
        if factor.shape != (count, self.rank) or diagonal.shape != (count,):
            raise ValueError(
                f"The factor of Categorical must have shape (n_categories, rank) = ({count}, "
                f"{self.rank}) and the diagonal shape ({count},). Got {factor.shape} and "
                f"{diagonal.shape}."
            )
        return CategoryCovariance(factor, diagonal)

    @property
    def hyperparameters(self):
        """The diagonal b and the factor F; none while the number of categories is not known."""
        if not self.is_counted:
            return []
        return [self.hyperparameter_diagonal, self.hyperparameter_factor]

    @property
    def hyperparameter_diagonal(self):
        """The diagonal b."""
        count = len(self.covariance.diagonal)
        return Hyperparameter("diagonal", "numeric", self.diagonal_bounds, count)

    @property
    def hyperparameter_factor(self):
        """The factor F, whose entries may be negative."""
        size = self.covariance.factor.size
        return Hyperparameter("factor", "signed", self.factor_bounds, size)

    @property
    def is_learned(self):
        """Pair of bools: True where b, and where F, is learned."""
        parameters = self.hyperparameters
        return [not one.fixed for one in parameters] if parameters else [False, False]

    @property
    def theta(self):
        """Logarithms of b, then the entries of F, those that are not fixed."""
        covariance, free = self.covariance, self.is_learned
        parts = np.log(covariance.diagonal), np.ravel(covariance.factor)
        return np.concatenate([part for part, one in zip(parts, free, strict=True) if one] or [[]])

    @theta.setter
    def theta(self, theta):
        covariance, (learns_diagonal, learns_factor) = self.covariance, self.is_learned
        n_first = len(covariance.diagonal) if learns_diagonal else 0
        if learns_diagonal:
            self.diagonal = np.exp(theta[:n_first])
        if learns_factor:
            self.factor = np.reshape(theta[n_first:], covariance.factor.shape).copy()

    @property
    def bounds(self):
        """Bounds of theta, shape (n_theta, 2)."""
        parts = [np.empty((0, 2))]
        for one in self.hyperparameters:
            if not one.fixed:
                parts.append(one.bounds if one.value_type == "signed" else np.log(one.bounds))
        return np.vstack(parts)

    @property
    def requires_vector_input(self):
        """True, as the kernel sees one column of codes: it is defined on vectors only."""
        return True

    def is_stationary(self):
        """Tell whether the kernel is stationary, which it is not."""
        return False

    def diag(self, X):
        """Evaluate the diagonal of the kernel.

        Parameters
        ----------
        X : array of shape (n_samples, 1)
            Codes of categories.

        Returns
        -------
        diag : ndarray of shape (n_samples,)
            ``B[i, i]`` for each row.
        """
        return self.covariance.diag(_checked(X))

    def __call__(self, X, Y=None, eval_gradient=False):
        """Evaluate the kernel and, with ``eval_gradient``, its gradient in theta.

        Parameters
        ----------
        X : array of shape (n_samples_X, 1)
            Codes of categories.

        Y : array of shape (n_samples_Y, 1), default=None
            Codes of categories; None means ``X``.

        eval_gradient : bool, default=False
            Whether to return the gradient as well, which needs ``Y=None``.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            Covariances.

        K_gradient : ndarray of shape (n_samples_X, n_samples_X, n_dims)
            Gradient, only with ``eval_gradient=True``.
        """
        covariance, codes = self.covariance, _checked(X)
        if not eval_gradient:
            return covariance.block(codes, codes if Y is None else _checked(Y))
        if Y is not None:
            raise ValueError("The gradient can be had with Y=None only. Got Y and eval_gradient.")
        return covariance.block(codes, codes), self._gradient(covariance, codes)

    def _gradient(self, covariance, codes):
        place = covariance.places(codes)
        one_hot = np.eye(len(covariance.specific))[place]  # (n, n_categories + 1)
        same = codes[:, None] == codes
        in_specific = same[..., None] * one_hot[:, None, :]
        in_rows = one_hot[:, None, :, None] * covariance.rows[place][None, :, None, :]
        in_rows = in_rows + in_rows.swapaxes(0, 1)
        in_b, in_F = covariance.to_categories(in_specific, in_rows)
        parts = in_b * covariance.diagonal, in_F.reshape(*in_F.shape[:2], -1)
        free = [part for part, one in zip(parts, self.is_learned, strict=True) if one]
        return np.concatenate([np.empty((*same.shape, 0)), *free], axis=-1)

    def __eq__(self, other):
        if type(self) is not type(other):
            return False
        ours, theirs = self.get_params(), other.get_params()
        return all(np.array_equal(ours[name], theirs[name]) for name in ours)

    def __repr__(self):
        if not self.is_counted:
            return f"Categorical(rank={self.rank})"
        return f"Categorical(rank={self.rank}, n_categories={len(self.covariance.diagonal)})"


def _checked(X):
    """Return codes of categories from an array of one column, or raise a ValueError."""
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != 1:
        raise ValueError(
            "Categorical must see one column, as in Columns(Categorical(), [0]). Got inputs of "
            f"shape {X.shape}: multiply or add one Categorical for each column."
        )
    check_codes(X[:, 0], "the column")
    return codes_of(X)
