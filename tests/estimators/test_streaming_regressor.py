"""StreamingSGPRegressor: the batch model in pieces, and what it learns along the way."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from stream_helpers import FIXED, SCALING, batches, fixed, in_units, make_line, taught

from sklearn_sgp import (
    StreamingSGPRegressor,
    SVGPRegressor,
)
from sklearn_sgp.engines.streams.plan import first_step

# Nothing learned


def test_any_split_is_the_batch_model(rng):
    """At fixed kernel and Z the posterior and its evidence are those of one batch, however cut."""
    X, y = make_line(rng)
    Z = np.linspace(0.0, 9.0, 12)[:, None]
    options = {"noise_variance": 0.05, "optimizer": None, "normalize_y": SCALING, "inducing": Z}
    batch = SVGPRegressor(FIXED, **options).fit(X, y)
    stream = taught(fixed(inducing=Z), batches(X, y, 1, 3, 400, 401))
    assert_allclose(stream.predict(X), batch.predict(X), atol=1e-8)
    assert_allclose(stream.predict_std(X), batch.predict_std(X), rtol=1e-6)
    assert_allclose(stream.log_evidence_, batch.objective_, rtol=1e-6)
    assert stream.n_samples_seen_ == 900
    assert stream.n_steps_ == 5


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_exact_gp_where_there_is_room_for_every_row(alpha, rng):
    """With an inducing input at every row predictions and evidence are the exact GP's."""
    X = rng.uniform(-2.0, 2.0, (40, 1))
    y = np.sin(3.0 * X[:, 0]) + 0.2 * rng.standard_normal(40)
    kernel = ConstantKernel(1.5) * RBF(0.1)  # short, so that every row is worth its place
    options = {"noise_variance": 0.05, "optimizer": None, "normalize_y": SCALING}
    stream = StreamingSGPRegressor(kernel, alpha_divergence=alpha, n_inducing=40, **options)
    taught(stream, batches(X, y, 10, 11, 30))
    exact = GaussianProcessRegressor(kernel, alpha=0.05, optimizer=None).fit(X, y)
    grid = np.linspace(-2.5, 2.5, 50)[:, None]
    mean, std = exact.predict(grid, return_std=True)
    assert_allclose(stream.predict(grid), mean, atol=1e-4)
    assert_allclose(stream.predict_std(grid, include_noise=False), std, atol=1e-4)
    assert_allclose(stream.log_evidence_, exact.log_marginal_likelihood_value_, rtol=1e-4)


def test_rows_of_no_weight_are_no_batches(rng):
    """Rows of weight zero count for nothing, not even as batches."""
    X, y = make_line(rng)
    weight = np.r_[np.ones(300), np.zeros(300), np.full(300, 2.0)]
    options = {"n_inducing": 10, "max_iter": 3, "init_size": 100, "batch_size": 100}
    weighted = StreamingSGPRegressor(**options).fit(X, y, sample_weight=weight)
    kept = weight > 0
    left_out = StreamingSGPRegressor(**options).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert_array_equal(weighted.predict(X), left_out.predict(X))
    assert weighted.n_samples_seen_ == 600


def test_fit_is_one_pass_in_batches(rng):
    """fit is partial_fit of the same batches, bit for bit, and forgets what was before."""
    X, y = make_line(rng)
    options = {"n_inducing": 20, "max_iter": 5, "random_state": 0}
    whole = StreamingSGPRegressor(init_size=300, batch_size=250, **options).fit(X, y)
    parts = taught(StreamingSGPRegressor(**options), batches(X, y, 300, 550, 800))
    assert_array_equal(whole.predict(X), parts.predict(X))
    assert whole.log_evidence_ == parts.log_evidence_
    assert whole.n_steps_ == 4
    again = whole.fit(X, y)
    assert_array_equal(again.predict(X), parts.predict(X))


def test_clones_and_repeats(rng):
    """A second fit and a clone's give the same bits."""
    X, y = make_line(rng)
    model = StreamingSGPRegressor(n_inducing=10, max_iter=4, random_state=1)
    assert_array_equal(model.fit(X, y).predict(X), clone(model).fit(X, y).predict(X))


# Learning


def test_learning_along_a_line(rng):
    """A stream from left to right ends with the function, the noise and no blind spots."""
    X, y = make_line(rng)
    model = taught(StreamingSGPRegressor(n_inducing=30), batches(X, y, 300, 450, 451, 700))
    grid = np.linspace(0.2, 8.8, 200)[:, None]
    assert np.sqrt(np.mean((model.predict(grid) - np.sin(2.0 * grid[:, 0])) ** 2)) < 0.04
    assert 0.07 < np.sqrt(model.noise_variance_) * model.y_scale_ < 0.14
    assert np.isfinite(model.log_evidence_)


def test_forgetting_is_a_weight_that_fades(rng):
    """With given Z a batch that is k batches old counts with weight forget_factor^k."""
    X, y = make_line(rng)
    Z = np.linspace(0.0, 9.0, 12)[:, None]
    stream = taught(fixed(inducing=Z, forget_factor=0.4), batches(X, y, 300, 500))
    weight = np.repeat([0.16, 0.4, 1.0], [300, 200, 400])
    options = {"noise_variance": 0.05, "optimizer": None, "normalize_y": SCALING, "inducing": Z}
    batch = SVGPRegressor(FIXED, **options).fit(X, y, sample_weight=weight)
    assert_allclose(stream.predict(X), batch.predict(X), atol=1e-8)
    assert_allclose(stream.predict_std(X), batch.predict_std(X), rtol=1e-6)


def test_forgetting_follows_a_drift(rng):
    """With forget_factor below 1 a level that moves is followed."""
    X = rng.uniform(0.0, 5.0, (1600, 1))
    drift = np.repeat(np.arange(8.0), 200)
    y = np.sin(X[:, 0]) + 0.5 * drift + 0.1 * rng.standard_normal(1600)
    error = {}
    for factor in (1.0, 0.3):
        model = fixed(n_inducing=15, forget_factor=factor)
        taught(model, batches(X, y, *range(200, 1600, 200)))
        error[factor] = np.abs(model.predict(X[-200:]) - y[-200:]).mean()
    assert error[0.3] < 0.5 * error[1.0]


def test_units_and_order_of_columns(rng):
    """Units of X and y and the order of columns change predictions by no more than tolerances."""
    X = rng.uniform(0.0, 3.0, (500, 2))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(500)
    grid = rng.uniform(0.0, 3.0, (100, 2))
    plain = taught(StreamingSGPRegressor(n_inducing=30), batches(X, y, 200, 350))
    unit = np.array([1e3, 1e-2])
    other = taught(
        StreamingSGPRegressor(n_inducing=30), batches((X * unit)[:, ::-1], 50.0 * y - 7.0, 200, 350)
    )
    mean, std = plain.predict(grid, return_std=True)
    again, std_again = other.predict((grid * unit)[:, ::-1], return_std=True)
    assert_allclose((again + 7.0) / 50.0, mean, atol=1e-3 * std.min())
    assert_allclose(std_again / 50.0, std, rtol=1e-3)


def test_other_likelihoods(rng):
    """Counts and spoilt targets are learned from; a power other than 0 is refused."""
    X, y = make_line(rng)
    counts = rng.poisson(np.exp(1.0 + np.sin(X[:, 0])))
    model = StreamingSGPRegressor(likelihood="poisson", n_inducing=15)
    taught(model, batches(X, counts, 300, 600))
    assert np.corrcoef(model.predict(X), np.exp(1.0 + np.sin(X[:, 0])))[0, 1] > 0.95
    spoilt = np.where(rng.random(900) < 0.05, 30.0, y)
    model = StreamingSGPRegressor(likelihood="student_t", n_inducing=25)
    taught(model, batches(X, spoilt, 300, 600))
    assert np.median(np.abs(model.predict(X) - np.sin(2.0 * X[:, 0]))) < 0.06
    with pytest.raises(ValueError, match="alpha_divergence"):
        StreamingSGPRegressor(likelihood="poisson", alpha_divergence=0.5).fit(X, counts)


def test_outputs_share_a_kernel(rng):
    """Outputs that are multiples of each other have predictions that are."""
    X, y = make_line(rng)
    both = np.column_stack([y, 100.0 - 20.0 * y])
    model = taught(StreamingSGPRegressor(n_inducing=20), batches(X, both, 300, 600))
    mean = model.predict(X)
    assert mean.shape == (900, 2)
    assert_allclose(mean[:, 1], 100.0 - 20.0 * mean[:, 0], atol=0.1)


def test_optimizers_and_limits(rng):
    """Adam learns too; max_steps and max_time end learning, not the posterior."""
    X, y = make_line(rng)
    pieces = batches(X, y, 300, 600)
    adam = taught(StreamingSGPRegressor(n_inducing=15, optimizer="adam", max_iter=30), pieces)
    assert adam.score(X, y) > 0.9
    one = taught(StreamingSGPRegressor(n_inducing=15, max_steps=1), pieces[:1])
    before = in_units(one)
    assert_allclose(in_units(taught(one, pieces[1:])), before, rtol=1e-12)
    hasty = taught(StreamingSGPRegressor(n_inducing=15, max_time=1e-9), pieces)
    assert (
        hasty.kernel_
        == taught(StreamingSGPRegressor(n_inducing=15, optimizer=None), pieces).kernel_
    )
    assert len(hasty.objectives_) == 1


def test_warm_start_begins_with_the_last_kernel(rng):
    """warm_start takes the parameters of the stream before."""
    X, y = make_line(rng)
    model = StreamingSGPRegressor(n_inducing=15, warm_start=True).fit(X, y)
    kernel = model.kernel_
    model.set_params(optimizer=None).fit(X, y)
    assert_allclose(model.kernel_.theta, kernel.theta)


def test_a_late_batch_is_a_step_of_learning():
    """A batch of few rows beside those before ends with its first iteration of little gain."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (450, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(450)
    model = StreamingSGPRegressor(ConstantKernel() * RBF(), n_inducing=20, random_state=0)
    n_iter = []
    for rows in np.split(np.arange(450), 15):
        n_iter.append(model.partial_fit(X[rows], y[rows]).n_iter_)
    assert n_iter[-1] - n_iter[-5] <= 16  # it was 24, as many as there may be


def test_the_first_step_of_a_late_batch_loses_no_bit():
    """Units of parameters are powers of two, at most those that there were."""
    for weight in (1e-3, 1.0, 60.0, 1e9):
        step = first_step(weight)
        assert np.frexp(step)[0] == 0.5
        assert step == 1.0 or 0.7 < step / np.sqrt(2.0 / weight) < 1.42
