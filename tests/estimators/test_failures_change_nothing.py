"""What fails leaves the estimator as it was, and nothing changes the data it was given."""

import numpy as np
import pytest
from failures import assert_unchanged, interrupt, state_of
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from svgp_regressors import assert_finite, quick, with_entry

from sklearn_sgp.data import inducing
from sklearn_sgp.engines import fitted
from sklearn_sgp.engines import start as starting_values
from sklearn_sgp.engines.variational import inference
from sklearn_sgp.factors import row_sums
from sklearn_sgp.objectives import collapsed

# Module in which a function is looked up, its name, the call that fails, and parameters.
STAGES = {
    "first L-BFGS stage": (inference, "collapsed_bound", 3, {}),
    "L-BFGS on all rows": (inference, "collapsed_bound", 3, {"init_size": 20, "max_iter": 1}),
    "growing subsets": (inference, "collapsed_bound", 3, {"init_size": 4}),
    "adam": (inference, "minibatch_bound", 3, {"optimizer": "adam", "batch_size": 16}),
    "sums over rows": (collapsed, "row_sums", 3, {}),
    "way back": (collapsed, "row_sums_gradient", 3, {}),
    "store": (fitted, "join_noise", 1, {}),
    "inducing inputs": (starting_values, "choose_inducing", 1, {}),
}


@pytest.mark.quick_cases(
    "fit-*-KeyboardInterrupt", "partial_fit-*-ValueError", "*-store-MemoryError"
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_first_fit_that_fails_leaves_nothing(toy, monkeypatch, error, stage, method):
    """Ctrl-C or an error anywhere in the first fit leaves the estimator unfitted."""
    owner, name, count, parameters = STAGES[stage]
    model = quick(**parameters)
    before = state_of(model)
    with monkeypatch.context() as patch:
        interrupt(patch, owner, name, count, error)
        with pytest.raises(error):
            getattr(model, method)(*toy)
    assert_unchanged(model, before)
    assert_finite(getattr(model, method)(*toy), toy[0])


@pytest.mark.parametrize("error", [KeyboardInterrupt, np.linalg.LinAlgError])
@pytest.mark.parametrize("stage", STAGES)
def test_later_fit_that_fails_leaves_the_model(toy, monkeypatch, error, stage):
    """Ctrl-C or an error anywhere in a later fit leaves the model of the fit before."""
    owner, name, _, parameters = STAGES[stage]
    X, y = toy
    # a warm start chooses no inducing inputs
    model = quick(warm_start=stage != "inducing inputs", **parameters).fit(X, y)
    before, mean = state_of(model), model.predict(X)
    with monkeypatch.context() as patch:
        interrupt(patch, owner, name, 1, error)
        with pytest.raises(error):
            model.fit(X[:50], 2.0 * y[:50])
    assert_unchanged(model, before, X, mean)


def test_interrupt_in_a_worker_leaves_the_model(rng, monkeypatch):
    """Ctrl-C that reaches one of several workers leaves the model of the fit before."""
    X = rng.uniform(-2.0, 2.0, (2500, 1))
    model = quick(n_jobs=2).fit(X, np.sin(X[:, 0]))
    before, mean = state_of(model), model.predict(X)
    with monkeypatch.context() as patch:
        interrupt(patch, row_sums, "_sum_group", 2, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, X[:, 0])
    assert_unchanged(model, before, X, mean)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize(
    ("owner", "name", "count"),
    [
        (inference, "row_sums", 3),
        (inference, "minibatch_bound", 3),
        (inference, "collapsed_value", 1),
        (inducing, "choose_inducing", 1),
        (fitted, "join_noise", 1),
    ],
)
def test_partial_fit_that_fails_leaves_the_model(toy, monkeypatch, error, owner, name, count):
    """Ctrl-C or an error in a later batch leaves what the batches before gave."""
    X, y = toy
    optimizer = None if name == "collapsed_value" else "auto"
    model = quick(optimizer=optimizer, batch_size=10, n_inducing=20).partial_fit(X[:12], y[:12])
    before, mean = state_of(model), model.predict(X)
    with monkeypatch.context() as patch:
        interrupt(patch, owner, name, count, error)
        with pytest.raises(error):
            model.partial_fit(X, y)
    assert_unchanged(model, before, X, mean)
    undisturbed = quick(optimizer=optimizer, batch_size=10, n_inducing=20)
    undisturbed.partial_fit(X[:12], y[:12]).partial_fit(X, y)
    assert_array_equal(model.partial_fit(X, y).predict(X), undisturbed.predict(X))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda X, y, w: (with_entry(X, np.inf), y, w),
        lambda X, y, w: (X, with_entry(y, np.inf), w),
        lambda X, y, w: (X[:, :1], y[:-1], w),
        lambda X, y, w: (X, y, -w),
        lambda X, y, w: (X, y, 0.0 * w),
    ],
)
def test_refused_data_leave_the_model(toy, method, spoil):
    """Data that are refused leave a fitted model, and an unfitted one, as they were."""
    X, y = toy
    fitted, fresh = quick().fit(X, y), quick()
    for model in (fitted, fresh):
        before = state_of(model)
        with pytest.raises(ValueError):
            getattr(model, method)(*spoil(X, y, np.ones(60)))
        assert_unchanged(model, before)


def test_refused_parameters_leave_the_model(toy):
    """A parameter that is refused leaves the fitted model as it was."""
    X, y = toy
    model = quick().fit(X, y)
    mean = model.predict(X)
    for bad in ({"n_inducing": 0}, {"kernel": RBF(-1.0)}, {"inducing": np.zeros((3, 5))}):
        changed = quick().fit(X, y).set_params(**bad)
        before = state_of(changed)
        with pytest.raises(ValueError):
            changed.fit(X, y)
        assert_unchanged(changed, before, X, mean)


def test_given_data_are_not_changed(toy):
    """fit and partial_fit write into none of their arguments."""
    X, y, weight = (*toy, np.linspace(0.0, 2.0, 60))
    copies = X.copy(), y.copy(), weight.copy()
    model = quick().fit(X, y, weight).partial_fit(X, y, weight)
    model.predict(X, return_std=True)
    for array, copy in zip((X, y, weight), copies, strict=True):
        assert_array_equal(array, copy)
