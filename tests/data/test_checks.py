"""Numbers whose squares could overflow, and what is not a number, are refused."""

import numpy as np
import pytest

from sklearn_sgp.data.checks import LARGEST, check_lowest, check_size
from sklearn_sgp.data.continued_warps import Identity
from sklearn_sgp.data.positive_warps import FromZero
from sklearn_sgp.data.targets import Targets
from sklearn_sgp.data.warped_targets import WarpedTargets


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_sizes_up_to_the_largest_are_taken(shape, dtype):
    """Numbers of at most LARGEST in size are no error, of either sign."""
    values = np.full(shape, min(LARGEST, float(np.finfo(dtype).max)), dtype=dtype)
    assert check_size("X", values) is None
    assert check_size("X", -values) is None


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_larger_sizes_are_refused(sign):
    """One number beyond LARGEST, of either sign, is an error that names the array and the size."""
    values = np.array([[0.0, 1.0], [sign * 2e100, 3.0]])
    with pytest.raises(ValueError, match=r"^y must hold numbers of at most 1e\+100.*Got 2e\+100"):
        check_size("y", values)


def test_what_is_no_number_is_refused():
    """None and NaN, which some types of arrays can hide until they are converted, are errors."""
    with pytest.raises(ValueError, match=r"y must hold finite numbers\. Got None or NaN"):
        check_size("y", np.array([0.0, None, 1.0], dtype=object).astype(float))


def test_squares_of_what_is_taken_are_finite():
    """The squares of the largest numbers are finite with room for weights and noise variances."""
    assert np.isfinite(LARGEST**2 * 1e100)


def test_targets_below_the_lowest_are_refused():
    """Each output has a lowest target of its own, or none; NaN is no target."""
    warps = FromZero(Identity(), 0.0, 1e4), Identity()
    targets = WarpedTargets(2, np.zeros(2), np.ones(2), warps)
    check_lowest(targets, np.array([[0.0, -7.0], [np.nan, np.nan], [3.0, 2.0]]))
    with pytest.raises(ValueError, match=r"^y must hold numbers of at least 0, .*Got -0\.5: leave"):
        check_lowest(targets, np.array([[2.0, -7.0], [-0.5, 0.0]]))
    check_lowest(Targets(1, np.zeros(1), np.ones(1)), np.array([[-7.0]]))
