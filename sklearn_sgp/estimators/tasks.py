"""The two tasks, regression and classification: how targets or labels are checked and encoded."""

from dataclasses import replace
from functools import partial
from numbers import Real

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .._compat import HasMethods, Interval, StrOptions
from ..data.checks import check_labels_present, check_scaled, not_sortable, sorted_labels
from ..data.rows import drop_zero_weight, make_rows, merge_repeated
from ..data.targets import ClassLabels, Encoded, Targets, count_samples, target_columns
from ..data.winsorize import winsorized
from ..likelihoods._names import (
    CLASSIFICATION,
    REGRESSION,
    classification_likelihood,
    may_vary,
    regression_likelihood,
    warps_targets,
)
from ..noise.found_noise import squared_errors
from ..noise.left_out import with_later_rows
from ..optimize.parameters import ParameterSpace
from ..predict.classification import ClassPredictions
from ..predict.regression import RegressionPredictions
from ..selection.warps import learned_warps, power_warps
from .base import SHARED_CONSTRAINTS, BaseSparseGP
from .surprise import Surprises

REGRESSOR_CONSTRAINTS = SHARED_CONSTRAINTS | {
    "noise_variance": [None, Interval(Real, 0, None, closed="neither"), "array-like"],
    "noise_variance_bounds": [StrOptions({"fixed"}), "array-like"],
    "normalize_y": ["boolean", StrOptions({"yeo-johnson", "warped"}), tuple],
}
# Share of a time budget in which a warp of the targets is learned.
WARP_SHARE = 0.2
# Targets further from the median, in its usual deviations, count as so far where the centre and
# scale of targets with outliers are found.
FURTHEST = 100.0
REGRESSION_LIKELIHOODS = [
    StrOptions(set(REGRESSION)),
    HasMethods(["moments"]),
]
CLASSIFICATION_LIKELIHOODS = [
    StrOptions({"auto", *CLASSIFICATION}),
    HasMethods(["expected_log_density", "probabilities"]),
]


class SparseGPRegressor(
    MultiOutputMixin, RegressorMixin, Surprises, RegressionPredictions, BaseSparseGP
):
    """The base of regressors: it scales their targets."""

    likelihood = "gaussian"  # where it is no parameter

    def _checked(self, X, y, sample_weight, *, reset):
        """Return validated inputs, targets and weights."""
        return self._validated(X, y, sample_weight, reset=reset, multi_output=True, y_numeric=True)

    def _encoded(self, X, y, weight, *, merges=True):
        """Merge repeated rows of a first batch, and find the scaling of its targets."""
        n_samples, ndim, y = count_samples(X, weight), y.ndim, target_columns(y)
        if merges:
            X, y, weight = merge_repeated(X, y, weight)
        likelihood = self._given_likelihood()
        likelihood.check_targets(y)
        likelihood = likelihood.initialized(y, weight)
        normalize_y = self.normalize_y if likelihood.scales_targets else False
        if normalize_y is True and warps_targets(likelihood):
            normalize_y = "warped"
        # one target of any size must not be the unit of all others, where noise has a word for it
        near = winsorized(y, FURTHEST) if likelihood.allows_outliers else y
        if isinstance(normalize_y, str):
            warps = self._warps(X, near, weight, normalize_y)
            targets = Targets.fit_warped(y, near, weight, warps, ndim)
        else:
            targets = Targets.fit(near, weight, normalize_y, ndim)
        if likelihood.scales_targets:
            check_scaled(targets, y)
        return Encoded(X, targets.warped(y), weight, targets, likelihood, n_samples)

    def _warps(self, X, y, weight, kind):
        """Return a monotone function for each output, of a kind that ``normalize_y`` names."""
        if kind == "yeo-johnson":
            return power_warps(y, weight)
        noise, rng = regression_likelihood("gaussian"), check_random_state(self.random_state)
        seconds = np.inf if self.max_time is None else WARP_SHARE * self.max_time
        return learned_warps(X, y, weight, self._choices(), noise, self._settings(), rng, seconds)

    def _given_likelihood(self):
        return regression_likelihood(self.likelihood)

    def _later_rows(self, X, y, weight, labels=None):
        """Make the `Rows` of a later batch, with the scaling of the first one."""
        y = self._targets.columns(y)
        X, y, weight, labels = drop_zero_weight(X, y, weight, labels)
        self._result.likelihood.check_targets(y)
        if self._result.likelihood.scales_targets:
            check_scaled(self._targets, y)
        return make_rows(X, self._targets.warped(y), weight, self._targets, labels)

    def _fitted_attributes(self, found, targets, weight):
        attributes = super()._fitted_attributes(found, targets, weight)
        if may_vary(self._given_likelihood()):
            noise = found.result.row_noise
            spread = None if noise is None else noise.spread
            attributes["spread_gain_"] = 0.0 if spread is None else spread.gain
            attributes["spread_range_"] = (1.0, 1.0) if spread is None else spread.range
        return attributes

    def _store(self, found, targets, weight, trace=None):
        super()._store(found, targets, weight, trace)
        if self.verbose and trace is not None and self._spread is not None:
            low, high = self.spread_range_
            print(
                f"[{type(self).__name__}] spread: deviations times {low:.2f} to {high:.2f} by "
                f"input, {self.spread_gain_:.3f} nats a row better for rows left out"
            )

    def _with_precisions(self, rows):
        """Return a later batch with the precisions of its rows, and the noise of all rows.

        The precisions are those that the predictions before the batch ask for.
        """
        noise = self._result.row_noise
        if noise is None:
            return rows, None
        blocks = self._numbers_of_blocks(rows.X, rows.labels)
        mean, variance = self._latent("mean_variance", rows.X, blocks)
        noise_variance = self._result.noise_variance
        noise = with_later_rows(noise, rows, mean, variance, noise_variance, self.n_jobs)
        squares = squared_errors(rows, mean, variance, noise_variance)
        noise, precision = noise.joined(rows, squares, self.n_jobs)
        return rows.with_precision(precision), noise


class SparseGPClassifier(ClassifierMixin, ClassPredictions, BaseSparseGP):
    """The base of classifiers: it encodes their labels and weights their classes."""

    class_weight = None  # where it is no parameter
    noise_variance = noise_variance_bounds = None  # labels have no noise besides the likelihood

    def _checked(self, X, y, sample_weight, *, reset, classes=None):
        """Return validated inputs, labels and weights of all rows of positive weight.

        Weights are multiplied by those of the classes. Classes of None are those of the labels.
        """
        weighted = self._with_class_weights(X, y, sample_weight, reset=reset, classes=classes)
        return drop_zero_weight(*weighted)

    def _with_class_weights(self, X, y, sample_weight, *, reset, classes=None):
        """As `_checked`, with all rows."""
        given = y
        try:
            X, y, weight = self._validated(X, y, sample_weight, reset=reset, multi_output=False)
            check_labels(y)
        except ValueError:
            if given is not None:
                check_labels_present("y", given)  # says more where that is the reason
            raise
        if y.dtype.kind == "U" and not hasattr(given, "dtype"):
            check_labels_present("y", given)  # a NaN among strings is "nan" now
        if self.class_weight is not None:
            weight = np.ones(len(y)) if weight is None else weight.copy()
            counts = weight > 0.0  # other rows may have any label
            known = np.unique(y[counts]) if classes is None else classes
            weight[counts] *= self._weight_of_classes(y[counts], known, weight[counts])
        if reset and weight is not None and not weight.any():
            raise ValueError(
                "class_weight must leave rows of weight above zero. Got "
                f"{self.class_weight!r}, which with sample_weight leaves none."
            )
        return X, y, weight

    def _known_classes(self, classes):
        """Return the sorted ``classes`` of a batch, which later ones must not change, or None."""
        known = None if classes is None else sorted_labels("classes", classes)
        if hasattr(self, "_result"):
            self._targets.check_same(known)
            return self.classes_
        return known

    def _check_class_weight_of_batches(self):
        """Refuse frequencies of classes that batches do not know."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' is not supported for partial_fit, which does not know how "
                "many rows of each class will come: give a dict."
            )

    def _weight_of_classes(self, y, classes, weight):
        """Return the weight of each row's class, or raise a ValueError."""
        place = ClassLabels(classes, None).positions(y)
        if isinstance(self.class_weight, dict):
            weights = list(self.class_weight.values())
            if not all(isinstance(w, Real) and 0.0 <= w < np.inf for w in weights):
                raise ValueError(
                    "The weights of the 'class_weight' parameter must be finite and not negative. "
                    f"Got {self.class_weight!r}."
                )
            return compute_class_weight(self.class_weight, classes=classes, y=classes)[place]
        total = np.bincount(place, weight, len(classes))  # not the rows of scikit-learn 1.6
        return (weight.sum() / (len(classes) * total[place])) if len(place) else np.empty(0)

    def _encoded(self, X, y, weight, *, classes=None, merges=True):
        """Encode the labels of a first batch, and merge its repeated rows."""
        n_samples, classes = count_samples(X, weight), known_or_present(classes, y, weight)
        likelihood = classification_likelihood(self.likelihood, classes)
        labels = ClassLabels(classes, likelihood)
        X, place, weight, of_class = placed(labels, X, y, weight, merges)
        y = likelihood.codes(place)
        likelihood = likelihood.for_classes(of_class).initialized(y, weight)
        return Encoded(X, y, weight, labels, likelihood, n_samples)

    def _later_rows(self, X, y, weight):
        """Make the `Rows` of a later batch."""
        return make_rows(X, self._targets.encode(y), weight, self._targets)

    def _learn(self, data, progress, clock, learner, *, labels=None):
        if data.y is not None:  # collections have all rows, and with them all classes
            learner = partial(_of_informative, learner=learner, targets=data.targets)
        super()._learn(data, progress, clock, learner, labels=labels)


def _of_informative(problem, learner, targets):
    """What is learned; of a first batch with labels of one class q(u) alone."""
    if not targets.is_informative(problem.rows):
        fixed = replace(problem.start, space=ParameterSpace(()))
        problem = replace(problem, start=fixed)
    return learner(problem)


def known_or_present(classes, y, weight):
    """The classes, or those of the rows of positive weight where none are known."""
    if classes is not None:
        return classes
    return np.unique(y if weight is None else y[weight > 0.0])


def placed(labels, X, y, weight, merges):
    """Rows with the positions of their classes, and the total weight of each class, (C,).

    Repeated rows are merged if so wished. Labels of rows of weight zero may be anything.
    """
    known = y if weight is None else np.where(weight > 0.0, y, labels.classes[0])
    place = labels.positions(known)
    if merges:
        X, place, weight = merge_repeated(X, place, weight)
    of_class = np.bincount(place, weights=weight, minlength=labels.n_outputs)
    return X, place, weight, of_class.astype(np.float64)


def check_labels(y):
    """Refuse what is no label, and labels that cannot be sorted, such as numbers among words."""
    try:
        with np.errstate(invalid="ignore"):  # it casts labels of any size to integers
            check_classification_targets(y)
    except TypeError as error:
        raise ValueError(not_sortable("y", y)) from error
