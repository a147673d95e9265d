"""Which default starts go on from few rows to many, and where learning from many rows ends."""

from types import SimpleNamespace

import numpy as np
import pytest
from dense import make_settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from sklearn_sgp import SVGPClassifier, SVGPRegressor
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines import ascent
from sklearn_sgp.engines.base import Problem
from sklearn_sgp.engines.other_starts import default_starts
from sklearn_sgp.engines.start import Choices, start
from sklearn_sgp.engines.variational import candidates
from sklearn_sgp.engines.variational.candidates import likely_starts
from sklearn_sgp.engines.variational.inference import inference_for
from sklearn_sgp.kernels._defaults import SMOOTH
from sklearn_sgp.likelihoods import Gaussian, StudentT
from sklearn_sgp.optimize.progress import Clock, Trace


def make_rows(n, kind="smooth", seed=0):
    """Targets of three columns: a smooth function, one with steps, or noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 3))
    function = {
        "smooth": np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2,
        "stepped": np.sign(np.sin(3.0 * X[:, 0])) * np.sign(X[:, 1]),
        "noise": np.zeros(n),
    }[kind]
    y = function + 0.1 * rng.standard_normal(n)
    y = (y - y.mean()) / y.std()
    return Rows(X, y[:, None], None, np.zeros(1), np.ones(1))


def make_problem(rows, likelihood=None, n_inducing=12, **settings):
    """A fit that chooses among default kernels."""
    likelihood = likelihood or Gaussian()
    rng = np.random.RandomState(0)
    bounds = (1e-6, 1e3)
    choices = Choices(
        None, n_inducing, "kmeans", True, noise_variance_bounds=bounds, kernel_set=SMOOTH
    )
    started = start(rows, choices, likelihood, rng)
    inference = inference_for(likelihood, 1)
    settings = make_settings(**{"max_iter": 50, **settings})
    return Problem(rows, started, inference, settings, Trace(Clock()), rng)


def kernels_of(some):
    return [str(one.kernel) for one in some]


@pytest.mark.parametrize("n", [300, 2048])
def test_few_rows_compare_all_starts(n):
    """Up to 2,048 rows nothing is left behind, and nothing is spent."""
    problem = make_problem(make_rows(n))
    found, n_iter = likely_starts(problem, problem.rows, np.inf)
    assert kernels_of(found) == kernels_of(default_starts(problem.start))
    assert n_iter == 0 and not problem.trace.objectives


@pytest.mark.parametrize("n", [2049, 3500])
@pytest.mark.parametrize("kind", ["smooth", "stepped"])
def test_at_most_half_of_the_starts_go_on(n, kind):
    """What is left are starts as they were given, of kernels that differ."""
    problem = make_problem(make_rows(n, kind))
    given = default_starts(problem.start)
    found, n_iter = likely_starts(problem, problem.rows, np.inf)
    assert 1 <= len(found) <= len(given) // 2
    assert len(set(kernels_of(found))) == len(found)
    for one in found:
        like = next(other for other in given if other.kernel is one.kernel)
        assert one.parameters.Z.shape == like.parameters.Z.shape
    assert n_iter == len(problem.trace.objectives) > 0


@pytest.mark.quick_cases("stepped")
@pytest.mark.parametrize("kind", ["smooth", "stepped"])
def test_what_goes_on_is_about_as_good_as_what_all_rows_would_choose(kind):
    """After 20 iterations on all rows the starts that are left lose at most 0.05 nats a row."""
    problem = make_problem(make_rows(2500, kind), n_inducing=40)
    every = candidates.trials(problem, default_starts(problem.start), problem.rows, np.inf, False)
    found = {id(one.kernel) for one in likely_starts(problem, problem.rows, np.inf)[0]}
    left = [one.score for one in every if id(one.problem.start.kernel) in found]
    assert max(left) >= max(one.score for one in every) - 0.05 * 2500


def test_where_few_rows_show_nothing_all_starts_go_on():
    """Of pure noise few rows say nothing that could tell one start from another."""
    problem = make_problem(make_rows(3000, "noise"))
    found, n_iter = likely_starts(problem, problem.rows, np.inf)
    assert kernels_of(found) == kernels_of(default_starts(problem.start))
    assert n_iter > 0


def test_the_order_of_the_rows_does_not_say_which_are_few():
    """The rows that are compared are the same rows, whatever their order."""
    rows = make_rows(2500)
    shuffled = rows.select(np.random.default_rng(1).permutation(2500))
    drawn = [
        one.select(candidates._some(one, 100, np.random.RandomState(3))) for one in (rows, shuffled)
    ]
    assert_array_equal(drawn[0].X, drawn[1].X)
    assert_array_equal(drawn[0].y, drawn[1].y)


def test_a_start_that_cannot_be_evaluated_is_left_behind(monkeypatch):
    """Starts keep their place where one of them fails on few rows."""
    problem = make_problem(make_rows(2500))
    given, run = default_starts(problem.start), candidates.trials

    def without_first(problem, some, *args):
        return run(problem, some[1:] if len(some) == len(given) else some, *args)

    monkeypatch.setattr(candidates, "trials", without_first)
    found, _ = likely_starts(problem, problem.rows, np.inf)
    assert {id(one.kernel) for one in found} <= {id(one.kernel) for one in given[1:]}


@pytest.mark.parametrize("likelihood", [Gaussian(), StudentT(4.0)], ids=repr)
def test_densities_are_of_other_rows_given_the_first(likelihood):
    """They are log densities at the moments of the optimal q(u): of it, or expected ones."""
    rows, others = make_rows(200), make_rows(50, seed=1)
    problem = make_problem(rows, likelihood)
    parameters, inference = problem.start.parameters, problem.inference
    prior = problem.prior(parameters)
    q = inference.posterior(prior, parameters, rows, 1, np.inf)[0]
    inference = inference.knowing((q, rows.total_weight))
    mean, variance = q.mean_variance(others.X)
    noise = parameters.noise_variance
    each = inference.densities(prior, parameters, rows, others, 1)
    if likelihood.conjugate:
        expected = norm.logpdf(others.y[:, 0], mean[:, 0], np.sqrt(variance[:, 0] + noise))
    else:
        variance = variance.reshape(-1, 1)
        expected = likelihood.expected_log_density(others.y, mean, variance, noise).value
    assert_allclose(each, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "interim, gain, is_over",
    [(False, 2e-3, False), (False, 5e-4, True), (True, 2e-2, False), (True, 5e-3, True)],
)
def test_many_rows_end_where_more_iterations_gain_nothing_visible(interim, gain, is_over):
    """100 iterations at the pace of the last ten, or these ten, gain below 0.01 nats a row."""
    trace = SimpleNamespace(objectives=[])
    problem = SimpleNamespace(rows=make_rows(5000), n_observations=5000.0, is_exact=False)
    ends, told = ascent._small_gain(problem, interim), []
    for k in range(15):
        trace.objectives.append(5000.0 * gain * k / 10.0)
        told.append(ends(trace))
    assert told == [False] * 10 + [is_over] * 5


def test_few_rows_are_learned_from_to_the_end():
    """Up to 2,048 rows, and for the exact process, nothing but `tol` ends a run."""
    few = SimpleNamespace(rows=range(2048), is_exact=False)
    exact = SimpleNamespace(rows=range(5000), is_exact=True)
    assert ascent._small_gain(few, False) is ascent._small_gain(exact, False) is None


@pytest.mark.slow
def test_a_default_fit_of_many_rows_comes_near_to_the_bound_of_a_long_one():
    """What is left behind and cut short costs less than 0.02 nats a row."""
    rows = make_rows(2500)
    options = {"n_inducing": 30, "random_state": 0}
    short = SVGPRegressor(**options).fit(rows.X, rows.y[:, 0])
    long = SVGPRegressor(optimizer="lbfgs", **options).fit(rows.X, rows.y[:, 0])
    assert short.objective_ > long.objective_ - 0.02 * len(rows)


@pytest.mark.slow
def test_many_labels_of_three_classes_compare_starts_on_few_rows():
    """Regressions of labels judge by the log probabilities of rows that are held out."""
    rows = make_rows(2800)
    y = np.digitize(rows.y[:, 0], [-0.5, 0.5])
    model = SVGPClassifier(n_inducing=20, random_state=0, max_iter=25).fit(rows.X, y)
    assert model.score(rows.X, y) > 0.9
