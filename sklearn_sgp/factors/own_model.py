"""Block models of a user's own: the terms of a block, behind the interface of the built-in factors.

Hoang et al. (2015), eqs. 15 and 16: any model whose blocks have independent Gaussian factors on u.
"""

from dataclasses import dataclass

import numpy as np

from .block_factors import repetition_constant


class BlockModel:
    """A sparse model of one's own, for the parameter ``model`` of `AnytimeSGPRegressor`.

    A subclass says what a block of rows tells about the inducing values u. All else follows: both
    solvers, workers, `partial_fit`, evidence, mixtures with other models. Left-out rows do not:
    there is no `leave_one_out`, nor what likelihoods learn from these. With
    ``v = inv(L) u``, ``L L^T = K(Z, Z)``, the factor of a block B with t outputs is
    (Hoang et al. 2015, eqs. 15 and 16)

        log t_B(v) = constant + sum over outputs of (h^T v - v^T H v / 2)

    Attributes
    ----------
    full_covariance : bool, default=False
        True: rows of a block belong together, blocks come from `partition` or `block_column`, and
        `terms` gets K(X_B, X_B). False: rows are independent given u; any cut of the rows serves,
        and `terms` gets k(x, x).
    test_conditional : {"sor", "dtc", "fic", "pic"}, default="dtc"
        The built-in model that predicts as this one does, given q(u). "pic" needs blocks, hence
        ``full_covariance``.
    learned_as : {"vfe", "fitc", "pitc"}, default="vfe"
        The built-in model whose evidence kernel, noise and inducing inputs are learned by. With
        "pic" as test conditional they are learned from near rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp import AnytimeSGPRegressor, BlockModel
    >>> class DTC(BlockModel):
    ...     def terms(self, A, y, K, noise):
    ...         scaled = A / noise
    ...         each = (y**2).sum(axis=1) / noise + y.shape[1] * np.log(2.0 * np.pi * noise)
    ...         return scaled @ A.T, scaled @ y, -0.5 * each.sum()
    >>> X = np.linspace(0.0, 6.0, 200)[:, np.newaxis]
    >>> y = np.sin(X[:, 0])
    >>> own, built_in = (
    ...     AnytimeSGPRegressor(model=model, n_inducing=10, random_state=0).fit(X, y)
    ...     for model in (DTC(), "dtc")
    ... )
    >>> bool(np.allclose(own.predict(X), built_in.predict(X)))
    True
    """

    full_covariance = False
    test_conditional = "dtc"
    learned_as = "vfe"

    def terms(self, A, y, K, noise):
        """Return what a block adds to the information about v, and log t_B(0).

        Parameters
        ----------
        A : ndarray of shape (m, n)
            inv(L) K(Z, X_B): given v, the rows' functions have the means ``A.T @ v``.
        y : ndarray of shape (n, t)
            Targets, scaled as `y_mean_` and `y_scale_` say.
        K : ndarray of shape (n, n) or (n,)
            Prior covariance of the rows, or their variances; see ``full_covariance``.
        noise : ndarray of shape (n,)
            Noise variance of each row, of scaled targets.

        Returns
        -------
        H : ndarray of shape (m, m)
            Symmetric; positive semidefinite, unless other blocks make up for it.
        h : ndarray of shape (m, t)
        constant : float
            log t_B(0), summed over the outputs.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must have a method terms(A, y, K, noise) that returns H, h and "
            "a constant. Got none: write it."
        )


@dataclass(frozen=True)
class OwnModel:
    """A `BlockModel` in the place of `Model`."""

    own: BlockModel
    conditioned = shares_classes = has_gradient = False
    becomes_exact = leaves_out = False  # as its terms may be any
    power = 0.0  # it may keep a residual, or none

    @property
    def dense(self):
        """True if the rows of a block belong together."""
        return bool(self.own.full_covariance)

    @property
    def components(self):
        """Models and their weights as a `Mixture` has them: this one alone."""
        return ((self, 1.0),)

    def factor(self, A, y, weight, counts, K, noise_variance):
        """Return the factor of some rows; see `Model.factor`."""
        if self.dense:
            H, h, constant = self._terms(A, y, K, noise_variance / weight)
            repeated = y.shape[1] * repetition_constant(weight, noise_variance, counts)
            return OwnFactor(A, H, h, constant - repeated)
        precision, total = weight / counts, OwnFactor.none(A, y)
        noise = noise_variance / precision
        for count in np.unique(counts):  # a row that comes so often has its factor to this power
            rows = counts == count
            *some, constant = self._terms(
                np.ascontiguousarray(A[:, rows]), y[rows], K[rows], noise[rows]
            )
            constant -= 0.5 * y.shape[1] * float(np.log(precision[rows]).sum())
            total = total.joined(count, *some, constant)
        return total

    def _terms(self, A, y, K, noise):
        (m, t), made = (len(A), y.shape[1]), self.own.terms(A, y, K, noise)
        try:
            H, h, constant = made
            H, h, constant = np.asarray(H, float), np.asarray(h, float), float(constant)
        except (TypeError, ValueError):
            H = h = constant = None
        is_right = H is not None and H.shape == (m, m) and h.shape == (m, t)
        if not (is_right and all(np.isfinite(part).all() for part in (H, h, constant))):
            is_triple = isinstance(made, tuple) and len(made) == 3
            got = ", ".join(str(np.shape(part)) for part in made) if is_triple else made
            raise ValueError(
                f"The terms of {type(self.own).__name__} must be finite: H of shape {(m, m)}, h of "
                f"shape {(m, t)} and a number. Got {got}: correct its method 'terms'."
            )
        return H, h, constant


@dataclass(frozen=True)
class OwnFactor:
    """The information of a block as a `BlockModel` gives it."""

    A: np.ndarray
    H: np.ndarray
    h: np.ndarray
    constant: float

    @classmethod
    def none(cls, A, y):
        """Return the factor of no rows."""
        m = len(A)
        return cls(A, np.zeros((m, m)), np.zeros((m, y.shape[1])), 0.0)

    def joined(self, power, H, h, constant):
        """Multiply by another factor to a power."""
        total = self.constant + power * constant
        return OwnFactor(self.A, self.H + power * H, self.h + power * h, total)

    def add_to(self, H, h):
        """Add the information; returns the constant."""
        H += self.H
        h += self.h
        return self.constant
