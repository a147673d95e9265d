"""Ctrl-C amid a fit whose noise differs from row to row."""

import pytest
from failures import interrupt
from varying_noise import data, made

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.engines import one_column
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
    interrupt(monkeypatch, one_column, "is_left_open", 1, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        kind(likelihood=likelihood, max_iter=5, random_state=0).fit(*data(60))
