"""Pickles of estimators that know the version and the format they were written in."""

import warnings

from sklearn.exceptions import InconsistentVersionWarning

from ._plain import as_plain, from_plain
from ._version import SAVED_FORMAT, __version__

_VERSION, _FORMAT = "_sklearn_sgp_version", "_sklearn_sgp_format"


def with_version(state):
    """Return the attributes of an estimator as plain data, with version and format."""
    return {**as_plain(state), _VERSION: __version__, _FORMAT: SAVED_FORMAT}


class SavedWithVersion:
    """Mixin of estimators that are saved with version and format.

    Loading warns as scikit-learn's own estimators do if the version is another one, and raises if
    the format is: what was learned would be read wrongly, or not at all. What is saved is plain
    data (`_plain.py`): a file asks for no trust in any class but the estimator's.
    """

    def __setstate__(self, state):
        state = dict(state)
        name = type(self).__name__
        version, form = state.pop(_VERSION, "unknown"), state.pop(_FORMAT, "unknown")
        if form != SAVED_FORMAT:
            raise ValueError(
                f"A saved {name} must have format {SAVED_FORMAT}, which sklearn_sgp {__version__} "
                f"reads. Got format {form}, written by version {version}: load it with that "
                "version, or fit again."
            )
        if version != __version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=name,
                    current_sklearn_version=__version__,
                    original_sklearn_version=version,
                ),
                stacklevel=2,
            )
        super().__setstate__(from_plain(state))
