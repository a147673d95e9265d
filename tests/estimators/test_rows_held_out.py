"""What rows held out tell a classifier: temperature, kernel, whether to have inducing inputs."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from test_anytime_classifier import data, made

from sklearn_sgp.engines.blocks import class_scale, engine, solver
from sklearn_sgp.estimators import class_steps
from sklearn_sgp.objectives.scores import Score
from sklearn_sgp.selection import left_out_classes as selection


def few_are_many(monkeypatch):
    """Rows are held out of few, too."""
    monkeypatch.setattr(selection, "LEAST_HELD_OUT", 100)
    monkeypatch.setattr(class_scale, "LEAST_HELD_OUT", 100)
    monkeypatch.setattr(selection, "_HELD_OUT", 30)


def test_temperatures_of_many_rows_are_those_of_rows_held_out(monkeypatch):
    """The same model of the other rows predicts them; all of these are near, so it is exact."""
    seen, parted, tried = [], selection._parted, selection.Trials._trial
    monkeypatch.setattr(selection, "_parted", lambda *args: seen.append(parted(*args)) or seen[-1])
    note = lambda *args: seen.append(tried(*args)) or seen[-1]  # noqa: E731
    monkeypatch.setattr(selection.Trials, "_trial", note)
    monkeypatch.setattr(selection, "_MOST_POWERS", 0)
    few_are_many(monkeypatch)
    kernel = ConstantKernel(6.0) * RBF(0.8, "fixed")
    options = {"optimizer": "auto", "max_iter": 2, "n_neighbors": 200, "kernel": kernel}
    fitted = made(**options).fit(*data(120))
    ((known, held), _, first, alone), K = seen, fitted.kernel_
    classes = first.left_out
    assert (len(known), len(held)) == (90, 30)
    assert fitted.temperature_ == classes.calibrated().temperature
    assert_allclose(alone.left_out.moments, classes.moments, atol=1e-6)
    assert len(fitted.inducing_points_) == 20  # near rows alone are no better, as they are all
    for c, (mean, variance) in enumerate(zip(*(part.T for part in classes.moments), strict=True)):
        S = K(known.X) + np.diag(1.0 / known.weight[:, c])
        gain = np.linalg.solve(S, K(known.X, held.X)).T
        assert_allclose(mean, gain @ known.targets[:, c], atol=1e-6)
        assert_allclose(variance, np.diagonal(K(held.X) - gain @ K(known.X, held.X)), atol=1e-6)
        assert_array_equal(classes.place == c, held.weight[:, c] > 1.0)


@pytest.mark.slow
def test_kernels_are_compared_by_rows_of_some_cells(monkeypatch):
    """Whole cells of rows held out, and always the same rows; all of them have the last word."""
    compared, trial = [], selection.Trials._trial

    def noted(trials, parameters, predictor, rows):
        compared.append((rows, predictor.number(trials.held_out), trials.held_out))
        return trial(trials, parameters, predictor, rows)

    monkeypatch.setattr(selection.Trials, "_trial", noted)
    few_are_many(monkeypatch)
    monkeypatch.setattr(selection, "_HELD_OUT", 200)
    made(optimizer="auto", max_iter=2, n_neighbors=10, kernel=None).fit(*data(800))
    (some, number, held_out), *others = compared
    is_some = (held_out.X[:, None] == some.X).all(axis=2).any(axis=1)
    assert 0 < is_some.sum() == len(some) < 150
    assert not np.isin(number[~is_some], number[is_some]).any()
    *more, last, without = [rows for rows, *_ in others]
    assert len(more) > 1 and all(rows is some for rows in more)
    assert last is without is held_out


@pytest.mark.parametrize("which", [2, 3, "last"])
def test_an_interrupt_while_the_temperature_is_found(which, monkeypatch):
    """What was learned is stored, without a temperature."""
    few_are_many(monkeypatch)
    fit, calls = engine.fit_in_blocks, []

    def stops(problem, *arguments):
        calls.append(len(problem.rows))
        stopped = len(calls) == which or (which == "last" and calls[1:].count(120) > 0)
        return replace(fit(problem, *arguments), interrupted=stopped)

    monkeypatch.setattr(engine, "fit_in_blocks", stops)
    monkeypatch.setattr(Score, "is_better", lambda *args: True)
    (X, y), model = data(120), made(optimizer="auto", max_iter=2, kernel=None)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.temperature_ == 1.0 and model.score(X, y) > 0.5


@pytest.mark.parametrize("inducing", ["kmeans", "given"])
def test_near_rows_alone_where_they_predict_better(inducing, monkeypatch):
    """The fit is that without inducing inputs; those that were given stay."""
    few_are_many(monkeypatch)
    monkeypatch.setattr(selection, "_CHANGES", ())
    monkeypatch.setattr(Score, "is_better", lambda *args: True)
    monkeypatch.setattr(class_steps, "affords_sites", lambda problem: False)
    X, y = data(120)
    given = X[:20] if inducing == "given" else inducing
    kernel = ConstantKernel(6.0) * RBF(0.8, "fixed")
    options = {"optimizer": "auto", "max_iter": 2, "kernel": kernel, "inducing": given}
    fitted = made(optimize_inducing=False, **options).fit(X, y)
    assert len(fitted.inducing_points_) == (20 if inducing == "given" else 0)
    assert fitted.score(X, y) > 0.7 and fitted.n_iter_ > 1
    if inducing == "kmeans":
        same = made(kernel=fitted.kernel_, n_inducing=0).fit(X, y)
        assert_allclose(fitted.predict_std(X), same.predict_std(X), rtol=1e-8)
        assert_allclose(fitted.objective_, same.objective_, rtol=1e-10)
        fitted.partial_fit(X[:20], y[:20])
        assert fitted.n_samples_seen_ == 140
        again = fitted.set_params(warm_start=True, n_inducing=5).fit(X, y)
        assert again.n_samples_seen_ == 120


@pytest.mark.parametrize("bounds", [(1e-4, 1e6), (1e5, 1e6), "fixed"])
def test_a_variance_that_predicts_rows_held_out(bounds, monkeypatch):
    """Far too large a one is lowered, as far as its bounds allow."""
    kernel = _not_learned(ConstantKernel(2e5, bounds) * RBF(0.8), monkeypatch)
    moved = np.log(kernel.k1.constant_value / 2e5) / np.log(2.5)
    if bounds == (1e-4, 1e6):
        assert -4.01 < moved < -0.99 and abs(moved - round(moved)) < 1e-6
    else:
        assert abs(moved) < 1e-6


@pytest.mark.parametrize("bounds", [(1e-4, 1e6), (7.9, 1e6), "fixed"])
def test_length_scales_that_predict_rows_held_out(bounds, monkeypatch):
    """Far too long ones are shortened by one factor, as far as their bounds allow."""
    kernel = _not_learned(ConstantKernel(6.0, "fixed") * RBF([8.0, 16.0], bounds), monkeypatch)
    moved = np.log(np.divide(kernel.k2.length_scale, [8.0, 16.0])) / np.log(1.25)
    assert_allclose(moved, moved[0], atol=1e-6)
    if bounds == (1e-4, 1e6):
        assert -4.01 < moved[0] < -0.99 and abs(moved[0] - round(moved[0])) < 1e-6
    else:
        assert abs(moved[0]) < 1e-6


def _not_learned(kernel, monkeypatch):
    """The kernel of a fit that learns only from rows held out."""
    few_are_many(monkeypatch)
    X, y = data(150)
    monkeypatch.setattr(class_steps, "affords_sites", lambda problem: False)
    stays = lambda problem, _: (problem.start, problem.start.parameters, 1, None)  # noqa: E731
    monkeypatch.setattr(solver, "learn_from_near_rows", stays)
    return made(kernel=kernel, optimizer="auto", random_state=1).fit(X, y).kernel_
