"""SVGPRegressor learns batch by batch what it would learn at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from svgp_regressors import assert_same_model, fixed

from sklearn_sgp import SVGPRegressor


def test_objective_after_partial_fit_is_no_fiction(wave):
    """Where kernel and Z have moved, objective_ still is near the bound of the rows so far."""
    X, y = wave
    model = SVGPRegressor(n_inducing=15, batch_size=100, max_iter=20, random_state=0)
    for lo in range(0, 600, 200):
        model.partial_fit(X[lo : lo + 200], y[lo : lo + 200])
    again = SVGPRegressor(model.kernel_, inducing=model.inducing_points_, optimizer=None)
    again.set_params(
        noise_variance=model.noise_variance_, normalize_y=(model.y_mean_, model.y_scale_)
    )
    assert abs(model.objective_ - again.fit(X, y).objective_) < 0.2 * len(X)


@pytest.mark.parametrize("cuts", [[30], [1, 2, 59], [10, 11, 25, 40]])
@pytest.mark.parametrize("weighted", [False, True])
def test_partial_fit_in_any_split_equals_fit(toy_outputs, rng, cuts, weighted):
    """With kernel, noise, Z and scaling fixed, batches of any size add up to what fit gives."""
    X, y = toy_outputs
    weight = rng.uniform(0.0, 3.0, len(X)) if weighted else None
    whole = fixed(normalize_y=(1.0, 2.0)).fit(X, y, sample_weight=weight)
    parts = fixed(normalize_y=(1.0, 2.0), batch_size=7)
    for rows in np.split(np.arange(len(X)), cuts):
        parts.partial_fit(X[rows], y[rows], None if weight is None else weight[rows])
    assert_same_model(whole, parts, X)
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == len(X)


def test_partial_fit_continues_fit(toy):
    """partial_fit after fit adds rows to the fitted model."""
    X, y = toy
    whole = fixed(normalize_y=(0.0, 1.0)).fit(X, y)
    parts = fixed(normalize_y=(0.0, 1.0)).fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert_same_model(whole, parts, X)


def test_fit_after_partial_fit_starts_anew(toy):
    """fit forgets what partial_fit has learned."""
    X, y = toy
    model = fixed().partial_fit(X[:30], y[:30]).fit(X[30:], y[30:])
    assert_same_model(fixed().fit(X[30:], y[30:]), model, X)


def test_first_batch_decides_the_scaling(toy):
    """Under partial_fit, y_mean_ and y_scale_ stay those of the first batch."""
    X, y = toy
    model = fixed().partial_fit(X[:20], y[:20])
    scaling = model.y_mean_, model.y_scale_
    assert_allclose(scaling, [y[:20].mean(), y[:20].std()], rtol=1e-12)
    model.partial_fit(X[20:], 50.0 + 9.0 * y[20:])
    assert (model.y_mean_, model.y_scale_) == scaling


def test_partial_fit_learns(wave):
    """Batch by batch the model gets better at rows it has not seen."""
    X, y = wave
    model = SVGPRegressor(n_inducing=15, batch_size=20, max_iter=3, random_state=0)
    start = model.partial_fit(X[:50], y[:50]).kernel_.theta
    scores = [model.log_density(X[500:], y[500:]).mean()]
    for lo in range(50, 500, 50):
        model.partial_fit(X[lo : lo + 50], y[lo : lo + 50])
        scores.append(model.log_density(X[500:], y[500:]).mean())
    assert scores[-1] > scores[0] + 0.1
    assert np.all(model.kernel_.theta != start)
    assert len(model.objectives_) == len(model.fit_times_) and (np.diff(model.fit_times_) > 0).all()
    assert model.n_samples_seen_ == 500


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.quick_cases("True")
def test_total_samples_allows_rows_to_come_again(toy, weighted):
    """With total_samples rows, many epochs by hand at fixed kernel come to what fit gives."""
    X, y = toy
    weight = np.full(len(X), 2.0) if weighted else None
    scaling = (float(y.mean()), float(y.std()))
    model = fixed(total_samples=60, natural_step=0.05, batch_size=15, normalize_y=scaling)
    for _ in range(100):
        model.partial_fit(X, y, weight)
    whole = fixed(normalize_y=scaling).fit(X, y, sample_weight=weight)
    error = np.abs(model.predict(X) - whole.predict(X)) / whole.predict_std(X)
    assert error.max() < 0.1
    spread, expected = (m.predict_std(X, include_noise=False) for m in (model, whole))
    assert_allclose(spread, expected, rtol=0.05)


@pytest.mark.parametrize("inducing", ["kmeans", "greedy", "random"])
def test_inducing_inputs_grow_after_a_small_first_batch(wave, inducing):
    """A first batch with few distinct rows gives a smaller Z, which grows to n_inducing."""
    X, y = wave
    # rows that are equal in their targets, too, would say that there is no noise
    model = SVGPRegressor(
        n_inducing=12,
        inducing=inducing,
        noise_variance_bounds="fixed",
        max_iter=5,
        random_state=0,
    )
    model.partial_fit(np.tile(X[:5], (2, 1)), np.tile(y[:5], 2))
    assert len(model.inducing_points_) == 5
    model.partial_fit(X[5:8], y[5:8])
    assert len(model.inducing_points_) == 8
    for lo in range(8, 408, 100):
        model.partial_fit(X[lo : lo + 100], y[lo : lo + 100])
    assert len(model.inducing_points_) == 12
    assert np.isfinite(model.objective_)
    assert model.score(X[408:], y[408:]) > 0.5


def test_new_inducing_inputs_change_nothing_by_themselves(wave):
    """Rows of hardly any weight add inducing inputs and leave the predictions alone."""
    X, y = wave
    model = SVGPRegressor(RBF(0.5), optimizer=None, n_inducing=15, random_state=0)
    mean, std = model.partial_fit(X[:8], y[:8]).predict(X, return_std=True)
    with pytest.warns(UserWarning, match="sample_weight should have a mean"):
        model.partial_fit(X[8:100], y[8:100], np.full(92, 1e-12))
    assert len(model.inducing_points_) == 15
    again, again_std = model.predict(X, return_std=True)
    assert_allclose(again, mean, atol=1e-6)
    assert_allclose(again_std, std, rtol=1e-6)


def test_given_inducing_inputs_do_not_grow(toy):
    """Inducing inputs that were given stay as many as they are."""
    model = fixed().partial_fit(*toy).partial_fit(*toy)
    assert_array_equal(model.inducing_points_, fixed().inducing)


@pytest.mark.parametrize("optimize_inducing", [False, True])
def test_partial_fit_that_learns_does_no_harm(optimize_inducing):
    """Batches that move kernel, noise and Z predict new rows no worse than the first one did."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (1800, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.standard_normal(1800)
    model = SVGPRegressor(n_inducing=40, optimize_inducing=optimize_inducing, random_state=0)
    densities = []
    for lo in range(0, 1500, 300):
        model.partial_fit(X[lo : lo + 300], y[lo : lo + 300])
        densities.append(model.log_density(X[1500:], y[1500:]).mean())
    assert min(densities[1:]) > densities[0] - 0.02
    assert densities[-1] > densities[0]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_another_learning_rate_holds_from_the_next_batch_on(wave, optimizer):
    """With a rate of next to nothing a later batch leaves the kernel as it is."""
    X, y = wave
    model = SVGPRegressor(n_inducing=10, optimizer=optimizer, learning_rate=1e-5, random_state=0)
    model.set_params(optimize_inducing=False, batch_size=50)
    model.partial_fit(X[:200], y[:200])
    model.partial_fit(X[200:400], y[200:400])
    before = model.kernel_.theta
    model.set_params(learning_rate=1e-15).partial_fit(X[400:600], y[400:600])
    assert_allclose(model.kernel_.theta, before, atol=1e-8)
