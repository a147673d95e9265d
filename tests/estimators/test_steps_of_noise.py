"""Noise that is another from one place on: followed, and typical where no rows are."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Sum
from slow_variants import slow

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.noise import heteroscedastic, log_noise
from sklearn_sgp.noise.ceiling import typical_share
from sklearn_sgp.noise.row_noise import LogNoiseMoments

STEP, WIDTH = 5.0, 0.05


def deviation(x):
    """0.1 on the left and 1 on the right, within 1 % of the range."""
    return 10.0 ** (np.clip((x - STEP + WIDTH) / (2.0 * WIDTH), 0.0, 1.0) - 1.0)


def rows(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (n, 1))
    return X, np.sin(X[:, 0]) + deviation(X[:, 0]) * rng.standard_normal(n)


def made(kind, **parameters):
    shared = {"likelihood": "heteroscedastic", "n_inducing": 100, "random_state": 0}
    return kind(**shared, **parameters)


def assert_both_sides_are_known(model):
    for low, high in ((0.2, STEP - 0.15), (STEP + 0.15, 9.8)):
        grid = np.linspace(low, high, 400)
        error = np.abs(model.noise_std(grid[:, None]) / deviation(grid) - 1.0)
        assert error.mean() < 0.15
        assert np.quantile(error, 0.9) < 0.3


@pytest.fixture(scope="module", params=["svgp", slow("vif")])
def fitted(request):
    kind = SVGPRegressor if request.param == "svgp" else AnytimeSGPRegressor
    return made(kind, max_iter=30).fit(*rows(1200))


@pytest.mark.slow
def test_both_sides_of_a_step_are_known(fitted):
    """Beyond 1 % of the range from the step the noise of each side is known to 15 %, on average."""
    assert_both_sides_are_known(fitted)


def test_what_some_rows_teach_serves_all_rows_and_rounds(monkeypatch):
    """A kernel of the noise that is learned from some rows, once, is that of all in the end."""
    learned, learn = [], heteroscedastic.learn_log_noise

    def told(*arguments):
        learned.append((yield from learn(*arguments)))
        return learned[-1]

    monkeypatch.setattr(log_noise, "_KERNEL_ROWS", 600)
    monkeypatch.setattr(heteroscedastic, "learn_log_noise", told)
    assert_both_sides_are_known(made(SVGPRegressor, max_iter=20).fit(*rows(1200)))
    assert len(learned) > 1
    assert {type(one.sklearn_kernel) for one in learned} == {Sum}
    first, *_, last = learned
    assert np.array_equal(first.parameters.Z, last.parameters.Z)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2000, 8000])
@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor])
def test_both_sides_of_a_step_are_known_of_many_rows(kind, n):
    """So they are whether the noise's kernel is learned from all rows or from some of many."""
    assert_both_sides_are_known(made(kind).fit(*rows(n)))


@pytest.mark.slow
def test_noise_far_from_all_rows_is_that_of_all(fitted):
    """Where no rows are, the variance of the noise is its mean over the rows."""
    found = fitted.noise_std([[60.0], [-80.0]])
    assert np.allclose(found, np.sqrt(0.5 * (0.1**2 + 1.0)), rtol=0.15)


def test_the_prior_expects_what_rows_have_on_average():
    """E exp g of the prior, with a share of its variance, is the weighted mean of exp g at rows."""
    rng = np.random.default_rng(0)
    mean, weight = rng.choice([-2.0, 2.0], (500, 1)), rng.uniform(size=500)
    moments = LogNoiseMoments(mean, np.full((500, 1), 0.1))
    share = typical_share(moments, np.full(500, 16.0), weight)
    assert 0.0 < share[0] < 1.0
    average = np.average(np.exp(mean[:, 0] + 0.05), weights=weight)
    assert np.isclose(np.exp(0.5 * share[0] * 16.0), average)
    assert typical_share(moments, np.full(500, 0.2), weight) == 1.0  # narrow already
    assert typical_share(LogNoiseMoments(mean - 9.0, mean * 0.0), np.ones(500), weight) == 0.0
