"""q(u) as it tells of a linear functional of the process, such as its slope or a term of it.

All predictions of the process at x are of its covariances with f(Z) and of its variance there. With
those of a functional in their place, the same formulas predict the functional (docs/theory.md,
section 9).
"""

from .prior import Prior


class FunctionalPrior(Prior):
    """A `Prior` whose test rows are rows of a functional: ``kernel`` is one of these."""

    @classmethod
    def of(cls, prior, kernel):
        """Return the same p(u), with the functional in the place of the process."""
        changed = cls(kernel, prior.Z, prior.delta, prior.L, prior.jitter)
        changed.__dict__["L_inv"] = prior.L_inv
        return changed

    def whitened_rows(self, X):
        """Return A^T, (n, m), of the functional at X."""
        return self.whitened(X).T.copy()


def of_functional(posterior, kernel):
    """Return q(u) with the means and variances of a functional.

    The kernel is one of kernels/_functionals.py.
    """
    posterior.warm_cache()
    return posterior.seen_by(FunctionalPrior.of(posterior.prior, kernel))
