"""A fit that ends on a plateau, where a smooth part of the function is noise, begins again."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.data.distinct import DistinctRows
from sklearn_sgp.engines.other_starts import default_starts
from sklearn_sgp.engines.variational import engine, plateaus
from sklearn_sgp.objectives.exact import left_out_means

HEIGHTS = np.array([100.0, 400.0, 700.0, 1500.0])


def function(X):
    time, height = X.T
    return np.sin(time) + np.cos(height / 500.0) + 0.3 * np.sin(time) * height / 1000.0


def with_levels(X):
    """A trend, a daily wave, and levels of stations with a kink."""
    time, height = X.T
    levels = np.abs(height - 800.0) / 400.0 + 0.3 * np.sin(height / 150.0)
    return 0.02 * time + np.cos(2.0 * time) + levels


def many_stations(n_rows=40_000, n_stations=24):
    """Return rows of many stations in turn, and others without noise."""
    rng = np.random.default_rng(0)
    heights = np.sort(rng.uniform(100.0, 1500.0, n_stations))
    times = np.sort(rng.uniform(0.0, 50.0, n_rows // n_stations))
    X = np.column_stack([np.repeat(times, n_stations), np.tile(heights, len(times))])
    y = with_levels(X) + 0.1 * rng.standard_normal(len(X))
    T = np.column_stack([rng.uniform(0.0, 50.0, 2000), rng.choice(heights, 2000)])
    return X, y, T


def stations(n_times):
    """Return rows of four stations in turn."""
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0.0, 50.0, n_times))
    X = np.column_stack([np.repeat(times, 4), np.tile(HEIGHTS, n_times)])
    return X, function(X) + 0.1 * rng.standard_normal(len(X))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_no_order_of_rows_and_no_seed_ends_on_a_plateau(seed, is_shuffled):
    X, y = stations(10_000)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(X)) if is_shuffled else np.arange(len(X))
    model = SVGPRegressor(n_inducing=60, random_state=seed).fit(X[order], y[order])
    T = np.column_stack([rng.uniform(0.0, 50.0, 2000), np.tile(HEIGHTS, 500)])
    # without another start four of the eight had errors of 0.044 and more
    assert np.sqrt(np.mean((model.predict(T) - function(T)) ** 2)) < 0.008


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize("order", ["in turn", "by station", "shuffled"])
def test_few_rows_know_what_all_rows_have_missed(seed, order):
    """Two columns together hid this from a cubic of one: errors were 0.2 to 0.7, in silence."""
    X, y, T = many_stations()
    orders = {"in turn": np.arange(len(X)), "by station": np.argsort(X[:, 1], kind="stable")}
    order = orders.get(order, np.random.default_rng(1).permutation(len(X)))
    model = SVGPRegressor(n_inducing=60, random_state=seed).fit(X[order], y[order])
    assert np.sqrt(np.mean((model.predict(T) - with_levels(T)) ** 2)) < 0.02


def posed(monkeypatch, n_times=600, **parameters):
    """Fit few iterations; return what the step is called with."""
    called = []
    monkeypatch.setattr(
        engine, "or_off_the_plateau", lambda *parts: called.append(parts) or parts[1]
    )
    X, y = stations(n_times)
    parameters = {"n_inducing": 20, "max_iter": 40, "random_state": 0} | parameters
    SVGPRegressor(**parameters).fit(X, y)
    return called[0]


def test_left_out_means_are_those_of_the_other_rows():
    """The dense definition: each row predicted by the exact process of all others."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(12, 2)), rng.standard_normal(12)
    kernel = ConstantKernel(1.3) * RBF([0.4, 0.7])
    model = SVGPRegressor(kernel, inducing=X, noise_variance=0.1, optimizer=None, normalize_y=False)
    parameters = model.fit(X, y)._fitted.parameters
    rows = DistinctRows(X, np.arange(12), np.ones(12), y[:, None], np.zeros(1), 12.0)
    for row, mean in enumerate(left_out_means(parameters, rows)):
        others = np.arange(12) != row
        K = kernel(X[others]) + 0.1 * np.eye(11)
        dense = kernel(X[[row]], X[others]) @ np.linalg.solve(K, y[others])
        np.testing.assert_allclose(mean, dense, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:max_iter")
def test_what_is_left_is_found_in_its_column(monkeypatch):
    problem, best, _ = posed(monkeypatch)
    rows, fitted = problem.rows, best.fitted
    height = (rows.X[:, 1] - rows.X[:, 1].mean()) / rows.X[:, 1].std()
    for share, expected in ((0.0, False), (0.02, False), (0.2, True)):
        noise = np.random.default_rng(0).standard_normal((len(rows), 1))
        part = (height**3)[:, None] / np.std(height**3)
        left = np.sqrt(1.0 - share) * noise + np.sqrt(share) * (part - part.mean())
        y = fitted.posterior.mean(rows.X) + left
        other = replace(rows, y=y * rows.y_scale + rows.y_mean)
        assert plateaus._is_left(replace(problem, rows=other), fitted) == expected


@pytest.mark.filterwarnings("ignore:max_iter")
def test_a_fit_that_has_missed_much_begins_anew_with_what_few_rows_learn(monkeypatch):
    problem, best, _ = posed(monkeypatch, kernel=RBF([10.0, 500.0]), n_inducing=60, max_iter=1)
    beside = plateaus._beside(problem, best.fitted)
    scales = beside.start.parameters.kernel.sklearn_kernel.length_scale
    assert 0.3 < scales[0] < 5.0
    assert scales[1] > 50.0
    np.testing.assert_allclose(beside.start.parameters.Z, best.fitted.start.parameters.Z)
    assert beside.settings.n_restarts_optimizer == 0


@pytest.mark.filterwarnings("ignore:max_iter")
def test_the_kernel_with_most_parameters_is_asked_what_was_missed(monkeypatch):
    """A fit that has ended with one smooth kernel misses levels that only a rough one knows."""
    asked, learned_from = [], plateaus._learned_from
    problem, best, _ = posed(monkeypatch)
    starts = default_starts(problem.start)
    simplest = min(starts, key=lambda one: len(one.parameters.theta))
    monkeypatch.setattr(
        plateaus, "_learned_from", lambda rows, one: asked.append(one) or learned_from(rows, one)
    )
    plateaus._beside(problem, replace(best.fitted, start=simplest))
    most = max(len(one.parameters.theta) for one in starts)
    assert len(asked[0].parameters.theta) == most > len(simplest.parameters.theta)


@pytest.mark.slow
def test_noise_of_another_output_hides_nothing():
    """Rows predicted from one another told little of both outputs together: errors of .71."""
    X, y, T = many_stations(8000)
    y = np.column_stack([y, np.random.default_rng(3).standard_normal(len(y))])
    model = SVGPRegressor(n_inducing=60, random_state=1).fit(X, y)
    assert np.sqrt(np.mean((model.predict(T)[:, 0] - with_levels(T)) ** 2)) < 0.03


@pytest.mark.parametrize("size, expected", [(0.0, False), (1e-8, False), (1.0, True)])
def test_rows_are_asked_of_each_output(size, expected, monkeypatch):
    """Three of four are noise, and others' predictions of it."""
    left, other = np.random.default_rng(0).standard_normal((2, 400, 4))
    left[:, 0], other[:, 0] = size * other[:, 1], size * other[:, 1]
    fitted = SimpleNamespace(posterior=SimpleNamespace(mean=np.zeros_like))
    rows = SimpleNamespace(X=left, means=left)
    monkeypatch.setattr(plateaus, "left_out_means", lambda *_: other)
    assert plateaus._knows_more(SimpleNamespace(parameters=None), rows, fitted) == expected


def test_a_column_is_asked_of_each_output():
    """Beside noise, and an output that never changes, of which rounding is left."""
    x, noise = np.linspace(-1.0, 1.0, 50), np.random.default_rng(0).standard_normal((50, 9))
    features, parts = np.vander(x, 4), (noise, x[:, None] ** 3, np.full((50, 1), 1e-17))
    shares = [plateaus._explained(features, part) for part in parts]
    assert shares[0] < 0.3 and shares[1] > 0.99 and shares[2] == 0.0
    together = plateaus._explained(features, np.hstack(parts))
    np.testing.assert_allclose(together, max(shares))


@pytest.mark.filterwarnings("ignore:max_iter")
def test_a_fit_that_has_missed_nothing_stays(monkeypatch):
    problem, best, _ = posed(monkeypatch, kernel=RBF([2.0, 700.0]), n_inducing=100)
    assert plateaus._beside(problem, best.fitted) is None


@pytest.mark.filterwarnings("ignore:max_iter")
def test_nothing_is_asked_where_learning_goes_to_the_end(monkeypatch):
    problem, best, _ = posed(monkeypatch, optimizer="lbfgs")
    asked = []
    monkeypatch.setattr(plateaus, "_learned_from", lambda *parts: asked.append(parts))
    assert plateaus._beside(problem, best.fitted) is None
    assert not asked


def test_where_inducing_inputs_alone_are_learned_few_rows_tell_nothing(rng):
    """Their kernel and noise are held: that was scipy's ValueError."""
    X = rng.uniform(size=(3000, 1))
    y = np.sin(40.0 * X[:, 0]) + 0.1 * rng.normal(size=3000)
    options = {"noise_variance_bounds": "fixed", "n_inducing": 20, "max_iter": 2}
    model = SVGPRegressor(RBF(0.5, "fixed"), random_state=0, **options)
    model.fit(X, y, sample_weight=np.full(3000, 1.0 / 3000.0))  # precisions, as noise is given
    assert model.kernel_ == RBF(0.5, "fixed")
