"""k-means without warnings, and the nearest centre, also in several threads."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans, kmeans_plusplus

from sklearn_sgp.data.clusters import _first_centres, distinct, kmeans, nearest


def _points(n=400, d=3):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)) + 1e3, rng.gamma(1.0, 1.0, n)


@pytest.mark.parametrize("max_iter", [1, 5, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_centres_are_those_of_scikit_learn(weighted, max_iter):
    """Centres are those of KMeans with the same seed, sorted."""
    X, weight = _points()
    weight = weight if weighted else None
    model = KMeans(9, n_init=1, max_iter=max_iter, random_state=4).fit(X, sample_weight=weight)
    mine = kmeans(X, 9, np.random.RandomState(4), max_iter=max_iter, weight=weight)
    assert_allclose(mine, np.unique(model.cluster_centers_, axis=0), rtol=1e-12)


@pytest.mark.parametrize("n, d, count", [(400, 3, 60), (30, 40, 30), (9, 1, 1)])
@pytest.mark.parametrize("repeated", [False, True])
def test_first_centres_are_those_of_scikit_learn(n, d, count, repeated):
    """The same places after the same random numbers, where points are equal, too."""
    rng, both = np.random.default_rng(0), [np.random.RandomState(4) for _ in range(2)]
    X, weight = rng.standard_normal((n, d)), rng.gamma(1.0, 1.0, n)
    X = np.zeros((n, d)) if repeated else X
    expected = kmeans_plusplus(X, count, sample_weight=weight, random_state=both[0])[1]
    assert_array_equal(_first_centres(X, count, weight, both[1], "k-means++"), X[expected])
    assert both[0].uniform() == both[1].uniform()


def test_centres_may_begin_at_any_points():
    """Random first centres are points, and the iterations are those of KMeans from there."""
    X, _ = _points()
    first = X[np.random.RandomState(4).permutation(len(X))[:9]]
    model = KMeans(9, init=first, n_init=1, max_iter=30, tol=1e-4).fit(X)
    mine = kmeans(X, 9, np.random.RandomState(4), max_iter=30, init="random")
    assert_allclose(mine, np.unique(model.cluster_centers_, axis=0), rtol=1e-12)


def test_nearest():
    """Each row gets the number of the centre at the least distance."""
    X, _ = _points()
    distance = ((X[:, None] - X[None, :7]) ** 2).sum(axis=2)
    assert_array_equal(nearest(X, X[:7]), distance.argmin(axis=1))


@pytest.mark.parametrize("points", [[[2.0, 1.0], [-1.0, 5.0]], [[1.0, 2], [1, 1], [0, 3], [1, 2]]])
def test_distinct_points(points):
    """They are those of numpy.unique, whether the first column tells them apart or not."""
    assert_array_equal(distinct(np.array(points)), np.unique(points, axis=0))


# Of 30 points 27 are one but for rounding: KMeans finds fewer clusters than it is asked for
_CLOSE = np.concatenate([np.arange(3.0), 5.0 + 1e-12 * np.arange(27)])[:, None]


def test_points_that_are_close_together_warn_of_nothing():
    """Where k-means finds fewer clusters than asked for, fewer centres may come, and no warning."""
    centres = kmeans(_CLOSE, 12, np.random.RandomState(0), max_iter=20)
    assert 4 <= len(centres) <= 12
    assert np.isfinite(centres).all()
    assert_allclose(nearest(_CLOSE[:3], centres), np.arange(3))


def test_filters_of_warnings_are_left_alone():
    """Nothing is filtered out, for filters belong to all threads."""

    def filtered(action, *_, **__):
        assert action == "error"  # scikit-learn's own, where it validates

    with pytest.MonkeyPatch.context() as patch:
        for name in ("simplefilter", "filterwarnings"):
            patch.setattr(warnings, name, filtered)
        centres = kmeans(_CLOSE, 4, np.random.RandomState(0), max_iter=20)
    assert len(centres) == 4


def test_threads_that_overlap_leave_blas_its_threads(two_blas_threads):
    """k-means in four threads gives each what it gives alone, and BLAS keeps its threads."""
    X, _ = _points(100)
    barrier = threading.Barrier(4)

    def centres(seed):
        barrier.wait(10)
        return kmeans(X, 5, np.random.RandomState(seed), max_iter=20)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(centres, range(4)))
    for seed, one in enumerate(found):
        assert_allclose(one, kmeans(X, 5, np.random.RandomState(seed), max_iter=20), rtol=1e-9)
