"""A short slice of the campaign; the long run is ``python tests/hostile/run.py --cases 10000``."""

import hypothesis
import pytest
from hostile_cases import cases
from hostile_oracle import run

pytestmark = pytest.mark.hostile


@pytest.mark.parametrize("seed", range(4))
def test_cases(seed):
    """Every case ends in a finite, sensible answer, or in an error that names its cause."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=60,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(cases())
    def every(case):
        run(case)

    every()
