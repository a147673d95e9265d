"""Likelihoods by name: the only place that maps names to classes."""

import copy

from ._against_rest import OneAgainstRest
from ._base import Likelihood
from ._bernoulli import Logit, Probit
from ._beta import Beta
from ._censored import Censored
from ._dirichlet import Dirichlet
from ._gamma import Gamma
from ._negative_binomial import NegativeBinomial
from ._ordinal import Ordinal
from ._poisson import Poisson
from ._row_precision import NoiseChoice
from ._softmax import Softmax
from .noise import (
    AutoNoise,
    Gaussian,
    HeteroscedasticGaussian,
    HeteroscedasticStudentT,
    NoiseAmidGaps,
    StudentT,
)

# Gaussian given a precision of each row.
NORMAL = {
    "auto": AutoNoise,
    "gaussian": Gaussian,
    "student_t": StudentT,
    "heteroscedastic": HeteroscedasticGaussian,
    "heteroscedastic_student_t": HeteroscedasticStudentT,
}
# Learned by sites.
WITH_SITES = {
    "poisson": Poisson,
    "negative_binomial": NegativeBinomial,
    "censored": Censored,
    "gamma": Gamma,
    "beta": Beta,
}
REGRESSION = NORMAL | WITH_SITES
CLASSIFICATION = {"probit": Probit, "logit": Logit, "softmax": Softmax, "ordinal": Ordinal}

# What an instance needs for fit and predict, and for all else if it is no `Likelihood`.
_MUST_DEFINE = {
    "regression": ["expected_log_density", "moments"],
    "classification": ["expected_log_density", "probabilities"],
}
_SHARED = [
    "conjugate", "identity_mean", "has_noise", "scales_targets", "natural_step", "shift_invariant",
    "max_classes", "n_latent", "check_targets", "initialized", "theta", "theta_bounds",
    "with_theta", "log_predictive_density",
]  # fmt: skip
_FOR_CLASSES = ["for_classes", "codes", "decision"]
_INTERFACE = {
    "regression": [*_MUST_DEFINE["regression"], *_SHARED, "covariance", "quantiles", "draw"],
    "classification": [*_MUST_DEFINE["classification"], *_SHARED, *_FOR_CLASSES],
}


def regression_likelihood(likelihood):
    """Make the likelihood of a regressor from a name in `REGRESSION`, or copy an instance."""
    return _instance(likelihood, "regression", REGRESSION)


def takes_row_noise(likelihood):
    """Return True if it can be learned as row noise: Gaussian, of precisions that differ by row.

    So block models learn it. Variational models do so where they need it; else they have an
    expected log density, which needs no precisions.
    """
    return any(one.row_precision.differs for one in NoiseChoice.of(likelihood).candidates)


def needs_row_noise(likelihood):
    """Return True if row noise is the only way to learn it."""
    return takes_row_noise(likelihood) and not has_expected_log_density(likelihood)


def has_expected_log_density(likelihood):
    """Return True if a likelihood defines its expectation, or a log density of which it follows."""
    return _defines(likelihood, "expected_log_density") or _defines(likelihood, "log_density")


def has_log_density(likelihood):
    """Return True if a model that knows its near rows can find sites for it."""
    return _defines(likelihood, "log_density") and hasattr(likelihood, "tilted_moments")


def _defines(likelihood, name):
    """Return True if it has a method that is not the one of the base class."""
    own = getattr(likelihood, name, None)
    return getattr(own, "__func__", own) not in (None, getattr(Likelihood, name))


def warps_targets(likelihood):
    """Return True if targets are warped where the user leaves that open."""
    return NoiseChoice.of(likelihood).warps_targets


def may_vary(likelihood):
    """Return True if the noise that a fit finds may depend on the input."""
    return NoiseChoice.of(likelihood).may_vary


def near_class_likelihood(likelihood, classes):
    """Make the likelihood of a classifier that knows its near rows, of one function.

    Parameters
    ----------
    likelihood : str or Likelihood
    classes : ndarray of shape (C,)
        Labels.
    """
    n_classes = len(check_classes(classes))
    named = CLASSIFICATION.get(likelihood) if isinstance(likelihood, str) else type(likelihood)
    if n_classes > 2 and getattr(named, "max_classes", None) == 2:
        raise ValueError(
            # scikit-learn's checks look for the first sentence
            f"Only binary classification is supported. With {n_classes} classes the 'likelihood' "
            "parameter must be 'dirichlet', or 'ordinal' for classes in an order. Got "
            f"{likelihood!r}: for one function against each other class, wrap the estimator in "
            "sklearn.multiclass.OneVsRestClassifier."
        )
    instance = classification_likelihood(likelihood, classes)
    if not has_log_density(instance) or instance.n_latent(n_classes) != 1:
        raise ValueError(
            "The 'likelihood' parameter must have one latent function and a log_density, as "
            f"'probit' and 'logit' have. Got {likelihood!r}, which SVGPClassifier takes."
        )
    return instance


def sites_of_classes(classes):
    """Make the likelihood of classes that have sites, of several each against the rest."""
    return Probit() if len(classes) == 2 else OneAgainstRest([Probit() for _ in classes])


def noise_amid_gaps():
    """Make the likelihood of targets whose rows lack values, and know the rows near them."""
    return NoiseAmidGaps()


def labels_as_targets(alpha_epsilon):
    """Return the likelihood of labels that are learned by regressions with known noise."""
    return Dirichlet(alpha_epsilon)


def check_classes(classes):
    """Return the classes, or raise a ValueError where there is one only."""
    if len(classes) < 2:
        given = f"one class: {classes.tolist()}" if len(classes) else "no label"
        raise ValueError(
            "y must hold at least two classes among rows of positive weight. Got "
            f"{given}. The first batch of a stream may hold one, if partial_fit is given all of "
            "them as classes=."
        )
    return classes


def classification_likelihood(likelihood, classes):
    """Make the likelihood of a classifier from a name, or copy an instance.

    "auto" is probit for two classes, softmax for more; ``classes`` (C,) are their labels.
    """
    check_classes(classes)
    if isinstance(likelihood, str) and likelihood == "auto":
        return Probit() if len(classes) == 2 else Softmax()
    instance = _instance(likelihood, "classification", CLASSIFICATION)
    if instance.max_classes is not None and len(classes) > instance.max_classes:
        raise ValueError(
            f"The 'likelihood' parameter must be 'softmax' for {len(classes)} classes. Got "
            f"{likelihood!r}: for one function against each other class, wrap the estimator in "
            "sklearn.multiclass.OneVsRestClassifier."
        )
    return instance


def _instance(likelihood, task, named):
    if isinstance(likelihood, str):
        if likelihood not in named:
            raise ValueError(
                f"The 'likelihood' parameter must be one of {sorted(named)} or an instance of a "
                f"{task} likelihood. Got {likelihood!r}."
            )
        return named[likelihood]()
    if isinstance(likelihood, type):
        raise ValueError(
            "The 'likelihood' parameter must be an instance, not a class: write "
            f"{likelihood.__name__}(). Got {likelihood!r}."
        )
    needed = (_MUST_DEFINE if isinstance(likelihood, Likelihood) else _INTERFACE)[task]
    if needs_row_noise(likelihood):
        needed = [name for name in needed if name != "expected_log_density"]
    missing = [name for name in needed if not hasattr(likelihood, name)]
    if "expected_log_density" in needed and not has_expected_log_density(likelihood):
        missing = sorted({*missing, "expected_log_density"}, key=needed.index)
    if missing:
        raise ValueError(
            f"The 'likelihood' parameter must have the interface of a {task} likelihood "
            f"(sklearn_sgp.likelihoods.Likelihood). Got {likelihood!r}, which has no "
            f"{', '.join(missing)}."
        )
    return copy.deepcopy(likelihood)  # a fitted model owns its likelihood
