"""NaN in numeric columns of X is a value that is missing, for every estimator that takes X."""

import pickle

import numpy as np
import pandas as pd
import pytest
from failures import assert_unchanged, state_of
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator
from slow_variants import slow, slow_but

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.data.missing import MAY_MISS
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.likelihoods.noise import NoiseAmidGaps
from sklearn_sgp.plotting import RelevanceDisplay

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
N = 160
WHOLE = RNG.standard_normal((N, 3))
WHOLE[:, 1] += WHOLE[:, 0]
SIGNAL = np.sin(WHOLE[:, 0]) + 0.5 * WHOLE[:, 1]
Y = SIGNAL + 0.1 * RNG.standard_normal(N)
X = np.where(RNG.random(WHOLE.shape) < [0.2, 0.2, 0.0], np.nan, WHOLE)
WORDS = np.where(SIGNAL > 0.0, "high", "low")

MODELS = {
    "svgp": SVGPRegressor(),
    "adam": SVGPRegressor(optimizer="adam"),
    "counts": SVGPRegressor(likelihood="negative_binomial"),
    "classifier": SVGPClassifier(),
    "vif": AnytimeSGPRegressor(n_neighbors=5),
    "pic": AnytimeSGPRegressor(model="pic", block_size=50),
    "anytime": AnytimeSGPRegressor(model="fitc", solver="anytime", block_size=50),
    "vif, classes": AnytimeSGPClassifier(n_neighbors=5, alpha_epsilon=0.01),
    "stream": StreamingSGPRegressor(),
    "stream of classes": StreamingSGPClassifier(),
}
everywhere = pytest.mark.parametrize("name", MODELS)
# the others take nearly the path of one of these
of_some = pytest.mark.parametrize("name", slow_but(["svgp", "classifier", "vif", "stream"], MODELS))


def model_of(name, **parameters):
    """An estimator that learns a little, and its targets."""
    small = {"n_inducing": 12, "max_iter": 8, "random_state": 0, "n_jobs": 1}
    model = clone(MODELS[name]).set_params(**(small | parameters))
    if is_classifier(model):
        return model, WORDS
    return model, np.round(np.exp(SIGNAL)) if name == "counts" else Y


def answers(model, X):
    """All that is predicted at some inputs, as one array."""
    if is_classifier(model):
        return model.predict_proba(X)
    return np.c_[model.predict(X, return_std=True)]


@pytest.mark.slow_cases("vif")
@everywhere
def test_what_estimators_do(name):
    """Every method takes missing values, also in a column that had all of its values in training,
    and what it tells has the shape of X."""
    model, y = model_of(name)
    batch = X[:40].copy()
    batch[:10, 2] = np.nan
    model.fit(X, y)
    assert np.isfinite(answers(model, batch)).all()
    model.partial_fit(batch, y[:40])
    assert np.isfinite(answers(model, batch)).all()
    nothing = np.full((2, 3), np.nan)
    assert np.isfinite(answers(model, nothing)).all()
    assert model.n_features_in_ == 3 and model.inducing_points_.shape[1] == 3
    assert model.feature_importances_.shape == (3,)
    assert_allclose(model.feature_importances_.sum(), 1.0)
    assert get_tags(model).input_tags.allow_nan
    if not is_classifier(model):
        assert np.isfinite(model.novelty(batch)).all()
        assert model.predict(batch, quantiles=[0.1, 0.9]).shape == (40, 2)
        if name != "pic":
            assert model.sample_functions(2)(batch).shape == (40, 2)


@pytest.mark.quick_cases("svgp", "stream", "classifier")
@of_some
def test_it_is_a_table_without_holes(name):
    """A model of a table with holes is that of the table as it is filled, with the columns that
    say where behind it."""
    model, y = model_of(name)
    near_rows = {key: {"likelihood": NoiseAmidGaps()} for key in ("vif", "pic", "anytime")}
    given = near_rows | {"svgp": {"likelihood": "heteroscedastic_student_t"}}
    other = clone(model).set_params(**given.get(name, {}))
    missing = MAY_MISS.learned(X)
    filled = missing.filled(X)
    assert filled.shape == (N, 5)
    model.fit(X[:120], y[:120])
    missing = model._format.missing
    other.fit(missing.filled(X[:120]), y[:120])
    assert_array_equal(answers(model, X), answers(other, missing.filled(X)))
    model.partial_fit(X[120:], y[120:])
    other.partial_fit(missing.filled(X[120:]), y[120:])
    assert_array_equal(answers(model, X), answers(other, missing.filled(X)))


@pytest.mark.quick_cases("svgp", "stream")
@of_some
def test_copies(name):
    """Clones, pickles and fits in threads predict the same."""
    model, y = model_of(name)
    expected = answers(model.fit(X, y), X)
    assert_array_equal(answers(pickle.loads(pickle.dumps(model)), X), expected)
    assert_array_equal(answers(clone(model).fit(X, y), X), expected)
    with parallel_config("threading", n_jobs=2):
        threads = answers(clone(model).set_params(n_jobs=None).fit(X, y), X)
    assert_allclose(threads, expected, rtol=1e-6, atol=1e-8)


@of_some
def test_errors(name):
    """missing="error" refuses NaN as before, infinity is refused in any case, and nothing has
    changed after that."""
    model, y = model_of(name, missing="error")
    with pytest.raises(ValueError, match=r"NaN in column 0 .*column 1.*SimpleImputer"):
        model.fit(X, y)
    model, y = model_of(name)
    model.fit(X, y)
    before = state_of(model)
    bad = X.copy()
    bad[3, 2] = np.inf
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="infinity"):
            call(bad, y)
    assert_unchanged(model, before)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(bad)
    with pytest.raises(ValueError, match="missing"):
        model.set_params(missing="error").partial_fit(WHOLE, y)


@pytest.mark.quick_cases("pandas", "nullable", "objects")
@pytest.mark.parametrize(
    "kind",
    ["pandas", "nullable", "objects", "polars", "pyarrow"]
    + [slow("lists"), slow("float32"), slow("memmap")],
)
def test_kinds_of_tables(kind, tmp_path):
    """Missing values of every kind of table are the same."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    if kind == "polars":
        table = pytest.importorskip("polars").from_pandas(frame)
    elif kind == "pyarrow":
        table = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    elif kind == "memmap":
        table = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
        table[:] = X
    else:
        table = {
            "pandas": lambda: frame,
            "nullable": lambda: frame.convert_dtypes(),
            "objects": lambda: np.where(np.isnan(X), None, X.astype(object)),
            "lists": lambda: np.where(np.isnan(X), None, X.astype(object)).tolist(),
            "float32": lambda: X.astype(np.float32),
        }[kind]()
    model, _ = model_of("svgp")
    expected = clone(model).fit(X, Y).predict(X)
    rtol = 1e-3 if kind == "float32" else 1e-12
    assert_allclose(model.fit(table, Y).predict(table), expected, rtol=rtol, atol=rtol)


@pytest.mark.slow
def test_categories_and_holes():
    """A table may have categories, some of them missing, and numbers that are missing."""
    groups = np.array(["a", "b", None], dtype=object)[np.arange(N) % 3]
    table = pd.DataFrame({"x": X[:, 0], "group": groups, "z": X[:, 1]})
    target = Y + 2.0 * (np.arange(N) % 3 == 1)
    for name in ("svgp", "vif", "stream"):
        model, _ = model_of(name, categorical_features=["group"], max_iter=12)
        assert model.fit(table, target).score(table, target) > 0.7
        assert len(model.categories_[0]) == 3
        assert_array_equal(model.is_categorical_, [False, True, False])
    numbers = np.c_[X[:, 0], np.arange(N) % 3, X[:, 1]]  # codes that wait
    model, _ = model_of("svgp", categorical_features=[1], max_iter=15)
    assert model.fit(numbers, target).score(numbers, target) > 0.7


def test_several_outputs():
    """Outputs, independent or mixed, share what is known of X."""
    targets = np.c_[Y, -Y + X[:, 2]]
    for parameters in ({}, {"n_latent": 1}):
        model, _ = model_of("svgp", **parameters)
        mean, std = model.fit(X, targets).predict(X, return_std=True)
        assert mean.shape == std.shape == (N, 2) and np.isfinite(mean).all()
    lacking = np.where(np.arange(N)[:, None] % 7 == [0, 1], np.nan, targets)
    for name, parameters in (("svgp", {"n_latent": 1}), ("stream", {})):
        model, _ = model_of(name, **parameters)
        assert np.isfinite(model.fit(X, lacking).predict(X)).all()


@pytest.mark.parametrize("name", ["svgp", "classifier", "stream"])
def test_weights(name):
    """A row of weight 2 is two rows, and one of weight 0 is none, whatever it lacks."""
    model, y = model_of(name, optimizer=None, inducing=WHOLE[:12])
    weight = RNG.integers(0, 3, N)
    one = clone(model).fit(X, y, sample_weight=weight)
    other = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(answers(one, X), answers(other, X), rtol=1e-5, atol=1e-7)
    spoiled = X.copy()
    spoiled[weight == 0, 2] = np.nan
    assert_allclose(
        answers(clone(model).fit(spoiled, y, sample_weight=weight), X), answers(one, X), rtol=1e-8
    )


@pytest.mark.parametrize("name", ["svgp", "classifier"])
def test_order_of_rows(name):
    """The order of rows has no say."""
    model, y = model_of(name, optimizer=None, inducing=X[:12])
    order = RNG.permutation(N)
    expected = answers(clone(model).fit(X, y), X)
    assert_allclose(answers(clone(model).fit(X[order], y[order]), X), expected, rtol=1e-5)


def test_kernels_that_are_given():
    """A given kernel has the user's columns, by number or name, and its own noise."""
    kernel = (
        Columns(RBF([1.0, 1.0]), ["a", "b"])
        + ConstantKernel() * RBF([1.0, 1.0, 1.0])
        + WhiteKernel(0.1)
        + Columns(RBF(), ["c"])
    )
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model, _ = model_of("svgp", kernel=kernel, max_iter=60)
    assert model.fit(table, Y).score(table, Y) > 0.7
    terms, std = model.predict_terms(table, return_std=True)
    assert terms.shape == std.shape == (N, 3)
    assert np.isfinite(model.predict_gradient(table)).all()
    unfitted, _ = model_of("svgp", kernel=kernel)
    assert np.isfinite(unfitted.predict(table, return_std=True)).all()
    assert np.isfinite(SVGPRegressor().predict(X)).all()


def test_inducing_inputs():
    """Inducing inputs that are given may lack what rows lack; others are refused as before."""
    model, _ = model_of("svgp", inducing=X[:12], optimize_inducing=False)
    model.fit(X, Y)
    known = ~np.isnan(X[:12])
    assert_array_equal(model.inducing_points_[known], X[:12][known])
    with pytest.raises(ValueError, match="'inducing' parameter"):
        clone(model).fit(WHOLE, Y)
    with pytest.raises(ValueError, match=r"shape \(n_inducing, 3\)"):
        clone(model).set_params(inducing=np.ones((4, 5))).fit(X, Y)


def test_columns_apart():
    """Labels of blocks and what is added to the function stand beside columns with holes."""
    table = np.insert(X, 1, np.arange(N) // 40, axis=1)
    model, _ = model_of("pic", block_column=1)
    assert np.isfinite(model.fit(table, Y).predict(table)).all()
    assert model.feature_importances_[1] == 0.0 and model.inducing_points_.shape[1] == 3
    counts = np.round(np.exp(SIGNAL))
    model, _ = model_of("counts", offset_column=1, likelihood="poisson")
    assert np.isfinite(model.fit(table, counts).predict(table)).all()


@pytest.mark.slow
def test_columns_without_values():
    """A column without any value is as a constant one, as is a row that lacks all of them."""
    table = np.c_[X, np.full(N, np.nan)]
    constant = np.c_[X, np.zeros(N)]
    for name in ("svgp", "vif", "stream", "classifier"):
        model, y = model_of(name, max_iter=5)
        expected = answers(clone(model).fit(constant, y), constant)
        found = answers(model.fit(table, y), table)
        # BLAS sums one column more, and a row's precision follows its error
        assert_allclose(found, expected, rtol=1e-5, atol=1e-5, err_msg=name)


def test_pipelines_and_searches():
    """Pipelines and cross-validation hand missing values on."""
    model, _ = model_of("svgp")
    scores = cross_val_score(make_pipeline(StandardScaler(), model), X, Y, cv=3)
    assert (scores > 0.5).all()


@pytest.mark.parametrize("name", ["svgp", "classifier", "stream"])
def test_batches(name):
    """Batches, of which the first lacks nothing, are taken one after the other."""
    model, y = model_of(name)
    for lo in range(0, N, 40):
        model.partial_fit((WHOLE if lo == 0 else X)[lo : lo + 40], y[lo : lo + 40])
    assert model.score(X, y) > 0.5


def test_collections():
    """Rows of dask are taken, with the same noise everywhere; predictions stay lazy."""
    array = pytest.importorskip("dask.array")
    rows, targets = np.tile(X, (16, 1)), np.tile(Y, 16)
    rows = rows + 1e-3 * RNG.standard_normal(rows.shape)
    lazy = array.from_array(rows, chunks=(500, 3))
    model, _ = model_of("svgp")
    predicted = model.fit(lazy, array.from_array(targets, chunks=500)).predict(lazy)
    assert_allclose(predicted.compute(), model.predict(rows), rtol=1e-6, atol=1e-8)
    assert model.score(rows, targets) > 0.7
    assert model.likelihood_.conjugate
    whole = array.from_array(np.tile(WHOLE, (16, 1)), chunks=(500, 3))
    model, _ = model_of("svgp")
    assert np.isfinite(model.fit(whole, targets).predict(lazy).compute()).all()
    with pytest.raises(ValueError, match="NaN"):
        model_of("svgp", missing="error")[0].fit(lazy, targets)


def test_relevances_are_drawn():
    """A display of relevances has a bar for each of the user's columns."""
    pytest.importorskip("matplotlib")
    model, _ = model_of("svgp")
    display = RelevanceDisplay.from_estimator(model.fit(X, Y))
    assert len(display.ax_.get_yticklabels()) == 3


def test_noise_that_is_asked_for():
    """Where values are missing noise may be that of each row, with tails, unless it is held.

    A fixed WhiteKernel did not hold it.
    """
    model, _ = model_of("svgp")
    assert type(model.fit(X, Y).likelihood_).__name__ == "HeteroscedasticStudentT"
    assert model.fit(WHOLE, Y).likelihood_.conjugate
    for parameters in (
        {"noise_variance_bounds": "fixed"},
        {"kernel": RBF() + WhiteKernel(0.1, "fixed")},
        {"optimizer": None},
        {"likelihood": "heteroscedastic"},
    ):
        model, _ = model_of("svgp", **parameters)
        assert type(model.fit(X, Y).likelihood_).__name__ != "HeteroscedasticStudentT"


def test_noise_of_rows_that_repeat():
    """Rows that come again with their targets have next to no noise, whatever a few others lack."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.arange(100), rng.integers(0, 100, 60)])
    whole, targets = rng.uniform(size=(100, 3)), rng.normal(0.0, 0.7, 100)
    lacking = np.where(rng.random((160, 3)) < 0.05, np.nan, whole[rows])
    model = AnytimeSGPRegressor(n_inducing=20, random_state=0)
    model.fit(lacking, targets[rows])
    assert type(model.likelihood_).__name__ == "Gaussian"
    assert model.log_density(whole, targets).mean() > 2.0


@pytest.mark.slow
@pytest.mark.quick_cases("None-svgp")
@pytest.mark.parametrize("name", ["svgp", slow("vif"), "stream"])
@pytest.mark.parametrize("kernel", [None, slow(RBF([1.0, 1.0, 1.0]))])
def test_warped_targets(name, kernel):
    """Tables with holes may have a warp learned: the order of skewed targets is predicted."""
    for parameters in ({"normalize_y": "warped"}, {"likelihood": "auto"}):
        model, _ = model_of(name, kernel=kernel, **parameters)
        predicted = model.fit(X, np.exp(2.0 * Y)).predict_quantiles(X, [0.5])[:, 0]
        assert np.corrcoef(predicted.argsort().argsort(), Y.argsort().argsort())[0, 1] > 0.65


@pytest.mark.parametrize("name", ["svgp", slow("stream of classes")])
def test_checks_of_scikit_learn(name):
    """scikit-learn's checks pass with missing values allowed, and with them refused."""
    for missing in ("auto", "error"):
        model, _ = model_of(name, missing=missing)
        for _, check in estimator_checks_generator(model):
            if "nan" in str(check):
                check(clone(model))


@pytest.mark.parametrize("name", ["svgp", "classifier", "vif", "stream"])
def test_unforeseen_holes(name):
    """Where a column had all of its values in training, a row that lacks it is predicted as the
    average over the values that it may have, given the others: less surely than any of them."""
    model, y = model_of(name, max_iter=60)
    model.fit(WHOLE, y)
    rows = WHOLE[:50].copy()
    rows[:, 0] = np.nan
    known = ~np.isnan(rows[0])
    covariance = np.cov(WHOLE.T)
    slope = np.linalg.solve(covariance[1:, 1:], covariance[1:, 0])
    spread = np.sqrt(covariance[0, 0] - slope @ covariance[1:, 0])
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    expected = WHOLE[:, 0].mean() + (rows - WHOLE.mean(axis=0))[:, known] @ slope
    each = np.repeat(WHOLE[:50, None], 15, axis=1)
    each[..., 0] = expected[:, None] + spread * nodes
    at_each = answers(model, each.reshape(-1, 3)).reshape(50, 15, 2)
    average = np.einsum("j,njk->nk", weights / weights.sum(), at_each)
    if not is_classifier(model):
        squares = at_each[..., 1] ** 2 + at_each[..., 0] ** 2
        average[:, 1] = np.sqrt(squares @ (weights / weights.sum()) - average[:, 0] ** 2)
    assert_allclose(answers(model, rows), average, atol=0.12)
    again = answers(pickle.loads(pickle.dumps(model)), WHOLE)
    assert_allclose(again, answers(model, WHOLE), rtol=1e-12, atol=0.0)  # cells are cached or not
    if not is_classifier(model):
        mean, covariance = model.predict(rows, return_cov=True)
        assert_allclose(mean, model.predict(rows), rtol=1e-9)
        assert np.linalg.eigvalsh(covariance).min() > -1e-8


def test_unforeseen_holes_of_outputs():
    """Several outputs, independent or mixed, each have the average of their own."""
    targets = np.c_[Y, -2.0 * Y]
    rows = WHOLE.copy()
    rows[:, 0] = np.nan
    for parameters in ({}, {"n_latent": 1}):
        model, _ = model_of("svgp", **parameters)
        mean, std = model.fit(WHOLE, targets).predict(rows, return_std=True)
        sure = model.predict(WHOLE, return_std=True)[1]
        assert mean.shape == std.shape == (N, 2) and (std.mean(axis=0) > sure.mean(axis=0)).all()
        assert model.sample_y(rows, n_samples=3).shape == (N, 2, 3)
        assert np.isfinite(model.log_density(rows, targets)).all()


@pytest.mark.quick_cases("svgp-None")
@pytest.mark.parametrize("given", [None, slow(RBF(np.ones(3))), RBF() + Columns(RBF(), [1])])
@pytest.mark.parametrize("name", ["svgp", "vif", slow("classifier")])
def test_learned_kernels_are_given_back(name, given):
    """A learned kernel, which sees where values are missing, is taken as it is by another fit."""
    model, y = model_of(name, kernel=given, max_iter=10)
    learned = model.fit(X, y).kernel_
    again = clone(model).set_params(kernel=learned, optimizer=None).fit(X, y)
    assert again.kernel_ == learned
    frame = pd.DataFrame(X, columns=list("abc"))
    assert clone(again).fit(frame, y).kernel_ == learned
    for columns in (1, "b", slice(0, 2), [True, True, False], [-2], np.array([0, 1])):
        clone(again).set_params(kernel=Columns(RBF(), columns)).fit(frame, y)
    with pytest.raises(ValueError, match="entries"):
        clone(model).set_params(kernel=RBF(np.ones(7))).fit(X, y)


@pytest.mark.parametrize("make", [SVGPRegressor, AnytimeSGPRegressor])
def test_bounds_of_the_noise_may_be_an_array(make):
    """The truth of an array was asked for; with values missing and without."""
    for table in (X, WHOLE):
        model = make(n_inducing=5, max_iter=2, noise_variance_bounds=np.array([1e-4, 10.0]))
        assert np.isfinite(model.fit(table, Y).predict(table)).all()


@pytest.mark.parametrize("kind", [SVGPRegressor, StreamingSGPRegressor])
def test_codes_that_are_missing_are_refused_before_they_are_filled(kind):
    """A mean of codes was filled in, which happened to be a code or was refused as a number."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 3, 60)])
    y, lacking = table[:, 0] + table[:, 2], table.copy()
    lacking[::7, 2] = np.nan
    kernel = Columns(RBF(), [0, 1]) + Columns(Categorical(), [2])
    model = kind(kernel, optimizer=None)
    told = r"column 2 of X must be codes .* Got NaN: name the column in categorical_features"
    with pytest.raises(ValueError, match=told):
        model.fit(lacking, y)
    table[::5, 0] = np.nan
    model.fit(table, y)
    for call in (model.predict, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match=told):
            call(lacking)
    model.set_params(categorical_features=[2]).fit(lacking, y)
    assert np.isfinite(model.predict(lacking)).all()
