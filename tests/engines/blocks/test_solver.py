"""A fit in blocks from beginning to end, at fixed hyperparameters, and rows that come later."""

import numpy as np
import pytest
from block_helpers import (
    LABELS,
    MODELS,
    PARTITIONS,
    TEST_LABELS,
    X_TEST,
    fixed,
    plan_of,
    problem_of,
)
from dense import block_factor
from failures import interrupt
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.blocks import (
    final_posterior as finish,
)
from sklearn_sgp.engines.blocks import (
    natural_gradient,
    solver,
)
from sklearn_sgp.engines.blocks import (
    state as results,
)
from sklearn_sgp.engines.blocks.schedules import Average, RobbinsMonro
from sklearn_sgp.engines.blocks.solver import learn
from sklearn_sgp.optimize import budget
from sklearn_sgp.optimize.budget import Budget
from sklearn_sgp.partitions.partition import Blocks


def summed(found, blocks):
    """H, h and the evidence of blocks, one by one."""
    posterior, s2 = found.result.posterior, found.result.parameters.noise_variance
    H, h, constant = np.zeros_like(posterior.H[0]), np.zeros_like(posterior.h), 0.0
    for rows in blocks:
        factor = block_factor(posterior.prior, rows, s2, found.specification.model)
        constant += factor.add_to(H, h)
    H = np.tril(H) + np.tril(H, -1).T
    B = np.eye(len(H)) + H
    evidence = 0.5 * float(np.vdot(h, np.linalg.solve(B, h))) - 0.5 * np.linalg.slogdet(B)[1]
    return H, h, constant + evidence


def kept(found):
    """The blocks that a fit keeps."""
    return [found.blocks(k) for k in range(found.n_blocks)]


def assert_is_sum(found, blocks):
    """The posterior is the sum of all blocks, and the objective its evidence."""
    H, h, evidence = summed(found, blocks)
    assert_allclose(found.result.posterior.H[0], H, rtol=1e-9, atol=1e-9)
    assert_allclose(found.result.posterior.h, h, rtol=1e-9, atol=1e-9)
    assert_allclose(found.result.objective, evidence, rtol=1e-9)


@MODELS
@pytest.mark.parametrize("schedule", [None, Average()])
@pytest.mark.parametrize("labels", [None, LABELS], ids=["partition", "labels"])
def test_the_posterior_is_the_sum_over_blocks(toy, model, schedule, labels):
    """In one pass or an epoch of steps, all rows are in one block each, and all blocks in q(u)."""
    problem, plan = problem_of(*toy, labels), plan_of(model, schedule)
    found = learn(problem, plan)
    blocks = kept(found) if plan.model.dense else [problem.rows]
    assert_is_sum(found, blocks)
    assert sum(len(rows) for rows in blocks) == 60 == found.progress.n_rows
    assert not found.interrupted
    assert found.result.n_steps == (0 if schedule is None else found.n_blocks)


def test_blocks_are_in_the_order_of_their_labels(toy):
    """The user's labels name the blocks, whatever numbers they are."""
    names = np.array([40, -3, 7, 12])
    found = learn(problem_of(*toy, names[LABELS]), plan_of("pitc"))
    assert_array_equal(found.labels, np.sort(names))
    for k, name in enumerate(found.labels):
        assert_array_equal(found.blocks(k).X, toy[0][names[LABELS] == name])
    assert_array_equal(found.assign(X_TEST[:3], np.array([7, 99, -3])), [1, -1, 0])
    assert_array_equal(found.assign(X_TEST), np.full(9, -1))


def test_blocks_of_independent_rows_are_of_any_size(toy, monkeypatch):
    """Models whose factors are rows give the same posterior however rows are put into blocks."""
    whole = learn(problem_of(*toy), plan_of("fitc"))
    monkeypatch.setattr(solver, "ROW_BLOCK", 7)
    parts = learn(problem_of(*toy), plan_of("fitc"))
    assert (whole.n_blocks, parts.n_blocks) == (1, 9)
    assert_allclose(parts.result.posterior.H[0], whole.result.posterior.H[0], rtol=1e-9, atol=1e-9)
    assert_allclose(parts.result.objective, whole.result.objective, rtol=1e-10)


@PARTITIONS
def test_a_partition_knows_where_later_rows_go(toy, partition):
    """Rows without labels belong where the partition puts them."""
    found = learn(problem_of(*toy), plan_of("pitc", partition=partition))
    assert len(found.blocks) > 1
    assert_array_equal(found.assign(X_TEST), found.partition.assign(X_TEST))
    with pytest.raises(ValueError, match="blocks must be given to fit"):
        found.check_labels(TEST_LABELS, 9)


SCHEDULES = pytest.mark.parametrize("schedule", [Average(), RobbinsMonro(0.3, 0.9, 0.75)])


@SCHEDULES
@pytest.mark.parametrize("stop", [1, 3])
def test_steps_end_at_their_number(toy, schedule, stop):
    """max_steps ends the steps, without a warning."""
    found = learn(problem_of(*toy, LABELS, max_steps=stop), plan_of("pitc", schedule))
    assert found.result.n_steps == stop


@SCHEDULES
def test_a_first_epoch_is_finished_if_that_is_little_late(toy, schedule):
    """A budget that is over ends the steps after the first epoch, which takes milliseconds."""
    late = learn(problem_of(*toy, LABELS, max_time=1e-9), plan_of("pitc", schedule))
    assert late.result.n_steps == 4


@SCHEDULES
def test_what_learning_used_up_is_not_taken_from_the_finish(toy, schedule, monkeypatch):
    """Learning that ends late leaves the finish the seconds that were kept for it."""
    monkeypatch.setattr(finish, "_OVERRUN_SECONDS", 0.0)
    problem = problem_of(*toy, LABELS, max_time=1e-9)
    budget = Budget(problem.trace.clock)
    budget.reserve = 100.0
    blocks = Blocks(problem.rows, LABELS)
    start, plan = problem.start.parameters, plan_of("pitc", schedule)
    assert finish.finish(problem, plan, start, blocks, budget).progress.n_seen == 4


@SCHEDULES
def test_a_first_epoch_that_would_be_late_ends_with_a_warning(toy, schedule, monkeypatch):
    """Blocks that there is no time for are left out, and a warning says how many rows are in."""
    monkeypatch.setattr(finish, "_OVERRUN_SECONDS", 0.0)
    with pytest.warns(ConvergenceWarning, match="for all 4 blocks: q.* rests on 1 of them") as seen:
        late = learn(problem_of(*toy, LABELS, max_time=1e-9), plan_of("pitc", schedule))
    assert late.result.n_steps == 1 and not late.progress.is_complete
    n_rows = late.progress.n_rows
    assert n_rows == late.result.n_used == np.bincount(LABELS)[late.progress.seen].sum()
    assert f"on {n_rows} of 60 rows" in str(seen[0].message) and len(seen) == 1


def test_an_interrupt_leaves_the_steps_before(toy, monkeypatch):
    """Ctrl-C in the third step gives the posterior of two, in the first step it is raised."""
    two = learn(problem_of(*toy, LABELS, max_steps=2), plan_of("pitc", Average()))
    with monkeypatch.context() as patch:
        interrupt(patch, natural_gradient, "block_sums", 3, KeyboardInterrupt)
        found = learn(problem_of(*toy, LABELS), plan_of("pitc", Average()))
    assert found.interrupted and not two.interrupted
    assert found.result.n_steps == 2
    assert_array_equal(found.result.posterior.H[0], two.result.posterior.H[0])
    with monkeypatch.context() as patch:
        interrupt(patch, natural_gradient, "block_sums", 1, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            learn(problem_of(*toy, LABELS), plan_of("pitc", Average()))


def test_a_budget_too_short_for_all_blocks_warns(toy, monkeypatch):
    """The exact solver then scales up the blocks that it had time for."""
    monkeypatch.setattr(budget, "_SLACK_SECONDS", 0.0)
    X, y = np.tile(toy[0], (40, 1)), np.tile(toy[1], 40)
    labels = np.arange(len(X)) // 120  # each block has all rows of `toy` twice
    ours = fixed("fitc", max_time=1e-6)
    with pytest.warns(ConvergenceWarning, match="no time for all 20 blocks"):
        ours.fit(X, y, blocks=labels)
    whole = fixed("fitc").fit(X, y, blocks=labels)
    assert_allclose(ours.predict(X_TEST), whole.predict(X_TEST), rtol=1e-7)
    assert_allclose(ours.objective_, whole.objective_, rtol=1e-9)


def test_a_block_that_is_too_large_is_refused(toy, monkeypatch):
    """A block whose covariance would not fit into memory ends with a clear error."""
    monkeypatch.setattr(results, "LARGEST_BLOCK", 20)
    for model in ("pitc", "pic"):
        with pytest.raises(ValueError, match="Got one of 60: split it"):
            fixed(model).fit(*toy, blocks=np.zeros(60, dtype=int))
    fixed("fitc").fit(*toy, blocks=np.zeros(60, dtype=int))


# Later rows


def more_rows(labels=None, n=15):
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return Rows(X, np.cos(X[:, :1]), None, np.zeros(1), np.ones(1), labels)


def added(problem, found, rows):
    return solver.add_rows(found, rows, problem.settings, np.random.RandomState(0))


@MODELS
@pytest.mark.parametrize("labelled", [False, True])
def test_later_rows_join_the_sum(toy, model, labelled):
    """After more rows the posterior is the sum over old and new blocks; the old fit stays."""
    problem = problem_of(*toy, LABELS if labelled else None)
    found = learn(problem, plan_of(model))
    H, n_blocks = found.result.posterior.H[0].copy(), found.n_blocks
    labels = np.array([0, 9, 3] * 5) if labelled else None
    rows = more_rows(labels)
    after = added(problem, found, rows)
    dense = found.specification.model.dense
    assert_is_sum(after, kept(after) if dense else [problem.rows, rows])
    assert after.progress.n_rows == 75 and found.progress.n_rows == 60
    assert_array_equal(found.result.posterior.H[0], H)
    assert found.n_blocks == n_blocks
    if labelled:
        assert_array_equal(after.labels, [0, 1, 2, 3, 9])
        assert after.n_blocks == 5
    if labelled and dense:
        assert_array_equal(after.blocks(4).X, rows.X[labels == 9])


def test_only_blocks_that_are_hit_are_summed_again(toy, monkeypatch):
    """A batch of one block costs its old and its new self, whatever the number of blocks."""
    problem = problem_of(*toy, LABELS)
    found = learn(problem, plan_of("pitc"))
    sizes, block_sums = [], solver.block_sums

    def counted(prior, pieces, *args):
        sizes.append(sum(len(piece) for group in pieces.groups for piece in group))
        return block_sums(prior, pieces, *args)

    monkeypatch.setattr(solver, "block_sums", counted)
    after = added(problem, found, more_rows(np.full(15, 2)))
    assert_is_sum(after, kept(after))
    in_block = int((LABELS == 2).sum())
    assert sorted(sizes) == [in_block, in_block + 15]


def test_labels_are_missed_where_there_were_some(toy):
    """Rows without labels cannot join blocks that have labels."""
    problem = problem_of(*toy, LABELS)
    found = learn(problem, plan_of("pitc"))
    with pytest.raises(ValueError, match="blocks must be given, as they were"):
        added(problem, found, more_rows())
