"""Several classes, learned as regressions of the labels first."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import SVGPClassifier
from sklearn_sgp.engines.variational import class_starts
from sklearn_sgp.engines.variational.inference import SiteInference
from sklearn_sgp.likelihoods import Softmax
from sklearn_sgp.objectives.left_out_classes import LeftOutClasses
from sklearn_sgp.objectives.scores import Score, is_better
from sklearn_sgp.objectives.sites import SiteProblem
from sklearn_sgp.optimize.choices import Tried
from sklearn_sgp.optimize.progress import Clock, Trace


def spots(n_classes=5, n=600, d=2, seed=0):
    """Classes of three normal spots each, in columns of different units."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-9.0, 9.0, (n_classes, 3, d))
    y = rng.integers(0, n_classes, n)
    X = centres[y, rng.integers(0, 3, n)] + 0.5 * rng.standard_normal((n, d))
    return X * np.logspace(0.0, 1.0, d), np.array(list("ebcda"))[y % 5]


def made(**parameters):
    return SVGPClassifier(**{"n_inducing": 30, "max_iter": 30, "random_state": 0} | parameters)


@pytest.mark.slow
def test_it_predicts_better_than_the_best_bound():
    """Log probabilities of other rows gain what a bound too smooth loses."""
    (X, y), (X_test, y_test) = (
        tuple(part[rows] for part in spots(n=900)) for rows in (slice(300), slice(300, None))
    )
    fitted, bound = (made(optimizer=how).fit(X, y) for how in ("auto", "lbfgs"))
    value, other = (np.mean(one.log_density(X_test, y_test)) for one in (fitted, bound))
    assert value > other
    assert fitted.score(X_test, y_test) > 0.85


@pytest.mark.slow
def test_bounds_of_the_variance_hold():
    X, y = spots()
    kernel = ConstantKernel(1.0, (1e-2, 30.0)) * RBF([2.0, 20.0])
    assert made(kernel=kernel).fit(X, y).kernel_.k1.constant_value <= 30.0
    fixed = ConstantKernel(2.0, "fixed") * RBF([2.0, 20.0])
    assert made(kernel=fixed).fit(X, y).kernel_.k1.constant_value == 2.0
    assert made(kernel=RBF([2.0, 20.0])).fit(X, y).score(X, y) > 0.85


def test_the_variance_is_the_best_of_those_beside_it():
    """By labels held out; a search in both directions."""
    steps = {}

    class Labels:
        def __init__(self, peak):
            self.peak = peak

        def tried(self, name, power):
            steps.setdefault(self.peak, []).append(power)
            score = Score(np.full(50, -abs(power - self.peak)), np.ones(50))
            return Tried(name, SimpleNamespace(parameters=power), score, 0.0)

    class Known(class_starts.VarianceSearch):
        @classmethod
        def at(cls, peak):
            labels = Labels(peak)
            return cls(SimpleNamespace(trace=Trace(Clock())), labels, labels, np.inf)

        def _variances(self, parameters):
            return {power: power for power in range(-1, 6)}

        def _changed(self, power, variance, scales):
            return None

    assert [Known.at(peak).best(None).parameters for peak in range(-1, 6)] == list(range(-1, 6))
    assert steps[4] == [2, 3, 4, 5] and steps[1] == [2, 3, 1, 0]


@pytest.mark.slow
def test_length_scales_grow_while_labels_held_out_are_predicted_better():
    """Classes that overlap along lines want longer ones than regressions of labels: -0.94 nats."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (1.5 * X[:, :3] * [1.0, 1.0, 0.5] + rng.gumbel(size=(1500, 3))).argmax(axis=1)
    model = SVGPClassifier(random_state=0, n_inducing=100).fit(X[:400], y[:400])
    steps = [one for one in model.choices_ if one["choice"].startswith("length scales")]
    (taken,) = [one for one in steps if one["taken"]]
    assert taken["score"] == max(one["score"] for one in steps) > steps[0]["score"]
    assert model.log_density(X[400:], y[400:]).mean() > -0.87
    kernel = 4.0 * RBF(np.full(4, 0.3), "fixed")
    given = made(kernel=kernel).fit(X[:400], y[:400])
    assert (given.kernel_.k2.length_scale == 0.3).all()


def test_a_gain_within_its_error_is_none():
    rng = np.random.default_rng(0)
    before, noise = rng.standard_normal(100), rng.standard_normal(100)
    noise -= noise.mean()
    weight = np.ones(100)
    assert not is_better(before + noise + 0.08, before, weight)
    assert is_better(before + noise + 0.15, before, weight)
    assert not is_better(before, before, weight)
    assert not is_better(before[:1] + 1.0, before[:1], weight[:1])


def test_a_temperature_changes_predictions_only():
    """Learning with any temperature is the same; probabilities are those of f / T."""
    X, y = spots(3)
    options = {"optimizer": None, "kernel": ConstantKernel(9.0) * RBF([2.0, 20.0])}
    warm, cold = (made(likelihood=Softmax(0.0, T), **options).fit(X, y) for T in (1.0, 0.5))
    assert warm.objective_ == cold.objective_
    mean, variance = warm._fitted.posterior.mean_variance(X[:20])
    expected = Softmax(0.0).probabilities(2.0 * mean, 4.0 * variance)
    assert_allclose(cold.predict_proba(X[:20]), expected, rtol=1e-12)


@pytest.mark.slow
def test_a_learned_temperature_stays():
    """With the model: in pickles and clones of the likelihood, and for later batches."""
    X, y = spots()
    fitted = made().partial_fit(X[:400], y[:400])
    temperature = fitted.likelihood_.temperature
    assert clone(fitted.likelihood_).temperature == temperature
    p = pickle.loads(pickle.dumps(fitted)).predict_proba(X)
    assert_allclose(p, fitted.predict_proba(X), rtol=1e-12)
    fitted.partial_fit(X[400:], y[400:])
    assert fitted.likelihood_.temperature == temperature
    assert fitted.score(X, y) > 0.85


@pytest.mark.slow
def test_classes_of_one_row_and_of_none():
    """They keep their probabilities, small and positive."""
    X, y = spots(4, n=200)
    X, y = np.vstack([X, [[100.0, 100.0]]]), np.append(y, "z")
    p = made().partial_fit(X, y, classes=list("abcdefz")).predict_proba(X)
    assert p.shape == (201, 7) and (p > 0.0).all()
    assert_allclose(p.sum(axis=1), 1.0)


def test_columns_that_say_nothing_are_found():
    """One length scale for all columns gives way where one for each predicts better."""
    X, y = spots(4, n=500)
    noise = np.random.default_rng(1).standard_normal((500, 6)) * 10.0
    fitted = made(max_iter=60).fit(np.hstack([X, noise]), y)
    scales = fitted.kernel_.k2.length_scale
    assert len(scales) == 8 and scales[2:].min() > 3.0 * scales[:2].max()


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_workers_change_nothing(n_jobs):
    X, y = spots(n=300)
    one, other = made(max_iter=5).fit(X, y), made(max_iter=5, n_jobs=n_jobs).fit(X, y)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.slow
def test_it_ends_in_time():
    """A budget is left for the last posterior, and what is found predicts."""
    X, y = spots(5, n=3000)
    fitted = made(n_inducing=60, max_time=1.0).fit(X, y)
    assert fitted.score(X, y) > 0.8


@pytest.mark.quick_cases("time")
@pytest.mark.parametrize("more", [{"max_iter": 10}, {"max_time": 0.3}], ids=["iterations", "time"])
def test_short_fits_take_a_length_scale_for_each_column(more):
    """Columns that say nothing, in large units, leave the others what they know."""
    X, y = spots(4, n=900)
    wide = np.hstack([X, 1e3 * np.random.default_rng(1).standard_normal((900, 2))])
    fitted = made(**more).fit(wide, y)
    assert len(fitted.kernel_.k2.length_scale) == 4
    assert fitted.score(wide, y) > 0.6


@pytest.mark.parametrize("n", [1, 3, 25])
def test_a_first_batch_of_few_rows(n):
    """Of one distinct row, or less than can be held out; classes without rows are possible."""
    X, y = np.ones((n, 2)), ["a"] * n
    model = made().partial_fit(X, y, classes=["a", "b", "c"])
    p = model.predict_proba([[1.0, 1.0], [9.0, 9.0]])
    assert np.isfinite(p).all() and (p > 0.0).all()
    X, y = spots(3, n=90)
    assert model.partial_fit(X, np.array(list("abc"))[np.unique(y, return_inverse=True)[1]])


def test_few_rows_give_no_bold_temperature():
    """All of ten rows are right: a smaller temperature always gains, and is not taken far."""
    moments = np.tile([2.0, 0.0, 0.0], (10, 1)), np.full((10, 3), 0.5)
    left_out = LeftOutClasses(Softmax(0.0), moments, np.zeros(10, dtype=int), np.ones(10))
    assert 0.3 < left_out.calibrated().temperature < 1.0
    one = LeftOutClasses(Softmax(0.0), [part[:1] for part in moments], np.zeros(1, int), np.ones(1))
    assert one.calibrated().temperature == 1.0


@pytest.mark.parametrize("temperature", [0, -1.0, np.nan, np.inf, "x", None, True])
def test_temperatures_that_cannot_be(temperature):
    X, y = spots(3, n=60)
    with pytest.raises(ValueError, match=r"'temperature' parameter .* must be a positive number"):
        made(likelihood=Softmax(0.0, temperature), optimizer=None).fit(X, y)


def test_a_softmax_pickled_without_temperature_has_one():
    old = Softmax(0.0)
    del old.__dict__["temperature"]
    restored = pickle.loads(pickle.dumps(old))
    assert "Softmax" in repr(restored) and restored.temperature == 1.0


def test_without_time_the_regressions_predict(monkeypatch):
    """No step of a softmax can be paid for: q(u) is that of the labels' regressions."""
    X, y = spots(5, n=400)
    same = SiteProblem.ascend
    monkeypatch.setattr(class_starts.VarianceSearch, "best", lambda self, parameters: None)
    monkeypatch.setattr(
        SiteProblem, "ascend", lambda self, q, tol, **options: same(self, q, tol, max_iter=0)
    )
    fitted = made().fit(X, y)
    assert fitted.score(X, y) > 0.85
    assert fitted.log_density(X, y).mean() > -0.6


@pytest.mark.slow
def test_a_pass_of_many_classes_is_timed_on_few_rows(monkeypatch):
    """Else finding out that there is no time would take more than there is."""
    X, y = spots(5, n=3000)
    seen, same = [], SiteInference.pass_task

    def noted(self, prior, parameters, rows, sample, n_jobs):
        seen.append(len(sample))
        return same(self, prior, parameters, rows, sample, n_jobs)

    monkeypatch.setattr(SiteInference, "pass_task", noted)
    made(max_time=3.0).fit(X, y)
    assert set(seen) == {4096 // 5}
