"""Displays draw models of every kind of table, and pipelines over them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from slow_variants import slow, slow_but

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.kernels import Categorical, Columns

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pd = pytest.importorskip("pandas")

import matplotlib.pyplot as plt  # noqa: E402

from sklearn_sgp.plotting import (  # noqa: E402
    CalibrationDisplay,
    ConvergenceDisplay,
    PosteriorDisplay,
    RelevanceDisplay,
    ResidualDisplay,
    TermsDisplay,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # fits that learn nothing

rng = np.random.default_rng(0)
NUMBERS = rng.uniform(0.0, 5.0, (60, 2))
CODE = rng.integers(0, 3, 60)
NAMES = np.array(["east", "north", "west"], dtype=object)[CODE]
Y = np.sin(NUMBERS[:, 0]) + CODE
FRAME = pd.DataFrame(NUMBERS, columns=["u", "v"])
WITH_NAMES = FRAME.assign(w=NAMES)
GAPS = WITH_NAMES.assign(v=FRAME["v"].where(np.arange(60) % 5 > 0))
NO_NAMES = WITH_NAMES.assign(w=WITH_NAMES["w"].where(np.arange(60) % 5 > 0))

OPTIONS = {"optimizer": None, "random_state": 0}
REGRESSORS = [
    SVGPRegressor(n_inducing=10, **OPTIONS),
    AnytimeSGPRegressor(n_inducing=10, **OPTIONS),
    StreamingSGPRegressor(n_inducing=10, **OPTIONS),
]
CLASSIFIERS = [
    SVGPClassifier(n_inducing=10, **OPTIONS),
    AnytimeSGPClassifier(alpha_epsilon=0.01, n_inducing=10, **OPTIONS),
    StreamingSGPClassifier(n_inducing=10, **OPTIONS),
]


def by_columns(*steps):
    return make_column_transformer(*steps, remainder="passthrough", verbose_feature_names_out=False)


def one_hot():
    return by_columns((OneHotEncoder(sparse_output=False), ["w"]))


def with_categories(model, columns=("w",)):
    return model.__class__(**model.get_params() | {"categorical_features": list(columns)})


def typed(model):
    return with_categories(model).set_params(categorical_features="from_dtype")


def hours_and_rest(frame):
    return np.column_stack([frame["t"].dt.hour, frame["u"]])


TABLES = {
    "array": (lambda m: m, NUMBERS),
    "array with gaps": (lambda m: m, GAPS[["u", "v"]].to_numpy()),
    "frame": (lambda m: m, FRAME),
    "names": (with_categories, WITH_NAMES),
    "names in an array": (lambda m: with_categories(m, [2]), WITH_NAMES.to_numpy()),
    "categories": (typed, WITH_NAMES.astype({"w": "category"})),
    "names and gaps": (with_categories, GAPS),
    "missing names": (with_categories, NO_NAMES),
    "scaled": (lambda m: make_pipeline(StandardScaler(), m), NUMBERS),
    "scaled with gaps": (lambda m: make_pipeline(StandardScaler(), m), GAPS[["u", "v"]]),
    "one-hot": (lambda m: make_pipeline(one_hot(), m), WITH_NAMES),
    "one-hot of missing names": (lambda m: make_pipeline(one_hot(), m), NO_NAMES),
    "one-hot of categories": (
        lambda m: make_pipeline(one_hot(), m),
        WITH_NAMES.astype({"w": "category"}),
    ),
    "one-hot of booleans and whole numbers": (
        lambda m: make_pipeline(one_hot(), m),
        FRAME.assign(w=CODE > 1, v=CODE),
    ),
    "names behind a step": (
        lambda m: make_pipeline("passthrough", with_categories(m)),
        WITH_NAMES,
    ),
    "names behind scaled numbers": (
        lambda m: make_pipeline(
            by_columns((StandardScaler(), ["u", "v"])).set_output(transform="pandas"),
            with_categories(m),
        ),
        WITH_NAMES,
    ),
    "numbered and filled": (
        lambda m: make_pipeline(by_columns((OrdinalEncoder(), ["w"])), SimpleImputer(), m),
        GAPS,
    ),
    "dates": (
        lambda m: make_pipeline(FunctionTransformer(hours_and_rest), m),
        FRAME.assign(t=pd.date_range("2024-03-01", periods=60, freq="h")),
    ),
    "a search": (
        lambda m: GridSearchCV(
            make_pipeline(one_hot(), m), {m.__class__.__name__.lower() + "__n_inducing": [10]}, cv=2
        ),
        WITH_NAMES,
    ),
}

# Every column and every step once.
QUICK = ["array", "names and gaps", "categories", "scaled with gaps", "one-hot", "dates"]
QUICK += ["names behind scaled numbers", "numbered and filled", "a search"]


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


def names_of(X):
    return list(getattr(X, "columns", range(X.shape[1])))


@pytest.mark.quick_cases(
    "SVGPRegressor-categories",
    "SVGPRegressor-names and gaps",
    "SVGPRegressor-array",
    "SVGPRegressor-one-hot",
)
@pytest.mark.parametrize("table", slow_but(QUICK, TABLES))
@pytest.mark.parametrize(
    "model",
    [REGRESSORS[0], *map(slow, REGRESSORS[1:])],
    ids=lambda m: m.__class__.__name__,
)
def test_displays_of_regressors(model, table):
    """Each display draws each kind of table; curves and bars are finite, dots those of all rows."""
    wrap, X = TABLES[table]
    fitted = wrap(model).fit(X, Y)
    assert np.isfinite(ConvergenceDisplay.from_estimator(fitted).values).all()
    assert np.isfinite(RelevanceDisplay.from_estimator(fitted).relevances).all()
    CalibrationDisplay.from_estimator(fitted, X, Y).figure_.canvas.draw()
    for line in ResidualDisplay.from_estimator(fitted, X, Y).lines_:
        assert np.isfinite(line.get_ydata()).all()
    for feature in names_of(X):
        display = PosteriorDisplay.from_estimator(fitted, X, Y, feature=feature, grid_resolution=5)
        assert np.isfinite(display.mean).all() and np.isfinite(display.band).all()
        assert len(display.data_.get_xdata()) == 60
        display.figure_.canvas.draw()


@pytest.mark.parametrize("table", ["array with gaps", "missing names", "one-hot", "categories"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: m.__class__.__name__)
def test_displays_of_classifiers(model, table):
    """Bars and curves of classifiers are finite for each kind of table."""
    wrap, X = TABLES[table]
    fitted = wrap(model).fit(X, np.where(Y > 1.0, "high", "low"))
    assert np.isfinite(ConvergenceDisplay.from_estimator(fitted).values).all()
    assert np.isfinite(RelevanceDisplay.from_estimator(fitted).relevances).all()


@pytest.mark.parametrize("table", ["one-hot", "names behind a step", "names"])
def test_curves_are_predictions_of_rows_of_the_frame(table):
    """Names that are held are held at the commonest; varied ones have a place and a name each."""
    wrap, X = TABLES[table]
    fitted = wrap(REGRESSORS[0]).fit(X, Y)
    commonest = X["w"].mode()[0]
    display = PosteriorDisplay.from_estimator(fitted, X, feature="v", grid_resolution=7)
    rows = pd.DataFrame({"u": X["u"].median(), "v": display.grid[0], "w": commonest})
    np.testing.assert_allclose(display.mean, fitted.predict(rows))
    display = PosteriorDisplay.from_estimator(fitted, X, feature="w")
    rows = pd.DataFrame(
        {"u": X["u"].median(), "v": X["v"].median(), "w": ["east", "north", "west"]}
    )
    np.testing.assert_allclose(display.mean, fitted.predict(rows))
    ticks = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert ticks == ["east", "north", "west"]
    if table != "names":
        with pytest.raises(ValueError, match="X must be given"):
            PosteriorDisplay.from_estimator(fitted, feature=0)


def test_curves_over_dates():
    """Dates are drawn as dates, and are held at their median."""
    wrap, X = TABLES["dates"]
    fitted = wrap(REGRESSORS[0]).fit(X, Y)
    display = PosteriorDisplay.from_estimator(fitted, X, Y, feature="t", grid_resolution=9)
    assert display.grid[0].dtype.kind == "M" and display.grid[0][0] < X["t"].min().to_numpy()
    rows = pd.DataFrame({"u": X["u"].median(), "v": X["v"].median(), "t": display.grid[0]})
    np.testing.assert_allclose(display.mean, fitted.predict(rows))
    days = (X["t"] - pd.Timestamp(0)) / pd.Timedelta(days=1)
    np.testing.assert_allclose(display.data_.get_xdata(), days)
    held = PosteriorDisplay.from_estimator(fitted, X, feature="u", grid_resolution=5)
    rows = pd.DataFrame({"u": held.grid[0], "v": 0.0, "t": X["t"].median()})
    np.testing.assert_allclose(held.mean, fitted.predict(rows))


@pytest.mark.parametrize("kind", ["zone", "objects", "pyarrow", "pyarrow, coarse"])
def test_curves_over_other_dates(kind):
    """Dates of a time zone, dates as objects and those of pyarrow are drawn as plain ones are."""
    plain = TABLES["dates"][1]
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    times = {
        "zone": lambda t: t.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        "objects": lambda t: t.dt.to_pydatetime() if hasattr(t, "dt") else t,
        "pyarrow": lambda t: t.astype("timestamp[ns][pyarrow]"),
        "pyarrow, coarse": lambda t: t.astype("timestamp[us][pyarrow]"),
    }
    X = plain.copy()
    X["t"] = times[kind](plain["t"])
    if kind == "objects":
        X["t"] = X["t"].astype(object)

    def days(table):
        t = pd.to_datetime(table["t"].to_numpy(object), utc=True)
        return table.assign(t=(t - pd.Timestamp(0, tz="UTC")).total_seconds() / 86400)

    model = make_pipeline(FunctionTransformer(days), StandardScaler(), REGRESSORS[0])
    expected = PosteriorDisplay.from_estimator(clone(model).fit(plain, Y), plain, Y, feature="t")
    display = PosteriorDisplay.from_estimator(clone(model).fit(X, Y), X, Y, feature="t")
    np.testing.assert_array_equal(display.grid[0], expected.grid[0])
    np.testing.assert_allclose(display.mean, expected.mean, rtol=1e-6)
    np.testing.assert_allclose(display.data_.get_xdata(), expected.data_.get_xdata())


def test_errors_of_pictures_name_columns_and_cures():
    """A column without values, a category that is not known, and a classifier, by their names."""
    X = WITH_NAMES.assign(v=np.nan)
    fitted = clone(REGRESSORS[0]).set_params(categorical_features=["w"]).fit(X, Y)
    with pytest.raises(ValueError, match="Got NaN alone in 'v': name another one"):
        PosteriorDisplay.from_estimator(fitted, X, feature="v")
    with pytest.raises(ValueError, match="categories in column 'w' that the model knows"):
        PosteriorDisplay.from_estimator(fitted, X.assign(w="nowhere"), feature="u")
    with pytest.raises(TypeError, match="classes are drawn by PartialDependenceDisplay"):
        PosteriorDisplay.from_estimator(clone(CLASSIFIERS[0]).fit(FRAME, Y > 1.0), FRAME)


@pytest.mark.parametrize("module", ["polars", "pyarrow"])
def test_curves_of_other_frames(module):
    """A pipeline over a frame of another library is drawn as over one of pandas."""
    library = pytest.importorskip(module)
    step = by_columns((OneHotEncoder(sparse_output=False), ["w"]))
    fitted = make_pipeline(step, REGRESSORS[0]).fit(WITH_NAMES, Y)
    expected = PosteriorDisplay.from_estimator(fitted, WITH_NAMES, feature="v")
    X = {name: WITH_NAMES[name].to_list() for name in WITH_NAMES}
    X = library.DataFrame(X) if module == "polars" else library.table(X)
    display = PosteriorDisplay.from_estimator(fitted, X, feature="v")
    np.testing.assert_allclose(display.mean, expected.mean)


@pytest.mark.parametrize("as_array", [True, False])
def test_residuals_against_what_a_column_is(as_array):
    """Numbers among names are numbers, dates are dates, and missing names are a category."""
    X = NO_NAMES.assign(u=GAPS["v"])
    X = X.to_numpy() if as_array else X.assign(t=pd.date_range("2024-03-01", periods=60))
    model = with_categories(REGRESSORS[0], [2] if as_array else ["w"])
    table = X if as_array else X.drop(columns="t")
    mean, std = model.fit(table, Y).predict(table, return_std=True)
    columns = list(X.T) if as_array else [X[name] for name in X]
    display = ResidualDisplay.from_predictions(Y, mean, std, columns=columns)
    dots = [line.get_xdata() for line in display.dots_[1:]]
    np.testing.assert_array_equal(dots[0], GAPS["v"])
    assert len(display.lines_[1].get_xdata()) == 9  # bins of the 48 rows that are known
    ticks = [label.get_text() for label in display.axes_[3].get_xticklabels()]
    assert ticks == ["east", "north", "west", "missing"]
    if not as_array:
        np.testing.assert_allclose(np.diff(dots[3]), 1.0)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_residuals_against_a_column_without_values(missing):
    """Its panel is empty, where quantiles of no residuals raised an IndexError."""
    columns = [FRAME["u"], np.full(60, missing)]
    display = ResidualDisplay.from_predictions(Y, Y + 0.1, np.ones(60), columns=columns)
    assert [len(line.get_xdata()) for line in display.lines_] == [12, 12, 0]
    display.figure_.canvas.draw()


@pytest.mark.parametrize("feature", ["v", 2])
def test_terms_of_a_table_of_pyarrow(feature):
    """They are drawn as those of a frame, as in the other displays; asking for one raised."""
    X = pytest.importorskip("pyarrow").table({name: WITH_NAMES[name].to_list() for name in "uvw"})
    model = with_categories(REGRESSORS[0]).set_params(kernel=RBF() + Columns(RBF(), [1]))
    model.fit(WITH_NAMES, Y)
    expected = TermsDisplay.from_estimator(model, WITH_NAMES, feature=feature)
    display = TermsDisplay.from_estimator(model, X, feature=feature)
    np.testing.assert_array_equal(display.terms, expected.terms)
    assert display.feature_name == expected.feature_name


@pytest.mark.parametrize("labels", ["numbers", "names", "array"])
def test_labels_of_blocks_are_held_at_the_commonest(labels):
    """The block at their median was one that does not exist, and names had no median."""
    codes = np.repeat([0.0, 1.0, 2.0, 3.0], [20, 9, 9, 22])
    block = np.array(["a", "b", "c", "d"])[codes.astype(int)] if labels == "names" else codes
    X = FRAME.assign(block=block)
    X, column = (X.to_numpy(), 2) if labels == "array" else (X, "block")
    options = {"model": "pic", "block_column": column, "n_inducing": 6, **OPTIONS}
    model = AnytimeSGPRegressor(**options).fit(X, Y)
    display = PosteriorDisplay.from_estimator(model, X, Y, feature=0, curves=3, grid_resolution=7)
    held = FRAME.iloc[:7].assign(u=display.grid[0], v=FRAME["v"].median(), block=block[-1])
    expected = model.predict(held.to_numpy() if labels == "array" else held)
    np.testing.assert_allclose(display.mean, expected)
    along = PosteriorDisplay.from_estimator(model, X, Y, feature=column)
    assert along.categories == [sorted(set(block))]


@pytest.mark.parametrize("feature", [0, "v", "w"])
def test_terms_along_each_kind_of_column(feature):
    """Terms are drawn along numbers beside names, with gaps, and along the names themselves."""
    kernel = Columns(RBF(), [0]) + Columns(Categorical(), [2])
    model = SVGPRegressor(kernel, n_inducing=10, categorical_features=["w"], **OPTIONS)
    model.fit(GAPS, Y)
    display = TermsDisplay.from_estimator(model, GAPS, feature=feature)
    terms = model.predict_terms(GAPS)
    np.testing.assert_allclose(np.sort(display.lines_[0].get_ydata()), np.sort(terms[:, 0]))
    display.figure_.canvas.draw()


def test_relevances_of_latent_dimensions():
    """The bars of a latent variable model are those of its latent dimensions, by name."""
    Y = rng.standard_normal((30, 4))
    for frame in (Y, pd.DataFrame(Y, columns=list("abcd"))):
        model = BayesianGPLVM(2, n_inducing=8, max_iter=5, random_state=0).fit(frame)
        display = RelevanceDisplay.from_estimator(model, scale=False)
        np.testing.assert_allclose(display.relevances[0] ** 2, model.relevance_)
        names = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert sorted(names) == ["latent 0", "latent 1"]
        scaled = RelevanceDisplay.from_estimator(model)
        spread = model.inducing_points_.std(axis=0)
        np.testing.assert_allclose(scaled.relevances, display.relevances * spread)
        behind = make_pipeline(StandardScaler(), model.__class__(**model.get_params())).fit(frame)
        assert RelevanceDisplay.from_estimator(behind).relevances.shape == (1, 2)
