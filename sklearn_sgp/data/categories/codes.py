"""Codes of the values in one column of categories."""

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from ...kernels.categories._covariance import LARGEST_COUNT
from ..checks import is_missing

_MIXED = "values of several kinds"
# Numbers of a column that are looked at together.
_PART = 1 << 16


@dataclass(frozen=True)
class ColumnCodes:
    """Codes of the values in one column, as the first rows have them.

    Parameters
    ----------
    label : str
        Of the column, for messages.
    kind : str
        "numbers", "strings", the name of another type, or several kinds. The latter are compared
        as strings.
    codes : dict
        From values to codes; None is the key of missing values.
    n_first : int
        How many of them the first rows have.
    """

    label: str
    kind: str
    codes: dict
    n_first: int

    @classmethod
    def fit(cls, values, label):
        """Number the values in their order; missing ones, if there are any, come last.

        Raises
        ------
        ValueError
            If a value is infinite, or if there are more of them than there may be.
        """
        distinct = _distinct_values(values, label)
        kinds = {_kind(value) for value in distinct if not is_missing(value)}
        empty = cls(label, kinds.pop() if len(kinds) == 1 else _MIXED, {}, 0)
        keys = {empty._key(value) for value in distinct}
        ordered = [*_ordered(keys - {None}), *(keys & {None})]
        if len(ordered) > LARGEST_COUNT:
            raise ValueError(
                f"A column of categories must have at most {LARGEST_COUNT} of them. Got "
                f"{len(ordered)} in {label} of X: join rare ones, or treat it as a number."
            )
        codes = {key: code for code, key in enumerate(ordered)}
        return replace(empty, codes=codes, n_first=len(codes))

    @property
    def first_keys(self):
        """The values of the first rows in the order of their codes."""
        return tuple(self.codes)[: self.n_first]

    @property
    def values(self):
        """The values so far at the places of their codes; None for missing ones, and in gaps."""
        values = np.full(max(self.codes.values(), default=-1) + 1, None, dtype=object)
        for key, code in self.codes.items():
            values[code] = key
        values.setflags(write=False)
        return values

    @property
    def are_own(self):
        """True if the first values were codes already: the numbers 0, 1, 2, ... without gaps."""
        return self.kind == "numbers" and self.first_keys == tuple(range(self.n_first))

    @property
    def numbers_of_codes(self):
        """From codes to values, None for a missing one; nothing where values are no numbers."""
        return {code: key for key, code in self.codes.items()} if are_numbers(self.codes) else {}

    def extended(self, values, are_codes=True):
        """Add codes for values that are new; return itself where none is.

        With ``are_codes`` one that can be its code is, as what was given besides may know it. Else
        new codes are the next ones: categories are counted by the largest.
        """
        keys = [self._key(value) for value in _distinct_values(values, self.label)]
        new = self._new(keys, max(self.codes.values(), default=-1) + 1, are_codes)
        return replace(self, codes={**self.codes, **new}) if new else self

    def remembering(self, values):
        """Add the codes that `transform` has for new values; return itself where none is."""
        keys = [self._key(value) for value in _distinct_values(values, self.label)]
        new = self._new(keys, self._first_unseen)
        return replace(self, codes={**self.codes, **new}) if new else self

    def transform(self, values):
        """Return codes of values, shape (n,); new values have codes that no other value has.

        Raises
        ------
        ValueError
            If a value is infinite, or of another kind than those of the first rows.
        """
        keys, places = self._keys(values)
        return np.array(self._codes_of(keys), dtype=np.float64)[places]

    def numbers(self, column):
        """Return all values of a column of numbers, sorted, and their codes, both (k,).

        The column is read in parts.
        """
        known = _distinct_numbers(column)
        codes = self._codes_of([self._key(value) for value in known.tolist()])
        return known, np.array(codes, dtype=np.float64)

    def _codes_of(self, keys):
        """Return codes of distinct values, a list."""
        codes = {**self.codes, **self._new(keys, self._first_unseen)}
        return [codes[key] for key in keys]

    @property
    def _first_unseen(self):
        """The first code of values of test rows that are new."""
        # A kernel may have been given more categories than the first rows have.
        first_free = LARGEST_COUNT if self.are_own else 0
        return max(first_free, max(self.codes.values(), default=-1) + 1)

    def _keys(self, values):
        distinct, places = _distinct(values, self.label)
        return [self._key(value) for value in distinct], places

    def _key(self, value):
        """Return the value as it is compared; None if it is missing."""
        if is_missing(value):
            return None
        kind = _kind(value)
        if kind == "numbers" and value in (np.inf, -np.inf):
            raise ValueError(
                f"Categories in {self.label} of X must be finite. Got {value}: replace it."
            )
        if self.kind == _MIXED:
            whole = kind == "numbers" and value == int(value)
            return str(int(value) if whole else value)
        if kind != self.kind:
            raise ValueError(
                f"Categories in {self.label} of X must be {self.kind}, as in the first rows. Got "
                f"{value!r}, of {kind}: convert the column, or check the order of columns."
            )
        return value

    def _new(self, keys, first_free, are_codes=True):
        """Return codes of values that have none; see `extended`."""
        new = dict.fromkeys(key for key in keys if key not in self.codes)
        taken, itself = set(self.codes.values()), {}
        if self.are_own and are_codes:
            codes = (key for key in new if key is not None and 0 <= key < LARGEST_COUNT)
            itself = {key: int(key) for key in codes if key == int(key) and key not in taken}
        first_free = max(first_free, max(itself.values(), default=-1) + 1)
        others = (key for key in new if key not in itself)
        return {**itself, **{key: first_free + k for k, key in enumerate(others)}}


def are_numbers(keys):
    """Return whether all values but missing ones, None, are floating point numbers."""
    return all(key is None or (isinstance(key, Real) and float(key) == key) for key in keys)


def in_parts(column):
    """Yield successive parts of a column, in arrays of their own."""
    return (np.array(column[lo : lo + _PART]) for lo in range(0, len(column), _PART))


def _distinct_numbers(column):
    """Return the distinct values of a column of numbers, sorted, NaN once and last."""
    distinct = np.empty(0, dtype=column.dtype)
    for part in in_parts(column):
        distinct = np.union1d(distinct, np.unique(part))
    return distinct


def _distinct_values(values, label):
    """Return the distinct values as a list."""
    if values.dtype.kind in "biuf":
        return _distinct_numbers(values).tolist()
    return _distinct(values, label)[0]


def _distinct(values, label):
    """Return the distinct values as a list, and the place of each row's value in it."""
    if values.dtype.kind in "biuf":
        distinct, places = np.unique(values, return_inverse=True)
        return distinct.tolist(), places.ravel()
    numbers = {}
    rows = list(values) if values.dtype.kind in "mM" else values.tolist()
    try:
        places = [numbers.setdefault(value, len(numbers)) for value in rows]
    except TypeError as error:
        raise ValueError(
            f"Categories in {label} of X must be hashable: strings or numbers. Got: {error}."
        ) from error
    return list(numbers), np.array(places, dtype=np.intp)


def _kind(value):
    if isinstance(value, str):
        return "strings"
    return "numbers" if isinstance(value, Real | np.bool_) else f"type {type(value).__name__}"


def _ordered(keys):
    try:
        return sorted(keys)
    except TypeError:  # types without an order
        return sorted(keys, key=str)
