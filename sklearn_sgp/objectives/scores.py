"""Scores of left-out rows, what is better by more than its standard error, what parameters cost."""

from dataclasses import dataclass, replace

import numpy as np

# Nats a row by which predictions of one and the same model may differ by rounding and jitter.
_ROUNDING = 1e-6


def log_normal_density(error, variance):
    """Return log N(error; 0, variance)."""
    return -0.5 * (np.log(2.0 * np.pi * variance) + error**2 / variance)


def bic_nats(n_parameters, n_rows):
    """Return the BIC penalty of so many parameters, in nats: log(n) / 2 for each."""
    return 0.5 * np.log(n_rows) * n_parameters


def left_out_errors(solved, precision):
    """Return how far targets are from what all others predict, and the variance of that.

    ``solved`` is inv(S) y and ``precision`` diag(inv(S)), where S is the covariance of y.
    """
    return solved / precision, 1.0 / precision


@dataclass(frozen=True)
class Score:
    """Log densities of groups of rows, or log probabilities of rows, that judge.

    Parameters
    ----------
    each : ndarray of shape (g,)
        For each row of a group, in nats; -inf where there is none.
    weight : ndarray of shape (g,)
    """

    each: np.ndarray
    weight: np.ndarray

    @classmethod
    def none(cls):
        """Return the score of what cannot be evaluated."""
        return cls(np.array([-np.inf]), np.ones(1))

    @classmethod
    def of_objective(cls, value, weight):
        """Return the score of an objective in nats of rows with a total weight."""
        return cls(np.array([value / weight]), np.ones(1))

    def raised(self, nats):
        """Return the score of what is better by so many nats a row, whatever the rows say."""
        return self if nats == 0.0 else replace(self, each=self.each + nats)

    @property
    def mean(self):
        """Nats for each row."""
        return float(np.average(self.each, weights=self.weight))

    def gain(self, before):
        """Return how much more this is than a score of the same groups, and its standard error.

        The error is 0 where there is one group.
        """
        if not np.isfinite([self.mean, before.mean]).all():
            return self.mean - before.mean if np.isfinite(self.mean) else -np.inf, 0.0
        return mean_and_error(self.each - before.each, self.weight)

    def is_better(self, before):
        """Return True if it gains more than the standard error of the gain.

        What can be evaluated is better than what cannot.
        """
        if not np.isfinite([self.mean, before.mean]).all():
            return self.mean > before.mean
        return is_better(self.each, before.each, self.weight)


def mean_and_error(values, weight):
    """Return the mean of some values, and the standard error of that; 0 of a single one.

    Few rows of large weights tell no more than they are.
    """
    mean, n = np.average(values, weights=weight), len(values)
    share = np.ones(n) if weight is None else np.asarray(weight)
    share = share / share.sum()
    variance = np.sum((share * (values - mean)) ** 2) * n / max(n - 1, 1)
    return float(mean), float(np.sqrt(variance))


def effective_number(weight):
    """Return how many equal weights tell a mean as well as these do."""
    share = weight / weight.max()  # squares of tiny ones are zero
    return float(share.sum() ** 2 / (share @ share))


def is_better(values, before, weight):
    """Return True if values gain more than the standard error of the gain, and than rounding."""
    gain, error = mean_and_error(values - before, weight)
    return len(values) > 1 and gain > max(error, _ROUNDING)
