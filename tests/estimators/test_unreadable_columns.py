"""Errors about what cannot be read as numbers name the column and the cure: dates, words, holes."""

import datetime
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

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

N = 24
DAYS = pd.date_range("2024-01-01", periods=N)
DATES = [day.date() for day in DAYS]
LEVEL = np.linspace(0.0, 1.0, N)
FEW = {"n_inducing": 4, "max_iter": 2, "random_state": 0}
MODELS = [
    SVGPRegressor(**FEW),
    SVGPRegressor(n_latent=1, **FEW),
    AnytimeSGPRegressor(**FEW),
    StreamingSGPRegressor(**FEW),
    SVGPClassifier(**FEW),
    AnytimeSGPClassifier(**FEW),
    StreamingSGPClassifier(**FEW),
]
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def frame(when):
    return pd.DataFrame({"level": LEVEL, "when": when})


COLUMNS = {  # of a data frame
    "seconds": DAYS.astype("datetime64[s]"),
    "nanoseconds": DAYS.astype("datetime64[ns]"),
    "with a zone": DAYS.tz_localize("Europe/Berlin"),
    "with NaT": DAYS.where(np.arange(N) != 7),
    "durations": DAYS - DAYS[0],
    "periods": DAYS.to_period("D"),
    "objects": np.array(DATES, dtype=object),
    "objects among numbers": np.array([0.0, None, *DATES[2:]], dtype=object),
}
TABLES = {name: frame(values) for name, values in COLUMNS.items()}
OBJECTS = TABLES["objects"].to_numpy(object)
NAMELESS = {
    "objects": OBJECTS,
    "lists": OBJECTS.tolist(),
    "days": np.array(DAYS).astype("datetime64[D]")[:, None],
    "durations": (np.array(DAYS) - np.array(DAYS)[0])[:, None],
    "one axis": DAYS,
}


def of_other_libraries():
    """Tables of polars and pyarrow with a column of dates, as far as these are there."""
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        for dates in (DATES, list(DAYS), [datetime.time(3)] * N, [datetime.timedelta(1)] * N):
            yield pl.DataFrame({"level": LEVEL, "when": dates})
    try:
        import pyarrow as pa
    except ImportError:
        return
    for dates in (DATES, list(DAYS)):
        yield pa.table({"level": LEVEL, "when": pa.array(dates)})
    for kind in ("timestamp[us][pyarrow]", "date32[day][pyarrow]"):
        yield frame(pd.Series(DAYS).astype(kind))


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_dates_are_named(name):
    """Dates of any resolution and kind are an error of types that names column and cure."""
    with pytest.raises(TypeError, match=r"dates or durations in column 'when' .*: make columns"):
        clone(MODELS[0]).fit(TABLES[name], LEVEL)
    with pytest.raises(TypeError, match="column 'when'"):
        clone(MODELS[0]).fit(TABLES[name][["when"]], LEVEL)


def test_dates_of_other_libraries_are_named():
    """Tables of polars and pyarrow meet the same error."""
    for table in of_other_libraries():
        with pytest.raises(TypeError, match="dates or durations in column 'when'"):
            clone(MODELS[0]).fit(table, LEVEL)


@pytest.mark.parametrize("name", NAMELESS)
def test_dates_without_names_are_refused(name):
    """Arrays and lists of dates are never read as numbers, whatever their shape."""
    with pytest.raises(TypeError, match="dates or durations"):
        clone(MODELS[0]).fit(NAMELESS[name], LEVEL)


@pytest.mark.slow_cases("AnytimeSGPClassifier(*", "StreamingSGPClassifier(*")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:40])
def test_dates_change_no_estimator(model):
    """Every estimator and method refuses dates, and is as before."""
    numbers, dates = frame(LEVEL**2), TABLES["nanoseconds"]
    y = (LEVEL > 0.5) if hasattr(model, "predict_proba") else np.sin(LEVEL)
    model = clone(model).fit(numbers, y)
    before = pickle.dumps(model.predict(numbers))
    for call in (model.predict, lambda X: model.partial_fit(X, y), lambda X: model.fit(X, y)):
        with pytest.raises(TypeError, match="dates or durations in column 'when'"):
            call(dates)
    assert pickle.dumps(model.predict(numbers)) == before


def test_dates_are_refused_elsewhere_too():
    """Targets of regressors, tables of the latent variable model, drawn functions: all refuse."""
    model = clone(MODELS[0]).fit(frame(LEVEL**2), LEVEL)
    with pytest.raises(TypeError, match="dates"):
        model.sample_functions()(TABLES["seconds"])
    with pytest.raises(TypeError, match=r"Y must hold numbers\. Got dates or durations in column"):
        BayesianGPLVM().fit(TABLES["seconds"])
    for regressor in (MODELS[0], MODELS[1]):
        with pytest.raises(TypeError, match=r"y must hold numbers\. Got dates"):
            clone(regressor).fit(LEVEL[:, None], DAYS)


def test_dates_may_be_categories_and_classes():
    """Dates that are named as categories are labels, and so are those of classes."""
    few = frame(DAYS[np.arange(N) % 3])
    model = SVGPRegressor(categorical_features=["when"], **FEW).fit(few, LEVEL)
    assert len(model.categories_[0]) == 3
    assert np.isfinite(model.predict(few)).all()


def test_dates_of_a_collection_are_named():
    """A dask dataframe with dates meets the error before any of it is computed."""
    dataframe = pytest.importorskip("dask.dataframe")
    table = dataframe.from_pandas(TABLES["seconds"], npartitions=2)
    with pytest.raises(TypeError, match="dates or durations in column 'when'"):
        clone(MODELS[0]).fit(table, LEVEL)


def test_columns_of_words_are_named():
    """Words name their column, with dates that are words told of too."""
    for table in (frame(DAYS.astype(str)), frame(["wet"] * N)):
        with pytest.raises(ValueError, match=r"string in column 'when'.*categorical_features"):
            clone(MODELS[0]).fit(table, LEVEL)
    with pytest.raises(ValueError, match="string in column 1:"):
        clone(MODELS[0]).fit(frame(["wet"] * N).to_numpy(object), LEVEL)


def test_words_beside_nullable_numbers_are_named():
    """Where pandas casts a frame, its error names no column of words."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(
        {
            "age": pandas.array([1, None] * 10, dtype="Int64"),
            "place": pandas.Categorical(["here", "there"] * 10),
        }
    )
    with pytest.raises(ValueError, match=r"Got a string in column 'place'.*from_dtype"):
        SVGPRegressor().fit(X, np.arange(20.0))


@pytest.mark.slow_cases("AnytimeSGPClassifier(*")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:40])
def test_columns_with_infinities_and_huge_values_are_named(model):
    """Infinities and numbers whose squares overflow name their column and how many there are."""
    y = (LEVEL > 0.5) if hasattr(model, "predict_proba") else np.sin(LEVEL)
    huge = np.where(LEVEL > 0.9, 1e200, LEVEL)
    with np.errstate(over="ignore"):
        infinite = huge * huge
    for learn in (clone(model).fit, clone(model).partial_fit):
        with pytest.raises(ValueError, match=r"infinity .* in column 'when' \(3 of 24 rows\): rep"):
            learn(frame(infinite), y)
        with pytest.raises(ValueError, match=r"1e\+200: use another unit in column 'when'"):
            learn(frame(huge), y)
    model = clone(model).fit(frame(LEVEL**2), y)
    with pytest.raises(ValueError, match=r"infinity .* in column 'when'"):
        model.predict(frame(infinite))


def test_columns_are_counted_among_all(toy):
    """Where a column of X has labels of blocks, the others are numbered as X has them."""
    X = np.column_stack([np.arange(N) // 12, LEVEL, np.where(LEVEL > 0.9, np.inf, 0.0)])
    with pytest.raises(ValueError, match="in column 2"):
        AnytimeSGPRegressor(model="pic", block_column=0, **FEW).fit(X, LEVEL)


OTHER_THINGS = {  # tables with what is no number and no word, and what the error says
    "lists": (lambda X: X.assign(when=[[1.0, 2.0]] * N), r"column 'when' \(of type list\): make"),
    "dictionaries": (lambda X: X.assign(when=[{"a": 1}] * N), r"'when' \(of type dict\): make"),
    "complex numbers": (lambda X: X.assign(when=1j * LEVEL), r"'when' \(of type complex\): make"),
    "complex numbers of numpy": (
        lambda X: X.assign(when=pd.Series(list(1j * LEVEL), dtype=object)),
        r"'when' \(of type complex",
    ),
    "NA among objects": (
        lambda X: X.assign(when=pd.Series([pd.NA, *LEVEL[1:]], dtype=object)),
        r"NA among objects in column 'when': pass X\.convert_dtypes",
    ),
    "whole numbers too large": (
        lambda X: X.assign(when=pd.Series([10**400, *LEVEL[1:]], dtype=object)),
        r"a value too large in column 'when' \(1 of 24 rows\)",
    ),
    "a dictionary of columns": (lambda X: X.to_dict("list"), r"pass pandas\.DataFrame\(X\)"),
    "no columns": (lambda X: X[[]], "at least one column"),
    "rows of dictionaries": (lambda X: X.to_dict("records"), r"pass pandas\.DataFrame\(X\)"),
    "records": (lambda X: X.to_records(index=False), r"pass pandas\.DataFrame\(X\)"),
    "numbers as words": (lambda X: X.assign(when=["1,5"] * N), r"'when': .*pandas\.to_numeric"),
}


@pytest.mark.slow_cases("AnytimeSGPClassifier(*", "StreamingSGPClassifier(*")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:40])
def test_other_things_in_tables_are_named(model):
    """Lists, dictionaries and complex numbers name their column, and tables of them their cure."""
    y = (LEVEL > 0.5) if hasattr(model, "predict_proba") else np.sin(LEVEL)
    taught = clone(model).fit(frame(LEVEL**2), y)
    for change, said in OTHER_THINGS.values():
        for call in (lambda X: clone(model).fit(X, y), taught.predict):
            if call is taught.predict and "at least one column" in said:
                continue  # scikit-learn's names are first
            with pytest.raises(ValueError, match=said):
                call(change(frame(LEVEL)))


def test_columns_of_one_name():
    """Each column is looked at by itself; where names must be unique, it is said which are not."""
    table = frame(DAYS).set_axis(["level", "level"], axis=1)
    with pytest.raises(TypeError, match="dates or durations in column 'level' "):
        clone(MODELS[0]).fit(table, LEVEL)
    table = frame(LEVEL**2).set_axis(["level", "level"], axis=1)
    try:
        clone(MODELS[0]).fit(table, LEVEL)  # releases of scikit-learn before 1.9 take it
    except ValueError as error:
        assert "Got ['level'] more than once: rename them" in str(error)


def targets_of_dates():
    """Dates as targets, of all libraries that are there."""
    yield from (list(DAYS), DATES, pd.Series(list(DAYS), dtype=object), DAYS.tz_localize("UTC"))
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        yield from (pl.Series(list(DAYS)), pl.Series(DATES))
    try:
        import pyarrow as pa
    except ImportError:
        return
    yield from (pa.array(list(DAYS)), pa.chunked_array([pa.array(DATES)]))


REGRESSORS = [model for model in MODELS if not hasattr(model, "predict_proba")]
# Targets that are no numbers, and what the error says.
UNREADABLE = {
    "words": (np.where(LEVEL > 0.5, "high", "low"), "Got 'low', a word .*SVGPClassifier"),
    "numbers among words": (["1", "two"] * (N // 2), "Got 'two', a word .*to_numeric"),
    "categories": (pd.Categorical(["a", None] * (N // 2)), "Got 'a', a word"),
    "infinity": (np.where(LEVEL > 0.9, np.inf, LEVEL), r"infinity .*\(3 of 24 values\): leave"),
}


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: repr(model)[:40])
def test_targets_that_are_no_numbers(model):
    """Words send to a classifier, infinities are counted, and missing ones by all but streams."""
    X = frame(LEVEL**2)
    for y, said in UNREADABLE.values():
        with pytest.raises(ValueError, match=said):
            clone(model).fit(X, y)
    if model.get_params().get("n_latent") or isinstance(model, StreamingSGPRegressor):
        return
    for y in (np.where(LEVEL > 0.9, np.nan, LEVEL), pd.array([None] * 3 + [1.0] * 21, "Float64")):
        with pytest.raises(ValueError, match=r"y contains NaN \(3 of 24 values\): leave such rows"):
            clone(model).fit(X, y)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: repr(model)[:40])
def test_targets_of_dates(model):
    """Dates are refused as targets of every kind, in one column of several as well."""
    for y in targets_of_dates():
        with pytest.raises(TypeError, match=r"y must hold numbers\. Got dates"):
            clone(model).fit(frame(LEVEL), y)
    with pytest.raises(TypeError, match=r"y must hold numbers\. Got dates .* in column 'when'"):
        clone(model).fit(frame(LEVEL), frame(DAYS))


OTHER_TARGETS = {
    "lists of several lengths": ([[1.0], [1.0, 2.0]] * (N // 2), "Got list: make a number"),
    "dictionaries": ([{"a": 1.0}] * N, "Got dict: make a number"),
    "intervals": (pd.cut(LEVEL, 3), "Got Interval: make a number"),
    "complex numbers": (1j * LEVEL, r"Complex data not supported\. y must .* Got complex: make"),
    "bytes": ([b"a"] * N, "Got bytes: make a number"),
    "whole numbers too large": ([10**400, *LEVEL[1:]], r"too large \(1 of 24 values\)"),
    "both": (np.where(LEVEL > 0.9, [np.inf], np.where(LEVEL < 0.1, np.nan, LEVEL)), "y contains"),
}


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: repr(model)[:40])
def test_other_things_among_targets(model):
    """What is no number among targets is told by its kind, with what to do."""
    for y, said in OTHER_TARGETS.values():
        with pytest.raises(ValueError, match=said):
            clone(model).fit(frame(LEVEL), y)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: repr(model)[:40])
def test_errors_of_inputs_come_before_things_among_targets(model):
    """What is wrong with X is told as it is, whatever the targets are."""
    with pytest.raises(ValueError, match="dim 3"):
        clone(model).fit(np.zeros((N, 2, 2)), np.array([{"a": 1.0}] * N, dtype=object))


def test_sparse_targets():
    """Sparse targets are to be made dense, also where outputs mix functions."""
    for model in MODELS[:2]:
        with pytest.raises(TypeError, match="toarray"):
            clone(model).fit(frame(LEVEL), sparse.csr_array(LEVEL[:, None]))


def test_tables_of_dictionaries_with_categories():
    """Columns of categories are looked for in tables, not in dictionaries."""
    model = clone(MODELS[0]).set_params(categorical_features=["when"])
    for kind in ("records", "list"):
        with pytest.raises(ValueError, match=r"pass pandas\.DataFrame\(X\)"):
            model.fit(frame(LEVEL).to_dict(kind), LEVEL)


def test_targets_of_one_name():
    """Columns of y with one name are told, where a release of scikit-learn refuses them."""
    y = frame(LEVEL).set_axis(["level", "level"], axis=1)
    try:
        clone(MODELS[0]).fit(frame(LEVEL), y)
    except ValueError as error:
        assert "of y must have names of their own. Got ['level'] more than once" in str(error)


@pytest.mark.parametrize("model", MODELS[4:], ids=lambda model: repr(model)[:40])
def test_labels_that_are_no_classes(model):
    """Numbers send to a regressor; a missing word and labels of two kinds are named."""
    X = frame(LEVEL**2)
    with pytest.raises(ValueError, match=r"Unknown label type: continuous\..*take a regressor"):
        clone(model).fit(X, LEVEL)
    with pytest.raises(ValueError, match=r"Got labels of .*make words of all"):
        clone(model).fit(X, np.array([1, "a"] * (N // 2), dtype=object))
    with pytest.raises(ValueError, match=r"none of which is missing\. Got <NA> at index 0"):
        clone(model).fit(X, pd.Series([None, "a"] * (N // 2), dtype="string"))
    with pytest.raises(ValueError, match=r"infinity .*\. Leave these rows out"):
        clone(model).fit(X, np.r_[np.inf, np.ones(N - 1)])
    with pytest.raises(ValueError, match=r"1d array, .*\. Pass one column; .*MultiOutput"):
        clone(model).fit(X, np.eye(N, 2))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:40])
def test_lengths_that_differ(model):
    """As many targets as rows are asked for in each method that takes both."""
    X, y = frame(LEVEL**2), LEVEL > 0.5
    told = r"inconsistent .*\[24, 23\]\. X, y and .*: select the same rows of all"
    with pytest.raises(ValueError, match=told):
        clone(model).fit(X, y[1:])
    model = clone(model).fit(X, y)
    for call in (model.partial_fit, model.log_density):
        with pytest.raises(ValueError, match=told):
            call(X, y[1:])


@pytest.mark.parametrize("model", [MODELS[0], MODELS[4]])
def test_long_names_and_words_are_cut(model):
    """Names and words of thousands of letters are told by their beginnings."""
    y = LEVEL if model is MODELS[0] else LEVEL > 0.5
    for table in (
        pd.DataFrame({"n" * 9999: ["w" * 9999] * N}),
        pd.DataFrame({"n" * 9999: np.full(N, np.inf)}),
        pd.DataFrame({"n" * 9999: DAYS}),
    ):
        with pytest.raises(ValueError, match=r"column 'nnn.*\.\.\.") as caught:
            clone(model).fit(table, y)
        assert len(str(caught.value)) < 700


@pytest.mark.slow_cases("model5", "model6")
@pytest.mark.parametrize("model", MODELS)
def test_rows_that_are_elsewhere(model):
    """Iterators, and tables of sparse columns alone, are refused with what to pass."""
    y = LEVEL > 0.5 if hasattr(model, "predict_proba") else LEVEL
    with pytest.raises(TypeError, match=r"of type generator.*pass list"):
        clone(model).fit((row for row in LEVEL[:, None]), y)
    for fill in (0.0, np.nan):
        table = pd.DataFrame({"level": pd.arrays.SparseArray(LEVEL, fill_value=fill)})
        with pytest.raises(TypeError, match=r"sparse columns: pass X\.sparse\.to_dense"):
            clone(model).fit(table, y)
        assert (
            len(clone(model).fit(table.sparse.to_dense(), y).predict(table.sparse.to_dense())) == N
        )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("weight", "cure"),
    [
        ("balanced", "compute_sample_weight"),
        ({"a": 1.0}, "one number for each row. Got {'a': 1.0}: pass an array"),
        (np.array(["a"] * N), "one number for each row"),
        (np.full(N, 1j), "one number for each row"),
        (pd.Series([np.nan, *LEVEL[1:]]), "NaN: give these rows the weight 0"),
        (pd.array([None] + [1] * (N - 1), dtype="Int64"), "NaN: give these rows the weight 0"),
        (np.r_[np.inf, LEVEL[1:]], "infinity.*: give these rows the weight 0"),
    ],
)
def test_weights_that_are_no_numbers(model, weight, cure):
    """Weights that are words, dictionaries or missing are refused with what to do."""
    y = LEVEL > 0.5 if hasattr(model, "predict_proba") else LEVEL
    with pytest.raises(ValueError, match=cure):
        clone(model).fit(LEVEL[:, None], y, sample_weight=weight)


@pytest.mark.parametrize(("kind", "cure"), [(bool, "bool"), (int, "int")])
def test_labels_in_objects_are_told_their_type(kind, cure):
    """The error named bool as what must hold and what came, and a regressor as the cure."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(kind).astype(object)
    with pytest.raises(ValueError, match=rf"objects that are {cure}: pass y.astype\({cure}\)"):
        SVGPClassifier().fit(X, y)
