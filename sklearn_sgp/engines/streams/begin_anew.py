"""When a stream begins anew with the rows that it keeps, and which these are.

That is with twice as many, and another way where labels come class after class, as in a sorted
table. A batch of one class says nothing of the kernel, which would stay where it starts, and q(u)
of one class alone is a poor summary once others come. So some rows of each class are kept: q(u) is
that of all of them, and with twice as many, but for the commonest class, the stream begins anew. So
it does where the last of all classes has come, which may stay rare.
"""

from dataclasses import dataclass, field, replace

import numpy as np

# Rows that are kept of all classes together: as many as `fit` begins with.
_MOST_KEPT = 1024
# So many times the weight of all classes but the commonest, and a stream of sorted labels begins
# anew. Ten classes in batches of 100, 1,000 rows, take 10, 12 and 19 CPU seconds with 2, 1.5 and
# 1.2, and have log probabilities of -.509, -.524 and -.519 (shuffled 6.5 and -.507); anew where a
# class came they took 24 and had -.520. Four classes in batches of 50 have what they had to .007.
_DOUBLED = 2.0


@dataclass(frozen=True)
class Doubling:
    """Begins anew with twice as many rows; all of them are kept.

    Parameters
    ----------
    n_begun : int
        Number of rows with which the stream last began; 0 where it is to begin otherwise.
    n_gone : int
        Number of rows that are kept no longer, of labels that came class after class.
    """

    n_begun: int = 0
    n_gone: int = 0

    in_turn = False  # class after class

    def after(self, earlier, y):
        """Return the same after a batch."""
        return self

    def begun(self, rows):
        """Return the same after the stream has begun with some rows."""
        return replace(self, n_begun=len(rows))

    def is_due(self, rows):
        """Return whether it is to begin anew."""
        return len(rows) >= 2 * self.n_begun

    def thinned(self, rows):
        """Return the same, and the rows that are kept."""
        return self, rows

    def as_kept(self, kept, rows):
        """Return the rows of a fit to those that are kept, where these stand for no others."""
        return rows


NOT_BEGUN = Doubling()


@dataclass(frozen=True)
class Turns:
    """Knows how labels have come: a batch has at most one class of before, one of the last batch.

    Parameters
    ----------
    last : ndarray
        Classes of the last batch.
    n_begun : int
        Number of rows with which the stream last began.
    weight : float
        Of them, of all classes but the commonest.
    gone : dict
        Number of rows of each class that are kept no longer; the others of it count for them.
    n_classes : int
        Of how many there may be rows.
    has_all : bool
        Whether there were rows of all of them when the stream last began.
    """

    last: np.ndarray
    n_begun: int = 0
    weight: float = 0.0
    gone: dict = field(default_factory=dict)
    n_classes: int = 0
    has_all: bool = False

    in_turn = True

    @classmethod
    def of(cls, y, classes):
        """Return that of a first batch of labels; `Doubling` where it holds all classes."""
        came = np.unique(y)
        return NOT_BEGUN if len(came) == len(classes) else cls(came, n_classes=len(classes))

    def after(self, earlier, y):
        """Return the same after a batch; `Doubling` where that is not of a sorted table."""
        came = np.unique(y)
        again = came[np.isin(came, earlier)]
        is_in_turn = len(again) <= 1 and np.isin(again, self.last).all()
        return replace(self, last=came) if is_in_turn else Doubling(self.n_begun, self.n_gone)

    def begun(self, rows):
        """Return the same after the stream has begun with some rows, whose y are labels."""
        weight = _besides_commonest(rows)
        return replace(self, n_begun=len(rows), weight=weight, has_all=self._are_all(rows))

    def is_due(self, rows):
        """Return whether it is to begin anew: of one class alone nothing is learned."""
        weight = _besides_commonest(rows)
        is_last = self._are_all(rows) and not self.has_all
        return weight > 0.0 and (is_last or weight >= _DOUBLED * self.weight)

    def _are_all(self, rows):
        return len(np.unique(rows.y)) == self.n_classes

    @property
    def n_gone(self):
        """Number of rows that are kept no longer."""
        return sum(self.gone.values())

    def thinned(self, rows):
        """Return the same, and the rows that are kept: each class evenly, as many rows of each.

        What a row counts for is how likely it stays, whenever it came: those that are kept of a
        long class are of all of it, and count alike.
        """
        of_class, weight = _weight_of_classes(rows), rows.weights[0]
        most, rng = _MOST_KEPT // len(of_class), np.random.default_rng(self.n_gone)
        picked, gone = [], dict(self.gone)
        for label, total in of_class.items():
            own = np.flatnonzero(rows.y == label)
            if len(own) > most:
                stay, counts = _evenly(weight[own], most, rng)
                own, n = own[stay], len(own)
                weight[own] = counts * (total / counts.sum())  # to the last bit
                gone[label] = gone.get(label, 0) + n - len(own)
            picked.append(own)
        picked = np.concatenate(picked)
        if len(picked) == len(rows):
            return self, rows
        return replace(self, gone=gone), replace(rows, weight=weight).select(picked)

    def as_kept(self, kept, rows):
        """Return the rows of a fit to those that are kept, where these stand for no others.

        The weights of each class are what they were in the mean, times as many rows as are kept:
        of merged rows, too, which are encoded.
        """
        if not self.gone:
            return rows
        labels, n_kept = np.unique(kept.y, return_counts=True)
        n_gone = np.array([self.gone.get(label, 0) for label in labels.tolist()])
        of_row = np.unique(rows.y, return_inverse=True)[1].ravel()  # codes are in this order
        return rows.with_weight(rows.weights[0] * (n_kept / (n_kept + n_gone))[of_row])


def _besides_commonest(rows):
    """Return the weight of all labels of some rows but the commonest."""
    weight = _weight_of_classes(rows).values()
    return sum(weight) - max(weight)


def _weight_of_classes(rows):
    """Return the total weight of each label of some rows."""
    labels, place = np.unique(rows.y, return_inverse=True)
    return dict(zip(labels.tolist(), np.bincount(place, rows.weights[0]), strict=True))


def _evenly(weight, most, rng):
    """Return which rows stay, in their order, and what they count for, unbiased.

    Those that count for more than the others of as many rows would stay as they are; each other
    one stays by a chance in proportion to its weight.
    """
    large, order = np.sort(weight)[::-1], rng.permutation(len(weight))
    rest, left = np.cumsum(large[::-1])[::-1][:most], most - np.arange(most)
    first = np.argmax(large[:most] * left <= rest)
    least = rest[first] / left[first]
    chances = np.minimum(weight[order] / least, 1.0)
    edges = np.cumsum(chances)[:-1]
    stay = np.unique(order[np.searchsorted(edges, np.arange(most) + rng.uniform(), "right")])
    return stay, np.maximum(weight[stay], least)
