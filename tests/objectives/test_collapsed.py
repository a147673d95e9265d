"""The collapsed and the minibatch bound, their gradients and the natural step."""

from dataclasses import replace

import numpy as np
import pytest
from dense import (
    KERNELS,
    central_difference,
    exact_gp,
    gaussian_expectation,
    make_case,
    moments_of_data_part,
    moments_of_information,
    optimal_q,
    predict,
    random_information,
    uncollapsed_bound,
    vfe_bound,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from sklearn.gaussian_process.kernels import Sum as SumKernel

from sklearn_sgp.fitting.stochastic import StochasticState
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.optimize.learning import Parameters, ParameterSpace
from sklearn_sgp.likelihoods import ExpectedLogDensity, Gaussian
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.objectives.uncollapsed import minibatch_bound
from sklearn_sgp.objectives.collapsed import (
    collapsed_bound,
    collapsed_value,
    information_bound,
    optimal_state,
)
from sklearn_sgp.gp.posterior import Posterior, Prior
from sklearn_sgp.gp.coordinates import DirectState, WhitenedState

FORMS = pytest.mark.parametrize("form", [DirectState, WhitenedState])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
OUTPUTS = pytest.mark.parametrize("t", [1, 2])
EVERY_KERNEL = pytest.mark.parametrize("kernel", KERNELS)
# every kernel with all parameters free, and one with fixed noise or fixed Z
KERNEL_AND_FIXED = pytest.mark.parametrize(
    "kernel, fixed",
    [
        *((kernel, (False, False)) for kernel in KERNELS),
        ("columns", (True, False)),
        ("columns", (False, True)),
    ],
)


class Poisson:
    """Counts y with log rate f, but for log y!: no Gaussian, and no noise parameter."""

    def expected_log_density(self, y, mean, variance, noise_variance):
        rate = np.exp(mean + variance[:, None] / 2.0)
        value = (y * mean - rate).sum(axis=1)
        return ExpectedLogDensity(value, y - rate, -rate / 2.0, np.zeros(len(y)))


def poisson_expectation(y, mean, variance, noise):
    return y * mean - np.exp(mean + variance / 2.0)


LIKELIHOODS = {
    "gaussian": (Gaussian(), gaussian_expectation),
    "poisson": (Poisson(), poisson_expectation),
}


def _space(case, fixed=(False, False)):
    fixed_noise, fixed_Z = fixed
    bounds = np.tile([-9.0, 9.0], (len(case.parameters.theta), 1))
    return ParameterSpace(
        bounds, None if fixed_noise else (-9.0, 9.0), None if fixed_Z else np.array([0.7, 2.0])
    )


def _assert_gradient(gradient, function, space, start):
    """The packed gradient is that of ``function(parameters)`` by central differences."""
    expected = central_difference(lambda x: function(space.unpack(x, start)), space.pack(start))
    scale = np.abs(expected).max()
    assert_allclose(space.pack_gradient(gradient), expected, rtol=1e-6, atol=1e-6 * scale)


def _minibatch(state, case, *, rows=None, scale=1.0, likelihood=None, **options):
    rows = case.rows if rows is None else rows
    return minibatch_bound(state, likelihood or Gaussian(), case.noise, rows, scale, **options)


def _optimum(case, form=None):
    """The optimal q(u) and the collapsed bound there."""
    state, sums = optimal_state(case.prior, case.rows, case.noise, form=form)
    return state, collapsed_value(state, sums, case.noise)


# The collapsed bound


@FORMS
@WEIGHTED
@OUTPUTS
@EVERY_KERNEL
def test_collapsed_value(kernel, t, weighted, form):
    """The collapsed bound is that of Titsias, in both forms."""
    case = make_case(kernel, t=t, weighted=weighted)
    value, _ = collapsed_bound(case.parameters, case.rows, case.delta, form=form)
    expected = vfe_bound(*case.matrices(), case.y, case.noise, case.weight)
    assert_allclose(value, expected, rtol=1e-9)


@FORMS
@WEIGHTED
@OUTPUTS
@KERNEL_AND_FIXED
def test_collapsed_gradient(kernel, t, weighted, form, fixed):
    """Gradients in kernel, noise and Z are those of the dense bound, whatever of them is free."""
    case = make_case(kernel, t=t, weighted=weighted)
    space, start = _space(case, fixed), case.parameters
    _, gradient = collapsed_bound(
        start, case.rows, case.delta, with_inputs=space.learns_inputs, form=form
    )

    def value(parameters):
        matrices = case.matrices(parameters)
        return vfe_bound(*matrices, case.y, parameters.noise_variance, case.weight)

    _assert_gradient(gradient, value, space, start)


@pytest.mark.parametrize("weight, safe", [(1.0, True), (1e12, False)])
def test_condition_number_chooses_the_form(weight, safe):
    """Unless told, the direct form is taken where it is safe, and the whitened one elsewhere."""
    case = make_case("sum", t=2)
    case = replace(case, weight=np.full(len(case.y), weight))
    bound = information_bound(case.prior.kernel, case.rows, case.noise)
    assert case.prior.direct_is_safe(bound) == safe
    chosen, expected = (
        collapsed_bound(case.parameters, case.rows, case.delta, form=form)
        for form in (None, DirectState if safe else WhitenedState)
    )
    assert chosen[0] == expected[0]
    for part, expected_part in zip(chosen[1], expected[1], strict=True):
        assert_array_equal(part, expected_part)


@pytest.mark.parametrize("with_inputs", [False, True])
def test_integer_weights_are_repetitions(with_inputs):
    """Weighting rows gives the bound, gradient and posterior of repeating them."""
    case = make_case(t=2)
    times = np.random.default_rng(0).integers(0, 4, len(case.y))
    weighted = replace(case, weight=times.astype(float))
    repeated = replace(case, X=np.repeat(case.X, times, 0), y=np.repeat(case.y, times, 0))
    (value, gradient), (expected, expected_gradient) = (
        collapsed_bound(c.parameters, c.rows, c.delta, with_inputs=with_inputs)
        for c in (weighted, repeated)
    )
    assert_allclose(value, expected, rtol=1e-12)
    for part, expected_part in zip(gradient, expected_gradient, strict=True):
        assert_allclose(part, expected_part, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_workers_change_nothing(n_jobs):
    """Any number of workers gives the bound and gradient of one."""
    case = make_case("columns", n=60, t=2, weighted=True)
    X, y, weight = np.tile(case.X, (40, 1)), np.tile(case.y, (40, 1)), np.tile(case.weight, 40)
    case = replace(case, X=X, y=y, weight=weight)
    value, gradient = collapsed_bound(case.parameters, case.rows, case.delta, n_jobs=n_jobs)
    expected, expected_gradient = collapsed_bound(case.parameters, case.rows, case.delta, n_jobs=1)
    assert_allclose(value, expected, rtol=1e-13)
    for part, expected_part in zip(gradient, expected_gradient, strict=True):
        assert_allclose(part, expected_part, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("delta", [1e-6, 1e-2, 1.0])
def test_collapsed_bound_is_a_bound(delta):
    """It never exceeds the exact evidence, however large the jitter; Z = X comes close to it."""
    case = make_case(n=25, delta=delta)
    K = case.kernel(case.X)
    evidence = exact_gp(K, case.y, case.noise, K, K)[0]
    assert collapsed_bound(case.parameters, case.rows, delta)[0] < evidence - 1.0
    at_data = replace(case, Z=case.X)
    gap = evidence - collapsed_bound(at_data.parameters, case.rows, delta)[0]
    assert 0.0 <= gap + 1e-6
    assert gap < 25 * delta / (2.0 * case.noise) + 1e-6


@pytest.mark.parametrize("kernel", [ConstantKernel(1.5) * Matern(0.8, nu=1.5), RBF(0.4)])
def test_inducing_inputs_at_the_data_give_the_evidence(kernel):
    """With Z = X the collapsed bound and its gradient are those of the exact log evidence."""
    case = replace(make_case(n=25, delta=1e-10), kernel=kernel)
    case = replace(case, Z=case.X)
    space = _space(case, (False, True))

    def evidence(parameters):
        K = kernel.clone_with_theta(parameters.theta)(case.X)
        return exact_gp(K, case.y, parameters.noise_variance, K, K)[0]

    value, gradient = collapsed_bound(case.parameters, case.rows, case.delta, with_inputs=False)
    assert_allclose(value, evidence(case.parameters), rtol=1e-8)
    _assert_gradient(gradient, evidence, space, case.parameters)


@FORMS
@WEIGHTED
@OUTPUTS
def test_optimal_state(t, weighted, form):
    """One pass gives the optimal q(u) and the bound there, in both forms."""
    case = make_case(t=t, weighted=weighted)
    state, value = _optimum(case, form)
    assert type(state) is form
    Kuu, Kuf, kff = case.matrices()
    assert_allclose(value, vfe_bound(Kuu, Kuf, kff, case.y, case.noise, case.weight), rtol=1e-9)
    u_mean, u_cov = moments_of_information(Kuu, state.posterior.H, state.posterior.h)
    expected_mean, expected_cov = optimal_q(Kuu, Kuf, case.y, case.noise, case.weight)
    assert_allclose(u_mean, expected_mean, atol=1e-8)
    assert_allclose(u_cov, expected_cov, atol=1e-8)


@EVERY_KERNEL
def test_information_bound(kernel):
    """The trace of H does not exceed what information_bound says."""
    case = make_case(kernel, weighted=True)
    trace = np.trace(_optimum(case, WhitenedState)[0].H)
    bound = information_bound(case.prior.kernel, case.rows, case.noise)
    mass = case.weight @ case.kernel.diag(case.X)
    assert trace < mass / case.noise <= bound * (1.0 + 1e-12)
    assert bound < 100.0 * trace


def test_values_that_are_not_finite():
    """A kernel or targets that overflow raise what the optimisers step back from."""
    case = make_case()
    overflow = replace(case.parameters, theta=np.array([800.0, 0.0, 0.0]))
    with np.errstate(all="ignore"), pytest.raises(NotPositiveDefiniteError):
        collapsed_bound(overflow, case.rows, case.delta)
    case = replace(case, y=1e200 * case.y)
    with np.errstate(all="ignore"), pytest.raises(NotPositiveDefiniteError, match="not finite"):
        collapsed_bound(case.parameters, case.rows, case.delta)


# The uncollapsed bound


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@FORMS
@WEIGHTED
@OUTPUTS
@EVERY_KERNEL
def test_minibatch_value(kernel, t, weighted, form, likelihood):
    """With all rows it is the bound of Hensman et al. at q(u), for any H and h."""
    case = make_case(kernel, t=t, weighted=weighted)
    given, expectation = LIKELIHOODS[likelihood]
    H, h = random_information(5, t)
    terms = _minibatch(form.hold(case.posterior(H, h)), case, likelihood=given)
    matrices = case.matrices()
    q = moments_of_information(matrices[0], H, h)
    expected = uncollapsed_bound(*matrices, case.y, case.noise, *q, case.weight, expectation)
    assert_allclose(terms.value, expected, rtol=1e-8)


@FORMS
@WEIGHTED
@OUTPUTS
def test_uncollapsed_equals_collapsed_at_the_optimum(t, weighted, form):
    """At the optimal q(u) value and gradients are those of the collapsed bound, in both forms."""
    case = make_case("sum", t=t, weighted=weighted)
    value, gradient = collapsed_bound(case.parameters, case.rows, case.delta)
    terms = _minibatch(_optimum(case, form)[0], case)
    assert_allclose(terms.value, value, rtol=1e-10)
    for part, expected in zip(terms.gradient, gradient, strict=True):
        assert_allclose(part, expected, rtol=1e-6, atol=1e-6)


@FORMS
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_uncollapsed_is_below_away_from_the_optimum(seed, size, form):
    """Any change of H and h, small or large, lowers the bound."""
    case = make_case(t=2, weighted=True)
    best, value = _optimum(case, form)
    H, h = random_information(5, 2, seed)
    moved = replace(best, H=best.H + size * H, h=best.h + size * h)
    assert _minibatch(moved, case).value < value - 1e-9


@FORMS
@OUTPUTS
def test_kl_divergence(t, form):
    """The divergence is zero at the prior and that of the dense Gaussians elsewhere."""
    case = make_case()
    H, h = random_information(5, t)
    S = np.linalg.inv(np.eye(5) + H)
    expected = 0.5 * t * (np.trace(S) - 5 - np.linalg.slogdet(S)[1]) + 0.5 * np.sum((S @ h) ** 2)
    assert_allclose(form.hold(case.posterior(H, h)).kl(), expected, rtol=1e-9)
    assert abs(form.hold(case.posterior(0.0 * H, 0.0 * h)).kl()) < 1e-9


@OUTPUTS
@EVERY_KERNEL
def test_both_forms_hold_the_same_q(kernel, t):
    """Held in either form, a posterior gives itself back, and the same numbers to the bounds."""
    case = make_case(kernel)
    posterior = case.posterior(*random_information(5, t))
    direct, whitened = DirectState.hold(posterior), WhitenedState.hold(posterior)
    for state in (direct, whitened):
        assert_allclose(state.posterior.H, posterior.H, atol=1e-9)
        assert_allclose(state.posterior.h, posterior.h, atol=1e-9)
    for name in ("log_det", "explained", "fit"):
        assert_allclose(getattr(direct, name), getattr(whitened, name), rtol=1e-9)

    def moments(state):
        A = state.block(case.X)
        return A.T @ state.coefficients, np.sum(A * (state.middle @ A), axis=0)

    for one, other in zip(moments(direct), moments(whitened), strict=True):
        assert_allclose(one, other, atol=1e-8)


def _held(case, H, h, form):
    """Moments of u as a function of Kuu, with what the form holds held fixed."""
    if form is WhitenedState:
        return lambda Kuu: moments_of_information(Kuu, H, h)
    L = np.linalg.cholesky(case.matrices()[0])
    return lambda Kuu: moments_of_data_part(Kuu, L @ H @ L.T, L @ h)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@FORMS
@WEIGHTED
@OUTPUTS
@KERNEL_AND_FIXED
def test_minibatch_gradient(kernel, t, weighted, form, fixed, likelihood):
    """Gradients hold (H, h) in the whitened form, (L H L^T, L h) in the direct one."""
    case = make_case(kernel, t=t, weighted=weighted)
    given, expectation = LIKELIHOODS[likelihood]
    space, (H, h) = _space(case, fixed), random_information(5, t)
    state = form.hold(case.posterior(H, h))
    terms = _minibatch(state, case, scale=1.7, likelihood=given, with_inputs=space.learns_inputs)
    moments = _held(case, H, h, form)
    weight = 1.7 * (np.ones(len(case.y)) if case.weight is None else case.weight)

    def value(parameters):
        matrices = case.matrices(parameters)
        return uncollapsed_bound(
            *matrices,
            case.y,
            parameters.noise_variance,
            *moments(matrices[0]),
            weight,
            expectation,
        )

    _assert_gradient(terms.gradient, value, space, case.parameters)


@FORMS
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_minibatches_average_to_the_whole(likelihood, form):
    """Over a partition of the rows, values, gradients and targets average to those of all rows."""
    case = make_case("columns", n=31, t=2, weighted=True)
    state = form.hold(case.posterior(*random_information(5, 2)))
    order = np.random.default_rng(0).permutation(31)
    batches = [case.rows.select(np.sort(part)) for part in np.array_split(order, 4)]
    given = LIKELIHOODS[likelihood][0]

    def vector(rows, scale):
        terms = _minibatch(state, case, rows=rows, scale=scale, likelihood=given)
        parts = (terms.value, *terms.gradient, terms.target_H, terms.target_h)
        return np.concatenate([np.ravel(part) for part in parts])

    whole = vector(case.rows, 1.0)
    average = np.mean([vector(rows, 4.0) for rows in batches], axis=0)
    assert_allclose(average, whole, rtol=1e-9, atol=1e-9)
    assert np.abs(vector(batches[0], 4.0) - whole).max() > 1.0


@FORMS
def test_minibatch_leaves_the_state_alone(form):
    """Computing a step changes nothing that q(u) caches, so that it can be repeated."""
    case = make_case(t=2, weighted=True)
    state = form.hold(case.posterior(*random_information(5, 2)))
    first, second = (_minibatch(state, case) for _ in range(2))
    for one, other in zip(first.gradient, second.gradient, strict=True):
        assert_array_equal(one, other)
    assert first.value == second.value


# Natural steps


def _state(case, H, h, form):
    """A state in the form asked for."""
    q = WhitenedState.hold(case.posterior(H, h))
    state = StochasticState(case.parameters, q, lambda prior, noise: form)
    assert type(state.q) is form
    return state


def _natural_step(state, case, rho, **options):
    state.natural_step(_minibatch(state.q, case, **options), rho)


@pytest.mark.parametrize("seed", range(3))
@FORMS
@WEIGHTED
@OUTPUTS
def test_unit_natural_step_is_the_optimum(t, weighted, form, seed):
    """One natural step of length 1 on all rows gives the optimal q(u), from any start."""
    case = make_case(t=t, weighted=weighted)
    state = _state(case, *random_information(5, t, seed), form)
    _natural_step(state, case, 1.0)
    best, value = _optimum(case, form)
    assert_allclose(state.q.H, best.H, atol=1e-10)
    assert_allclose(state.q.h, best.h, atol=1e-10)
    assert_allclose(_minibatch(state.q, case).value, value, rtol=1e-9)


@FORMS
@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_natural_step_is_a_weighted_mean(rho, form):
    """A step of length rho goes the share rho of the way from what is held to the target."""
    case = make_case(t=2)
    H, h = random_information(5, 2)
    state = _state(case, H, h, form)
    _natural_step(state, case, rho)
    moved, best = state.q.posterior, _optimum(case)[0].posterior
    assert_allclose(moved.H, (1.0 - rho) * H + rho * best.H, atol=1e-7)
    assert_allclose(moved.h, (1.0 - rho) * h + rho * best.h, atol=1e-7)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@FORMS
@pytest.mark.parametrize("seed", range(3))
def test_natural_steps_keep_the_precision_definite(seed, form, likelihood):
    """For any rho in [0, 1] and any batches I + H has no eigenvalue below 1."""
    rng = np.random.default_rng(seed)
    case = make_case(m=8, weighted=True, noise=1e-3)
    state = _state(case, np.zeros((8, 8)), np.zeros((8, 1)), form)
    for rho in [0.0, 1.0, *rng.uniform(0.0, 1.0, 20)]:
        rows = case.rows.select(np.sort(rng.choice(len(case.y), 3, replace=False)))
        given = LIKELIHOODS[likelihood][0]
        _natural_step(state, case, rho, rows=rows, scale=10.0, likelihood=given)
        H = state.q.posterior.H
        rounding = 1e-13 * np.linalg.norm(H) * case.prior.condition
        assert rounding < 0.1
        assert np.linalg.eigvalsh(np.eye(8) + H).min() >= 1.0 - rounding


def test_averaged_steps_reach_the_optimum():
    """Steps of length 1 / k over one epoch are the plain average: the optimum itself."""
    case = make_case(t=2, n=32)
    state = _state(case, *random_information(5, 2), WhitenedState)
    for k, lo in enumerate(range(0, 32, 8), start=1):
        _natural_step(state, case, 1.0 / k, rows=case.rows.select(slice(lo, lo + 8)), scale=4.0)
    best, _ = _optimum(case, WhitenedState)
    assert_allclose(state.q.H, best.H, atol=1e-9)
    assert_allclose(state.q.h, best.h, atol=1e-9)


@OUTPUTS
@FORMS
def test_fixed_points_are_stationary_for_other_likelihoods(form, t):
    """Where full-data natural steps no longer move, the bound has no slope in H and h."""
    case = make_case(t=t)
    case = replace(case, y=np.random.default_rng(0).poisson(2.0, case.y.shape).astype(float))
    state = _state(case, np.zeros((5, 5)), np.zeros((5, t)), form)
    for _ in range(80):
        _natural_step(state, case, 0.5, likelihood=Poisson())
    matrices, q = case.matrices(), state.q.posterior
    rng = np.random.default_rng(1)
    for _ in range(4):
        dH, dh = rng.standard_normal((5, 5)), rng.standard_normal((5, t))

        def value(x, dH=dH + dH.T, dh=dh):
            u = moments_of_information(matrices[0], q.H + x[0] * dH, q.h + x[0] * dh)
            return uncollapsed_bound(*matrices, case.y, case.noise, *u, None, poisson_expectation)

        curvature = value([1e-2]) + value([-1e-2]) - 2.0 * value([0.0])
        assert abs(central_difference(value, np.zeros(1), 1e-4)[0]) < 1e-6
        assert curvature < -1e-6  # and value does depend on these


@FORMS
def test_state_follows_the_kernel(form):
    """When kernel and Z move, q(u) is remade from what the form holds."""
    case = make_case(t=2)
    H, h = random_information(5, 2)
    state = _state(case, H, h, form)
    start = case.parameters
    moved = replace(start, theta=start.theta + [0.3, -0.2, 0.1], Z=start.Z + 0.05)
    state.move(moved)
    assert state.parameters is moved
    Kuu = case.matrices(moved)[0]
    kernel = case.kernel.clone_with_theta(moved.theta)
    q = _held(case, H, h, form)(Kuu)
    Xs = case.X[:6] + 0.1
    expected = predict(Kuu, kernel(moved.Z, Xs), kernel(Xs), *q)
    for actual, part in zip(state.q.posterior.mean_covariance(Xs), expected, strict=True):
        assert_allclose(actual, part, atol=1e-8)


def test_state_changes_its_form_without_changing_q():
    """Where the condition number crosses the rule, the other form takes the same q(u) over."""
    case = make_case(t=2)
    H, h = random_information(5, 2)
    limit = 1e-3 / (np.finfo(float).eps * case.prior.condition)
    held = DirectState.hold(case.posterior(H, h))
    state = StochasticState(
        case.parameters,
        held,
        lambda prior, noise: DirectState if prior.direct_is_safe(0.5 * limit) else WhitenedState,
    )
    assert state.q is held
    longer = replace(case.parameters, theta=case.parameters.theta + np.log([1.0, 4.0, 4.0]))
    state.move(longer)
    assert type(state.q) is WhitenedState
    unchanged = replace(held, prior=state.q.prior).posterior
    for one, other in zip(
        unchanged.mean_covariance(case.X), state.q.posterior.mean_covariance(case.X), strict=True
    ):
        assert_allclose(one, other, atol=1e-9)


def test_a_move_that_fails_leaves_the_state_alone():
    """Hyperparameters at which K(Z, Z) does not factorise raise, and q(u) stays as it was."""
    case = make_case()
    state = _state(case, *random_information(5, 1), WhitenedState)
    before = state.q
    with pytest.raises(NotPositiveDefiniteError):
        state.move(replace(case.parameters, theta=np.full(3, np.nan)))
    assert state.q is before
    assert state.parameters.theta[0] == case.parameters.theta[0]


def test_opaque_kernels_have_gradients_in_theta():
    """A kernel of unknown type gets its gradient by differences, and none in Z."""

    class Unknown(SumKernel):
        pass

    kernel = Unknown(ConstantKernel(0.2), RBF(0.9))
    case = replace(make_case(), kernel=kernel)
    expression = compile_kernel(kernel, np.zeros(2))
    start = Parameters(expression, expression.theta, np.log(case.noise), case.Z)
    _, gradient = collapsed_bound(start, case.rows, case.delta)

    def value(parameters):
        return vfe_bound(*case.matrices(parameters), case.y, parameters.noise_variance)

    space = _space(case, (False, True))
    expected = central_difference(lambda x: value(space.unpack(x, start)), space.pack(start))
    assert_allclose(space.pack_gradient(gradient), expected, rtol=1e-5)
    assert gradient.Z == 0.0
    q = Posterior(Prior.build(start.kernel, case.Z, case.delta), *random_information(5, 1))
    assert _minibatch(WhitenedState.hold(q), case).gradient.Z == 0.0
