"""Noise of each row where rows are many, and where time is short."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_variants import slow
from varying_noise import X_TEST, data, made

from sklearn_sgp.engines.blocks import engine, solver
from sklearn_sgp.estimators import mean_steps
from sklearn_sgp.noise import heteroscedastic as alternation
from sklearn_sgp.noise import honest_bands, left_out_errors, log_noise
from sklearn_sgp.optimize import time_shares
from sklearn_sgp.optimize.progress import Clock
from sklearn_sgp.predict.near_rows import NearRows

# Pairs of a model and noise that are each met in every run, with another partner.
REPEATED = [
    (None, "heteroscedastic_student_t"),
    (None, "auto"),
    ("fitc", "heteroscedastic"),
    ("fitc", "auto"),
    ("pic", "heteroscedastic_student_t"),
    ("pic", "auto"),
    ("vif", "heteroscedastic"),
]


@pytest.mark.quick_cases("None-heteroscedastic", "fitc-heteroscedastic_student_t")
@pytest.mark.parametrize(
    ("model", "likelihood"),
    [
        (None, "heteroscedastic"),
        ("fitc", "heteroscedastic_student_t"),
        slow("pic", "heteroscedastic"),
        ("vif", "heteroscedastic_student_t"),
        slow("vif", "auto"),
        *(slow(*case) for case in REPEATED),
    ],
)
def test_the_log_noise_is_learned_from_some_rows(model, likelihood, monkeypatch):
    """It is nearly what all rows say, and the bound counts all rows.

    Of eight data sets the bound of VIF is 9 to 87 lower than that of a noise from all rows.
    """
    X, y = data(600, tails=4.0)
    options = {"max_iter": 10} | ({} if model is None else {"block_size": 25})
    whole = made(model, likelihood, **options).fit(X, y)
    monkeypatch.setattr(alternation, "LARGEST_SAMPLE", 300)
    monkeypatch.setattr(log_noise, "LARGEST_SAMPLE", 240)
    some = made(model, likelihood, **options).fit(X, y)
    ratio = some.noise_std(X_TEST) / whole.noise_std(X_TEST)
    # 0.24 to 0.28 of three draws of pic: all rows are within 0.06 to 0.09 of the truth
    assert np.abs(np.log(ratio)).mean() < 0.3
    assert abs(some.objective_ - whole.objective_) < 0.1 * len(X)  # half of it is 180


@pytest.mark.parametrize("model", ["pic", "lma", "vif"])
def test_blocks_serve_again_while_length_scales_stay(model, monkeypatch):
    """Rounds make none where the kernel is fixed, and the fit is the same as with new ones."""
    calls, make = [], solver._make_blocks

    def counted(*arguments):
        calls.append(arguments)
        return make(*arguments)

    X, y = data(400)
    fixed = {"optimizer": None, "noise_variance": 0.05, "random_state": 3}
    monkeypatch.setattr(solver, "_make_blocks", counted)
    again = made(model, **fixed).fit(X, y)
    assert len(calls) == 1
    for copy_X in (True, False):
        assert_allclose(made(model, copy_X=copy_X, **fixed).fit(X, y).objective_, again.objective_)
    monkeypatch.setattr(solver, "_blocks_again", lambda *arguments: None)
    anew = made(model, **fixed).fit(X, y)
    assert len(calls) > 4
    tolerance = 1e-8 if model == "pic" else 0.03  # neighbours come in another random order
    assert_allclose(anew.predict(X_TEST), again.predict(X_TEST), atol=tolerance)
    assert_allclose(anew.noise_std(X_TEST), again.noise_std(X_TEST), rtol=tolerance)


@pytest.mark.parametrize("model", [None, "fitc", "vif"])
@pytest.mark.parametrize("likelihood", ["heteroscedastic", "heteroscedastic_student_t"])
def test_noise_is_known_where_no_time_is_left(model, likelihood, monkeypatch):
    """The function is that of constant noise, the noise is its squared errors', the bound holds."""
    X, y = data(1000, tails=5.0)
    fixed = {"optimizer": None, "noise_variance": 0.04}
    gaussian = made(model, "gaussian", **fixed).fit(X, y)
    rounds = made(model, likelihood, **fixed).fit(X, y)
    monkeypatch.setattr(alternation, "_NOISE_ROUNDS", 0)
    fitted = made(model, likelihood, **fixed).fit(X, y)
    assert_allclose(fitted.predict(X_TEST), gaussian.predict(X_TEST))
    assert np.abs(np.log(fitted.noise_std(X_TEST) / rounds.noise_std(X_TEST))).mean() < 0.25
    assert gaussian.objective_ < fitted.objective_ < rounds.objective_ + 1e-6
    more = fitted.partial_fit(*data(200, seed=1))
    assert np.isfinite(more.objective_) and more.n_samples_seen_ == 1200


@pytest.mark.parametrize("likelihood", ["auto", "heteroscedastic_student_t"])
def test_some_rows_tell_of_tails_where_there_is_no_time_for_all(likelihood, monkeypatch):
    """Whether tails are chosen or were asked for."""
    (X, y), new = data(1000, tails=2.5), data(1000, tails=2.5, seed=100)
    monkeypatch.setattr(alternation, "LARGEST_SAMPLE", 500)
    options = {"optimizer": None, "noise_variance": 0.1, "normalize_y": "yeo-johnson"}
    chosen = made("vif", "auto", **options).fit(X, y)
    options["max_time"] = 1e3
    assert chosen.likelihood_.df < 6.0
    monkeypatch.setattr(time_shares, "TAILS", -1.0)
    some = made("vif", likelihood, **options).fit(X, y)
    assert_allclose(some.likelihood_.df, chosen.likelihood_.df, rtol=0.5)
    few, all_rows = (one.log_density(*new).mean() for one in (some, chosen))
    assert few > all_rows - 0.08  # .02 to .05 less with five seeds


def test_a_round_begins_in_time_alone(monkeypatch):
    """A first fit that takes all of max_time is the last one, with noise of each row."""
    fits, fit, left = [], engine.fit_in_blocks, Clock.left

    def slow(problem, *plan):
        fits.append(problem)
        found = fit(problem, *plan)
        monkeypatch.setattr(Clock, "left", lambda c: 0.0 if c.max_time > 100.0 else left(c))
        return found

    monkeypatch.setattr(engine, "fit_in_blocks", slow)
    fitted = made("pic", optimizer=None, max_time=1e3).fit(*data(400))
    assert len(fits) == 1 and np.ptp(fitted.noise_std(X_TEST)) > 0.1


@pytest.mark.slow
def test_many_rows_are_predicted_once(monkeypatch):
    """Noise is learned from some of many rows, and what is left out is predicted once.

    Bands and the mean are judged by some of the rows that variances were scaled by.
    """
    asked, moments = [], NearRows.of_one_cell

    def counted(predictor, rows, *given):
        asked.append((predictor.own, len(rows)))
        return moments(predictor, rows, *given)

    X, y = data(1600)
    monkeypatch.setattr(NearRows, "of_one_cell", counted)
    monkeypatch.setattr(NearRows, "most_rows", 200)
    monkeypatch.setattr(left_out_errors, "_LEFT_OUT_ROWS", 800)
    for step in (honest_bands, mean_steps):
        monkeypatch.setattr(step, "JUDGING_ROWS", 400)
    made("vif", "auto", max_iter=3, n_neighbors=40).fit(X, y)
    own, _ = asked[0]
    sizes = [size for of_fit, size in asked if of_fit is not own]  # the first fit is looked at, too
    assert max(sizes) < 1000
    assert sum(size < 400 for size in sizes) <= alternation._ROUNDS_OF_MANY
    assert sum(size >= 600 for size in sizes) == 1
