"""The online bound of a batch and the old posterior, and the posterior at its optimum.

Gaussian noise is collapsed: q is the product of the factors (docs/theory.md, eq. 40). Any other
likelihood has its q found by natural-gradient iterations, with the factor of the old posterior
held. Either way the gradient in all parameters is the partial one at that q.
"""

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...factors.block_factors import Model
from ...factors.block_sums import block_gradient_sums, block_sums, pieces_of_blocks
from ...factors.passes import CHUNK
from ...gp.posterior import Posterior
from ...gp.prior import Prior
from ...objectives.sites import SiteBound
from .old_posterior import OldPosteriorFactor, Projection, old_posterior_gradient


class OnlineBound:
    """Base of all kinds.

    Parameters
    ----------
    rows : Rows
        The batch.
    old : OldPosterior or None
    kept : ndarray of int, shape (n_kept, 2)
        See `old_posterior.Projection`.
    delta : float
        Jitter in units of the kernel.
    power : float
        In [0, 1], of the old posterior's factor.
    """

    def __init__(self, rows, old, kept, delta, with_inputs=True, n_jobs=None, *, power=0.0):
        self.rows, self.old, self.kept, self.delta = rows, old, kept, delta
        self.with_inputs, self.n_jobs, self.power = with_inputs, n_jobs, power

    def prior(self, parameters):
        """Return the prior of the inducing values; the old one itself where nothing changed."""
        kernel, Z = parameters.kernel, parameters.Z
        if self.old is not None:
            old = self.old.prior
            unchanged = np.array_equal(old.kernel.theta, parameters.theta)
            if unchanged and old.delta == self.delta and np.array_equal(old.Z, Z):
                return old
        return Prior.build(kernel, Z, self.delta)

    def _old_factors(self, prior):
        """Return how old inducing values follow from new ones, and the factors of the old q."""
        if self.old is None:
            return None, []
        projection = Projection(prior, self.old.prior, self.kept)
        count = len(self.old.posterior.H)
        return projection, [
            OldPosteriorFactor(projection, self.old, c, self.power) for c in range(count)
        ]

    def _base(self, prior, factors):
        """Return the old information about the new inducing values, and its constant."""
        if not factors:
            return None, 0.0
        m, constant = len(prior.Z), self.old.constant
        parts = []
        for factor in factors:
            H, h = np.zeros((m, m)), np.zeros((m, factor.old_h.shape[1]))
            constant += factor.add_to(H, h)
            parts.append((H, h))
        H, h = zip(*parts, strict=True)
        return Posterior(prior, H, np.hstack(h)), constant

    def _gradient(self, sums, projection, factors, q):
        """Add the gradient of the old factors to what the rows contribute."""
        if projection is not None:
            sums += old_posterior_gradient(projection, factors, q, self.with_inputs)
        return sums.gradient(q.prior, self.with_inputs)


class ConjugateOnlineBound(OnlineBound):
    """Gaussian noise.

    Alpha, in [0, 1], is that of the rows: 0 is variational, 1 expectation propagation, between is
    Power-EP.
    """

    def __init__(self, *args, alpha=0.0, **options):
        super().__init__(*args, **options)
        self.model = Model("diagonal", alpha)
        self.chunks = list(self.rows.chunks(CHUNK))
        self._last = None, None, None  # parameters, and what was found there

    def posterior(self, parameters):
        """Find the optimal q(u) and the bound."""
        last, *found = self._last
        if last is not None and last.equal(parameters):
            return tuple(found)
        prior, s2 = self.prior(parameters), parameters.noise_variance
        return self._with_old(*block_sums(prior, self._pieces(prior), s2, self.model))[:2]

    def _pieces(self, prior):
        return pieces_of_blocks(self.chunks, len(prior.Z), self.model, self.n_jobs)

    def _with_old(self, q, constant):
        """Return q(u) of the rows with the old information, the bound, and the old factors."""
        prior = q.prior
        projection, factors = self._old_factors(prior)
        base, more = self._base(prior, factors)
        if base is not None:
            q, constant = q.joined(base), constant + more
        value = q.log_evidence(constant)
        if not np.isfinite(value):
            raise NotPositiveDefiniteError("the online bound is not finite")
        return q, value, projection, factors

    def __call__(self, parameters):
        """Compute value and gradient."""
        prior, s2 = self.prior(parameters), parameters.noise_variance
        pieces = self._pieces(prior)
        of_rows = block_sums(prior, pieces, s2, self.model)
        q, value, projection, factors = self._with_old(*of_rows)
        self._last = parameters, q, value
        sums = block_gradient_sums(q, pieces, s2, self.model, with_inputs=self.with_inputs)
        return value, self._gradient(sums, projection, factors, q)


class SiteOnlineBound(OnlineBound):
    """Any likelihood, variational.

    Parameters
    ----------
    tol : float
        Gain, in nats a row, with which inner iterations end.
    rho : float
        Length of the first inner step.
    """

    def __init__(self, *args, likelihood, n_latent, tol, rho=1.0, **options):
        super().__init__(*args, **options)
        self.n_latent = n_latent
        self.of_rows = SiteBound(
            self.rows,
            likelihood,
            n_latent,
            tol * self.rows.total_weight,
            with_inputs=self.with_inputs,
            n_jobs=self.n_jobs,
            rho=rho,
        )

    def posterior(self, parameters):
        """Find the optimal q(u) and the bound."""
        prior = self.prior(parameters)
        base, constant = self._base(prior, self._old_factors(prior)[1])
        _, q, _, bound = self.of_rows.at(parameters, prior, start=base, base=base)
        return q, bound + constant

    def __call__(self, parameters):
        """Compute value and gradient."""
        prior = self.prior(parameters)
        projection, factors = self._old_factors(prior)
        base, constant = self._base(prior, factors)
        problem, q, found, bound = self.of_rows.at(parameters, prior, start=base, base=base)
        sums = problem.gradient_sums(q, found, self.with_inputs)
        return bound + constant, self._gradient(sums, projection, factors, q)
