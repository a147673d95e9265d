"""What all sparse GP estimators share: transactions, validation of inputs, chunked prediction."""

import functools

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._compat import CallbackSupportMixin, check_sample_weight, validate_data
from .._parallel import map_groups, resolved_jobs

# Rows predicted together, and in one task of a parallel map.
PREDICT_CHUNK = 1024
PREDICT_TASK = 16 * PREDICT_CHUNK
# Squares of larger numbers, over noise variances and times weights, can overflow.
LARGEST = 1e100


def transactional(method):
    """Leave the estimator as it was if ``method`` raises anything, Ctrl-C included.

    Fitted attributes are replaced, never changed in place, so a shallow copy restores them.
    """

    @functools.wraps(method)
    def guarded(self, *args, **kwargs):
        before = self.__dict__.copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return guarded


class BaseSparseGP(CallbackSupportMixin, BaseEstimator):
    """Base of all estimators; the model itself is ``self._posterior``."""

    _doc_link_module = "sklearn_sgp"

    def _validated(self, X, y, sample_weight, *, reset, **check_y):
        """Checked inputs, targets and weights; weights of None stay None."""
        X, y = validate_data(
            self, X, y, reset=reset, dtype=[np.float64, np.float32], order=None, **check_y
        )
        check_size("X", X)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, dtype=np.float64)
        return X, y, sample_weight

    def _validated_inputs(self, X):
        check_is_fitted(self, "_posterior")
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        check_size("X", X)
        return X

    def _in_chunks(self, predict, X):
        """Concatenated results of ``predict(chunk)``, a tuple of arrays for each chunk."""
        tasks = [(predict, X[lo : lo + PREDICT_TASK]) for lo in range(0, len(X), PREDICT_TASK)]
        parts = map_groups(_predict_task, tasks, resolved_jobs(self.n_jobs))
        return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def check_size(name, values):
    """Refuse numbers whose squares could overflow."""
    largest = float(max(values.max(), -values.min()))
    if largest > LARGEST:
        raise ValueError(
            f"{name} must hold numbers of at most {LARGEST:g} in size, so that their squares are "
            f"finite. Got {largest:g}: use another unit."
        )


def _predict_task(predict, X):
    chunks = [predict(X[lo : lo + PREDICT_CHUNK]) for lo in range(0, len(X), PREDICT_CHUNK)]
    return tuple(np.concatenate(arrays) for arrays in zip(*chunks, strict=True))
