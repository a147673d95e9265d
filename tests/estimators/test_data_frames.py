"""Data frames whose columns are not those of the fit meet scikit-learn's own errors, everywhere."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

pd = pytest.importorskip("pandas")

FEW = {"n_inducing": 5, "max_iter": 2, "random_state": 0}
REGRESSORS = [
    SVGPRegressor(**FEW),
    AnytimeSGPRegressor(**FEW),
    AnytimeSGPRegressor(model="vfe", **FEW),
    StreamingSGPRegressor(**FEW),
]
CLASSIFIERS = [SVGPClassifier(**FEW), AnytimeSGPClassifier(**FEW), StreamingSGPClassifier(**FEW)]
ESTIMATORS = pytest.mark.parametrize(
    "model", [*REGRESSORS, *CLASSIFIERS, BayesianGPLVM(**FEW)], ids=lambda model: repr(model)[:45]
)
# What a later frame may be like.
CHANGED = {
    "missing": lambda frame: frame[["a", "c"]],
    "reordered": lambda frame: frame[["c", "a", "b"]],
    "renamed": lambda frame: frame.rename(columns={"b": "B"}),
    "more": lambda frame: frame.assign(d=0.0),
}
OF_REGRESSORS = ["predict_std", "predict_quantiles", "predict_distribution", "sample_y"]
OF_CLASSIFIERS = ["predict_proba", "decision_function", "predict_std"]
OF_TABLES = ["transform", "impute", "score_samples"]


@pytest.fixture
def frame(rng):
    return pd.DataFrame(rng.uniform(-2.0, 2.0, (40, 3)), columns=["a", "b", "c"])


def fitted(model, frame):
    y = (frame["a"] + np.sin(frame["b"])).to_numpy()
    return model.fit(frame, y > 0.0 if model in CLASSIFIERS else y), y


def methods(model, y):
    """All that takes X, or Y, of new rows."""
    if isinstance(model, BayesianGPLVM):
        return [getattr(model, name) for name in OF_TABLES]
    names = ["predict", *(OF_CLASSIFIERS if model in CLASSIFIERS else OF_REGRESSORS)]
    target = y > 0.0 if model in CLASSIFIERS else y
    calls = [getattr(model, name) for name in names]
    with_targets = [model.log_density, model.score, model.partial_fit]
    return calls + [lambda X, call=call: call(X, target) for call in with_targets]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@ESTIMATORS
def test_other_columns_are_an_error(model, frame):
    """Missing, reordered, renamed and further columns: the message is scikit-learn's."""
    model, y = fitted(model, frame)
    linear = LinearRegression().fit(frame, y)
    for change in CHANGED.values():
        other = change(frame)
        with pytest.raises(ValueError, match="feature names should match") as expected:
            linear.predict(other)
        for call in methods(model, y):
            with pytest.raises(ValueError, match="feature names should match") as got:
                call(other)
            assert str(got.value) == str(expected.value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@ESTIMATORS
def test_arrays_after_frames_are_told(model, frame):
    """An array has no names to compare: scikit-learn's warning, or its error of too few columns."""
    model, _ = fitted(model, frame)
    predict = model.transform if isinstance(model, BayesianGPLVM) else model.predict
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        predict(frame.to_numpy())
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"),
    ):
        predict(frame.to_numpy()[:, :2])
