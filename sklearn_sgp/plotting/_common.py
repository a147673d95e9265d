"""Helpers of all displays: axes, names, and the check of the estimator."""

import inspect

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..metrics import final_step


def pyplot(caller):
    """Return the module matplotlib.pyplot, or raise an ImportError that names the caller."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib. Install it with `pip install matplotlib`."
        ) from error
    return plt


def fitted_step(estimator, X):
    """Return the last step of a fitted estimator, and its inputs; not fitted is an error."""
    check_is_fitted(estimator)
    model, inputs = final_step(estimator, X)
    check_is_fitted(model, "n_features_in_")  # some models predict before `fit`
    return model, inputs


def dataframe_of(X):
    """Return a table of pyarrow, whose columns cannot be asked for as a dataframe's, as one."""
    return X.to_pandas() if hasattr(X, "column_names") and hasattr(X, "to_pandas") else X


def step_with_deviations(estimator, X, display):
    """Do the same for a regressor that predicts a distribution; anything else is a TypeError."""
    model, inputs = fitted_step(estimator, X)
    if not (hasattr(model, "predict_distribution") or _takes_return_std(model)):
        kind = "classifier " if hasattr(model, "classes_") else ""
        cure = (
            ": probabilities of classes are for sklearn.calibration.CalibrationDisplay"
            if kind
            else ""
        )
        raise TypeError(
            f"{display}.from_estimator needs a regressor whose predict takes return_std, such as "
            "SVGPRegressor, or a pipeline or search that ends in one. Got the "
            f"{kind}{model!r}{cure}."
        )
    return model, inputs


def _takes_return_std(model):
    if not callable(getattr(model, "predict", None)):
        return False
    parameters = inspect.signature(model.predict).parameters.values()
    return any(one.name == "return_std" or one.kind is one.VAR_KEYWORD for one in parameters)


def drawing_axes(ax, caller, n_panels=1):
    """Check the given axes, or make the axes of a new figure; an array for several panels."""
    plt = pyplot(caller)
    if ax is None:
        size = (plt.rcParams["figure.figsize"][0] * n_panels, plt.rcParams["figure.figsize"][1])
        return plt.subplots(1, n_panels, figsize=size, layout="constrained")[1]
    given = np.ravel(np.asarray(ax, dtype=object))
    if len(given) != n_panels:
        wanted = "two axes, from plt.subplots(1, 2)" if n_panels == 2 else "one matplotlib Axes"
        raise ValueError(f"The 'ax' parameter must be {wanted}. Got {len(given)} instead.")
    return given if n_panels > 1 else given[0]


def checked_names(names, count, template, parameter, first=0):
    """Check the number of the given names, or make numbered names from the template."""
    if names is None:
        return [template.format(i + first) for i in range(count)]
    if len(names) != count:
        raise ValueError(
            f"The '{parameter}' parameter must hold {count} names. Got {len(names)}: {names!r}."
        )
    return [str(name) for name in names]


def fitted_model(estimator, attribute, display):
    """Return the fitted model inside pipelines and searches, or raise if it lacks ``attribute``."""
    check_is_fitted(estimator)
    model, _ = final_step(estimator)
    if hasattr(model, "predict"):
        check_is_fitted(model, "n_features_in_")  # some models predict before `fit`
    if not hasattr(model, attribute):
        one = "BayesianGPLVM" if attribute == "embedding_" else "SVGPRegressor"
        raise TypeError(
            f"{display}.from_estimator needs an estimator with {attribute}, such as "
            f"{one}, or a pipeline or search that ends in one. Got "
            f"{estimator!r}{_of_classes(model)}."
        )
    return model


def _of_classes(model):
    """Return what draws a classifier, behind an error about one."""
    if not hasattr(model, "classes_"):
        return ""
    return (
        ": probabilities of classes are drawn by PartialDependenceDisplay and "
        "DecisionBoundaryDisplay of sklearn.inspection"
    )
