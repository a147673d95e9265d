"""Student-t noise of `SVGPRegressor`: rounds with precisions, then a few iterations by sites."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from varying_noise import X_TEST, made

from sklearn_sgp.likelihoods import StudentT
from sklearn_sgp.noise import before_sites


def _data(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (n, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_t(3.0, n)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("likelihood", ["student_t", StudentT(df=None)], ids=str)
def test_it_ends_where_sites_alone_end(likelihood, monkeypatch):
    """The same bound, function and tails, by fewer iterations with sites."""
    X, y = _data()
    found = made(None, likelihood, max_iter=100).fit(X, y)

    monkeypatch.setattr(
        "sklearn_sgp.estimators.noise_steps.learn_before_sites",
        lambda problem, learn: learn(problem),
    )
    expected = made(None, likelihood, max_iter=100).fit(X, y)
    assert found.n_iter_ < expected.n_iter_
    assert abs(found.objective_ - expected.objective_) < 1e-3 * len(y)
    assert_allclose(found.predict(X_TEST), expected.predict(X_TEST), atol=0.01)
    assert_allclose(found.likelihood_.df, expected.likelihood_.df, rtol=0.2)


@pytest.mark.parametrize("given", [{"max_time": 1e3}, {"optimizer": "lbfgs"}, {"optimizer": None}])
def test_sites_alone_where_more_was_asked_for(given, monkeypatch):
    """With a time limit, or another way to learn, rounds with precisions have no place."""

    def no_rounds(*arguments):
        raise AssertionError("rounds")

    monkeypatch.setattr(before_sites, "alternate_noise", no_rounds)
    fitted = made(None, "student_t", **given, noise_variance=0.02)
    assert np.isfinite(fitted.fit(*_data(60)).objective_)
