"""Rows that are left out of blocks and mixtures are those of fits without them."""

import numpy as np
import pytest
from block_helpers import LABEL, LABELS, OwnPIC, OwnPITC, fixed, with_labels
from fitted_models import fitted
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPClassifier, AnytimeSGPRegressor, BlockModel
from sklearn_sgp.data.rows import make_rows

MODELS = {
    "pitc": {"model": "pitc"},
    "power": {"model": "pitc", "alpha_divergence": 0.4},
    "power zero": {"model": "pitc", "alpha_divergence": 0.0},
    "dtc and fitc": {"model": [("dtc", 0.5), ("fitc", 0.5)]},
    "more of dtc than there is": {"model": [("dtc", 2.0), ("fitc", -1.0)]},
    "half": {"model": [("fitc", 0.5)]},
    "half of blocks": {"model": [("pitc", 0.5)]},
    "blocks and rows": {"model": [("pitc", 0.3), ("fitc", 0.9)]},
    "none of the blocks": {"model": [("pitc", 0.0), ("fitc", 1.0)]},
    "less than nothing": {"model": [("pitc", 1.5), ("dtc", -0.2), ("vfe", -0.1)]},
}
KEPT = {"block_column": LABEL, "normalize_y": False}


def assert_left_out(model, X, y, weight=None, rows=(0, 17, 42)):
    """What is told of rows is what fits without them predict."""
    own = model.fit(X, y, weight).leave_one_out(X, y, weight)
    for k in rows:
        others = np.arange(len(X)) != k
        some = None if weight is None else weight[others]
        fresh = clone(model).fit(X[others], y[others], some)
        expected = np.reshape(fresh.predict(X[[k]], return_std=True), (2, *y.shape[1:]))
        assert_allclose([part[k] for part in own], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_each_is_a_fit_without_the_row(toy, name):
    """Whatever the powers and weights of the models, and of the rows."""
    X, y = with_labels(toy)
    model = fixed(**MODELS[name], **KEPT)
    assert_left_out(model, X, y)
    assert_left_out(model, X, y, np.random.default_rng(0).choice([0.3, 1.0, 2.0], len(y)))


@pytest.mark.parametrize("noise", [0.1, [0.1, 0.3]])
@pytest.mark.parametrize("name", ["pitc", "blocks and rows"])
def test_several_outputs(toy_outputs, name, noise):
    """With one noise variance, or each with its own."""
    X, y = toy_outputs
    model = fixed(**MODELS[name], **KEPT, noise_variance=noise)
    assert_left_out(model, np.column_stack([X, LABELS]), y)


def test_kept_rows_are_those_given_again(toy):
    """Blocks of labels, and of a partition, are told in the order in which rows came."""
    X, y = with_labels(toy)
    own = fixed("pitc", **KEPT).fit(X, y)
    assert_allclose(own.leave_one_out(), own.leave_one_out(X, y), rtol=1e-9)
    X, y = toy
    own = fixed("pitc", block_size=15).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    assert_allclose(own.leave_one_out(), own.leave_one_out(X, y), rtol=1e-9)


def test_one_of_equal_rows_is_left_out(toy):
    """The others, which are one row with it, stay in its block."""
    X, y = toy
    X, y = np.vstack([X, X[:5], X[:5]]), np.concatenate([y, y[:5], y[:5]])
    assert_left_out(fixed("pitc", n_blocks=3, normalize_y=False), X, y, rows=(0, 3))


def test_the_order_of_a_mixture_is_of_no_account(toy):
    """Neither of what is left out, nor of what rows say of themselves."""
    X, y = toy
    pairs = [("dtc", 0.5), ("fitc", 0.5)]
    both = [fixed(some, normalize_y=False).fit(X, y) for some in (pairs, pairs[::-1])]
    assert_allclose(*(model.leave_one_out(X, y) for model in both), rtol=1e-12)
    rows = make_rows(X, y[:, None], None, fitted(both[0]).targets)
    moments = [fitted(model).predictor.training_moments(rows) for model in both]
    assert_allclose(*moments, rtol=1e-12)


def test_a_weight_of_two_tells_twice_of_residuals(toy):
    """Given u, rows say of what it leaves as they would with half of the noise."""
    X, y = toy
    once, twice = fixed("fitc").fit(X, y), fixed([("fitc", 2.0)]).fit(X, y)
    posterior = fitted(once).posterior
    rows = make_rows(X, y[:, None], None, fitted(once).targets)
    of_twice = fitted(twice).predictor.with_posterior(posterior)
    noise = 0.5 * of_twice.noise_variance
    less = fitted(once).predictor
    less = type(less)(posterior, noise, less.conditional, less.alpha)
    assert_allclose(of_twice.training_moments(rows), less.training_moments(rows), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes(toy, n_classes):
    """Regressions of labels are left out of blocks as well; the centre moves with each row."""
    X, y = toy
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    table = np.column_stack([X, np.digitize(X[:, 0], [-1.0, 0.0, 1.0])])
    options = {"kernel": 4.0 * RBF(0.5), "optimizer": None, "inducing": X[::12]}
    options |= {"block_column": LABEL, "alpha_epsilon": 0.1, "random_state": 0}
    model = AnytimeSGPClassifier(model="pitc", **options).fit(table, y)
    left_out = model.leave_one_out()
    for k in range(0, len(X), 7):
        others = np.arange(len(X)) != k
        fresh = clone(model).fit(table[others], y[others])
        assert_allclose(left_out[k], fresh.predict_proba(table[[k]])[0], atol=0.01)


class OwnDTC(BlockModel):
    """DTC by the interface of a model of one's own."""

    def terms(self, A, y, K, noise):
        each = (y**2).sum(axis=1) / noise + y.shape[1] * np.log(2.0 * np.pi * noise)
        return (A / noise) @ A.T, (A / noise) @ y, -0.5 * each.sum()


OWN = {
    "rows": OwnDTC(),
    "blocks": OwnPITC(),
    "near rows": OwnPIC(),
    "mixture": [(OwnPITC(), 0.5), ("dtc", 0.5)],
}


@pytest.mark.parametrize("name", OWN)
def test_own_models_are_refused(toy, name):
    """Their terms may be any, so that nobody knows what a row of a block says."""
    X, y = with_labels(toy)
    model = fixed(OWN[name], block_column=LABEL).fit(X, y)
    with pytest.raises(ValueError, match="Got a `model` of your own, whose terms do not tell"):
        model.leave_one_out(X, y)


@pytest.mark.quick_cases("rows-auto", "blocks-heteroscedastic")
@pytest.mark.parametrize("likelihood", ["heteroscedastic", "auto"])
@pytest.mark.parametrize("name", OWN)
def test_own_models_learn_noise_without_left_out_rows(toy, name, likelihood):
    """Steps that left-out rows decide are passed over."""
    X, y = toy
    options = {"n_inducing": 6, "block_size": 20, "max_iter": 5, "random_state": 0}
    model = AnytimeSGPRegressor(model=OWN[name], likelihood=likelihood, **options)
    mean, std = model.fit(X, np.exp(y)).predict(X, return_std=True)
    assert np.isfinite(mean).all() and (std > 0.0).all()
