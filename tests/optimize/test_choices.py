"""Choices of a fit: the best candidate goes on, and all of it is told."""

import numpy as np
import pytest

from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.objectives.scores import Score
from sklearn_sgp.optimize.choices import Comparison, Tried, climb, numbered
from sklearn_sgp.optimize.progress import Clock, Trace


def score(*each):
    return Score(np.array(each), np.ones(len(each)))


def compare(about, candidates, run, trace):
    """Run all candidates."""
    comparison = Comparison(about, trace)
    for candidate in comparison.over(candidates):
        with comparison:
            comparison.add(*run(candidate))
    return comparison.best_first()


def test_the_best_goes_on_and_all_are_told():
    """Candidates come back best first; the trace has scores, errors of differences, and which."""
    trace = Trace(Clock())
    scores = {"a": score(0.0, 0.0, 0.0), "b": score(1.0, 2.0, 3.0), "c": score(1.0, 2.0, 1.5)}
    tried = compare("kernel", zip("abc", "abc", strict=True), lambda k: (k, scores[k]), trace)
    assert [one.result for one in tried] == ["b", "c", "a"]
    told = {entry["candidate"]: entry for entry in trace.choices}
    assert [told[k]["taken"] for k in "abc"] == [False, True, False]
    assert told["c"]["score"] == 1.5
    assert told["b"]["standard_error"] == 0.0
    assert told["a"]["standard_error"] == pytest.approx(np.std([1, 2, 3], ddof=1) / np.sqrt(3))
    assert all(entry["seconds"] >= 0.0 and entry["choice"] == "kernel" for entry in trace.choices)


def test_equal_scores_keep_their_order():
    """Of equal candidates the first goes on."""
    tried = compare("x", [("1", 1), ("2", 2)], lambda k: (k, score(1.0)), Trace(Clock()))
    assert [one.name for one in tried] == ["1", "2"]


@pytest.mark.parametrize(
    ("heights", "best", "told"),
    [
        ({0: 0.0, 1: 1.0, 2: 2.0, 3: 1.5}, 2, [0, 1, 2, 3]),  # the other way is not tried
        ({0: 0.0, 1: -1.0, -1: 1.0, -2: 0.5}, -1, [0, 1, -1, -2]),
        ({0: 0.0, 1: 1.0}, 1, [0, 1]),  # the end of the way
        ({0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}, 3, [0, 1, 2, 3]),  # the most steps
        ({0: 0.0}, 0, []),
    ],
)
def test_a_climb_ends_where_a_step_gains_nothing(heights, best, told):
    """It goes on one way while each step gains, the other way if the first one did not gain."""
    trace = Trace(Clock())

    def at(step):
        return Tried(str(step), step, score(heights[step]), 0.0) if step in heights else None

    def gains(one, other):
        return one.mean > other.mean

    assert climb(at(0), at, (1, -1), 3, gains, "power", trace).result == best
    assert [int(entry["candidate"]) for entry in trace.choices] == told


def test_a_single_candidate_is_no_choice():
    """Nothing is told where there was nothing to choose."""
    trace = Trace(Clock())
    compare("kernel", [("only", 0)], lambda k: (k, score(1.0)), trace)
    assert trace.choices == []


def test_candidates_that_cannot_be_evaluated_are_left_out():
    """One that fails is no candidate; if all fail, the error is told."""

    def run(k):
        if k:
            raise NotPositiveDefiniteError("covariance")
        return k, score(1.0)

    assert len(compare("x", [("a", 0), ("b", 1)], run, Trace(Clock()))) == 1
    with pytest.raises(NotPositiveDefiniteError):
        compare("x", [("b", 1)], run, Trace(Clock()))


def test_a_callback_ends_the_comparison():
    """No other candidate runs once a callback has asked to stop."""
    trace = Trace(Clock())

    def run(k):
        trace.stopped = True
        return k, score(float(k))

    assert [one.result for one in compare("x", [("a", 0), ("b", 1)], run, trace)] == [0]


def test_equal_names_are_numbered():
    """The second candidate of one name is told to be that."""
    assert numbered(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]
