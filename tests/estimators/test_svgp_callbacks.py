"""scikit-learn's callbacks see how SVGPRegressor learns, and can stop it."""

import pickle

import numpy as np
import pytest
from callback_helpers import Callback
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from svgp_regressors import WAYS, assert_same_model

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.metrics import log_density_scorer

try:
    from sklearn.callback import ProgressBar, ScoringMonitor
except ImportError:
    ProgressBar = ScoringMonitor = None


needs_callbacks = pytest.mark.skipif(
    ProgressBar is None, reason="scikit-learn has callbacks from 1.9 on"
)


def stop_after(n_steps):
    """A callback that asks to stop after so many steps."""

    class Stop(Callback):
        def __init__(self):
            self.steps = 0

        def on_fit_task_end(self, estimator, context):
            self.steps += context.parent is not None
            return self.steps >= n_steps

    return Stop()


@needs_callbacks
@pytest.mark.parametrize("way", ["auto, few rows", "auto, growing subsets", "lbfgs", "adam"])
def test_a_callback_can_stop_the_fit(wave, way):
    """A callback that returns True ends the fit cleanly, with the exact posterior."""
    model = SVGPRegressor(n_inducing=10, random_state=0).set_params(**WAYS[way])
    model.set_callbacks(stop_after(2)).fit(*wave)
    assert model.n_iter_ == 3  # two steps, and the final pass
    frozen = SVGPRegressor(
        model.kernel_,
        optimizer=None,
        inducing=model.inducing_points_,
        noise_variance=model.noise_variance_,
    )
    assert_same_model(frozen.fit(*wave), model, wave[0], rtol=1e-6)


@pytest.mark.quick_cases("auto, growing subsets-0.2-True", "lbfgs-1e-06-False")
@needs_callbacks
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("way", "tolerance"),
    [("auto, few rows", 1e-6), ("lbfgs", 1e-6), ("auto, growing subsets", 0.2)],
)
def test_scoring_monitor(wave, way, tolerance, weighted):
    """ScoringMonitor scores every step by our scorers and by scikit-learn's, and learning shows.

    Amid a fit the posterior rests on ``init_size`` rows only, hence the last tolerance.
    """
    X, y = wave
    monitor = ScoringMonitor(scoring={"log_p": log_density_scorer, "r2": "r2"})
    model = SVGPRegressor(n_inducing=10, random_state=0).set_params(**WAYS[way])
    weight = np.full(len(X), 2.0) if weighted else None
    model.set_callbacks(monitor).fit(X, y, sample_weight=weight)
    log = monitor.get_logs().data
    steps = [row for row in log if row["task_name"] == "step"]
    assert len(steps) == len(model.objectives_)
    assert steps[-1]["log_p"] > steps[0]["log_p"]
    assert_allclose(steps[-1]["log_p"], model.log_density(X, y).mean(), rtol=tolerance)
    assert_allclose(steps[-1]["r2"], model.score(X, y), rtol=tolerance)


@needs_callbacks
def test_callbacks_change_nothing(wave):
    """A fit that is watched learns what it learns unwatched, and the model still pickles."""
    model = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0)
    plain = clone(model).fit(*wave)
    watched = clone(model).set_callbacks(ScoringMonitor(scoring={"r2": "r2"})).fit(*wave)
    assert_array_equal(watched.predict(wave[0]), plain.predict(wave[0]))
    assert watched.objective_ == plain.objective_
    assert_array_equal(pickle.loads(pickle.dumps(watched)).predict(wave[0]), plain.predict(wave[0]))


@needs_callbacks
def test_progress_bar(wave, capsys):
    """ProgressBar shows the fit, alone and inside a pipeline in a search."""
    pytest.importorskip("rich")
    model = SVGPRegressor(n_inducing=5, max_iter=2).set_callbacks(ProgressBar())
    model.fit(*wave)
    assert "SVGPRegressor" in capsys.readouterr().out
    pipeline = make_pipeline(StandardScaler(), SVGPRegressor(n_inducing=5, max_iter=2))
    search = GridSearchCV(pipeline, {"svgpregressor__n_inducing": [4, 5]}, cv=2)
    search.set_callbacks(ProgressBar(max_propagation_depth=3)).fit(*wave)
    assert "SVGPRegressor" in capsys.readouterr().out
