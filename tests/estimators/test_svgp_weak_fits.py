"""A fit whose result is doubtful says so: parameters at bounds, variance left unexplained."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.kernels import Columns


def regressor(kernel=None, **parameters):
    return SVGPRegressor(kernel, **({"n_inducing": 10, "random_state": 0} | parameters))


@pytest.mark.parametrize(
    ("kernel", "parameters", "message"),
    [
        (
            RBF(0.3, (0.2, 0.4)),
            {},
            r"dimension 0 of parameter length_scale is .* upper bound 0\.4\. Increasing the",
        ),
        (RBF(0.05, (0.01, 0.06)) + WhiteKernel(), {}, "length_scale .* upper bound 0.06"),
        (
            ConstantKernel(1.0, "fixed") * RBF(2.0, (2.0, 5.0)),
            {},
            "dimension 0 of parameter k2__length_scale .* lower bound 2.0. Decreasing",
        ),
        (
            WhiteKernel(0.2, (0.2, 1.0)) + ConstantKernel() * RBF(1.0),
            {},
            r"parameter k1__noise_level is .* lower bound 0\.2\. Decreasing the bound and",
        ),
        (
            WhiteKernel(0.1, (0.1, 1.0)) + RBF(1.0) + WhiteKernel(0.1, (0.1, 1.0)),
            {},
            r"parameter k1__k1__noise_level \+ k2__noise_level is .* lower bound 0.2",
        ),
        (
            WhiteKernel() + Columns(RBF(0.3, (0.2, 0.4)), 0) ** 2,
            {},
            r"dimension 0 of parameter k2__kernel__kernel__length_scale is ",
        ),
        (None, {"noise_variance_bounds": (0.2, 1.0)}, "noise_variance is .* lower bound 0.2"),
    ],
)
def test_parameters_at_their_bounds(wave, kernel, parameters, message):
    """Kernel parameters and noise at a bound are named, with the bound and the cure."""
    X, y = wave
    y = y + 0.1 * np.random.default_rng(0).standard_normal(600)
    with pytest.warns(ConvergenceWarning) as record:
        model = regressor(kernel, max_iter=30, **parameters).fit(X, y)
    text = "\n".join(str(w.message) for w in record)
    assert re.search(message, text), text
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.slow
def test_no_warning_without_cause(wave):
    """Parameters within bounds, or without room, or that were not learned bring no warning."""
    X, y = wave
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor().fit(X, y)
        regressor(RBF(0.5, (0.5, 0.5))).fit(X, y)
        regressor(RBF(0.5, (0.5, 1.0)), optimizer=None).fit(X, y)
        regressor(max_iter=30).fit(X, np.random.default_rng(0).standard_normal(600))
        SVGPClassifier(n_inducing=10, random_state=0).fit(X, y > 0)


@pytest.mark.quick_cases("SVGPRegressor-*", "SVGPClassifier-auto", "AnytimeSGPRegressor-lbfgs")
@pytest.mark.parametrize("optimizer", ["auto", "lbfgs", "adam"])
@pytest.mark.parametrize("estimator", [SVGPRegressor, AnytimeSGPRegressor, SVGPClassifier])
def test_too_few_iterations(wave, estimator, optimizer):
    """Learning that max_iter ends while the objective rises says so, and enough of them do not."""
    X, y = wave[0][:200], wave[1][:200]
    y = y > 0 if estimator is SVGPClassifier else y
    model = estimator(n_inducing=10, optimizer=optimizer, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 iterations .* Raise max_iter"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_iter=500, tol=1e-3).fit(X, y)


def test_a_budget_is_no_lack_of_iterations(wave):
    """What max_time ends brings no word of max_iter."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor(max_iter=100_000, tol=0.0, max_time=0.2).fit(*wave)


def test_a_fit_that_misses_a_fast_function():
    """Where neighbours predict what the fit calls noise, the cure is shorter length scales."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 100.0, (2500, 1))
    y = np.sin(4.0 * X[:, 0]) + 0.1 * rng.standard_normal(2500)
    slow = ConstantKernel() * RBF(50.0, (30.0, 1e5))
    with pytest.warns(ConvergenceWarning) as record:
        regressor(slow, n_inducing=40).fit(X, y)
    texts = [str(w.message) for w in record]
    pattern = r"explains 0.\d% .*neighbours .*shorter or longer length"
    assert any(re.search(pattern, text) for text in texts), texts


IN_METRES = [
    SVGPRegressor(random_state=0),
    SVGPRegressor(likelihood="heteroscedastic", random_state=0),
    SVGPRegressor(likelihood="student_t", random_state=0),
    *(AnytimeSGPRegressor(model=m, random_state=0) for m in ("vif", "pic", "fitc", "vfe")),
    StreamingSGPRegressor(random_state=0),
    SVGPClassifier(random_state=0),
    AnytimeSGPClassifier(random_state=0),
    StreamingSGPClassifier(random_state=0),
]


@pytest.mark.parametrize("n_rows", [20, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", IN_METRES, ids=lambda model: repr(model)[:45])
@pytest.mark.filterwarnings("ignore:The optimal value found")
def test_length_scales_that_no_two_rows_are_within(model, n_rows):
    """A given kernel that relates no row to another is told of, by name, in every estimator.

    In units in which it does, nothing is said.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 3000.0, (n_rows, 2))
    y = np.sin(X[:, 0] / 900) + np.cos(X[:, 1] / 900) + 0.2 * rng.standard_normal(n_rows)
    y = y > 0.5 if hasattr(model, "predict_proba") else y
    model = clone(model).set_params(kernel=ConstantKernel() * RBF(1.0, (1e-3, 1e5)))
    with pytest.warns(
        ConvergenceWarning, match=r"relates hardly any row .*, with k2__length_scale"
    ):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X / 900.0, y)


def test_a_length_scale_that_ends_below_all_distances():
    """Twenty rows of a smooth function, from a start at which learning sees noise alone."""
    x = np.random.default_rng(4).standard_normal((20, 1))
    y = np.sin(40.0 * x[:, 0])
    model = SVGPRegressor(ConstantKernel() * RBF(1e-4), n_inducing=20, optimize_inducing=False)
    with pytest.warns(ConvergenceWarning, match="shorter or longer"):
        model.fit(x, y)
    assert np.exp(model.kernel_.theta[1]) < np.diff(np.sort(x[:, 0])).min()


def test_a_kernel_far_too_long_for_near_rows():
    """Rows that are left out show that a given kernel explains nothing, where rows explain too."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 100.0, (400, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(400)
    model = AnytimeSGPRegressor(ConstantKernel(1.0, (1e-9, 1e9)) * RBF(5e3, (4e3, 1e5)))
    with pytest.warns(ConvergenceWarning) as record:
        model.set_params(random_state=0).fit(X, y)
    texts = [str(w.message) for w in record]
    assert any("shorter or longer length scales" in text for text in texts), texts


@pytest.mark.parametrize(
    "model",
    [
        SVGPRegressor(n_latent=1),
        SVGPRegressor(likelihood="heteroscedastic_student_t"),
        AnytimeSGPRegressor(likelihood="heteroscedastic"),
        AnytimeSGPRegressor(model="pic", block_size=30, max_steps=2),
        StreamingSGPRegressor(n_latent=1),
    ],
    ids=lambda model: repr(model)[:60],
)
def test_given_kernels_that_find_the_function(model):
    """Nothing is said of them, with mixed outputs, noise of each row, or blocks not yet seen."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (300, 2))
    Y = np.outer(np.sin(X[:, 0]), [1.0, -2.0]) + 0.1 * rng.standard_normal((300, 2))
    Y[::7, 1] = np.nan if getattr(model, "n_latent", None) else 0.0
    model = clone(model).set_params(kernel=ConstantKernel() * RBF([1.0, 1.0]), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "q\\(u\\) rests")
        model.set_params(n_inducing=30).fit(X, Y if getattr(model, "n_latent", None) else Y[:, 0])


def test_a_stream_of_single_rows_says_nothing_of_bounds():
    """The parameters of a given kernel end anywhere while there are next to no rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (20, 1))
    stream = StreamingSGPRegressor(ConstantKernel() * RBF(1.0), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(len(X)):
            stream.partial_fit(X[[k]], np.sin(X[[k], 0]))


def test_repeated_rows_are_in_reach():
    """Places that are measured again and again, each with a level of its own, are no mistake."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(0.0, 3000.0, (30, 2)), 4, axis=0)
    y = np.repeat(rng.standard_normal(30), 4) + 0.1 * rng.standard_normal(120)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVGPRegressor(ConstantKernel() * RBF(1.0, "fixed"), random_state=0).fit(X, y)


@pytest.mark.quick_cases("2")
@pytest.mark.parametrize("n_features", [2, 8])
def test_defaults_do_not_warn_of_themselves(n_features):
    """A default fit of a plain table says nothing, though it ends while it gains a little."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 8))
    y = 3.0 * np.sin(1.5 * X[:, 0]) * np.cos(X[:, 1]) + 2.0 * (X[:, 2] > 0.3) + 0.7 * X[:, 3] ** 2
    y += X[:, 4] + 0.7 * rng.standard_normal(1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVGPRegressor(n_inducing=64, random_state=0).fit(X[:, :n_features], y)
