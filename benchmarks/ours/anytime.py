"""`AnytimeSGPRegressor`: fits of its models, and what its answers are worth before their end."""

import pickle
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from meters import PeakMemory
from protocol import emit, main
from scoring import by_density, scores
from sklearn.exceptions import ConvergenceWarning

from ours.internals import block_labels
from sklearn_sgp import AnytimeSGPRegressor


def _with_labels(problem, labels, test_labels):
    """Return the problem with labels of blocks in a last column of X, and the options for it."""
    if labels is None:
        return problem, {}
    X, X_test = (
        np.column_stack([part, of_rows.astype(part.dtype)])
        for part, of_rows in ((problem.X, labels), (problem.X_test, test_labels))
    )
    return replace(problem, X=X, X_test=X_test), {"block_column": problem.X.shape[1]}


def _fitted(problem, **options):
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AnytimeSGPRegressor(**options).fit(problem.X, problem.y)
    return model, time.perf_counter() - begin


def runs_of(columns, n_blocks, X, X_test):
    """Blocks of rows that follow one another in the order of some columns, the first one first.

    Flights of one distance are nearly those of one route, which local data know best.
    """
    key, test_key, unit = 0.0, 0.0, 1.0
    for j in columns:
        values = np.unique(X[:, j])
        key = key + unit * np.searchsorted(values, X[:, j]) / len(values)
        test_key = test_key + unit * np.searchsorted(values, X_test[:, j]) / len(values)
        unit *= 1e-4  # ties in one column are told apart by the next
    edges = np.quantile(key, np.arange(1, n_blocks) / n_blocks)
    return np.searchsorted(edges, key, "right"), np.searchsorted(edges, test_key, "right")


def _scored(problem, predict):
    begin = time.perf_counter()
    mean, std = predict(problem.X_test, return_std=True)
    seconds = time.perf_counter() - begin
    return _in_units(problem, scores(problem.y_test, mean, std), seconds)


def _scored_by_density(problem, model):
    """Scores of predictions that are not normal."""
    begin = time.perf_counter()
    found = model.predict_distribution(problem.X_test)
    mean, log_density = found.mean(), found.logpdf(problem.y_test)
    seconds, below = time.perf_counter() - begin, found.cdf(problem.y_test)
    covered = (below >= 0.05) & (below <= 0.95)
    return _in_units(problem, by_density(problem.y_test, mean, log_density, covered), seconds)


def _in_units(problem, found, seconds):
    rmse, nlpd = found["rmse"] * problem.y_scale, found["nlpd"] + np.log(problem.y_scale)
    return {**found, "rmse_in_units": rmse, "nlpd_in_units": nlpd, "predict_seconds": seconds}


def fit(problem, *, keep=None, sort_by=None, **options):
    """A fit from raw rows and its test scores; ``keep`` names a file for the model.

    With ``sort_by``, blocks are runs of rows in the order of these columns.
    """
    labels = test_labels = None
    if sort_by is not None:
        labels, test_labels = runs_of(sort_by, options["n_blocks"], problem.X, problem.X_test)
    problem, column = _with_labels(problem, labels, test_labels)
    with PeakMemory() as peak:
        model, seconds = _fitted(
            problem, **{"random_state": 0, "model": "pic", **column, **options}
        )
    if "likelihood" in options:
        found = _scored_by_density(problem, model)
    else:
        found = _scored(problem, model.predict)
    emit(
        problem=problem.name,
        seconds=seconds,
        rows=len(problem.y),
        fit_megabytes=peak.megabytes,
        n_blocks=model.n_blocks_,
        noise_variance=model.noise_variance_,
        kernel=str(model.kernel_),
        likelihood=str(model.likelihood_),
        **found,
    )
    if keep is not None:
        Path(keep).write_bytes(pickle.dumps(model))


def _fixed(fitted, **options):
    """A regressor with a fitted one's kernel, noise and inducing inputs, and no learning."""
    return AnytimeSGPRegressor(
        **{
            "kernel": fitted.kernel_,
            "noise_variance": fitted.noise_variance_,
            "inducing": fitted.inducing_points_,
            "normalize_y": (fitted.y_mean_, fitted.y_scale_),
            "optimizer": None,
            "model": "pic",
            **options,
        }
    )


def instances(problem, *, kept, count, max_steps, sort_by=None):
    """Exact PIC against ``count`` anytime runs after ``max_steps`` blocks and after one epoch."""
    model = pickle.loads(Path(kept).read_bytes())
    if sort_by is not None:
        labels = runs_of(sort_by, model.n_blocks_, problem.X, problem.X_test)
    else:
        labels = block_labels(model, problem.X_test)
    problem, column = _with_labels(problem, *labels)

    def run(**options):
        ours = _fixed(model, **column, **options).fit(problem.X, problem.y)
        found = _scored(problem, ours.predict)
        return {**found, "n_steps": ours.n_steps_, "seconds": ours.fit_times_[-1]}

    emit(way="exact", **run(solver="exact"))
    for seed in range(count):
        for way, steps in (("part", max_steps), ("epoch", None)):
            emit(way=way, seed=seed, **run(solver="anytime", max_steps=steps, random_state=seed))
            if seed:
                break  # one whole epoch is enough to see that it ends at the closed form


def curve(problem, *, model, steps, **options):
    """A model learned, then its anytime solver scored after some steps; seconds of the processor.

    The closed form is ``way="exact"``, the solver after all blocks ``"epoch"``. Steps go on from
    one another, so that the seconds of each hold those of all before it.
    """
    learned, _ = _fitted(problem, model=model, random_state=0, solver="exact", **options)
    given = {"model": model, "block_size": options["block_size"], "random_state": 0}

    def scored(way, fitted, seconds):
        found = _scored(problem, fitted.predict)
        emit(way=way, n_steps=fitted.n_steps_, n_blocks=fitted.n_blocks_, seconds=seconds, **found)

    exact, seconds = _seconds_of_processor(_fixed(learned, solver="exact", **given), problem)
    scored("exact", exact, seconds)
    ours, total, done = _fixed(learned, solver="anytime", warm_start=True, **given), 0.0, 0
    for end in [*(k for k in steps if k < exact.n_blocks_), exact.n_blocks_]:
        ours.set_params(max_steps=end - done)
        ours, seconds = _seconds_of_processor(ours, problem)
        total, done = total + seconds, end
        scored("part" if end < exact.n_blocks_ else "epoch", ours, total)


def _seconds_of_processor(model, problem):
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(problem.X, problem.y)
    return model, time.process_time() - begin


def against_fitc(problem, **options):
    """PIC learned, then FITC with the same inducing inputs, each under its own objective."""
    pic, seconds = _fitted(problem, model="pic", random_state=0, **options)
    emit(model="pic", seconds=seconds, **_scored(problem, pic.predict))
    for learned in (False, True):
        fitc = _fixed(pic, model="fitc", solver="exact")
        if learned:
            fitc.set_params(optimizer="auto", optimize_inducing=False, random_state=0)
        begin = time.perf_counter()
        fitc.fit(problem.X, problem.y)
        name = "fitc, learned" if learned else "fitc, PIC's kernel"
        emit(model=name, seconds=time.perf_counter() - begin, **_scored(problem, fitc.predict))


if __name__ == "__main__":
    main([fit, instances, curve, against_fitc])
