"""Sites of all rows as a regression, against the exact process."""

import numpy as np
from dense import log_normal, make_parameters
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPClassifier
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.blocks import site_engine
from sklearn_sgp.engines.blocks.row_sites import regression_of, swept
from sklearn_sgp.gp.posterior import without_own
from sklearn_sgp.likelihoods import Probit
from sklearn_sgp.objectives.expectation_propagation import Observed, Sites, propagate

KERNEL, LIKELIHOOD = 3.0 * RBF([0.8, 1.2]), Probit(0.1)


def labelled(n, weight=None, seed=0):
    """Rows of two classes."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.where(np.sin(2.0 * X[:, :1]) + 0.5 * rng.standard_normal((n, 1)) > 0.0, 1.0, -1.0)
    return Rows(X, y, weight, np.zeros(1), np.ones(1))


def parameters(rows):
    return make_parameters(KERNEL, rows.X[:3], 1.0)


def found(rows, known=None):
    rng = np.random.RandomState(0)
    return regression_of(rows, parameters(rows), LIKELIHOOD, rng, 1, known)


def marginals(rows):
    """Means and variances of the function at the rows, by the regression of their sites."""
    K, noise = KERNEL(rows.X), 1.0 / rows.weight
    G = np.linalg.solve(K + np.diag(noise), K)
    return G.T @ rows.y, np.diagonal(K - K @ G)[:, None]


def test_evidence_of_the_regression_and_constant_are_those_of_the_sites():
    """log N(targets; 0, K + noise), with as many constants as observations, and the constant."""
    weight = np.linspace(0.4, 3.0, 60)
    rows = labelled(60, weight)
    regression = found(rows)
    exact = propagate(KERNEL(rows.X), Observed(rows.y, weight), LIKELIHOOD, Sites.none(60), 1e-9)
    noise = 1.0 / regression.rows.weight
    value = log_normal(regression.rows.y, KERNEL(rows.X) + np.diag(noise))
    # what weights add where precisions have no normaliser (docs/theory.md, eq. 19)
    value -= 0.5 * ((weight - 1.0).sum() * np.log(2.0 * np.pi) - np.log(noise).sum())
    assert_allclose(value + regression.constant, exact.evidence, rtol=1e-4)


def test_sites_of_the_exact_process_stay_in_a_sweep():
    """With exact marginals a sweep moves no site, and finds the same constant."""
    rows = labelled(80, np.linspace(0.5, 2.5, 80))
    regression = found(rows)
    after, constant = swept(rows, regression, marginals(regression.rows), LIKELIHOOD)
    assert_allclose(after.rows.weight, regression.rows.weight, rtol=1e-2)
    assert_allclose(after.rows.y, regression.rows.y, rtol=1e-2, atol=1e-2)
    assert_allclose(constant, regression.constant, rtol=1e-3)


def test_nothing_is_taken_out_of_moments_without_the_row():
    """Moments of rows that are not among their near rows lost a site that they never held."""
    rows = labelled(80, np.linspace(0.5, 2.5, 80))
    regression, known = found(rows), np.arange(80) % 3 > 0
    mean, variance = marginals(regression.rows)
    of_one = regression.rows.weight / np.maximum(rows.weight, 1.0)
    noise = 1.0 / of_one[:, np.newaxis]
    without = without_own(mean, variance, regression.rows.y, noise)
    with_own, is_known = (mean, variance), known[:, np.newaxis]
    some = [np.where(is_known, *both) for both in zip(with_own, without, strict=True)]
    expected, constant = swept(rows, regression, (mean, variance), LIKELIHOOD)
    got, of_some = swept(rows, regression, some, LIKELIHOOD, known)
    assert_allclose(got.rows.weight, expected.rows.weight, rtol=1e-9)
    assert_allclose(got.rows.y, expected.rows.y, rtol=1e-9)
    assert_allclose(of_some, constant, rtol=1e-9)


def test_sweeps_ask_which_rows_are_among_their_near_ones(monkeypatch):
    """Cells of a clusterer may have far more rows than are near their centres."""
    told, rows = [], labelled(300)

    def spied(*given):
        told.append(given[-1])
        return swept(*given)

    monkeypatch.setattr(site_engine, "swept", spied)
    clusters = KMeans(2, n_init=1, random_state=0)
    given = {"partition": clusters, "n_neighbors": 10, "n_inducing": 9, "random_state": 0}
    AnytimeSGPClassifier(KERNEL, likelihood="probit", optimizer=None, **given).fit(
        rows.X, rows.y[:, 0]
    )
    assert told and all(0 < known.sum() < 250 for known in told)


def test_groups_of_many_rows_have_nearly_the_sites_of_the_exact_process():
    """Sites among 300 rows around are those of all rows, but for 0.05 in precisions of up to 1."""
    rows = labelled(700)
    regression = found(rows)
    exact = propagate(
        KERNEL(rows.X), Observed(rows.y, np.ones(700)), LIKELIHOOD, Sites.none(700), 1e-6
    )
    assert_allclose(regression.rows.weight, exact.sites.precision, atol=0.05)


def test_sites_of_later_rows_know_those_before():
    """Later rows are told apart by the sites of earlier ones, which stay."""
    rows = labelled(300)
    first = found(rows.select(slice(0, 200))).rows
    later = found(rows.select(slice(200, 300)), known=first).rows
    K = KERNEL(rows.X)
    observed = Observed(rows.y, np.ones(300), np.arange(300) < 200)
    sites = Sites(
        np.append(first.weight, np.zeros(100)),
        np.append(first.weight * first.y[:, 0], np.zeros(100)),
    )
    expected = propagate(K, observed, LIKELIHOOD, sites, 1e-8).sites
    assert_allclose(later.weight, expected.precision[200:], rtol=0.05)
