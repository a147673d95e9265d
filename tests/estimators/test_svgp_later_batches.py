"""Later batches of partial_fit: class weights, limits, unequal weights, changed parameters."""

import numpy as np
import pytest
from failures import assert_unchanged, state_of
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from svgp_regressors import fixed

from sklearn_sgp import SVGPClassifier, SVGPRegressor
from sklearn_sgp.data.rows import random_index
from sklearn_sgp.engines.variational import partial_fit, schedule
from sklearn_sgp.likelihoods import StudentT
from sklearn_sgp.optimize import budget


@pytest.fixture
def labels(rng):
    """90 rows of three classes that lie in rings: X (90, 2) and y (90,)."""
    X = rng.uniform(-2.0, 2.0, (90, 2))
    return X, np.digitize(np.hypot(*X.T), [0.8, 1.6])


def classifier(**parameters):
    return SVGPClassifier(n_inducing=8, max_iter=3, random_state=0, **parameters)


def test_batch_of_classes_without_weight(labels):
    """A batch whose classes all have weight zero changes nothing."""
    X, y = labels
    model = classifier(class_weight={0: 1.0, 1: 1.0, 2: 0.0})
    model.partial_fit(X, y, classes=[0, 1, 2])
    before, probability = state_of(model), model.predict_proba(X)
    model.partial_fit(X[y == 2], y[y == 2])
    assert_unchanged(model, before)
    assert_array_equal(model.predict_proba(X), probability)
    weight = (y == 2).astype(float)
    model.partial_fit(X, y, sample_weight=weight)
    assert_unchanged(model, before)


@pytest.mark.parametrize("n_first", [90, 30])
def test_batch_without_a_class_that_has_a_weight(labels, n_first):
    """A class that is missing from a batch, the first one too, does no harm to its weight."""
    X, y = labels
    model = classifier(class_weight={1: 5.0})
    first = np.arange(90) if n_first == 90 else np.flatnonzero(y != 1)[:n_first]
    model.partial_fit(X[first], y[first], classes=[0, 1, 2])
    mine = model.partial_fit(X[y != 1], y[y != 1]).partial_fit(X, y)
    given = classifier().partial_fit(
        X[first], y[first], [0, 1, 2], np.where(y[first] == 1, 5.0, 1.0)
    )
    given.partial_fit(X[y != 1], y[y != 1]).partial_fit(X, y, None, np.where(y == 1, 5.0, 1.0))
    assert_allclose(mine.predict_proba(X), given.predict_proba(X), rtol=1e-8)


def test_bad_class_weights(labels):
    """Negative weights, classes that are not there and weights that leave nothing are refused."""
    X, y = labels
    for bad, message in [
        ({0: -1.0}, "finite and not negative. Got"),
        ({0: np.nan}, "finite and not negative. Got"),
        ({0: 0.0, 1: 0.0, 2: 0.0}, "above zero. Got"),
        ({7: 1.0}, "class_weight"),
    ]:
        with pytest.raises(ValueError, match=message):
            classifier(class_weight=bad).fit(X, y)
    model = classifier(class_weight={1: 5.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"among the classes \[0, 1, 2\]. Got also \[3\]"):
        model.partial_fit(X, y + 1)


# Limits


@pytest.mark.parametrize("kind", ["gaussian", "student_t", "classifier"])
@pytest.mark.parametrize("limit", [{"max_steps": 1}, {"max_time": 1e-6}], ids=str)
def test_limits_of_later_batches(toy, kind, limit):
    """After max_steps or max_time the other rows are only added: parameters take no more steps."""
    X, y = toy
    parameters = {"n_inducing": 8, "max_iter": 3, "batch_size": 10, "random_state": 0}
    if kind == "classifier":
        model, y = SVGPClassifier(**parameters), y > y.mean()
    else:
        model = SVGPRegressor(likelihood=kind, **parameters)
    model.partial_fit(X, y).set_params(**limit)
    theta = model.kernel_.theta
    model.partial_fit(X, y)
    steps = limit.get("max_steps", 0)
    assert model.n_steps_ == steps
    assert_allclose(np.abs(model.kernel_.theta - theta), 0.01 * steps, rtol=1e-3, atol=1e-12)
    assert model.n_samples_seen_ == 120
    assert np.isfinite(model.objective_)


def test_max_steps_with_a_total(toy):
    """With total_samples, rows come again, so a limit ends a batch, after one step at least."""
    for limit in ({"max_steps": 2}, {"max_time": 1e-6}):
        model = fixed(total_samples=60, batch_size=10).partial_fit(*toy)
        model.set_params(**limit).partial_fit(*toy)
        n_steps = limit.get("max_steps", 1)
        assert model.n_steps_ == n_steps
        assert model.n_samples_seen_ == 60 + 10 * n_steps


def test_rows_that_the_time_leaves_out(toy, monkeypatch):
    """Rows that max_time leaves no time for are said and not counted; random ones are used."""
    X, y = toy
    used = 20 + random_index(len(X) - 20, len(X) - 20, np.random.RandomState(0))[:10]
    used = np.append(np.arange(20), used)
    model = fixed(batch_size=10, max_time=0.01, normalize_y=(5.0, 3.0)).partial_fit(X[:20], y[:20])
    monkeypatch.setattr(partial_fit, "measured_seconds", lambda task: [task(), 1.0][1])
    with pytest.warns(ConvergenceWarning, match="max_time=0.01 .*rests on 10 of them"):
        model.partial_fit(X[20:], y[20:])
    assert model.n_samples_seen_ == 30
    whole = fixed(normalize_y=(5.0, 3.0)).fit(X[used], y[used])
    assert_allclose(model.predict(X), whole.predict(X), rtol=1e-8)
    assert_allclose(model.objective_, whole.objective_, rtol=1e-8)


def test_rows_that_a_fit_leaves_out(wave, monkeypatch):
    """n_samples_seen_ counts rows that the posterior rests on, and later objectives are honest."""
    X, y = np.tile(wave[0], (20, 1)), np.tile(wave[1], 20)
    model = SVGPRegressor(n_inducing=10, optimizer=None, random_state=0, max_time=1e-3)
    with monkeypatch.context() as patch:
        patch.setattr(schedule, "_finish_seconds", lambda *args: 1e6)
        patch.setattr(budget, "_SLACK_SECONDS", 0.0)
        with pytest.warns(ConvergenceWarning, match=r"max_time.* rests on 4096 of them"):
            model.fit(X, y)
    assert model.n_samples_seen_ == 4096
    model.set_params(max_time=None).partial_fit(X[:500], y[:500])
    assert model.n_samples_seen_ == 4596
    assert not model._fitted.state.exact


# Weights


def test_first_batch_of_a_weighted_whole(toy):
    """A first batch with weights stands for all rows of total_samples, whatever the weights."""
    X, y = toy
    light = fixed(total_samples=600, natural_step=1.0).partial_fit(X, y, np.full(60, 0.1))
    whole = fixed().fit(X, y)
    assert_allclose(
        light.predict_std(X, include_noise=False),
        whole.predict_std(X, include_noise=False),
        rtol=1e-8,
    )


def test_the_first_batch_is_a_natural_step_as_well(toy):
    """With total_samples q(u) goes from the prior the share natural_step towards each batch."""
    X, y = toy
    options = {"total_samples": 600, "natural_step": 0.3, "normalize_y": (0.0, 1.0)}
    batches = [(X[:20], y[:20]), (X[20:60], y[20:60])]
    model, information = fixed(**options), 0.0
    for rows in batches:
        model.partial_fit(*rows)
        alone = fixed(normalize_y=(0.0, 1.0)).fit(*rows)
        asked = fitted(alone).posterior.scaled(600 / len(rows[1]))
        information = (1.0 - 0.3) * information + 0.3 * asked.h
        assert_allclose(fitted(model).posterior.h, information, rtol=1e-7, atol=1e-7)


# Changed parameters


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": 3.0 * RBF([1.0, 2.0])},
        {"kernel": 2.0 * RBF([1.0, 2.0], (1e-2, 10.0))},
        {"kernel__k2__length_scale": [1.0, 5.0]},
        {"likelihood": "student_t"},
        {"likelihood": StudentT(3.0)},
        {"optimize_inducing": False},
        {"inducing": np.zeros((3, 2))},
        {"noise_variance": 0.3},
        {"noise_variance_bounds": (0.01, 1.0)},
        {"normalize_y": False},
    ],
    ids=str,
)
def test_changes_that_need_a_new_fit(toy, change):
    """A parameter that later batches cannot heed is refused with its name, until a new fit."""
    X, y = toy
    model = SVGPRegressor(2.0 * RBF([1.0, 2.0]), n_inducing=8, max_iter=3, random_state=0)
    model.fit(X, y).set_params(**change)
    before = state_of(model)
    with pytest.raises(ValueError, match=rf"{next(iter(change)).split('__')[0]} must stay .*fit"):
        model.partial_fit(X, y)
    assert_unchanged(model, before)
    model.fit(X, y).partial_fit(X, y)


def test_changes_that_later_batches_heed(toy):
    """Equal values in new objects, and parameters of the steps, may be set between batches."""
    X, y = toy
    Z = X[:8].copy()
    model = SVGPRegressor(2.0 * RBF([1.0, 2.0]), inducing=Z, max_iter=3, likelihood=StudentT(3.0))
    model.fit(X, y)
    model.set_params(kernel=2.0 * RBF([1.0, 2.0]), inducing=Z.tolist(), likelihood=StudentT(3.0))
    model.set_params(optimizer=None, batch_size=7, learning_rate=0.1, n_inducing=30)
    model.partial_fit(X, y)
    chosen = SVGPRegressor(n_inducing=8, max_iter=3, random_state=0).fit(X, y)
    assert len(chosen.set_params(inducing="random", n_inducing=9).partial_fit(X, y).kernel_.theta)


def test_rows_that_count_otherwise_are_not_left_out(rng):
    """What one of them says is not what the model has: it stands for more, or the kernel moved."""
    X = rng.uniform(0.0, 6.0, (120, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    options = {"n_inducing": 10, "max_iter": 20, "random_state": 0}
    total = SVGPRegressor(**options, total_samples=1000).partial_fit(X, y)
    moved = SVGPRegressor(**options).partial_fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    for model in (total, moved):
        with pytest.raises(ValueError, match="rows that count once"):
            model.leave_one_out(X, y)
    held = SVGPRegressor(**options).partial_fit(X[:80], y[:80]).set_params(optimizer=None)
    whole = held.partial_fit(X[80:], y[80:]).leave_one_out(X, y)
    assert np.isfinite(whole[0]).all()
