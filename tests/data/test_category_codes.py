"""Columns of categories become codes, and what was not there before the code after the last."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_sgp.data.categories import CategoryCodes, InputColumns, categorical_columns


def encoded(X, given, new=None):
    codes = CategoryCodes.fit(X, given)
    return np.asarray(codes.transform(X if new is None else new), dtype=float)


def test_strings_become_codes():
    """Sorted strings are 0, 1, 2, ...; other columns stay, and so does X."""
    X = np.array([[1.5, "b"], [2.5, "a"], [3.5, "c"], [4.5, "b"]], dtype=object)
    before = X.copy()
    assert_array_equal(encoded(X, [1]), [[1.5, 1], [2.5, 0], [3.5, 2], [4.5, 1]])
    assert_array_equal(X, before)


def test_numbers_become_codes():
    """Numbers with gaps become codes."""
    X = np.array([[100.0, 1.0], [-5.0, 2.0], [100.0, 3.0]], dtype=np.float32)
    assert_array_equal(encoded(X, [0]), [[1, 1], [0, 2], [1, 3]])
    assert_array_equal(encoded(X, [0], [[7.0, 1.0], [-5.0, 0.0]]), [[2, 1], [0, 0]])


def test_codes_stay_as_they_are():
    """An array that has codes already is not copied."""
    X = np.array([[0.0, 1.5], [1.0, 2.5], [2.0, 0.5]])
    assert CategoryCodes.fit(X, [0]).transform(X) is X


def test_lists_and_tuples_are_tables():
    """A list of rows with strings is a table."""
    assert_array_equal(encoded([["x", 1.0], ["y", 2.0]], (0,)), [[0, 1], [1, 2]])


@pytest.mark.parametrize("missing", [None, np.nan], ids=["None", "NaN"])
def test_a_missing_value_is_a_category(missing):
    """Where the first rows have missing values these are a category, otherwise they are new."""
    X = np.array([["b"], [missing], ["a"]], dtype=object)
    codes = encoded(X, [0])[:, 0]
    assert sorted(codes) == [0, 1, 2]
    known = np.array([["b"], ["a"]], dtype=object)
    assert_array_equal(encoded(known, [0], X)[:, 0], [1, 2, 0])


def test_columns_by_dtype():
    """ "from_dtype" finds the categories of a dataframe, and nothing in an array."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"x": [1.0, 2.0], "c": pandas.Categorical(["v", "u"]), "n": [5, 6]})
    assert categorical_columns(X, "from_dtype") == (1,)
    assert categorical_columns(np.zeros((2, 3)), "from_dtype") == ()
    codes = CategoryCodes.fit(X, "from_dtype")
    changed = codes.transform(X)
    assert list(changed.columns) == ["x", "c", "n"]
    assert_array_equal(changed.to_numpy(dtype=float), [[1, 1, 5], [2, 0, 6]])
    assert list(X["c"]) == ["v", "u"]
    new = pandas.DataFrame({"x": [1.0], "c": pandas.Categorical(["w"]), "n": [5]})
    assert_array_equal(codes.transform(new).to_numpy(dtype=float), [[1, 2, 5]])


def test_columns_of_polars():
    """The same for a dataframe of polars."""
    polars = pytest.importorskip("polars")
    X = polars.DataFrame({"x": [1.0, 2.0], "c": ["v", "u"]}).with_columns(
        polars.col("c").cast(polars.Categorical)
    )
    assert categorical_columns(X, "from_dtype") == (1,)
    assert_array_equal(CategoryCodes.fit(X, "from_dtype").transform(X).to_numpy(), [[1, 1], [2, 0]])


@pytest.mark.parametrize("given", [[2, 0], (0, 2), np.array([True, False, True]), ["a", "c"]])
def test_columns_by_index_mask_or_name(given):
    """Indices, masks and names say the same."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.zeros((2, 3)), columns=list("abc"))
    assert categorical_columns(X, given) == (0, 2)


@pytest.mark.parametrize("given", [[3], [-1], ["a"], [True], [0.5]])
def test_columns_that_are_not_there_are_refused(given):
    """The error tells what came, and which columns there are."""
    with pytest.raises(ValueError, match=r"'categorical_features'.*3 columns with no names"):
        categorical_columns(np.zeros((2, 3)), given)


def test_too_many_categories_are_refused():
    """More than 10,000 categories are an error that names the column."""
    X = np.arange(10_001.0)[:, None] * 2.0
    with pytest.raises(ValueError, match="Got 10001 in column 0"):
        CategoryCodes.fit(X, [0])
    assert encoded(X[:10_000], [0]).max() == 9_999


def test_mask_of_columns():
    """The mask has True for categories; it is None where there are none."""
    assert_array_equal(InputColumns(None, (1,)).mask(3), [False, True, False])
    assert InputColumns().mask(3) is None


def test_columns_are_plain():
    """They are where all have numbers, and none lacks one, whatever their names."""
    assert InputColumns(("a", "b")).are_plain
    assert not InputColumns(None, (1,)).are_plain
    assert not InputColumns(incomplete=(0,)).are_plain
