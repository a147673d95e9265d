"""The private and the version-dependent parts of scikit-learn that we use, in one place.

Validation of parameters and of columns is private in scikit-learn, though the same from 1.6 to 1.9.
Callbacks came with 1.9, as an experiment: what changes there is changed here and nowhere else.
"""

import math

from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_feature_names, _check_n_features, _check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9

    class _SilentContext:
        """A callback context without callbacks."""

        def subcontext(self, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            return self

        def call_on_fit_task_end(self, **kwargs):
            return False

    class CallbackSupportMixin:
        """Stands in for the mixin of scikit-learn 1.9: no `set_callbacks`, so no callbacks."""

        def _init_callback_context(self, **kwargs):
            return _SilentContext()


__all__ = [
    "CallbackSupportMixin",
    "FitProgress",
    "HasMethods",
    "Interval",
    "StrOptions",
    "_check_feature_names",
    "_check_n_features",
    "_check_sample_weight",
    "_fit_context",
]


class FitProgress:
    """The reports of a fit to scikit-learn's callbacks, as it goes.

    For use in methods under `_fit_context`, which tears the callbacks down however the method ends.
    Before scikit-learn 1.9 there are no callbacks, and no step is ever asked to be the last.

    Sample weights are not passed on: with them, `ScoringMonitor` of 1.9 raises on scorers that are
    plain functions, as ours are, so its scores are unweighted.

    Parameters
    ----------
    estimator : estimator instance
        The one being fitted.

    X, y : array-like
        The training data, as callbacks will see it.
    """

    def __init__(self, estimator, X, y):
        self._arguments = {"estimator": estimator, "X": X, "y": y}

    def begin(self):
        """Report the beginning of the fit: once, before the first step."""
        estimator = self._arguments["estimator"]
        self._context = estimator._init_callback_context(max_subtasks=None)  # unknown
        self._context.call_on_fit_task_begin(**self._arguments)
        return self

    def step(self, reconstruction_attributes=None, stage="", seconds_left=math.inf):
        """Report a step that is over.

        What is told besides are attributes of the context that callbacks get.

        Parameters
        ----------
        reconstruction_attributes : callable or dict, default=None
            The fitted attributes with which the estimator would predict at this moment. A callable
            is called only if some callback wants them.

        stage : str, default=""
            What goes on, in words.

        seconds_left : float, default=inf
            Those that are expected; inf where they are not known.

        Returns
        -------
        stop : bool
            Whether a callback asks to end the fit here.
        """
        task = self._context.subcontext(task_name="step")
        task.stage, task.seconds_left = stage, seconds_left
        task.call_on_fit_task_begin(**self._arguments)
        return task.call_on_fit_task_end(
            **self._arguments, reconstruction_attributes=reconstruction_attributes
        )

    def end(self):
        """Report the end of the fit, when the estimator holds its fitted attributes."""
        self._context.call_on_fit_task_end(**self._arguments, reconstruction_attributes={})
