"""The state of a stream between batches: when it begins anew, what it counts."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from stream_helpers import batches, make_line, taught

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.engines.streams.initial_rows import InitialRows
from sklearn_sgp.engines.streams.stream import Stream, _is_spent
from sklearn_sgp.estimators.settings import settings_of


def model_of(**options):
    return StreamingSGPRegressor(**({"n_inducing": 10, "max_iter": 2} | options))


def engine_of(random_state=None):
    return Stream(None, 0.0, 1.0, 1.0, keeps_scales=True, random_state=random_state)


def test_every_batch_has_a_seed_of_its_own():
    """An integer seed gives each batch another one, the same after a restart; others are kept."""
    assert [engine_of(7)._seed(k) for k in range(3)] == [7, 8, 9]
    assert engine_of(2**32 - 1)._seed(1) == 0
    generator = np.random.RandomState(0)
    assert engine_of(generator)._seed(5) is generator


def test_a_stream_is_spent_after_its_last_step():
    """max_steps counts batches that may be learned from."""
    assert not _is_spent(settings_of(model_of()), 10**6)
    settings = settings_of(model_of(max_steps=2))
    assert [_is_spent(settings, k) for k in range(4)] == [False, False, True, True]


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_counted(rng, weighted):
    """A state knows the weight of all rows so far, and of those that were learned from."""
    X, y = make_line(rng)
    weight = np.tile([0.5, 2.0, 1.0], 300) if weighted else np.ones(900)
    model = model_of(max_steps=2)
    seen = []
    for lo in (0, 300, 600):
        part = weight[lo : lo + 300]
        model.partial_fit(X[lo : lo + 300], y[lo : lo + 300], part if weighted else None)
        state = model._fitted.state
        seen.append((state.weight_seen, state.weight_learned))
    total = np.cumsum(weight.reshape(3, 300).sum(axis=1))
    assert_allclose(seen, [(total[0], total[0]), (total[1], total[1]), (total[2], total[1])])


def test_the_first_rows_are_kept_until_they_are_enough(rng):
    """Rows are kept as they came until they would be too many; without learning none are."""
    X, y = make_line(rng)
    order = rng.permutation(900)
    X, y = X[order], y[order]
    model, engine = model_of(), engine_of()
    n_begun = []
    for lo, hi in ((0, 10), (10, 20), (20, 30), (30, 50), (50, 60)):
        model.partial_fit(X[lo:hi], y[lo:hi])
        kept = model._fitted.state.initial_rows
        assert_array_equal(kept.rows.X, X[:hi])
        assert_array_equal(kept.rows.y, y[:hi])
        n_begun.append(kept.rule.n_begun)
    assert n_begun == [10, 20, 30, 30, 60]
    assert engine.may_begin_anew(model._fitted, settings_of(model))
    model.partial_fit(X[60:320], y[60:320])  # 320 cannot double any more
    assert model._fitted.state.initial_rows is None
    assert not engine.may_begin_anew(model._fitted, settings_of(model))
    still = model_of(optimizer=None).partial_fit(X[:10], y[:10])
    assert still._fitted.state.initial_rows is None


def test_nothing_is_kept_of_what_fades_or_has_changed(rng):
    """Rows of a first batch that later ones are to forget, or that a shift has left, are gone."""
    X, y = make_line(rng)
    own = ConstantKernel() * RBF(1.0)
    for options in ({"forget_factor": 0.9}, {"forget_factor": "auto"}, {"kernel": own}):
        assert model_of(**options).partial_fit(X[:30], y[:30])._fitted.state.initial_rows is None
    order = np.random.default_rng(0).permutation(900)
    X, y = X[order], y[order]
    model = taught(model_of(max_iter=20), batches(X[:300], y[:300], 100, 200))
    kept = model._fitted.state.initial_rows
    assert_array_equal(kept.rows.X, X[:300])
    with pytest.warns(UserWarning, match="Batches should go on"):
        model.partial_fit(X[300:500], y[300:500] + 10.0)
    assert model._fitted.state.initial_rows is None
    for spoil in (
        lambda X, y: (X, y * np.where(y == y.max(), 100.0, 1.0)),
        lambda X, y: (X + 99.0, y),
    ):
        model = model_of(max_iter=20).partial_fit(X[:100], y[:100])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what is far off may be told
            model.partial_fit(*spoil(X[100:200], y[100:200]))
        assert model._fitted.state.initial_rows is None


def test_a_stream_that_is_spent_does_not_begin_anew(rng):
    """Nor does one in which nothing is learned any more."""
    X, y = make_line(rng)
    fitted = model_of().partial_fit(X[:10], y[:10])._fitted
    for options in ({"max_steps": 1}, {"optimizer": None}):
        assert not engine_of().may_begin_anew(fitted, settings_of(model_of(**options)))


def test_initial_rows_leave_out_weights_of_zero():
    """Rows that weigh nothing are none, and later ones come after earlier ones."""
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    first = InitialRows.of(Inputs(X[:3]), y[:3], np.array([1.0, 0.0, 2.0]), None)
    assert_array_equal(first.rows.X[:, 0], [0.0, 2.0])
    both = first.joined(Inputs(X[3:]), y[3:], None)
    assert_array_equal(both.rows.X[:, 0], [0.0, 2.0, 3.0, 4.0, 5.0])
    assert_array_equal(both.rows.weight, [1.0, 2.0, 1.0, 1.0, 1.0])


def test_states_are_replaced_and_never_changed(rng):
    """A state that was kept still gives what it gave, whatever came after it."""
    X, y = make_line(rng)
    model = taught(model_of(), batches(X[:600], y[:600], 300))
    fitted, state = model._fitted, model._fitted.state
    mean, copy = model.predict(X), replace(state)
    centre, scale = model.y_mean_, model.y_scale_
    model.partial_fit(X[600:], y[600:])
    assert model._fitted is not fitted and model._fitted.state is not state
    assert state == copy
    assert_array_equal(fitted.posterior.mean(X)[:, 0] * scale + centre, mean)
