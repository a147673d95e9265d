"""``block_column``: labels of blocks are a column of X, in all that scikit-learn does with X."""

import pickle

import numpy as np
import pytest
from block_helpers import (
    LABEL,
    LABELLED_TEST,
    LABELS,
    X_TEST,
    assert_same_model,
    fixed,
    labelled,
    with_labels,
)
from failures import assert_unchanged, state_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_sgp import AnytimeSGPClassifier, AnytimeSGPRegressor
from sklearn_sgp.kernels import Categorical, Columns

ROUTES = np.array(["south", "n", "east", "w"])
QUICK = {"n_inducing": 8, "max_iter": 3, "random_state": 0}


@pytest.fixture
def frame(toy):
    """X of ``toy`` with words as labels between its columns, and y."""
    pandas = pytest.importorskip("pandas")
    X, y = toy
    columns = {"east": X[:, 0], "route": ROUTES[LABELS], "north": X[:, 1]}
    return pandas.DataFrame(columns), y


def kinds():
    return pytest.mark.parametrize("kind", [AnytimeSGPRegressor, AnytimeSGPClassifier])


def targets(kind, y):
    return np.where(y > 5.0, "above", "below") if kind is AnytimeSGPClassifier else y


# Columns


@kinds()
def test_a_name_is_an_index(frame, kind):
    """A column of a frame has a name and a place; attributes count it, the kernel does not."""
    X, y = frame[0], targets(kind, frame[1])
    named = kind(block_column="route", **QUICK).fit(X, y)
    placed = kind(block_column=1, **QUICK).fit(X, y)
    for model in (named, placed):
        assert model.n_blocks_ == 4 and model.n_features_in_ == 3
        assert_array_equal(model.feature_names_in_, ["east", "route", "north"])
        assert model.inducing_points_.shape == (8, 2)
    assert_array_equal(named.predict(X), placed.predict(X))
    numbers = np.column_stack([X["east"], LABELS, X["north"]])
    array = kind(block_column=1, **QUICK).fit(numbers, y)
    assert not hasattr(array, "feature_names_in_")
    assert_array_equal(np.sort(array.inducing_points_, 0), np.sort(named.inducing_points_, 0))


@kinds()
def test_other_columns_than_in_fit(frame, kind):
    """Frames in another order, with other names or without labels meet scikit-learn's errors."""
    X, y = frame[0], targets(kind, frame[1])
    model = kind(block_column="route", **QUICK).fit(X, y)
    before = state_of(model)
    for other in (X[["route", "east", "north"]], X.rename(columns={"route": "road"}), X[["east"]]):
        for call in (model.predict, model.predict_std, lambda X: model.partial_fit(X, y)):
            with pytest.raises(ValueError, match="feature names should match"):
                call(other)
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"),
    ):
        model.predict(np.zeros((3, 2)))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert_array_equal(model.predict(X.to_numpy()), model.predict(X))
    assert_unchanged(model, before)


BAD = {
    "infinity": (lambda X: np.where([True, False, False], np.inf, X), "X contains infinity"),
    "one axis": (lambda X: X[:, 0], "2D array"),
    "three axes": (lambda X: X[None], "dim 3|3 dim|2D"),
    "sparse": (csr_array, "Sparse data"),
    "complex": (lambda X: X + 1j, "Complex data"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "words": (lambda X: np.full(X.shape, "word"), "word"),
}


@pytest.mark.quick_cases("AnytimeSGPRegressor-*", "AnytimeSGPClassifier-words")
@pytest.mark.parametrize("case", BAD)
@kinds()
def test_bad_inputs(toy, kind, case):
    """What other estimators refuse is refused, by the same errors."""
    (spoil, match), X, y = BAD[case], labelled(toy[0]), targets(kind, toy[1])
    fresh = kind(block_column=LABEL, **QUICK)
    model = clone(fresh).fit(X, y)
    for ours in (fresh, model):
        before = state_of(ours)
        for learn in (ours.fit, ours.partial_fit):
            with pytest.raises((ValueError, TypeError), match=match):
                learn(spoil(X), y)
        assert_unchanged(ours, before)
    with pytest.raises((ValueError, TypeError), match=match):
        model.predict(spoil(X))
    assert_unchanged(model, before)


@pytest.mark.parametrize("categories", [[0], [True, False, False]], ids=["index", "mask"])
@pytest.mark.parametrize(
    "apart", [{"block_column": 2}, {"offset_column": 2, "likelihood": "poisson"}], ids=list
)
def test_lists_beside_categories(apart, categories):
    """Lists are as arrays where a column is taken apart; they were an AttributeError."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(30) % 3, rng.uniform(size=30), np.arange(30) // 10])
    made = AnytimeSGPRegressor(categorical_features=categories, **apart, **QUICK)
    one, other = (clone(made).fit(given, X[:, 0]) for given in (X, X.tolist()))
    assert_array_equal(one.predict(X), other.predict(X.tolist()))


def test_labels_alone_are_no_inputs(toy):
    with pytest.raises(ValueError, match="0 feature"):
        AnytimeSGPRegressor(block_column=0).fit(LABELS[:, None], toy[1])


def test_y_and_weights_are_checked_beside_labels(toy):
    X, y = with_labels(toy)
    ours = fixed(block_column=LABEL)
    for arguments, match in [
        ((X, None), "requires y|y cannot be None"),
        ((X, y[:-1]), "inconsistent"),
        ((X, np.where(LABELS == 1, np.nan, y)), "y contains NaN"),
        ((X, y, np.full(60, -1.0)), "Negative values"),
        ((X, y, np.ones(59)), "(?i)sample.weight"),
    ]:
        with pytest.raises(ValueError, match=match):
            ours.fit(*arguments)
    assert not hasattr(ours, "kernel_")


@kinds()
def test_vif_finds_near_rows_itself(toy, kind):
    with pytest.raises(ValueError, match="block_column must not be given with model='vif'"):
        kind(model="vif", block_column=LABEL).fit(labelled(toy[0]), targets(kind, toy[1]))


# scikit-learn


@pytest.mark.quick_cases("AnytimeSGPRegressor")
@kinds()
def test_pipelines_carry_the_column(frame, kind):
    """A transformer of the other columns lets labels through, by place or by name."""
    X, y = frame[0], targets(kind, frame[1])
    scale = ColumnTransformer(
        [("scale", StandardScaler(), ["east", "north"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    placed = make_pipeline(scale, kind(block_column=2, **QUICK)).fit(X, y)
    named = clone(placed).set_params(**{f"{kind.__name__.lower()}__block_column": "route"})
    named.set_output(transform="pandas").fit(X, y)
    scaled = scale.fit_transform(X)
    alone = kind(block_column=2, **QUICK).fit(scaled, y)
    assert alone.n_blocks_ == named[-1].n_blocks_ == 4
    for pipeline in (placed, named):
        assert_array_equal(pipeline.predict(X), alone.predict(scaled))
        assert pipeline.score(X, y) == alone.score(scaled, y)


@pytest.mark.quick_cases("AnytimeSGPRegressor")
@kinds()
def test_searches_and_cross_validation(toy, kind):
    """Labels of the rows of a fold are theirs; a fold may hold all rows of a label."""
    X, y = labelled(toy[0]), targets(kind, toy[1])
    alpha = {"alpha_epsilon": 0.01} if kind is AnytimeSGPClassifier else {}
    model = kind(RBF(), block_column=LABEL, **alpha, **QUICK)
    assert np.isfinite(cross_val_score(model, X, y, cv=2)).all()
    method = "predict" if kind is AnytimeSGPRegressor else "predict_proba"
    found = cross_val_predict(model, X, y, cv=GroupKFold(4), groups=LABELS, method=method)
    for k in range(4):
        kept = LABELS != k
        own = getattr(clone(model).fit(X[kept], y[kept]), method)(X[~kept])
        assert_allclose(found[~kept], own)
    search = GridSearchCV(model, {"model": ["pitc", "pic"], "n_inducing": [3, 8]}, cv=2).fit(X, y)
    assert search.best_estimator_.n_blocks_ == 4
    assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    search = GridSearchCV(model.set_params(model="pic"), {"block_column": [None, LABEL]}, cv=2)
    assert np.isfinite(search.fit(X, y).cv_results_["mean_test_score"]).all()


@kinds()
def test_clones_and_pickles(frame, kind):
    """A clone has the column, and is not fitted; a pickle knows its name."""
    X, y = frame[0], targets(kind, frame[1])
    model = kind(block_column="route", **QUICK).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    copy = clone(model)
    assert copy.block_column == "route" and not hasattr(copy, "kernel_")
    assert_array_equal(copy.fit(X, y).predict(X), model.predict(X))
    assert "block_column='route'" in repr(model)


# Later rows


def test_new_labels_are_new_blocks(toy):
    """A label without rows predicts as PITC does, until a batch brings some."""
    X, y = with_labels(toy)
    first = LABELS < 3
    ours = fixed(block_column=LABEL, normalize_y=(0.3, 2.0)).fit(X[first], y[first])
    before = ours.predict_std(X[~first])
    pitc = clone(ours).set_params(model="pitc").fit(X[first], y[first])
    assert_allclose(before, pitc.predict_std(X[~first]), rtol=1e-9)
    assert ours.n_blocks_ == 3
    ours.partial_fit(X[~first], y[~first])
    assert ours.n_blocks_ == 4
    assert (ours.predict_std(X[~first]) < before).all()
    whole = fixed(block_column=LABEL, normalize_y=(0.3, 2.0)).fit(X, y)
    assert_same_model(whole, ours, rtol=1e-7, at=LABELLED_TEST)


def test_the_column_stays(toy):
    """Another column, or none, is for a new fit; errors change nothing."""
    X, y = with_labels(toy)
    ours = fixed(block_column=LABEL).fit(X, y)
    for column in (None, 0):
        ours.set_params(block_column=column)
        before = state_of(ours)
        with pytest.raises(ValueError, match="block_column must stay as in the first batch"):
            ours.partial_fit(X, y)
        assert_unchanged(ours, before)
    ours.set_params(block_column=None, inducing="random", n_inducing=5, kernel=RBF()).fit(X, y)
    assert ours.inducing_points_.shape == (5, 3)
    ours.set_params(block_column=LABEL).fit(X, y)
    assert ours.inducing_points_.shape == (5, 2) and ours.n_blocks_ == 4


def test_functions_know_which_column_is_none_of_theirs(toy):
    """Draws of functions take the rows that predictions take."""
    X, y = with_labels(toy)
    ours = fixed("pitc", block_column=LABEL).fit(X, y)
    functions = ours.sample_functions(2000, random_state=0)
    assert_allclose(functions(LABELLED_TEST).mean(axis=1), ours.predict(LABELLED_TEST), atol=0.2)
    for X in (X_TEST, LABELLED_TEST[0], LABELLED_TEST[None], csr_array(LABELLED_TEST)):
        with pytest.raises((ValueError, TypeError), match=r"3 features|2D array|dim 3|Sparse"):
            functions(X)


# Categories


@pytest.mark.parametrize("table", ["frame", "objects"])
def test_categories_are_columns_of_the_whole_table(toy, table):
    """Their indices count the column of labels, which may stand before them."""
    pandas = pytest.importorskip("pandas")
    X, y = toy
    words = np.array(["a", "b", "c"])[np.arange(60) % 3]
    whole = pandas.DataFrame({"route": ROUTES[LABELS], "east": X[:, 0], "kind": words})
    tables = {"frame": whole, "objects": whole.to_numpy()}
    plain = AnytimeSGPRegressor(
        model="pitc", categorical_features=[1], block_column=2, optimizer=None, **QUICK
    )
    codes = np.column_stack([X[:, 0], np.arange(60) % 3, LABELS])
    plain.fit(codes, y)
    ours = clone(plain).set_params(categorical_features=[2], block_column=0)
    ours.fit(tables[table], y)
    assert_array_equal(ours.is_categorical_, [False, False, True])
    assert_array_equal(plain.is_categorical_, [False, True, False])
    assert [list(values) for values in ours.categories_] == [["a", "b", "c"]]
    assert ours.n_blocks_ == 4 and ours.n_features_in_ == 3
    assert_allclose(ours.predict(tables[table]), plain.predict(codes), rtol=1e-6)
    if table == "frame":
        named = clone(ours).set_params(categorical_features=["kind"], block_column="route")
        assert_array_equal(named.fit(whole, y).predict(whole), ours.predict(whole))


def test_new_categories_come_with_labels(toy):
    """A later batch brings a category and a label at once."""
    X, y = toy
    words = np.where(LABELS == 3, "new", np.where(np.arange(60) % 2, "a", "b"))
    table = np.column_stack([LABELS.astype(object), X[:, :1], words])
    first = LABELS < 3
    model = AnytimeSGPRegressor(
        Columns(RBF(), [0]) * Columns(Categorical(), [1]),
        model="pic",
        block_column=0,
        categorical_features=[2],
        optimizer=None,
        **QUICK,
    ).fit(table[first], y[first])
    model.partial_fit(table[~first], y[~first])
    assert model.n_blocks_ == 4
    assert [sorted(values) for values in model.categories_] == [["a", "b", "new"]]
    assert np.isfinite(model.predict(table, return_std=True)).all()


@pytest.mark.filterwarnings("error")
def test_infinities_of_both_signs_are_refused_without_a_warning():
    """Sums of half-precision numbers with labels of blocks beside them warn of nothing."""
    X = np.column_stack([np.tile([np.inf, -np.inf], 10), np.arange(20) % 3]).astype(np.float16)
    with pytest.raises(ValueError, match="infinity"):
        AnytimeSGPRegressor(block_column=1).fit(X, np.arange(20.0))


@pytest.mark.parametrize("label", ["route", 1])
def test_names_that_come_twice_are_refused(frame, label):
    """Each of two columns of a name was taken twice, or the error told no cure."""
    X, y = frame
    model = AnytimeSGPRegressor(model="pic", block_column=label, **QUICK).fit(X, y)
    before = state_of(model)
    twice = X.set_axis(["east", "route", "east"], axis=1)
    for ask in (lambda: model.fit(twice, y), lambda: model.predict(twice)):
        with pytest.raises(ValueError, match=r"Got \['east'\] more than once: rename them"):
            ask()
        assert_unchanged(model, before)
