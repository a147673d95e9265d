"""What one batch may do: what is held, how often it is learned from, when there is a signal."""

import numpy as np
import pytest
from failures import assert_unchanged, interrupt, state_of
from numpy.testing import assert_allclose, assert_array_equal
from stream_helpers import batches, fixed, make_line, taught

from sklearn_sgp import StreamingSGPClassifier, StreamingSGPRegressor
from sklearn_sgp.engines.streams import batch, rounds
from sklearn_sgp.engines.streams.rounds import sees_signal
from sklearn_sgp.estimators.numbers import later_rows


@pytest.mark.parametrize("size", [0.0, 2.0])
def test_a_signal_is_what_noise_does_not_explain(rng, size):
    """A mean that moves by far more than noise would make it is a signal, a flat one is none."""
    X = rng.uniform(0.0, 3.0, (200, 1))
    y = size * np.sin(2.0 * X[:, 0]) + np.sqrt(0.05) * rng.standard_normal(200)
    stream = fixed(n_inducing=4).partial_fit(X, y)
    result, rows = stream._fitted, later_rows(stream._fitted, (X, None, None), y, None)
    explained = np.var(stream.predict(X)) * 200 / 0.05
    assert sees_signal(result, rows, 200.0) == (explained > 20.0) == (size > 0.0)


def test_a_signal_in_one_output_is_one(rng):
    """Of several outputs one that moves is enough."""
    X = rng.uniform(0.0, 3.0, (200, 1))
    y = np.sqrt(0.05) * rng.standard_normal((200, 2))
    y[:, 1] += 2.0 * np.sin(2.0 * X[:, 0])
    stream = fixed(n_inducing=4, normalize_y=([0.0, 0.0], [1.0, 1.0])).partial_fit(X, y)
    rows = later_rows(stream._fitted, (X, None, None), y, None)
    assert sees_signal(stream._fitted, rows, 200.0)


@pytest.mark.parametrize("kind", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_without_learning_parameters_stay(rng, kind):
    """optimizer=None leaves kernel and noise, and old inducing inputs, where they are."""
    X, y = make_line(rng)
    y = y if kind is StreamingSGPRegressor else y > 0.0
    model = taught(kind(n_inducing=30, max_iter=3), batches(X[:600], y[:600], 300))
    before, Z = model._fitted, model.inducing_points_
    model.set_params(optimizer=None).partial_fit(X[600:], y[600:])
    after, move = model._fitted, 0.0
    if kind is StreamingSGPRegressor:  # in units of y they stay
        move = 2.0 * np.log(before.targets.scale / after.targets.scale)[0]
    theta = before.parameters.theta + np.array([move, 0.0])
    assert_allclose(after.parameters.theta, theta, rtol=1e-12)
    assert_allclose(after.parameters.log_noise, before.parameters.log_noise + move, rtol=1e-12)
    old, new = ({float(z) for z in some[:, 0]} for some in (Z, model.inducing_points_))
    assert len(new & old) >= 10


def counted_rounds(monkeypatch, failing=()):
    """A list that gets an entry for each round; those of some numbers fail."""
    entries, optimized = [], rounds._optimized

    def counted(*arguments):
        entries.append(len(entries))
        if entries[-1] in failing:
            raise np.linalg.LinAlgError("a leading minor is not positive definite")
        return optimized(*arguments)

    monkeypatch.setattr(rounds, "_optimized", counted)
    return entries


def test_a_batch_of_more_rows_than_before_is_learned_from_twice(rng, monkeypatch):
    """As the first one is, with each kernel: what was learned so far is no more than a start."""
    X, y = make_line(rng)
    order, entries = rng.permutation(900), counted_rounds(monkeypatch)
    X, y = X[order], y[order]
    model = StreamingSGPRegressor(n_inducing=10, max_iter=3)
    for lo, hi, count in ((0, 60, 4), (60, 200, 4), (200, 260, 1)):
        model.partial_fit(X[lo:hi], y[lo:hi])
        assert len(entries) == count
        entries.clear()


def test_a_second_round_that_fails_leaves_the_first(rng, monkeypatch):
    """No warning says that nothing was learned, and the kernel has moved."""
    X, y = make_line(rng)
    counted_rounds(monkeypatch, failing=(3,))
    model = StreamingSGPRegressor(n_inducing=10, max_iter=3).partial_fit(X[:60], y[:60])
    before = model.kernel_
    model.partial_fit(X[60:], y[60:])
    assert model.kernel_ != before


@pytest.mark.parametrize("module, name", [(rounds, "ascend_lbfgs"), (batch, "warn_about_jitter")])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_batch_that_is_interrupted_changes_nothing(rng, monkeypatch, module, name, error):
    """Whatever is raised in the middle of a batch leaves the stream for the next one."""
    X, y = make_line(rng)
    model, other = (
        taught(StreamingSGPRegressor(n_inducing=10, max_iter=3), batches(X[:300], y[:300]))
        for _ in range(2)
    )
    before = state_of(model)
    with monkeypatch.context() as patch:
        interrupt(patch, module, name, 1, error)
        with pytest.raises(error):
            model.partial_fit(X[300:], y[300:])
    assert_unchanged(model, before)
    for one in (model, other):
        one.partial_fit(X[300:], y[300:])
    assert_array_equal(model.predict(X), other.predict(X))
