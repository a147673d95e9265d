"""Inducing inputs of a stream: which are taken, and pairs of old and new ones."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from stream_helpers import parameters_of, rows_of

from sklearn_sgp.data.inducing import greedy_error
from sklearn_sgp.engines.streams.inducing import (
    NO_PAIRS,
    StreamInducing,
    restrict,
)


def choose(choice, rows, old, spare=0, noise=0.09):
    """Inducing inputs and pairs, for a kernel that is short enough to want many."""
    kernel = parameters_of(rows.X[:1], length_scale=(0.3, 0.3)).kernel
    rng = np.random.RandomState(0)
    return choice.choose(rows, kernel, noise, old, 100.0, np.ones(2), rng, spare)


@pytest.mark.parametrize("method", ["greedy", "kmeans", "random"])
@pytest.mark.parametrize("n_inducing", [5, 12, 100])
def test_pairs_name_what_was_there_before(method, n_inducing):
    """No more than asked for; pairs are the inputs that stay, and the others are rows or means."""
    rows, old = rows_of(20), rows_of(6, seed=1).X
    Z, kept = choose(StreamInducing(method, n_inducing, None), rows, old)
    assert len(Z) == min(n_inducing, 26)
    assert len(np.unique(Z, axis=0)) == len(Z)
    assert_array_equal(Z[kept[:, 0]], old[kept[:, 1]])
    own = np.delete(Z, kept[:, 0], axis=0)
    if method != "kmeans" or n_inducing == 100:
        assert not (own[:, None] == old).all(axis=2).any()
        assert (own[:, None] == rows.X).all(axis=2).any(axis=1).all()
    if n_inducing == 100:
        assert len(kept) == 6


def test_rows_where_an_inducing_input_is_are_not_taken_again():
    """A batch that repeats old inducing inputs adds none."""
    rows = rows_of(6)
    Z, kept = choose(StreamInducing("greedy", 100, None), rows, rows.X)
    assert_array_equal(np.sort(Z, axis=0), np.sort(rows.X, axis=0))
    assert_array_equal(kept[:, 0], np.arange(6))
    assert_array_equal(Z, rows.X[kept[:, 1]])


def test_the_first_ones_have_no_pairs():
    """A stream begins with the same choice, with nothing that was there before."""
    rows, choice = rows_of(30), StreamInducing("greedy", 8, None)
    kernel = parameters_of(rows.X[:1], length_scale=(0.3, 0.3)).kernel
    first = choice.first(rows, kernel, 0.09, np.ones(2), np.random.RandomState(0))
    Z, kept = choose(choice, rows, rows.X[:0])
    assert_array_equal(first, Z)
    assert len(Z) == 8
    assert_array_equal(kept, NO_PAIRS)


def test_a_minimum_takes_no_more_than_the_noise_hides():
    """With min_inducing the choice ends where all that is left is small beside the noise."""
    rows, none = rows_of(40), np.empty((0, 2))
    every, loud, quiet = (
        choose(StreamInducing("greedy", 40, least), rows, none, noise=noise)[0]
        for least, noise in ((None, 5.0), (3, 5.0), (3, 0.5))
    )
    assert len(every) == 40
    assert 3 <= len(loud) < len(quiet) < 40
    deaf = choose(StreamInducing("greedy", 40, 3), rows, none, noise=1e6)[0]
    assert len(deaf) == 3
    kernel = parameters_of(none, length_scale=(0.3, 0.3)).kernel.sklearn_kernel
    Kbu = kernel(rows.X, quiet)
    left = kernel.diag(rows.X) - np.sum(Kbu * np.linalg.solve(kernel(quiet), Kbu.T).T, axis=1)
    assert left.max() < 0.1 * 0.5


def test_greedy_may_take_more_to_thin_out_later():
    """Spare ones are for "greedy" only, which says how many have to be left."""
    rows, old = rows_of(20), rows_of(6, seed=1).X
    greedy, random = (StreamInducing(method, 8, None) for method in ("greedy", "random"))
    assert (greedy.thins_to, random.thins_to) == (8, None)
    assert len(choose(greedy, rows, old, spare=4)[0]) == 12


# Thinning out


def test_what_tells_most_is_the_naive_definition(rng):
    """The fast greedy choice is the one by its definition."""
    X, means = rng.uniform(0.0, 5.0, (25, 1)), rng.standard_normal((25, 2))
    K = RBF(0.7)(X) + 1e-6 * np.eye(25)
    chosen = []
    for _ in range(6):
        P = np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen]).T
        variance = np.diagonal(K - P @ K[chosen])
        error = variance + np.mean((means - P @ means[chosen]) ** 2, axis=1)
        error[chosen] = -1.0
        chosen.append(int(np.argmax(error)))
    assert_array_equal(greedy_error(K, means, 6), np.sort(chosen))


def test_what_tells_nothing_new_is_left_out():
    """A value that others determine is not picked, so that there may be fewer than asked for."""
    K = np.ones((4, 4)) + np.diag([0.0, 0.0, 1.0, 0.0])
    assert len(greedy_error(K, np.zeros((4, 1)), 4)) == 2


def test_thinned_pairs_name_the_same_inducing_inputs():
    """Pairs that are left name the same inducing inputs by their new numbers."""
    Z, old = np.array([[3.0], [1.0], [7.0], [5.0]]), np.array([[1.0], [2.0], [3.0]])
    Z_left, kept = restrict(Z, np.array([[0, 2], [1, 0]]), np.array([1, 2]))
    assert_array_equal(Z_left, [[1.0], [7.0]])
    assert_array_equal(kept, [[0, 0]])
    assert_array_equal(Z_left[kept[:, 0]], old[kept[:, 1]])
