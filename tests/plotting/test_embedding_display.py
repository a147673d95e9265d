"""EmbeddingDisplay draws the numbers of a fitted model of latent inputs."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from sklearn_sgp import BayesianGPLVM  # noqa: E402
from sklearn_sgp.plotting import EmbeddingDisplay  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    t = rng.uniform(-2, 2, 60)
    Y = np.column_stack([np.sin(t), np.cos(t), t]) + 0.05 * rng.normal(size=(60, 3))
    return Y, t > 0, BayesianGPLVM(3, n_inducing=10, max_iter=20, random_state=0).fit(Y)


def test_the_most_relevant_dimensions_are_drawn(fitted):
    """Points are the embedding in the two most relevant dimensions, by class."""
    _, labels, model = fitted
    display = EmbeddingDisplay.from_estimator(model, labels=labels)
    first, second = np.argsort(-model.relevance_)[:2]
    for line, label in zip(display.points_, (False, True), strict=True):
        assert_array_equal(line.get_xdata(), model.embedding_[labels == label, first])
        assert_array_equal(line.get_ydata(), model.embedding_[labels == label, second])
        assert line.get_label() == str(label)
    assert display.ax_.get_xlabel() == f"latent {first}"
    assert len(display.bars_) == 2


def test_the_map_is_the_mean_standard_deviation(fitted):
    """The grey is the mean of the columns' standard deviations with other dimensions at 0."""
    _, _, model = fitted
    display = EmbeddingDisplay.from_estimator(model, dimensions=(2, 0), resolution=7)
    X = np.zeros((1, 3))
    X[0, 2], X[0, 0] = display.grid[0][3], display.grid[1][5]
    std = model.inverse_transform(X, return_std=True)[1] / model.scale_
    assert display.spread[3, 5] == pytest.approx(std.mean())
    assert display.image_.get_array().size == 49


def test_new_rows_through_a_pipeline(fitted):
    """New rows go through the steps before the model."""
    Y, _, _ = fitted
    pipeline = make_pipeline(
        StandardScaler(), BayesianGPLVM(2, n_inducing=8, max_iter=5, random_state=0)
    ).fit(Y)
    display = EmbeddingDisplay.from_estimator(pipeline, Y[:5], show_std=False, resolution=0)
    order = np.argsort(-pipeline[-1].relevance_, kind="stable")
    assert_array_equal(display.embedding, pipeline.transform(Y[:5])[:, order])
    assert display.bars_ == [] and display.image_ is None


def test_what_cannot_be_drawn_is_said(fitted):
    """Errors name what is wrong."""
    Y, _, model = fitted
    for dimensions in ((0, 3), (1, 1), (0.0, 1.0), (True, False), 1):
        with pytest.raises(ValueError, match="two different numbers from 0 to 2"):
            EmbeddingDisplay.from_estimator(model, dimensions=dimensions)
    for resolution in (-1, 1, 2.5, None):
        with pytest.raises(ValueError, match="'resolution' parameter must be an int"):
            EmbeddingDisplay.from_estimator(model, resolution=resolution)
    for labels in ([1, 2], np.zeros((60, 2)), 5):
        with pytest.raises(ValueError, match="one label for each of the 60 rows"):
            EmbeddingDisplay.from_estimator(model, labels=labels)
    one = BayesianGPLVM(1, n_inducing=5, max_iter=2).fit(Y)
    with pytest.raises(ValueError, match="two latent dimensions"):
        EmbeddingDisplay.from_estimator(one)
    with pytest.raises(TypeError, match="embedding_"):
        EmbeddingDisplay.from_estimator(LinearRegression().fit(Y, Y[:, 0]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"embedding": [1.0, 2.0, 3.0]},
        {"embedding": np.zeros((3, 3))},
        {"embedding": "abc"},
        {"embedding": None},
        {"std": np.ones((2, 2))},
        {"std": -np.ones((3, 2))},
        {"labels": [1, 2]},
        {"spread": np.ones((2, 3)), "grid": (np.arange(2), np.arange(2))},
        {"grid": None, "spread": np.ones((2, 2))},
        {"dimension_names": ["a"]},
    ],
)
def test_arrays_that_do_not_fit_are_named(wrong):
    """Drawing arrays that do not belong together is an error with the name of the first."""
    display = EmbeddingDisplay(**{"embedding": np.zeros((3, 2)), **wrong})
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter"):
        display.plot()


def test_labels_of_several_types_are_classes():
    """None beside names is one more class."""
    display = EmbeddingDisplay(np.zeros((3, 2)), labels=[None, "a", "b"]).plot()
    assert {line.get_label() for line in display.points_} == {"None", "a", "b"}
