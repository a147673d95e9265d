"""Which of scikit-learn's checks are of input, and asked of one configuration of an estimator."""

from functools import partial

import pytest

# What they ask is answered before a configuration matters: which tables, targets and weights an
# estimator takes, and how. The first configuration of each estimator, a quick one, is asked in
# every run, the others by `pytest -m slow`; so are read-only arrays, which were a quarter of the
# time.
OF_INPUT = {
    "check_classifier_data_not_an_array",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_regressor_data_not_an_array",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
    "check_supervised_y_2d",
    "check_transformer_data_not_an_array",
}


def is_of_input(check):
    """Return whether a check is of how tables come."""
    while isinstance(check, partial):
        if "readonly_memmap" in check.keywords:
            return True
        check = check.func
    return check.__name__ in OF_INPUT


def with_repetitions_slow(decorator, asked=()):
    """Mark checks of input as slow for all but the first configuration of each estimator.

    Classes of estimators that are ``asked`` elsewhere have no first one here.
    """
    names, pairs = decorator.args
    first, chosen = dict.fromkeys(asked), []
    for estimator, check in pairs:
        repeats = first.setdefault(type(estimator), estimator) is not estimator
        marks = [pytest.mark.slow] if repeats and is_of_input(check) else []
        chosen.append(pytest.param(estimator, check, marks=marks))
    return pytest.mark.parametrize(names, chosen, **decorator.kwargs)
