"""StreamingSGPRegressor(n_latent=Q): batches of outputs that mix latent functions."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import StreamingSGPRegressor, SVGPRegressor

MIXING = np.array([[1.0, 0.3], [0.8, -0.5], [-0.2, 1.0]])
SCALE, CENTRE, NOISE = np.array([1.0, 20.0, 0.1]), np.array([0.0, 100.0, 3.0]), 0.2
Z = np.linspace(0.0, 6.0, 12)[:, None]


@pytest.fixture(scope="module")
def data():
    """600 rows from left to right, 60 % of whose targets are not there, and the functions."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 6.0, (600, 1)), axis=0)
    f = CENTRE + SCALE * (np.hstack([np.sin(2.0 * X), np.cos(3.1 * X + 1.0)]) @ MIXING.T)
    y = f + SCALE * NOISE * rng.standard_normal(f.shape)
    seen = rng.random(y.shape) < 0.4
    seen[~seen.any(axis=1), 0] = True
    return X, np.where(seen, y, np.nan), f


@pytest.fixture(scope="module")
def model(data):
    return StreamingSGPRegressor(
        n_latent=2, n_inducing=40, init_size=100, batch_size=100, random_state=0
    ).fit(*data[:2])


def error(model, X, f):
    return np.sqrt(np.mean(((model.predict(X) - f) / SCALE) ** 2, axis=0))


@pytest.mark.slow
def test_outputs_share_strength(data, model):
    """Functions in their order, gaps among them: each output is ahead of a stream of its own."""
    X, y, f = data
    alone = []
    for p in range(3):
        own = StreamingSGPRegressor(n_inducing=40, random_state=0)
        for lo in range(0, 600, 100):
            rows = lo + np.flatnonzero(~np.isnan(y[lo : lo + 100, p]))
            own.partial_fit(X[rows], y[rows, p])
        alone.append(np.sqrt(np.mean(((own.predict(X) - f[:, p]) / SCALE[p]) ** 2)))
    ours = error(model, X, f)
    assert ours.max() < 0.07
    assert ours.mean() < 0.9 * np.mean(alone)
    assert model.n_steps_ == 6
    assert model.mixing_.shape == (3, 2)
    deviation = np.sqrt(model.noise_variance_) * model.y_scale_
    assert_allclose(deviation, SCALE * NOISE, rtol=0.25)


@pytest.mark.parametrize("size", [30, 170])
def test_any_split_with_fixed_parameters_is_one_batch(data, size):
    """Kernel, noise, mixing, scaling and Z held: the posterior is that of all rows at once."""
    X, y, _ = data
    options = {"inducing": Z, "noise_variance": 0.05, "normalize_y": (tuple(CENTRE), tuple(SCALE))}
    learned = StreamingSGPRegressor(RBF(0.5), n_latent=2, init_size=600, max_iter=3, **options)
    learned.fit(X, y).set_params(optimizer=None, warm_start=True)
    whole, split = pickle.loads(pickle.dumps(learned)), pickle.loads(pickle.dumps(learned))
    whole.fit(X, y)
    split.set_params(init_size=size, batch_size=size).fit(X, y)
    assert_array_equal(split.mixing_, whole.mixing_)
    assert split.n_steps_ == -(-600 // size)
    assert_allclose(split.predict(X) / SCALE, whole.predict(X) / SCALE, rtol=1e-8, atol=1e-8)
    assert_allclose(split.predict_std(X), whole.predict_std(X), rtol=1e-7)
    assert_allclose(split.log_evidence_, whole.log_evidence_, atol=1e-5)


def test_one_batch_is_the_batch_estimator(data):
    """At the same parameters the posterior and the bound are those of SVGPRegressor."""
    X, y, _ = data
    options = {"n_latent": 2, "inducing": Z, "optimizer": None, "noise_variance": 0.05}
    stream = StreamingSGPRegressor(RBF(0.5), init_size=600, **options).fit(X, y)
    batch = SVGPRegressor(RBF(0.5), **options).fit(X, y)
    assert_allclose(stream.objective_, batch.objective_, rtol=1e-5)
    for ours, theirs in zip(
        stream.predict(X, return_std=True), batch.predict(X, return_std=True), strict=True
    ):
        assert_allclose(ours / SCALE, theirs / SCALE, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_predictions_and_pickles(data, model):
    """All predictions are there, joint over outputs; a pickle goes on as the stream does."""
    X, y, _ = data
    mean, cov = model.predict(X[:4], return_cov=True)
    assert cov.shape == (4, 4, 3, 3)
    rows, outputs = np.arange(4)[:, None], np.arange(3)
    assert_allclose(cov[rows, rows, outputs, outputs], model.predict_std(X[:4]) ** 2, rtol=1e-8)
    drawn = model.sample_y(X[:4], 4000, random_state=0)
    assert_allclose(drawn.mean(axis=2) / SCALE, mean / SCALE, atol=0.03)
    functions = model.sample_functions(2000, random_state=0)(X[:4])
    assert_allclose(functions.mean(axis=2) / SCALE, mean / SCALE, atol=0.03)
    assert np.isfinite(model.log_density(X, y)).all()
    again = pickle.loads(pickle.dumps(model))
    one, two = (some.partial_fit(X[:50], y[:50]) for some in (again, clone(model).fit(X, y)))
    assert_allclose(one.predict(X), two.predict(X), rtol=1e-6)


def test_a_stream_that_begins_with_few_rows(data):
    """It begins anew until it has 25 rows, with outputs that are not all there."""
    X, y, f = data
    order = np.random.default_rng(0).permutation(600)
    X, y, f = X[order], y[order], f[order]
    y[0] = f[0]
    model = StreamingSGPRegressor(n_latent=1, n_inducing=30, random_state=0)
    for lo, hi in ((0, 10), (10, 20), (20, 60), (60, 300)):
        model.partial_fit(X[lo:hi], y[lo:hi])
    assert model.n_samples_seen_ == 300
    assert error(model, X, f)[:2].max() < 0.5


def test_a_broken_reading_is_told(data, model):
    """One output of a row is hopeless, another is not there."""
    X, _, f = data
    broken, X_new = f[300:320].copy(), X[300:320]
    broken[5] = [np.nan, 1e6, f[305, 2]]
    stream = pickle.loads(pickle.dumps(model))
    with pytest.warns(UserWarning, match="Got 1 of 20 rows"):
        stream.partial_fit(X_new, broken)


def test_what_is_not_there_is_refused(data):
    """Errors name what must hold, and a batch that is refused changes nothing."""
    X, y, _ = data
    with pytest.raises(ValueError, match="'alpha_divergence' parameter must be 0 with n_latent"):
        StreamingSGPRegressor(n_latent=1, alpha_divergence=0.5).fit(X, y)
    with pytest.raises(ValueError, match="not Gaussian noise"):
        StreamingSGPRegressor(n_latent=1, likelihood="student_t").fit(X, y)
    late = y.copy()
    late[:100, 0], late[:100, 1] = data[2][:100, 0], np.nan
    with pytest.raises(ValueError, match=r"first batch.*column \[1\].*init_size"):
        StreamingSGPRegressor(n_latent=1, init_size=100).fit(X, late)
    model = StreamingSGPRegressor(n_latent=1, init_size=100, max_iter=2).fit(X[:200], y[:200])
    before = model.predict(X)
    assert model.partial_fit(X[:5], np.full((5, 3), np.nan)).n_missing_ == 5
    with pytest.raises(ValueError, match="n_latent must stay"):
        model.set_params(n_latent=2).partial_fit(X, y)
    assert_array_equal(model.predict(X), before)


def test_an_output_that_is_rare_later(data):
    """Batches without an output leave what is known of it to the others."""
    X, _, f = data
    order = np.random.default_rng(1).permutation(600)
    X, f = X[order], f[order]
    y = f + 0.1 * SCALE * np.random.default_rng(2).standard_normal(f.shape)
    y[100:, 2] = np.nan
    model = StreamingSGPRegressor(n_latent=2, n_inducing=30, init_size=100, random_state=0)
    model.set_params(batch_size=250).fit(X, y)
    assert error(model, X, f).max() < 0.1


def test_a_constant_output(data):
    """It keeps its value, and its scale is its size."""
    X, _, f = data
    y = np.column_stack([f[:, 0], np.full(600, 7.0)])
    y[::3, 1] = np.nan
    model = StreamingSGPRegressor(n_latent=1, n_inducing=30, init_size=200, random_state=0)
    model.fit(X, y)
    assert_allclose(model.predict(X)[:, 1], 7.0, atol=0.2)
    assert model.y_scale_[1] == 7.0


@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor])
def test_a_batch_observed_in_rows_of_weight_zero_only(estimator):
    """There is nothing to learn from, and the estimator stays as it was."""
    X = np.linspace(0.0, 1.0, 60)[:, None]
    y = np.hstack([np.sin(5.0 * X), np.cos(5.0 * X)])
    model = estimator(n_latent=1, n_inducing=5, optimizer=None).partial_fit(X, y)
    before, weight = model.predict(X), np.repeat([0.0, 1.0], 30)
    y[30:] = np.nan
    with pytest.raises(ValueError, match="in a row of positive weight"):
        model.partial_fit(X, y, sample_weight=weight)
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("n_latent", [1, 3])
def test_a_short_batch_where_no_column_varies(n_latent, rng):
    """Two rows after a batch at one place are learned: their mean moves that of each output."""
    X, y = np.ones((32, 2)), rng.normal([0.0, 5.0, -1.0], [0.1, 1.0, 10.0], (32, 3))
    model = StreamingSGPRegressor(n_latent=n_latent, n_inducing=5, random_state=0)
    model.partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    assert (np.abs(model.predict(X[:1]) - y.mean(axis=0)) < [[0.1, 1.0, 10.0]]).all()


@pytest.mark.parametrize("batches", [1, 5])
@pytest.mark.parametrize("shares_rows", [True, False])
def test_an_output_that_ends_early_follows_the_other(batches, shares_rows):
    """Its own mean is that of other places: it was off by 2.5 deviations where it is not there.

    Also where no row has both: one is there in the even pieces of the first two thirds.
    """
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 10.0, (200, 1)), axis=0)
    f = np.sin(X[:, 0]) + 0.5 * np.sin(2.3 * X[:, 0])
    complete = np.column_stack([f, 3.0 - 2.0 * f])
    y, gap = complete + 0.1 * rng.standard_normal((200, 2)), X[:, 0] > 6.5
    y[gap, 1] = np.nan
    if not shares_rows:
        even = (4.0 * X[:, 0]).astype(int) % 2 == 0
        y[~gap & even, 0], y[~gap & ~even, 1] = np.nan, np.nan
    model = StreamingSGPRegressor(n_latent=1, random_state=0)
    for rows in np.array_split(rng.permutation(200), batches):
        model.partial_fit(X[rows], y[rows])
    mean, std = model.predict(X, return_std=True)
    error = np.abs(mean - complete)[gap, 1]
    assert error.mean() < 0.1 and np.mean(error < 2.0 * std[gap, 1]) > 0.9
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[:40], y[:40])
    assert np.abs(again.predict(X) - complete)[gap, 1].mean() < 0.1
