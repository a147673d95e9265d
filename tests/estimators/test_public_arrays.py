"""What a user can write to is no part of a model."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
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


@pytest.mark.parametrize("noise", ["shared", "columns"])
def test_writing_to_arrays_of_a_latent_model_changes_nothing(noise):
    """Latent inputs, scaling and calibration of the public are copies too."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=60)
    Y = np.column_stack([np.sin(t), np.cos(t), t, t**2]) + 0.1 * rng.normal(size=(60, 4))
    Y[rng.random(Y.shape) < 0.1] = np.nan
    model = BayesianGPLVM(2, n_inducing=8, max_iter=10, noise=noise, random_state=0).fit(Y)
    before = model.transform(Y), *model.impute(Y, return_std=True), model.score(Y)
    arrays = {k: v for k, v in vars(model).items() if k.endswith("_") and hasattr(v, "flags")}
    assert {"embedding_", "mean_", "scale_", "calibration_"} <= set(arrays)
    for array in arrays.values():
        if array.flags.writeable:
            array[:] = 7.0
    after = model.transform(Y), *model.impute(Y, return_std=True), model.score(Y)
    for a, b in zip(after, before, strict=True):
        assert_array_equal(a, b)
    for name in ("embedding_", "embedding_std_", "relevance_", "mean_", "scale_", "calibration_"):
        assert not arrays[name].flags.writeable
