"""What `verbose` prints of a fit and of a long prediction, by every estimator."""

import numpy as np
import pytest

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.estimators import base

PREDICTIONS = {
    AnytimeSGPClassifier: ("predict", "predict_proba", "decision_function", "predict_std"),
    AnytimeSGPRegressor: ("predict", "predict_std", "predict_quantiles", "predict_distribution"),
    BayesianGPLVM: ("transform", "inverse_transform", "impute", "score_samples"),
    StreamingSGPClassifier: ("predict", "predict_proba", "decision_function", "predict_std"),
    StreamingSGPRegressor: ("predict", "predict_std", "predict_quantiles", "predict_distribution"),
    SVGPClassifier: ("predict", "predict_proba", "decision_function", "predict_std"),
    SVGPRegressor: ("predict", "predict_std", "predict_quantiles", "predict_distribution"),
}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(params=PREDICTIONS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def table(kind, rng):
    """Inputs of 60 rows, and targets for this kind of estimator."""
    X = rng.uniform(-2.0, 2.0, (60, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    return X, y > 0.0 if kind.__name__.endswith("Classifier") else y


def test_a_fit_prints_lines_with_its_name_and_the_time_left(kind, table, capsys):
    """Nothing by default; with max_time every line but the last ones says how much is left."""
    model = kind(n_inducing=5, max_iter=2, random_state=0).fit(*table)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1, max_time=1e4).fit(*table)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(f"[{kind.__name__}] ") for line in lines)
    assert "s left): " in lines[0]
    assert "objective" in "".join(lines[-2:])


def test_iterations_are_printed_by_2_only(kind, table, capsys):
    """`verbose=2` adds a line for each iteration, but to streams, which have one for each batch."""
    counts = []
    for verbose in (1, 2):
        kind(n_inducing=5, max_iter=3, random_state=0, verbose=verbose).fit(*table)
        counts.append(capsys.readouterr().out.count(": entry "))
    assert counts[0] == 0
    assert (counts[1] > 0) == (not kind.__name__.startswith("Streaming"))


def test_long_predictions_tell_how_far_they_are(kind, table, capsys, monkeypatch):
    """Whatever is predicted, with the seconds left; short predictions print nothing."""
    X, _ = table
    model = kind(n_inducing=5, max_iter=2, random_state=0, verbose=1).fit(*table)
    for name in PREDICTIONS[kind]:
        capsys.readouterr()
        getattr(model, name)(X)
        assert capsys.readouterr().out == ""
        with monkeypatch.context() as patch:
            patch.setattr(base, "_TOLD_SECONDS", 0.0)
            getattr(model, name)(X)
        last = capsys.readouterr().out.splitlines()[-1]
        assert last.startswith(f"[{kind.__name__}] ")
        assert last.endswith("(0.0 s left): about 60 of 60 rows predicted")
    with monkeypatch.context() as patch:
        patch.setattr(base, "_TOLD_SECONDS", 0.0)
        model.set_params(verbose=0)
        getattr(model, PREDICTIONS[kind][0])(X)
    assert capsys.readouterr().out == ""
