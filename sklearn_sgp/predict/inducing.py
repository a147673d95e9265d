"""Predictions from the inducing points alone."""

from dataclasses import dataclass, replace

import numpy as np

from .._parallel import in_chunks
from ..data.rows import noise_of_each, random_index
from ..gp.functionals import of_functional
from ..gp.pathwise import draw_functions
from ..gp.posterior import ExactConditional, Posterior, without_own
from .base import share_left
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
    most_rows, knows_rows = 200_000, False

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
        return share_left(variance, self._prior_variance(inputs.X))

    def _prior_variance(self, X):
        return self.posterior.prior.kernel.diag(X)[:, None]

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

    def training_moments(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows; with ``alpha`` a row also says of its residual."""
        if self.alpha == 0.0:
            return self.moments(rows, n_jobs)
        mean, variance, through_u = self._moments_through(rows, n_jobs)
        residual, noise = variance - through_u, noise_of_each(rows, self.noise_variance)
        gain = residual / (residual + noise)
        moved = mean + gain * (rows.targets - mean)
        return moved, (1.0 - gain) ** 2 * through_u + residual * (1.0 - gain)

    def left_out(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows without their own factors; see `Predictor`."""
        return self.without(rows, lambda noise: (rows.targets, noise), n_jobs)[1]

    def without(self, rows, told, n_jobs=None):
        """Return the moments at training rows, and those without what is told there.

        ``told(noise)`` returns the targets (n, t) that are left out of the moments at each row, and
        their noise, given that of the row's own factor.
        """
        mean, variance, through_u = self._moments_through(rows, n_jobs)
        own, (weight, counts) = variance - through_u, rows.weights
        noise = self.noise_variance / weight.reshape(len(rows), -1)
        noise = noise + self.alpha * own / counts[:, None]
        left, through_u = without_own(mean, through_u, *told(noise))
        return (mean, variance), (left, through_u + own)

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
class OfBlocks(InducingPoints):
    """Predicts as `InducingPoints`, but training rows from those of their own block."""

    near: NearRows = None

    def training_moments(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows; see `Predictor`."""
        places = np.arange(len(rows)) if places is None else places
        cells = self.near.partition.cells_of(self.near.blocks, rows, places)
        return self.near.of_one_cell(rows, cells, n_jobs)

    def drawn(self, n_rows, size, rng):
        """Draw places of training rows; see `Predictor`."""
        return self.near.drawn(n_rows, size, rng)

    def separated(self):
        """Leave out the near rows, which only training rows need; see `Predictor`."""
        told = self.posterior, self.noise_variance, self.conditional, self.alpha
        return InducingPoints(*told), None

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        return replace(super().without_caches(), near=self.near.without_caches())

    def with_posterior(self, posterior):
        """Replace q(u)."""
        near = self.near.with_posterior(posterior)
        return replace(super().with_posterior(posterior), near=near)
