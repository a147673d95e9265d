"""Whether a kernel relates rows to one another at all."""

import numpy as np

from .._sampling import fixed_index
from ..factors.passes import CHUNK

# A row is in reach of one that explains a hundredth of its variance. Of the first rows of 60 noisy
# sines in one or two columns few say little of distances: of 5 rows 25 fits ended without reach, of
# 10 rows 7, of 20 none.
_CORRELATION, _LEAST_ROWS = 0.1, 10
_PROBES = 200


def has_reach(kernel, X):
    """Return whether half of the rows are correlated with another row, as the kernel has it.

    Parameters
    ----------
    kernel : CompiledKernel
    X : array of shape (n, d)
        All rows: the nearest of a few of them would be farther away. They are read in pieces, and
        no further than is needed.
    """
    if len(X) < _LEAST_ROWS:
        return True
    probes = fixed_index(len(X), _PROBES)
    own = np.asarray(X[probes], dtype=np.float64)
    best, deviation = np.zeros(len(probes)), _deviation(kernel, own)
    for lo in range(0, len(X), CHUNK):
        others = np.asarray(X[lo : lo + CHUNK], dtype=np.float64)
        K = np.abs(kernel.block(own, others))
        here = np.flatnonzero((probes >= lo) & (probes < lo + CHUNK))
        K[here, probes[here] - lo] = 0.0
        np.maximum(
            best, (K / deviation[:, None] / _deviation(kernel, others)).max(axis=1), out=best
        )
        if np.median(best) >= _CORRELATION:
            return True
    return False


def _deviation(kernel, X):
    return np.sqrt(np.maximum(kernel.diag(X), np.finfo(np.float64).tiny))
