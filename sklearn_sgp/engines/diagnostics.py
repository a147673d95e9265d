"""What a fit says of its weak spots: bounds, too few iterations, variance left unexplained."""

import numpy as np

from .._warnings import warn_caller
from ..kernels.categories._node import category_slots

_EXPLAINED_ROWS = 2000
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


def warn_of_weak_spots(problem, result, uses_blocks=False):
    """Warn of what makes a fit doubtful that was left to learn, each with its cure.

    Parameters
    ----------
    uses_blocks : bool
        Whether predictions rest on more than the mean of q(u), which then need not explain.
    """
    trace = problem.trace
    if not problem.learns or trace.stopped or problem.is_interim:
        return
    warn_at_bounds(problem.start, result.parameters)
    if trace.cut_by == "max_iter":
        warn_of_max_iter(problem.settings.max_iter)
    elif trace.cut_by is None and not uses_blocks:
        warn_of_unexplained(problem.rows, result.posterior, result.likelihood)


def warn_at_bounds(start, parameters):
    """Warn where a kernel parameter or the noise variance is at a bound that the user chose.

    Default bounds are far apart: noise-free targets end at one, and there is nothing to mend. So it
    is with a category that has no part of its own, or nothing in common with others.

    Parameters
    ----------
    parameters : Parameters
        As learned.
    """
    for name in ("theta", "log_noise"):
        if not start.space.learns(name) or name in start.with_default_bounds:
            continue
        values = np.ravel(parameters.values[name])
        lower, upper = start.space.group(name).bounds.T
        free = ~np.isclose(lower, upper)
        if name == "theta":
            for diagonal, factor, _ in category_slots(parameters.expression):
                free[diagonal] = free[factor] = False
        at_lower = np.flatnonzero(free & np.isclose(values, lower))
        at_upper = np.flatnonzero(free & np.isclose(values, upper))
        for which, bounds, words in (
            (at_lower, lower, ("lower", "Decreasing")),
            (at_upper, upper, ("upper", "Increasing")),
        ):
            if name == "theta":
                labels = list(_names(parameters.expression.kernel))
                for k in which:
                    _warn_at_bound(labels[k], bounds[k], *words)
            elif len(which):
                _warn_at_bound(_noise_label(which, len(values)), bounds[0], *words)


def _noise_label(which, n_outputs):
    if n_outputs == 1:
        return "noise_variance"
    return f"noise_variance of output {', '.join(map(str, which))}"


def _warn_at_bound(label, bound, end, change):
    warn_caller(
        f"The optimal value found for {label} is close to the specified {end} bound "
        f"{np.exp(bound):g}. {change} the bound and calling fit again may find a better value."
    )


def warn_of_max_iter(max_iter):
    """Warn that learning ended while the objective rose."""
    warn_caller(
        f"max_iter={max_iter} iterations ended learning while the objective was still rising by "
        "more than tol. Raise max_iter, or tol if the model is good enough."
    )


def _names(kernel):
    """Yield names of the entries of theta."""
    for parameter in kernel.hyperparameters:
        if not parameter.fixed:
            for i in range(parameter.n_elements):
                yield f"dimension {i} of parameter {parameter.name} of the kernel"


def warn_of_unexplained(rows, posterior, likelihood):
    """Warn where q(u) explains nothing of targets that neighbours predict.

    Parameters
    ----------
    likelihood : Likelihood
        Of classes, or of regression with the mean of q(u) as its own; no other is looked at.
    """
    sample = _looked_at(rows, likelihood)
    if sample is None:
        return
    X, y, explained = _explained_by(posterior, sample, likelihood)
    if not explained < _LITTLE:
        return
    by_neighbours = _explained_by_neighbours(X, y)
    if by_neighbours > _CLEARLY_MORE:
        warn_caller(
            f"The fit explains {max(explained, 0.0):.1%} of the variance of y, while the nearest "
            f"neighbours of held-out rows explain {by_neighbours:.0%}: the function may vary "
            "faster than the starting values let learning see. Give a `kernel` with shorter length "
            "scales, in units of X, and perhaps a larger n_inducing."
        )


def is_doubtful(problem, fitted, value):
    """Return whether a default kernel explains so little of classes that another start may do more.

    The bound tells how much of the entropy of the labels is explained, neighbours how much there
    is to explain at least.

    Parameters
    ----------
    value : float
        The bound.
    """
    likelihood, is_default = fitted.likelihood, "theta" in problem.start.with_default_bounds
    if not (_has_classes(likelihood) and problem.learns and is_default):
        return False
    sample = _looked_at(problem.rows, likelihood)
    if sample is None:
        return False
    X, y, _ = _explained_by(fitted.posterior, sample, likelihood)
    share = 1.0 + value / (problem.rows.total_weight * _entropy(y, sample.observations))
    return share < _LITTLE_EVIDENCE or share < _SHARE_OF_NEIGHBOURS * _explained_by_neighbours(X, y)


def hardly_explains(problem, fitted):
    """Return whether q(u) of regressions of classes explains hardly anything of their labels."""
    is_default = "theta" in problem.start.with_default_bounds
    sample = _looked_at(problem.rows, fitted.likelihood)
    if sample is None or not (problem.learns and is_default) or problem.trace.stopped:
        return False
    place = sample.y.argmax(axis=1)[:, None]
    mean, variance = fitted.posterior.mean_variance(np.asarray(sample.X, dtype=np.float64))
    variance = np.broadcast_to(variance, mean.shape)
    log_p = fitted.likelihood.log_predictive_density(place, mean, variance)
    return explains_little(sample, np.average(log_p, weights=sample.observations))


def explains_little(rows, log_p):
    """Return whether a mean log probability of regressions' labels is hardly above that of chance.

    Parameters
    ----------
    rows : Rows
        Of classes as regressions.
    """
    sample = rows.select(slice(None, None, -(-len(rows) // _EXPLAINED_ROWS)))
    y = sample.y == sample.y.max(axis=1, keepdims=True)
    return log_p > -np.inf and 1.0 + log_p / _entropy(y, sample.observations) < _LITTLE_EVIDENCE


def _entropy(y, weight):
    """Return the entropy of classes (n, C), in nats a row."""
    frequencies = np.average(y, axis=0, weights=weight)
    frequencies = frequencies[frequencies > 0.0]
    return -float(frequencies @ np.log(frequencies)) or 1.0


def _looked_at(rows, likelihood):
    """Return some rows whose targets may be explained; None where they are few, or cannot be."""
    has_own_mean = likelihood.scales_targets and likelihood.identity_mean
    can_tell = has_own_mean or _has_classes(likelihood)
    if not can_tell or min(len(rows), rows.total_weight) < _LEAST_EXPLAINED_ROWS:
        return None
    sample = rows.select(slice(None, None, -(-len(rows) // _EXPLAINED_ROWS)))
    return None if np.isnan(sample.y).any() else sample


def _has_classes(likelihood):
    return hasattr(likelihood, "probabilities")


def _explained_by(posterior, rows, likelihood):
    """Return inputs, targets, and the share of their variance that q(u) explains.

    Targets of classes are 1 for that of a row and 0 for others, to be explained by probabilities.
    """
    X = np.asarray(rows.X, dtype=np.float64)
    if not _has_classes(likelihood):
        return X, rows.targets, _explained(rows.targets, posterior.mean(X))
    mean, variance = posterior.mean_variance(X)
    predicted = likelihood.probabilities(mean, np.broadcast_to(variance, mean.shape))
    if rows.of_classes:
        place = rows.y.argmax(axis=1)
    else:
        place = np.maximum(rows.y[:, 0], 0.0).astype(np.intp)  # two classes are -1 and 1
    y = np.eye(predicted.shape[1])[place]
    return X, y, _explained(y, predicted)


def _explained(y, predicted):
    """Return the share of the variance of y that is explained, all outputs together.

    It is 1 for constants, and for numbers so small that their squares are zero.
    """
    squares = ((y - y.mean(axis=0)) ** 2).sum()
    if not (np.ptp(y, axis=0).any() and squares):
        return 1.0
    return 1.0 - ((y - predicted) ** 2).sum() / squares


def _explained_by_neighbours(X, y):
    """Return that share by five neighbours among half of the rows, for the other half."""
    from sklearn.neighbors import KNeighborsRegressor  # not needed by most fits

    scale = X.std(axis=0)
    X = X / np.where(scale > 0.0, scale, 1.0)
    order = np.random.RandomState(0).permutation(len(X))
    known, held_out = order[: len(X) // 2], order[len(X) // 2 :]
    model = KNeighborsRegressor(_N_NEIGHBOURS).fit(X[known], y[known])
    return _explained(y[held_out], model.predict(X[held_out]))
