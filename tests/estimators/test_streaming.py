"""Streaming estimators: what batches do to them, good and bad."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import (
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,

)
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.streams import batch as _stream
from sklearn_sgp.streams.inducing import most_told, thinned

ALPHAS = pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
FIXED = ConstantKernel(1.5) * RBF(0.8)
SCALING = (0.0, 1.0)


def batches(X, y, *cuts):
    edges = [0, *cuts, len(X)]
    return [(X[lo:hi], y[lo:hi]) for lo, hi in pairwise(edges)]


def taught(model, pieces):
    for piece in pieces:
        model.partial_fit(*piece)
    return model


@pytest.fixture
def line(rng):
    """900 rows of a smooth function, from left to right: X (900, 1) and y (900,)."""
    X = np.sort(rng.uniform(0.0, 9.0, (900, 1)), axis=0)
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(900)


def fixed(**options):
    defaults = {"noise_variance": 0.05, "optimizer": None, "normalize_y": SCALING}
    return StreamingSGPRegressor(FIXED, **{**defaults, **options})


def test_any_split_is_the_batch_model(line):
    X, y = line
    Z = np.linspace(0.0, 9.0, 12)[:, None]
    options = {"noise_variance": 0.05, "optimizer": None, "normalize_y": SCALING, "inducing": Z}
    batch = SVGPRegressor(FIXED, **options).fit(X, y)
    stream = taught(fixed(inducing=Z), batches(X, y, 1, 3, 400, 401))
    assert_allclose(stream.predict(X), batch.predict(X), atol=1e-8)
    assert_allclose(stream.predict_std(X), batch.predict_std(X), rtol=1e-6)
    assert_allclose(stream.log_evidence_, batch.objective_, rtol=1e-6)
    assert stream.n_samples_seen_ == 900
    assert stream.n_steps_ == 5


@ALPHAS
def test_exact_gp_where_there_is_room_for_every_row(alpha, rng):
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


def test_learning_along_a_line(line):
    X, y = line
    model = taught(StreamingSGPRegressor(n_inducing=30), batches(X, y, 300, 450, 451, 700))
    grid = np.linspace(0.2, 8.8, 200)[:, None]
    assert np.sqrt(np.mean((model.predict(grid) - np.sin(2.0 * grid[:, 0])) ** 2)) < 0.04
    assert 0.07 < np.sqrt(model.noise_variance_) * model.y_scale_ < 0.14
    assert np.isfinite(model.log_evidence_)


def test_fit_is_one_pass_in_batches(line):
    X, y = line
    options = {"n_inducing": 20, "max_iter": 5, "random_state": 0}
    whole = StreamingSGPRegressor(init_size=300, batch_size=250, **options).fit(X, y)
    parts = taught(StreamingSGPRegressor(**options), batches(X, y, 300, 550, 800))
    assert_array_equal(whole.predict(X), parts.predict(X))
    assert whole.log_evidence_ == parts.log_evidence_
    assert whole.n_steps_ == 4
    again = whole.fit(X, y)
    assert_array_equal(again.predict(X), parts.predict(X))


def test_rows_of_no_weight_are_no_batches(line):
    X, y = line
    weight = np.r_[np.ones(300), np.zeros(300), np.full(300, 2.0)]
    options = {"n_inducing": 10, "max_iter": 3, "init_size": 100, "batch_size": 100}
    weighted = StreamingSGPRegressor(**options).fit(X, y, sample_weight=weight)
    kept = weight > 0
    left_out = StreamingSGPRegressor(**options).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert_array_equal(weighted.predict(X), left_out.predict(X))
    assert weighted.n_samples_seen_ == 600


@pytest.mark.parametrize("inducing", ["greedy", "kmeans", "random"])
@pytest.mark.parametrize("kind", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_a_saved_stream_goes_on_bit_for_bit(kind, inducing, line):
    X, y = line
    y = y > 0.0 if kind is StreamingSGPClassifier else y
    pieces = batches(X, y, 200, 350, 500, 700)
    model = kind(n_inducing=15, max_iter=4, inducing=inducing, random_state=3)
    taught(model, pieces[:2])
    loaded = pickle.loads(pickle.dumps(model))
    taught(model, pieces[2:])
    taught(loaded, pieces[2:])
    assert_array_equal(loaded.inducing_points_, model.inducing_points_)
    assert_array_equal(loaded.predict(X), model.predict(X))


def test_what_is_carried_does_not_grow(line):
    X, y = line
    model = StreamingSGPRegressor(n_inducing=10, max_iter=2, random_state=0)
    sizes = [
        len(pickle.dumps(model.partial_fit(*piece))) for piece in batches(X, y, *range(30, 900, 30))
    ]
    assert max(sizes[5:]) < 1.1 * sizes[5]


@pytest.mark.parametrize("kind", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_a_bad_batch_leaves_the_stream_as_it_was(kind, line):
    X, y = line
    y = (y > 0.0).astype(float) if kind is StreamingSGPClassifier else y
    model = taught(kind(n_inducing=10, max_iter=3), batches(X[:300], y[:300], 150))
    before = pickle.dumps(model)
    missing = X[300:310].copy()
    missing[4] = np.nan
    for bad_X, bad_y in (
        (missing, y[300:310]),
        (np.hstack([X, X])[300:310], y[300:310]),
        (X[:0], y[:0]),
        (X[300:310], y[300:309]),
    ):
        with pytest.raises(ValueError):
            model.partial_fit(bad_X, bad_y)
        assert pickle.dumps(model) == before
    model.partial_fit(X[300:400], y[300:400])
    assert model.n_samples_seen_ == 400


def test_a_batch_that_cannot_be_learned_from_is_still_added(line, monkeypatch):
    X, y = line
    model = taught(StreamingSGPRegressor(n_inducing=10), batches(X[:400], y[:400]))
    kernel, Z = model.kernel_, model.inducing_points_
    plain = pickle.loads(pickle.dumps(model)).set_params(optimizer=None, inducing=Z)
    plain.partial_fit(X[400:500], y[400:500])

    def fail(*args):
        raise NotPositiveDefiniteError("pivot 3")

    monkeypatch.setattr(_stream, "_learned", fail)
    with pytest.warns(ConvergenceWarning, match="pivot 3"):
        model.partial_fit(X[400:500], y[400:500])
    assert model.kernel_ == kernel
    assert_array_equal(model.inducing_points_, Z)
    assert_allclose(model.predict(X), plain.predict(X), atol=1e-3)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X, y: (X, np.where(np.arange(len(y)) == 7, 1e9, y)),
        lambda X, y: (X, np.full_like(y, 5.0)),
        lambda X, y: (np.ones_like(X), y),
        lambda X, y: (X + 1e6, y),
        lambda X, y: (X[:1], y[:1]),
    ],
    ids=["outlier", "constant", "one place", "far away", "one row"],
)
@pytest.mark.parametrize("when", [0, 1])
def test_odd_batches_do_no_lasting_harm(spoil, when, line):
    X, y = line
    pieces = batches(X, y, 200, 400, 600)
    pieces[when] = spoil(*pieces[when])
    model = StreamingSGPRegressor(n_inducing=20, random_state=0)
    for piece in pieces:
        model.partial_fit(*piece)
        mean, std = model.predict(X, return_std=True)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert (std > 0.0).all()


def test_a_constant_stream():
    X = np.linspace(0.0, 1.0, 60)[:, None]
    model = taught(StreamingSGPRegressor(n_inducing=5), batches(X, np.full(60, -3.0), 20, 21))
    assert_allclose(model.predict(X), -3.0, atol=1e-3)


def log_parameters(model):
    noise = model.noise_variance_
    return np.append(model.kernel_.theta, np.log(noise))


def test_a_batch_moves_parameters_no_further_than_it_may(line):
    X, y = line
    model = StreamingSGPRegressor(n_inducing=15, trust_region=0.2, max_iter=50)
    model.partial_fit(X[:500], y[:500])
    for lo in (500, 600, 700):
        before = log_parameters(model)
        model.partial_fit(X[lo : lo + 100], 10.0 * np.cos(9.0 * y[lo : lo + 100]))
        moved = log_parameters(model) - before
        assert np.abs(moved[:-1]).max() <= 0.2 + 1e-9
        assert -0.2 - 1e-9 <= moved[-1] <= 5.0 * 0.2 + 1e-9
        assert np.abs(moved).max() > 0.1  # they want to go far


def test_more_rows_than_before_may_move_them_further(line):
    X, y = line
    model = StreamingSGPRegressor(n_inducing=15, trust_region=0.1)
    model.partial_fit(X[:4], y[:4])
    before = log_parameters(model)
    model.partial_fit(X[4:], y[4:])
    assert np.abs(log_parameters(model) - before).max() > 0.2


@pytest.mark.parametrize("kind", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_a_stream_begins_anew_until_it_has_enough_rows(kind, line):
    X, y = line
    y = y if kind is StreamingSGPRegressor else y > 0.0
    order = np.random.default_rng(1).permutation(len(X))
    X, y = X[order], y[order]
    weight = np.where(np.arange(60) % 7, 1.0, 2.0)
    stream, whole = kind(n_inducing=15), kind(n_inducing=15)
    classes = {} if kind is StreamingSGPRegressor else {"classes": [False, True]}
    evidence = 0.0
    for lo, hi in ((0, 3), (3, 20), (20, 60)):
        stream.partial_fit(X[lo:hi], y[lo:hi], sample_weight=weight[lo:hi], **classes)
        evidence += stream.objective_
    whole.partial_fit(X[:60], y[:60], sample_weight=weight)
    assert stream._beginning is None
    assert (stream.n_steps_, stream.n_samples_seen_) == (3, 60)
    assert_allclose(stream.log_evidence_, evidence, rtol=1e-10)
    assert_allclose(stream.log_evidence_, whole.log_evidence_, rtol=1e-10)
    answer = "predict" if kind is StreamingSGPRegressor else "predict_proba"
    assert_allclose(getattr(stream, answer)(X), getattr(whole, answer)(X), atol=1e-10)
    taught(stream, batches(X[60:], y[60:], 200))
    assert stream.n_steps_ == 5


def test_a_beginning_of_noise_does_not_hide_what_follows(rng):
    """Its kernel says that there is nothing, and is not what later batches begin from."""
    X = np.arange(1200)[:, None] / 40.0
    f = np.where(X[:, 0] < 7.5, 0.0, 2.0 * np.sin(X[:, 0]))
    y = 5.0 + f + 0.3 * rng.standard_normal(1200)
    model = StreamingSGPRegressor(n_inducing=60)
    model.partial_fit(X[:300], y[:300])
    assert not model._signal
    taught(model, batches(X[300:], y[300:], *range(100, 900, 100)))
    assert model._signal
    assert np.sqrt(np.mean((model.predict(X) - 5.0 - f) ** 2)) < 0.25


def test_kernels_are_left_alone_where_nothing_is_learned(rng):
    """Nor is a beginning without a signal a reason to go back to where they started."""
    X = rng.uniform(0.0, 3.0, (300, 1))
    y = rng.standard_normal(300)
    model = taught(StreamingSGPRegressor(n_inducing=20), batches(X, y, 150))
    assert not model._signal
    before = log_parameters(model)
    model.set_params(optimizer=None).partial_fit(X[150:], np.sin(5.0 * X[150:, 0]))
    assert_array_equal(log_parameters(model), before)


def test_a_bad_first_guess_is_not_for_ever(rng):
    X = np.sort(rng.uniform(0.0, 1.0, (300, 1)), axis=0)
    y = np.sin(6.0 * X[:, 0]) + 1e-4 * rng.standard_normal(300)
    model = taught(StreamingSGPRegressor(n_inducing=20), batches(X, y, 2, 5, 150))
    assert_allclose(model.predict(X), y, atol=0.001)


def test_forgetting_follows_a_drift(rng):
    X = rng.uniform(0.0, 5.0, (1600, 1))
    drift = np.repeat(np.arange(8.0), 200)
    y = np.sin(X[:, 0]) + 0.5 * drift + 0.1 * rng.standard_normal(1600)
    error = {}
    for factor in (1.0, 0.3):
        model = fixed(n_inducing=15, forget_factor=factor)
        taught(model, batches(X, y, *range(200, 1600, 200)))
        error[factor] = np.abs(model.predict(X[-200:]) - y[-200:]).mean()
    assert error[0.3] < 0.5 * error[1.0]


def test_inducing_inputs_grow_where_they_are_needed(line):
    X, y = line
    pieces = batches(X, y, 300, 600)
    small = StreamingSGPRegressor(n_inducing=60, min_inducing=3)
    counts = [len(small.partial_fit(*piece).inducing_points_) for piece in pieces]
    assert 3 <= counts[0] < counts[1] < counts[2] < 40
    full = taught(StreamingSGPRegressor(n_inducing=60), pieces)
    assert len(full.inducing_points_) > counts[2]
    grid = np.linspace(0.2, 8.8, 100)[:, None]
    assert_allclose(small.predict(grid), full.predict(grid), atol=0.1)


@pytest.mark.parametrize("inducing", ["greedy", "kmeans", "random"])
def test_inducing_inputs_stay_within_their_number(inducing, line):
    X, y = line
    model = StreamingSGPRegressor(n_inducing=8, inducing=inducing, max_iter=3, random_state=0)
    for piece in batches(X, y, 5, 300, 600):
        model.partial_fit(*piece)
        assert len(model.inducing_points_) <= 8
    assert model.inducing_points_.max() > 6.0  # the far end is covered too


@pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
@pytest.mark.parametrize("kind", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_old_inducing_inputs_stay_where_they_are(kind, optimizer, line):
    X, y = line
    y = y if kind is StreamingSGPRegressor else y > 0.0
    model = kind(n_inducing=12, optimizer=optimizer, max_iter=5)
    first, second, third = batches(X, y, 300, 600)
    model.partial_fit(*first)
    for piece in (second, third):
        old = {float(z) for z in model.inducing_points_[:, 0]}
        new = {float(z) for z in model.partial_fit(*piece).inducing_points_[:, 0]}
        assert len(new & old) >= 3
        learned = new - old
        assert learned
        assert not learned <= {float(x) for x in piece[0][:, 0]}


def test_inducing_inputs_stay_where_the_function_moves(rng):
    X = np.sort(rng.uniform(0.0, 20.0, (1600, 1)), axis=0)
    loud = np.abs(X[:, 0] - 6.0) < 3.0
    f = np.where(loud, 1.0, 0.03) * np.sin(5.0 * X[:, 0])
    y = f + 0.01 * rng.standard_normal(1600)
    model = StreamingSGPRegressor(n_inducing=30)
    taught(model, batches(X, y, *range(200, 1600, 200)))
    Z = model.inducing_points_[:, 0]
    assert np.count_nonzero(np.abs(Z - 6.0) < 3.0) >= 12  # 9 if they were spread evenly
    assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.1


def test_what_tells_most_is_the_naive_definition(rng):
    X, means = rng.uniform(0.0, 5.0, (25, 1)), rng.standard_normal((25, 2))
    K = RBF(0.7)(X) + 1e-6 * np.eye(25)
    chosen = []
    for _ in range(6):
        P = np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen]).T
        variance = np.diagonal(K - P @ K[chosen])
        error = variance + np.mean((means - P @ means[chosen]) ** 2, axis=1)
        error[chosen] = -1.0
        chosen.append(int(np.argmax(error)))
    assert_array_equal(most_told(K, means, 6), np.sort(chosen))


def test_what_tells_nothing_new_is_left_out():
    K = np.ones((4, 4)) + np.diag([0.0, 0.0, 1.0, 0.0])
    assert len(most_told(K, np.zeros((4, 1)), 4)) == 2


def test_thinned_pairs_name_the_same_inducing_inputs():
    Z, old = np.array([[3.0], [1.0], [7.0], [5.0]]), np.array([[1.0], [2.0], [3.0]])
    Z_left, kept = thinned(Z, np.array([[0, 2], [1, 0]]), np.array([1, 2]))
    assert_array_equal(Z_left, [[1.0], [7.0]])
    assert_array_equal(kept, [[0, 0]])
    assert_array_equal(Z_left[kept[:, 0]], old[kept[:, 1]])


def test_units_and_order_of_columns(rng):
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


@pytest.mark.parametrize("seed", range(40))
def test_random_streams_end_finite(seed):
    """Batches of 1 to 200 rows, repeated rows, length scales and noise of any size."""
    rng = np.random.default_rng(seed)
    d, domain = int(rng.integers(1, 4)), 10.0 ** rng.uniform(-2.0, 3.0)
    scale = domain * 10.0 ** rng.uniform(-3.0, 3.0)
    sizes = rng.integers(1, 201, 5)
    X = rng.uniform(0.0, domain, (sizes.sum(), d))
    if seed % 2:
        X = X[rng.integers(0, len(X) // 3 + 1, len(X))]
    if seed % 3 == 0:
        X = X[np.argsort(X[:, 0])]
    phase = X @ rng.standard_normal((d, 50)) / scale + rng.uniform(0.0, 6.3, 50)
    y = np.cos(phase) @ rng.standard_normal(50) / 5.0
    y += 10.0 ** rng.uniform(-6.0, 1.0) * rng.standard_normal(len(X))
    alpha = float(rng.choice([0.0, 0.5, 1.0]))
    model = StreamingSGPRegressor(n_inducing=25, alpha_divergence=alpha, max_iter=6)
    for piece in batches(X, 1e3 * y, *np.cumsum(sizes)[:-1]):
        model.partial_fit(*piece)
        mean, std = model.predict(rng.uniform(0.0, domain, (50, d)), return_std=True)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert np.isfinite(model.log_evidence_)


def test_other_likelihoods(line, rng):
    X, y = line
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


def test_outputs_share_a_kernel(line):
    X, y = line
    both = np.column_stack([y, 100.0 - 20.0 * y])
    model = taught(StreamingSGPRegressor(n_inducing=20), batches(X, both, 300, 600))
    mean = model.predict(X)
    assert mean.shape == (900, 2)
    assert_allclose(mean[:, 1], 100.0 - 20.0 * mean[:, 0], atol=0.1)


def test_optimizers_and_limits(line):
    X, y = line
    pieces = batches(X, y, 300, 600)
    adam = taught(StreamingSGPRegressor(n_inducing=15, optimizer="adam", max_iter=30), pieces)
    assert adam.score(X, y) > 0.9
    one = taught(StreamingSGPRegressor(n_inducing=15, max_steps=1), pieces[:1])
    kernel = one.kernel_
    assert taught(one, pieces[1:]).kernel_ == kernel
    hasty = taught(StreamingSGPRegressor(n_inducing=15, max_time=1e-9), pieces)
    assert (
        hasty.kernel_
        == taught(StreamingSGPRegressor(n_inducing=15, optimizer=None), pieces).kernel_
    )
    assert len(hasty.objectives_) == 1


def test_warm_start_begins_with_the_last_kernel(line):
    X, y = line
    model = StreamingSGPRegressor(n_inducing=15, warm_start=True).fit(X, y)
    kernel = model.kernel_
    model.set_params(optimizer=None).fit(X, y)
    assert_allclose(model.kernel_.theta, kernel.theta)


def circles(rng, n, labels=("in", "out")):
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, np.where((X**2).sum(axis=1) < 1.5, *labels)


@pytest.mark.parametrize("likelihood", ["auto", "logit", "softmax"])
def test_classes_from_left_to_right(likelihood, rng):
    X, y = circles(rng, 600)
    order = np.argsort(X[:, 0])
    model = StreamingSGPClassifier(likelihood=likelihood, n_inducing=25)
    for part in np.array_split(order, 4):
        model.partial_fit(X[part], y[part], classes=["out", "in"])
    assert_array_equal(model.classes_, ["in", "out"])
    assert model.score(*circles(rng, 500)) > 0.93
    probability = model.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1.0)


def test_one_batch_of_a_classifier_is_the_batch_model(rng):
    X, y = circles(rng, 150)
    Z = rng.uniform(-2.0, 2.0, (12, 2))
    options = {"optimizer": None, "inducing": Z}
    stream = StreamingSGPClassifier(ConstantKernel(4.0) * RBF(1.0), **options)
    batch = SVGPClassifier(ConstantKernel(4.0) * RBF(1.0), **options).fit(X, y)
    stream.partial_fit(X, y)
    assert_allclose(stream.predict_proba(X), batch.predict_proba(X), atol=1e-3)
    assert_allclose(stream.objective_, batch.objective_, atol=1e-2)


def test_labels_that_appear_over_time(rng):
    X, y = circles(rng, 300, labels=(3, 7))
    model = StreamingSGPClassifier(n_inducing=15, max_iter=5)
    model.partial_fit(X[y == 3], y[y == 3], classes=[3, 7, 9])
    model.partial_fit(X, y)
    model.partial_fit(X + 6.0, np.full(300, 9), classes=[3, 7, 9])
    assert set(model.predict(np.vstack([X, X + 6.0]))) == {3, 7, 9}
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="11"):
        model.partial_fit(X, np.full(300, 11))
    with pytest.raises(ValueError, match="first call"):
        model.partial_fit(X, y, classes=[3, 7])
    assert pickle.dumps(model) == before


def test_one_class_is_too_few(rng):
    X, y = circles(rng, 30)
    with pytest.raises(ValueError, match="two classes"):
        StreamingSGPClassifier().partial_fit(X[y == "in"], y[y == "in"])


def test_clones_and_repeats(line):
    X, y = line
    model = StreamingSGPRegressor(n_inducing=10, max_iter=4, random_state=1)
    assert_array_equal(model.fit(X, y).predict(X), clone(model).fit(X, y).predict(X))
