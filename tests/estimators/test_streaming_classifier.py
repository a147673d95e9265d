"""StreamingSGPClassifier: classes that come one after another."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from slow_variants import slow

from sklearn_sgp import (
    StreamingSGPClassifier,
    SVGPClassifier,
)


def circles(rng, n, labels=("in", "out")):
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, np.where((X**2).sum(axis=1) < 1.5, *labels)


@pytest.mark.slow
@pytest.mark.quick_cases("softmax")
@pytest.mark.parametrize("likelihood", ["auto", slow("logit"), "softmax"])
def test_classes_from_left_to_right(likelihood, rng):
    """Batches that each see a part of the plane end with all classes told apart."""
    X, y = circles(rng, 600)
    order = np.argsort(X[:, 0])
    model = StreamingSGPClassifier(likelihood=likelihood, n_inducing=25)
    for part in np.array_split(order, 4):
        model.partial_fit(X[part], y[part], classes=["out", "in"])
    assert_array_equal(model.classes_, ["in", "out"])
    assert model.score(*circles(rng, 500)) > 0.93
    probability = model.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1.0)


def test_one_batch_of_a_classifier_is_the_batch_model(rng):
    """A first batch at fixed parameters is SVGPClassifier's posterior."""
    X, y = circles(rng, 150)
    Z = rng.uniform(-2.0, 2.0, (12, 2))
    options = {"optimizer": None, "inducing": Z}
    stream = StreamingSGPClassifier(ConstantKernel(4.0) * RBF(1.0), **options)
    batch = SVGPClassifier(ConstantKernel(4.0) * RBF(1.0), **options).fit(X, y)
    stream.partial_fit(X, y)
    assert_allclose(stream.predict_proba(X), batch.predict_proba(X), atol=1e-3)
    assert_allclose(stream.objective_, batch.objective_, atol=1e-2)


def test_labels_that_appear_over_time(rng):
    """Classes named in the first call may come later; others are refused without a trace."""
    X, y = circles(rng, 300, labels=(3, 7))
    model = StreamingSGPClassifier(n_inducing=15, max_iter=5)
    model.partial_fit(X[y == 3], y[y == 3], classes=[3, 7, 9])
    model.partial_fit(X, y)
    model.partial_fit(X + 6.0, np.full(300, 9), classes=[3, 7, 9])
    assert set(model.predict(np.vstack([X, X + 6.0]))) == {3, 7, 9}
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="11"):
        model.partial_fit(X, np.full(300, 11))
    with pytest.raises(ValueError, match="first call"):
        model.partial_fit(X, y, classes=[3, 7])
    assert pickle.dumps(model) == before


def test_one_class_is_too_few(rng):
    """A first batch of one class without further names is refused."""
    X, y = circles(rng, 30)
    with pytest.raises(ValueError, match="two classes"):
        StreamingSGPClassifier().partial_fit(X[y == "in"], y[y == "in"])


@pytest.mark.slow
def test_few_rows_of_many_columns():
    """Length scales that nothing ties set sixty rows of thirty columns apart, and all was sure."""
    lead = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((460, 30))
        y = (X @ rng.standard_normal(30) + 2.0 * rng.standard_normal(460) > 0.0).astype(int)
        model = StreamingSGPClassifier(random_state=0).partial_fit(X[:60], y[:60])
        p = model.predict_proba(X[60:])[np.arange(400), y[60:]]
        lead.append(np.mean(np.log(p)) - np.log(0.5))
    assert np.mean(lead) > 0.0 and min(lead) > -0.1
