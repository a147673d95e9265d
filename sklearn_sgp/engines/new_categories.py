"""How far a category that was not seen before may be from the others: as far as their levels are.

Where each category has a level, F has the levels in any unit, as one latent number multiplies them.
The prior of F prefers a small unit, and the number is then several deviations large. New categories
are predicted by the spread of the levels themselves (docs/theory.md, section 15).
"""

from dataclasses import replace

import numpy as np

from ..gp.functionals import of_functional
from ..kernels._compiled import BoundKernel
from ..kernels.categories._node import level_of


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
    with 12 categories of 40 rows held .891 in the mean by `SVGPRegressor` (.72 with the variance of
    F and b), .888 by streams, .895 by near rows.
    """
    count = len(level.covariance.factor)
    X = np.zeros((count, posterior.prior.Z.shape[1]))
    X[:, level.column] = np.arange(count)
    levels = of_functional(posterior, term).mean(X)
    found = float(levels.var(axis=0, ddof=1).mean()) / level.constant
    prior = float(replace(level.covariance, learned_variance=0.0).specific[-1])
    return max(found, prior) * (1.0 + 1.0 / count) * (count + 1.0) / (count - 1.0)


def _changed(values, changed):
    values = values.copy()
    values[list(changed)] = list(changed.values())
    return values
