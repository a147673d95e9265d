"""The quick suite has each value of each parameter of a test; other combinations are slow."""

from itertools import product
from types import SimpleNamespace

import pytest
from slow_variants import mark_slow_cases


class Case:
    """One case of a test function: as much of pytest's item as marks ask for."""

    def __init__(self, *markers, **params):
        self.markers = list(markers)
        self.nodeid = "test_it"
        self.callspec = SimpleNamespace(params=params, id="-".join(map(str, params.values())))

    def iter_markers(self, name):
        return [one.mark for one in self.markers if one.name == name]

    def get_closest_marker(self, name):
        return next(iter(self.iter_markers(name)), None)

    def add_marker(self, marker):
        self.markers.append(marker)


def quick(cases):
    """Return the ids of the cases that stay in the quick suite."""
    mark_slow_cases(cases)
    return [case.callspec.id for case in cases if case.get_closest_marker("slow") is None]


def combinations(*markers):
    by_name = [pytest.mark.parametrize(name, ()) for name in ("letter", "number, sign")]
    return [
        Case(*markers, *by_name, letter=letter, number=number, sign="+-"[number % 2])
        for letter, number in product("abc", range(4))
    ]


def test_each_value_stays_and_no_other_combination():
    """Three letters and four pairs: four cases have them all, each pair with its own sign."""
    assert quick(combinations()) == ["a-0-+", "a-3--", "b-1--", "c-2-+"]


def test_cases_of_one_parameter_all_stay():
    cases = [Case(pytest.mark.parametrize("letter", ()), letter=one) for one in "abcd"]
    assert quick(cases) == list("abcd")


def test_what_is_named_decides_alone():
    assert quick(combinations(pytest.mark.quick_cases("b-*"))) == [
        f"b-{n}-{'+-'[n % 2]}" for n in range(4)
    ]
    assert len(quick(combinations(pytest.mark.slow_cases("b-*", "a-0-+")))) == 7


def test_a_case_that_is_slow_stands_for_no_value():
    cases = combinations()
    for case in cases[:4]:
        case.add_marker(pytest.mark.slow)
    left = quick(cases)
    assert len(left) == 4
    assert {one[0] for one in left} == {"b", "c"}
    assert {one[2:] for one in left} == {"0-+", "1--", "2-+", "3--"}


def test_names_of_no_case_are_told():
    with pytest.raises(AssertionError, match="test_it has no case 'd-"):
        quick(combinations(pytest.mark.quick_cases("d-*")))
