"""The bound or evidence of a fitted model at other parameters of the kernel."""

import copy

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._linalg import NotPositiveDefiniteError
from .._parallel import resolved_jobs
from ..engines.variational.inference import inference_for
from ..factors.passes import CHUNK
from ..kernels._white_noise import join_gradient, split_noise
from ..objectives.block_evidence import block_evidence
from ..optimize.parameters import Group, ParameterSpace
from ..partitions.blocks import Blocks
from ..partitions.conditioning import ConditionedBlocks

_SPACE = ParameterSpace((Group("theta", None), Group("log_noise", None)))


class MarginalLikelihood:
    """A mixin with `log_marginal_likelihood`, for models of independent rows."""

    def log_marginal_likelihood(
        self,
        theta=None,
        eval_gradient=False,
        clone_kernel=True,
        *,
        X=None,
        y=None,
        sample_weight=None,
    ):
        """Compute the objective at other parameters of the kernel.

        It is the variational bound on the log marginal likelihood, as `objective_` is, with the
        inducing inputs and all else that was learned held. If the inducing inputs are the rows, it
        is the log marginal likelihood of ``GaussianProcessRegressor``, which has it for normalised
        targets: with ``normalize_y=True`` the value here is smaller by ``log(y_scale_)`` for each
        row.

        Parameters
        ----------
        theta : array-like of shape (n_kernel_params,), default=None
            Logarithms of the free parameters of the kernel, in the order of ``kernel_.theta``.
            ``WhiteKernel`` terms of the kernel are the noise; without them the noise variance is
            held. None means `objective_`, which needs no rows.

        eval_gradient : bool, default=False
            Whether to return the gradient in ``theta``, too.

        clone_kernel : bool, default=True
            Has no effect, as ``kernel_`` is never changed. It is there since scikit-learn has it.

        X : array-like of shape (n_samples, n_features), default=None
            Inputs of the training rows, which the model does not keep.

        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Targets of these rows.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of these rows.

        Returns
        -------
        log_likelihood : float
            The objective, in nats, for y as it is given.

        log_likelihood_gradient : ndarray of shape (n_kernel_params,)
            Its gradient in ``theta``. Only if ``eval_gradient``.

        Raises
        ------
        ValueError
            If ``theta`` is given without X and y, or X and y without ``theta``, if a gradient is
            wanted without ``theta``, or if ``theta`` is given and the noise differs from row to
            row.
        """
        return self._log_marginal_likelihood(theta, eval_gradient, X, y, sample_weight)

    def _log_marginal_likelihood(self, theta, eval_gradient, X, y, weight, labels=None):
        check_is_fitted(self, "_result")
        self._check_arguments(theta, eval_gradient, X, y)
        if theta is None:
            return self.objective_
        kernel, parameters = self._parameters_at(theta)
        rows, targets = None, self._targets
        if X is not None:
            asked = copy.copy(self)  # new categories stay unknown to the model itself
            X, y, weight = asked._checked(X, y, weight, reset=False)
            targets = targets.of_rows(y, weight)
            rows = self._later_rows(X, y, weight, self._checked_labels(labels, len(X)))
        value, weight, gradient = self._evidence(parameters, rows)
        value -= weight * targets.log_scale
        if not eval_gradient:
            return value
        return value, join_gradient(kernel, gradient["theta"], gradient["log_noise"])

    def _check_arguments(self, theta, eval_gradient, X, y):
        if theta is None and eval_gradient:
            raise ValueError("The gradient needs theta. Got eval_gradient=True and theta=None.")
        if (X is None) != (y is None) or (theta is None and X is not None):
            raise ValueError(
                "X and y must be given together, and with theta. Got "
                f"{[name for name, v in (('theta', theta), ('X', X), ('y', y)) if v is not None]}."
            )
        if theta is not None and self._result.row_noise is not None:
            raise ValueError(
                "theta must be None where the noise differs from row to row, as that is found "
                f"together with the kernel. Got theta={theta!r} with {self.likelihood_!r}."
            )
        if theta is not None and X is None and not self._keeps_rows:
            raise ValueError(
                f"{type(self).__name__} keeps no training rows here, so the objective at a theta "
                "needs them: pass X= and y= of fit, and sample_weight= if fit had it. Without "
                "theta the objective of the fit is returned."
            )

    def _parameters_at(self, theta):
        """The kernel with other parameters, noise included, and the `Parameters` it stands for."""
        n_dims = self.kernel_.n_dims
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != (n_dims,) or not np.isfinite(theta).all():
            raise ValueError(
                f"theta must be finite and have shape ({n_dims},), as kernel_.theta. Got {theta!r}."
            )
        kernel = self.kernel_.clone_with_theta(theta)
        process, whites = split_noise(kernel)
        parameters = self._result.parameters.with_values(theta=process.theta)
        if whites:
            noise = sum(white.noise_level for white in whites)  # all outputs share it
            parameters = parameters.with_values(log_noise=float(np.log(noise)))
        return kernel, parameters

    _keeps_rows = False

    def _checked_labels(self, labels, n_rows):
        return None

    def _evidence(self, parameters, rows):
        """Value for scaled targets, weight of the rows, and `Gradient`."""
        inference = inference_for(self._result.likelihood, self._targets.n_outputs)

        def evaluate(delta):
            _, objective = inference.objective(
                _SPACE, parameters, rows, delta, False, resolved_jobs(self.n_jobs), np.inf
            )
            return objective(parameters)

        value, gradient = self._with_enough_jitter(parameters, evaluate)
        return value, rows.total_weight, gradient

    def _with_enough_jitter(self, parameters, evaluate):
        """``evaluate(delta)`` with the jitter of a final posterior, or with more where it fails."""
        settings = self._settings()
        prior = settings.final_prior(parameters)
        while True:
            try:
                return evaluate(prior.delta)
            except NotPositiveDefiniteError:
                prior = settings.prior_again(prior)


class BlockMarginalLikelihood(MarginalLikelihood):
    """A mixin with `log_marginal_likelihood` for models in blocks of rows."""

    def log_marginal_likelihood(
        self,
        theta=None,
        eval_gradient=False,
        clone_kernel=True,
        *,
        X=None,
        y=None,
        sample_weight=None,
        blocks=None,
    ):
        """Compute the objective at other parameters of the kernel.

        It is the model's own log marginal likelihood, bound or Power-EP energy, as `objective_` is,
        with inducing inputs and blocks held. If the inducing inputs are the rows, it is the log
        marginal likelihood of ``GaussianProcessRegressor``, which has it for normalised targets:
        with ``normalize_y=True`` the value here is smaller by ``log(y_scale_)`` for each row.

        Parameters
        ----------
        theta : array-like of shape (n_kernel_params,), default=None
            Logarithms of the free parameters of the kernel, in the order of ``kernel_.theta``.
            ``WhiteKernel`` terms of the kernel are the noise; without them the noise variance is
            held. None means `objective_`, which needs no rows.

        eval_gradient : bool, default=False
            Whether to return the gradient in ``theta``, too.

        clone_kernel : bool, default=True
            Has no effect, as ``kernel_`` is never changed. It is there since scikit-learn has it.

        X : array-like of shape (n_samples, n_features), default=None
            Inputs of the training rows. None means the rows that the model keeps; only PITC and
            PIC do.

        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Targets of these rows.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of these rows.

        blocks : array-like of shape (n_samples,), default=None
            Labels of the blocks of these rows, if ``fit`` had them. Otherwise the partition of the
            fit places the rows by their inputs.

        Returns
        -------
        log_likelihood : float
            The objective, in nats, for y as it is given.

        log_likelihood_gradient : ndarray of shape (n_kernel_params,)
            Its gradient in ``theta``. Only if ``eval_gradient``.

        Raises
        ------
        ValueError
            If ``theta`` is given without X and y and the model keeps no rows, or X and y without
            ``theta``, or if a gradient is wanted without ``theta``.
        """
        return self._log_marginal_likelihood(theta, eval_gradient, X, y, sample_weight, blocks)

    @property
    def _keeps_rows(self):
        blocks = self._blocks.blocks
        return blocks is not None and not blocks.rows.live_elsewhere

    def _checked_labels(self, labels, n_rows):
        if labels is not None:
            return self._blocks.check_labels(labels, n_rows)
        if self._blocks.labels is not None:
            raise ValueError("blocks must be given with X and y, as they were in fit. Got None.")
        return None

    def _evidence(self, parameters, rows):
        blocks = self._pieces(rows)
        model = self._blocks.specification.model

        def evaluate(delta):
            return block_evidence(
                parameters,
                blocks,
                delta,
                model,
                with_inputs=False,
                n_jobs=resolved_jobs(self.n_jobs),
            )

        value, gradient = self._with_enough_jitter(parameters, evaluate)
        return value, sum(block.total_weight for block in blocks), gradient

    def _pieces(self, rows):
        """Rows in blocks as the fit has them, a list of `Rows`."""
        if rows is None:
            kept = self._blocks.blocks
        elif not self._blocks.specification.model.dense:
            return list(rows.chunks(CHUNK))
        elif isinstance(self._blocks.blocks, ConditionedBlocks):
            raise ValueError(
                "X and y must not be given for 'lma' and 'vif': their evidence depends on which "
                "rows come earlier, and they keep their training rows. Leave X and y out."
            )
        else:
            own = rows.labels if rows.labels is not None else self._blocks.assign(rows.X)
            kept = Blocks(rows, np.unique(own, return_inverse=True)[1])
        return [kept(k) for k in range(len(kept))]
