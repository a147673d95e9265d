"""`BayesianGPLVM` by its public interface: maps, missing entries, and classes in a pipeline."""

import time

import numpy as np
from meters import PeakMemory
from protocol import emit, main
from scoring import class_scores, scores
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

from sklearn_sgp import BayesianGPLVM, SVGPClassifier


def embed(problem, *, n_components, **options):
    """A map of rows: errors of the nearest neighbour in its two most relevant dimensions."""
    model, seconds, _ = _fitted(problem, n_components, options)
    relevance, objectives = model.relevance_, model.objectives_
    two = model.embedding_[:, np.argsort(-relevance)[:2]]
    nearest = NearestNeighbors(n_neighbors=2).fit(two).kneighbors(two)[1][:, 1]
    emit(
        problem=problem.name,
        seconds=seconds,
        n_iter=model.n_iter_,
        bound=model.objective_,
        errors=int((problem.y[nearest] != problem.y).sum()),
        relevant=int((relevance > 0.1 * relevance.max()).sum()),
        course=[[t, value] for t, value in zip(model.fit_times_, objectives, strict=True)],
    )


def impute(problem, *, n_components, **options):
    """Missing entries with their error bars."""
    model, seconds, megabytes = _fitted(problem, n_components, options)
    begin = time.perf_counter()
    filled, std = model.impute(problem.X, return_std=True)
    missing = np.isnan(problem.X)
    found = scores(problem.X_test[missing], filled[missing], std[missing])
    if problem.y.shape == model.embedding_.shape:
        from scipy.spatial import procrustes

        found["procrustes"] = float(procrustes(problem.y, model.embedding_)[2])
    emit(
        problem=problem.name,
        seconds=seconds,
        impute_seconds=time.perf_counter() - begin,
        megabytes=megabytes,
        **found,
    )


def classify(problem, *, n_components, reducer, classifier_iter, **options):
    """Error of `SVGPClassifier` after a reduction of the columns, by ours or by PCA."""
    steps = {"gplvm": BayesianGPLVM, "pca": PCA}
    first = steps[reducer](n_components, random_state=0, **(options if reducer == "gplvm" else {}))
    last = SVGPClassifier(n_inducing=100, max_iter=classifier_iter, random_state=0)
    begin = time.perf_counter()
    model = make_pipeline(first, last).fit(problem.X, problem.y)
    seconds = time.perf_counter() - begin
    found = class_scores(problem.y_test, model.predict_proba(problem.X_test))
    emit(problem=problem.name, reducer=reducer, seconds=seconds, **found)


def _fitted(problem, n_components, options):
    """Model, seconds, and MB of the fit above the data."""
    BayesianGPLVM(1, n_inducing=5, max_iter=2).fit(np.nan_to_num(problem.X[:50]))  # thread pools
    with PeakMemory() as memory:
        begin = time.perf_counter()
        model = BayesianGPLVM(n_components, random_state=0, **options).fit(problem.X)
        seconds = time.perf_counter() - begin
    return model, seconds, memory.megabytes


if __name__ == "__main__":
    main([embed, impute, classify])
