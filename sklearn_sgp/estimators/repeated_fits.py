"""A second fit of the same rows with `warm_start`: it goes on, or the first one stays."""

import hashlib
from dataclasses import replace

import numpy as np

from ..engines.fingerprints import fingerprint

# Parameters that say how long learning goes on, and how it is told.
_EFFORT = {"max_iter", "max_steps", "max_time", "n_iter_no_change", "n_jobs", "tol", "verbose"}
_HASHED_ROWS = 65_536


def mark_of(model, fit):
    """Return what is equal for two fits of the same rows and parameters; None where unknown.

    Parameters
    ----------
    fit : Fit
        Before its first step.
    """
    if not model.warm_start or fit.y is None:
        return None
    given = sorted(model.get_params(deep=False).items())
    parameters = [(name, fingerprint(value)) for name, value in given if name not in _EFFORT]
    parts = (fit.X, fit.y, fit.weight, fit.labels, fit.offset)
    return repr(parameters), *(None if part is None else _hash(part) for part in parts)


def _hash(array):
    """Return shape and hash of an array, which may be larger than memory."""
    hashed = hashlib.sha256()
    for lo in range(0, len(array), _HASHED_ROWS):
        part = np.asarray(array[lo : lo + _HASHED_ROWS])
        hashed.update((part.astype(str) if part.dtype == object else part).tobytes())
    return array.shape, hashed.hexdigest()


def better_of(model, fit, mark):
    """Return a fit as it ended, or with the fit before where that has learned more of these rows.

    Parameters
    ----------
    fit : Fit
        After its last step.
    mark : tuple or None
        See `mark_of`.
    """
    before, after = model._fitted, fit.fitted
    if mark is None or mark != model._mark or not fit.problem.learns:
        return fit
    is_whole = before.n_used is None and after.n_used is None
    if not is_whole or after.interrupted or before.objective <= after.objective:
        return fit
    fit.problem.trace.add(before.objective, lambda: before.parameters)
    return replace(fit, fitted=before, targets=before.targets)
