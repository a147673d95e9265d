"""Seconds of a pass over rows, shared by the rows that are still to come."""

import time

import numpy as np
from joblib import effective_n_jobs

from .._parallel import N_GROUPS


class Pace:
    """Shares the time of a pass among its rows, so that the last ones have time too.

    Workers in other processes have copies, each of which thinks that all rows are its own.
    ``seconds`` are those of the whole pass; infinite for no limit.
    """

    def __init__(self, seconds, n_rows, n_jobs=None):
        self.end, self.rows_left = time.perf_counter() + seconds, n_rows
        self.workers = min(effective_n_jobs(n_jobs), N_GROUPS)

    def deadline(self, n):
        """Return when so many rows, which begin now, must be done, by `time.perf_counter`."""
        if np.isinf(self.end):
            return np.inf
        now = time.perf_counter()
        share = min(1.0, self.workers * n / max(self.rows_left, 1))
        self.rows_left -= n
        return now + share * max(self.end - now, 0.0)
