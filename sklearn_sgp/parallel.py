"""A map over groups of rows whose sums do not depend on how many workers there are."""

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from .linalg import blas_threads

# Accumulators of a map: fixed, so that the order of summation is too.
N_GROUPS = 8


def group_bounds(n_rows, chunk):
    """Contiguous groups of rows, at most N_GROUPS, each a whole number of chunks but the last.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    chunk : int
        Rows that are worked on together.

    Returns
    -------
    bounds : list of (int, int)
        First and last-plus-one row of each group.
    """
    n_chunks = -(-n_rows // chunk)
    per_group = -(-n_chunks // N_GROUPS) * chunk
    return [(lo, min(n_rows, lo + per_group)) for lo in range(0, n_rows, per_group)]


def map_groups(function, argument_lists, n_jobs=None):
    """List of ``function(*arguments)``, in order.

    Threads by default (the work runs without the GIL); a backend chosen with
    ``joblib.parallel_config`` overrides that. With more than one worker, BLAS runs on one thread in
    each; with one, BLAS keeps its own threads.
    """
    if effective_n_jobs(n_jobs) == 1 or len(argument_lists) == 1:
        return [function(*arguments) for arguments in argument_lists]
    with blas_threads(1):
        return Parallel(n_jobs=n_jobs, prefer="threads", batch_size=1)(
            delayed(function)(*arguments) for arguments in argument_lists
        )
