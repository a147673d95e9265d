"""A fit in blocks from beginning to end, at fixed hyperparameters, and rows that come later."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from block_helpers import (
    LABEL,
    LABELLED_TEST,
    LABELS,
    MODELS,
    PARTITIONS,
    X_TEST,
    fixed,
    labelled,
    plan_of,
    problem_of,
    with_labels,
)
from dense import block_factor
from failures import interrupt
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.ascent import Run
from sklearn_sgp.engines.blocks import final_posterior, natural_gradient, solver, state
from sklearn_sgp.engines.blocks.schedules import Average, RobbinsMonro
from sklearn_sgp.engines.blocks.solver import fit_in_blocks
from sklearn_sgp.optimize import budget
from sklearn_sgp.optimize.budget import Budget
from sklearn_sgp.partitions.blocks import Blocks


def summed(found, blocks):
    """H, h and the evidence of blocks, one by one."""
    posterior, s2 = found.posterior, found.parameters.noise_variance
    H, h, constant = np.zeros_like(posterior.H[0]), np.zeros_like(posterior.h), 0.0
    for rows in blocks:
        factor = block_factor(posterior.prior, rows, s2, found.state.specification.model)
        constant += factor.add_to(H, h)
    H = np.tril(H) + np.tril(H, -1).T
    B = np.eye(len(H)) + H
    evidence = 0.5 * float(np.vdot(h, np.linalg.solve(B, h))) - 0.5 * np.linalg.slogdet(B)[1]
    return H, h, constant + evidence


def kept(found):
    """The blocks that a fit keeps."""
    return [found.state.blocks(k) for k in range(found.state.n_blocks)]


def assigned(found, X, labels=None):
    """Number of the block of each row; "pitc" has it for training rows alone."""
    return found.predictor.near.number(Inputs(X, labels))


def assert_is_sum(found, blocks):
    """The posterior is the sum of these blocks, and the objective the evidence, or its estimate."""
    H, h, evidence = summed(found, blocks)
    evidence /= found.state.progress.seen.mean()
    assert_allclose(found.posterior.H[0], H, rtol=1e-9, atol=1e-9)
    assert_allclose(found.posterior.h, h, rtol=1e-9, atol=1e-9)
    assert_allclose(found.objective, evidence, rtol=1e-9)


@MODELS
@pytest.mark.parametrize("schedule", [None, Average()])
@pytest.mark.parametrize("labels", [None, LABELS], ids=["partition", "labels"])
def test_the_posterior_is_the_sum_over_blocks(toy, model, schedule, labels):
    """In one pass or an epoch of steps, all rows are in one block each, and all blocks in q(u)."""
    problem, plan = problem_of(*toy, labels), plan_of(model, schedule)
    found = fit_in_blocks(problem, plan)
    blocks = kept(found) if plan.model.dense else [problem.rows]
    assert_is_sum(found, blocks)
    assert sum(len(rows) for rows in blocks) == 60 == found.state.progress.n_rows
    assert not found.interrupted
    assert found.n_steps == (0 if schedule is None else found.state.n_blocks)


def test_blocks_are_in_the_order_of_their_labels(toy):
    """The user's labels name the blocks, whatever numbers they are."""
    names = np.array([40, -3, 7, 12])
    found = fit_in_blocks(problem_of(*toy, names[LABELS]), plan_of("pitc"))
    assert_array_equal(found.state.labels, np.sort(names))
    for k, name in enumerate(found.state.labels):
        assert_array_equal(found.state.blocks(k).X, toy[0][names[LABELS] == name])
    assert_array_equal(assigned(found, X_TEST[:3], np.array([7, 99, -3])), [1, -1, 0])


def test_blocks_of_independent_rows_are_of_any_size(toy, monkeypatch):
    """Models whose factors are rows give the same posterior however rows are put into blocks."""
    whole = fit_in_blocks(problem_of(*toy), plan_of("fitc"))
    monkeypatch.setattr(solver, "ROW_BLOCK", 7)
    parts = fit_in_blocks(problem_of(*toy), plan_of("fitc"))
    assert (whole.state.n_blocks, parts.state.n_blocks) == (1, 9)
    assert_allclose(parts.posterior.H[0], whole.posterior.H[0], rtol=1e-9, atol=1e-9)
    assert_allclose(parts.objective, whole.objective, rtol=1e-10)


@PARTITIONS
def test_a_partition_knows_where_later_rows_go(toy, partition):
    """Rows without labels belong where the partition puts them."""
    found = fit_in_blocks(problem_of(*toy), plan_of("pitc", partition=partition))
    assert len(found.state.blocks) > 1
    assert_array_equal(assigned(found, X_TEST), found.state.partition.assign(X_TEST))


SCHEDULES = pytest.mark.parametrize("schedule", [Average(), RobbinsMonro(0.3, 0.9, 0.75)])


@SCHEDULES
@pytest.mark.parametrize("stop", [1, 3])
def test_steps_end_at_their_number(toy, schedule, stop):
    """max_steps ends the steps, without a warning."""
    found = fit_in_blocks(problem_of(*toy, LABELS, max_steps=stop), plan_of("pitc", schedule))
    assert found.n_steps == stop


@SCHEDULES
@pytest.mark.filterwarnings("ignore:max_time=1e-09")  # random blocks come twice
def test_a_first_epoch_is_finished_if_that_is_little_late(toy, schedule):
    """A budget that is over ends the steps after the first epoch, which takes milliseconds."""
    late = fit_in_blocks(problem_of(*toy, LABELS, max_time=1e-9), plan_of("pitc", schedule))
    assert late.n_steps == 4


@pytest.mark.parametrize("limits", [{"max_iter": 1}, {"max_time": 1e-9}])
def test_blocks_that_were_not_drawn_are_told(toy, limits):
    """Steps on random blocks that ended before all were drawn left some out in silence."""
    cure = "Raise max_iter" if "max_iter" in limits else "Raise max_time"
    problem = problem_of(*toy, np.arange(60) // 3, **limits)
    plan = plan_of("pitc", RobbinsMonro(0.3, 0.9, 0.75))
    with pytest.warns(UserWarning, match=f"all 20 blocks: q.u. rests on 1. of them.*{cure}"):
        found = fit_in_blocks(problem, plan)
    assert found.n_used < 60
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_in_blocks(problem_of(*toy, np.arange(60) // 3, max_iter=60), plan)


@SCHEDULES
@pytest.mark.filterwarnings("ignore:max_time=1e-09")  # random blocks come twice
def test_what_learning_used_up_is_not_taken_from_the_finish(toy, schedule, monkeypatch):
    """Learning that ends late leaves the finish the seconds that were kept for it."""
    monkeypatch.setattr(final_posterior, "_OVERRUN_SECONDS", 0.0)
    problem = problem_of(*toy, LABELS, max_time=1e-9)
    budget = Budget(problem.trace.clock)
    budget.reserve = 100.0
    blocks = Blocks(problem.rows, LABELS)
    start, plan = problem.start.parameters, plan_of("pitc", schedule)
    learned = Run(start, -np.inf, 0)
    final = final_posterior.final_posterior(problem, plan, learned, blocks, budget)
    assert final.progress.n_seen == 4


@SCHEDULES
def test_a_first_epoch_that_would_be_late_ends_with_a_warning(toy, schedule, monkeypatch):
    """Blocks that there is no time for are left out, and a warning says how many rows are in."""
    monkeypatch.setattr(final_posterior, "_OVERRUN_SECONDS", 0.0)
    with pytest.warns(ConvergenceWarning, match="for all 4 blocks: q.* rests on 1 of them") as seen:
        late = fit_in_blocks(problem_of(*toy, LABELS, max_time=1e-9), plan_of("pitc", schedule))
    assert late.n_steps == 1 and not late.state.progress.is_complete
    n_rows = late.state.progress.n_rows
    assert n_rows == late.n_used == np.bincount(LABELS)[late.state.progress.seen].sum()
    assert f"on {n_rows} of 60 rows" in str(seen[0].message) and len(seen) == 1


def test_an_interrupt_leaves_the_steps_before(toy, monkeypatch):
    """Ctrl-C in the third step gives the posterior of two, in the first step it is raised."""
    two = fit_in_blocks(problem_of(*toy, LABELS, max_steps=2), plan_of("pitc", Average()))
    with monkeypatch.context() as patch:
        interrupt(patch, natural_gradient, "block_sums", 3, KeyboardInterrupt)
        found = fit_in_blocks(problem_of(*toy, LABELS), plan_of("pitc", Average()))
    assert found.interrupted and not two.interrupted
    assert found.n_steps == 2
    assert_array_equal(found.posterior.H[0], two.posterior.H[0])
    with monkeypatch.context() as patch:
        interrupt(patch, natural_gradient, "block_sums", 1, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            fit_in_blocks(problem_of(*toy, LABELS), plan_of("pitc", Average()))


def test_a_budget_too_short_for_all_blocks_warns(toy, monkeypatch):
    """The exact solver then leaves the posterior of the blocks that it had time for."""
    monkeypatch.setattr(budget, "_SLACK_SECONDS", 0.0)
    X, y = np.tile(toy[0], (40, 1)), np.tile(toy[1], 40)
    labels = np.arange(len(X)) // 120  # each block has all rows of `toy` twice
    ours, X = fixed("fitc", block_column=LABEL, max_time=1e-6), labelled(X, labels)
    with pytest.warns(ConvergenceWarning, match="no time for all 20 blocks"):
        ours.fit(X, y)
    seen = fitted(ours).state.progress.seen[labels]
    assert 0 < seen.sum() < len(X)
    # in every block the same rows, so that their scale is that of all
    part = fixed("fitc", block_column=LABEL).fit(X[seen], y[seen])
    assert_allclose(ours.predict(LABELLED_TEST), part.predict(LABELLED_TEST), rtol=1e-7)
    assert_allclose(ours.objective_ * seen.mean(), part.objective_, rtol=1e-9)


@MODELS
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_steps_leave_the_posterior_of_the_rows_that_came(toy, model, steps):
    """After any number of steps q(u) is that of these blocks alone, and so is the evidence."""
    problem = problem_of(*toy, LABELS, max_steps=steps)
    early = fit_in_blocks(problem, plan_of(model, Average()))
    (seen,) = np.nonzero(early.state.progress.seen)
    assert len(seen) == steps
    assert_is_sum(early, [problem.rows.select(LABELS == k) for k in seen])


def test_an_unseen_block_joins_whole(toy):
    """Rows that join a block that no step had come to bring the whole block; nothing is removed."""
    problem = problem_of(*toy, LABELS, max_steps=2)
    early = fit_in_blocks(problem, plan_of("pitc", Average()))
    seen = early.state.progress.seen
    k = int(np.flatnonzero(~seen)[0])
    after = added(problem, early, more_rows(np.full(15, k)))
    assert_is_sum(after, [after.state.blocks(j) for j in (*np.flatnonzero(seen), k)])
    assert after.state.progress.n_rows == seen[LABELS].sum() + (LABELS == k).sum() + 15


def test_a_block_that_is_too_large_is_refused(toy, monkeypatch):
    """A block whose covariance would not fit into memory ends with a clear error."""
    monkeypatch.setattr(state, "LARGEST_BLOCK", 20)
    rows = with_labels(toy, np.zeros(60))
    for model in ("pitc", "pic"):
        with pytest.raises(ValueError, match="Got one of 60: split it"):
            fixed(model, block_column=LABEL).fit(*rows)
    fixed("fitc", block_column=LABEL).fit(*rows)


# Later rows


def more_rows(labels=None, n=15):
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return Rows(X, np.cos(X[:, :1]), None, np.zeros(1), np.ones(1), labels)


def added(problem, found, rows):
    return solver.add_to_blocks(found, replace(problem, rows=rows, rng=np.random.RandomState(0)))


@MODELS
@pytest.mark.parametrize("has_labels", [False, True])
def test_later_rows_join_the_sum(toy, model, has_labels):
    """After more rows the posterior is the sum over old and new blocks; the old fit stays."""
    problem = problem_of(*toy, LABELS if has_labels else None)
    found = fit_in_blocks(problem, plan_of(model))
    H, n_blocks = found.posterior.H[0].copy(), found.state.n_blocks
    labels = np.array([0, 9, 3] * 5) if has_labels else None
    rows = more_rows(labels)
    after = added(problem, found, rows)
    dense = found.state.specification.model.dense
    assert_is_sum(after, kept(after) if dense else [problem.rows, rows])
    assert after.state.progress.n_rows == 75 and found.state.progress.n_rows == 60
    assert_array_equal(found.posterior.H[0], H)
    assert found.state.n_blocks == n_blocks
    if has_labels:
        assert_array_equal(after.state.labels, [0, 1, 2, 3, 9])
        assert after.state.n_blocks == 5
    if has_labels and dense:
        assert_array_equal(after.state.blocks(4).X, rows.X[labels == 9])


def test_only_blocks_that_are_hit_are_summed_again(toy, monkeypatch):
    """A batch of one block of a mixture costs its old and its new self, however many there are."""
    problem = problem_of(*toy, LABELS)
    found = fit_in_blocks(problem, plan_of([("pitc", 0.5), ("fitc", 0.5)]))
    sizes, block_sums = [], solver.block_sums

    def counted(prior, pieces, *args):
        sizes.append(sum(len(piece) for group in pieces.groups for piece in group))
        return block_sums(prior, pieces, *args)

    monkeypatch.setattr(solver, "block_sums", counted)
    after = added(problem, found, more_rows(np.full(15, 2)))
    assert_is_sum(after, kept(after))
    in_block = int((LABELS == 2).sum())
    assert sorted(sizes) == [in_block, in_block + 15]


def test_labels_stay_in_their_column(toy):
    """Later rows cannot come without labels, or with labels in another column."""
    X, y = with_labels(toy)
    found = fixed("pitc", block_column=LABEL).fit(X, y)
    with pytest.raises(ValueError, match="2 features, but AnytimeSGPRegressor is expecting 3"):
        found.partial_fit(toy[0], y)
    with pytest.raises(ValueError, match="block_column must stay as in the first batch"):
        found.set_params(block_column=None).partial_fit(X, y)


@pytest.mark.parametrize("likelihood", ["gaussian", "heteroscedastic", "poisson"])
def test_all_blocks_anew_have_the_same_evidence(toy, monkeypatch, likelihood):
    """Where what changes cannot be added, sites and noise of the rows before count as ever."""
    X, y = toy
    y = np.round(np.abs(y)) if likelihood == "poisson" else y
    options = {"n_inducing": 6, "block_size": 20, "max_iter": 3, "random_state": 0}
    models = [
        AnytimeSGPRegressor(model="pic", likelihood=likelihood, **options).fit(X[:50], y[:50])
        for _ in range(2)
    ]

    def fails(*_):
        raise NotPositiveDefiniteError

    models[0].partial_fit(X[50:], y[50:])
    monkeypatch.setattr(solver._Update, "_changes", fails)
    models[1].partial_fit(X[50:], y[50:])
    assert_allclose(models[1].objective_, models[0].objective_, rtol=1e-8)
    assert_allclose(models[1].predict(X), models[0].predict(X), rtol=1e-6)
