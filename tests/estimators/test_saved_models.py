"""Saved estimators know their version and format, and stored ones can be read."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import saved_models
from numpy.testing import assert_allclose
from sklearn.exceptions import InconsistentVersionWarning

from sklearn_sgp import SVGPRegressor, _saved

EVERY = sorted({type(model) for model, _ in saved_models.MODELS.values()}, key=str)


@pytest.mark.parametrize("kind", EVERY)
def test_pickles_of_another_version(kind, monkeypatch):
    """A pickle from another version warns as scikit-learn does; one of this version does not."""
    saved = pickle.dumps(kind())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vars(pickle.loads(saved)) == vars(kind())
    monkeypatch.setattr(_saved, "__version__", "99.0")
    with pytest.warns(InconsistentVersionWarning, match=f"{kind.__name__} from version .* 99.0"):
        pickle.loads(saved)


@pytest.mark.parametrize("kind", EVERY)
def test_pickles_of_another_format(kind, monkeypatch):
    """A pickle of another format is refused: the message says which version reads it."""
    saved, told = pickle.dumps(kind()), f"Got format {_saved.SAVED_FORMAT}, "
    monkeypatch.setattr(_saved, "SAVED_FORMAT", 99)
    with pytest.raises(ValueError, match=f"{kind.__name__} must have format 99.*{told}"):
        pickle.loads(saved)


def test_pickles_without_a_format():
    """A pickle of before there were formats is refused, too."""
    state = {k: v for k, v in SVGPRegressor().__getstate__().items() if "_sgp_" not in k}
    with pytest.raises(ValueError, match="Got format unknown, written by version unknown"):
        SVGPRegressor().__setstate__(state)


def test_copies_have_no_version():
    """A copy has the attributes of its model, and nothing else."""
    model = SVGPRegressor()
    assert set(vars(copy.deepcopy(model))) == set(vars(copy.copy(model))) == set(vars(model))


@pytest.mark.parametrize("name", saved_models.MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_stored_models(name):
    """A stored model says what it said when it was stored.

    If this fails after a change of what estimators hold, raise ``SAVED_FORMAT`` in
    sklearn_sgp/_version.py and run ``python tests/saved_models.py``.
    """
    stored = np.load(saved_models.FOLDER / "answers.npz")
    assert stored["format"] == _saved.SAVED_FORMAT
    model = pickle.loads((saved_models.FOLDER / f"{name}.pkl").read_bytes())
    assert_allclose(saved_models.answers(model), stored[name], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["svgp", "svgp_classifier", "anytime_pic", "stream"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_stored_models_go_on(name):
    """A stored model takes another batch."""
    model = pickle.loads((saved_models.FOLDER / f"{name}.pkl").read_bytes())
    model.partial_fit(saved_models.X + 0.1, saved_models.MODELS[name][1])
    assert model.n_samples_seen_ == 24 and np.isfinite(saved_models.answers(model)).all()
