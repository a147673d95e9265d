"""scikit-learn's imputers, and probabilistic principal components, on missing entries.

`KNNImputer` and `IterativeImputer` have no error bars: they get one standard deviation for each
column, that of their errors in a tenth of the observed entries, hidden from a fit of its own, and
at least a tenth of that of all columns.
"""

import time

import numpy as np
from protocol import allow, emit, main
from scoring import scores
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

_NEIGHBOURS, _ROUNDS = 5, 10
_LEAST = 0.1  # standard deviation of a column, in that of all columns


def knn(problem):
    """Means of the five nearest rows."""
    allow(neighbours=_NEIGHBOURS)
    _imputed(problem, lambda: KNNImputer(n_neighbors=_NEIGHBOURS))


def iterative(problem):
    """Each column by Bayesian ridge regression on the others, in rounds."""
    allow(rounds=_ROUNDS)
    _imputed(problem, lambda: IterativeImputer(max_iter=_ROUNDS, tol=0.0, random_state=0))


def _imputed(problem, make):
    begin = time.perf_counter()
    filled, Y = _filled(make(), problem.X), problem.X.copy()
    hidden = (np.random.default_rng(0).random(Y.shape) < 0.1) & ~np.isnan(Y)
    Y[hidden] = np.nan
    errors = np.where(hidden, _filled(make(), Y) - problem.X, np.nan)
    count = np.maximum(hidden.sum(axis=0), 1)
    std = np.sqrt(np.nansum(errors**2, axis=0) / count)
    typical = np.sqrt(np.nanmean(errors**2))
    # a column whose few hidden entries were met exactly, or of which none was hidden
    std = np.where(hidden.any(axis=0), np.maximum(std, _LEAST * typical), typical)
    _scored(problem, filled, np.broadcast_to(std, Y.shape), begin)


def _filled(imputer, Y):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rounds end before a tolerance of 0 is met
        return imputer.fit_transform(Y)


def ppca(problem, *, n_components, max_iter=200):
    """Probabilistic principal components (Tipping & Bishop 1999) by expectation maximisation."""
    allow(max_iter=max_iter, n_components=n_components)
    begin, Y = time.perf_counter(), np.nan_to_num(problem.X)
    observed = (~np.isnan(problem.X)).astype(float)
    W, noise = 0.1 * np.random.default_rng(0).normal(size=(Y.shape[1], n_components)), 1.0
    for _ in range(max_iter):
        mean, covariance = _latents(W, noise, Y, observed)
        second = covariance + mean[:, :, None] * mean[:, None, :]
        each = (observed.T @ second.reshape(len(Y), -1)).reshape(-1, *second.shape[1:])
        cross = Y.T @ mean
        W = np.linalg.solve(each + 1e-6 * np.eye(n_components), cross[:, :, None])[:, :, 0]
        left = (Y * Y).sum() - 2.0 * (W * cross).sum() + np.einsum("pq,pqr,pr->", W, each, W)
        noise = max(float(left / observed.sum()), 1e-6)
    mean, covariance = _latents(W, noise, Y, observed)
    variance = np.einsum("pq,nqr,pr->np", W, covariance, W, optimize=True) + noise
    found = {}
    if problem.y.ndim == 2:
        from scipy.spatial import procrustes

        found["procrustes"] = float(procrustes(problem.y, mean)[2])
    _scored(problem, mean @ W.T, np.sqrt(variance), begin, **found)


def _latents(W, noise, Y, observed):
    """Posterior means (n, Q) and covariances (n, Q, Q) of the components of each row."""
    Q = W.shape[1]
    outer = (W[:, :, None] * W[:, None, :]).reshape(len(W), -1)
    precision = (observed @ outer).reshape(-1, Q, Q) / noise + np.eye(Q)
    covariance = np.linalg.inv(precision)
    return np.einsum("nqr,nr->nq", covariance, Y @ W) / noise, covariance


def _scored(problem, filled, std, begin, **more):
    missing = np.isnan(problem.X)
    found = scores(problem.X_test[missing], filled[missing], std[missing])
    emit(problem=problem.name, seconds=time.perf_counter() - begin, **found, **more)


if __name__ == "__main__":
    main([knn, iterative, ppca])
