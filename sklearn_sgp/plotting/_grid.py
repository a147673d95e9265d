"""Predictions on a grid over the inputs, through pipelines too."""

import warnings
from contextlib import contextmanager

import numpy as np
from scipy.special import ndtri
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length

from ..metrics import final_step


def naming(estimator, X):
    """Return what makes rows a data frame like X, for steps of a pipeline that ask for names."""
    is_asked = isinstance(getattr(estimator, "best_estimator_", estimator), Pipeline)
    if not (is_asked and hasattr(X, "iloc")):
        return lambda rows: rows
    return lambda rows: type(X)(rows, columns=X.columns)


def inducing_points_in_inputs(estimator, named=lambda rows: rows):
    """Return inducing inputs in the input space of ``estimator``.

    The result is None if a step of a pipeline cannot be inverted. ``named`` is that of `naming`.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(estimator, Pipeline):
        return estimator.inducing_points_
    Z = inducing_points_in_inputs(estimator[-1])
    if len(estimator) == 1 or Z is None:
        return Z
    before = estimator[:-1]
    if not hasattr(before, "inverse_transform"):
        return None
    with nameless_features_allowed():
        points = before.inverse_transform(Z)
        if np.shape(points)[1] != getattr(before, "n_features_in_", np.shape(points)[1]):
            return None
        # the default inverse of FunctionTransformer is the identity
        return points if np.allclose(before.transform(named(points)), Z) else None


def categories_of(estimator):
    """Return for each feature its categories in the order of their codes; None for a number."""
    model = getattr(estimator, "best_estimator_", estimator)
    if getattr(model, "categories_", None) is None:
        return [None] * getattr(model, "n_features_in_", 2)
    categories = iter(model.categories_)
    return [next(categories) if one else None for one in model.is_categorical_]


def places_of(X, categories):
    """Return inputs with codes in the place of categories, shape (n, n_features)."""
    if X is None or all(one is None for one in categories):
        return X
    table = np.asarray(X, dtype=object).copy()
    for column, values in enumerate(categories):
        if values is not None:
            code = {value: k for k, value in enumerate(values)}
            unknown = [value for value in table[:, column] if value not in code]
            if unknown:
                raise ValueError(
                    f"X must have categories in column {column} that the model knows. Got "
                    f"{unknown[0]!r}."
                )
            table[:, column] = [code[value] for value in table[:, column]]
    return table.astype(np.float64)


def checked_places(X):
    """Return checked inputs, NaN where a value is missing."""
    return check_array(X, ensure_all_finite="allow-nan")


def input_grid(X, inducing_points, resolution, categories=(None, None)):
    """Return grid values of one or two features, a little beyond the range of X; or all codes."""
    places = inducing_points if X is None else checked_places(X)
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
            "X must have a value in each feature that is drawn. Got NaN alone in feature "
            f"{np.flatnonzero(unknown)[0]} of these."
        )
    low, high = np.nanmin(places, axis=0), np.nanmax(places, axis=0)
    margin = np.where(high > low, 0.05 * (high - low), 1.0)
    numbers = np.linspace(low - margin, high + margin, resolution).T
    pairs = zip(numbers, categories, strict=False)
    return tuple(
        grid if categories is None else np.arange(float(len(categories)))
        for grid, categories in pairs
    )


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
        Inputs, with codes in the place of categories.

    categories : sequence
        For each feature None, or its categories.
    """

    def __init__(self, column, places, categories):
        known = ~np.isnan(places).all(axis=0)  # of other columns no value is known, nor held
        self.column, self.held = column, np.full(places.shape[1], np.nan)
        self.held[known] = np.nanmedian(places[:, known], axis=0)
        for one, values in enumerate(categories):
            if values is not None:
                self.held[one] = np.bincount(places[:, one].astype(int)).argmax()

    def of(self, values):
        """Return what is drawn, of values for each feature: columns of an array, or a list."""
        if values is None:
            return None
        one = slice(self.column, self.column + 1)
        return values[:, one] if getattr(values, "ndim", 1) == 2 else list(values)[one] or [None]

    def names(self, names):
        """Return names of the features that are drawn."""
        return [f"x{self.column}" if names is None else names[self.column]]

    def inputs(self, X):
        """Return rows of all features for those that are drawn."""
        whole = np.tile(self.held, (len(X), 1))
        whole[:, self.column] = X[:, 0]
        return whole


def drawn_part(feature, X, inducing_points, categories, names):
    """Return the `Slice` through a feature that is given by index or name; `Whole` for None."""
    if feature is None:
        return Whole()
    places = inducing_points if X is None else checked_places(X)
    if places is None or not len(places):
        raise ValueError("X must be given, for the values that the other features are held at.")
    n_features = places.shape[1]
    known = [*range(n_features), *(() if names is None else names)]
    if isinstance(feature, bool) or feature not in known:
        raise ValueError(
            f"The 'feature' parameter must be the name of a column, or an index below {n_features}."
            f" Got {feature!r}."
        )
    return Slice(known.index(feature) % n_features, places, categories)


def posterior_on_grid(estimator, grid, part, confidence, include_noise, target, categories, named):
    """Predict mean, and band (one feature) or standard deviation (two features), on the grid.

    ``part`` makes rows of all features from those of the grid; ``named`` is that of `naming`.
    """
    shape = tuple(len(places) for places in grid)  # (n_0,) or (n_0, n_1)
    X = part.inputs(np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, len(grid)))
    for column, values in enumerate(categories):
        if values is not None:
            values = values[X[:, column].astype(int)]
            X = X.astype(object)
            X[:, column] = values
    X = named(X)
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


def band(model, inputs, mean, confidence, include_noise):
    """Return lower and upper end of the central band, on an added last axis of length 2."""
    tail = (1.0 - confidence) / 2.0
    if include_noise:
        return model.predict_quantiles(inputs, quantiles=(tail, 1.0 - tail))
    half_width = ndtri(1.0 - tail) * model.predict_std(inputs, include_noise=False)
    return np.stack([mean - half_width, mean + half_width], axis=-1)


def checked_observations(X, y, target, subsample, random_state):
    """Return at most ``subsample`` rows of X and of one output of y, or nothing if y is None."""
    if y is None:
        return {}
    if X is None:
        raise ValueError("X must be given together with y.")
    X, y = checked_places(X), check_array(y, ensure_2d=False, input_name="y")
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
