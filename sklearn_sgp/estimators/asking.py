"""How estimators with X answer: by a method of their predictive model, at checked inputs."""

from sklearn.utils.validation import check_is_fitted

from ..collections.detection import any_collection
from ..collections.lazy import lazy_answers
from .prior import prior_model
from .validation import checked_inputs


def ask(estimator, method, X, y=None, **options):
    """Return what a method of the predictive model returns; lazily for a dask collection."""
    if any_collection(X, y):
        check_is_fitted(estimator, "kernel_")
        return lazy_answers(estimator, estimator._model(), method, X, y, options)
    model, inputs = model_at(estimator, X)
    more = () if y is None else (y,)
    with estimator._telling(len(inputs.X)):
        return getattr(model, method)(inputs, *more, **options)


def model_at(estimator, X):
    """Return the predictive model, and checked inputs; before `fit` that of the prior, if any."""
    if estimator._fitted is None and estimator._has_prior:
        estimator._validate_params()
        return prior_model(estimator, X)
    check_is_fitted(estimator, "kernel_")
    return estimator._model(), checked_inputs(estimator, X)
