"""Priors on parameters of the kernel, as users give them."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import gamma, lognorm, norm, poisson, uniform
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

REGRESSORS = [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor]
CLASSIFIERS = [SVGPClassifier, AnytimeSGPClassifier, StreamingSGPClassifier]
UNITS = np.array([1.0, 1e3])
KERNEL = ConstantKernel(1.0) * RBF([1.0, 1e3], [(1e-3, 1e2), (1.0, 1e5)])


def table(n=60, seed=0):
    """Rows of two columns in units that differ by a factor of 1,000."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.standard_normal(n)
    return X * UNITS, y


def length_scales(model):
    found = model.kernel_.get_params().items()
    return [np.atleast_1d(value) for name, value in found if name.endswith("length_scale")]


def quietly(model, X, y):
    """A fit of what tells little, or lets the kernel follow little."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


# ---- What is learned


@pytest.mark.quick_cases("given-*", "default-SVGPRegressor", "default-AnytimeSGPClassifier")
@pytest.mark.parametrize("Estimator", REGRESSORS + CLASSIFIERS)
@pytest.mark.parametrize("kernel", [None, KERNEL], ids=["default", "given"])
def test_a_tight_prior_pins_every_length_scale_in_the_users_units(Estimator, kernel):
    """Each column in its own units, each part of the kernel, whatever the data say."""
    X, y = table()
    if Estimator in CLASSIFIERS:
        y = y > np.median(y)
    priors = {"length_scale": lognorm(1e-4, scale=[0.7, 5e3])}
    model = Estimator(kernel, kernel_priors=priors, n_inducing=20, max_iter=60, random_state=0)
    quietly(model, X, y)
    for found in length_scales(model):
        assert_allclose(found, [0.7, 5e3], rtol=2e-3)


@pytest.mark.parametrize("Estimator", REGRESSORS)
def test_a_tight_prior_pins_noise_and_variance(Estimator):
    """By a name of its own, and by that of the kernel's parameter."""
    X, y = table()
    priors = {"noise_variance": norm(0.4, 1e-5), "k1__constant_value": norm(2.5, 1e-4)}
    model = Estimator(KERNEL, kernel_priors=priors, n_inducing=20, random_state=0).fit(X, y)
    assert_allclose(model.noise_variance_, 0.4, rtol=1e-3)
    assert_allclose(model.kernel_.k1.constant_value, 2.5, rtol=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        SVGPRegressor(n_inducing=60),
        AnytimeSGPRegressor(),
        AnytimeSGPRegressor(model="vfe", n_inducing=60),
        StreamingSGPRegressor(n_inducing=60),
    ],
    ids=["svgp", "near rows", "vfe", "stream"],
)
def test_what_is_learned_is_the_map_of_the_exact_process(model):
    """With Z = X: scikit-learn's log marginal likelihood plus scipy's log densities, maximised."""
    X, y = table()
    priors = {
        "length_scale": lognorm(0.3, scale=[3.0, 500.0]),
        "noise_variance": lognorm(0.2, scale=0.3),
        "constant_value": gamma(3.0),
    }
    exact, scaled = KERNEL + WhiteKernel(0.1), (y - y.mean()) / y.std()
    process = GaussianProcessRegressor(exact, optimizer=None).fit(X, scaled)

    def negated(theta):
        value, slope = process.log_marginal_likelihood(theta, eval_gradient=True)
        return -value - log_prior(theta), -slope - slopes(theta)

    def log_prior(theta):
        constant, *scales, noise = np.exp(theta)
        total = priors["constant_value"].logpdf(constant) + priors["noise_variance"].logpdf(noise)
        return total + priors["length_scale"].logpdf(scales).sum()

    def slopes(theta):
        steps = 1e-5 * np.eye(len(theta))
        return np.array([(log_prior(theta + e) - log_prior(theta - e)) / 2e-5 for e in steps])

    best = minimize(negated, exact.theta, jac=True, method="L-BFGS-B", bounds=exact.bounds)
    if not isinstance(model, AnytimeSGPRegressor) or model.model != "auto":
        model = clone(model).set_params(inducing=X)
    model = model.set_params(kernel=KERNEL, kernel_priors=priors, random_state=0).fit(X, y)
    assert_allclose(np.exp(model.kernel_.theta), np.exp(best.x[:-1]), rtol=1e-3)
    assert_allclose(model.noise_variance_, np.exp(best.x[-1]), rtol=1e-3)
    expected = log_prior([*model.kernel_.theta, np.log(model.noise_variance_)])
    assert_allclose(model.log_prior_, expected)


@pytest.mark.parametrize("Estimator", REGRESSORS)
def test_a_flat_prior_changes_nothing(Estimator):
    """A uniform distribution that holds all that is plausible: the same predictions."""
    X, y = table()
    flat = {"length_scale": uniform(0.0, 1e6), "noise_variance": uniform(0.0, 1e4)}
    fits = [
        Estimator(KERNEL, kernel_priors=one, n_inducing=20, random_state=0).fit(X, y)
        for one in (None, flat)
    ]
    assert_allclose(*(fit.predict(X) for fit in fits), atol=2e-3)
    assert_allclose(*(fit.objective_ for fit in fits), atol=1e-2)
    assert fits[0].log_prior_ == 0.0


@pytest.mark.parametrize("name", ["noise_level", "k2__noise_level"])
def test_noise_of_a_white_kernel_goes_by_its_own_name(name):
    """The bare name, or that of `get_params`."""
    X, y = table()
    kernel = KERNEL + WhiteKernel(0.1)
    priors = {name: norm(0.4, 1e-5)}
    model = SVGPRegressor(kernel, kernel_priors=priors, n_inducing=20, random_state=0).fit(X, y)
    assert_allclose(model.kernel_.k2.noise_level, 0.4, rtol=1e-3)


def test_the_name_of_one_parameter_goes_before_that_of_all():
    """One part of a sum has a prior of its own."""
    X, y = table()
    kernel = RBF(2.0, (1e-3, 1e4)) + Matern(1e3, (1e-3, 1e4))
    priors = {"length_scale": lognorm(1e-4, scale=3.0), "k2__length_scale": norm(700.0, 0.01)}
    model = SVGPRegressor(kernel, kernel_priors=priors, n_inducing=20).fit(X, y)
    assert_allclose([model.kernel_.k1.length_scale, model.kernel_.k2.length_scale], [3.0, 700.0],
                    rtol=1e-3)  # fmt: skip


@pytest.mark.slow
def test_few_rows_are_predicted_better_with_what_is_known():
    """20 rows of four columns, two of which say nothing: priors near the truth, ten draws."""
    densities = []
    for seed in range(10):
        rng = np.random.default_rng(100 + seed)
        X = rng.uniform(0, 10, (320, 4))
        y = np.sin(0.8 * X[:, 0]) + 0.5 * np.cos(X[:, 1]) + 0.1 * rng.standard_normal(320)
        kernel = ConstantKernel(1.0) * RBF(np.full(4, 3.0), (1e-2, 1e4))
        priors = {"length_scale": lognorm(0.5, scale=[2.0, 2.0, 50.0, 50.0])}
        densities.append(
            [
                quietly(SVGPRegressor(kernel, kernel_priors=one), X[:20], y[:20])
                .log_density(X[20:], y[20:])
                .mean()
                for one in (priors, None)
            ]
        )
    gain = np.subtract(*np.transpose(densities))
    assert gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain))


def test_later_batches_keep_to_the_prior():
    """Of a stream, and of steps of `partial_fit`."""
    X, y = table(120)
    priors = {"length_scale": lognorm(1e-3, scale=[2.0, 2e3])}
    for model in (
        StreamingSGPRegressor(KERNEL, kernel_priors=priors, n_inducing=20, random_state=0),
        SVGPRegressor(KERNEL, kernel_priors=priors, n_inducing=20, random_state=0),
    ):
        for lo in range(0, 120, 40):
            model.partial_fit(X[lo : lo + 40], y[lo : lo + 40])
        assert_allclose(length_scales(model)[0], [2.0, 2e3], rtol=1e-2)
        model.set_params(kernel_priors={"length_scale": lognorm(1e-3, scale=3.0)})
        with pytest.raises(ValueError, match="kernel_priors must stay"):
            model.partial_fit(X[:10], y[:10])


# ---- Errors


@pytest.mark.parametrize(
    ("priors", "match"),
    [
        ({"lengthscale": norm(1.0)}, "'constant_value', 'k1__constant_value'.*Got 'lengthscale'"),
        ({"length_scale": 1.0}, "frozen"),
        ({"length_scale": lognorm}, "frozen"),
        ({"length_scale": poisson(3)}, "frozen"),
        ({"length_scale": lognorm(-1.0)}, "frozen"),
        ({1: norm(1.0)}, "names of parameters"),
        ({"length_scale": uniform(2.0, 1.0)}, "start of 'length_scale'.*2 to 3.*Got .1.0"),
        ({"length_scale": uniform(1e7, 1.0)}, "bounds of 'length_scale'"),
        ({"length_scale": norm([1.0, 2.0, 3.0], 1.0)}, "one parameter, or of the 2"),
        ([norm(1.0)], "instance of 'dict'"),
    ],
)
def test_errors_name_what_there_is(priors, match):
    """And leave nothing behind."""
    X, y = table()
    model = SVGPRegressor(KERNEL, kernel_priors=priors)
    with pytest.raises(ValueError, match=match):
        model.fit(X, y)
    assert not hasattr(model, "kernel_")


def test_fixed_parameters_have_no_prior():
    """A name of what is not learned is refused; so is a noise that differs from row to row."""
    X, y = table()
    fixed = {"noise_variance": 0.1, "noise_variance_bounds": "fixed"}
    with pytest.raises(ValueError, match="parameters that are learned"):
        SVGPRegressor(KERNEL, kernel_priors={"noise_variance": norm(1.0)}, **fixed).fit(X, y)
    models = [(one, "auto") for one in REGRESSORS] + [(AnytimeSGPRegressor, "student_t")]
    for Estimator, likelihood in models:
        model = Estimator(likelihood=likelihood, kernel_priors={"noise_variance": norm(1.0)})
        with pytest.raises(ValueError, match="differs from row to row"):
            model.fit(X, y)


def test_default_kernels_have_names_of_kinds_only():
    """A fit chooses the kernel, and with it the longer names."""
    X, y = table()
    with pytest.raises(ValueError, match=r"default kernels.*'constant_value', 'length_scale'"):
        SVGPRegressor(kernel_priors={"k2__length_scale": norm(1.0)}).fit(X, y)


# ---- scikit-learn


def test_copies_pickles_and_searches():
    """Distributions are parameters like others."""
    X, y = table()
    priors = {"length_scale": lognorm(0.5, scale=[2.0, 2e3])}
    model = SVGPRegressor(KERNEL, kernel_priors=priors, n_inducing=9, max_iter=20, random_state=0)
    assert model.get_params()["kernel_priors"] is priors
    copied = clone(model)
    loaded = pickle.loads(pickle.dumps(model.fit(X, y)))
    assert_array_equal(loaded.predict(X), copied.fit(X, y).predict(X))
    assert_array_equal(loaded.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))
    grid = {"kernel_priors": [None, {"length_scale": lognorm(0.1, scale=[2.0, 2e3])}]}
    search = GridSearchCV(copied, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["mean_test_score"]) == 2


def test_a_second_fit_heeds_another_prior():
    """`warm_start` does not take it for the same fit."""
    X, y = table()
    model = SVGPRegressor(KERNEL, n_inducing=9, warm_start=True, random_state=0).fit(X, y)
    model.set_params(kernel_priors={"length_scale": lognorm(1e-3, scale=[2.0, 2e3])}).fit(X, y)
    assert_allclose(length_scales(model)[0], [2.0, 2e3], rtol=1e-2)


def test_scales_of_what_is_missing_are_left_alone():
    """A prior of length scales is for columns of the user's."""
    X, y = table()
    X[::5, 0] = np.nan
    priors = {"length_scale": lognorm(1e-3, scale=[2.0, 2e3])}
    model = SVGPRegressor(KERNEL, kernel_priors=priors, n_inducing=9, max_iter=20, random_state=0)
    quietly(model, X, y)
    own, missing = length_scales(model)
    assert_allclose(own, [2.0, 2e3], rtol=1e-2)
    assert len(missing) == 1


@pytest.mark.slow
def test_scikit_learn_accepts_estimators_with_priors():
    """All its checks."""
    model = SVGPRegressor(kernel_priors={"length_scale": lognorm(1.0)}, n_inducing=10)
    check_estimator(model, on_skip=None)
