"""Categories of later batches and of prediction: kinds, new values, missing ones, weights."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.kernels import Categorical, Columns

NAMES = np.array(["n", "e", "s", "w"], dtype=object)
OPTIONS = {"n_inducing": 30, "random_state": 0, "categorical_features": [1]}


@pytest.fixture(scope="module")
def data():
    """200 rows of a number and a code, and the targets."""
    rng = np.random.default_rng(0)
    x, c = rng.uniform(0, 6, 200), rng.integers(0, 4, 200)
    y = np.sin(x) * np.array([1, -1, 1, 0])[c] + c + 0.1 * rng.standard_normal(200)
    return x, c, y


def table(x, values):
    return np.column_stack([np.asarray(x, dtype=object), np.asarray(values, dtype=object)])


def words(data):
    return table(data[0], NAMES[data[1]])


def test_a_prediction_does_not_depend_on_the_other_rows(data):
    """Values of several kinds are compared as strings, whatever a call has."""
    x, c, y = data
    X = table(x, np.array([1, 2, "a", "b"], dtype=object)[c])
    model = SVGPRegressor(**OPTIONS, optimizer=None).fit(X, y)
    whole = model.predict(X)
    for code in range(4):
        assert_allclose(model.predict(X[c == code]), whole[c == code], rtol=1e-9)


@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor])
def test_values_of_another_kind_are_refused(data, estimator):
    """Numbers of a first batch are no strings later, and the reverse."""
    x, c, y = data
    numbers, strings = table(x, c + 1), table(x, (c + 1).astype(str))
    for first, other in ((numbers, strings), (strings, numbers)):
        model = estimator(**OPTIONS, optimizer=None).fit(first, y)
        before = model.predict(first[:5])
        with pytest.raises(ValueError, match="Categories in column 1 of X must be"):
            model.predict(other)
        with pytest.raises(ValueError, match="Categories in column 1 of X must be"):
            model.partial_fit(other, y)
        assert_array_equal(model.predict(first[:5]), before)


def test_new_categories_are_not_one(data):
    """What is learned of one new category is not said of another."""
    x, _, y = data
    model = StreamingSGPRegressor(**OPTIONS, max_iter=30).fit(words(data), y)
    prior = model.predict(table([3.0], ["z2"]), return_std=True)
    new = table(x[:60], ["z1"] * 60)
    model.partial_fit(new, 10.0 + 0.05 * np.random.default_rng(1).standard_normal(60))
    known = model.predict(table([3.0], ["z1"]), return_std=True)
    unseen = model.predict(table([3.0], ["z2"]), return_std=True)
    assert abs(known[0][0] - 10.0) < 0.5
    assert abs(unseen[0][0] - prior[0][0]) < 4.0
    assert unseen[1][0] > 0.5 * prior[1][0] > 3.0 * known[1][0]
    _, cov = model.predict(table([3.0] * 3, ["z2", "z3", "z2"]), return_cov=True)
    assert cov[0, 1] < 0.9 * cov[0, 2]


@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor, AnytimeSGPRegressor])
def test_new_categories_are_forgotten_if_a_batch_fails(data, estimator):
    """The codes after an error are those before."""
    x, _, y = data
    model = estimator(**OPTIONS, optimizer=None).fit(words(data), y)
    before = model._category_codes
    bad = y[:5].copy()
    bad[2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(table(x[:5], ["z1"] * 5), bad)
    assert model._category_codes is before
    model.partial_fit(table(x[:5], ["z1"] * 5), y[:5])
    assert model._category_codes.encoders[0].codes["z1"] == 4


@pytest.mark.parametrize("dtype", ["string", "object", "category"])
def test_missing_values_of_pandas(data, dtype):
    """NA is what None is, in fit and in predict."""
    pandas = pytest.importorskip("pandas")
    x, _, y = data

    def frame(values, missing):
        values = np.where(np.arange(200) < 20, missing, values)
        column = pandas.Series(values, dtype="object" if dtype == "object" else "string")
        column = column.astype("category") if dtype == "category" else column
        return pandas.DataFrame({"x": x, "c": column})

    values = NAMES[data[1]]
    with_na, with_none = frame(values, pandas.NA), table(x, frame(values, pandas.NA)["c"])
    with_none[:20, 1] = None
    model = SVGPRegressor(**OPTIONS, optimizer=None).fit(with_na, y)
    expected = SVGPRegressor(**OPTIONS, optimizer=None).fit(with_none, y)
    assert_allclose(model.predict(with_na), expected.predict(with_none), rtol=1e-12)
    known = SVGPRegressor(**OPTIONS, optimizer=None).fit(words(data), y)
    plain = table(x, with_na["c"])
    assert_allclose(known.predict(plain), known.predict(with_none), rtol=1e-12)


def test_columns_in_another_order(data):
    """scikit-learn's error of names comes first."""
    pandas = pytest.importorskip("pandas")
    x, c, y = data
    X = pandas.DataFrame({"x": x, "c": NAMES[c]})
    model = SVGPRegressor(**OPTIONS, optimizer=None).fit(X, y)
    for call in (model.predict, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match="feature names should match"):
            call(X[["c", "x"]])


@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor, AnytimeSGPRegressor])
def test_rows_of_weight_zero_are_absent(data, estimator):
    """Their categories are not counted, in a first batch or in a later one."""
    y = data[2]
    X, weight = words(data), np.ones(200)
    X[:2, 1], weight[:2] = ["a", "zz"], 0.0
    model = estimator(**OPTIONS, optimizer=None).fit(X, y, sample_weight=weight)
    least = estimator(**OPTIONS, optimizer=None).fit(X[2:], y[2:])
    assert len(model._category_codes.encoders[0].codes) == 4
    assert model.kernel_ == least.kernel_
    model.partial_fit(X[:20], y[:20], sample_weight=weight[:20])
    assert len(model._category_codes.encoders[0].codes) == 4


@pytest.mark.parametrize("gap", [0, 1], ids=["codes", "gaps"])
def test_unknown_numbers_are_new_categories(data, gap):
    """NaN, -1 and 1.5 can be predicted whether or not the first values had gaps; inf cannot."""
    x, c, y = data
    X = np.column_stack([x, c + gap * (c > 1)])
    model = SVGPRegressor(**OPTIONS, optimizer=None).fit(X, y)
    unknown = np.column_stack([np.full(4, 3.0), [np.nan, -1.0, 1.5, 9.0]])
    mean, cov = model.predict(unknown, return_cov=True)
    assert_allclose(mean, mean[0])
    assert (cov[np.triu_indices(4, 1)] < 0.9 * cov[0, 0]).all()
    assert_allclose(model.predict(unknown[1:2]), mean[1:2], rtol=1e-9)
    for value in (np.inf, -np.inf):
        with pytest.raises(ValueError, match="must be finite"):
            model.predict([[3.0, value]])
    model.partial_fit(unknown, np.full(4, 2.0))
    with pytest.raises(ValueError, match="must be finite"):
        model.fit([[3.0, np.inf], [2.0, 1.0]], [1.0, 2.0])


@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor, AnytimeSGPRegressor])
def test_warm_start_with_other_labels(data, estimator):
    """What was learned of categories is dropped if codes mean others now."""
    x, c, y = data
    kernel = Columns(RBF(), [0]) * Columns(Categorical(1), [1])
    model = estimator(kernel, **OPTIONS, max_iter=5, warm_start=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "max_iter=5")
        model.fit(words(data), y)
    learned, inducing = model.kernel_, model.inducing_points_
    model.set_params(optimizer=None)
    assert model.fit(words(data), y).kernel_ == learned
    assert_array_equal(model.inducing_points_, inducing)
    other = table(x, np.array(["u", "v", "n", "e"], dtype=object)[c])
    started = estimator(kernel, **OPTIONS, optimizer=None).fit(other, y).kernel_
    assert learned.k2 != started.k2
    model.fit(other, y)
    assert model.kernel_.k2 == started.k2
    assert model.kernel_.k1 == learned.k1
    assert set(model.inducing_points_[:, 1]) == {0.0, 1.0, 2.0, 3.0}


def test_functions_are_drawn_at_values(data):
    """They take values as `predict` does, and tell new categories apart."""
    model = SVGPRegressor(**OPTIONS, optimizer=None).fit(words(data), data[2])
    X = table([3.0] * 4, ["n", "z1", "z2", "z1"])
    drawn = model.sample_functions(n_samples=4000, random_state=0)(X)
    mean, cov = model.predict(X, return_cov=True)
    cov -= model.noise_variance_ * np.eye(4)
    assert_allclose(drawn.mean(axis=1), mean, atol=0.1)
    assert_allclose(np.cov(drawn), cov, atol=0.1 * cov.max())
