"""A loaded model goes on, and neither diagrams nor a source folder mislead."""

import pickle
import subprocess
import sys
from email.message import Message
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils import get_tags
from svgp_regressors import quick

import sklearn_sgp
from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
    _reference_link,
)

EVERY = [
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
]


def test_a_loaded_model_goes_on(toy):
    """A fitted model predicts the same after loading, and takes more batches."""
    X, y = toy
    model = quick().fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert_array_equal(loaded.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


def test_pickles_are_as_large_as_the_pages_say():
    """Two matrices of the inducing inputs, one more for each further output, whatever the rows."""
    rng = np.random.default_rng(0)
    sizes = []
    for n_rows, n_outputs in ((300, 1), (3000, 1), (300, 2)):
        X = rng.standard_normal((n_rows, 8))
        y = rng.standard_normal((n_rows, n_outputs))
        model = SVGPRegressor(optimizer=None, random_state=0).fit(X, y)
        assert len(model.inducing_points_) == 256
        sizes.append(len(pickle.dumps(model)) / 1e6)
    matrix = 8 * 256**2 / 1e6
    assert sizes[0] == pytest.approx(1.1, abs=0.05)
    assert sizes[1] == pytest.approx(sizes[0], abs=0.01)
    assert sizes[2] - sizes[0] == pytest.approx(matrix, abs=0.05)


@pytest.mark.parametrize("kind", EVERY)
def test_diagrams_have_no_dead_links(kind, monkeypatch):
    """Without an address of the site the HTML diagram of our estimators has no link."""
    monkeypatch.setattr(_reference_link, "metadata", lambda name: Message())
    assert kind()._get_doc_link() == ""
    assert "modules/generated/sklearn_sgp" not in kind()._repr_html_()


@pytest.mark.parametrize("kind", EVERY)
def test_diagrams_of_fitted_estimators(kind, toy):
    """A fitted estimator has a diagram as well, without dead links."""
    X, y = toy
    model = kind(max_iter=1, n_inducing=3, n_jobs=1, random_state=0)
    y = y > 5.0 if hasattr(model, "predict_proba") else y
    diagram = model.fit(X, y)._repr_html_()
    assert kind.__name__ in diagram and "modules/generated/sklearn_sgp" not in diagram


@pytest.mark.parametrize("wrong", ["oops", -1.5, None, ()])
@pytest.mark.parametrize("kind", EVERY)
def test_wrong_parameters_are_seen_and_described(kind, wrong):
    """A parameter that cannot be is for ``fit`` to refuse: names, diagrams and tags go before."""
    names, expected = kind().get_params(deep=False), get_tags(kind()).estimator_type
    for name in names:
        model = kind().set_params(**{name: wrong})
        assert "fit" in dir(model) and repr(model)
        assert get_tags(model).estimator_type == expected
        if wrong == "oops":  # a diagram takes 20 times as long as the rest
            assert kind.__name__ in model._repr_html_()
    assert kind.__name__ in kind().set_params(**dict.fromkeys(names, wrong))._repr_html_()


@pytest.mark.parametrize("kind", EVERY)
def test_diagrams_link_to_the_reference(kind, monkeypatch):
    """With one in the metadata they link to the estimator's page, which the site has."""
    links = Message()
    links["Project-URL"] = "Changelog, https://example.org/changelog"
    links["Project-URL"] = "Documentation, https://example.org/docs/"
    monkeypatch.setattr(_reference_link, "metadata", lambda name: links)
    page = f"reference/generated/sklearn_sgp.{kind.__name__}.html"
    assert kind()._get_doc_link() == f"https://example.org/docs/{page}"
    assert f'href="https://example.org/docs/{page}"' in kind()._repr_html_()


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
