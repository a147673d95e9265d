"""Outputs that mix latent functions: their targets, of which some may not be there."""

import numpy as np

from .._warnings import warn_caller
from ..data.checks import check_array, check_consistent_length
from ..data.readable import refuse_dates
from ..data.readable_targets import readable_targets
from ..data.targets import observed_columns, read_only_copy
from ..likelihoods._names import needs_row_noise, regression_likelihood
from ..optimize.momentum import STOCHASTIC
from .validation import checked_weight, inputs_of_batch


def mixes_outputs(estimator):
    """Return whether an estimator's outputs mix latent functions."""
    return getattr(estimator, "n_latent", None) is not None


def checked_rows(estimator, X, y, sample_weight, *, reset):
    """Return checked `Inputs`, targets and weights of the rows that have a target."""
    _check_mixing(estimator)
    checked = with_gaps(estimator, X, y, sample_weight, reset)
    return _observed(estimator, *checked, reset)


def with_gaps(estimator, X, y, sample_weight, reset):
    """Check rows of which some targets may be NaN."""
    inputs = inputs_of_batch(estimator, X, reset=reset, weight=sample_weight)
    refuse_dates(y, name="y")
    with readable_targets(y):
        y = check_array(
            y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y"
        )
    check_consistent_length(inputs.X, y)
    return inputs, y, checked_weight(estimator, sample_weight, inputs.X)


def _observed(estimator, inputs, y, weight, reset):
    """Return the rows that have a target, or raise a ValueError if an output has none."""
    X = inputs.X
    columns = observed_columns(y) if reset else estimator._fitted.targets.columns(y)
    if estimator.n_latent > columns.shape[1]:
        raise ValueError(
            "n_latent must be at most the number of outputs, as more latent functions add "
            f"nothing to these. Got n_latent={estimator.n_latent} for {columns.shape[1]} outputs."
        )
    has_weight = np.ones(len(X), dtype=bool) if weight is None else weight > 0.0
    seen = ~np.isnan(columns)
    never = np.flatnonzero(~seen[has_weight].any(axis=0))
    if reset and len(never):
        raise ValueError(
            "Each output must be observed in a row of positive weight. Got only NaN in "
            f"column {never.tolist()} of y: leave it out."
        )
    empty = ~seen.any(axis=1)
    if not empty.any():
        return inputs, y, weight
    check_weighed(~empty[has_weight])
    warn_caller(
        f"Rows should have a target that is not NaN. Got {empty.sum()} of {len(X)} rows "
        "without: they are left out.",
        UserWarning,
    )
    return inputs.select(~empty), y[~empty], None if weight is None else weight[~empty]


def check_weighed(weight):
    """Refuse a batch whose rows with a target have no weight."""
    if not np.any(np.asarray(weight)):
        raise ValueError(
            "y must hold a target that is not NaN, in a row of positive weight. Got none in this "
            "batch."
        )


def learns_means(estimator):
    """Return whether means are learned where targets are missing, or noise is not Gaussian.

    Not if the user gave those of the targets, or of the functions.
    """
    if not (mixes_outputs(estimator) and estimator.normalize_y is True):
        return False
    likelihood = regression_likelihood(estimator.likelihood)
    is_open = hasattr(likelihood, "moved") and likelihood.offset is None
    return likelihood.scales_targets or is_open


def _mixes_by_sites(estimator, likelihood):
    """Return whether functions are mixed under a likelihood that is not Gaussian noise."""
    return (
        estimator._mixes_by_sites
        and not needs_row_noise(likelihood)
        and likelihood.n_latent(estimator.n_latent) == estimator.n_latent
    )


def _check_mixing(estimator):
    """Refuse what latent functions cannot be mixed with."""
    wrong, cure = None, ""
    likelihood = regression_likelihood(estimator.likelihood)
    is_plain = likelihood.conjugate and estimator.likelihood != "auto"
    if not (is_plain or _mixes_by_sites(estimator, likelihood)):
        by_sites = estimator._mixes_by_sites
        is_what = "differs from row to row, or may" if by_sites else "is not Gaussian noise"
        wrong = f"likelihood={estimator.likelihood!r}, which {is_what}"
        cure = (
            ": write a row for each target that was observed, with a column that says which "
            "output it is, as a category (categorical_features), whose functions mix as well"
        )
    elif isinstance(estimator.normalize_y, str):
        wrong = f"normalize_y={estimator.normalize_y!r}, which transforms targets"
    elif estimator.optimizer in STOCHASTIC:
        wrong = f"optimizer={estimator.optimizer!r}"
    if wrong is not None:
        raise ValueError(
            f"n_latent must be None except with {estimator._mixable}, targets that are at most "
            f"centred and scaled, and optimizer 'auto', 'lbfgs' or None. Got {wrong}{cure}."
        )


def attributes(mixing):
    """Return the fitted attributes of mixed outputs; ``mixing`` of shape (t, Q) or None."""
    if mixing is None:
        return {"mixing_": None, "output_correlation_": None}
    covariance = mixing @ mixing.T
    deviation = np.sqrt(np.diag(covariance))
    scale = np.outer(deviation, deviation)
    correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0.0)
    np.fill_diagonal(correlation, 1.0)
    return {"mixing_": read_only_copy(mixing), "output_correlation_": read_only_copy(correlation)}


def has_missing(y):
    """Return whether some of several outputs were not observed."""
    y = np.asarray(y)
    return y.ndim == 2 and y.dtype.kind == "f" and bool(np.isnan(y).any())


def score(y, mean, sample_weight):
    """Return the mean coefficient of determination of the outputs, each over its own rows."""
    from sklearn.metrics import r2_score  # a slow import, as in scikit-learn's own `score`

    check_consistent_length(y, mean, sample_weight)
    if y.shape != mean.shape:
        raise ValueError(f"y must have {mean.shape[1]} columns, as in fit. Got shape {y.shape}.")
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
    seen = ~np.isnan(y) & (weight > 0.0)[:, None]
    scores = [
        r2_score(y[rows, p], mean[rows, p], sample_weight=weight[rows])
        for p, rows in enumerate(seen.T)
        if rows.sum() > 1  # one row has no variance
    ]
    return float(np.mean(scores)) if scores else np.nan
