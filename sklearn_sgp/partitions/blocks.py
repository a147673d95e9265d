"""Rows in blocks: of independent rows, of a partition, or with the user's labels."""

import copy
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np


class AnyBlocks(ABC):
    """The interface of rows in blocks, which those of `sklearn_sgp.collections` have, too.

    Attributes
    ----------
    rows : AnyRows
    bounds : ndarray of int, shape (n_blocks + 1,)
        Number of rows before each block, and of all.
    block_labels : ndarray of shape (n_blocks,) or None
        Labels of the blocks where they are not numbers from 0.
    is_conditioned : bool
        True if rows are conditioned on rows of earlier blocks.
    """

    block_labels = None
    is_conditioned = False

    def __len__(self):
        return len(self.bounds) - 1

    @property
    def largest(self):
        """Most rows that are factorised together."""
        return int(np.diff(self.bounds).max())

    @abstractmethod
    def __call__(self, k):
        """Return the rows of block k, in memory."""

    def several(self, numbers):
        """Return a list of the rows of some blocks, gathered together."""
        return [self(k) for k in numbers]

    def around(self, cells):
        """Return the rows that test rows of some cells are conditioned on.

        Parameters
        ----------
        cells : list of int
            Numbers of blocks, -1 for none.

        Returns
        -------
        rows : Rows
        places : list of ndarray of int
            Positions of the rows of each cell among them.
        """
        raise NotImplementedError("Blocks of independent rows have none that others need.")


class Blocks(AnyBlocks):
    """Rows in blocks: an order of the rows, and where each block begins in it.

    Parameters
    ----------
    labels : ndarray of int, shape (n,)
        From 0, none left out.
    """

    def __init__(self, rows, labels):
        self.rows, self.sorted = rows, False
        self.order = np.argsort(labels, kind="stable")
        self.bounds = np.concatenate([[0], np.cumsum(np.bincount(labels))])

    def __call__(self, k):
        return self.run(k, k + 1)

    def run(self, first, last):
        """Return the rows of successive blocks, ``last`` excluded."""
        own = slice(self.bounds[first], self.bounds[last])
        return self.rows.select(own if self.sorted else self.order[own])

    def members(self, k):
        """Return the positions of the rows of block k."""
        place = np.arange(self.bounds[k], self.bounds[k + 1])
        return place if self.sorted else self.order[place]

    def near(self, cells):
        """Return the positions of the rows that test rows of each of some cells are given."""
        return [np.empty(0, dtype=np.intp) if k < 0 else self.members(k) for k in cells]

    def around(self, cells):
        own = self.near(cells)
        ends = np.cumsum([len(part) for part in own])
        return self.rows.select(np.concatenate(own)), np.split(np.arange(ends[-1]), ends[:-1])

    @property
    def labels(self):
        """Block of each row, in the order of the rows as they are held."""
        labels = np.repeat(np.arange(len(self)), np.diff(self.bounds))
        if self.sorted:
            return labels
        unsorted = np.empty_like(labels)
        unsorted[self.order] = labels
        return unsorted

    def owned(self):
        """Copy the rows, without labels, block after block."""
        copied = copy.copy(self)
        copied.rows, copied.sorted = replace(self.rows.select(self.order), labels=None), True
        return copied

    def weighted_as(self, rows):
        """Take weights and targets of other ``rows``: the same, as they came to be put in.

        Nothing else is copied.
        """
        changed, order = copy.copy(self), self.order if self.sorted else slice(None)
        weight, counts = (
            None if part is None else part[order] for part in (rows.weight, rows.counts)
        )
        changed.rows = replace(self.rows, y=rows.y[order], weight=weight, counts=counts)
        return changed

    def drawn(self, size, rng):
        """Draw some blocks, about so many rows; return their places as they came to be put in."""
        chosen = rng.permutation(len(self))
        count = np.searchsorted(np.cumsum(np.diff(self.bounds)[chosen]), size) + 1
        parts = [self.order[self.bounds[k] : self.bounds[k + 1]] for k in chosen[:count]]
        return np.concatenate(parts)

    def extended(self, rows, labels):
        """Add rows; labels beyond the last block begin new ones.

        Parameters
        ----------
        rows : Rows
            Targets scaled as before.
        labels : ndarray of int, shape (n,)
        """
        return Blocks(self.rows.joined(rows), np.concatenate([self.labels, labels]))
