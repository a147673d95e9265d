"""`StreamingSGPClassifier`: the sorted banana, and test-then-train beside what streams too."""

import time

import numpy as np
from problems.batches import stream_batches
from protocol import emit, main
from scoring import class_scores, grouped
from sklearn.linear_model import SGDClassifier

from sklearn_sgp import StreamingSGPClassifier

_SGD, _SGD_DOUBT = "SGDClassifier", 0.01


def sorted_batches(problem, *, seeds, n_batches, **options):
    """Test errors after each batch of rows that are sorted by the first column."""
    parts = np.array_split(np.argsort(problem.X[:, 0], kind="stable"), n_batches)
    classes = np.unique(problem.y)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        model, errors = StreamingSGPClassifier(random_state=seed, **options), []
        for part in parts:
            rows = rng.permutation(part)
            model.partial_fit(problem.X[rows], problem.y[rows], classes=classes)
            probability = model.predict_proba(problem.X_test)
            errors.append(class_scores(problem.y_test, probability)["error"])
        emit(seed=seed, errors=errors, rows=len(problem.y_test))


def prequential(problem, *, head, size, forget_factors, window, **options):
    """Each batch is tested, then learned from; the first rows are only learned from."""
    ways = {
        f"ours, forget_factor {factor:g}": StreamingSGPClassifier(
            forget_factor=factor, random_state=0, **options
        )
        for factor in forget_factors
    }
    ways[_SGD] = SGDClassifier(loss="log_loss", random_state=0)
    for way, model in ways.items():
        begin = time.perf_counter()
        probability = _tested_then_trained(model, problem, head, size)
        if way == _SGD:
            # in its favour: a wrong probability of zero would cost it everything
            probability = np.clip(probability, _SGD_DOUBT, 1.0 - _SGD_DOUBT)
        emit(
            way=way,
            seconds=time.perf_counter() - begin,
            finite=bool(np.isfinite(probability).all()),
            **class_scores(problem.y[head:], probability),
        )
    # with batches of one row it is told more than the others are: labels at once
    for way, batch in ((f"majority of {window}", size), (f"majority of {window}, row by row", 1)):
        wrong = _majority_wrong(problem.y, head, batch, window)
        emit(way=way, error=np.mean(wrong), groups=grouped(error=wrong))


def _tested_then_trained(model, problem, head, size):
    X, y = problem.X, problem.y
    begun, *batches = stream_batches(len(y), head, size)
    model.partial_fit(X[begun], y[begun], classes=np.unique(y))
    tested = []
    for rows in batches:
        tested.append(model.predict_proba(X[rows]))
        model.partial_fit(X[rows], y[rows])
    return np.concatenate(tested)


def _majority_wrong(y, head, size, window):
    """Where the more frequent of two classes among the last rows before each batch is wrong."""
    sums = np.concatenate([[0], np.cumsum(y)])
    wrong = []
    for rows in stream_batches(len(y), head, size)[1:]:
        begin = max(0, rows.start - window)
        share = (sums[rows.start] - sums[begin]) / (rows.start - begin)
        wrong.append(y[rows] != (share >= 0.5))
    return np.concatenate(wrong)


if __name__ == "__main__":
    main([sorted_batches, prequential])
