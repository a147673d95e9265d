"""Learning of kernel, noise and inducing inputs with models in blocks."""

import numpy as np
import pytest
from block_helpers import LABELS, MODELS, X_TEST, column_of, with_labels
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import AnytimeSGPRegressor

try:
    from sklearn.callback import ScoringMonitor
except ImportError:
    ScoringMonitor = None


@pytest.fixture
def local(rng):
    """300 rows of a smooth function with a fast wave on it: X (300, 1) and y (300,)."""
    X = rng.uniform(0.0, 10.0, (300, 1))
    wave = 0.7 * np.sin(15.0 * X[:, 0])
    return X, np.sin(0.6 * X[:, 0]) + wave + 0.1 * rng.standard_normal(300)


@MODELS
def test_learning_raises_the_objective(wave, model):
    """Learning ends above the objective of the starting values, and its trace is complete."""
    X, y = wave[0][:150], wave[1][:150]
    start = AnytimeSGPRegressor(model=model, optimizer=None, n_inducing=8, n_blocks=4)
    start.set_params(random_state=0, max_iter=10).fit(X, y)
    ours = clone(start).set_params(optimizer="auto").fit(X, y)
    assert ours.objective_ > start.objective_ + 10.0
    assert ours.objectives_[-1] == ours.objective_
    assert len(ours.objectives_) == len(ours.fit_times_)
    assert (np.diff(ours.fit_times_) > 0).all()
    assert ours.score(X, y) > 0.9


def test_pic_beats_fitc_where_structure_is_local(local):
    """A wave that four inducing inputs cannot follow is seen by the data of a block."""
    X, y = local
    new = np.linspace(0.2, 9.8, 200)[:, None]
    truth = np.sin(0.6 * new[:, 0]) + 0.7 * np.sin(15.0 * new[:, 0])
    kernel, errors = ConstantKernel() * RBF(5.0) + ConstantKernel() * RBF(0.3), {}
    for model in ("fitc", "pic"):
        ours = AnytimeSGPRegressor(kernel, model=model, n_inducing=4, block_size=75, random_state=0)
        errors[model] = np.sqrt(np.mean((ours.fit(X, y).predict(new) - truth) ** 2))
    assert errors["pic"] < 0.3 * errors["fitc"]


def test_same_seed_same_model(toy):
    """The same random_state gives the same bits, through learning as well."""
    model = AnytimeSGPRegressor(n_inducing=5, n_blocks=3, max_iter=2, random_state=3)
    one, other = clone(model).fit(*toy), clone(model).fit(*toy)
    assert_array_equal(one.predict(X_TEST), other.predict(X_TEST))
    assert one.objective_ == other.objective_


def test_too_little_time_for_blocks_is_said_and_spent_on_rows(wave):
    """Where there is no time for whole blocks the fit says so, and learns from rows."""
    X, y = wave
    model = AnytimeSGPRegressor(
        model="pitc", n_inducing=10, block_size=100, max_time=1e-3, solver="exact"
    )
    with pytest.warns(ConvergenceWarning, match="whole blocks"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.score(X, y) > 0.95


@pytest.mark.skipif(ScoringMonitor is None, reason="scikit-learn before 1.9 has no callbacks")
@pytest.mark.parametrize("model", ["pic", "fitc"])
@pytest.mark.parametrize("labels", [None, LABELS], ids=["partition", "labels"])
def test_callbacks_can_score_in_the_middle(toy, model, labels):
    """ScoringMonitor sees an estimator that predicts at every iteration."""
    ours = AnytimeSGPRegressor(model=model, n_inducing=5, n_blocks=3, max_iter=3, random_state=0)
    ours.set_params(block_column=column_of(labels))
    monitor = ScoringMonitor(scoring={"r2": "r2"})
    ours.set_callbacks(monitor).fit(*with_labels(toy, labels))
    steps = [row for row in monitor.get_logs().data if row["task_name"] == "step"]
    assert len(steps) == len(ours.objectives_)
    assert np.isfinite([row["r2"] for row in steps]).all()
