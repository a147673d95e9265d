"""Moments of p(y | f)^power N(f; mean, variance): what expectation propagation asks of a row.

Where no closed form is known, by the trapezoidal rule between the places where the integrand has
become negligible, which are looked for row by row (docs/theory.md, section 13).
"""

from typing import NamedTuple

import numpy as np

# Nodes of the first rule. It is repeated with twice as many for rows of which every other node
# tells a share that is off by so much: the error of the rule is some square of that.
_TILTED_NODES, _MOST_TILTED_NODES, _HALF_RULE_ERROR = 65, 2000, 1e-5
# The integrand is cut where it is exp of minus this of its largest value.
_NEGLIGIBLE_DROP = 40.0
# The first nodes reach so many deviations of N(mean, variance) to each side. Where the integrand is
# not within, or only in a part as small as this, others are laid, so many times.
_FIRST_REACH, _LEAST_FILLED, _MOST_MOVES = 9.0, 0.4, 40


class TiltedMoments(NamedTuple):
    """The integral of p(y | f)^power N(f; mean, variance), and its derivatives in the mean.

    Attributes
    ----------
    log_integral : ndarray of shape (n,)
    slope, curvature : ndarray of shape (n,)
        First and second derivative of the logarithm. The tilted distribution has the mean ``mean +
        variance * slope`` and the variance ``variance * (1 + variance * curvature)``.
    """

    log_integral: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray

    def of_powers(self, by_quadrature, y, mean, variance, power):
        """Return the same where the power is 1, for which they are; else those by quadrature.

        Parameters
        ----------
        by_quadrature : callable
            ``tilted_moments`` of a likelihood without closed form.
        y, mean, variance, power : ndarray
            What that takes, for all rows.
        """
        rows = np.flatnonzero(power != 1.0)
        if len(rows):
            parts = y[rows], mean[rows], variance[rows], power[rows]
            for out, part in zip(self, by_quadrature(*parts), strict=True):
                out[rows] = part
        return self


def tilted_by_quadrature(log_density, mean, variance):
    """Return `TiltedMoments` by the trapezoidal rule.

    Parameters
    ----------
    log_density : callable
        ``log_density(f, rows)`` gets f of shape (k, n_nodes) and the index of these rows.
    mean, variance : ndarray of shape (n,)
    """
    rule = _Rule(log_density, mean, np.sqrt(variance))
    result, rows, count = (
        TiltedMoments(*np.empty((3, len(mean)))),
        np.arange(len(mean)),
        _TILTED_NODES,
    )
    rule.look_for_ends()
    while len(rows):
        parts, is_exact = rule.moments(rows, count)
        for out, part in zip(result, parts, strict=True):
            out[rows] = part
        rows, count = rows[~is_exact & (count < _MOST_TILTED_NODES)], 2 * count - 1
    return result


class _Rule:
    """The trapezoidal rule between two ends for each row."""

    def __init__(self, log_density, mean, sd):
        self.log_density, self.mean, self.sd = log_density, mean, sd
        self.first = np.empty((2, len(mean), _TILTED_NODES))  # values at the first nodes
        # in deviations from the mean
        self.low, self.high = np.full(len(mean), -_FIRST_REACH), np.full(len(mean), _FIRST_REACH)

    def values(self, rows, count):
        """Return log integrands at so many nodes, and these in deviations from the mean."""
        low, high = self.low[rows, None], self.high[rows, None]
        away = low + (high - low) * np.linspace(0.0, 1.0, count)
        f = self.mean[rows, None] + self.sd[rows, None] * away
        return self.log_density(f, rows) - 0.5 * away**2, away

    def look_for_ends(self):
        """Move the ends to where the integrand becomes negligible."""
        rows = np.arange(len(self.mean))
        for _ in range(_MOST_MOVES):
            value, away = self.values(rows, _TILTED_NODES)
            self.first[0][rows], self.first[1][rows] = value, away
            counts = value > value.max(axis=1, keepdims=True) - _NEGLIGIBLE_DROP
            last = _TILTED_NODES - 1
            a, b = counts.argmax(axis=1), last - counts[:, ::-1].argmax(axis=1)
            moves = (a == 0) | (b == last) | (b - a < _LEAST_FILLED * last)
            rows, a, b = rows[moves], a[moves], b[moves]
            if not len(rows):
                return
            low, width = self.low[rows], (self.high - self.low)[rows]
            self.low[rows] = low + width * np.where(a == 0, -0.5, (a - 1) / last)
            self.high[rows] = low + width * np.where(b == last, 1.5, (b + 1) / last)
        self.first[0][rows], self.first[1][rows] = self.values(rows, _TILTED_NODES)

    def moments(self, rows, count):
        """Return moments of some rows, and a mask of those that half of the nodes tell, too."""
        if count == _TILTED_NODES and len(rows) == len(self.mean):
            value, away = self.first
        else:
            value, away = self.values(rows, count)
        peak = value.max(axis=1)
        with np.errstate(invalid="ignore"):  # zero everywhere: NaN, which who asks looks for
            value = np.exp(value - peak[:, None])
        total, sd = value.sum(axis=1), self.sd[rows]
        half = 2.0 * value[:, ::2].sum(axis=1)
        first = np.einsum("ij,ij->i", value, away) / total
        second = np.einsum("ij,ij->i", value, (away - first[:, None]) ** 2) / total
        step = (self.high - self.low)[rows] / (count - 1)
        log_integral = peak + np.log(total * step) - 0.5 * np.log(2.0 * np.pi)
        moments = log_integral, first / sd, (second - 1.0) / sd**2
        return moments, np.abs(half - total) < _HALF_RULE_ERROR * total
