"""Ctrl-C amid a fit whose noise differs from row to row."""

import numpy as np
import pytest
from failures import interrupt
from varying_noise import data, made

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.engines.base import Problem
from sklearn_sgp.engines.blocks.engine import BlockModels
from sklearn_sgp.noise import heteroscedastic

EVERY = pytest.mark.parametrize("model", [None, "vif"])


def interrupted(*_):
    raise KeyboardInterrupt


@EVERY
@pytest.mark.parametrize("name", ["_chosen", "_given", "_updated"])
def test_the_function_that_was_learned_stays(model, name, monkeypatch):
    """It was lost with the noise that was looked for."""
    X, y = data(120)
    ours = made(model, max_iter=5, likelihood="heteroscedastic")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(heteroscedastic, name, interrupted)
        ours.fit(X, y)
    assert ours.score(X, y) > 0.8
    assert ours.partial_fit(X, y).n_samples_seen_ == 240


@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor])
@pytest.mark.parametrize("likelihood", ["heteroscedastic", "student_t"])
def test_ctrl_c_is_not_overheard(kind, likelihood, monkeypatch):
    """Amid the search for another start it ended that, and learning of noise went on to its end."""
    interrupt(monkeypatch, Problem, "is_left_open", 1, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        kind(likelihood=likelihood, max_iter=5, random_state=0).fit(*data(60))


def test_the_plain_function_stays_where_that_of_warped_targets_was_not_learned(rng, monkeypatch):
    """It had been learned first, and was lost."""
    X = rng.uniform(-3.0, 3.0, (200, 1))
    f = 1.5 * np.sin(2.0 * X[:, 0])
    y = np.exp(f + 0.1 * rng.standard_normal(200))
    model = AnytimeSGPRegressor(likelihood="auto", max_iter=20, random_state=0)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt(patch, BlockModels, "fit", 2, KeyboardInterrupt)
        model.fit(X, y)
    assert np.corrcoef(model.predict(X), np.exp(f))[0, 1] > 0.98
    assert model.partial_fit(X, y).n_samples_seen_ == 400
