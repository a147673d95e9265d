"""Classifiers of classes in an order."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPClassifier, StreamingSGPClassifier, SVGPClassifier
from sklearn_sgp.likelihoods import Ordinal

ESTIMATORS = {
    "variational": SVGPClassifier(n_inducing=12, max_iter=30),
    "near rows": AnytimeSGPClassifier(n_inducing=12, n_neighbors=60, init_size=400, max_iter=10),
    "stream": StreamingSGPClassifier(n_inducing=12, init_size=150, batch_size=150),
}
EVERYWHERE = pytest.mark.parametrize("where", ESTIMATORS)
KERNEL = 1.0 * RBF(1.0)


def grades(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 1))
    f = 2.0 * np.sin(X[:, 0])
    return X, np.searchsorted([-1.0, 0.2, 1.5], f + 0.3 * rng.standard_normal(n)) + 1


def model_of(where, **options):
    model = clone(ESTIMATORS[where]).set_params(likelihood="ordinal", random_state=0, n_jobs=1)
    return model.set_params(**options)


@pytest.mark.quick_cases("stream", "variational")
@EVERYWHERE
def test_grades_are_learned(where):
    """Probabilities sum to one, are better than frequencies by far, and thresholds increase."""
    X, y = grades()
    new, later = grades(seed=1)
    model = model_of(where, kernel=KERNEL).fit(X, y)
    p = model.predict_proba(new)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    share = np.bincount(y)[1:] / len(y)
    assert model.log_density(new, later).mean() > 0.55 * share @ np.log(share)
    assert np.abs(model.predict(new) - later).mean() < 0.35
    assert (np.diff(model.likelihood_.thresholds) > 0.0).all()
    assert model.decision_function(new).shape == (300, 4)
    assert model.predict_std(new).shape == (300,)


def dense(X, y, cuts, Xs):
    """P(class) at Xs by quadrature of four rows' function values under the exact process."""
    K = KERNEL(np.vstack([X, Xs])) + 1e-9 * np.eye(len(X) + len(Xs))
    L, n = np.linalg.cholesky(K[:4, :4]), len(X)
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    z = np.array(list(itertools.product(nodes, repeat=n)))
    w = np.prod(np.array(list(itertools.product(weights, repeat=n))), axis=1)
    f, ends = z @ L.T, np.concatenate([[-np.inf], cuts, [np.inf]])
    for row in range(n):
        w *= special.ndtr(ends[y[row] + 1] - f[:, row]) - special.ndtr(ends[y[row]] - f[:, row])
    A = np.linalg.solve(L, K[:n, n:])
    mean, variance = z @ A, np.maximum(K[n:, n:].diagonal() - (A**2).sum(axis=0), 0.0)
    below = special.ndtr((ends[1:-1] - mean[:, :, None]) / np.sqrt(1.0 + variance)[None, :, None])
    cumulative = np.einsum("i,ijc->jc", w / w.sum(), below)
    return np.diff(cumulative, axis=1, prepend=0.0, append=1.0)


@pytest.mark.quick_cases("variational")
@EVERYWHERE
def test_of_four_rows_it_is_the_exact_process(where):
    """Given thresholds and kernel, probabilities are those of the dense posterior."""
    X, y, cuts = np.array([[0.0], [0.8], [2.0], [4.0]]), np.array([0, 2, 1, 3]), [-1.0, 0.0, 1.0]
    Xs = np.array([[0.4], [1.5], [3.0], [9.0]])
    model = model_of(where, likelihood=Ordinal(cuts), kernel=KERNEL, inducing=X, optimizer=None)
    assert_allclose(model.fit(X, y).predict_proba(Xs), dense(X, y, cuts, Xs), atol=0.03)


@pytest.mark.parametrize("where", ["variational", "near rows"])
def test_weights_are_repetitions(where):
    """Weight 2 is the row twice."""
    X, y = grades(80)
    weight = np.where(np.arange(80) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(80), weight.astype(int))
    model = model_of(where, kernel=KERNEL, inducing=X[::8], optimize_inducing=False)
    one, two = clone(model).fit(X, y, weight), clone(model).fit(X[repeated], y[repeated])
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-4)


@EVERYWHERE
def test_batches_end_near_all_rows(where):
    """Later batches are learned from, whichever classes they hold."""
    X, y = grades(200)
    model = model_of(where, kernel=KERNEL, inducing=X[::20], optimizer=None)
    whole = clone(model).fit(X, y)
    for part in np.array_split(np.arange(200), 4):
        model.partial_fit(X[part], y[part], classes=[1, 2, 3, 4])
    p, expected = model.predict_proba(X), whole.predict_proba(X)
    assert np.abs(p - expected).mean() < 0.06


@pytest.mark.slow
def test_default_kernels_of_grades_are_learned():
    """Without a kernel, too: nothing of what regressions of classes do is asked for."""
    X, y = grades(200)
    for where in ESTIMATORS:
        model = model_of(where).fit(X, y)
        assert model.score(X, y) > 0.6
