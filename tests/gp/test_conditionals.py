"""Predictions of the test conditionals, but for PIC's, against dense definitions."""

import numpy as np
import pytest
from dense import (
    MODELS,
    OUTPUTS,
    assert_moments,
    conditional_parts,
    exact_gp,
    labelled_posterior,
    make_case,
    moments_of_information,
    random_information,
)

from sklearn_sgp.gp.posterior import ExactConditional, FICConditional, SoRConditional

LABELS = np.repeat([0, 1, 2], 8)  # of the 24 rows of a case
X_TEST = np.random.default_rng(5).uniform(-2.0, 2.0, (9, 2))


def check(conditional, mean, covariance, **tolerance):
    assert_moments(lambda name: getattr(conditional, name)(X_TEST), mean, covariance, **tolerance)


@OUTPUTS
def test_conditionals_from_any_q(t):
    """From a q(u) of no data, each adds its own variance given u to what goes through u."""
    case = make_case(t=t)
    H, h = random_information(5, t, seed=3)
    posterior = case.posterior(H, h)
    m, S = moments_of_information(case.matrices()[0], H, h)
    P, K, Q = conditional_parts(case, X_TEST)
    through_u = P @ S @ P.T
    check(ExactConditional(posterior), P @ m, K - Q + through_u)
    check(SoRConditional(posterior), P @ m, through_u)
    check(FICConditional(posterior), P @ m, np.diag(np.diagonal(K - Q)) + through_u)


def effective(case, X, labels, model):
    """Prior covariance of the model: Q, plus what its factors keep, within blocks."""
    _, K, Q = conditional_parts(case, X)
    kept = {"none": 0.0, "diagonal": np.eye(len(X)), "full": labels[:, None] == labels}
    return Q + kept[model.residual] * (K - Q)


@pytest.mark.parametrize(
    "name, model, conditional",
    [
        ("SoR", "dtc", SoRConditional),
        ("DTC", "dtc", ExactConditional),
        ("FITC", "fitc", ExactConditional),
        ("FIC", "fitc", FICConditional),
        ("PITC", "pitc", ExactConditional),
    ],
)
def test_optimal_q_is_dense_conditioning(name, model, conditional):
    """At its optimal q(u) a model predicts as its prior covariance, conditioned on the rows."""
    case, model = make_case(t=2), MODELS[model]
    both, n = np.vstack([case.X, X_TEST]), len(case.X)
    labels = np.concatenate([LABELS, np.full(len(X_TEST), 100)])
    posterior = labelled_posterior(case, LABELS, model)
    K = effective(case, both, labels, model)
    _, exact, Q = conditional_parts(case, both)
    prior = {"SoR": Q, "FIC": K}.get(name, exact)[n:, n:]
    _, mean, covariance = exact_gp(K[:n, :n], case.y, case.noise, Q[:n, n:], prior)
    check(conditional(posterior), mean, covariance, rtol=1e-6)
