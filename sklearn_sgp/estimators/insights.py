"""Methods of regressors that tell what was learned: slopes, terms, novelty, left-out rows."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.inputs import Inputs
from ..data.rows import with_targets
from ..engines.left_out import left_out_rows
from ..predict.explanations import column_shares
from ..predict.observations import combined
from .base import ask, model_at

# Share of a column's spread by which ends of differences lie off: curvature and rounding take as
# many digits, ten of sixteen are left.
_SHARE_OF_SPREAD = 1e-5


def predict_gradient(self, X, return_std=False):
    """Predict the slopes of the mean in each column of X, in closed form.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs.

    return_std : bool, default=False
        Whether to return the standard deviation of each slope of the latent function. It is
        infinite for kernels whose functions have no slopes, such as ``Matern(nu=0.5)``, which a
        default kernel may have as its rough part.

    Returns
    -------
    gradient : ndarray of shape (n_samples, n_features) or (n_samples, n_targets, n_features)
        Slopes, in units of y for each unit of the column; NaN in columns of categories and of
        labels of blocks, and where a row lacks a value that no training row lacked. Where it lacks
        another, those at the values that are expected there, which stay as they are.

    std : ndarray of the same shape
        Deviations of the slopes. Only if ``return_std``.

    Raises
    ------
    ValueError
        If the kernel has parts of unknown formula, or if the mean is no linear function of the
        latent function, as with transformed targets and counts.
    """
    columns = None
    if self._fitted is not None:
        columns = _columns_with_slopes(self)
    count = None if columns is None else len(columns)
    return ask(self, "slopes", X, columns=columns, with_std=bool(return_std), count=count)


def moments_with_differences(estimator, X, include_noise):
    """Return mean and deviation at one row, and their gradients by central differences.

    Parameters
    ----------
    estimator : SGPRegressor
    X : array-like of shape (1, n_features)
    include_noise : bool
        Whether the deviation is that of an observation.

    Returns
    -------
    mean, std : ndarray of shape (1,) or (1, t)
    mean_gradient, std_gradient : ndarray of shape (d,) or (t, d)
        NaN in columns that have no slopes.

    Raises
    ------
    ValueError
        If there are more rows.
    """
    check_is_fitted(estimator, "kernel_")
    model, inputs = model_at(estimator, X)
    if len(inputs.X) != 1:
        raise ValueError(
            "Gradients of mean and deviation are those at one row, as optimisers ask for them. Got "
            f"{len(inputs.X)} rows: ask row by row, or take predict_gradient, which has the slopes "
            "of the mean at many."
        )
    columns = _columns_with_slopes(estimator)
    places = [k for k, column in enumerate(columns) if column is not None]
    moved = [columns[k] for k in places]
    table, n_inputs = np.asarray(inputs.X, dtype=np.float64), inputs.X.shape[1]
    steps = _SHARE_OF_SPREAD * _spread(estimator._fitted, n_inputs)
    if inputs.offset is not None:  # the last column: what is added is in units of the function
        places.append(estimator._format.offset)
        moved.append(n_inputs)
        table = np.column_stack([table, inputs.offset])
        steps = np.append(steps, _SHARE_OF_SPREAD)
    table = np.repeat(table, 1 + 2 * len(moved), axis=0)
    for number, column in enumerate(moved):
        table[1 + 2 * number, column] += steps[column]
        table[2 + 2 * number, column] -= steps[column]
    apart = table[1::2] - table[2::2]
    apart = apart[np.arange(len(moved)), moved]  # as rounded
    ends = inputs.select(np.zeros(len(table), dtype=np.intp))
    ends = ends._replace(X=np.ascontiguousarray(table[:, :n_inputs]))
    if inputs.offset is not None:
        ends = ends._replace(offset=table[:, n_inputs])
    moments, gradients = model.mean_std(ends, include_noise=include_noise), []
    for values in moments:
        gradient = np.full((*values.shape[1:], len(columns)), np.nan)
        gradient[..., places] = np.moveaxis(values[1::2] - values[2::2], 0, -1) / apart
        gradients.append(gradient)
    return (*(values[:1] for values in moments), *gradients)


def _spread(fitted, n_inputs):
    """Return how far the inputs of the kernel reach in each column, 1 where that is not known."""
    if fitted.parameters.has_features:
        return np.ones(n_inputs)
    spread = np.ptp(_typical_inputs(fitted).X, axis=0)
    return np.where(spread > 0.0, spread, 1.0)


def predict_terms(self, X, return_std=False):
    """Predict the terms of a function whose kernel is a sum.

    The function is a sum of as many, one for each term of ``kernel_`` but ``WhiteKernel``, in their
    order. What the rows say of each is its posterior, given all others.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs.

    return_std : bool, default=False
        Whether to return the standard deviation of each term. Terms are correlated given the rows,
        mostly negatively, so that their variances need not add up to that of the function.

    Returns
    -------
    terms : ndarray of shape (n_samples, n_terms) or (n_samples, n_targets, n_terms)
        Posterior means, in units of y. Their sum and the centre of the targets, ``y_mean_``, make
        the predicted mean.

    std : ndarray of the same shape
        Deviations of the terms. Only if ``return_std``.

    Raises
    ------
    ValueError
        If the mean is no linear function of the latent function, as with transformed targets and
        counts, or that of two fits, as ``likelihood="auto"`` may choose: terms do not add up there.
    """
    check_is_fitted(self, "kernel_")
    count = len(self._fitted.posterior.prior.kernel.terms())
    return ask(self, "terms", X, with_std=bool(return_std), count=count)


def novelty(self, X):
    """Tell how little is known at inputs, from 0 to 1.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs.

    Returns
    -------
    novelty : ndarray of shape (n_samples,)
        Share of the latent function's prior variance that is left, its mean over the targets: near
        0 where rows are near, 1 where predictions are those of the prior.
    """
    return ask(self, "novelty", X)


def leave_one_out(self, X=None, y=None, sample_weight=None):
    """Predict each training row from all others, in closed form, with all that was learned held.

    Parameters
    ----------
    X, y, sample_weight : array-like, default=None, None, None
        The training rows, for models that do not keep them, or where equal rows have become one.
        None means those that the model keeps: "pitc", "pic", "lma" and "vif" of
        `AnytimeSGPRegressor` do.

    Returns
    -------
    y_mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Means, in units of y, of the rows of positive weight, in their order. Told as by `predict`.

    y_std : ndarray of the same shape
        Standard deviations of the observations, noise included. NaN, as the mean, where a row is
        all that is known of the function there.

    Raises
    ------
    ValueError
        If the model does not keep its rows, or merged some of them, and X and y are missing.
        Also if it is a `BlockModel`, alone or in a mixture, and where rows count more than once or
        later batches have moved the kernel.
    """
    return left_out(self, X, y, sample_weight)


def left_out(self, X, y, sample_weight):
    """Return what the distribution of a fit makes of each training row, given all others."""
    check_is_fitted(self, "kernel_")
    if (X is None) != (y is None):
        raise ValueError("X and y must be given together. Got one of them.")
    if hasattr(self, "forget_factor"):
        raise ValueError(
            f"leave_one_out needs all training rows at once. Got a {type(self).__name__}, which "
            "sees each once: log_density of a batch, before it is learned from, tells the same."
        )
    _check_counted_once(self)
    given, _ = self._training_rows(X, y, sample_weight)
    model, fitted, name = self._model(), self._fitted, type(self).__name__
    n_seen = self.n_samples_seen_
    found = model.left_out(*left_out_rows(name, fitted, given, self._places, n_seen))
    if fitted.told_mean.is_own:
        return found
    reference = fitted.told_mean.reference
    if given is not None:
        given = with_targets(given, fitted.targets, reference.targets)
    rows, places = left_out_rows(name, reference, given, self._reference_places, n_seen)
    mean, _ = reference.predictor.left_out(rows, places, self.n_jobs)
    parts = fitted.told_mean.parts(rows, self.n_jobs, mean)
    return combined(fitted.targets, found[0], parts), found[1]


def _check_counted_once(estimator):
    """Refuse models in which what a row says counts more or less than once, or as it was once."""
    state, given = estimator._fitted.state, vars(estimator)
    cure = "Predict rows that were left out of fit."
    is_later = given.get("total_samples") is not None or getattr(state, "n_added", 0) > 0
    if is_later and not getattr(state, "exact", True):
        raise ValueError(
            "leave_one_out needs rows that count once, at the kernel as it is. Got rows that "
            "partial_fit has counted as total_samples, or before steps that moved the kernel. "
            f"{cure}"
        )
    if given.get("solver") == "anytime" and given.get("schedule") != "average":
        raise ValueError(
            "leave_one_out needs rows that count once. Got blocks of other weights, by "
            f"schedule={given['schedule']!r}: take 'average'. {cure}"
        )


def feature_importances(estimator):
    """Return how much of the function each column carries, (n_features,), adding up to one.

    It is that of the latent function's mean about the inducing inputs, by `column_shares`. Of a
    second fit, whose mean may be told beside it, nothing is in it.
    """
    check_is_fitted(estimator, "kernel_")
    fitted, form = estimator._fitted, estimator._format
    if fitted.parameters.has_features:
        raise AttributeError(
            "feature_importances_ needs inducing inputs, about which the mean changes. Got "
            'inducing="fourier": take sklearn.inspection.permutation_importance.'
        )

    def mean(inputs):
        if fitted.state.labels is not None and inputs.labels is None:  # they are in no block
            return fitted.posterior.mean(inputs.X)
        return fitted.predictor.mean(inputs, estimator.n_jobs)

    share = column_shares(mean, _typical_inputs(fitted))
    of_missing = share[len(form.own_columns(share[None])[0]) :]
    share = form.own_columns(share[None])[0].copy()
    share[list(form.missing.columns)] += of_missing
    for k in form.apart:
        share = np.insert(share, k, 0.0)
    return share


def _typical_inputs(fitted):
    """Return inducing inputs, or rows that are kept where there are none: `Inputs`."""
    Z, state = fitted.parameters.Z, fitted.state
    if len(Z) >= 2 or not state.keeps_rows:
        return Inputs(Z)
    blocks, rows = state.blocks, state.blocks.rows
    if state.labels is not None:
        cells = blocks.cells_at(blocks.places_of(np.arange(len(rows))))
        rows = state.partition.labelled(rows, cells)
    return Inputs(rows.X, rows.labels)


def _columns_with_slopes(estimator):
    """Return the input of the kernel that each column of X is, None for those without slopes."""
    form, n_features = estimator._format, estimator.n_features_in_
    mask, held = form.mask(n_features), estimator._fitted.parameters.expression.held_columns
    place, columns = 0, []
    for k in range(n_features):
        if k in form.apart:
            columns.append(None)
            continue
        is_number = (mask is None or not mask[k]) and place not in held
        columns.append(place if is_number else None)
        place += 1
    return columns
