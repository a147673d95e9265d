"""Learning from few rows by the evidence of their exact process."""

import pytest
from dense import make_case
from numpy.testing import assert_allclose

from sklearn_sgp.data.distinct import DistinctRows
from sklearn_sgp.engines.exact_fits import learn_exactly
from sklearn_sgp.objectives.exact import exact_evidence


@pytest.fixture
def case():
    return make_case(n=40)


@pytest.fixture
def rows(case):
    return DistinctRows.of(case.rows)


def test_learning_tells_what_it_has_gained(case, rows):
    """Value and gain are those of the evidence where it ends, and where it began."""
    learned = learn_exactly(case.space(["Z"]), case.parameters, rows, 50)
    assert learned.value == exact_evidence(learned.parameters, rows)[0]
    assert_allclose(learned.gain, learned.value - exact_evidence(case.parameters, rows)[0])
    assert learned.gain > 0.0


def test_learning_ends_where_it_is_told_to(case, rows):
    """What ends it sees each iteration."""
    told = []

    def ends(trace):
        told.append(trace.objectives[-1])
        return len(told) == 2

    learned = learn_exactly(case.space(["Z"]), case.parameters, rows, 50, ends)
    assert len(told) == 2
    assert learned.value == told[-1]
