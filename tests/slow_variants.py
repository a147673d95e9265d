"""Parameters that take nearly the same path as others, for `pytest -m slow`."""

import re

import pytest


def slow(*values):
    """Return a parameter that is slow."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but(quick, every):
    """Return names as parameters that are slow, but for those that are ``quick``."""
    assert set(quick) <= set(every)
    return [name if name in quick else slow(name) for name in every]


def mark_slow_cases(items):
    """Mark cases of a test function as slow, by its `quick_cases` (all others) or `slow_cases`."""
    for name in ("quick_cases", "slow_cases"):
        marker = items[0].get_closest_marker(name)
        if marker is None:
            continue
        ids, found = [item.callspec.id for item in items], set()
        for pattern in marker.args:
            expression = re.escape(pattern).replace(r"\*", ".*")
            matching = {one for one in ids if re.fullmatch(expression, one)}
            assert matching, f"{items[0].nodeid} has no case {pattern!r}"
            found |= matching
        for item, one in zip(items, ids, strict=True):
            if (one in found) == (name == "slow_cases"):
                item.add_marker(pytest.mark.slow)
