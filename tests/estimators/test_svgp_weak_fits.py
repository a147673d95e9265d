"""A fit whose result is doubtful says so: parameters at bounds, variance left unexplained."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor, SVGPClassifier, SVGPRegressor


def regressor(kernel=None, **parameters):
    return SVGPRegressor(kernel, **({"n_inducing": 10, "random_state": 0} | parameters))


@pytest.mark.parametrize(
    ("kernel", "parameters", "message"),
    [
        (RBF(0.3, (0.2, 0.4)), {}, "length_scale of the kernel .* upper bound 0.4. Increasing"),
        (RBF(0.05, (0.01, 0.06)) + WhiteKernel(), {}, "length_scale .* upper bound 0.06"),
        (
            ConstantKernel(1.0, "fixed") * RBF(2.0, (2.0, 5.0)),
            {},
            "dimension 0 of parameter k2__length_scale .* lower bound 2. Decreasing",
        ),
        (None, {"noise_variance_bounds": (0.2, 1.0)}, "noise_variance .* lower bound 0.2"),
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


@pytest.mark.parametrize("optimizer", ["auto", "lbfgs", "adam"])
@pytest.mark.parametrize("estimator", [SVGPRegressor, AnytimeSGPRegressor, SVGPClassifier])
def test_too_few_iterations(wave, estimator, optimizer):
    """Learning that max_iter ends while the objective rises says so, and enough of them do not."""
    X, y = wave
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
    pattern = r"explains 0.\d% .*neighbours .*shorter length"
    assert any(re.search(pattern, text) for text in texts), texts
