"""Partitions that one task reads and works on, so that rows never travel between workers.

A scheduler places the tasks that read X and y as it likes, and then one of the two has to move.
Where a partition needs nothing that others need, what reads it goes into the task that wants it.
"""

import pickle
from collections import Counter

import numpy as np

from ..data.inputs import is_collection

# What several partitions read from, such as a name of a file, may be sent to each of them.
_LARGEST_SHARED = 65536


class Sealed:
    """Reads one partition by a graph of dask that its scheduler does not look into.

    The graph holds once what is read for X and for y, too. Each of the values is a `_Key` of it, or
    what is in memory.
    """

    def __init__(self, graph, values):
        self.graph, self.values = graph, values

    def opened(self):
        """Read the parts of the partition in this thread."""
        import dask

        keys = [value.key for value in self.values if isinstance(value, _Key)]
        read = iter(dask.get(self.graph, keys))
        return tuple(next(read) if isinstance(value, _Key) else value for value in self.values)


class _Key:
    """Stands for a delayed value."""

    def __init__(self, key):
        self.key = key


def sealed(partitions):
    """Seal partitions where each can be read alone; else return them as they are.

    Returns
    -------
    parts : tuple of tuple
        Arguments of a task for each partition.
    """
    parts, whole = partitions.parts, {}
    if partitions.held:
        return parts
    each = [_sealed(part, whole) for part in parts]
    users = Counter(key for one in each for key in one.graph)
    shared = {key for key, count in users.items() if count > 1}
    nodes = {key: one.graph[key] for one in each for key in shared.intersection(one.graph)}
    if not all(map(_is_small, nodes.values())):
        return parts
    return tuple((one,) for one in each)


def _sealed(part, whole):
    """Seal one partition, with what it needs of whole graphs, which are kept by their identity."""
    from dask.optimization import cull

    graph, values = {}, []
    for value in part:
        if not is_collection(value):
            values.append(value)
            continue
        if id(value.dask) not in whole:
            whole[id(value.dask)] = value.dask, dict(value.dask)
        needed, _ = cull(whole[id(value.dask)][1], [value.key])
        graph |= needed
        values.append(_Key(value.key))
    return Sealed(graph, tuple(values))


def _is_small(node):
    """Return whether what several partitions need is a little data, and no work."""
    if getattr(node, "dependencies", None) or type(node).__name__ != "DataNode":
        return False
    value = getattr(node, "value", node)
    if isinstance(value, np.ndarray):
        return value.nbytes <= _LARGEST_SHARED
    try:
        return len(pickle.dumps(value)) <= _LARGEST_SHARED
    except Exception:  # whatever a user's object raises: it cannot travel
        return False
