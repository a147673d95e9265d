"""Little, repeated, constant, huge and tiny data give a finite and sensible model."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern
from svgp_regressors import assert_finite, quick

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

CHOICES = ["kmeans", "greedy", "random"]


@pytest.mark.parametrize("n_rows", [1, 2, 3])
@pytest.mark.parametrize("inducing", CHOICES)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_few_rows(toy, n_rows, inducing, method):
    """One row is enough for a finite model that predicts it."""
    X, y = toy[0][:n_rows], toy[1][:n_rows]
    model = getattr(quick(inducing=inducing), method)(X, y)
    assert_finite(model, X)
    assert len(model.inducing_points_) == n_rows
    assert np.abs(model.predict(X) - y).max() < 3.0 * model.predict_std(X).max() + 1e-3


@pytest.mark.parametrize("constant", [0.0, 0.1, -3.0, 1e8])
@pytest.mark.parametrize("normalize_y", [True, False])
def test_constant_targets(toy, constant, normalize_y):
    """A constant y is predicted, with little spread where y is normalised."""
    model = quick(normalize_y=normalize_y).fit(toy[0], np.full(60, constant))
    assert_finite(model, toy[0])
    if normalize_y:
        assert_allclose(model.predict(toy[0]), constant, atol=1e-6)
        assert model.predict_std(toy[0]).max() < 0.1


def test_constant_output_among_others(toy):
    """A constant output beside another does no harm to either."""
    X, y = toy
    model = quick().fit(X, np.column_stack([y, np.full(60, 4.0)]))
    assert_finite(model, X)
    assert_allclose(model.predict(X)[:, 1], 4.0, atol=1e-6)
    assert np.corrcoef(model.predict(X)[:, 0], y)[0, 1] > 0.9


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8])
def test_constant_columns(toy, constant):
    """A column that never changes is as good as absent."""
    X, y = toy
    model = quick().fit(np.column_stack([X, np.full(60, constant)]), y)
    assert_finite(model, np.column_stack([X, np.full(60, constant)]))
    assert np.corrcoef(model.predict(np.column_stack([X, np.full(60, constant)])), y)[0, 1] > 0.9


@pytest.mark.parametrize("kernel", [None, DotProduct() + RBF(), Matern(nu=0.5)])
def test_duplicated_columns(toy, kernel):
    """Columns that repeat others give a model that still learns."""
    X, y = toy[0][:, [0, 0, 1, 1]], toy[1]
    model = quick(kernel).fit(X, y)
    assert_finite(model, X)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.9


@pytest.mark.parametrize("inducing", CHOICES)
def test_identical_rows(toy, inducing):
    """Where all rows are the same, the model is the mean of y with the spread of y."""
    y = toy[1]
    model = quick(inducing=inducing, max_iter=50).fit(np.ones((60, 2)), y)
    assert_finite(model, np.ones((3, 2)))
    assert model.inducing_points_.tolist() == [[1.0, 1.0]]
    assert_allclose(model.predict(np.ones((1, 2))), y.mean(), atol=0.1)
    assert_allclose(model.predict_std(np.ones((1, 2))), y.std(), rtol=0.2)


@pytest.mark.parametrize("inducing", CHOICES)
def test_fewer_distinct_rows_than_inducing_inputs(toy, inducing):
    """Repeated rows give one inducing input each, and fewer rows than n_inducing all of them."""
    X, y = np.repeat(toy[0][:8], 6, axis=0), toy[1][:48]
    model = quick(inducing=inducing).fit(X, y)
    assert_array_equal(np.unique(model.inducing_points_.round(12), axis=0).shape, (8, 2))
    assert_finite(model, X)
    few = quick(inducing=inducing, n_inducing=1000).fit(*toy)
    assert len(few.inducing_points_) == 60
    assert_finite(few, toy[0])


@pytest.mark.parametrize("inducing", CHOICES)
def test_nearly_identical_rows(toy, rng, inducing):
    """Rows that differ by rounding only do not break the factorisation."""
    X = np.repeat(toy[0][:10], 6, axis=0)
    X = X + 1e-13 * rng.standard_normal(X.shape)
    model = quick(inducing=inducing, n_inducing=60).fit(X, toy[1])
    assert_finite(model, X)


def test_duplicated_inducing_inputs(toy):
    """Inducing inputs given twice work, and are warned of only where jitter alone cannot help."""
    X, y = toy
    model = quick(inducing=np.repeat(X[:8], 2, axis=0)).fit(X, y)
    assert_finite(model, X)
    once = quick(RBF(), inducing=X[:8], optimizer=None).fit(X, y)
    twice = quick(RBF(), inducing=np.repeat(X[:8], 2, axis=0), optimizer=None).fit(X, y)
    assert_allclose(twice.predict(X), once.predict(X), atol=1e-5)
    assert_allclose(twice.objective_, once.objective_, rtol=1e-5)


@pytest.mark.parametrize("of_X", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("of_y", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_huge_and_tiny_units(toy, of_X, of_y, offset):
    """Units of X and y of any size, off-centre too, give a model that learns."""
    X, y = of_X * (toy[0] + offset), of_y * (toy[1] + offset)
    model = quick(max_iter=15).fit(X, y)
    assert_finite(model, X)
    assert model.score(X, y) > 0.9
    assert 0.0 < model.predict_std(X).max() < y.std()


@pytest.mark.filterwarnings(
    "ignore:The fit explains 0.0%",
    "ignore:The optimal value found",
    "ignore:The learned kernel relates hardly any row",
)
@pytest.mark.parametrize("of_X", [1e-8, 1e8])
@pytest.mark.parametrize("of_y", [1e-8, 1e8])
def test_units_that_the_kernel_does_not_fit(toy, of_X, of_y):
    """A kernel for another unit gives a poor model, but a finite one."""
    X, y = of_X * toy[0], of_y * toy[1]
    assert_finite(quick(2.0 * RBF(1.0)).fit(X, y), X)
    assert_finite(quick(2.0 * RBF(1.0), optimizer=None).fit(X, y), X)
    assert_finite(quick(2.0 * RBF(1.0), normalize_y=False).fit(X, y), X)


@pytest.mark.filterwarnings("ignore:sample_weight should (have a mean|count rows)")  # told
@pytest.mark.parametrize("weight", [1e-12, 1e12])
def test_huge_and_tiny_weights(toy, weight):
    """Weights of any size give a finite model."""
    assert_finite(quick().fit(*toy, np.full(60, weight)), toy[0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of max_iter
@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor])
@pytest.mark.quick_cases("SVGPRegressor")
def test_a_far_target_is_told_of(kind):
    """One of 1e9 among 60: Gaussian noise has no word for it, Student-t noise and warps do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.append(np.sin(X[:-1, 0]) + 0.1 * rng.normal(size=59), 1e9)
    with pytest.warns(UserWarning, match="Numbers of y should be of one size"):
        kind(n_inducing=10, max_iter=5, random_state=0).fit(X, y)
    weight = np.append(np.ones(59), 0.0)
    for options in ({"likelihood": "student_t"}, {"likelihood": "auto"}):
        kind(n_inducing=10, max_iter=5, random_state=0, **options).fit(X, y)
    kind(n_inducing=10, max_iter=5, random_state=0).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("kind", "is_far"),
    [("counts", True), ("shares", True), ("few others", False), ("rounding", False)],
)
def test_far_targets_where_most_are_equal(kind, is_far):
    """Most counts may be 0; what rounding makes of equal numbers is no size of theirs."""
    rng, X = np.random.default_rng(0), np.arange(200.0)[:, None]
    y = {
        "counts": np.append(rng.poisson(0.3, 199), 1e9),
        "shares": np.append(np.where(rng.random(199) < 0.6, 0.0, rng.random(199)), 1e9),
        "few others": np.where(np.arange(200) < 5, 1e9, 0.0),
        "rounding": np.where(np.arange(200) < 5, 6.0, 5.0 + 1e-15 * np.arange(200)),
    }[kind]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SVGPRegressor(n_inducing=10, max_iter=2, random_state=0).fit(X, y)
    assert any("should be of one size" in str(one.message) for one in told) == is_far
