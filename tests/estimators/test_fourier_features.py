"""Estimators with Fourier features are Bayesian linear regressions on them, batch by batch too."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.utils.estimator_checks import check_estimator
from slow_variants import slow

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

KERNEL = ConstantKernel(0.8) * RBF([0.7, 2.0])
HELD = {"kernel": KERNEL, "inducing": "fourier", "optimizer": None, "normalize_y": False}
HELD |= {"noise_variance": 0.04, "random_state": 0, "n_inducing": 30}
LEARNING = {"inducing": "fourier", "n_inducing": 20, "random_state": 0}
REGRESSORS = {
    "svgp": SVGPRegressor(),
    "sor": AnytimeSGPRegressor(model="sor"),
    "dtc": AnytimeSGPRegressor(model="dtc"),
    "vfe": AnytimeSGPRegressor(model="vfe"),
    "vfe-anytime": AnytimeSGPRegressor(model="vfe", solver="anytime", max_steps=1000),
    "mixture": AnytimeSGPRegressor(model=[("dtc", 0.5), ("vfe", 0.5)]),
    "stream": StreamingSGPRegressor(),
}


def data(n=60, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.standard_normal(n)


def features(model, X, variance):
    """Cosines and sines of the frequencies, times the amplitude: (n, m)."""
    angles = 2.0 * np.pi * X @ model.frequencies_.T
    scale = np.sqrt(variance / len(model.frequencies_))
    return scale * np.hstack([np.cos(angles), np.sin(angles)])


def regression(Phi, y, at, noise):
    """Evidence, mean and covariance of a Bayesian linear regression, by its definition."""
    precision = Phi.T @ Phi / noise + np.eye(Phi.shape[1])
    mean = at @ np.linalg.solve(precision, Phi.T @ y) / noise
    C = Phi @ Phi.T + noise * np.eye(len(y))
    evidence = -0.5 * (y @ np.linalg.solve(C, y) + np.linalg.slogdet(2.0 * np.pi * C)[1])
    return evidence, mean, at @ np.linalg.solve(precision, at.T)


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_regressors_are_linear_regressions_on_features(model):
    """Mean, covariance, evidence and slopes are those of a dense regression on the features."""
    (X, y), (new, _) = data(), data(7, 1)
    model = clone(model).set_params(**HELD).fit(X, y)
    Phi, at = (features(model, rows, 0.8) for rows in (X, new))
    evidence, mean, covariance = regression(Phi, y, at, 0.04)
    got, joint = model.predict(new, return_cov=True)
    assert_allclose(got, mean, rtol=1e-8)
    assert_allclose(joint, covariance + 0.04 * np.eye(7), rtol=1e-8, atol=1e-9)
    assert_allclose(model.predict_std(new, include_noise=False) ** 2, np.diagonal(covariance))
    assert_allclose(getattr(model, "log_evidence_", model.objective_), evidence, rtol=1e-8)
    step = np.array([0.0, 1e-5])
    slopes = (model.predict(new + step) - model.predict(new - step)) / 2e-5
    gradient, std = model.predict_gradient(new, return_std=True)
    assert_allclose(gradient[:, 1], slopes, rtol=1e-5, atol=1e-7)
    difference = np.hstack([np.eye(7), -np.eye(7)]) / 2e-3
    both = np.vstack([new + 100 * step, new - 100 * step])
    of_both = regression(Phi, y, features(model, both, 0.8), 0.04)[2]
    variance = np.diagonal(difference @ of_both @ difference.T)
    assert_allclose(std[:, 1] ** 2, variance, rtol=1e-3)


def test_drawn_functions_have_the_posterior_moments():
    """Draws of the function have its mean and covariance within Monte Carlo errors."""
    (X, y), (new, _) = data(), data(4, 1)
    model = SVGPRegressor(**HELD).fit(X, y)
    _, mean, covariance = regression(features(model, X, 0.8), y, features(model, new, 0.8), 0.04)
    draws = model.sample_functions(20_000, random_state=0)(new)
    assert_allclose(draws.mean(axis=1), mean, atol=5 * np.sqrt(covariance.max() / 20_000))
    assert_allclose(np.cov(draws), covariance, atol=0.05 * covariance.max())


@pytest.mark.slow
def test_many_features_are_the_exact_process():
    """With 1,600 features the posterior is that of the exact process; with 16 it is less so."""
    (X, y), (new, _) = data(), data(50, 1)
    exact = GaussianProcessRegressor(KERNEL, alpha=0.04, optimizer=None).fit(X, y)
    mean, std = exact.predict(new, return_std=True)
    errors = []
    for count in (16, 1600):
        model = SVGPRegressor(**HELD).set_params(n_inducing=count).fit(X, y)
        got = model.predict(new), model.predict_std(new, include_noise=False)
        errors.append([np.abs(got[0] - mean).max(), np.abs(got[1] - std).max()])
    assert np.less(errors[1], 0.05).all()
    assert np.greater(errors[0], 3.0 * np.array(errors[1])).all()


@pytest.mark.parametrize("sizes", [[60], [1] * 10 + [50], [20, 20, 20]])
@pytest.mark.parametrize("name", ["svgp", "vfe", "stream"])
def test_batches_make_the_posterior_of_all_rows(name, sizes):
    """With kernel and frequencies held any split into batches has the posterior of one fit."""
    X, y = data()
    whole = clone(REGRESSORS[name]).set_params(**HELD).fit(X, y)
    batches, lo = clone(REGRESSORS[name]).set_params(**HELD), 0
    for size in sizes:
        batches.partial_fit(X[lo : lo + size], y[lo : lo + size])
        lo += size
    got, expected = (model.predict(X, return_cov=True) for model in (batches, whole))
    assert_allclose(got[0], expected[0], rtol=1e-8, atol=1e-9)
    assert_allclose(got[1], expected[1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["svgp", "vfe", "vfe-anytime", "stream"])
def test_learned_models_say_what_their_regression_says(name):
    """Learned kernel, noise and frequencies raise the evidence, and make the regression."""
    (X, y), (new, truth) = data(200), data(30, 1)
    kernel = ConstantKernel() * RBF([1.0, 1.0])
    start = clone(REGRESSORS[name]).set_params(kernel=kernel, **LEARNING, optimizer=None).fit(X, y)
    model = clone(start).set_params(optimizer="auto", max_iter=150).fit(X, y)
    assert model.objective_ > start.objective_ + 30.0
    assert not np.allclose(
        model.frequencies_ * model.kernel_.k2.length_scale,
        start.frequencies_ * start.kernel_.k2.length_scale,
    )
    scaled = (y - model.y_mean_) / model.y_scale_
    Phi, at = (features(model, rows, model.kernel_.k1.constant_value) for rows in (X, new))
    evidence, mean, _ = regression(Phi, scaled, at, model.noise_variance_)
    assert_allclose(model.predict(new), mean * model.y_scale_ + model.y_mean_, rtol=1e-6)
    assert_allclose(model.objective_, evidence - 200 * np.log(model.y_scale_), rtol=1e-6)
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.3


def test_held_frequencies_stay_in_units_of_the_length_scales():
    """With optimize_inducing=False frequencies are what was drawn over the length scales."""
    X, y = data(200)
    kernel = ConstantKernel() * RBF([1.0, 1.0])
    model = SVGPRegressor(kernel, **LEARNING, optimize_inducing=False).fit(X, y)
    start = clone(model).set_params(optimizer=None).fit(X, y)
    assert not np.allclose(model.kernel_.theta, kernel.theta)
    assert_allclose(model.frequencies_ * model.kernel_.k2.length_scale, start.frequencies_)


KERNELS = {
    "sum": RBF([1.0, 1.0]) + ConstantKernel(0.5) * Matern(nu=0.5) + WhiteKernel(0.1),
    "rational-quadratic": ConstantKernel() * RationalQuadratic(),
    "columns": Columns(RBF(), [0]) + Columns(Matern(nu=2.5), [1]) + ConstantKernel(),
    "default": None,
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_kernels_with_a_density_learn(kernel):
    """Sums, columns, rational quadratics and the default kernel follow the function."""
    (X, y), (new, truth) = data(200), data(100, 1)
    model = SVGPRegressor(kernel, **LEARNING, max_iter=150).fit(X, y)
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.3


def test_terms_of_a_sum_add_up():
    """The posterior means of the terms, and the centre of the targets, add up to the mean."""
    X, y = data()
    kernel = Columns(RBF(), [0]) + Columns(Matern(nu=2.5), [1]) + ConstantKernel()
    model = SVGPRegressor(kernel, **LEARNING, optimizer=None).fit(X, y)
    terms, std = model.predict_terms(X, return_std=True)
    assert terms.shape == std.shape == (60, 3)
    assert_allclose(terms.sum(axis=1) + model.y_mean_, model.predict(X))
    assert np.ptp(terms[:, 2]) < 1e-12
    assert (std > 0.0).all()


def test_streams_hold_kernel_and_frequencies_after_their_first_rows():
    """Batches after the first move the noise alone, and the posterior follows all rows."""
    (X, y), (new, truth) = data(400), data(50, 1)
    model = StreamingSGPRegressor(**LEARNING).partial_fit(X[:100], y[:100])
    theta, frequencies, noise = model.kernel_.theta, model.frequencies_, model.noise_variance_
    before = np.sqrt(np.mean((model.predict(new) - truth) ** 2))
    for lo in range(100, 400, 100):
        model.partial_fit(X[lo : lo + 100], y[lo : lo + 100])
    scales = slice(1, None)  # the first, the variance, is in units of the scaled targets
    assert_array_equal(model.kernel_.theta[scales], theta[scales])
    assert_allclose(model.frequencies_, frequencies, rtol=1e-14)
    assert model.noise_variance_ != noise
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < before


def test_streams_wait_for_rows_to_learn_frequencies():
    """Frequencies stay as drawn until a stream has five rows for each number of them."""
    X, y = data(200)
    model, whole = (StreamingSGPRegressor(**LEARNING, init_size=200) for _ in range(2))
    start = StreamingSGPRegressor(**LEARNING, optimizer=None).fit(X[:50], y[:50])
    drawn = start.frequencies_ * start.kernel_.k2.length_scale
    for lo in (0, 50):  # 100 rows are those of 20 numbers
        model.partial_fit(X[lo : lo + 50], y[lo : lo + 50])
        is_drawn = np.allclose(model.frequencies_ * model.kernel_.k2.length_scale, drawn)
        assert is_drawn == (lo == 0)
    assert_allclose(model.predict(X), whole.fit(X[:100], y[:100]).predict(X), rtol=1e-6)


def test_streams_that_begin_with_noise_learn_what_comes():
    """Where the first batches are noise, the kernel is learned when a function comes."""
    (X, y), (new, truth) = data(600), data(100, 1)
    model = StreamingSGPRegressor(**LEARNING)
    noise = 0.3 * np.random.RandomState(0).standard_normal(200)
    model.partial_fit(X[:100], noise[:100]).partial_fit(X[100:200], noise[100:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that something has changed
        for lo in range(200, 600, 100):
            model.partial_fit(X[lo : lo + 100], y[lo : lo + 100])
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.3


def test_later_batches_of_many_rows_hold_the_function():
    """`partial_fit` of SVGPRegressor adds rows with kernel and frequencies as they are."""
    X, y = data(200)
    model = SVGPRegressor(**LEARNING).partial_fit(X[:100], y[:100])
    theta, frequencies = model.kernel_.theta, model.frequencies_
    model.partial_fit(X[100:], y[100:])
    assert_array_equal(model.kernel_.theta, theta)
    assert_array_equal(model.frequencies_, frequencies)


def test_the_way_to_choose_stays_between_batches():
    """A later batch with inducing inputs in the place of features is a ValueError."""
    X, y = data()
    model = SVGPRegressor(**LEARNING, optimizer=None).partial_fit(X, y)
    with pytest.raises(ValueError, match="inducing must stay"):
        model.set_params(inducing="kmeans").partial_fit(X, y)


def test_results_are_repeatable_and_kept():
    """Fits, copies from pickles, and fits by two threads predict the same numbers."""
    X, y = data(200)
    model = SVGPRegressor(**LEARNING, max_iter=20, tol=1.0).fit(X, y)
    expected = model.predict(X)
    for other in (
        clone(model).fit(X, y),
        clone(model).set_params(n_jobs=2).fit(X, y),
        pickle.loads(pickle.dumps(model)),
    ):
        assert_array_equal(other.predict(X), expected)


@pytest.mark.parametrize("name", ["svgp", "vfe"])
def test_units_and_order_of_rows_change_nothing(name):
    """Learned predictions are the same in other units of X, and with rows in another order."""
    X, y = data(300)
    model = clone(REGRESSORS[name]).set_params(**LEARNING, max_iter=60, tol=1e-2)
    expected, order = clone(model).fit(X, y).predict(X), np.random.RandomState(0).permutation(300)
    scale, shift = np.array([1e3, 1e-2]), np.array([5.0, -3.0])
    other = clone(model).fit(X * scale + shift, y).predict(X * scale + shift)
    assert_allclose(other, expected, atol=1e-8)
    assert_allclose(clone(model).fit(X[order], y[order]).predict(X), expected, atol=1e-10)


@pytest.mark.parametrize("name", ["svgp", "vfe"])
def test_weights_are_repetitions(name):
    """A row of weight two is the row twice, as it is with inducing inputs."""
    X, y = data(200)
    weight = np.random.RandomState(0).randint(1, 3, 200)
    model = clone(REGRESSORS[name]).set_params(**LEARNING, max_iter=60, tol=1e-2)
    weighed = clone(model).fit(X, y, sample_weight=weight).predict(X)
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict(X)
    assert_allclose(weighed, repeated, atol=1e-8)


def test_collections_have_the_fit_of_arrays():
    """A dask collection is learned from as the same rows in memory are."""
    da = pytest.importorskip("dask.array")
    X, y = data(200)
    model = SVGPRegressor(**LEARNING, max_iter=60, tol=1e-2)
    parts = da.from_array(X, chunks=(50, 2)), da.from_array(y, chunks=50)
    got = clone(model).fit(*parts)
    assert_allclose(got.predict(X), model.fit(X, y).predict(X), atol=1e-6)
    assert_allclose(got.predict(parts[0]).compute(), got.predict(X), rtol=1e-10)


@pytest.mark.parametrize("name", ["svgp", "vfe"])
def test_rows_that_lack_a_column_are_learned_from(name):
    """NaN in X is a missing value with features, too: bands are wider where it matters."""
    X, y = data(300)
    X[::10, 0] = np.nan
    model = clone(REGRESSORS[name]).set_params(**LEARNING, max_iter=60, tol=1e-2).fit(X, y)
    known, unknown = model.predict_std([[0.0, 0.0], [np.nan, 0.0]])
    assert model.frequencies_.shape == (10, 2)
    assert unknown > 1.5 * known


def test_warm_starts_go_on_from_frequencies():
    """A second fit with `warm_start` begins where the first one ended."""
    X, y = data(200)
    model = SVGPRegressor(**LEARNING, warm_start=True).fit(X, y)
    frequencies, objective = model.frequencies_, model.objective_
    model.set_params(optimizer=None).fit(X, y)
    assert_allclose(model.frequencies_, frequencies)
    assert_allclose(model.objective_, objective)


def test_attributes_are_those_of_the_last_fit():
    """Frequencies take the place of inducing inputs in the attributes, and give it back."""
    X, y = data()
    model = SVGPRegressor(**LEARNING, optimizer=None).fit(X, y)
    assert model.inducing_points_.shape == model.X_train_.shape == (0, 2)
    assert model.frequencies_.shape == (10, 2)
    with pytest.raises(AttributeError, match="permutation_importance"):
        model.feature_importances_  # noqa: B018
    model.set_params(inducing="kmeans").fit(X, y)
    assert model.inducing_points_.shape == (20, 2)
    assert model.frequencies_ is None


@pytest.mark.parametrize("likelihood", ["student_t", "heteroscedastic", "auto", "poisson"])
@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor])
def test_other_likelihoods_follow(estimator, likelihood):
    """Noise of each row, heavy tails and counts are learned with features, and explain the rows."""
    X, y = data(200)
    y = np.round(np.exp(y)) if likelihood == "poisson" else y
    model = estimator(likelihood=likelihood, **LEARNING, max_iter=60, tol=1e-2).fit(X, y)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("n_latent", [None, 1])
@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor])
def test_several_outputs_share_features(estimator, n_latent):
    """Outputs, mixed ones too, are functions of the same features."""
    X, y = data(200)
    model = estimator(n_latent=n_latent, **LEARNING, max_iter=60, tol=1e-2)
    assert model.fit(X, np.column_stack([y, 1.0 - 2.0 * y])).score(X, np.c_[y, 1 - 2 * y]) > 0.8


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [SVGPClassifier(), StreamingSGPClassifier(), AnytimeSGPClassifier(model="vfe")],
    ids=["svgp", "stream", "anytime"],
)
def test_classifiers_have_features(model, n_classes):
    """Classifiers tell two and three classes apart by features."""
    X, y = data(200)
    labels = np.digitize(y, np.linspace(-1.0, 1.0, n_classes + 1)[1:-1])
    model = clone(model).set_params(**LEARNING, max_iter=60, tol=1e-2).fit(X, labels)
    assert model.score(X, labels) > 0.85
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("model", ["auto", "fitc", "fic", "pitc", "pic", "lma", "vif"])
@pytest.mark.parametrize("estimator", [AnytimeSGPRegressor, AnytimeSGPClassifier])
def test_models_of_residuals_are_refused(estimator, model):
    """Models of the variance that inducing inputs leave rows are a ValueError with features."""
    X, y = data()
    with pytest.raises(ValueError, match="'sor', 'dtc' and 'vfe'"):
        estimator(model=model, **LEARNING).fit(X, y > 0)


def test_kernels_without_a_density_are_refused():
    """Kernels without a density, categories, and too few features are ValueErrors with a cure."""
    X, y = data()
    codes = np.column_stack([X[:, 0], y > 0])
    for given, rows, message in (
        ({"kernel": DotProduct()}, X, "spectral density"),
        ({"categorical_features": [1]}, codes, "spectral density"),
        ({"kernel": RBF() + Matern(), "n_inducing": 3}, X, "at least 4"),
    ):
        with pytest.raises(ValueError, match=message):
            SVGPRegressor(**(LEARNING | given)).fit(rows, y)
    with pytest.raises(ValueError, match="inducing"):
        BayesianGPLVM(inducing="fourier").fit(X)


@pytest.mark.parametrize("name", ["svgp", "vfe"])
def test_few_rows_for_many_frequencies_are_told(name):
    """Fewer than five rows for each number that is learned of the frequencies are a warning."""
    X, y = data(200)
    model = clone(REGRESSORS[name]).set_params(**LEARNING, max_iter=60, tol=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_inducing=40).fit(X, y)  # 40 numbers
        model.set_params(n_inducing=60, optimize_inducing=False).fit(X, y)
    with pytest.warns(UserWarning, match="Got 200 rows for 60"):
        model.set_params(optimize_inducing=True).fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_scikit_learn_checks_pass():
    """An estimator with features passes scikit-learn's checks."""
    check_estimator(SVGPRegressor(inducing="fourier", n_inducing=8, max_iter=5))


@pytest.mark.parametrize("totals", [(None, 80), (80, None)])
def test_total_samples_may_change_between_batches(totals, rng):
    """New rows hold the kernel of the function, where others moved it: an error of shapes."""
    X = rng.uniform(-2.0, 2.0, (80, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    given = LEARNING | {"n_inducing": 8, "total_samples": totals[0]}
    model = SVGPRegressor(**given)
    model.partial_fit(X[:40], y[:40]).partial_fit(X[40:60], y[40:60])
    model.set_params(total_samples=totals[1]).partial_fit(X[60:], y[60:])
    assert np.isfinite(model.objective_)


@pytest.mark.filterwarnings("ignore:inducing=.fourier. needs", "ignore:max_iter=5")
@pytest.mark.parametrize("seed", [0, *map(slow, (1, 2, 3))])
def test_classes_by_many_features_are_judged_by_all_of_them(seed):
    """Half of all seeds ended in a ValueError of NumPy's, others judged by another process."""
    X = np.random.default_rng(seed).normal(size=(260, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = SVGPClassifier(inducing="fourier", max_iter=5, random_state=seed).fit(X, y)
    assert model.score(X, y) > 0.85
