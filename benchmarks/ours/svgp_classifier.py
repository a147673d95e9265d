"""`SVGPClassifier` by its public interface: curves and fits."""

import time
import warnings

from protocol import emit, main
from scoring import class_scores
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import GridSearchCV

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


def selected(problem, *, variances, length_scales, n_searched, n_inducing):
    """A kernel by cross-validated accuracy, as a grid of support vector machines is searched.

    The search goes with fewer inducing inputs than the fit.
    """
    kernels = [ConstantKernel(v) * RBF(scale) for v in variances for scale in length_scales]
    model = SVGPClassifier(optimizer=None, n_inducing=n_searched, random_state=0)
    begin = time.perf_counter()
    search = GridSearchCV(model, {"kernel": kernels}, cv=3, refit=False)
    search.fit(problem.X, problem.y)
    seconds = time.perf_counter() - begin
    kernel = search.best_params_["kernel"]
    record = _record(problem, kernel=kernel, optimizer=None, n_inducing=n_inducing)
    accuracy = dict(zip(map(str, kernels), search.cv_results_["mean_test_score"], strict=True))
    emit(kernel=str(kernel), accuracy=accuracy, search_seconds=seconds, **record)


def _warm_up(problem):
    """Pay for what a process pays once: thread pools, lazy imports."""
    SVGPClassifier(n_inducing=5, max_iter=2).fit(problem.X[:100], problem.y[:100])


if __name__ == "__main__":
    main([curve, fit, selected])
