"""A thousand random streams: finite always, honest on fresh rows, intervals that hold enough.

python tests/hostile/streams.py --streams 1000 --seed 0
python tests/hostile/streams.py --streams 300 --broken --likelihood student_t
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

import numpy as np
from stream_helpers import random_stream

from sklearn_sgp import StreamingSGPClassifier, StreamingSGPRegressor

LARGEST_RESIDUAL = 4.0
COVERAGE = 0.75, 0.99
SHARE, LEAST = 0.95, 100  # of so many streams at least
# Streams without noise end at the lower bound of the noise variance, and then hold all.
FLOOR = 2e-6


def with_broken_reading(pieces, seed):
    """The batches, with a target after the first 100 rows 1e2 to 1e6 deviations off; None without.

    There may be no such row.
    """
    rng, before = np.random.default_rng(seed + 10**6), np.cumsum([len(y) for _, y in pieces])
    later = [k for k in range(1, len(pieces)) if before[k - 1] >= 100]
    if not later:
        return None
    k = int(rng.choice(later))
    X, y = pieces[k]
    row, off = int(rng.integers(len(y))), np.std(np.concatenate([y for _, y in pieces]))
    y = y.copy()
    y[row] += off * 10.0 ** rng.uniform(2, 6) * rng.choice([-1, 1])
    return [*pieces[:k], (X, y), *pieces[k + 1 :]]


def residual_and_coverage(seed, broken, likelihood):
    """Mean squared standardised residual of fresh rows, what a 90 % interval holds, if at FLOOR."""
    pieces, (X, y), options = random_stream(seed)
    if broken:
        pieces = with_broken_reading(pieces, seed)
        if pieces is None:
            return None
        options["alpha_divergence"] = 0.0  # what every likelihood takes
    model = StreamingSGPRegressor(likelihood=likelihood, **options)
    for piece in pieces:
        model.partial_fit(*piece)
        mean, std = model.predict(X[:20], return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and np.isfinite(model.objective_)
    mean, std = model.predict(X, return_std=True)
    low, high = model.predict_quantiles(X, quantiles=(0.05, 0.95)).T
    residual = np.mean(((y - mean) / std) ** 2)
    return residual, np.mean((low <= y) & (y <= high)), model.noise_variance_ <= FLOOR


def classes_that_come_late(seed):
    """Log loss on fresh rows of a stream whose last class comes with its last third."""
    rng = np.random.default_rng(seed)
    n_classes, d = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    sizes = rng.integers(1, 201, 6)
    X = rng.uniform(-1.0, 1.0, (sizes.sum() + 300, d)) * 10.0 ** rng.uniform(-3.0, 3.0)
    place = X[:, 0] / np.abs(X[:, 0]).max() + 0.1 * rng.standard_normal(len(X))
    y = np.digitize(place, np.linspace(-1.0, 1.0, n_classes + 1)[1:-1])
    edges = np.cumsum(sizes)
    model = StreamingSGPClassifier(n_inducing=10, max_iter=3, random_state=0)
    for number, rows in enumerate(np.split(np.arange(edges[-1]), edges[:-1])):
        known = rows[y[rows] < n_classes - 1] if number < 4 else rows
        if len(known):
            model.partial_fit(X[known], y[known], classes=np.arange(n_classes))
    if model._fitted is None:
        return 0.0, np.log(n_classes)
    p = model.predict_proba(X[edges[-1] :])
    assert np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1.0)
    return -np.mean(np.log(p[np.arange(300), y[edges[-1] :]])), np.log(n_classes)


def main():
    """Run the streams, and print what breaks a promise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--classes", type=int, default=100, help="streams of classes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--broken", action="store_true", help="break a reading of each stream")
    parser.add_argument("--likelihood", default="gaussian")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    started = time.perf_counter()
    seeds = range(options.seed, options.seed + options.streams)
    found = {
        seed: residual_and_coverage(seed, options.broken, options.likelihood) for seed in seeds
    }
    found = {seed: one for seed, one in found.items() if one is not None}
    numbers, found = np.array(list(found)), np.array(list(found.values()))
    held = (COVERAGE[0] <= found[:, 1]) & (found[:, 1] <= COVERAGE[1])
    unsure = numbers[~(found[:, 0] <= LARGEST_RESIDUAL)]
    print(f"{len(found)} streams of numbers, seeds {seeds[0]} to {seeds[-1]}: squared residuals of")
    print(f"at most {found[:, 0].max():.2f}; above {LARGEST_RESIDUAL}: {unsure.tolist()}")
    print(f"coverage between {COVERAGE}: {held.mean():.1%} of all")
    held |= (found[:, 2] > 0.0) & (found[:, 1] > COVERAGE[1])
    print(f"or above, with noise at its lower bound: {held.mean():.1%}; others: ", end="")
    print({int(numbers[s]): round(float(found[s, 1]), 3) for s in np.flatnonzero(~held)})
    loss = np.array([classes_that_come_late(seed) for seed in range(options.classes)])
    worse = np.flatnonzero(~(loss[:, 0] <= 1.1 * loss[:, 1])).tolist() if len(loss) else []
    print(f"{len(loss)} streams of classes: worse than a guess by a tenth: {worse}")
    print(f"{time.perf_counter() - started:.0f} s")
    too_few = len(found) >= LEAST and held.mean() < SHARE
    sys.exit(bool(len(unsure) or too_few or worse))


if __name__ == "__main__":
    main()
