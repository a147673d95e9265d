"""Streams that cannot tell what has shifted say that a batch is far less probable than before."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from slow_variants import slow

from sklearn_sgp import StreamingSGPClassifier, StreamingSGPRegressor
from sklearn_sgp.engines.streams.surprises import NO_SURPRISES

AT = 6


def classes(rng, n, is_other):
    X = rng.uniform(-3.0, 3.0, (n, 2))
    odds = 3.0 * np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1]), 0.3 * X[:, 0]])
    p = np.exp(odds[:, [1, 2, 0]] if is_other else odds)
    return X, (np.cumsum(p / p.sum(1, keepdims=True), 1) < rng.uniform(size=(n, 1))).sum(1)


def numbers(rng, n, is_other):
    X = rng.uniform(-3.0, 3.0, (n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(n) + 1.0 * is_other


def heavy_tails(rng, n, is_other):
    X = rng.uniform(-3.0, 3.0, (n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_t(3, size=n) + 1.5 * is_other


def counts(rng, n, is_other):
    X = rng.uniform(-3.0, 3.0, (n, 1))
    return X, rng.poisson(np.exp(1.5 + np.sin(2.0 * X[:, 0]) + 1.0 * is_other))


KINDS = {
    "classes": (StreamingSGPClassifier(), classes),
    "units": (StreamingSGPRegressor(normalize_y=False), numbers),
    "given": (StreamingSGPRegressor(RBF(1.0), optimizer=None, noise_variance=0.04), numbers),
    "student": (StreamingSGPRegressor(likelihood="student_t"), heavy_tails),
    "counts": (StreamingSGPRegressor(likelihood="poisson"), counts),
}


def told(kind, at, n=60, seed=0, n_batches=9):
    """Return the batches that were told of, and the stream."""
    model, draw = KINDS[kind]
    rng, when = np.random.default_rng(seed), []
    model = clone(model).set_params(n_inducing=30, random_state=0, max_iter=10)
    for k in range(n_batches):
        X, y = draw(rng, n, k >= at)
        more = {"classes": [0, 1, 2]} if kind == "classes" and k == 0 else {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = model.partial_fit(X, y, **more)
        when += [k for one in caught if "less" in str(one.message) or "lower" in str(one.message)]
    return when, model


@pytest.mark.parametrize("kind", ["classes", "units", "given", slow("student"), slow("counts")])
def test_a_shift_is_told_once(kind):
    when, model = told(kind, AT)
    assert when == [AT]
    assert model.n_shifts_ == 1


@pytest.mark.parametrize("kind, n", [("classes", 60), ("units", 5), slow("student", 20)])
def test_batches_as_before_are_no_shift(kind, n):
    when, model = told(kind, np.inf, n, n_batches=16)
    assert when == []
    assert model.n_shifts_ == 0


def test_one_row_far_off_is_no_shift():
    rng = np.random.default_rng(0)
    surprises, zeros, ones = NO_SURPRISES, np.zeros(10), np.ones(10)
    for _ in range(8):
        surprises = surprises.after(0.7 * rng.standard_normal(10), zeros, ones, ones)
        assert surprises.fall == 0.0
    one, all_rows = np.where(np.arange(10) == 3, -np.inf, 0.0), np.full(10, -2.0)
    assert surprises.after(one, zeros, ones, ones).fall == 0.0
    assert 1.0 < surprises.after(all_rows, zeros, ones, ones).fall < 2.5


def test_few_rows_wait_for_others():
    """Batches of four rows are compared two by two: the sums are those of eight at once."""
    values, ones = np.linspace(-1.0, 0.5, 16), np.ones(4)
    parts = NO_SURPRISES
    for part in values.reshape(4, 4):
        parts = parts.after(part, np.zeros(4), ones, ones)
    whole = NO_SURPRISES
    for part in values.reshape(2, 8):
        whole = whole.after(part, np.zeros(8), np.ones(8), np.ones(8))
    np.testing.assert_allclose(parts.usual.total, whole.usual.total)
    assert parts.usual.count == whole.usual.count == 2.0


def surprised_by(model, draw, n_batches, last):
    """Return whether a stream is told of the last of its batches, and of none before."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(n_batches):
            model.partial_fit(*draw(k))
        before = model.n_shifts_
        model.partial_fit(*last)
    assert before == 0, [str(one.message) for one in caught]
    return model.n_shifts_ > before


def test_quiet_hours_of_counts_are_no_shift():
    """Zeros that are nearly sure are more probable than counts of five."""
    rng = np.random.default_rng(0)

    def draw(k, rate=5.0):
        X = np.column_stack([rng.normal(size=100), np.full(100, np.log(rate))])
        return X, rng.poisson(rate, 100)

    model = StreamingSGPRegressor(
        likelihood="poisson", offset_column=1, n_inducing=10, max_iter=5, random_state=0
    )
    assert not surprised_by(model, draw, 7, draw(7, 0.01))


def test_large_targets_of_a_warp_are_no_shift():
    """The slope of the warp there is part of what is expected."""
    rng = np.random.default_rng(0)

    def draw(k, low=0.0):
        X = rng.uniform(low, 6.0, (80, 1))
        return X, np.exp(0.8 * X[:, 0] + 0.1 * rng.standard_normal(80))

    options = {"n_inducing": 20, "max_iter": 10, "random_state": 0}
    model = StreamingSGPRegressor(likelihood="student_t", normalize_y="yeo-johnson", **options)
    assert not surprised_by(model, draw, 8, draw(8, 5.0))


def test_rows_of_hardly_any_weight_are_no_shift():
    rng = np.random.default_rng(0)

    def draw(k):
        return numbers(rng, 60, False)

    X, y = numbers(rng, 60, False)
    y[:40] += 3.0
    weight = np.where(np.arange(60) < 40, 1e-6, 1.0)
    model = StreamingSGPRegressor(normalize_y=False, n_inducing=20, random_state=0)
    assert not surprised_by(model, draw, 6, (X, y, weight))
