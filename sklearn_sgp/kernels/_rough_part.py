"""Terms of a default kernel: what they can tell from noise at the distances that exist."""

from dataclasses import dataclass

import numpy as np

_NONE_LEFT = 1e-30  # a share of a term's variance that is none beside the others
_LEAST_CORRELATION = 1e-300  # smaller ones underflow


@dataclass(frozen=True)
class Term:
    """A stationary term with a variance of its own.

    Parameters
    ----------
    variance : int
        Place of its variance among the free log parameters.
    scales : ndarray of int
        Places of its length scales.
    is_rough : bool
        True if it is rough at every distance, Matern-1/2.
    """

    variance: int
    scales: np.ndarray
    is_rough: bool

    @classmethod
    def all_of(cls, expression):
        """Return those of a compiled kernel whose parameters are free, rough ones first."""
        place, free, terms = np.cumsum(expression.free) - 1, expression.free, []
        for leaf, _ in expression.leaves:
            if leaf.length_scale is None or len(leaf.amplitudes) != 1:
                continue
            (constant,), scales = leaf.amplitudes, leaf.length_scale
            if free[constant] and free[scales].all():
                terms.append(cls(int(place[constant]), place[scales], leaf.name == "matern12"))
        return sorted(terms, key=lambda term: not term.is_rough)

    def correlations(self, parameters, groups):
        """Return its correlations, (g, n - 1), of the first of some rows with the others.

        Each of ``groups``, (g, n, d), has some rows.
        """
        kernels = self._with_and_without(parameters)
        whole, rest = (np.stack([k.block(X[:1], X[1:])[0] for X in groups]) for k in kernels)
        variance = np.stack([self.variances(parameters, X) for X in groups])
        return (whole - rest) / np.sqrt(variance[:, :1] * variance[:, 1:])

    def gram(self, parameters, X):
        """Return its covariances of some rows with one another, shape (n, n)."""
        whole, rest = (kernel.gram(X) for kernel in self._with_and_without(parameters))
        return whole - rest

    def variances(self, parameters, X):
        """Return its variances at some rows, shape (n,)."""
        whole, rest = (kernel.diag(X) for kernel in self._with_and_without(parameters))
        return whole - rest

    def _with_and_without(self, parameters):
        without = parameters.theta.copy()
        without[self.variance] += np.log(_NONE_LEFT)
        return parameters.kernel, parameters.expression.bind(without)

    def with_less(self, theta, kept, correlation):
        """Take variance away such that the covariance of rows that are near stays as it is.

        ``kept`` is the share of the variance that is left, above the correlation, which is that of
        rows that are near.
        """
        theta, log_correlation = theta.copy(), np.log(max(correlation, _LEAST_CORRELATION))
        theta[self.variance] += np.log(kept)
        power = 1.0 if self.is_rough else 0.5  # of the logarithm of correlations in distances
        theta[self.scales] += power * np.log(log_correlation / (log_correlation - np.log(kept)))
        return theta
