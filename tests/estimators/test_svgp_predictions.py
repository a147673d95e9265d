"""Predictions and draws of SVGPRegressor have the shapes, units and moments they promise."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import PairwiseKernel
from svgp_regressors import fixed

from sklearn_sgp import SVGPRegressor, _parallel
from sklearn_sgp.estimators import regressor
from sklearn_sgp.gp.posterior import Posterior


@pytest.mark.parametrize("outputs", [(), (1,), (2,)])
def test_shapes(rng, toy, outputs):
    """Predictions have the shape of y, further axes coming last."""
    X = toy[0]
    y = rng.standard_normal((len(X), *outputs))
    model, X_new, n = fixed().fit(X, y), X[:7], 7
    mean, std = model.predict(X_new, return_std=True)
    cov = model.predict(X_new, return_cov=True)[1]
    assert model.predict(X_new).shape == mean.shape == std.shape == (n, *outputs)
    assert model.predict_std(X_new).shape == (n, *outputs)
    assert cov.shape == (n, n, *outputs)
    assert model.predict_quantiles(X_new).shape == (n, *outputs, 3)
    assert model.predict_quantiles(X_new, [0.5]).shape == (n, *outputs, 1)
    assert model.sample_y(X_new, 4).shape == (n, *outputs, 4)
    assert model.sample_y(X_new, 4, method="pathwise").shape == (n, *outputs, 4)
    assert model.sample_functions(4)(X_new).shape == (n, *outputs, 4)
    assert model.log_density(X_new, y[:7]).shape == (n,)
    assert np.shape(model.y_mean_) == np.shape(model.y_scale_) == outputs


def test_everything_predicted_is_float64(toy):
    """float32 inputs and targets give float64 results."""
    X, y = (a.astype(np.float32) for a in toy)
    model = fixed().fit(X, y)
    results = *model.predict(X, return_std=True), model.sample_y(X), model.predict_quantiles(X)
    assert {a.dtype for a in results} == {np.dtype(np.float64)}


def test_std_and_cov_cannot_both_be_asked_for(toy):
    """predict raises RuntimeError for both at once, as GaussianProcessRegressor does."""
    with pytest.raises(RuntimeError, match="At most one of return_std or return_cov"):
        fixed().fit(*toy).predict(toy[0], return_std=True, return_cov=True)


@pytest.mark.parametrize(
    "predict",
    [
        lambda model, X: model.predict(X),
        lambda model, X: model.predict_std(X),
        lambda model, X: model.predict_quantiles(X),
        lambda model, X: model.sample_y(X),
        lambda model, X: model.sample_functions(),
        lambda model, X: model.log_density(X, X[:, 0]),
    ],
)
def test_nothing_predicts_before_fit(toy, predict):
    """Where there is no prior, every predicting method says that the estimator is not fitted."""
    with pytest.raises(NotFittedError):
        predict(SVGPRegressor(likelihood="student_t"), toy[0])


def test_std_is_that_of_an_observation(toy_outputs):
    """std includes the noise; include_noise=False leaves it out; cov has std**2 as diagonal."""
    X, y = toy_outputs
    model = fixed().fit(X, y)
    std, latent = model.predict_std(X), model.predict_std(X, include_noise=False)
    noise = model.noise_variance_ * model.y_scale_**2
    assert_allclose(std**2 - latent**2, np.tile(noise, (len(X), 1)), rtol=1e-9)
    assert_array_equal(model.predict(X, return_std=True)[1], std)
    cov = model.predict(X, return_cov=True)[1]
    assert_allclose(np.diagonal(cov).T, std**2, rtol=1e-9)
    assert_allclose(cov, cov.transpose(1, 0, 2), rtol=1e-12)


def test_mean_alone_computes_no_variance(toy, monkeypatch):
    """predict(X) never enters the code that computes variances."""
    model = fixed().fit(*toy)
    expected = model.predict(toy[0], return_std=True)[0]

    def refuse(*args):
        raise AssertionError("a variance was computed")

    for name in ("mean_variance", "mean_covariance"):
        monkeypatch.setattr(type(model._fitted.posterior), name, refuse)
    assert_allclose(model.predict(toy[0]), expected, rtol=1e-9)


def test_prediction_goes_in_chunks(toy, monkeypatch):
    """Chunks of any size give the same predictions, and none has more rows than it should."""
    model = fixed().fit(*toy)
    X = np.tile(toy[0], (2, 1))
    mean, std = model.predict(X, return_std=True)
    monkeypatch.setattr(_parallel, "PREDICT_CHUNK", 7)
    monkeypatch.setattr(_parallel, "PREDICT_TASK", 21)
    sizes, whole = [], Posterior.mean_variance
    monkeypatch.setattr(
        Posterior, "mean_variance", lambda q, X: sizes.append(len(X)) or whole(q, X)
    )
    again, again_std = model.predict(X, return_std=True)
    assert_allclose(again, mean, rtol=1e-12)
    assert_allclose(again_std, std, rtol=1e-12)
    assert sum(sizes) == len(X) and max(sizes) == 7


def test_quantiles_are_those_of_the_predictive_normal(toy_outputs):
    """predict_quantiles inverts the normal distribution of a new observation."""
    X, y = toy_outputs
    model, levels = fixed().fit(X, y), [0.9, 0.01, 0.5]
    mean, std = model.predict(X, return_std=True)
    expected = norm.ppf(levels, mean[..., None], std[..., None])
    assert_allclose(model.predict_quantiles(X, levels), expected, rtol=1e-9)


def test_log_density_is_that_of_the_predictive_normal(toy_outputs):
    """log_density is in y's own units, and sums over the outputs of a row."""
    X, y = toy_outputs
    model = fixed().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert_allclose(model.log_density(X, y), norm.logpdf(y, mean, std).sum(axis=1), rtol=1e-9)
    one = fixed().fit(X, y[:, 0])
    scaled = fixed().fit(X, 1000.0 * y[:, 0])
    change = scaled.log_density(X, 1000.0 * y[:, 0]) - one.log_density(X, y[:, 0])
    assert_allclose(change, -np.log(1000.0), rtol=1e-9)


@pytest.mark.parametrize("method", ["joint", "pathwise"])
def test_draws_have_the_predictive_moments(toy_outputs, method):
    """Draws of sample_y have the mean and covariance that predict gives, noise included."""
    X, y = toy_outputs
    model, n_draws = fixed().fit(X, y), 4000
    X_new = np.array([[0.0, 0.0], [0.3, -0.2], [1.5, 1.5], [6.0, 6.0]])
    mean, cov = model.predict(X_new, return_cov=True)
    # a call's features are shared by its draws: only the mean over calls is that of the prior
    rng, calls = np.random.RandomState(1), 100
    draws = [model.sample_y(X_new, n_draws // calls, rng, method=method) for _ in range(calls)]
    draws = np.concatenate(draws, axis=-1)
    for output in range(2):
        unit = np.sqrt(np.diagonal(cov[..., output]))
        error = (draws[:, output].mean(axis=1) - mean[:, output]) / unit
        assert np.abs(error).max() < 5.0 / np.sqrt(n_draws)
        measured = np.cov(draws[:, output]) / np.outer(unit, unit)
        assert_allclose(measured, cov[..., output] / np.outer(unit, unit), atol=0.08)


def test_functions_have_the_latent_moments(toy):
    """Functions of sample_functions have the latent mean and standard deviation, without noise."""
    model = fixed().fit(*toy)
    X_new = np.array([[0.0, 0.0], [1.5, 1.5], [6.0, 6.0]])
    rng = np.random.RandomState(0)
    values = np.hstack([model.sample_functions(40, rng)(X_new) for _ in range(100)])
    std = model.predict_std(X_new, include_noise=False)
    assert np.abs((values.mean(axis=1) - model.predict(X_new)) / std).max() < 5.0 / np.sqrt(4000)
    assert_allclose(values.std(axis=1), std, rtol=0.06)


def test_functions_are_functions(toy):
    """A drawn function has one value at each input, whatever is asked beside it, pickled too."""
    model = fixed().fit(*toy)
    functions, X = model.sample_functions(3, random_state=0), toy[0]
    values = functions(X)
    assert_allclose(functions(X[20:30]), values[20:30], rtol=1e-9)
    assert_array_equal(pickle.loads(pickle.dumps(functions))(X), values)
    assert_array_equal(model.sample_functions(3, random_state=0)(X), values)
    assert np.abs(model.sample_functions(3, random_state=1)(X) - values).min() > 0


def test_auto_samples_jointly_up_to_2000_rows(toy, monkeypatch):
    """sample_y(method="auto") is the joint draw for few rows and the pathwise one above."""
    model, X = fixed().fit(*toy), toy[0]
    assert_array_equal(model.sample_y(X), model.sample_y(X, method="joint"))
    assert np.any(model.sample_y(X) != model.sample_y(X, method="pathwise"))
    assert regressor._JOINT_ROWS == 2000
    monkeypatch.setattr(regressor, "_JOINT_ROWS", 30)
    assert_array_equal(model.sample_y(X), model.sample_y(X, method="pathwise"))


def test_sampling_follows_the_seed(toy):
    """The same random_state gives the same draws, another one others; the default is 0."""
    model, X = fixed().fit(*toy), toy[0]
    assert_array_equal(model.sample_y(X, 2), model.sample_y(X, 2, random_state=0))
    assert np.any(model.sample_y(X, 2) != model.sample_y(X, 2, random_state=1))


@pytest.mark.parametrize(
    "draw",
    [
        lambda model, X: model.sample_functions(),
        lambda model, X: model.sample_y(X, method="pathwise"),
        lambda model, X: model.sample_y(np.tile(X, (40, 1))),
    ],
)
def test_no_pathwise_draws_without_a_spectral_density(toy, draw):
    """A kernel without a spectral density raises ValueError with the cure: joint draws."""
    model = fixed(kernel=PairwiseKernel(metric="rbf")).fit(*toy)
    with pytest.raises(ValueError, match="joint"):
        draw(model, toy[0])
    assert np.isfinite(model.sample_y(toy[0])).all()


def test_draws_of_an_output_do_not_depend_on_others(toy):
    """The first output of two is drawn as it is where it is alone, as in scikit-learn."""
    X, y = toy
    one, two = fixed().fit(X, y), fixed().fit(X, np.column_stack([y, -y]))
    assert_allclose(two.sample_y(X[:9], 3)[:, 0], one.sample_y(X[:9], 3), rtol=1e-9)
