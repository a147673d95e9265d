"""scikit-learn's support vector machine and gradient boosting as classifiers with probabilities."""

import time

from protocol import allow, emit, main
from scoring import class_scores
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

_GRID = {"C": [1, 10, 100], "gamma": [0.03, 0.1, 0.3, "scale"]}
_FOLDS, _SEARCHED = 3, 5000


def svm(problem):
    """The best C and gamma by cross-validation, probabilities by a sigmoid of cross-validation."""
    allow(grid=_GRID, folds=_FOLDS, rows_searched=_SEARCHED)
    begin, some = time.perf_counter(), problem.some(_SEARCHED)
    search = GridSearchCV(SVC(), _GRID, cv=_FOLDS).fit(some.X, some.y)
    best = SVC(**search.best_params_)
    model = CalibratedClassifierCV(best, ensemble=False, cv=_FOLDS).fit(problem.X, problem.y)
    _scored(problem, model, time.perf_counter() - begin)


def boosting(problem):
    """Histogram gradient boosting with early stopping."""
    allow(trees=1000, early_stopping=True)
    begin = time.perf_counter()
    model = HistGradientBoostingClassifier(max_iter=1000, early_stopping=True, random_state=0)
    model.fit(problem.X, problem.y)
    _scored(problem, model, time.perf_counter() - begin)


def _scored(problem, model, seconds):
    scores = class_scores(problem.y_test, model.predict_proba(problem.X_test))
    emit(problem=problem.name, seconds=seconds, **scores)


if __name__ == "__main__":
    main([svm, boosting])
