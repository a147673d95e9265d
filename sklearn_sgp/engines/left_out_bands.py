"""Whether rows that are left out are predicted as surely as they should be: counts and classes.

What `blocks.coverage` and `noise.honest_bands` are for numbers. Without its own site, exp(shift f -
precision f^2 / 2) for a row's likelihood, the function at a training row is what all others say.
"""

from dataclasses import replace

import numpy as np

from .._sampling import fixed_index
from ..objectives.scores import effective_number
from .left_out import left_out_moments

# Rows that are looked at, and the share of them that bands should hold.
_LOOKED_AT, _SHOULD_HOLD = 500, 0.9
# And so many where time is over: quantiles of 500 counts take .2 s.
_LOOKED_AT_LATE = 100
# What is missing is told where it is more than this, as of bands of numbers, and than so many
# standard errors of what so few rows can tell: a right model is doubted once in 700 fits.
_MISSING, _SURELY = 0.05, 3.0
_LEAST_SITE = 1e-7


def check_left_out(problem, fitted):
    """Doubt bands, or probabilities of classes, that left-out rows do not vouch for.

    Of fits with independent rows given u, whose likelihood is not Gaussian.
    """
    rows, n_jobs = problem.rows, problem.settings.n_jobs
    places = fixed_index(len(rows), _LOOKED_AT)
    rows = rows.select(places)
    with np.errstate(over="ignore"):
        sites = _as_regression(rows, fitted, n_jobs)
    _check(problem, fitted, rows, left_out_moments(fitted, sites, places, n_jobs))


def check_left_out_of_sites(problem, fitted, regression):
    """Do the same for models of near rows, whose rows as a regression are known."""
    rng, places = np.random.RandomState(0), None
    size = _LOOKED_AT if problem.trace.clock.left() > 0.0 else _LOOKED_AT_LATE
    if len(regression) > size:
        places = np.sort(fitted.predictor.drawn(len(regression), size, rng))
    rows = problem.rows if places is None else problem.rows.select(places)
    sites = regression if places is None else regression.select(places)
    moments = fitted.predictor.left_out(sites, places, problem.settings.n_jobs)
    _check(problem, fitted, rows, moments)


def _as_regression(rows, fitted, n_jobs):
    """Return rows as the regression that their sites make under q(u)."""
    mean, variance = fitted.predictor.moments(rows, n_jobs)
    variance = np.maximum(np.broadcast_to(variance, mean.shape), np.finfo(np.float64).tiny)
    expected = fitted.likelihood.expected_log_density(
        rows.targets, rows.shifted(mean), variance, fitted.noise_variance
    )
    precision = np.maximum(-2.0 * expected.d_variance, _LEAST_SITE)
    y, (_, counts) = mean + expected.d_mean / precision, rows.weights
    as_learned = {"y_mean": np.zeros(1), "y_scale": np.ones(1), "grid": 0.0}
    # in units of the noise that the predictor has
    weight = precision * counts[:, None] * fitted.parameters.noise_variance
    return replace(rows, y=y, weight=weight, counts=counts, **as_learned)


def _check(problem, fitted, rows, moments):
    (mean, variance), likelihood = moments, fitted.likelihood
    known = np.isfinite(mean).all(axis=1)
    if not known.any():
        return
    rows, mean = rows.select(np.flatnonzero(known)), rows.shifted(mean)[known]
    variance = np.maximum(np.broadcast_to(variance, (len(known), mean.shape[1]))[known], 0.0)
    if hasattr(likelihood, "probabilities"):
        if fitted.cut_by == "max_iter":
            return  # more iterations are what such probabilities need, and that was said
        _check_classes(problem, likelihood, rows, mean, np.ascontiguousarray(variance))
    elif hasattr(likelihood, "is_inside"):
        _check_bands(problem, fitted, rows, mean, variance)


def _check_bands(problem, fitted, rows, mean, variance):
    likelihood, noise = fitted.likelihood, fitted.noise_variance
    inside = likelihood.is_inside(rows.targets, mean, variance, noise, _SHOULD_HOLD)
    if inside is None:
        return
    held = np.average(inside.mean(axis=1), weights=rows.weights[1])
    one, weight = _SHOULD_HOLD * (1.0 - _SHOULD_HOLD), rows.weights[1]
    if _is_less(held, _SHOULD_HOLD, np.full(len(rows), one), weight):
        wider = getattr(likelihood, "wider", None)
        other = "another likelihood" if wider is None else f"likelihood={wider!r}"
        problem.trace.doubt(
            f"Intervals of {_SHOULD_HOLD:.0%} should hold so many of the rows that are left out. "
            f"Got {held:.0%}: standard deviations are too small. {_first(fitted)}Take {other}, "
            "learn from more rows (init_size), or choose another kernel."
        )


def _check_classes(problem, likelihood, rows, mean, variance):
    p = likelihood.probabilities(mean, variance)
    place = np.maximum(rows.y[:, 0], 0.0).astype(np.intp)  # two classes are -1 and 1
    weight, sure = rows.weights[1], p.max(axis=1)
    right = np.average(p.argmax(axis=1) == place, weights=weight)
    told = np.average(sure, weights=weight)
    # The class that came must be less probable than expected, too: where classes are as probable,
    # the most probable one of left-out rows is never theirs, and nothing is too sure.
    came = np.average(p[np.arange(len(p)), place], weights=weight)
    squares = (p**2).sum(axis=1)
    expected, spread = np.average(squares, weights=weight), (p**3).sum(axis=1) - squares**2
    is_right_less = _is_less(right, told, sure * (1.0 - sure), weight)
    if is_right_less and _is_less(came, expected, spread, weight):
        problem.trace.doubt(
            f"Probabilities should be as large as the share of rows that they are right for. Got "
            f"{told:.0%} for the most probable class of rows that are left out, which is right for "
            f"{right:.0%}: probabilities are too sure. Learn from more rows (init_size), or choose "
            "another kernel."
        )


def _first(fitted):
    """Return the cure that comes first where learning was cut short."""
    return "Raise max_iter first. " if fitted.cut_by == "max_iter" else ""


def _is_less(share, expected, variance, weight):
    """Return True if a share of rows, with weights, is surely less than expected."""
    error = np.sqrt(np.average(variance, weights=weight) / effective_number(weight))
    return share < expected - max(_MISSING, _SURELY * error)
