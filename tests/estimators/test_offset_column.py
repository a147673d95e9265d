"""A column of X that is added to the function: the logarithm of an exposure."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.pipeline import make_pipeline

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

ESTIMATORS = {
    "variational": SVGPRegressor(n_inducing=12, max_iter=30),
    "near rows": AnytimeSGPRegressor(n_inducing=12, n_neighbors=60, init_size=400, max_iter=15),
    "stream": StreamingSGPRegressor(n_inducing=12, init_size=100, batch_size=100),
}
EVERYWHERE = pytest.mark.parametrize("where", ESTIMATORS)
KERNEL = 1.0 * RBF(1.0)


def counts(n=240, seed=0):
    """Inputs with the logarithm of an exposure as their first column, counts, log rates."""
    rng = np.random.default_rng(seed)
    x, exposure = rng.uniform(0.0, 6.0, n), np.exp(rng.uniform(-2.0, 3.0, n))
    f = 0.5 + np.sin(x)
    return (
        np.column_stack([np.log(exposure), x]),
        rng.poisson(exposure * np.exp(f)).astype(float),
        f,
    )


def model_of(where, **options):
    model = clone(ESTIMATORS[where]).set_params(likelihood="poisson", random_state=0, n_jobs=1)
    return model.set_params(**{"offset_column": 0, **options})


@pytest.mark.quick_cases("variational", "stream")
@EVERYWHERE
def test_rates_are_found_whatever_the_exposure(where):
    """The function is the log rate of one unit of exposure, and counts grow with exposure."""
    X, y, f = counts()
    model = model_of(where).fit(X, y)
    unit = np.column_stack([np.zeros(len(X)), X[:, 1]])
    assert np.sqrt(np.mean((np.log(model.predict(unit)) - f) ** 2)) < 0.15
    assert model.n_features_in_ == 2 and model.inducing_points_.shape[1] == 1
    assert_allclose(model.predict(X), np.exp(X[:, 0]) * model.predict(unit), rtol=1e-9)
    assert_allclose(model.likelihood_.offset, np.log(y.sum() / np.exp(X[:, 0]).sum()), atol=0.01)
    low, high = model.predict_quantiles(X, (0.05, 0.95)).T
    assert np.mean((y >= low) & (y <= high)) > 0.85
    for method in ("joint", *(() if where == "near rows" else ("pathwise",))):
        draws = model.sample_y(X[:30], 500, method=method)
        assert_allclose(draws.mean(axis=1).sum(), model.predict(X[:30]).sum(), rtol=0.1)
    assert_allclose(model.predict_distribution(X).mean(), model.predict(X), rtol=1e-9)
    mean, covariance = model.predict(X[:9], return_cov=True)
    assert_allclose(mean, model.predict(X[:9]), rtol=1e-6)
    assert_allclose(np.sqrt(np.diag(covariance)), model.predict_std(X[:9]), rtol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.log_density(X, y), model.log_density(X, y))


@EVERYWHERE
def test_a_constant_that_is_added_is_a_prior_mean(where):
    """The same number for all rows changes the prior mean, and nothing else."""
    X, y, _ = counts(120)
    options = {"kernel": KERNEL, "inducing": X[::10, 1:], "optimizer": None}
    plain = model_of(where, **options).set_params(offset_column=None).fit(X[:, 1:], y)
    added = model_of(where, **options).fit(np.column_stack([np.full(120, 0.7), X[:, 1]]), y)
    assert_allclose(added.likelihood_.offset, plain.likelihood_.offset - 0.7, rtol=1e-9)
    new = np.column_stack([np.full(120, 0.7), X[:, 1]])
    assert_allclose(added.predict(new), plain.predict(X[:, 1:]), rtol=1e-6)
    assert_allclose(added.objective_, plain.objective_, rtol=1e-7)


def test_of_six_rows_it_is_laplace_of_the_dense_posterior():
    """Where counts are large, the mode of the dense posterior is where the mean is."""
    x = np.linspace(0.0, 5.0, 6)
    offset = np.array([2.0, 4.0, 3.0, 5.0, 2.5, 4.5])
    y = np.rint(np.exp(offset + 1.0 + np.sin(x)))
    K = KERNEL(x[:, None]) + 1e-10 * np.eye(6)
    K_inv = np.linalg.inv(K)
    prior = np.log(y.sum() / np.exp(offset).sum() + 0.5 / np.exp(offset).sum())

    def loss(f):
        log_rate = prior + offset + f
        return -(y * log_rate - np.exp(log_rate) - gammaln(y + 1)).sum() + 0.5 * f @ K_inv @ f

    mode = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-8}).x
    for where in ESTIMATORS:
        options = {"kernel": KERNEL, "inducing": x[:, None], "optimizer": None}
        model = model_of(where, **options).fit(np.column_stack([offset, x]), y)
        found = np.log(model.predict(np.column_stack([np.zeros(6), x])))
        assert_allclose(found, prior + mode, atol=0.03)


@pytest.mark.parametrize("where", ["variational", "near rows"])
def test_weights_are_repetitions_and_rows_differ_by_what_is_added(where):
    """Equal inputs and counts of two exposures are two rows; a weight is a repetition."""
    X, y, _ = counts(60)
    X, y = np.vstack([X, X + [0.5, 0.0]]), np.append(y, y)
    weight = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(120), weight.astype(int))
    model = model_of(where, kernel=KERNEL, inducing=X[:60:6, 1:], optimize_inducing=False)
    one, two = clone(model).fit(X, y, weight), clone(model).fit(X[repeated], y[repeated])
    assert_allclose(one.predict(X), two.predict(X), rtol=1e-5)
    assert_allclose(one.objective_, two.objective_, rtol=1e-6)
    other = clone(model).fit(X[:60], y[:60])
    assert abs(np.log(one.predict(X) / other.predict(X)).mean()) > 0.1


@EVERYWHERE
def test_later_batches_have_it_too(where):
    """Batches of partial_fit end near all rows."""
    X, y, _ = counts(200)
    options = {"kernel": KERNEL, "inducing": X[::20, 1:], "optimizer": None}
    model = model_of(where, **options)
    whole = clone(model).fit(X, y)
    for part in np.array_split(np.arange(200), 4):
        model.partial_fit(X[part], y[part])
    assert_allclose(np.log(model.predict(X)), np.log(whole.predict(X)), atol=0.25)
    with pytest.raises(ValueError, match="offset_column"):
        model.set_params(offset_column=1).partial_fit(X, y)


@EVERYWHERE
def test_too_large_numbers_are_refused(where):
    """Beside inputs they are; in this column they were an exposure of nothing, in silence."""
    X, y, _ = counts(50)
    model = model_of(where, kernel=KERNEL, optimizer=None)
    for spoilt in (-1e300, 1e300):
        X[7, 0] = spoilt
        with pytest.raises(ValueError, match="'offset_column' must hold numbers of at most"):
            model.fit(X, y)


def test_it_goes_through_pipelines_by_name():
    """A name finds the column in a dataframe wherever it is, beside blocks and categories."""
    X, y, _ = counts(150)
    rows = np.arange(150)
    table = pd.DataFrame(
        {"x": X[:, 1], "log_exposure": X[:, 0], "kind": rows % 2, "route": rows % 3}
    )
    model = AnytimeSGPRegressor(
        1.0 * Matern(nu=1.5), likelihood="poisson", model="pic", block_column="route",
        offset_column="log_exposure", categorical_features=["kind"], n_inducing=8, max_iter=3,
        random_state=0,
    )  # fmt: skip
    pipeline = make_pipeline("passthrough", model).fit(table, y)
    fitted = pipeline[-1]
    assert fitted.inducing_points_.shape[1] == 2
    assert_array_equal(fitted.is_categorical_, [False, False, True, False])
    doubled = table.assign(log_exposure=table["log_exposure"] + np.log(2.0))
    assert_allclose(pipeline.predict(doubled), 2.0 * pipeline.predict(table), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "change", "words"),
    [
        ({"likelihood": "gaussian"}, {}, "subtract the column from y"),
        ({"offset_column": 2}, {}, "index of a column of X"),
        ({"offset_column": "exposure"}, {}, "index of a column of X"),
        ({}, {0: np.nan}, "finite numbers"),
        ({}, {0: np.inf}, "finite numbers"),
    ],
)
def test_what_cannot_be_added_is_refused(options, change, words):
    """Likelihoods in units of the targets, columns that are not there, what is no number."""
    X, y, _ = counts(40)
    for row, value in change.items():
        X[row, 0] = value
    with pytest.raises(ValueError, match=words):
        model_of("variational", **options).fit(X, y)


def test_one_column_has_one_job():
    """A column of labels of blocks is not added to the function."""
    X, y, _ = counts(40)
    model = AnytimeSGPRegressor(likelihood="poisson", model="pic", block_column=0, offset_column=0)
    with pytest.raises(ValueError, match="another column"):
        model.fit(np.column_stack([np.arange(40), X]), y)


def test_collections_refuse_it():
    """Chunks have no column that is added, and an error says so."""
    array = pytest.importorskip("dask.array")
    X, y, _ = counts(100)
    model = model_of("variational", max_iter=2)
    with pytest.raises(ValueError, match="offset_column must be None"):
        model.fit(array.from_array(X, 50), array.from_array(y, 50))
    model.fit(X, y)
    with pytest.raises(ValueError, match="offset_column must be None"):
        model.predict(array.from_array(X, 50))


def test_errors_name_columns_by_their_place_in_all_of_them():
    """A column is told by where it stands in X, however many stand before it that are no inputs."""
    X, y, _ = counts(40)
    table = np.column_stack([np.arange(40) % 4, X])
    table[3, 2] = np.inf
    model = AnytimeSGPRegressor(likelihood="poisson", model="pic", block_column=0, offset_column=1)
    with pytest.raises(ValueError, match="column 2"):
        model.fit(table, y)


def test_importances_have_a_place_for_every_column():
    """A column that is added is no input of the function and has no importance."""
    X, y, _ = counts(100)
    for column in (0, 1):
        model = model_of("variational", offset_column=column, max_iter=5)
        model.fit(X if column == 0 else X[:, ::-1], y)
        assert model.feature_importances_.shape == (2,)
        assert_allclose(model.feature_importances_[column], 0.0)


def test_rows_that_are_left_out_have_it_too():
    """What others say of a row's rate is multiplied by its exposure."""
    X, y, _ = counts(200)
    model = model_of("near rows", kernel=KERNEL, inducing=X[::20, 1:], optimizer=None).fit(X, y)
    mean, std = model.leave_one_out()
    near = np.abs(np.log(np.sort(mean) / np.sort(model.predict(X))))
    assert np.median(near) < 0.1 and (std > 0.0).all()


@pytest.mark.parametrize(
    "column",
    [
        np.full(20, 1.0 + 2.0j),
        np.full(20, np.datetime64("2026-01-01", "ns")),
        np.full(20, np.timedelta64(3, "D")),
    ],
    ids=lambda column: str(column.dtype),
)
def test_what_is_no_real_number_is_refused(column):
    """Complex numbers, dates and differences of dates are nothing that could be added."""
    X = pd.DataFrame({"added": column, "x": np.linspace(0.0, 1.0, 20)})
    model = SVGPRegressor(likelihood="poisson", offset_column="added", n_inducing=5)
    with pytest.raises(ValueError, match="must name a column of finite numbers"):
        model.fit(X, np.ones(20))


@pytest.mark.parametrize("where", ["variational", "stream"])
def test_functions_that_are_drawn_have_it(where):
    """As draws of the function by rows: functions that can be evaluated anywhere lost it."""
    X, y, _ = counts(60)
    unit = X * [0.0, 1.0]
    model = model_of(where, kernel=KERNEL, inducing=X[::6, 1:], optimizer=None).fit(X, y)
    functions = model.sample_functions(3, random_state=0)
    by_rows = partial(model.sample_y, n_samples=3, random_state=0, include_noise=False)
    for draw in (functions, by_rows, partial(by_rows, method="pathwise")):
        added = np.repeat(X[:, :1], 3, axis=1)
        assert_allclose(draw(X) - draw(unit), added, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("offset", [0, 1])
def test_gradients_have_the_slope_in_the_offset(offset):
    """It was NaN; E y = exp(offset) E exp(f) has the slope E y, other columns theirs."""
    X, y, _ = counts()
    given = X if offset == 0 else X[:, ::-1]
    model = model_of("variational", offset_column=offset).fit(given, y)
    mean, _, mean_gradient, std_gradient = model.predict(
        given[:1], return_std=True, return_mean_grad=True, return_std_grad=True
    )
    assert_allclose(mean_gradient[offset], mean[0], rtol=1e-7)
    for column, step in enumerate(1e-4 * np.eye(2)):
        low, high = (model.predict(given[:1] + s * step, return_std=True) for s in (-1.0, 1.0))
        slopes = [float((b - a)[0] / 2e-4) for a, b in zip(low, high, strict=True)]
        assert_allclose([mean_gradient[column], std_gradient[column]], slopes, rtol=1e-5)
