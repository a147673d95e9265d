"""Two classes with sites near rows: probabilities are as sure as labels that are held out say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPClassifier
from sklearn_sgp.engines.blocks import class_sites
from sklearn_sgp.engines.blocks.class_sites import LabelsHeldOut, SitesHeldOut
from sklearn_sgp.likelihoods import Logit, Probit
from sklearn_sgp.likelihoods._names import sites_of_classes
from sklearn_sgp.objectives.scores import Score

DECISIONS = {Probit: norm.cdf, Logit: expit}


def islands(n, seed, d=20, k=8):
    """Rows about a few places with hardly any between them; all rows of a place are of a class."""
    places = 1.5 * np.random.default_rng(0).normal(size=(k, d))
    rng = np.random.default_rng(seed)
    place = rng.integers(0, k, n)
    return places[place] + rng.normal(size=(n, d)), place % 2


def clusters(n, seed, d=8, k=40):
    """Rows about many places of three classes; one label in twenty is any."""
    rng = np.random.default_rng(0)
    places, classes = rng.uniform(-1.0, 1.0, (k, d)), rng.integers(0, 3, k)
    rng = np.random.default_rng(seed)
    place, is_any = rng.integers(0, k, n), rng.random(n) < 0.05
    y = np.where(is_any, rng.integers(0, 3, n), classes[place])
    return places[place] + 0.3 * rng.normal(size=(n, d)), y


@pytest.mark.parametrize("kind", DECISIONS)
def test_a_temperature_divides_the_decision(kind):
    """Probabilities, their logarithms and decisions agree, and warm ones are nearer to a half."""
    mean, variance = np.linspace(-3.0, 3.0, 7)[:, None], np.linspace(0.1, 20.0, 7)[:, None]
    plain, warm = kind(0.3), kind(0.3, temperature=2.5)
    decision = warm.decision(mean, variance)
    assert_allclose(decision, plain.decision(mean, variance) / 2.5, rtol=1e-9)
    p = warm.probabilities(mean, variance)
    assert_allclose(p[:, 1], DECISIONS[kind](decision), rtol=1e-9)
    assert_allclose(p.sum(axis=1), 1.0)
    for sign, of_class in ((-1.0, p[:, 0]), (1.0, p[:, 1])):
        log_p = warm.log_predictive_density(np.full((7, 1), sign), mean, variance)
        assert_allclose(log_p, np.log(of_class), rtol=1e-9)


@pytest.mark.parametrize("kind", DECISIONS)
def test_likelihoods_pickled_without_temperature_have_one(kind):
    old = kind(0.0)
    del old.__dict__["temperature"]
    assert kind.__name__ in repr(old) and old.temperature == 1.0
    with pytest.raises(ValueError, match=r"'temperature' parameter .* must be a positive number"):
        AnytimeSGPClassifier(likelihood=kind(0.0, -1.0)).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.quick_cases("probit")
@pytest.mark.parametrize("likelihood", ["probit", "logit"])
def test_classes_with_hardly_any_rows_between_them_are_as_sure_as_labels(likelihood):
    """By the prior alone new rows had -0.12 nats, though all of them were right."""
    (X, y), (Xs, ys) = islands(150, 1), islands(1000, 2)
    model = AnytimeSGPClassifier(likelihood=likelihood, max_iter=5, random_state=0).fit(X, y)
    assert model.temperature_ == model.likelihood_.temperature < 0.8
    learned = model.log_density(Xs, ys).mean()
    model.likelihood_.temperature = 1.0
    assert learned > model.log_density(Xs, ys).mean() + 0.02


@pytest.mark.parametrize("kind", DECISIONS)
def test_a_given_temperature_stays_where_its_docstring_says(kind):
    """That another one takes its place with a learned kernel was told of the softmax alone."""
    X, y = islands(60, 1, d=3)
    given, told = kind(temperature=2.0), " ".join(kind.__doc__.split())
    assert "chooses its own where it learns the kernel, without ``max_time``" in told
    options = {"max_iter": 2, "random_state": 0}
    learned = AnytimeSGPClassifier(likelihood=given, **options).fit(X, y)
    assert learned.temperature_ == learned.likelihood_.temperature != 2.0
    for held in ({"kernel": RBF(2.0), "optimizer": None}, {"max_time": 60.0}):
        kept = AnytimeSGPClassifier(likelihood=given, **(options | held)).fit(X, y)
        assert kept.temperature_ == 2.0


def test_there_is_a_temperature_where_the_docstring_says():
    """That each class against the rest has none was not said; a slow test asks a fit of it."""
    X, y = clusters(60, 1, d=2)
    told = " ".join(AnytimeSGPClassifier.__doc__.split())
    assert 'Only where ``likelihood_`` has one: not "ordinal", nor what "auto" takes' in told
    has_one = {"ordinal": False, "dirichlet": True}
    for likelihood, expected in has_one.items():
        model = AnytimeSGPClassifier(likelihood=likelihood, max_iter=2, random_state=0).fit(X, y)
        assert hasattr(model, "temperature_") == expected
    assert not hasattr(sites_of_classes(np.arange(3)), "temperature")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("likelihood", "table", "d"),
    [("probit", islands, 20), ("dirichlet", clusters, 8)],
    ids=["sites", "regressions"],
)
def test_of_more_rows_the_model_leaves_each_out(likelihood, table, d):
    """No other temperature predicts labels better that it leaves out; new ones gain by it.

    Its logarithm has a prior with a standard deviation of a half.
    """
    (X, y), (Xs, ys) = table(700, 1, d=d), table(2000, 2, d=d)
    options = {"n_inducing": 30, "max_iter": 5, "random_state": 0}
    model = AnytimeSGPClassifier(likelihood=likelihood, **options).fit(X, y)
    learned, taken = model.log_density(Xs, ys).mean(), model.temperature_

    def left_out(temperature):
        model.likelihood_.temperature = temperature
        log_p = np.log(model.leave_one_out()[np.arange(len(y)), y]).mean()
        return log_p - 2.0 * np.log(temperature) ** 2 / len(y)

    assert abs(np.log(taken)) > 0.1
    assert left_out(taken) > max(left_out(0.9 * taken), left_out(1.1 * taken))
    assert left_out(taken) > left_out(1.0) + 0.002
    assert learned > model.log_density(Xs, ys).mean() + 0.002


@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_equal_rows_of_a_class_the_model_leaves_out_one(n_classes):
    """Each place has rows of every class: without all of one class the others would be certain."""
    rng = np.random.RandomState(0)
    X = rng.randint(0, 4, (700, 2)).astype(float)
    waves = [1.5 * np.sin(1.3 * X[:, 0] + 2 * k) + np.cos(1.7 * X[:, 1] - k) for k in range(3)]
    y = (np.stack(waves[:n_classes], axis=1) + rng.gumbel(size=(700, n_classes))).argmax(axis=1)
    options = {"n_inducing": 12, "max_iter": 5, "random_state": 0}
    model = AnytimeSGPClassifier(likelihood="dirichlet", **options).fit(X, y)

    def left_out(temperature):
        model.likelihood_.temperature = temperature
        return np.log(model.leave_one_out(X, y)[np.arange(len(y)), y]).mean()

    taken = model.temperature_  # 2.9 and 4.6 where equal rows were left out together
    assert 0.7 < taken < 1.5 and left_out(taken) >= left_out(1.0)


def test_huge_weights_leave_no_row_that_others_tell_of():
    """What is known without a row is rounding beside it: no temperature is told."""
    X, y = np.random.RandomState(0).uniform(-3.0, 3.0, (60, 2)), np.arange(60) % 3
    model = AnytimeSGPClassifier(likelihood="dirichlet", max_iter=2, random_state=0)
    with pytest.warns(UserWarning, match="sample_weight should count rows"):
        model.fit(X, y, sample_weight=np.full(60, 1e9))
    assert model.temperature_ == 1.0


@pytest.mark.quick_cases("60")
@pytest.mark.parametrize("n", [60, 620])
def test_labels_are_held_out_of_the_sites_that_predict_them(n, monkeypatch):
    """Given all others, or those near and some, with sites of the exact process without them."""
    seen, calibrated = [], SitesHeldOut.calibrated

    def kept(self, fitted):
        predicted = self.sites.predicted(fitted.parameters)
        seen[:] = [self.held_out, self.problem.rows, fitted, predicted, self.y[:, 0]]
        return calibrated(self, fitted)

    monkeypatch.setattr(SitesHeldOut, "calibrated", kept)
    monkeypatch.setattr(class_sites, "_PLACES", 2)
    X = np.random.default_rng(n).uniform(-3.0, 3.0, (n, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] > 0.0
    options = {"max_iter": 1, "n_inducing": 10, "init_size": 200, "random_state": 0}
    AnytimeSGPClassifier(2.0 * RBF(1.5), likelihood="probit", **options).fit(X, y)
    held, rows, fitted, moments, labels = seen
    kernel, at = fitted.parameters.kernel.sklearn_kernel, 0
    for others, own in held.groups:
        assert not np.intersect1d(others, own).size
        mean, variance = dense_moments(kernel, rows.select(others), rows.select(own).X, fitted)
        part = slice(at, at + len(own))
        assert_allclose(moments[0][part, 0], mean, atol=5e-2)
        assert_allclose(moments[1][part, 0], variance, rtol=5e-2)
        assert_allclose(labels[part], rows.y[own, 0])
        at += len(own)
        if n > 60:  # the first row is the middle, and 150 near ones remain
            away = np.linalg.norm(rows.X[others] - rows.X[others[0]], axis=1)
            assert np.median(away[150:]) > away[:150].max()
    assert at == len(labels) == (60 if n == 60 else 100)
    sizes = [len(others) for others, _ in held.groups]
    assert set(sizes) == {48} if n == 60 else 150 < min(sizes) <= max(sizes) <= 250


def test_labels_object_by_places_to_what_sites_have_learned():
    """Fifty labels of one place are one word. Few rows always do: sites have to be better."""
    held = LabelsHeldOut.__new__(LabelsHeldOut)
    held.is_of_all = False
    gain = np.repeat([0.3, -0.25, 0.2, -0.1, 0.05], 50)  # 0.04, and 0.1 its standard error
    found, other = (Score(one, np.ones(250)) for one in (np.zeros(250), gain))
    assert other.is_better(found) and not held.objects(other, found)
    assert held.objects(Score(gain + 0.2, found.weight), found)
    assert held.objects(other, Score.none())
    held.is_of_all = True
    assert held.objects(found, other)


def dense_moments(kernel, rows, Xs, fitted, sweeps=60):
    """Means and variances of f at Xs, by expectation propagation of some rows."""
    K, n, likelihood = kernel(rows.X), len(rows), fitted.start.likelihood
    w, nu = np.zeros(n), np.zeros(n)
    for _ in range(sweeps):
        S = np.linalg.inv(np.eye(n) + K * w) @ K
        m, v = S @ nu, np.diagonal(S)
        v_c = 1.0 / (1.0 / v - w)
        m_c = v_c * (m / v - nu)
        _, d1, d2 = likelihood.tilted_moments(rows.y, m_c, v_c, np.ones(n))
        w = w + 0.5 * (-d2 / (1.0 + v_c * d2) - w)
        nu = nu + 0.5 * ((d1 - m_c * d2) / (1.0 + v_c * d2) - nu)
    G = np.linalg.solve(K + np.diag(1.0 / w), kernel(rows.X, Xs))
    return G.T @ (nu / w), kernel.diag(Xs) - np.einsum("ij,ij->j", G, kernel(rows.X, Xs))
