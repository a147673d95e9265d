"""Numbers as categories that are coded where rows are read: in every estimator, at any length."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import DotProduct
from slow_variants import slow, slow_but

from sklearn_sgp import (
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.data.categories.coded_rows import CodedRows
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.kernels import Categorical, Columns

OPTIONS = {"n_inducing": 8, "max_iter": 2, "random_state": 0}
CODED = {**OPTIONS, "categorical_features": [1]}


def table(n, seed=0, n_categories=4):
    """Rows of a number and a category -7, 3, 13, ..., and targets."""
    rng = np.random.default_rng(seed)
    x, code = rng.uniform(0.0, 5.0, n), rng.integers(0, n_categories, n)
    return np.column_stack([x, 10.0 * code - 7.0]), np.sin(x) + 0.5 * code


def codes(X):
    return np.column_stack([X[:, 0], (X[:, 1] + 7.0) / 10.0])


@pytest.mark.filterwarnings("ignore:max_iter")
def test_streams_of_mixed_outputs():
    """A stream of mixed outputs learns from categories as from their codes, new ones too."""
    X, y = table(300)
    Y = np.column_stack([y, -y])
    Y[::3, 1] = np.nan
    later, more = table(60, seed=1, n_categories=6)
    found = []
    for coded in (lambda X: X, codes):
        model = StreamingSGPRegressor(n_latent=1, init_size=200, batch_size=100, **CODED)
        model.fit(coded(X), Y).partial_fit(coded(later), np.column_stack([more, -more]))
        found.append(model.predict(coded(later), return_std=True))
    assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:max_iter")
@pytest.mark.parametrize("estimator", [StreamingSGPRegressor, slow(StreamingSGPClassifier)])
def test_long_batches_of_streams(estimator):
    """A first batch of more than 2,048 rows, which are not merged."""
    X, y = table(2100)
    y = y > 1.0 if estimator is StreamingSGPClassifier else y
    found = []
    for coded in (lambda X: X, codes):
        model = estimator(**CODED).partial_fit(coded(X), y).partial_fit(coded(X[:50]), y[:50])
        found.append(model.predict_std(coded(X[:50])))
    assert_allclose(found[0], found[1], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:max_iter")
@pytest.mark.parametrize("n", [200, 2100])
def test_large_integers(n):
    """Integers that are equal as floating point numbers are categories of their own."""
    X, y = table(n)
    code = codes(X)[:, 1].astype(np.int64)
    x = np.rint(10.0 * X[:, 0]).astype(np.int64)
    keys = np.column_stack([x, 2**60 + code])
    model = SVGPRegressor(**CODED, optimizer=None).fit(keys, y)
    plain = SVGPRegressor(**CODED, optimizer=None).fit(np.column_stack([x, code]), y)
    assert_array_equal(model.categories_[0], 2**60 + np.arange(4))
    assert_allclose(model.predict(keys), plain.predict(np.column_stack([x, code])))


WORDS = np.array(["red", "green", "blue", "tan"], dtype=object)
REGRESSORS = {
    "svgp": (SVGPRegressor, {}),
    "pic": (AnytimeSGPRegressor, {"model": "pic", "solver": "exact", "block_size": 60}),
    "stream": (StreamingSGPRegressor, {"init_size": 60, "batch_size": 60}),
}
CLASSIFIERS = {
    "classes": (SVGPClassifier, {}),
    "stream of classes": (StreamingSGPClassifier, REGRESSORS["stream"][1]),
}


def words(X):
    return np.column_stack([X[:, 0].astype(object), WORDS[codes(X)[:, 1].astype(int)]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:max_iter")
@pytest.mark.parametrize("name", slow_but(["svgp"], REGRESSORS))
def test_later_batches_with_noise_of_their_own(name):
    """Rows of a later batch are coded once, also where their noise is found from predictions."""
    estimator, options = REGRESSORS[name]
    (X, y), (later, more), found = table(90), table(30, seed=1), []
    for coded in (codes, lambda X: X, words):
        model = estimator(likelihood="heteroscedastic", **CODED, **options).fit(coded(X), y)
        model.partial_fit(coded(later), more)
        found.append(model.predict(coded(X), return_std=True))
    # the noise's kernel is learned in a few iterations: 1e-15 of x alone moves predictions by 5e-7
    assert_allclose(found[1], found[0], rtol=1e-6, atol=5e-6)
    assert np.isfinite(found[2]).all()


@pytest.mark.filterwarnings("ignore:max_iter")
def test_noise_in_units_of_warped_targets():
    """The deviation of the noise where it depends on the function's mean, as from codes."""
    X, y = table(150)
    found = []
    for coded in (codes, lambda X: X):
        model = SVGPRegressor(normalize_y="yeo-johnson", **CODED).fit(coded(X), np.exp(y))
        found.append(model.noise_std(coded(X)))
    assert_allclose(found[1], found[0], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:max_iter")
def test_asking_for_an_evidence_teaches_no_category():
    """New categories of rows that a method is asked about are not those of the model."""
    X, y = table(150)
    model = SVGPRegressor(**CODED).fit(X, y)
    later, more = table(40, seed=1, n_categories=6)
    before = model._format.codes
    assert np.isfinite(model.log_marginal_likelihood(model.kernel_.theta, X=later, y=more))
    assert model._format.codes is before


@pytest.mark.quick_cases("svgp", "classes")
@pytest.mark.filterwarnings("ignore:max_iter")
@pytest.mark.parametrize(
    "name", slow_but(["svgp", "stream", "classes"], [*REGRESSORS, *CLASSIFIERS])
)
def test_callbacks_see_categories(name):
    """Scores amid a fit are those of rows as they were given, not of their codes."""
    callback = pytest.importorskip("sklearn.callback")
    estimator, options = {**REGRESSORS, **CLASSIFIERS}[name]
    X, y = table(150)
    y, scoring = (y, "r2") if name in REGRESSORS else (y > 1.0, "accuracy")
    scores = []
    for coded in (codes, lambda X: X, words):
        monitor = callback.ScoringMonitor(scoring={"score": scoring})
        model = estimator(**CODED, **options).set_callbacks(monitor).fit(coded(X), y)
        steps = [row for row in monitor.get_logs().data if row["task_name"] == "step"]
        scores.append([row["score"] for row in steps])
        assert_allclose(scores[-1][-1], model.score(coded(X), y), atol=0.05)
    assert_allclose(scores[1], scores[0], rtol=1e-6)


def test_size_in_bytes():
    """What a cluster asks of rows before it moves them."""
    base = np.zeros((3, 2))
    coded = CodedRows(base, {1: (np.zeros(1), np.ones(1))})
    rows = Rows(coded, np.zeros((3, 1)), None, np.zeros(1), np.ones(1))
    assert sys.getsizeof(rows) > base.nbytes


@pytest.mark.filterwarnings("ignore:(max_iter|Numbers of a column of X)")
def test_inputs_too_far_away():
    """Inputs at which the kernel is not finite are refused, categories or not."""
    X, y = table(150)
    kernel = Columns(DotProduct() ** 3, [0]) * Columns(Categorical(), [1])
    model = SVGPRegressor(kernel, **CODED).fit(X, y)
    assert np.isfinite(model.predict_std(1e6 * X + 3.0)).all()  # unknown categories
    X[7, 0] = 1e60
    with pytest.raises(ValueError, match="X must hold numbers at which the kernel"):
        model.predict(X)
    with pytest.raises(ValueError, match="X must hold numbers at which the kernel"):
        model.fit(np.tile(X, (14, 1)), np.tile(y, 14))


@pytest.mark.quick_cases("options1")
@pytest.mark.filterwarnings("ignore:max_iter")
@pytest.mark.parametrize("options", [{"model": "vif"}, {"model": "lma", "optimizer": "lbfgs"}])
def test_categories_without_inducing_inputs(options):
    """Near rows alone, where no inducing inputs are learned."""
    X, y = table(150)
    model = AnytimeSGPRegressor(**CODED, **options, n_neighbors=10, block_size=40)
    found = [
        model.set_params(n_inducing=0).fit(coded(X), y).predict(coded(X))
        for coded in (codes, lambda X: X)
    ]
    assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:max_iter")
@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor])
def test_warm_starts_forget_categories_of_later_batches(estimator):
    """A category that is not known is predicted alike whatever else is predicted."""
    X, y = table(300)
    later, more = table(120, seed=1, n_categories=6)
    model = estimator(**CODED).fit(X, y).partial_fit(later, more)
    assert model.inducing_points_[:, 1].max() > X[:, 1].max()
    model.set_params(warm_start=True).fit(X[::-1], y[::-1])
    assert model.inducing_points_[:, 1].max() == X[:, 1].max()
    new, _ = table(20, seed=2, n_categories=9)
    whole = model.predict_std(new)
    assert_allclose([model.predict_std(row[None])[0] for row in new], whole, rtol=1e-9)
