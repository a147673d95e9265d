"""Steps of fits whose noise differs from row to row, or is chosen."""

from dataclasses import dataclass, replace

from ..noise.bands import with_honest_bands
from ..noise.heteroscedastic import alternate_noise
from ..noise.left_out import with_variance_scale


@dataclass(frozen=True)
class AlternateNoise:
    """Learns function and noise of each row in turn, by coordinate ascent."""

    def __call__(self, fit):
        problem, fitted, first = alternate_noise(fit.problem, fit.likelihood, fit.engine.fit)
        return replace(fit, problem=problem, fitted=fitted, first=first)


@dataclass(frozen=True)
class ScaleVariances:
    """Scales predictive variances by a function of the input, if left-out rows ask for it.

    Where bands hold far too few of these all the same, they are widened.
    """

    def __call__(self, fit):
        if fit.problem.trace.stopped or fit.fitted.interrupted:
            return fit
        fitted = with_variance_scale(fit.problem, fit.likelihood, fit.fitted)
        return replace(fit, fitted=with_honest_bands(fit.problem, fit.likelihood, fitted))
