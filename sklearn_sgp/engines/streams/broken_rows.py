"""Rows of a batch that are far from what a stream predicts, before it learns from them."""

from dataclasses import replace

import numpy as np

from ..._warnings import warn_caller
from ...data.winsorize import MAD
from .wandering import STRAY
from .watch import quantiles

# Prior standard deviations of an observation by which a broken one differs from its prediction. The
# posterior's are no measure: where a model is too sure, good rows differ by many of them.
_HOPELESS = 10.0
# If a larger share of a batch is far off, the function has moved.
_RARE = 0.1


def trusts(fitted, rows):
    """Return whether a stream may begin anew with a batch, already `counted`.

    Not where a few of its rows are far from what is predicted: a stream that goes on takes them for
    noise as far as its trust region lets it, one that begins anew for whatever explains them.
    """
    state = fitted.state
    if not (state.is_established and fitted.likelihood.conjugate):
        return True
    if fitted.likelihood.allows_outliers:
        return True
    rows = state.telling(rows)
    if not len(rows):
        return True
    mean, variance = fitted.predictor.moments(rows, 1)
    variance = np.broadcast_to(variance, mean.shape)
    noise = fitted.noise.noise_at(rows.X, fitted.noise_variance, mean.shape[1], 1)
    mean, variance = fitted.likelihood.moments(mean, variance, noise)
    off = np.abs(rows.targets - mean) / np.sqrt(variance)
    usual = np.maximum(MAD * quantiles(off, 0.5), 1.0)  # of a model that is too sure: more
    n_far = (off > STRAY * usual).any(axis=1).sum()
    return not 0 < n_far <= max(_RARE * len(rows), 1)


def counted(fitted, rows, targets):
    """Count the rows of a later batch; warn where Gaussian noise makes nothing of some.

    Before anything is learned from them: one broken reading moves the function for good. Only a
    stream that has learned from enough rows knows what is one. A warning tells of them in units of
    the targets.

    Returns
    -------
    fitted : Fitted
        With a state that has counted the rows.
    """
    state, likelihood = fitted.state, fitted.start.likelihood
    knows = state.is_established and likelihood.conjugate
    if knows and not fitted.likelihood.allows_outliers:
        _warn_of_broken(state.telling(rows), fitted, targets)
    return replace(fitted, state=replace(state, n_rows=state.n_rows + len(rows)))


def _warn_of_broken(rows, fitted, targets):
    if not len(rows):
        return
    mean, parameters = fitted.posterior.mean(rows.X), fitted.parameters
    amplitude = (parameters.mixing**2).sum(axis=1) if parameters.mixes_outputs else 1.0
    prior = fitted.posterior.prior.kernel.diag(rows.X)[:, None] * amplitude
    off = rows.targets - mean  # NaN where an output was not observed
    most = _HOPELESS**2 * (prior + fitted.parameters.noise_variance)
    broken = np.flatnonzero((off**2 > most).any(axis=1))
    if 0 < len(broken) <= max(_RARE * len(rows), 1):
        worst = broken[0]
        observed, predicted = targets.in_units(np.stack([rows.targets[worst], mean[worst]]))
        warn_caller(
            f"y should be near what the stream predicts. Got {len(broken)} of {len(rows)} rows "
            f"that are not, the first with y = {np.array2string(observed, precision=4)} where "
            f"{np.array2string(predicted, precision=4)} is predicted. With Gaussian noise they "
            "move the function for good: leave broken readings out, or take "
            'likelihood="student_t".',
            UserWarning,
        )
