"""Labels that are missing, or have no order: classifiers say which, and stay as they were."""

import numpy as np
import pytest
from failures import assert_unchanged, state_of
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPClassifier, StreamingSGPClassifier, SVGPClassifier

pd = pytest.importorskip("pandas")
X = np.random.default_rng(0).uniform(-2.0, 2.0, (30, 2))
WORDS = np.where(X[:, 0] > 0.0, "high", "low").astype(object)
everywhere = pytest.mark.parametrize(
    "estimator", [AnytimeSGPClassifier, SVGPClassifier, StreamingSGPClassifier]
)


def made(estimator):
    return estimator(kernel=RBF(), optimizer=None, n_inducing=5, random_state=0)


def with_missing(value):
    y = WORDS.copy()
    y[3] = value
    return y


Y = {
    "None": with_missing(None),
    "nan": with_missing(np.nan),
    "pandas": pd.Series(with_missing(pd.NA)),
    "list": list(with_missing(float("nan"))),  # numpy makes a word of it
    "numbers": np.where(np.arange(30) == 3, np.nan, X[:, 0] > 0.0),
}


@everywhere
@pytest.mark.parametrize("kind", Y)
def test_of_rows(estimator, kind):
    message = r"y must hold labels, none of which is missing. Got .* at index 3; 1 of 30"
    fitted = made(estimator).fit(X, WORDS)
    before = state_of(fitted)
    for method in (made(estimator).fit, fitted.fit, fitted.partial_fit):
        with pytest.raises(ValueError, match=message):
            method(X, Y[kind])
    assert_unchanged(fitted, before)


@everywhere
@pytest.mark.parametrize("last", [None, np.nan, pd.NA])
def test_of_classes(estimator, last):
    with pytest.raises(ValueError, match=r"classes must hold labels, none .* index 2; 1 of 3"):
        made(estimator).partial_fit(X, WORDS, classes=["high", "low", last])


@everywhere
def test_other_classes_that_cannot_be(estimator):
    for classes, message in [
        ([["high", "low"]], r"classes must be a sequence of labels. Got shape \(1, 2\)"),
        ("high", r"classes must be a sequence of labels. Got shape \(\)"),
        ([], r"at least two classes among rows of positive weight. Got no label"),
        (np.array(["high", 1], dtype=object), r"classes must hold labels of one kind"),
    ]:
        with pytest.raises(ValueError, match=message):
            made(estimator).partial_fit(X, WORDS, classes=classes)


@everywhere
def test_of_log_probabilities(estimator):
    fitted = made(estimator).fit(X, WORDS)
    with pytest.raises(ValueError, match=r"missing. Got None at index 0; 30 of 30"):
        fitted.log_density(X, [None] * 30)
    with pytest.raises(ValueError, match="y must hold labels of one kind"):
        fitted.log_density(X, with_missing(1))
