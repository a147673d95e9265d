"""Categories as inputs, in every estimator: as codes under a kernel, or as they come."""

import pickle

import fitted_models
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from slow_variants import slow

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.kernels import Categorical, Columns

ESTIMATORS = [
    SVGPRegressor(n_inducing=30, max_iter=30),
    AnytimeSGPRegressor(n_inducing=20, max_iter=20, init_size=300, n_neighbors=30),
    AnytimeSGPRegressor(model="pic", n_inducing=20, max_iter=20, block_size=60),
    AnytimeSGPRegressor(model="fitc", n_inducing=30, max_iter=30),
    StreamingSGPRegressor(n_inducing=30, init_size=200, batch_size=200),
    SVGPClassifier(n_inducing=20, max_iter=10),
    AnytimeSGPClassifier(n_inducing=10, max_iter=10, n_neighbors=20, alpha_epsilon=0.01),
    StreamingSGPClassifier(n_inducing=20, init_size=200, batch_size=200),
]
NAMES = np.array(["north", "east", "south", "west"], dtype=object)
KERNEL = Columns(RBF(), [0]) * Columns(Categorical(1), [1]) + Columns(Categorical(1), [1])
each_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda e: f"{type(e).__name__}-{getattr(e, 'model', '')}"
)


@pytest.fixture(scope="module")
def data():
    """400 rows of a number and a code of 4 categories, each of which has a function and a level."""
    rng = np.random.default_rng(0)
    x, code = rng.uniform(0.0, 6.0, 400), rng.integers(0, 4, 400)
    f = np.array([1.0, -1.0, 1.0, 0.0])[code] * np.sin(x) + np.array([0.0, 1.0, -1.0, 0.5])[code]
    return np.column_stack([x, code]), f + 0.1 * rng.standard_normal(400)


def targets(estimator, y):
    return np.where(y > 0.3, "high", "low") if is_classifier(estimator) else y


def fitted(estimator, X, y, **parameters):
    return clone(estimator).set_params(random_state=0, **parameters).fit(X, targets(estimator, y))


@pytest.mark.slow_cases("StreamingSGPClassifier-")
@each_estimator
@pytest.mark.filterwarnings("ignore:max_iter")
def test_a_kernel_over_categories_learns(estimator, data):
    """Held-out rows are predicted well, and inducing inputs have categories."""
    X, y = data
    model = fitted(estimator, X[:300], y[:300], kernel=KERNEL)
    assert model.score(X[300:], targets(estimator, y)[300:]) > 0.85
    assert set(model.inducing_points_[:, 1]) <= {0.0, 1.0, 2.0, 3.0}
    assert model.kernel_.k2.kernel.n_categories == 4
    assert KERNEL.k2.kernel.n_categories is None
    assert model.is_categorical_ is None


@pytest.mark.parametrize(
    "estimator",
    [
        SVGPRegressor(n_inducing=10),
        slow(AnytimeSGPRegressor(n_inducing=10, init_size=256, n_neighbors=10)),
        AnytimeSGPRegressor(model="fitc", n_inducing=10),
        slow(StreamingSGPRegressor(n_inducing=10, init_size=200, batch_size=200)),
        slow(AnytimeSGPClassifier(n_inducing=5, n_neighbors=10, init_size=256, alpha_epsilon=0.01)),
    ],
    ids=lambda e: f"{type(e).__name__}-{getattr(e, 'model', '')}",
)
@pytest.mark.filterwarnings("ignore:max_iter")
@pytest.mark.parametrize("dtype", [np.float32, slow(np.float64)])
def test_numbers_are_categories_too(estimator, dtype):
    """Categories that come as numbers, in arrays too long to be copied, are those of strings."""
    rng = np.random.default_rng(0)
    x, code = rng.uniform(0.0, 6.0, 2500).astype(dtype), rng.integers(0, 4, 2500)
    y = np.sin(x) + np.array([0.0, 1.0, -1.0, 0.5])[code]
    tables = (
        np.column_stack([x, 10 * code - 7]).astype(dtype),
        np.column_stack([x.astype(object), np.array(["a", "b", "c", "d"])[code]]),
    )
    models = [
        fitted(estimator, X[:2200], y[:2200], categorical_features=[1], max_iter=3) for X in tables
    ]
    deviations = [model.predict_std(X[2200:]) for model, X in zip(models, tables, strict=True)]
    assert_allclose(*deviations, rtol=1e-3)


@pytest.mark.slow_cases(
    "AnytimeSGPRegressor-auto", "StreamingSGPClassifier-", "AnytimeSGPClassifier-auto"
)
@each_estimator
@pytest.mark.filterwarnings("ignore:max_iter")
def test_strings_are_categories(estimator, data):
    """``categorical_features`` takes strings; what was not there before can be predicted."""
    X, y = data
    X = np.column_stack([X[:, 0].astype(object), NAMES[X[:, 1].astype(int)]])
    model = fitted(estimator, X[:300], y[:300], categorical_features=[1])
    assert model.score(X[300:], targets(estimator, y)[300:]) > 0.85
    assert_array_equal(model.is_categorical_, [False, True])
    new = np.array([[1.0, "zenith"], [1.0, "nadir"]], dtype=object)
    predicted = model.predict(new)
    assert predicted[0] == predicted[1]
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X[300:]), model.predict(X[300:]))


def exact(X, y, kernel, noise_variance):
    """The exact process of scikit-learn with the kernel that was learned."""
    return GaussianProcessRegressor(
        kernel + WhiteKernel(noise_variance), optimizer=None, normalize_y=True
    ).fit(X, y)


def test_with_all_rows_as_inducing_inputs_it_is_the_exact_process(data):
    """Predictions and the objective are those of scikit-learn, of new categories too."""
    X, y = data[0][:60], data[1][:60]
    model = SVGPRegressor(KERNEL, inducing=X, noise_variance=0.05, jitter=1e-12, max_iter=15)
    with pytest.warns(match="max_iter=15"):
        model.fit(X, y)
    assert_array_equal(model.inducing_points_[:, 1], X[:, 1])
    whole = SVGPRegressor(
        model.kernel_, inducing=X, optimizer=None, noise_variance=model.noise_variance_
    ).fit(X, y)
    dense = exact(X, y, whole.kernel_, whole.noise_variance_)
    new = np.column_stack([np.linspace(0.0, 6.0, 12), np.tile([0, 3, 4, 7], 3)])
    for ours, theirs in zip(
        whole.predict(new, return_std=True), dense.predict(new, return_std=True), strict=True
    ):
        assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)
    evidence = dense.log_marginal_likelihood_value_ - len(y) * np.log(y.std())
    assert_allclose(whole.objective_, evidence, rtol=1e-6)


def test_names_of_columns(data):
    """Kernels and ``categorical_features`` take names; ``kernel_`` has indices."""
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame({"x": X[:, 0], "where": X[:, 1]})
    kernel = Columns(RBF(), ["x"]) * Columns(Categorical(1), ["where"])
    options = {"n_inducing": 20, "optimizer": None, "random_state": 0}
    named = SVGPRegressor(kernel, **options).fit(frame, y)
    plain = Columns(RBF(), [0]) * Columns(Categorical(1), [1])
    plain = SVGPRegressor(plain, **options).fit(X, y)
    assert named.kernel_ == plain.kernel_
    assert_array_equal(named.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="Got 'carrier', where X has"):
        SVGPRegressor(Columns(RBF(), ["carrier"])).fit(frame, y)
    frame["where"] = pandas.Categorical(NAMES[X[:, 1].astype(int)])
    by_name = SVGPRegressor(categorical_features=["where"], **options).fit(frame, y)
    by_type = SVGPRegressor(categorical_features="from_dtype", **options).fit(frame, y)
    assert_array_equal(by_name.predict(frame), by_type.predict(frame))
    assert_array_equal(by_type.is_categorical_, [False, True])


@pytest.mark.slow
def test_the_default_kernel_is_chosen_by_evidence(data):
    """Where categories have functions of their own there is a product, else only a sum."""
    X, y = data
    product = SVGPRegressor(n_inducing=40, categorical_features=[1], random_state=0).fit(X, y)
    assert [type(part.kernel) for part in (product.kernel_.k1.k2, product.kernel_.k2)] == [
        Categorical, Categorical
    ]  # fmt: skip
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * np.random.default_rng(0).standard_normal(400)
    plain = SVGPRegressor(n_inducing=40, categorical_features=[1], random_state=0).fit(X, y)
    assert "Categorical" not in repr(plain.kernel_.k1)
    assert isinstance(plain.kernel_.k2.kernel, Categorical)


def test_only_categories():
    """A table of two columns of categories and nothing else has levels, and products of them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 2)).astype(float)
    y = (X[:, 0] == X[:, 1]) + 0.1 * rng.standard_normal(200)
    model = SVGPRegressor(categorical_features=[0, 1], random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert len(model.inducing_points_) == 9


def test_levels_of_rare_categories_are_near_the_mean():
    """A category of one row is drawn towards the mean; one not seen before is at the mean."""
    rng = np.random.default_rng(0)
    code = np.append(np.repeat(np.arange(8.0), 40), 8.0)
    level = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 0.3, -0.3, 0.0, 3.0])
    y = level[code.astype(int)] + 0.5 * rng.standard_normal(len(code))
    y[-1] = 3.0
    kernel = Categorical(1, factor_bounds="fixed")
    model = SVGPRegressor(kernel, normalize_y=False, random_state=0).fit(code[:, None], y)
    mean, std = model.predict([[7.0], [8.0], [9.0]], return_std=True)
    assert mean[2] < mean[1] < 3.0
    assert std[0] < std[1] < std[2]


def test_later_batches_may_have_new_categories(data):
    """`partial_fit` and streams learn of categories that the first batch did not have."""
    X, y = data
    old = X[:, 1] < 3
    for estimator in (SVGPRegressor(KERNEL), StreamingSGPRegressor(KERNEL)):
        model = estimator.set_params(n_inducing=30, random_state=0).fit(X[old], y[old])
        before = np.std(model.predict(X[old]) - y[old])
        model.partial_fit(X[~old], y[~old])
        assert np.sqrt(np.mean((model.predict(X[~old]) - y[~old]) ** 2)) < 0.15
        assert np.std(model.predict(X[old]) - y[old]) < before + 0.05
        assert model.kernel_.k2.kernel.n_categories == 3


def test_categories_of_the_first_batch_stay(data):
    """Codes do not depend on what later batches have, and the parameter may not change."""
    X, y = data
    words = np.column_stack([X[:, 0].astype(object), NAMES[X[:, 1].astype(int)]])
    model = SVGPRegressor(KERNEL, categorical_features=[1], n_inducing=20, optimizer=None)
    whole = clone(model).fit(words, y)
    Z = whole.inducing_points_
    model.set_params(inducing=Z, normalize_y=(0.0, 1.0), noise_variance=0.1)
    whole = clone(model).fit(words, y)
    parts = clone(model).partial_fit(words[:200], y[:200])
    is_east = words[200:, 1] == "east"
    for some in (is_east, ~is_east):
        parts.partial_fit(words[200:][some], y[200:][some])
    assert_allclose(parts.predict(words), whole.predict(words), rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="categorical_features must stay"):
        parts.set_params(categorical_features=None).partial_fit(X, y)


@pytest.mark.parametrize("model", ["pic", "vif"])
def test_rows_of_one_category_are_near(model):
    """Blocks and groups have rows of one category where categories are independent."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.0, 1.0, 400), rng.permutation(np.repeat([0, 1, 2, 3], 100))])
    y = rng.standard_normal(400)
    factor, own = np.full((4, 1), 1e-3), np.ones(4)
    kernel = Columns(RBF(10.0), [0]) * Columns(Categorical(1, factor=factor, diagonal=own), [1])
    near = AnytimeSGPRegressor(
        kernel, model=model, block_size=100, n_inducing=4, optimizer=None, random_state=0
    ).fit(X, y)
    found = fitted_models.fitted(near).state.blocks
    groups = found.groups if model == "vif" else found
    mixed = [len(np.unique(groups.rows.X[groups.members(g), 1])) for g in range(len(groups))]
    assert np.mean(np.array(mixed) == 1) > 0.7


@pytest.mark.slow
def test_functions_are_drawn(data):
    """Pathwise draws have mean and covariance of joint ones."""
    X, y = data
    model = SVGPRegressor(KERNEL, n_inducing=40, random_state=0).fit(X, y)
    new = np.column_stack([np.linspace(0.0, 6.0, 8), [0, 1, 2, 3, 4, 4, 5, 0]])
    drawn = model.sample_functions(n_samples=3000, random_state=0)(new)
    mean, std = model.predict(new), model.predict_std(new, include_noise=False)
    assert_allclose(drawn.mean(axis=1), mean, atol=0.1)
    assert_allclose(drawn.std(axis=1), std, rtol=0.15, atol=0.02)


@pytest.mark.parametrize(
    ("code", "message"),
    [(1.5, "column 1 of X must be codes.*no whole number"), (-1.0, "negative"), (1e4, "10000")],
)
def test_what_is_no_code_is_refused_in_fit_and_predict(data, code, message):
    """The error names the column; the estimator is then as before."""
    X, y = data[0].copy(), data[1]
    model = SVGPRegressor(KERNEL, n_inducing=10, optimizer=None).fit(X, y)
    before = model.predict(X)
    X[7, 1] = code
    with pytest.raises(ValueError, match=message):
        model.predict(X)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            method(X, y)
    assert_array_equal(model.predict(data[0]), before)
    with pytest.raises(ValueError, match=message):
        SVGPRegressor(KERNEL, inducing=X).fit(data[0], y)


def test_predictions_before_fit(data):
    """A model that is not fitted has the prior's variance of each category."""
    model = SVGPRegressor(KERNEL, noise_variance=0.5, normalize_y=False)
    std = model.predict_std(data[0][:5], include_noise=False)
    assert_allclose(std, np.sqrt(2.0), rtol=0.02)
    default = SVGPRegressor(categorical_features=[1], normalize_y=False)
    assert_allclose(default.predict_std(data[0][:5], include_noise=False), np.sqrt(2.0), rtol=0.02)


@pytest.mark.parametrize("likelihood", ["heteroscedastic", "student_t"])
def test_other_noise(data, likelihood):
    """Noise of each row depends on categories, too."""
    X, y = data
    rng = np.random.default_rng(1)
    y = y + np.where(X[:, 1] == 2, 1.0, 0.01) * rng.standard_normal(len(y))
    model = SVGPRegressor(
        categorical_features=[1], likelihood=likelihood, n_inducing=20, max_iter=20, random_state=0
    )
    with pytest.warns(match="max_iter"):
        model.fit(X, y)
    if likelihood == "heteroscedastic":
        std = model.noise_std(np.array([[3.0, 2.0], [3.0, 0.0]]))
        assert std[0] > 2.0 * std[1]
    assert model.log_density(X, y).mean() > -0.4  # Gaussian noise of one size has -0.61
    assert model.score(X[X[:, 1] != 2], y[X[:, 1] != 2]) > 0.9


def test_warm_start_goes_on(data):
    """A second fit begins with what the first has learned of categories."""
    X, y = data
    model = SVGPRegressor(KERNEL, n_inducing=20, random_state=0, warm_start=True).fit(X, y)
    first = model.kernel_
    model.set_params(optimizer=None).fit(X, y)
    assert model.kernel_ == first


def test_codes_in_single_precision(data):
    """float32 inputs give the predictions of float64, as codes are whole numbers."""
    X, y = data
    X = np.round(X * 64.0) / 64.0
    model = SVGPRegressor(KERNEL, n_inducing=10, optimizer=None, random_state=0)
    single = clone(model).fit(X.astype(np.float32), y).predict(X.astype(np.float32))
    assert_allclose(single, model.fit(X, y).predict(X), rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_categories_that_say_nothing_cost_nothing():
    """Log densities of new rows are those of a fit without the column, and so is the noise."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.0, 6.0, (1600, 2)), rng.integers(0, 120, 1600)])
    y = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1]) + 0.7 * rng.standard_normal(1600)
    model = AnytimeSGPRegressor(n_inducing=15, init_size=400, max_iter=8, n_neighbors=20)
    one = fitted(model, X[:800, :2], y[:800])
    other = fitted(model, X[:800], y[:800], categorical_features=[2])
    density = one.log_density(X[800:, :2], y[800:]).mean()
    assert other.log_density(X[800:], y[800:]).mean() > density - 0.02
    assert_allclose(other.noise_variance_, one.noise_variance_, rtol=0.2)


def test_given_inducing_inputs_have_categories():
    """With ``inducing=X`` values were taken for codes, and rows of the first had no input."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), rng.integers(1, 4, 40)]).astype(float)
    y = np.sin(X[:, 0]) + X[:, 1]
    options = {"categorical_features": [1], "optimizer": None, "random_state": 0}
    whole = SVGPRegressor(inducing=X, **options).fit(X, y)
    assert_array_equal(whole.inducing_points_, X)
    some = X[X[:, 1] < 3.0]  # values that would be codes as well
    found = SVGPRegressor(inducing=some, **options).fit(X, y).inducing_points_
    assert_array_equal(found, some)
    for shift in (10.0, -1.0):  # the latter are codes: 1.0 would be one of two categories
        with pytest.raises(ValueError, match=r"must have categories of X in column 1.*Got \["):
            SVGPRegressor(inducing=X + [0.0, shift], **options).fit(X, y)


@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor])
def test_inducing_inputs_come_back_as_the_same_categories(kind):
    """Codes 0 to 2 of the categories 1 to 3 were 1 and 2 where only the first two came back."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), rng.integers(1, 4, 60)]).astype(float)
    X[:12, 1] = np.nan
    y = np.sin(X[:, 0]) + np.nan_to_num(X[:, 1])
    options = {"categorical_features": [1], "optimizer": None, "random_state": 0}
    options |= {"model": "fitc"} if kind is AnytimeSGPRegressor else {}
    first = kind(n_inducing=25, **options).fit(X, y)
    Z = first.inducing_points_
    assert set(Z[~np.isnan(Z[:, 1]), 1]) == {1.0, 2.0, 3.0} and np.isnan(Z[:, 1]).any()
    for places in (Z, Z[Z[:, 1] < 3.0]):
        again = kind(inducing=places, **options).fit(X, y)
        assert_array_equal(again.inducing_points_, places)
        own = again._fitted.parameters.Z[:, 1]
        assert_array_equal(own, np.where(np.isnan(places[:, 1]), 3.0, places[:, 1] - 1.0))
    assert np.isfinite(first.predict(Z)).all()


def test_inducing_inputs_of_words_are_codes():
    """Numbers that are no values are codes, and NaN is a missing value."""
    rng = np.random.default_rng(0)
    x, words = rng.normal(size=40), np.array(["a", "b", None], dtype=object)[np.arange(40) % 3]
    X = np.array([x, words], dtype=object).T
    y = np.sin(x) + (words == "a")
    options = {"categorical_features": [1], "optimizer": None, "random_state": 0}
    Z = SVGPRegressor(n_inducing=20, **options).fit(X, y).inducing_points_
    assert set(Z[:, 1]) == {0.0, 1.0, 2.0}
    some = Z[Z[:, 1] > 0.0]
    found = SVGPRegressor(inducing=some, **options).fit(X, y).inducing_points_
    assert_array_equal(found, some)
    with pytest.raises(ValueError, match=r"must have codes .* in column 1, \['a', 'b', None\]"):
        SVGPRegressor(inducing=Z + [0.0, 1.0], **options).fit(X, y)


@pytest.mark.parametrize("missing", ["auto", "error"])
@pytest.mark.parametrize("gaps", [False, True])
def test_missing_categories_of_given_inducing_inputs(missing, gaps):
    """NaN became the mean of the codes, another category, or was refused."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(40, 2)), rng.integers(1, 4, 40)])
    X[::5, 2] = np.nan
    if gaps and missing == "auto":
        X[::7, 0] = np.nan
    y = np.nan_to_num(X[:, 2])
    options = {"categorical_features": [2], "optimizer": None, "missing": missing}
    model = SVGPRegressor(inducing=X, **options).fit(X, y)
    codes = np.where(np.isnan(X[:, 2]), 3.0, X[:, 2] - 1.0)
    assert_array_equal(model._fitted.parameters.Z[:, 2], codes)
    assert_array_equal(model.inducing_points_[:, 2], X[:, 2])
    Z = np.where(np.arange(3) == 1, np.nan, X)
    if not (gaps and missing == "auto"):
        with pytest.raises(ValueError, match=r"'inducing' parameter .* Got NaN in columns \[1\]"):
            SVGPRegressor(inducing=Z, **options).fit(X, y)


def test_numbers_between_categories_stay_codes():
    """A kernel of the user's sees categories as numbers, and means of them are no categories."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80), 10.0 * rng.integers(1, 4, 80)])
    model = SVGPRegressor(RBF([1.0, 1.0]), categorical_features=[1], n_inducing=2, optimizer=None)
    Z = model.fit(X, X[:, 1]).inducing_points_
    assert 0.0 < Z[:, 1].max() < 10.0
    assert_array_equal(Z, model._fitted.parameters.Z)
