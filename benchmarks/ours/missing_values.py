"""Values of X that are missing: by themselves, and behind an imputer."""

import time

from problems.missing import with_missing
from protocol import emit, main
from scoring import scores
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor

_MODELS = {"svgp": SVGPRegressor, "anytime": AnytimeSGPRegressor}


def fit(problem, *, model, imputes, share, reason, n, **options):
    """One fit and its test scores."""
    X, y, X_test, y_test = with_missing(problem, share=share, reason=reason, n=n)
    regressor = _MODELS[model](random_state=0, **options)
    if imputes:
        regressor = make_pipeline(SimpleImputer(add_indicator=True), regressor)
    begin = time.perf_counter()
    mean, std = regressor.fit(X, y).predict(X_test, return_std=True)
    emit(seconds=time.perf_counter() - begin, **scores(y_test, mean, std))


if __name__ == "__main__":
    main([fit])
