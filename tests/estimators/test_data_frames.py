"""Data frames whose columns are not those of the fit meet scikit-learn's own errors, everywhere."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
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
CLASSIFIERS = [
    SVGPClassifier(**FEW),
    AnytimeSGPClassifier(alpha_epsilon=0.01, **FEW),
    StreamingSGPClassifier(**FEW),
]
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
    """Missing, reordered, renamed and further columns: scikit-learn's message, and a cure."""
    model, y = fitted(model, frame)
    linear = LinearRegression().fit(frame, y)
    for change in CHANGED.values():
        other = change(frame)
        with pytest.raises(ValueError, match="feature names should match") as expected:
            linear.predict(other)
        for call in methods(model, y):
            with pytest.raises(ValueError, match="feature names should match") as got:
                call(other)
            told = str(got.value)
            assert told.startswith(str(expected.value).strip())
            assert "Pass X[list(model.feature_names_in_)], the columns of fit" in told


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


@pytest.mark.slow_cases("AnytimeSGPClassifier(*")
@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=lambda model: repr(model)[:45])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tables_of_pyarrow_are_those_of_pandas(model, frame):
    """Fits and predictions are the same, with dictionaries and strings as categories too."""
    pa = pytest.importorskip("pyarrow")
    frame["c"] = pd.Categorical.from_codes(np.arange(40) % 3, ["low", "mid", "high"])
    y = np.sin(frame["a"].to_numpy()) + frame["c"].cat.codes.to_numpy()
    y = y > 0.5 if model in CLASSIFIERS else y
    model = clone(model).set_params(categorical_features="from_dtype")
    expected = model.fit(frame, y).predict(frame)
    table = pa.Table.from_pandas(frame)
    assert pa.types.is_dictionary(table["c"].type)
    np.testing.assert_array_equal(model.fit(table, y).predict(table), expected)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(table.to_batches()[0]), expected)
    strings = table.set_column(2, "c", pa.array(frame["c"].astype(str)))
    model = model.set_params(categorical_features=["c"])
    expected = model.fit(frame.astype({"c": str}), y).predict(frame)
    np.testing.assert_array_equal(model.fit(strings, y).predict(strings), expected)
    numbers = table.select(["a", "b"])
    model = model.set_params(categorical_features=None)
    expected = model.fit(frame[["a", "b"]], y).predict(frame[["a", "b"]])
    np.testing.assert_array_equal(model.fit(numbers, y).predict(numbers), expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_drawn_functions_and_displays_take_tables_of_pyarrow(frame):
    """What else takes X has the values of the same frame of pandas."""
    pa, plt = pytest.importorskip("pyarrow"), pytest.importorskip("matplotlib.pyplot")
    from sklearn_sgp.plotting import CalibrationDisplay, ResidualDisplay  # needs matplotlib

    plt.switch_backend("Agg")
    frame["c"] = pd.Categorical.from_codes(np.arange(40) % 3, ["low", "mid", "high"])
    table, y = pa.Table.from_pandas(frame), np.sin(frame["a"].to_numpy())
    model = SVGPRegressor(categorical_features="from_dtype", **FEW).fit(table, y)
    functions = model.sample_functions(2)
    np.testing.assert_array_equal(functions(table), functions(frame))
    shown = [CalibrationDisplay.from_estimator(model, X, y, groups="c") for X in (table, frame)]
    assert shown[0].group_names == shown[1].group_names == ["all", "high", "low", "mid"]
    np.testing.assert_array_equal(shown[0].coverage, shown[1].coverage)
    shown = [ResidualDisplay.from_estimator(model, X, y) for X in (table, frame)]
    assert shown[0].names == shown[1].names == ["prediction", "a", "b", "c"]
    plt.close("all")


@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=lambda model: repr(model)[:45])
def test_queries_are_told_to_collect(model, frame):
    """A lazy frame of polars has no rows yet, and the error says how to get them."""
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"Got a LazyFrame: pass X\.collect\(\)"):
        clone(model).fit(pl.DataFrame(frame.to_dict("list")).lazy(), np.arange(40.0))


def test_drawn_functions_know_the_columns(rng):
    """Columns in another order were taken by their places."""
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    model = SVGPRegressor(n_inducing=5, max_iter=2, random_state=0).fit(X, X["a"])
    functions = model.sample_functions()
    assert functions(X).shape[0] == 60
    with pytest.raises(ValueError, match="in their order"):
        functions(X[["b", "a"]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_given_inducing_inputs_have_the_columns_of_X(library):
    """Columns in another order were taken by their places."""
    library, rng = pytest.importorskip(library), np.random.default_rng(0)
    X = library.DataFrame({"a": rng.normal(size=30), "b": 100.0 + rng.normal(size=30)})
    y, model = np.asarray(X["a"]), SVGPRegressor(optimizer=None)
    model.set_params(inducing=X[["a", "b"]]).fit(X, y)
    assert_array_equal(model.inducing_points_, np.asarray(X))
    for names, renamed in ((["b", "a"], ["b", "a"]), (["a", "b"], ["a", "c"])):
        Z = library.DataFrame(dict(zip(renamed, (X[name] for name in names), strict=True)))
        with pytest.raises(ValueError, match=r"'inducing'.*in their order, \['a', 'b'\]\. Got \["):
            model.set_params(inducing=Z).fit(X, y)
    model.fit(np.asarray(X), y)
