"""`SVGPRegressor` of several outputs, mixed or each by itself, and the cost of their bound."""

import time

import numpy as np
from problems.several_outputs import NOISE_STD, drawn
from protocol import emit, main
from scoring import grouped

from ours.internals import bound_of_outputs, known_outputs
from sklearn_sgp import SVGPRegressor


def fit(problem, *, n_latent=None, **options):
    """One fit and what it says of each wanted target; ``n_latent`` of None is one fit for each."""
    begin = time.perf_counter()
    if n_latent is None:
        mean, std, bound = _alone(problem, options)
        correlation = together = None
    else:
        model = SVGPRegressor(n_latent=n_latent, random_state=0, **options)
        model.fit(problem.X, problem.y)
        mean, std = model.predict(problem.X_test, return_std=True)
        bound, correlation = model.objective_, model.output_correlation_.tolist()
        is_whole = not np.isnan(problem.y_test).any()
        together = model.log_density(problem.X_test, problem.y_test) if is_whole else None
    seconds = time.perf_counter() - begin
    wanted, off, surprise = _surprise(problem, mean, std)
    spread = np.nanstd(problem.y, axis=0)
    count = np.maximum(wanted.sum(axis=0), 1)
    each = np.sqrt((off**2).sum(axis=0) / count) / spread
    emit(
        problem=problem.name,
        n_latent=n_latent,
        seconds=seconds,
        bound=bound,
        correlation=correlation,
        mae=float(np.abs(off[wanted]).mean()),
        rmse=float(each[wanted.any(axis=0)].mean()),
        nlpd=float(surprise[wanted].mean()),
        joint_nlpd=None if together is None else float(-together.mean() / problem.y.shape[1]),
        groups=grouped(nlpd=surprise[wanted]),
    )


def _alone(problem, options):
    """Means, standard deviations and summed bounds of outputs that know nothing of each other."""
    means, stds, bounds = [], [], []
    for y in problem.y.T:
        known = ~np.isnan(y)
        model = SVGPRegressor(random_state=0, **options).fit(problem.X[known], y[known])
        mean, std = model.predict(problem.X_test, return_std=True)
        means, stds, bounds = [*means, mean], [*stds, std], [*bounds, model.objective_]
    return np.column_stack(means), np.column_stack(stds), sum(bounds)


def _surprise(problem, mean, std):
    """Which targets are wanted, how far off they are, and their negative log densities."""
    wanted = ~np.isnan(problem.y_test)
    off = np.where(wanted, problem.y_test - mean, 0.0)
    return wanted, off, 0.5 * (off / std) ** 2 + np.log(std) + 0.5 * np.log(2.0 * np.pi)


def ceiling(problem, *, split, toy, m):
    """What outputs of `drawn` would be known to by their true kernels, weights and noise."""
    _, _, mixing, _ = drawn(split, toy)
    X, y, X_test = (a.astype(np.float64) for a in (problem.X, problem.y, problem.X_test))
    together = known_outputs(X, y, m, mixing, NOISE_STD**2).mean_variance(X_test)
    parts = []
    for column, own in zip(y.T, np.linalg.norm(mixing, axis=1), strict=True):
        known = ~np.isnan(column)
        q = known_outputs(X[known], column[known, None], m, np.full((1, 1), own), NOISE_STD**2)
        parts.append(np.hstack(q.mean_variance(X_test)))
    found = {"together": together, "alone": np.stack(parts, axis=-1).swapaxes(0, 1)}
    for way, (mean, variance) in found.items():
        wanted, _, surprise = _surprise(problem, mean, np.sqrt(variance + NOISE_STD**2))
        found[way] = float(surprise[wanted].mean())
    emit(problem=problem.name, split=split, gain=found["alone"] - found["together"], **found)


def speed(_, *, n, m, t, n_latent, repeats=3):
    """CPU seconds of a bound with its gradient: of one output, of all, and with gaps in them."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 3)), rng.standard_normal((n, t))
    gaps = np.where(rng.random(y.shape) < 0.6, np.nan, y)
    gaps[0] = y[0]
    mixing = rng.standard_normal((t, n_latent))
    tasks = {
        "one": bound_of_outputs(X, y[:, :1], m, None),
        "complete": bound_of_outputs(X, y, m, mixing),
        "missing": bound_of_outputs(X, gaps, m, mixing),
    }
    emit(n=n, m=m, t=t, **{name: _least(task, repeats) for name, task in tasks.items()})


def _least(task, repeats):
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        task()
        seconds.append(time.process_time() - begin)
    return min(seconds)


if __name__ == "__main__":
    main([fit, ceiling, speed])
