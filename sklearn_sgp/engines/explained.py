"""How much of the targets a fit explains, beside what neighbours explain of them."""

import numpy as np

from .._parallel import single_openmp_thread
from .._warnings import warn_caller
from ..data.column_spread import column_mean_std

EXPLAINED_ROWS = 2000
_LEAST_EXPLAINED_ROWS = 60
_N_NEIGHBOURS = 5
# A fit that explains less than the first share of the variance is weak where neighbours explain
# more than the second; of pure noise five neighbours explain -0.2 on average.
_LITTLE, _CLEARLY_MORE = 0.01, 0.1
# Another start is tried where the bound explains less than such a share of the labels' entropy, or
# less than this share of what neighbours explain of their variance. Fits of seven real tables
# explain 0.28 and more, and 0.95 times as much as neighbours and more; fits that had missed what
# there was (160 and 240 rows of 23 columns, 300 and 500 rows of three classes with two periods in
# the plane) explained 0.107 or less, or 0.28 with 0.65 of neighbours found from another start.
_LITTLE_EVIDENCE, _SHARE_OF_NEIGHBOURS = 0.2, 0.6


def predicted_at_some(rows, posterior, likelihood):
    """Return some rows, and what q(u) predicts of them.

    Returns
    -------
    rows : Rows
    predicted : ndarray of shape (n, t)
        Means of the targets, or probabilities of the classes.
    """
    rows = rows.fixed_subset(EXPLAINED_ROWS)
    X = np.asarray(rows.X, dtype=np.float64)
    if not _has_classes(likelihood):
        return rows, posterior.mean(X)
    mean, variance = posterior.mean_variance(X)
    variance = np.broadcast_to(variance, mean.shape)
    return rows, likelihood.probabilities(rows.shifted(mean), variance)


def warn_of_unexplained(rows, predicted, likelihood):
    """Warn where predictions explain nothing of targets that neighbours predict.

    Predicted are means of the targets, or probabilities of the classes, (n, t). No other likelihood
    is looked at than those of classes, and of regression with the mean of q(u) as its own.
    """
    if not _can_tell(rows, likelihood):
        return
    y = _targets(rows, likelihood, predicted.shape[1])
    if hasattr(likelihood, "within_limits"):  # the function goes on beyond them
        y, predicted = (likelihood.within_limits(each) for each in (y, predicted))
    explained = _explained(y, predicted)
    if not explained < _LITTLE:
        return
    by_neighbours = _explained_by_neighbours(np.asarray(rows.X, dtype=np.float64), y)
    if by_neighbours > _CLEARLY_MORE:
        warn_caller(
            f"The fit explains {max(explained, 0.0):.1%} of the variance of y, while the nearest "
            f"neighbours of held-out rows explain {by_neighbours:.0%}: the function may vary "
            "faster or slower than the starting values let learning see. Give a `kernel` with "
            "shorter or longer length scales, in units of X, and perhaps a larger n_inducing."
        )


def neighbours_explain(rows, likelihood):
    """Return whether neighbours predict targets; of missing ones nothing is known."""
    rows = rows.fixed_subset(EXPLAINED_ROWS)
    if len(rows) < 2 * _N_NEIGHBOURS or np.isnan(rows.y).any():
        return False
    y = _targets(rows, likelihood, int(max(rows.y.shape[1], rows.y.max() + 1, 2)))
    return _explained_by_neighbours(np.asarray(rows.X, dtype=np.float64), y) > _CLEARLY_MORE


def is_doubtful(problem, fitted, value):
    """Return whether a default kernel explains so little of classes that another start may do more.

    The bound tells how much of the entropy of the labels is explained, neighbours how much there is
    to explain at least. ``value`` is the bound.
    """
    likelihood, is_default = fitted.likelihood, "theta" in problem.start.with_default_bounds
    if not (_has_classes(likelihood) and problem.learns and is_default):
        return False
    rows, predicted = predicted_at_some(problem.rows, fitted.posterior, likelihood)
    if not _can_tell(rows, likelihood):
        return False
    y = _targets(rows, likelihood, predicted.shape[1])
    entropy = _entropy(np.average(y, axis=0, weights=rows.observations))
    share = 1.0 + value / (problem.rows.total_weight * entropy)
    by_neighbours = _explained_by_neighbours(np.asarray(rows.X, dtype=np.float64), y)
    return share < _LITTLE_EVIDENCE or share < _SHARE_OF_NEIGHBOURS * by_neighbours


def hardly_explains(problem, fitted):
    """Return whether q(u) of regressions of classes explains hardly anything of their labels."""
    is_default = "theta" in problem.start.with_default_bounds
    rows = problem.rows.fixed_subset(EXPLAINED_ROWS)
    if not (problem.learns and is_default and _can_tell(rows, fitted.likelihood)):
        return False
    place = rows.y.argmax(axis=1)[:, None]
    mean, variance = fitted.posterior.mean_variance(np.asarray(rows.X, dtype=np.float64))
    variance = np.broadcast_to(variance, mean.shape)
    log_p = fitted.likelihood.log_predictive_density(place, mean, variance)
    return explains_little(rows, np.average(log_p, weights=rows.observations))


def explains_little(rows, log_p):
    """Return whether a mean log probability of regressions' labels is hardly above that of chance.

    The rows are of classes as regressions.
    """
    rows = rows.fixed_subset(EXPLAINED_ROWS)
    y = rows.y == rows.y.max(axis=1, keepdims=True)
    return explains_little_of(np.average(y, axis=0, weights=rows.observations), log_p)


def explains_little_of(of_class, log_p):
    """Return whether a mean log probability of labels is hardly above that by frequencies.

    ``of_class`` is what the labels of each class count.
    """
    return log_p > -np.inf and 1.0 + log_p / _entropy(of_class) < _LITTLE_EVIDENCE


def is_below_chance(of_class, log_p):
    """Return whether a mean log probability of labels is below that by frequencies; see above."""
    return log_p < -_entropy(of_class)


def _entropy(of_class):
    """Return the entropy of classes, in nats a row, by what the rows of each count, (C,)."""
    frequencies = of_class[of_class > 0.0] / of_class.sum()
    return -float(frequencies @ np.log(frequencies)) or 1.0


def has_own_mean(likelihood):
    """Return whether the mean of the function is that of the targets."""
    return likelihood.scales_targets and likelihood.identity_mean


def _has_classes(likelihood):
    return hasattr(likelihood, "probabilities")


def _can_tell(rows, likelihood):
    """Return whether targets may be explained, and rows are enough to tell."""
    if not (has_own_mean(likelihood) or _has_classes(likelihood)):
        return False
    return min(len(rows), rows.total_weight) >= _LEAST_EXPLAINED_ROWS and not np.isnan(rows.y).any()


def _targets(rows, likelihood, n_outputs):
    """Return targets; those of classes are 1 for that of a row and 0 for others."""
    if not _has_classes(likelihood):
        return rows.targets
    if rows.of_classes:
        place = rows.y.argmax(axis=1)
    else:
        place = np.maximum(rows.y[:, 0], 0.0).astype(np.intp)  # two classes are -1 and 1
    return np.eye(n_outputs)[place]


def _explained(y, predicted, of_constants=1.0):
    """Return the share of the variance of y that is explained, all outputs together.

    Constants, and numbers so small that their squares are zero, have a share that is given.
    """
    squares = ((y - y.mean(axis=0)) ** 2).sum()
    if not (np.ptp(y, axis=0).any() and squares):
        return of_constants
    return 1.0 - ((y - predicted) ** 2).sum() / squares


def _explained_by_neighbours(X, y):
    """Return that share by five neighbours among half of the rows, for the other half.

    There is none to explain where that half has one class alone, as where a class has few rows.
    """
    from sklearn.neighbors import KNeighborsRegressor  # not needed by most fits

    X = X / column_mean_std(X, None)[1]
    order = np.random.RandomState(0).permutation(len(X))
    known, held_out = order[: len(X) // 2], order[len(X) // 2 :]
    model = KNeighborsRegressor(_N_NEIGHBOURS).fit(X[known], y[known])
    with single_openmp_thread():  # few rows: see `partitions.search`
        predicted = model.predict(X[held_out])
    return _explained(y[held_out], predicted, of_constants=0.0)
