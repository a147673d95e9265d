"""Steps of fits whose noise differs from row to row, or is chosen."""

from dataclasses import dataclass, replace

from ..likelihoods._names import may_vary
from ..noise.before_sites import learn_before_sites
from ..noise.heteroscedastic import alternate_noise
from ..noise.honest_bands import with_honest_bands
from ..noise.left_out_errors import with_variance_scale
from .steps import Learn


@dataclass(frozen=True)
class AlternateNoise:
    """Learns function and noise of each row in turn, by coordinate ascent.

    First the function, with the same noise everywhere. What it leaves says which noise is taken, if
    that is to be chosen, and what the noise of each row is. Where it differs from row to row the
    function is learned again given it, and so on.

    Parameters
    ----------
    learn : Learn
        The step that learns the function.
    """

    learn: Learn

    def __call__(self, fit):
        fit.problem.trace.keeps_doubts = may_vary(fit.likelihood)
        learn = self.learn.of(fit)
        asking = alternate_noise(fit.problem, fit.likelihood, learn)
        problem, fitted, first = yield from asking
        return replace(fit, problem=problem, fitted=fitted, with_equal_noise=first)


@dataclass(frozen=True)
class LearnBeforeSites:
    """Learns by precisions of the rows first, which cost less, then by sites.

    Parameters
    ----------
    learn : Learn
        The step that is taken for each.
    """

    learn: Learn

    def __call__(self, fit):
        fitted = yield from learn_before_sites(fit.problem, self.learn.of(fit))
        return replace(fit, fitted=fitted)


def scale_variances(fit):
    """Scale predictive variances by a function of the input, if left-out rows ask for it.

    Where bands hold far too few of these all the same, they are widened.
    """
    if fit.has_ended:
        return fit
    fitted = yield from with_variance_scale(fit.problem, fit.likelihood, fit.fitted)
    bands = with_honest_bands(fit.problem, fit.likelihood, fitted, fit.targets)
    return replace(fit, fitted=bands)


def tell_doubt(fit):
    """Warn, once, of bands that held too few rows, or that left-out rows could not judge."""
    fit.problem.trace.tell_doubt()
    return fit
