"""How far a category that was not seen before may be from the others: as far as their levels are.

Where each category has a level, F has the levels in any unit, as one latent number multiplies them.
The prior of F prefers a small unit, and the number is then several deviations large; a fraction of
one where learning left the unit large. New categories are predicted by the spread of the levels
themselves (docs/theory.md, section 15).
"""

from dataclasses import replace

import numpy as np

from .._sampling import fixed_index
from ..gp.functionals import of_functional
from ..kernels._compiled import BoundKernel
from ..kernels.categories._node import level_of

# So many levels say how far all scatter: to a twentieth, by 8 MB of their joint covariances.
_MOST_LEVELS = 1000


def with_variance_of_new_categories(fitted):
    """Return a fitted model whose new categories scatter as much as the known ones do.

    Nothing else changes: inducing inputs and near rows are of known categories. Where later batches
    have left inducing inputs in new ones, these keep the variance that they had. The kernel was
    learned.
    """
    posterior, parameters = fitted.posterior, fitted.parameters
    if parameters.mixes_outputs:
        return fitted
    learned = {}
    for term in posterior.prior.kernel.terms():
        level = level_of(term)
        if level is not None and _are_known(level, parameters.Z):
            learned[level.leaf.learned_variance.start] = _variance_of_new(posterior, term, level)
    if not learned:
        return fitted
    expression = parameters.expression
    expression = replace(expression, values=_changed(expression.values, learned))
    kernel = BoundKernel(expression, _changed(posterior.prior.kernel.values, learned))
    return replace(
        fitted,
        parameters=replace(parameters, expression=expression),
        predictor=fitted.predictor.with_posterior(
            posterior.seen_by(replace(posterior.prior, kernel=kernel))
        ),
    )


def _are_known(level, Z):
    return (
        len(level.covariance.factor) > 1
        and (Z[:, level.column] < len(level.covariance.factor)).all()
    )


def _variance_of_new(posterior, term, level):
    """Return the variance that a new category has alone, in units of the level's kernel.

    A draw from a normal population of which `count` levels are known has Student-t's distribution
    with count - 1 degrees of freedom, and 1 + 1 / count times their variance as squared scale. Its
    band of 90 % is that of a normal variable of (count + 1) / (count - 1) times this variance,
    within a hundredth of its probability from six levels on. Bands of new categories of 30 tables
    with 12 categories of 40 rows, levels of deviations .3 to 3.3, held .873 in the mean by
    `SVGPRegressor`, .932 by streams, .881 by near rows; with the variance of F and b .72 of others.

    The variance of the levels is the expected one under q(u): that of F and b where no row says
    anything, that of the means where all levels are known. F alone may have so large a unit that
    the number is a fraction of a deviation: of 12 tables with 12 categories of 40 rows, bands of
    FITC were 1.68 times as wide as they should be in the median and at worst 2.81, by the larger
    one of both variances, and are .93 and 1.23 times as wide; of SVGP with five inducing inputs at
    worst 5.4 and 1.36.
    """
    count = len(level.covariance.factor)
    codes = fixed_index(count, _MOST_LEVELS)
    X = np.zeros((len(codes), posterior.prior.Z.shape[1]))
    X[:, level.column] = codes
    levels, covariances = of_functional(posterior, term).mean_covariance(X)
    unsure = np.trace(covariances) - covariances.sum(axis=(0, 1)) / len(codes)
    found = levels.var(axis=0, ddof=1).mean() + unsure.mean() / (len(codes) - 1.0)
    found = max(float(found) / level.constant, np.finfo(float).eps)  # 0 stands for F and b
    return found * (1.0 + 1.0 / count) * (count + 1.0) / (count - 1.0)


def _changed(values, changed):
    values = values.copy()
    values[list(changed)] = list(changed.values())
    return values
