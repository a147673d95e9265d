"""Student-t noise by precisions of rows: q(tau), its part of the bound, what is learned."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import gamma

from sklearn_sgp.likelihoods import StudentT
from sklearn_sgp.likelihoods.noise._heavy_tails import best_tails

SQUARES = np.array([0.0, 0.3, 2.0, 40.0])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0])


def fixed(*df, squares=SQUARES):
    squares = squares.reshape(len(SQUARES), -1)
    return best_tails(squares, WEIGHT, np.array(df), learns_df=False, learns_scale=False)


def integral(square, df):
    """The logarithm of the integral over tau."""

    def at(tau):
        return np.sqrt(tau) * np.exp(-0.5 * tau * square) * gamma.pdf(tau, df / 2, 0, 2 / df)

    return np.log(quad(at, 0.0, np.inf)[0])


@pytest.mark.parametrize("df", [(2.5,), (7.0,), (2.5, 7.0)])
def test_the_bound_is_tight_in_q(df):
    """With the Gaussian part it is the log of the integrals over each output's own tau."""
    squares = np.column_stack([SQUARES, SQUARES[::-1]])[:, : len(df)]
    tails = fixed(*df, squares=squares)
    each = [[integral(square, one) for square, one in zip(row, df, strict=True)] for row in squares]
    found = tails.constant - 0.5 * (WEIGHT @ (tails.precision * squares)).sum()
    assert_allclose(found, (WEIGHT @ each).sum(), rtol=1e-7)


def test_the_density_is_that_of_student_t():
    """Where f is known, the whole bound is the log density of y."""
    df, s2 = 4.0, 0.3
    tails = fixed(df, squares=SQUARES / s2)
    precision = tails.precision[:, 0]
    gaussian = -0.5 * WEIGHT @ (np.log(2 * np.pi * s2) + precision * SQUARES / s2)
    y, nothing = np.sqrt(SQUARES)[:, None], np.zeros((4, 1))
    expected = WEIGHT @ StudentT(df).log_predictive_density(y, nothing, nothing, s2)
    assert_allclose(gaussian + tails.constant, expected, rtol=1e-8)


@pytest.mark.parametrize("df", [1e5, 1e8, 1e12])
def test_many_degrees_of_freedom_are_gaussian(df):
    """Precisions tend to 1 and the constant to 0, through the change of formulas."""
    tails = fixed(df)
    assert_allclose(tails.precision, 1.0, atol=40.0 / df)
    assert_allclose(tails.constant, 0.0, atol=500.0 / df)


def test_series_and_functions_agree():
    """Differences of log-Gamma functions and their series are one where one takes over."""
    x = 1e6
    assert_allclose(gammaln(x + 0.5) - gammaln(x) - 0.5 * np.log(x), -0.125 / x, atol=2e-8)


@pytest.mark.parametrize("seed", range(5))
def test_degrees_of_freedom_and_scale_are_found(seed):
    """From 20,000 errors, within 20 percent."""
    errors = 0.3 * np.random.default_rng(seed).standard_t(4.0, 20_000)
    weight = np.ones(len(errors))
    squares, df = errors[:, None] ** 2, np.array([10.0])
    tails = best_tails(squares, weight, df, learns_df=True, learns_scale=True)
    assert_allclose(tails.df, 4.0, rtol=0.2)
    assert_allclose(np.sqrt(tails.scale), 0.3, rtol=0.05)


@pytest.mark.parametrize("instruments", [2, 4])
def test_errors_of_instruments_in_turn(instruments):
    """Where every k-th row is of one instrument tails and noise are those of all instruments."""
    sd = np.where(np.arange(instruments) % 2, 1.0, 0.1)
    errors = np.random.default_rng(0).normal(size=(120_000 // instruments, instruments)) * sd
    found = []
    for squares in (errors.ravel() ** 2, errors.T.ravel() ** 2):
        options = {"learns_df": True, "learns_scale": True}
        found.append(best_tails(squares[:, None], np.ones(120_000), np.array([4.0]), **options))
    in_turn, one_by_one = found
    assert_allclose(np.sqrt(in_turn.scale), np.sqrt(one_by_one.scale), rtol=0.05)
    assert_allclose(in_turn.df, one_by_one.df, rtol=0.05)
    assert 0.2 < np.sqrt(in_turn.scale) < 0.5


def test_what_is_fixed_stays():
    """A given number of degrees of freedom, and a noise variance that is not learned."""
    likelihood = StudentT(3.0)
    squares, options = SQUARES[:, None], {"learns": True, "n_scales": 0}
    update = likelihood.updated(squares, WEIGHT, **options)
    assert update.likelihood.df == 3.0 and update.scale == 1.0
    learned = StudentT(None).updated(squares, WEIGHT, **options).likelihood
    again = learned.updated(squares, WEIGHT, learns=False, n_scales=0).likelihood
    assert again.df == learned.df != 4.0


def test_errors_without_end_have_limits():
    """Infinite errors have density 0, those that overflow too; what is no number stays so."""
    one = np.ones((5, 1))
    y = np.array([[np.inf], [-np.inf], [1e300], [np.nan], [1.0]])
    log_p = StudentT(3.0).log_predictive_density(y, 0.0 * one, one, 0.5)
    assert (log_p[:2] == -np.inf).all()
    assert log_p[2] < -100.0
    assert np.isnan(log_p[3])
    assert np.isfinite(log_p[4])
    below = StudentT(3.0).cdf(y, 0.0 * one, one, 0.5)[:, 0]
    assert below[0] == below[2] == 1.0
    assert below[1] == 0.0
