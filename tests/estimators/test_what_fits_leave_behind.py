"""A fitted model owns what it keeps, and a fit leaves nothing else behind."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_sgp import AnytimeSGPRegressor, SVGPClassifier, SVGPRegressor
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.likelihoods import StudentT


def quick(estimator=SVGPRegressor, **options):
    return estimator(n_inducing=6, max_iter=3, random_state=0, n_jobs=1, **options)


@pytest.mark.quick_cases("SVGPRegressor-adam")
@pytest.mark.parametrize("optimizer", ["auto", "lbfgs", "adam"])
@pytest.mark.parametrize("estimator", [SVGPRegressor, SVGPClassifier])
def test_no_rows_outlive_a_fit(toy, monkeypatch, estimator, optimizer):
    """The training rows are freed with the end of the fit, without the cyclic collector."""
    X, y = toy
    y = y > np.median(y) if estimator is SVGPClassifier else y
    made, new = [], Rows.__init__

    def noted(self, *args, **kwargs):
        new(self, *args, **kwargs)
        made.append(weakref.ref(self))

    monkeypatch.setattr(Rows, "__init__", noted)
    gc.collect()
    gc.disable()
    try:
        quick(estimator, optimizer=optimizer).fit(X, y)
        alive = [each for each in made if each() is not None]
    finally:
        gc.enable()
    assert made
    assert not alive


def test_labels_of_blocks_are_not_kept(wave):
    """A model with a label for each row is about as large as one with the same blocks by number."""
    X, y = wave
    labels = np.array([f"a rather long name of block {k}" for k in range(6)])[np.arange(600) // 100]
    plain = quick(AnytimeSGPRegressor, optimizer=None)
    named = clone(plain).set_params(block_column=0)
    named.fit(np.column_stack([labels.astype(object), X]), y), plain.fit(X, y)
    assert len(pickle.dumps(named)) < 1.2 * len(pickle.dumps(plain))


def test_a_likelihood_given_as_instance_is_copied(toy):
    """Parameters of the likelihood that are set after a fit do not change the fitted model."""
    X, y = toy
    model = quick(likelihood=StudentT(df=3.0)).fit(X, y)
    before = model.predict_std(X)
    model.set_params(likelihood__df=2.01)
    np.testing.assert_array_equal(model.predict_std(X), before)
    assert model.likelihood_.df == 3.0


def test_a_learned_likelihood_is_what_it_says(toy):
    """A likelihood with learned degrees of freedom holds them, as its clone does."""
    X, y = toy
    learned = quick(likelihood=StudentT(df=None)).fit(X, y).likelihood_
    assert not len(learned.theta)
    other = quick(likelihood=learned).fit(X, y)
    assert other.likelihood_.df == learned.df == clone(learned).df
