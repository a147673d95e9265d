"""What a fit says of its weak spots: bounds, too few iterations, variance left unexplained."""

import numpy as np

from .._sampling import fixed_index
from .._warnings import warn_caller
from ..factors.passes import CHUNK
from ..kernels._length_scales import scale_mask
from ..kernels._white_noise import free_parameters
from ..kernels.categories._node import category_slots
from ..optimize.frequencies import ROWS_FOR_A_NUMBER, learned_numbers
from ..optimize.progress import FURTHER, VISIBLE_GAIN
from .explained import (
    EXPLAINED_ROWS,
    has_own_mean,
    neighbours_explain,
    predicted_at_some,
    warn_of_unexplained,
)
from .left_out_bands import check_left_out
from .noise_free import LEAST_BY_DEFAULT

# A row is in reach of one that explains a hundredth of its variance. Of the first rows of 60 noisy
# sines in one or two columns few say little of distances: of 5 rows 25 fits ended without reach, of
# 10 rows 7, of 20 none.
_CORRELATION, _LEAST_ROWS = 0.1, 10
_PROBES = 200


def warn_of_weak_spots(problem, result, uses_blocks=False):
    """Warn of what makes a fit doubtful that was left to learn, each with its cure.

    With ``uses_blocks`` predictions rest on more than the mean of q(u), which then need not
    explain.
    """
    trace = problem.trace
    if not (problem.learns and problem.warns) or trace.stopped:
        return
    warn_at_bounds(problem.start, result.parameters)
    warn_of_few_rows_for_frequencies(problem)
    if result.cut_by == "max_iter":
        warn_of_max_iter(problem.settings.max_iter)
    if _is_given(problem.start) and _has_left_out(problem.rows, result):
        warn_of_missed(problem, result, _left_out)
    else:
        warn_of_missed(problem, result, None if uses_blocks else by_mean)
    likelihood = result.likelihood
    is_other = not (likelihood.conjugate or result.noise.differs)
    if is_other and not result.parameters.mixes_outputs and result.cut_by in (None, "max_iter"):
        check_left_out(problem, result)


def by_mean(problem, result):
    """Return some rows, and what q(u) predicts of them."""
    rows, predicted = predicted_at_some(problem.rows, result.posterior, result.likelihood)
    parameters = result.parameters
    return rows, predicted + parameters.means if parameters.has_means else predicted


def warn_of_few_rows_for_frequencies(problem):
    """Warn of frequencies that are learned from so few rows that they overfit."""
    count = learned_numbers(problem.space, problem.start.parameters.Z)
    if len(problem.rows) < ROWS_FOR_A_NUMBER * count:
        warn_caller(
            f'inducing="fourier" needs {ROWS_FOR_A_NUMBER} rows for each number that is learned '
            f"of the frequencies. Got {len(problem.rows)} rows for {count}: they may overfit, and "
            "intervals hold too little. Lower n_inducing, hold the frequencies "
            "(optimize_inducing=False), or choose inducing inputs."
        )


def warn_of_missed(problem, result, look, asks_reach=True):
    """Warn of a kernel without reach, or else of targets that a finished fit does not explain.

    ``look(problem, result)`` returns some rows and what is predicted of them, if it is not None.
    """
    is_told = asks_reach and warn_of_no_reach(problem, result)
    if not is_told and look is not None and result.cut_by is None:
        warn_of_unexplained(*look(problem, result), result.likelihood)


def warn_of_no_reach(problem, result):
    """Warn of a given kernel that relates no row to another; return whether that was said.

    Where it did at the start, that may be right: targets of pure noise ask for no more.
    """
    start, rows, X = problem.start, problem.rows, problem.rows.X
    are_repeated = (problem.n_samples or 0) >= 1.5 * len(rows)  # half of them, which were merged
    if not _is_given(start) or rows.live_elsewhere or are_repeated:
        return False
    if has_reach(result.parameters.kernel, X):
        return False
    if has_reach(start.parameters.kernel, X) and not neighbours_explain(rows, result.likelihood):
        return False
    warn_caller(
        "The learned kernel relates hardly any row to another: half of the rows have none with a "
        f"correlation of 0.1, {_scales(start, result)}. Predictions between the rows are the mean. "
        "Learning finds nothing where length scales start much shorter or longer than the distance "
        "over which y changes, in units of X: give a `kernel` with longer ones, or columns in "
        "larger units."
    )
    return True


def _is_given(start):
    return start.space.learns("theta") and "theta" not in start.left_open


def _scales(start, result):
    """Return names and learned values of the length scales, as the user gave the kernel."""
    is_scale, found = scale_mask(result.parameters.expression), {}
    for (_, name), free, value in zip(
        _names(start.kernel), is_scale, result.parameters.theta, strict=True
    ):
        if free:
            found.setdefault(name, []).append(f"{np.exp(value):.3g}")
    texts = [
        f"{name}={', '.join(values)}" if len(values) == 1 else f"{name}=[{', '.join(values)}]"
        for name, values in found.items()
    ]
    return f"with {', '.join(texts)}" if texts else f"with {result.sklearn_kernel!r}"


def warn_at_bounds(start, parameters):
    """Warn where a kernel parameter or the noise variance is at a bound that the user chose.

    Those of the kernel are told in its order and in scikit-learn's words, which programs may know.
    Default bounds are far apart: noise-free targets end at one, and there is nothing to mend. So it
    is with the lower bound of noise that may go below them, and with a category that has no part of
    its own, or nothing in common with others.
    """
    told = []
    for name in ("theta", "log_noise"):
        if not start.space.learns(name) or name in start.left_open:
            continue
        values = np.ravel(parameters.values[name])
        lower, upper = start.space.group(name).bounds.T
        free = ~np.isclose(lower, upper)
        if name == "theta":
            for diagonal, factor, _ in category_slots(parameters.expression):
                free[diagonal] = free[factor] = False
        is_told = np.ones(len(free), dtype=bool)
        if name == "log_noise":
            is_told = lower >= np.log(LEAST_BY_DEFAULT * np.min(start.units.variance))
        at_lower = np.flatnonzero(free & is_told & np.isclose(values, lower))
        at_upper = np.flatnonzero(free & np.isclose(values, upper))
        for which, bounds, words in (
            (at_lower, lower, ("lower", "Decreasing")),
            (at_upper, upper, ("upper", "Increasing")),
        ):
            if name == "theta":
                names, expression = list(_names(start.kernel)), parameters.expression
                signed = expression.signed[expression.free]
                told += [
                    (*names[k], bounds[k] if signed[k] else np.exp(bounds[k]), *words)
                    for k in which
                ]
            elif len(which):
                names = _noise_names(start, which, len(values))
                told.append((*names, np.exp(bounds[0]), *words))
    names = [parameter.name for parameter in start.kernel.hyperparameters] if told else []
    names.append("noise_variance")
    for label, _, bound, end, change in sorted(told, key=lambda one: names.index(one[1])):
        warn_caller(
            f"The optimal value found for {label} is close to the specified {end} bound "
            f"{float(f'{bound:.12g}')}. {change} the bound and calling fit again may find a better "
            "value."
        )


def _names(kernel):
    """Yield names of each entry of the process's theta, and of the parameter it belongs to."""
    for parameter in free_parameters(kernel)[0]:
        for i in range(parameter.n_elements):
            yield f"dimension {i} of parameter {parameter.name}", parameter.name


def _noise_names(start, which, n_outputs):
    """Do the same for noise variances of some outputs."""
    levels = [parameter.name for parameter in free_parameters(start.kernel)[1]]
    if levels:
        return f"dimension 0 of parameter {' + '.join(levels)}", levels[0]
    if n_outputs == 1:
        return ("noise_variance",) * 2
    return f"noise_variance of output {', '.join(map(str, which))}", "noise_variance"


def warn_of_max_iter(max_iter):
    """Warn that learning ended while the objective rose."""
    warn_caller(
        f"max_iter={max_iter} iterations ended learning while the objective was still rising: at "
        f"the pace of the last half of them {FURTHER} more would gain over {VISIBLE_GAIN} nats a "
        "row. Raise max_iter, or tol if the model is good enough."
    )


def _left_out(problem, fitted):
    """Return some rows, and what is predicted of each from all others."""
    rows, places = problem.rows, None
    if len(rows) > EXPLAINED_ROWS:
        rng = np.random.RandomState(0)
        places = np.sort(fitted.predictor.drawn(len(rows), EXPLAINED_ROWS, rng))
        rows = rows.select(places)
    mean, _ = fitted.predictor.left_out(rows, places, problem.settings.n_jobs)
    known = np.isfinite(mean).all(axis=1)
    return rows.select(np.flatnonzero(known)), mean[known]


def _has_left_out(rows, fitted):
    """Return whether a fit that rests on all rows says what it predicts without one of them."""
    is_told = fitted.n_used is None and not rows.live_elsewhere and fitted.predictor.leaves_out
    return is_told and has_own_mean(fitted.likelihood) and not fitted.parameters.mixes_outputs


def has_reach(kernel, X):
    """Return whether half of the rows are correlated with another row, as the kernel has it.

    X has all rows: the nearest of a few of them would be farther away. They are read in pieces, and
    no further than is needed.
    """
    if len(X) < _LEAST_ROWS:
        return True
    probes = fixed_index(len(X), _PROBES)
    own = np.asarray(X[probes], dtype=np.float64)
    best, deviation = np.zeros(len(probes)), _deviation(kernel, own)
    for lo in range(0, len(X), CHUNK):
        others = np.asarray(X[lo : lo + CHUNK], dtype=np.float64)
        K = np.abs(kernel.block(own, others))
        here = np.flatnonzero((probes >= lo) & (probes < lo + CHUNK))
        K[here, probes[here] - lo] = 0.0
        np.maximum(
            best, (K / deviation[:, None] / _deviation(kernel, others)).max(axis=1), out=best
        )
        if np.median(best) >= _CORRELATION:
            return True
    return False


def _deviation(kernel, X):
    return np.sqrt(np.maximum(kernel.diag(X), np.finfo(np.float64).tiny))
