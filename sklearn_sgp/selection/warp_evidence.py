"""Evidence of kernel, noise and a warp, for targets as they came, with its gradient.

    log p(y_B | y_N) = log N(phi(y_B); given phi(y_N)) + sum of w log phi'(y_n) over the rows of B

(Snelson, Rasmussen & Ghahramani 2004; docs/theory.md, eq. 51), by groups of near rows, or by all
rows as one group: then it is the evidence of the exact process.
"""

from typing import NamedTuple

import numpy as np

from ..data.warps import tanh_sum_gradient
from ..objectives.composite_likelihood import CompositeLikelihood
from ..objectives.scores import Score
from ..predict.rounded import log_mean_density
from .warp_bases import LineBase

AS_THEY_ARE = LineBase(0.0, 1.0)
_TINY = np.finfo(np.float64).tiny


class _Targets(NamedTuple):
    """Values of targets and of the ends of their intervals, before a learned warp.

    Attributes
    ----------
    value, low, high : ndarray of shape (n,)
    log_slope : ndarray of shape (n,)
        Of the value in t.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log_slope: np.ndarray


class WarpedEvidence:
    """A function of `Parameters` that returns this evidence and its gradient.

    The group "warp" of the parameters holds those of `shapes.TanhSum`; without it the targets are
    scaled only. What is learned from has mean 0 and variance 1 whatever the warp. Slopes of targets
    that were rounded are means over their intervals: a spike within one has no gain. Nor is a
    spike at 0 taken where 0 stands for all below: the score of a row there is the log of the
    probability of 0.

    Parameters
    ----------
    groups : list of ConditionedRows
        Each has one group, of one output.
    reference : ndarray of shape (m,)
        Targets that say what mean 0 and variance 1 are.
    weight : ndarray of shape (m,)
        Of these.
    before : LineBase or PowerBase
        What is done to targets before the warp; see `warp_bases`.
    step : float
        That targets were rounded to, 0 where they were not.
    """

    def __init__(self, groups, reference, weight, n_jobs=None, before=AS_THEY_ARE, step=0.0):
        self._evidence = CompositeLikelihood(groups, n_jobs)
        self._reference, self._share = before.value(reference), weight / weight.sum()
        n_before = [k for _, k in self._evidence.targets]
        sizes = [len(y) for y, _ in self._evidence.targets]
        t = np.concatenate([y[:, 0] for y, _ in self._evidence.targets])
        low, high = before.low_end(t, t - 0.5 * step) if step else t, t + 0.5 * step
        self._width = high - low
        parts = [before.value(part) for part in (t, low, high)]
        self._t = _Targets(*parts, before.log_slope(t))
        self._edges = np.cumsum(sizes)[:-1]
        counts = list(zip(n_before, self._evidence.counts, strict=True))
        self._counts = np.concatenate([np.append(np.zeros(k), own) for k, own in counts])
        self._own = np.concatenate([np.arange(k + len(own)) >= k for k, own in counts])
        self._is_atom, self._top_of_atom = before.is_atom(t), before.top_of_atom
        self.weight = self._evidence.weight

    def __call__(self, parameters):
        psi = parameters.values.get("warp")
        if psi is None:
            center, scale = self._scaling(self._reference)
            value, gradient, _ = self._at(parameters, (self._t.value - center) / scale)
            return value + self._counts @ (self._log_slope() - np.log(scale)), gradient
        of_reference, _, d_reference, _ = tanh_sum_gradient(self._reference, psi)
        center, scale = self._scaling(of_reference)
        standard = (of_reference - center) / scale
        d_center, d_scale = self._share @ d_reference, (self._share * standard) @ d_reference
        values, log_slope, d_values, d_log_slope = self._warped(psi)
        z = (values - center) / scale
        value, gradient, of_z = self._at(parameters, z)
        value += self._counts @ (log_slope - np.log(scale))
        of_warp = self._counts @ d_log_slope - self._counts.sum() * d_scale / scale
        of_warp += (of_z @ (d_values - d_center) - (of_z @ z) * d_scale) / scale
        gradient["warp"] = of_warp
        return value, gradient

    def value(self, parameters):
        """Return the evidence alone: what no gradient is needed for."""
        psi, values, of_reference = parameters.values.get("warp"), self._t.value, self._reference
        log_slope = self._log_slope()
        if psi is not None:
            values, log_slope, _, _ = self._warped(psi)
            of_reference = tanh_sum_gradient(of_reference, psi)[0]
        center, scale = self._scaling(of_reference)
        value = self._evidence.value(parameters, self._split((values - center) / scale))
        return value + self._counts @ (log_slope - np.log(scale))

    def score(self, likelihood, parameters):
        """Return the log density of each row given those before it, rounded or not: `Score`.

        The likelihood is Gaussian.
        """
        psi, (value, low, high, _) = parameters.values.get("warp"), self._t
        log_slope, reference, top = self._log_slope(), self._reference, self._top_of_atom
        if psi is not None:
            _, log_slope, _, _ = self._warped(psi)
            parts = (reference, value, low, high, top)
            reference, value, low, high, top = (tanh_sum_gradient(one, psi)[0] for one in parts)
        center, scale = self._scaling(reference)
        z = (value - center) / scale
        mean, variance = self._evidence.in_turn(parameters, self._split(z))
        own, width = self._own, (high - low) / scale
        middle = np.where(width > 0.0, 0.5 * (low + high) - center, value - center) / scale
        columns = middle[own, None], width[own, None], mean, variance, 0.0
        each = log_mean_density(likelihood, *columns) + (log_slope - np.log(scale))[own]
        atom = self._is_atom[own]
        edge = np.full((np.count_nonzero(atom), 1), (top[0] - center) / scale)
        below = likelihood.cdf(edge, mean[atom], variance[atom], 0.0)
        each[atom] = np.log(np.maximum(below[:, 0], _TINY))
        return Score(each, self._counts[own])

    def _log_slope(self):
        """Return logs of the slopes before a warp, or of their means over the intervals."""
        _, low, high, log_slope = self._t
        rounded = self._width > 0.0
        width = np.where(rounded, self._width, 1.0)
        return np.where(rounded, np.log(np.where(rounded, high - low, 1.0) / width), log_slope)

    def _warped(self, psi):
        """Return values and log slopes, (n,), and their derivatives in the warp, (n, 9)."""
        value, low, high, before = self._t
        values, log_slope, d_values, d_log_slope = tanh_sum_gradient(value, psi)
        log_slope = log_slope + before
        if self._width.any():
            (at_low, _, d_low, _), (at_high, _, d_high, _) = (
                tanh_sum_gradient(end, psi) for end in (low, high)
            )
            rounded = self._width > 0.0
            rise = np.where(rounded, at_high - at_low, 1.0)
            width = np.where(rounded, self._width, 1.0)
            log_slope = np.where(rounded, np.log(rise / width), log_slope)
            mean_slope = (d_high - d_low) / rise[:, None]
            d_log_slope = np.where(rounded[:, None], mean_slope, d_log_slope)
        return values, log_slope, d_values, d_log_slope

    def _scaling(self, values):
        center = self._share @ values
        return center, np.sqrt(self._share @ (values - center) ** 2)

    def _split(self, z):
        return [np.ascontiguousarray(part[:, None]) for part in np.split(z, self._edges)]

    def _at(self, parameters, z):
        value, gradient, slopes = self._evidence.of_targets(parameters, self._split(z))
        return value, gradient, np.concatenate(slopes)[:, 0]
