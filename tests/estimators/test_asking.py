"""Fits that are asked for are made by who asked first, one after another."""

import inspect
from functools import partial

import pytest

from sklearn_sgp.estimators.asking import answered


def _depth():
    return len(inspect.stack(0))


def test_answers_come_where_calls_were_asked_for():
    """What a call returns goes on with the generator, and what that returns is the result."""

    def inner():
        return 10 * (yield partial(int, "3"))

    def asking():
        first = yield partial(int, "1")
        return first + (yield from inner())

    assert answered(asking()) == 31


def test_no_call_waits_within_another():
    """However deep a generator stands, its calls are made from the same place."""

    def inner():
        return (yield _depth)

    def asking():
        return (yield _depth), (yield from inner())

    assert answered(asking()) == (_depth() + 1,) * 2


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_errors_are_raised_where_calls_were_asked_for(error):
    """A generator may go on after an error, and what it does not catch ends all."""

    def fails():
        raise error

    def asking(catches):
        try:
            yield fails
        except catches:
            return (yield partial(int, "2"))

    assert answered(asking(error)) == 2
    with pytest.raises(error):
        answered(asking(ZeroDivisionError))
