"""Tables and latent inputs: checks, problems, fitted attributes and maps of `BayesianGPLVM`."""

from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data.checks import LARGEST, check_array, check_size, validate_data
from ..data.readable import refuse_dates
from ..data.targets import read_only_copy
from ..engines.base import Problem
from ..engines.latent_inputs.start import LatentChoices
from ..kernels.nodes import leaves
from ..latents.latent_map import LatentMap
from ..likelihoods._names import regression_likelihood
from .settings import previous_fit, settings_of


def checked_table(estimator, Y, *, reset=False):
    """Return checked rows, with NaN where a value is missing.

    Parameters
    ----------
    estimator : BayesianGPLVM
        Learns the number and the names of the columns if ``reset``.
    Y : array-like
    reset : bool
        Whether these are the rows of a first batch.
    """
    if not reset:
        check_is_fitted(estimator)
    refuse_dates(Y, name="Y")
    Y = validate_data(
        estimator,
        Y,
        reset=reset,
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        ensure_min_samples=2 if reset else 1,
    )
    largest = float(np.nanmax(np.abs(Y), initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"Y must hold numbers of at most {LARGEST:g} in size, so that their squares are "
            f"finite. Got {largest:g}: use another unit."
        )
    missing = np.flatnonzero(np.isnan(Y).all(axis=0)) if reset else ()
    if len(missing):
        names = getattr(estimator, "feature_names_in_", range(Y.shape[1]))
        raise ValueError(
            "Every column of Y must hold at least one number. Got nothing but NaN in "
            f"{', '.join(repr(names[p]) for p in missing[:5])}: leave such columns out."
        )
    return Y


def checked_latents(X, n_components):
    """Return checked latent inputs."""
    X = check_array(X, dtype=np.float64, order="C")
    if X.shape[1] != n_components:
        raise ValueError(
            f"X must have {n_components} columns, one for each latent dimension. Got {X.shape[1]}."
        )
    check_size("X", X)
    return X


def latent_choices(estimator, columns):
    """Return what the user chose about the model of the columns that vary."""
    names = [name for name in LatentChoices.__dataclass_fields__ if name != "likelihood"]
    chosen = {name: getattr(estimator, name) for name in names}
    noise, varying = np.asarray(estimator.noise_variance), columns.varying
    if estimator.noise == "shared" and noise.ndim:
        raise ValueError(
            "The 'noise_variance' parameter must be a number or None with noise='shared'. Got "
            f"{estimator.noise_variance!r}: noise='columns' takes one for each column."
        )
    if estimator.noise == "columns" and noise.shape == varying.shape:
        chosen["noise_variance"] = noise[varying]
    return LatentChoices(**chosen, likelihood=regression_likelihood("gaussian"))


def latent_problem(estimator, table, trace):
    """Pose the problem of learning from a `Table`."""
    rng = check_random_state(estimator.random_state)
    return Problem(table, None, None, settings_of(estimator), trace, rng)


def fit_to_go_on_from(estimator, columns):
    """Return the earlier fit of the same columns and as many latent inputs, or None."""
    before = previous_fit(estimator)
    if before is None or not np.array_equal(before.targets.varying, columns.varying):
        return None
    return before if before.state.q.mean.shape[1] == estimator.n_components else None


def latent_map(estimator):
    """Return the map between latent inputs and rows of a fitted estimator."""
    fitted, state = estimator._fitted, estimator._fitted.state
    return LatentMap(
        fitted.predictor, state.candidates, state.calibration, fitted.targets, estimator.n_jobs
    )


def latent_attributes(fitted, columns):
    """Return the fitted attributes as a dictionary."""
    parameters, state = fitted.parameters, fitted.state
    return {
        "_fitted": replace(fitted, targets=columns),
        "kernel_": fitted.sklearn_kernel,
        "inducing_points_": read_only_copy(parameters.Z),
        "noise_variance_": columns.noise_in_units(parameters.noise_variance),
        "relevance_": read_only_copy(_relevance(parameters, state.q)),
        "mean_": read_only_copy(columns.mean),
        "scale_": read_only_copy(columns.scale),
        "objective_": fitted.objective - state.log_scale,
        "jitter_": fitted.jitter,
        "n_iter_": fitted.n_iter,
        "n_steps_": fitted.n_steps,
        "n_samples_seen_": fitted.n_samples,
        **state.attributes,
    }


def _relevance(parameters, q):
    """Return squared inverse length scales of latent dimensions, or variances of their means."""
    n_latent, values, found = q.mean.shape[1], parameters.kernel.values, []
    for leaf, columns in leaves(parameters.expression.node, np.arange(n_latent)):
        if leaf.length_scale is not None and len(values[leaf.length_scale]) == n_latent:
            found.append(np.empty(n_latent))
            found[-1][columns] = values[leaf.length_scale] ** -2.0
    return np.max(found, axis=0) if found else q.mean.var(axis=0)
