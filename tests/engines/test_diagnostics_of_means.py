"""What a fit explains where means of outputs are learned beside its functions."""

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.diagnostics import by_mean
from sklearn_sgp.likelihoods import StudentT
from sklearn_sgp.optimize.parameters import Parameters


def test_learned_means_are_predicted():
    """They are added to what q(u) predicts, else a fit of them alone would explain nothing."""
    rng = np.random.default_rng(0)
    X, means = rng.uniform(size=(80, 1)), np.array([2.0, -1.0])
    rows = Rows(X, rng.standard_normal((80, 2)), None, np.zeros(2), np.ones(2))
    posterior = SimpleNamespace(mean=lambda X: np.hstack([X, -X]))
    for values, added in (({}, 0.0), ({"means": means}, means)):
        result = SimpleNamespace(
            posterior=posterior, likelihood=StudentT(), parameters=Parameters(None, values)
        )
        _, predicted = by_mean(SimpleNamespace(rows=rows), result)
        assert_allclose(predicted, np.hstack([X, -X]) + added)
