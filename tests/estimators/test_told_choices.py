"""The attribute ``choices_`` tells what a fit compared."""

import numpy as np
import pytest

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

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


def about(model):
    """Return what was chosen, and assert that one of each comparison was taken."""
    told = {}
    for entry in model.choices_:
        told.setdefault(entry["choice"], []).append(entry)
    for entries in told.values():
        assert sum(entry["taken"] for entry in entries) == 1
        assert all(np.isfinite(entry["score"]) for entry in entries if entry["taken"])
    return told


def test_kernels_of_variational_models_are_told(table):
    """`SVGPRegressor` compares default kernels by their bounds."""
    told = about(SVGPRegressor(n_inducing=20, max_iter=30, random_state=0).fit(*table))
    assert [entry["candidate"] for entry in told["kernel and start, 120 rows"]] == [
        "RBF",
        "Matern(nu=1.5)",
        "RBF + Matern(nu=0.5)",
        "RBF (2)",
    ]


def test_noise_and_warp_are_told(table):
    """With ``likelihood="auto"`` noises and warps are told besides kernels."""
    X, y = table
    model = AnytimeSGPRegressor(likelihood="auto", random_state=0).fit(X, np.exp(y))
    told = about(model)
    assert [entry["candidate"] for entry in told["power of the targets"]] == [
        "as they are",
        "square root",
        "logarithm",
    ]
    assert len(told["warp"]) == 2
    assert {entry["candidate"] for entry in told["noise"]} >= {"Gaussian", "StudentT"}
    assert len(told["kernel and start"]) > 1


def test_noise_is_not_varying_with_tails_where_neither_gains():
    """With equal Gaussian noise both together are not tried."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(150, 1))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(150)
    told = about(AnytimeSGPRegressor(likelihood="auto", random_state=0).fit(X, y))
    noises = ["Gaussian", "StudentT", "HeteroscedasticGaussian"]
    assert [entry["candidate"] for entry in told["noise"]] == noises


@pytest.mark.slow
def test_settings_of_classes_are_told(table):
    """Values of `alpha_epsilon`, and the variance of a softmax, are told."""
    X, y = table
    labels = np.digitize(y, [-0.3, 0.5])
    model = AnytimeSGPClassifier(random_state=0).fit(X, labels)
    entries = about(model)["alpha_epsilon"]
    assert {float(entry["candidate"]) for entry in entries} >= {0.1, 0.01}
    (taken,) = (entry["candidate"] for entry in entries if entry["taken"])
    assert float(taken) == model.alpha_epsilon_
    X, labels = np.vstack([X, X + 0.01]), np.tile(labels, 2)  # fewer rows have the bound of labels
    softmax = SVGPClassifier(n_inducing=10, max_iter=20, random_state=0).fit(X, labels)
    assert "variance, powers of 4" in about(softmax)
