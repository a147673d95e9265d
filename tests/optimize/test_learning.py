"""What is free, where learning starts, and the optimisers."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from dense import central_difference, make_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from sklearn_sgp.fitting.starting_values import (
    check_bounds,
    compile_process,
    default_kernel,
    input_summary,
    merged_rows,
    parameter_space,
    scaled_rows,
    starting_noise,
    target_scaling,
)
from sklearn_sgp.optimize.learning import (
    Adam,
    Clock,
    Parameters,
    ParameterSpace,
    Plateau,
    TiedLengthScales,
    Trace,
    ascend_lbfgs,
)
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.objectives.collapsed import Gradient

START = Parameters(
    None, np.array([0.5, -1.0]), -2.0, np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
)
FREE = [(True, True), (True, False), (False, True), (False, False)]


def _space(noise=True, inputs=True, lower=-10.0, upper=10.0):
    return ParameterSpace(
        np.tile([lower, upper], (2, 1)),
        (lower, upper) if noise else None,
        np.array([0.5, 20.0]) if inputs else None,
    )


# The space of the free parameters


@pytest.mark.parametrize("noise, inputs", FREE)
def test_pack_and_unpack_are_inverse(noise, inputs):
    """Unpacking what was packed gives the same parameters; the vector has only the free ones."""
    space = _space(noise, inputs)
    x = space.pack(START)
    assert x.shape == (2 + noise + 6 * inputs,)
    assert space.bounds(START).shape == (len(x), 2)
    back = space.unpack(x, START)
    assert_allclose(back.theta, START.theta)
    assert_allclose(back.log_noise, START.log_noise)
    assert_allclose(back.Z, START.Z)
    assert_allclose(space.pack(space.unpack(x + 1.0, START)), x + 1.0)


@pytest.mark.parametrize("noise, inputs", FREE)
def test_what_is_fixed_stays(noise, inputs):
    """A moved vector moves the kernel, and noise and inducing inputs only where they are free."""
    space = _space(noise, inputs)
    moved = space.unpack(space.pack(START) + 1.0, START)
    assert_allclose(moved.theta, START.theta + 1.0)
    assert_allclose(moved.log_noise, START.log_noise + noise)
    assert_allclose(moved.Z, START.Z + inputs * np.array([0.5, 20.0]))
    assert moved.expression is START.expression


@pytest.mark.parametrize("noise, inputs", FREE)
def test_packed_gradient_is_that_in_the_vector(noise, inputs):
    """pack_gradient follows the chain rule through the units of Z."""
    space = _space(noise, inputs)

    def value(parameters):
        return np.sum(parameters.theta**2) + parameters.log_noise**3 + np.sum(parameters.Z**2)

    gradient = Gradient(2.0 * START.theta, 3.0 * START.log_noise**2, 2.0 * START.Z)
    expected = central_difference(lambda x: value(space.unpack(x, START)), space.pack(START))
    assert_allclose(space.pack_gradient(gradient), expected, rtol=1e-6)


def test_tied_length_scales_prefer_equal_ones():
    """In units of the columns, whatever those are; the derivative is that of the value."""
    prior = TiedLengthScales(np.log([1.0, 10.0, 0.1]))
    theta = np.array([2.0, 0.5, 1.5, -3.0])
    assert prior(np.append(2.0, prior.log_spread + 0.7))[0] == pytest.approx(0.0, abs=1e-15)
    # two length scales that differ by a factor of e**2 are one away from their mean
    two = TiedLengthScales(np.zeros(2))
    assert_allclose(two(np.array([5.0, 1.0, 3.0]))[0], -1.0)
    numeric = [
        (prior(theta + 1e-5 * e)[0] - prior(theta - 1e-5 * e)[0]) / 2e-5 for e in np.eye(len(theta))
    ]
    assert_allclose(prior(theta)[1], numeric, atol=1e-8)


def test_unpacked_parameters_own_their_theta():
    """Writing to the vector afterwards does not move the kernel."""
    space = _space()
    x = space.pack(START)
    parameters = space.unpack(x, START)
    x[:] = 99.0
    assert_allclose(parameters.theta, START.theta)


def test_parameters_bind_kernel_and_noise():
    """The kernel has the theta of the parameters, the noise is a variance."""
    case = make_case()
    moved = replace(case.parameters, theta=np.log([2.0, 3.0, 4.0]), log_noise=np.log(0.7))
    expected = case.kernel.clone_with_theta(moved.theta)(case.Z, case.X)
    assert_allclose(moved.kernel.block(case.Z, case.X), expected, rtol=1e-10)
    assert_allclose(moved.noise_variance, 0.7)


# When to stop


def test_plateau_counts_small_gains():
    """It is reached after `patience` entries in a row that gained less than tol on the best."""
    plateau = Plateau(tol=1.0, patience=3)
    values = [0.0, 5.0, 5.5, 4.0, 6.6, 7.0, 5.0, 8.1, 8.2, 9.0, 9.1]
    assert [plateau.reached(v) for v in values] == [False] * 10 + [True]


def test_plateau_does_not_wait_for_small_gains_to_add_up():
    """Each entry is compared with the best so far, small gains included."""
    plateau = Plateau(tol=1.0, patience=2)
    assert not plateau.reached(0.0)
    assert not plateau.reached(0.9)
    assert plateau.reached(1.8)


def test_clock_and_trace():
    """A trace records objectives and times, and stops when the listener says so."""
    clock = Clock(max_time=100.0)
    trace = Trace(clock, lambda trace, snapshot: snapshot() == "stop")
    assert not trace.add(1.0, lambda: "go on")
    assert not trace.stopped
    assert trace.add(np.float64(2.0), lambda: "stop")
    assert trace.stopped
    assert trace.objectives == [1.0, 2.0]
    assert 0.0 <= trace.times[0] <= trace.times[1] <= clock.elapsed() < 100.0
    assert 0.0 < clock.left() < 100.0
    assert Clock().left() == np.inf


# L-BFGS

PEAK = Parameters(None, np.array([0.3, 0.8]), -0.6, np.array([[0.0, 9.0], [2.0, 7.0], [4.0, 5.0]]))


def _concave(parameters):
    """A concave function with its maximum 3 at PEAK; its curvatures differ by a factor of 100."""
    d_theta, d_Z = parameters.theta - PEAK.theta, parameters.Z - PEAK.Z
    d_noise = parameters.log_noise - PEAK.log_noise
    curvature = np.array([0.5, 50.0])
    value = 3.0 - (curvature @ d_theta**2) - d_noise**4 - d_noise**2 - np.sum(d_Z**2)
    gradient = Gradient(-2.0 * curvature * d_theta, -4.0 * d_noise**3 - 2.0 * d_noise, -2.0 * d_Z)
    return value, gradient


def _ascend(objective, space, start=START, **options):
    options = {
        "max_iter": 200,
        "plateau": Plateau(0.0, 10**6),
        "trace": Trace(Clock()),
        **options,
    }
    return ascend_lbfgs(objective, space, start, **options)


@pytest.mark.parametrize("noise, inputs", FREE)
def test_lbfgs_finds_the_maximum(noise, inputs):
    """The maximum over the free parameters is found, the others stay."""
    found, value, n_iter = _ascend(_concave, _space(noise, inputs))
    assert_allclose(found.theta, PEAK.theta, atol=1e-5)
    assert_allclose(found.log_noise, PEAK.log_noise if noise else START.log_noise, atol=1e-5)
    assert_allclose(found.Z, PEAK.Z if inputs else START.Z, atol=1e-5)
    assert value == _concave(found)[0]
    assert 0 < n_iter < 100


def test_lbfgs_adds_the_prior_of_the_space():
    """The maximum is that of the sum; trace and value have the objective alone."""

    def prior(theta):
        return -float(theta @ theta), -2.0 * theta

    trace = Trace(Clock())
    space = replace(_space(), prior=prior)
    found, value, _ = _ascend(_concave, space, trace=trace)
    assert_allclose(found.theta, PEAK.theta * [0.5 / 1.5, 50.0 / 51.0], atol=1e-5)
    assert value == _concave(found)[0] == trace.objectives[-1]


def test_lbfgs_respects_bounds():
    """No point outside the bounds is tried, not even the start; the best within them is found."""
    seen = []

    def objective(parameters):
        seen.append(np.append(parameters.theta, parameters.log_noise))
        return _concave(parameters)

    found, _, _ = _ascend(objective, _space(lower=-0.5, upper=0.5))
    assert np.abs(seen).max() <= 0.5
    assert_allclose(found.theta, [0.3, 0.5], atol=1e-6)
    assert_allclose(found.log_noise, -0.5)


def test_lbfgs_backs_away_from_failures():
    """Points where K(Z, Z) does not factorise are stepped back from, and the maximum is found."""
    failures = []

    def objective(parameters):
        if parameters.theta[1] > 0.85:  # PEAK is at 0.8
            failures.append(parameters.theta[1])
            raise NotPositiveDefiniteError("beyond the wall")
        return _concave(parameters)

    start = replace(START, theta=np.array([0.5, 0.5]))
    found, value, _ = _ascend(objective, _space(inputs=False), start)
    assert failures
    assert_allclose(found.theta, PEAK.theta, atol=1e-4)
    assert_allclose(value, _concave(replace(PEAK, Z=START.Z))[0], atol=1e-6)


def test_lbfgs_raises_where_the_start_fails():
    """A failure at the start itself is the caller's to handle."""

    def objective(parameters):
        raise NotPositiveDefiniteError("at the start")

    with pytest.raises(NotPositiveDefiniteError, match="at the start"):
        _ascend(objective, _space())


def _rosenbrock(parameters):
    """A curved valley: takes L-BFGS some forty iterations."""
    a, b = parameters.theta
    value = -((1.0 - a) ** 2) - 100.0 * (b - a * a) ** 2
    slope = np.array([2.0 * (1.0 - a) + 400.0 * a * (b - a * a), -200.0 * (b - a * a)])
    return value, Gradient(slope, 0.0, 0.0)


VALLEY = replace(START, theta=np.array([-1.2, 1.0]))
THETA_ONLY = _space(noise=False, inputs=False)


@pytest.mark.parametrize("time_left", [0.0, 0.2])
def test_lbfgs_stops_by_time(time_left):
    """When the time is over the best point so far is returned, at the least the start."""
    seen = []

    def slow(parameters):
        time.sleep(0.02)
        seen.append(_rosenbrock(parameters))
        return seen[-1]

    begin = time.perf_counter()
    found, value, n_iter = _ascend(slow, THETA_ONLY, VALLEY, time_left=time_left)
    assert time.perf_counter() - begin < time_left + 1.0
    assert len(seen) <= 1 + time_left / 0.02
    assert value == max(v for v, _ in seen) == _rosenbrock(found)[0]
    assert (value > _rosenbrock(VALLEY)[0]) == (time_left > 0)
    assert n_iter < 20


def test_lbfgs_stops_by_plateau():
    """It stops when the plateau is reached: after the first iteration no gain is enough here."""
    trace = Trace(Clock())
    _, value, n_iter = _ascend(
        _rosenbrock, THETA_ONLY, VALLEY, plateau=Plateau(1e6, 3), trace=trace
    )
    assert n_iter == len(trace.objectives) == 4
    assert trace.objectives == sorted(trace.objectives)
    assert value == trace.objectives[-1]


def test_lbfgs_stops_by_callback():
    """A listener that returns True ends the run; it can look at the best parameters so far."""
    snapshots = []

    def listener(trace, snapshot):
        snapshots.append(snapshot())
        return len(snapshots) == 5

    trace = Trace(Clock(), listener)
    found, value, n_iter = _ascend(_rosenbrock, THETA_ONLY, VALLEY, trace=trace)
    assert n_iter == 5
    assert trace.stopped
    assert_array_equal(found.theta, snapshots[-1].theta)
    assert [_rosenbrock(s)[0] for s in snapshots] == trace.objectives
    assert value == trace.objectives[-1]


@pytest.mark.parametrize("max_iter", [1, 7])
def test_lbfgs_stops_by_iterations(max_iter):
    """No more than max_iter iterations are made."""
    assert _ascend(_rosenbrock, THETA_ONLY, VALLEY, max_iter=max_iter)[2] == max_iter


def test_lbfgs_returns_the_best_seen():
    """Cut short after a trial step that went too far, it returns the start it came from."""
    seen = []

    def objective(parameters):
        time.sleep(0.3 * len(seen))  # the second call ends after the deadline
        seen.append(_rosenbrock(parameters))
        return seen[-1]

    found, value, n_iter = _ascend(objective, THETA_ONLY, VALLEY, time_left=0.3)
    assert len(seen) == 2
    assert seen[1][0] < seen[0][0] == value
    assert_array_equal(found.theta, VALLEY.theta)
    assert n_iter == 0


# Adam


def test_adam_is_the_textbook_recursion():
    """Steps follow Kingma & Ba's algorithm 1, upwards."""
    rng, bounds = np.random.default_rng(0), np.tile([-np.inf, np.inf], (4, 1))
    adam, x = Adam(4, 0.1), np.zeros(4)
    m, v, expected = np.zeros(4), np.zeros(4), np.zeros(4)
    for t in range(1, 20):
        g = rng.standard_normal(4) * [1.0, 1e-3, 1e3, 0.0]
        x = adam.step(x, g, bounds)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        expected = expected + 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        assert_allclose(x, expected, rtol=1e-10)


def test_adam_stays_within_bounds():
    """A step ends at the bounds, and the vector it was given is not written to."""
    bounds, x = np.array([[-1.0, 0.05], [-0.02, 1.0]]), np.zeros(2)
    moved = Adam(2, 0.1).step(x, np.array([5.0, -5.0]), bounds)
    assert_allclose(moved, [0.05, -0.02])
    assert_array_equal(x, 0.0)


# Where learning starts (_start.py)


@pytest.mark.parametrize("weighted", [False, True])
def test_input_summary(weighted):
    """Weighted mean and standard deviation of the columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) * [1.0, 1e-8, 1e8] + [0.0, 1.0, -1e9]
    times = rng.integers(0, 3, 50) if weighted else np.ones(50, dtype=int)
    mean, spread = input_summary(X, times.astype(float) if weighted else None)
    repeated = np.repeat(X, times, axis=0)
    assert_allclose(mean, repeated.mean(axis=0), rtol=1e-10, atol=1e-12)
    assert_allclose(spread, repeated.std(axis=0), rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, -3e7, 1e100])
def test_input_summary_of_a_constant_column(value):
    """A constant column has spread 1, whatever rounding makes of its mean."""
    mean, spread = input_summary(np.full((37, 1), value), None)
    assert_allclose(mean, value)
    assert spread == 1.0


def test_input_summary_of_very_many_rows():
    """A regular subsample stands in for very many rows, with its weights."""
    X = np.arange(200_000, dtype=np.float32)[:, None]
    weight = np.where(np.arange(200_000) < 100_000, 0.0, 1.0)
    mean, spread = input_summary(X, weight)
    assert_allclose([mean[0], spread[0]], [150_000.0, 1e5 / np.sqrt(12.0)], rtol=1e-3)


def test_input_summary_with_no_weight_in_the_sample():
    """If the sample's rows all have weight 0 they count alike, instead of giving NaN."""
    mean, spread = input_summary(np.array([[1.0], [3.0]]), np.zeros(2))
    assert (mean[0], spread[0]) == (2.0, 1.0)


@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.0, 2.0, 1.0])])
def test_target_scaling(weight):
    """With normalize_y targets are scaled to weighted mean 0 and variance 1, each output."""
    y = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [8.0, 5.0]])
    mean, scale = target_scaling(y, weight, True)
    scaled = (y - mean) / scale
    assert_allclose(np.average(scaled, axis=0, weights=weight), 0.0, atol=1e-15)
    assert_allclose(np.average(scaled**2, axis=0, weights=weight), [1.0, 0.0], atol=1e-15)
    assert scale[1] == 1.0  # constant


def test_target_scaling_as_given():
    """False leaves targets alone, a pair is used as it is, for all outputs or each its own."""
    y = np.ones((3, 2))
    assert_array_equal(target_scaling(y, None, False), [[0.0, 0.0], [1.0, 1.0]])
    assert_array_equal(target_scaling(y, None, (3.0, 2.0)), [[3.0, 3.0], [2.0, 2.0]])
    assert_array_equal(target_scaling(y, None, ([1.0, 2.0], 4.0)), [[1.0, 2.0], [4.0, 4.0]])


@pytest.mark.parametrize(
    "pair",
    [
        (0.0, 0.0),
        (0.0, -1.0),
        (np.nan, 1.0),
        (0.0, np.inf),
        (0.0,),
        (0.0, "wide"),
        ([0.0, 0.0, 0.0], 1.0),
    ],
)
def test_target_scaling_refuses(pair):
    """What is not a finite mean and a positive scale is an error that says so and what came."""
    with pytest.raises(ValueError, match=r"finite mean and a positive scale.*Got \("):
        target_scaling(np.ones((3, 2)), None, pair)


def test_target_scaling_refuses_what_overflows():
    """A scale so small that squares of scaled targets would overflow is an error."""
    with pytest.raises(ValueError, match=r"scale of the 'normalize_y'.*Got \(0\.0, 1e-250\)"):
        target_scaling(np.ones((3, 1)), None, (0.0, 1e-250))


def test_scaled_rows():
    """Rows of weight 0 are left out; the others keep their order, targets are scaled on reading."""
    X, y = np.arange(8.0).reshape(4, 2), np.array([[1.0], [2.0], [3.0], [4.0]])
    rows = scaled_rows(X, y, np.array([1.0, 0.0, 2.0, 0.5]), (np.array([1.0]), np.array([2.0])))
    assert_array_equal(rows.X, X[[0, 2, 3]])
    assert_allclose(rows.targets[:, 0], [0.0, 1.0, 1.5])
    assert_allclose(rows.root_weight, np.sqrt([1.0, 2.0, 0.5]))
    assert rows.total_weight == 3.5
    assert [len(piece) for piece in rows.chunks(2)] == [2, 1]
    assert scaled_rows(X, y, None, (0.0, 1.0)).X is X


def test_merged_rows():
    """Few rows are sorted and repeated ones merged, so that weights are repetitions exactly."""
    rng = np.random.default_rng(0)
    X, y, times = rng.integers(0, 2, (12, 2)) + 0.1, np.tile([[1.0], [2.0]], (6, 1)), np.arange(12)
    weighted = merged_rows(X, y, times.astype(float))
    order = rng.permutation(times.sum())
    repeated = merged_rows(np.repeat(X, times, 0)[order], np.repeat(y, times, 0)[order], None)
    for one, other in zip(weighted, repeated, strict=True):
        assert_array_equal(one, other)
    rows = np.column_stack(weighted[:2])
    assert_array_equal(rows, np.unique(np.column_stack([X, y])[1:], axis=0))
    assert weighted[2].sum() == times.sum()
    assert merged_rows(X[:1], y[:1], None)[2] is None


def test_many_rows_are_not_merged():
    """Many rows are only freed of those of weight 0, and not copied without need."""
    X, y = np.zeros((5000, 1)), np.zeros((5000, 1))
    weight = np.ones(5000)
    assert merged_rows(X, y, weight)[0] is X
    weight[:10] = 0.0
    assert [len(part) for part in merged_rows(X, y, weight)] == [4990] * 3


@pytest.mark.parametrize("d", [1, 4])
def test_default_kernel(d):
    """The default kernel starts within its bounds, length scales in units of the inputs' spread."""
    spread = np.geomspace(1e-6, 1e6, d)
    kernel = default_kernel(spread)
    assert_allclose(np.exp(kernel.theta), [1.0, *(spread * np.sqrt(d))])
    assert (kernel.bounds[:, 0] < kernel.theta).all()
    assert (kernel.theta < kernel.bounds[:, 1]).all()


@pytest.mark.parametrize(
    "value, bounds, expected",
    [
        (None, (1e-6, 1e3), (0.1, (1e-6, 1e3))),
        (0.5, (1e-6, 1e3), (0.5, (1e-6, 1e3))),
        (0.5, (1.0, 2.0), (1.0, (1.0, 2.0))),
        (5.0, (1.0, 2.0), (2.0, (1.0, 2.0))),
        (0.5, "fixed", (0.5, None)),
    ],
)
def test_starting_noise(value, bounds, expected):
    """The noise starts where told, or at 0.1, within its bounds; fixed noise has none."""
    assert starting_noise([], value, bounds) == expected


@pytest.mark.parametrize(
    "whites, expected",
    [
        ([WhiteKernel(0.3, (0.1, 1.0))], (0.3, (0.1, 1.0))),
        ([WhiteKernel(0.3, "fixed")], (0.3, None)),
        ([WhiteKernel(0.25, "fixed"), WhiteKernel(0.5, (0.25, 1.0))], (0.75, (0.5, 1.25))),
        ([WhiteKernel(5.0, (0.1, 1.0))], (1.0, (0.1, 1.0))),
    ],
)
def test_starting_noise_from_the_kernel(whites, expected):
    """WhiteKernel terms add up; the fixed ones among them stay."""
    assert starting_noise(whites, None, (1e-6, 1e3)) == expected


@pytest.mark.parametrize(
    "whites, value, message",
    [
        ([WhiteKernel()], 0.1, r"given once.*noise_variance=0\.1"),
        ([WhiteKernel(0.0)], None, r"must be positive\. Got 0\.0"),
        ([WhiteKernel(1.0, (2.0, 1.0))], None, "noise_level_bounds"),
    ],
)
def test_starting_noise_refuses(whites, value, message):
    """Noise given twice, or none at all, or with bounds upside down, is an error."""
    with pytest.raises(ValueError, match=message):
        starting_noise(whites, value, (1e-6, 1e3))


def test_check_bounds():
    """A pair of positive numbers in order is returned as floats."""
    assert check_bounds("some_bounds", [1, np.float32(2)]) == (1.0, 2.0)
    assert check_bounds("some_bounds", (3, 3)) == (3.0, 3.0)


@pytest.mark.parametrize(
    "bounds",
    [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (1.0,), (1.0, 2.0, 3.0), (1.0, np.nan), ("low", "high")],
)
def test_check_bounds_refuses(bounds):
    """Anything else is an error that names the parameter and what came."""
    with pytest.raises(ValueError, match=r"The 'some_bounds' parameter must be .* Got \("):
        check_bounds("some_bounds", bounds)


def test_compile_process():
    """The noise is taken out of the kernel, whose bounds come with it, in logarithms."""
    kernel = ConstantKernel(2.0, (1.0, 3.0)) * RBF(0.5, "fixed") + WhiteKernel(0.3)
    expression, whites, bounds = compile_process(kernel, np.zeros(2))
    assert whites == [WhiteKernel(0.3)]
    assert_allclose(np.exp(expression.theta), [2.0])
    assert_allclose(np.exp(bounds), [[1.0, 3.0]])


@pytest.mark.parametrize(
    "kernel, message",
    [
        (RBF(1.0, (2.0, 1.0)), r"0 < lower <= upper.*Got \["),
        (RBF(1.0, (-1.0, 1.0)), r"0 < lower <= upper.*Got \["),
        (ConstantKernel(-1.0) * RBF(), "must be positive and finite"),
        (DotProduct(np.nan), "must be positive and finite"),
    ],
)
def test_compile_process_refuses(kernel, message):
    """Bounds upside down and hyperparameters without a logarithm are errors that show them."""
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        compile_process(kernel, np.zeros(1))


def test_a_linear_kernel_through_the_origin():
    """A fixed sigma_0 of 0 has no logarithm and needs none."""
    expression, _, bounds = compile_process(DotProduct(0.0, "fixed"), np.zeros(1))
    kernel = expression.bind(expression.theta)
    assert bounds.shape == (0, 2)
    assert_allclose(kernel.block(np.array([[2.0]]), np.array([[3.0]])), 6.0)


def test_parameter_space_is_in_logarithms():
    """Noise bounds become logarithms, None stays None."""
    space = parameter_space(np.zeros((0, 2)), (0.1, 10.0), None)
    assert_allclose(space.noise_bounds, np.log([0.1, 10.0]))
    assert parameter_space(np.zeros((0, 2)), None, np.ones(2)).noise_bounds is None
    assert not space.learns_inputs
    like = SimpleNamespace(Z=np.zeros((3, 2)))
    assert_allclose(space.bounds(like), np.log([[0.1, 10.0]]))
