"""What a likelihood says of targets of which some are NaN: not observed, so they say nothing."""

import numpy as np

from .varying_noise import each_output


def _seen_of_each(likelihood, y, noise):
    """Yield number, rows, likelihood and noise of each output that was observed in some rows."""
    seen = ~np.isnan(y)
    for p, (_, one, own_noise) in enumerate(each_output(likelihood, noise, y.shape[1])):
        rows = np.flatnonzero(seen[:, p])
        if len(rows):
            yield p, np.ix_(rows, [p]), one, own_noise


def check_observed(likelihood, y):
    """Refuse targets (n, t) that the likelihood gives no density; those that are NaN may be."""
    if not np.isnan(y).any():
        likelihood.check_targets(y)
        return
    for _, at, one, _ in _seen_of_each(likelihood, y, None):
        one.check_targets(y[at])


def expected_log_density(likelihood, y, mean, variance, noise):
    """Return the `ExpectedLogDensity` of the targets that were observed.

    ``noise`` is as the likelihood takes it.
    """
    if not np.isnan(y).any():
        return likelihood.expected_log_density(y, mean, variance, noise)
    value, k = np.zeros(len(y)), len(likelihood.theta)
    d_mean, d_variance, d_log_noise = (np.zeros(y.shape) for _ in range(3))
    d_theta = np.zeros((len(y), k)) if k else None
    for p, at, one, own_noise in _seen_of_each(likelihood, y, noise):
        rows = at[0][:, 0]
        expected = one.expected_log_density(y[at], mean[at], variance[at], own_noise)
        value[rows] += expected.value
        d_mean[at], d_variance[at] = expected.d_mean, expected.d_variance
        d_log_noise[at] = expected.d_log_noise.reshape(len(rows), -1)
        if k:
            d_theta[np.ix_(rows, places_of_theta(likelihood, one, p))] += expected.d_theta
    return type(expected)(value, d_mean, d_variance, d_log_noise, d_theta)


def log_predictive_density(likelihood, y, mean, variance, noise):
    """Return the log density of the targets that were observed, summed over outputs, (n,)."""
    if not np.isnan(y).any():
        return likelihood.log_predictive_density(y, mean, variance, noise)
    log_p = np.zeros(len(y))
    for _, at, one, own_noise in _seen_of_each(likelihood, y, noise):
        own = one.log_predictive_density(y[at], mean[at], variance[at], own_noise)
        log_p[at[0][:, 0]] += own
    return log_p


def places_of_theta(likelihood, one, output):
    """Return where the parameters of one output are among those of all.

    All of them where the outputs share them; else each output has one.

    Raises
    ------
    ValueError
        If an output has several of its own.
    """
    k, own = len(likelihood.theta), len(one.theta)
    if own == k:
        return np.arange(k)
    if own == 1:
        return np.array([output])
    raise ValueError(
        "Targets may be NaN where outputs share all parameters of the likelihood that are learned, "
        f"or each has one. Got {likelihood!r}, of whose {k} parameters one output has {own}."
    )
