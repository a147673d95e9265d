"""Tags, parameters and metadata of all estimators, on every supported version of scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

KINDS = {
    AnytimeSGPClassifier: "classifier",
    AnytimeSGPRegressor: "regressor",
    BayesianGPLVM: None,
    StreamingSGPClassifier: "classifier",
    StreamingSGPRegressor: "regressor",
    SVGPClassifier: "classifier",
    SVGPRegressor: "regressor",
}
every_kind = pytest.mark.parametrize("kind", KINDS)
supervised = pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind]])
SMALL = {"n_inducing": 5, "max_iter": 2, "random_state": 0, "n_jobs": 1}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def targets(kind, toy):
    X, y = toy
    return X, (y > 5.0).astype(int) if KINDS[kind] == "classifier" else y


@every_kind
def test_tags(kind):
    """Tags say what an estimator is and takes."""
    tags = get_tags(kind())
    assert tags.estimator_type == KINDS[kind]
    assert tags.target_tags.required == (KINDS[kind] is not None)
    assert tags.target_tags.multi_output == (KINDS[kind] == "regressor")
    assert not tags.input_tags.sparse
    assert tags.input_tags.allow_nan
    if KINDS[kind] is not None:  # a missing category is one of its own
        assert not get_tags(kind(missing="error")).input_tags.allow_nan
        assert get_tags(kind(missing="error", categorical_features=[0])).input_tags.allow_nan
    assert (tags.transformer_tags is not None) == (kind is BayesianGPLVM)


@every_kind
def test_parameters_go_round(kind):
    """What get_params gives makes the same estimator, kernels and their parameters included."""
    model = kind(kernel=RBF(0.7), **SMALL)
    shallow = model.get_params(deep=False)
    assert kind(**shallow).get_params(deep=False) == shallow
    assert model.get_params()["kernel__length_scale"] == 0.7
    copy = clone(model).set_params(kernel__length_scale=2.0)
    assert copy.kernel == RBF(2.0) and model.kernel == RBF(0.7)


@pytest.mark.slow_cases("AnytimeSGPClassifier", "StreamingSGPClassifier")
@supervised
def test_weights_are_routed(kind, toy):
    """A pipeline and a cross-validation hand sample_weight on where it is asked for."""
    X, y = targets(kind, toy)
    weight = np.linspace(0.5, 2.0, len(X))
    alpha = {"alpha_epsilon": 0.01} if kind is AnytimeSGPClassifier else {}
    with config_context(enable_metadata_routing=True):
        asks = kind(**alpha, **SMALL).set_fit_request(sample_weight=True)
        asks.set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, asks)
        pipeline.fit(X, y, sample_weight=weight)
        scaled = pipeline[0].transform(X)
        alone = kind(**alpha, **SMALL).fit(scaled, y, sample_weight=weight)
        assert_array_equal(pipeline.predict(X), alone.predict(scaled))
        scores = cross_validate(asks, X, y, cv=2, params={"sample_weight": weight})
        assert np.isfinite(scores["test_score"]).all()


@pytest.mark.parametrize("kind", [AnytimeSGPClassifier, AnytimeSGPRegressor])
def test_labels_of_blocks_go_through_a_pipeline(kind, toy):
    """A column with labels is passed on by the step that scales the others."""
    X, y = targets(kind, toy)
    X = np.column_stack([X, X[:, 0] > 0.0])
    scaler = make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough")
    model = kind(model="pic", block_column=2, **SMALL)
    pipeline = make_pipeline(scaler, clone(model)).fit(X, y)
    scaled = pipeline[0].transform(X)
    alone = model.fit(scaled, y)
    assert alone.n_blocks_ == 2
    assert_array_equal(pipeline.predict(X), alone.predict(scaled))
    assert pipeline.score(X, y) == alone.score(scaled, y)
