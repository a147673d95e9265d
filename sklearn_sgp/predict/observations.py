"""What fitted regressors predict of observations, in units of y."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._parallel import in_chunks
from ..data.checks import check_array, check_consistent_length
from ..data.observed_outputs import log_predictive_density
from ..data.readable_targets import readable_targets
from .base import Predictor
from .between_outputs import joint_root, log_normal, of_observations
from .distribution import PredictiveDistribution
from .explanations import slopes, terms
from .multi_output import MixedOutputs
from .rounded import log_rounded_density
from .same_cells import told_moments
from .unforeseen import AveragesUnforeseen, Unforeseen

# Numbers in the covariances between outputs that are held at a time.
_MOST_COVARIANCES = 1 << 21

# ---- The mean that is told: a mean under a warp can rest on the tail of the warp beyond the data,
# and noise that was chosen by density may cost squares (docs/theory.md, eq. 89).


class OwnMean:
    """The mean of the predicted distribution itself."""

    is_own = True
    share = 1.0

    def parts(self, inputs, n_jobs):
        """Return the factor of the distribution's own mean, and what is added to it."""
        return 1.0, 0.0

    def mapped(self, function):
        """Return the same: there is no reference."""
        return self


OWN_MEAN = OwnMean()


@dataclass(frozen=True)
class CombinedMean:
    """A share of the distribution's own mean, the rest from a fit with Gaussian noise and no warp.

    Parameters
    ----------
    reference : object
        That fit, an `engines.fitted.Fitted` of a package above.
    share : ndarray of shape (t,)
        Of each output, from 0 to 1.
    """

    reference: object
    share: np.ndarray

    is_own = False

    def parts(self, inputs, n_jobs, mean=None):
        """Return the factor of the distribution's own mean, and what is added to it.

        ``mean`` is that of the reference, where it is known.
        """
        targets, share = self.reference.targets, self.reference.targets.squeezed(self.share)
        mean = self.reference.predictor.mean(inputs, n_jobs) if mean is None else mean
        return share, (1.0 - share) * targets.mean_in_units(mean)

    def mapped(self, function):
        """Return the same with what a function makes of the reference."""
        return replace(self, reference=function(self.reference))


def combined(targets, own, parts):
    """Return the mean of own means and `parts`, all of the shape of y, where targets may be."""
    share, rest = parts
    return targets.not_below_lowest(share * own + rest)


@dataclass(frozen=True)
class EqualNoise:
    """Noise that is the same for all rows; attributes as those of `noise.row_noise.RowNoise`."""

    likelihood: object = None

    differs = False
    constant = 0.0
    log_noise = variance_scale = None
    attributes = {}  # fitted attributes of an estimator

    def under(self, likelihood):
        """Return the noise under a likelihood with learned parameters."""
        return EqualNoise(likelihood)

    def scaled(self, factor):
        """Return the same: the rows say nothing of other noise."""
        return self

    def without_caches(self):
        """Return the same."""
        return self

    def noise_at(self, X, noise_variance, n_outputs, n_jobs):
        """Return the noise variance, whatever the inputs."""
        return noise_variance


EQUAL_NOISE = EqualNoise()


class UnlikeRows(NamedTuple):
    """Share of rows that are unlike all others, which no rows can exclude (theory.md, eq. 93).

    Attributes
    ----------
    share : float
        The probability of such a row.
    variance : ndarray of shape (t,) or float
        Of its noise, scaled.
    """

    share: float = 0.0
    variance: object = 0.0

    def among(self, likelihood):
        """Return a likelihood with the share."""
        return likelihood.contaminated(*self) if self.share else likelihood


NONE_UNLIKE = UnlikeRows()


@dataclass(frozen=True)
class Observations(AveragesUnforeseen):
    """Distribution of observations: a predictor, a likelihood, noise and the encoding of targets.

    ``inputs`` of its methods are `data.inputs.Inputs`. It can be pickled without an estimator.

    Parameters
    ----------
    unlike_rows : UnlikeRows
        What the distributions of single observations have besides the likelihood.
    row_noise : noise.row_noise.RowNoise or EqualNoise
    told_mean : OwnMean or CombinedMean
    """

    predictor: Predictor
    likelihood: object
    unlike_rows: UnlikeRows
    noise_variance: object
    row_noise: object
    targets: object
    n_jobs: int | None = None
    told_mean: object = OWN_MEAN

    n_joint_outputs = 1  # whose draws depend on one another

    @classmethod
    def of(cls, predictor, *parts):
        """Return the distribution that suits a predictor."""
        mixes = isinstance(predictor, MixedOutputs)
        return (MixedObservations if mixes else cls)(predictor, *parts)

    def shapes(self, method, options):
        """Return the shape behind the rows of each array that a method returns."""
        one = () if self.targets.ndim == 1 else (self.targets.n_outputs,)
        if method == "quantiles":
            return ((*one, len(options["levels"])),)
        if method in ("slopes", "terms"):
            return ((*one, options["count"]),) * (1 + options["with_std"])
        return {"mean_std": (one, one), "log_density": ((),), "novelty": ((),)}.get(method, (one,))

    @property
    def _has_linear_mean(self):
        return self.likelihood.identity_mean and self.targets.keeps_means

    # ---- Moments

    def mean(self, inputs):
        """Return means, of the shape of y."""
        if not self._has_linear_mean:
            return self.mean_std(inputs)[0]
        mean = inputs.shifted(self.predictor.mean(inputs, self.n_jobs))
        return combined(self.targets, self.targets.mean_in_units(mean), self._mean_parts(inputs))

    def mean_std(self, inputs, include_noise=True):
        """Return means and standard deviations, of the shape of y."""
        if include_noise:
            moments, noise, parts = self._told(inputs)
            mean, std = self.targets.mean_std(self.likelihood, *moments, noise)
            return combined(self.targets, mean, parts), std
        mean, std = self._own_mean_std(inputs, include_noise)
        if not self._has_linear_mean:  # what is predicted is an observation
            mean, _ = self._own_mean_std(inputs)
        return combined(self.targets, mean, self._mean_parts(inputs)), std

    def _own_mean_std(self, inputs, include_noise=True):
        """Return those of the distribution."""
        if not include_noise:
            return self.targets.mean_std(None, *self._moments(inputs), None)
        moments, noise = self._observed(inputs)
        return self.targets.mean_std(self.likelihood, *moments, noise)

    def std(self, inputs, include_noise=True):
        """Return standard deviations, of the shape of y."""
        return self._own_mean_std(inputs, include_noise)[1]

    def mean_cov(self, inputs, include_noise=True):
        """Return means, and joint covariances (n, n) or (n, n, t)."""
        mean, covariance = self.predictor.joint(inputs, self.n_jobs)
        latent = inputs.shifted(mean), covariance
        if not include_noise:
            covariance = self.targets.covariance(None, *latent, None)[1]
            return self.mean(inputs), covariance
        noise = self.noise_at(inputs)
        mean, covariance = self.targets.covariance(self.likelihood, *latent, noise)
        return combined(self.targets, mean, self._mean_parts(inputs)), covariance

    def noise_std(self, inputs):
        """Return standard deviations of the noise alone, of the shape of y."""
        targets = self.targets
        if self.noise_variance is None:
            raise ValueError(
                "noise_std needs a likelihood whose noise is added to the function. Got "
                f"{self.likelihood!r}: predict_std has the deviation of an observation."
            )
        variance = mean = np.zeros((len(inputs.X), targets.n_outputs))
        if not targets.keeps_means:  # the noise in units of y depends on the function
            mean = self.predictor.mean(inputs, self.n_jobs)
        return targets.mean_std(self.likelihood, mean, variance, self.noise_at(inputs))[1]

    def noise_at(self, inputs):
        """Return the noise variance, or what is known of it at each input."""
        if isinstance(self.predictor, Unforeseen):
            return self.predictor.noise(self._noise_at, inputs)
        return self._noise_at(inputs.X)

    def _noise_at(self, X):
        n_outputs = self.targets.n_outputs
        return self.row_noise.noise_at(X, self.noise_variance, n_outputs, self.n_jobs)

    def _mean_parts(self, inputs):
        return self.told_mean.parts(inputs, self.n_jobs)

    def _moments(self, inputs):
        """Return latent means and variances, both (n, t)."""
        mean, variance = self.predictor.moments(inputs, self.n_jobs)
        return inputs.shifted(mean), np.broadcast_to(variance, mean.shape)

    def _observed(self, inputs):
        """Return latent means and variances, and the noise."""
        return self._moments(inputs), self.noise_at(inputs)

    def _told(self, inputs):
        """Return the same, and the parts of the mean that is told."""
        if self.told_mean.is_own:
            return *self._observed(inputs), self._mean_parts(inputs)
        mean, variance, parts = told_moments(self.told_mean, self.predictor, inputs, self.n_jobs)
        moments = inputs.shifted(mean), np.broadcast_to(variance, mean.shape)
        return moments, self.noise_at(inputs), parts

    # ---- The function

    def slopes(self, inputs, columns, with_std, count):
        """Return slopes of the mean, and their deviations; see `gradients`."""
        return slopes(self, inputs, columns, with_std)

    def terms(self, inputs, with_std, count):
        """Return the terms of the function, and their deviations; see `terms`."""
        return terms(self, inputs, with_std)

    def novelty(self, inputs):
        """Return the share of the function's prior variance that is left, (n,)."""
        return self.predictor.novelty(inputs, self.n_jobs)

    def left_out(self, rows, places):
        """Return means and deviations of training rows, each given all others."""
        mean, variance = self.predictor.left_out(rows, places, self.n_jobs)
        moments = rows.shifted(mean), np.broadcast_to(variance, mean.shape)
        return self.targets.mean_std(self.likelihood, *moments, self._noise_at(rows.X))

    # ---- Distributions

    @cached_property
    def _marginal(self):
        """The likelihood of single observations."""
        return self.unlike_rows.among(self.likelihood)

    def quantiles(self, inputs, levels):
        """Return quantiles, (n, n_levels) or (n, t, n_levels)."""
        moments, noise = self._observed(inputs)
        values = self._marginal.quantiles(*moments, noise, levels)
        return self.targets.samples_in_units(values)

    def distribution(self, inputs):
        """Return the `PredictiveDistribution`."""
        moments, noise, parts = self._told(inputs)
        return PredictiveDistribution(self._marginal, *moments, noise, self.targets, parts)

    def log_density(self, inputs, y, resolution=0.0):
        """Return the log density of observations, (n,), of all outputs of a row.

        With a resolution it is the log probability of the interval that was rounded, less the log
        of its width. Without one, the lowest target that there may be counts by its probability.
        """
        with readable_targets(y):
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(inputs.X, y)
        n, targets = len(inputs.X), self.targets
        shape = (n,) if targets.ndim == 1 else (n, targets.n_outputs)
        if y.shape != shape:
            raise ValueError(f"y must have shape {shape}, as in fit. Got {y.shape}.")
        y = y.reshape(n, -1)
        moments, noise = self._observed(inputs)
        has_lowest = np.isfinite(targets.lowest)
        if not (np.any(resolution) or np.any(has_lowest)):
            log_p = self._marginal.log_predictive_density(targets.scaled(y), *moments, noise)
            return log_p + targets.log_slope(y).sum(axis=-1)
        each = log_rounded_density(targets, self._marginal, y, resolution, *moments, noise)
        if np.any(has_lowest):
            own = PredictiveDistribution(self._marginal, *moments, noise, targets, (1.0, 0.0))
            known = own.logpdf(y.reshape(shape)).reshape(n, -1)
            each = np.where(has_lowest & (np.asarray(resolution) == 0.0), known, each)
        return each.sum(axis=1)

    # ---- Draws

    def joint_draws(self, inputs, n_samples, rng, include_noise):
        """Draw observations, or the function, jointly, (n, n_samples) or (n, t, n_samples)."""
        draws = self._joint_draws(inputs, n_samples, rng, include_noise)
        return self.targets.samples_in_units(draws)

    def _joint_draws(self, inputs, n_samples, rng, include_noise):
        noise, likelihood = self.noise_at(inputs), self.likelihood
        mean, covariance = self.predictor.joint(inputs, self.n_jobs)
        mean = inputs.shifted(mean)
        if include_noise and likelihood.conjugate:  # with it the covariance is well conditioned
            mean, covariance = likelihood.covariance(mean, covariance, noise)
        draws = np.empty((*mean.shape, n_samples))
        # output by output: the draws of the first do not depend on how many there are
        normal = rng.standard_normal((mean.shape[1], len(mean), n_samples))
        roots = [joint_root(covariance[:, :, c]) for c in range(covariance.shape[2])]
        for c in range(mean.shape[1]):
            draws[:, c] = mean[:, c, None] + roots[min(c, len(roots) - 1)] @ normal[c]
        is_done = likelihood.conjugate or not include_noise
        return draws if is_done else likelihood.draw(draws, noise, rng)

    def pathwise_draws(self, inputs, n_samples, rng, include_noise):
        """Draw from functions that are drawn, as `joint_draws`."""
        functions = self.predictor.functions(n_samples, rng)
        if isinstance(self.predictor, Unforeseen):
            draws = self.predictor.drawn_at(functions, inputs, rng, self.n_jobs)
        else:
            draws = in_chunks(functions, inputs.X, self.n_jobs)
        if inputs.offset is not None:
            draws = draws + inputs.offset[:, None, None]
        if include_noise:
            draws = self.likelihood.draw(draws, self.noise_at(inputs), rng)
        return self.targets.samples_in_units(draws)


class MixedObservations(Observations):
    """Observations of outputs that depend on one another, since they mix latent functions."""

    @property
    def n_joint_outputs(self):
        """Number of outputs whose draws depend on one another."""
        return self.targets.n_outputs

    def mean_cov(self, inputs, include_noise=True):
        """Return means, and joint covariances (n, n, t, t), or (n, n) where y has one axis."""
        targets, (mean, covariance) = self.targets, self._joint(inputs, include_noise)
        covariance = covariance * np.outer(targets.scale, targets.scale)
        if targets.ndim == 1:
            covariance = covariance[:, :, 0, 0]
        if not self.likelihood.identity_mean:  # what is predicted is an observation
            return self.mean(inputs), covariance
        return targets.mean_in_units(mean), covariance

    def _joint(self, inputs, include_noise):
        """Return means (n, t) and covariances (n, n, t, t) of observations, scaled."""
        mean, covariance = self.predictor.full_joint(inputs)
        mean = inputs.shifted(mean)
        if include_noise:
            covariance = of_observations(self.likelihood, mean, covariance, self.noise_variance)
        return mean, covariance

    def log_density(self, inputs, y, resolution=0.0):
        """Return the log density of those outputs of each row that are not NaN, (n,).

        It is joint for Gaussian noise, else the sum over the outputs.
        """
        if np.any(resolution):
            raise ValueError(
                "resolution must be 0 where outputs mix latent functions (n_latent), since their "
                f"joint probability has no closed form. Got {resolution!r}: take their densities."
            )
        with readable_targets(y):
            y = check_array(
                y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y"
            )
        check_consistent_length(inputs.X, y)
        y = self.targets.columns(y)
        if not self.likelihood.conjugate:
            return self._sum_of_densities(inputs, y)
        y = (y - self.targets.mean) / self.targets.scale
        size = max(1, _MOST_COVARIANCES // y.shape[1] ** 2)
        pieces = (slice(lo, lo + size) for lo in range(0, len(y), size))
        return np.concatenate([self._log_density(inputs.select(i), y[i]) for i in pieces])

    def _sum_of_densities(self, inputs, y):
        moments, noise = self._observed(inputs)
        log_p = log_predictive_density(self._marginal, self.targets.scaled(y), *moments, noise)
        return log_p + np.where(np.isnan(y), 0.0, self.targets.log_slope(y)).sum(axis=1)

    def _log_density(self, inputs, y):
        mean, covariance = self.predictor.across_outputs(inputs, self.n_jobs)
        outputs = np.arange(mean.shape[1])
        covariance[:, outputs, outputs] += self.noise_variance
        return log_normal(y - mean, covariance, self.targets.scale)

    def _joint_draws(self, inputs, n_samples, rng, include_noise):
        likelihood = self.likelihood
        mean, covariance = self._joint(inputs, include_noise and likelihood.conjugate)
        n, t = mean.shape
        root = joint_root(covariance.transpose(0, 2, 1, 3).reshape(n * t, n * t))
        normal = rng.standard_normal((n * t, n_samples))
        draws = mean[:, :, None] + (root @ normal).reshape(n, t, n_samples)
        if include_noise and not likelihood.conjugate:
            return likelihood.draw(draws, self.noise_at(inputs), rng)
        return draws
