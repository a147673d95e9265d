"""Quantiles by ``predict``, which pipelines and searches pass on; log probabilities."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

REGRESSORS = [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor]
CLASSIFIERS = [SVGPClassifier, AnytimeSGPClassifier, StreamingSGPClassifier]
LEVELS = [0.05, 0.5, 0.95]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    return X, np.sin(5.0 * X[:, 0]) + 0.1 * rng.standard_normal(60)


@pytest.mark.parametrize("make", REGRESSORS)
def test_predict_returns_quantiles(make, table):
    """They are those of `predict_quantiles`, in the order of the levels."""
    X, y = table
    model = make(n_inducing=10, max_iter=5, random_state=0).fit(X, y)
    values = model.predict(X, quantiles=LEVELS)
    assert np.array_equal(values, model.predict_quantiles(X, LEVELS))
    two = make(n_inducing=10, max_iter=5, random_state=0).fit(X, np.column_stack([y, y]))
    assert two.predict(X, quantiles=LEVELS).shape == (60, 2, 3)


def test_pipelines_and_searches_pass_them_on(table):
    """A pipeline inside of a search has the quantiles of its last step at scaled inputs."""
    X, y = table
    last = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0)
    pipeline = make_pipeline(StandardScaler(), last).fit(X, y)
    values = pipeline.predict(X, quantiles=LEVELS)
    scaled = pipeline[0].transform(X)
    assert np.array_equal(values, pipeline[-1].predict_quantiles(scaled, LEVELS))
    search = GridSearchCV(pipeline, {"svgpregressor__n_inducing": [5]}, cv=2).fit(X, y)
    assert search.best_estimator_.predict(X, quantiles=[0.5]).shape == (60, 1)


@pytest.mark.parametrize("other", ["return_std", "return_cov"])
def test_at_most_one_is_asked_for(other, table):
    """Quantiles come alone."""
    X, y = table
    model = SVGPRegressor(n_inducing=5, max_iter=1).fit(X, y)
    with pytest.raises(RuntimeError, match="At most one of return_std or return_cov"):
        model.predict(X, quantiles=LEVELS, **{other: True})
    with pytest.raises(ValueError, match="'quantiles' parameter must"):
        model.predict(X, quantiles=[0.0, 1.5])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", CLASSIFIERS)
def test_log_probabilities(make, n_classes, table):
    """They are logarithms of the probabilities, finite everywhere, and `log_density` picks one."""
    X, y = table
    labels = np.digitize(y, [0.0, 0.5][: n_classes - 1])
    model = make(n_inducing=10, max_iter=5, random_state=0).fit(X, labels)
    log_p = model.predict_log_proba(X)
    assert np.allclose(np.exp(log_p), model.predict_proba(X), rtol=1e-12, atol=0.0)
    assert np.isfinite(model.predict_log_proba(1e3 * X)).all()
    assert np.array_equal(log_p[np.arange(60), labels], model.log_density(X, labels))
