"""Which of scikit-learn's checks are asked of every configuration of an estimator in every run."""

from functools import cache, partial

import pytest

# Which tables, targets and weights an estimator takes, and what its methods leave as it was, is
# answered by code that all configurations of an estimator share, but for outputs that are mixed.
# What each of them computes is not: these are asked of every configuration in every run, the others
# of the first configuration of each estimator, a quick one.
OF_NUMBERS = {
    "check_classifiers_train",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_regressor_multioutput",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weights_invariance",
    "check_transformer_general",
}
# What few rows or labels say depends on the configuration, too, and rows in another order are what
# each row alone is (`check_methods_subset_invariance`); asked by `pytest -m slow`.
OF_ODD_ROWS = {
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_methods_sample_order_invariance",
    "check_regressors_int",
}


# A check may be a partial of a partial, which `partial` makes flat.
def is_one_of(names, check):
    """Return whether a check has one of these names, on rows that may be written to."""
    return not is_read_only(check) and partial(check).func.__name__ in names


def is_read_only(check):
    """Return whether a check is one of those of read-only rows: a quarter of the time."""
    return "readonly_memmap" in partial(check).keywords


def of_numbers(decorator):
    """Leave the checks of what a configuration computes, those of odd rows among them."""
    names, pairs = decorator.args
    chosen = [(one, check) for one, check in pairs if is_one_of(OF_NUMBERS | OF_ODD_ROWS, check)]
    return pytest.mark.parametrize(names, chosen, ids=cache(decorator.kwargs["ids"]))


def without_repetitions(decorator):
    """Leave the checks of numbers, and all of the first configuration of each estimator.

    Those of the first one that mixes outputs, of odd rows and of read-only ones are slow.
    """
    names, pairs = decorator.args
    first, chosen = {}, []
    for estimator, check in pairs:
        n_latent = getattr(estimator, "n_latent", None)
        is_first = first.setdefault((type(estimator), n_latent), estimator) is estimator
        if (is_first and n_latent is None) or is_one_of(OF_NUMBERS, check):
            chosen.append((estimator, check))
        elif is_first or is_one_of(OF_ODD_ROWS, check) or is_read_only(check):
            chosen.append(pytest.param(estimator, check, marks=pytest.mark.slow))
    return pytest.mark.parametrize(names, chosen, ids=cache(decorator.kwargs["ids"]))
