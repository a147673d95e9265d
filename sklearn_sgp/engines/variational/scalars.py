"""Sums over rows that a later batch needs beside q(u)."""

from dataclasses import dataclass, replace

import numpy as np

from ...gp.coordinates import Separate
from ...objectives.collapsed import collapsed_value
from ...optimize.parameters import shaped_like


@dataclass(frozen=True)
class RowScalars:
    """Sums over rows that the collapsed bound has besides (H, h): w, w y^2 (t,) and w k(x, x).

    ``constant`` is what the bound has besides, where q(u) is that of the exact process.
    """

    weight: float
    targets: np.ndarray
    diagonal: float | np.ndarray
    constant: float = 0.0

    @classmethod
    def of_exact(cls, found, rows, noise_variance):
        """Return the sums with which the bound of an `ExactPosterior` is its evidence.

        Inducing inputs explain all of the variance of these rows.
        """
        q = Separate.from_posterior(found.posterior)
        traces = np.array([one.trace_H for one in q.outputs])
        scalars = cls(
            rows.total_weight,
            (rows.weights[0].T * (rows.targets**2).T).T.sum(axis=0),
            shaped_like(noise_variance * traces, noise_variance),
        )
        bound = collapsed_value(q, scalars, noise_variance)
        return replace(scalars, constant=found.evidence - bound)

    def with_constant(self, constant):
        """Add to the constant."""
        return replace(self, constant=self.constant + constant)

    def plus(self, sums):
        return replace(
            self,
            weight=self.weight + sums.weight,
            targets=self.targets + sums.targets,
            diagonal=self.diagonal + sums.diagonal,
        )
