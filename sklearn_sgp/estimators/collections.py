"""Rows of dask collections and stored data sets, before learning begins."""

from dataclasses import replace

import numpy as np

from ..collections.alignment import example_of, partitions_of, split_labels
from ..collections.parts import Coded, LabelCounts, LabelsCheck, Moments, NumbersCheck, Scaled
from ..collections.source import Source
from ..data.checks import check_first_scaled, validate_data
from ..data.class_targets import ClassLabels
from ..data.columns_apart import column_position
from ..data.inputs import InputFormat, Inputs
from ..data.missing import MAY_MISS, NO_MISSING
from ..data.rows import MERGE_ROWS
from ..data.targets import Targets, target_columns
from ..engines.blocks.models import names_with
from ..likelihoods._names import (
    classification_likelihood,
    needs_row_noise,
    regression_likelihood,
    takes_row_noise,
)
from ..optimize.momentum import STOCHASTIC
from .block_plan import chosen_model
from .fit import Fit
from .labels import weight_of_classes
from .mixed_outputs import mixes_outputs
from .steps import scaled_likelihood
from .validation import warn_of_weights

_BY_ORDER = ("contiguous", "random")


def numbers_of(estimator, X, y, sample_weight):
    """Return the `Fit` of a regressor of independent rows, from a collection.

    Parameters
    ----------
    X, y, sample_weight : dask array, dataframe or series, array-like, or None

    Returns
    -------
    fit : Fit
        With `PartitionedRows` as X. Of few rows: arrays, not encoded yet.
    """
    X, _ = _split(estimator, X)
    return _numbers(estimator, X, y, sample_weight, None)


def numbers_in_blocks(estimator, X, y, sample_weight):
    """Return the `Fit` of a regressor in blocks; see `numbers_of`."""
    X, labels = _split(estimator, X)
    named = chosen_model(estimator)
    dense = names_with("full")
    allowed = [*(names_with("none", "diagonal") if labels is None else ()), *dense]
    if labels is None and named in dense and estimator.partition in _BY_ORDER:
        raise ValueError(
            "partition must be 'kmeans' or a clusterer for dask collections without blocks, as "
            f"their rows have no order. Got {estimator.partition!r}."
        )
    if named not in allowed or estimator.solver != "exact":
        given = "without blocks" if labels is None else "with blocks"
        raise ValueError(
            f"model must be one of {allowed} for dask collections {given}, and solver 'exact'. "
            f"Got model={estimator.model!r} and solver={estimator.solver!r}: take 'pic', or pass "
            "arrays or memory maps, which models of near rows and joblib's parallel_config take."
        )
    return _numbers(estimator, X, y, sample_weight, labels)


def labels_of(estimator, X, y, sample_weight):
    """Return the `Fit` of a classifier, from a collection; see `numbers_of`."""
    _check_parameters(estimator)
    X, _ = _split(estimator, X)
    partitions = partitions_of(X, y=y, sample_weight=sample_weight)
    source = _source(estimator, partitions, LabelsCheck(), LabelCounts)
    classes, of_class = source.summary.labels, source.summary.weights
    factors = None
    if estimator.class_weight is not None:
        factors = weight_of_classes(estimator.class_weight, classes, classes, of_class)
        if not factors.all():
            raise ValueError(
                "class_weight must be above zero for each class of a dask collection. Got "
                f"{estimator.class_weight!r}: leave the rows of the others out."
            )
        of_class = factors * of_class
    if len(source) <= MERGE_ROWS:
        X, y, weight = source.in_memory()
        if factors is not None:
            weight = factors[np.searchsorted(classes, y)] * (1.0 if weight is None else weight)
        return Fit.of(Inputs(X), y, weight)
    likelihood = classification_likelihood(estimator.likelihood, classes)
    targets, codes = ClassLabels(classes, likelihood), likelihood.codes(np.arange(len(classes)))
    likelihood = likelihood.for_classes(of_class).initialized(codes, of_class)
    rows = source.rows(Coded(targets, factors), float(of_class.sum()), of_class)
    return Fit(rows, None, None, None, 1, len(rows), targets, likelihood)


def refuse_labels_in_blocks():
    """Raise a ValueError: classes in blocks are learned from arrays."""
    raise ValueError(
        "X, y and sample_weight of AnytimeSGPClassifier must not be dask collections, or data sets "
        "on disk. Got one: take SVGPClassifier, or pass arrays or memory maps."
    )


def _split(estimator, X):
    """Set the format of the inputs; return X without labels of blocks, and the labels or None."""
    example, block_column = example_of(X), getattr(estimator, "block_column", None)
    if getattr(estimator, "offset_column", None) is not None:
        raise ValueError(
            "offset_column must be None for dask collections. Got "
            f"{estimator.offset_column!r}: fit a sample in memory."
        )
    block = column_position(example, block_column, "block_column")
    missing = MAY_MISS if estimator.missing == "auto" else NO_MISSING
    estimator._format = InputFormat(block=block, missing=missing)
    validate_data(estimator, example, reset=True)
    names = getattr(estimator, "feature_names_in_", None)
    estimator._format = replace(estimator._format, names=None if names is None else tuple(names))
    return (X, None) if block is None else split_labels(X, block)


def _source(estimator, partitions, check_y, summary):
    """Return the `Source` of a collection; the estimator learns what stands for missing values."""
    source = Source(partitions, check_y, summary, estimator._format.missing)
    estimator._format = replace(estimator._format, missing=source.missing)
    if source.is_weighted:
        warn_of_weights(estimator, source.summary.weight, len(source))
    return source


def _numbers(estimator, X, y, sample_weight, labels):
    _check_parameters(estimator)
    likelihood = regression_likelihood(estimator.likelihood)
    _check_regression(estimator, likelihood)
    more = {} if labels is None else {"blocks": labels}
    partitions = partitions_of(X, y=y, sample_weight=sample_weight, **more)
    source = _source(estimator, partitions, NumbersCheck(likelihood), Moments)
    if len(source) <= MERGE_ROWS and not more:
        X, y, weight = source.in_memory()
        return Fit.of(Inputs(X), y, weight)
    moments = source.summary
    # two rows with the moments of all
    both = np.stack([moments.mean - moments.scale, moments.mean + moments.scale])
    likelihood = likelihood.initialized(both, np.full(2, 0.5 * moments.weight))
    normalize_y = estimator.normalize_y if likelihood.scales_targets else False
    targets = Targets.fit_moments(moments, normalize_y)
    if likelihood.scales_targets:
        check_first_scaled(targets, np.stack([-moments.largest, moments.largest]))
        targets = targets.with_resolution(target_columns(source.some_targets))
        likelihood = scaled_likelihood(likelihood, targets)
    rows = source.rows(Scaled(targets), moments.weight)
    return Fit(rows, None, None, None, moments.ndim, len(rows), targets, likelihood)


def _check_parameters(estimator):
    if estimator.optimizer in STOCHASTIC:
        raise ValueError(
            "optimizer must be 'auto', 'lbfgs' or None for dask collections, as small random "
            "batches of rows would be gathered from everywhere. Got "
            f"{estimator.optimizer!r}."
        )
    if estimator.categorical_features is not None:
        raise ValueError(
            "categorical_features must be None for dask collections. Got "
            f"{estimator.categorical_features!r}: encode the categories as numbers."
        )


def _check_regression(estimator, likelihood):
    in_blocks = hasattr(estimator, "block_column")
    asks_row_noise = takes_row_noise if in_blocks else needs_row_noise
    wrong = None
    if asks_row_noise(likelihood) or estimator.likelihood == "auto":
        wrong = f"likelihood={estimator.likelihood!r}, whose noise differs from row to row"
    elif in_blocks and not likelihood.conjugate:
        wrong = f"likelihood={estimator.likelihood!r} in blocks, which SVGPRegressor takes"
    elif getattr(likelihood, "needs_all_targets", False):
        wrong = f"{likelihood!r}, whose limits are taken from the targets: give them"
    elif isinstance(estimator.normalize_y, str):
        wrong = f"normalize_y={estimator.normalize_y!r}, which transforms targets"
    elif mixes_outputs(estimator):
        wrong = f"n_latent={estimator.n_latent!r}"
    if wrong is not None:
        raise ValueError(
            "Dask collections need noise that is the same for all rows, Gaussian in blocks, "
            "targets that are at most centred and scaled, and independent outputs. Got "
            f"{wrong}, or fit a sample in memory."
        )
