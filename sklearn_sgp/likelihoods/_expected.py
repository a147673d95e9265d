"""Expected log densities of a likelihood that gives log p(y | f) alone, by the trapezoidal rule.

Derivatives follow from values: those of E[l(f)] in mean and variance are E[l(f) z] / sd and
E[l(f) (z^2 - 1)] / (2 variance), z = (f - mean) / sd (docs/theory.md, section 13).
"""

import numpy as np

# Nodes in standard deviations, whose outermost have a density of 1e-14 of the peak.
_DEVIATIONS = np.arange(-40, 41) * 0.2
_NODE_WEIGHTS = np.exp(-0.5 * _DEVIATIONS**2) / np.exp(-0.5 * _DEVIATIONS**2).sum()
# Smaller deviations leave no digits of a second derivative, and change it by 1e-8.
_LEAST_DEVIATION = 1e-4
# Step of differences in the logarithms of a likelihood's own parameters.
_LOG_STEP = 1e-4


def expected_by_quadrature(likelihood, y, mean, variance):
    """Return value (n,), derivatives in mean and variance, (n, t), and in theta, (n, k) or None."""
    mean, variance = np.broadcast_arrays(mean, variance)
    d_mean, d_variance, value = np.empty(mean.shape), np.empty(mean.shape), np.zeros(len(y))
    sd = np.maximum(np.sqrt(variance), _LEAST_DEVIATION)
    for c in range(mean.shape[1]):
        log_p, own = _at_nodes(likelihood, y, mean, sd, c), sd[:, c]
        value += log_p @ _NODE_WEIGHTS
        # a constant has no derivative, but rounding
        log_p = log_p - log_p[:, [len(_DEVIATIONS) // 2]]
        d_mean[:, c] = log_p @ (_NODE_WEIGHTS * _DEVIATIONS) / own
        d_variance[:, c] = 0.5 * log_p @ (_NODE_WEIGHTS * (_DEVIATIONS**2 - 1.0)) / own**2
    return value, d_mean, d_variance, _in_theta(likelihood, y, mean, sd)


def _at_nodes(likelihood, y, mean, sd, c):
    f = mean[:, c : c + 1] + sd[:, c : c + 1] * _DEVIATIONS
    return likelihood.for_output(c).log_density(y[:, c : c + 1], f)


def _in_theta(likelihood, y, mean, sd):
    """Return derivatives of the value in the likelihood's own parameters, by differences."""
    theta = likelihood.theta
    if not len(theta):
        return None
    slopes = np.zeros((len(y), len(theta)))
    for i in range(len(theta)):
        for sign in (1.0, -1.0):
            moved = theta.copy()
            moved[i] += sign * _LOG_STEP
            one = likelihood.with_theta(moved)
            for c in range(mean.shape[1]):
                slopes[:, i] += sign * (_at_nodes(one, y, mean, sd, c) @ _NODE_WEIGHTS)
    return slopes / (2.0 * _LOG_STEP)
