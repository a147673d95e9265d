"""Test scores along the stream of a data set: `partial_fit`, or fits anew on the last rows.

Tasks emit scores on all test rows, those of what is still to come included, at the same places of
the stream. Seconds are of learning, added up. What is refitted is refitted at these places only, in
its favour. The exact GP on the last rows is in peers/sklearn_exact_gp.py.
"""

import pickle
import time
import warnings

from problems.batches import scored_batches
from protocol import emit, main
from scoring import stream_scores
from sklearn.exceptions import ConvergenceWarning

from sklearn_sgp import StreamingSGPRegressor, SVGPRegressor


def streamed(problem, *, first, size, every, **options):
    """``partial_fit``, batch after batch."""
    model, seconds = StreamingSGPRegressor(random_state=0, **options), 0.0
    for rows, scored in scored_batches(len(problem.y), first, size, every):
        begin = time.perf_counter()
        with _unconverged_allowed():
            model.partial_fit(problem.X[rows], problem.y[rows])
        seconds += time.perf_counter() - begin
        if scored:
            found = stream_scores(problem, model, rows.stop)
            emit(rows=rows.stop, seconds=seconds, **found, bytes=len(pickle.dumps(model)))


def refitted(problem, *, first, size, every, memory, **options):
    """`SVGPRegressor` fitted anew on the last rows."""
    seconds = 0.0
    for rows, scored in scored_batches(len(problem.y), first, size, every):
        if not scored:
            continue
        last = slice(max(0, rows.stop - memory), rows.stop)
        begin = time.perf_counter()
        with _unconverged_allowed():
            model = SVGPRegressor(random_state=0, **options).fit(problem.X[last], problem.y[last])
        seconds += time.perf_counter() - begin
        kept = len(pickle.dumps((model, problem.X[last], problem.y[last])))
        found = stream_scores(problem, model, rows.stop)
        emit(rows=rows.stop, seconds=seconds, **found, bytes=kept)


def stochastic(problem, *, first, size, every, steps, **options):
    """Stochastic variational inference that takes so many steps on each batch, then drops it.

    The objective is that of all rows of which a batch is a sample, as if they came shuffled. Kernel
    and noise are learned on the first batch, as ours are, and go on.
    """
    model = SVGPRegressor(random_state=0, total_samples=len(problem.y), **options)
    seconds = 0.0
    for k, (rows, scored) in enumerate(scored_batches(len(problem.y), first, size, every)):
        begin = time.perf_counter()
        with _unconverged_allowed():
            for _ in range(steps if k else 1):
                model.partial_fit(problem.X[rows], problem.y[rows])
        seconds += time.perf_counter() - begin
        if scored:
            found = stream_scores(problem, model, rows.stop)
            emit(rows=rows.stop, seconds=seconds, **found, bytes=len(pickle.dumps(model)))


def _unconverged_allowed():
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)


if __name__ == "__main__":
    main([streamed, refitted, stochastic])
