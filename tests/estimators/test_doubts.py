"""Rows of later batches that lack a value which no first row lacked."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import (
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPRegressor,
)

NOISE = 0.04
GIVEN = {
    "kernel": RBF(1.0),
    "noise_variance": NOISE,
    "optimizer": None,
    "normalize_y": False,
    "random_state": 0,
}
KINDS = [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor]


@pytest.fixture
def batches(rng):
    """A batch, and a later one in which a column is silent in every third row."""
    X = rng.uniform(0.0, 4.0, (60, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1] + 0.2 * rng.standard_normal(60)
    later = X[40:].copy()
    later[::3, 0] = np.nan
    return X[:40], y[:40], later, y[40:]


def taught(kind, X, y, later, more):
    """The model, inputs as filled in, and the noise variance of each row, in loops."""
    filled = kind(**GIVEN).partial_fit(X, y)._format.missing.filled(later)
    options = {"inducing": np.vstack([X, filled])} if kind is not AnytimeSGPRegressor else {}
    model = kind(**GIVEN, **options).partial_fit(X, y)
    noise = np.full(60, NOISE)
    for i in np.flatnonzero(np.isnan(later[:, 0])):
        ((_, places),) = model._format.missing.alternatives(filled[[i]], np.array([[True, False]]))
        mean, std = model.predict(places[0], return_std=True, include_noise=False)
        known = model.predict(filled[[i]], return_std=True, include_noise=False)[1][0]
        noise[40 + i] += max(np.var(mean) + np.mean(std**2) - known**2, 0.0)
    return model.partial_fit(later, more), np.vstack([X, filled]), noise


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_open_is_noise_of_its_row(kind, batches):
    """Mean, deviation and evidence are those of the process with that noise."""
    _, y, _, more = batches
    model, inputs, noise = taught(kind, *batches)
    targets, kernel = np.append(y, more), GIVEN["kernel"]
    covariance = kernel(inputs) + np.diag(noise)
    at = np.column_stack([np.linspace(0.2, 3.8, 9), np.full(9, 2.0)])
    gain = np.linalg.solve(covariance, kernel(inputs, at)).T
    mean, std = model.predict(at, return_std=True, include_noise=False)
    assert_allclose(mean, gain @ targets, atol=1e-5)
    variance = 1.0 - np.sum(gain * kernel(at, inputs), axis=1)
    assert_allclose(std, np.sqrt(variance), atol=1e-4)
    evidence = multivariate_normal(cov=covariance).logpdf(targets)
    told = model.log_evidence_ if kind is StreamingSGPRegressor else model.objective_
    assert_allclose(told, evidence, atol=1e-2)


def test_later_batches_keep_the_constant(batches, rng):
    """Where all blocks are summed anew, too."""
    _, y, _, more = batches
    model, inputs, noise = taught(AnytimeSGPRegressor, *batches)
    new = rng.uniform(0.0, 4.0, (10, 2))
    last = np.sin(2.0 * new[:, 0])
    model.partial_fit(new, last)
    inputs, noise = np.vstack([inputs, new]), np.append(noise, np.full(10, NOISE))
    covariance = GIVEN["kernel"](inputs) + np.diag(noise)
    evidence = multivariate_normal(cov=covariance).logpdf(np.concatenate([y, more, last]))
    assert_allclose(model.objective_, evidence, atol=0.05)


def test_a_gap_does_not_end_what_a_stream_of_classes_keeps(rng):
    """Class after class: one NaN in the second batch, and the kernel was never learned."""
    X = rng.normal(size=(240, 3))
    y = np.repeat(np.arange(4), 60)
    X[:, 0] += 3.0 * y
    model = StreamingSGPClassifier(random_state=0)
    for k in range(4):
        part = X[y == k].copy()
        if k == 1:
            part[3, 2] = np.nan
        model.partial_fit(part, y[y == k], classes=range(4))
    T = rng.normal(size=(200, 3))
    label = rng.integers(0, 4, 200)
    T[:, 0] += 3.0 * label
    assert model.score(T, label) > 0.85


def test_a_gap_does_not_end_what_a_stream_of_numbers_keeps(rng):
    """Its rows are kept, and the stream begins anew with them."""
    X = rng.uniform(0.0, 6.0, (400, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(400)
    X[60, 0] = np.nan
    model, kept = StreamingSGPRegressor(random_state=0), []
    for lo in range(0, 400, 50):
        model.partial_fit(X[lo : lo + 50], y[lo : lo + 50])
        rows = model._fitted.state.initial_rows
        kept.append(0 if rows is None else len(rows.rows))
    assert kept[1] == 100 and kept[2] == 150
    assert np.isfinite(model.log_evidence_)
    grid = np.column_stack([np.linspace(0.2, 5.8, 40), np.full(40, 3.0)])
    assert np.abs(model.predict(grid) - np.sin(2.0 * grid[:, 0])).max() < 0.3


@pytest.mark.filterwarnings("error:Batches should go on")
@pytest.mark.parametrize("options", [{"likelihood": "heteroscedastic"}, {"n_latent": 1}])
def test_a_silent_column_is_no_shift_whatever_the_noise(options, rng):
    """Filled values told a shift where noise is of each row, or outputs are mixed."""
    X = rng.uniform(0.0, 6.0, (500, 2))
    y = 2.0 * np.sin(X[:, 0]) + 0.1 * rng.standard_normal(500)
    y = np.column_stack([y, -y]) if "n_latent" in options else y
    X[400:440, 0] = np.nan
    model = StreamingSGPRegressor(random_state=0, **options)
    for lo in range(0, 500, 50):
        model.partial_fit(X[lo : lo + 50], y[lo : lo + 50])
    assert model.n_shifts_ == 0


@pytest.mark.parametrize("first", [1, 40])
def test_columns_that_had_one_value_are_filled_by_what_came_later(first, rng):
    """A stream that began with one row filled gaps with its values for ever, as if known."""
    X = rng.uniform(0.0, 6.0, (300, 2))
    y = 2.0 * np.sin(X[:, 0]) + 0.1 * rng.standard_normal(300)
    X[:first, 0] = 0.5
    model = StreamingSGPRegressor(random_state=0).partial_fit(X[:first], y[:first])
    for lo in range(first, 300, 50):
        model.partial_fit(X[lo : lo + 50], y[lo : lo + 50])
    known = model.predict([[3.0, 3.0]], return_std=True)[1]
    lacking = model.predict([[np.nan, 3.0]], return_std=True)[1]
    assert lacking > 1.0 and lacking > 1.5 * known


def test_rows_in_doubt_do_not_begin_a_short_stream(rng):
    """In the first 25 rows filled values counted as known."""
    X = rng.uniform(0.0, 6.0, (72, 2))
    y = 2.0 * np.sin(X[:, 0]) + 0.05 * rng.standard_normal(72)
    one, other = X.copy(), X.copy()
    one[12:20, 0] = np.nan
    models = [StreamingSGPRegressor(random_state=0) for _ in range(2)]
    for lo in range(0, 72, 12):
        models[0].partial_fit(one[lo : lo + 12], y[lo : lo + 12])
        skip = 8 if lo == 12 else 0
        models[1].partial_fit(other[lo + skip : lo + 12], y[lo + skip : lo + 12])
    assert_allclose(models[0].noise_variance_, models[1].noise_variance_, rtol=0.2)


def test_rows_in_doubt_do_not_begin_a_short_stream_of_classes(rng):
    """Nothing says how much is known of their labels' rows: they are left out beside whole ones."""
    X = rng.uniform(0.0, 6.0, (72, 2))
    y = (np.sin(X[:, 0]) > 0.0).astype(int)
    one = X.copy()
    one[12:20, 0] = np.nan
    models = [StreamingSGPClassifier(n_inducing=20, random_state=0) for _ in range(2)]
    for lo in range(0, 72, 12):
        models[0].partial_fit(one[lo : lo + 12], y[lo : lo + 12], classes=[0, 1])
        skip = 8 if lo == 12 else 0
        models[1].partial_fit(X[lo + skip : lo + 12], y[lo + skip : lo + 12], classes=[0, 1])
    assert_allclose(models[0].predict_proba(X), models[1].predict_proba(X), atol=0.05)


def test_evidence_of_rows_in_doubt_has_no_unit():
    """Batches lost up to 13 times the logarithm of the unit, and the next ones won it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (160, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(160)
    X[80:, 1][::3] = np.nan
    models = [StreamingSGPRegressor(random_state=0) for _ in range(2)]
    for lo in range(0, 160, 20):
        for model, unit in zip(models, (1.0, 1e4), strict=True):
            model.partial_fit(X[lo : lo + 20], unit * y[lo : lo + 20])
        weight = (models[0].objective_ - models[1].objective_) / np.log(1e4)
        assert 13.0 < weight < 20.1  # 6 or 7 rows are in doubt, and count for something


@pytest.mark.parametrize(("first", "batch"), [(60, 60), (20, 100)])
def test_a_stream_learns_on_where_a_column_stays_silent(first, batch, rng):
    """Its first rows were kept, and with every batch it was made of these alone again."""
    t = np.arange(840) / 60.0
    X = np.column_stack([t, rng.normal(size=840)])
    y = np.sin(t) + 0.1 * rng.standard_normal(840)
    X[first:, 1] = np.nan
    model = StreamingSGPRegressor(random_state=0).partial_fit(X[:first], y[:first])
    for lo in range(first, 840, batch):
        model.partial_fit(X[lo : lo + batch], y[lo : lo + batch])
    assert model.n_samples_seen_ == 840
    at = np.column_stack([t, np.zeros(840)])
    assert np.sqrt(np.mean((model.predict(at) - np.sin(t)) ** 2)) < 0.05


@pytest.mark.parametrize("share", [0.1, 0.7])
def test_rows_in_doubt_are_kept_with_what_is_known_of_them(share, rng):
    """They were lost where a stream was made of its first rows, and counted in its objective."""
    X = rng.uniform(0.0, 6.0, (350, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(350)
    X[50:, 1][rng.uniform(size=300) < share] = np.nan
    model = StreamingSGPRegressor(random_state=0)
    for lo in range(0, 350, 50):
        model.partial_fit(X[lo : lo + 50], y[lo : lo + 50])
        assert model.n_samples_seen_ == lo + 50
    kept = model._fitted.state.initial_rows.rows
    assert len(kept) == 350
    assert 0.8 * 350 < kept.total_weight < 350.0


def test_evidence_of_rows_in_doubt_is_that_of_their_weights(rng):
    """However a stream came to its rows, the sum of its objectives is a bound of all of them."""
    X = rng.uniform(0.0, 6.0, (200, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(200)
    X[100:, 1][::3] = np.nan
    model = StreamingSGPRegressor(random_state=0)
    for lo in range(0, 200, 20):
        model.partial_fit(X[lo : lo + 20], y[lo : lo + 20])
    rows, fitted = model._fitted.state.initial_rows.rows, model._fitted
    scaled = ((rows.y.ravel() - fitted.targets.mean) / fitted.targets.scale).ravel()
    noise = float(np.ravel(fitted.noise_variance)[0])
    covariance = fitted.parameters.kernel.gram(np.ascontiguousarray(rows.X, dtype=float))
    weight = rows.weights[0]
    covariance = covariance + np.diag(noise / weight)
    evidence = multivariate_normal(cov=covariance).logpdf(scaled)
    # rows of a weight are so many observations
    evidence += 0.5 * np.sum((1.0 - weight) * np.log(2.0 * np.pi * noise) - np.log(weight))
    evidence -= weight.sum() * np.log(float(np.ravel(fitted.targets.scale)[0]))
    assert_allclose(model.log_evidence_, evidence, atol=3.0)


def test_rows_that_come_alone_say_how_columns_vary(rng):
    """Gaps of a stream that began row by row had the first row's values for ever, as if known."""
    X = rng.uniform(0.0, 6.0, (90, 2))
    y = 2.0 * np.sin(X[:, 0]) + 0.1 * rng.standard_normal(90)
    X[5:, 0][rng.uniform(size=85) < 0.2] = np.nan
    model = StreamingSGPRegressor(random_state=0)
    for i in range(90):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    lacking = model.predict([[np.nan, 3.0]], return_std=True)[1]
    assert 1.0 < lacking < 2.5
    assert model.noise_variance_ < 0.1
