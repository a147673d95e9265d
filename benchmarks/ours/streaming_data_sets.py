"""Test scores along a stream: ours, and regressors that may keep no more than its last rows.

Tasks emit scores on all test rows, those of what is still to come included, at the same places of
the stream. Seconds are of learning, added up. What is refitted is refitted at these places only, in
its favour.
"""

import pickle
import time
import warnings

import numpy as np
from adapter_sklearn import exact_gp
from protocol import emit, main, scores
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from stream_problems import pieces

from sklearn_sgp import StreamingSGPRegressor, SVGPRegressor

_CHUNK = 5000
_STREAMING = {"ours": StreamingSGPRegressor, "SVGP, streamed": SVGPRegressor}


def streamed(problem, *, way, first, size, every, **options):
    """``partial_fit``, batch after batch."""
    model, seconds = _STREAMING[way](random_state=0, **options), 0.0
    for rows, scored in _course(problem, first, size, every):
        begin = time.perf_counter()
        with _no_talk_of_convergence():
            model.partial_fit(problem.X[rows], problem.y[rows])
        seconds += time.perf_counter() - begin
        if scored:
            _report(problem, model, rows.stop, seconds, bytes=len(pickle.dumps(model)))


def refitted(problem, *, first, size, every, memory, **options):
    """`SVGPRegressor` fitted anew on the last rows."""
    seconds = 0.0
    for rows, scored in _course(problem, first, size, every):
        if not scored:
            continue
        last = slice(max(0, rows.stop - memory), rows.stop)
        begin = time.perf_counter()
        with _no_talk_of_convergence():
            model = SVGPRegressor(random_state=0, **options).fit(problem.X[last], problem.y[last])
        seconds += time.perf_counter() - begin
        _report(problem, model, rows.stop, seconds)


def exact(problem, *, first, size, every, memory, subset, restarts):
    """scikit-learn's exact GP on the last rows, in the middle, at three quarters and at the end.

    Its hyperparameters are learned once, on random ones of the rows it has the first time.
    """
    ends = [rows.stop for rows, scored in _course(problem, first, size, every) if scored]
    used = sorted({(len(ends) - 1) // 2, 3 * (len(ends) - 1) // 4, len(ends) - 1})
    model, seconds = None, 0.0
    for end in (ends[k] for k in used):
        last = slice(max(0, end - memory), end)
        X, y = problem.X[last], problem.y[last]
        begin = time.perf_counter()
        if model is None:
            model = _learned_once(X, y, subset, restarts)
        model.fit(X, y)
        seconds += time.perf_counter() - begin
        _report(problem, model, end, seconds)


def _learned_once(X, y, subset, restarts):
    """An exact GP with hyperparameters from some of the rows, and none of them to learn."""
    some = np.random.default_rng(0).permutation(len(y))[:subset]
    spread = X[some].std(axis=0)
    model = exact_gp(X.shape[1]).set_params(n_restarts_optimizer=restarts, random_state=0)
    with _no_talk_of_convergence():
        model.fit(X[some] / spread, y[some])
    kernel = model.kernel_
    kernel.k1.k2.length_scale = kernel.k1.k2.length_scale * spread
    return GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)


def _course(problem, first, size, every):
    """Batches, and whether there are scores after each: after every so many, and the last."""
    batches = pieces(len(problem.y), first, size)
    last = len(batches) - 1
    return [(rows, (last - k) % every == 0) for k, rows in enumerate(batches)]


def _report(problem, model, rows, seconds, **more):
    parts = [
        model.predict(problem.X_test[lo : lo + _CHUNK], return_std=True)
        for lo in range(0, len(problem.y_test), _CHUNK)
    ]
    mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
    found = scores(problem.y_test, mean, std)
    # test rows are in the order of the stream, so that as large a share of them lies in its past
    past = slice(0, round(len(mean) * rows / len(problem.y)))
    emit(
        rows=rows,
        seconds=seconds,
        rmse_in_units=found["rmse"] * problem.y_scale,
        past=scores(problem.y_test[past], mean[past], std[past]),
        **found,
        **more,
    )


def _no_talk_of_convergence():
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)


if __name__ == "__main__":
    main([streamed, refitted, exact])
