"""The steps that only streams have; see `steps`."""

from dataclasses import dataclass, replace

import numpy as np

from ..engines.streams.stream import InitialRows, Stream
from .steps import ScaleObserved


@dataclass(frozen=True)
class ScalePresent:
    """Takes some steps where targets of independent outputs are all there, else another one.

    Parameters
    ----------
    steps : list of callable
    of_gaps : ScaleObserved
    """

    steps: list
    of_gaps: ScaleObserved

    def __call__(self, fit):
        if not np.isnan(np.asarray(fit.y, dtype=np.float64)).any():
            for step in self.steps:
                fit = step(fit)
            return fit
        return self.of_gaps(fit)


@dataclass(frozen=True)
class ScaleConstants:
    """Gives targets that have not varied yet, in a stream's first batch, their size as scale."""

    estimator: object

    def __call__(self, fit):
        given = isinstance(self.estimator.normalize_y, tuple) or not self.estimator.normalize_y
        if given or not fit.likelihood.scales_targets:
            return fit
        return replace(fit, targets=fit.targets.with_scale_of_constants(fit.y))


@dataclass(frozen=True)
class BeginStream:
    """Chooses the engine of a stream, which keeps its first rows while they are few."""

    engine: Stream
    initial: InitialRows

    def __call__(self, fit):
        targets, problem = fit.targets, fit.problem
        if not problem.start.parameters.mixes_outputs and has_gaps(problem.rows):
            start = problem.start.telling_outputs_apart(targets.n_outputs)
            problem = replace(problem, start=start)
        engine = replace(
            self.engine,
            n_outputs=targets.n_outputs,
            initial=self.initial,
            is_informative=targets.is_informative(fit.problem.rows),
            follows_units=_follows_units(fit),
        )
        return replace(fit, engine=engine, problem=problem)


def has_gaps(rows):
    """Return whether some outputs of some rows were not observed."""
    return rows.y.dtype.kind == "f" and bool(np.isnan(rows.y).any())


def _follows_units(fit):
    """Return whether units of a stream's targets may follow its rows: outliers must not lead."""
    is_gaussian = fit.problem.start.likelihood.conjugate and not fit.likelihood.allows_outliers
    return fit.targets.follows_rows and is_gaussian
