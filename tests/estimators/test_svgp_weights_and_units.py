"""SVGPRegressor sees rows, weights and units, not how they are written down."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern
from svgp_regressors import assert_same_model, fixed

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Columns


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_weights_are_repetitions(toy, n_jobs):
    """Weight 2 is the row twice and weight 0 no row, at fixed hyperparameters."""
    X, y = toy
    weight = np.random.default_rng(4).integers(0, 4, len(X))
    weighted = fixed(n_jobs=n_jobs).fit(X, y, sample_weight=weight)
    repeated = fixed(n_jobs=n_jobs).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_same_model(weighted, repeated, X)
    assert weighted.n_samples_seen_ == np.count_nonzero(weight)
    kept = fixed().fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    assert_same_model(weighted, kept, X)


@pytest.mark.quick_cases("1", "2", "4", "5")
@pytest.mark.parametrize("seed", range(8))
def test_weights_are_repetitions_when_everything_is_learned(seed):
    """The equivalence holds through all of learning, on data that the model can interpolate."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(size=(15, 30)), rng.integers(0, 3, 15).astype(float)
    weight = rng.integers(0, 5, 15)
    order = rng.permutation(weight.sum())
    model = SVGPRegressor(max_iter=25, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X.repeat(weight, axis=0)[order], y.repeat(weight)[order])
    assert_same_model(weighted, repeated, X)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_do_not_matter(toy, factor):
    """Rescaling X, y or both by 1e±8 gives the same predictions with kernel=None."""
    X, y = toy
    model = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0)
    mean, std = clone(model).fit(X, y).predict(X, return_std=True)
    for a, b in [(factor, 1.0), (1.0, factor), (factor, factor), (factor, 1.0 / factor)]:
        again, again_std = clone(model).fit(a * X, b * y).predict(a * X, return_std=True)
        assert_allclose(again, b * mean, rtol=1e-6)
        assert_allclose(again_std, b * std, rtol=1e-6)


def test_order_of_columns_does_not_matter(toy):
    """Permuted columns give the same predictions with kernel=None."""
    X, y = toy
    X = np.column_stack([X, X[:, 0] * X[:, 1]])
    model = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0, inducing="greedy")
    mean = clone(model).fit(X, y).predict(X)
    order = [2, 0, 1]
    assert_allclose(clone(model).fit(X[:, order], y).predict(X[:, order]), mean, rtol=1e-6)


@pytest.mark.parametrize("kernel", [None, Matern(1.0, nu=1.5), Columns(RBF(1.0), [1]) * RBF(1.0)])
def test_far_off_inputs_lose_no_digits(rng, kernel):
    """X and X + 1e6 give the same model, up to what the sum itself rounds away."""
    X = rng.integers(-2048, 2048, (60, 2)) / 1024.0  # so that X + 1e6 is exact
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    model = SVGPRegressor(kernel, n_inducing=10, max_iter=5, inducing="greedy", random_state=0)
    # learning amplifies rounding, and inducing inputs have one of 1e-10 at 1e6
    for optimizer, rtol in [(None, 1e-9), ("auto", 1e-3)]:
        model.set_params(optimizer=optimizer)
        near, far = clone(model).fit(X, y), clone(model).fit(X + 1e6, y)
        mean, std = near.predict(X, return_std=True)
        far_mean, far_std = far.predict(X + 1e6, return_std=True)
        assert_allclose(far_mean, mean, rtol=rtol, atol=rtol)
        assert_allclose(far_std, std, rtol=rtol)


def test_float32_is_close_to_float64(toy):
    """float32 inputs give what the same numbers in float64 give."""
    X, y = toy
    X32 = X.astype(np.float32)
    one = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0).fit(X32, y)
    other = clone(one).fit(X32.astype(np.float64), y)
    assert_same_model(other, one, X32, rtol=1e-6)
    # the inputs themselves were rounded by 6e-8, which learning amplifies
    assert_allclose(one.predict(X), clone(one).fit(X, y).predict(X), atol=1e-5 * y.std())
    close = clone(one).set_params(optimizer=None)
    assert_same_model(clone(close).fit(X, y), close.fit(X32, y), X, rtol=1e-4)


def test_memory_maps_are_not_copied(tmp_path):
    """Fitting a float32 memory map allocates less than the map holds, and gives the same model."""
    n, d = 400_000, 8
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=(n, d))
    X[:] = np.random.default_rng(0).uniform(size=(n, d))
    X.flush()
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=(n, d))
    y = np.asarray(X[:, 0], dtype=np.float64)
    model = SVGPRegressor(RBF(np.ones(d)), optimizer=None, n_inducing=5, inducing="random")
    tracemalloc.start()
    try:
        model.set_params(random_state=0).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        model.predict(X)
        peak_predict = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes
    assert peak_predict < X.nbytes
    assert_array_equal(model.predict(X[:9]), clone(model).fit(np.array(X), y).predict(X[:9]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_layout_of_the_inputs_does_not_matter(toy, order):
    """Read-only, Fortran-ordered and strided inputs give the same model, and are not changed."""
    X, y = toy
    wide = np.array(np.column_stack([X, X]), order=order)
    wide.flags.writeable = False
    model = SVGPRegressor(n_inducing=10, max_iter=3, random_state=0)
    view = wide[:, :2]
    assert_same_model(clone(model).fit(X, y), clone(model).fit(view, y), X)
    backwards = X[::-1].copy()[::-1]
    assert_same_model(clone(model).fit(X, y), clone(model).fit(backwards, y), X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(toy, library):
    """Data frames work, their column names are kept, and other names are refused."""
    frames = pytest.importorskip(library)
    X, y = toy
    frame = frames.DataFrame({"place": X[:, 0], "time": X[:, 1]})
    model = fixed().fit(frame, y)
    if not hasattr(model, "feature_names_in_"):
        pytest.skip("this scikit-learn cannot read the names of this library")
    assert model.feature_names_in_.tolist() == ["place", "time"]
    assert_array_equal(model.predict(frame), fixed().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["time", "place"]])
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[["time", "place"]], y)
