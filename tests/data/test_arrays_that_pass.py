"""Arrays that pass all checks are not checked by scikit-learn again; what follows is the same."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.data import inputs

X = np.random.default_rng(0).standard_normal((30, 3))
GIVEN = {
    "as it is": X,
    "float32": X.astype(np.float32),
    "Fortran": np.asfortranarray(X),
    "other bytes": X.astype(">f8"),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "integers": np.arange(9).reshape(3, 3),
    "missing": np.where(X > 1.0, np.nan, X),
    "infinite": np.where(X > 1.0, np.inf, X),
    "both infinities": np.where(np.abs(X) > 1.0, np.sign(X) * np.inf, X),
    "large": 1e308 * np.sign(X),
    "few columns": X[:, :2],
    "no rows": X[:0],
    "one row": X[0],
    "objects": X.astype(object),
    "names": pd.DataFrame(X, columns=["a", "b", "c"]),
}


def _outcome(model, given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = model.predict(given).tobytes()
        except (TypeError, ValueError) as error:
            answer = repr(error)
    return answer, [str(one.message) for one in caught]


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("kind", GIVEN)
def test_the_outcome_is_that_of_all_checks(kind, names, monkeypatch):
    """Predictions, errors and warnings are those of rows that scikit-learn has checked."""
    rows = GIVEN["names"] if names else X
    model = SVGPRegressor(optimizer=None, n_inducing=5, random_state=0).fit(rows, X[:, 0])
    found = _outcome(model, GIVEN[kind])
    monkeypatch.setattr(inputs, "_are_numbers_of", lambda estimator, X: False)
    assert found == _outcome(model, GIVEN[kind])
