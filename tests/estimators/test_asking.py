"""Fits that are asked for are made by who asked first, one after another."""

import inspect
import weakref
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


def test_an_error_that_was_caught_is_no_context_of_later_ones():
    """Else what is printed of the later one begins with an error that did no harm."""

    def asking():
        try:
            yield partial(int, "no number")
        except ValueError:
            pass
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        answered(asking())
    assert caught.value.__context__ is None


def test_answers_do_not_outlive_who_asked_for_them():
    """A fit of many rows that is given up is gone while the next one is made."""

    class Answer:
        pass

    def asking():
        given_up = weakref.ref((yield Answer))
        return (yield given_up)

    assert answered(asking()) is None


def test_contexts_are_left_where_ctrl_c_comes_between_two_calls():
    """Warnings that a fit of some rows ignores, and shares of the time, are as before at once."""
    left = []

    class Asking:
        """A generator that Ctrl-C ends before it goes on."""

        def __init__(self):
            self.own = self._own()
            self.throw, self.close = self.own.throw, self.own.close

        def _own(self):
            try:
                yield partial(int, "1")
            finally:
                left.append("context")

        def send(self, answer):
            if answer is not None:
                raise KeyboardInterrupt
            return self.own.send(answer)

        @property
        def gi_frame(self):
            return self.own.gi_frame

    with pytest.raises(KeyboardInterrupt):
        answered(Asking())
    assert left == ["context"]


def test_ctrl_c_between_two_calls_is_raised_where_the_next_one_was_asked_for():
    """Who asked keeps what it has learned."""

    class Asking:
        """A generator that Ctrl-C meets once, before it goes on."""

        def __init__(self):
            self.own = self._own()
            self.throw, self.close = self.own.throw, self.own.close

        def _own(self):
            kept = None
            try:
                kept = yield partial(int, "1")
                yield partial(int, "2")
            except KeyboardInterrupt:
                return kept

        def send(self, answer):
            if answer == 2:
                raise KeyboardInterrupt
            return self.own.send(answer)

        @property
        def gi_frame(self):
            return self.own.gi_frame

    assert answered(Asking()) == 1


def test_a_stop_iteration_of_a_call_is_raised_as_it_is():
    """One of a user's callback was a RuntimeError: a generator cannot raise it."""

    def stops():
        raise StopIteration("told")

    def inner():
        yield stops

    def asking():
        yield from inner()

    with pytest.raises(StopIteration, match="told"):
        answered(asking())
