"""How an anytime fit goes: what it reports, how it ends, and how the next one goes on."""

import numpy as np
import pytest
from block_helpers import (
    LABEL,
    LABELLED_TEST,
    LABELS,
    MODELS,
    X_TEST,
    assert_same_model,
    column_of,
    fixed,
    inducing,
    labelled,
    with_labels,
)
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp._compat import FitProgress
from sklearn_sgp.engines.blocks import final_posterior as finish

# As few inducing inputs as rows of a block, so that each step is reported.
TWELVE = {"solver": "anytime", "n_blocks": 12, "partition": "random", "inducing": inducing(5)}


def stop_at(monkeypatch, entries):
    """Let a callback return True at these entries of the trace, from 0."""
    count = iter(range(10**6))
    monkeypatch.setattr(FitProgress, "step", lambda *args: next(count) in entries)


# Reports


@pytest.mark.parametrize("schedule", ["average", "robbins-monro"])
def test_every_step_is_reported(toy, schedule, capsys):
    """The objective is estimated after each step, for the trace and for those who watch."""
    ours = fixed("pitc", schedule=schedule, max_iter=3, verbose=2, **TWELVE).fit(*toy)
    epochs = 1 if schedule == "average" else 3
    assert len(ours.objectives_) == len(ours.fit_times_) == epochs * 12 == ours.n_steps_
    assert ours.objectives_[-1] == ours.objective_ and np.isfinite(ours.objectives_).all()
    lines = capsys.readouterr().out.splitlines()
    assert "q(u) from 60 rows, step by step" in lines[0] and "done" in lines[-1]
    assert sum("entry" in line for line in lines) == epochs * 12 == len(lines) - 2


def test_reports_of_an_epoch_are_few_where_blocks_are_many(toy):
    """An epoch of many blocks has about as many entries as `finish._REPORTS`."""
    ours = fixed("pitc", solver="anytime", block_size=1, inducing=[[0.5, 0.5]]).fit(*toy)
    assert ours.n_steps_ == 60
    assert 15 <= len(ours.objectives_) <= finish._REPORTS


def test_verbose_says_the_stage_and_the_time_left(toy, capsys):
    """While kernel and noise are learned, lines say from how many blocks and rows."""
    model = AnytimeSGPRegressor(n_inducing=5, n_blocks=3, max_iter=2, random_state=0, verbose=1)
    said = {"pitc": "learning from 3 blocks, 60 of", "pic": "learning from 60 of"}
    for name, words in said.items():
        model.set_params(model=name, max_time=1e4).fit(*toy)
        first = capsys.readouterr().out.splitlines()[0]
        assert f"{words} 60 rows" in first and "s left)" in first


# Callbacks


def test_a_callback_ends_the_steps(toy, monkeypatch):
    """True from a callback ends the steps there, and a warning says what q(u) rests on."""
    stop_at(monkeypatch, {3})
    ours = fixed("pitc", **TWELVE)
    with pytest.warns(ConvergenceWarning, match="callback ended .* rests on 4 of them"):
        ours.fit(*toy)
    assert ours.n_steps_ == 4
    assert ours.n_samples_seen_ == fitted(ours).state.progress.n_rows < 60
    assert np.isfinite(ours.predict(X_TEST, return_std=True)).all()


@pytest.mark.parametrize("entries", [{0}, range(1000)], ids=["once", "always"])
def test_a_callback_that_ends_learning_leaves_a_whole_epoch(toy, monkeypatch, entries):
    """Learning ends, and q(u) still rests on all rows."""
    stop_at(monkeypatch, entries)
    ours = AnytimeSGPRegressor(model="pic", n_inducing=5, n_blocks=4, random_state=0).fit(*toy)
    assert ours.n_iter_ <= 5 and ours.n_steps_ == 4 and ours.n_samples_seen_ == 60
    assert fitted(ours).state.progress.is_complete


# Rows that count


def test_max_steps_counts_the_rows_it_saw(toy):
    """n_samples_seen_ counts rows that q(u) rests on, and rows of later batches."""
    ours = fixed("pitc", max_steps=1, solver="anytime", block_column=LABEL).fit(*with_labels(toy))
    seen = fitted(ours).state.progress.seen
    assert ours.n_samples_seen_ == np.bincount(LABELS)[seen].sum() < 60
    k = int(np.flatnonzero(~seen)[0])
    ours.partial_fit(labelled(X_TEST, np.full(9, k)), np.ones(9))
    seen = fitted(ours).state.progress.seen
    assert seen[k] and ours.n_samples_seen_ == np.bincount(LABELS)[seen].sum() + 9


# The next fit


@MODELS
@pytest.mark.parametrize("labels", [None, LABELS], ids=["partition", "labels"])
def test_a_warm_start_goes_on_with_the_epoch(toy, model, labels):
    """Fits of one step each come to the closed form, and more of them change nothing."""
    ours = fixed(model, n_blocks=4, solver="anytime", warm_start=True, max_steps=1)
    ours.set_params(random_state=None, block_column=column_of(labels))
    whole = fixed(model, n_blocks=4, block_column=column_of(labels))
    whole.fit(*with_labels(toy, labels))
    steps = []
    for _ in range(5):
        ours.fit(*with_labels(toy, labels))
        steps.append(ours.n_steps_)
    assert_array_equal(steps, np.minimum(np.arange(1, 6), ours.n_blocks_))
    assert ours.n_samples_seen_ == 60
    if labels is not None or model not in ("pitc", "pic"):
        assert_same_model(whole, ours, at=X_TEST if labels is None else LABELLED_TEST)
    assert np.isfinite(ours.objective_)


@pytest.mark.parametrize("change", ["nothing", "y", "weight", "kernel", "model", "step", "jitter"])
def test_a_warm_start_begins_anew_where_something_changed(toy, change):
    """With other data, another kernel or another plan, q(u) begins at the prior again."""
    X, y = toy
    ours = fixed("pitc", solver="anytime", warm_start=True, max_steps=1, block_column=LABEL)
    ours.fit(labelled(X), y)
    weight = np.full(60, 2.0) if change == "weight" else None
    given = {
        "kernel": {"kernel": RBF(1.0, "fixed")},
        "model": {"model": "pic"},
        "step": {"blocks_per_step": 2},
        "jitter": {"jitter": 1e-6},
    }
    ours.set_params(**given.get(change, {}))
    ours.fit(labelled(X), y + X[:, 0] if change == "y" else y, weight)
    assert ours.n_steps_ == (2 if change == "nothing" else 1)


def test_a_warm_start_of_robbins_monro_goes_on(toy):
    """Steps of two fits are those of one, in number and length."""
    ours = fixed("pitc", solver="anytime", schedule="robbins-monro", warm_start=True, max_steps=3)
    ours.set_params(block_column=LABEL)
    ours.fit(*with_labels(toy))
    first = fitted(ours).posterior.H[0]
    ours.fit(*with_labels(toy))
    assert ours.n_steps_ == 6 and fitted(ours).state.progress.n_seen == 6
    assert ours.n_iter_ == 1  # epochs of this fit alone: three of four blocks
    assert not np.array_equal(first, fitted(ours).posterior.H[0])


@pytest.mark.parametrize("likelihood", ["heteroscedastic", "student_t"])
def test_a_warm_start_counts_the_noise_of_rows_once(likelihood):
    """Steps that went on had its constant already: a third fit was 0.1 to 1.4 nats lower."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (300, 1))
    y = np.sin(X[:, 0]) + 0.1 * (1.0 + X[:, 0]) * rng.normal(size=300)
    held = {"optimizer": None, "n_inducing": 15, "random_state": 0}
    ours = AnytimeSGPRegressor(
        RBF(1.0), model="fitc", likelihood=likelihood, warm_start=True, **held
    )
    first, *others = [ours.fit(X, y).objective_ for _ in range(4)]
    assert_allclose(others, first, rtol=1e-8)
