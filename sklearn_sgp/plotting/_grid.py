"""Predictions on a grid over the inputs, through pipelines too."""

import warnings
from contextlib import contextmanager
from numbers import Integral

import numpy as np
from scipy.special import ndtri
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length

from ..metrics import final_step
from ._columns import Categories, Numbers, column_of, columns_in, in_order


def rows_like(X):
    """Return what makes values of each column, a list of arrays, a table of the kind of X."""
    if not hasattr(X, "columns"):
        return _array_of
    return lambda columns: _frame_like(X, columns)


def _array_of(columns):
    """Return columns as an array: of numbers where all are."""
    if all(column.dtype.kind == "f" for column in columns):
        return np.column_stack(columns)
    return np.column_stack([column.astype(object) for column in columns])


def _frame_like(X, columns):
    """Return columns as a data frame with the names of X, and its types where they are no numbers.

    What was whole or true in X need not be so on a grid, nor at a median.
    """
    frame = type(X)(dict(zip(X.columns, columns, strict=True)))
    as_before = [
        name for name, one in zip(X.columns, columns, strict=True) if one.dtype.kind != "f"
    ]
    types = {name: X[name].dtype for name in as_before}
    if not hasattr(frame, "astype"):
        return frame.cast(types)
    for name in as_before:
        if getattr(types[name], "tz", None) is not None:  # the dates are those of UTC
            frame[name] = frame[name].dt.tz_localize("UTC")
        unit = getattr(getattr(types[name], "pyarrow_dtype", None), "unit", None)
        if unit is not None:  # pyarrow does not round dates itself
            frame[name] = frame[name].dt.floor(unit)
    return frame.astype(types)


def coded_inducing_points(model):
    """Return the inducing inputs of a model with codes of categories."""
    Z, form = np.asarray(model.inducing_points_), getattr(model, "_format", None)
    return Z if form is None else form.codes.encoded(Z)


def inducing_points_in_inputs(estimator, X=None):
    """Return inducing inputs in the input space of ``estimator``, whose rows are as those of X.

    Categories have codes. The result is None if a step of a pipeline cannot be inverted, or gives
    categories.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(estimator, Pipeline):
        Z, form = coded_inducing_points(estimator), getattr(estimator, "_format", None)
        for k in () if form is None else form.apart:  # columns that the kernel does not see
            Z = np.insert(Z, k, np.nan, axis=1)
        return Z
    Z = inducing_points_in_inputs(estimator[-1])
    if len(estimator) == 1 or Z is None:
        return Z
    before, model = estimator[:-1], final_step(estimator)[0]
    has_categories = getattr(model, "categories_", None) is not None
    if has_categories or not hasattr(before, "inverse_transform"):
        return None
    with nameless_features_allowed():
        points = before.inverse_transform(Z)
        if np.shape(points)[1] != getattr(before, "n_features_in_", np.shape(points)[1]):
            return None
        # the default inverse of FunctionTransformer is the identity
        rows = rows_like(X)(list(np.asarray(points, dtype=np.float64).T))
        return points if np.allclose(before.transform(rows), Z) else None


def columns_of(estimator, X):
    """Return what each column that enters the estimator is: categories as the model knows them.

    Labels of blocks are categories, of those in X.
    """
    model = getattr(estimator, "best_estimator_", estimator)
    if isinstance(model, Pipeline):
        return None if X is None else [column_of(values) for values in columns_in(X)]
    columns = [Numbers()] * model.n_features_in_
    if getattr(model, "categories_", None) is not None:
        categories, is_categorical = iter(model.categories_), model.is_categorical_
        columns = [Categories(next(categories)) if one else Numbers() for one in is_categorical]
    block = getattr(getattr(model, "_format", None), "block", None)
    if block is not None and X is not None and np.shape(X)[1] == len(columns):
        columns[block] = Categories(in_order(columns_in(X)[block].tolist()))
    return columns


def places_of(X, columns):
    """Return places of inputs, shape (n, n_features), NaN where a value is missing."""
    if X is None or all(type(one) is Numbers for one in columns):
        return None if X is None else check_array(X, ensure_all_finite="allow-nan")
    values = columns_in(X)
    if len(values) != len(columns):
        raise ValueError(f"X must have {len(columns)} columns. Got {len(values)}.")
    labels = [repr(name) for name in X.columns] if hasattr(X, "columns") else range(len(columns))
    return np.column_stack([_places(*one) for one in zip(labels, columns, values, strict=True)])


def _places(label, column, values):
    """Return places of values of a column; of a category that is not known it names the column."""
    try:
        return column.places(values)
    except ValueError as error:
        raise ValueError(f"X must have categories in column {label} that {error}") from error


def input_grid(places, resolution, columns, names):
    """Return grid places of one or two features, a little beyond the range of these places."""
    if places is None or not len(places):
        raise ValueError(
            "X must be given: the pipeline's steps cannot be inverted, or there are no inducing "
            "inputs."
        )
    if places.shape[1] > 2:
        raise ValueError(
            f"PosteriorDisplay draws one or two features. Got {places.shape[1]}: name the one to "
            "vary, by the 'feature' parameter; the others are held."
        )
    unknown = np.isnan(places).all(axis=0)
    if unknown.any():
        raise ValueError(
            "X must have a value in each feature that is drawn. Got NaN alone in "
            f"{names[np.flatnonzero(unknown)[0]]!r}: name another one by the 'feature' parameter."
        )
    ends = zip(columns, np.nanmin(places, axis=0), np.nanmax(places, axis=0), strict=True)
    return tuple(column.grid(low, high, resolution) for column, low, high in ends)


class Whole:
    """All features are drawn."""

    def of(self, values):
        """Return what is drawn, of values for each feature."""
        return values

    def names(self, names):
        """Return names of the features that are drawn."""
        return names

    def inputs(self, X):
        """Return rows of all features for those that are drawn."""
        return X


class Slice:
    """One feature is drawn, the others are held at medians, or at their commonest categories.

    Parameters
    ----------
    column : int
        The feature.

    places : ndarray of shape (n, n_features)
        Of inputs.

    columns : sequence
        What each feature is: `Numbers`, `Dates` or `Categories`.
    """

    def __init__(self, column, places, columns):
        self.column, self.held = column, np.full(places.shape[1], np.nan)
        for j in np.flatnonzero(~np.isnan(places).all(axis=0)):  # else no value is known, nor held
            self.held[j] = columns[j].middle(places[:, j])

    def of(self, values):
        """Return what is drawn, of values for each feature: columns of an array, or a list."""
        if values is None:
            return None
        one = slice(self.column, self.column + 1)
        return values[one] if isinstance(values, list) else values[:, one]

    def names(self, names):
        """Return names of the features that are drawn."""
        return [f"x{self.column}" if names is None else names[self.column]]

    def inputs(self, X):
        """Return rows of all features for those that are drawn."""
        return self.inputs_of(self.held[None], X)

    def inputs_of(self, rows, X):
        """Return each row at all values of what is drawn, one row after the other."""
        whole = np.repeat(rows, len(X), axis=0)
        whole[:, self.column] = np.tile(X[:, 0], len(rows))
        return whole


def drawn_part(feature, places, columns, names):
    """Return the `Slice` through a feature that is given by index or name; `Whole` for None."""
    if feature is None:
        return Whole()
    if places is None or not len(places):
        raise ValueError("X must be given, for the values that the other features are held at.")
    n_features = places.shape[1]
    known = [*range(n_features), *(() if names is None else names)]
    if isinstance(feature, bool) or feature not in known:
        raise ValueError(
            f"The 'feature' parameter must be the name of a column, or an index below {n_features}."
            f" Got {feature!r}."
        )
    return Slice(known.index(feature) % n_features, places, columns)


def posterior_on_grid(estimator, grid, part, confidence, include_noise, target, columns, rows_of):
    """Predict mean, and band (one feature) or standard deviation (two features), on the grid.

    ``part`` makes places of all features from those of the grid; ``rows_of`` is what `rows_like`
    returns.
    """
    shape = tuple(len(places) for places in grid)  # (n_0,) or (n_0, n_1)
    _check_units(final_step(estimator)[0], include_noise)
    X = part.inputs(np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, len(grid)))
    X = _table(X, columns, rows_of)
    with nameless_features_allowed():
        model, inputs = final_step(estimator, X)
        mean = model.predict(inputs)
        if len(grid) == 1:
            name, spread = "band", band(model, inputs, mean, confidence, include_noise)
        else:
            name, spread = "std", model.predict_std(inputs, include_noise=include_noise)
    if mean.ndim == 2:
        mean, spread = mean[:, target], spread[:, target]
    return {"mean": mean.reshape(shape), name: spread.reshape(shape + spread.shape[1:])}


def _check_units(model, include_noise):
    """Refuse deviations of a function whose units are not those of y."""
    likelihood = getattr(model, "likelihood_", None)
    if not include_noise and not getattr(likelihood, "identity_mean", True):
        raise ValueError(
            "include_noise must be True for a likelihood whose mean is no linear function of the "
            f"latent one, which has other units than y. Got {likelihood!r}."
        )


def _table(places, columns, rows_of):
    """Return a table of values for places of all features."""
    pairs = zip(columns, places.T, strict=True)
    return rows_of([column.values(own) for column, own in pairs])


def curves_on_grid(estimator, grid, part, rows, target, columns, rows_of):
    """Predict a mean for each of some rows, shape (n_rows, n_0), as one feature varies.

    ``rows`` are places of all features, of which those of the feature do not matter.
    """
    X = _table(part.inputs_of(rows, grid[0][:, None]), columns, rows_of)
    with nameless_features_allowed():
        model, inputs = final_step(estimator, X)
        mean = model.predict(inputs)
    mean = mean[:, target] if mean.ndim == 2 else mean
    return mean.reshape(len(rows), len(grid[0]))


def checked_rows_of_curves(places, curves, part, random_state):
    """Return places of rows of inputs that get a curve each, chosen at random."""
    is_count = isinstance(curves, Integral) and not isinstance(curves, bool) and curves >= 0
    if not is_count or (curves and isinstance(part, Whole)):
        raise ValueError(
            "The 'curves' parameter must be a number of rows, and 0 without a 'feature' that "
            f"varies. Got {curves!r}."
        )
    rows = check_random_state(random_state).permutation(len(places))[:curves]
    return places[np.sort(rows)]


def band(model, inputs, mean, confidence, include_noise):
    """Return lower and upper end of the central band, on an added last axis of length 2."""
    tail = (1.0 - confidence) / 2.0
    if include_noise:
        return model.predict_quantiles(inputs, quantiles=(tail, 1.0 - tail))
    half_width = ndtri(1.0 - tail) * model.predict_std(inputs, include_noise=False)
    return np.stack([mean - half_width, mean + half_width], axis=-1)


def checked_observations(X, y, target, subsample, random_state):
    """Return at most ``subsample`` places and values of one output of y, nothing if y is None."""
    if y is None:
        return {}
    if X is None:
        raise ValueError("X must be given together with y.")
    y = check_array(y, ensure_2d=False, input_name="y")
    check_consistent_length(X, y)
    if subsample is not None and subsample < len(X):
        rows = check_random_state(random_state).choice(len(X), subsample, replace=False)
        X, y = X[rows], y[rows]
    return {"X": X, "y": y[:, target] if y.ndim == 2 else y}


@contextmanager
def nameless_features_allowed():
    """Ignore the warning that a plain array, the grid, has no feature names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield
