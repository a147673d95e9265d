"""Rounds of L-BFGS: rows leave wrong places, and units change the way only."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp import BayesianGPLVM
from sklearn_sgp.engines.latent_inputs import solver


def surface(n=200, seed=0):
    """Rows on a surface that bends so much that principal components fold it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    F = np.cos(X @ (1.2 * rng.normal(size=(2, 20))) + rng.uniform(0, 6, 20))
    return F @ rng.normal(size=(20, 8)) / 3 + 0.1 * rng.normal(size=(n, 8))


@pytest.mark.slow
def test_rows_that_may_jump_end_higher(monkeypatch):
    """Without other rows to start from, some stay where principal components put them."""
    tables, chosen = [surface(seed=k) for k in (1, 2)], {"max_iter": 200, "random_state": 0}

    def ends():
        models = [BayesianGPLVM(2, n_inducing=20, **chosen).fit(Y) for Y in tables]
        return np.array([model.objectives_[-1] / 200 for model in models])

    jumping = ends()
    monkeypatch.setattr(solver, "choose_candidates", lambda q, rng: None)
    assert (jumping > ends() + 0.05).all()


@pytest.mark.parametrize("optimizer", ["lbfgs", None])
def test_bounds_hold_in_units_of_the_optimiser(optimizer):
    """Kernel and noise stay within their bounds, and fixed without an optimiser."""
    chosen = {"n_inducing": 10, "max_iter": 60, "random_state": 0, "optimizer": optimizer}
    model = BayesianGPLVM(2, noise_variance=0.3, noise_variance_bounds=(0.2, 0.4), **chosen)
    model.fit(surface(60))
    assert 0.2 - 1e-9 <= model.noise_variance_ <= 0.4 + 1e-9
    assert model.kernel_.k1.constant_value <= 10.0 + 1e-9
    if optimizer is None:
        assert_allclose(model.noise_variance_, 0.3)
