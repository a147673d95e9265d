"""Batches that are sorted by class: the first one holds a single class."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from slow_variants import slow

from sklearn_sgp import AnytimeSGPClassifier, StreamingSGPClassifier, SVGPClassifier
from sklearn_sgp.engines.streams import begin_anew
from sklearn_sgp.likelihoods import Softmax
from sklearn_sgp.likelihoods._dirichlet import Dirichlet

NAMES = np.array(["ash", "birch", "cedar", "date", "elm"])


def data(n=240, seed=0):
    """Labels of the first four names, sorted."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = NAMES[np.digitize(X.sum(axis=1) + 0.3 * rng.standard_normal(n), [-1.0, 0.0, 1.0])]
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


@pytest.mark.parametrize(
    "model",
    [
        AnytimeSGPClassifier(),
        AnytimeSGPClassifier(model="fitc", n_inducing=40),
        AnytimeSGPClassifier(model="pic", solver="exact", n_inducing=40),
        SVGPClassifier(n_inducing=40),
        SVGPClassifier(n_inducing=40, optimizer="lbfgs"),
    ],
)
def test_later_classes_are_learned(model):
    """The kernel of labels that never vary would be a constant. Then the rows come once more."""
    model = clone(model).set_params(random_state=0, max_iter=10)
    for first in (20, 50):
        X, y = data()
        for part in np.split(np.arange(240), [first, 130, 180]):
            model.partial_fit(X[part], y[part], classes=NAMES)
            assert np.isfinite(model.log_density(X, y)).all()
        X, y = data(seed=1)
        assert model.score(X, y) > 0.7 and model.log_density(X, y).mean() > -0.8
        assert model.predict_proba(X)[:, 4].max() < 0.5  # never seen


def test_a_table_that_is_sorted_by_class_is_no_stream(rng):
    """Batches had a class each: probabilities had errors of .21."""
    X = rng.uniform([0.0, -1.0], [15.0, 1.0], (1200, 2))
    p = 1.0 / (1.0 + np.exp(-5.0 * np.sin(1.2 * X[:, 0]) - 3.0 * X[:, 1]))
    y = rng.uniform(size=1200) < p
    order = np.lexsort((X[:, 0], y))
    model = StreamingSGPClassifier(random_state=0).fit(X[order], y[order])
    assert np.sqrt(np.mean((model.predict_proba(X)[:, 1] - p) ** 2)) < 0.15


def sorted_and_not(X, y, size, classes, **options):
    """Predict new rows after batches that are sorted by class, and after shuffled ones."""
    for order in (np.argsort(y, kind="stable"), np.arange(len(y))):
        model = StreamingSGPClassifier(random_state=0, **options)
        for lo in range(0, len(y), size):
            some = order[lo : lo + size]
            model.partial_fit(X[some], y[some], classes=classes)
        assert model.n_samples_seen_ == len(y)
        yield model


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": ConstantKernel() * RBF(10.0)},
        {"kernel": ConstantKernel(4.0) * RBF(1.5), "optimizer": None},
        slow({"forget_factor": "auto"}),
    ],
)
def test_a_stream_that_is_sorted_by_class(options):
    """Kernel and inducing inputs stayed as they start: .70 and .75 of four classes, not .85."""
    X, y = data(900)
    order = np.random.default_rng(1).permutation(900)
    T, labels = data(1000, seed=2)
    by_class, shuffled = sorted_and_not(X[order], y[order], 90, NAMES[:4], n_inducing=30, **options)
    assert by_class.score(T, labels) > shuffled.score(T, labels) - 0.05
    gap = shuffled.log_density(T, labels).mean() - by_class.log_density(T, labels).mean()
    assert gap < 0.05


def test_sorted_batches_of_a_given_kernel_are_those_of_all_rows():
    """Classes come one after another, and q(u) is that of all rows at once."""
    X, y = data(120)
    kernel, options = ConstantKernel(4.0) * RBF(1.5), {"optimizer": None, "inducing": X[::10]}
    models = [StreamingSGPClassifier(kernel, likelihood=Softmax(0.0), **options) for _ in range(2)]
    models[0].partial_fit(X, y, classes=NAMES[:4])
    for part in np.split(np.arange(120), [20, 45, 70, 95]):
        models[1].partial_fit(X[part], y[part], classes=NAMES[:4])
    once, sorted_by_class = (model.predict_proba(X) for model in models)
    assert_allclose(sorted_by_class, once, atol=1e-4)
    assert_allclose(models[1].log_evidence_, models[0].log_evidence_, atol=1e-2)


def test_many_rows_of_each_class_are_thinned(rng):
    """What is known counts all of them: classes have the frequencies that they came with."""
    X = rng.uniform(-2.0, 2.0, (4000, 2))
    y = (rng.uniform(size=4000) < 0.3 * (1.0 + (X[:, 0] > 0.0))).astype(int)
    options = {"n_inducing": 20, "max_iter": 5}
    models = list(sorted_and_not(X, y, 1000, [0, 1], **options))
    p = [model.predict_proba(X)[:, 1].mean() for model in models]
    assert_allclose(p, y.mean(), atol=0.03)
    kept = models[0]._fitted.state.initial_rows
    assert len(kept.rows) <= 1024
    assert_allclose(kept.rows.weight.sum(), 4000.0)


def test_places_of_a_sorted_table_that_come_often(rng):
    """Kernels were learned from each place and class once: .13 nats a row were lost."""
    places = np.arange(30.0)[:, None]
    p = 1.0 / (1.0 + np.exp(1.0 - 3.0 * np.sin(places[:, 0] / 2.0)))
    x = rng.integers(0, 30, 4000)
    y = (rng.uniform(size=4000) < p[x]).astype(int)
    models = sorted_and_not(places[x], y, 500, [0, 1], n_inducing=20)
    found = [model.predict_proba(places)[:, 1] for model in models]
    lost = [(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean() for q in found]
    assert lost[0] < lost[1] + 0.01


def test_what_fades_goes_by_the_order_of_the_rows(rng):
    """All rows are of one class, and then all of another: at random each would be half of both."""
    X, y = rng.uniform(-3.0, 3.0, (600, 1)), np.repeat([0, 1], 300)
    options = {"init_size": 150, "batch_size": 150, "n_inducing": 15, "max_iter": 5}
    model = StreamingSGPClassifier(forget_factor=0.5, random_state=0, **options).fit(X, y)
    assert model.predict_proba(X)[:, 1].min() > 0.8


def test_rows_that_are_kept_no_longer_stay_counted(monkeypatch):
    """Where mixed batches follow sorted ones the next beginning had forgotten them."""
    monkeypatch.setattr(begin_anew, "_MOST_KEPT", 60)
    X, y = data(600)
    of_class = [np.flatnonzero(y == name) for name in NAMES[:3]]
    model, seen = StreamingSGPClassifier(n_inducing=5, max_iter=1, random_state=0), 0
    for counts in ([40, 0, 0], [0, 5, 0], [0, 0, 5], [6, 6, 6], [12, 12, 12]):
        part = np.concatenate([own[:n] for own, n in zip(of_class, counts, strict=True)])
        model.partial_fit(X[part], y[part], classes=NAMES[:3])
        seen += len(part)
        assert model.n_samples_seen_ == model._fitted.state.n_rows == seen
    assert model._fitted.state.initial_rows.rule == begin_anew.Doubling(84, 20)


def test_a_rare_class_may_come_last():
    """Its log probability was -2.5 with the kernel that others had: they had not doubled."""
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (1200, 2))
    y = np.where(np.hypot(*(X.T - 0.8)) < 0.35, 2, X[:, 0] > 0.3).astype(int)
    by_class = next(sorted_and_not(X, y, 100, [0, 1, 2], n_inducing=30))
    assert by_class.log_density(X[y == 2], y[y == 2]).mean() > -0.7


def test_a_sorted_stream_may_begin_to_forget():
    """Rows so far count as ``forget_factor`` says from then on: all that were kept counted."""
    X, y = data(120)
    kernel, options = ConstantKernel(4.0) * RBF(1.5), {"optimizer": None, "inducing": X[::10]}
    model, first, second = StreamingSGPClassifier(kernel, **options), *(y == n for n in NAMES[:2])
    model.partial_fit(X[first], y[first], classes=NAMES[:2]).partial_fit(X[second], y[second])
    assert model.predict_proba(X[first])[:, 0].mean() > 0.7
    model.set_params(forget_factor=0.01).partial_fit(X[second][:5], y[second][:5])
    assert model.predict_proba(X[first])[:, 0].mean() < 0.6


def test_an_absent_class_has_the_mean_of_the_others():
    given = Dirichlet().centred(np.array([3.0, 5.0, 4.0]))
    assert_allclose(Dirichlet().centred(np.array([3.0, 5.0, 0.0])).offset, given.offset)
    assert np.ptp(Dirichlet().centred(np.array([0.0, 7.0, 0.0])).offset) < 1e-12


@pytest.mark.parametrize(
    "model",
    [
        AnytimeSGPClassifier(n_neighbors=10),
        AnytimeSGPClassifier(model="fitc", n_inducing=10, solver="exact"),
        AnytimeSGPClassifier(model="pic", n_inducing=10, solver="exact"),
        SVGPClassifier(n_inducing=10),
    ],
)
def test_a_class_of_weight_zero_says_nothing(model):
    """A later batch that has no other class changes nothing."""
    X, y = data(80)
    weight = dict.fromkeys(NAMES, 1.0) | {"ash": 0.0}
    model = clone(model).set_params(random_state=0, optimizer=None, class_weight=weight)
    model.partial_fit(X, y, classes=NAMES)
    before, seen = model.predict_proba(X), model.n_samples_seen_
    model.partial_fit(X[y == "ash"], y[y == "ash"])
    assert_array_equal(model.predict_proba(X), before)
    assert model.n_samples_seen_ == seen


@pytest.mark.parametrize(
    "model",
    [
        slow(AnytimeSGPClassifier()),
        SVGPClassifier(n_inducing=10, max_iter=20),
        slow(StreamingSGPClassifier()),
    ],
)
def test_a_grade_that_comes_late(model):
    """Its thresholds met in the first batch, which had none of it: p was below .05 for ever."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (900, 1))
    y = np.searchsorted([-1.0, 0.2, 1.5], 2.0 * np.sin(X[:, 0]) + 0.3 * rng.standard_normal(900))
    first, later = np.flatnonzero(y[:300] != 2), np.arange(300, 900)
    model = clone(model).set_params(likelihood="ordinal", random_state=0)
    for part in (first, later):
        model.partial_fit(X[part], y[part], classes=range(4))
    assert model.predict_proba(X)[:, 2].max() > 0.8
    assert model.score(X, y) > 0.8
