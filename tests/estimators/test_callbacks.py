"""scikit-learn's ScoringMonitor sees sane scores amid a fit, whatever the likelihood."""

import numpy as np
import pytest
from callback_helpers import Callback
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from slow_variants import slow

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.likelihoods import StudentT
from sklearn_sgp.metrics import log_density_scorer

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")


@pytest.fixture
def places(rng):
    """Inputs (500, 2), and a smooth function of them."""
    X = rng.uniform(-2.0, 2.0, (500, 2))
    return X, 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1]


def classes_of(places, n_classes, rng):
    X, f = places
    edges = [0.0] if n_classes == 2 else [-1.0, 1.0]
    names = np.array(["low", "middle", "top"])
    return X, names[np.digitize(f + 0.2 * rng.standard_normal(len(f)), edges)]


def scores_of(model, X, y, scoring, **arguments):
    """Fit; scores of every step, in order, by name."""
    monitor = callback.ScoringMonitor(scoring=scoring)
    model.set_callbacks(monitor).fit(X, y, **arguments)
    steps = [row for row in monitor.get_logs().data if row["task_name"] == "step"]
    return {name: np.array([row[name] for row in steps]) for name in scoring}


@pytest.mark.quick_cases("2-*")
@pytest.mark.parametrize("optimizer", ["auto", "adam"])
@pytest.mark.parametrize(
    "n_classes, likelihood", [(2, "auto"), slow(2, "logit"), slow(2, "softmax"), (3, "auto")]
)
def test_classifiers_are_scored(places, rng, n_classes, likelihood, optimizer):
    """Accuracy and log density amid a fit are those of a classifier that is nearly done."""
    X, y = classes_of(places, n_classes, rng)
    model = SVGPClassifier(
        likelihood=likelihood, n_inducing=15, max_iter=6, optimizer=optimizer, batch_size=100,
        random_state=0,
    )  # fmt: skip
    scoring = {"accuracy": "accuracy", "log_loss": "neg_log_loss", "log_p": log_density_scorer}
    scores = scores_of(model, X, y, scoring)
    assert all(len(values) == len(model.objectives_) for values in scores.values())
    final = np.mean(model.predict(X) == y)
    assert final > 0.85
    assert (scores["accuracy"] > 0.75).all() and (scores["accuracy"] <= 1.0).all()
    assert_allclose(scores["accuracy"][-1], final, atol=1e-12)
    assert_allclose(scores["log_p"], scores["log_loss"], rtol=1e-6)
    assert_allclose(scores["log_p"][-1], model.log_density(X, y).mean(), rtol=1e-4)
    assert (scores["log_p"] > -np.log(n_classes)).all()


@pytest.mark.quick_cases("options1-2", "options2-2")
@pytest.mark.parametrize("n_classes", [2, slow(3)])
@pytest.mark.parametrize(
    "options", [{}, {"model": "fitc"}, {"model": "pic", "optimizer": "adam", "block_size": 100}]
)
def test_classes_in_blocks_are_scored(places, rng, n_classes, options):
    """A classifier amid a fit knows its rows, and then what it is to be."""
    X, y = classes_of(places, n_classes, rng)
    shared = {"n_inducing": 15, "max_iter": 4, "alpha_epsilon": 0.01, "random_state": 0}
    model = AnytimeSGPClassifier(**shared, **options)
    scores = scores_of(model, X, y, {"accuracy": "accuracy", "log_p": log_density_scorer})
    assert all(len(values) == len(model.objectives_) for values in scores.values())
    assert model.score(X, y) > 0.85 and (scores["accuracy"] > 0.75).all()
    assert (scores["log_p"] > -1.0).all()


@pytest.mark.quick_cases("poisson-auto")
@pytest.mark.parametrize("optimizer", ["auto", slow("lbfgs"), slow("adam")])
@pytest.mark.parametrize("likelihood", ["poisson", slow("student_t"), StudentT(df=None)], ids=str)
def test_other_noise_is_scored(places, rng, likelihood, optimizer):
    """Scores amid a fit are those of the likelihood that is fitted, not of Gaussian noise."""
    X, f = places
    if likelihood == "poisson":
        y = rng.poisson(np.exp(f)).astype(float)
    else:
        y = f + 0.2 * rng.standard_t(3.0, len(f))
    model = SVGPRegressor(
        likelihood=likelihood, n_inducing=20, max_iter=8, optimizer=optimizer, batch_size=100,
        random_state=0,
    )  # fmt: skip
    scores = scores_of(model, X, y, {"r2": "r2", "log_p": log_density_scorer})
    assert len(scores["r2"]) == len(model.objectives_)
    assert model.score(X, y) > 0.8
    # the kernel of the first steps is still far off, but a fit to all rows of any kernel is a fit
    assert (scores["r2"] > 0.5).all() and (scores["r2"] <= 1.0).all()
    assert_allclose(scores["r2"][-1], model.score(X, y), atol=1e-3)
    assert_allclose(scores["log_p"][-1], model.log_density(X, y).mean(), atol=1e-3)
    assert_allclose(scores["log_p"], scores["log_p"][-1], atol=0.7)
    # what rises is the bound; the density of rows that are learned from may fall a little
    assert scores["log_p"][-1] > scores["log_p"][0] - 0.05


@pytest.mark.slow
def test_noise_is_chosen_amid_a_fit(rng):
    """Kernels are held for callbacks, too: that rows are few is no reason then (-0.5, not 0.5)."""
    X = rng.uniform(0.0, 6.0, (200, 1))
    y = np.sin(2.0 * X[:, 0]) + (0.02 + 0.5 * (X[:, 0] > 3.0)) * rng.standard_normal(200)
    model = SVGPRegressor(likelihood="auto", n_inducing=20, max_iter=10, random_state=0)
    scores = scores_of(model, X, y, {"log_p": log_density_scorer})
    assert scores["log_p"][-1] > model.log_density(X, y).mean() - 0.4


def test_scores_amid_a_fit_are_those_of_a_fit_with_these_parameters(places, rng):
    """What a callback sees is what a fit without learning gives at the parameters of that step."""
    X, f = places
    y = rng.poisson(np.exp(f)).astype(float)
    seen = []

    class Snapshots(Callback):
        """Keeps what it is shown."""

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if fitted_estimator is not None and context.parent is not None:
                seen.append(fitted_estimator)

    model = SVGPRegressor(likelihood="poisson", n_inducing=12, max_iter=4, random_state=0)
    model.set_callbacks(Snapshots()).fit(X, y)
    assert len(seen) == len(model.objectives_)
    for snapshot in seen:
        frozen = SVGPRegressor(
            snapshot.kernel_,
            likelihood="poisson",
            optimizer=None,
            inducing=snapshot.inducing_points_,
        ).fit(X, y)
        assert_allclose(snapshot.predict(X), frozen.predict(X), rtol=2e-3)


@pytest.mark.quick_cases("vfe-anytime", "fitc-anytime")
@pytest.mark.parametrize("solver", [slow("exact"), "anytime"])
@pytest.mark.parametrize("model", ["pic", slow("pitc"), "fitc", "vfe"])
def test_labelled_blocks_are_scored(wave, model, solver):
    """A fit in blocks with the user's labels shows estimators that know these labels."""
    X, y = wave
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [2.0, 4.0])]
    X = np.column_stack([X.astype(object), labels])
    ours = AnytimeSGPRegressor(
        model=model, solver=solver, n_inducing=10, max_iter=10, random_state=0, block_column=1
    )

    def in_blocks(estimator, X, y):
        assert estimator.n_blocks_ == 3 and X.shape[1] == 2
        return estimator.score(X, y)

    scores = scores_of(ours, X, y, {"r2": "r2", "labelled": in_blocks})
    assert len(scores["r2"]) == len(ours.objectives_)
    final = ours.score(X, y)
    assert final > 0.9
    assert (scores["labelled"] > 0.5).all() and (scores["labelled"] <= 1.0).all()
    assert_allclose(scores["labelled"][-1], final, atol=0.02)
    assert np.isfinite(scores["r2"]).all()


@pytest.mark.quick_cases("regressor", "student_t", "poisson", "two")
@pytest.mark.parametrize("name", ["regressor", "student_t", "poisson", "two", "three"])
def test_streams_are_scored_after_every_batch(places, rng, name):
    """The estimator that a callback sees after a batch has learned from the batches so far."""
    X, f = places
    if name in ("two", "three"):
        X, y = classes_of(places, 2 if name == "two" else 3, rng)
        model, scoring = StreamingSGPClassifier(), {"score": "accuracy"}
    else:
        noisy = f + 0.2 * rng.standard_normal(len(f))
        y = rng.poisson(np.exp(f)).astype(float) if name == "poisson" else noisy
        likelihood = "gaussian" if name == "regressor" else name
        model, scoring = StreamingSGPRegressor(likelihood=likelihood), {"score": "r2"}
    model.set_params(n_inducing=20, init_size=200, batch_size=100, max_iter=5, random_state=0)
    scores = scores_of(model, X, y, scoring)["score"]
    assert len(scores) == model.n_steps_ == 4
    assert (scores > 0.5).all() and (scores <= 1.0).all()
    assert_allclose(scores[-1], model.score(X, y), rtol=1e-12)


@pytest.mark.parametrize(
    "kind",
    [
        AnytimeSGPClassifier,
        AnytimeSGPRegressor,
        BayesianGPLVM,
        StreamingSGPClassifier,
        StreamingSGPRegressor,
        SVGPClassifier,
        SVGPRegressor,
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_progress_bar_follows_every_estimator(places, kind, capsys):
    """The bar bears the estimator's name, whatever learns."""
    pytest.importorskip("rich")
    X, f = places[0][:60], places[1][:60]
    y = f > 0.0 if kind.__name__.endswith("Classifier") else f
    kind(n_inducing=5, max_iter=2).set_callbacks(callback.ProgressBar()).fit(X, y)
    assert kind.__name__ in capsys.readouterr().out


@pytest.mark.parametrize("likelihood", ["poisson", "student_t"])
def test_being_watched_changes_nothing(places, rng, likelihood):
    """A fit with a ScoringMonitor ends where the same fit without one does, to the last bit."""
    X, f = places
    y = rng.poisson(np.exp(f)).astype(float)
    model = SVGPRegressor(likelihood=likelihood, n_inducing=10, max_iter=4, random_state=0)
    plain = clone(model).fit(X, y)
    scores_of(model, X, y, {"r2": "r2"})
    assert_array_equal(model.predict(X), plain.predict(X))
    assert model.objective_ == plain.objective_


KINDS = [
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_table", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_tables_with_names_and_missing_values_are_scored(places, kind, is_table):
    """Scorers had columns that say where values are missing, "X has 3 features", and no names."""
    X, f = places[0][:150].copy(), places[1][:150]
    X[::7, 1] = np.nan
    if is_table:
        X = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b"])
    classifies = kind.__name__.endswith("Classifier")
    scoring = {"score": "accuracy" if classifies else "r2"}
    scores = scores_of(kind(n_inducing=5, max_iter=2), X, f > 0.0 if classifies else f, scoring)
    assert scores["score"][-1] > 0.3


def test_streams_are_scored_where_targets_were_observed(places):
    """With codes, scorers had all targets of the user, those that are NaN, too."""
    X, y = np.column_stack([np.arange(500) % 3, places[0]]), places[1].copy()
    y[5::9] = np.nan
    model = StreamingSGPRegressor(
        n_inducing=10, init_size=200, batch_size=100, categorical_features=[0], random_state=0
    )
    assert scores_of(model, X, y, {"r2": "r2"})["r2"][-1] > 0.5
