"""Outputs with noise variances of their own have a log noise of their own, in every regressor."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import WhiteKernel
from slow_variants import slow
from varying_noise import KERNEL, X_TEST, data, made, sd

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.likelihoods import HeteroscedasticGaussian
from sklearn_sgp.noise import heteroscedastic as alternation

MODELS = [None, "vfe", "fitc", "pitc", "pic", "lma", "vif", "stream"]
NOISE = np.array([0.02, 0.3])


def regressor(model, **parameters):
    if model != "stream":
        return made(model, **parameters)
    given = {"kernel": KERNEL, "n_inducing": 20, "random_state": 0, "max_iter": 40, **parameters}
    return StreamingSGPRegressor(**{"likelihood": "heteroscedastic", **given})


def two_outputs(n=500):
    """The noise of the second is large where that of the first is small."""
    X, first = data(n)
    unit = np.random.default_rng(7).standard_normal(n)
    return X, np.column_stack([first, 5.0 * np.cos(X[:, 0]) + 5.0 * sd(X - 4.0) * unit])


@pytest.mark.quick_cases("None-heteroscedastic", "vif-heteroscedastic")
@pytest.mark.parametrize(
    ("model", "likelihood"),
    [
        (None, "heteroscedastic"),
        ("pic", "heteroscedastic"),
        ("vif", "heteroscedastic"),
        ("stream", "heteroscedastic_student_t"),
        slow("stream", "heteroscedastic"),
        *(slow(model, "heteroscedastic_student_t") for model in (None, "pic", "vif")),
    ],
)
def test_each_output_has_its_own_log_noise(model, likelihood):
    X, Y = two_outputs()
    fitted = regressor(model, likelihood=likelihood).fit(X, Y)
    expected = np.column_stack([sd(X_TEST), 5.0 * sd(X_TEST - 4.0)])
    noise = fitted.noise_std(X_TEST)
    assert noise.shape == (60, 2)
    assert (np.mean(np.abs(noise / expected - 1.0), axis=0) < 0.35).all()
    assert fitted.log_density(X[:3], Y[:3]).shape == (3,)
    assert fitted.predict_quantiles(X_TEST).shape[:2] == (60, 2)
    again = pickle.loads(pickle.dumps(fitted))
    assert_allclose(again.noise_std(X_TEST), noise, rtol=1e-12)
    fitted.partial_fit(X[:90] + 0.01, Y[:90])
    assert np.isfinite(fitted.objective_) and np.isfinite(fitted.noise_std(X_TEST)).all()


@pytest.mark.quick_cases("stream", "fitc", "None", "vif")
@pytest.mark.parametrize("model", MODELS)
def test_outputs_are_those_of_models_of_their_own(model, monkeypatch):
    """At fixed parameters, after as many rounds, function and noise of an output are its own."""
    monkeypatch.setattr(alternation, "_LEAST_NOISE_GAIN", -np.inf)
    X, Y = two_outputs(300)
    likelihood = HeteroscedasticGaussian(kernel=KERNEL, n_inducing=10)
    base = regressor(model, likelihood=likelihood, optimizer=None, n_inducing=10, normalize_y=False)
    both = clone(base).set_params(noise_variance=NOISE).fit(X, Y)
    objective, weight = 0.0, np.linspace(0.5, 2.0, 90)
    mean, std, noise = both.predict(X_TEST), both.predict_std(X_TEST), both.noise_std(X_TEST)
    objective_of_both = both.objective_
    both.partial_fit(X[:90] + 0.01, Y[:90], weight)
    close = {"rtol": 3e-3, "atol": 1e-3}  # iterations for g end where all outputs gain little
    for c in range(2):
        own = clone(base).set_params(noise_variance=NOISE[c]).fit(X, Y[:, c])
        assert_allclose(mean[:, c], own.predict(X_TEST), **close)
        assert_allclose(std[:, c], own.predict_std(X_TEST), **close)
        assert_allclose(noise[:, c], own.noise_std(X_TEST), **close)
        objective += own.objective_
        own.partial_fit(X[:90] + 0.01, Y[:90, c], weight)
        assert_allclose(both.noise_std(X_TEST)[:, c], own.noise_std(X_TEST), **close)
        assert_allclose(both.predict(X_TEST)[:, c], own.predict(X_TEST), **close)
    assert_allclose(objective_of_both, objective, rtol=1e-4)


@pytest.mark.parametrize("model", [None, "vif"])
def test_a_noise_variance_that_is_shared_has_one_log_noise(model):
    """That of a WhiteKernel: the outputs' squared errors are added up."""
    X, y = data()
    Y = np.column_stack([y, np.cos(X[:, 0]) + (y - np.sin(X[:, 0]))])
    fitted = made(model, kernel=KERNEL + WhiteKernel(0.1), normalize_y=False).fit(X, Y)
    noise = fitted.noise_std(X_TEST)
    assert_allclose(noise[:, 1], noise[:, 0], rtol=1e-12)
    assert np.mean(np.abs(noise[:, 0] / sd(X_TEST) - 1.0)) < 0.3


@pytest.mark.parametrize("model", [None, "pic"])
def test_the_bound_rises_with_several_outputs(model, monkeypatch):
    """With kernel and inducing inputs fixed, each round of noise and function raises it."""
    monkeypatch.setattr(alternation, "_LEAST_NOISE_GAIN", -np.inf)
    bounds = []
    for rounds in (1, 2, 4):
        monkeypatch.setattr(alternation, "_NOISE_ROUNDS", rounds)
        fixed = made(model, optimizer=None, noise_variance=NOISE, likelihood="heteroscedastic")
        bounds.append(fixed.fit(*two_outputs(300)).objective_)
    rises = np.diff(bounds)
    assert (rises > -1e-6).all() and bounds[-1] > bounds[0] + 1.0


@pytest.mark.parametrize("model", ["pic", "vif"])
def test_many_outputs_are_no_classes(model, monkeypatch):
    """Five outputs, of which three are the same: one factor for all, as of classes, is another."""
    monkeypatch.setattr(alternation, "_NOISE_ROUNDS", 2)
    X, Y = two_outputs(200)
    order = [0, 1, 0, 1, 0]
    given = {"likelihood": "heteroscedastic", "optimizer": None, "normalize_y": False}
    both = regressor(model, **given, noise_variance=NOISE).fit(X, Y)
    five = regressor(model, **given, noise_variance=NOISE[order]).fit(X, Y[:, order])
    for method in ("predict", "predict_std", "noise_std"):
        expected = getattr(both, method)(X_TEST)[:, order]
        assert_allclose(getattr(five, method)(X_TEST), expected, rtol=3e-3, atol=1e-3)
