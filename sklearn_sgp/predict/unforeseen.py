"""Predictions where values are missing that no training row lacked."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._parallel import in_chunks
from ..data.inputs import Inputs
from ..data.varying_noise import VaryingNoise
from .base import Predictor, share_left

# Rows whose alternatives are held at a time: those of 20 columns take 10 MB.
_ROWS_AT_A_TIME = 8192
# Along an axis of outputs, beside the largest variance: what is less is rounding.
_NO_VARIANCE = 1e-10


class Alternatives(NamedTuple):
    """Values that some rows may have, equally likely.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Their places.
    inputs : Inputs
        Those of the first row, then those of the second, ...
    count : ndarray of shape (m,)
        How many each row has.
    """

    rows: np.ndarray
    inputs: Inputs
    count: np.ndarray

    def mean(self, values):
        """Return the mean of each row, (m, ...)."""
        total = np.add.reduceat(values, self._first, axis=0)
        return total / self.count.reshape(-1, *[1] * (values.ndim - 1))

    def away(self, values):
        """Return how far values (k, t) are from the means of their rows."""
        return values - np.repeat(self.mean(values), self.count, axis=0)

    def log_mean(self, log_values):
        """Return the logarithm of the mean of each row, (m, t), from logarithms."""
        total = np.logaddexp.reduceat(log_values, self._first, axis=0)
        return total - np.log(self.count)[:, None]

    def drawn(self, functions, rng):
        """Return values (m, t, n_samples) of functions, each at one of the inputs of a row.

        ``functions`` return those of all draws at some inputs: for memory's sake one of each row.
        """
        values = functions(self.inputs.X[self._first])
        chosen = rng.randint(self.count[:, None], size=(len(values), values.shape[2]))
        for k in range(1, self.count.max()):
            own = np.flatnonzero(self.count > k)
            others = functions(self.inputs.X[self._first[own] + k])
            values[own] = np.where((chosen[own] == k)[:, None], others, values[own])
        return values

    @property
    def _first(self):
        return np.cumsum(self.count) - self.count


@dataclass(frozen=True)
class Unforeseen:
    """Averages a predictor over what may stand where values of X are missing.

    Of a column that had all of its values in training no kernel knows what a row is like that lacks
    it: by a single value in its place a prediction would be as sure as where it is known.
    """

    predictor: Predictor
    missing: object

    @property
    def posterior(self):
        """q(u)."""
        return self.predictor.posterior

    @property
    def has_functions(self):
        """True if draws of functions have the right distribution."""
        return self.predictor.has_functions

    def functions(self, n_samples, rng):
        """Draw functions, which are not averaged; see `Predictor`."""
        return self.predictor.functions(n_samples, rng)

    def of_functional(self, kernel):
        """Return the predictor of a functional, averaged as well; see `Predictor`."""
        return replace(self, predictor=self.predictor.of_functional(kernel))

    def novelty(self, inputs, n_jobs=None):
        """Return the share of the prior variance that is left; see `Predictor`.

        What a row lacks leaves the variance of the means, too.
        """
        novelty = self.predictor.novelty(inputs, n_jobs).copy()
        for each in self._alternatives(inputs):
            share = self.predictor.novelty(each.inputs, n_jobs)[:, None]
            away = each.away(self.predictor.mean(each.inputs, n_jobs))
            prior = each.mean(self.posterior.prior_variance(each.inputs.X))
            share = each.mean(share)[:, 0] + share_left(each.mean(away**2), prior)
            novelty[each.rows] = np.minimum(share, 1.0)
        return novelty

    def mean(self, inputs, n_jobs=None):
        """Return means; see `Predictor`."""
        mean = self.predictor.mean(inputs, n_jobs).copy()
        for each in self._alternatives(inputs):
            mean[each.rows] = each.mean(self.predictor.mean(each.inputs, n_jobs))
        return mean

    def moments(self, inputs, n_jobs=None):
        """Return means, and variances of each function; see `Predictor`."""
        mean, variance = self.predictor.moments(inputs, n_jobs)
        mean, variance = mean.copy(), np.array(np.broadcast_to(variance, mean.shape))
        for each in self._alternatives(inputs):
            means, variances = self.predictor.moments(each.inputs, n_jobs)
            mean[each.rows] = each.mean(means)
            variance[each.rows] = each.mean(variances + each.away(means) ** 2)
        return mean, variance

    def joint(self, inputs, n_jobs=None):
        """Return means and joint covariances of each function; see `Predictor`.

        What one row lacks says nothing of others: variances alone are larger. Where one is smaller,
        its row keeps its correlations.
        """
        _, covariance = self.predictor.joint(inputs, n_jobs)
        mean, variance = self.moments(inputs, n_jobs)
        shape = (*covariance.shape[:2], mean.shape[1])
        covariance = np.array(np.broadcast_to(covariance, shape))
        rows = np.flatnonzero(inputs.unforeseen.any(axis=1))
        before = covariance[rows, rows]
        is_less = variance[rows] < before
        factor = np.ones_like(mean)
        factor[rows] = np.sqrt(
            np.divide(variance[rows], before, np.ones_like(before), where=is_less)
        )
        covariance *= factor[:, None] * factor[None]
        covariance[rows, rows] = variance[rows]
        return mean, covariance

    def across_outputs(self, inputs, n_jobs=None):
        """Return means, and covariances between the outputs of each row; see `MixedOutputs`."""
        mean, covariance = (part.copy() for part in self.predictor.across_outputs(inputs, n_jobs))
        for each in self._alternatives(inputs):
            means, covariances = self.predictor.across_outputs(each.inputs, n_jobs)
            away = each.away(means)
            mean[each.rows] = each.mean(means)
            covariance[each.rows] = each.mean(covariances + away[:, :, None] * away[:, None])
        return mean, covariance

    def full_joint(self, inputs):
        """Return means and covariances of all rows and outputs; see `joint` and `MixedOutputs`."""
        _, covariance = self.predictor.full_joint(inputs)
        mean, own = self.across_outputs(inputs)
        for row in np.flatnonzero(inputs.unforeseen.any(axis=1)):
            factor = np.sqrt(_share_within(covariance[row, row], own[row]))
            covariance[row] *= factor
            covariance[:, row] *= factor
            covariance[row, row] = own[row]
        return mean, covariance

    def drawn_at(self, functions, inputs, rng, n_jobs=None):
        """Return values (n, t, n_samples) of functions at inputs, as they vary by `moments`.

        What a row lacks is drawn anew for each function.
        """
        values = in_chunks(functions, inputs.X, n_jobs)
        for each in self._alternatives(inputs):
            values[each.rows] = each.drawn(lambda X: in_chunks(functions, X, n_jobs), rng)
        return values

    def noise(self, noise_at, inputs):
        """Return noise at inputs whose first two moments are averaged.

        On inputs X ``noise_at`` returns a `VaryingNoise`, variances of rows, (n, t), or what does
        not depend on them.
        """
        noise = noise_at(inputs.X)
        if not isinstance(noise, VaryingNoise):
            return self._known_noise(noise_at, inputs, noise) if np.ndim(noise) == 2 else noise
        log_mean, log_variance = map(np.array, noise)
        for each in self._alternatives(inputs):
            own_mean, own_variance = noise_at(each.inputs.X)
            first = each.log_mean(own_mean + 0.5 * own_variance)
            second = each.log_mean(2.0 * (own_mean + own_variance))
            spread = np.maximum(second - 2.0 * first, 0.0)
            log_mean[each.rows], log_variance[each.rows] = first - 0.5 * spread, spread
        return VaryingNoise(log_mean, log_variance)

    def _known_noise(self, noise_at, inputs, noise):
        """Return the means of variances that are known at inputs, (n, t)."""
        noise = noise.copy()
        for each in self._alternatives(inputs):
            noise[each.rows] = each.mean(noise_at(each.inputs.X))
        return noise

    def _alternatives(self, inputs):
        """Yield the `Alternatives` of some rows at a time."""
        places = np.flatnonzero(inputs.unforeseen.any(axis=1))
        for lo in range(0, len(places), _ROWS_AT_A_TIME):
            part = inputs.select(places[lo : lo + _ROWS_AT_A_TIME])
            groups = list(self.missing.alternatives(part.X, part.unforeseen))
            own = np.concatenate([rows for rows, _ in groups])
            count = np.concatenate([np.full(len(r), p.shape[1]) for r, p in groups])
            X = np.concatenate([points.reshape(-1, points.shape[2]) for _, points in groups])
            each = part.select(np.repeat(own, count))._replace(X=X, unforeseen=None)
            yield Alternatives(places[lo + own], each, count)


def _share_within(part, whole):
    """Return the largest share of a covariance, at most 1, that is part of another one.

    Both are (t, t), of the same rank.
    """
    variance, axes = np.linalg.eigh(part)
    counts = variance > _NO_VARIANCE * variance[-1]
    if not counts.any():
        return 1.0
    root = axes[:, counts] / np.sqrt(variance[counts])
    return np.clip(np.linalg.eigvalsh(root.T @ whole @ root)[0], 0.0, 1.0)


class AveragesUnforeseen:
    """Mixin of predictive models, for inputs of which some lack what no training row lacked."""

    def averaged(self, missing):
        """Return the model that averages over what may stand where values are missing."""

        def of(fitted):
            return replace(fitted, predictor=Unforeseen(fitted.predictor, missing))

        model, told_mean = of(self), self.told_mean
        return model if told_mean.is_own else replace(model, told_mean=told_mean.mapped(of))
