"""A fit between two of its steps."""

from dataclasses import dataclass, replace
from inspect import isgenerator

import numpy as np

from ..data.targets import count_samples
from ..engines.base import Problem
from ..engines.fitted import Fitted
from ..optimize.progress import Trace


@dataclass(frozen=True)
class Fit:
    """A fit between two steps: the rows of a first batch, and what has become of them.

    Parameters
    ----------
    X : array of shape (n, d)
        A collection's rows are `Rows` already, and ``y`` and ``weight`` None.
    y : ndarray
        As it came; encoded as columns (n, t) and warped, but not scaled, when the steps have
        done that.
    labels : ndarray of shape (n,) or None
        Of blocks.
    offset : ndarray of shape (n,) or None
        What is added to the function.
    ndim : int
        Of y as it came.
    n_samples : int
        Rows of positive weight, before repeated ones were merged.
    places : ndarray of int or None
        Where these are among the merged ones; None for where they were.
    targets : Targets, ClassLabels or ClassTargets
        Encodes the targets of later batches.
    likelihood : Likelihood
        What the user asked for, for targets as they are scaled. That of the problem is Gaussian
        where row noise is learned in turn with the function.
    is_batch : bool
        Whether it is the first of several batches, each of which kernel and noise are learned from.
    plain : Fit or None
        With Gaussian noise and targets that are not warped, where it was learned first.
    with_equal_noise : object
        The problem with the same noise for all rows, before row noise, and what was learned of it.
    regressions_score : float or None
        Mean log probability of labels that regressions of them do not see, though their kernel has,
        where a choice between these and sites was told.
    """

    X: object
    y: np.ndarray | None
    weight: np.ndarray | None
    labels: np.ndarray | None
    ndim: int
    n_samples: int
    targets: object = None
    likelihood: object = None
    trace: Trace | None = None
    engine: object = None
    problem: Problem | None = None
    fitted: Fitted | None = None
    places: np.ndarray | None = None
    with_equal_noise: object = None
    offset: np.ndarray | None = None
    is_batch: bool = False
    plain: object = None
    regressions_score: float | None = None

    @property
    def has_ended(self):
        """True where Ctrl-C or a callback has ended what was learned."""
        return self.problem.trace.stopped or self.fitted.interrupted

    @property
    def is_whole(self):
        """True where it was learned to its end, and rests on all rows."""
        return self.fitted.n_used is None and not self.has_ended

    @classmethod
    def of(cls, inputs, y, weight, is_batch=False):
        """Begin with checked rows; ``inputs`` are `data.inputs.Inputs`."""
        X, labels, offset = inputs[:3]
        n_samples = count_samples(X, weight)
        return cls(X, y, weight, labels, y.ndim, n_samples, offset=offset, is_batch=is_batch)

    def after(self, steps):
        """Return what steps make of it, beside the fit that is told; raise Ctrl-C amid them.

        They ask for fits; see `estimators.asking`.
        """
        fit = self
        for step in steps:
            made = step(fit)
            fit = (yield from made) if isgenerator(made) else made
        if fit.fitted.interrupted:
            raise KeyboardInterrupt
        return fit

    def ended_by_ctrl_c(self):
        """Return what was learned, after which Ctrl-C is raised; at once where that is not all.

        The plain fit stands for one of warped targets that was not learned.
        """
        learned = self.plain if self.fitted is None and self.plain is not None else self
        if learned.fitted is None or learned.fitted.parameters.has_means:  # `MoveMeans` is to come
            raise KeyboardInterrupt
        fitted = replace(learned.fitted, interrupted=True)
        return replace(learned, fitted=fitted, trace=self.trace)

    def for_callbacks(self, X, y, form):
        """Return X and y as callbacks see them, who predict from them.

        Where columns have names, codes, labels of blocks or values that are missing they get what
        the user gave, rows of weight zero included, else checked rows.
        """
        is_plain = form.names is None and not (form.missing.columns or form.apart)
        return (self.X, self.y) if is_plain and not form.codes.are_found else (X, y)
