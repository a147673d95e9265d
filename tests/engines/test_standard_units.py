"""Learning in standard units: the same problem in all units, and the way back."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, DotProduct

from sklearn_sgp import AnytimeSGPRegressor, SVGPClassifier, SVGPRegressor
from sklearn_sgp.engines.standard_units import StandardUnits, learning_units
from sklearn_sgp.kernels._compile import compile_kernel
from sklearn_sgp.optimize.progress import Clock, Trace

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
UNITS, ORIGINS = np.array([1000.0, 0.3048, 1.0]), np.array([17.0, -300.0, 0.0])


def table(n_rows=200, seed=0):
    """X and y of two columns of numbers and one of six categories."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n_rows, 2)), rng.integers(0, 6, n_rows)])
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + np.array([1, -1, 0, 2, 0.5, -2])[X[:, 2].astype(int)]
    return X, y + 0.1 * rng.normal(size=n_rows)


@pytest.fixture
def seen(monkeypatch):
    """Problems of fits, as they are and as learning sees them."""
    problems, posed = [], StandardUnits.posed

    def noted(units, problem, copies):
        problems.append((units, problem, posed(units, problem, copies)))
        return problems[-1][-1]

    monkeypatch.setattr(StandardUnits, "posed", noted)
    return problems


def numbers_of(problem):
    """Yield all numbers that learning begins with."""
    yield from (np.asarray(problem.rows.X), problem.rows.targets)
    for start in (problem.start, *problem.start.alternatives):
        yield from (np.asarray(value) for _, value in sorted(start.parameters.values.items()))
        yield start.space.bounds(start.parameters)
        yield start.parameters.kernel.block(start.parameters.Z, problem.rows.X)


FITS = {
    "svgp": (SVGPRegressor, {}),
    "fitc": (AnytimeSGPRegressor, {"model": "fitc"}),
    "several outputs": (SVGPRegressor, {}),
    "adam": (SVGPRegressor, {"optimizer": "adam", "batch_size": 50}),
    "labels": (SVGPClassifier, {}),
}


@pytest.mark.parametrize("name", FITS)
def test_learning_sees_the_same_numbers_in_all_units(name, seen):
    """Whatever the units of X and y, learning begins with the same bits, and finds the same."""
    (make, options), (X, y) = FITS[name], table()
    y = {"labels": y > 0.0, "several outputs": np.column_stack([y, X[:, 0] - y])}.get(name, y)
    model = make(**options, n_inducing=15, categorical_features=[2], max_iter=10, random_state=0)
    found = []
    for unit, origin in ((1.0, 0.0), (UNITS, ORIGINS)):
        targets = y if name == "labels" else 1000.0 * y - 50.0 if np.ndim(unit) else y
        found.append(model.fit(unit * X + origin, targets).inducing_points_)
    (_, _, here), (_, _, there) = seen[0], seen[len(seen) // 2]
    for a, b in zip(numbers_of(here), numbers_of(there), strict=True):
        assert_array_equal(a, b)
    assert_allclose(found[1], UNITS * found[0] + ORIGINS, rtol=1e-12, atol=1e-9)


def test_what_has_not_moved_is_what_it_was(seen):
    """On the way back numbers that learning left alone keep their last bit; others follow."""
    X, y = table()
    SVGPRegressor(n_inducing=15, categorical_features=[2], max_iter=2).fit(X, y)
    units, problem, posed = seen[0]
    before, there = problem.start.parameters, posed.start.parameters
    for name, value in units.learned(there).values.items():
        assert_array_equal(value, before.values[name])
    Z = there.Z.copy()
    Z[3, :2] += 0.5
    theta = there.theta + 0.25
    back = units.learned(there.with_values(Z=Z, theta=theta))
    expected = before.Z.copy()
    expected[3, :2] += 0.5 * X[:, :2].std(axis=0)
    assert_array_equal(back.Z[:3], before.Z[:3])
    assert_allclose(back.Z, expected, rtol=1e-6, atol=1e-7)
    assert_allclose(back.theta, before.theta + 0.25, atol=1e-6)
    assert back.expression is before.expression


def test_covariances_are_those_in_units_of_the_inputs(seen):
    """K(Z, X) and the prior of the parameters are the same to the rounding of the inputs."""
    X, y = table()
    model = AnytimeSGPRegressor(model="vfe", n_inducing=15, categorical_features=[2], max_iter=1)
    model.fit(UNITS * X, y)
    _, problem, posed = seen[0]
    for here, there in zip(
        (problem.start, *problem.start.alternatives),
        (posed.start, *posed.start.alternatives),
        strict=True,
    ):
        a, b = here.parameters, there.parameters
        assert_allclose(
            b.kernel.block(b.Z, posed.rows.X), a.kernel.block(a.Z, problem.rows.X), atol=1e-6
        )
        values = [one.space.prior(one.parameters.theta)[0] for one in (here, there)]
        assert_allclose(*values, atol=1e-6)


def test_given_kernels_learn_from_the_data_as_they_are(seen):
    """A kernel of the user's own, with its bounds in units of X, is learned in these."""
    X, y = table()
    SVGPRegressor(RBF([1.0, 1.0, 1.0]), n_inducing=15, max_iter=2).fit(X, y)
    assert not seen


def test_callbacks_are_told_in_units_of_the_inputs(seen):
    """Amid a fit parameters are told in units of X, and afterwards nobody is told any more."""
    X, y = table()
    SVGPRegressor(n_inducing=15, categorical_features=[2], max_iter=1).fit(UNITS * X, y)
    units, problem, posed = seen[0]
    told, trace = [], Trace(Clock(), lambda _, now: told.append(now()))
    tell = trace.on_iteration
    with pytest.raises(KeyboardInterrupt), units.told(trace):
        trace.add(0.0, lambda: posed.start.parameters)
        raise KeyboardInterrupt
    assert trace.on_iteration is tell
    assert_array_equal(told[0].Z, problem.start.parameters.Z)
    assert_array_equal(told[0].theta, problem.start.parameters.theta)
    with units.told(Trace(Clock())) as nobody:
        assert nobody is None


@pytest.mark.parametrize("spoilt", ["kernel was given", "other kernel"])
def test_other_problems_are_learned_as_they_are(seen, spoilt):
    """Given kernels, and those that depend on numbers in another way, have no such units."""
    X, y = table()
    SVGPRegressor(n_inducing=15, categorical_features=[2], max_iter=1).fit(X, y)
    problem = seen[0][1]
    assert isinstance(learning_units(problem), StandardUnits)
    if spoilt == "kernel was given":
        problem = replace(problem, start=replace(problem.start, with_default_bounds=("log_noise",)))
    else:
        other = compile_kernel(RBF(1.0) * DotProduct(), np.zeros(3))
        parameters = type(problem.start.parameters)(other, problem.start.parameters.values)
        problem = replace(problem, start=replace(problem.start, parameters=parameters))
    units = learning_units(problem)
    assert units.posed(problem, True) is problem
    assert units.again(problem, problem) is problem
    assert units.learned(problem.start.parameters) is problem.start.parameters


@pytest.mark.parametrize("unit", [1.0, 1e4, 1e-3])
def test_targets_as_they_come_are_learned_in_their_own_scatter(seen, unit):
    """Without normalisation learning sees the same numbers, and tells densities in units of y."""
    X, y = table()
    shared = {"n_inducing": 15, "max_iter": 30, "normalize_y": False, "random_state": 0}
    here, there = (SVGPRegressor(**shared).fit(X, one) for one in (y, unit * y))
    for a, b in zip(numbers_of(seen[0][2]), numbers_of(seen[1][2]), strict=True):
        assert_array_equal(a, b)
    assert_allclose(there.predict(X), unit * here.predict(X), rtol=1e-7, atol=1e-7 * unit)
    gained = np.diff(there.objectives_)
    assert_allclose(there.objectives_, here.objectives_ - len(y) * np.log(unit), atol=1e-5)
    assert abs(gained[-1]) < 1e-3 and there.objectives_[-1] == there.objective_


def test_units_of_any_size_keep_their_digits():
    """Targets that hardly vary, as their odd one has next to no weight, have a unit above zero."""
    X = np.random.default_rng(0).uniform(size=(60, 2))
    y, weight = np.append(np.zeros(59), 1.0), np.append(np.ones(59), 1e-12)
    options = {"n_restarts_optimizer": 1, "max_iter": 3, "n_inducing": 8, "random_state": 0}
    model = SVGPRegressor(normalize_y=(3.0, 1e-3), **options)
    mean = model.fit(X, y, sample_weight=weight).predict(X)
    assert np.isfinite(mean).all()
