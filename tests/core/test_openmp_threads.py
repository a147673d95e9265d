"""Loops by OpenMP keep to one thread where they are short, and nothing else is changed."""

from threading import Thread

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from sklearn_sgp._parallel import single_openmp_thread
from sklearn_sgp.partitions import search
from sklearn_sgp.partitions.search import nearest_rows

OPENMP = [one for one in ThreadpoolController().lib_controllers if one.user_api == "openmp"]


def counts():
    """Return the threads that each library would use for a loop of this thread."""
    return [library.num_threads for library in OPENMP]


def test_one_thread_inside_and_as_before_outside():
    """The context holds one thread, nested ones too, and what was there comes back."""
    before = counts()
    with single_openmp_thread():
        with single_openmp_thread():
            assert counts() == [1] * len(OPENMP)
        assert counts() == [1] * len(OPENMP)
    assert counts() == before
    with single_openmp_thread(False):
        assert counts() == before


def test_other_threads_keep_their_own():
    """A count is that of the thread that asks."""
    seen, before = [], counts()
    with single_openmp_thread():
        other = Thread(target=lambda: seen.append(counts()))
        other.start()
        other.join()
    assert seen in ([before], [[1] * len(OPENMP)])
    assert counts() == before


@pytest.mark.parametrize("small", [0, 1 << 40])
def test_neighbours_are_the_same_on_one_thread(monkeypatch, small):
    """How many threads search does not matter to what is found."""
    points = np.random.default_rng(0).normal(size=(400, 3))
    monkeypatch.setattr(search, "_SMALL_SEARCH", small)
    found = nearest_rows(points, points[:20], 5)
    away = ((points[:20, None] - points) ** 2).sum(axis=2)
    assert np.array_equal(found, np.argsort(away, axis=1)[:, :5])
