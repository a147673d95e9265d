"""Estimators with a kernel of linear combinations of columns: the one on X A', learned or held."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.kernels import Columns
from sklearn_sgp.plotting import RelevanceDisplay

A = np.array([[0.8, -0.5, 0.3], [0.2, 0.4, -1.0]])
ALONG = np.array([1.0, -1.0, 2.0]) / np.sqrt(6.0)
HELD = {"optimizer": None, "noise_variance": 0.04, "random_state": 0, "normalize_y": False}
REGRESSORS = {
    "svgp": SVGPRegressor(n_inducing=30, optimize_inducing=False),
    "vfe": AnytimeSGPRegressor(model="vfe", n_inducing=30),
    "pic": AnytimeSGPRegressor(model="pic", n_inducing=30, block_size=20),
    "vif": AnytimeSGPRegressor(model="vif", n_inducing=30),
    "stream": StreamingSGPRegressor(n_inducing=30),
}
LEARNING = {"n_inducing": 30, "random_state": 0}


def learned(start=0.5, bounds=(-10.0, 10.0)):
    return ConstantKernel() * Columns(RBF(1.0, "fixed"), [0, 1, 2], start * np.eye(3), bounds)


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.sin(2.0 * X @ ALONG) + 0.1 * rng.standard_normal(n)


def error(model, X_new):
    return np.sqrt(np.mean((model.predict(X_new) - np.sin(2.0 * X_new @ ALONG)) ** 2))


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_held_directions_are_inputs_that_were_turned(model):
    """Predictions with k(A x, A z) are those with k of rows that are A x, inducing inputs too."""
    X, y = table()
    X_new = table(40, seed=1)[0]
    inner, Z = 1.3 * Matern([0.8, 1.5], nu=1.5), X[:30]
    turned = clone(model).set_params(kernel=Columns(inner, [0, 1, 2], A), inducing=Z, **HELD)
    plain = clone(model).set_params(kernel=inner, inducing=Z @ A.T, **HELD)
    ours = turned.fit(X, y).predict(X_new, return_std=True)
    expected = plain.fit(X @ A.T, y).predict(X_new @ A.T, return_std=True)
    assert_allclose(ours[0], expected[0], atol=1e-6)
    assert_allclose(ours[1], expected[1], atol=1e-6)


def test_directions_that_are_columns():
    """With the identity all is as without directions."""
    X, y = table()
    models = [
        SVGPRegressor(Columns(Matern([0.8, 1.5, 1.0]), [0, 1, 2], turn), inducing=X[:40], **HELD)
        for turn in (None, np.eye(3))
    ]
    plain, turned = (model.fit(X, y) for model in models)
    assert_allclose(turned.objective_, plain.objective_, rtol=1e-10)
    assert_allclose(turned.predict(X), plain.predict(X), atol=1e-10)


def test_the_exact_process():
    """With inducing inputs at all rows it is scikit-learn's process with the same kernel."""
    X, y = table(60)
    kernel = Columns(RBF([1.0, 2.0]), [2, 0, 1], A)
    model = SVGPRegressor(kernel, inducing=X, **HELD).fit(X, y)
    exact = GaussianProcessRegressor(kernel + WhiteKernel(0.04), optimizer=None).fit(X, y)
    assert_allclose(model.predict(X), exact.predict(X), atol=1e-6)
    assert_allclose(model.objective_, exact.log_marginal_likelihood_value_, rtol=1e-6)


def test_scikit_learn_learns_the_same_directions():
    """GaussianProcessRegressor finds the evidence that SVGPRegressor finds with all rows."""
    X, y = table(50)
    exact = GaussianProcessRegressor(learned() + WhiteKernel(0.05), normalize_y=True).fit(X, y)
    model = SVGPRegressor(learned(), inducing=X, noise_variance=0.05, tol=1e-8, max_iter=300)
    model.set_params(optimize_inducing=False).fit(X, y)
    evidence = exact.log_marginal_likelihood_value_ - len(y) * np.log(y.std())
    assert_allclose(model.objective_, evidence, rtol=1e-3)


@pytest.mark.parametrize(
    "kind", [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor], ids=lambda k: k.__name__
)
def test_directions_are_learned(kind):
    """A function of one direction is found; in units of other sizes too, and it survives pickle."""
    X, y = table(200)
    X_new = table(100, seed=1)[0]
    model = kind(learned(), **LEARNING).fit(X, y)
    assert error(model, X_new) < 0.1
    weights = model.kernel_.k2.directions
    strongest = np.linalg.svd(weights)[2][0]
    assert abs(strongest @ ALONG) > 0.99
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X_new), model.predict(X_new))


@pytest.mark.quick_cases("SVGPClassifier")
@pytest.mark.parametrize(
    "kind", [SVGPClassifier, AnytimeSGPClassifier, StreamingSGPClassifier], ids=lambda k: k.__name__
)
@pytest.mark.filterwarnings("ignore:max_iter")
def test_classes_along_a_direction(kind):
    """Classifiers take directions, given and learned."""
    X, _ = table(120)
    X_new = table(200, seed=1)[0]
    given = ConstantKernel() * Columns(RBF(), [0, 1, 2], [ALONG])
    few = {"n_inducing": 12, "max_iter": 6, "random_state": 0}
    for kernel in (given, learned()):
        model = kind(kernel, **few).fit(X, X @ ALONG > 0.3)
        assert model.score(X_new, X_new @ ALONG > 0.3) > 0.9


def test_batches():
    """A stream that learns directions from batches finds what one of all rows finds."""
    X, y = table(240)
    model = StreamingSGPRegressor(learned(), **LEARNING)
    for part in range(3):
        model.partial_fit(X[part::3], y[part::3])
    assert error(model, table(100, seed=1)[0]) < 0.15


def test_units_of_columns():
    """Columns of far sizes are learned as those of unit size, with weights of their sizes."""
    X, y = table(150)
    sizes = np.array([1e3, 1.0, 1e-3])
    start = np.diag(0.5 / sizes)
    kernel = ConstantKernel() * Columns(RBF(1.0, "fixed"), [0, 1, 2], start, (-1e5, 1e5))
    model = SVGPRegressor(kernel, **LEARNING).fit(X * sizes, y)
    assert error(SVGPRegressor(learned(), **LEARNING).fit(X, y), X) < 0.1
    mean = model.predict(X * sizes)
    assert np.sqrt(np.mean((mean - np.sin(2.0 * X @ ALONG)) ** 2)) < 0.1


def test_slopes():
    """Gradients of predictions are differences, and their deviations those of the process."""
    X, y = table(80)
    model = SVGPRegressor(Columns(RBF([1.0, 2.0]), [0, 1, 2], A), inducing=X, **HELD).fit(X, y)
    at, step = X[:5], 1e-4
    slopes, std = model.predict_gradient(at, return_std=True)
    for k in range(3):
        moved = step * np.eye(3)[k]
        slope = (model.predict(at + moved) - model.predict(at - moved)) / (2.0 * step)
        assert_allclose(slopes[:, k], slope, rtol=1e-5, atol=1e-6)
        ends = np.vstack([at[:1] + 100 * moved, at[:1] - 100 * moved])
        cov = model.predict(ends, return_cov=True, include_noise=False)[1]
        spread = np.sqrt(cov[0, 0] + cov[1, 1] - 2.0 * cov[0, 1]) / (200 * step)
        assert_allclose(std[0, k], spread, rtol=1e-2)


def test_drawn_functions():
    """Functions drawn from a model scatter about its mean as it says."""
    X, y = table(80)
    model = SVGPRegressor(Columns(RBF([1.0, 2.0]), [0, 1, 2], A), inducing=X, **HELD).fit(X, y)
    draws = model.sample_functions(500, random_state=0)(X[:10])
    mean, std = model.predict(X[:10], return_std=True, include_noise=False)
    assert_allclose(draws.mean(axis=1), mean, atol=5.0 * std.max() / np.sqrt(500))
    assert_allclose(draws.std(axis=1), std, rtol=0.25)


def test_terms_of_a_sum():
    """One term may see directions and another a column; they add up."""
    X, y = table(100)
    kernel = Columns(RBF(), [0, 1, 2], [ALONG]) + 0.5 * Columns(RBF(), [1])
    model = SVGPRegressor(kernel, inducing=X[:40], **HELD).fit(X, y)
    terms = model.predict_terms(X[:5])
    assert_allclose(np.sum(terms, axis=-1), model.predict(X[:5]), atol=1e-8)


def test_relevances_and_missing_values():
    """A column counts by its weights in all directions, and values may be missing."""
    X, y = table(150)
    kernel = ConstantKernel() * Columns(RBF(), [0, 1, 2], [[3.0, 0.0, 1.0]])
    holes = X.copy()
    holes[::7, 0] = np.nan
    model = SVGPRegressor(kernel, missing="auto", **LEARNING).fit(holes, y)
    assert np.isfinite(model.predict(holes)).all()
    shown = RelevanceDisplay.from_estimator(SVGPRegressor(kernel, **LEARNING).fit(X, y))
    assert shown.ax_ is not None
    importances = SVGPRegressor(learned(), **LEARNING).fit(X, y).feature_importances_
    assert importances.argmax() == 2


def test_latent_inputs():
    """BayesianGPLVM takes them, as any kernel without expectations in closed form."""
    X, _ = table(30)
    kernel = Columns(RBF(), [0, 1], [[1.0, 0.5], [0.0, 1.0]])
    model = BayesianGPLVM(2, kernel=kernel, n_inducing=8, max_iter=5, random_state=0)
    assert model.fit(X).transform(X[:3]).shape == (3, 2)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kernel_priors": {"directions": norm(0.0, 1.0)}}, "directions"),
        ({"inducing": "fourier"}, "without categories and directions"),
    ],
    ids=["priors", "fourier"],
)
def test_what_directions_cannot(change, told):
    """Priors of parameters are for positive ones, Fourier features for scales of columns."""
    X, y = table(50)
    with pytest.raises(ValueError, match=told):
        SVGPRegressor(learned(), random_state=0, **change).fit(X, y)


@pytest.mark.parametrize(
    ("start", "bounds"), [(0.0, (-5.0, 5.0)), (-1.0, (0.0, 5.0))], ids=["0", "bounds"]
)
@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_weights_that_all_begin_at_0(model, start, bounds):
    """They would stay: a message says so. Held ones may be 0."""
    X, y = table(40)
    kernel = Columns(RBF(1.0, "fixed"), [0, 1, 2], [[start, 0.0, start]], bounds)
    with pytest.raises(ValueError, match="'directions' of Columns must have weights other than 0"):
        clone(model).set_params(kernel=2.0 * kernel, random_state=0).fit(X, y)
    held = Columns(RBF(), [0, 1, 2], np.zeros((1, 3)))
    assert_allclose(np.ptp(SVGPRegressor(held, **HELD).fit(X, y).predict(X)), 0.0, atol=1e-8)


def test_weights_outside_of_their_bounds():
    """Learning begins at the bounds; where nothing is learned they stay, as length scales do."""
    X, y = table(40)
    kernel = Columns(RBF(9.0, (0.1, 2.0)), [0, 1, 2], 3.0 * A, (-1.0, 0.5))
    found = SVGPRegressor(kernel, **HELD).fit(X, y).kernel_
    assert_allclose(found.kernel.length_scale, 9.0)
    assert_allclose(found.directions, 3.0 * A)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        moved = SVGPRegressor(kernel, max_iter=1, random_state=0).fit(X, y).kernel_
    assert moved.kernel.length_scale <= 2.0
    assert moved.directions.max() <= 0.5 and moved.directions.min() >= -1.0


def test_a_weight_at_its_bound():
    """A warning tells the bound as it was given."""
    X, y = table(150)
    with pytest.warns(ConvergenceWarning, match=r"directions is close to .* bound -?0\.6"):
        SVGPRegressor(learned(bounds=(-0.6, 0.6)), **LEARNING).fit(X, y)
