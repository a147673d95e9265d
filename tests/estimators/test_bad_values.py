"""Values, shapes and types that cannot be are refused, and the message says what to do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from svgp_regressors import assert_finite, quick, with_entry


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["X", "y", "sample_weight"])
def test_nan_and_infinity(toy, method, bad, where):
    """NaN and infinities anywhere are refused, and the message says where they are."""
    data = {"X": toy[0], "y": toy[1], "sample_weight": np.ones(60)}
    data[where] = with_entry(data[where], bad)
    with pytest.raises(ValueError, match=f"{where} contains (NaN|infinity)"):
        getattr(quick(missing="error"), method)(**data)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_in_predictions(toy, bad):
    """Every predicting method refuses NaN and infinities in X, log_density in y as well."""
    X, y = toy
    model, X_bad = quick(missing="error").fit(X, y), with_entry(X, bad)
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


@pytest.mark.parametrize("size", [1e60, 1e90])
def test_targets_whose_gradients_overflow(toy, toy_outputs, size):
    """Targets too large in the units of the first rows are refused, wherever they come later."""
    X, y = toy
    X = 1e-150 * X
    told = r"y must hold .* at most 1e\+50 .* Got \d"
    with pytest.raises(ValueError, match=told):
        quick(normalize_y=False).fit(X, size * y)
    with pytest.raises(ValueError, match=r"normalize_y.* at most 1e"):
        quick(normalize_y=(0.0, 1.0 / size)).fit(X, y)
    mixed = quick(n_latent=1).fit(X, toy_outputs[1])
    for model, more in ((quick().fit(X, y), y), (mixed, toy_outputs[1])):
        before = model.predict(X)
        with pytest.raises(ValueError, match=told):
            model.partial_fit(X, size * more)
        assert_allclose(model.predict(X), before, rtol=0.0)
    model = quick().fit(X, y)
    with pytest.raises(ValueError, match=told):
        model.log_marginal_likelihood(model.kernel_.theta, X=X, y=size * y)
    assert_finite(quick().fit(X, size * y), X)


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
    with pytest.raises(ValueError, match="word") as caught:
        quick().fit(**data)
    assert ("categorical_features" in str(caught.value)) == (bad == "X")
    with pytest.raises(ValueError, match=r"^y must hold numbers\. Got 'word', a word"):
        quick().fit(toy[0].astype(object), np.full(60, "word", dtype=object))


def test_complex_and_sparse_are_refused(toy):
    """Complex numbers and sparse matrices are refused by name."""
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="Complex data not supported"):
        quick().fit(toy[0] + 1j, toy[1])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        quick().fit(sparse.csr_array(toy[0]), toy[1])
