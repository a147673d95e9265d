"""Displays draw the numbers of fitted estimators; a stub has the attributes of the real ones."""

import sys

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.validation import check_array, validate_data
from slow_variants import slow

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from sklearn_sgp import (  # noqa: E402
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPRegressor,
    SVGPRegressor,
)
from sklearn_sgp.kernels import Categorical, Columns  # noqa: E402
from sklearn_sgp.plotting import (  # noqa: E402
    ConvergenceDisplay,
    PosteriorDisplay,
    RelevanceDisplay,
)


class SparseStub(RegressorMixin, BaseEstimator):
    """Has all that displays read. The mean is a sum of sines; the latent std is |x0|."""

    def __init__(self, kernel=None):
        self.kernel = kernel

    def fit(self, X, y):
        X, y = validate_data(self, X, y, multi_output=True)
        self.kernel_ = self.kernel or ConstantKernel() * RBF(np.ones(X.shape[1]))
        self.inducing_points_ = X[::10]
        self.objectives_ = [-300.0, -120.0, -90.0]
        self.fit_times_ = [0.1, 0.2, 0.7]
        self.n_samples_seen_ = len(X)
        self._y_shape = y.shape[1:]
        return self

    def _outputs(self, values):
        """One output, or several that are multiples of the first."""
        return values if not self._y_shape else values[:, None] * np.arange(1, self._y_shape[0] + 1)

    def predict(self, X):
        return self._outputs(np.sin(validate_data(self, X, reset=False)).sum(axis=1))

    def predict_std(self, X, include_noise=True):
        latent = np.abs(check_array(X)[:, 0])
        return self._outputs(np.sqrt(latent**2 + 4.0) if include_noise else latent)

    def predict_quantiles(self, X, quantiles):
        std = self.predict_std(X)[..., None]
        return self.predict(X)[..., None] + std * norm.ppf(quantiles)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


def fitted(n_features=1, kernel=None, n_targets=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 5.0, (50, n_features))
    y = rng.normal(size=50 if n_targets is None else (50, n_targets))
    return SparseStub(kernel).fit(X, y), X, y


def relevances(kernel, n_features, scale=False, **options):
    display = RelevanceDisplay.from_estimator(fitted(n_features, kernel)[0], scale=scale, **options)
    return np.asarray(display.relevances)


def widths(bars):
    return np.array([bar.get_width() for bar in bars])


def labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def test_convergence_draws_the_trace():
    """The curve has the objectives over the seconds of the fit, or over their numbers."""
    model, _, _ = fitted()
    display = ConvergenceDisplay.from_estimator(model)
    np.testing.assert_array_equal(
        display.line_.get_xydata(), np.column_stack([model.fit_times_, model.objectives_])
    )
    assert display.ax_.get_ylabel() == "objective (nats)"
    assert display.figure_ is display.ax_.figure
    entries = ConvergenceDisplay.from_estimator(model, x="entries", per_row=True)
    np.testing.assert_array_equal(entries.line_.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(entries.line_.get_ydata(), np.array(model.objectives_) / 50)
    assert "per row" in entries.ax_.get_ylabel()


def test_convergence_curves_compare():
    """Curves drawn into the same axes share a legend of their names."""
    model, _, _ = fitted()
    first = ConvergenceDisplay.from_estimator(model, name="objective")
    second = ConvergenceDisplay([0, 1], [-100.0, -50.0], name="score")
    assert second.plot(first.ax_, line_kwargs={"color": "red"}) is second
    assert second.line_.get_color() == "red"
    assert [text.get_text() for text in first.ax_.get_legend().get_texts()] == [
        "objective",
        "score",
    ]


def test_convergence_looks_into_pipelines_and_searches():
    """The curve of a search over a pipeline is the curve of the pipeline's last step."""
    _, X, y = fitted()
    pipeline = make_pipeline(StandardScaler(), SparseStub())
    search = GridSearchCV(pipeline, {"standardscaler__with_std": [True]}).fit(X, y)
    assert len(ConvergenceDisplay.from_estimator(search).values) == 3


def test_convergence_refuses_an_unknown_axis():
    """An unknown horizontal axis raises a ValueError that lists the two known ones."""
    with pytest.raises(ValueError, match=r"'x' parameter must be 'seconds' or 'entries'. Got 'h'"):
        ConvergenceDisplay.from_estimator(fitted()[0], x="h")


@pytest.mark.parametrize(
    "part", [RBF([0.5, 2.0, 4.0]), Matern([0.5, 2.0, 4.0], nu=1.5), 2.0 * RBF([0.5, 2.0, 4.0]) ** 2]
)
def test_relevance_is_the_inverse_length_scale(part):
    """A part's bars are its inverse length scales, wherever it stands in the kernel."""
    np.testing.assert_allclose(
        relevances(part * ConstantKernel(3.0) + WhiteKernel(), 3), [[2.0, 0.5, 0.25]]
    )


def test_relevance_of_several_parts():
    """Each part with length scales has its own bars; periods, noise and slopes have none."""
    kernel = RBF([1.0, 2.0]) + Matern(4.0) * RBF(0.5) + ExpSineSquared() + DotProduct()
    model, _, _ = fitted(2, kernel + RationalQuadratic(8.0))
    display = RelevanceDisplay.from_estimator(model, scale=False)
    expected = [[1.0, 0.5], [0.25, 0.25], [2.0, 2.0], [0.125, 0.125]]
    np.testing.assert_allclose(display.relevances, expected)
    assert display.part_names == ["RBF 1", "Matern", "RBF 2", "RationalQuadratic"]
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == display.part_names
    assert len(display.bars_) == 4


def test_relevance_of_columns():
    """A part on some of the columns is relevant only there, also inside nested Columns."""
    kernel = Columns(RBF([0.5, 0.25]), [3, 1])
    np.testing.assert_allclose(relevances(kernel, 4), [[0.0, 4.0, 0.0, 2.0]])
    kernel = 2.0 * Columns(Columns(Matern(0.5), [1]) + Columns(RBF(4.0), [0, 1]), [0, 2])
    np.testing.assert_allclose(relevances(kernel, 3), [[0.0, 0.0, 2.0], [0.25, 0.0, 0.25]])


def test_relevance_per_standard_deviation():
    """Scaled relevances do not change with the units of a feature."""
    sd = np.array([3.0, 5.0])
    expected = relevances(RBF([1.0, 2.0]), 2, scale=sd)
    np.testing.assert_allclose(expected, [[3.0, 2.5]])
    np.testing.assert_allclose(relevances(RBF([60.0, 2.0]), 2, scale=sd * [60, 1]), expected)


def test_relevance_has_no_units():
    """By default bars are spreads of the inducing inputs per length scale, whatever the units."""
    model, _, _ = fitted(2, RBF([1.0, 2.0]))
    display = RelevanceDisplay.from_estimator(model)
    spread = model.inducing_points_.std(axis=0)
    np.testing.assert_allclose(display.relevances, [spread / [1.0, 2.0]])
    assert display.ax_.get_xlabel() == "standard deviation / length scale"
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (200, 2))
    real = SVGPRegressor(n_inducing=30, random_state=0)
    real.fit(X * [1.0, 1000.0], np.sin(2 * X).sum(axis=1))
    low, high = np.sort(np.max(RelevanceDisplay.from_estimator(real).relevances, axis=0))
    assert high < 2.0 * low


def of_codes(K, codes, other=None):
    """Relevance of a column whose categories have covariance K, where Z has these codes."""
    n = len(codes)
    model = SparseStub(None).fit(np.zeros((n, 2)), np.zeros(n))
    model.inducing_points_ = np.column_stack([np.linspace(0.0, 1.0, n), codes])
    factor = np.linalg.cholesky(K - 1e-9 * np.eye(len(K)))
    levels = Categorical(len(K), factor=factor, diagonal=np.full(len(K), 1e-9))
    levels = Columns(levels, [1])
    model.kernel_ = levels if other is None else other(levels)
    display = RelevanceDisplay.from_estimator(model)
    assert display.part_names[-1] == "categories"
    assert display.relevances[-1][0] == 0.0
    return display.relevances[-1][1]


@pytest.mark.parametrize("scale", [0.5, 1.0, 4.0])
def test_relevance_of_categories_that_are_numbers(scale):
    """Codes of normal numbers have the bar of these numbers, in a product with others, too."""
    codes = np.arange(200.0)
    numbers = norm.ppf((codes + 0.5) / 200.0)[:, None]
    K = RBF(scale)(numbers) + 1e-6 * np.eye(200)
    expected = numbers.std() / scale
    assert of_codes(K, codes) == pytest.approx(expected, rel=0.02)
    by_place = of_codes(K, codes, lambda levels: 3.0 * Columns(RBF(2.0), [0]) * levels)
    assert by_place == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("correlation", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("n_second", [10, 50])
def test_relevance_of_two_categories(correlation, n_second):
    """Two categories have about the bar of a column of zeros and ones with their correlation."""
    codes = (np.arange(100.0) < n_second).astype(float)
    K = np.array([[1.0, correlation], [correlation, 1.0]])
    scale = (-2.0 * np.log(correlation)) ** -0.5
    assert RBF(scale)([[0.0], [1.0]])[0, 1] == pytest.approx(correlation)
    most = 0.07 if n_second == 50 else 0.3
    assert of_codes(K, codes) == pytest.approx(codes.std() / scale, rel=most)


def test_relevance_of_categories_in_a_sum():
    """Levels of a small share of the variance count little, opposed ones as those apart."""
    codes = np.arange(100.0) % 2.0
    apart = of_codes(np.eye(2), codes)
    assert apart == pytest.approx(np.sqrt(1.5))
    assert of_codes(np.array([[1.0, -0.9], [-0.9, 1.0]]), codes) == pytest.approx(apart)
    assert of_codes(np.ones((2, 2)) + 1e-6 * np.eye(2), codes) < 1e-2
    little = of_codes(np.eye(2), codes, lambda levels: 99.0 * Columns(RBF(1.0), [0]) + levels)
    assert little == pytest.approx(np.sqrt((0.995**-2 - 1.0) / 2.0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SVGPRegressor, slow(AnytimeSGPRegressor)])
def test_relevance_of_learned_categories(kind):
    """A column that moves the level has the longer bar, whether values are missing or not."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.0, 6.0, 200), rng.integers(0, 3, (200, 2))])
    y = np.sin(X[:, 0]) + 2.0 * (X[:, 1] == 1.0) + 0.1 * rng.standard_normal(200)
    X[::7, 0] = np.nan
    model = kind(n_inducing=15, random_state=0, categorical_features=[1, 2]).fit(X, y)
    found = RelevanceDisplay.from_estimator(model).relevances[-1]
    assert found[0] == 0.0
    assert found[1] > 2.0 * found[2]


@pytest.mark.parametrize("options", [{}, {"model": "vif", "n_inducing": 0}])
def test_relevance_of_categories_alone(options):
    """A kernel over nothing but categories has bars, also without inducing inputs."""
    X = np.random.default_rng(0).integers(0, 3, (60, 1)).astype(float)
    kind = AnytimeSGPRegressor if options else SVGPRegressor
    options = {"n_inducing": 3, "random_state": 0, "categorical_features": [0], **options}
    model = kind(Columns(Categorical(), [0]), **options).fit(
        X, X[:, 0] + 0.1 * np.sin(np.arange(60))
    )
    display = RelevanceDisplay.from_estimator(model)
    assert display.part_names == ["categories"]
    assert 0.0 < display.relevances.max() < np.inf


@pytest.mark.parametrize("apart", [0, 1, 2])
@pytest.mark.parametrize("name", ["block_column", "offset_column"])
def test_relevance_of_columns_that_the_kernel_does_not_see(name, apart):
    """Labels of blocks and offsets have bars of zero, and the others those of their own column."""
    rng = np.random.default_rng(0)
    X = np.insert(rng.uniform(-1.0, 1.0, (40, 2)), apart, np.arange(40) % 4, axis=1)
    options = {name: apart, "inducing": rng.uniform(-1.0, 1.0, (9, 2)), "optimizer": None}
    if name == "offset_column":
        model = SVGPRegressor(likelihood="poisson", **options)
    else:
        model = AnytimeSGPRegressor(model="pic", **options)
    seen = [k for k in range(3) if k != apart]
    for kernel in (RBF(0.5), RBF([0.5, 2.0]), Columns(RBF(0.5), [0]) + Columns(RBF(2.0), [1])):
        model.set_params(kernel=kernel, random_state=0).fit(X, np.arange(40) % 3)
        plain = RelevanceDisplay.from_estimator(model, scale=False).relevances
        scaled = RelevanceDisplay.from_estimator(model).relevances
        assert plain.shape == scaled.shape == (len(plain), 3)
        assert not plain[:, apart].any()
        expected = [2.0, 2.0] if kernel == RBF(0.5) else [2.0, 0.5]
        np.testing.assert_allclose(plain.max(axis=0)[seen], expected)
        spread = model.inducing_points_.std(axis=0)
        np.testing.assert_allclose(scaled[:, seen], plain[:, seen] * spread)
    display = RelevanceDisplay.from_estimator(model, scale=[1.0, 1.0, 1.0])
    np.testing.assert_allclose(display.relevances, plain)


def test_relevance_order():
    """The most relevant feature is on top; without sorting the features keep their order."""
    kernel = RBF([2.0, 0.5, 1.0])
    names = ["weight", "hour", "day"]
    model, _, _ = fitted(3, kernel)
    display = RelevanceDisplay.from_estimator(model, feature_names=names, scale=False)
    assert labels(display) == ["hour", "day", "weight"]
    assert display.ax_.yaxis_inverted()
    np.testing.assert_allclose(widths(display.bars_[0]), [2.0, 1.0, 0.5])
    display = RelevanceDisplay.from_estimator(
        model, sort=False, scale=False, bar_kwargs={"color": "red"}
    )
    assert labels(display) == ["x0", "x1", "x2"]
    np.testing.assert_allclose(widths(display.bars_[0]), [0.5, 2.0, 1.0])
    assert display.bars_[0][0].get_facecolor() == (1.0, 0.0, 0.0, 1.0)


def test_relevance_takes_names_from_data_frames():
    """Names seen in fit label the bars."""
    pd = pytest.importorskip("pandas")
    _, X, y = fitted(2)
    model = SparseStub().fit(pd.DataFrame(X, columns=["east", "north"]), y)
    assert sorted(labels(RelevanceDisplay.from_estimator(model))) == ["east", "north"]


@pytest.mark.parametrize(
    "kernel, options, message",
    [
        (DotProduct(), {}, "needs a kernel with a length scale.*Got DotProduct"),
        (None, {"scale": [1.0]}, "'scale' parameter must hold 2 finite"),
        (None, {"scale": [1.0, -1.0]}, "'scale' parameter must hold 2 finite"),
        (None, {"feature_names": ["a"]}, "'feature_names' parameter must hold 2 names. Got 1"),
        (None, {"ax": [None, None]}, "'ax' parameter must be one matplotlib Axes. Got 2"),
    ],
)
def test_relevance_refuses(kernel, options, message):
    """Wrong arguments raise a ValueError that names the parameter and the value."""
    with pytest.raises(ValueError, match=message):
        RelevanceDisplay.from_estimator(fitted(2, kernel)[0], **options)


@pytest.mark.parametrize("include_noise", [True, False])
def test_posterior_curve(include_noise):
    """The band has the given probability at every grid value, with and without noise."""
    model, _, _ = fitted()
    display = PosteriorDisplay.from_estimator(
        model, confidence=0.8, include_noise=include_noise, grid_resolution=30
    )
    (x,) = display.grid
    Z = model.inducing_points_[:, 0]
    assert len(x) == 30 and x[0] < Z.min() and x[-1] > Z.max()
    mean = model.predict(x[:, None])
    std = model.predict_std(x[:, None], include_noise=include_noise)
    np.testing.assert_allclose(display.line_.get_ydata(), mean)
    inside = norm.cdf(display.band.T, mean, std)
    np.testing.assert_allclose(inside, np.tile([[0.1], [0.9]], 30))
    assert display.band_.get_label().startswith("80 % band of")
    np.testing.assert_array_equal(display.inducing_[0].get_xdata(), Z)
    assert display.data_ is None and display.images_ is None
    assert display.figure_ is display.ax_.figure


def test_posterior_draws_observations():
    """At most ``subsample`` observations are drawn, and their X determines the range."""
    model, X, y = fitted()
    display = PosteriorDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.data_.get_xydata(), np.column_stack([X, y]))
    assert display.grid[0][0] < X.min() and display.grid[0][-1] > X.max()
    display = PosteriorDisplay.from_estimator(model, X, y, subsample=7, random_state=0)
    assert len(display.data_.get_xydata()) == 7
    assert display.grid[0][0] < X.min()


def test_posterior_maps():
    """Two features give a map of the mean and a map of the standard deviation, in this order."""
    model, X, y = fitted(2)
    display = PosteriorDisplay.from_estimator(model, X, y, grid_resolution=20, include_noise=False)
    first, second = display.grid
    mean, std = (image.get_array().reshape(20, 20) for image in display.images_)
    i, j = 3, 15
    place = np.array([[first[i], second[j]]])
    assert display.mean[i, j] == pytest.approx(model.predict(place)[0])
    assert mean[j, i] == display.mean[i, j]  # images run from bottom to top, then across
    assert std[j, i] == pytest.approx(model.predict_std(place, include_noise=False)[0])
    assert [ax.get_title() for ax in display.ax_] == ["mean", "standard deviation"]
    assert all(ax.get_xlabel() == "x0" and ax.get_ylabel() == "x1" for ax in display.ax_)
    for dots in display.inducing_:
        np.testing.assert_array_equal(dots.get_xydata(), model.inducing_points_)
    np.testing.assert_array_equal(display.data_.get_array(), y)
    assert display.line_ is None and display.band_ is None
    assert [ax.get_aspect() for ax in display.ax_] == ["auto"] * 2
    display = PosteriorDisplay.from_estimator(model, X, grid_resolution=5, aspect="equal")
    assert [ax.get_aspect() for ax in display.ax_] == [1.0] * 2


@pytest.mark.parametrize("n_features", [1, 2])
def test_posterior_of_one_of_several_outputs(n_features):
    """The output asked for is drawn, with its spread and its observations."""
    model, X, y = fitted(n_features, n_targets=3)
    drawn = [PosteriorDisplay.from_estimator(model, X, y, target=t) for t in (0, 2)]
    np.testing.assert_allclose(drawn[1].mean, 3 * drawn[0].mean)
    spread = "band" if n_features == 1 else "std"
    np.testing.assert_allclose(getattr(drawn[1], spread), 3 * getattr(drawn[0], spread))
    np.testing.assert_array_equal(drawn[1].y, y[:, 2])


def test_posterior_of_a_pipeline():
    """Inputs and inducing inputs are drawn in the units that enter the pipeline."""
    _, X, y = fitted()
    pipeline = make_pipeline(StandardScaler(), SparseStub()).fit(X, y)
    display = PosteriorDisplay.from_estimator(pipeline)
    np.testing.assert_allclose(display.inducing_points, X[::10])
    np.testing.assert_allclose(display.mean, pipeline.predict(display.grid[0][:, None]))
    search = GridSearchCV(pipeline, {"sparsestub__kernel": [None]}).fit(X, y)
    np.testing.assert_allclose(PosteriorDisplay.from_estimator(search).mean, display.mean)


def test_posterior_behind_a_step_without_inverse():
    """Inducing inputs behind a step without inverse are left out, and X must give the range."""
    _, X, y = fitted()
    pipeline = make_pipeline(FunctionTransformer(np.exp), SparseStub()).fit(X, y)
    display = PosteriorDisplay.from_estimator(pipeline, X)
    assert display.inducing_points is None and display.inducing_ == []
    with pytest.raises(ValueError, match="X must be given: the pipeline's steps"):
        PosteriorDisplay.from_estimator(pipeline)


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(StandardScaler(), m)])
def test_posterior_of_named_features(wrap):
    """Estimators fitted to data frames are drawn without a warning, with names on the axes."""
    pd = pytest.importorskip("pandas")
    _, X, y = fitted(2)
    frame = pd.DataFrame(X, columns=["east", "north"])
    display = PosteriorDisplay.from_estimator(wrap(SparseStub()).fit(frame, y), frame)
    assert display.ax_[0].get_xlabel() == "east" and display.ax_[0].get_ylabel() == "north"


@pytest.mark.parametrize("feature", [None, "east"])
def test_posterior_behind_steps_that_ask_for_names(feature):
    """A pipeline whose steps know columns by name is drawn, as its last step would be."""
    pd = pytest.importorskip("pandas")
    _, X, y = fitted(2)
    frame = pd.DataFrame(X, columns=["east", "north"])
    by_hand = FunctionTransformer(lambda rows: rows.assign(east=rows["east"] / 2.0))
    by_columns = make_column_transformer((FunctionTransformer(lambda x: x / 2.0), ["east"]))
    by_columns.set_params(remainder="passthrough")
    options = {"feature": feature, "grid_resolution": 9}
    halved = SparseStub().fit(frame.assign(east=frame["east"] / 2.0).to_numpy(), y)
    expected = PosteriorDisplay.from_estimator(
        halved, X * [0.5, 1.0], feature=feature and 0, grid_resolution=9
    )
    for step in (by_hand, by_columns):
        pipeline = make_pipeline(step, SparseStub()).fit(frame, y)
        search = GridSearchCV(pipeline, {"sparsestub__kernel": [None]}).fit(frame, y)
        for one in (pipeline, search):
            display = PosteriorDisplay.from_estimator(one, frame, **options)
            np.testing.assert_allclose(display.mean, expected.mean)
            assert display.inducing_points is None
            assert display.feature_names[0] == "east"


def test_posterior_of_a_constant_feature():
    """A feature with one value has a grid around it."""
    model = SparseStub().fit(np.full((20, 1), 7.0), np.zeros(20))
    (x,) = PosteriorDisplay.from_estimator(model).grid
    assert x[0] < 7.0 < x[-1]


@pytest.mark.parametrize("column", [0, 2])
def test_posterior_of_one_of_several_features(column):
    """One feature varies, the others are held at their medians; the dots are those of all rows."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.uniform(0.0, 4.0, (60, 3)), columns=["a", "b", "c"])
    y = np.sin(frame["a"]) + 0.2 * frame["c"]
    model = SVGPRegressor(n_inducing=15, max_iter=30, random_state=0).fit(frame, y)
    by_name, by_index = (
        PosteriorDisplay.from_estimator(model, frame, y, feature=one, grid_resolution=9)
        for one in ("abc"[column], column)
    )
    rows = pd.DataFrame(np.tile(frame.median(), (9, 1)), columns=frame.columns)
    (rows.iloc[:, column],) = by_name.grid
    np.testing.assert_allclose(by_name.mean, model.predict(rows))
    low_high = model.predict_quantiles(rows, quantiles=(0.05, 0.95))
    np.testing.assert_allclose(by_name.band, low_high, rtol=1e-9)
    np.testing.assert_array_equal(by_name.mean, by_index.mean)
    assert by_name.ax_.get_xlabel() == "abc"[column]
    np.testing.assert_array_equal(by_name.data_.get_xdata(), frame.iloc[:, column])
    np.testing.assert_array_equal(
        by_name.inducing_[0].get_xdata(), model.inducing_points_[:, column]
    )
    for wrong in ("d", 3, -1, True):
        with pytest.raises(ValueError, match=r"'feature' parameter must be the name .* below 3"):
            PosteriorDisplay.from_estimator(model, frame, feature=wrong)
    with pytest.raises(ValueError, match="name the one to vary, by the 'feature' parameter"):
        PosteriorDisplay.from_estimator(model, frame)


def test_posterior_has_curves_of_single_rows():
    """Each is the mean of a row whose other values stay; parallel ones tell of a sum."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0.0, 4.0, (60, 3))
    model = SVGPRegressor(n_inducing=15, max_iter=10, random_state=0).fit(X, X[:, 0] * X[:, 1])
    options = {"feature": 1, "grid_resolution": 7, "random_state": 0}
    display = PosteriorDisplay.from_estimator(model, X, curves=4, **options)
    assert display.curves.shape == (4, 7) and len(display.curves_) == 4
    found = set()
    for row in X:
        rows = np.tile(row, (7, 1))
        rows[:, 1] = display.grid[0]
        found.add(tuple(np.round(model.predict(rows), 9)))
    assert {tuple(np.round(curve, 9)) for curve in display.curves} <= found
    assert display.curves_[0].get_label() == "means of single rows"
    every = PosteriorDisplay.from_estimator(model, X, curves=100, **options)
    assert every.curves.shape == (60, 7)
    for wrong in ({"curves": -1, "feature": 1}, {"curves": 2.5, "feature": 1}, {"curves": True}):
        with pytest.raises(ValueError, match="'curves' parameter must be a number of rows"):
            PosteriorDisplay.from_estimator(model, X, **{**options, **wrong})
    two = SVGPRegressor(n_inducing=5, max_iter=2).fit(X[:, :2], X[:, 0])
    with pytest.raises(ValueError, match="0 without a 'feature' that varies"):
        PosteriorDisplay.from_estimator(two, X[:, :2], curves=3)


def test_posterior_of_rows_that_lack_values():
    """Ranges, medians and dots are those of what is known; a feature without a value is refused."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 4.0, (60, 2))
    y = np.sin(X[:, 0])
    X[::4, 1], X[1::4, 0] = np.nan, np.nan
    model = SVGPRegressor(n_inducing=15, max_iter=30, random_state=0).fit(X, y)
    one = PosteriorDisplay.from_estimator(model, X, y, feature=0, grid_resolution=9)
    rows = np.column_stack([one.grid[0], np.full(9, np.nanmedian(X[:, 1]))])
    np.testing.assert_allclose(one.mean, model.predict(rows))
    assert one.grid[0][0] < np.nanmin(X[:, 0]) < np.nanmax(X[:, 0]) < one.grid[0][-1]
    both = PosteriorDisplay.from_estimator(model, X, y, grid_resolution=5)
    assert both.mean.shape == (5, 5) and np.isfinite(both.mean).all()
    unknown = np.column_stack([X[:, 0], np.full(60, np.nan)])
    held = PosteriorDisplay.from_estimator(model, unknown, feature=0, grid_resolution=9)
    assert np.isfinite(held.mean).all()
    with pytest.raises(ValueError, match="must have a value in each feature that is drawn"):
        PosteriorDisplay.from_estimator(model, unknown, feature=1)


def test_posterior_beside_categories():
    """Categories that are held are held at the commonest; one that varies has a place for each."""
    rng = np.random.default_rng(0)
    names = np.array(["north", "south", "west"], dtype=object)
    code = rng.choice(3, 90, p=[0.2, 0.2, 0.6])
    X = np.column_stack([names[code], rng.uniform(0.0, 5.0, (90, 2))])
    y = code + 0.01 * rng.standard_normal(90)
    model = SVGPRegressor(n_inducing=12, random_state=0, categorical_features=[0]).fit(X, y)
    display = PosteriorDisplay.from_estimator(model, X, y, feature=1, grid_resolution=7)
    np.testing.assert_allclose(display.mean, 2.0, atol=0.2)
    display = PosteriorDisplay.from_estimator(model, X, feature=0)
    np.testing.assert_allclose(display.mean, [0.0, 1.0, 2.0], atol=0.2)
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == list(names)
    unnamed = PosteriorDisplay.from_estimator(model, X, feature=1)
    assert unnamed.ax_.get_xlabel() == "x1"


@pytest.mark.parametrize("n_features", [1, 2])
def test_posterior_over_categories(n_features):
    """A column of categories has a place and a name for each; a grid of numbers has none."""
    rng = np.random.default_rng(0)
    names = np.array(["north", "south", "west"], dtype=object)
    code = rng.integers(0, 3, 90)
    X = np.column_stack([names[code], rng.uniform(0.0, 5.0, 90)])[:, :n_features]
    y = code + 0.01 * rng.standard_normal(90)
    model = SVGPRegressor(n_inducing=12, random_state=0, categorical_features=[0]).fit(X, y)
    display = PosteriorDisplay.from_estimator(model, X, y, grid_resolution=7)
    assert len(display.grid[0]) == 3
    assert display.mean.shape == (3, 7)[:n_features]
    by_category = display.mean if n_features == 1 else display.mean.mean(axis=1)
    np.testing.assert_allclose(by_category, [0.0, 1.0, 2.0], atol=0.2)
    ax = display.ax_ if n_features == 1 else display.ax_[1]
    assert [label.get_text() for label in ax.get_xticklabels()] == list(names)
    assert len(PosteriorDisplay.from_estimator(model).grid[0]) == 3
    with pytest.raises(ValueError, match=r"column 0 that the model knows\. Got 'east'"):
        PosteriorDisplay.from_estimator(model, [["east", 1.0][:n_features]])


def test_displays_draw_into_given_axes():
    """Displays draw into given axes and make no new figure."""
    figure, axes = plt.subplots(1, 2)
    model, _, _ = fitted(2)
    assert ConvergenceDisplay.from_estimator(model, ax=axes[0]).ax_ is axes[0]
    assert RelevanceDisplay.from_estimator(model, ax=axes[1]).ax_ is axes[1]
    assert list(PosteriorDisplay.from_estimator(model, ax=axes).ax_) == list(axes)
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize(
    "n_features, options, message",
    [
        (3, {}, "draws one or two features. Got 3"),
        (1, {"confidence": 1.0}, "'confidence' parameter must be between 0 and 1"),
        (1, {"y": np.zeros(3)}, "X must be given together with y"),
        (1, {"X": np.zeros((3, 1)), "y": np.zeros(4)}, "inconsistent numbers of samples"),
        (2, {"ax": [None]}, "'ax' parameter must be two axes"),
    ],
)
def test_posterior_refuses(n_features, options, message):
    """Wrong arguments raise a ValueError that names the condition."""
    with pytest.raises(ValueError, match=message):
        PosteriorDisplay.from_estimator(fitted(n_features)[0], **options)


@pytest.mark.parametrize("display", [ConvergenceDisplay, RelevanceDisplay, PosteriorDisplay])
def test_displays_need_a_fitted_sparse_model(display):
    """Unfitted estimators raise NotFittedError; others raise a TypeError that names them."""
    with pytest.raises(NotFittedError):
        display.from_estimator(SparseStub())
    with pytest.raises(TypeError, match=rf"{display.__name__}.* needs .* Got LinearRegression"):
        display.from_estimator(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]))


@pytest.mark.parametrize("display", [ConvergenceDisplay, RelevanceDisplay, PosteriorDisplay])
def test_displays_say_that_they_need_matplotlib(display, monkeypatch):
    """Without matplotlib the error names the method and the command that installs it."""
    model, _, _ = fitted()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=rf"{display.__name__}.* needs .*pip install matplotlib"):
        display.from_estimator(model)


@pytest.mark.parametrize("n_features", [1, 2])
def test_displays_render(n_features):
    """Every picture can be rendered."""
    model, X, y = fitted(n_features)
    ConvergenceDisplay.from_estimator(model, name="trace").figure_.canvas.draw()
    RelevanceDisplay.from_estimator(model).figure_.canvas.draw()
    PosteriorDisplay.from_estimator(model, X, y).figure_.canvas.draw()


def test_functions_of_counts_are_in_other_units(rng):
    """Their deviations are those of the logarithm of the rate: no band of counts."""
    X = rng.uniform(0.0, 6.0, (60, 1))
    model = SVGPRegressor(likelihood="poisson", n_inducing=5, max_iter=5, random_state=0)
    model.fit(X, rng.poisson(3.0, 60))
    with pytest.raises(ValueError, match="include_noise must be True"):
        PosteriorDisplay.from_estimator(model, X, include_noise=False)


def test_marks_beside_an_offset_column(rng):
    """Inducing inputs are drawn on the axis of their own column, which the offset is not."""
    X = np.column_stack([rng.normal(size=60), rng.uniform(5.0, 6.0, 60), rng.uniform(size=60)])
    model = SVGPRegressor(likelihood="poisson", offset_column=0, n_inducing=5, random_state=0)
    model.fit(X, rng.poisson(np.exp(1.0 + X[:, 0])))
    display = PosteriorDisplay.from_estimator(model, X, feature=1)
    assert np.min(display.inducing_points) > 4.0


def test_bounds_of_a_last_batch_are_not_of_all_rows(rng):
    X, y = rng.normal(size=(60, 1)), rng.normal(size=60)
    model = StreamingSGPRegressor(n_inducing=5, max_iter=5, random_state=0)
    ConvergenceDisplay.from_estimator(model.partial_fit(X[:30], y[:30]), per_row=True)
    with pytest.raises(ValueError, match="per_row must be False"):
        ConvergenceDisplay.from_estimator(model.partial_fit(X[30:], y[30:]), per_row=True)


@pytest.mark.parametrize("kind", ["svgp", "total", "pic", "fitc", "latent"])
def test_objectives_of_batches_count_different_rows(kind, rng):
    """They were all divided by the rows of all batches, so that the curve rose with each."""
    X, y, options = rng.normal(size=(90, 2)), rng.normal(size=90), {"n_inducing": 5, "max_iter": 3}
    if kind == "latent":
        model, first, second = BayesianGPLVM(1, random_state=0, **options), (X[:60],), (X[60:],)
    else:
        of_blocks = AnytimeSGPRegressor(random_state=0, model=kind, **options)
        total = 200 if kind == "total" else None
        of_rows = SVGPRegressor(random_state=0, total_samples=total, **options)
        model = of_blocks if kind in ("pic", "fitc") else of_rows
        first, second = (X[:60], y[:60]), (X[60:], y[60:])
    display = ConvergenceDisplay.from_estimator(model.partial_fit(*first), per_row=True)
    np.testing.assert_allclose(display.values, model.objectives_ / 60)
    with pytest.raises(ValueError, match="per_row must be False where batches"):
        ConvergenceDisplay.from_estimator(model.partial_fit(*second), per_row=True)
    ConvergenceDisplay.from_estimator(model)


def test_objectives_in_little_time_stand_for_all_rows(rng, monkeypatch):
    """They were divided by the rows that there was time for."""
    X, y = rng.normal(size=(600, 2)), rng.normal(size=600)
    model = SVGPRegressor(n_inducing=5, optimizer=None, random_state=0, max_time=60.0)
    few = lambda *_: np.arange(0, 600, 3)  # noqa: E731
    monkeypatch.setattr("sklearn_sgp.engines.variational.schedule._affordable", few)
    model.fit(X, y)
    assert model.n_samples_seen_ == 200
    display = ConvergenceDisplay.from_estimator(model, per_row=True)
    np.testing.assert_allclose(display.values, model.objectives_ / 600)


def test_a_regressor_that_is_not_fitted_is_not_drawn():
    """It predicts its prior, and has no inducing inputs: that was an AttributeError."""
    with pytest.raises(NotFittedError):
        PosteriorDisplay.from_estimator(SVGPRegressor(), np.linspace(0.0, 1.0, 9)[:, None])
