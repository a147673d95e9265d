"""Minibatch steps: natural gradients on q(u), and q(u) under parameters that move."""

from dataclasses import replace

import numpy as np
import pytest
from dense import (
    COORDINATES,
    EVERY_LIKELIHOOD,
    LIKELIHOODS,
    OUTPUTS,
    WEIGHTED,
    PoissonLogRate,
    central_difference,
    gaussian_expectation,
    held_moments,
    make_case,
    make_settings,
    make_space,
    minibatch,
    moments_of_information,
    poisson_expectation,
    predict,
    random_information,
    uncollapsed_bound,
)
from numpy.testing import assert_allclose

from sklearn_sgp.engines.base import Problem, Start
from sklearn_sgp.engines.variational.inference import ConjugateInference, SiteInference
from sklearn_sgp.engines.variational.stochastic import StochasticSteps, ascend_stochastic
from sklearn_sgp.gp.coordinates import Direct, Whitened
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.likelihoods import Gaussian, Poisson
from sklearn_sgp.optimize.budget import Budget
from sklearn_sgp.optimize.progress import Clock, Trace


def problem_for(case, likelihood=None, **changes):
    """A problem at the case's parameters, in which all of them are free."""
    likelihood = Gaussian() if likelihood is None else likelihood
    kind = SiteInference if isinstance(likelihood, Poisson) else ConjugateInference
    start = Start(case.kernel, likelihood, case.parameters, case.space())
    settings = make_settings(optimizer="adam", **changes)
    trace, rng = Trace(Clock()), np.random.RandomState(0)
    inference = kind(likelihood, case.y.shape[1])
    return Problem(case.rows, start, inference, settings, trace, rng)


def steps_from(case, H, h, coordinates, likelihood=None, **changes):
    """Steps that begin at a q(u) in the coordinates asked for."""
    problem = problem_for(case, likelihood, **changes)
    steps = StochasticSteps(problem, problem.start.parameters)
    steps.q = coordinates.from_posterior(case.posterior(H, h))
    return steps


def natural_step(steps, rho, rows=None):
    """A step of q(u) alone, with some of the rows or all."""
    settings = replace(steps.problem.settings, natural_step=rho)
    steps.problem = replace(steps.problem, settings=settings)
    before = steps.parameters
    steps.step(steps.problem.rows if rows is None else rows, moves=False)
    assert steps.parameters is before


# Plain gradients with momentum


@pytest.mark.parametrize("likelihood", ["gaussian", "poisson"])
def test_several_steps_with_momentum(likelihood):
    """Natural steps of one rate, and slopes of the dense bound with momentum, times another."""
    case, given, expectation = make_case(), Gaussian(), gaussian_expectation
    if likelihood == "poisson":
        counts = np.random.default_rng(0).poisson(2.0, case.y.shape).astype(float)
        case, given, expectation = replace(case, y=counts), PoissonLogRate(), poisson_expectation
    problem = problem_for(case, given, learning_rate=1e-4, natural_step=0.3)
    problem = replace(problem, settings=replace(problem.settings, optimizer="sgd"))
    steps, space = StochasticSteps(problem, case.parameters), case.space()
    velocity = 0.0
    for _ in range(3):
        before, q = steps.parameters, steps.q.posterior
        asked = problem.inference.minibatch(steps.q, before, case.rows, 1.0, False).target

        def bound(x, before=before, q=q):
            at = space.unpack(x, before)
            matrices, noise = case.matrices(at), at.noise_variance
            u = moments_of_information(matrices[0], q.H[0], q.h)
            return uncollapsed_bound(*matrices, case.y, noise, *u, None, expectation)

        slope = central_difference(bound, space.pack(before))
        velocity = 0.9 * velocity + slope
        steps.step(case.rows, moves=True)
        expected = space.pack(before) + 1e-4 * velocity
        assert_allclose(space.pack(steps.parameters), expected, rtol=1e-6, atol=1e-9)
        moved = q.towards(asked.posterior, 0.3)
        assert_allclose(steps.q.posterior.H[0], moved.H[0], rtol=1e-9, atol=1e-9)
        assert_allclose(steps.q.posterior.h, moved.h, rtol=1e-9, atol=1e-9)


# Natural steps


@pytest.mark.parametrize("seed", range(3))
@COORDINATES
@WEIGHTED
@OUTPUTS
def test_unit_natural_step_is_the_optimum(t, weighted, coordinates, seed):
    """One natural step of length 1 on all rows gives the optimal q(u), from any start."""
    case = make_case(t=t, weighted=weighted)
    steps = steps_from(case, *random_information(5, t, seed), coordinates)
    natural_step(steps, 1.0)
    best, value = case.optimum_and_bound(coordinates)
    assert type(steps.q) is coordinates
    assert_allclose(steps.q.H, best.H, atol=1e-10)
    assert_allclose(steps.q.h, best.h, atol=1e-10)
    assert_allclose(minibatch(steps.q, case).value, value, rtol=1e-9)


@COORDINATES
@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_natural_step_is_a_weighted_mean(rho, coordinates):
    """A step of length rho goes the share rho of the way from what is held to the target."""
    case = make_case(t=2)
    H, h = random_information(5, 2)
    steps = steps_from(case, H, h, coordinates)
    natural_step(steps, rho)
    moved, best = steps.q.posterior, case.optimum().posterior
    assert_allclose(moved.H[0], (1.0 - rho) * H + rho * best.H[0], atol=1e-7)
    assert_allclose(moved.h, (1.0 - rho) * h + rho * best.h, atol=1e-7)


@EVERY_LIKELIHOOD
@COORDINATES
@pytest.mark.parametrize("seed", range(3))
def test_natural_steps_keep_the_precision_definite(seed, coordinates, likelihood):
    """For any rho in [0, 1] and any batches I + H has no eigenvalue below 1."""
    rng = np.random.default_rng(seed)
    case = make_case(m=8, weighted=True, noise=1e-3)
    given = LIKELIHOODS[likelihood][0]
    steps = steps_from(case, np.zeros((8, 8)), np.zeros((8, 1)), coordinates, given)
    for rho in [0.0, 1.0, *rng.uniform(0.0, 1.0, 20)]:
        rows = case.rows.select(np.sort(rng.choice(len(case.y), 3, replace=False)))
        natural_step(steps, rho, rows)
        H = steps.q.posterior.H[0]
        rounding = 1e-13 * np.linalg.norm(H) * case.prior.condition
        assert rounding < 0.1
        assert np.linalg.eigvalsh(np.eye(8) + H).min() >= 1.0 - rounding


def test_averaged_steps_reach_the_optimum():
    """Steps of length 1 / k over one epoch are the plain average: the optimum itself."""
    case = make_case(t=2, n=32)
    steps = steps_from(case, *random_information(5, 2), Whitened)
    for k, lo in enumerate(range(0, 32, 8), start=1):
        natural_step(steps, 1.0 / k, case.rows.select(slice(lo, lo + 8)))
    best = case.optimum(Whitened)
    assert_allclose(steps.q.H, best.H, atol=1e-9)
    assert_allclose(steps.q.h, best.h, atol=1e-9)


@OUTPUTS
@COORDINATES
def test_fixed_points_are_stationary_for_other_likelihoods(coordinates, t):
    """Where full-data natural steps no longer move, the bound has no slope in H and h."""
    case = make_case(t=t)
    case = replace(case, y=np.random.default_rng(0).poisson(2.0, case.y.shape).astype(float))
    zero = np.zeros((5, 5)), np.zeros((5, t))
    steps = steps_from(case, *zero, coordinates, PoissonLogRate())
    for _ in range(80):
        natural_step(steps, 0.5)
    matrices, q = case.matrices(), steps.q.posterior
    rng = np.random.default_rng(1)
    for _ in range(4):
        dH, dh = rng.standard_normal((5, 5)), rng.standard_normal((5, t))

        def value(x, dH=dH + dH.T, dh=dh):
            u = moments_of_information(matrices[0], q.H[0] + x[0] * dH, q.h + x[0] * dh)
            return uncollapsed_bound(*matrices, case.y, case.noise, *u, None, poisson_expectation)

        curvature = value([1e-2]) + value([-1e-2]) - 2.0 * value([0.0])
        assert abs(central_difference(value, np.zeros(1), 1e-4)[0]) < 1e-6
        assert curvature < -1e-6  # and value does depend on these


# Steps in kernel and inducing inputs


def test_a_step_moves_parameters_and_q():
    """A step that moves takes Adam's first step up the gradient, and q(u) is under its prior."""
    case = make_case(t=2)
    steps = steps_from(case, *random_information(5, 2), Whitened, natural_step=0.3)
    terms = minibatch(steps.q, case)
    target = steps.q.towards(terms.target, 0.3)
    assert_allclose(steps.step(case.rows, moves=True), terms.value, rtol=1e-12)
    space = case.space()
    moved = space.pack(steps.parameters) - space.pack(case.parameters)
    assert_allclose(moved, 0.01 * np.sign(space.pack_gradient(terms.gradient)), rtol=1e-6)
    # held whitened while the kernel moved, whatever the coordinates are now
    assert_allclose(steps.q.posterior.H[0], target.H, rtol=1e-10, atol=1e-10)
    assert_allclose(steps.q.posterior.h, target.h, rtol=1e-10, atol=1e-10)
    assert steps.q.prior.Z is steps.parameters.Z
    assert steps.n_steps == 1


@COORDINATES
def test_q_follows_the_kernel(coordinates):
    """When kernel and Z move, q(u) is remade from what the coordinates hold."""
    case = make_case(t=2)
    H, h = random_information(5, 2)
    # a rate at which the rule keeps the coordinates
    steps = steps_from(
        case, H, h, coordinates, learning_rate={Direct: 0.0, Whitened: 1.0}[coordinates]
    )
    start, problem = case.parameters, steps.problem
    moved = start.with_values(theta=start.theta + [0.3, -0.2, 0.1], Z=start.Z + 0.05)
    prior = Prior.build(moved.kernel, moved.Z, case.delta)
    q = problem.inference.under(steps.q, prior, moved, case.rows, problem.settings)
    assert type(q) is coordinates
    Kuu = case.matrices(moved)[0]
    kernel = case.kernel.clone_with_theta(moved.theta)
    held = held_moments(case, H, h, coordinates)(Kuu)
    Xs = case.X[:6] + 0.1
    mean, covariance = predict(Kuu, kernel(moved.Z, Xs), kernel(Xs), *held)
    got = q.posterior.mean_covariance(Xs)
    assert_allclose(got[0], mean, atol=1e-8)
    assert_allclose(got[1][:, :, 0], covariance, atol=1e-8)


def test_coordinates_change_without_changing_q():
    """Where the condition number crosses the rule, whitened coordinates take the same q(u) over."""
    case = make_case(t=2)
    H, h = random_information(5, 2)
    held = Direct.from_posterior(case.posterior(H, h))
    problem = problem_for(case, learning_rate=0.5 / case.prior.condition)
    args = case.rows, problem.settings
    assert type(problem.inference.under(held, case.prior, case.parameters, *args)) is Direct
    longer = case.parameters.with_values(theta=case.parameters.theta + np.log([1.0, 4.0, 4.0]))
    prior = Prior.build(longer.kernel, longer.Z, case.delta)
    q = problem.inference.under(held, prior, longer, *args)
    assert type(q) is Whitened
    unchanged = held.under(prior).posterior
    for one, other in zip(
        unchanged.mean_covariance(case.X), q.posterior.mean_covariance(case.X), strict=True
    ):
        assert_allclose(one, other, atol=1e-9)


def test_a_move_that_fails_leaves_parameters_alone():
    """Where K(Z, Z) does not factorise after a step, parameters and prior stay as they were."""
    case = make_case()
    steps = steps_from(case, *random_information(5, 1), Whitened, natural_step=0.0)
    before, prior, rate = steps.q.posterior, steps.q.prior, steps.adam.learning_rate
    steps.delta = np.nan
    steps.step(case.rows, moves=True)
    assert steps.q.prior is prior
    assert steps.parameters is steps.problem.start.parameters
    assert_allclose(steps.q.H, before.H[0])
    assert steps.adam.learning_rate == 0.5 * rate


# The whole stage


@pytest.mark.parametrize("likelihood", [Gaussian(), Poisson()], ids=["gaussian", "poisson"])
def test_first_epoch_moves_q_alone(likelihood):
    """Parameters stay for an epoch, and the last q(u) is kept for where the finish begins."""
    case = make_case(n=32)
    if isinstance(likelihood, Poisson):
        case = replace(case, y=np.random.default_rng(0).poisson(2.0, (32, 1)).astype(float))
    for max_iter, moves in ((1, False), (2, True)):
        problem = problem_for(case, likelihood, max_iter=max_iter, batch_size=10, tol=-np.inf)
        start = problem.start.parameters
        run, n_steps = ascend_stochastic(problem, start, Budget(Clock()))
        assert (run.n_iter, n_steps) == (max_iter, 4 * max_iter)
        assert (run.parameters is not start) == moves
        assert len(problem.trace.objectives) == max_iter
        if isinstance(likelihood, Poisson):
            q, weight = run.known
            assert type(q) is Posterior and weight == 32.0
            assert np.abs(q.h).max() > 0.0


def test_steps_end_at_their_number():
    """No more steps are done than max_steps."""
    case = make_case(n=32)
    problem = problem_for(case, max_iter=5, max_steps=6, batch_size=10, tol=-np.inf)
    run, n_steps = ascend_stochastic(problem, case.parameters, Budget(Clock()))
    assert (run.n_iter, n_steps) == (2, 6)


def test_prior_of_the_space_counts():
    """Adam also goes up the log density of the space's prior."""
    case = make_case()
    problem = problem_for(case)

    def steep(theta):
        return -1e9 * float(theta.sum()), np.full(len(theta), -1e9)

    space = replace(make_space(len(case.parameters.theta)), prior=steep)
    problem = replace(problem, start=replace(problem.start, space=space))
    steps = StochasticSteps(problem, case.parameters)
    steps.step(case.rows, moves=True)
    assert_allclose(steps.parameters.theta, case.parameters.theta - 0.01, rtol=1e-6)
