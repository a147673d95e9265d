"""Tasks on partitions, and sums of what they return: through dask's public interface only.

Tasks run where a `distributed.Client` says if there is one, else in threads of this process.
"""

import sys
import warnings
from contextlib import contextmanager
from functools import cached_property
from uuid import uuid4

from .._parallel import single_blas_thread
from ..data.inputs import is_collection
from ..factors.passes import added
from .sealing import Sealed

# Sums of so many partitions are added by one task.
_FAN_IN = 8
# What distributed raises where workers are gone for good; by name, so that it is not imported.
_LOST = {
    "CancelledError",
    "FutureCancelledError",
    "ClosedClientError",
    "CommClosedError",
    "KilledWorker",
}
_GONE = (
    "The dask client must stay open, and its workers alive or replaced, while a collection is "
    "used. Got {}. Start a client, load the collection again and call the method again; the "
    "estimator is as before."
)


class LostCollectionError(RuntimeError):
    """The workers that hold a collection have gone while it was needed."""


class Shared:
    """Holds what all tasks of a pass get; dask sends it once and does not look into it."""

    def __init__(self, *values):
        self.values = values

    @cached_property
    def nbytes(self):
        """Bytes, by which a cluster counts what it moves."""
        import cloudpickle  # dask has it

        return len(cloudpickle.dumps(self.values))

    def __sizeof__(self):
        return self.nbytes


def each(function, parts, *shared):
    """Delay ``function(*part, *shared)`` for each partition, each part a tuple; return the tasks.

    Parameters
    ----------
    function : callable
    parts : iterable of tuple
        Delayed or in memory.
    shared : tuple
        The same for all.
    """
    from dask import delayed

    once, run = delayed(Shared(*shared), traverse=False), delayed(_run, pure=False)
    name = function.__name__.strip("_")
    return [run(function, once, *part, dask_key_name=_key(name)) for part in parts]


def _key(name):
    """Name a task, by what dashboards show of it."""
    return f"sgp_{name}-{uuid4().hex}"


def _run(function, once, *part):
    if isinstance(part[0], Sealed):
        part = (*part[0].opened(), *part[1:])
    with single_blas_thread():
        return function(*part, *once.values)


def in_one(tasks):
    """Delay the sum of what tasks return, added in a tree that is the same for any workers."""
    from dask import delayed

    add = delayed(added, pure=False)
    while len(tasks) > 1:
        groups = [tasks[lo : lo + _FAN_IN] for lo in range(0, len(tasks), _FAN_IN)]
        tasks = [
            add(*group, dask_key_name=_key("added")) if len(group) > 1 else group[0]
            for group in groups
        ]
    return tasks[0]


def computed(tasks):
    """Compute what delayed tasks return, a list.

    Raises
    ------
    LostCollectionError
        If the client was closed, or workers died again and again.
    """
    import dask

    with _naming_losses(), warnings.catch_warnings():
        # m x m matrices are part of the graph, so that they can be sent again if a worker dies
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return list(dask.compute(*tasks))


def resident(tasks):
    """Compute tasks once, and keep what they return where they ran."""
    import dask

    with _naming_losses():
        return list(dask.persist(*tasks))


@contextmanager
def _naming_losses():
    try:
        yield
    except Exception as error:
        if not _LOST.intersection(kind.__name__ for kind in type(error).__mro__):
            raise
        raise LostCollectionError(_GONE.format(f"{type(error).__name__}: {error}")) from error


def live_futures(*values):
    """List the futures of a cluster that collections rest on, or raise a LostCollectionError."""
    if "distributed" not in sys.modules:
        return []
    from distributed import futures_of

    with _naming_losses():
        futures = [f for value in values if is_collection(value) for f in futures_of(value)]
    states = {future.status for future in futures}.intersection(("cancelled", "lost"))
    if states:
        raise LostCollectionError(_GONE.format(f"a collection whose parts are {states.pop()}"))
    return futures
