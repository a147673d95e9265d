"""A stream owns what it keeps, and what it keeps does not depend on weights."""

import pickle

import numpy as np
import pytest
from callback_helpers import Callback
from numpy.testing import assert_allclose, assert_array_equal
from stream_helpers import batches, make_line

from sklearn_sgp import StreamingSGPClassifier, StreamingSGPRegressor

try:
    from sklearn.callback import ScoringMonitor
except ImportError:
    ScoringMonitor = None

KINDS = [StreamingSGPRegressor, StreamingSGPClassifier]


def targets_for(kind, y):
    return y if kind is StreamingSGPRegressor else (y > 0.0).astype(float)


@pytest.mark.quick_cases("StreamingSGPRegressor")
@pytest.mark.parametrize("kind", KINDS)
def test_a_buffer_may_be_filled_again(kind, rng):
    """Batches that come in one array, refilled each time, are learned as copies are."""
    X, y = make_line(rng)
    y = targets_for(kind, y)
    order = rng.permutation(900)
    X, y, weight = X[order], y[order], rng.uniform(0.5, 2.0, 900)
    buffers = np.empty((10, 1)), np.empty(10), np.empty(10)
    reused, copied = (kind(n_inducing=10, max_iter=3, random_state=0) for _ in range(2))
    classes = {} if kind is StreamingSGPRegressor else {"classes": [0.0, 1.0]}
    for lo in range(0, 40, 10):
        pieces = [part[lo : lo + 10].copy() for part in (X, y, weight)]
        for buffer, piece in zip(buffers, pieces, strict=True):
            buffer[...] = piece
        reused.partial_fit(buffers[0], buffers[1], sample_weight=buffers[2], **classes)
        copied.partial_fit(pieces[0], pieces[1], sample_weight=pieces[2], **classes)
        for buffer in buffers:
            buffer[...] = 0.5
        assert_array_equal(reused.predict(X), copied.predict(X))


@pytest.mark.quick_cases("10000.0-StreamingSGPRegressor", "1e-06-StreamingSGPClassifier")
@pytest.mark.filterwarnings("ignore:sample_weight should (have a mean|count rows)")  # told of
@pytest.mark.filterwarnings("ignore:Batches should go on")  # two iterations are too few
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [0.01, 1e-6, 1.0 / 30.0, 1e4])
def test_rows_are_counted_and_not_their_weight(kind, weight, rng):
    """A batch of 30 rows is enough, whatever it weighs; size and batches stay as they are."""
    X, y = make_line(rng)
    y, sizes = targets_for(kind, y), []
    model = kind(n_inducing=10, max_iter=2, random_state=0)
    classes = {} if kind is StreamingSGPRegressor else {"classes": [0.0, 1.0]}
    model.set_params(forget_factor=1.0 - 1e-12)  # so that nothing is kept to begin anew
    for piece in batches(X[::3], y[::3], *range(30, 300, 30)):
        model.partial_fit(*piece, sample_weight=np.full(len(piece[0]), weight), **classes)
        assert model._fitted.state.initial_rows is None
        sizes.append(len(pickle.dumps(model)))
    assert model._fitted.state.n_rows == 300
    half = len(sizes) // 2  # after a shift nothing is known of batches before
    assert max(sizes[half:]) < 1.1 * max(sizes[: half + 1])
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.quick_cases("StreamingSGPRegressor")
@pytest.mark.skipif(ScoringMonitor is None, reason="scikit-learn before 1.9 has no callbacks")
@pytest.mark.parametrize("kind", KINDS)
def test_snapshots_stay_as_they_were(kind, rng):
    """What a callback was shown after a batch still predicts so after the last one."""
    X, y = make_line(rng)
    y, seen = targets_for(kind, y), []

    class Snapshots(Callback):
        """Keeps what it is shown."""

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if fitted_estimator is not None and context.parent is not None:
                seen.append((fitted_estimator, fitted_estimator.predict(X)))

    options = {"n_inducing": 12, "max_iter": 3, "random_state": 0}
    own_X, own_y = X[:320].copy(), y[:320].copy()
    model = kind(init_size=20, batch_size=100, **options).set_callbacks(Snapshots())
    model.fit(own_X, own_y)
    own_X[...], own_y[...] = 0.0, 1.0
    stream = kind(**options)
    classes = {} if kind is StreamingSGPRegressor else {"classes": np.unique(y)}
    assert len(seen) == 4
    pieces = batches(X[:320], y[:320], 20, 120, 220)
    for (snapshot, before), piece in zip(seen, pieces, strict=True):
        stream.partial_fit(*piece, **classes)
        assert_array_equal(snapshot.predict(X), before)
        assert_allclose(snapshot.log_evidence_, stream.log_evidence_, rtol=1e-9)
        assert_allclose(before, stream.predict(X), rtol=1e-6, atol=1e-6)
