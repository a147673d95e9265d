"""Categories of later batches and of prediction: kinds, new values, missing ones, weights."""

import tracemalloc
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from slow_variants import slow

from sklearn_sgp import (
    AnytimeSGPRegressor,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
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


def test_a_frames_column_is_named(data):
    """What is said of a column of categories says its name where it has one."""
    pd = pytest.importorskip("pandas")
    x, c, y = data
    frame = pd.DataFrame({"hour": x, "station": NAMES[c]})
    options = {**OPTIONS, "categorical_features": ["station"]}
    model = SVGPRegressor(**options, optimizer=None).fit(frame, y)
    for wrong in (frame.assign(station=c + 1), frame.assign(station=[(1, 2)] * len(frame))):
        with pytest.raises(ValueError, match="Categories in column 'station' of X must be"):
            model.predict(wrong)
    endless = frame.assign(station=np.where(c == 0, np.inf, c))
    with pytest.raises(ValueError, match="Categories in column 'station' of X must be finite"):
        model.fit(endless, y)


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
    before = model._format.codes
    bad = y[:5].copy()
    bad[2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(table(x[:5], ["z1"] * 5), bad)
    assert model._format.codes is before
    model.partial_fit(table(x[:5], ["z1"] * 5), y[:5])
    assert model._format.codes.encoders[0].codes["z1"] == 4


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
    assert len(model._format.codes.encoders[0].codes) == 4
    assert model.kernel_ == least.kernel_
    model.partial_fit(X[:20], y[:20], sample_weight=weight[:20])
    assert len(model._format.codes.encoders[0].codes) == 4


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


@pytest.mark.parametrize("kind", ["words", "numbers", "codes"])
def test_functions_that_are_drawn_know_new_categories_again(data, kind):
    """Each call numbered them anew: the second of two, alone, had the value of the first."""
    values = {"words": NAMES, "numbers": 2.5 * np.arange(4), "codes": np.arange(4.0)}[kind]
    first, second = {"words": ("z1", "z2"), "numbers": (-1.0, 3.0), "codes": (-1.0, -2.0)}[kind]
    X = table(data[0], values[data[1]])
    at = partial(table, [3.0, 3.0])
    if kind != "words":
        X, at = X.astype(float), lambda new: table([3.0, 3.0], new).astype(float)
    model = SVGPRegressor(**OPTIONS, optimizer=None).fit(X, data[2])
    functions = model.sample_functions(n_samples=5, random_state=0)
    both = functions(at([first, second]))
    assert np.all(np.abs(both[0] - both[1]) > 1e-3)
    assert_allclose(functions(at([second, values[0]]))[0], both[1], rtol=1e-9)
    assert_allclose(functions(at([values[0], first]))[1], both[0], rtol=1e-9)


@pytest.mark.quick_cases("{}")
@pytest.mark.parametrize("options", [{}, {"optimizer": None}, {"n_latent": 1}], ids=str)
def test_a_new_category_where_there_are_all_inducing_inputs(data, options):
    """It gets its share of them, and what is known of the other categories stays."""
    rng = np.random.default_rng(0)
    x, c = rng.uniform(0, 6, 500), rng.integers(0, 5, 500)
    f = np.sin(x + c % 3) * np.array([1, -1, 1, 0, 2])[c] + c
    y = f + 0.1 * rng.standard_normal(500)
    X, old = table(x, np.append(NAMES, "new")[c]), c < 4
    model = SVGPRegressor(**{**OPTIONS, **options, "optimizer": "auto"}).fit(X[old], y[old])
    before = np.sqrt(np.mean((model.predict(X[old]) - f[old]) ** 2))
    model.set_params(**options).partial_fit(X[~old], y[~old])
    assert len(model.inducing_points_) <= 30
    assert set(model.inducing_points_[:, 1]) == {0.0, 1.0, 2.0, 3.0, 4.0}
    error = np.abs(model.predict(X) - f)
    assert np.sqrt(np.mean(error[old] ** 2)) < before + 0.03
    assert np.sqrt(np.mean(error[~old] ** 2)) < 0.15


@pytest.mark.filterwarnings("ignore:max_iter")
def test_a_new_category_of_outputs_with_their_own_noise(data):
    """Rows whose outputs have precisions of their own count once in the choice of its inputs."""
    X, Y, old = words(data), np.column_stack([data[2], -data[2]]), data[1] > 0
    model = SVGPRegressor(**{**OPTIONS, "likelihood": "heteroscedastic", "max_iter": 3})
    model.fit(X[old], Y[old]).partial_fit(X[~old], Y[~old])
    assert set(model.inducing_points_[:, 1]) == {0.0, 1.0, 2.0, 3.0}
    assert np.isfinite(model.predict(X[~old], return_std=True)).all()


def test_more_new_categories_than_inducing_inputs():
    """Those of the largest weight come first, and half of the old inducing inputs stay."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(30), 10)
    X = np.column_stack([rng.uniform(0, 6, 300), codes])
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(300)
    first = codes < 4
    weight = np.where(codes >= 20, 2.0, 1.0)
    model = SVGPRegressor(n_inducing=10, random_state=0, categorical_features=[1], optimizer=None)
    model.fit(X[first], y[first])
    model.partial_fit(X[~first], y[~first], sample_weight=weight[~first])
    assert len(model.inducing_points_) <= 10
    new = model.inducing_points_[:, 1] >= 4.0
    assert new.sum() == 5
    assert (model.inducing_points_[new, 1] >= 20.0).all()
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.quick_cases("SVGPRegressor-float32", "StreamingSGPRegressor-float32")
@pytest.mark.parametrize("dtype", [np.float32, slow(np.float64)])
@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor, AnytimeSGPRegressor])
def test_arrays_of_numbers_are_read_not_copied(data, estimator, dtype, tmp_path):
    """A memory map whose categories are no codes gives what a table of objects gives."""
    x, c, y = data
    X = np.column_stack([np.round(64.0 * x) / 64.0, 10.0 * c + 3.0]).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = estimator(**OPTIONS, max_iter=3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "max_iter=3")
        ours = model.fit(mapped, y).partial_fit(mapped[:50], y[:50])
        theirs = estimator(**OPTIONS, max_iter=3).fit(X.astype(object), y)
        theirs.partial_fit(X[:50].astype(object), y[:50])
    assert_array_equal(ours.categories_[0], [3.0, 13.0, 23.0, 33.0])
    new = X[:9].copy()
    new[:3, 1] = [99.0, 98.0, 99.0]
    for one, other in zip(
        ours.predict(new, return_cov=True),
        theirs.predict(new.astype(object), return_cov=True),
        strict=True,
    ):
        assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_codes_of_a_large_array_take_no_memory():
    """Fit and predict hold far less than a copy of the inputs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (200_000, 40)).astype(np.float32)
    X[:, 7] = rng.integers(0, 4, len(X)) + 1  # seasons from 1: no codes
    y = np.sin(6.0 * X[:, 0]) + X[:, 7]
    kernel = Columns(RBF(0.5), [0]) + Columns(Categorical(1), [7])
    options = {"n_inducing": 30, "categorical_features": [7], "optimizer": None, "n_jobs": 1}
    model, peaks = SVGPRegressor(kernel, **options, random_state=0), []
    for call in (lambda: model.fit(X, y), lambda: model.predict(X)):
        tracemalloc.start()
        call()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) < 0.7 * X.nbytes  # of float32: a copy in float64 is twice as much
    assert model.score(X[:1000], y[:1000]) > 0.9


def test_names_that_come_twice_are_refused():
    """Which of two columns of one name is a category cannot be told."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame([[1.0, "a", 2.0], [2.0, "b", 3.0]], columns=["x", "c", "c"])
    for given in ("from_dtype", ["c"], [1]):
        with pytest.raises(ValueError, match=r"names of their own.*\['c'\] more than once"):
            SVGPRegressor(categorical_features=given).fit(X, [1.0, 2.0])


def test_labels_of_codes(data):
    """`categories_` has the values of codes, later ones and missing ones as well."""
    x, c, y = data
    model = SVGPRegressor(**OPTIONS, optimizer=None).fit(words(data), y)
    assert_array_equal(model.categories_[0], ["e", "n", "s", "w"])
    chosen = model.categories_[0][model.inducing_points_[:, 1].astype(int)]
    assert set(chosen) == set(NAMES)
    model.partial_fit(table(x[:3], ["new", None, "e"]), y[:3])
    assert_array_equal(model.categories_[0][:5], ["e", "n", "s", "w", "new"])
    assert model.categories_[0][5] is None
    given = Columns(RBF(), [0]) + Columns(Categorical(1, n_categories=7), [1])  # it knows 6
    for kernel, later in ((None, [6]), (given, [None, None, 6])):
        own = SVGPRegressor(kernel, **OPTIONS, optimizer=None).fit(np.column_stack([x, c]), y)
        own.partial_fit([[1.0, 6.0]], [0.0])
        assert_array_equal(own.categories_[0], [0, 1, 2, 3, *later])
    assert SVGPRegressor(n_inducing=5, optimizer=None).fit(x[:, None], y).categories_ is None


@pytest.mark.parametrize("max_iter", [8, 20])
def test_short_fits_compare_levels_with_functions(max_iter):
    """Categories have functions of their own where these differ, and levels alone elsewhere."""
    rng = np.random.default_rng(0)
    x, c = rng.uniform(0, 6, 300), rng.integers(0, 5, 300)
    noise = 0.1 * rng.standard_normal(300)
    model = SVGPRegressor(**OPTIONS, max_iter=max_iter)
    has_functions = []
    for f in (np.sin(x) * np.array([1, -1, 1, 0, 2])[c] + c, np.sin(x) + c):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "max_iter")
            model.fit(table(x, c.astype(str)), f + noise)
        has_functions.append("Categorical" in repr(model.kernel_.k1))
        assert np.sqrt(np.mean((model.predict(table(x, c.astype(str))) - f) ** 2)) < 0.15
    assert has_functions == [True, False]


@pytest.mark.slow
def test_a_new_category_of_counts_and_of_classes():
    """It is learned where q(u) is found by iterations, too, and the others stay."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 6, 400), rng.integers(0, 4, 400)])
    rate, old = np.exp(np.sin(X[:, 0]) + 0.5 * X[:, 1]), X[:, 1] < 3
    options = {"n_inducing": 15, "categorical_features": [1], "max_iter": 30, "random_state": 0}
    counts = SVGPRegressor(likelihood="poisson", **options), rng.poisson(rate).astype(float), 0.5
    classes = SVGPClassifier(**options), rate > 2.0, 0.95
    for model, y, least in (counts, classes):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "max_iter")
            model.fit(X[old], y[old])
        before = model.score(X[old], y[old])
        assert model.score(X[~old], y[~old]) < least
        model.partial_fit(X[~old], y[~old])
        assert len(model.inducing_points_) == 15
        assert model.score(X[~old], y[~old]) > least
        assert model.score(X[old], y[old]) > before - 0.05
