"""Kernel and noise from near rows: which start goes on, what must hold, what a budget leaves."""

from dataclasses import replace

import numpy as np
import pytest
from block_helpers import plan_of, problem_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.data.repeats import least_noise_variance
from sklearn_sgp.engines.blocks import (
    composite_learning,
    coverage,
    solver,
    trials,
)
from sklearn_sgp.engines.blocks.composite_learning import can_learn, learn_from_near_rows
from sklearn_sgp.engines.blocks.trials import task_of
from sklearn_sgp.objectives.scores import Score
from sklearn_sgp.optimize.budget import Budget
from sklearn_sgp.optimize.parameters import TiedLengthScales

# Where learning is cut or its result taken back, bands are as they may be.
ANY_BANDS = pytest.mark.filterwarnings("ignore:Intervals of 90 %")

SMOOTH = ConstantKernel() * RBF(3.0)
ROUGH = ConstantKernel() * Matern(3.0, nu=0.5)
LARGEST_EXACT = composite_learning._LARGEST_EXACT


@pytest.fixture(autouse=True)
def many_rows(monkeypatch):
    """Few hundred rows count as many, of which groups are drawn."""
    monkeypatch.setattr(composite_learning, "_LARGEST_EXACT", 512)


def rough_rows(rng, n=900):
    """A walk: what Matern 1/2 describes, and no smooth kernel."""
    x = np.arange(float(n)) / 30.0
    return x[:, None], np.cumsum(rng.normal(0.0, 0.18, n)) + rng.normal(0.0, 0.1, n)


def learned(problem):
    return learn_from_near_rows(problem, Budget(problem.trace.clock))


def scores(*means):
    """Yield scores of 50 groups with these means, whose gains have a standard error of 0.014."""
    noise = np.random.default_rng(3).standard_normal(50)
    noise = 0.1 * (noise - noise.mean()) / noise.std()
    for i, mean in enumerate(means):
        yield Score(mean + noise * (-1) ** i * 0.5, np.ones(50))


def problem_with(rng, kernel=SMOOTH, **settings):
    return problem_of(*rough_rows(rng), kernel=kernel, optimizer="auto", **settings)


@pytest.mark.slow
def test_the_kernel_that_predicts_better_goes_on(rng):
    """Of a smooth and a rough default kernel, the rough one for a walk, whichever comes first."""
    problem, other = problem_with(rng, max_iter=8), problem_with(np.random.default_rng(0), ROUGH)
    both = replace(problem, start=replace(problem.start, alternatives=(other.start,)))
    start, parameters, n_iter, _ = learned(both)
    assert start.kernel == ROUGH
    assert start.alternatives == ()
    assert n_iter > 10
    assert_allclose(parameters.noise_variance, 0.01, rtol=0.9)


@pytest.mark.slow
def test_bands_that_are_too_narrow_are_told(rng, monkeypatch):
    """Where 90 % intervals hold less than 85 % of rows that were not learned from."""
    monkeypatch.setattr(coverage, "_WITHIN", 1.0)  # as if errors were 1.6 times as large
    with pytest.warns(UserWarning, match=r"of 90 % should hold .* Got [56].%: standard deviations"):
        learned(problem_with(rng, ROUGH, max_iter=5))


@pytest.mark.slow
def test_far_targets_do_not_choose_the_kernel(rng, monkeypatch):
    """Starts are compared without the tails of heavy-tailed targets; the noise has them."""
    X, y = rough_rows(rng, 1300)
    noise = 2.0 * rng.standard_t(2.5, len(y))
    problem = problem_of(X, y + noise, kernel=ROUGH, optimizer="auto", max_iter=4)
    furthest, value = [], composite_learning.CompositeLearning.value

    def seen(sample, *args):
        furthest.append(np.abs(sample.rows.targets).max())
        return value(sample, *args)

    monkeypatch.setattr(composite_learning.CompositeLearning, "value", seen)
    _, parameters, *_ = learned(problem)
    assert furthest[0] <= 4.0
    assert furthest[-1] == np.abs(problem.rows.targets).max() > 8.0
    found = parameters.noise_variance * problem.rows.y_scale[0] ** 2
    assert_allclose(found, noise.var(), rtol=0.5)


def test_the_search_for_noise_of_tails_ends_early(rng, monkeypatch):
    """Rounds that learn it with the kernel follow: it does not polish what they move again."""
    X, y = rough_rows(rng)
    problem = problem_of(X, y + rng.standard_cauchy(len(y)), kernel=ROUGH, optimizer="auto")
    asked, ascend = [], composite_learning.CompositeLearning.ascend

    def told(sample, task, *args):
        names = [group.name for group in task.space.groups]
        asked.append((names, task.settings.n_iter_no_change))
        return ascend(sample, task, *args)

    sample, budget = composite_learning.CompositeLearning(problem), Budget(problem.trace.clock)
    monkeypatch.setattr(composite_learning.CompositeLearning, "ascend", told)
    monkeypatch.setattr(
        composite_learning.CompositeLearning, "learn", lambda *args: (args[2], 0, None)
    )
    parameters = problem.start.parameters
    found, n_iter, _ = sample.learn_with_tails(problem, parameters, budget)
    assert asked == [(["log_noise"], 1)] and problem.settings.n_iter_no_change > 1
    assert 0 < n_iter < 10 and found.log_noise > parameters.log_noise


def test_noise_of_each_row_has_its_own_way_with_tails(rng):
    """Later rounds of function and noise learn from the targets as they are, given precisions."""
    X, y = rough_rows(rng)
    problem = problem_of(X, y + rng.standard_cauchy(len(y)), kernel=ROUGH, optimizer="auto")
    assert composite_learning.CompositeLearning(problem).rows is not problem.rows
    assert (
        composite_learning.CompositeLearning(replace(problem, is_interim=True)).rows is problem.rows
    )


@pytest.mark.slow
def test_inducing_inputs_stay(rng):
    """They have no part in the density; the solver chooses them afterwards."""
    problem = problem_with(rng, ROUGH, max_iter=3)
    _, parameters, *_ = learned(problem)
    assert_array_equal(parameters.Z, problem.start.parameters.Z)
    assert not np.allclose(parameters.theta, problem.start.parameters.theta)


@pytest.mark.slow
@ANY_BANDS
def test_what_does_not_hold_is_taken_back(rng, monkeypatch):
    """Rounds whose results are worse on other groups leave the parameters as they were."""
    problem, values = problem_with(rng, ROUGH), scores(1.0, 0.0)
    monkeypatch.setattr(composite_learning.CompositeLearning, "value", lambda *_: next(values))
    _, parameters, n_iter, _ = learned(problem)
    assert n_iter > 0
    assert_array_equal(parameters.theta, problem.start.parameters.theta)


@ANY_BANDS
def test_rounds_end_when_they_gain_little(rng, monkeypatch):
    """The last one gains less than the standard error; each has half of the rate before it."""
    problem, rounds = problem_with(rng, ROUGH, max_iter=20), []

    def climb(self, task, parameters, n_passes, rate, *_):
        rounds.append((n_passes, rate, self.near.n_neighbors))
        return parameters, n_passes, None

    monkeypatch.setattr(composite_learning.CompositeLearning, "climb", climb)
    for values, passes, cut_by in (
        ([0.0, 0.1, 0.2, 0.3, 0.4], [6, 6, 6, 2], "max_iter"),
        ([0.0, 0.1, 0.1001], [6, 6], None),
    ):
        rounds.clear()
        left = scores(*values)
        monkeypatch.setattr(
            composite_learning.CompositeLearning, "value", lambda *_, left=left: next(left)
        )
        assert learned(problem)[2:] == (sum(passes), cut_by)
        assert [each[0] for each in rounds] == passes
        assert_allclose([each[1] for each in rounds], 0.1 * 0.5 ** np.arange(len(rounds)))
        assert {each[2] for each in rounds} == {composite_learning.MORE_NEIGHBORS}


@pytest.mark.slow
@pytest.mark.quick_cases("0.99-2")
@ANY_BANDS
@pytest.mark.parametrize("second, finalists", [(0.99, 2), (0.9, 0)])
def test_two_trials_that_are_nearly_as_good_get_a_round(rng, monkeypatch, second, finalists):
    """What decides then is the density given more neighbours; a clear winner goes on at once."""
    turns = 0.05 * (-1.0) ** np.arange(50)  # of one start more, of the other less

    def score(mean):
        return Score(mean + (turns if mean == second else 0.0 * turns), np.ones(50))

    problem, other = problem_with(rng, max_iter=5), problem_with(np.random.default_rng(0), ROUGH)
    both = replace(problem, start=replace(problem.start, alternatives=(other.start,)))
    rounds, tried = [], []

    def trial(self, task, parameters, *_):
        tried.append(task.start.kernel)
        is_usual = parameters is problem.start.parameters or parameters is other.start.parameters
        value = second if task.start.kernel == ROUGH else 1.0
        return parameters, 1, score(value if is_usual else -1.0)

    def first_round(self, task, parameters, *_):
        rounds.append(task.start.kernel)
        return parameters, 1, score(2.0 if task.start.kernel == ROUGH else 1.0)

    monkeypatch.setattr(composite_learning.CompositeLearning, "trial", trial)
    monkeypatch.setattr(composite_learning.CompositeLearning, "first_round", first_round)
    start, *_ = learned(both)
    assert len(rounds) == finalists
    assert start.kernel == (ROUGH if finalists else SMOOTH)
    rounds.clear(), tried.clear()
    starts, sample = [both.start, other.start], composite_learning.CompositeLearning(both)
    n_iter = trials.best_start(both, sample, starts, Budget(both.trace.clock))[3]
    assert n_iter == len(tried) + len(rounds)  # one for each


@pytest.mark.slow
@ANY_BANDS
def test_no_other_start_is_tried_when_time_is_over(rng, monkeypatch):
    """The first is, so that there is something to go on with."""
    tried, trial = [], composite_learning.CompositeLearning.trial

    def noted(self, task, *rest):
        tried.append(task.start.kernel)
        return trial(self, task, *rest)

    monkeypatch.setattr(composite_learning.CompositeLearning, "trial", noted)
    other = problem_with(rng, ROUGH).start
    for seconds, kernels in ((1e-9, [SMOOTH]), (None, [SMOOTH, ROUGH])):
        problem = problem_with(rng, max_time=seconds, max_iter=3)
        learned(replace(problem, start=replace(problem.start, alternatives=(other,))))
        assert all(any(kernel == one for one in kernels) for kernel in tried)
        assert len(tried) >= len(kernels)
        tried.clear()


def test_hundreds_of_rows_are_one_group(rng, monkeypatch):
    """Three outputs of 700 rows took 74 s in many groups (seed 81021 of the hostile campaign)."""
    monkeypatch.setattr(composite_learning, "_LARGEST_EXACT", LARGEST_EXACT)
    X, y = rough_rows(rng, 700)
    sample = composite_learning.CompositeLearning(problem_of(X, y, kernel=ROUGH, optimizer="auto"))
    (group,) = sample.groups(None)
    assert len(group) == 700


def test_hundreds_of_rows_with_tails_are_one_group(rng, monkeypatch):
    """Length scales are learned without the tails; of all targets the variances are, and the noise.

    Groups took 3 to 6 times the CPU seconds, and new rows had .02 to .1 nats less.
    """
    monkeypatch.setattr(composite_learning, "_LARGEST_EXACT", LARGEST_EXACT)
    X, y = rough_rows(rng, 520)
    y[::50] += 20.0
    problem = problem_of(X, y, kernel=ROUGH, optimizer="auto", max_iter=8)
    sample, budget = composite_learning.CompositeLearning(problem), Budget(problem.trace.clock)
    assert sample.whole and sample.rows is not problem.rows
    begun = problem.start.parameters
    task = task_of(problem, problem.start)
    learned, n_iter, _ = sample.learn_with_tails(task, begun, budget)
    assert sample.rows is problem.rows and n_iter > 0
    variance, length_scale = np.abs(learned.theta - begun.theta)
    assert length_scale == 0.0 < variance
    noise = learned.noise_variance * problem.rows.y_scale[0] ** 2
    assert_allclose(noise, 8.0, rtol=0.2)  # that of the far targets: 400 in 50 rows


@pytest.mark.parametrize(
    ("n", "most"), [(300, 0.5), pytest.param(700, 0.05, marks=pytest.mark.slow)]
)
def test_a_peak_of_few_rows_is_learned_as_it_is(rng, n, most, monkeypatch):
    """Its targets have tails, but what is learned is in their units."""
    monkeypatch.setattr(composite_learning, "_LARGEST_EXACT", LARGEST_EXACT)
    x = rng.uniform(0.0, 10.0, 1200)
    f = 1000.0 * np.exp(-((x - 5.0) ** 2) / 0.02)
    y = f + rng.standard_normal(1200)
    model = AnytimeSGPRegressor(n_inducing=50, max_iter=30, normalize_y=False)
    model.fit(x[:n, None], y[:n])
    mean, std = model.predict(x[n:, None], return_std=True)
    assert np.sqrt(np.mean((mean - f[n:]) ** 2)) < most * f.std()  # 1 for a constant
    assert 0.3 < np.mean(((y[n:] - mean) / std) ** 2) < 3.0


def test_hundreds_of_rows_are_many_groups_where_time_is_short(rng, monkeypatch):
    """The exact process is for those who can wait for a hundred evaluations of it."""
    monkeypatch.setattr(composite_learning, "_LARGEST_EXACT", LARGEST_EXACT)
    problem = problem_with(rng, ROUGH)
    sample = composite_learning.CompositeLearning(problem)
    monkeypatch.setattr(composite_learning, "seconds_of_group", lambda *arguments: 0.01)
    for seconds, has_time in ((1.0, False), (30.0, True), (np.inf, True)):
        problem.trace.clock.max_time = seconds
        assert sample.has_time(problem.start.parameters, Budget(problem.trace.clock)) == has_time


def test_some_rows_judge_what_others_say_of_many_categories(rng, monkeypatch):
    """Few rows are one group, of which a quarter is only predicted; of few categories none is."""
    sizes, trial = [], composite_learning.CompositeLearning.trial

    def counted(self, *arguments):
        sizes.append((self.held_out, sum(map(len, self.groups(None)))))
        return trial(self, *arguments)

    monkeypatch.setattr(composite_learning.CompositeLearning, "trial", counted)
    x = rng.uniform(0.0, 6.0, 200)
    for n_categories, n_own in ((20, 150), (3, 200)):
        X = np.column_stack([x, np.arange(200) % n_categories])
        AnytimeSGPRegressor(categorical_features=[1], n_inducing=10, max_iter=3).fit(X, np.sin(x))
        held_out, n_rows = sizes.pop()
        assert n_rows == n_own
        assert (held_out is None) == (n_own == 200)
        if held_out is not None:
            assert_array_equal(np.sort(np.concatenate(held_out)), np.arange(200))


def test_few_rows_are_learned_from_whole(rng, monkeypatch):
    """Up to a limit all rows are one group, whose density is the exact marginal likelihood."""
    sizes = []
    ascend = composite_learning.CompositeLearning.ascend
    monkeypatch.setattr(
        composite_learning.CompositeLearning,
        "ascend",
        lambda self, task, groups, *rest: (
            sizes.append([len(piece) for piece in groups]) or ascend(self, task, groups, *rest)
        ),
    )
    X, y = rough_rows(rng, 200)
    learned(problem_of(X, y, kernel=ROUGH, optimizer="auto"))
    assert sizes == [[200]]


@pytest.mark.parametrize("model", ["pic", "lma", "vif", "fitc", "pitc"])
def test_which_models_use_near_rows(model):
    """Those whose test rows are conditioned on training rows."""
    assert plan_of(model).uses_near_rows == (model in ("pic", "lma", "vif"))


def test_nothing_to_learn(rng):
    """With kernel and noise fixed, or another optimiser, the models' own objective is followed."""
    assert can_learn(problem_with(rng))
    fixed = problem_with(rng, ConstantKernel(1.0, "fixed") * RBF(3.0, "fixed"))
    space = replace(fixed.start.space, groups=())
    assert not can_learn(replace(fixed, start=replace(fixed.start, space=space)))
    assert not can_learn(problem_of(*rough_rows(rng), kernel=ROUGH, optimizer="lbfgs"))


@pytest.mark.slow
def test_inducing_inputs_are_chosen_at_learned_scales(rng):
    """A column that plays no role does not spread them."""
    X = rng.uniform(-1.0, 1.0, (700, 2))
    y = np.sin(6.0 * X[:, 0]) + 0.05 * rng.standard_normal(700)
    kernel = ConstantKernel() * RBF([1.0, 1.0], (1e-2, 1e3))
    problem = problem_of(X, y, kernel=kernel, optimizer="auto", max_iter=8)
    plan = replace(plan_of("pic", block_size=100), inducing="kmeans")
    Z = solver.fit_in_blocks(problem, plan).parameters.Z
    before = problem.start.parameters.Z
    assert np.ptp(Z[:, 1]) < 0.5 * np.ptp(before[:, 1])
    assert np.diff(np.sort(Z[:, 0])).min() > 0.1


def test_one_ascent_keeps_a_default_kernel_within_reach(rng):
    """Bounds of theta are narrowed around where an ascent begins; a given kernel has its own."""
    given = problem_with(rng, ROUGH)
    space = given.start.space
    assert space.within_reach(given.start.parameters, composite_learning._LARGEST_LOG_MOVE) is space
    tied = replace(space, prior=TiedLengthScales(np.zeros(1), (np.array([1]),), 1.0))
    theta = given.start.parameters.theta
    bounds = (
        tied.within_reach(given.start.parameters, composite_learning._LARGEST_LOG_MOVE)
        .group("theta")
        .bounds
    )
    assert_allclose(bounds, np.column_stack([theta - 3.0, theta + 3.0]))


TWO_PARTS = ConstantKernel() * RBF([3.0, 3.0]) + ConstantKernel(0.1) * Matern([3.0, 3.0], nu=0.5)


def walks(rng, n_walks=40, n=2400):
    """A walk along the second column for each value of the first: neighbours say nothing."""
    which, at = rng.integers(n_walks, size=n), rng.uniform(0.0, 2.0, n)
    steps = np.cumsum(rng.normal(0.0, 0.1, (n_walks, 200)), axis=1)
    y = steps[which, (100 * at).astype(int)] + rng.normal(0.0, 0.05, n)
    return np.column_stack([which / 12.0, at]), y


def probed(problem, begin):
    sample = composite_learning.CompositeLearning(problem)
    task = task_of(problem, problem.start)
    return trials.probed(task, sample, begin, Budget(problem.trace.clock))


def test_far_steps_make_the_rough_part_short_where_rows_are_strangers(rng):
    """From equal length scales to one that is far shorter, and to more than begins with it."""
    problem = problem_of(*walks(rng), kernel=TWO_PARTS, optimizer="auto")
    problem = replace(problem, start=replace(problem.start, with_default_bounds=("theta",)))
    found = probed(problem, problem.start.parameters)
    scales = np.exp(found.theta[-2:])
    assert scales[0] < 0.03 * scales[1] <= 0.1
    sample = composite_learning.CompositeLearning(problem)
    task = task_of(problem, problem.start)
    gain, _ = sample.value(task, found).gain(sample.value(task, problem.start.parameters))
    assert gain > 0.5


def test_far_steps_are_for_kernels_that_were_not_given(rng):
    problem = problem_of(*walks(rng), kernel=TWO_PARTS, optimizer="auto")
    assert probed(problem, problem.start.parameters) is None


def test_far_steps_that_do_not_lead_near_are_forgotten(rng):
    """Where what was learned is far better than any rough part with half of its noise."""
    X = rng.uniform(-2.0, 2.0, (900, 2))
    problem = problem_of(X, np.sin(X[:, 0]) + 1e-3 * X[:, 1], kernel=TWO_PARTS, optimizer="auto")
    problem = replace(problem, start=replace(problem.start, with_default_bounds=("theta",)))
    begin = problem.start.parameters
    begin = begin.with_values(theta=np.log([1.0, 2.0, 9.0, 1e-4, 9.0, 9.0]), log_noise=-12.0)
    assert probed(problem, begin) is None


@pytest.mark.slow
def test_equal_inputs_tell_of_noise_that_no_group_has(rng):
    """A smooth function, all rows apart but three pairs, whose targets differ."""
    X = np.linspace(-3.0, 3.0, 1500)[:, None]
    y = np.sin(X[:, 0])
    X[[100, 700, 1300]] = X[[101, 701, 1301]]
    y[[100, 700, 1300]] = y[[101, 701, 1301]] + np.array([0.5, -0.4, 0.6])
    problem = problem_of(X, y, kernel=SMOOTH, optimizer="auto", max_iter=10)
    problem = replace(problem, start=replace(problem.start, with_default_bounds=("log_noise",)))
    least = least_noise_variance(problem.rows)
    assert least > 1e-3
    _, parameters, *_ = learned(problem)
    assert parameters.noise_variance >= least * (1 - 1e-9)
    chosen = replace(problem.start, with_default_bounds=())
    assert trials.above_repeats(chosen, problem.rows) is chosen
