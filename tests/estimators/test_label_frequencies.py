"""Labels of few rows: where they lie says only as much as labels that are left out bear out."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from callback_helpers import Callback
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from slow_variants import slow

from sklearn_sgp import AnytimeSGPClassifier, StreamingSGPClassifier, SVGPClassifier
from sklearn_sgp.estimators import label_frequencies
from sklearn_sgp.estimators.label_frequencies import best_share
from sklearn_sgp.optimize.progress import Clock

EVERY = pytest.mark.parametrize(
    "estimator", [SVGPClassifier, AnytimeSGPClassifier, StreamingSGPClassifier]
)
NAME = "labels of few rows"


def gain(estimator, n, distance, seed):
    """Log probability of new labels beyond the rule of succession, a row: of two clusters."""
    rng = np.random.default_rng([n, seed])
    y = np.append([0, 1], rng.integers(2, size=n + 98))
    X = rng.normal(size=(len(y), 2)) + distance * y[:, None]
    p = estimator(random_state=0).fit(X[:n], y[:n]).predict_proba(X[n:])
    plain = (np.bincount(y[:n]) + 1.0) / (n + 2.0)
    new = y[n:]
    return np.mean(np.log(p[np.arange(100), new]) - np.log(plain[new]))


@pytest.mark.quick_cases("*-SVGPClassifier", "*-StreamingSGPClassifier")
@EVERY
@pytest.mark.parametrize("n", [3, slow(8)])
def test_labels_that_have_nothing_to_do_with_X(estimator, n):
    """Probabilities were 0.03 to 0.4 nats a row worse than frequencies are."""
    assert np.mean([gain(estimator, n, 0.0, seed) for seed in range(2)]) > -0.02


@pytest.mark.parametrize("n", [26, slow(28)])
@pytest.mark.slow
def test_no_structure_in_more_rows(n):
    """Of 25 rows and more probabilities were up to 0.45 nats a row worse than frequencies."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(n, 17)), np.arange(n) % 5 // 3
    p = AnytimeSGPClassifier(random_state=0).fit(X, y).predict_proba(rng.normal(size=(200, 17)))
    assert np.mean(np.log(p) @ [0.6, 0.4]) > np.log([0.6, 0.4]) @ [0.6, 0.4] - 0.03


@pytest.mark.slow
@pytest.mark.quick_cases("SVGPClassifier")
@EVERY
def test_labels_of_two_clusters(estimator):
    """Sixteen rows of clusters say where new ones belong."""
    assert np.mean([gain(estimator, 16, 3.0, seed) for seed in range(2)]) > 0.2


@EVERY
def test_one_class_of_three(estimator):
    """Rows of one class leave room for others, by the rule of succession."""
    model = estimator(random_state=0)
    model.partial_fit([[1.0, 2.0], [3.0, 4.0]], ["b", "b"], classes=["a", "b", "c"])
    assert_allclose(model.predict_proba([[1.0, 2.0], [9.0, 9.0]]), [[0.2, 0.6, 0.2]] * 2)


@pytest.mark.quick_cases("SVGPClassifier", "StreamingSGPClassifier")
@EVERY
def test_decisions_and_choices(estimator, rng):
    """What is told is consistent; what was given, and more rows, are left as they are."""
    X = rng.normal(size=(110, 2))
    y = np.array(["no", "yes"])[(X[:, 0] + 0.5 * rng.normal(size=110) > 0.0).astype(int)]
    few = estimator(random_state=0).fit(X[:12], y[:12])
    decision, p = few.decision_function(X), few.predict_proba(X)
    assert_array_equal(few.predict(X), few.classes_[(decision > 0.0).astype(int)])
    assert_allclose(1.0 / (1.0 + np.exp(-decision)), p[:, 1])
    assert sum(one["choice"] == NAME for one in few.choices_) == 2
    given = estimator(ConstantKernel(4.0) * RBF(1.0), optimizer=None, random_state=0)
    for model in (given.fit(X[:12], y[:12]), estimator(random_state=0).fit(X, y)):
        assert all(one["choice"] != NAME for one in model.choices_)


@pytest.mark.quick_cases("SVGPClassifier")
@pytest.mark.parametrize("estimator", [SVGPClassifier, AnytimeSGPClassifier])
def test_later_batches_outweigh_frequencies(estimator, rng):
    """The share of frequencies is that of the first rows, and counts go on."""
    X, y = rng.normal(size=(200, 1)), np.arange(200) % 4 // 3
    model = estimator(random_state=0).partial_fit(X[:10], y[:10])
    first = model._fitted.targets.frequencies
    second = model.partial_fit(X[10:], y[10:])._fitted.targets.frequencies
    assert_allclose(second.of_class, [150.0, 50.0])
    assert_allclose(second.share, first.share / 20.0)
    assert_allclose(second.probabilities, [151.0 / 202.0, 51.0 / 202.0])


def test_labels_may_go_against_all_that_is_near(rng):
    """With a default kernel of near rows the least share of frequencies is Jeffreys' mean."""
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0.0).astype(int)
    model = AnytimeSGPClassifier(random_state=0).fit(X, y)
    assert_allclose(model._fitted.targets.frequencies.share, 0.5 / 401.0)
    assert model.predict_proba([[9.0, 0.0]])[0, 0] > 0.4 * 0.5 / 401.0
    assert model.decision_function([[9.0, 0.0]]) != np.log(model.predict_proba([[9.0, 0.0]])[0, 1])
    probit = AnytimeSGPClassifier(likelihood="probit", random_state=0).fit(X[:60], y[:60])
    frequencies = probit._fitted.targets.frequencies
    p = ndtr(probit.decision_function(X))  # of the function, as without a share
    assert frequencies.is_least
    assert_allclose(probit.predict_proba(X), frequencies.mixed(np.column_stack([1.0 - p, p])))
    given = AnytimeSGPClassifier(ConstantKernel(4.0) * RBF(1.0), random_state=0).fit(X, y)
    assert given._fitted.targets.frequencies is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_are_those_of_decisions(n_classes, rng):
    """The least share of frequencies moved `predict`, but no decision, to the commoner class."""
    X = rng.normal(size=(400, 2))
    y = np.digitize(X[:, 0], [1.2, 2.0][: n_classes - 1])
    model = AnytimeSGPClassifier(random_state=0).fit(X, y)
    frequencies = model._fitted.targets.frequencies
    assert frequencies.is_least
    changed = replace(frequencies, share=0.3)  # of fewer rows, where more of them would differ
    targets = replace(model._fitted.targets, frequencies=changed)
    model._fitted = replace(model._fitted, targets=targets)
    X = np.column_stack([np.linspace(0.0, 3.0, 1000), np.zeros(1000)])
    decision, labels = model.decision_function(X), model.predict(X)
    chosen = (decision > 0.0).astype(int) if n_classes == 2 else decision.argmax(axis=1)
    assert np.any(model.predict_proba(X).argmax(axis=1) != chosen)
    assert_array_equal(labels, model.classes_[chosen])


@pytest.mark.slow
@EVERY
def test_no_structure_in_many_columns(estimator):
    """Probabilities were 0.03 to 0.1 nats a row worse than frequencies."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 12)), rng.integers(0, 2, size=100)
    model = estimator(random_state=0).fit(X, y)
    log_p = np.log(model.predict_proba(rng.normal(size=(200, 12))))
    assert log_p.mean() > np.log(0.5) - 0.01


def test_small_weights_are_no_little():
    """With weights of .1 labels that say much had probabilities near frequencies."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=200) > 0.0
    model = AnytimeSGPClassifier(random_state=0)
    model.fit(X[:60], y[:60], sample_weight=np.full(60, 0.1))
    assert model._fitted.targets.frequencies.share < 0.01
    assert model.score(X[60:], y[60:]) > 0.85


@pytest.mark.parametrize("estimator", [SVGPClassifier, StreamingSGPClassifier])
@pytest.mark.parametrize("given", [{"max_time": 60.0}, {"max_iter": 5}, {"sample_weight": 0.1}])
def test_what_is_not_asked(estimator, given, rng):
    """Short fits stay short, and bounds of labels that weigh little say nothing of these."""
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    weight, options = np.full(60, given.get("sample_weight", 1.0)), given.keys() - {"sample_weight"}
    model = estimator(random_state=0, **{name: given[name] for name in options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, sample_weight=weight)
    assert model._fitted.targets.frequencies is None


def test_a_first_batch_of_one_class(rng):
    """Its frequencies had a share of later probabilities: .37 nats a row were lost, not .12."""
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] > 0.0).astype(int)
    of_one = np.flatnonzero(y[:300] == 0)[:100]
    model = SVGPClassifier(random_state=0).partial_fit(X[of_one], y[of_one], classes=[0, 1])
    model.partial_fit(X[300:400], y[300:400])
    assert model._fitted.targets.frequencies is None
    assert np.mean(model.log_density(X[400:], y[400:])) > -0.2


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [SVGPClassifier, StreamingSGPClassifier])
def test_no_structure_in_categories(estimator):
    """Functions of categories explain labels of a hundred rows, whatever they are."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 6, (360, 2)), rng.normal(size=(360, 2))])
    y = rng.integers(0, 2, 360)
    model = estimator(categorical_features=[0, 1], random_state=0).fit(X[:120], y[:120])
    assert np.mean(model.log_density(X[120:], y[120:])) > np.log(0.5) - 0.02
    assert any(one["choice"] == NAME for one in model.choices_)


def test_share_of_frequencies():
    """It is what labels that are left out ask for, between nothing and all."""
    weight, plain = np.ones(60), np.full(60, np.log(0.5))
    sure = np.where(np.arange(60) % 4 > 0, np.log(0.99), np.log(0.01))  # right of 3 in 4
    assert_allclose(best_share(np.full(60, np.log(0.9)), plain, weight), 0.0, atol=1e-6)
    assert best_share(np.full(60, np.log(0.4)), plain, weight) == 1.0
    # (1 - s) 0.99 + s / 2 = 3 / 4 at s = 0.49
    assert_allclose(best_share(sure, plain, weight), 0.49, atol=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_two_distinct_inputs(seed):
    """Seed 2 left all rows out at once, as both inputs had drawn the same part: an IndexError."""
    X, y = np.repeat([[0.0], [1.0]], 3, axis=0), np.tile(["a", "b", "c"], 2)
    model = AnytimeSGPClassifier(random_state=seed).fit(X, y)
    assert_allclose(model.predict_proba(X), 1.0 / 3.0, atol=0.05)


ALONE = pytest.mark.parametrize("estimator", [SVGPClassifier, AnytimeSGPClassifier])


@pytest.fixture
def clusters(rng):
    y = np.arange(14) % 2
    return rng.normal(size=(14, 2)) + 3.0 * y[:, None], y


@ALONE
def test_a_fit_outlives_ctrl_c_amid_those_of_some_rows(estimator, clusters, monkeypatch):
    """It was lost with them."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(label_frequencies, "_is_learned_by_default", lambda fit: False)
    plain = estimator(random_state=0).fit(*clusters)
    monkeypatch.undo()
    monkeypatch.setattr(label_frequencies, "_predicted", interrupted)
    model = estimator(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*clusters)
    assert_array_equal(model.predict_proba(clusters[0]), plain.predict_proba(clusters[0]))


@ALONE
def test_batches_go_on_after_ctrl_c(estimator, clusters, monkeypatch):
    """Each raised KeyboardInterrupt again after what it had learned."""

    def interrupted(*_):
        raise KeyboardInterrupt

    model = estimator(random_state=0)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(label_frequencies, "_predicted", interrupted)
        model.fit(*clusters)
    assert model.partial_fit(*clusters).n_samples_seen_ == 28


class Watch(Callback):
    """A callback that notes what goes on, and may ask to end amid fits of some rows."""

    def __init__(self, ends=False):
        self.ends, self.n_seen, self.proba = ends, 0, None

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        if getattr(context, "stage", "") != STAGE:
            return False
        self.n_seen += 1
        self.proba = fitted_estimator.predict_proba(X)
        return self.ends


STAGE = "labels that are left out"


@pytest.mark.slow
@pytest.mark.quick_cases("True-SVGPClassifier", "True-AnytimeSGPClassifier")
@ALONE
@pytest.mark.parametrize("ends", [False, True])
def test_callbacks_see_fits_of_some_rows(estimator, ends, clusters, monkeypatch, capsys):
    """As steps of the fit that stands beside them, and may end them all."""
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    watch, model = Watch(ends), estimator(random_state=0, verbose=2)
    model.set_callbacks(watch).fit(*clusters)
    assert 0 < watch.n_seen < 4 if ends else watch.n_seen > 5  # a last pass follows
    entries = [line for line in capsys.readouterr().out.splitlines() if "entry" in line]
    assert len(entries) == len(model.objectives_)
    plain = estimator(random_state=0).fit(*clusters)
    assert_array_equal(model.objectives_, plain.objectives_)
    if not ends:
        assert_array_equal(model.predict_proba(clusters[0]), plain.predict_proba(clusters[0]))
    monkeypatch.setattr(label_frequencies, "_is_learned_by_default", lambda fit: False)
    plain = estimator(random_state=0).fit(*clusters)
    assert_allclose(watch.proba, plain.predict_proba(clusters[0]), atol=0.02)


def test_a_stream_is_as_before_ctrl_c_amid_those_of_some_rows(rng, monkeypatch):
    """It went on with the next batch."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(label_frequencies, "_predicted", interrupted)
    model = StreamingSGPClassifier(random_state=0, init_size=12, batch_size=12)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rng.normal(size=(36, 2)), np.arange(36) % 2)
    assert not model.__sklearn_is_fitted__()


@pytest.mark.quick_cases("4.9-0")
@pytest.mark.parametrize(("left", "asked"), [(4.9, 0), (5.1, 5)])
def test_labels_are_left_out_in_time_alone(left, asked, monkeypatch, rng):
    """Five fits of most rows are begun where so many times the time of the first one is left."""
    parts, predicted = [], label_frequencies._predicted

    def counted(*arguments):
        parts.append(arguments)
        return predicted(*arguments)

    monkeypatch.setattr(label_frequencies, "_predicted", counted)
    monkeypatch.setattr(Clock, "elapsed", lambda clock: 100.0)
    X, y = rng.normal(size=(16, 2)), np.arange(16) % 2
    AnytimeSGPClassifier(random_state=0, max_time=100.0 * (1.0 + left)).fit(X, y)
    assert len(parts) == asked


@pytest.mark.slow
@pytest.mark.parametrize("classifier", [AnytimeSGPClassifier, SVGPClassifier])
def test_levels_of_many_categories_do_not_explain_labels_by_chance(classifier):
    """Each of 50 levels has a number: new labels had less than half their probability."""
    rng = np.random.default_rng(3)
    levels = (5, 10, 15, 20)
    X = np.column_stack([rng.integers(0, k, 1400) for k in levels]).astype(float)
    y = (rng.random(1400) < 0.06).astype(int)
    model = classifier(random_state=0, categorical_features=[0, 1, 2, 3]).fit(X[:400], y[:400])
    p = model.predict_proba(X[400:])[np.arange(1000), y[400:]]
    frequency = np.mean(y[:400])
    by_chance = np.where(y[400:] == 1, frequency, 1.0 - frequency)
    assert np.mean(np.log(p)) > np.mean(np.log(by_chance)) - 0.02


@pytest.mark.slow
def test_small_weights_of_many_categories_are_not_asked():
    """Labels of weights of 0.01 are no counts: a share of frequencies of four would be uniform."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, k, 1400) for k in (5, 10, 15, 20)]).astype(float)
    y = (rng.random(1400) < 0.06).astype(int)
    model = AnytimeSGPClassifier(random_state=0, categorical_features=[0, 1, 2, 3])
    with pytest.warns(UserWarning, match="a mean of about 1"):
        model.fit(X[:400], y[:400], sample_weight=np.full(400, 0.01))
    assert NAME not in {one["choice"] for one in model.choices_}
    assert np.mean(model.predict_proba(X[400:])[:, 1]) < 0.12


def test_rows_that_come_again_are_no_new_ones(rng):
    """With ``total_samples`` passes after the first leave the share of frequencies as it is."""
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    model = SVGPClassifier(total_samples=20, random_state=0).partial_fit(X, y)
    before = model._fitted.targets.frequencies
    assert before.share > 0.0
    assert model.partial_fit(X, y)._fitted.targets.frequencies is before
