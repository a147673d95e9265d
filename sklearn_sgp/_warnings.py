"""Warnings that point at the caller's line, however deep they arise."""

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

_INTERNAL = ("sklearn_sgp.", "sklearn.", "joblib.")


def warn_caller(message, category=ConvergenceWarning):
    """Issue a warning from the first frame outside this package and scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(_INTERNAL):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
