"""A fit in blocks that fails leaves the estimator as it was, and says what was wrong."""

import itertools

import numpy as np
import pytest
from block_helpers import LABELS, X_TEST, column_of, fixed, labelled, with_labels
from failures import assert_unchanged, interrupt, state_of
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sklearn_sgp.engines import fitted
from sklearn_sgp.engines import start as starting_values
from sklearn_sgp.engines.blocks import final_posterior as finish
from sklearn_sgp.engines.blocks import hyperparameters, natural_gradient
from sklearn_sgp.engines.blocks.natural_gradient import NaturalGradientAscent
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.objectives import composite_likelihood

# Where something raises, at which call of the fit, and the parameters with which it is called.
STAGES = [
    (hyperparameters, "block_evidence", 2, {"optimizer": "lbfgs"}),
    (composite_likelihood, "_density_group", 2, {"optimizer": "auto"}),
    (finish, "block_sums", 1, {}),
    (Posterior, "log_evidence", 1, {}),
    (starting_values, "choose_inducing", 1, {}),
    (fitted, "join_noise", 1, {}),
]
ANYTIME = [
    (NaturalGradientAscent, "step", 2, {"solver": "anytime"}),
    (natural_gradient, "block_gradient_sums", 2, {"solver": "anytime", "optimizer": "adam"}),
]


@pytest.mark.parametrize(
    ("error", "stage"),
    [*itertools.product((KeyboardInterrupt, ValueError), STAGES)]
    + [*itertools.product((ValueError, MemoryError), ANYTIME)],
    ids=lambda value: value.__name__ if isinstance(value, type) else value[1],
)
@pytest.mark.parametrize("labels", [None, LABELS], ids=["partition", "labels"])
def test_a_fit_that_fails_leaves_the_estimator(toy, monkeypatch, error, stage, labels):
    """An error anywhere leaves a fresh estimator unfitted and a fitted one as it was."""
    owner, name, count, parameters = stage
    model = fixed(inducing="random", n_inducing=5, n_blocks=4, max_iter=3)
    model.set_params(block_column=column_of(labels), **parameters)
    X, y = with_labels(toy, labels)
    fresh, fitted = clone(model), clone(model).fit(X, y)
    test = labelled(X_TEST, None if labels is None else labels[: len(X_TEST)])
    mean = fitted.predict(test)
    for ours in (fresh, fitted):
        before = state_of(ours)
        with monkeypatch.context() as patch:
            interrupt(patch, owner, name, count, error)
            with pytest.raises(error):
                ours.fit(X[:50], y[:50])
        assert_unchanged(ours, before)
    assert_array_equal(fitted.predict(test), mean)
    assert_array_equal(fresh.fit(X, y).predict(test), mean)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"model": "svgp"}, "'model' parameter"),
        ({"model": [("dtc", 0.5), ("fitc", np.nan)]}, "a finite weight"),
        ({"model": [("dtc", 0.5), ("pic", 0.5)]}, "one test conditional"),
        ({"model": [("dtc", "half"), ("fitc", 0.5)]}, "'model' parameter"),
        ({"model": []}, "'model' parameter"),
        ({"model": "vfe", "alpha_divergence": 0.5}, "'alpha_divergence' parameter"),
        ({"alpha_divergence": 0.5}, "'alpha_divergence' parameter"),
        ({"alpha_divergence": 1.5, "model": "fitc"}, "'alpha_divergence' parameter"),
        ({"solver": "newton"}, "'solver' parameter"),
        ({"n_blocks": 0}, "'n_blocks' parameter"),
        ({"block_size": 0}, "'block_size' parameter"),
        ({"partition": "ward"}, "'partition' parameter"),
        ({"blocks_per_step": 0}, "'blocks_per_step' parameter"),
        ({"schedule": "adam"}, "'schedule' parameter"),
        ({"step_size": 0.0}, "'step_size' parameter"),
        ({"step_power": 0.4}, "'step_power' parameter"),
        ({"step_decay": -1.0}, "'step_decay' parameter"),
    ],
)
def test_parameters_that_cannot_be(toy, parameters, match):
    """The message names the parameter, and nothing was fitted."""
    ours = fixed(**({"model": "pic"} | parameters))
    with pytest.raises(ValueError, match=match):
        ours.fit(*toy)
    assert not hasattr(ours, "kernel_")
