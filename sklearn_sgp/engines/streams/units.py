"""A stream in other units of y: what it knows follows exactly, since it is Gaussian.

Centre and scale of the targets are those of all rows so far. The information (H, h) of the rows is
linear in their targets, y' = c (y - d), so that a second vector, the h of targets that are all 1,
takes it to another centre (docs/theory.md, section 11).
"""

from dataclasses import dataclass, replace

import numpy as np

from ...data.running_moments import RunningMoments
from ...gp.multi_output import CoregionalisedPosterior
from ...gp.posterior import Posterior
from ...gp.prior import Prior
from ...kernels._length_scales import times_deviation
from ...objectives.multi_output import noise_of_outputs


@dataclass(frozen=True)
class UnitChange:
    """Scaled targets become ``factor * (y - shift)``.

    Parameters
    ----------
    shift, factor : ndarray of shape (t,)
    """

    shift: np.ndarray
    factor: np.ndarray

    @classmethod
    def between(cls, old, new):
        """Return the change from the centre and scale of some `Targets` to those of others."""
        return cls((new.mean - old.mean) / old.scale, old.scale / new.scale)

    @property
    def is_none(self):
        return not self.shift.any() and bool((self.factor == 1.0).all())

    def ends_on(self, fitted):
        """Return factors of the kernel's and of the noise's deviations: a number, and (t,).

        What was learned stays what it is in units of y. What was given is given for targets in
        units of their scale, and for rows so far too.
        """
        common = float(np.exp(np.log(self.factor).mean()))
        space, parameters = fitted.start.space, fitted.parameters
        ones = np.ones(len(self.factor))
        if not fitted.state.weight_learned:
            return 1.0, ones
        scales = not parameters.mixes_outputs and _is_free(space, parameters)
        kernel = common if scales else 1.0
        if not space.learns("log_noise"):
            return kernel, ones
        return kernel, self.factor if np.ndim(parameters.log_noise) else common * ones


def _is_free(space, parameters):
    """Return whether the kernel can be multiplied by any number: its terms have variances."""
    expression = parameters.expression
    if not space.learns("theta"):
        return False
    X = parameters.Z[:1, : expression.n_features]
    before = expression.bind(parameters.theta).diag(X)
    larger, theta = times_deviation(expression, parameters.theta, 2.0)
    return bool(np.allclose(larger.bind(theta).diag(X), 4.0 * before))


def in_other_units(fitted, change):
    """Return a fitted stream for targets in other units.

    The state has ``ones``.
    """
    if change.is_none:
        return fitted
    kernel, noise = change.ends_on(fitted)
    parameters = _parameters(fitted.parameters, change, kernel, noise)
    old = fitted.posterior.of_each_output
    ones, share = fitted.state.ones, kernel / noise**2
    h = share * change.factor * (old.h - change.shift * ones)
    # one H of all outputs has one noise
    H = tuple(kernel * each * H for each, H in zip(share, old.H, strict=False))
    posterior = Posterior(_scaled_prior(old.prior, kernel, fitted.parameters), H, h)
    if parameters.mixes_outputs:
        posterior = CoregionalisedPosterior.from_outputs(posterior, parameters.mixing)
    predictor = replace(
        fitted.predictor, posterior=posterior, noise_variance=parameters.noise_variance
    )
    waiting = fitted.state.waiting.in_units(change.factor)
    watch = fitted.state.watch.in_units(change.factor)
    bands = fitted.state.bands.in_units(change.factor)
    state = replace(fitted.state, ones=share * ones, waiting=waiting, watch=watch, bands=bands)
    return replace(fitted, parameters=parameters, predictor=predictor, state=state)


def with_units_of_all(fitted, rows, share):
    """Return a stream and a batch in units of all targets, of which those so far count a share."""
    state = fitted.state
    if state.moments is None:
        return fitted, rows
    moments = state.moments.tempered(share).joined(RunningMoments.of(rows.y, rows.observations))
    targets = fitted.targets.with_moments(moments)
    change = UnitChange.between(fitted.targets, targets)
    fitted, targets = about_learned_means(in_other_units(fitted, change), targets)
    fitted = replace(fitted, targets=targets, state=replace(fitted.state, moments=moments))
    grid = rows.grid if state.weight_learned else 0.0  # which is for what is learned
    return fitted, replace(rows, y_mean=targets.mean, y_scale=targets.scale, grid=grid)


def about_learned_means(fitted, targets):
    """Return a stream and its targets about the means that the bound has for outputs with gaps.

    Outputs that mix functions are shifted against one another where they were observed at other
    places, by what their own means say of these. The bound at the optimal q(u) is a quadratic
    function of the means, whose prior is normal about the outputs' own, with the targets' variance.
    Where nothing is learned, or nothing is missing, these stay.
    """
    state, parameters = fitted.state, fitted.parameters
    is_learned = state.moments is not None and state.weight_learned > 0.0
    if not (is_learned and parameters.mixes_outputs):
        return fitted, targets
    weight = state.moments.weight
    if weight.min() > 0.999 * max(weight.max(), state.weight_seen):
        return fitted, targets
    q = fitted.posterior.coupled
    precision = weight / noise_of_outputs(parameters)
    own = np.where(weight > 0.0, (state.moments.mean - targets.mean) / targets.scale, 0.0)
    of_mean = [np.kron(W, one) for W, one in zip(parameters.mixing, state.ones.T, strict=True)]
    of_mean = np.column_stack(of_mean)
    information = np.diag(precision + 1.0) - of_mean.T @ q.precision.solve(of_mean)
    means = (precision + 1.0) * own - of_mean.T @ q.precision.solve(q.h.reshape(-1, 1))[:, 0]
    means = np.linalg.solve(information, means)
    fitted = in_other_units(fitted, UnitChange(means, np.ones(len(means))))
    return fitted, targets.moved(means)


def _parameters(parameters, change, kernel, noise):
    log_noise = parameters.log_noise + 2.0 * np.log(noise)
    if not np.ndim(parameters.log_noise):
        log_noise = float(log_noise[0])
    values = {"log_noise": log_noise}
    if kernel != 1.0:
        parameters = _larger(parameters, kernel)
    if parameters.mixes_outputs:
        values["mixing"] = change.factor[:, None] * parameters.mixing
    return parameters.with_values(**values)


def _scaled_prior(prior, factor, parameters):
    """Return the prior of inducing values times a factor: in whitened coordinates the same."""
    if factor == 1.0:
        return prior
    kernel = _larger(parameters.with_values(theta=prior.kernel.theta), factor).kernel
    if parameters.has_features:
        factor = 1.0  # that of weights is what it is
    return Prior(kernel, prior.Z, factor**2 * prior.delta, factor * prior.L, prior.jitter)


def _larger(parameters, factor):
    """Return parameters whose kernel has so many times the deviation."""
    expression, theta = times_deviation(parameters.expression, parameters.theta, factor)
    return replace(parameters, expression=expression).with_values(theta=theta)


def of_ones(rows):
    """Return rows whose targets, where they were observed, are all 1."""
    y = np.where(np.isnan(rows.y), np.nan, 1.0)
    t = y.shape[1]
    return replace(rows, y=y, y_mean=np.zeros(t), y_scale=np.ones(t), grid=0.0)


def with_ones(posterior, ones):
    """Return a `Posterior` with the h of targets that are all 1, and the same H."""
    outputs = posterior.of_each_output
    return Posterior(outputs.prior, outputs.H, ones)
