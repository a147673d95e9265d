"""The method `log_marginal_likelihood` of the estimators that have one."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..engines.evidence import check_question, evidence_at
from .settings import settings_of


def log_marginal_likelihood(
    self, theta=None, eval_gradient=False, clone_kernel=True, *, X=None, y=None, sample_weight=None
):
    """Compute the objective at other parameters of the kernel.

    It is that of `objective_`, with all else that was learned held. If the inducing inputs of a
    regressor are the rows, it is the log marginal likelihood of ``GaussianProcessRegressor``, less
    ``log(y_scale_)`` for each row, as targets are not normalised here.

    Parameters
    ----------
    theta : array-like of shape (n_kernel_params,), default=None
        Log parameters, in the order of ``kernel_.theta``. ``WhiteKernel`` terms are the noise;
        without them the noise variance is held. None means `objective_`, and so do the learned
        ones where the model keeps no rows.

    eval_gradient : bool, default=False
        Whether to return the gradient in ``theta``, too.

    clone_kernel : bool, default=True
        Has no effect, as ``kernel_`` is never changed; scikit-learn has it.

    X, y, sample_weight : array-like, default=None, None, None
        The training rows. None means those that the model keeps; only "pitc", "pic", "lma" and
        "vif" of `AnytimeSGPRegressor` and `AnytimeSGPClassifier` do.

    Returns
    -------
    log_likelihood : float
        The objective, in nats, for y as it is given.

    log_likelihood_gradient : ndarray of shape (n_kernel_params,)
        Its gradient in ``theta``. Only if ``eval_gradient``.

    Raises
    ------
    ValueError
        If X and y are missing or not asked for, if a gradient is wanted without ``theta``, or
        if the noise differs from row to row, or outputs mix latent functions.
    """
    check_is_fitted(self, "kernel_")
    if _is_that_of_fit(self, theta, eval_gradient, X, y):
        return self.objective_
    check_question(type(self).__name__, self._fitted, theta, eval_gradient, X, y)
    if theta is None:
        return self.objective_
    rows, targets = self._training_rows(X, y, sample_weight)
    settings = settings_of(self)
    value, weight, gradient = evidence_at(self._fitted, self.kernel_, theta, rows, settings)
    value -= weight * targets.log_scale
    return (value, gradient) if eval_gradient else value


def _is_that_of_fit(estimator, theta, eval_gradient, X, y):
    """Tell if the value at the learned parameters is asked for, without the rows that give it."""
    if theta is None or eval_gradient or X is not None or y is not None:
        return False
    return not estimator._fitted.state.keeps_rows and np.array_equal(theta, estimator.kernel_.theta)
