"""The steps of targets of which some were not observed; see `steps`."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.checks import check_first_scaled
from ..data.observed_outputs import check_observed
from ..data.rows import merge_observed
from ..data.targets import Targets, observed_columns
from ..data.winsorize import winsorized_observed
from .mixed_outputs import mixes_outputs
from .offsets import beside_offset
from .settings import choices_of
from .steps import scaled_likelihood

# Targets further from the median, in median absolute deviations, count as so far where the centre
# and scale of targets with outliers are found. It is less than that of one output, as weights of
# functions begin at what is usual of the scaled targets: with 5 % of an output's targets 140 such
# deviations off, the RMSE of its function was six of its standard deviations with 100, and is 0.14.
_FURTHEST_MIXED = 4.0


def merge_observed_rows(fit):
    """Replace rows that are equal, and have no NaN at other places, by one of their weight."""
    rows = merge_observed(fit.X, observed_columns(fit.y), fit.weight, fit.offset)
    X, y, weight, offset, places = rows
    never = np.flatnonzero(np.isnan(y).all(axis=0))
    if len(never):  # of the first batch of a stream
        raise ValueError(
            "Each output must be observed in the first batch, which decides the scale of the "
            f"targets. Got only NaN in column {never.tolist()} of y in its {len(X)} rows: make "
            "it larger (init_size of fit), or begin with rows that have this output."
        )
    return replace(fit, X=X, y=y, weight=weight, offset=offset, places=places)


@dataclass(frozen=True)
class ScaleObserved:
    """Centres and scales targets of which some are NaN, with Gaussian noise."""

    estimator: object
    likelihood: object

    def __call__(self, fit):
        y, normalize_y = fit.y, self.estimator.normalize_y
        before = _earlier(self.estimator) if np.isnan(y).any() else None
        targets = Targets.fit_observed(y, fit.weight, normalize_y, fit.ndim)
        targets = _with_resolution(_moved_as(targets, before), y)
        return replace(fit, targets=targets, likelihood=self.likelihood)


@dataclass(frozen=True)
class ScaleObservedOfSites:
    """Does the same for outputs that mix latent functions under another likelihood."""

    estimator: object
    likelihood: object

    def __call__(self, fit):
        y, before = fit.y, _earlier(self.estimator)
        likelihood = _with_means_of(self._initialised(fit), before)
        is_scaled = likelihood.scales_targets
        normalize_y = self.estimator.normalize_y if is_scaled else False
        near = winsorized_observed(y, _FURTHEST_MIXED) if likelihood.allows_outliers else y
        targets = Targets.fit_observed(near, fit.weight, normalize_y, fit.ndim)
        targets = _moved_as(targets, before)
        if is_scaled:
            targets = _with_resolution(targets, y)
            likelihood = scaled_likelihood(likelihood, targets)
        return replace(fit, targets=targets, likelihood=likelihood)

    def _initialised(self, fit):
        """Return the likelihood with what it takes from the targets that were observed."""
        given, y = self.likelihood, fit.y
        check_observed(given, y)
        likelihood = given.initialized(y, fit.weight)
        if fit.offset is None:
            return likelihood
        return beside_offset(likelihood, given, fit.offset, fit.weight, ~np.isnan(y))


def scale_observed(estimator, likelihood):
    """List the steps of targets of which some may be NaN."""
    by_sites = mixes_outputs(estimator) and not likelihood.conjugate
    scale = ScaleObservedOfSites if by_sites else ScaleObserved
    return [merge_observed_rows, scale(estimator, likelihood)]


def _earlier(estimator):
    """Return the fit whose learned means of the outputs are the first ones here, or None."""
    goes_on = choices_of(estimator).learns_means and estimator.warm_start
    return estimator._fitted if goes_on else None


def _moved_as(targets, before):
    return targets if before is None else targets.with_means_of(before.targets)


def _with_resolution(targets, y):
    check_first_scaled(targets, y)
    return targets.with_resolution(y)


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
