"""In which order rows are read: minibatches of training, batches of a stream. NumPy only."""

from itertools import pairwise

import numpy as np


def minibatches(n, size, seed=0):
    """Indices of rows without replacement, epoch after epoch, for ever."""
    rng = np.random.default_rng(seed)
    size = min(n, size)
    while True:
        order = rng.permutation(n)
        for lo in range(0, n - size + 1, size):
            yield order[lo : lo + size]


def stream_batches(n, first, size):
    """Slices of a stream of n rows: its first batch, and later ones."""
    edges = [0, *range(min(first, n), n, size), n]
    return [slice(lo, hi) for lo, hi in pairwise(edges)]


def scored_batches(n, first, size, every):
    """Batches, and whether there are scores after each: after every so many, and the last."""
    batches = stream_batches(n, first, size)
    last = len(batches) - 1
    return [(rows, (last - k) % every == 0) for k, rows in enumerate(batches)]
