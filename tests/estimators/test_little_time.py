"""What a fit does beside learning follows max_time: few rows, and the same kind of model."""

import numpy as np
import pytest
from slow_variants import slow

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.data import inducing
from sklearn_sgp.engines import left_out_bands
from sklearn_sgp.engines.blocks import (
    composite_learning,
    final_posterior,
    honest_noise,
    row_sites,
    site_engine,
    site_learning,
    solver,
)
from sklearn_sgp.engines.blocks.group_draws import GroupDraws
from sklearn_sgp.engines.blocks.pace import LEAST_GROUPS
from sklearn_sgp.likelihoods import StudentT
from sklearn_sgp.noise import left_out_errors
from sklearn_sgp.noise.given_noise import NoiseFit
from sklearn_sgp.noise.left_out_errors import NOISE_ROWS
from sklearn_sgp.objectives import near_sites
from sklearn_sgp.objectives.expectation_propagation import propagate

pytestmark = pytest.mark.filterwarnings("ignore:Intervals of 90 %")


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_t(3, size=n)


@pytest.mark.parametrize("max_time, n_measured, n_probed", [(1e-3, [1], 50), (60.0, [1, 8], 200)])
def test_the_finish_is_measured_on_few_blocks(max_time, n_measured, n_probed, monkeypatch):
    counts, probed = [], []
    measured, near = final_posterior.measured_seconds, honest_noise._near_rows
    sums = final_posterior._sums

    def counted(problem, plan, prior, noise, blocks, numbers):
        counts[-1] += len(numbers)
        return sums(problem, plan, prior, noise, blocks, numbers)

    def timed(task, repeats):
        counts.append(0)
        return measured(task, repeats)

    def noted(problem, parameters, n_probed):
        probed.append(n_probed)
        return near(problem, parameters, n_probed)

    monkeypatch.setattr(final_posterior, "_sums", counted)
    monkeypatch.setattr(final_posterior, "measured_seconds", timed)
    monkeypatch.setattr(honest_noise, "_near_rows", noted)
    options = {"block_size": 100, "n_inducing": 10, "max_iter": 2, "random_state": 0}
    AnytimeSGPRegressor(max_time=max_time, **options).fit(*table(600))
    assert counts == n_measured
    assert probed == [n_probed]


@pytest.mark.parametrize("max_time, is_whole", [(1e-3, False), slow(None, True)])
def test_few_rows_tell_of_tails_where_time_is_over(max_time, is_whole, monkeypatch):
    n_rows, errors = [], NoiseFit.errors

    def noted(fit, places):
        found = errors(fit, places)
        n_rows.append(len(found.rows))
        return found

    monkeypatch.setattr(NoiseFit, "errors", noted)
    options = {"n_inducing": 20, "max_iter": 5, "normalize_y": (0.0, 1.0), "random_state": 1}
    X, y = table(2000)
    model = AnytimeSGPRegressor(likelihood="auto", max_time=max_time, **options).fit(X, y)
    assert isinstance(model.likelihood_, StudentT)
    if is_whole:
        assert n_rows[0] == len(X)
    else:
        assert NOISE_ROWS <= min(n_rows) <= max(n_rows) < 1300


def test_sites_are_of_few_rows_where_time_is_over(monkeypatch):
    """Counts: fewer rows around a group, fewer groups that judge, few sweeps, none of all rows."""
    around, judged, most, looked_at = [], [], [], []
    of, sites = row_sites._Near.of, site_learning.SiteLearning._sites

    def noted_near(*args):
        around.append(args[-1])
        return of(*args)

    def noted_sites(self, task, groups, **options):
        if options.get("sweeps") == site_learning._JUDGE_SWEEPS:
            judged.append(len(groups))
        return sites(self, task, groups, **options)

    def noted_sweeps(K, observed, likelihood, sites, tol, most_sweeps):
        most.append(most_sweeps)
        return propagate(K, observed, likelihood, sites, tol, most_sweeps)

    def noted_check(problem, fitted, rows, moments):
        looked_at.append(len(rows))

    monkeypatch.setattr(near_sites, "propagate", noted_sweeps)
    monkeypatch.setattr(row_sites, "propagate", noted_sweeps)
    monkeypatch.setattr(left_out_bands, "_check", noted_check)
    monkeypatch.setattr(row_sites._Near, "of", noted_near)
    monkeypatch.setattr(site_learning.SiteLearning, "_sites", noted_sites)
    monkeypatch.delattr(site_engine, "swept")
    X, y = table(700)
    y = np.random.default_rng(0).poisson(np.exp(y.clip(-3.0, 3.0))).astype(float)
    options = {"n_inducing": 20, "max_iter": 5, "random_state": 0}
    AnytimeSGPRegressor(likelihood="poisson", max_time=1e-3, **options).fit(X, y)
    assert around[-1] == row_sites.AROUND_IN_HASTE < row_sites._AROUND
    assert judged == [LEAST_GROUPS]
    assert max(most) <= 5
    assert looked_at[0] < 250


def test_no_group_is_timed_where_time_is_over(monkeypatch):
    monkeypatch.delattr(composite_learning, "seconds_of_group")
    counts, draw = [], GroupDraws.draw

    def noted(self, parameters, rng, count=None):
        counts.append(count or self.count)
        return draw(self, parameters, rng, count)

    monkeypatch.setattr(GroupDraws, "draw", noted)
    monkeypatch.setattr(solver, "with_honest_noise", lambda problem, parameters, _: parameters)
    AnytimeSGPRegressor(max_time=1e-3, n_inducing=20, random_state=0).fit(*table(1500))
    assert max(counts) <= LEAST_GROUPS


@pytest.mark.parametrize("seconds, n_judging", [(1e-9, 24), (1.0, 9), (1e9, LEAST_GROUPS)])
def test_groups_that_judge_sites_are_as_many_as_there_is_time_for(seconds, n_judging, monkeypatch):
    """A trial of 100 seconds judges for a tenth of them; each group takes so long."""
    judged, sites = [], site_learning.SiteLearning._sites

    def noted_sites(self, task, groups, **options):
        if options.get("sweeps") == site_learning._JUDGE_SWEEPS:
            judged.append(len(groups))
            raise KeyboardInterrupt  # that is all
        return sites(self, task, groups, **options)

    def trial(self, task, parameters, limit, budget):
        return measured(self, task, parameters, site_learning.time.perf_counter() + 100.0, budget)

    measured = site_learning.SiteLearning.trial
    monkeypatch.setattr(site_learning.SiteLearning, "_sites", noted_sites)
    monkeypatch.setattr(site_learning.SiteLearning, "trial", trial)
    monkeypatch.setattr(site_learning, "measured_seconds", lambda _: 2.0 * seconds)
    X, y = table(700)
    options = {"n_inducing": 20, "max_iter": 5, "max_time": 60.0, "random_state": 0}
    with pytest.raises(KeyboardInterrupt):
        AnytimeSGPRegressor(likelihood="poisson", **options).fit(X, np.round(np.exp(y / 3.0)))
    assert judged == [n_judging]


@pytest.mark.parametrize("max_time, n_looked_at", [(0.1, 1024), (60.0, 1500)])
def test_k_means_looks_at_few_rows_where_time_is_short(max_time, n_looked_at, monkeypatch):
    sizes, kmeans = [], inducing.kmeans

    def noted(points, *args, **options):
        sizes.append(len(points))
        return kmeans(points, *args, **options)

    monkeypatch.setattr(inducing, "kmeans", noted)
    options = {"n_inducing": 10, "max_iter": 2, "random_state": 0}
    AnytimeSGPRegressor(max_time=max_time, **options).fit(*table(1500))
    assert sizes == 2 * [n_looked_at]


@pytest.mark.parametrize("max_time, n_timed", [(1e-3, 0), slow(60.0, 1)])
def test_no_prediction_is_timed_where_time_is_over(max_time, n_timed, monkeypatch):
    """What is learned of the noise has its fewest rows then, whatever a row costs."""
    timed, measured = [], left_out_errors.measured_seconds

    def noted(task):
        timed.append(task)
        return measured(task)

    monkeypatch.setattr(left_out_errors, "measured_seconds", noted)
    options = {"n_inducing": 10, "max_iter": 2, "random_state": 0, "likelihood": "student_t"}
    AnytimeSGPRegressor(max_time=max_time, **options).fit(*table(1500))
    assert len(timed) == n_timed
