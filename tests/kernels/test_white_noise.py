"""White noise is split off a kernel, starts within its bounds and goes back into its places."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from sklearn_sgp.kernels import Columns, compile_kernel
from sklearn_sgp.kernels._white_noise import (
    check_bounds,
    fixed_unit_noise,
    holds_noise,
    join_noise,
    split_noise,
    starting_noise,
)

R, M, W, V = RBF(1.2), Matern(0.7), WhiteKernel(0.1), WhiteKernel(0.3, (1e-3, 1.0))
NOISY = {
    "right": (R + W, R, [W]),
    "left": (W + R, R, [W]),
    "middle": ((R + W) + M, R + M, [W]),
    "deep": (R + (M + W), R + M, [W]),
    "two": (W + (R + V), R, [W, V]),
    "pair": ((W + V) + (2.0 * R + M), 2.0 * R + M, [W, V]),
    "spread": ((W + R) + (M + V), R + M, [W, V]),
}
noisy = pytest.mark.parametrize(("kernel", "process", "whites"), NOISY.values(), ids=NOISY)


@noisy
def test_split_noise(kernel, process, whites):
    """All white terms of the outermost sum are found, and the kernel itself is not changed."""
    before = clone(kernel)
    assert split_noise(kernel) == (process, whites)
    assert kernel == before


@noisy
def test_join_noise(kernel, process, whites):
    """A learned process and noise go back into their places in the kernel."""
    learned = process.clone_with_theta(process.theta + 0.2)
    joined = join_noise(kernel, learned, 0.9)
    again, levels = split_noise(joined)
    assert joined.get_params().keys() == kernel.get_params().keys()
    assert again == learned
    assert_allclose(sum(white.noise_level for white in levels), 0.9, rtol=1e-14)
    assert_array_equal(joined.bounds, kernel.bounds)


def test_without_noise_nothing_changes():
    """Splitting and joining do not change a kernel without white terms."""
    kernel = R + M
    assert split_noise(kernel) == (kernel, [])
    assert join_noise(kernel, R + R, 0.9) == R + R


def test_fixed_noise_stays():
    """Fixed levels keep their values; the free levels share the rest in their old proportions."""
    kernel = WhiteKernel(0.3, "fixed") + (R + W) + V
    joined = join_noise(kernel, R, 0.7)
    _, whites = split_noise(joined)
    assert_allclose([white.noise_level for white in whites], [0.3, 0.1, 0.3], rtol=1e-14)
    assert whites[0].noise_level_bounds == "fixed"


@pytest.mark.parametrize(
    "kernel",
    [2.0 * W, R * (M + W), (R + W) ** 2, Columns(W, [0]), R + Columns(M + W, [0]), 1.0 * R + W * M],
    ids=str,
)
def test_noise_elsewhere_is_refused(kernel):
    """White noise in a product, a power or Columns is an error that names the right place."""
    with pytest.raises(ValueError, match="WhiteKernel must stand as a term of the outermost sum"):
        compile_kernel(split_noise(kernel)[0], np.zeros(1))


@pytest.mark.parametrize("kernel", [W, W + V])
def test_noise_alone_is_refused(kernel):
    """A kernel must have a process besides its noise."""
    with pytest.raises(ValueError, match="must have a term besides WhiteKernel"):
        split_noise(kernel)


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
    """The noise starts at the given value or 0.1, clipped to its bounds; fixed noise has none."""
    assert _noise_and_bounds(starting_noise([], value, bounds)) == expected


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
    """The levels and bounds of the noise terms are added up; a fixed level is its own bounds."""
    assert _noise_and_bounds(starting_noise(whites, None, (1e-6, 1e3))) == expected


def _noise_and_bounds(found):
    """With the bounds of one noise variance as a pair."""
    value, bounds = found
    return value, None if bounds is None else tuple(np.ravel(bounds))


@pytest.mark.parametrize("value", [None, 0.5, [0.5, 5.0, 0.2]])
def test_several_outputs_start_with_a_noise_variance_each(value):
    """Each output starts at its own value, clipped, or at the one that is given for all."""
    found, bounds = starting_noise([], value, (0.3, 1.0), n_outputs=3)
    given = 0.1 if value is None else value
    assert_array_equal(found, np.clip(np.broadcast_to(given, 3), 0.3, 1.0))
    assert_array_equal(bounds, [[0.3, 1.0]] * 3)


@pytest.mark.parametrize(
    "value", [[0.1, 0.2], [0.1, -0.2, 0.1], [0.1, np.nan, 0.1], "low", [[0.1]]]
)
def test_noise_variances_that_do_not_fit_the_outputs(value):
    """There is one positive noise variance, or one for each output."""
    with pytest.raises(ValueError, match=r"noise_variance.* positive number, or one for each of"):
        starting_noise([], value, (1e-6, 1e3), n_outputs=3)


@pytest.mark.parametrize(
    "whites, value, message",
    [
        ([WhiteKernel()], 0.1, r"given once.*noise_variance=0\.1"),
        ([WhiteKernel(0.0)], None, r"must be positive\. Got 0\.0"),
        ([WhiteKernel(1.0, (2.0, 1.0))], None, "noise_level_bounds"),
    ],
)
def test_starting_noise_refuses(whites, value, message):
    """Noise that is given twice, is zero, or has bounds out of order is an error."""
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
    """Bounds that are no such pair are an error that names the parameter and the value."""
    with pytest.raises(ValueError, match=r"The 'some_bounds' parameter must be .* Got \("):
        check_bounds("some_bounds", bounds)


def test_fixed_unit_noise():
    """Without noise terms the noise variance is 1 and fixed."""
    assert fixed_unit_noise([], RBF(), "poisson") == (1.0, None)


def test_fixed_unit_noise_refuses():
    """A noise term is an error that names the likelihood and the kernel."""
    message = r"must have no WhiteKernel with the likelihood 'poisson'.*Got RBF.*WhiteKernel"
    with pytest.raises(ValueError, match=message):
        fixed_unit_noise([W], R + W, "poisson")


@pytest.mark.parametrize(
    ("kernel", "bounds", "expected"),
    [
        (None, (1e-6, 1.0), False),
        (None, None, False),
        (None, "fixed", True),
        (R, "fixed", True),
        (R + W, (1e-6, 1.0), False),
        (R + WhiteKernel(0.1, "fixed"), (1e-6, 1.0), True),
        (R + WhiteKernel(0.1, "fixed") + W, (1e-6, 1.0), False),
    ],
)
def test_noise_that_is_held(kernel, bounds, expected):
    """Bounds may hold the noise, or the terms of the kernel, all of which must be fixed then."""
    assert holds_noise(kernel, bounds) is expected
