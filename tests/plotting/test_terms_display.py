"""TermsDisplay draws the means and bands of the terms of a sum along one column."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_sgp import SVGPRegressor

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from sklearn_sgp.plotting import TermsDisplay  # noqa: E402

X = np.random.default_rng(0).uniform(-2.0, 2.0, (50, 2))
Y = X[:, 0] + np.sin(3.0 * X[:, 1])
MODEL = SVGPRegressor(DotProduct() + RBF(0.7), n_inducing=9, optimizer=None, random_state=0)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


def test_panels_have_terms_and_bands():
    """Each panel has a term in the order of the column, and a band of the given probability."""
    model = MODEL.fit(X, Y)
    display = TermsDisplay.from_estimator(model, X, feature=1, level=0.8)
    terms, std = model.predict_terms(X, return_std=True)
    order = np.argsort(X[:, 1])
    assert [axes.get_title() for axes in display.axes_] == ["term 1", "term 2"]
    for k, line in enumerate(display.lines_):
        assert_allclose(line.get_xydata(), np.column_stack([X[order, 1], terms[order, k]]))
        path = display.bands_[k].get_paths()[0].vertices
        reach = norm.ppf(0.9) * std[:, k]
        assert_allclose(path[:, 1].max(), (terms[:, k] + reach).max())
        assert_allclose(path[:, 1].min(), (terms[:, k] - reach).min())
    assert display.axes_[0].get_xlabel() == "x1"
    assert display.figure_ is display.axes_[0].figure


def test_names_pipelines_and_given_axes():
    """Columns go by name, pipelines are looked into, and given axes are drawn in."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["east", "north"])
    pipeline = make_pipeline(FunctionTransformer(), MODEL).fit(frame, Y)
    axes = plt.subplots(2, 1)[1]
    display = TermsDisplay.from_estimator(
        pipeline, frame, feature="north", term_names=["slope", "waves"], ax=axes
    )
    assert display.axes_[1] is axes[1]
    assert axes[1].get_title() == "waves"
    assert axes[1].get_xlabel() == "north"


def test_one_term_has_one_panel():
    """A kernel that is no sum has one panel."""
    model = SVGPRegressor(RBF(), n_inducing=5, optimizer=None, random_state=0).fit(X, Y)
    assert len(TermsDisplay.from_estimator(model, X).lines_) == 1


def test_what_is_refused():
    """Other models, columns, levels, names and outputs are errors that say what is wanted."""
    model = MODEL.fit(X, Y)
    with pytest.raises(TypeError, match="needs a regressor with predict_terms"):
        TermsDisplay.from_estimator(LinearRegression().fit(X, Y), X)
    for options, match in [
        ({"feature": "up"}, "'feature' parameter must be the index"),
        ({"feature": 2}, "'feature' parameter must be the index"),
        ({"level": 1.0}, "'level' parameter must lie between"),
        ({"term_names": ["one"]}, "'term_names' parameter must hold 2 names"),
    ]:
        with pytest.raises(ValueError, match=match):
            TermsDisplay.from_estimator(model, X, **options)
    with pytest.raises(ValueError, match=r"terms of one target\. Got a model of 2"):
        TermsDisplay.from_estimator(MODEL.fit(X, np.column_stack([Y, Y])), X)
