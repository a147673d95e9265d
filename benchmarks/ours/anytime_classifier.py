"""`AnytimeSGPClassifier` by its public interface."""

import time
import warnings

from protocol import emit, main
from scoring import class_scores
from sklearn.exceptions import ConvergenceWarning

from sklearn_sgp import AnytimeSGPClassifier


def fit(problem, **options):
    """One fit and its test scores."""
    AnytimeSGPClassifier(max_iter=2).fit(problem.X[:100], problem.y[:100])  # thread pools
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AnytimeSGPClassifier(random_state=0, **options).fit(problem.X, problem.y)
    seconds, begin = time.perf_counter() - begin, time.perf_counter()
    probability = model.predict_proba(problem.X_test)
    emit(
        problem=problem.name,
        n_classes=len(model.classes_),
        seconds=seconds,
        predict_seconds=time.perf_counter() - begin,
        **class_scores(problem.y_test, probability),
    )


if __name__ == "__main__":
    main([fit])
