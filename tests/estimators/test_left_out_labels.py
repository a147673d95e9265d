"""Probabilities of the labels of training rows, each given all others."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from sklearn_sgp import AnytimeSGPClassifier

N = 90


def table(n_classes):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (N, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)
    return X, np.digitize(f, np.linspace(-0.8, 0.8, n_classes + 1)[1:-1])


def fitted(n_classes, **options):
    options = {"max_iter": 5, "random_state": 0, "alpha_epsilon": 0.01} | options
    return AnytimeSGPClassifier(**options).fit(*table(n_classes))


@pytest.mark.parametrize(
    "n_classes, options, atol",
    [
        (2, {}, 0.005),  # the centre of the targets moves with each row
        (3, {}, 0.005),
        (2, {"likelihood": "probit"}, 0.07),  # sites of all others stay
    ],
)
def test_it_is_a_fit_without_the_row(n_classes, options, atol):
    X, y = table(n_classes)
    model = fitted(n_classes, **options)
    left_out = model.leave_one_out()
    assert left_out.shape == (N, n_classes)
    assert_allclose(left_out.sum(axis=1), 1.0)
    again = clone(model).set_params(kernel=model.kernel_, optimizer=None)
    for row in range(0, N, 15):
        others = np.arange(N) != row
        expected = clone(again).fit(X[others], y[others]).predict_proba(X[[row]])[0]
        assert_allclose(left_out[row], expected, atol=atol)


@pytest.mark.quick_cases("2-probit", "3-dirichlet")
@pytest.mark.parametrize(
    "n_classes, likelihood",
    [(2, "dirichlet"), (2, "probit"), (2, "logit"), (3, "dirichlet"), (3, "ordinal"), (3, "auto")],
)
def test_frequencies_do_not_count_the_row_itself(n_classes, likelihood):
    """Of few rows they did: each label was more probable by its own weight among them."""
    X, y = (part[:30] for part in table(n_classes))
    weight = np.tile([1.0, 2.0], 15)
    model = AnytimeSGPClassifier(likelihood=likelihood, max_iter=5, random_state=0)
    model.fit(X, y, weight)
    targets = model._fitted.targets
    alone = replace(targets, frequencies=None)
    share, got = targets.frequencies.share, model.leave_one_out()
    model._fitted = replace(model._fitted, targets=alone)
    of_class = np.bincount(y, weight) - weight[:, np.newaxis] * np.eye(n_classes)[y]
    plain = (of_class + 1.0) / (of_class + 1.0).sum(axis=1, keepdims=True)
    assert share > 0.0
    assert_allclose(got, (1.0 - share) * model.leave_one_out() + share * plain, rtol=1e-9)


def test_a_row_is_left_out_of_its_own_block():
    X, y = table(3)
    X = np.column_stack([X, X[:, 0] > 0.0])
    model = AnytimeSGPClassifier(block_column=2, max_iter=5, alpha_epsilon=0.01, random_state=0)
    left_out = model.fit(X, y).leave_one_out()
    again = clone(model).set_params(kernel=model.kernel_, optimizer=None)
    again.set_params(inducing=model.inducing_points_)
    for row in range(0, N, 15):
        others = np.arange(N) != row
        expected = again.fit(X[others], y[others]).predict_proba(X[[row]])[0]
        assert_allclose(left_out[row], expected, atol=0.005)


def test_one_class_against_the_rest():
    X, y = table(3)
    model = AnytimeSGPClassifier(max_iter=5, random_state=0).fit(X, y)
    own = model.predict_proba(X)[np.arange(N), y]
    left_out = model.leave_one_out()[np.arange(N), y]
    assert np.log(left_out).mean() < np.log(own).mean() < 0.0
    assert np.corrcoef(left_out, own)[0, 1] > 0.5


# sites of earlier rows do not know later ones
@pytest.mark.parametrize("likelihood, atol", [("dirichlet", 0.02), ("probit", 0.1)])
def test_rows_of_later_batches_are_in_their_order(likelihood, atol):
    X, y = table(2)
    kernel = fitted(2, likelihood=likelihood).kernel_
    options = {"kernel": kernel, "optimizer": None, "likelihood": likelihood, "n_neighbors": N}
    whole = fitted(2, **options)
    parts = AnytimeSGPClassifier(random_state=0, alpha_epsilon=0.01, **options)
    for rows in np.split(np.arange(N), [50, 70]):
        parts.partial_fit(X[rows], y[rows])
    assert_allclose(parts.leave_one_out(), whole.leave_one_out(), atol=atol)


def test_equal_rows():
    X, y = table(2)
    X, y = np.append(X, X[:9], axis=0), np.append(y, y[:9])
    model = AnytimeSGPClassifier(max_iter=5, random_state=0, alpha_epsilon=0.01).fit(X, y)
    with pytest.raises(ValueError, match="of which some were equal"):
        model.leave_one_out()
    left_out = model.leave_one_out(X, y)
    assert_allclose(left_out[:9], left_out[N:], rtol=1e-9)
    again = clone(model).set_params(kernel=model.kernel_, optimizer=None)
    expected = again.fit(X[1:], y[1:]).predict_proba(X[:1])[0]
    assert_allclose(left_out[0], expected, atol=2e-3)


def test_equal_rows_that_have_one_site():
    """Both ways of calling it named the other one as the cure."""
    X, y = table(2)
    model = AnytimeSGPClassifier(likelihood="probit", max_iter=5, random_state=0)
    model.fit(np.append(X, X[:9], axis=0), np.append(y, y[:9]))
    for given in ((), (X, y)):
        with pytest.raises(ValueError, match="Got Probit, and 99 training rows of which some were"):
            model.leave_one_out(*given)


def test_what_cannot_be_told():
    with pytest.raises(ValueError, match="keeps no training rows"):
        fitted(2, model="fitc").leave_one_out()
    with pytest.raises(ValueError, match="call it without them"):
        fitted(2, likelihood="probit").leave_one_out(*table(2))
    assert fitted(2, model="fitc").leave_one_out(*table(2)).shape == (N, 2)
