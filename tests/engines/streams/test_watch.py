"""What a stream remembers of its batches."""

import numpy as np
from numpy.testing import assert_array_equal

from sklearn_sgp.engines.streams.watch import Gathered


def test_rows_stored_without_their_targets_go_on():
    """Rows of a stream that was stored when targets were not kept join others, as not tied."""
    near = np.full((10, 1), 0.01)
    seen = Gathered(10, np.zeros(1), np.ones(1), near, near, np.zeros((10, 1)))
    stored = Gathered.__new__(Gathered)
    stored.__dict__.update({name: value for name, value in vars(seen).items() if name != "y"})
    assert_array_equal(seen.repeats, [True])  # one and the same number
    assert_array_equal(stored.repeats, [False])
    for both in (stored.joined(seen), seen.joined(stored)):
        assert both.rows == 20 and both.y is None
        assert_array_equal(both.repeats, [False])
