"""scikit-learn's gradient boosting and its support vector machine."""

import time
from dataclasses import replace

import numpy as np
from problems.missing import with_missing
from protocol import allow, emit, main
from scoring import grouped, scores
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC

_FOLDS = 3
_MOST_CATEGORIES = 254


def _boosted(problem, settings):
    """The best model of some settings, by the error on a tenth that is held out.

    Returns
    -------
    model : HistGradientBoostingRegressor
    std : float
        Of its residuals on that tenth: the noise, the same for every row.
    seconds : float
    """
    used, held = problem.held_out()
    begin, fits = time.perf_counter(), []
    for setting in settings:
        model = HistGradientBoostingRegressor(random_state=0, **setting)
        model.fit(problem.X[used], problem.y[used])
        fits.append((np.std(problem.y[held] - model.predict(problem.X[held])), model))
    std, model = min(fits, key=lambda pair: pair[0])
    return model, std, time.perf_counter() - begin


def _scored(problem, model, std):
    mean = model.predict(problem.X_test)
    return scores(problem.y_test, mean, np.full(len(mean), std))


def boosting(problem, *, trees=(100, 200)):
    """Histogram gradient boosting with the usual settings and so many trees."""
    allow(trees=list(trees))
    for max_iter in trees:
        model, std, seconds = _boosted(problem, [{"max_iter": max_iter}])
        result = _scored(problem, model, std)
        rmse = result["rmse"] * problem.y_scale
        emit(trees=max_iter, seconds=seconds, rmse_in_units=rmse, **result)


def boosting_with_missing(problem, *, share, reason, n):
    """Boosting with its defaults where values are missing; noise by errors of five folds."""
    X, y, X_test, y_test = with_missing(problem, share=share, reason=reason, n=n)
    begin, model = time.perf_counter(), HistGradientBoostingRegressor(random_state=0)
    std = np.std(y - cross_val_predict(model, X, y, cv=5))
    mean = model.fit(X, y).predict(X_test)
    result = scores(y_test, mean, np.full(len(mean), std))
    emit(seconds=time.perf_counter() - begin, **result)


def tuned_boosting(problem, *, trees=2000):
    """The best of three settings, each stopped early."""
    settings = [(0.1, 31), (0.05, 63), (0.03, 127)]
    allow(trees=trees, learning_rates_and_leaves=settings, early_stopping=True)
    shared = {"max_iter": trees, "early_stopping": True}
    model, std, seconds = _boosted(
        problem,
        [{"learning_rate": rate, "max_leaf_nodes": leaves, **shared} for rate, leaves in settings],
    )
    emit(seconds=seconds, rows=len(problem.y), **_scored(problem, model, std))


def boosting_with_categories(problem, *, columns, trees=2000):
    """The same with columns of categories beside the numbers, stopped early.

    It takes at most 255 categories of a column: the most frequent ones, and one for all others.
    """
    allow(trees=trees, categories=_MOST_CATEGORIES, early_stopping=True)
    more = [_most_frequent(problem.X[:, c], problem.X_test[:, c]) for c in columns]
    own, test = (np.column_stack(parts) for parts in zip(*more, strict=True))
    beside = replace(
        problem, X=np.hstack([problem.X, own]), X_test=np.hstack([problem.X_test, test])
    )
    places = list(range(problem.X.shape[1], beside.X.shape[1]))
    setting = {"max_iter": trees, "early_stopping": True, "categorical_features": places}
    model, std, seconds = _boosted(beside, [setting])
    emit(seconds=seconds, rows=len(problem.y), **_scored(beside, model, std))


def _most_frequent(values, test):
    """Codes of the most frequent values, and one code for all others, in training and test rows."""
    found, count = np.unique(values, return_counts=True)
    kept = np.sort(found[np.argsort(-count, kind="stable")[:_MOST_CATEGORIES]])
    codes = []
    for some in (values, test):
        place = np.minimum(np.searchsorted(kept, some), len(kept) - 1)
        codes.append(np.where(kept[place] == some, place, len(kept)))
    return codes


def svm(problem, *, grid):
    """RBF support vector machines: a usual one, and the best of a grid by cross-validation."""
    allow(grid=grid, folds=_FOLDS)
    usual = SVC(C=10, gamma="scale")
    for way, model in (("usual", usual), ("grid", GridSearchCV(SVC(), grid, cv=_FOLDS))):
        begin = time.perf_counter()
        model.fit(problem.X, problem.y)
        seconds = time.perf_counter() - begin
        wrong, best = (
            model.predict(problem.X_test) != problem.y_test,
            getattr(model, "best_params_", None),
        )
        groups = grouped(error=wrong)
        emit(way=way, seconds=seconds, error=np.mean(wrong), groups=groups, best=best)


if __name__ == "__main__":
    main([boosting, boosting_with_missing, tuned_boosting, boosting_with_categories, svm])
