"""The online bound of a batch and the carried factor, and the posterior at its optimum.

Gaussian noise is collapsed: q is the product of the factors (docs/theory.md, eq. 40). Any other
likelihood has its q found by natural-gradient iterations, the carried factor held. Either way the
gradient in kernel, noise and inducing inputs is the partial one at that q.
"""

import numpy as np

from ..factors.block_sums import evidence, factor_gradient, factor_store, factor_sums
from ..factors.block_factors import Model
from .old_posterior import CarriedBlock, Link, carried_gradient
from ..factors.row_sums import CHUNK, block_store
from ..gp.latents import Latents
from .._linalg import NotPositiveDefiniteError
from ..gp.posterior import Posterior, Prior
from ..objectives.sites import SiteProblem

_INNER_TOL = 1e-6  # nats a row


class _Bound:
    """What both kinds share.

    Parameters
    ----------
    rows : rows.Rows
        The batch.
    carried : carried.Carried or None
    kept : ndarray of int, shape (n_kept, 2)
        See `carried.Link`.
    delta : float
        Jitter in units of the kernel.
    with_inputs : bool
    n_jobs : int or None
    power : float
        In [0, 1], of the carried factor.
    """

    def __init__(self, rows, carried, kept, delta, with_inputs=True, n_jobs=None, *, power=0.0):
        self.rows, self.carried, self.kept, self.delta = rows, carried, kept, delta
        self.with_inputs, self.n_jobs, self.power = with_inputs, n_jobs, power

    def prior(self, parameters):
        """Prior of the inducing values; the old one itself where nothing changed."""
        kernel, Z = parameters.kernel, parameters.Z
        if self.carried is not None:
            old = self.carried.prior
            unchanged = np.array_equal(old.kernel.theta, parameters.theta)
            if unchanged and old.delta == self.delta and np.array_equal(old.Z, Z):
                return old
        return Prior.build(kernel, Z, self.delta)

    def _blocks(self, prior):
        if self.carried is None:
            return None, []
        link = Link(prior, self.carried.prior, self.kept)
        return link, [CarriedBlock(link, factor, self.power) for factor in self.carried.factors]

    def _gradient(self, pulled, link, blocks, posterior):
        """From what the rows contribute."""
        if link is not None:
            means = [part.v_mean for part in posterior.posteriors]
            covariances = [part.B_inv for part in posterior.posteriors]
            pulled += carried_gradient(link, blocks, means, covariances, self.with_inputs)
        return pulled.gradient(posterior.prior, self.with_inputs)


class GaussianBound(_Bound):
    """Gaussian noise.

    Parameters
    ----------
    alpha : float
        In [0, 1], of the rows: 0 is variational, 1 expectation propagation, between is Power-EP.
    """

    def __init__(self, *args, alpha=0.0, **options):
        super().__init__(*args, **options)
        self.model = Model("diagonal", alpha)
        self.pieces = list(self.rows.chunks(CHUNK))

    def last(self, parameters):
        """Optimal q(u) and the bound."""
        return self._at(parameters)[:2]

    def _at(self, parameters, store=None):
        prior, s2 = self.prior(parameters), parameters.noise_variance
        H, h, constant = factor_sums(prior, self.pieces, s2, self.model, self.n_jobs, store)
        link, blocks = self._blocks(prior)
        for block in blocks:
            constant += block.add_to(H, h)
        constant += self.carried.constant if blocks else 0.0
        posterior = Posterior(prior, H, h)
        value = evidence(posterior, constant)
        if not np.isfinite(value):
            raise NotPositiveDefiniteError("the online bound is not finite")
        return posterior, value, link, blocks

    def __call__(self, parameters):
        """Value and gradient."""
        store = factor_store(len(parameters.Z), self.pieces, self.model)
        posterior, value, link, blocks = self._at(parameters, store)
        pulled = factor_gradient(
            posterior.prior,
            self.pieces,
            parameters.noise_variance,
            self.model,
            posterior.v_mean,
            posterior.B_inv,
            with_inputs=self.with_inputs,
            n_jobs=self.n_jobs,
            store=store,
        )
        return value, self._gradient(pulled, link, blocks, posterior)


class SitesBound(_Bound):
    """Any likelihood, variational.

    Parameters
    ----------
    likelihood : object
        See likelihoods/.
    n_latent : int
    rho : float
        Length of the first inner step.
    """

    def __init__(self, *args, likelihood, n_latent, rho=1.0, **options):
        super().__init__(*args, **options)
        self.likelihood, self.n_latent = likelihood, n_latent
        self.sites, self.rho = None, rho
        self.tol = _INNER_TOL * self.rows.total_weight

    def last(self, parameters):
        """Optimal q(u) of all latent functions, and the bound."""
        _, latents, _, bound, _, _ = self._at(parameters)
        return latents, bound

    def _at(self, parameters):
        prior = self.prior(parameters)
        problem = SiteProblem(
            prior,
            self.rows,
            self.likelihood,
            parameters.noise_variance,
            self.n_jobs,
            block_store(len(prior.Z), self.rows),
            self.rho,
        )
        link, blocks = self._blocks(prior)
        base, constant = self._base(prior, blocks)
        start = Latents.at_prior(prior, self.n_latent) if base is None else base
        if self.sites is not None:
            start = problem.from_sites(*self.sites)
            start = start if base is None else start.joined(base)
        latents, found, bound = problem.ascend(start, self.tol, base=base)
        bound += constant
        if not np.isfinite(bound):
            raise NotPositiveDefiniteError("the online bound is not finite")
        self.sites, self.rho = (found.first, found.second), problem.rho
        return problem, latents, found, bound, link, blocks

    def _base(self, prior, blocks):
        """The carried factor in the new coordinates, and its constant."""
        if not blocks:
            return None, 0.0
        m, constant, parts = len(prior.Z), self.carried.constant, []
        for block in blocks:
            H, h = np.zeros((m, m)), np.zeros((m, block.factor.h.shape[1]))
            constant += block.add_to(H, h)
            parts.append((H, h))
        return Latents(
            prior, tuple(H for H, _ in parts), np.hstack([h for _, h in parts])
        ), constant

    def __call__(self, parameters):
        """Value and gradient."""
        problem, latents, found, bound, link, blocks = self._at(parameters)
        pulled = problem.pulled_back(latents, found, self.with_inputs)
        return bound, self._gradient(pulled, link, blocks, latents)
