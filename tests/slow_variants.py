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
    """Mark cases of a test function as slow: by its `quick_cases`, `slow_cases`, or combinations.

    Without these markers a function with several parameters has each value of each in a quick
    case; all other combinations are slow.
    """
    markers = {name: items[0].get_closest_marker(name) for name in ("quick_cases", "slow_cases")}
    for name, marker in markers.items():
        if marker is not None:
            found = _matching(items, marker.args)
            _mark(item for item in items if (item in found) == (name == "slow_cases"))
    if not any(markers.values()) and hasattr(items[0], "callspec"):
        quick = [item for item in items if item.get_closest_marker("slow") is None]
        needed = _one_case_for_each_value(quick)
        _mark(item for item in quick if item not in needed)


def _mark(items):
    for item in items:
        item.add_marker(pytest.mark.slow)


def _matching(items, patterns):
    """Return the cases that the ``patterns`` name, each of which names one."""
    found = []
    for pattern in patterns:
        expression = re.escape(pattern).replace(r"\*", ".*")
        matching = [item for item in items if re.fullmatch(expression, item.callspec.id)]
        assert matching, f"{items[0].nodeid} has no case {pattern!r}"
        found += matching
    return found


def _one_case_for_each_value(items):
    """Return few cases that have each value of each parameter, the first that add most."""
    values = [_values(item) for item in items]
    missing, chosen = set().union(*values), []
    while missing:
        most = max(range(len(items)), key=lambda case: len(values[case] & missing))
        chosen.append(items[most])
        missing -= values[most]
    return chosen


def _values(item):
    """Return the values of a case; parameters that are given together have one."""
    names = [marker.args[0] for marker in item.iter_markers("parametrize")]
    together = [
        tuple(name.strip() for name in group.split(",")) if isinstance(group, str) else tuple(group)
        for group in names
    ]
    params = item.callspec.params
    alone = set(params).difference(*together)
    return {
        (group, tuple(id(params[name]) for name in group))
        for group in [*together, *((name,) for name in sorted(alone))]
    }
