"""scikit-learn's support vector machine and gradient boosting as classifiers with probabilities."""

import time
import warnings

import numpy as np
from protocol import allow, emit, main
from scoring import class_scores
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

# Of gamma in units of scikit-learn's "scale".
_C, _GAMMA = [1, 10, 100], [0.1, 0.3, 1, 3]
_FOLDS, _SEARCHED = 3, 5000


def svm(problem):
    """The best C and gamma by cross-validation, probabilities by those of pairs of classes."""
    allow(C=_C, gamma_over_scale=_GAMMA, folds=_FOLDS, rows_searched=_SEARCHED)
    begin, some = time.perf_counter(), problem.some(_SEARCHED)
    unit = 1.0 / (some.X.shape[1] * some.X.var())
    grid = {"C": _C, "gamma": [share * unit for share in _GAMMA]}
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(SVC(), grid, cv=folds).fit(some.X, some.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # probability=True goes away one day
        model = SVC(**search.best_params_, probability=True, random_state=0)
        model.fit(problem.X, problem.y)
    _scored(problem, model, time.perf_counter() - begin)


def boosting(problem, trees=1000):
    """Histogram gradient boosting with early stopping."""
    allow(trees=trees, early_stopping=True)
    begin = time.perf_counter()
    # scikit-learn asks for a row of each class among those that tell when to stop
    held_out = max(0.1, 2 * len(np.unique(problem.y)) / len(problem.y))
    model = HistGradientBoostingClassifier(
        max_iter=trees, early_stopping=True, validation_fraction=held_out, random_state=0
    )
    model.fit(problem.X, problem.y)
    _scored(problem, model, time.perf_counter() - begin)


def _scored(problem, model, seconds):
    scores = class_scores(problem.y_test, model.predict_proba(problem.X_test))
    emit(problem=problem.name, seconds=seconds, **scores)


if __name__ == "__main__":
    main([svm, boosting])
