"""SVGPRegressor gives the same model again: same seed, any number of jobs, saved and loaded."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from svgp_regressors import WAYS, assert_same_model, fixed

from sklearn_sgp import SVGPRegressor, _parallel


@pytest.mark.parametrize("way", ["auto, few rows", "auto, growing subsets", "adam"])
def test_same_seed_same_model(wave, way):
    """The same random_state gives the same model to the last bit."""
    X, y = wave
    model = SVGPRegressor(n_inducing=8, random_state=3).set_params(**WAYS[way] | {"max_iter": 3})
    one, other = clone(model).fit(X, y), clone(model).fit(X, y)
    assert_array_equal(one.predict(X), other.predict(X))
    assert one.objective_ == other.objective_
    third = clone(model).set_params(random_state=4).fit(X, y)
    assert np.any(third.predict(X) != one.predict(X))


@pytest.mark.parametrize("way", ["auto, few rows", "auto, growing subsets", "adam"])
@pytest.mark.slow_cases("auto, few rows")
def test_any_number_of_jobs_agrees(rng, way):
    """n_jobs=1, 2 and processes give the same model to rounding; so do predictions."""
    X = rng.uniform(0.0, 6.0, (2500, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(2500)
    model = SVGPRegressor(n_inducing=8, random_state=0).set_params(**WAYS[way])
    model.set_params(max_iter=2, batch_size=1200)
    one, two = clone(model).set_params(n_jobs=1).fit(X, y), clone(model).set_params(n_jobs=2)
    assert_same_model(one, two.fit(X, y), X, rtol=1e-9)
    with joblib.parallel_config("loky", n_jobs=2):
        assert_same_model(one, clone(model).fit(X, y), X, rtol=1e-9)


def test_jobs_share_predictions(toy, monkeypatch):
    """Predictions of several tasks by threads and processes are those of one job."""
    monkeypatch.setattr(_parallel, "PREDICT_TASK", 16)
    model, X = fixed().fit(*toy), toy[0]
    mean, std = model.predict(X, return_std=True)
    for n_jobs, backend in [(2, "threading"), (2, "loky")]:
        with joblib.parallel_config(backend, n_jobs=n_jobs):
            again, again_std = model.predict(X, return_std=True)
        assert_allclose(again, mean, rtol=1e-12)
        assert_allclose(again_std, std, rtol=1e-12)


@pytest.mark.parametrize("fitted_by", ["fit", "partial_fit"])
def test_pickle_and_joblib_round_trips(toy_outputs, tmp_path, fitted_by):
    """A model that was saved and loaded predicts the same bits, and learns on."""
    X, y = toy_outputs
    model = getattr(SVGPRegressor(n_inducing=10, max_iter=3, random_state=0), fitted_by)(X, y)
    joblib.dump(model, tmp_path / "model")
    for loaded in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert_array_equal(loaded.predict(X), model.predict(X))
        assert_array_equal(loaded.predict_std(X), model.predict_std(X))
        assert_array_equal(loaded.sample_y(X, 2), model.sample_y(X, 2))
        assert_array_equal(loaded.sample_functions(2)(X), model.sample_functions(2)(X))
        learned_on = copy.deepcopy(model).partial_fit(X, y)
        assert_array_equal(loaded.partial_fit(X, y).predict(X), learned_on.predict(X))


def test_clone_has_the_parameters_and_nothing_learned(toy):
    """clone copies the parameters, arrays and kernels included, and nothing fitted."""
    model = fixed(max_iter=7).fit(*toy)
    again = clone(model)
    assert again.kernel == model.kernel and again.max_iter == 7
    assert_array_equal(again.inducing, model.inducing)
    assert set(vars(again)) == set(model.get_params(deep=False))
    assert_array_equal(again.fit(*toy).predict(toy[0]), model.predict(toy[0]))


def test_nothing_is_left_of_an_earlier_likelihood(toy):
    """A fit with a likelihood without noise has no noise variance, whatever was fitted before."""
    X, y = toy
    model = SVGPRegressor(n_inducing=8, max_iter=3, random_state=0).fit(X, y)
    model.set_params(likelihood="poisson").fit(X, np.round(np.abs(y)))
    assert not hasattr(model, "noise_variance_")
