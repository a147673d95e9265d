"""`StreamingSGPRegressor` on streams made from random numbers: errors, parameters, failures."""

import warnings

import numpy as np
from problems.batches import stream_batches
from problems.streams import gp_draw, line, line_rmse, wild
from protocol import emit, main
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import StreamingSGPRegressor


def _streamed(X, y, batches, **options):
    model = StreamingSGPRegressor(**options)
    for rows in batches:
        model.partial_fit(X[rows], y[rows])
    return model


def _tried(run):
    """What ``run`` found, or the error that it raised, which is a result here."""
    try:
        return run()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def line_errors(_, *, n, first, size, seeds, **options):
    """RMSE to the true function after a stream from left to right."""

    def run(seed):
        X, y = line(n, seed)
        model = _streamed(X, y, stream_batches(n, first, size), random_state=seed, **options)
        return {"rmse": line_rmse(model.predict)}

    for seed in range(seeds):
        emit(seed=seed, **_tried(lambda seed=seed: run(seed)))


def learned(_, *, n, size, seeds, alphas, **options):
    """Length scale and standard deviation of the noise along draws from a known GP.

    The kernel has the form of the GP's: that of the default may have several length scales.
    """
    for seed in range(seeds):
        X, y = gp_draw(n, seed)
        for alpha in alphas:
            model = StreamingSGPRegressor(
                1.0 * RBF(), alpha_divergence=alpha, random_state=seed, **options
            )
            for rows in stream_batches(n, size, size):
                model.partial_fit(X[rows], y[rows])
                emit(
                    seed=seed,
                    alpha=alpha,
                    rows=rows.stop,
                    length_scale=model.kernel_.k2.length_scale,
                    noise_std=np.sqrt(model.noise_variance_) * model.y_scale_,
                )


def robust(_, *, seeds, **options):
    """Random streams: squared standardised residuals of fresh rows, or the error."""

    def run(stream):
        model = StreamingSGPRegressor(random_state=0, **{**stream.options, **options})
        for X, y in stream.batches:
            model.partial_fit(X, y)
        X, y = stream.fresh
        mean, std = model.predict(X, return_std=True)
        finite = bool(np.isfinite(mean).all() and np.isfinite(std).all())
        return {"finite": finite, "squared": np.mean(((y - mean) / std) ** 2)}

    for seed in range(seeds):
        stream = wild(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = _tried(lambda stream=stream: run(stream))
        said = sorted({str(warning.message)[:120] for warning in caught})
        emit(seed=seed, warnings=said, **stream.options, **stream.traits, **found)


if __name__ == "__main__":
    main([line_errors, learned, robust])
