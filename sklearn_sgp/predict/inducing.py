"""Predictions from the inducing points alone."""

from dataclasses import dataclass, replace

import numpy as np

from .._parallel import in_chunks
from ..data.rows import noise_of_each, random_index
from ..gp.functionals import of_functional
from ..gp.pathwise import draw_functions
from ..gp.posterior import ExactConditional, Posterior, without_own
from .base import share_left
from .block_rows import without_block_factors
from .near_rows import NearRows


@dataclass(frozen=True)
class InducingPoints:
    """Predicts from q(u) and a test conditional p(f | u) (docs/theory.md, section 9).

    Parameters
    ----------
    conditional : class
        One of gp/posterior.py.
    alpha : float
        Each training row has a factor ``N(y; E[f | u], noise + alpha var[f | u])``.
    """

    posterior: Posterior
    noise_variance: object
    conditional: type = ExactConditional
    alpha: float = 0.0
    most_rows, knows_rows, leaves_out = 200_000, False, True

    @property
    def _conditional(self):
        return self.conditional(self.posterior)

    def mean(self, inputs, n_jobs=None):
        """Return means; see `Predictor`."""
        return in_chunks(self._conditional.mean, inputs.X, n_jobs)

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        return in_chunks(self._conditional.mean_variance, inputs.X, n_jobs)

    def joint(self, inputs, n_jobs=None):
        """Return means and joint covariances; see `Predictor`."""
        return self._conditional.mean_covariance(inputs.X)

    def of_functional(self, kernel):
        """Return the predictor of a linear functional; see `Predictor`."""
        return replace(self, posterior=of_functional(self.posterior, kernel))

    def novelty(self, inputs, n_jobs=None):
        """Return the share of the prior variance that is left; see `Predictor`."""
        exact = ExactConditional(self.posterior)  # that of SoR has no variance far from u
        variance = in_chunks(exact.mean_variance, inputs.X, n_jobs)[1]
        return share_left(variance, self.posterior.prior_variance(inputs.X))

    @property
    def has_functions(self):
        """True if draws of functions have the right distribution."""
        return self.conditional is ExactConditional

    def mean_at(self, X):
        """Return means at inputs."""
        return self.posterior.mean(X)

    def functions(self, n_samples, rng):
        """Draw functions; see `Predictor`."""
        return draw_functions(self.posterior, n_samples, rng)

    @property
    def _factors(self):
        """Powers and weights of the factors that a row has alone."""
        return ((self.alpha, 1.0),)

    @property
    def _residual_weight(self):
        """Weight with which a row says of its own residual."""
        return float(self.alpha > 0.0)

    def training_moments(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows; with ``alpha`` a row also says of its residual."""
        if not self._residual_weight > 0.0:
            return self.moments(rows, n_jobs)
        mean, variance, through_u = self._moments_through(rows, n_jobs)
        residual = variance - through_u
        noise = noise_of_each(rows, self.noise_variance) / self._residual_weight
        gain = residual / (residual + noise)
        moved = mean + gain * (rows.targets - mean)
        return moved, (1.0 - gain) ** 2 * through_u + residual * (1.0 - gain)

    def left_out(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows without their own factors; see `Predictor`."""
        posterior = self.posterior
        sites = posterior.sites_of(rows.X)
        if sites is not None:
            noise = self.noise_variance / rows.weights[0].reshape(len(rows), -1)
            return in_chunks(posterior.left_out, (rows.X, sites, rows.targets, noise), n_jobs)
        return self.without(rows, lambda noise: (rows.targets, noise), n_jobs)[1]

    def without(self, rows, told, n_jobs=None):
        """Return the moments at training rows, and those without what is told there.

        ``told(noise)`` returns the targets (n, t) that are left out of the moments at each row, and
        their noise, given that of the row's own factor.
        """
        mean, variance, through_u = self._moments_through(rows, n_jobs)
        own = variance - through_u
        left, through_u = without_own(mean, through_u, *told(self._noise_of_factors(rows, own)))
        return (mean, variance), (left, through_u + own)

    def _noise_of_factors(self, rows, own):
        """Return the noise with which rows tell of u by factors of their own, (n, 1) or (n, t).

        ``own`` are the variances that u leaves, (n, 1) or (n, t).
        """
        weight, counts = rows.weights
        noise = self.noise_variance / weight.reshape(len(rows), -1)
        each = [(noise + alpha * own / counts[:, None]) / share for alpha, share in self._factors]
        return each[0] if len(each) == 1 else 1.0 / sum(1.0 / one for one in each)

    def _moments_through(self, rows, n_jobs):
        """Return the moments, and the part of the variances that comes from q(u)."""
        return in_chunks(self._conditional.mean_variance_through, rows.X, n_jobs)

    def drawn(self, n_rows, size, rng):
        """Draw places of training rows; see `Predictor`."""
        return random_index(n_rows, size, rng)

    def separated(self):
        """Leave out what only training rows need; see `Predictor`."""
        return self, None

    def ready(self):
        """Return the predictor itself: it needs no cache."""
        return self

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        return replace(self, posterior=self.posterior.without_caches())

    def with_posterior(self, posterior):
        """Replace q(u)."""
        return replace(self, posterior=posterior)


@dataclass(frozen=True)
class OfMixture(InducingPoints):
    """Predicts as `InducingPoints`, where a row has several factors, or none that it has alone.

    Parameters
    ----------
    components : tuple
        Models and their weights, as those of `factors.block_factors.Mixture`.
    """

    components: tuple = ()

    @property
    def leaves_out(self):
        """True if rows have factors of their own that are known: not by a user's own model."""
        is_known = all(model.leaves_out and not model.dense for model, _ in self.components)
        return is_known and len(self._factors) > 0

    @property
    def _factors(self):
        alone = [(model, share) for model, share in self.components if share and not model.dense]
        return tuple((model.power, share) for model, share in alone)

    @property
    def _residual_weight(self):
        return sum(share for model, share in self.components if model.power > 0.0)

    def left_out(self, rows, places=None, n_jobs=None):
        """Return the moments without the factors of rows, NaN where these are not known."""
        if self.leaves_out:
            return super().left_out(rows, places, n_jobs)
        unknown = np.full((len(rows), self.posterior.h.shape[1]), np.nan)
        return unknown, unknown[:, : len(self.posterior.H)]


@dataclass(frozen=True)
class OfBlocks(OfMixture):
    """Predicts as `OfMixture`, but training rows from those of their own block."""

    near: NearRows = None

    @property
    def leaves_out(self):
        """True if the factors of blocks are known."""
        return all(model.leaves_out for model, _ in self.components)

    def training_moments(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows; see `Predictor`."""
        places = np.arange(len(rows)) if places is None else places
        cells = self.near.partition.cells_of(self.near.blocks, rows, places)
        return self.near.of_one_cell(rows, cells, n_jobs)

    def left_out(self, rows, places=None, n_jobs=None):
        """Return the moments without what rows say in their blocks, and alone."""
        if not self.leaves_out:
            return super().left_out(rows, places, n_jobs)
        mean, variance, through_u = self._moments_through(rows, n_jobs)
        own = variance - through_u
        given = self.posterior, self.noise_variance, self.near.blocks
        for component in self.components:
            if component[0].dense and component[1]:  # one at most
                mean, through_u = without_block_factors(*given, component, rows, places, n_jobs)
        if self._factors:
            noise = self._noise_of_factors(rows, own)
            mean, through_u = without_own(mean, through_u, rows.targets, noise)
        return mean, through_u + own

    def drawn(self, n_rows, size, rng):
        """Draw places of training rows; see `Predictor`."""
        return self.near.drawn(n_rows, size, rng)

    def separated(self):
        """Leave out the near rows, which only training rows need; see `Predictor`."""
        return InducingPoints(self.posterior, self.noise_variance, self.conditional), None

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        return replace(super().without_caches(), near=self.near.without_caches())

    def with_posterior(self, posterior):
        """Replace q(u)."""
        near = self.near.with_posterior(posterior)
        return replace(super().with_posterior(posterior), near=near)
