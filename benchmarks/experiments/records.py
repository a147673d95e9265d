"""What experiments read from the records that an adapter wrote."""

import numpy as np


def seconds_to(curve, nlpd):
    """Training seconds at the first point of a curve with at most this NLPD, or None."""
    return next((point["seconds"] for point in curve if point["nlpd"] <= nlpd), None)


def first_record(run, path):
    """The first record of ``run(path)``, or None."""
    return next(iter(run(path)), None)


def mean_of(records, key):
    return float(np.mean([record[key] for record in records]))
