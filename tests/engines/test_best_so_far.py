"""What was learned from one start stays, unless that from another one is better."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.engines.best_so_far import BestSoFar
from sklearn_sgp.optimize.progress import Clock, Trace


@dataclass(frozen=True)
class Fit:
    merit: float
    start: str
    n_iter: int = 3
    interrupted: bool = False


def first():
    problem = SimpleNamespace(trace=Trace(Clock()), start="first")
    return BestSoFar(problem, Fit(1.0, "first"))


def of(best, fitted, pose=None):
    other = SimpleNamespace(trace=best.problem.trace, start="second")
    return best.or_from(pose or (lambda: other), lambda problem: (problem, fitted))


@pytest.mark.parametrize(("merit", "start"), [(0.5, "first"), (1.0, "first"), (2.0, "second")])
def test_the_better_one_is_kept(merit, start):
    best = of(first(), Fit(merit, "second", n_iter=4))
    assert best.problem.start == best.fitted.start == best.problem.trace.start == start
    assert best.fitted.n_iter == 6 and not best.fitted.interrupted


@pytest.mark.parametrize("merit", [0.5, 2.0])
def test_ctrl_c_amid_the_second_one_ends_the_fit(merit):
    """Of a worse one, too: it was forgotten."""
    best = of(first(), Fit(merit, "second", interrupted=True))
    assert best.fitted.interrupted
    assert of(best, Fit(9.0, "third")) is best


@pytest.mark.parametrize("ends", [NotPositiveDefiniteError("lost"), KeyboardInterrupt()])
@pytest.mark.parametrize("amid", ["search", "fit"])
def test_the_first_one_outlives_the_second(ends, amid):
    def fails(*_):
        raise ends

    one, other = first(), SimpleNamespace(start="second")
    one.problem.trace.start = "before"
    best = one.or_from(fails, fails) if amid == "search" else one.or_from(lambda: other, fails)
    assert best.problem.trace.start == best.fitted.start == "first"
    assert best.fitted.interrupted == isinstance(ends, KeyboardInterrupt)


def test_nothing_is_tried_after_a_callback_has_ended_learning():
    one = first()
    one.problem.trace.stopped = True
    assert of(one, Fit(9.0, "second")) is one


def test_no_other_start():
    one = first()
    assert of(one, None, pose=lambda: None) is one and one.problem.trace.start is None
