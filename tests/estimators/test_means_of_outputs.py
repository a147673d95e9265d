"""Mixed outputs whose targets are missing in different places: their means are learned."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp import SVGPRegressor

W = np.array([[1.0, 0.2], [0.8, -0.6], [-0.5, 0.9], [0.1, 1.0]])


@pytest.fixture(scope="module", params=[0, 2])
def data(request, n=240, stretches=12):
    """Outputs of one column, missing in half of its stretches, other ones for each."""
    rng = np.random.default_rng(request.param)
    x = np.sort(rng.uniform(0.0, 12.0, n))
    g = np.column_stack([np.sin(1.3 * x) + 0.1 * x, np.cos(0.9 * x)])
    complete = g @ W.T + 0.05 * rng.standard_normal((n, 4))
    gone = np.zeros((n, 4), dtype=bool)
    for p in range(4):
        missing = rng.permutation(stretches)[: stretches // 2]
        gone[:, p] = np.isin((x * stretches / 12.0).astype(int), missing)
    known = ~gone.all(axis=1)
    y = np.where(gone, np.nan, complete)
    return x[known, None], complete[known], y[known]


@pytest.fixture(scope="module")
def model(data):
    X, _, y = data
    return SVGPRegressor(n_latent=2, n_inducing=40, random_state=0).fit(X, y)


@pytest.mark.quick_cases("0")
def test_stretches_are_filled_from_the_other_outputs(data, model):
    """Where two of four outputs of two functions are there, the others are known, too."""
    X, complete, y = data
    enough = (~np.isnan(y)).sum(axis=1) >= 2
    wanted = np.isnan(y) & enough[:, None]
    error = (model.predict(X) - complete)[wanted]
    assert np.sqrt((error**2).mean()) < 0.08
    assert model.log_density(X[enough], complete[enough]).mean() > 5.5


def test_outputs_less_their_means_are_mixed(data, model):
    """Combinations of the outputs in which no function is left have the means of `y_mean_`."""
    _, _, y = data
    without = np.linalg.svd(W.T)[2][2:]
    assert np.abs(without @ np.nanmean(y, axis=0)).max() > 0.15
    assert np.abs(without @ model.y_mean_).max() < 0.05


def test_they_are_given_where_nothing_is_learned(data, model):
    """The posterior at what was learned is that of the fit, from all rows or in two batches."""
    X, _, y = data
    options = {
        "n_latent": 2,
        "inducing": model.inducing_points_,
        "optimizer": None,
        "normalize_y": (model.y_mean_, model.y_scale_),
        "noise_variance": model.noise_variance_,
    }
    fixed = SVGPRegressor(model.kernel_, **options).fit(X, y)
    assert_array_equal(fixed.y_mean_, model.y_mean_)
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[:20], y[:20])
    assert_array_equal(again.y_mean_, model.y_mean_)
    assert again.predict(X).shape == y.shape


def test_a_warm_start_goes_on_from_them(data, model):
    """Without learning the same rows have the same predictions."""
    X, _, y = data
    warm = pickle.loads(pickle.dumps(model)).set_params(warm_start=True, optimizer=None).fit(X, y)
    assert_allclose(warm.y_mean_, model.y_mean_)
    assert_allclose(warm.predict(X), model.predict(X), rtol=1e-6, atol=1e-6)
    assert_allclose(warm.objective_, model.objective_, rtol=1e-8)


def test_they_stay_where_they_are_given_or_complete(data):
    """Scales and centres of the user, and means over the same rows, are not moved."""
    X, complete, y = data
    few = {"n_latent": 2, "n_inducing": 10, "max_iter": 3}
    given = SVGPRegressor(normalize_y=(0.5, 2.0), **few)
    with pytest.warns(UserWarning):
        assert_array_equal(given.fit(X, y).y_mean_, np.full(4, 0.5))
    with pytest.warns(UserWarning):
        whole = SVGPRegressor(**few).fit(X, complete)
    assert_allclose(whole.y_mean_, complete.mean(axis=0))
