"""Every regressor learns and uses a noise variance for each output."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

NOISE = np.array([0.02, 0.7])
Z = np.linspace(0.3, 5.7, 9)[:, None]
FIXED = {
    "kernel": RBF(0.8),
    "inducing": Z,
    "optimizer": None,
    "noise_variance_bounds": (1e-6, 1e3),
    "normalize_y": False,
    "random_state": 0,
}
MODELS = ["sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic", [("dtc", 0.4), ("pitc", 0.6)]]
ESTIMATORS = {
    "svgp": SVGPRegressor(),
    "student_t": SVGPRegressor(likelihood="student_t"),
    "stream": StreamingSGPRegressor(),
    "stream student_t": StreamingSGPRegressor(likelihood="student_t"),
    **{str(model): AnytimeSGPRegressor(model=model, block_size=60) for model in MODELS},
    "pic, exact": AnytimeSGPRegressor(solver="exact", block_size=60),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.uniform(0.0, 6.0, (300, 1))
    f = np.column_stack([np.sin(2.0 * X[:, 0]), np.cos(X[:, 0])])
    return X, f + np.sqrt(NOISE) * rng.standard_normal(f.shape), rng.gamma(2.0, 0.5, 300)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_outputs_are_those_of_models_of_their_own(name, data):
    """At fixed parameters everything that is predicted is what a model of the output predicts."""
    X, y, weight = data
    base = clone(ESTIMATORS[name]).set_params(**FIXED)
    both = clone(base).set_params(noise_variance=NOISE).fit(X, y, weight)
    both.partial_fit(X[:90] + 0.01, y[:90])
    Xs = np.linspace(-1.0, 7.0, 40)[:, None]
    ys = np.sin(Xs) + np.array([0.0, 0.5])
    # iterations for sites end where all outputs together gain little
    error = 1e-3 if "student_t" in name else 1e-6
    tolerance = {"rtol": 10.0 * error, "atol": error}
    density, objective = 0.0, 0.0
    for c in range(2):
        own = clone(base).set_params(noise_variance=NOISE[c]).fit(X, y[:, c], weight)
        own.partial_fit(X[:90] + 0.01, y[:90, c])
        mean, std = own.predict(Xs, return_std=True)
        assert_allclose(both.predict(Xs)[:, c], mean, **tolerance)
        assert_allclose(both.predict_std(Xs)[:, c], std, **tolerance)
        latent = own.predict_std(Xs, include_noise=False)
        assert_allclose(both.predict_std(Xs, include_noise=False)[:, c], latent, **tolerance)
        covariance = own.predict(Xs, return_cov=True)[1]
        assert_allclose(both.predict(Xs, return_cov=True)[1][:, :, c], covariance, **tolerance)
        quantiles = own.predict_quantiles(Xs)
        assert_allclose(both.predict_quantiles(Xs)[:, c], quantiles, **tolerance)
        assert_allclose(
            both.predict_distribution(Xs).cdf(ys)[:, c],
            own.predict_distribution(Xs).cdf(ys[:, c]),
            **tolerance,
        )
        density = density + own.log_density(Xs, ys[:, c])
        objective += own.objective_
    assert_allclose(both.log_density(Xs, ys), density, **tolerance)
    assert_allclose(both.objective_, objective, rtol=1e-4)
    assert_allclose(both.noise_variance_, NOISE)
    assert_allclose(pickle.loads(pickle.dumps(both)).predict(Xs), both.predict(Xs), rtol=1e-12)


@pytest.mark.quick_cases("svgp", "pic")
@pytest.mark.parametrize("name", ["svgp", "student_t", "stream", "fitc", "pic"])
def test_noise_is_learned_for_each_output(name, data):
    """Learned noise variances are near the true ones, and so is the spread of draws."""
    X, y, _ = data
    model = clone(ESTIMATORS[name]).set_params(n_inducing=12, random_state=0, max_iter=60)
    model.fit(X, y)
    noise = model.noise_variance_ * model.y_scale_**2
    share = 0.5 if "student_t" in name else 1.0  # its variance is twice the noise's at df = 4
    assert_allclose(noise / (share * NOISE), 1.0, atol=0.45)
    draws = model.sample_y(X[:50], 400, random_state=0) - model.predict(X[:50])[:, :, None]
    assert_allclose(draws.std(axis=(0, 2)) / np.sqrt(NOISE), 1.0, atol=0.3)
    if name != "pic":
        draws = model.sample_y(X[:50], 400, random_state=0, method="pathwise")
        spread = (draws - model.predict(X[:50])[:, :, None]).std(axis=(0, 2))
        assert_allclose(spread / np.sqrt(NOISE), 1.0, atol=0.3)


def test_stochastic_steps_learn_each_noise(data):
    """Adam moves each noise variance from the common start towards its own value."""
    X, y, _ = data
    model = SVGPRegressor(
        n_inducing=12, optimizer="adam", max_iter=60, batch_size=64, learning_rate=0.03
    )
    noise = model.set_params(random_state=0).fit(X, y).noise_variance_ * model.y_scale_**2
    assert noise[0] < 0.15 and noise[1] > 0.4


def test_noise_variance_has_an_entry_for_each_column(data):
    """Its shape is that of y_scale_: a number for y of one axis, else (t,) even where shared."""
    X, y, _ = data
    options = {"n_inducing": 5, "max_iter": 2, "random_state": 0}
    assert isinstance(SVGPRegressor(**options).fit(X, y[:, 0]).noise_variance_, float)
    assert SVGPRegressor(**options).fit(X, y[:, :1]).noise_variance_.shape == (1,)
    found = SVGPRegressor(**options).fit(X, y).noise_variance_
    assert found.shape == (2,) and found[0] != found[1] and not found.flags.writeable
    shared = SVGPRegressor(RBF() + WhiteKernel(), **options).fit(X, y)
    assert_array_equal(shared.noise_variance_, [shared.kernel_.k2.noise_level] * 2)
    fixed = SVGPRegressor(noise_variance=0.3, noise_variance_bounds="fixed", **options).fit(X, y)
    assert_array_equal(fixed.noise_variance_, [0.3, 0.3])


def test_a_noise_variance_at_its_bound_names_its_output(data):
    """Of two outputs the one whose noise would be larger than its bound is named."""
    X, y, _ = data
    model = SVGPRegressor(n_inducing=12, noise_variance_bounds=(1e-6, 0.2), random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"noise_variance of output 1 .* upper bound 0.2"):
        model.fit(X, y)


def test_warm_start_with_another_number_of_outputs(data):
    """Noise variances of an earlier fit are taken where there are as many."""
    X, y, _ = data
    model = SVGPRegressor(n_inducing=6, max_iter=5, random_state=0, warm_start=True).fit(X, y)
    learned = model.noise_variance_.copy()
    model.set_params(optimizer=None).fit(X, y)
    assert_allclose(model.noise_variance_, learned)
    assert isinstance(model.fit(X, y[:, 0]).noise_variance_, float)
