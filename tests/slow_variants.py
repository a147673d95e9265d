"""Parameters that take nearly the same path as others, for `pytest -m slow`."""

import pytest


def slow(*values):
    """Return a parameter that is slow."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but(quick, every):
    """Return names as parameters that are slow, but for those that are ``quick``."""
    assert set(quick) <= set(every)
    return [name if name in quick else slow(name) for name in every]
