"""A slice of ``python tests/hostile/kills.py``."""

import kills
import pytest
from numpy.testing import assert_array_equal

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.mark.parametrize("name", ["svgp", "stream"])
def test_a_killed_process_goes_on_bit_for_bit(name):
    """What a killed loop saved last loads, and ends as if nothing had been."""
    assert_array_equal(kills.killed(name, 0, [0.9, 1.3]), kills.undisturbed(name))


@pytest.mark.parametrize("name", kills.MODELS)
def test_interrupts_change_nothing(name):
    """Ctrl-C at random moments leaves an estimator as it was."""
    came, failed = kills.interrupt_often(4, 0, [name])
    assert not failed
    assert sum(came.values()) > 0
