"""Parts of a fit of `SVGPRegressor` and `SVGPClassifier`, run alone: seconds, memory, errors."""

import time

import numpy as np
from meters import PeakMemory, median_seconds
from protocol import emit, main
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ours import flops, internals
from ours.peak import peak_gflops
from sklearn_sgp import SVGPRegressor

_ONCE_FROM = 1_000_000  # rows above which an evaluation is timed once


def micro(problem, *, batch_size, evaluation_rows, repeats, length_scale, noise_variance):
    """A stochastic step, a collapsed evaluation and the exact pass, in both forms."""
    kernel = ConstantKernel(1.0) * RBF(length_scale, (1e-3, 1e3))
    fit = internals.Fit(
        problem.X,
        problem.y,
        problem.Z,
        kernel=kernel,
        noise_variance=noise_variance,
        batch_size=batch_size,
    )
    n, m, d = fit.sizes
    emit(
        peak_gflops=peak_gflops(),
        direct_is_safe=fit.direct_is_safe,
        condition=fit.condition,
    )
    for form in internals.FORMS:
        whitened = form == "whitened"
        steps = fit.steps(form)
        seconds = median_seconds(steps.take, repeats, 10)
        assert steps.is_in(form), "the form changed on the way"
        _emit_part("step", form, seconds, flops.step(m, batch_size, d, whitened))

        rows = min(n, evaluation_rows)
        with fit.held_blas():
            seconds = median_seconds(fit.evaluation(rows, form), max(3, repeats // 10))
        _emit_part("collapsed", form, seconds, flops.collapsed(m, rows, d, whitened))

        counted = flops.exact_pass(m, n, d, whitened)
        for n_jobs, part in ((1, "pass"), (2, "pass, 2 jobs")):
            seconds = median_seconds(fit.exact_pass(form, n_jobs), max(2, repeats // 40), 1)
            _emit_part(part, form, seconds, counted, per=n)


def class_step(problem, *, batch_size, repeats):
    """A stochastic step of a classifier that moves q(u), kernel and inducing inputs."""
    step, n_latent = internals.classifier_step(problem, batch_size)
    emit(seconds=median_seconds(step, repeats, 10), n_latent=n_latent)


def _emit_part(part, form, seconds, counted, per=1):
    owed, done = (1e-9 * count / per for count in counted)
    emit(part=part, form=form, seconds=seconds / per, gflop_owed=owed, gflop_done=done)


def growth(_, *, points, jobs, steps):
    """Seconds and memory of the parts of a fit at several sizes (n, m, d), jobs by jobs."""
    for n_jobs in jobs:
        for n, m, d in points:
            options = {"n_jobs": n_jobs, "batch_size": min(1024, n)}
            record = _growth_record(n, m, d, options, steps)
            emit(n=n, m=m, d=d, n_jobs=n_jobs, **record)


def _growth_record(n, m, d, options, steps):
    X, y = _growth_rows(n, d)
    Z = X[np.random.default_rng(1).permutation(n)[:m]].astype(np.float64)
    SVGPRegressor(optimizer=None, inducing=Z[:5]).fit(X[:200], y[:200])
    model = SVGPRegressor(optimizer=None, inducing=Z, **options)
    with PeakMemory() as peak:
        begin = time.perf_counter()
        model.fit(X, y)
        fit_seconds = time.perf_counter() - begin
    inside = internals.Fit(X, y, Z, **options)
    whitened = not inside.direct_is_safe
    record = {
        "whitened": whitened,
        "megabytes": peak.megabytes,
        "inducing": _kmeans_seconds(X, m),
        "fit": fit_seconds,
        "fit_counted": flops.exact_fit(m, n, d, whitened),
        "step": median_seconds(inside.steps().take, steps),
        "step_counted": flops.step(m, options["batch_size"], d, whitened)[1],
    }
    with inside.held_blas():
        # half a minute each at ten million rows: once, and nothing to warm up
        repeats, warm_up = (1, 0) if n > _ONCE_FROM else (3, 1)
        record["evaluation"] = median_seconds(inside.evaluation(), repeats, warm_up)
    record["evaluation_counted"] = flops.collapsed(m, n, d, whitened)[1]
    return record


def _growth_rows(n, d):
    """float32 inputs, and a function of their first columns plus noise."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float32)
    y = np.sin(6.0 * X[:, 0]) + X[:, -1] + 0.3 * rng.standard_normal(n, dtype=np.float32)
    return X, y.astype(np.float64)


def _kmeans_seconds(X, m):
    begin = time.perf_counter()
    internals.kmeans_inducing(X, m, np.ones(X.shape[1]))
    return time.perf_counter() - begin


def trajectory(problem, *, n_steps, runs, every, n_inducing, batch_size):
    """Test RMSE, in units of the data, along stochastic steps from a cold start.

    As in the paper the kernel and the noise are held during the first steps, here a tenth of all;
    each run has its own inducing inputs and order of rows.
    """
    for run in range(runs):
        fit = internals.Fit(
            problem.X, problem.y, n_inducing=n_inducing, batch_size=batch_size, random_state=run
        )
        steps = fit.steps(seed=run)
        for k in range(n_steps):
            steps.take(move=k >= n_steps // 10)
            if (k + 1) % every == 0:
                emit(run=run, step=k + 1, rmse=_rmse(problem, _mean(steps, problem.X_test)))
        # q(u) at its optimum for what was learned, as every fit of ours ends
        final = SVGPRegressor(**steps.learned(), optimizer=None).fit(problem.X, problem.y)
        emit(run=run, step=None, rmse=_rmse(problem, final.predict(problem.X_test)))


def _mean(steps, X, chunk=1024):
    parts = [steps.mean(X[lo : lo + chunk]) for lo in range(0, len(X), chunk)]
    return np.concatenate(parts)


def _rmse(problem, mean):
    return np.sqrt(np.mean((problem.y_test - mean) ** 2)) * problem.y_scale


if __name__ == "__main__":
    main([micro, class_step, growth, trajectory])
