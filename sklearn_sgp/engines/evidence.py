"""The bound or evidence of a fitted model at other parameters of the kernel."""

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..factors.passes import CHUNK
from ..gp.jitter import factorise_again
from ..kernels._white_noise import join_gradient, split_noise
from ..objectives.block_evidence import block_evidence
from ..optimize.parameters import Group, ParameterSpace
from ..partitions.blocks import Blocks
from .exact_fits import exact_objective
from .left_out import cells_of
from .variational.inference import FINAL_TOL, inference_for

_SPACE = ParameterSpace((Group("theta", None), Group("log_noise", None)))


def evidence_at(fitted, kernel, theta, rows, settings):
    """Compute the objective with another theta of the kernel, all else held.

    Parameters
    ----------
    kernel : Kernel
        The learned kernel, noise included where it was given so.
    theta : array-like of shape (n_kernel_params,)
    rows : Rows or None
        None for those that the model keeps.

    Returns
    -------
    value : float
        For targets as scaled.
    weight : float
        Of the rows.
    gradient : ndarray of shape (n_kernel_params,) or None
        None of a block model that has none.
    """
    kernel, parameters = _parameters_at(fitted, kernel, theta)
    if fitted.state.is_in_blocks:
        evaluate, weight = _of_blocks(fitted, parameters, rows, settings)
    else:
        evaluate, weight = _of_rows(fitted, parameters, rows, settings)
    value, gradient = _with_enough_jitter(settings, parameters, evaluate)
    if fitted.state.is_in_blocks:
        value += fitted.state.site_constant
    if gradient is not None:
        gradient = join_gradient(kernel, gradient["theta"], gradient["log_noise"])
    return value, weight, gradient


def check_question(name, fitted, theta, eval_gradient, X, y):
    """Refuse what cannot be asked of an evidence; see `SGPRegressor.log_marginal_likelihood`."""
    if fitted.parameters.mixes_outputs and theta is not None:
        raise ValueError(
            "theta must be None with n_latent, as the objective at other parameters is not "
            f"there for mixed outputs. Got {theta!r}. Without theta, the objective of the fit "
            "is returned."
        )
    if theta is None and eval_gradient:
        raise ValueError(
            "Gradient can only be evaluated for theta!=None. Got eval_gradient=True and theta=None."
        )
    in_blocks = fitted.state.is_in_blocks
    if eval_gradient and in_blocks and not fitted.state.specification.model.has_gradient:
        raise ValueError(
            "eval_gradient must be False with a `model` of your own, whose terms have no gradient. "
            "Got eval_gradient=True: the value alone is there."
        )
    if (X is None) != (y is None) or (theta is None and X is not None):
        raise ValueError(
            "X and y must be given together, and with theta. Got "
            f"{[name for name, v in (('theta', theta), ('X', X), ('y', y)) if v is not None]}."
        )
    if theta is not None and fitted.noise.differs:
        raise ValueError(
            "theta must be None where the noise differs from row to row, as that is found "
            f"together with the kernel. Got theta={theta!r} with {fitted.public_likelihood!r}."
        )
    if theta is not None and X is None and not fitted.state.keeps_rows:
        raise ValueError(
            f"{name} keeps no training rows here, so the objective at a theta needs them: pass "
            "X= and y= of fit, and sample_weight= if fit had it. Without theta the objective of "
            "the fit is returned."
        )


def _parameters_at(fitted, kernel, theta):
    """Return the kernel with other parameters, noise included, and the `Parameters` they are."""
    theta = np.asarray(theta, dtype=np.float64)
    if theta.shape != (kernel.n_dims,) or not np.isfinite(theta).all():
        raise ValueError(
            f"theta must be finite and have shape ({kernel.n_dims},), as kernel_.theta. Got "
            f"{theta!r}."
        )
    kernel = kernel.clone_with_theta(theta)
    process, whites = split_noise(kernel)
    parameters = fitted.parameters.with_values(theta=process.theta)
    if whites:
        noise = sum(white.noise_level for white in whites)  # all outputs share it
        parameters = parameters.with_values(log_noise=float(np.log(noise)))
    return kernel, parameters


def _of_rows(fitted, parameters, rows, settings):
    """Return ``evaluate(delta)`` for independent rows, and their weight."""
    inference = inference_for(fitted.likelihood, fitted.targets.n_outputs, FINAL_TOL)

    def evaluate(delta):
        arguments = _SPACE, parameters, rows, delta, False, settings.n_jobs, np.inf
        _, objective, _ = inference.objective(*arguments)
        return objective(parameters)

    return evaluate, rows.total_weight


def _of_blocks(fitted, parameters, rows, settings):
    """Return ``evaluate(delta)`` for blocks of rows, and their weight."""
    blocks, model = _pieces(fitted, rows), fitted.state.specification.model
    exact = None
    if rows is not None and model.becomes_exact:
        exact = exact_objective(_SPACE, parameters, rows)
    if exact is not None:
        return lambda delta: exact(parameters), rows.total_weight

    def evaluate(delta):
        return block_evidence(
            parameters, blocks, delta, model, with_inputs=False, n_jobs=settings.n_jobs
        )

    return evaluate, sum(block.total_weight for block in blocks)


def _pieces(fitted, rows):
    """Return rows in blocks as the fit has them, a list of `Rows`."""
    state = fitted.state
    if rows is None:
        kept = state.blocks
    elif not fitted.likelihood.conjugate:
        raise ValueError(
            f"X and y must not be given for {fitted.public_likelihood!r}: the evidence is that of "
            "the sites of the rows of fit, which the model keeps. Leave X and y out."
        )
    elif not state.specification.model.dense:
        return list(rows.chunks(CHUNK))
    elif state.blocks.is_conditioned:
        raise ValueError(
            "X and y must not be given for 'lma' and 'vif': their evidence depends on which "
            "rows come earlier, and they keep their training rows. Leave X and y out."
        )
    else:
        kept = Blocks(rows, np.unique(cells_of(state, rows), return_inverse=True)[1])
    return [kept(k) for k in range(len(kept))]


def _with_enough_jitter(settings, parameters, evaluate):
    """Return ``evaluate(delta)`` with the jitter of a final posterior, or more where it fails."""
    prior = settings.final_prior(parameters)
    while True:
        try:
            return evaluate(prior.delta)
        except NotPositiveDefiniteError:
            prior = factorise_again(prior, settings.jitter)
