"""What estimators hold, as plain data: lists, tuples, dicts, numbers, words and arrays.

Saved models name their classes in words, so that whoever reads a file, as skops does, is asked to
trust the estimator alone; and only classes of this package and kernels of scikit-learn are made
of such words.
"""

import copyreg
from importlib import import_module

from scipy import stats

_OBJECT, _CLASS = "object of sklearn_sgp", "class of sklearn_sgp"
_PAIRS = "keys and values of sklearn_sgp"
_DISTRIBUTION = "frozen distribution of scipy.stats"
_KERNELS = "sklearn.gaussian_process.kernels"


def as_plain(value):
    """Return a value with plain data for objects of this package; what is one object stays one."""
    return _Writer().written(value)


def from_plain(value):
    """Return what `as_plain` was given."""
    return _Reader().read(value)


def _may_be_named(module):
    return module.split(".")[0] == "sklearn_sgp" or module == _KERNELS


def _is_distribution(value):
    """Return whether a value is one of scipy's distributions, frozen, so that its name makes it."""
    made_by = getattr(value, "dist", None)
    return isinstance(made_by, stats.rv_continuous) and type(made_by) is type(
        getattr(stats, made_by.name, None)
    )


def _distribution(name, arguments, options):
    found = getattr(stats, name, None)
    if not isinstance(found, stats.rv_continuous):
        raise ValueError(
            "A saved model must have distributions of scipy.stats. Got "
            f"{name!r}: load it with the version that wrote it, or fit again."
        )
    return found(*arguments, **options)


def _name(kind):
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(name):
    module, _, path = name.partition(":")
    if _may_be_named(module):
        found = import_module(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        if isinstance(found, type) and _name(found) == name:
            return found
    raise ValueError(
        "A saved model must be made of classes of sklearn_sgp and of scikit-learn's kernels. "
        f"Got {name!r}: load it with the version that wrote it, or fit again."
    )


class _Copier:
    """Copies containers, and those parts of them that its subclass replaces."""

    def __init__(self):
        self.met = {}  # by id: a part, which is kept so that its id is, and its copy

    def copied(self, value, copy, fill):
        """Return the copy of a part; it is known before it is filled, as parts may be cycles."""
        if id(value) not in self.met:
            self.met[id(value)] = value, copy
            fill(copy)
        return self.met[id(value)][1]

    def of(self, value, part):
        """Return a copy of a list, dict or tuple, ``part`` of each of its parts; else the value."""
        kind = type(value)
        if kind is list:
            return self.copied(value, [], lambda copy: copy.extend(map(part, value)))
        if kind is dict:
            items = ((name, part(of)) for name, of in value.items())
            return self.copied(value, {}, lambda copy: copy.update(items))
        if kind is tuple and id(value) not in self.met:
            self.met[id(value)] = value, tuple(map(part, value))
        return self.met[id(value)][1] if kind is tuple else value


class _Writer(_Copier):
    """Writes objects as lists: kind, class, arguments of ``__new__``, fields and their values.

    Dicts whose keys are not words are written as lists, too: those of skops are JSON's, and lose
    None, the key of a missing category, and the type of numbers.
    """

    def written(self, value):
        if isinstance(value, type):
            return [_CLASS, _name(value)] if _may_be_named(value.__module__) else value
        if type(value) is dict and not all(type(key) is str for key in value):
            parts = (list(value), [self.written(part) for part in value.values()])
            return self.copied(value, [_PAIRS], lambda copy: copy.extend(parts))
        if _is_distribution(value):
            parts = self.written(list(value.args)), self.written(value.kwds)
            return [_DISTRIBUTION, value.dist.name, *parts]
        if not _may_be_named(type(value).__module__):
            return self.of(value, self.written)
        make, arguments, state, *items = (*value.__reduce_ex__(2), None, None, None)[:5]
        if make is not copyreg.__newobj__ or any(item is not None for item in items):
            return value  # it is made in a way of its own

        def fill(plain):
            plain.append([self.written(part) for part in arguments[1:]])
            plain += [
                " ".join(state or ()),
                [self.written(part) for part in (state or {}).values()],
            ]

        return self.copied(value, [_OBJECT, _name(arguments[0])], fill)


class _Reader(_Copier):
    def read(self, value):
        kind = value[0] if type(value) is list and value and type(value[0]) is str else None
        if kind == _CLASS:
            return _class(value[1])
        if kind == _PAIRS:
            items = zip(value[1], map(self.read, value[2]), strict=True)
            return self.copied(value, {}, lambda copy: copy.update(items))
        if kind == _DISTRIBUTION:
            return _distribution(value[1], *map(self.read, value[2:]))
        if kind != _OBJECT:
            return self.of(value, self.read)
        _, name, arguments, fields, values = value
        kind = _class(name)

        def fill(made):
            state = dict(zip(fields.split(), map(self.read, values), strict=True))
            if state:
                getattr(made, "__setstate__", made.__dict__.update)(state)

        return self.copied(value, kind.__new__(kind, *map(self.read, arguments)), fill)
