"""Files of models name no type but those of ``TRUSTED_TYPES``."""

import importlib
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import saved_models
from numpy.testing import assert_array_equal
from scipy.stats import lognorm
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, WhiteKernel

from sklearn_sgp import (
    TRUSTED_TYPES,
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.kernels import Columns
from sklearn_sgp.likelihoods import Censored

X, Y, WORDS = saved_models.X, saved_models.NUMBERS, saved_models.WORDS
SMALL = saved_models.SMALL
FRAME = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(WORDS)})
PAIR = np.column_stack([Y, np.where(np.arange(12) < 3, np.nan, -Y)])
KERNEL = Columns(RBF(), [0]) * Matern() + DotProduct() ** 2 + WhiteKernel()
MORE = {
    "warped": (SVGPRegressor(normalize_y="warped", **SMALL), X, np.exp(Y)),
    "auto": (SVGPRegressor(likelihood="auto", **SMALL), X, np.exp(Y)),
    "heteroscedastic": (SVGPRegressor(likelihood="heteroscedastic", **SMALL), X, Y),
    "censored": (SVGPRegressor(likelihood=Censored(upper=1.0), **SMALL), X, np.minimum(Y, 1.0)),
    "mixed": (SVGPRegressor(n_latent=1, **SMALL), X, PAIR),
    "categories": (SVGPRegressor(categorical_features="from_dtype", **SMALL), FRAME, Y),
    "missing categories": (
        SVGPRegressor(categorical_features=["b"], **SMALL),
        FRAME.assign(b=FRAME["b"].where(np.arange(12) > 2)),
        Y,
    ),
    "categories that are numbers": (
        SVGPRegressor(categorical_features=[1], **SMALL),
        np.column_stack([X[:, 0], np.arange(12) % 3 * 2.5]),
        Y,
    ),
    "categories that are truths": (
        SVGPRegressor(categorical_features=["b"], **SMALL),
        FRAME.assign(b=np.arange(12) % 2 == 0),
        Y,
    ),
    "kernel": (SVGPRegressor(KERNEL, **SMALL), X, Y),
    "priors": (
        SVGPRegressor(RBF(), kernel_priors={"length_scale": lognorm(0.5, scale=[2.0])}, **SMALL),
        X,
        Y,
    ),
    "adam": (SVGPRegressor(optimizer="adam", max_steps=2, **SMALL), X, Y),
    "fourier": (SVGPRegressor(inducing="fourier", **SMALL), X, Y),
    "holes": (SVGPRegressor(**SMALL), np.where(X > 1.5, np.nan, X), Y),
    "holes among near rows": (
        AnytimeSGPRegressor(n_neighbors=4, **SMALL),
        np.where(X > 1.5, np.nan, X),
        Y,
    ),
    "pitc": (AnytimeSGPRegressor(model="pitc", block_size=6, **SMALL), X, Y),
    "lma": (AnytimeSGPRegressor(model="lma", block_size=6, **SMALL), X, Y),
    "counts of near rows": (
        AnytimeSGPRegressor(likelihood="poisson", n_neighbors=4, **SMALL),
        X,
        np.arange(12) % 3,
    ),
    "several classes": (SVGPClassifier(**SMALL), X, np.arange(12) % 3),
    "ordered classes": (SVGPClassifier(likelihood="ordinal", **SMALL), X, np.arange(12) % 3),
    "classes of labels": (AnytimeSGPClassifier(n_neighbors=4, **SMALL), X, np.arange(12) % 3),
    "stream with noise": (StreamingSGPRegressor(likelihood="heteroscedastic", **SMALL), X, Y),
    "warped stream": (StreamingSGPRegressor(normalize_y="warped", **SMALL), X, np.exp(Y)),
}
STORED = {name: (model, X, y) for name, (model, y) in saved_models.MODELS.items()}
EVERY = STORED | MORE
HARMLESS = ("builtins", "numpy", "collections")


def types_in(value, met):
    """Types of a value and its parts, by the rule of pickle's protocol 2."""
    if id(value) in met or value is None:
        return
    met[id(value)] = value
    if isinstance(value, type):
        yield value
        return
    yield type(value)
    if isinstance(value, dict):
        # pickle takes any key, JSON, which skops writes, words alone
        assert all(isinstance(key, str) for key in value)
        inside = [*value, *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inside = value
    elif type(value).__module__.split(".")[0] in HARMLESS:
        inside = value.ravel() if isinstance(value, np.ndarray) and value.dtype.hasobject else ()
    else:
        _, *inside = value.__reduce_ex__(2)
    for part in inside:
        yield from types_in(part, met)


def fit(name):
    model, X, y = EVERY[name]
    model = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y), X


def answers(model, X):
    if hasattr(model, "transform"):
        return np.hstack(model.transform(X, return_std=True))
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return np.hstack(model.predict(X, return_std=True))


@pytest.mark.slow_cases("classes of labels", "several classes", "holes", "counts of near rows")
@pytest.mark.parametrize("name", EVERY)
def test_models_hold_trusted_types(name):
    """The estimator is the one type of a saved model that is not plain data, and it is listed."""
    model, X = fit(name)
    kinds = {kind for kind in types_in(model, {}) if kind.__module__.split(".")[0] not in HARMLESS}
    assert kinds == {type(model)}
    assert f"{type(model).__module__}.{type(model).__qualname__}" in TRUSTED_TYPES
    said = answers(model, X)
    for protocol in (0, 1, pickle.HIGHEST_PROTOCOL):
        loaded = pickle.loads(pickle.dumps(model, protocol=protocol))
        assert_array_equal(answers(loaded, X), said)


@pytest.mark.quick_cases(
    "svgp_classifier", "anytime_pic", "auto", "categories", "stream with noise"
)
@pytest.mark.parametrize("name", EVERY)
def test_skops_reads_models(name):
    """A file of skops is read with these types alone, and predicts the same to the last bit."""
    io = pytest.importorskip("skops.io")
    model, X = fit(name)
    loaded = io.loads(io.dumps(model), trusted=TRUSTED_TYPES)
    assert_array_equal(answers(loaded, X), answers(model, X))


def test_skops_reads_categories_that_are_intervals():
    """Categories that pandas.cut has made are read, by the name of the installed pandas."""
    io = pytest.importorskip("skops.io")
    table = FRAME.assign(b=pd.cut(X[:, 1], 3))
    model = SVGPRegressor(categorical_features=["b"], **SMALL).fit(table, Y)
    loaded = io.loads(io.dumps(model), trusted=TRUSTED_TYPES)
    assert_array_equal(loaded.predict(table), model.predict(table))


def test_trusted_types_are_there():
    """Each name is that of something, listed once."""
    assert len(set(TRUSTED_TYPES)) == len(TRUSTED_TYPES)
    for name in TRUSTED_TYPES:
        if name.startswith("pandas."):  # names of several versions
            continue
        module, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        assert found.__module__ == module


def test_parameters_are_trusted():
    """Kernels and likelihoods by themselves, as grids of searches hold them, are listed."""
    for parameter in (KERNEL, Censored(upper=1.0)):
        kinds = {kind for kind in types_in(parameter, {}) if kind.__module__ != "builtins"}
        names = {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds}
        assert names - set(TRUSTED_TYPES) <= {"numpy.float64", "numpy.ndarray"}


@pytest.mark.parametrize("n_inducing", [64, 256])
def test_size_of_files(n_inducing):
    """A file holds twice the two matrices that predictions need at most, whatever the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n_inducing, 3))
    model = SVGPRegressor(RBF(), n_inducing=n_inducing, optimizer=None, random_state=0)
    size = len(pickle.dumps(model.fit(X, X[:, 0])))
    assert size < 2 * 8 * n_inducing**2 + 8 * n_inducing * 20 + 10_000


@pytest.mark.parametrize("gaps", [False, True])
def test_size_of_files_of_mixed_outputs(gaps):
    """One matrix of the prior and that of q(u): of two functions apart, or, with gaps, together."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.column_stack([X[:, 0], -X[:, 0], X.sum(axis=1)])
    if gaps:
        y[::4, 1] = np.nan
    model = SVGPRegressor(n_latent=2, n_inducing=64, max_iter=2, random_state=0).fit(X, y)
    saved = pickle.dumps(model)
    assert len(saved) < (1 + (4 if gaps else 2)) * 8 * 64**2 + 20_000
    loaded = pickle.loads(saved)
    known = np.nan_to_num(y)
    for each in (model, loaded):
        each.partial_fit(X[:30], known[:30])
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
