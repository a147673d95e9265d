"""Default kernels learn directions where a function has some, and keep columns elsewhere."""

import pickle
import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from slow_variants import slow

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.data.distinct import DistinctRows
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines import learned_directions
from sklearn_sgp.engines.blocks import engine
from sklearn_sgp.engines.variational import engine as variational
from sklearn_sgp.kernels._compile import compile_without_noise
from sklearn_sgp.kernels._turned import count_of_weights, directions_of
from sklearn_sgp.objectives.exact import left_out_score
from sklearn_sgp.optimize.parameters import Parameters

KINDS = [AnytimeSGPRegressor, SVGPRegressor]
WEIGHTS = np.array([1.0, 1.0, -1.0, 1.0, 0.0, 0.5])


def table(f, n=150, n_columns=6, noise=0.1, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, n_columns))
    return X, f(X) + noise * rng.standard_normal(n)


def ridge(X):
    return np.sin(X @ WEIGHTS)


def two(X):
    return np.sin(X @ WEIGHTS) + 0.5 * np.cos(2.0 * (X[:, 1] + X[:, 2])) * X[:, 4]


def of_columns(X):
    return np.sin(1.5 * X[:, 0]) + np.tanh(X[:, 1]) + 0.3 * X[:, 2] ** 2


def error(model, f):
    T = np.random.RandomState(9).standard_normal((300, 6))
    return np.sqrt(np.mean((model.predict(T) - f(T)) ** 2))


@pytest.fixture
def columns_only(monkeypatch):
    monkeypatch.setattr(learned_directions, "_MOST_TURNED", 1)


@pytest.fixture(scope="module")
def ridges():
    return {kind: kind(random_state=0).fit(*table(ridge)) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_a_weighted_sum_is_found(kind, ridges):
    model = ridges[kind]
    directions = directions_of(model.kernel_)
    assert directions.shape == (1, 6)
    assert_allclose(directions[0] / directions[0, 0], WEIGHTS, atol=0.2)
    assert error(model, ridge) < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_better_than_columns(kind, ridges, columns_only):
    plain = kind(random_state=0).fit(*table(ridge))
    assert directions_of(plain.kernel_) is None
    assert error(plain, ridge) > 3.0 * error(ridges[kind], ridge)
    assert plain.objective_ < ridges[kind].objective_ - 30.0


def test_the_choice_is_told(ridges):
    told = [
        one for one in ridges[SVGPRegressor].choices_ if one["choice"] == "columns or directions"
    ]
    assert [one["taken"] for one in told] == [False, True]
    assert told[1]["candidate"].endswith("directions")


def test_a_second_fit_takes_steps_of_the_size_of_weights(monkeypatch):
    """Adam changes them by shares of what was found, as it does length scales."""
    starts, start_at = [], learned_directions._start_at
    monkeypatch.setattr(
        learned_directions, "_start_at", lambda *given: starts.append(start_at(*given)) or starts[0]
    )
    X, y = table(lambda X: ridge(0.3 * X))
    AnytimeSGPRegressor(random_state=0).fit(1e3 * X, y)
    unit, theta = starts[0].space.group("theta").unit, starts[0].parameters.theta
    shares = (theta / unit)[unit != 1.0]
    assert_allclose(np.mean(shares**2), 25.0, rtol=1e-6)
    near = starts[0].space.within_reach(starts[0].parameters, 3.0).group("theta").bounds
    weights = (unit != 1.0) & (near[:, 0] > starts[0].space.group("theta").bounds[:, 0])
    size = 5.0 * unit  # L-BFGS may change them by all they are, thrice
    assert_allclose((theta - near[:, 0])[weights], 3.0 * size[weights])


@pytest.mark.quick_cases("AnytimeSGPRegressor")
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_not_certain(kind, ridges, monkeypatch):
    """Variances are larger by (n + p) / (n - p), and means and objective stay."""
    monkeypatch.setattr(learned_directions, "_wider", lambda *_: None)
    X, y = table(ridge)
    certain = kind(random_state=0).fit(X, y)
    assert ridges[kind].objective_ == certain.objective_
    assert_array_equal(ridges[kind].objectives_, certain.objectives_)
    (mean, before), (same, after) = (
        model.predict(X[:20], return_std=True) for model in (certain, ridges[kind])
    )
    assert_allclose(same, mean, atol=1e-6)
    assert_allclose((after / before) ** 2, (150 + 6) / (150 - 6), rtol=1e-4)


@pytest.mark.quick_cases("AnytimeSGPRegressor")
@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_with_fewer_rows_than_weights(kind):
    X, y = table(ridge)
    model = kind(random_state=0, warm_start=True, n_inducing=20).fit(X, y)
    assert directions_of(model.fit(X[:5], y[:5]).kernel_) is not None
    assert np.isfinite(model.predict(X[:9], return_std=True)).all()


@pytest.mark.quick_cases("AnytimeSGPRegressor")
@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts_give_room_once(kind):
    """Variances grew with each fit of a few iterations."""
    X, y = table(ridge)
    model = kind(random_state=0, warm_start=True).fit(X, y)
    noise = model.set_params(max_iter=1).noise_variance_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k in range(1, 5):
            model.fit(X, y * (1.0 + 1e-9 * k))
    assert directions_of(model.kernel_) is not None
    assert_allclose(model.noise_variance_, noise, rtol=0.1)


@pytest.mark.slow
def test_several_directions():
    model = AnytimeSGPRegressor(random_state=0).fit(*table(two, 300))
    assert 2 <= len(directions_of(model.kernel_)) <= 3
    assert error(model, two) < 0.25


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_columns_are_kept(kind, seed):
    X, y = table(of_columns, seed=seed)
    assert directions_of(kind(random_state=0).fit(X, y).kernel_) is None


def test_large_tables_keep_columns(monkeypatch):
    """A second fit of them takes as long as the first one."""
    monkeypatch.setattr(learned_directions, "_MOST_TURNED_ROWS", 149)
    assert directions_of(AnytimeSGPRegressor(random_state=0).fit(*table(ridge)).kernel_) is None


def test_noise_is_no_direction():
    X, y = table(of_columns, n=100, noise=1.5, seed=7)
    model = AnytimeSGPRegressor(random_state=0).fit(X, y)
    assert directions_of(model.kernel_) is None
    assert error(model, of_columns) < 0.75


@pytest.mark.quick_cases("AnytimeSGPRegressor")
@pytest.mark.parametrize("kind", KINDS)
def test_what_keeps_columns_is_the_same_to_the_last_bit(kind, columns_only, monkeypatch):
    X, y = table(of_columns)
    plain = kind(random_state=0).fit(X, y)
    monkeypatch.undo()
    model = kind(random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("kind", KINDS)
def test_a_given_kernel_is_left_alone(kind, monkeypatch):
    asked = []
    monkeypatch.setattr(learned_directions._Search, "best", asked.append)
    X, y = table(ridge, 80)
    kind(ConstantKernel() * RBF(np.ones(6)), random_state=0).fit(X, y)
    kind(random_state=0, categorical_features=[5]).fit(np.round(X), y)
    kind(random_state=0, optimizer=None).fit(X, y)
    assert not asked


@pytest.mark.quick_cases("1000000.0")
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_columns_change_nothing(unit, ridges):
    X, y = table(ridge)
    model = AnytimeSGPRegressor(random_state=0).fit(unit * X, y)
    before = ridges[AnytimeSGPRegressor]
    assert_allclose(model.predict(unit * X), before.predict(X), atol=0.02)


def test_a_column_of_one_value_has_no_weight():
    X, y = table(ridge)
    X = np.insert(X, 2, 7.0, axis=1)
    model = AnytimeSGPRegressor(random_state=0).fit(X, y)
    seen = model.kernel_.get_params()
    assert [0, 1, 3, 4, 5, 6] in [value for value in seen.values() if isinstance(value, list)]
    assert model.feature_importances_[2] == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_serves_as_others_do(kind, ridges):
    X, y = table(ridge)
    model = pickle.loads(pickle.dumps(ridges[kind]))
    before = model.predict(X[:5])
    assert_array_equal(before, ridges[kind].predict(X[:5]))
    slopes, step = model.predict_gradient(X[:1])[0], 1e-5
    moved = [model.predict(X[:1] + step * one)[0] for one in np.eye(6)]
    assert_allclose(slopes, (np.array(moved) - before[0]) / step, atol=1e-3)
    assert model.feature_importances_.argmin() == 4
    model.set_params(warm_start=True, optimizer=None).fit(X, y)
    assert_allclose(model.predict(X[:5]), before, atol=1e-6)
    model.set_params(optimizer="auto").fit(X, y)
    assert directions_of(model.kernel_).shape == (1, 6)
    model.partial_fit(*table(ridge, 30, seed=3))
    assert error(model, ridge) < 0.1


@pytest.mark.quick_cases("AnytimeSGPRegressor-ends0")
@pytest.mark.parametrize("ends", [NotPositiveDefiniteError("lost"), slow(KeyboardInterrupt())])
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_fit_outlives_the_second_one(kind, ends, monkeypatch, columns_only):
    X, y = table(ridge)
    plain = kind(random_state=0).fit(X, y)
    monkeypatch.undo()
    again = learned_directions.or_along_directions

    def fails(problem):
        raise ends

    module = engine if kind is AnytimeSGPRegressor else variational
    monkeypatch.setattr(module, "or_along_directions", lambda *given: again(*given[:2], fails))
    model = kind(random_state=0)
    with pytest.raises(KeyboardInterrupt) if isinstance(ends, KeyboardInterrupt) else nullcontext():
        model.fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))


def test_a_second_fit_that_was_interrupted_is_told_to_be():
    X, y = table(ridge)
    model, again = AnytimeSGPRegressor(random_state=0), learned_directions.or_along_directions

    def interrupted(*given):
        other, learned = given[2](given[0])
        return again(*given[:2], lambda _: (other, replace(learned, interrupted=True)))

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(engine, "or_along_directions", interrupted)
        model.fit(X, y)
    assert model.predict(X).shape == y.shape


@pytest.mark.slow
def test_warped_targets_and_their_plain_mean_have_directions():
    X, y = table(lambda X: np.sin(X @ WEIGHTS) + 0.5 * np.cos(X[:, 1] + X[:, 2] - X[:, 4]))
    model = AnytimeSGPRegressor(likelihood="auto", random_state=0).fit(X, np.exp(y))
    warp = [one["candidate"] for one in model.choices_ if one["choice"] == "warp" and one["taken"]]
    assert warp == ["logarithm"]
    assert directions_of(model.kernel_) is not None
    told = [one for one in model.choices_ if one["choice"] == "columns or directions"]
    assert [one["taken"] for one in told] == [False, True]
    assert min(one["score"] for one in model.choices_ if one["choice"] == "distribution") > 0.0


@pytest.mark.slow
@pytest.mark.quick_cases("AnytimeSGPRegressor")
@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_sees_columns_that_vary_since(kind):
    X, y = table(ridge)
    before = np.insert(X, 6, 7.0, axis=1)
    model = kind(random_state=0, warm_start=True).fit(before, y)
    assert directions_of(model.kernel_).shape[1] == 6
    since = np.insert(X, 6, np.random.RandomState(1).standard_normal(150), axis=1)
    directions = directions_of(model.fit(since, y + 2.0 * since[:, 6]).kernel_)
    assert directions is None or directions.shape[1] == 7


@pytest.mark.slow
def test_outputs_that_share_a_kernel(monkeypatch):
    """There is as much room as for weights that twice as many targets have told."""
    X, y = table(ridge)
    Y = np.column_stack([y, np.cos(X @ WEIGHTS)])
    model = SVGPRegressor(random_state=0, max_iter=50).fit(X, Y)
    assert directions_of(model.kernel_) is not None
    monkeypatch.setattr(learned_directions, "_wider", lambda *_: None)
    certain = SVGPRegressor(random_state=0, max_iter=50).fit(X, Y)
    count = count_of_weights(model.kernel_)
    room = model.noise_variance_ / certain.noise_variance_
    assert_allclose(room, (300 + count) / (300 - count), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_later_rows_join_what_has_room(kind, ridges):
    """Blocks and inducing inputs are those of what was learned."""
    model = pickle.loads(pickle.dumps(ridges[kind])).set_params(optimizer=None)
    model.partial_fit(*table(ridge, 30, seed=3))
    assert error(model, ridge) < 0.1


@pytest.mark.slow
@pytest.mark.quick_cases("AnytimeSGPRegressor")
@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_amid_the_room_keeps_what_was_learned(kind, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    X, y = table(ridge)
    monkeypatch.setattr(learned_directions, "_wider", lambda *_: None)
    certain = kind(random_state=0).fit(X, y)
    monkeypatch.setattr(learned_directions, "_wider", interrupted)
    model = kind(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_array_equal(model.predict(X, return_std=True), certain.predict(X, return_std=True))


def test_left_out_densities():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((20, 2)), rng.standard_normal((20, 1))
    expression, _, _ = compile_without_noise(ConstantKernel() * RBF(1.0), np.zeros(2))
    noise = {"theta": expression.theta, "log_noise": np.log(0.3), "Z": X}
    rows = Rows(X, y, None, np.zeros(1), np.ones(1))
    score = left_out_score(Parameters(expression, noise), DistinctRows.within_inputs(X, rows))
    K = expression.bind(expression.theta).gram(X) + 0.3 * np.eye(20)
    for i in range(20):
        others = np.delete(np.arange(20), i)
        weights = np.linalg.solve(K[np.ix_(others, others)], K[others, i])
        variance = K[i, i] - weights @ K[others, i]
        away = y[i, 0] - weights @ y[others, 0]
        expected = -0.5 * (np.log(2.0 * np.pi * variance) + away**2 / variance)
        assert_allclose(score.each[i], expected, rtol=1e-6)
