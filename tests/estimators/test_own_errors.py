"""Errors of rows with tails, which follow the precision of the row, all others being given."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import ConstantKernel, Matern
from varying_noise import data, made

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.noise import heteroscedastic as alternation
from sklearn_sgp.noise.own_errors import OwnErrors
from sklearn_sgp.predict.near_rows import NearRows


def _posterior(K, y, noise):
    """Mean and variance of the exact process at its rows."""
    gain = np.linalg.solve(K + np.diag(noise), K).T
    return gain @ y, np.diagonal(K - gain @ K)


def test_the_error_of_a_row_is_that_of_the_exact_process_with_its_own_precision():
    """Others keep their noise, and the row may have any; rows of which nothing is known do not."""
    rng = np.random.default_rng(0)
    n, noise_variance, scale = 20, 0.3, 1.7
    X, y = rng.uniform(0.0, 3.0, (n, 1)), rng.standard_normal(n)
    counts = rng.integers(1, 4, n).astype(float)
    precision, width = rng.gamma(2.0, 0.5, n), np.full((n, 1), 0.4)
    K = (Matern(0.7, nu=0.5) * ConstantKernel(2.0))(X)
    left_out, expected = np.empty((2, n, 1)), np.empty((n, 1))
    for i in range(n):
        others = np.delete(np.arange(n), i)
        solved = np.linalg.solve(
            K[np.ix_(others, others)] + np.diag(noise_variance / counts[others]), K[others, i]
        )
        left_out[:, i, 0] = solved @ y[others], K[i, i] - solved @ K[others, i]
        noise = noise_variance / counts
        noise[i] *= scale / precision[i]
        mean, variance = _posterior(K, y, noise)
        square = (y[i] - mean[i]) ** 2 + variance[i] + width[i, 0] ** 2 / 12.0
        expected[i] = square / noise_variance
    left_out[:, 3] = np.nan
    expected[3] = 5.0
    rows = Rows(X, y[:, None], counts, np.zeros(1), np.ones(1))
    own = OwnErrors(*left_out, width, rows, noise_variance)
    update = SimpleNamespace(precision=precision, scale=scale)
    assert_allclose(own.squares(update, np.full((n, 1), 5.0)), expected, rtol=1e-8)


@pytest.mark.parametrize("model", ["vif", "pic", None])
def test_errors_follow_precisions_in_models_that_know_their_rows(model, monkeypatch):
    """They do in turns after each new function; inducing inputs alone cannot tell a row apart."""
    turns, squares = [], OwnErrors.squares

    def counted(own, update, before):
        turns.append(squares(own, update, before))
        return turns[-1]

    monkeypatch.setattr(OwnErrors, "squares", counted)
    options = {"optimizer": None, "noise_variance": 0.05}
    fitted = made(model, "student_t", **options).fit(*data(200, tails=3.0))
    assert np.isfinite(fitted.objective_) and fitted.likelihood_.df < 8.0
    assert (len(turns) > 0) == (model is not None) and len(turns) % alternation.TURNS == 0
    if model is not None:
        assert np.abs(turns[5] - turns[4]).max() < np.abs(turns[1] - turns[0]).max()


@pytest.mark.slow
@pytest.mark.quick_cases("None-400")
@pytest.mark.parametrize(
    ("tails", "most_rows"),
    [
        (2.5, 400),
        (None, 400),
        *(pytest.param(tails, 1600, marks=pytest.mark.slow) for tails in (2.5, None)),
    ],
)
def test_left_out_rows_tell_whether_many_rows_have_tails(tails, most_rows, monkeypatch):
    """Some of them do, in whole cells, or all; without tails there are none to be told."""
    n = 1600 if most_rows == 1600 else 1100
    X, y = data(n, tails=tails)
    monkeypatch.setattr(alternation, "_FEW_NEAR_ROWS", 1000)
    monkeypatch.setattr(NearRows, "most_rows", most_rows)
    fitted = made("vif", "auto", max_iter=5, n_neighbors=40).fit(X, y)
    told = [one for one in fitted.choices_ if one["choice"] == "noise"]
    assert len(told) == 4 and max(one["standard_error"] for one in told) > 0.0
    taken = next(one["candidate"] for one in told if one["taken"])
    assert taken.endswith("StudentT") == (tails is not None)
    assert hasattr(fitted.likelihood_, "df") == (tails is not None)


@pytest.mark.slow
def test_few_rounds_follow_where_left_out_rows_have_chosen(monkeypatch):
    """Above 1,536 rows the precisions of tails need four new functions at most, of many two."""
    fits, given = [], alternation._given

    def counted(*arguments):
        fits.append(arguments)
        return given(*arguments)

    monkeypatch.setattr(alternation, "_given", counted)
    X, y = data(1600, tails=2.5)
    counts = []
    for some in (2000, 1000):
        monkeypatch.setattr(alternation, "_FEW_NEAR_ROWS", 1000)
        monkeypatch.setattr(alternation, "_SOME_NEAR_ROWS", some)
        fits.clear()
        made("vif", "student_t", max_iter=3, n_neighbors=40).fit(X, y)
        counts.append(len(fits))
    assert counts[1] == 2 < counts[0] <= 4
