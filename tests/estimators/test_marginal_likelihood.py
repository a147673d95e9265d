"""log_marginal_likelihood at other parameters, against scikit-learn's and by differences."""

import numpy as np
import pytest
from dense import central_difference
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

KERNELS = {
    "noise": ConstantKernel(1.5) * RBF([0.8, 1.3]) + WhiteKernel(0.2),
    "noise between, part of it fixed": WhiteKernel(0.1)
    + ConstantKernel(0.7, "fixed") * Matern(1.1, nu=2.5)
    + WhiteKernel(0.05, "fixed")
    + RBF(2.0),
}
MODELS = ["svgp", "sor", "dtc", "vfe", "fitc", "pitc", "pic"]


def held(kernel, model="svgp", **parameters):
    """A regressor that learns nothing but the posterior."""
    parameters = {"optimizer": None, "normalize_y": False, "random_state": 0} | parameters
    if model == "svgp":
        return SVGPRegressor(kernel, **parameters)
    return AnytimeSGPRegressor(kernel, model=model, block_size=15, **parameters)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", KERNELS)
def test_with_all_rows_it_is_scikit_learns(model, name, toy):
    """With Z = X value and gradient are those of GaussianProcessRegressor, noise included."""
    X, y = toy
    kernel, y = KERNELS[name], y - y.mean()
    theta = kernel.theta + np.linspace(-0.3, 0.4, kernel.n_dims)
    exact = GaussianProcessRegressor(kernel, optimizer=None, alpha=1e-13).fit(X, y)
    value, gradient = exact.log_marginal_likelihood(theta, eval_gradient=True)
    ours = held(kernel, model, inducing=X).fit(X, y)
    found, slope = ours.log_marginal_likelihood(theta, True, X=X, y=y)
    assert_allclose(found, value, rtol=1e-6)
    assert_allclose(slope, gradient, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())
    assert_allclose(ours.log_marginal_likelihood(theta, X=X, y=y), found, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", KERNELS)
def test_gradient_is_that_of_the_value(model, name, toy_outputs):
    """With few inducing inputs, two scaled outputs and weights, differences are the gradient."""
    X, y = toy_outputs
    weight = np.linspace(0.0, 2.0, len(X))
    rows = {"X": X, "y": y, "sample_weight": weight}
    ours = held(KERNELS[name], model, n_inducing=6, normalize_y=True)
    ours.fit(X, y, sample_weight=weight)
    theta = ours.kernel_.theta + np.linspace(-0.2, 0.3, ours.kernel_.n_dims)
    _, gradient = ours.log_marginal_likelihood(theta, True, **rows)
    differences = central_difference(lambda t: ours.log_marginal_likelihood(t, **rows), theta, 1e-5)
    assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6 * np.abs(gradient).max())


@pytest.mark.parametrize("model", ["svgp", "vfe", "fitc"])
def test_at_the_learned_kernel_it_is_the_objective(model, toy):
    """What was learned has the objective that fit reports, in units of y."""
    X, y = toy
    ours = held(None, model, optimizer="auto", max_iter=5, normalize_y=True, n_inducing=8)
    ours.fit(X, y)
    assert ours.log_marginal_likelihood() == ours.objective_
    found = ours.log_marginal_likelihood(ours.kernel_.theta, X=X, y=y)
    assert_allclose(found, ours.objective_, rtol=1e-8)


@pytest.mark.parametrize("likelihood", ["student_t", "poisson"])
def test_other_likelihoods(likelihood, toy):
    """With other likelihoods it is their bound, and its gradient."""
    X, y = toy
    y = np.where(np.arange(len(y)) % 10, y, y + 3.0)  # a few are far off
    y = np.abs(np.round(y) if likelihood == "poisson" else y)
    kernel = ConstantKernel(1.5) * RBF(1.3)
    ours = held(kernel, likelihood=likelihood, n_inducing=8).fit(X, y)
    theta = ours.kernel_.theta
    value, gradient = ours.log_marginal_likelihood(theta, True, X=X, y=y)
    assert_allclose(value, ours.objective_, atol=1e-5 * len(X))
    differences = central_difference(
        lambda t: ours.log_marginal_likelihood(t, X=X, y=y), theta, 3e-3
    )
    assert_allclose(gradient, differences, rtol=0.0, atol=5e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("seed", range(2))
def test_gradient_where_rows_are_far_off(seed):
    """With Student-t noise, whose sites may have negative precisions, it is that of the value."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=200)
    y[::10] += 3.0 * np.sign(np.sin(np.arange(20.0)))
    kernel = ConstantKernel(2.0) * RBF([1.5, 2.5, 8.0])
    ours = held(kernel, likelihood="student_t", n_inducing=25, noise_variance=0.02).fit(X, y)
    theta = kernel.theta + 0.1
    gradient = ours.log_marginal_likelihood(theta, True, X=X, y=y)[1]
    expected = central_difference(lambda t: ours.log_marginal_likelihood(t, X=X, y=y), theta, 1e-3)
    assert_allclose(gradient, expected, atol=2e-3)


@pytest.mark.parametrize("model", ["pitc", "pic"])
def test_models_of_dense_blocks_use_the_rows_that_they_keep(model, toy):
    """PITC and PIC need no rows: they have them, in their blocks."""
    X, y = toy
    ours = held(KERNELS["noise"], model, n_inducing=6).fit(X, y)
    found = ours.log_marginal_likelihood(ours.kernel_.theta)
    assert_allclose(found, ours.objective_, rtol=1e-8)


@pytest.mark.parametrize("partition", ["kmeans", "contiguous", "random"])
@pytest.mark.parametrize("model", ["pitc", "pic"])
def test_rows_given_again_are_in_their_own_blocks(model, partition, toy):
    """Also those of runs, or random ones, that lie among rows of other blocks or repeat them."""
    X, y = np.vstack([toy[0], toy[0][:7]]), np.append(toy[1], toy[1][:7] + 0.5)
    ours = held(KERNELS["noise"], model, n_inducing=6, partition=partition).fit(X, y)
    found = ours.log_marginal_likelihood(ours.kernel_.theta, X=X, y=y)
    assert_allclose(found, ours.objective_, rtol=1e-8)


def test_labels_of_blocks(toy):
    """A model with labels of blocks wants them with the rows, and then has its objective."""
    X, y = toy
    labels = np.arange(len(X)) % 4
    labelled = np.column_stack([labels, X])
    ours = held(KERNELS["noise"], "pitc", n_inducing=6, block_column=0).fit(labelled, y)
    theta = ours.kernel_.theta
    found = ours.log_marginal_likelihood(theta, X=labelled, y=y)
    assert_allclose(found, ours.objective_, rtol=1e-8)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* 3 features"):
        ours.log_marginal_likelihood(theta, X=X, y=y)


def test_nothing_of_the_model_changes(toy):
    """The model is as before, whatever clone_kernel says."""
    X, y = toy
    ours = held(KERNELS["noise"], n_inducing=6).fit(X, y)
    before, kernel = ours.predict(X), ours.kernel_
    ours.log_marginal_likelihood(kernel.theta + 0.5, clone_kernel=False, X=X, y=y)
    assert ours.kernel_ is kernel and kernel == KERNELS["noise"]
    assert_allclose(ours.predict(X), before, rtol=0)


def test_what_cannot_be(toy):
    """Wrong arguments are errors that say what is wanted."""
    X, y = toy
    ours = held(KERNELS["noise"], n_inducing=6).fit(X, y)
    theta = ours.kernel_.theta
    with pytest.raises(ValueError, match=r"keeps no training rows.*pass X= and y="):
        ours.log_marginal_likelihood(theta + 0.1)
    with pytest.raises(ValueError, match="Gradient can only be evaluated"):
        ours.log_marginal_likelihood(eval_gradient=True)
    with pytest.raises(ValueError, match="given together, and with theta"):
        ours.log_marginal_likelihood(theta, X=X)
    with pytest.raises(ValueError, match="given together, and with theta"):
        ours.log_marginal_likelihood(X=X, y=y)
    with pytest.raises(ValueError, match=r"finite and have shape \(4,\)"):
        ours.log_marginal_likelihood(theta[:2], X=X, y=y)


def test_the_learned_parameters_need_no_rows(toy):
    """At the learned theta the value is that of the fit, which needs no rows; elsewhere it does."""
    X, y = toy
    ours = held(KERNELS["noise"], n_inducing=6).fit(X, y)
    assert ours.log_marginal_likelihood(ours.kernel_.theta) == ours.objective_
    with pytest.raises(ValueError, match="keeps no training rows"):
        ours.log_marginal_likelihood(ours.kernel_.theta, eval_gradient=True)


CLASSIFIERS = {
    "probit": (SVGPClassifier(n_inducing=15, random_state=0), 2, 0.05),
    "softmax": (SVGPClassifier(n_inducing=15, max_iter=40, random_state=0), 3, 0.1),
    "near rows": (AnytimeSGPClassifier(n_inducing=8, random_state=0), 2, 1e-4),
    "sites of near rows": (AnytimeSGPClassifier(likelihood="probit", random_state=0), 2, 1e-4),
    "regressions": (AnytimeSGPClassifier(model="fitc", n_inducing=8, random_state=0), 3, 1e-4),
}


NEED_ROWS = ("probit", "softmax", "regressions")


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_have_it(name, toy):
    """It is `objective_` at the learned theta, and elsewhere has the gradient of its differences.

    Sites and settings are held at what makes the bound stationary, so that gradients are those of
    the value but for what iterations leave.
    """
    model, n_classes, rtol = CLASSIFIERS[name]
    X, f = toy[0], np.sin(2.0 * toy[0][:, 0]) + toy[0][:, 1]
    labels = np.searchsorted(np.quantile(f, np.arange(1, n_classes) / n_classes), f)
    kernel = ConstantKernel(2.0) * RBF([1.0, 1.0])
    ours = clone(model).set_params(kernel=kernel).fit(X, np.array(["a", "b", "c"])[labels])
    given = {"X": X, "y": ours.classes_[labels]} if name in NEED_ROWS else {}
    theta = ours.kernel_.theta
    assert_allclose(ours.log_marginal_likelihood(theta), ours.objective_)
    assert_allclose(ours.log_marginal_likelihood(theta, **given), ours.objective_, rtol=0.01)
    theta, step = theta + 0.1, 1e-4
    value, gradient = ours.log_marginal_likelihood(theta, eval_gradient=True, **given)
    assert_allclose(ours.log_marginal_likelihood(theta, **given), value)
    differences = [
        ours.log_marginal_likelihood(theta + step * e, **given)
        - ours.log_marginal_likelihood(theta - step * e, **given)
        for e in np.eye(len(theta))
    ]
    expected = np.array(differences) / (2.0 * step)
    assert_allclose(gradient, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
