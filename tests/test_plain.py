"""Objects of the package as plain data, and back."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import lognorm
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sklearn_sgp._plain import as_plain, from_plain
from sklearn_sgp.factors.cells import FactorCache
from sklearn_sgp.kernels import Columns
from sklearn_sgp.predict.near_rows import LocalConditional, _OwnMoments


def parts(value):
    """All parts of plain data."""
    yield value
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from parts(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from parts(part)


@dataclass
class Foreign:
    """A class that is not of the package."""

    part: object = None


def test_kernels_come_back():
    """A kernel is written without a class in it, and read as it was."""
    kernel = Columns(RBF([1.0, 2.0]), ["a", "b"]) * 2.0 + WhiteKernel()
    plain = as_plain({"kernel": kernel, "numbers": (1, np.arange(3.0), None)})
    assert {type(part) for part in parts(plain)} <= {
        dict, list, tuple, str, int, float, type(None), np.ndarray, np.float64,
    }  # fmt: skip
    back = from_plain(plain)
    assert back["kernel"] == kernel and back["kernel"].get_params() == kernel.get_params()
    assert_array_equal(back["numbers"][1], np.arange(3.0))


def test_frozen_distributions_come_back():
    """They are written by name and arguments; no other name makes anything."""
    plain = as_plain({"x": lognorm(0.5, scale=np.array([1.0, 2.0]))})
    assert {type(part) for part in parts(plain)} <= {dict, list, str, float, np.ndarray}
    assert_array_equal(from_plain(plain)["x"].ppf(0.3), lognorm(0.5, scale=[1.0, 2.0]).ppf(0.3))
    plain["x"][1] = "__name__"
    with pytest.raises(ValueError, match="distributions of scipy"):
        from_plain(plain)


def test_what_is_one_stays_one():
    """Parts that are met twice are one object again, and cycles end."""
    kernel, array = RBF(), np.ones(2)
    values = [kernel, array, kernel, (array,)]
    values.append(values)
    back = from_plain(as_plain(values))
    assert back[0] is back[2] and back[0] is not kernel
    assert back[1] is back[3][0] is array
    assert back[4] is back


def test_objects_of_others_are_left_alone():
    """A class that is not of the package is kept as it is, in a part of it too."""
    foreign = Foreign(RBF())
    assert as_plain([foreign])[0] is foreign
    assert from_plain(as_plain([foreign]))[0] is foreign
    assert as_plain(Foreign) is Foreign


def test_classes_and_states_of_their_own():
    """A class is named, and objects begin with what they leave out of files."""
    cache = FactorCache(77)
    cache.held["row"] = 1
    kind, read, moments = from_plain(as_plain([LocalConditional, cache, _OwnMoments()]))
    assert kind is LocalConditional and moments.X is None
    assert read.max_bytes == 77 and not read.held and read.lock is not cache.lock


@pytest.mark.parametrize("name", ["os:system", "sklearn_sgp.metrics:np.ndarray", "sklearn_sgp:no"])
def test_no_other_class_is_made(name):
    """Names of what is no class of the package are refused, with the name."""
    with pytest.raises(ValueError, match=f"must be made of classes of sklearn_sgp.*{name}"):
        from_plain(["object of sklearn_sgp", name, [], "", []])


def test_the_value_itself_is_not_changed():
    """Writing and reading leave what they are given as it was."""
    values = {"kernel": RBF(), "list": [1, {"b": RBF(2.0)}]}
    before = copy.deepcopy(values)
    plain = as_plain(values)
    written = copy.deepcopy(plain)
    from_plain(plain)
    assert values == before and plain == written
