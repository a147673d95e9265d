"""Two classes, y in {-1, +1}: probit and logit links (docs/theory.md, section 10)."""

from copy import copy

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, expit, log_expit, log_ndtr, ndtri_exp

from ._base import SMALLEST_PROBABILITY, ExpectedLogDensity, Likelihood
from ._classes import check_class_offset, check_temperature, log_frequencies
from ._dirichlet import Dirichlet
from ._quadrature import gaussian_expectations
from ._tilted import TiltedMoments

_ROOT_HALF, _ROOT_2_OVER_PI = np.sqrt(0.5), np.sqrt(2.0 / np.pi)


def log_normal_derivatives(f):
    """Return log Phi and its first two derivatives."""
    with np.errstate(over="ignore"):  # the ratio is 0 then
        ratio = _ROOT_2_OVER_PI / erfcx(-_ROOT_HALF * f)
    far = f < -1e3  # there f and the ratio cancel
    curvature = np.where(far, 1.0 / np.where(far, f, 1.0) ** 2 - 1.0, -ratio * (f + ratio))
    return log_ndtr(f), ratio, curvature


class _Bernoulli(Likelihood):
    """p(y | f) = link(y (offset + f)).

    Subclasses give log link with its first two derivatives, and the inverse of the link by the log
    odds of its value.
    """

    max_classes = 2
    temperature = 1.0  # of pickles that have none

    def __init__(self, offset: float | None = None, temperature: float = 1.0) -> None:
        self.offset, self.temperature = offset, temperature

    def for_classes(self, weight):
        """Check the offset, or take it from the frequencies of the classes."""
        check_temperature(self)
        if self.offset is not None:
            check_class_offset(self, ())
            return self
        first, second = log_frequencies(weight)
        offset = self._link_inverse_at(second - first)
        return copy(self).set_params(offset=float(offset))

    def beside(self, known, weight):
        """Return the likelihood where known numbers (n,) are added to the function.

        With its offset the frequencies of the classes are expected as they were without these.
        """
        share, low, high = np.exp(self._log_link(self._offset)), -known.max(), -known.min()

        def surplus(moved):
            p = np.exp(self._log_link(self._offset + moved + known))
            return np.average(p, weights=weight) - share

        moved = low if low == high else brentq(surplus, low - 1e-9, high + 1e-9)
        return copy(self).set_params(offset=self._offset + float(moved))

    def as_regressions(self, of_class):
        """Return the regressions with known noise that learning begins with."""
        return Dirichlet().centred(of_class)

    @property
    def _offset(self):
        return 0.0 if self.offset is None else float(self.offset)

    def n_latent(self, n_outputs):
        """Return 1: both classes have one latent function."""
        return 1

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return E[log link(y (offset + f))] and its derivatives, y (n, 1) being -1 or +1."""
        sign = y[:, 0]
        value, slope, curvature = gaussian_expectations(
            lambda f, rows: self._derivatives(f), sign * (self._offset + mean[:, 0]), variance[:, 0]
        )
        return ExpectedLogDensity(
            value, (sign * slope)[:, None], 0.5 * curvature[:, None], np.zeros(len(value))
        )

    def log_density(self, y, f, noise_variance=None):
        """Return log P(y) given latent values."""
        return self._log_link(y * (self._offset + f))

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """Return log P(y) for f ~ N(mean, variance), shape (n,)."""
        return self._log_probability(y[:, 0] * (self._offset + mean[:, 0]), variance[:, 0])

    def probabilities(self, mean, variance):
        """Return P(-1) and P(+1), shape (n, 2)."""
        center = self._offset + mean[:, 0]
        both = [self._log_probability(sign * center, variance[:, 0]) for sign in (-1.0, 1.0)]
        return np.exp(np.column_stack(both))


class Probit(_Bernoulli):
    """p(y | f) = Phi(y (offset + f)).

    Parameters
    ----------
    offset : float or None, default=None
        Prior mean of the argument of Phi. None: the estimator takes Phi^-1 of the frequency of the
        second class, by weight; outside of an estimator 0.
    temperature : float, default=1.0
        What the decision, Phi^-1 of a predicted probability, is divided by, positive. Learning does
        not use it. `AnytimeSGPClassifier` chooses its own where it learns the kernel, without
        ``max_time`` and ``offset_column``.
    """

    def tilted_moments(self, y, mean, variance, power):
        """Return the moments, in closed form where the power is 1."""
        sign, sd = y[:, 0], np.sqrt(1.0 + variance)
        value, slope, curvature = self._derivatives(sign * (self._offset + mean) / sd)
        result = TiltedMoments(value, sign * slope / sd, curvature / sd**2)
        return result.of_powers(super().tilted_moments, y, mean, variance, power)

    def decision(self, mean, variance):
        """Return Phi^-1 of P(+1), (n,).

        That is offset and latent mean, over sqrt(1 + latent variance) and the temperature.
        """
        return self._tempered(self._offset + mean[:, 0], variance[:, 0])

    @staticmethod
    def _log_link(f):
        return log_ndtr(f)

    @staticmethod
    def _derivatives(f):
        return log_normal_derivatives(f)

    @staticmethod
    def _link_inverse_at(log_odds):
        # at the rarer class, whose probability has all its digits
        return -np.sign(log_odds) * ndtri_exp(log_expit(-np.abs(log_odds)))

    def _log_probability(self, mean, variance):
        return log_ndtr(self._tempered(mean, variance))

    def _tempered(self, mean, variance):
        return mean / (self.temperature * np.sqrt(1.0 + variance))


class Logit(_Bernoulli):
    """p(y | f) = 1 / (1 + exp(-y (offset + f))).

    Parameters
    ----------
    offset : float or None, default=None
        Prior mean of the log odds. None: the estimator takes the log odds of the frequency of the
        second class, by weight; outside of an estimator 0.
    temperature : float, default=1.0
        What the log odds of predicted probabilities are divided by, positive. Learning does not use
        it. `AnytimeSGPClassifier` chooses its own where it learns the kernel, without ``max_time``
        and ``offset_column``.
    """

    @staticmethod
    def _log_link(f):
        return log_expit(f)

    @staticmethod
    def _derivatives(f):
        other = expit(-f)
        return log_expit(f), other, -other * (1.0 - other)

    @staticmethod
    def _link_inverse_at(log_odds):
        return log_odds

    def _log_probability(self, mean, variance):
        # the smaller of the two probabilities keeps its digits
        (tail,) = gaussian_expectations(lambda f, rows: (expit(-f),), np.abs(mean), variance)
        tail = np.maximum(tail, SMALLEST_PROBABILITY)  # one that underflowed has a logarithm too
        if self.temperature != 1.0:
            log_odds = (np.log(tail) - np.log1p(-tail)) / self.temperature
            return log_expit(np.where(mean < 0, log_odds, -log_odds))
        return np.where(mean < 0, np.log(tail), np.log1p(-tail))
