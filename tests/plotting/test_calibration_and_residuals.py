"""Displays of what error bars promise and keep, and of residuals."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import validate_data

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from sklearn_sgp import SVGPClassifier, SVGPRegressor  # noqa: E402
from sklearn_sgp.plotting import CalibrationDisplay, ResidualDisplay  # noqa: E402


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class FirstColumn(RegressorMixin, BaseEstimator):
    """Predicts the first column, with standard deviation `std`."""

    def __init__(self, std=1.0):
        self.std = std

    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=None, multi_output=True)
        self.shape_ = y.shape[1:]
        return self

    def predict(self, X, return_std=False):
        first = np.asarray(validate_data(self, X, reset=False, dtype=None)[:, 0], dtype=float)
        mean = np.multiply.outer(first, np.ones(self.shape_))
        return (mean, np.full(mean.shape, self.std)) if return_std else mean


def test_coverage_is_the_definition(rng):
    """A share of the rows at each level, of all rows and of each group."""
    y, mean, std = rng.normal(size=60), rng.normal(size=60), rng.uniform(0.5, 2, 60)
    groups = rng.choice(["day", "night"], 60)
    display = CalibrationDisplay.from_predictions(y, (mean, std), groups=groups, levels=[0.9, 0.5])
    assert display.levels.tolist() == [0.5, 0.9]
    inside = np.abs(y - mean)[:, None] <= norm.ppf([0.75, 0.95]) * std[:, None]
    expected = [
        inside[rows].mean(axis=0) for rows in (groups != "", groups == "day", groups != "day")
    ]
    np.testing.assert_allclose(display.coverage, expected)
    assert [line.get_label() for line in display.lines_] == ["all", "day", "night"]
    for line, shares in zip(display.lines_, expected, strict=True):
        np.testing.assert_allclose(line.get_ydata(), shares)


def test_distributions_need_not_be_gaussian(rng):
    """Intervals are the distribution's own: not those of mean and std."""
    X = rng.uniform(0, 3, (80, 1))
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    model = SVGPRegressor(likelihood="poisson", n_inducing=5, max_iter=5, random_state=0).fit(X, y)
    display = CalibrationDisplay.from_estimator(model, X, y, levels=[0.8])
    lower, upper = model.predict_quantiles(X, quantiles=(0.1, 0.9)).T
    assert display.coverage[0, 0] == np.mean((lower <= y) & (y <= upper))


def test_the_grey_band_holds_nineteen_of_twenty(rng):
    """Coverage of right intervals stays inside it at one level, for about 95 % of the samples."""
    n = 200
    display = CalibrationDisplay([0.5], [0.5], n_samples=n).plot()
    top = max(y for x, y in display.band_.get_paths()[0].vertices if abs(x - 0.5) < 1e-9)
    shares = rng.binomial(n, 0.5, 4000) / n
    assert abs(np.mean(np.abs(shares - 0.5) <= top - 0.5) - 0.95) < 0.02


@pytest.mark.slow
def test_groups_have_bands_of_their_own_size(rng):
    """Right predictions: about 95 % of the points of small groups lie in the bands of their line.

    Outputs of one row are not counted as rows.
    """
    y, groups = rng.normal(size=(4000, 2)), np.arange(4000) % 80
    y[:, 1] = y[:, 0]
    predictions = np.zeros(y.shape), np.ones(y.shape)
    display = CalibrationDisplay.from_predictions(y, predictions, groups=groups)
    assert display.n_samples == [4000] + 80 * [50]
    assert len(display.bands_) == 81
    assert display.band_ is display.bands_[0]
    spread = 1.96 * np.sqrt(display.levels * (1 - display.levels) / 50)
    top = max(y for x, y in display.bands_[1].get_paths()[0].vertices if abs(x - 0.5) < 1e-9)
    assert abs(top - 0.5 - spread[9]) < 1e-12
    inside = np.abs(display.coverage[1:] - display.levels) <= spread
    assert 0.92 < inside.mean() < 0.98
    with pytest.raises(ValueError, match="'n_samples' parameter must be one number, or one for"):
        CalibrationDisplay([0.5], [[0.5], [0.4], [0.3]], n_samples=[9, 9]).plot()


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_rows_without_a_group_are_one(rng, gap):
    """None and NaN among the labels are a group of their own, with the share of its rows."""
    y = rng.normal(size=60)
    groups = np.where(np.arange(60) % 3, "late", None)
    groups[groups == None] = gap  # noqa: E711
    numbers = np.where(np.arange(60) % 3, 10.0, np.nan)
    for labels, name in ((groups, "late"), (groups.tolist(), "late"), (numbers, "10.0")):
        display = CalibrationDisplay.from_predictions(
            y, (np.zeros(60), np.ones(60)), groups=labels, levels=[0.5]
        )
        assert [line.get_label() for line in display.lines_] == ["all", name, "missing"]
        inside = np.abs(y) <= norm.ppf(0.75)
        expected = [inside.mean(), inside[np.arange(60) % 3 > 0].mean(), inside[::3].mean()]
        np.testing.assert_allclose(display.coverage[:, 0], expected)


def test_groups_of_numbers_are_in_their_order(rng):
    """Labels are sorted as what they are: 2 is before 10, and a group may be named all."""
    y, predictions = rng.normal(size=40), (np.zeros(40), np.ones(40))
    for labels, names in (([10, 2], ["2", "10"]), (["all", 1], ["1", "all"])):
        groups = np.array(labels * 20, dtype=object)
        display = CalibrationDisplay.from_predictions(y, predictions, groups=groups)
        assert display.group_names == ["all", *names]
        assert display.n_samples == [40, 20, 20]
    with pytest.raises(ValueError, match="'groups' parameter must hold a label for each row"):
        CalibrationDisplay.from_predictions(y, predictions, groups=np.zeros((40, 2)))


@pytest.mark.parametrize("display", [CalibrationDisplay, ResidualDisplay])
def test_estimators_that_predict_no_distribution_are_refused(rng, display):
    """A classifier, or a regressor without deviations, is refused by name, in pipelines too."""
    X = rng.normal(size=(40, 1))
    y, few = X[:, 0], {"n_inducing": 5, "max_iter": 2, "random_state": 0}
    classifiers = SVGPClassifier(**few), make_pipeline(StandardScaler(), LogisticRegression())
    for model in classifiers:
        with pytest.raises(TypeError, match=r"needs a regressor .* Got the classifier"):
            display.from_estimator(model.fit(X, y > 0), X, y > 0)
    with pytest.raises(TypeError, match=r"needs a regressor .* Got the LinearRegression\(\)\."):
        display.from_estimator(LinearRegression().fit(X, y), X, y)


def test_groups_by_the_name_of_a_column(rng):
    """A data frame's column has the labels."""
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"x": rng.normal(size=40), "hour": np.repeat([6, 18], 20)})
    model = make_pipeline(StandardScaler(), FirstColumn()).fit(X, X["x"])
    display = CalibrationDisplay.from_estimator(model, X, X["x"], groups="hour")
    assert [line.get_label() for line in display.lines_] == ["all", "6", "18"]
    with pytest.raises(ValueError, match="name a column"):
        CalibrationDisplay.from_estimator(model, X, X["x"], groups="minute")


@pytest.mark.parametrize("levels", [[], [0.0, 0.5], [1.0]])
def test_levels_are_probabilities(levels):
    with pytest.raises(ValueError, match="'levels'"):
        CalibrationDisplay.from_predictions([0.0], ([0.0], [1.0]), levels=levels)


def test_residuals_are_standardised(rng):
    """Dots are (y - mean) / std against the prediction and each column."""
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    model = FirstColumn(std=0.5).fit(X, y)
    display = ResidualDisplay.from_estimator(model, X, y, subsample=None)
    assert [pane.get_xlabel() for pane in display.axes_] == ["prediction", "x0", "x1"]
    for dots, places in zip(display.dots_, [X[:, 0], X[:, 0], X[:, 1]], strict=True):
        np.testing.assert_allclose(dots.get_xdata(), places)
        np.testing.assert_allclose(dots.get_ydata(), (y - X[:, 0]) / 0.5)


def test_line_and_band_are_those_of_the_bins(rng):
    """Of all rows, whatever the number of dots."""
    places, residuals = np.arange(60.0), rng.normal(size=60)
    display = ResidualDisplay(residuals, [places], n_bins=3, subsample=5, random_state=0).plot()
    assert len(display.dots_[0].get_xdata()) == 5
    bins = residuals.reshape(3, 20)
    np.testing.assert_allclose(display.lines_[0].get_xdata(), places.reshape(3, 20).mean(axis=1))
    np.testing.assert_allclose(display.lines_[0].get_ydata(), bins.mean(axis=1))
    vertices = display.bands_[0].get_paths()[0].vertices
    for ends in np.quantile(bins, [0.05, 0.95], axis=1):
        assert all(np.isclose(vertices[:, 1], end).any() for end in ends)


def test_categories_have_their_names(rng):
    """A column of strings has a bin for each value, and columns have the frame's names."""
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"x": rng.normal(size=40), "carrier": np.repeat(["b", "a"], 20)})
    model = FirstColumn().fit(X, X["x"])
    display = ResidualDisplay.from_estimator(model, X, X["x"] + 1.0, features=["carrier"])
    pane = display.axes_[1]
    assert pane.get_xlabel() == "carrier"
    assert [label.get_text() for label in pane.get_xticklabels()] == ["a", "b"]
    np.testing.assert_allclose(display.lines_[1].get_ydata(), [1.0, 1.0])
    every = ResidualDisplay.from_estimator(model, X, X["x"])
    assert [pane.get_xlabel() for pane in every.axes_] == ["prediction", "x", "carrier"]


def test_one_of_several_outputs(rng):
    X = rng.normal(size=(30, 1))
    Y = np.column_stack([X[:, 0], X[:, 0] + 2.0])
    model = FirstColumn().fit(X, Y)
    display = ResidualDisplay.from_estimator(model, X, Y, target=1, features=[])
    np.testing.assert_allclose(display.dots_[0].get_ydata(), 2.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["speed"]}, "'features' parameter must hold columns"),
        ({"features": [7]}, "'features' parameter must hold columns"),
        ({"ax": "one"}, "'ax' parameter"),
    ],
)
def test_what_cannot_be_drawn_is_said(rng, options, message):
    X = rng.normal(size=(20, 2))
    model = FirstColumn().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=message):
        ResidualDisplay.from_estimator(model, X, X[:, 0], **options)


def test_standard_deviations_must_be_positive():
    with pytest.raises(ValueError, match="std must be positive"):
        ResidualDisplay.from_predictions([0.0, 1.0], [0.0, 1.0], [1.0, 0.0])


@pytest.mark.parametrize("display", [CalibrationDisplay, ResidualDisplay])
def test_a_fitted_model_is_needed(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(SVGPRegressor(), [[0.0]], [0.0])


@pytest.mark.quick_cases("1", "2")
@pytest.mark.parametrize("n_features", [1, 2, 12])
def test_pictures_render(rng, n_features):
    """A new figure has at most nine panels; given axes are used as they are."""
    X = rng.normal(size=(40, n_features))
    model = FirstColumn().fit(X, X[:, 0])
    display = ResidualDisplay.from_estimator(model, X, X[:, 0])
    assert len(display.axes_) == min(n_features, 8) + 1
    display.figure_.canvas.draw()
    axes = plt.subplots(1, len(display.axes_))[1]
    assert display.plot(ax=axes).axes_[0] is axes[0]


def test_residuals_are_of_observations(rng):
    """Also of a model that predicts deviations of the function by default."""
    X = rng.uniform(0.0, 6.0, (120, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=120)
    model = SVGPRegressor(n_inducing=10, max_iter=20, include_noise=False, random_state=0).fit(X, y)
    display = ResidualDisplay.from_estimator(model, X, y)
    assert 0.7 < np.std(display.residuals) < 1.3
