"""Encoded data from dask collections: what differs from arrays before learning begins."""

import numpy as np

from .._compat import validate_data
from ..collections.alignment import partitions_of
from ..collections.parts import Coded, LabelCounts, LabelsCheck, Moments, NumbersCheck, Scaled
from ..collections.source import Source
from ..data.checks import check_scaled
from ..data.class_targets import ClassLabels
from ..data.rows import MERGE_ROWS
from ..data.targets import Encoded, Targets
from ..likelihoods._names import classification_likelihood

# Models in blocks whose factors are rows.
_BY_ORDER = ("contiguous", "random")
ROW_MODELS = ["sor", "dtc", "vfe", "fitc", "fic"]


def _check_optimizer(estimator):
    if estimator.optimizer == "adam":
        raise ValueError(
            "optimizer must be 'auto', 'lbfgs' or None for dask collections, as small random "
            "batches of rows would be gathered from everywhere. Got 'adam'."
        )
    if estimator.categorical_features is not None:
        raise ValueError(
            "categorical_features must be None for dask collections. Got "
            f"{estimator.categorical_features!r}: encode the categories as numbers."
        )


def _named(estimator, partitions):
    """Set the number and the names of columns, as `validate_data` does."""
    estimator._category_codes = None
    validate_data(estimator, partitions.example, reset=True)


def encoded_numbers(estimator, X, y, sample_weight, **more):
    """Encoded targets of a collection, as `SparseGPRegressor._encoded` has them of arrays.

    Parameters
    ----------
    estimator : SparseGPRegressor
    X, y, sample_weight : dask array, dataframe or series, array-like, or None
    **more : dask array, series or array-like
        ``blocks``, labels of the rows.

    Returns
    -------
    data : Encoded
        With `PartitionedRows` in the place of X. Of few rows: arrays, repeated rows merged.

    Raises
    ------
    ValueError
        If shapes, values or parameters are not what they must be.
    """
    _check_optimizer(estimator)
    likelihood = estimator._given_likelihood()
    _check_regression(estimator, likelihood)
    partitions = partitions_of(X, y=y, sample_weight=sample_weight, **more)
    _named(estimator, partitions)
    source = Source(partitions, NumbersCheck(likelihood), Moments)
    if len(source) <= MERGE_ROWS and not more:
        return estimator._encoded(*source.in_memory())
    moments = source.summary
    likelihood = likelihood.initialized(moments.mean[None], np.array([moments.weight]))
    normalize_y = estimator.normalize_y if likelihood.scales_targets else False
    targets = Targets.fit_moments(moments, normalize_y)
    if likelihood.scales_targets:
        check_scaled(targets, np.stack([-moments.largest, moments.largest]))
    rows = source.rows(Scaled(targets), moments.weight)
    return Encoded(rows, None, None, targets, likelihood, len(rows))


def _check_regression(estimator, likelihood):
    wrong = None
    if estimator._alternates(likelihood) or estimator.likelihood == "auto":
        wrong = f"likelihood={estimator.likelihood!r}, whose noise differs from row to row"
    elif isinstance(estimator.normalize_y, str):
        wrong = f"normalize_y={estimator.normalize_y!r}, which transforms targets"
    elif estimator.n_latent is not None:
        wrong = f"n_latent={estimator.n_latent!r}"
    if wrong is not None:
        raise ValueError(
            "Dask collections need noise that is the same for all rows, targets that are at most "
            f"centred and scaled, and independent outputs. Got {wrong}: fit a sample in memory."
        )


def encoded_for_blocks(estimator, X, y, sample_weight, blocks):
    """Encoded targets of a collection for a model in blocks; see `encoded_numbers`."""
    model = estimator._chosen_model(blocks)
    allowed = [*(ROW_MODELS if blocks is None else ()), "pitc", "pic"]
    if blocks is None and model in ("pitc", "pic") and estimator.partition in _BY_ORDER:
        raise ValueError(
            "partition must be 'kmeans' or a clusterer for dask collections without blocks, as "
            f"their rows have no order. Got {estimator.partition!r}."
        )
    if model not in allowed or estimator.solver != "exact":
        given = "without blocks" if blocks is None else "with blocks"
        raise ValueError(
            f"model must be one of {allowed} for dask collections {given}, and solver 'exact'. "
            f"Got model={estimator.model!r} and solver={estimator.solver!r}: take 'pic', or pass "
            "arrays or memory maps, which models of near rows and joblib's parallel_config take."
        )
    more = {} if blocks is None else {"blocks": blocks}
    return encoded_numbers(estimator, X, y, sample_weight, **more)


def encoded_labels(estimator, X, y, sample_weight, check_labels):
    """Encoded labels of a collection; parameters and result as of `encoded_numbers`."""
    _check_optimizer(estimator)
    partitions = partitions_of(X, y=y, sample_weight=sample_weight)
    _named(estimator, partitions)
    source = Source(partitions, LabelsCheck(check_labels), LabelCounts)
    found, factors = source.summary, None
    classes, of_class = found.labels, found.weights
    if estimator.class_weight is not None:
        factors = estimator._weight_of_classes(classes, classes, of_class)
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
        return estimator._encoded(X, y, weight, classes=classes)
    likelihood = classification_likelihood(estimator.likelihood, classes)
    targets, codes = ClassLabels(classes, likelihood), likelihood.codes(np.arange(len(classes)))
    likelihood = likelihood.for_classes(of_class).initialized(codes, of_class)
    rows = source.rows(Coded(targets, factors), float(of_class.sum()), of_class)
    return Encoded(rows, None, None, targets, likelihood, len(rows))
