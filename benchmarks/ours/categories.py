"""`AnytimeSGPRegressor` with columns of categories: beside the numbers, one-hot, or not at all."""

import time
import warnings

import numpy as np
from protocol import emit, main
from scoring import scores
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import OneHotEncoder

from sklearn_sgp import AnytimeSGPRegressor

# Of one column; others are one more. 1,276 distances one-hot would be 7 GB of 700,000 flights.
_MOST_COLUMNS = 50


def fit(problem, *, columns, way, **options):
    """One fit and its scores.

    Parameters
    ----------
    columns : list of int
        Columns of categories, which are numbers as well.
    way : {"none", "one_hot", "categories"}
    """
    X, X_test, categorical = _inputs(problem, columns, way)
    begin = time.perf_counter()
    model = AnytimeSGPRegressor(random_state=0, categorical_features=categorical, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, problem.y)
    seconds = time.perf_counter() - begin
    found = scores(problem.y_test, *model.predict(X_test, return_std=True))
    kernel = str(model.kernel_)
    rmse = found["rmse"] * problem.y_scale
    emit(problem=problem.name, way=way, seconds=seconds, rmse_in_units=rmse, kernel=kernel, **found)


def _inputs(problem, columns, way):
    X, X_test = problem.X, problem.X_test
    if way == "none":
        return X, X_test, None
    own, own_test = X[:, columns], X_test[:, columns]
    if way == "one_hot":
        encoder = OneHotEncoder(
            max_categories=_MOST_COLUMNS,
            handle_unknown="infrequent_if_exist",
            sparse_output=False,
            dtype=np.float32,
        ).fit(own)
        own, own_test = encoder.transform(own), encoder.transform(own_test)
        dtype, categorical = np.float32, None
    else:
        dtype, categorical = np.float64, list(range(X.shape[1], X.shape[1] + len(columns)))
    pairs = ((X, own), (X_test, own_test))
    X, X_test = (np.hstack([one.astype(dtype), other]) for one, other in pairs)
    return X, X_test, categorical


if __name__ == "__main__":
    main([fit])
