"""Where kernels with categories begin, once a kernel of the numbers alone has learned."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.data.categories import InputColumns
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.blocks.trials import begins_with_categories, has_categories
from sklearn_sgp.engines.other_starts import default_starts
from sklearn_sgp.engines.start import Choices, start
from sklearn_sgp.kernels._defaults import LOCAL, ONE, SMOOTH
from sklearn_sgp.likelihoods import Gaussian


def starts_of(rng, categorical, kernel_set=LOCAL):
    """Starts of default kernels for 60 rows of two numbers and two codes."""
    X = np.column_stack([rng.uniform(0.0, 3.0, (60, 2)), np.arange(60) % 4, np.arange(60) % 3])
    rows = Rows(X, np.sin(X[:, :1]), None, np.zeros(1), np.ones(1))
    columns = InputColumns(None, categorical, tuple(np.arange(4) for _ in categorical))
    choices = Choices(
        None,
        5,
        "kmeans",
        True,
        noise_variance_bounds=(1e-6, 1e3),
        kernel_set=kernel_set,
        columns=columns,
    )
    first = start(rows, choices, Gaussian(), np.random.RandomState(0))
    return X, first, default_starts(first)


def test_sums_with_levels_begin_near_what_numbers_have_learned(rng):
    """Beside it they have a tenth of the noise, whichever kernel of the numbers it was."""
    X, _, starts = starts_of(rng, (2, 3))
    numbers = [one for one in starts if not has_categories(one)]
    for of_numbers in numbers:
        moved = of_numbers.parameters.theta + rng.normal(0.0, 0.1, len(of_numbers.parameters.theta))
        found = of_numbers.parameters.with_values(theta=moved, log_noise=np.log(0.3))
        (_, first), *others = begins_with_categories(of_numbers, found, starts)
        added = first.kernel.block(X, X) - found.kernel.block(X, X)
        added = added - 2 * 0.5  # what all categories of a column have is no level
        assert_allclose(np.diag(added), 0.03, rtol=1e-9)
        assert_allclose(added[0, [1, 2, 3, 4]], [0.0, 0.0, 0.015, 0.015], atol=1e-9)
        assert first.log_noise == found.log_noise
        assert len(others) == 3  # levels, own functions, functions of combinations
        assert all(parameters is one.parameters for one, parameters in others)
        shapes = {repr(one.kernel.k1) for one, _ in others}
        assert len(shapes) == 3


def test_short_length_scales_are_tried_without_categories(rng):
    """The first default kernel is one with levels, for fits that do not choose."""
    _, first, starts = starts_of(rng, (2,))
    assert has_categories(first)
    numbers = [one for one in starts if not has_categories(one)]
    assert len(numbers) == 4
    last = starts[-1]
    assert last.kernel == numbers[0].kernel
    assert (last.parameters.theta < numbers[0].parameters.theta).any()


@pytest.mark.parametrize("kernel_set", [ONE, SMOOTH])
def test_other_fits_compare_kernels_with_categories_alone(rng, kernel_set):
    """Where no numbers come first, or none are compared, all kernels have categories."""
    _, _, starts = starts_of(rng, (2,), kernel_set)
    assert all(has_categories(one) for one in starts)
