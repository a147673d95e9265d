"""Runs of L-BFGS one after the other: what is held, when the jitter rises, and what is kept."""

from dataclasses import dataclass

import numpy as np
import pytest
from dense import make_case, make_settings
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp.engines.ascent import Ascents, better, inputs_at_kinks
from sklearn_sgp.factors.gradients import Gradient
from sklearn_sgp.kernels import Columns, compile_kernel
from sklearn_sgp.optimize.lbfgs import SINGULAR
from sklearn_sgp.optimize.progress import Clock, Trace


@pytest.fixture
def case():
    return make_case(m=5)


@pytest.fixture
def trace():
    return Trace(Clock())


@pytest.mark.parametrize(
    "kernel, expected",
    [
        (Matern(nu=0.5), True),
        (ConstantKernel() * RBF() + 0.1 * Matern(nu=0.5), True),
        (Columns(RBF() * Matern(nu=0.5), [0]) + RBF(), True),
        (Matern(nu=0.5) ** 2, True),
        (RBF() + Matern(nu=1.5), False),
        (ConstantKernel() * RBF(), False),
    ],
    ids=str,
)
def test_kernels_with_a_kink(kernel, expected):
    """A kernel has a kink if Matern-1/2 is anywhere in it."""
    assert compile_kernel(kernel, np.zeros(2)).has_kink == expected


@dataclass(frozen=True)
class Expression:
    has_kink: bool = True


@dataclass(frozen=True)
class At:
    """Parameters of which only inducing inputs and the expression are asked."""

    Z: np.ndarray
    expression: Expression = Expression()


def test_inducing_inputs_at_kinks(case):
    """Those that are rows are told, where they are learned and the kernel has a kink."""
    Z = np.vstack([case.Z, case.X[:2]])
    assert_array_equal(inputs_at_kinks(case.space(), At(Z), case.rows), [False] * 5 + [True] * 2)
    assert inputs_at_kinks(case.space(["Z"]), At(Z), case.rows) is None
    assert inputs_at_kinks(case.space(), At(Z, Expression(False)), case.rows) is None
    assert inputs_at_kinks(case.space(), At(case.Z), case.rows) is None


def test_inputs_are_held_until_a_run_has_converged(case, trace):
    """Held inducing inputs have no gradient in the first run, and one in the next."""
    held = np.array([True, False, False, True, False])
    runs = Ascents(case.space(), case.parameters, 50, trace, held)
    gradient = Gradient(theta=np.ones(3), log_noise=1.0, Z=np.ones((5, 2)))
    assert_array_equal(runs.moves(gradient)["Z"][:, 0], [0.0, 1.0, 1.0, 0.0, 1.0])
    runs.add(case.parameters, -3.0, 20, None)
    assert (runs.is_over, runs.left) == (False, 30)
    assert runs.moves(gradient)["Z"].all()
    runs.add(case.parameters, -2.0, 10, None)
    assert runs.is_over
    assert runs.result(True)[1:3] == (-2.0, 30)


@pytest.mark.parametrize("cut_by", ["max_iter", "max_time"])
def test_a_run_that_was_cut_is_the_last(case, trace, cut_by):
    """Where time or iterations are over, nothing is tried any more."""
    runs = Ascents(case.space(), case.parameters, 50, trace, np.ones(5, dtype=bool))
    runs.add(case.parameters, -3.0, 20, cut_by)
    assert runs.is_over


def test_the_better_run_is_kept(case, trace):
    """A run with more jitter that loses leaves what the one before has found."""
    settings = make_settings(jitter=1e-8)
    runs = Ascents(case.space(), case.parameters, 50, trace, settings=settings)
    first = runs.delta
    moved = case.parameters.with_values(log_noise=-0.5)
    runs.add(moved, -3.0, 5, SINGULAR)
    assert not runs.is_over
    assert runs.delta > 5.0 * first
    runs.add(case.parameters, -4.0, 5, None)
    assert runs.is_over
    assert runs.result(True)[:3] == (moved, -3.0, 10)


def test_the_prior_of_parameters_counts(case):
    """Of two results the better one is that of objective and log prior together."""
    space = case.space()
    assert better(space, (case.parameters, 1.0), (case.parameters, 2.0))[1] == 2.0
    tied = type(space)(space.groups, lambda theta: (-10.0 * theta[0], None))
    low = case.parameters.with_values(theta=case.parameters.theta - 1.0)
    assert better(tied, (low, 1.0), (case.parameters, 2.0))[1] == 1.0
