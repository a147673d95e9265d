"""All that a fitted estimator can say, and what must hold of it."""

import re

import numpy as np
from hostile_estimators import ESTIMATORS, PARAMETERS
from sklearn.base import clone
from sklearn.exceptions import NotFittedError


class Nonsense(AssertionError):
    """An answer that is not finite, or cannot be."""


NAMES = {name for estimator in ESTIMATORS for name in PARAMETERS[estimator]}
NAMES |= {"length_scale", "columns", "n_categories"}  # of kernels
NAMES |= {"X", "Y", "y", "sample_weight", "classes", "block_column"}
# Where scikit-learn's own checks say what is wrong without a name.
NAMES |= {"Sample weights", "features", "Found array", "Found input variables", "2D array"}
NAMES |= {"feature names", "Complex data", "dim 3", "could not convert", "n_clusters"}
NAMES |= {"joint covariance"}  # of draws, which says how to draw without it
_NAMED = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(NAMES)))
_OF_TYPES = re.compile("parse|dense|argument must be|could not convert")


def is_named(error):
    """Whether an error is one that users are meant to see."""
    if isinstance(error, ValueError):  # scikit-learn's of parameters is a TypeError as well
        return _NAMED.search(str(error)) is not None
    return isinstance(error, TypeError) and _OF_TYPES.search(str(error)) is not None


def _check(name, values, low=None, high=None):
    values = np.asarray(values)
    if values.dtype.kind not in "fiu":
        return values
    if not np.isfinite(values).all():
        raise Nonsense(f"{name} is not finite: {values.ravel()[~np.isfinite(values.ravel())][:3]}")
    if low is not None and (values < low).any():
        raise Nonsense(f"{name} must be at least {low}: {values.min()}")
    if high is not None and (values > high).any():
        raise Nonsense(f"{name} must be at most {high}: {values.max()}")
    return values


def _asked(refusals, name, function, *args, **kwargs):
    """Ask, and note what is refused with a reason."""
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        if not is_named(error):
            raise
        refusals.append(f"{name}: {error}")
        return None


def before_fit(model, X):
    """Ask what is not fitted: a prior, or scikit-learn's error."""
    refusals = []
    if hasattr(model, "sample_y"):
        try:
            answer = _asked(refusals, "prior", model.predict, X, return_std=True)
            draws = _asked(refusals, "prior", model.sample_y, X, n_samples=2)
        except NotFittedError:
            return []
        for values in (*(answer or ()), 0.0 if draws is None else draws):
            _check("prior", values)
        return refusals
    try:
        (model.transform if hasattr(model, "transform") else model.predict)(X)
    except NotFittedError:
        return []
    raise Nonsense("what is not fitted predicts")


def _described(model):
    """Copies and descriptions of a fitted estimator."""
    assert repr(model) and model._repr_html_()
    copy = clone(model)
    if any(name.endswith("_") and not name.startswith("_") for name in vars(copy)):
        raise Nonsense("a clone is fitted")
    if set(copy.get_params()) != set(model.get_params()):
        raise Nonsense("a clone has other parameters")


def answers_of(model, X, y, table):
    """Ask everything, check it, and return messages of what was refused."""
    refusals = []
    ask = model.transform if hasattr(model, "transform") else model.predict
    if _asked(refusals, "predict", ask, X) is None:
        return refusals
    try:
        if hasattr(model, "transform"):
            _latent(model, X, refusals)
        elif hasattr(model, "predict_proba"):
            _classes(model, X, y)
        else:
            _numbers(model, X, y, table, refusals)
    except (ValueError, TypeError, Warning) as error:
        raise Nonsense(f"{type(error).__name__} in a prediction: {error}") from error
    if table.seed % 8 == 0:
        _described(model)
    for name in ("objective_", "objectives_", "inducing_points_", "fit_times_", "jitter_"):
        _check(name, getattr(model, name))
    if hasattr(model, "noise_variance_"):
        if not (np.asarray(model.noise_variance_) > 0.0).all():
            raise Nonsense(f"noise_variance_ is {model.noise_variance_}")
    return refusals


def _latent(model, Y, refusals):
    mean, std = model.transform(Y, return_std=True)
    _check("transform", mean)
    _check("transform's std", std, 0.0)
    for name, values in zip(
        ("inverse_transform", "its std"),
        model.inverse_transform(mean, return_std=True),
        strict=True,
    ):
        _check(name, values)
    for size in (1e3, 1e30, 1e90):
        far = _asked(refusals, "inverse_transform", model.inverse_transform, size * (1.0 + mean))
        _check("inverse_transform far away", 0.0 if far is None else far)
    for name, values in zip(("impute", "its std"), model.impute(Y, return_std=True), strict=True):
        _check(name, values)
    _check("score_samples", model.score_samples(Y))
    _check("score", model.score(Y))
    _check("sample", model.sample(3, random_state=0))
    _check("embedding_", model.embedding_)
    _check("embedding_std_", model.embedding_std_, 0.0)
    _check("relevance_", model.relevance_, 0.0)
    names = model.get_feature_names_out()
    if len(names) != mean.shape[1]:
        raise Nonsense(f"names of {len(names)} for {mean.shape[1]} columns")


def _classes(model, X, y):
    probabilities = _check("predict_proba", model.predict_proba(X), 0.0, 1.0)
    if np.abs(probabilities.sum(axis=1) - 1.0).max() > 1e-9:
        raise Nonsense(f"probabilities sum to {probabilities.sum(axis=1)}")
    predicted = model.predict(X)
    if not np.isin(predicted, model.classes_).all():
        raise Nonsense("predict gives what is no class")
    _check("decision_function", model.decision_function(X))
    _check("predict_std", model.predict_std(X), 0.0)
    known = np.isin(y, model.classes_)
    if known.any():
        y = np.where(known, y, model.classes_[0])
        _check("log_density", model.log_density(X, y), high=0.0)
        _check("score", model.score(X, y), 0.0, 1.0)
        weights = np.linspace(1e-9, 1e9, len(y))
        _check("score", model.score(X, y, sample_weight=weights), 0.0, 1.0)


def _numbers(model, X, y, table, refusals):
    counts = "count" in table.targets
    mean, std = model.predict(X, return_std=True)
    _check("mean", mean)
    _check("std", std, 0.0)
    if model.include_noise and not (std > 0.0).all():
        raise Nonsense("std is zero")
    _check("latent std", model.predict_std(X, include_noise=False), 0.0)
    levels = (0.01, 0.5, 0.99)
    quantiles = _check("quantiles", model.predict_quantiles(X, quantiles=levels))
    if (np.diff(quantiles, axis=-1) < 0.0).any():
        raise Nonsense("quantiles fall")
    covariance = _asked(refusals, "return_cov", model.predict, X, return_cov=True)
    if covariance is not None:
        _check("covariance", covariance[1])
    for method in ("auto", "joint", "pathwise"):
        draws = _asked(refusals, "sample_y", model.sample_y, X, n_samples=2, method=method)
        _check("draws", 0.0 if draws is None else draws)
    function = _asked(refusals, "sample_functions", model.sample_functions, 3, random_state=0)
    _check("drawn functions", 0.0 if function is None else function(X))
    # squares of more standard deviations overflow, and larger numbers are refused
    y = y if counts else np.clip(y, mean - 1e100 * std, mean + 1e100 * std).clip(-1e100, 1e100)
    if np.isfinite(y).all():
        _check("log_density", model.log_density(X, y))
        if np.ptp(y, axis=0).min() > 1e-50 and np.abs(y).max() < 1e50:
            _asked(refusals, "score", model.score, X, y)
            weights = np.linspace(1e-9, 1e9, len(y))
            _asked(refusals, "score", model.score, X, y, sample_weight=weights)
    if hasattr(model, "log_marginal_likelihood"):
        evidence = _asked(refusals, "log_marginal_likelihood", model.log_marginal_likelihood)
        _check("log_marginal_likelihood", 0.0 if evidence is None else evidence)
        _evidence_at(model, X, y, refusals)
    _distribution(model, X, y, refusals)
    noise = _asked(refusals, "noise_std", model.noise_std, X)
    _check("noise_std", 0.0 if noise is None else noise, 0.0)


def _evidence_at(model, X, y, refusals):
    """The objective and its gradient at other parameters, on other rows."""
    theta = model.kernel_.theta + 0.1
    given = {"X": X, "y": y, "eval_gradient": True}
    found = _asked(refusals, "evidence", model.log_marginal_likelihood, theta, **given)
    for values in found or ():
        _check("evidence elsewhere", values)


def _distribution(model, X, y, refusals):
    distribution = _asked(refusals, "predict_distribution", model.predict_distribution, X)
    if distribution is None:
        return
    y = np.nan_to_num(np.asarray(y, dtype=float))
    _check("distribution's mean", distribution.mean())
    _check("distribution's std", distribution.std(), 0.0)
    _check("cdf", distribution.cdf(y), 0.0, 1.0)
    _check("sf", distribution.sf(y), 0.0, 1.0)
    _check("ppf", distribution.ppf(0.3))
    _check("median", distribution.median())
    _check("interval", distribution.interval(0.9))
    far = np.reshape([1e-9, 1.0 - 1e-9], (2, *[1] * len(distribution.shape)))
    _check("far quantiles", distribution.ppf(far))
    _check("pdf", distribution.pdf(y), 0.0)
    _check("rvs", distribution.rvs(random_state=0))
