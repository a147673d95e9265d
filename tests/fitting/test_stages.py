"""Which rows a fit learns from, with which weights, in which units, and in which form."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.fitting import stages as _stages
from sklearn_sgp.objectives.rounding import gradient_limit, input_units, sample_of
from sklearn_sgp.fitting.inference import Collapsed
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.optimize.learning import Parameters, ParameterSpace
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.gp.posterior import DIRECT_GRADIENT_LIMIT
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.gp.coordinates import DirectState, WhitenedState


def make_rows(n, weighted=False, noise=0.1):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.sin(3.0 * X[:, :1]) + noise * rng.standard_normal((n, 1))
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    return Rows(X, y, weight, np.zeros(1), np.ones(1))


def make_parameters(length_scale, m=20):
    kernel = compile_kernel(ConstantKernel(1.0) * RBF([length_scale, length_scale]), np.zeros(2))
    Z = np.random.default_rng(1).uniform(-2.0, 2.0, (m, 2))
    return Parameters(kernel, kernel.theta, float(np.log(0.01)), Z)


SPACE = ParameterSpace(np.tile([-10.0, 10.0], (3, 1)), (-10.0, 10.0), np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    "n_rows, affordable, sizes",
    [
        (101, np.inf, [101]),
        (250, np.inf, [250]),
        (301, np.inf, [200, 301]),
        (2000, np.inf, [200, 2000]),
        (2500, np.inf, [200, 1600]),
        (2500, 1000, [200, 1000]),
        (2500, 250, [200]),
        (2500, 150, [150]),
        (2500, 90, [100]),
        (2500, 10, [100]),
    ],
)
def test_refinements_grow_to_all_rows_or_what_is_affordable(n_rows, affordable, sizes):
    assert _stages.refinements(n_rows, 100, affordable) == sizes


def test_without_a_budget_any_size_is_affordable():
    assert _stages._affordable_rows(1000, np.inf, 0.0) == np.inf


def test_what_is_affordable_grows_with_the_budget_and_shrinks_with_the_cost_of_a_row():
    def affordable(budget, row):
        return _stages._affordable_rows(1000, budget, 1000 * row + _stages._MIN_SECONDS)

    assert_allclose(affordable(20.0, 1e-3), 2 * affordable(10.0, 1e-3))
    assert_allclose(affordable(10.0, 1e-3), 2 * affordable(10.0, 2e-3))


@pytest.mark.parametrize("weighted", [False, True])
def test_refinements_count_rows_for_those_they_stand_for(weighted, monkeypatch):
    seen, interim = [], []
    run = _stages._lbfgs

    def spy(problem, parameters, rows, *args, **options):
        seen.append(rows)
        interim.append(options.get("interim", args[-1]))
        return run(problem, parameters, rows, *args, **options)

    monkeypatch.setattr(_stages, "_lbfgs", spy)
    rows = make_rows(2000, weighted)
    model = SVGPRegressor(n_inducing=5, init_size=50, max_iter=1, random_state=0)
    model.fit(rows.X, rows.y, sample_weight=rows.weight)
    assert [len(used) for used in seen] == [50, 100, 800]
    assert interim == [True, True, False]
    own = [np.ones(len(used)) if not weighted else None for used in seen]
    for used, factor, ones in zip(seen, (1.0, 4.0, 2.5), own, strict=True):
        if weighted:
            position = [np.flatnonzero((rows.X == x).all(axis=1))[0] for x in used.X]
            ones = rows.weight[position]
        weight = np.ones(len(used)) if used.weight is None else used.weight
        assert_allclose(weight, factor * ones)


@pytest.mark.parametrize("max_iter, runs", [(3, [3]), (25, [20, 5])])
def test_the_warm_start_takes_its_units_anew(max_iter, runs, monkeypatch):
    seen = []

    def count(objective, space, start, *, max_iter, **options):
        seen.append((max_iter, space.Z_scale))
        return replace(start), 0.0, max_iter

    monkeypatch.setattr(_stages, "ascend_lbfgs", count)
    rows = make_rows(100)
    SVGPRegressor(n_inducing=5, max_iter=max_iter, random_state=0).fit(rows.X, rows.y)
    assert [iterations for iterations, _ in seen] == runs
    assert seen[0][1].shape == (2,)
    assert all(units.shape == (5, 2) for _, units in seen[1:])


@pytest.mark.parametrize("size", [1, 7, 99, 100, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_stands_for_all_rows(size, weighted):
    rows = make_rows(100, weighted)
    sample = sample_of(rows, size)
    assert len(sample) <= size
    assert_allclose(sample.total_weight, rows.total_weight)


def test_units_are_equal_where_nothing_has_been_learned():
    units = input_units(SPACE).Z_scale
    assert_allclose(units / SPACE.Z_scale, np.full(2, units[0]))


def test_units_shrink_with_the_coefficient_of_an_inducing_input():
    rows, parameters = make_rows(200), make_parameters(0.7)
    units = Collapsed().run(SPACE, parameters, rows, 1e-8, True, None, np.inf)[0].Z_scale
    Z = parameters.Z
    kernel = RBF([0.7, 0.7])
    K, Kx = kernel(Z), kernel(Z, rows.X)
    coefficients = np.linalg.solve(0.01 * (K + 1e-8 * np.eye(len(Z))) + Kx @ Kx.T, Kx @ rows.y)
    squares = coefficients[:, 0] ** 2
    expected = (1.0 + squares / np.median(squares)) ** -0.25
    assert_allclose(units / input_units(SPACE).Z_scale, np.column_stack([expected] * 2), rtol=1e-6)


def test_units_are_equal_where_the_mean_is_zero():
    rows = make_rows(50)
    rows = replace(rows, y=np.zeros_like(rows.y))
    units = Collapsed().run(SPACE, make_parameters(0.7), rows, 1e-8, True, None, np.inf)[0].Z_scale
    assert_array_equal(units, input_units(SPACE).Z_scale)


def test_units_of_inducing_inputs_that_stay_are_not_asked_for():
    space = replace(SPACE, Z_scale=None)
    assert input_units(space, np.ones(8)) is space


def packed_gradient(parameters, rows, delta, form):
    return SPACE.pack_gradient(collapsed_bound(parameters, rows, delta, form=form)[1])


def test_the_direct_form_is_allowed_where_its_gradient_was_seen_to_be_good():
    rows, parameters = make_rows(5000), make_parameters(1.0)
    limit = gradient_limit(parameters, rows, 1e-6, SPACE)
    assert limit > DIRECT_GRADIENT_LIMIT
    direct, whitened = (
        packed_gradient(parameters, rows, 1e-6, form) for form in (DirectState, WhitenedState)
    )
    assert np.abs(direct - whitened).max() < 1e-5 * len(rows)


def test_the_direct_form_is_not_allowed_where_its_gradient_is_bad():
    rows, parameters = make_rows(5000), make_parameters(3.0)
    delta = 1e-12
    direct, whitened = (
        packed_gradient(parameters, rows, delta, form) for form in (DirectState, WhitenedState)
    )
    assert np.abs(direct - whitened).max() > 1e-6 * len(rows)
    assert gradient_limit(parameters, rows, delta, SPACE) == DIRECT_GRADIENT_LIMIT


def test_few_rows_are_not_worth_the_question():
    assert gradient_limit(make_parameters(0.7), make_rows(500), 1e-6, SPACE) == (
        DIRECT_GRADIENT_LIMIT
    )
