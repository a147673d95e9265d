"""The steps of targets of which some were not observed; see `steps`."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.checks import check_first_scaled
from ..data.observed_outputs import check_observed
from ..data.rows import merge_observed
from ..data.targets import Targets, observed_columns
from ..data.winsorize import winsorized_observed
from .chosen import choices_of
from .offsets import beside_offset
from .steps import scaled_likelihood

# Targets further from the median, in median absolute deviations, count as so far where the centre
# and scale of targets with outliers are found. It is less than that of one output, as weights of
# functions begin at what is usual of the scaled targets: with 5 % of an output's targets 140 such
# deviations off, the RMSE of its function was six of its standard deviations with 100, and is 0.14.
_FURTHEST_MIXED = 4.0


@dataclass(frozen=True)
class ScaleObserved:
    """Centres and scales targets of which some are NaN, for outputs that mix latent functions."""

    estimator: object
    likelihood: object

    def __call__(self, fit):
        estimator = self.estimator
        rows = merge_observed(fit.X, observed_columns(fit.y), fit.weight, fit.offset)
        X, columns, weight, offset, places = rows
        never = np.flatnonzero(np.isnan(columns).all(axis=0))
        if len(never):  # of the first batch of a stream
            raise ValueError(
                "Each output must be observed in the first batch, which decides the scale of the "
                f"targets. Got only NaN in column {never.tolist()} of y in its {len(X)} rows: make "
                "it larger (init_size of fit), or begin with rows that have this output."
            )
        likelihood, normalize_y, near = self.likelihood, estimator.normalize_y, columns
        choices = choices_of(estimator)
        by_sites, before = choices.mixes_outputs and not likelihood.conjugate, None
        if choices.learns_means and estimator.warm_start and (by_sites or np.isnan(columns).any()):
            before = estimator._fitted
        if by_sites:
            likelihood = self._initialised(columns, weight, offset)
            likelihood = _with_means_of(likelihood, before)
            normalize_y = normalize_y if likelihood.scales_targets else False
            if likelihood.allows_outliers:
                near = winsorized_observed(columns, _FURTHEST_MIXED)
        targets = Targets.fit_observed(near, weight, normalize_y, fit.ndim)
        if before is not None:
            targets = targets.with_means_of(before.targets)
        if likelihood.scales_targets or not by_sites:
            check_first_scaled(targets, columns)
            targets = targets.with_resolution(columns)
        if by_sites and likelihood.scales_targets:
            likelihood = scaled_likelihood(likelihood, targets)
        fit = replace(fit, targets=targets, likelihood=likelihood, offset=offset)
        return replace(fit, X=X, y=columns, weight=weight, places=places)

    def _initialised(self, y, weight, offset):
        """Return the likelihood with what it takes from the targets that were observed."""
        given = self.likelihood
        check_observed(given, y)
        likelihood = given.initialized(y, weight)
        if offset is None:
            return likelihood
        return beside_offset(likelihood, given, offset, weight, ~np.isnan(y))


def _with_means_of(likelihood, before):
    """Return the likelihood with the offset that an earlier fit of as many outputs has learned."""
    if before is None or likelihood.scales_targets:
        return likelihood
    earlier, offset = before.start.likelihood, likelihood.offset
    if type(earlier) is not type(likelihood) or np.shape(earlier.offset) != np.shape(offset):
        return likelihood
    return likelihood.moved(earlier.offset - offset)


@dataclass(frozen=True)
class MoveMeans:
    """Moves learned means of outputs from the parameters to the targets."""

    def __call__(self, fit):
        if not fit.fitted.parameters.has_means:
            return fit
        means, fitted = fit.fitted.parameters.means, fit.fitted.without("means")
        likelihood, targets = fitted.start.likelihood, fit.targets
        if likelihood.scales_targets:
            targets = targets.moved(means)
            likelihood = scaled_likelihood(likelihood, targets)
        else:
            likelihood = likelihood.moved(means)
        fitted = replace(fitted, start=replace(fitted.start, likelihood=likelihood))
        return replace(fit, fitted=fitted, targets=targets)
