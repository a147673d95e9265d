"""Block models of a user's own: SoR, FITC and PIC written as such are the built-in ones."""

import pickle

import numpy as np
import pytest
from block_helpers import (
    KERNEL,
    LABEL,
    LABELLED_TEST,
    OwnPIC,
    OwnPITC,
    assert_same_model,
    fixed,
    inducing,
    with_labels,
)
from numpy.testing import assert_allclose
from sklearn.base import clone

from sklearn_sgp import AnytimeSGPClassifier, AnytimeSGPRegressor, BlockModel


def of_rows(A, y, variance):
    """Information and log density at v = 0 of rows that are independent given u."""
    scaled = A / variance
    each = (y**2).sum(axis=1) / variance + y.shape[1] * np.log(2.0 * np.pi * variance)
    return scaled @ A.T, scaled @ y, -0.5 * each.sum()


class SoR(BlockModel):
    test_conditional = "sor"

    def terms(self, A, y, K, noise):
        return of_rows(A, y, noise)


class FITC(BlockModel):
    learned_as = "fitc"

    def terms(self, A, y, K, noise):
        return of_rows(A, y, noise + K - (A**2).sum(axis=0))


OWN = {"sor": SoR, "fitc": FITC, "pitc": OwnPITC, "pic": OwnPIC}
EVERY = pytest.mark.parametrize("name", OWN)


def both(name, **parameters):
    """The user's model and the built-in one, nothing learned."""
    return tuple(fixed(model, block_column=LABEL, **parameters) for model in (OWN[name](), name))


def assert_equal(own, built_in):
    assert_same_model(built_in, own, rtol=1e-8, at=LABELLED_TEST)


@EVERY
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"solver": "anytime"},
        {"solver": "anytime", "max_steps": 2},
        {"solver": "anytime", "schedule": "robbins-monro", "max_steps": 9},
        {"n_jobs": 2},
    ],
    ids=["exact", "anytime", "two steps", "robbins-monro", "two jobs"],
)
def test_a_model_written_again_is_the_built_in_one(toy, name, parameters):
    """Predictions, joint ones too, and evidence are those of the built-in model."""
    own, built_in = both(name, **parameters)
    assert_equal(own.fit(*with_labels(toy)), built_in.fit(*with_labels(toy)))


@EVERY
def test_weights_batches_and_outputs(toy, name):
    """Rows of weight two and of fractions, later batches and several outputs count as built in."""
    X, y = with_labels(toy)
    y = np.column_stack([y, np.cos(3.0 * y)])
    weight = np.random.default_rng(0).choice([0.3, 1.0, 2.0], len(y))
    own, built_in = both(name, normalize_y=(0.2, 1.5))
    for model in (own, built_in):
        model.partial_fit(X[:35], y[:35], sample_weight=weight[:35])
        model.partial_fit(X[35:], y[35:], sample_weight=weight[35:])
    got, expected = (model.predict(LABELLED_TEST, return_std=True) for model in (own, built_in))
    assert_allclose(got, expected, rtol=1e-8)
    assert_allclose(own.objective_, built_in.objective_, rtol=1e-9)


@pytest.mark.parametrize("name", ["sor", "fitc", "pitc"])
def test_it_is_learned_as_it_says(toy, name):
    """Kernel, noise and inducing inputs are learned by the evidence that the model names."""
    names = {"sor": "sor", "fitc": "fitc", "pitc": "pitc"}
    models = [
        AnytimeSGPRegressor(
            model=model, n_inducing=6, n_blocks=4, max_iter=20, solver="exact", random_state=0
        ).fit(*toy)
        for model in (OWN[name](), names[name])
    ]
    assert_allclose(models[0].kernel_.theta, models[1].kernel_.theta, rtol=1e-9)
    assert_allclose(models[0].predict(toy[0]), models[1].predict(toy[0]), rtol=1e-7)


def test_a_model_that_keeps_near_rows_is_learned_from_them(toy):
    """With PIC's test conditional kernel and noise come from near rows, as those of "pic" do."""
    own, built_in = (
        AnytimeSGPRegressor(model=model, n_inducing=6, n_blocks=4, max_iter=20, random_state=0)
        for model in (OwnPIC(), "pic")
    )
    own.fit(*toy)
    built_in.fit(*toy)
    assert_allclose(own.kernel_.theta, built_in.kernel_.theta, rtol=1e-9)
    assert_allclose(own.predict(toy[0]), built_in.predict(toy[0]), rtol=1e-7)


def test_a_mixture_takes_it(toy):
    """Half of a model of one's own and half of a built-in one are the mixture of two built-in."""
    X, y = with_labels(toy)
    own = fixed([(FITC(), 0.3), ("dtc", 0.7)], block_column=LABEL).fit(X, y)
    built_in = fixed([("fitc", 0.3), ("dtc", 0.7)], block_column=LABEL).fit(X, y)
    assert_equal(own, built_in)


class Half(BlockModel):
    """Half of DTC's log factors."""

    def terms(self, A, y, K, noise):
        return tuple(0.5 * part for part in of_rows(A, y, noise))


@pytest.mark.parametrize("model", [Half(), [(Half(), 0.5), ("dtc", 0.25)], [("vfe", 0.5)]])
def test_it_is_itself_where_all_rows_are_inducing_inputs(toy, model):
    """Its factors, and weights, are not those of the exact process: half of all rows is known."""
    X, y = toy
    built_in = fixed("dtc", inducing=X, normalize_y=False).fit(X, y, np.full(len(y), 0.5))
    own = fixed(model, inducing=X, normalize_y=False).fit(X, y)
    latent = [one.predict_std(X, include_noise=False) for one in (own, built_in)]
    assert_allclose(*latent, rtol=1e-4)
    assert_allclose(own.predict(X), built_in.predict(X), rtol=1e-4)
    assert_allclose(own.objective_, built_in.objective_, rtol=1e-6)
    elsewhere = own.log_marginal_likelihood(own.kernel_.theta, X=X, y=y)
    assert_allclose(elsewhere, own.objective_, rtol=1e-9)


def test_it_is_cloned_pickled_and_predicts_on(toy):
    """A clone fits the same, and a pickle predicts and takes a further batch."""
    X, y = with_labels(toy)
    own = fixed(FITC(), block_column=LABEL).fit(X[:40], y[:40])
    again = pickle.loads(pickle.dumps(own))
    assert_allclose(clone(own).fit(X[:40], y[:40]).predict(X), own.predict(X), rtol=1e-12)
    for model in (own, again):
        model.partial_fit(X[40:], y[40:])
    assert_allclose(again.predict(X), own.predict(X), rtol=1e-12)


class Silent(BlockModel):
    pass


class Flat(BlockModel):
    def terms(self, A, y, K, noise):
        return np.zeros(len(A)), np.zeros((len(A), 1)), 0.0


class Infinite(BlockModel):
    def terms(self, A, y, K, noise):
        return np.eye(len(A)), np.full((len(A), 1), np.inf), 0.0


class Nothing(BlockModel):
    def terms(self, A, y, K, noise):
        return None


class Guessing(BlockModel):
    test_conditional = "vif"


class Lonely(BlockModel):
    test_conditional = "pic"


class Dreaming(BlockModel):
    learned_as = "sor"


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (Silent(), NotImplementedError, r"Silent must have a method terms\(A, y, K, noise\)"),
        (Flat(), ValueError, r"terms of Flat .* H of shape \(8, 8\).*Got \(8,\), \(8, 1\), \(\)"),
        (Infinite(), ValueError, "terms of Infinite must be finite"),
        (Nothing(), ValueError, "terms of Nothing .* Got None: correct its method"),
        (Guessing(), ValueError, "attribute 'test_conditional' .* Got 'vif' for Guessing"),
        (Lonely(), ValueError, "full_covariance=True.* Got full_covariance=False in .*Lonely"),
        ([(Lonely(), 0.5)], ValueError, "full_covariance=True.* in .*Lonely.* 0.5"),
        (Dreaming(), ValueError, "attribute 'learned_as' .* Got 'sor' for Dreaming"),
        ([(OwnPITC(), 0.5), ("pitc", 0.5)], ValueError, "one model at most whose blocks keep"),
    ],
)
def test_what_is_wrong_with_a_model_is_told(toy, model, error, message):
    """A model without terms, or with terms of wrong shapes or values, is refused by its name."""
    X, y = toy
    with pytest.raises(error, match=message):
        fixed(model).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_labels(toy, n_classes):
    """Labels are regressions, with a noise of each row and class, as with a built-in model."""
    X, y = toy
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    own, built_in = (
        AnytimeSGPClassifier(model=model, n_inducing=5, random_state=0).fit(X, labels)
        for model in (FITC(), "fitc")
    )
    assert_allclose(own.predict_proba(X), built_in.predict_proba(X), rtol=1e-6)


class DTC(SoR):
    test_conditional = "dtc"


@pytest.mark.parametrize("repeated", [False, True])
def test_precisions_of_rows_have_no_normaliser(toy, repeated):
    """The evidence of labels was lower by their noise's logarithms than that of "dtc"."""
    X, y = toy
    weight = np.tile([1.0, 2.0, 0.5], 20) if repeated else None
    own, built_in = (
        AnytimeSGPClassifier(
            KERNEL, model=model, inducing=inducing(), optimizer=None, alpha_epsilon=0.01
        ).fit(X, y > np.median(y), weight)
        for model in (DTC(), "dtc")
    )
    assert_allclose(own.objective_, built_in.objective_, rtol=1e-9)


def test_noise_of_rows_has_no_normaliser(toy):
    """Rows whose noise is their own have the evidence of "dtc", too."""
    own, built_in = (
        AnytimeSGPRegressor(
            KERNEL, likelihood="student_t", model=model, inducing=inducing(), random_state=0
        ).fit(*toy)
        for model in (DTC(), "dtc")
    )
    assert_allclose(own.objective_, built_in.objective_, rtol=1e-6)


@EVERY
def test_the_evidence_elsewhere_is_that_of_the_built_in_model(toy, name):
    """Its value at a theta is there; its gradient is refused by name."""
    X, y = with_labels(toy)
    own, built_in = (model.fit(X, y) for model in both(name, solver="exact"))
    theta = np.full_like(own.kernel_.theta, 0.3)
    values = [model.log_marginal_likelihood(theta, X=X, y=y) for model in (own, built_in)]
    assert_allclose(*values, rtol=1e-8)
    with pytest.raises(ValueError, match="`model` of your own"):
        own.log_marginal_likelihood(theta, eval_gradient=True)
