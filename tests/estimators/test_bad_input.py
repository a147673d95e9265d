"""Bad input gives a finite, sensible model or an error that says what to do, and spoils nothing."""

import importlib
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Columns

White = WhiteKernel
CHOICES = ["kmeans", "greedy", "random"]


def quick(kernel=None, **parameters):
    """A regressor that learns a little."""
    return SVGPRegressor(
        kernel, **({"n_inducing": 15, "max_iter": 5, "random_state": 0} | parameters)
    )


def with_entry(array, value):
    array = array.copy()
    array.flat[3] = value
    return array


def assert_finite(model, X):
    """All that the model says at X and far from it is finite, and spreads are positive."""
    for points in (X, X + 1e3 * (1.0 + np.abs(X))):
        mean, std = model.predict(points, return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()
        assert np.isfinite(model.sample_y(points[:20])).all()
        assert np.isfinite(model.log_density(points, mean)).all()
    assert np.isfinite(model.objective_) and np.isfinite(model.objectives_).all()
    assert np.isfinite(model.inducing_points_).all()
    assert 0 < model.noise_variance_ < np.inf


# Values that cannot be


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["X", "y", "sample_weight"])
def test_nan_and_infinity(toy, method, bad, where):
    """NaN and infinities anywhere are refused, and the message says where they are."""
    data = {"X": toy[0], "y": toy[1], "sample_weight": np.ones(60)}
    data[where] = with_entry(data[where], bad)
    with pytest.raises(ValueError, match=f"{where} contains (NaN|infinity)"):
        getattr(quick(), method)(**data)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_in_predictions(toy, bad):
    """Every predicting method refuses NaN and infinities in X, log_density in y as well."""
    X, y = toy
    model, X_bad = quick().fit(X, y), with_entry(X, bad)
    for predict in (model.predict, model.predict_std, model.predict_quantiles, model.sample_y):
        with pytest.raises(ValueError, match="X contains"):
            predict(X_bad)
    with pytest.raises(ValueError, match="contains"):
        model.sample_functions()(X_bad)
    with pytest.raises(ValueError, match="y contains"):
        model.log_density(X, with_entry(y, bad))


@pytest.mark.parametrize("where", ["X", "y"])
def test_numbers_whose_squares_overflow(toy, where):
    """Numbers too large to be squared are refused with the cure."""
    data = dict(zip(("X", "y"), toy, strict=True))
    data[where] = with_entry(data[where], -1e200)
    with pytest.raises(ValueError, match=rf"{where} must .* Got 1e\+200: use another unit"):
        quick().fit(**data)
    with pytest.raises(ValueError, match=r"X must .* Got 1e\+200"):
        quick().fit(*toy).predict(np.full((1, 2), 1e200))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1.0, "Negative values.*sample_weight"),
        (0.0, "(?i)weights? .*(non-zero|above zero)"),
    ],
)
def test_weights_that_cannot_be(toy, weight, message):
    """Negative weights and weights that are all zero are refused."""
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(quick(), method)(*toy, np.full(60, weight))


# Shapes


@pytest.mark.parametrize(
    ("reshape", "message"),
    [
        (lambda X, y: (X[:, 0], y), "2D array"),
        (lambda X, y: (X[None], y), "dim 3"),
        (lambda X, y: (X, y[:, None, None]), "dim 3"),
        (lambda X, y: (X[:-1], y), r"inconsistent.*59, 60"),
        (lambda X, y: (X[:0], y[:0]), r"0 sample.*minimum of 1"),
        (lambda X, y: (X[:, :0], y), r"0 feature.*minimum of 1"),
        (lambda X, y: (X, None), "requires y"),
    ],
)
def test_wrong_shapes(toy, reshape, message):
    """Arrays of the wrong shape are refused, and the message has the shape."""
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(quick(), method)(*reshape(*toy))


@pytest.mark.parametrize("weight", [np.ones(59), np.ones((60, 2))])
def test_wrong_shape_of_the_weights(toy, weight):
    """Weights must be as many as rows."""
    with pytest.raises(ValueError, match=r"(?i)sample.weights?.*(60|1D)"):
        quick().fit(*toy, weight)


def test_later_shapes_must_be_those_of_fit(toy, toy_outputs):
    """Other columns of X or y than in fit are refused, with what was expected and what came."""
    X, y = toy
    model = quick().fit(X, y)
    with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
        model.predict(np.column_stack([X, X[:, 0]]))
    with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
        model.partial_fit(np.column_stack([X, X[:, 0]]), y)
    with pytest.raises(ValueError, match=r"y must .*Got shape \(60, 2\)"):
        model.partial_fit(*toy_outputs)
    with pytest.raises(ValueError, match=r"y must have shape \(60,\).*Got \(60, 2\)"):
        model.log_density(*toy_outputs)
    with pytest.raises(ValueError, match=r"inconsistent"):
        model.log_density(X, y[:-1])


# Little data


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


# Units


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


@pytest.mark.parametrize("of_X", [1e-8, 1e8])
@pytest.mark.parametrize("of_y", [1e-8, 1e8])
def test_units_that_the_kernel_does_not_fit(toy, of_X, of_y):
    """A kernel for another unit gives a poor model, but a finite one."""
    X, y = of_X * toy[0], of_y * toy[1]
    assert_finite(quick(2.0 * RBF(1.0)).fit(X, y), X)
    assert_finite(quick(2.0 * RBF(1.0), optimizer=None).fit(X, y), X)
    assert_finite(quick(2.0 * RBF(1.0), normalize_y=False).fit(X, y), X)


@pytest.mark.parametrize("weight", [1e-12, 1e12])
def test_huge_and_tiny_weights(toy, weight):
    """Weights of any size give a finite model."""
    assert_finite(quick().fit(*toy, np.full(60, weight)), toy[0])


# Types


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int64, np.uint8, np.float16, np.float32, np.longdouble, object]
)
def test_types_of_numbers(toy, dtype):
    """Integers, objects that hold numbers, and floats of any size are numbers."""
    X, y = np.round(10.0 * toy[0] + 30.0), np.round(10.0 * toy[1])
    expected = quick().fit(X, y)
    model = quick().fit(X.astype(dtype), y.astype(dtype))
    assert_allclose(model.predict(X.astype(dtype)), expected.predict(X), rtol=1e-6)


def test_booleans_are_numbers(toy):
    """Boolean inputs and targets are zeros and ones."""
    X, y = toy[0] > 0, toy[1] > 5.0
    model = quick().fit(X, y)
    assert_finite(model, X.astype(float))
    assert_allclose(model.predict(X), quick().fit(X.astype(float), y.astype(float)).predict(X))


@pytest.mark.parametrize("bad", ["X", "y"])
@pytest.mark.parametrize("dtype", ["<U4", object])
def test_words_are_refused(toy, bad, dtype):
    """Words in X or y raise ValueError with the word."""
    data = dict(zip(("X", "y"), toy, strict=True))
    data[bad] = np.full(data[bad].shape, "word", dtype=dtype)
    with pytest.raises(ValueError, match="word"):
        quick().fit(**data)


def test_complex_and_sparse_are_refused(toy):
    """Complex numbers and sparse matrices are refused by name."""
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="Complex data not supported"):
        quick().fit(toy[0] + 1j, toy[1])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        quick().fit(sparse.csr_array(toy[0]), toy[1])


# Parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "rbf"),
        ("kernel", RBF),
        ("likelihood", "gauss"),
        ("total_samples", 0),
        ("n_inducing", 0),
        ("n_inducing", 2.5),
        ("inducing", "best"),
        ("inducing", 5),
        ("optimize_inducing", "yes"),
        ("noise_variance", 0.0),
        ("noise_variance", -1.0),
        ("noise_variance_bounds", "free"),
        ("optimizer", "sgd"),
        ("init_size", 0),
        ("batch_size", 0),
        ("max_iter", 0),
        ("max_steps", 0),
        ("max_time", 0),
        ("tol", -1.0),
        ("n_iter_no_change", 0),
        ("learning_rate", 0.0),
        ("natural_step", 0.0),
        ("natural_step", 1.5),
        ("normalize_y", "yes"),
        ("jitter", -1e-8),
        ("jitter", 1.0),
        ("warm_start", "yes"),
        ("n_jobs", 1.5),
        ("random_state", "seed"),
        ("verbose", -1),
    ],
)
def test_parameters_outside_their_range(toy, name, value):
    """Each parameter is checked in fit and partial_fit; the message has name, range and value."""
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=f"The '{name}' parameter .* must be .*Got .* instead"):
            getattr(quick().set_params(**{name: value}), method)(*toy)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("noise_variance_bounds", bounds)
            for bounds in [(1.0,), (1, 2, 3), (2, 1), (0, 1), (-1, 1), (np.nan, 1), ("a", "b"), ()]
        ),
        *(
            ("normalize_y", pair)
            for pair in [(0,), (0, 1, 2), (0, 0), (0, -1), (np.nan, 1), (0, np.inf), ("a", 1)]
        ),
        ("normalize_y", ((0, 0), (1, 1))),
        ("normalize_y", (0, 1e-200)),
        *(
            ("inducing", Z)
            for Z in [np.zeros((0, 2)), np.zeros((3, 3)), np.zeros(3), np.zeros((2, 2, 2))]
        ),
        ("inducing", np.full((3, 2), np.nan)),
        ("inducing", [["a", "b"]]),
    ],
    ids=repr,
)
def test_parameters_that_the_data_refute(toy, name, value):
    """Pairs and arrays are checked too; the message has name, what must hold and what came."""
    with pytest.raises(ValueError, match=rf"(?s)'{name}' parameter must .*Got "):
        quick().set_params(**{name: value}).fit(*toy)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(0.0), "length_scale .*positive and finite.*Got 0.0"),
        (RBF(-1.0), "length_scale .*positive and finite.*Got -1.0"),
        (RBF(-1.0, "fixed"), "length_scale .*positive and finite.*Got -1.0"),
        (RBF(np.nan), "length_scale .*positive and finite.*Got nan"),
        (RBF([1.0, np.inf]), r"length_scale .*positive and finite.*Got \[1.0, inf\]"),
        (ConstantKernel(0.0) * RBF(), "constant_value .*positive and finite.*Got 0.0"),
        (ConstantKernel(-1.0, "fixed") * RBF(), "constant_value .*positive.*Got -1.0"),
        (RationalQuadratic(alpha=0.0), "alpha .*positive and finite.*Got 0.0"),
        (DotProduct(0.0), "sigma_0 .*positive and finite.*Got 0.0"),
        (Columns(RBF(0.0), [0]), "kernel__length_scale .*positive.*Got 0.0"),
        (RBF(1.0, (2.0, 0.5)), "bounds .*0 < lower <= upper.*Got .*2.* 0.5"),
        (RBF(1.0, (0.0, 1.0)), "bounds .*0 < lower <= upper.*Got .*0.* 1."),
        (RBF(1.0, (-1.0, 1.0)), "bounds .*0 < lower <= upper.*Got .*-1.* 1."),
        (RBF(1.0, (np.nan, 1.0)), "bounds .*0 < lower <= upper.*Got .*nan"),
        (RBF(1.0, "free"), "bounds .*0 < lower <= upper.*Got .*free"),
        (RBF([1.0, 1.0], [(1, 2)] * 3), "(?i)bounds on length_scale"),
        (RBF([1.0, 1.0, 1.0]), "length_scale of RBF .* 2 columns.*Got 3"),
        (Columns(RBF([1.0, 1.0]), [0]), "length_scale of RBF .* 1 columns.*Got 2"),
        (Columns(RBF(), [2]), r"columns.*between 0 and n_features - 1 = 1.*Got \[2\]"),
        (Columns(RBF(), [-1]), r"columns.*Got \[-1\]"),
        (Columns(RBF(), []), r"columns.*Got \[\]"),
        (Columns(RBF(), [0.5]), r"columns.*Got \[0.5\]"),
        (CompoundKernel([RBF(), RBF()]), "'kernel' parameter must .*one covariance.*Got Compound"),
        (White(), "'kernel' parameter must .*besides WhiteKernel.*Got White"),
        (White() + White(), "'kernel' parameter must .*besides WhiteKernel.*Got White"),
        (RBF() * White(), "WhiteKernel must stand as a term of the outermost sum"),
        (2.0 * (RBF() + White()), "WhiteKernel must stand as a term of the outermost sum"),
        ((RBF() + White()) ** 2, "WhiteKernel must stand as a term of the outermost sum"),
        (Columns(RBF() + White(), [0]), "WhiteKernel must stand as a term of the outermost sum"),
        (RBF() + White(0.0), "noise_level .*must be positive.*Got 0.0"),
        (RBF() + White(1.0, (2.0, 0.5)), "noise_level_bounds.*0 < lower <= upper.*Got"),
        (RBF() ** -1, r"positive definite.*\*\* -1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_kernels_that_cannot_be(toy, kernel, message):
    """A kernel with bad values, bounds or structure is refused, with what came."""
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=f"(?s){message}"):
            getattr(quick(kernel), method)(*toy)


def test_kernel_that_is_no_covariance(toy):
    """A kernel that is not positive definite ends in ValueError, never in a bare LinAlgError."""
    with pytest.warns(ConvergenceWarning, match="finite differences"):
        with pytest.raises(ValueError, match=r"(?s)covariance of the .* inducing inputs"):
            quick(NegativeKernel()).fit(*toy)


class NegativeKernel(RBF):
    """Not a covariance function: negative on the diagonal."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return -super().__call__(X, Y)

    def diag(self, X):
        return -super().diag(X)


def test_noise_is_given_once(toy):
    """A WhiteKernel and noise_variance together are refused."""
    with pytest.raises(ValueError, match=r"noise must be given once.*noise_variance=0.1"):
        quick(RBF() + White(), noise_variance=0.1).fit(*toy)


def test_starting_values_outside_their_bounds(toy):
    """Starting values outside their bounds start at the nearest bound."""
    kernel = RBF(1e-3, (1.0, 2.0)) + White(1e-9, (1e-3, 1.0))
    model = quick(kernel).fit(*toy)
    assert 1.0 <= model.kernel_.k1.length_scale <= 2.0
    assert model.noise_variance_ >= 1e-3
    assert_finite(model, toy[0])


def test_linear_kernel_through_the_origin(toy):
    """DotProduct with sigma_0 fixed at zero is a valid kernel, of rank 2 here."""
    model = quick(DotProduct(0.0, "fixed"), normalize_y=False).fit(*toy)
    assert_finite(model, toy[0])
    assert_allclose(model.predict([[0.0, 0.0]]), 0.0, atol=1e-6)


@pytest.mark.parametrize("levels", [[0.0], [1.0], [0.5, 1.5], [-0.1], [np.nan], [[0.1, 0.9]]])
def test_quantiles_that_cannot_be(toy, levels):
    """Levels must be strictly between 0 and 1."""
    with pytest.raises(ValueError, match=r"'quantiles' parameter must .*Got"):
        quick().fit(*toy).predict_quantiles(toy[0], levels)


def test_unknown_sampling_method(toy):
    """An unknown method of sample_y is refused with the known ones."""
    with pytest.raises(
        ValueError, match="'method' parameter must be 'auto', 'joint' or 'pathwise'"
    ):
        quick().fit(*toy).sample_y(toy[0], method="exact")


# What fails leaves everything as it was


def state_of(model):
    return dict(vars(model))


def assert_unchanged(model, before, X=None, mean=None):
    """The same attributes hold the same objects, and predictions are the same bits."""
    now = vars(model)
    assert set(now) == set(before)
    assert all(now[name] is before[name] for name in before)
    if X is not None:
        assert_array_equal(model.predict(X), mean)


def interrupt(patch, target, count, error):
    """Let the function ``target`` of the package raise at the call number ``count``."""
    module, name = target.rsplit(".", 1)
    module = importlib.import_module(f"sklearn_sgp.{module}")
    function, calls = getattr(module, name), itertools.count(1)

    def interrupted(*args, **kwargs):
        if next(calls) == count:
            raise error
        return function(*args, **kwargs)

    patch.setattr(module, name, interrupted)


STAGES = {
    "warm start": ("fitting.inference.collapsed_bound", {}),
    "L-BFGS on all rows": ("fitting.inference.collapsed_bound", {"init_size": 20, "max_iter": 1}),
    "growing subsets": ("fitting.inference.collapsed_bound", {"init_size": 4}),
    "adam": ("fitting.stochastic.minibatch_bound", {"optimizer": "adam", "batch_size": 16}),
    "sums over rows": ("objectives.collapsed.accumulate", {}),
    "way back": ("objectives.collapsed.pull_back", {}),
    "store": ("estimators.learned_regression.join_noise", {}),
    "inducing inputs": ("estimators.learned.choose_inducing", {}),
}


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_first_fit_that_fails_leaves_nothing(toy, monkeypatch, error, stage, method):
    """Ctrl-C or an error anywhere in the first fit leaves the estimator unfitted."""
    target, parameters = STAGES[stage]
    count = 1 if target.startswith(("svgp", "_learned")) else 3
    model = quick(**parameters)
    before = state_of(model)
    with monkeypatch.context() as patch:
        interrupt(patch, target, count, error)
        with pytest.raises(error):
            getattr(model, method)(*toy)
    assert_unchanged(model, before)
    assert_finite(getattr(model, method)(*toy), toy[0])


@pytest.mark.parametrize("error", [KeyboardInterrupt, np.linalg.LinAlgError])
@pytest.mark.parametrize("stage", STAGES)
def test_later_fit_that_fails_leaves_the_model(toy, monkeypatch, error, stage):
    """Ctrl-C or an error anywhere in a later fit leaves the model of the fit before."""
    target, parameters = STAGES[stage]
    X, y = toy
    # a warm start chooses no inducing inputs
    model = quick(warm_start=stage != "inducing inputs", **parameters).fit(X, y)
    before, mean = state_of(model), model.predict(X)
    with monkeypatch.context() as patch:
        interrupt(patch, target, 1, error)
        with pytest.raises(error):
            model.fit(X[:50], np.column_stack([y, y])[:50])
    assert_unchanged(model, before, X, mean)


def test_interrupt_in_a_worker_leaves_the_model(rng, monkeypatch):
    """Ctrl-C that reaches one of several workers leaves the model of the fit before."""
    X = rng.uniform(-2.0, 2.0, (2500, 1))
    model = quick(n_jobs=2).fit(X, np.sin(X[:, 0]))
    before, mean = state_of(model), model.predict(X)
    with monkeypatch.context() as patch:
        interrupt(patch, "factors.row_sums._accumulate_group", 2, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, X[:, 0])
    assert_unchanged(model, before, X, mean)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize(
    ("target", "count"),
    [
        ("fitting.partial_fit.accumulate", 3),
        ("fitting.partial_fit.minibatch_bound", 3),
        ("fitting.partial_fit.collapsed_value", 1),
        ("fitting.partial_fit.choose_inducing", 1),
        ("estimators.learned_regression.join_noise", 1),
    ],
)
def test_partial_fit_that_fails_leaves_the_model(toy, monkeypatch, error, target, count):
    """Ctrl-C or an error in a later batch leaves what the batches before gave."""
    X, y = toy
    optimizer = None if target.endswith("collapsed_value") else "auto"
    model = quick(optimizer=optimizer, batch_size=10, n_inducing=20).partial_fit(X[:12], y[:12])
    before, mean = state_of(model), model.predict(X)
    with monkeypatch.context() as patch:
        interrupt(patch, target, count, error)
        with pytest.raises(error):
            model.partial_fit(X, y)
    assert_unchanged(model, before, X, mean)
    undisturbed = quick(optimizer=optimizer, batch_size=10, n_inducing=20)
    undisturbed.partial_fit(X[:12], y[:12]).partial_fit(X, y)
    assert_array_equal(model.partial_fit(X, y).predict(X), undisturbed.predict(X))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda X, y, w: (with_entry(X, np.nan), y, w),
        lambda X, y, w: (X, with_entry(y, np.inf), w),
        lambda X, y, w: (X[:, :1], y[:-1], w),
        lambda X, y, w: (X, y, -w),
        lambda X, y, w: (X, y, 0.0 * w),
    ],
)
def test_refused_data_leave_the_model(toy, method, spoil):
    """Data that are refused leave a fitted model, and an unfitted one, as they were."""
    X, y = toy
    fitted, fresh = quick().fit(X, y), quick()
    for model in (fitted, fresh):
        before = state_of(model)
        with pytest.raises(ValueError):
            getattr(model, method)(*spoil(X, y, np.ones(60)))
        assert_unchanged(model, before)


def test_refused_parameters_leave_the_model(toy):
    """A parameter that is refused leaves the fitted model as it was."""
    X, y = toy
    model = quick().fit(X, y)
    mean = model.predict(X)
    for bad in ({"n_inducing": 0}, {"kernel": RBF(-1.0)}, {"inducing": np.zeros((3, 5))}):
        changed = quick().fit(X, y).set_params(**bad)
        before = state_of(changed)
        with pytest.raises(ValueError):
            changed.fit(X, y)
        assert_unchanged(changed, before, X, mean)


def test_given_data_are_not_changed(toy):
    """fit and partial_fit write into none of their arguments."""
    X, y, weight = (*toy, np.linspace(0.0, 2.0, 60))
    copies = X.copy(), y.copy(), weight.copy()
    model = quick().fit(X, y, weight).partial_fit(X, y, weight)
    model.predict(X, return_std=True)
    for array, copy in zip((X, y, weight), copies, strict=True):
        assert_array_equal(array, copy)
