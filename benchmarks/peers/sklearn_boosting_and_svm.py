"""scikit-learn's gradient boosting and its support vector machine."""

import time

import numpy as np
from protocol import allow, emit, main
from scoring import grouped, scores
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

_FOLDS = 3


def boosting(problem, *, trees=(100, 200)):
    """Histogram gradient boosting; the noise is that of a tenth it was not fitted to."""
    allow(trees=list(trees))
    n = len(problem.y) * 9 // 10
    order = np.random.default_rng(0).permutation(len(problem.y))
    used, held = order[:n], order[n:]
    for max_iter in trees:
        begin = time.perf_counter()
        model = HistGradientBoostingRegressor(max_iter=max_iter, random_state=0)
        model.fit(problem.X[used], problem.y[used])
        std = np.std(problem.y[held] - model.predict(problem.X[held]))
        seconds = time.perf_counter() - begin
        mean = model.predict(problem.X_test)
        result = scores(problem.y_test, mean, np.full(len(mean), std))
        emit(
            trees=max_iter,
            seconds=seconds,
            rmse_in_units=result["rmse"] * problem.y_scale,
            **result,
        )


def tuned_boosting(problem, *, trees=2000):
    """The best of three settings, by the error on a tenth that also stops it and is its noise."""
    settings = [(0.1, 31), (0.05, 63), (0.03, 127)]
    allow(trees=trees, learning_rates_and_leaves=settings, early_stopping=True)
    order = np.random.default_rng(0).permutation(len(problem.y))
    held, used = np.split(order, [len(order) // 10])
    begin, fits = time.perf_counter(), []
    for rate, leaves in settings:
        model = HistGradientBoostingRegressor(
            learning_rate=rate,
            max_leaf_nodes=leaves,
            max_iter=trees,
            early_stopping=True,
            random_state=0,
        ).fit(problem.X[used], problem.y[used])
        std = np.std(problem.y[held] - model.predict(problem.X[held]))
        fits.append((std, model))
    std, model = min(fits, key=lambda pair: pair[0])
    seconds = time.perf_counter() - begin
    mean = model.predict(problem.X_test)
    emit(seconds=seconds, **scores(problem.y_test, mean, np.full(len(mean), std)))


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
    main([boosting, tuned_boosting, svm])
