"""`SVGPRegressor` of several outputs, mixed or each by itself, and the cost of their bound."""

import time

import numpy as np
from protocol import emit, main
from scoring import grouped

from ours.internals import bound_of_outputs
from sklearn_sgp import SVGPRegressor


def fit(problem, *, n_latent=None, **options):
    """One fit and what it says of each wanted target; ``n_latent`` of None is one fit for each."""
    begin = time.perf_counter()
    if n_latent is None:
        mean, std, bound = _alone(problem, options)
        correlation = None
    else:
        model = SVGPRegressor(n_latent=n_latent, random_state=0, **options)
        model.fit(problem.X, problem.y)
        mean, std = model.predict(problem.X_test, return_std=True)
        bound, correlation = model.objective_, model.output_correlation_.tolist()
    seconds = time.perf_counter() - begin
    wanted = ~np.isnan(problem.y_test)
    off = np.where(wanted, problem.y_test - mean, 0.0)
    surprise = 0.5 * (off / std) ** 2 + np.log(std) + 0.5 * np.log(2.0 * np.pi)
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
    main([fit, speed])
