"""What a user with a type checker writes: ``mypy`` reads this file and nothing runs it.

Every line marked as an error must be one; mypy also objects to marks without an error.
"""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF

import sklearn_sgp
from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.likelihoods import HeteroscedasticGaussian, StudentT
from sklearn_sgp.metrics import interval_coverage, log_density_scorer
from sklearn_sgp.plotting import PosteriorDisplay
from sklearn_sgp.predict.distribution import PredictiveDistribution

Floats = NDArray[np.float64]


def regression(X: Floats, y: Floats) -> float:
    """One array or two, by what is asked for."""
    model = SVGPRegressor(RBF(1.0), n_inducing=50, likelihood="student_t", random_state=0)
    assert_type(model.fit(X, y), SVGPRegressor)
    assert_type(model.predict(X), Floats)
    mean, std = model.predict(X, return_std=True)
    assert_type(mean, Floats)
    assert_type(std, Floats)
    mean, covariance = model.predict(X, return_cov=True)
    assert_type(covariance, Floats)
    lower, upper = model.predict_quantiles(X, quantiles=(0.05, 0.95)).T
    assert_type(model.predict_distribution(X), PredictiveDistribution)
    assert_type(model.predict_distribution(X).interval(0.9), tuple[Floats, Floats])
    assert_type(model.sample_functions(3, random_state=None)(X), Floats)
    assert_type(model.objective_, float)
    assert_type(model.log_marginal_likelihood(), float)
    assert_type(log_density_scorer(model, X, y), float)
    return interval_coverage(y, lower, upper)


def blocks(X: Floats, y: Floats, labels: list[str]) -> Floats:
    """Labels of blocks are a column, by index or name; lists are arrays."""
    model = AnytimeSGPRegressor(model="pic", block_column=2, max_time=60, n_jobs=-1)
    mixture = AnytimeSGPRegressor(model=[("dtc", 0.5), ("fitc", 0.5)])
    assert_type(mixture.fit([[0.0], [1.0]], [0.0, 1.0]), AnytimeSGPRegressor)
    model.fit(X, y).partial_fit(X, y)
    mean, _ = model.predict(X, return_std=True)
    AnytimeSGPClassifier(block_column="route").fit(X, labels)
    assert_type(model.variance_scale_, tuple[float, float])
    return mean


def classes(X: Floats, y: list[str]) -> Floats:
    """Labels may be anything."""
    model = SVGPClassifier(class_weight="balanced").fit(X, y)
    assert_type(model.predict(X), NDArray[Any])
    many = AnytimeSGPClassifier(alpha_epsilon=0.01, class_weight={"a": 2.0, "b": 1.0})
    return many.fit(X, y).predict_proba(X) + model.predict_proba(X)


def streams(X: Floats, y: Floats) -> None:
    """Batches one after another."""
    stream = StreamingSGPRegressor(forget_factor=0.99, likelihood=StudentT(df=None))
    assert_type(stream.partial_fit(X, y), StreamingSGPRegressor)
    assert_type(stream.log_evidence_, float)
    StreamingSGPClassifier(max_iter=5).partial_fit(X, y > 0.0, classes=[False, True])


def latent_inputs(Y: Floats) -> Floats:
    """Filled tables, with error bars if asked for."""
    model = BayesianGPLVM(3, noise="columns")
    assert_type(model.fit_transform(Y), Floats)
    filled, std = model.impute(Y, return_std=True)
    return filled + std


def others(X: Floats, y: Floats) -> Callable[[], None]:
    """Kernels, likelihoods, displays."""
    kernel = Columns(RBF([1.0, 1.0]), [0, 1]) * Columns(Categorical(rank=1), ["station"])
    model = SVGPRegressor(kernel, likelihood=HeteroscedasticGaussian(n_inducing=20))
    assert_type(PosteriorDisplay.from_estimator(model, X), PosteriorDisplay)
    return sklearn_sgp.show_versions


def mistakes(X: Floats, y: Floats) -> None:
    """What a checker finds before anything runs."""
    SVGPRegressor(n_inducing="many")  # type: ignore[arg-type]
    SVGPRegressor(inducing_points=50)  # type: ignore[call-arg]
    AnytimeSGPRegressor(schedule="fast")  # type: ignore[arg-type]
    AnytimeSGPRegressor(block_column=["route"])  # type: ignore[arg-type]
    SVGPClassifier(normalize_y=True)  # type: ignore[call-arg]
    SVGPRegressor().predict(X, return_std=True, return_cov=True)  # type: ignore[call-overload]
    AnytimeSGPRegressor().fit(X, y, blocks=y)  # type: ignore[call-arg]
    SVGPRegressor().fit(X)  # type: ignore[call-arg]
