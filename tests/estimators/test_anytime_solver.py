"""The two solvers: the closed form, and steps that may end at any time."""

import numpy as np
import pytest
from block_helpers import (
    LABEL,
    LABELLED_TEST,
    MODELS,
    X_TEST,
    assert_same_model,
    fixed,
    with_labels,
)
from failures import interrupt
from numpy.testing import assert_allclose
from sklearn.base import clone

from sklearn_sgp.engines.blocks import natural_gradient


@MODELS
@pytest.mark.parametrize("per_step", [1, 3])
def test_an_epoch_of_average_is_the_closed_form(toy, model, per_step):
    """The anytime solver with schedule="average" ends at what the exact solver gives."""
    exact = fixed(model, block_column=LABEL).fit(*with_labels(toy))
    anytime = clone(exact).set_params(solver="anytime", blocks_per_step=per_step)
    anytime.fit(*with_labels(toy))
    assert anytime.n_steps_ == -(-4 // per_step) and exact.n_steps_ == 0
    assert anytime.n_iter_ == exact.n_iter_ == 1
    assert_same_model(exact, anytime, at=LABELLED_TEST)


@MODELS
def test_robbins_monro_ends_near_the_closed_form(toy, model):
    """Ten epochs of the paper's steps end near what the exact solver gives."""
    X, y = with_labels(toy)
    ours = fixed(model, solver="anytime", schedule="robbins-monro", step_size=0.5, max_iter=10)
    ours.set_params(block_column=LABEL)
    ours.fit(X, y)
    assert ours.n_steps_ == 40 and ours.n_iter_ == 10
    mean, std = ours.predict(X, return_std=True)
    assert np.isfinite(mean).all() and (std > 0).all() and np.isfinite(ours.objective_)
    assert ours.score(X, y) > 0.8
    exact = fixed(model, block_column=LABEL).fit(X, y)
    exact_mean, exact_std = exact.predict(X, return_std=True)
    assert_allclose(mean, exact_mean, atol=0.1 * y.std())
    assert_allclose(std, exact_std, rtol=0.05)
    assert_allclose(ours.objective_, exact.objective_, atol=2.0)


@pytest.mark.parametrize("schedule", ["average", "robbins-monro"])
@pytest.mark.parametrize("max_steps", [1, 3])
def test_max_steps(toy, schedule, max_steps):
    """The anytime solver stops after so many steps, with a posterior that predicts."""
    ours = fixed(solver="anytime", schedule=schedule, max_steps=max_steps, block_column=LABEL)
    ours.fit(*with_labels(toy))
    assert ours.n_steps_ == max_steps and ours.n_iter_ >= 1
    mean, std = ours.predict(LABELLED_TEST, return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()


def test_a_full_step_over_one_block_is_the_closed_form(toy):
    """With step_size=1, no decay and one block, Robbins-Monro is exact at once."""
    ours = fixed("pitc", solver="anytime", schedule="robbins-monro", n_blocks=1, max_iter=2)
    ours.set_params(step_size=1.0, step_decay=0.0, step_power=1.0).fit(*toy)
    assert_same_model(fixed("pitc", n_blocks=1).fit(*toy), ours)


@MODELS
@pytest.mark.parametrize("solver", ["exact", "anytime"])
def test_any_number_of_jobs_agrees(toy, model, solver):
    """n_jobs=1 and 2 give the same model, and the same predictions."""
    ours = fixed(model, solver=solver, blocks_per_step=2, block_column=LABEL)
    one, two = (clone(ours).set_params(n_jobs=n).fit(*with_labels(toy)) for n in (1, 2))
    assert_same_model(one, two, rtol=1e-12, at=LABELLED_TEST)


@pytest.mark.parametrize("schedule", ["average", "robbins-monro"])
def test_steps_that_threads_begin_ahead_are_the_same_steps(toy, schedule):
    """To the last digit, the next random number included, also where steps end early."""
    for max_steps in (None, 3):
        fits = []
        for n_jobs in (1, 2):
            rng = np.random.RandomState(0)
            ours = fixed("pitc", solver="anytime", schedule=schedule, n_blocks=12, max_iter=2)
            ours.set_params(n_jobs=n_jobs, random_state=rng, max_steps=max_steps).fit(*toy)
            fits.append((ours.objective_, *ours.predict(X_TEST), rng.random_sample()))
        assert fits[0] == fits[1]


def test_an_interrupted_anytime_fit_keeps_its_last_step(toy, monkeypatch):
    """Ctrl-C in the third step leaves, and raises, with the posterior after two steps."""
    model = fixed(solver="anytime", block_column=LABEL)
    two = clone(model).set_params(max_steps=2).fit(*with_labels(toy))
    for ours in (clone(model), clone(model).fit(*with_labels(toy))):
        with monkeypatch.context() as patch:
            interrupt(patch, natural_gradient, "block_sums", 3, KeyboardInterrupt)
            with pytest.raises(KeyboardInterrupt):
                ours.fit(*with_labels(toy))
        assert ours.n_steps_ == 2
        assert_same_model(two, ours, at=LABELLED_TEST)


@MODELS
def test_one_enormous_block(toy, model):
    """block_size and blocks_per_step far beyond the rows mean one block of all."""
    ours = fixed(model, block_size=10**9, blocks_per_step=10**6, solver="anytime").fit(*toy)
    assert ours.n_blocks_ == ours.n_steps_ == 1
    assert_same_model(fixed(model, n_blocks=1).fit(*toy), ours)
