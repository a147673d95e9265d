"""Whether a later batch is what a fitted regressor expects."""

from dataclasses import dataclass

import numpy as np

from .._warnings import warn_caller

_ROWS = 50
_LEAST_ROWS = 8
# Predicted standard deviations. Of right models at most one row in 16 is so far from its mean, by
# Chebyshev's inequality, and half of the rows must be: none of 137 courses of 19 tables whose bands
# of 90 % held 80 % of new rows or more had such a batch, 38 % of those with less than 60 % had one.
_FAR = 4.0


@dataclass(frozen=True)
class _Look:
    """From how many rows on a batch is looked at; targets that were, and those far, (t,)."""

    due: int = 0
    seen: np.ndarray | int = 0
    far: np.ndarray | int = 0


class Surprises:
    """A mixin of regressors whose first batch decides kernel, noise or the scale of targets."""

    _look = _Look()  # None where kernel and noise were given

    def _learn(self, *args, **kwargs):
        super()._learn(*args, **kwargs)
        self._look = _Look() if self._result.start.learns(self.optimizer) else None

    def _warn_if_surprising(self, rows):
        """Warn where rows that are to be added lie far outside of their predictions.

        The first later batch is looked at, and others as often as the number of rows doubles: first
        batches mislead early, and predictions cost time. Batches of few rows are looked at
        together.

        Parameters
        ----------
        rows : Rows
            Of a later batch, before the model learns from it.
        """
        look, n_rows = self._look, self.n_samples_seen_ + len(rows)
        if look is None or n_rows < look.due or not len(rows):
            return
        is_far, is_seen = self._far(rows.random_subset(_ROWS, np.random.RandomState(0)))
        seen, far = look.seen + is_seen.sum(axis=0), look.far + is_far.sum(axis=0)
        if seen.max() < _LEAST_ROWS:
            self._look = _Look(look.due, seen, far)
            return
        self._look = _Look(due=2 * n_rows)
        if (far > seen / 2).any():
            warn_caller(
                f"Most of {np.max(seen)} new rows lie more than 4 predicted standard deviations "
                "from their predictions. Kernel, noise and the scale of y come from the first "
                "batch, which should be large and mixed: call fit on more rows, or begin again "
                "with a batch of such rows. If the function changes with time, take "
                "StreamingSGPRegressor."
            )

    def _far(self, rows):
        """Masks of the targets far from their predictions, and of those that are observed."""
        blocks = self._numbers_of_blocks(rows.X, rows.labels)
        mean, std = self._mean_std(rows.X, blocks, include_noise=True)
        y = self._targets.in_units(rows.targets)
        mean, std = mean.reshape(y.shape), std.reshape(y.shape)
        return (np.abs(y - mean) > _FAR * std) & (std > 0.0), ~np.isnan(y)
