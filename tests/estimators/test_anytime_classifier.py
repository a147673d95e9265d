"""AnytimeSGPClassifier against dense definitions of regressions with known noise."""

import pickle
from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import norm, qmc
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import GridSearchCV
from slow_variants import slow

from sklearn_sgp import AnytimeSGPClassifier, SVGPClassifier
from sklearn_sgp.engines.blocks import engine
from sklearn_sgp.metrics import log_density_scorer
from sklearn_sgp.selection import left_out_classes as left_out
from sklearn_sgp.selection.left_out_classes import AlphaTrials

KERNEL = ConstantKernel(6.0, "fixed") * RBF(0.8, "fixed")
NAMES = np.array(["ash", "birch", "cedar", "date"])
MODELS = ["sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic", "lma", "vif"]
# Each class has factors of its own, and one factor serves all.
N_CLASSES = pytest.mark.parametrize("n_classes", [3, 4])


def data(n=120, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    score = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    edges = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, NAMES[np.searchsorted(edges, score)]


def made(**parameters):
    shared = {"kernel": KERNEL, "alpha_epsilon": 0.02, "n_inducing": 20, "optimizer": None}
    return AnytimeSGPClassifier(**{**shared, "random_state": 0, **parameters})


def dense(X, y, X_new, alpha, weight=1.0, kernel=KERNEL):
    """Exact posterior moments of each class's function, and the sum of the log evidences."""
    classes, K, across = np.unique(y), kernel(X), kernel(X_new, X)
    means, variances, evidence = [], [], 0.0
    for label in classes:
        a = (y == label) + alpha
        s2 = np.log(1.0 / a + 1.0)
        target = np.log(a) - 0.5 * s2
        centre = np.average(target, weights=np.broadcast_to(weight, len(y)))
        S = K + np.diag(s2 / weight)
        W = np.linalg.inv(S)
        means.append(centre + across @ W @ (target - centre))
        variances.append(6.0 - np.einsum("ij,jk,ik->i", across, W, across))
        error = target - centre
        evidence -= 0.5 * (error @ W @ error + np.linalg.slogdet(2.0 * np.pi * S)[1])
    return np.column_stack(means), np.column_stack(variances), evidence


def probabilities(mean, variance, temperature=1.0):
    """By sampling, with points of low discrepancy: off by some 1e-5."""
    points = qmc.Sobol(mean.shape[1], seed=0).random_base2(16)
    f = mean + np.sqrt(variance) * norm.ppf(points)[:, None]
    return softmax(f / temperature, axis=2).mean(axis=0)


@pytest.mark.parametrize(
    "options",
    [
        {"model": "vif", "n_neighbors": 200},
        {"model": "vif", "n_neighbors": 200, "n_inducing": 0},
        {"model": "pic", "n_blocks": 1},
        {"model": "lma", "block_size": 40, "markov_order": 9},
        {"model": "pic", "n_blocks": 1, "solver": "exact"},
    ],
)
@N_CLASSES
def test_all_rows_near_are_the_exact_regressions(options, n_classes):
    """Standard deviations, evidence and probabilities."""
    (X, y), (X_new, _) = data(n_classes=n_classes), data(6, seed=1)
    fitted = made(**options).fit(X, y)
    mean, variance, evidence = dense(X, y, X_new, 0.02)
    assert_allclose(fitted.predict_std(X_new), np.sqrt(variance), atol=1e-7)
    assert_allclose(fitted.objective_, evidence, rtol=1e-9)
    assert_allclose(fitted.predict_proba(X_new), probabilities(mean, variance), atol=1e-4)
    assert_allclose(fitted.predict_proba(X_new).sum(axis=1), 1.0)
    assert fitted.temperature_ == 1.0 and fitted.alpha_epsilon_ == 0.02


@pytest.mark.parametrize("model", MODELS)
@N_CLASSES
def test_inducing_inputs_at_all_rows_are_the_exact_regressions(model, n_classes):
    (X, y), (X_new, _) = data(60, n_classes=n_classes), data(6, seed=1)
    fitted = made(model=model, inducing=X, n_inducing=len(X), block_size=20).fit(X, y)
    _, variance, evidence = dense(X, y, X_new, 0.02)
    assert_allclose(fitted.objective_, evidence, rtol=1e-5)
    if model != "sor":  # SoR knows the prior at the inducing inputs alone
        assert_allclose(fitted.predict_std(X_new), np.sqrt(variance), rtol=1e-3)
    exact = made(model="pic", n_blocks=1).fit(X, y)
    assert_allclose(fitted.predict_proba(X), exact.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
@N_CLASSES
def test_all_limits_are_exact(model, n_classes):
    """Inducing inputs at all rows, or all rows near, where no jitter is needed: to 1e-8."""
    kernel = ConstantKernel(6.0, "fixed") * Matern(0.8, "fixed", nu=0.5)
    (X, y), (X_new, _) = data(60, n_classes=n_classes), data(6, seed=1)
    options = {"kernel": kernel, "model": model, "block_size": 20}
    fits = [made(inducing=X, n_inducing=60, **options)]
    if model in ("pic", "lma", "vif"):
        fits.append(made(**options).set_params(n_neighbors=200, block_size=60, n_inducing=5))
    mean, variance, evidence = dense(X, y, X_new, 0.02, kernel=kernel)
    for fitted in fits:
        fitted.fit(X, y)
        assert_allclose(fitted.objective_, evidence, rtol=1e-8)
        if model == "sor":  # knows the prior at the inducing inputs alone
            continue
        assert_allclose(fitted.predict_std(X_new), np.sqrt(variance), rtol=1e-8)
        likelihood = fitted.likelihood_
        log_p = likelihood.decision(mean - likelihood.offset, variance)
        assert_allclose(fitted.decision_function(X_new), log_p, rtol=1e-8)


@pytest.mark.parametrize("model", MODELS)
@N_CLASSES
def test_weights_are_repetitions(model, n_classes):
    X, y = data(60, n_classes=n_classes)
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    options = {"model": model, "n_blocks": 1, "n_neighbors": 300, "inducing": X[:15]}
    weighted = made(**options).fit(X, y, sample_weight=weight)
    repeated = made(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-7)


@N_CLASSES
def test_weights_against_the_definition(n_classes):
    (X, y), (X_new, _) = data(n_classes=n_classes), data(6, seed=1)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(X))
    fitted = made(model="vif", n_neighbors=200).fit(X, y, sample_weight=weight)
    _, variance, _ = dense(X, y, X_new, 0.02, weight)
    assert_allclose(fitted.predict_std(X_new), np.sqrt(variance), atol=1e-7)


@pytest.mark.parametrize("model", ["vif", "pic", "lma", "fitc"])
def test_jobs_change_nothing(model):
    """Neither the fit nor predictions of many classes."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-2.0, 2.0, (300, 2)), rng.integers(0, 12, 300)
    options = {"model": model, "block_size": 40, "n_neighbors": 20}
    one, two = (made(n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2))
    assert one.objective_ == two.objective_
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize("model", MODELS)
def test_batches_are_one_fit(model):
    """Labels that come late need their names in the first call."""
    X, y = data(90)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]  # the last class comes in the last batch
    options = {"model": model, "n_blocks": 1, "n_neighbors": 300, "inducing": X[::6]}
    batches = made(**options)
    for part in np.split(np.arange(90), 3):
        batches.partial_fit(X[part], y[part], classes=NAMES[:3])
    assert batches.n_samples_seen_ == 90
    whole = made(**options).fit(X, y)
    late = batches.predict_proba(X), whole.predict_proba(X)
    assert np.mean(late[0].argmax(axis=1) == late[1].argmax(axis=1)) > 0.85  # other prior means
    assert_allclose(batches.predict_std(X), whole.predict_std(X), rtol=1e-4)
    with pytest.raises(ValueError, match="must hold labels among the classes"):
        batches.partial_fit(X[:3], ["elm"] * 3)
    with pytest.raises(ValueError, match="must be as in the first call"):
        batches.partial_fit(X[:3], y[:3], classes=NAMES)


@pytest.mark.parametrize("kind", [object, int])
def test_equal_rows_of_later_batches_merge_by_class(kind):
    """Labels were merged as they came: Python's strings ended the batch, large keys were one."""
    X, y = data(120, n_classes=2)
    place = np.searchsorted(NAMES, y)
    y = (2**53 + place) if kind is int else y.astype(object)
    again = np.vstack([X[100:], X[100:]]), np.concatenate([y[100:], y[100:][::-1]])
    models = made(model="fitc", inducing=X[::6]), made(model="fitc", inducing=X[::6])
    both = (again[0], np.concatenate([place[100:], place[100:][::-1]]))
    models[0].partial_fit(X[:100], y[:100]).partial_fit(*again)
    models[1].partial_fit(X[:100], place[:100]).partial_fit(*both)
    assert_array_equal(*(one.predict_proba(X) for one in models))
    assert set(models[0].predict(X)) == set(y)


def test_given_blocks_are_those_of_pic():
    X, y = data()
    side = np.where(X[:, 0] > 0.0, "right", "left")
    X = np.column_stack([X[:, :1].astype(object), side, X[:, 1:]])
    fitted = made(block_column=1).fit(X, y)
    apart = [made(n_inducing=20, inducing=fitted.inducing_points_, model="pic", block_column=1)]
    assert fitted.n_blocks_ == 2 and fitted.inducing_points_.shape == (20, 2)
    right = fitted.predict_proba(X)
    assert fitted.score(X, y) == np.mean(fitted.predict(X) == y)
    assert_allclose(
        np.log(right[np.arange(len(y)), np.searchsorted(NAMES[:3], y)]), fitted.log_density(X, y)
    )
    same = apart[0].fit(X, y)
    assert_allclose(same.predict_std(X), fitted.predict_std(X))
    with pytest.raises(ValueError, match=r"X has 2 features, but .* 3 features"):
        fitted.decision_function(X[:, ::2])


def test_balanced_classes_are_weights():
    X, y = data()
    keep = (y != "cedar") | (np.arange(len(y)) % 4 == 0)
    X, y = X[keep], y[keep]
    balanced = made(class_weight="balanced").fit(X, y)
    of_class = {name: len(y) / (3 * np.count_nonzero(y == name)) for name in NAMES[:3]}
    weight = np.array([of_class[label] for label in y])
    given = made(class_weight=of_class).fit(X, y)
    weighted = made().fit(X, y, sample_weight=weight)
    for other in (given, weighted):
        assert_allclose(other.predict_proba(X), balanced.predict_proba(X))
    with pytest.raises(ValueError, match="class_weight='balanced' is not supported"):
        made(class_weight="balanced").partial_fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, slow(4)])
def test_default_fits_learn(n_classes):
    """Nearly all that the noise allows, with probabilities that can be believed."""
    n = 400 if n_classes == 2 else 1200
    (X, y), (X_new, y_new) = data(n, 0, n_classes), data(1000, 1, n_classes)
    fitted = AnytimeSGPClassifier(random_state=0, max_iter=20, init_size=1000).fit(X, y)
    best = data(1000, 1, n_classes)
    assert_array_equal(best[1], y_new)
    confidence = fitted.predict_proba(X_new).max(axis=1)
    hits = fitted.predict(X_new) == y_new
    assert hits.mean() > (0.88 if n_classes == 2 else 0.75)
    assert abs(hits.mean() - confidence.mean()) < 0.05
    assert fitted.log_density(X_new, y_new).mean() > (-0.2 if n_classes == 2 else -0.55)
    alpha = getattr(fitted, "alpha_epsilon_", left_out._ALPHA)  # sites have none
    assert alpha in (left_out._ALPHA, left_out._ABOVE, *left_out._BELOW)
    scores = fitted.decision_function(X_new)
    assert scores.shape == ((1000,) if n_classes == 2 else (1000, 4))
    copied = pickle.loads(pickle.dumps(fitted))
    assert_allclose(copied.predict_proba(X_new), fitted.predict_proba(X_new))


@pytest.mark.slow
def test_short_fits_predict():
    X, y = data(600)
    fitted = AnytimeSGPClassifier(random_state=0, max_time=0.5).fit(X, y)
    assert np.isfinite(fitted.predict_proba(X)).all() and fitted.score(X, y) > 0.5


def test_bad_parameters_are_refused():
    X, y = data(30)
    with pytest.raises(ValueError, match="must have no WhiteKernel"):
        made(kernel=KERNEL + WhiteKernel()).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        made().fit(X, ["ash"] * 30)
    with pytest.raises(ValueError, match="alpha_epsilon"):
        made(alpha_epsilon=0.0).fit(X, y)
    fitted = made().fit(X, y)
    with pytest.raises(ValueError, match="alpha_epsilon must stay"):
        fitted.set_params(alpha_epsilon=0.1).partial_fit(X, y)


def test_it_is_an_estimator():
    X, y = data(90)
    scoring = {"log_p": log_density_scorer, "log_loss": "neg_log_loss", "accuracy": "accuracy"}
    choices = {"alpha_epsilon": [0.01, 0.1]}
    search = GridSearchCV(made(), choices, cv=3, scoring=scoring, refit="log_p").fit(X, y)
    assert search.best_params_["alpha_epsilon"] in (0.01, 0.1)
    assert clone(search.best_estimator_).alpha_epsilon == search.best_params_["alpha_epsilon"]
    log_p, log_loss = (search.cv_results_[f"mean_test_{name}"] for name in ("log_p", "log_loss"))
    assert_allclose(log_p, log_loss, rtol=1e-6)


def test_values_of_alpha_are_compared_on_the_same_groups(monkeypatch):
    """Whatever the random state is."""
    seeds, add = [], AlphaTrials.add

    def noted(trials, alpha, problem):
        seeds[-1].append(deepcopy(problem.rng).randint(2**31))
        add(trials, alpha, problem)

    monkeypatch.setattr(AlphaTrials, "add", noted)
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (60, 2))
    for state in (None, 0, np.random.RandomState(0)):
        seeds.append([])
        AnytimeSGPClassifier(max_iter=2, random_state=state).fit(X, X[:, 0] > 0.0)
    assert all(len(of_one) > 1 and len(set(of_one)) == 1 for of_one in seeds)


@pytest.mark.quick_cases("estimator0-balanced")
@pytest.mark.parametrize(
    ("estimator", "class_weight"),
    [
        (partial(AnytimeSGPClassifier, alpha_epsilon=0.01), "balanced"),
        (SVGPClassifier, "balanced"),
        slow(AnytimeSGPClassifier, "balanced"),
        slow(SVGPClassifier, {0: 1.0, 1: 3.0, 2: 1.0}),
    ],
)
def test_rows_of_weight_zero_have_no_part_in_class_weights(estimator, class_weight):
    """Nor need their labels be known."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-2.0, 2.0, (120, 2)), rng.integers(0, 3, 120)
    weight = np.where((y == 1) & (rng.uniform(size=120) < 0.8), 0.0, rng.uniform(0.5, 2.0, 120))
    y[weight == 0.0] = rng.choice([0, 1, 7], (weight == 0.0).sum())
    options = {"max_iter": 5, "n_inducing": 10, "random_state": 0, "class_weight": class_weight}
    kept, p = weight > 0.0, []
    for rows in (slice(None), kept):
        model = estimator(**options).fit(X[rows], y[rows], sample_weight=weight[rows])
        p.append(model.predict_proba(X))
    assert_allclose(*p, rtol=1e-10)


@pytest.mark.parametrize("alpha", [1e-320, 0.0, 1e16])
def test_concentrations_that_cannot_be(alpha):
    with pytest.raises(ValueError, match="alpha_epsilon"):
        AnytimeSGPClassifier(alpha_epsilon=alpha).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("model", ["vfe", "fitc"])
def test_without_near_rows_there_is_no_temperature(model):
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (80, 2))
    fitted = AnytimeSGPClassifier(model=model, n_inducing=5, max_iter=5).fit(X, X[:, 0] > 0.0)
    assert fitted.temperature_ == 1.0 and fitted.alpha_epsilon_ == 0.01


def test_what_was_chosen_is_told(capsys):
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (80, 2))
    AnytimeSGPClassifier(verbose=1, max_iter=3).fit(X, X[:, 0] > 0.0)
    assert "temperature=" in capsys.readouterr().out
    AnytimeSGPClassifier(likelihood="dirichlet", verbose=1, max_iter=3).fit(X, X[:, 0] > 0.0)
    assert "alpha_epsilon=" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_interrupt_comes_through(monkeypatch, method):
    """With what was learned stored, by a first batch as by a fit."""
    X, y = data()
    model = made(model="pic", block_size=30)
    monkeypatch.setattr(engine, "fit_in_blocks", interrupted(engine.fit_in_blocks))
    with pytest.raises(KeyboardInterrupt):
        getattr(model, method)(X, y)
    assert model.score(X, y) > 0.5


def interrupted(fit):
    def stopped(*args, **known):
        return replace(fit(*args, **known), interrupted=True)

    return stopped


@pytest.mark.slow
def test_adam_learns_from_more_than_few_labels(rng):
    """A TypeError of None came from minibatches of the bound that sites begin with."""
    X = rng.uniform(-1.0, 1.0, (700, 2))
    model = AnytimeSGPClassifier(optimizer="adam", max_iter=2, tol=1e3, random_state=0)
    assert model.fit(X, X[:, 0] > 0.0).score(X, X[:, 0] > 0.0) > 0.9
