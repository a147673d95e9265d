"""The steps that only streams have; see `steps`."""

from dataclasses import dataclass, replace

import numpy as np

from ..engines.streams.units import about_learned_means
from .steps import scaled_likelihood


@dataclass(frozen=True)
class ScalePresent:
    """Takes some steps where targets of independent outputs are all there, else others."""

    steps: list
    of_gaps: list

    def __call__(self, fit):
        has_all = not np.isnan(np.asarray(fit.y, dtype=np.float64)).any()
        for step in self.steps if has_all else self.of_gaps:
            fit = step(fit)
        return fit


@dataclass(frozen=True)
class ScaleConstants:
    """Gives targets that have not varied yet, in a stream's first batch, their size as scale."""

    estimator: object

    def __call__(self, fit):
        given = isinstance(self.estimator.normalize_y, tuple) or not self.estimator.normalize_y
        if given or not fit.likelihood.scales_targets:
            return fit
        targets = fit.targets.with_scale_of_constants(fit.y)
        if np.array_equal(targets.scale, fit.targets.scale):
            return fit
        return replace(fit, targets=targets, likelihood=scaled_likelihood(fit.likelihood, targets))


def move_means(fit):
    """Move learned means of outputs to the targets."""
    fitted, targets = about_learned_means(fit.fitted, fit.targets)
    return replace(fit, fitted=fitted, targets=targets)


def tell_outputs_apart(fit):
    """Give each output an H of its own where some of them were not observed."""
    problem = fit.problem
    if problem.start.parameters.mixes_outputs or not has_gaps(problem.rows):
        return fit
    start = problem.start.telling_outputs_apart(fit.targets.n_outputs)
    return replace(fit, problem=replace(problem, start=start))


def has_gaps(rows):
    """Return whether some outputs of some rows were not observed."""
    return rows.y.dtype.kind == "f" and bool(np.isnan(rows.y).any())
