"""Classifiers start from the frequencies of the classes, as a prior mean."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, log_expit, ndtr
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss

from sklearn_sgp import AnytimeSGPClassifier, StreamingSGPClassifier, SVGPClassifier
from sklearn_sgp.likelihoods import Logit, Probit, Softmax

FAR = np.full((1, 2), 1e4)
KINDS = pytest.mark.parametrize("kind", [Probit, Logit, Softmax])


@pytest.fixture
def rare(rng):
    """200 rows of which 12 are of class 1."""
    X = rng.uniform(-2.0, 2.0, (200, 2))
    f = X[:, 0] + 0.3 * rng.standard_normal(200)
    return X, (f > np.sort(f)[-13]).astype(int)


def fixed(estimator=SVGPClassifier, variance=1.0, **parameters):
    """A classifier that learns nothing but its posterior."""
    kernel = ConstantKernel(variance, "fixed") * RBF(0.8)
    defaults = {"n_inducing": 30, "optimizer": None, "random_state": 0}
    return estimator(**{"kernel": kernel, **defaults, **parameters})


@KINDS
@pytest.mark.parametrize("estimator", [SVGPClassifier, StreamingSGPClassifier])
def test_far_from_data_are_the_frequencies(rare, kind, estimator):
    """Where a function of little variance knows nothing, classes are as frequent as in the data."""
    X, y = rare
    model = fixed(estimator, 1e-12, likelihood=kind()).fit(X, y)
    assert_allclose(model.predict_proba(FAR), [[0.94, 0.06]], rtol=1e-6)
    assert_allclose(model.likelihood_.offset, kind().for_classes(np.array([188.0, 12.0])).offset)


def test_far_from_data_of_several_classes(rng):
    """Softmax starts from the frequencies of all classes, counted with the weights of rows."""
    X, y = rng.uniform(-2.0, 2.0, (120, 2)), np.repeat(["a", "b", "c"], [60, 50, 10])
    weight = np.where(y == "c", 4.0, 0.5)
    model = fixed(variance=1e-12).fit(X, y, weight)
    assert_allclose(model.predict_proba(FAR), [np.array([30.0, 25.0, 40.0]) / 95.0], rtol=1e-6)


@pytest.mark.parametrize("likelihood", ["probit", "logit", "softmax"])
def test_balanced_classes_have_no_offset(rare, likelihood):
    """Classes weighted to the same total have no prior mean, as equally frequent ones have none."""
    X, y = rare
    model = fixed(class_weight="balanced", likelihood=likelihood).fit(X, y)
    assert_allclose(
        model.likelihood_.offset, np.zeros(np.shape(model.likelihood_.offset)), atol=1e-12
    )
    assert_allclose(model.predict_proba(FAR), [[0.5, 0.5]], rtol=1e-10)
    order = np.argsort(X[:, 1])
    y = np.arange(200)[np.argsort(order)] // 100
    kind = {"probit": Probit, "logit": Logit, "softmax": Softmax}[likelihood]
    one, other = (fixed(likelihood=made).fit(X, y) for made in (kind(), kind(0.0)))
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def _dense(K, y, offset, log_link):
    """Optimal Gaussian q(f) of an exact GP with prior mean ``offset``, from the definition."""
    node, weight = np.polynomial.hermite_e.hermegauss(60)
    weight = weight / weight.sum()
    step = 1e-4
    mean, cov = np.zeros(len(y)), K
    for _ in range(300):
        f = mean[:, None] + np.sqrt(np.diag(cov))[:, None] * node
        low, mid, high = (log_link(y[:, None] * (offset + f + d)) for d in (-step, 0.0, step))
        g = (high - low) @ weight / (2.0 * step)
        beta = -(high - 2.0 * mid + low) @ weight / step**2
        cov = K - K @ np.linalg.solve(K + np.diag(1.0 / beta), K)
        mean = cov @ (g + beta * mean)
    return g, beta


@pytest.mark.parametrize(
    "kind, log_link, link",
    [(Probit, lambda f: np.log(ndtr(f)), None), (Logit, log_expit, expit)],
)
def test_predictions_are_those_of_a_dense_gp_with_a_prior_mean(rng, kind, log_link, link):
    """With all rows as inducing inputs it is the variational GP whose mean is the offset."""
    X = rng.uniform(-2.0, 2.0, (40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 1.0, 1, -1)
    kernel = ConstantKernel(2.0) * RBF(1.0)
    model = fixed(kernel=kernel, likelihood=kind(), inducing=X, jitter=1e-10).fit(X, y)
    offset = model.likelihood_.offset
    assert_allclose(offset, kind().for_classes(np.bincount(y > 0).astype(float)).offset)
    K = kernel(X) + 1e-10 * np.eye(40)
    g, beta = _dense(K, y, offset, log_link)
    test = rng.uniform(-3.0, 3.0, (7, 2))
    k = kernel(test, X)
    mean = offset + k @ g  # K^-1 times the mean of q(f) is the gradient
    variance = 2.0 - np.einsum("ij,ji->i", k, np.linalg.solve(K + np.diag(1.0 / beta), k.T))
    if link is None:
        expected = ndtr(mean / np.sqrt(1.0 + variance))
    else:
        node, weight = np.polynomial.hermite_e.hermegauss(80)
        expected = link(mean[:, None] + np.sqrt(variance)[:, None] * node) @ (weight / weight.sum())
    assert_allclose(model.predict_proba(test)[:, 1], expected, rtol=1e-4)


@pytest.mark.parametrize("likelihood", ["probit", "logit"])
def test_exchanged_labels_exchange_probabilities(rare, likelihood):
    """The rarer class may be the first or the second one."""
    X, y = rare
    one, other = (fixed(likelihood=likelihood).fit(X, labels) for labels in (y, 1 - y))
    assert one.likelihood_.offset == -other.likelihood_.offset < -1.0
    assert_allclose(one.predict_proba(X), other.predict_proba(X)[:, ::-1], rtol=1e-8)


@pytest.mark.quick_cases("Logit", "Softmax")
@KINDS
def test_decisions_agree_with_predictions(rare, kind):
    """The sign of the decision function of two classes says the predicted class."""
    model = fixed(likelihood=kind(), variance=20.0).fit(*rare)
    decision = model.decision_function(rare[0])
    assert_array_equal(model.predict(rare[0]), decision > 0.0)
    assert 0 < (decision > 0.0).sum() < len(decision)


@pytest.mark.parametrize("estimator", [SVGPClassifier, StreamingSGPClassifier])
def test_the_first_batch_decides(rare, estimator):
    """Later batches, and a pickle, keep the prior mean of the first batch."""
    X, y = rare
    model = fixed(estimator).partial_fit(X, y)
    offset = model.likelihood_.offset
    model.partial_fit(X[:50] + 0.1, np.ones(50, dtype=int))
    assert model.likelihood_.offset == offset == Probit().for_classes(np.array([188.0, 12])).offset
    again = pickle.loads(pickle.dumps(model))
    assert again.likelihood_.offset == offset
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("estimator", [SVGPClassifier, StreamingSGPClassifier])
def test_a_first_batch_without_some_classes(rng, estimator):
    """Classes that come later have a finite prior mean: that of the mean log frequency."""
    X, y = rng.uniform(-2.0, 2.0, (100, 2)), np.repeat([0, 2], [80, 20])
    model = fixed(estimator).partial_fit(X, y, classes=[0, 1, 2, 3])
    assert_allclose(model.likelihood_.offset, np.log([1.0, 0.5, 0.25, 0.5]), rtol=1e-12)
    model.partial_fit(np.repeat(X, 5, axis=0), np.full(500, 1))
    assert_array_equal(model.predict(X), np.ones(100))


def test_integer_weights_are_repetitions(rare):
    """Weights and repeated rows give the same offset and the same model."""
    X, y = rare
    weight = 1 + np.arange(200) % 3
    one = fixed().fit(X, y, weight)
    other = fixed().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert one.likelihood_.offset == other.likelihood_.offset
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_class_weights_count(rare):
    """Weights of classes multiply their frequencies."""
    model = fixed(class_weight={0: 1.0, 1: 3.0}, variance=1e-12).fit(*rare)
    assert_allclose(model.predict_proba(FAR)[0, 1], 36.0 / 224.0, rtol=1e-6)


def test_each_label_once_at_each_input():
    """Nothing tells labels from one another: the log probability of new ones was -4.4."""
    rng, n_classes = np.random.default_rng(2), 6
    X = np.repeat(rng.normal(size=(50, 4)), n_classes, axis=0)
    y = np.tile(np.arange(n_classes), 50)
    known = rng.random(len(y)) < 5 / 6
    kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF(0.3, "fixed")
    model = SVGPClassifier(kernel, random_state=0).fit(X[known], y[known])
    assert model.objective_ > -(np.log(n_classes) + 0.01) * known.sum()
    p = model.predict_proba(X[~known])[np.arange((~known).sum()), y[~known]]
    assert np.log(p).mean() > -np.log(n_classes) - 0.03
    assert any(one["choice"].startswith("variance by the bound") for one in model.choices_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [AnytimeSGPClassifier, SVGPClassifier, StreamingSGPClassifier], ids=lambda k: k.__name__
)
def test_a_rare_class_is_found_as_by_boosting(kind):
    """Of 10,000 rows 2%: average precision and log probability are ahead of scikit-learn's."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (20_000, 4))
    f = 2.0 * np.sin(2.0 * X[:, 0]) * np.cos(2.0 * X[:, 1]) + X[:, 2] * X[:, 3]
    y = (rng.uniform(size=len(X)) < expit(3.0 * f - 8.6)).astype(int)
    train, test = slice(0, 10_000), slice(10_000, None)
    assert 0.015 < y.mean() < 0.025

    def scores(model):
        p = model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        return np.array([average_precision_score(y[test], p), -log_loss(y[test], p)])

    slow_boosting = {"learning_rate": 0.03, "early_stopping": True, "random_state": 0}
    ours = scores(kind(random_state=0))
    for rival in (LogisticRegression(), HistGradientBoostingClassifier(**slow_boosting)):
        assert (ours > scores(rival)).all(), rival
