"""Whether later batches are what a fitted regressor expects."""

from dataclasses import dataclass, replace

import numpy as np

from .._warnings import warn_caller
from ..engines.few_rows import ROWS_TO_LEARN, is_held

_DRIFT_ROWS = 50
_LEAST_CHECKED_ROWS = 8
# Predicted standard deviations. Of right models at most one row in 16 is so far from its mean, by
# Chebyshev's inequality, and half of the rows must be: none of 137 courses of 19 tables whose bands
# of 90 % held 80 % of new rows or more had such a batch, 38 % of those with less than 60 % had one.
_FAR_DEVIATIONS = 4.0


@dataclass(frozen=True)
class DriftCheck:
    """When to check next; targets checked and targets far off so far.

    The first later batch is checked, and others as often as the number of rows doubles: first
    batches mislead early, and predictions cost time. Batches of few rows are checked together.

    Parameters
    ----------
    due : int
        Number of rows from which on a batch is checked.
    seen, far : ndarray of shape (t,) or 0
    is_held : bool
        Whether the first batch was so small that kernel and noise were not learned.
    """

    due: int = 0
    seen: np.ndarray | int = 0
    far: np.ndarray | int = 0
    is_held: bool = False

    @classmethod
    def of(cls, estimator):
        """Begin after a first batch; None where kernel and noise were given."""
        start = estimator._fitted.start
        held = estimator.optimizer is not None and is_held(start)
        if held and start.earlier is None:  # else a fit before has learned them
            return cls(due=_LEAST_CHECKED_ROWS, is_held=True)
        return cls() if held or start.learns(estimator.optimizer) else None

    def after(self, rows, n_rows, observations):
        """Warn if most of the rows lie far outside of their predictions; return the next check.

        The rows are those of a later batch, before the model learns from it; ``n_rows`` counts
        those before, too.
        """
        if n_rows < self.due or not len(rows):
            return self
        if self.is_held:
            warn_caller(
                f"The first batch had fewer than {ROWS_TO_LEARN} rows, from which kernel and noise "
                "are not learned, nor do later batches learn them: deviations stay as wide as "
                "those of few rows. Call fit on all rows, or take StreamingSGPRegressor."
            )
            return DriftCheck(due=2 * n_rows)
        rows = rows.certain()  # what is left open of others is no drift
        if not len(rows):
            return self
        sample = rows.fixed_subset(_DRIFT_ROWS)
        is_far, is_seen = _far(sample, observations)
        seen, far = self.seen + is_seen.sum(axis=0), self.far + is_far.sum(axis=0)
        if seen.max() < _LEAST_CHECKED_ROWS:
            return replace(self, seen=seen, far=far)
        if (far > seen / 2).any():
            warn_caller(
                f"Most of {np.max(seen)} new rows lie more than 4 predicted standard deviations "
                "from their predictions. Kernel, noise and the scale of y come from the first "
                "batch, which should be large and mixed: call fit on more rows, or begin again "
                "with a batch of such rows. If the function changes with time, take "
                "StreamingSGPRegressor."
            )
        return DriftCheck(due=2 * n_rows)


def _far(rows, observations):
    """Return masks of the targets far from their predictions, and of those that are observed."""
    mean, std = observations.mean_std(rows)
    y = observations.targets.in_units(rows.targets)
    mean, std, likelihood = mean.reshape(y.shape), std.reshape(y.shape), observations.likelihood
    is_seen = ~np.isnan(y)
    if hasattr(likelihood, "are_numbers"):  # others may lie as far beyond a limit as predicted
        is_seen &= likelihood.are_numbers(rows.targets)
    return is_seen & (np.abs(y - mean) > _FAR_DEVIATIONS * std) & (std > 0.0), is_seen
