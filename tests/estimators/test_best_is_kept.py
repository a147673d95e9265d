"""What a fit returns is the best that it saw: no stage, jitter or second fit loses it again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from slow_variants import slow, slow_but
from test_contract import ESTIMATORS, VARIANTS

from sklearn_sgp import AnytimeSGPRegressor, BayesianGPLVM, SVGPClassifier, SVGPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KERNELS = {
    "smooth": ConstantKernel() * RBF([1.0, 1.0]),
    "rough": ConstantKernel() * Matern([1.0, 1.0], nu=0.5),
}


def has_near_rows(model):
    return getattr(model, "model", None) in ("auto", "vif", "lma", "pic", "pitc")


def follows_all_rows(model):
    """Whether all entries of `objectives_` are the objective of all rows, of one model.

    Ninety rows are one group of near rows, whose evidence is that of all; of more rows kernels are
    learned from groups, and the model's own objective comes last. Of their classes labels choose a
    variance, by what they say of one another: `choices_` tells where evidence is lost by it. Steps
    of "robbins-monro" report a part of an epoch.
    """
    if is_classifier(model) and has_near_rows(model):
        return False
    return getattr(model, "schedule", "average") == "average"


WATCHED = [model for model in ESTIMATORS + VARIANTS if follows_all_rows(model)]
N_QUICK = sum(follows_all_rows(model) for model in ESTIMATORS)


def table(kind):
    """Ninety rows of two columns, some three times, with or without noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 3.0, (90, 2))
    X = np.repeat(X[:30], 3, axis=0) if kind == "repeated" else X
    noise = 0.0 if kind == "noise-free" else 0.3
    return X, 1e3 * (np.sin(2.0 * X[:, 0]) + X[:, 1] + noise * rng.standard_normal(90))


@pytest.mark.quick_cases("*-noisy-smooth", "*-noise-free-rough")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", ["noise-free", "noisy", slow("repeated")])
@pytest.mark.parametrize("number", slow_but(range(N_QUICK), range(len(WATCHED))))
def test_the_objective_is_the_best_that_was_seen(number, kind, kernel):
    """With one kernel and all rows no entry of objectives_ is above objective_."""
    model = clone(WATCHED[number]).set_params(random_state=0)
    if not isinstance(model, BayesianGPLVM):
        model.set_params(kernel=KERNELS[kernel])
    if "init_size" in model.get_params():
        model.set_params(init_size=8192)
    if has_near_rows(model):
        model.set_params(solver="exact")  # steps report what some of the blocks say
    X, y = table(kind)
    y = y > np.median(y) if is_classifier(model) else y
    if isinstance(model, BayesianGPLVM):
        X, y = np.column_stack([X, y, X[:, 0] * X[:, 1]]), None
    model.fit(X, y)
    assert model.objective_ > model.objectives_.max() - 1e-5 * len(X)


def smooth_function(n):
    rng = np.random.default_rng(n)
    X = rng.uniform(0.0, 1.0, (n, 5))
    y = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2 + 5.0 * X[:, 3]
    return X, y


@pytest.mark.parametrize("m", [40, 100])
@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor])
def test_a_smooth_function_without_noise_is_learned(kind, m):
    """Whatever variance learning comes to, the jitter stays small beside the noise."""
    X, y = smooth_function(100)
    options = {"model": "vfe"} if kind is AnytimeSGPRegressor else {}
    kernel = ConstantKernel() * RBF(np.full(5, 0.5))
    model = kind(kernel, inducing=X[:m], optimize_inducing=False, random_state=0, **options)
    model.fit(X, y)
    assert model.score(*smooth_function(150)) > 0.9
    assert model.objective_ > model.objectives_.max() - 1e-3
    variance = model.kernel_.diag(X[:1])[0]
    assert model.jitter_ * variance <= 0.1 * model.noise_variance_


def test_objective_evidence_and_predictions_are_of_one_model():
    """A variance of 1e5 beside noise of 1e-6: the objective is the dense bound of what predicts."""
    X, y = smooth_function(120)
    model = SVGPRegressor(ConstantKernel() * RBF(np.full(5, 0.5)), random_state=0).fit(X, y)
    z, noise = (y - y.mean()) / y.std(), model.noise_variance_
    A = model.kernel_(X) + noise * np.eye(120)
    dense = -0.5 * z @ np.linalg.solve(A, z) - 0.5 * np.linalg.slogdet(2.0 * np.pi * A)[1]
    assert_allclose(model.objective_, dense - 120.0 * np.log(y.std()), atol=1e-3)
    value = model.log_marginal_likelihood(model.kernel_.theta, X=X, y=y)
    assert_allclose(value, model.objective_, atol=1e-3)
    assert_allclose(model.log_marginal_likelihood(), model.objective_)
    mean = y.mean() + y.std() * model.kernel_(X) @ np.linalg.solve(A, z)
    assert_allclose(model.predict(X), mean, atol=1e-4 * y.std())


# three classes are predicted too surely: of 3,000 new rows 84% are told and 75% are right
@pytest.mark.quick_cases("probit-2")
@pytest.mark.filterwarnings("ignore:Probabilities should be as large")
@pytest.mark.parametrize(
    ("likelihood", "n_classes"), [("probit", 2), ("softmax", 3), slow("softmax", 2)]
)
def test_a_second_fit_of_classes_goes_on(likelihood, n_classes):
    """With warm_start bound and log probability of new rows are no worse after a second fit."""
    rng = np.random.default_rng(0)
    X, X_new = rng.uniform(0.0, 3.0, (2, 200, 2))
    edges = [0.0] if n_classes == 2 else [-0.3, 0.3]

    def labels(X):
        noise = 0.2 * rng.standard_normal(len(X))
        return np.digitize(np.sin(2.0 * X[:, 0]) * np.cos(2.0 * X[:, 1]) + noise, edges)

    y, y_new = labels(X), labels(X_new)
    model = SVGPClassifier(likelihood=likelihood, n_inducing=20, random_state=0, warm_start=True)
    results = []
    for _ in range(3):
        log_p = np.log(model.fit(X, y).predict_proba(X_new)[np.arange(200), y_new])
        results.append((model.objective_, log_p.mean()))
    bounds, log_p = np.transpose(results)
    assert np.diff(bounds).min() > -0.05
    assert np.diff(log_p).min() > -2e-3


@pytest.mark.parametrize("options", [{}, {"likelihood": "student_t"}], ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_second_fit_goes_on(kernel, options):
    """With warm_start the bound of a regressor is no lower after a second fit."""
    X, y = table("noisy")
    model = SVGPRegressor(
        KERNELS[kernel], n_inducing=15, random_state=0, warm_start=True, **options
    ).fit(X, y)
    first = model.objective_
    assert model.fit(X, y).objective_ > first - 1e-5 * len(X)
