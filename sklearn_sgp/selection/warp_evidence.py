"""Evidence of kernel, noise and a warp, for targets as they came, with its gradient.

    log p(y_B | y_N) = log N(phi(y_B); given phi(y_N)) + sum of w log phi'(y_n) over the rows of B

(Snelson, Rasmussen & Ghahramani 2004; docs/theory.md, eq. 51), by groups of near rows, or by all
rows as one group: then it is the evidence of the exact process.
"""

import numpy as np

from ..data.warps import tanh_sum, tanh_sum_gradient
from ..objectives.composite_likelihood import CompositeLikelihood


class WarpedEvidence:
    """A function of `Parameters` that returns this evidence and its gradient.

    The group "warp" of the parameters holds those of `shapes.TanhSum`; without it the targets are
    scaled only. What is learned from has mean 0 and variance 1 whatever the warp.

    Parameters
    ----------
    groups : list of ConditionedRows
        Each has one group, of one output.
    reference : ndarray of shape (m,)
        Targets that say what mean 0 and variance 1 are.
    weight : ndarray of shape (m,)
        Of these.
    """

    def __init__(self, groups, reference, weight, n_jobs=None):
        self._evidence = CompositeLikelihood(groups, n_jobs)
        self._reference, self._share = reference, weight / weight.sum()
        before = [k for _, k in self._evidence.targets]
        sizes = [len(y) for y, _ in self._evidence.targets]
        self._t = np.concatenate([y[:, 0] for y, _ in self._evidence.targets])
        self._edges = np.cumsum(sizes)[:-1]
        counts = zip(before, self._evidence.counts, strict=True)
        self._counts = np.concatenate([np.append(np.zeros(k), own) for k, own in counts])
        self.weight = self._evidence.weight

    def __call__(self, parameters):
        psi = parameters.values.get("warp")
        if psi is None:
            center, scale = self._scaling(self._reference)
            value, gradient, _ = self._at(parameters, (self._t - center) / scale)
            return value - self._counts.sum() * np.log(scale), gradient
        of_reference, _, d_reference, _ = tanh_sum_gradient(self._reference, psi)
        center, scale = self._scaling(of_reference)
        standard = (of_reference - center) / scale
        d_center, d_scale = self._share @ d_reference, (self._share * standard) @ d_reference
        values, log_slope, d_values, d_log_slope = tanh_sum_gradient(self._t, psi)
        z = (values - center) / scale
        value, gradient, of_z = self._at(parameters, z)
        value += self._counts @ (log_slope - np.log(scale))
        of_warp = self._counts @ d_log_slope - self._counts.sum() * d_scale / scale
        of_warp += (of_z @ (d_values - d_center) - (of_z @ z) * d_scale) / scale
        gradient["warp"] = of_warp
        return value, gradient

    def value(self, parameters):
        """Return the evidence alone: what no gradient is needed for."""
        psi, values, of_reference = parameters.values.get("warp"), self._t, self._reference
        slope = np.ones(len(values))
        if psi is not None:
            of_reference, (values, slope) = tanh_sum(of_reference, psi)[0], tanh_sum(values, psi)
        center, scale = self._scaling(of_reference)
        value = self._evidence.value(parameters, self._in_groups((values - center) / scale))
        return value + self._counts @ np.log(slope / scale)

    def _scaling(self, values):
        center = self._share @ values
        return center, np.sqrt(self._share @ (values - center) ** 2)

    def _at(self, parameters, z):
        targets = self._in_groups(z)
        value, gradient, slopes = self._evidence.of_targets(parameters, targets)
        return value, gradient, np.concatenate(slopes)[:, 0]

    def _in_groups(self, z):
        """Return targets (n, 1) of each group."""
        return [np.ascontiguousarray(part[:, None]) for part in np.split(z, self._edges)]
