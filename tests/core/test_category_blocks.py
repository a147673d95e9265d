"""Blocks of covariances between categories refuse what they cannot read."""

import numpy as np
import pytest

from sklearn_sgp._core import _categories


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"specific": np.ones(3)}, "shapes"),
        ({"F": np.empty((0, 2)), "specific": np.empty(0)}, "shapes"),
        ({"entries": np.empty(8)}, "shapes"),
        ({"columns": np.arange(3), "column_bounds": np.array([0, 2, 3])}, "shapes"),
        ({"row_bounds": np.array([0, 4])}, "shapes"),
        ({"rows": np.full(4, 9)}, "those of rows"),
        ({"columns": np.arange(3)}, "must divide"),
        ({"left": np.array([0, 1, -1, 0])}, "negative"),
        ({"right": np.array([0, -1, 1, 0])}, "negative"),
    ],
)
def test_blocks_check_what_they_get(changes, message):
    """Indices and codes that are none, and lengths that do not agree, raise in both directions."""
    codes, index, bounds = np.array([0, 1, 1, 5]), np.arange(4), np.array([0, 2, 4])
    given = {"F": np.ones((2, 2)), "specific": np.ones(2), "left": codes, "right": codes}
    given |= {"rows": index, "columns": index, "row_bounds": bounds, "column_bounds": bounds}
    given |= {"entries": np.empty(6)} | changes
    with pytest.raises(ValueError, match=message):
        _categories.value_blocks(*given.values(), True)
    gradients = np.empty_like(given["F"]), np.empty_like(given["specific"])
    with pytest.raises(ValueError, match=message):
        _categories.vjp_blocks(*given.values(), True, *gradients)


def test_gradients_have_the_shape_of_what_they_are_of():
    """A gradient of another shape is refused before anything is written into it."""
    codes, index, bounds = np.array([0, 1]), np.arange(2), np.array([0, 2])
    parts = codes, codes, index, index, bounds, bounds, np.ones(3), True
    for wrong in ((np.empty((2, 3)), np.empty(2)), (np.empty((2, 2)), np.empty(3))):
        with pytest.raises(ValueError, match="shapes"):
            _categories.vjp_blocks(np.ones((2, 2)), np.ones(2), *parts, *wrong)
