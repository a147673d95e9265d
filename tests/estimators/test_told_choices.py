"""The attribute ``choices_`` tells what a fit compared."""

import numpy as np
import pytest

from sklearn_sgp import AnytimeSGPRegressor

KEYS = ["choice", "candidate", "score", "standard_error", "seconds", "taken"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 2))
    return X, np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(120)


def test_kernels_are_told(table):
    """A default fit tells kernels and starts; exactly one of each comparison is taken."""
    choices = AnytimeSGPRegressor(random_state=0).fit(*table).choices_
    assert all(list(entry) == KEYS for entry in choices)
    kernels = [entry for entry in choices if entry["choice"] == "kernel and start"]
    assert len({entry["candidate"] for entry in kernels}) == len(kernels) >= 3
    assert sum(entry["taken"] for entry in kernels) == 1
    taken = max(kernels, key=lambda entry: entry["score"])
    assert taken["taken"]
    assert taken["standard_error"] == 0.0


def test_nothing_is_told_where_nothing_was_chosen(table):
    """With a given kernel there is one candidate."""
    from sklearn.gaussian_process.kernels import RBF

    model = AnytimeSGPRegressor(RBF(), model="vif", random_state=0).fit(*table)
    assert model.choices_ == []
