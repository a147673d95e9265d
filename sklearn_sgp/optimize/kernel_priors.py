"""What a user expects of kernel and noise: distributions of parameters in their own units.

Learning then maximises the objective plus their log density. It is the density of the parameter
itself, not of its logarithm, which is what optimisers move (docs/theory.md, eq. 92): a uniform
distribution within its ends changes nothing, and a mode is where its picture shows it.
"""

from dataclasses import dataclass, replace

import numpy as np

# Step of differences in the logarithm of a parameter, near the cube root of the rounding.
_DIFFERENCE = 1e-5
# Between these quantiles a parameter is expected.
LIKELY = (1e-3, 1.0 - 1e-3)
# An end of a support, where a density may be 0, is left out by so much of the parameter.
_INSET = 1e-8


@dataclass(frozen=True)
class KernelPrior:
    """A distribution of one parameter, or of several that are independent.

    Parameters
    ----------
    name : str
        As the user wrote it.
    group : str
        "theta" or "log_noise".
    places : ndarray of int
        Of the parameters in the group.
    distribution : frozen distribution of scipy
        Of one parameter, which all have, or of as many as there are places.
    level : float
        Log density at the medians.
    """

    name: str
    group: str
    places: np.ndarray
    distribution: object
    level: float

    @classmethod
    def of(cls, name, group, places, distribution):
        """Measure the level."""
        made = cls(name, group, places, distribution, 0.0)
        level = made._total(np.log(made._quantiles(0.5)))
        return replace(made, level=level if np.isfinite(level) else 0.0)

    def _quantiles(self, share):
        with np.errstate(divide="ignore"):
            values = np.maximum(self.distribution.ppf(share), 0.0)
        return np.broadcast_to(np.asarray(values, dtype=np.float64), self.places.shape)

    def quantiles(self):
        """Return logarithms of the ends of what is expected, (k, 2)."""
        with np.errstate(divide="ignore"):
            return np.log(np.column_stack([self._quantiles(share) for share in LIKELY]))

    def support(self):
        """Return logarithms of the ends of the support, just within them, (k, 2)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [np.log(np.maximum(end, 0.0)) for end in self.distribution.support()]
        lower, upper = (np.broadcast_to(end, self.places.shape) for end in ends)
        return np.column_stack([lower + _INSET, upper - _INSET])

    def _each(self, logs):
        """Return log densities at logarithms of the parameters, (..., k)."""
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            return np.asarray(self.distribution.logpdf(np.exp(logs)), dtype=np.float64)

    def likelier(self, first, second):
        """Return of two vectors of logarithms, entry by entry, what has the higher density."""
        return np.where(self._each(second) > self._each(first), second, first)

    def _total(self, logs):
        return float(np.sum(self._each(logs)))

    def log_density(self, parameters):
        """Return the log density of the parameters, in nats for one unit of each."""
        return self._total(self._logs(parameters))

    def _logs(self, parameters):
        return np.atleast_1d(parameters.values[self.group])[self.places]

    def value_and_slopes(self, parameters):
        """Return the log density less that at the medians, and derivatives in the logarithms.

        scipy's distributions have no derivatives: these are central differences, within the
        support.
        """
        logs = self._logs(parameters)
        moved = np.clip(np.stack([logs - _DIFFERENCE, logs + _DIFFERENCE]), *self.support().T)
        below, above = self._each(moved)
        width = moved[1] - moved[0]
        slopes = np.divide(above - below, width, out=np.zeros_like(logs), where=width > 0.0)
        return self._total(logs) - self.level, slopes


@dataclass(frozen=True)
class KernelPriors:
    """The log density that objectives are raised by; none where nothing is expected.

    Its level is 0 where all parameters are at their medians: it has no units, and kernels of
    different numbers of parameters can be compared with it. It counts ``weight`` times.
    """

    parts: tuple = ()
    weight: float = 1.0

    def weighted(self, weight):
        """Return priors that count so often."""
        return replace(self, weight=weight)

    def value(self, parameters):
        """Return the weighted log density less that at the medians."""
        return self.value_and_gradient(parameters)[0] if self.parts else 0.0

    def log_density(self, parameters):
        """Return the log density as scipy has it, in units of the parameters."""
        return sum(part.log_density(parameters) for part in self.parts)

    def value_and_gradient(self, parameters):
        """Return the weighted value, and its derivatives by the names of the groups."""
        total, slopes = 0.0, {}
        for part in self.parts:
            value, own = part.value_and_slopes(parameters)
            total += self.weight * value
            like = np.atleast_1d(parameters.values[part.group])
            slopes.setdefault(part.group, np.zeros_like(like))[part.places] += self.weight * own
        for name, slope in slopes.items():
            if not np.ndim(parameters.values[name]):
                slopes[name] = float(slope[0])
        return total, slopes


NOTHING_EXPECTED = KernelPriors()
