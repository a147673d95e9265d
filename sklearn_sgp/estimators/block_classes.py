"""How a classifier in blocks encodes labels, and chooses what its probabilities depend on."""

from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from .._compat import _fit_context
from ..data.class_targets import ClassTargets
from ..data.rows import make_rows
from ..data.targets import ClassLabels, Encoded, count_samples
from ..engines.base import Problem
from ..engines.start import start
from ..likelihoods._names import check_classes, labels_as_targets
from ..optimize.progress import Clock, Trace
from ..selection.classes import ALPHAS, best_alpha, calibrated
from .tasks import known_or_present, placed

# Where near rows cannot tell a better one, as predictions do not use them.
_USUAL_ALPHA = 0.01
# Share of a time budget in which `alpha_epsilon` is chosen.
_ALPHA_SHARE = 0.2
# Rows of the groups that the kernel is learned from for each value of it.
_ALPHA_ROWS = 1024


class ClassBlocks:
    """A mixin of `AnytimeSGPClassifier`: labels as targets with known noise."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, blocks=None):
        """Learn from all rows at once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,)
            Labels, such as strings or integers, that can be sorted.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks, integers or strings, instead of ``partition``.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If inputs or parameters are not valid. The estimator is then as before.

        KeyboardInterrupt
            If Ctrl-C comes. After a step of the anytime solver the estimator has the last q(u).
        """
        return self._fit_all(X, y, sample_weight, blocks)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None, blocks=None):
        """Learn from one more batch of rows, which are added to blocks.

        The first batch decides all but the posterior. Later batches change that alone, and only
        through the blocks that they add rows to. A first batch of one class says nothing about the
        kernel, which stays where it starts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,)
            Labels.

        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come. The first call needs them if its batch does not hold all
            of them.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks, if the first batch had them. New labels begin new blocks.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a label is not among the classes, if other inputs or parameters are not valid, or if
            a parameter has changed that needs a new ``fit``. The estimator is then as before.
        """
        self._check_class_weight_of_batches()
        known = self._known_classes(classes)
        if not hasattr(self, "_result"):
            return self._fit_all(X, y, sample_weight, blocks, classes=known)
        self._add_rows(X, y, sample_weight, blocks, classes=known)
        return self

    def _checked(self, X, y, sample_weight, *, reset, classes=None):
        """Return validated inputs, labels and weights of all rows: blocks have labels for all."""
        return self._with_class_weights(X, y, sample_weight, reset=reset, classes=classes)

    def _encoded(self, X, y, weight, *, classes=None, merges=True):
        """Encode the labels of a first batch, and merge its repeated rows."""
        n_samples = count_samples(X, weight)
        labels = ClassLabels(check_classes(known_or_present(classes, y, weight)), None)
        X, place, weight, of_class = placed(labels, X, y, weight, merges)

        def encoded(alpha):
            targets = ClassTargets.fit(labels, labels_as_targets(alpha), of_class)
            y = targets.targets(place)
            return Encoded(X, y, weight, targets, targets.likelihood, n_samples)

        alpha = self.alpha_epsilon
        if isinstance(alpha, str):
            can_tell = self._uses_near_rows() and np.count_nonzero(of_class) > 1
            alpha = self._best_alpha(encoded) if can_tell else _USUAL_ALPHA
        return encoded(float(alpha))

    def _best_alpha(self, encoded):
        choices = replace(
            self._choices(),
            n_inducing=1,
            inducing="random",
            optimize_inducing=False,
            kernel_set="isotropic",
        )

        seed = check_random_state(self.random_state).randint(2**31)  # the same groups for all
        seconds = None if self.max_time is None else _ALPHA_SHARE * self.max_time

        def problem_at(alpha):
            data, rng = encoded(alpha), check_random_state(seed)
            rows = self._first_rows(data, None)
            started = start(rows, choices, data.likelihood, rng)
            settings = replace(self._settings(), init_size=_ALPHA_ROWS)
            trace = Trace(Clock(seconds))
            return Problem(rows, started, None, settings, trace, rng, is_interim=True)

        return best_alpha(problem_at, ALPHAS, np.inf if seconds is None else seconds)

    def _first_rows(self, data, labels):
        return _rows(data.X, data.y, data.weight, data.targets, labels)

    def _later_rows(self, X, y, weight, labels=None):
        """Make the `Rows` of a later batch."""
        X, place, weight, _ = placed(self._targets.labels, X, y, weight, merges=False)
        return _rows(X, self._targets.targets(place), weight, self._targets, labels)

    def _learn(self, data, progress, clock, learner, *, labels=None):
        if self._uses_near_rows():
            given = not isinstance(self.inducing, str)
            learner = partial(_calibrated, learner=learner, keeps_inducing=given)
        super()._learn(data, progress, clock, learner, labels=labels)
        if self.verbose:
            alpha, temperature = self.alpha_epsilon_, self.temperature_
            found = f"alpha_epsilon={alpha:g}, temperature={temperature:.3g}"
            print(f"[{type(self).__name__}] probabilities: {found}")

    def _default_kernels(self):
        return "classes"

    def _alternates(self, likelihood):
        """Return False: the noise of rows is known."""
        return False

    def _fitted_attributes(self, found, targets, weight):
        likelihood = found.result.likelihood
        chosen = {
            "alpha_epsilon_": likelihood.alpha_epsilon,
            "temperature_": likelihood.temperature,
        }
        return super()._fitted_attributes(found, targets, weight) | chosen


def _rows(X, y, weight, targets, labels):
    """`Rows` with the noise that labels have as targets."""
    rows = make_rows(X, y, weight, targets, labels)
    return replace(rows.with_precision(targets.precision(rows.y)), of_classes=True)


def _calibrated(problem, learner, keeps_inducing):
    """What is learned, calibrated where anything is learned."""
    found = learner(problem)
    if not problem.learns or problem.trace.stopped or found.interrupted:
        return found
    return calibrated(problem, found, learner, keeps_inducing)
