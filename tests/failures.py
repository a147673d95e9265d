"""Failures on purpose, and what must be left when something failed."""

import itertools

from numpy.testing import assert_array_equal


def interrupt(patch, owner, name, count, error):
    """Let the function ``name`` of a module or class raise at the call number ``count``.

    Parameters
    ----------
    patch : pytest.MonkeyPatch
        Undoes it.
    owner : module or class
        Where the name is looked up at the call: the module that imported the function.
    name : str
    count : int
        From 1.
    error : exception or exception class
    """
    function, calls = getattr(owner, name), itertools.count(1)

    def interrupted(*args, **kwargs):
        if next(calls) == count:
            raise error
        return function(*args, **kwargs)

    patch.setattr(owner, name, interrupted)


def state_of(model):
    """The attributes of an estimator, fitted and not."""
    return dict(vars(model))


def assert_unchanged(model, before, X=None, mean=None):
    """The same attributes hold the same objects, and predictions are the same bits."""
    now = vars(model)
    assert set(now) == set(before)
    assert all(now[name] is before[name] for name in before)
    if X is not None:
        assert_array_equal(model.predict(X), mean)
