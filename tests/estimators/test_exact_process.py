"""Inducing inputs that contain all rows make the exact process, whatever kernel, noise and start.

The reference is the optimum that scikit-learn's regressor finds from the same start.
"""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.engines.exact_fits import ExactObjective

REGRESSORS = {
    "svgp": (SVGPRegressor, {"max_iter": 1000}),
    "vfe": (AnytimeSGPRegressor, {"model": "vfe", "max_iter": 1000}),
    "fitc": (AnytimeSGPRegressor, {"model": "fitc", "max_iter": 1000}),
    "stream": (StreamingSGPRegressor, {}),
}
EACH_REGRESSOR = pytest.mark.parametrize("name", REGRESSORS)
# Both optima may lie at a bound, and L-BFGS may be at its largest number of iterations.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK_DESIGNS = [0, 1, 6, 7, 10, 15, 21, 27, 30, 32]
LAYOUTS = ("spread", "three times each", "pairs 1e-8 apart", "on a grid")


def made(name, *args, **options):
    kind, own = REGRESSORS[name]
    return kind(*args, random_state=0, **own, **options)


def kernel_of(d, number):
    ones = np.ones(d)
    return (
        ConstantKernel() * RBF(ones),
        ConstantKernel() * Matern(ones, nu=0.5),
        ConstantKernel() * Matern(ones, nu=1.5),
        ConstantKernel() * RBF(ones) + ConstantKernel(0.1) * Matern(ones, nu=0.5),
        ConstantKernel() * RationalQuadratic(1.0, 1.0),
        ConstantKernel() * Matern(0.3 * ones, nu=2.5),
    )[number]


def design(seed):
    """Rows, targets of variance 1, a kernel, noise and whether it is fixed."""
    rng = np.random.default_rng(seed)
    d, n = (1, 2, 3, 5, 8, 12)[seed % 6], (20, 60, 120, 200, 400)[seed % 5]
    kernel, layout = kernel_of(d, rng.integers(6)), LAYOUTS[seed % 4]
    X = rng.uniform(0.0, 5.0, (n, d))
    if layout == "three times each":
        X = np.repeat(X[: n // 3], 3, axis=0)
    elif layout == "pairs 1e-8 apart":
        X = np.repeat(X[: n // 2], 2, axis=0) + 1e-8 * rng.standard_normal((n, d))
    elif layout == "on a grid":
        X = np.round(2.0 * X) / 2.0
    noise = rng.choice([1e-10, 1e-6, 1e-3, 0.1, 10.0])
    f = np.sin(1.5 * X[:, 0]) + np.cos(2.0 * X[:, 1 % d])
    y = f + np.sqrt(max(noise, 1e-10 if layout == "spread" else 1e-4)) * rng.standard_normal(len(X))
    start, y = np.clip(noise / y.var(), 1e-10, 10.0), (y - y.mean()) / y.std()
    # noise-free rows at one place contradict each other, and ask for what rounding hides
    return X, y, kernel, start, seed % 3 == 0 and (noise > 1e-5 or layout == "spread")


def optimum(X, y, kernel, noise, is_fixed):
    """Evidence of scikit-learn's optimum."""
    if is_fixed:
        exact = GaussianProcessRegressor(kernel, alpha=noise)
    else:
        exact = GaussianProcessRegressor(kernel + WhiteKernel(noise, (1e-10, 1e3)), alpha=1e-300)
    return exact.fit(X, y).log_marginal_likelihood_value_


@cache
def optimum_of_design(seed):
    """Evidence of scikit-learn's optimum, found once for all estimators."""
    return optimum(*design(seed))


def assert_exact(name, seed):
    X, y, kernel, noise, is_fixed = design(seed)
    bounds = "fixed" if is_fixed else (1e-10, 1e3)
    model = made(
        name,
        kernel,
        inducing=X,
        noise_variance=noise,
        noise_variance_bounds=bounds,
        normalize_y=False,
    ).fit(X, y)
    assert_array_equal(model.inducing_points_, X)
    assert model.objective_ > optimum_of_design(seed) - 1e-3


@EACH_REGRESSOR
@pytest.mark.parametrize("seed", QUICK_DESIGNS)
def test_the_optimum_of_the_exact_process(name, seed):
    """Learning ends no lower than scikit-learn's does from the same start."""
    assert_exact(name, seed)


@pytest.mark.slow
@EACH_REGRESSOR
@pytest.mark.parametrize("seed", [k for k in range(40) if k not in QUICK_DESIGNS])
def test_the_optimum_of_forty_designs(name, seed, request):
    """So it is with 20 to 400 rows, 1 to 12 columns, repeated rows, and noise of 1e-10 to 10.

    Thirty of them: the others are above.
    """
    if (name, seed) == ("stream", 16):
        reason = "rounding decides which optimum a start goes to"
        request.applymarker(pytest.mark.xfail(reason=reason, strict=False))
    assert_exact(name, seed)


def hard(n_rows, d, seed, noise, copies=1):
    """Rows and targets of variance 1 with next to no noise, or places that come again."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 5.0, (n_rows, d))
    X = np.repeat(X[: n_rows // copies], copies, axis=0)
    y = np.sin(1.5 * X[:, 0]) + np.cos(2.0 * X[:, -1])
    y = y + np.sqrt(noise) * rng.standard_normal(len(X))
    return X, (y - y.mean()) / y.std(), max(noise / y.var(), 1e-10)


UNIT = ConstantKernel()
HARD = {
    # the length scale goes to its bound, where the exponent says nothing
    "a length scale at its bound": (UNIT * RationalQuadratic(), (15, 2, 1001, 1e-4, 3)),
    # variances of terms that are not needed, next to nothing and yet not small enough
    "a term too many": (UNIT * RBF(1.0) + ConstantKernel(0.3) * DotProduct(), (15, 1, 1000, 1e-10)),
    # length scales so long that slopes say nothing of shorter ones
    "a flat place": (RBF(np.ones(4)) + Matern(0.2 * np.ones(4), nu=0.5), (15, 4, 1002, 1e-5)),
    # line searches that rounding ends
    "slopes of rounding": (
        UNIT * RBF(np.ones(4)) + ConstantKernel(0.3) * DotProduct(),
        (90, 4, 1008, 1e-10),
    ),
    "noise lost in rounding": (UNIT * DotProduct(), (90, 4, 1008, 1e-10)),
}


@EACH_REGRESSOR
@pytest.mark.parametrize("case", HARD)
def test_where_a_run_ends_early(name, case):
    """Parameters moved alone find what slopes do not tell, at bounds and amid rounding."""
    kernel, table = HARD[case]
    X, y, noise = hard(*table)
    given = {"noise_variance": noise, "noise_variance_bounds": (1e-10, 1e3)}
    model = made(name, kernel, inducing=X, normalize_y=False, **given).fit(X, y)
    assert model.objective_ > optimum(X, y, kernel, noise, False) - 1e-3


@EACH_REGRESSOR
def test_the_posterior_of_next_to_no_noise_has_the_objective_that_was_learned(name):
    """Clusters, whose K(X, X) is singular with a twentieth of the noise: 50 nats were lost."""
    rng = np.random.default_rng(7034)
    X = rng.uniform(0.0, 5.0, (400, 8))
    X = X[:5][rng.integers(0, 5, 400)] + 0.05 * rng.standard_normal((400, 8))
    y = np.sin(1.5 * X[:, 0]) + np.cos(2.0 * X[:, 1]) + 0.3 * X[:, -1]
    y, scales = (y - y.mean()) / y.std(), [17.1, 11.7, 1e5, 1e5, 1e5, 1e5, 1e5, 673.0]
    kernel, options = ConstantKernel(37.2**2) * Matern(scales, nu=2.5), {"optimizer": None}
    options |= {"noise_variance": 1e-10, "noise_variance_bounds": "fixed", "normalize_y": False}
    model = made(name, kernel, inducing=X, **options).fit(X, y)
    exact = GaussianProcessRegressor(kernel, alpha=1e-10, optimizer=None).fit(X, y)
    assert_allclose(model.objective_, exact.log_marginal_likelihood_value_, atol=1.0)  # rounding
    assert np.abs(model.predict(X) - y).max() < 1e-4


def test_parameters_moved_alone_take_few_values(monkeypatch):
    """They ask for no gradients, and follow no way that has lost what all the rows tell (68)."""
    asked, value = [], ExactObjective.value
    monkeypatch.setattr(
        ExactObjective, "value", lambda self, one: asked.append(1) or value(self, one)
    )
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (300, 2))
    y = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.normal(size=300)
    SVGPRegressor(UNIT * RBF([1.0, 1.0]), inducing=X, random_state=0).fit(X, y)
    assert 0 < len(asked) < 50


def test_weights_of_directions_are_not_moved_alone(monkeypatch):
    """The default kernel that learns directions takes the seconds of their gradients alone."""
    asked, value = [], ExactObjective.value
    monkeypatch.setattr(
        ExactObjective,
        "value",
        lambda self, one: asked.append(repr(one.kernel.sklearn_kernel)) or value(self, one),
    )
    X = np.random.default_rng(0).uniform(size=(60, 2))
    model = SVGPRegressor(inducing=X, noise_variance_bounds=(1e-9, 1e3), random_state=0)
    model.fit(X, np.sin(6.0 * X.sum(axis=1)))
    assert "directions" in repr(model.kernel_)
    assert asked and not any("directions" in kernel for kernel in asked)


@EACH_REGRESSOR
@pytest.mark.parametrize("noise", [1e-10, 1e-6])
def test_a_function_without_noise(name, noise):
    """Noise fixed at next to nothing: predictions and evidence are the exact process's."""
    rng = np.random.default_rng(0)
    X, X_new = rng.uniform(0.0, 1.0, (60, 2)), rng.uniform(0.0, 1.0, (40, 2))
    y = np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])
    kernel = 1.5 * Matern([0.4, 0.6], nu=1.5)
    exact = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)
    model = made(
        name,
        kernel,
        inducing=X,
        noise_variance=noise,
        noise_variance_bounds="fixed",
        normalize_y=False,
        optimizer=None,
    ).fit(X, y)
    assert_allclose(model.objective_, exact.log_marginal_likelihood_value_, atol=1e-3)
    mean, std = exact.predict(X_new, return_std=True)
    assert_allclose(model.predict(X_new), mean, atol=1e-6)
    assert_allclose(model.predict_std(X_new), np.hypot(std, np.sqrt(noise)), rtol=1e-4)


@pytest.mark.parametrize("name", ["svgp", "vfe", "fitc"])
@pytest.mark.parametrize("rough", [False, True])
def test_the_default_inducing_inputs_of_few_rows_stay(name, rough):
    """With at most n_inducing distinct rows these are the inducing inputs, and they stay."""
    rng = np.random.default_rng(1)
    sites = rng.uniform(0.0, 10.0, (40, 2))
    X = np.repeat(sites, 3, axis=0)
    y = np.sin(X).sum(axis=1) + 0.5 * rng.standard_normal(120)
    y = (y - y.mean()) / y.std()
    kernel = kernel_of(2, 3 if rough else 0)
    model = made(name, kernel).fit(X, y)
    assert_array_equal(model.inducing_points_, np.unique(sites, axis=0))
    assert model.objective_ > optimum(X, y, kernel, 0.1, False) - 1e-3


def test_a_stream_of_few_rows_begins_with_the_exact_process():
    """A rough function needs every row as an inducing input: then none of them moves."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.uniform(0.0, 10.0, (60, 2)), 3, axis=0)
    y = np.sin(X).sum(axis=1) + 0.5 * rng.standard_normal(180)
    y = (y - y.mean()) / y.std()
    kernel = kernel_of(2, 1)
    model = StreamingSGPRegressor(kernel, random_state=0).fit(X, y)
    assert model.objective_ > optimum(X, y, kernel, 0.1, False) - 1e-3


@pytest.mark.parametrize("kind", [SVGPClassifier, StreamingSGPClassifier, AnytimeSGPClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_inducing_inputs_of_classes_stay(kind, n_classes):
    """Classifiers, too, leave inducing inputs where these are all rows."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.0, 3.0, (60, 2))
    y = np.digitize(np.sin(2.0 * X[:, 0]) + X[:, 1], [1.5, 2.3][: n_classes - 1])
    options = {"model": "fitc"} if kind is AnytimeSGPClassifier else {}
    model = kind(Matern([1.0, 1.0], nu=0.5), inducing=X, random_state=0, **options).fit(X, y)
    assert_array_equal(model.inducing_points_, X)
    held = kind(
        Matern([1.0, 1.0], nu=0.5), inducing=X, optimize_inducing=False, random_state=0, **options
    ).fit(X, y)
    assert_allclose(model.predict_proba(X), held.predict_proba(X), atol=1e-12)


def test_rows_of_weight_zero_need_no_inducing_input():
    """Only rows of positive weight count."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0.0, 5.0, (40, 1))
    y, weight = np.sin(X[:, 0]), np.repeat([1.0, 0.0], 20)
    model = SVGPRegressor(RBF(), inducing=X[:20], random_state=0).fit(X, y, sample_weight=weight)
    assert_array_equal(model.inducing_points_, X[:20])


def test_inducing_inputs_that_miss_a_row_are_learned():
    """One row more than inducing inputs, and these move as ever."""
    rng = np.random.default_rng(4)
    X = rng.uniform(0.0, 5.0, (30, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(30)
    model = SVGPRegressor(RBF(), inducing=X[:6], random_state=0).fit(X, y)
    assert np.abs(model.inducing_points_ - X[:6]).max() > 1e-3


@pytest.mark.parametrize("name", ["svgp", "vfe", "fitc", "stream"])
def test_later_batches_join_the_exact_process(name):
    """The objective and q(u) go on from a first batch whose rows are the inducing inputs."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0.0, 5.0, (50, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(50)
    fixed = {"optimizer": None, "noise_variance": 0.05, "normalize_y": False}
    batches = made(name, RBF(), inducing=X[:30], **fixed)
    batches.partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    whole = made(name, RBF(), inducing=X[:30], **fixed).fit(X, y)
    if name != "stream":  # whose objective is that of the last batch
        assert_allclose(batches.objective_, whole.objective_, rtol=1e-5)
    assert_allclose(batches.predict(X), whole.predict(X), atol=1e-6)


@pytest.mark.parametrize("name", ["svgp", "vfe", "fitc"])
def test_the_evidence_at_other_parameters(name):
    """log_marginal_likelihood at the learned theta is the objective, with noise of 1e-8, too.

    Learning ends where less than a thousandth of a nat is left: by rounding, at slopes of 0.002 on
    one processor and of 0.023 on another.
    """
    rng = np.random.default_rng(6)
    X = rng.uniform(0.0, 5.0, (40, 1))
    y = np.sin(2.0 * X[:, 0])
    model = made(
        name,
        ConstantKernel() * RBF(),
        inducing=X,
        noise_variance=1e-8,
        noise_variance_bounds="fixed",
    ).fit(X, y)
    value, slope = model.log_marginal_likelihood(model.kernel_.theta, True, X=X, y=y)
    assert_allclose(value, model.objective_, rtol=1e-9)
    assert np.abs(slope).max() < 0.05


@pytest.mark.parametrize("optimize_inducing", [False, True])
def test_no_jitter_is_raised_with_one_warning(optimize_inducing):
    """Without jitter learning goes on where K(Z, Z) is singular, and one warning says so."""
    rng = np.random.default_rng(7)
    X = rng.uniform(0.0, 5.0, (200, 1))
    y = np.sin(X[:, 0]) + 1e-2 * rng.standard_normal(200)
    options = {"n_inducing": 60, "inducing": "random", "optimize_inducing": optimize_inducing}
    model = SVGPRegressor(ConstantKernel() * RBF(), jitter=0.0, random_state=0, **options)
    with pytest.warns(ConvergenceWarning, match="needed a jitter") as caught:
        model.fit(X, y)
    assert len([one for one in caught if "jitter" in str(one.message)]) == 1
    usual = SVGPRegressor(ConstantKernel() * RBF(), random_state=0, **options).fit(X, y)
    assert model.objective_ > usual.objective_ - 1.0
