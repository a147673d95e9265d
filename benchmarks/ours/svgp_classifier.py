"""`SVGPClassifier` by its public interface: curves and fits."""

import time
import warnings

from protocol import emit, main
from scoring import class_scores
from sklearn.exceptions import ConvergenceWarning

from ours.budgets import along
from sklearn_sgp import SVGPClassifier


def _record(problem, **options):
    """Seconds of a fit, and its test scores."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        # short budgets say that they leave no time for all rows: that is what the curve shows
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVGPClassifier(random_state=0, **options).fit(problem.X, problem.y)
    seconds = time.perf_counter() - begin
    probability = model.predict_proba(problem.X_test)
    return {
        "problem": problem.name,
        "seconds": seconds,
        "n_iter": model.n_iter_,
        "n_steps": model.n_steps_,
        "bound": model.objective_,
        "jitter": model.jitter_,
        **class_scores(problem.y_test, probability),
    }


def curve(problem, *, budgets, **options):
    """Test scores after fits with growing ``max_time``, one fit from scratch for each budget."""
    _warm_up(problem)
    along(budgets, lambda budget: _record(problem, **{**options, "max_time": budget}))


def fit(problem, **options):
    """One fit and its test scores."""
    _warm_up(problem)
    emit(**_record(problem, **options))


def _warm_up(problem):
    """Pay for what a process pays once: thread pools, lazy imports."""
    SVGPClassifier(n_inducing=5, max_iter=2).fit(problem.X[:100], problem.y[:100])


if __name__ == "__main__":
    main([curve, fit])
