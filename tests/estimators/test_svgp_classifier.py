"""SVGPClassifier keeps what its interface promises."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from failures import assert_unchanged, interrupt, state_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier

from sklearn_sgp import SVGPClassifier
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.variational.inference import SiteInference
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.likelihoods import Logit, Probit, Softmax
from sklearn_sgp.objectives.sites import SiteProblem
from sklearn_sgp.optimize.parameters import Group, Parameters, ParameterSpace

KERNEL = 3.0 * RBF([1.0, 1.0])
LIKELIHOODS = pytest.mark.parametrize("likelihood", ["probit", "logit", "softmax"])
WAYS = {
    "auto": {},
    "subsets": {"init_size": 150, "max_iter": 20},
    "lbfgs": {"optimizer": "lbfgs"},
    "adam": {"optimizer": "adam", "batch_size": 50, "learning_rate": 0.05, "max_iter": 20},
    "None": {"optimizer": None, "kernel": KERNEL},
}


@pytest.fixture
def two(rng):
    """300 rows of two classes that overlap a little."""
    X = rng.uniform(-2.0, 2.0, (300, 2))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(300)
    return X, np.where(f > 0, 1, 0)


@pytest.fixture
def three(rng):
    """300 rows of three classes."""
    X = rng.uniform(-2.0, 2.0, (300, 2))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(300)
    return X, np.digitize(f, [-0.7, 0.7])


def quick(**parameters):
    """A classifier with few inducing inputs."""
    return SVGPClassifier(**{"n_inducing": 15, "random_state": 0, **parameters})


@pytest.mark.quick_cases(
    "*-adam", "*-None", "probit-auto", "softmax-lbfgs", "softmax-subsets", "logit-subsets"
)
@pytest.mark.parametrize("way", WAYS)
@LIKELIHOODS
def test_every_way_learns(two, way, likelihood):
    """All stages learn two classes with every likelihood, and their traces are complete."""
    X, y = two
    model = quick(likelihood=likelihood, **WAYS[way]).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.85
    assert model.log_density(X[200:], y[200:]).mean() > -0.4
    assert model.objectives_[-1] == model.objective_ < 0
    assert len(model.fit_times_) == len(model.objectives_)


@pytest.mark.quick_cases("adam", "None", "auto")
@pytest.mark.parametrize("way", WAYS)
def test_three_classes(three, way):
    """Three classes have probabilities that sum to 1, and predict and log_density follow them."""
    X, y = three
    model = quick(**WAYS[way]).fit(X[:200], y[:200])
    probability = model.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert (probability >= 0).all()
    assert model.score(X[200:], y[200:]) > 0.8
    assert model.predict_std(X).shape == model.decision_function(X).shape == (300, 3)
    assert_array_equal(model.predict(X), np.argmax(model.decision_function(X), axis=1))
    rows = np.arange(300)
    assert_allclose(model.log_density(X, y), np.log(probability[rows, y]), rtol=1e-12)


def test_inducing_inputs_at_all_rows_agree_with_laplace(two):
    """With Z = X the classes are those of scikit-learn's Laplace approximation, nearly always."""
    X, y = two[0][:80], two[1][:80]
    ours = quick(kernel=KERNEL, optimizer=None, inducing=X, likelihood="logit").fit(X, y)
    laplace = GaussianProcessClassifier(KERNEL, optimizer=None).fit(X, y)
    new = np.random.default_rng(1).uniform(-2.0, 2.0, (300, 2))
    assert np.mean(ours.predict(new) == laplace.predict(new)) > 0.98
    assert np.abs(ours.predict_proba(new) - laplace.predict_proba(new)).max() < 0.12


def test_softmax_of_two_classes_behaves_like_logit(two):
    """The difference of two functions of one kernel is one of twice its variance."""
    X, y = two
    kernel = 2.0 * RBF([1.0, 1.0], "fixed")
    common = {"optimizer": None, "inducing": X[:20]}
    logit = quick(kernel=2.0 * kernel, likelihood="logit", **common).fit(X, y)
    softmax = quick(kernel=kernel, likelihood="softmax", **common).fit(X, y)
    assert np.abs(logit.predict_proba(X) - softmax.predict_proba(X)).max() < 0.05
    assert softmax.decision_function(X).shape == (300,)


@pytest.mark.parametrize(
    "names",
    [[7, -3], ["no", "yes"], ["yes", "no"], [True, False], [0.5, 1.5], [None, None]],
)
def test_names_of_classes_do_not_matter(two, names):
    """Any labels that sort give the same function, turned where their order turns."""
    X, y = two
    if names == [None, None]:
        names = [pd.Timestamp("2001-01-01"), pd.Timestamp("2000-01-01")]
        labels = np.array([names[k].isoformat() for k in y], dtype=object)
        names = [name.isoformat() for name in names]
    else:
        labels = np.array(names)[y]
    if isinstance(names[0], float):
        with pytest.raises(ValueError, match="Unknown label type"):
            quick().fit(X, labels)
        return
    plain, named = quick(max_iter=3).fit(X, y), quick(max_iter=3).fit(X, labels)
    turned = sorted(names) != names
    expected = plain.predict_proba(X)[:, ::-1] if turned else plain.predict_proba(X)
    assert_allclose(named.predict_proba(X), expected, atol=1e-4)
    assert set(named.predict(X)) <= set(labels)


def test_decision_function_of_two_classes(two):
    """The decision is positive where the second class is predicted; for logit it is log-odds."""
    X, y = two
    for likelihood in ("probit", "logit"):
        model = quick(likelihood=likelihood, max_iter=3).fit(X, y)
        decision, probability = model.decision_function(X), model.predict_proba(X)
        assert_array_equal(decision > 0, model.predict(X) == 1)
        if likelihood == "logit":
            assert_allclose(decision, np.log(probability[:, 1] / probability[:, 0]), rtol=1e-9)
        assert model.predict_std(X).shape == (300,)


@pytest.mark.parametrize("likelihood", ["probit", "softmax"])
def test_weights_are_repetitions(three, two, likelihood):
    """Weight 2 is the row twice and weight 0 no row."""
    X, y = two if likelihood == "probit" else three
    weight = np.random.default_rng(2).integers(0, 3, 300)
    model = quick(max_iter=5, likelihood=likelihood)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-6)


def test_class_weight_is_sample_weight(two):
    """A weight of a class is the same weight on each of its rows."""
    X, y = two
    given = quick(max_iter=5, class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    weighted = quick(max_iter=5).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    assert_allclose(given.predict_proba(X), weighted.predict_proba(X), rtol=1e-12)
    assert quick(max_iter=5, class_weight="balanced").fit(X, y).score(X, y) > 0.85


@pytest.mark.quick_cases("softmax")
@pytest.mark.parametrize("likelihood", ["probit", "softmax"])
def test_partial_fit(two, three, likelihood):
    """Batches come near to what one fit gives, and learn classes as they come."""
    X, y = two if likelihood == "probit" else three
    model = quick(kernel=KERNEL, optimizer=None, inducing=X[:20])
    whole = clone(model).fit(X, y)
    order = np.argsort(y[:200], kind="stable")  # the first batch has one class only
    classes = np.unique(y)
    for part in np.array_split(order, 4):
        model.partial_fit(X[part], y[part], classes=classes)
    model.partial_fit(X[200:], y[200:])
    assert model.n_samples_seen_ == 300
    assert np.mean(model.predict(X) == whole.predict(X)) > 0.93
    moving = quick(inducing=X[:20], learning_rate=0.02)
    for part in np.split(np.arange(300), [120, 180, 240]):
        moving.partial_fit(X[part], y[part], classes=classes)
    assert moving.score(X, y) > 0.8


@pytest.mark.parametrize("likelihood", ["probit", "softmax"])
def test_partial_fit_with_total_samples(two, likelihood):
    """Epochs by hand approach the fit of all rows."""
    X, y = two
    model = quick(kernel=KERNEL, optimizer=None, inducing=X[:20], likelihood=likelihood)
    whole = clone(model).fit(X, y)
    model.set_params(total_samples=300, natural_step=0.3)
    rng = np.random.default_rng(0)
    for _ in range(12):
        for part in np.array_split(rng.permutation(300), 3):
            model.partial_fit(X[part], y[part], classes=[0, 1])
    assert np.abs(model.predict_proba(X) - whole.predict_proba(X)).max() < 0.1


@pytest.mark.quick_cases("adam")
@pytest.mark.parametrize("way", ["auto", "adam"])
def test_few_rows_do_not_tell_many_length_scales_apart(rng, way):
    """Length scales of the default kernel stay together, in units of the columns."""
    X = rng.standard_normal((60, 20)) * np.logspace(-2, 2, 20)
    y = (X @ np.logspace(2, -2, 20) + 3.0 * rng.standard_normal(60) > 0).astype(int)
    start = X.std(axis=0) * np.sqrt(20)
    options = {**WAYS[way], "max_iter": 60}
    default = quick(**options).fit(X, y)
    free = quick(kernel=ConstantKernel() * RBF(start, (1e-6, 1e6)), **options).fit(X, y)
    tied, apart = (
        np.std(np.log(model.kernel_.k2.length_scale / start)) for model in (default, free)
    )
    assert tied < 0.8 * apart
    if way == "auto":
        assert default.objective_ < free.objective_


def test_errors(two, three):
    """Labels, classes and parameters that cannot be are refused, and the model stays as it was."""
    X, y = two
    with pytest.raises(ValueError, match="at least two classes"):
        quick().fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="at least two classes"):
        quick().fit(X, y, sample_weight=(y == 0).astype(float))
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        quick(likelihood="logit").fit(*three)
    with pytest.raises(ValueError, match="WhiteKernel"):
        quick(kernel=KERNEL + WhiteKernel()).fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        quick().fit(X, y + 0.5 * X[:, 0])
    with pytest.raises(ValueError, match="'likelihood' parameter"):
        quick(likelihood="poisson").fit(X, y)
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        quick(class_weight="balanced").partial_fit(X, y)
    model = quick(max_iter=2).fit(X, y)
    before = state_of(model)
    with pytest.raises(ValueError, match=r"classes \[0, 1\].*Got also"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="classes must be as in the first call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="Got also"):
        model.log_density(X, y + 5)
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(np.full((2, 2), np.inf), [0, 1])
    assert_unchanged(model, before)


@pytest.mark.quick_cases("logit", "probit")
@LIKELIHOODS
def test_pickle_and_jobs(two, likelihood):
    """Any number of jobs gives the same model, and one that was saved and loaded learns on."""
    X, y = two
    one = quick(likelihood=likelihood, max_iter=3, n_jobs=1).fit(X, y)
    other = quick(likelihood=likelihood, max_iter=3, n_jobs=2).fit(X, y)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)
    loaded = pickle.loads(pickle.dumps(one))
    assert_array_equal(loaded.predict_proba(X), one.predict_proba(X))
    for model in (one, loaded):
        model.partial_fit(X[:50], y[:50])
    assert_array_equal(loaded.predict_proba(X), one.predict_proba(X))


@pytest.mark.slow
def test_inside_scikit_learn(two, three):
    """Calibration, searches, votes, one against the rest and cross-validation take classifiers."""
    X, y = two
    base = quick(max_iter=3)
    assert CalibratedClassifierCV(base, cv=2).fit(X, y).score(X, y) > 0.85
    search = GridSearchCV(base, {"n_inducing": [5, 15]}, cv=2, scoring="neg_log_loss")
    assert search.fit(X, y).best_score_ > -0.5
    both = [(name, clone(base).set_params(likelihood=name)) for name in ("probit", "logit")]
    votes = VotingClassifier(both, voting="soft").fit(X, y)
    assert votes.score(X, y) > 0.85
    assert [type(model.likelihood_) for model in votes.estimators_] == [Probit, Logit]
    each = [model.predict_proba(X) for model in votes.estimators_]
    assert np.abs(each[0] - each[1]).max() > 1e-4
    assert_allclose(votes.predict_proba(X), np.mean(each, axis=0))
    rest = OneVsRestClassifier(quick(max_iter=3, likelihood=Logit()))
    assert rest.fit(*three).score(*three) > 0.8
    assert cross_val_predict(base, *three, cv=2, method="predict_proba").shape == (300, 3)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", ["site_pass", "gradient_sums"])
def test_a_fit_that_fails_leaves_the_estimator(two, monkeypatch, method, name):
    """Ctrl-C or an error leaves a fresh classifier unfitted, and a fitted one as it was."""
    X, y = two
    fitted = quick(max_iter=2).fit(X, y)
    for model, error in itertools.product((fitted, quick()), (KeyboardInterrupt, MemoryError)):
        before = state_of(model)
        with monkeypatch.context() as patch:
            interrupt(patch, SiteProblem, name, 1, error)
            with pytest.raises(error):
                getattr(model, method)(X, y)
        assert_unchanged(model, before)


def test_the_last_posterior_starts_from_the_best_parameters(three):
    """q(u) of the best parameters is known, not that of a last trial point that is far off."""
    X, y = three
    rows = Rows(X, y[:, None].astype(float), None, np.zeros(1), np.ones(1))
    expression = compile_kernel(ConstantKernel() * RBF([1.0] * X.shape[1]), np.zeros(X.shape[1]))
    values = {"theta": expression.theta, "log_noise": 0.0, "Z": X[:10]}
    start = Parameters(expression, values)
    space = ParameterSpace((Group("theta", np.tile([-9.0, 9.0], (len(start.theta), 1))),))
    inference = SiteInference(Softmax(), 3)
    _, objective, known_now = inference.objective(space, start, rows, 1e-8, False, None, np.inf)
    good = objective(start)[0]
    known = known_now()[0]
    assert objective(start.with_values(theta=start.theta + 6.0))[0] < good
    assert known_now()[0] is known
