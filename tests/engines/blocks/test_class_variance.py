"""The variance of the functions of classes, chosen by classes of rows that are left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import norm, qmc
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import AnytimeSGPClassifier
from sklearn_sgp.engines.blocks import solver

OPTIONS = {"alpha_epsilon": 0.02, "n_inducing": 20, "random_state": 0, "n_jobs": 1}


def data(n=140):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n) > 0.0


def not_learned(kernel, monkeypatch, **options):
    """A fit that learns the variance alone."""
    stays = lambda problem, _: (problem.start, problem.start.parameters, 1, None)  # noqa: E731
    monkeypatch.setattr(solver, "learn_from_near_rows", stays)
    return AnytimeSGPClassifier(kernel, **{**OPTIONS, **options}).fit(*data())


def told(model):
    return [one for one in model.choices_ if one["choice"] == "variance, powers of 2.5"]


@pytest.mark.parametrize(("variance", "sign"), [(0.05, 1), (1e5, -1)])
@pytest.mark.parametrize("model", ["vif", "pic", "lma"])
def test_far_too_small_or_large_ones_are_changed(variance, sign, model, monkeypatch):
    """By a power of 2.5, of which each gained, and `choices_` tells all that were tried."""
    fitted = not_learned(ConstantKernel(variance, (1e-9, 1e9)) * RBF(0.8), monkeypatch, model=model)
    power = np.log(fitted.kernel_.k1.constant_value / variance) / np.log(2.5)
    assert 1 <= sign * round(power) <= 4 and abs(power - round(power)) < 1e-9
    rows = {one["candidate"]: one for one in told(fitted)}
    assert rows[f"power {round(power)}"]["taken"]
    steps = ["as learned", *(f"power {sign * k}" for k in range(1, abs(round(power)) + 1))]
    scores = [rows[name]["score"] for name in steps]
    assert (np.diff(scores) > 0.0).all()


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (ConstantKernel(0.05, "fixed") * RBF(0.8), {}),
        (ConstantKernel(0.05, (0.04, 0.1)) * RBF(0.8), {}),
        (ConstantKernel(0.05, (1e-9, 1e9)) * RBF(0.8), {"optimizer": None}),
        (ConstantKernel(0.05, (1e-9, 1e9)) * RBF(0.8), {"model": "fitc", "max_iter": 1}),
    ],
    ids=["fixed", "bound", "not learned", "no near rows"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_may_not_move_stays(kernel, options, monkeypatch):
    """Fixed variances, those at their bounds, and models that do not know near rows."""
    fitted = not_learned(kernel, monkeypatch, **options)
    assert not told(fitted)
    if "model" not in options:
        assert_allclose(fitted.kernel_.k1.constant_value, 0.05)


def test_scores_are_those_of_dense_regressions(monkeypatch):
    """With all rows in one group, each is left out of the exact process of both classes."""
    X, y = (part[:40] for part in data())
    stays = lambda problem, _: (problem.start, problem.start.parameters, 1, None)  # noqa: E731
    monkeypatch.setattr(solver, "learn_from_near_rows", stays)
    kernel = ConstantKernel(1.0) * RBF(0.8, "fixed")
    fitted = AnytimeSGPClassifier(kernel, **OPTIONS).fit(X, y)
    moments = []
    for label in (False, True):
        a = (y == label) + 0.02
        s2 = np.log(1.0 / a + 1.0)
        target = np.log(a) - 0.5 * s2
        W = np.linalg.inv(kernel(X) + np.diag(s2))
        error = W @ (target - target.mean())
        variance = 1.0 / np.diag(W)
        moments.append((target - variance * error, variance - s2))
    z = norm.ppf(qmc.Sobol(2, seed=0).random_base2(12))
    draws = np.stack([m + np.sqrt(v) * z[:, c : c + 1] for c, (m, v) in enumerate(moments)], -1)
    temperatures = np.exp(np.linspace(-1.5, 1.5, 31))
    p = [
        softmax(draws / t, axis=-1).mean(axis=0)[np.arange(40), y.astype(int)] for t in temperatures
    ]
    best = max(np.log(one).mean() for one in p)
    as_learned = next(one for one in told(fitted) if one["candidate"] == "as learned")
    assert_allclose(as_learned["score"], best, atol=0.01)  # its temperature has a prior
