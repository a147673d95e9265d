"""Validation of inputs, weights and targets, and codes in columns of categories."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from .._compat import check_sample_weight, validate_data
from ..data.categories import CategoryCodes, InputColumns
from ..data.checks import check_size, check_variance
from ..kernels.categories._binding import check_seen_codes

_DTYPE = [np.float64, np.float32]


class InputValidation:
    """A mixin of all estimators."""

    _category_codes = None

    def _validated(self, X, y, sample_weight, *, reset, **check_y):
        """Return checked inputs, targets and weights. Weights of None stay None."""
        if issparse(y):
            raise TypeError("y must be a dense array. Got a sparse one: pass y.toarray().")
        found = None

        def validate(X):
            nonlocal found
            X, found = validate_data(self, X, y, reset=reset, order=None, dtype=_DTYPE, **check_y)
            return X

        X = self._numbers(X, validate, reset=reset, learns=True, weight=sample_weight)
        return X, found, self._validated_weight(sample_weight, X)

    def _validated_weight(self, sample_weight, X):
        if sample_weight is None:
            return None
        weight = check_sample_weight(sample_weight, X, dtype=np.float64)
        check_size("sample_weight", weight)
        return weight

    def _validated_inputs(self, X):
        check_is_fitted(self, "_result")
        return self._numbers(X, self._validate_X)

    def _validate_X(self, X, reset=False):
        return validate_data(self, X, reset=reset, dtype=_DTYPE)

    def _numbers(self, X, validate, *, reset=False, learns=False, weight=None):
        """Return X validated, with codes in its columns of categories.

        An array of numbers is validated as it is, and has codes where its rows are read: it is not
        copied. Anything else has them before ``validate(X)`` makes it an array.
        """
        codes = self._codes_for(X, reset=reset, learns=learns, weight=weight)
        waits = codes is not None and codes.can_wait(X)
        if codes is not None and not waits:
            X = codes.transform(X)
        try:
            X = validate(X)
        except ValueError as error:
            if "could not convert string" not in str(error) or not _holds_strings(X):
                raise
            raise ValueError(
                f"X must hold numbers but in columns of categories. Got a string: {error}. Name "
                "such columns in categorical_features, or encode them."
            ) from error
        check_size("X", X)
        X = codes.transform(X) if waits else X
        if not reset and hasattr(self, "_result"):
            check_seen_codes(self._result.parameters.expression, X, self._input_columns())
            check_variance(self._result.parameters.kernel, X)
        return X

    def _codes_for(self, X, *, reset, learns, weight):
        """Return the codes of the columns of categories, which a first batch decides."""
        if issparse(X):
            self._category_codes = None if reset else self._category_codes
            return None
        if reset:
            given = self.categorical_features
            self._category_codes = None if given is None else CategoryCodes.fit(X, given, weight)
        if self._category_codes is None:
            return None
        if not reset and hasattr(X, "columns") and hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=False, skip_check_array=True)  # an error of names is first
        if learns:
            self._category_codes = self._category_codes.extended(X, weight)
        return self._category_codes

    def _for_callbacks(self, given, checked):
        """Return X and y as callbacks see them, who predict from them: without codes.

        Of columns of categories they get what the user gave, rows of weight zero included.
        """
        return checked if self._category_codes is None else given

    def _input_columns(self):
        """Return names and categories of the columns of the first batch."""
        names, codes = getattr(self, "feature_names_in_", None), self._category_codes
        coded = () if codes is None else (codes.columns, codes.first_keys)
        return InputColumns(None if names is None else tuple(names), *coded)


def _holds_strings(X):
    """Whether X cannot be made an array of numbers; else the string is a target."""
    try:
        np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return False
