"""What a user can write to is no part of a model."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

CLASSIFIERS = [SVGPClassifier, AnytimeSGPClassifier, StreamingSGPClassifier]


@pytest.mark.parametrize(
    "kind", [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor, *CLASSIFIERS]
)
def test_writing_to_public_arrays_changes_no_prediction(kind, toy_outputs):
    """Fitted arrays are copies, or cannot be written to: predictions stay.

    ``classes_`` is what a classifier predicts with, as in scikit-learn.
    """
    X, y = toy_outputs
    y = (y[:, 0] > np.median(y[:, 0])).astype(int) if kind in CLASSIFIERS else y
    model = kind(n_inducing=8, max_iter=3, random_state=0).fit(X, y)
    before = model.predict(X)
    names = {name for name in vars(model) if name.endswith("_")} - {"classes_"}
    arrays = [value for value in map(vars(model).get, names) if isinstance(value, np.ndarray)]
    assert len(arrays) >= 3
    for array in arrays:
        if array.flags.writeable:
            array[:] = array[0]
    assert_array_equal(model.predict(X), before)
    assert not model.inducing_points_.flags.writeable
