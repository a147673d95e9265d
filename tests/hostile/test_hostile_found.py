"""What the campaign has found does not come back."""

import pytest
from found import FOUND
from hostile_oracle import run


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(FOUND)))
def test_found(number):
    """A case that failed once ends in a finite answer, or an error that names its cause."""
    run(FOUND[number][2])
