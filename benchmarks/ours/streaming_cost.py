"""Seconds of a batch of `StreamingSGPRegressor`, and what a stream without end does to them."""

import gc
import time
import warnings

import numpy as np
from meters import anonymous_memory
from problems.batches import stream_batches
from problems.streams import drifting, fresh_plane, plane
from protocol import emit, main
from scoring import scores

from sklearn_sgp import StreamingSGPRegressor


def speed(_, *, first, size, repeats, max_iter, warm_up=3, **options):
    """Median seconds of a batch that is learned from, and of one that is not."""
    X, y = plane(first + 2 * (repeats + warm_up) * size)
    fresh, truth = fresh_plane()
    begun, *batches = stream_batches(len(X), first, size)
    model = StreamingSGPRegressor(
        random_state=0, max_iter=max_iter, tol=0.0, n_iter_no_change=max_iter + 1, **options
    )
    model.partial_fit(X[begun], y[begun])
    half = len(batches) // 2
    for way, some in (("learned", batches[:half]), ("updated", batches[half:])):
        if way == "updated":
            model.set_params(optimizer=None)
        seconds, before = [], model.n_iter_
        for rows in some:
            begin = time.perf_counter()
            model.partial_fit(X[rows], y[rows])
            seconds.append(time.perf_counter() - begin)
        emit(
            way=way,
            seconds=np.median(seconds[warm_up:]),
            iterations=(model.n_iter_ - before) / len(some),
            n_inducing=len(model.inducing_points_),
            **scores(truth, *model.predict(fresh, return_std=True)),
        )


def soak(_, *, n_batches, first, size, period, checks=1000, **options):
    """A drifting stream: seconds, memory after a tenth and at the end, finite predictions."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0.0, 10.0, 50)[:, None]
    # written now, or its pages would be counted as growth
    seconds = np.ones(n_batches)
    model = StreamingSGPRegressor(random_state=0, **options)
    not_finite = 0
    with warnings.catch_warnings():
        # a registry of what was warned of would be counted too
        warnings.simplefilter("ignore")
        model.partial_fit(*drifting(0.0, first, rng))
        for k in range(n_batches):
            X, y = drifting(k / period, size, rng)
            begin = time.perf_counter()
            model.partial_fit(X, y)
            seconds[k] = time.perf_counter() - begin
            if (k + 1) % max(1, n_batches // checks) == 0:
                mean, std = model.predict(grid, return_std=True)
                not_finite += not (np.isfinite(mean).all() and np.isfinite(std).all())
            if k + 1 == n_batches // 10:
                gc.collect()
                start = anonymous_memory()
    gc.collect()
    truth = np.sin(2.0 * grid[:, 0] + 2.0 * np.pi * n_batches / period)
    tenths = [float(np.median(some)) for some in np.array_split(seconds, 10)]
    emit(
        seconds=seconds.sum(),
        megabytes=anonymous_memory() - start,
        tenths=tenths,
        ratio=tenths[-1] / tenths[1],
        not_finite=not_finite,
        rmse=np.sqrt(np.mean((model.predict(grid) - truth) ** 2)),
        n_inducing=len(model.inducing_points_),
    )


if __name__ == "__main__":
    main([speed, soak])
