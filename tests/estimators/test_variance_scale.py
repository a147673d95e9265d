"""A factor of predictive deviations that depends on the input, from left-out rows."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from varying_noise import X_TEST, data, made

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.data.rows import make_rows
from sklearn_sgp.data.varying_noise import varying
from sklearn_sgp.noise import left_out_errors as left_out_noise
from sklearn_sgp.noise.left_out_errors import LeftOutRows, _error_of_log
from sklearn_sgp.noise.row_noise import AS_NEW, RowNoise
from sklearn_sgp.noise.variance_scale import VarianceScale

KERNEL, NOISE = ConstantKernel() * RBF(0.5), 0.09
LEVELS = [0.05, 0.5, 0.95]


def rows_of(model, X, y):
    return make_rows(X, y.reshape(len(X), -1), None, model._fitted.targets)


def simple(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 4.0, (n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(n)


def fixed(model, X, **more):
    shared = {"optimizer": None, "noise_variance": NOISE, "normalize_y": False, **more}
    if model == "svgp":
        return SVGPRegressor(KERNEL, inducing=X, n_inducing=len(X), **shared)
    if model == "fitc":
        shared |= {"inducing": X, "n_inducing": len(X)}
    return AnytimeSGPRegressor(
        KERNEL, model=model, **{"n_inducing": 3, "block_size": 100, "n_neighbors": 60, **shared}
    )


@pytest.mark.parametrize("model", ["svgp", "fitc", "pic", "lma", "vif"])
def test_rows_left_out_follow_from_the_dense_inverse(model):
    """Where a model is exact, each row given all others is y - (W y)_n / W_nn, 1 / W_nn - s2."""
    X, y = simple()
    fitted = fixed(model, X).fit(X, y)
    mean, variance = fitted._fitted.predictor.left_out(rows_of(fitted, X, y))
    W = np.linalg.inv(KERNEL(X) + NOISE * np.eye(len(X)))
    assert np.allclose(mean[:, 0], y - (W @ y) / np.diag(W), atol=1e-6)
    assert np.allclose(variance[:, 0], 1.0 / np.diag(W) - NOISE, atol=1e-6)


@pytest.mark.parametrize("model", ["pic", "fitc", "dtc", "sor"])
def test_a_row_left_out_is_one_that_the_model_never_had(model):
    """The same model, fitted to all other rows, predicts the row that is missing."""
    X, y = simple()
    labels = (X[:, 0] // 1.0).astype(int)
    Z = np.linspace(0.0, 4.0, 6)[:, None]
    new = fixed(model, X, inducing=Z, n_inducing=6)
    inputs = X
    if model == "pic":
        new, inputs = new.set_params(block_column=1), np.column_stack([X, labels])
    fitted = new.fit(inputs, y)
    rows = replace(rows_of(fitted, X, y), labels=labels)
    mean, variance = fitted._fitted.predictor.left_out(rows)
    without = clone(new).fit(inputs[1:], y[1:])
    expected = without.predict(inputs[:1])
    std = without.predict_std(inputs[:1], include_noise=False)
    assert mean[0, 0] == pytest.approx(expected[0], abs=1e-8)
    assert np.sqrt(variance[0, 0]) == pytest.approx(std[0], abs=1e-8)


def test_rows_that_their_cell_does_not_know_are_left_as_they_are():
    """Of near rows some training rows may not be any: they are predicted from others already."""
    X, y = simple(300)
    fitted = fixed("vif", X, n_neighbors=5).fit(X, y)
    predictor = fitted._fitted.predictor
    places = predictor.drawn(len(X), 200, np.random.RandomState(0))
    rows = rows_of(fitted, X, y).select(places)
    _, variance = predictor.left_out(rows, places)
    _, given = predictor.training_moments(rows, places)
    near = [len(predictor.blocks.near([cell])[0]) for cell in predictor.number(rows)]
    assert (variance >= given - 1e-12).all()
    assert max(near) < len(X)


def left_out(likelihood, n=30):
    """Errors of two outputs, in the shape of what a fit learns from."""
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal((n, 2)), rng.uniform(0.1, 2.0, (n, 2))
    fitted = made(likelihood=likelihood).fit(*data(100))
    rows = replace(
        rows_of(fitted, rng.uniform(0.0, 10.0, (n, 1)), mean[:, :1]),
        y=mean + 2.0 * rng.standard_normal((n, 2)),
        y_mean=np.zeros(2),
        y_scale=np.ones(2),
    )
    noise = fitted._fitted.row_noise.noise_at(rows.X, 0.3, 2, 1)
    return fitted.likelihood_, LeftOutRows(rows, mean, variance, noise, np.zeros(mean.shape))


@pytest.mark.parametrize("likelihood", ["heteroscedastic", "heteroscedastic_student_t"])
def test_squares_have_the_slope_of_the_log_density(likelihood):
    """d log p / d log c^2 = -(1 - r / c^2) / 2: weighing components makes each turn raise it."""
    found, rows = left_out(likelihood)
    for log_square in (-1.0, 0.0, 0.7):
        step = 1e-5
        ends = [rows.log_density(found, log_square + s) for s in (-step, step)]
        slope = (ends[1] - ends[0]) / (2.0 * step)
        squares = rows.squares(found, log_square)
        expected = -0.5 * (1.0 - squares / np.exp(log_square)).sum(axis=1)
        assert np.allclose(slope, expected, atol=1e-6)


@pytest.mark.parametrize("likelihood", ["heteroscedastic", "student_t"])
def test_rounding_is_part_of_the_squares(likelihood):
    """Rows that were rounded to intervals of a width are off by a twelfth of its square more."""
    found, rows = left_out(likelihood)
    width = np.full(rows.mean.shape, 0.8)
    residual = rows.rows.targets - rows.mean
    larger = np.copysign(np.sqrt(residual**2 + width**2 / 12.0), residual)
    exact = rows._replace(mean=rows.rows.targets - larger, width=0.0 * width)
    rounded = rows._replace(width=width)
    assert np.allclose(rounded.squares(found, 0.3), exact.squares(found, 0.3), rtol=1e-9)


def test_later_rows_teach_the_function_what_the_constant_leaves(monkeypatch):
    """The function's squares are in units of the constant, from the first batch on."""
    found, rows = left_out("heteroscedastic")

    class Flat:
        def moments_at(self, X, n_jobs):
            return np.zeros((len(X), 1)), np.zeros((len(X), 1))

    seen = []

    def kept(function, of_rows, squares, n_jobs, counting):
        seen.append(squares)
        return function

    monkeypatch.setattr(left_out_noise, "with_squares", kept)
    scale = VarianceScale(np.array([np.log(3.0)]), Flat(), ceiling=0.0)
    noise = RowNoise(found, variance_scale=scale)
    left_out_noise.with_later_rows(noise, rows.rows, rows.mean, rows.variance, 0.2, 1, AS_NEW)
    plain = rows._replace(noise=varying(0.2, rows.mean.shape))
    assert np.allclose(seen, plain.squares(found, np.log(3.0)) / 3.0, rtol=1e-9)


@cache
def varying_fit():
    return made("vif").fit(*data())


def with_factor(model, log_constant, function=None):
    """The model with a factor of its own."""
    changed = pickle.loads(pickle.dumps(model))
    noise = changed._fitted.row_noise
    scale = None if log_constant is None else VarianceScale(np.full(1, log_constant), function)
    noise = replace(noise, variance_scale=scale)
    changed._fitted = replace(changed._fitted, row_noise=noise)
    return changed


@pytest.mark.quick_cases("None", "fitc")
@pytest.mark.parametrize("model", [None, "vif", "fitc"])
def test_a_factor_of_one_changes_no_bit(model):
    """c = 1 is the model without it, in all that is predicted."""
    fitted = made(model).fit(*data())
    plain, one = with_factor(fitted, None), with_factor(fitted, 0.0)
    y = np.sin(X_TEST[:, 0])
    for predicted in (
        lambda m: m.predict(X_TEST, return_std=True),
        lambda m: m.predict(X_TEST, return_cov=True)[1],
        lambda m: m.predict_std(X_TEST, include_noise=False),
        lambda m: m.noise_std(X_TEST),
        lambda m: m.predict_quantiles(X_TEST, LEVELS),
        lambda m: m.log_density(X_TEST, y),
        lambda m: m.sample_y(X_TEST, 3, method="joint"),
    ):
        assert np.array_equal(predicted(plain), predicted(one))


def test_a_factor_of_two_doubles_every_deviation():
    """Means stay; deviations, distances of quantiles and of draws double; covariances times 4."""
    fitted, y = made().fit(*data()), np.sin(X_TEST[:, 0])
    plain, wide = with_factor(fitted, None), with_factor(fitted, np.log(4.0))
    mean, covariance = plain.predict(X_TEST, return_cov=True)
    assert np.array_equal(wide.predict(X_TEST), plain.predict(X_TEST))
    assert np.allclose(wide.predict(X_TEST, return_cov=True)[1], 4.0 * covariance)
    for name in ("noise_std", "predict_std"):
        assert np.allclose(getattr(wide, name)(X_TEST), 2.0 * getattr(plain, name)(X_TEST))
    latent = [m.predict_std(X_TEST, include_noise=False) for m in (plain, wide)]
    assert np.allclose(latent[1], 2.0 * latent[0])
    quantiles = [m.predict_quantiles(X_TEST, LEVELS) - mean[:, None] for m in (plain, wide)]
    assert np.allclose(quantiles[1], 2.0 * quantiles[0])
    half = mean + 0.5 * (y - mean)
    assert np.allclose(wide.log_density(X_TEST, y), plain.log_density(X_TEST, half) - np.log(2.0))
    some = X_TEST[::10]  # whose covariance is well conditioned
    for draw in (
        lambda m: m.sample_y(some, 4, method="joint"),
        lambda m: m.sample_y(some, 4, method="pathwise"),
        lambda m: m.sample_functions(4)(some),
    ):
        draws = [draw(m) - plain.predict(some)[:, None] for m in (plain, wide)]
        assert np.allclose(draws[1], 2.0 * draws[0], atol=1e-6)


def test_a_factor_that_depends_on_the_input_is_a_process():
    """Covariances are c(x) c(x') times those of the function, and variances agree with them."""
    fitted = varying_fit()
    plain = with_factor(fitted, None)
    changed = with_factor(fitted, 0.3, fitted._fitted.row_noise.log_noise)
    factor = changed._fitted.variance_scale.at(X_TEST, 1)[:, 0]
    assert factor.std() > 0.1
    noise = [np.diag(m.noise_std(X_TEST) ** 2) for m in (plain, changed)]
    before, after = (
        m.predict(X_TEST, return_cov=True)[1] - s
        for m, s in zip((plain, changed), noise, strict=True)
    )
    assert np.allclose(after, factor[:, None] * before * factor)
    assert np.allclose(np.diag(noise[1]), factor**2 * np.diag(noise[0]))
    std = changed.predict(X_TEST, return_std=True)[1]
    assert np.allclose(std**2, np.diag(after + noise[1]))


def test_narrower_only_as_far_as_that_is_certain():
    """log c^2 below 0 is a standard error above what was learned, at most 0; above 0 it stays."""
    function = varying_fit()._fitted.row_noise.log_noise
    mean, variance = function.moments_at(X_TEST, 1)
    for constant, error in ((-2.0, 0.1), (0.0, 0.3), (2.0, 0.0)):
        scale = VarianceScale(np.full(1, constant), function, error=np.full(1, error))
        learned = constant + mean
        upper = np.minimum(learned + np.sqrt(variance + error**2), 0.0)
        expected = np.where(learned < 0.0, upper, learned)
        assert np.allclose(scale.log_square(X_TEST, 1), np.clip(expected, -4.605, 4.605), atol=1e-3)
        wider = scale.widened(1.5)
        unclipped = expected < 3.0
        factor = wider.at(X_TEST, 1) / scale.at(X_TEST, 1)
        assert np.allclose(factor[unclipped & (expected > -4.0)], 1.5)
    far = np.array([[1e4]])  # where the rows say nothing
    assert VarianceScale(np.full(1, -0.5), function).at(far, 1) == 1.0


def test_errors_of_constants_are_those_of_squares():
    """The logarithm of a mean of squared errors has the error of that mean over it."""
    squares = np.random.default_rng(0).standard_normal((4000, 2)) ** 2 * [1.0, 9.0]
    error = _error_of_log(squares, np.ones(4000))
    assert np.allclose(error, np.sqrt(2.0 / 4000), rtol=0.1)


def rough(x, rng):
    """A rough process whose amplitude is 0.2 left of 5 and 1 right of it, with noise."""
    order = np.argsort(x)
    keep = np.exp(-np.diff(x[order], prepend=-9.0) / 0.02)
    f, steps = np.empty(len(x)), np.sqrt(1.0 - keep**2) * rng.standard_normal(len(x))
    before = 0.0
    for place, share, step in zip(order, keep, steps, strict=True):
        f[place] = before = share * before + step
    amplitude = 0.2 + 0.8 / (1.0 + np.exp(-3.0 * (x - 5.0)))
    return amplitude * f + 0.05 * rng.standard_normal(len(x))


def calm_and_rough(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 10.0, n)
    return x[:, None], rough(x, rng)


ROUGH = ConstantKernel(0.5) * Matern(0.05, nu=0.5)


@pytest.mark.slow
@pytest.mark.quick_cases("auto")
@pytest.mark.parametrize("likelihood", ["auto", "heteroscedastic"])
def test_bands_are_right_where_the_process_is_calm_and_where_it_is_rough(likelihood):
    """Of 90 % bands of both halves hold 84 to 96 %, without the factor not; densities gain."""
    X, y = calm_and_rough(2500)
    fitted = made("vif", likelihood, kernel=ROUGH, max_iter=10).fit(X[:500], y[:500])
    new, seen = X[500:], y[500:]
    halves = new[:, 0] < 4.0, new[:, 0] > 6.0

    def shares(model):
        low, high = model.predict_quantiles(new, [0.05, 0.95]).T
        inside = (low <= seen) & (seen <= high)
        return [inside[part].mean() for part in halves]

    plain, found = with_factor(fitted, 0.0), shares(fitted)
    assert 0.84 < min(found) <= max(found) < 0.96
    assert shares(plain)[0] > 0.97
    gain = fitted.log_density(new, seen).mean() - plain.log_density(new, seen).mean()
    assert gain > 0.05
    assert fitted.variance_scale_gain_ > 0.05
    low, high = fitted.variance_scale_
    assert low < 0.8 < 1.1 < high


@pytest.mark.quick_cases("heteroscedastic")
@pytest.mark.parametrize("likelihood", ["auto", "heteroscedastic"])
def test_no_factor_where_the_model_is_right(likelihood):
    """Data that the model could have made keep it as it is."""
    fitted = made("vif", likelihood).fit(*data(400))
    assert fitted._fitted.variance_scale is None
    assert fitted.variance_scale_gain_ == 0.0
    assert fitted.variance_scale_ == (1.0, 1.0)


def test_outputs_without_noise_leave_others_their_factor():
    """One output at the least noise turned the factor, and honest bands, off for all of them.

    It has none itself, now or with later batches.
    """
    X, y = calm_and_rough(600)
    Y = np.column_stack([np.zeros(600), y])
    model = made("vif", kernel=ROUGH, max_iter=10).fit(X[:500], Y[:500])
    assert model.variance_scale_gain_ > 0.2  # as of the other output alone
    before = model._fitted.variance_scale.at(X_TEST, 1)
    model.partial_fit(X[500:], Y[500:])
    factor = model._fitted.variance_scale.at(X_TEST, 1)
    assert (before[:, 0] == 1.0).all() and (factor[:, 0] == 1.0).all()
    assert (before[:, 1] != factor[:, 1]).any()
    calm = X_TEST[:, 0] < 4.0
    assert np.median(factor[calm, 1]) < 0.7 < 1.0 <= np.median(factor[~calm, 1])


def test_no_factor_below_the_least_noise():
    """Targets that are a function of the inputs have errors as small as arithmetic allows."""
    X = data(300)[0]
    fitted = made("vif", max_iter=5).fit(X, 2.0 * X[:, 0] + 1.0)
    assert fitted._fitted.variance_scale is None
    assert np.isfinite(fitted.predict_std(X[:5])).all()


@pytest.mark.parametrize("likelihood", ["gaussian", "student_t"])
def test_noise_that_is_asked_to_be_constant_stays_so(likelihood):
    """A likelihood that says that the noise is the same everywhere gets no factor."""
    fitted = made("vif", likelihood, kernel=ROUGH, max_iter=3).fit(*calm_and_rough(400))
    assert fitted._fitted.variance_scale is None
    assert not hasattr(fitted, "variance_scale_gain_")


def test_a_later_batch_moves_the_factor():
    """Where a batch is rougher than all before it, the factor grows there."""
    fitted = made("vif", kernel=ROUGH, max_iter=10).fit(*calm_and_rough(500))
    at = np.array([[2.5]])
    before = fitted._fitted.variance_scale.at(at, 1)
    rng = np.random.default_rng(1)
    more = rng.uniform(2.0, 3.0, (200, 1))
    with pytest.warns(ConvergenceWarning, match="4 predicted standard deviations"):
        fitted.partial_fit(more, 2.0 * rng.standard_normal(200))
    assert fitted._fitted.variance_scale.at(at, 1) > 1.5 * before


def test_a_stream_has_the_factor_too():
    """The first batch decides, later ones move it; a pickle keeps it."""
    X, y = calm_and_rough(800)
    stream = StreamingSGPRegressor(
        ConstantKernel(0.5) * Matern(0.05, nu=1.5),
        likelihood="heteroscedastic",
        n_inducing=60,
        max_iter=5,
        random_state=0,
    )
    stream.partial_fit(X[:500], y[:500])
    assert stream._fitted.variance_scale is not None
    before = stream._fitted.variance_scale.at(X[:20], 1)
    stream.partial_fit(X[500:], y[500:])
    assert (stream._fitted.variance_scale.at(X[:20], 1) != before).any()
    assert stream._fitted.state.places.near is None  # its bands are those of the noise
    kept = pickle.loads(pickle.dumps(stream))
    assert np.array_equal(kept.predict_std(X[:20]), stream.predict_std(X[:20]))


@pytest.mark.slow
def test_each_output_has_a_factor_of_its_own():
    """One output is calm on the left, the other on the right."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10.0, 500)
    Y = np.column_stack([rough(x, rng), rough(10.0 - x, rng)])
    fitted = made("vif", kernel=ROUGH, max_iter=10).fit(x[:, None], Y)
    left, right = fitted._fitted.variance_scale.at(np.array([[2.0], [8.0]]), 1)
    assert left[0] < 0.8 * right[0]
    assert right[1] < 0.8 * left[1]
