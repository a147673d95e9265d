"""Plain stochastic gradient ascent on q(u), block by block (Hoang et al. 2015, eqs. 14, 17 and 18).

Mean m and covariance S of u go up the slopes of sum_B E_q[log t_B] - KL(q || p) themselves,

    m <- m + rho (g - P m),   S <- S + rho (inv(S) - P) / 2,   P = inv(K) + n_blocks / |S| sum F_B

and so depend on the units of u, as natural gradients do not (docs/theory.md, section 9). Whitened,
u = L v, both slopes are multiplied by G = inv(L^T L).
"""

import numpy as np

from ..._core import _linalg as la
from ..._linalg import NotPositiveDefiniteError, cholesky, inverse_from_cholesky, product
from ...gp.posterior import Posterior
from .natural_gradient import NaturalGradientAscent, constant_of_blocks


class GradientAscent(NaturalGradientAscent):
    """q(u) between steps of its mean and covariance; parameters are those of the base.

    A step after which the covariance would not be positive definite is halved until it is, and all
    later steps are as much shorter.
    """

    def __init__(self, prior, *args, **options):
        super().__init__(prior, *args, **options)
        self.shorter = 1.0
        self._inner = product(prior.L_inv, prior.L_inv, trans_b=True)  # G
        # what all blocks so far say, for the bound
        self._said, self._said_constant, self._n_said = self.posterior, 0.0, 0

    def go_on_from(self, before):
        """Take over what a fit with the same prior and blocks has come to."""
        progress = before.state.progress
        self.posterior, self.constant = before.posterior, constant_of_blocks(before)
        self.n_steps, self.n_seen, self.seen = before.n_steps, progress.n_seen, progress.seen

    def of_rows_seen(self):
        """Return q(u), and the constant with which its evidence is the bound of rows seen."""
        if not self._n_said:
            return self.posterior, self.constant
        bound = self.log_evidence() * float(self.seen.mean())
        return self.posterior, bound - self.posterior.log_evidence()

    def log_evidence(self):
        """Estimate the bound of all rows at q(u) from all blocks that have come in this fit."""
        q = self.posterior
        said = self._said.expected_log_factor(q) + self._said_constant
        return len(self.blocks) / self._n_said * said - q.kl()

    def _moved(self, asked, constant, rho, count):
        posterior, shorter = self._climbed(asked, rho, len(self.blocks) / count)
        return {
            "posterior": posterior,
            "shorter": shorter,
            "_said": self._said.joined(asked),
            "_said_constant": self._said_constant + constant,
            "_n_said": self._n_said + count,
        }

    def _climbed(self, asked, rho, share):
        """Return q(u) after a step, and by how much the next ones are shorter."""
        q, shorter = self.posterior, self.shorter
        while True:
            try:
                return self._stepped(q, asked, shorter * rho, share), shorter
            except NotPositiveDefiniteError:
                shorter *= 0.5
                if shorter * rho < np.finfo(float).tiny:
                    raise

    def _stepped(self, q, asked, rho, share):
        G, H, h = self._inner, [], np.empty_like(q.h)
        parts = zip(q.by_precision, asked.by_precision, strict=True)
        for (precision, own), (of_blocks, _) in parts:
            m, slope = np.ascontiguousarray(q.v_mean[:, own]), precision.H - share * of_blocks.H
            up = share * asked.h[:, own] - m - share * (of_blocks.H @ m)
            S = precision.covariance + (0.5 * rho) * product(product(G, slope), G)
            la.symmetrize(S)
            P = inverse_from_cholesky(cholesky(S, overwrite=True))
            h[:, own] = P @ (m + rho * (G @ up))
            P.flat[:: len(P) + 1] -= 1.0
            H.append(P)
        if not np.isfinite(h).all():
            raise NotPositiveDefiniteError("steps of q(u) have left the finite numbers")
        return Posterior(q.prior, tuple(H), h)
