"""Saved estimators know their version, and diagrams link to no page that is not there."""

import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import InconsistentVersionWarning
from svgp_regressors import quick

import sklearn_sgp
from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.estimators import base

EVERY = [
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
]


@pytest.mark.parametrize("kind", EVERY)
def test_pickles_of_another_version(kind, monkeypatch):
    """A pickle from another version warns as scikit-learn does; one of this version does not."""
    saved = pickle.dumps(kind())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "_sklearn_sgp_version" not in vars(pickle.loads(saved))
    monkeypatch.setattr(base, "__version__", "99.0")
    with pytest.warns(InconsistentVersionWarning, match=f"{kind.__name__} from version .* 99.0"):
        pickle.loads(saved)


def test_pickles_without_a_version():
    """A pickle of before there were versions warns, too."""
    state = {k: v for k, v in SVGPRegressor().__getstate__().items() if "version" not in k}
    with pytest.warns(InconsistentVersionWarning, match="from version unknown"):
        SVGPRegressor().__setstate__(state)


def test_a_loaded_model_goes_on(toy):
    """A fitted model predicts the same after loading, and takes more batches."""
    X, y = toy
    model = quick().fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert_array_equal(loaded.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


@pytest.mark.parametrize("kind", EVERY)
def test_diagrams_have_no_dead_links(kind):
    """The HTML diagram links to no page of scikit-learn's for our estimators."""
    assert kind()._get_doc_link() == ""
    assert "modules/generated/sklearn_sgp" not in kind()._repr_html_()


def test_source_folder_without_its_compiled_part(tmp_path):
    """Importing from a source folder that is not built says so, and what to do."""
    package = Path(sklearn_sgp.__file__).parent
    for path in package.rglob("*.py"):
        copy = tmp_path / "sklearn_sgp" / path.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", "import sklearn_sgp"], cwd=tmp_path, capture_output=True, text=True
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError") and "not built" in last and "pip install -e ." in last
    assert str(tmp_path / "sklearn_sgp") in last
