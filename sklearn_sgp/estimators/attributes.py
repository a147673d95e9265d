"""Fitted attributes of the estimators with X and y."""

from dataclasses import replace

import numpy as np

from ..data.targets import read_only_copy
from ..likelihoods._names import may_vary, regression_likelihood, warps_targets
from . import mixed_outputs

# Those that only some likelihoods have.
OF_NOISE = (
    "noise_variance_",
    "noise_kernel_",
    "noise_inducing_points_",
    "variance_scale_",
    "variance_scale_gain_",
    "mean_share_",
    "alpha_epsilon_",
    "temperature_",
)


def fitted_attributes(estimator, fitted, weight):
    """Return the fitted attributes as a dictionary.

    ``weight`` is that of the rows that the objective counts.
    """
    fitted = replace(fitted, predictor=fitted.predictor.ready())
    targets, parameters, form = fitted.targets, fitted.parameters, estimator._format
    attributes = {
        "_fitted": fitted,
        "kernel_": fitted.sklearn_kernel,
        "likelihood_": fitted.public_likelihood,
        **_of_inducing(parameters, form),
        "objective_": fitted.objective - weight * targets.log_scale,
        "log_prior_": fitted.start.space.expected.log_density(parameters),
        "is_categorical_": form.mask(estimator.n_features_in_),
        "categories_": form.codes.values,
        "jitter_": fitted.jitter,
        "n_iter_": fitted.n_iter,
        "n_steps_": fitted.n_steps,
    }
    if hasattr(estimator, "n_latent"):
        attributes |= mixed_outputs.attributes(parameters.mixing)
    if hasattr(estimator, "normalize_y"):
        attributes |= _of_noise(estimator, fitted)
    return (
        attributes
        | targets.attributes
        | fitted.state.attributes
        | estimator._more_attributes(fitted)
    )


def _of_inducing(parameters, form):
    """Return the inducing inputs, or no input and the frequencies in their place."""
    Z, frequencies = parameters.Z, None
    if parameters.has_features:
        Z = np.empty((0, parameters.expression.n_features))
        frequencies = read_only_copy(form.own_columns(parameters.kernel.frequencies()))
    Z = form.codes.decoded(form.own_columns(Z))
    return {"inducing_points_": read_only_copy(Z), "frequencies_": frequencies}


def _of_noise(estimator, fitted):
    """Return what a regressor learned of its noise."""
    attributes, scale = dict(fitted.noise.attributes), fitted.variance_scale
    if fitted.likelihood.has_noise:
        attributes["noise_variance_"] = fitted.targets.each_output(fitted.noise_variance)
    if may_vary(regression_likelihood(estimator.likelihood)):
        attributes["variance_scale_gain_"] = 0.0 if scale is None else scale.gain
        attributes["variance_scale_"] = (1.0, 1.0) if scale is None else scale.range
    if warps_targets(regression_likelihood(estimator.likelihood)):
        attributes["mean_share_"] = fitted.targets.each_output(fitted.told_mean.share)
    return attributes


def set_attributes(estimator, attributes):
    """Set fitted attributes."""
    for name, value in attributes.items():
        setattr(estimator, name, value)


def trace_attributes(trace, targets, weight):
    """Return what the trace of a fit tells."""
    return {
        "objectives_": np.array(trace.objectives) - weight * targets.log_scale,
        "fit_times_": np.array(trace.times),
        "choices_": list(trace.choices),
    }
