"""What experiments make of the records that an adapter wrote: values, and their standard errors."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

_CLASS_SCORES = ("error", "nlpd", "ece", "seconds")


@dataclass(frozen=True)
class Estimate:
    """A mean, or a difference, of scores.

    Parameters
    ----------
    value : float
    se : float or None
        Standard error; None where one split is all there is.
    n : int
        Number of splits, or of test rows.
    of : str
        "splits" or "rows".
    """

    value: float
    se: float | None
    n: int
    of: str

    def scaled(self, factor):
        se = None if self.se is None else abs(factor) * self.se
        return Estimate(factor * self.value, se, self.n, self.of)


class Found:
    """What an experiment returns, while it is made."""

    def __init__(self, **values):
        self.values, self.errors, self.peers = dict(values), {}, defaultdict(dict)

    def add(self, key, estimate):
        """A value with its standard error."""
        self.values[key] = estimate.value
        self.errors[key] = {"se": estimate.se, "n": estimate.n, "of": estimate.of}

    def add_class_scores(self, prefix, ours, theirs):
        """Scores of a table of classes, and those of rivals that have them: records by rival."""
        for key in _CLASS_SCORES:
            if key in ("error", "nlpd"):
                self.add(f"{prefix}_{key}", mean_or_level(ours, key))
            else:
                self.values[f"{prefix}_{key}"] = mean_of(ours, key)
            for rival, records in theirs.items():
                if records and key in records[0]:
                    self.peers[f"{prefix}_{key}"][rival] = mean_of(records, key)

    def result(self, **more):
        peers = {key: found for key, found in self.peers.items() if found}
        return {"values": self.values, "errors": self.errors, "peers": peers, **more}


def _standard_error(numbers):
    return float(np.std(numbers, ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else None


def over_splits(numbers, of="splits"):
    """Mean of one number for each split, or seed."""
    return Estimate(float(np.mean(numbers)), _standard_error(numbers), len(numbers), of)


def gain_over_splits(theirs, ours, key):
    """Theirs minus ours of a score that is better if lower, over the splits that both have."""
    pairs = zip(theirs, ours, strict=False)  # a rival that was cut off has fewer
    return over_splits([rival[key] - record[key] for rival, record in pairs])


def over_rows(record, key):
    """A score of one split; its standard error is over the test rows."""
    return Estimate(record[key], _standard_error(_terms(record, key)), _rows(record), "rows")


def gain_over_rows(theirs, ours, key):
    """Theirs minus ours of a score that is better if lower, paired over the same test rows."""
    terms = _terms(theirs, key) - _terms(ours, key)
    return Estimate(theirs[key] - ours[key], _standard_error(terms), _rows(ours), "rows")


def gain(theirs, ours, key):
    """The same for lists of records: over splits, or over the rows of the only one."""
    if min(len(theirs), len(ours)) > 1:
        return gain_over_splits(theirs, ours, key)
    return gain_over_rows(theirs[0], ours[0], key)


def mean_or_level(records, key):
    """A score: its mean over splits, or its only one."""
    if len(records) > 1:
        return over_splits([record[key] for record in records])
    return over_rows(records[0], key)


def _rows(record):
    return record["groups"]["rows"]


def _terms(record, key):
    """Numbers, one for each group of test rows, whose mean moves as the score does."""
    if key == "rmse":
        return np.array(record["groups"]["squared"]) / (2.0 * record["rmse"])
    return np.array(record["groups"][key])


def seconds_to(curve, nlpd):
    """Training seconds at the first point of a curve with at most this NLPD, or None."""
    return next((point["seconds"] for point in curve if point["nlpd"] <= nlpd), None)


def times_faster(theirs, ours):
    """Ratio of seconds; None where ours never gets there."""
    return None if ours is None or theirs is None else theirs / ours


def mean_of(records, key):
    return float(np.mean([record[key] for record in records]))


def without_groups(found):
    """The same without the groups that standard errors were made of: they fill the file."""
    if isinstance(found, dict):
        return {key: without_groups(value) for key, value in found.items() if key != "groups"}
    return [without_groups(value) for value in found] if isinstance(found, list) else found
