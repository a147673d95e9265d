"""What must not matter to any estimator: how rows are handed over, copied and asked about."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from slow_variants import slow

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # of max_iter, bounds and jitter
N_ROWS, N_LATER, N_TESTS = 90, 30, 25
SMALL = {"n_inducing": 12, "max_iter": 8, "random_state": 0}
REGRESSORS = {
    "svgp": SVGPRegressor(**SMALL),
    "vif": AnytimeSGPRegressor(n_neighbors=15, **SMALL),
    "pic": AnytimeSGPRegressor(model="pic", block_size=30, **SMALL),
    "stream": StreamingSGPRegressor(**SMALL),
}
CLASSIFIERS = {
    "svgp labels": SVGPClassifier(**SMALL),
    "vif labels": AnytimeSGPClassifier(n_neighbors=15, alpha_epsilon=0.01, **SMALL),
    "stream labels": StreamingSGPClassifier(**SMALL),
}
SUPERVISED = REGRESSORS | CLASSIFIERS
EVERY = SUPERVISED | {"latent": BayesianGPLVM(n_components=2, **SMALL)}


def table(name):
    """X, targets (None for latent inputs) and X of tests; whole numbers in single precision."""
    rng = np.random.default_rng(5)
    X = np.float32(rng.normal(size=(N_ROWS + N_LATER + N_TESTS, 3))).astype(np.float64)
    y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=len(X))
    if name in CLASSIFIERS:
        y = np.digitize(y, [-0.6, 0.6])
    end = N_ROWS + N_LATER
    return X[:end], y[:end], X[end:]


def fitted(name, X, y, **more):
    model = clone(EVERY[name])
    return model.fit(X) if name == "latent" else model.fit(X, y, **more)


def more_rows(model, X, y):
    return model.partial_fit(X) if y is None else model.partial_fit(X, y)


def answers(model, T):
    """All moments, or probabilities, at some rows."""
    if hasattr(model, "transform"):
        mean, std = model.transform(T, return_std=True)
        return np.hstack([mean, std])
    if hasattr(model, "predict_proba"):
        return np.column_stack([model.predict_proba(T), model.predict_std(T)])
    mean, std = model.predict(T, return_std=True)
    return np.column_stack([mean, std, model.predict_quantiles(T, (0.1, 0.9))])


@pytest.fixture(scope="module")
def first():
    """Of each estimator: a fit of the first rows, kept between tests, which must not change it."""
    found = {}

    def of(name):
        if name not in found:
            X, y, _ = table(name)
            found[name] = fitted(name, X[:N_ROWS], y[:N_ROWS])
        return found[name]

    return of


@pytest.mark.parametrize("name", EVERY)
def test_order_and_pieces_of_what_is_asked(name, first):
    """Each row is predicted by itself: in another order, in pieces, alone and twice."""
    T, model = table(name)[2], first(name)
    whole = answers(model, T)
    order = np.random.default_rng(0).permutation(len(T))
    close = {"rtol": 1e-6, "atol": 1e-7}
    assert_allclose(answers(model, T[order]), whole[order], **close)
    pieces = [answers(model, part) for part in (T[:1], T[1:8], T[8:])]
    assert_allclose(np.concatenate(pieces), whole, **close)
    assert_allclose(answers(model, np.concatenate([T, T])), np.tile(whole, (2, 1)), **close)
    assert_allclose(answers(model, T), whole, rtol=1e-9, atol=1e-12)


@pytest.mark.quick_cases("svgp", "stream", "vif", "svgp labels")
@pytest.mark.parametrize("name", EVERY)
def test_what_holds_the_rows(name):
    """Data frames, single precision, lists and other strides hold the same numbers."""
    X, y, T = table(name)
    X, y = X[:N_ROWS], y[:N_ROWS]
    expected = answers(fitted(name, X, y), T)
    frame, other = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(T, columns=list("abc"))
    assert_allclose(answers(fitted(name, frame, y), other), expected, rtol=1e-9, atol=1e-12)
    found = answers(fitted(name, X.astype(np.float32), y), T.astype(np.float32))
    assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    lists = answers(fitted(name, X.tolist(), y.tolist()), T.tolist())
    assert_allclose(lists, expected, rtol=1e-9, atol=1e-12)
    strided = answers(fitted(name, np.asfortranarray(X), y), T[:, ::-1][:, ::-1])
    assert_allclose(strided, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", EVERY)
def test_copies(name, first):
    """Clones learn the same, and copies go on with later rows as their originals do."""
    X, y, T = table(name)
    model, later = first(name), slice(N_ROWS, None)
    expected = answers(model, T)
    again = fitted(name, X[:N_ROWS], y[:N_ROWS])
    assert_allclose(answers(again, T), expected, rtol=1e-9, atol=1e-12)
    others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    targets = None if name == "latent" else y[later]
    went_on = answers(more_rows(again, X[later], targets), T)
    for other in others:
        assert_allclose(answers(other, T), expected, rtol=1e-9, atol=1e-12)
        assert_allclose(answers(more_rows(other, X[later], targets), T), went_on, rtol=1e-7)
    assert_allclose(answers(model, T), expected, rtol=1e-9, atol=1e-12)
    assert np.abs(went_on - expected).max() > 1e-6


@pytest.mark.slow_cases("svgp labels")
@pytest.mark.parametrize("name", EVERY)
def test_number_of_jobs(name, first):
    """Two jobs learn and predict what one does."""
    X, y, T = table(name)
    model = clone(EVERY[name]).set_params(n_jobs=2)
    model = model.fit(X[:N_ROWS]) if name == "latent" else model.fit(X[:N_ROWS], y[:N_ROWS])
    assert_allclose(answers(model, T), answers(first(name), T), rtol=1e-6, atol=1e-8)


@pytest.mark.quick_cases("*-swapped")
@pytest.mark.parametrize("order", [[2, 0, 1], [1, 0, 2]], ids=["turned", "swapped"])
@pytest.mark.parametrize("name", SUPERVISED)
def test_order_of_columns(name, order, first):
    """Columns in another order give the same predictions, whatever is drawn at random."""
    X, y, T = table(name)
    model = fitted(name, X[:N_ROWS, order], y[:N_ROWS])
    assert_allclose(answers(model, T[:, order]), answers(first(name), T), rtol=1e-6, atol=1e-6)


NEARLY = 0.1 * (1.0 + 1e-15 * np.arange(N_ROWS + N_LATER + N_TESTS))


@pytest.mark.parametrize(
    "value",
    [slow(0.0), slow(-273.15), slow(1e9), NEARLY],
    ids=["0", "small", "1e9", "nearly"],
)
@pytest.mark.parametrize("name", SUPERVISED)
def test_a_constant_column(name, value, first):
    """Columns of one value, up to rounding, change nothing, whatever it is and how many they are.

    Inducing inputs are given: k-means centres are means of such columns, too, off by rounding.
    """
    X, y, T = table(name)
    where = (0, 2, 3) if np.ndim(value) else (1,)
    every = np.vstack([X, T])
    more = np.insert(every, where, np.reshape(value, (-1, 1)), axis=1)
    found, expected = (
        answers(
            clone(SUPERVISED[name]).set_params(inducing=A[:12]).fit(A[:N_ROWS], y[:N_ROWS]),
            A[len(X) :],
        )
        for A in (more, every)
    )
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SUPERVISED)
def test_halves_of_rows(name):
    """Every row twice with half of its weight is every row once."""
    X, y, T = table(name)
    X, y = X[:N_ROWS], y[:N_ROWS]
    one, other = (clone(SUPERVISED[name]).set_params(inducing=X[:12]) for _ in range(2))
    expected = answers(one.fit(X, y, sample_weight=np.ones(N_ROWS)), T)
    twice = np.repeat(np.arange(N_ROWS), 2)
    other.fit(X[twice], y[twice], sample_weight=np.full(2 * N_ROWS, 0.5))
    assert_allclose(answers(other, T), expected, rtol=0.0, atol=2e-3)


@pytest.mark.parametrize("name", REGRESSORS)
def test_opposite_targets(name):
    """Targets of the other sign have means and quantiles of the other sign, and the same bands."""
    X, y, T = table(name)
    mean, std, low, high = answers(fitted(name, X[:N_ROWS], y[:N_ROWS]), T).T
    found = answers(fitted(name, X[:N_ROWS], -y[:N_ROWS]), T)
    assert_allclose(found, np.column_stack([-mean, std, -high, -low]), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_words_for_classes(name, first):
    """Words of the same order in the place of numbers have the same probabilities."""
    X, y, T = table(name)
    words = np.array(["a", "b", "ñ"])
    model = fitted(name, X[:N_ROWS], words[y[:N_ROWS]])
    expected = first(name).predict_proba(T)
    assert_allclose(model.predict_proba(T), expected, rtol=1e-9, atol=1e-12)
    assert_array_equal(model.predict(T), words[first(name).predict(T)])


@pytest.mark.parametrize("name", SUPERVISED)
def test_ways_to_ask_agree(name, first):
    """Moments, classes and scores are the same by whatever method they are asked for."""
    T, model = table(name)[2], first(name)
    if name in CLASSIFIERS:
        p = model.predict_proba(T)
        assert_array_equal(model.predict(T), model.classes_[p.argmax(axis=1)])
        assert_allclose(model.predict_log_proba(T), np.log(p), rtol=1e-9, atol=1e-12)
        y = model.predict(T)
        assert model.score(T, y) == 1.0
        assert_allclose(model.log_density(T, y), np.log(p.max(axis=1)), rtol=1e-9, atol=1e-12)
        return
    mean, std = model.predict(T, return_std=True)
    close = {"rtol": 1e-9, "atol": 1e-12}
    assert_allclose(model.predict(T), mean, **close)
    assert_allclose(model.predict_std(T), std, **close)
    assert_allclose(np.diag(model.predict(T, return_cov=True)[1]), std**2, rtol=1e-6)
    assert_allclose(model.predict_distribution(T).mean(), mean, **close)
    assert_allclose(model.predict_distribution(T).std(), std, **close)
    assert_allclose(model.score(T, mean), 1.0)
