"""A column of X that is added to the function of classes: what another model says."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline

from sklearn_sgp import AnytimeSGPClassifier, StreamingSGPClassifier, SVGPClassifier
from sklearn_sgp.likelihoods import Logit, Probit

ESTIMATORS = {
    "variational": SVGPClassifier(n_inducing=12, max_iter=30),
    "near rows": AnytimeSGPClassifier(n_inducing=12, n_neighbors=60, init_size=400, max_iter=15),
    "stream": StreamingSGPClassifier(n_inducing=12, init_size=100, batch_size=100),
}
EVERYWHERE = pytest.mark.parametrize("where", ESTIMATORS)
KERNEL = 1.0 * RBF(1.0)


def labels(n=400, seed=0):
    """Inputs whose first column is added, labels, and the function."""
    rng = np.random.default_rng(seed)
    x, added = rng.uniform(0.0, 6.0, n), rng.normal(0.5, 1.5, n)
    f = 1.5 * np.sin(x)
    return np.column_stack([added, x]), rng.uniform(size=n) < ndtr(added + f), f


def model_of(where, **options):
    model = clone(ESTIMATORS[where]).set_params(likelihood="probit", random_state=0, n_jobs=1)
    return model.set_params(**{"offset_column": 0, **options})


@pytest.mark.quick_cases("stream", "variational")
@EVERYWHERE
def test_the_function_is_found_beside_what_is_added(where):
    """The function is that of rows where nothing is added, and the column moves its argument."""
    X, y, f = labels()
    model = model_of(where).fit(X, y)
    unit = np.column_stack([np.zeros(len(X)), X[:, 1]])
    p = model.predict_proba(unit)[:, 1]
    assert np.sqrt(np.mean((p - ndtr(f)) ** 2)) < 0.13
    assert model.n_features_in_ == 2 and model.inducing_points_.shape[1] == 1
    std = model.predict_std(X)
    argument = model.decision_function(unit) + X[:, 0] / np.sqrt(1.0 + std**2)
    assert_allclose(model.decision_function(X), argument, rtol=1e-9)
    assert_allclose(model.predict_proba(X)[:, 1], ndtr(argument), rtol=1e-9)
    known = model.predict_proba(X)[np.arange(len(y)), y.astype(int)]
    assert_allclose(model.log_density(X, y), np.log(known), rtol=1e-9)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@EVERYWHERE
@pytest.mark.parametrize("likelihood", ["probit", "logit", "ordinal"])
def test_a_constant_that_is_added_is_a_prior_mean(where, likelihood):
    """The same number for all rows changes the prior mean, and nothing else."""
    X, y, _ = labels(150)
    options = {"kernel": KERNEL, "inducing": X[::15, 1:], "optimizer": None}
    plain = model_of(where, likelihood=likelihood, offset_column=None, **options)
    plain.fit(X[:, 1:], y)
    new = np.column_stack([np.full(150, 0.7), X[:, 1]])
    added = model_of(where, likelihood=likelihood, **options).fit(new, y)
    expected = plain.predict_proba(X[:, 1:])
    assert_allclose(added.predict_proba(new), expected, rtol=1e-6)
    assert_allclose(added.objective_, plain.objective_, rtol=1e-7)


@pytest.mark.parametrize("likelihood", [Probit, Logit])
def test_the_prior_mean_has_the_frequencies_of_the_classes(likelihood):
    """With what is added the second class is expected as often as it came."""
    rng = np.random.default_rng(0)
    known, weight = rng.normal(2.0, 3.0, 50), rng.uniform(0.5, 2.0, 50)
    before = likelihood(-0.4)
    share = before.probabilities(np.zeros((1, 1)), np.zeros((1, 1)))[0, 1]
    p = before.beside(known, weight).probabilities(known[:, None], np.zeros((50, 1)))[:, 1]
    assert_allclose(np.average(p, weights=weight), share, rtol=1e-9)
    alike = before.beside(np.full(4, 2.5), None)
    assert_allclose(alike.offset, -2.9)


@EVERYWHERE
def test_what_is_certain_already_says_nothing(where):
    """Rows whose label what is added makes certain leave the function as it is."""
    X, y, _ = labels(150)
    options = {"kernel": KERNEL, "inducing": X[::15, 1:], "optimizer": None}
    model = model_of(where, likelihood=Probit(0.0), **options)
    few = clone(model).fit(X[:100], y[:100])
    certain = X.copy()
    certain[100:, 0] = 12.0
    all_rows = clone(model).fit(certain, np.append(y[:100], np.ones(50, dtype=bool)))
    tolerance = 1e-5 if where == "variational" else 0.02  # other near rows, other batches
    assert_allclose(all_rows.predict_proba(X[100:]), few.predict_proba(X[100:]), atol=tolerance)


@pytest.mark.parametrize("where", ["variational", "near rows"])
def test_weights_are_repetitions_and_rows_differ_by_what_is_added(where):
    """Equal inputs and labels with other numbers added are two rows; a weight is a repetition."""
    X, y, _ = labels(60)
    X, y = np.vstack([X, X + [1.5, 0.0]]), np.append(y, y)
    weight = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(120), weight.astype(int))
    model = model_of(where, kernel=KERNEL, inducing=X[:60:6, 1:], optimizer=None)
    one, two = clone(model).fit(X, y, weight), clone(model).fit(X[repeated], y[repeated])
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-4)
    assert_allclose(one.objective_, two.objective_, rtol=1e-5)


@EVERYWHERE
def test_later_batches_have_it_too(where):
    """Batches of partial_fit end near all rows."""
    X, y, _ = labels(200)
    model = model_of(where, kernel=KERNEL, inducing=X[::20, 1:], optimizer=None)
    model.set_params(likelihood=Probit(0.0))
    whole = clone(model).fit(X, y)
    for part in np.array_split(np.arange(200), 4):
        model.partial_fit(X[part], y[part])
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=0.06)
    with pytest.raises(ValueError, match="offset_column"):
        model.set_params(offset_column=1).partial_fit(X, y)


def test_it_goes_through_pipelines_by_name():
    """A name finds the column in a dataframe; larger numbers make labels likelier."""
    X, y, _ = labels(150)
    table = pd.DataFrame({"x": X[:, 1], "score": X[:, 0]})
    model = SVGPClassifier(n_inducing=8, max_iter=5, offset_column="score", random_state=0)
    pipeline = make_pipeline("passthrough", model).fit(table, np.where(y, "yes", "no"))
    more = table.assign(score=table["score"] + 1.0)
    assert (pipeline.predict_proba(more)[:, 1] > pipeline.predict_proba(table)[:, 1]).all()
    assert pipeline[-1].feature_importances_[1] == 0.0


@pytest.mark.parametrize(
    ("estimator", "n_classes"),
    [
        (AnytimeSGPClassifier(offset_column=0), 2),
        (SVGPClassifier(offset_column=0, likelihood="softmax"), 2),
        (SVGPClassifier(offset_column=0), 3),
        (StreamingSGPClassifier(offset_column=0), 3),
    ],
)
def test_several_functions_refuse_it(estimator, n_classes):
    """A number cannot be added to the functions of all classes: an error names the cure."""
    X, _, _ = labels(60)
    with pytest.raises(ValueError, match="'probit' or 'logit'"):
        estimator.fit(X, np.arange(60) % n_classes)
    assert not hasattr(estimator, "classes_")


def test_what_is_no_number_is_refused():
    """Missing numbers are named."""
    X, y, _ = labels(60)
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="finite numbers"):
        model_of("variational").fit(X, y)


def test_what_the_column_explains_is_explained(recwarn):
    """A function that has nothing to add to a good model is no fit that explains nothing."""
    X, y, f = labels()
    X = np.column_stack([3.0 * f, X[:, 1]])
    y = np.random.default_rng(1).uniform(size=len(y)) < ndtr(3.0 * f)
    model_of("variational").fit(X, y)
    assert not [one for one in recwarn if "explains" in str(one.message)]
