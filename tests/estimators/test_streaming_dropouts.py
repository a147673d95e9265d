"""Silent sensors do not end a stream: what was not observed is left out and counted."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils.estimator_checks import _NotAnArray
from slow_variants import slow
from stream_helpers import batches, fixed, taught

from sklearn_sgp import (
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPRegressor,
)

Z = np.linspace(0.0, 6.0, 15)[:, None]
PIECES = (slice(0, 100), slice(100, 150), slice(150, 300))


@pytest.fixture
def data(rng):
    """X, the functions of two sensors, and readings with gaps of each and of both."""
    X = np.sort(rng.uniform(0.0, 6.0, (300, 1)), axis=0)
    f = np.column_stack([np.sin(2.0 * X[:, 0]), 3.0 - 2.0 * np.sin(2.0 * X[:, 0])])
    y = f + 0.1 * rng.normal(size=f.shape)
    y[::3, 0], y[1::4, 1] = np.nan, np.nan
    return X, f, y


@pytest.mark.quick_cases("gaussian")
@pytest.mark.parametrize("likelihood", ["gaussian", slow("student_t"), "heteroscedastic"])
def test_rows_without_a_target_are_left_out(likelihood, data):
    """The stream is that of the other rows, and counts those it left out."""
    X, _, y = data
    weight = np.linspace(0.5, 1.5, 300)
    options = {"likelihood": likelihood, "n_inducing": 15, "max_iter": 3, "random_state": 0}
    some, others = StreamingSGPRegressor(**options), StreamingSGPRegressor(**options)
    for i in PIECES:
        some.partial_fit(X[i], y[i, 0], sample_weight=weight[i])
        seen = ~np.isnan(y[i, 0])
        others.partial_fit(X[i][seen], y[i, 0][seen], sample_weight=weight[i][seen])
    assert_array_equal(some.predict(X), others.predict(X))
    assert some.n_missing_ == 100
    assert others.n_missing_ == 0
    assert some.n_samples_seen_ == 200


def test_independent_sensors_with_gaps_are_each_a_stream_of_its_own(data):
    """With kernel and Z given, two outputs are two streams of what was observed."""
    X, _, y = data
    both = fixed(inducing=Z)
    for i in PIECES:
        both.partial_fit(X[i], y[i])
    mean, std = both.predict(X, return_std=True)
    for c in range(2):
        one = fixed(inducing=Z)
        for i in PIECES:
            one.partial_fit(X[i], y[i, c])
        found, found_std = one.predict(X, return_std=True)
        assert_allclose(mean[:, c], found, atol=1e-10)
        assert_allclose(std[:, c], found_std, atol=1e-10)
    assert both.n_missing_ == np.isnan(y).all(axis=1).sum()


@pytest.mark.quick_cases("0.0-None-0", "1.0-None-100", "1.0-kernel1-0")
@pytest.mark.parametrize("first", [0, 100])
@pytest.mark.parametrize("kernel", [None, ConstantKernel() * RBF() + WhiteKernel()])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_sensors_with_gaps_are_learned(kernel, first, alpha, data):
    """Gaps from the first batch on or later, with a noise of each output or one for both."""
    X, f, y = data
    order = np.random.default_rng(0).permutation(300)
    X, f, y = X[order], f[order], y[order]
    y[:first] = f[:first] + 0.1 * np.random.default_rng(1).normal(size=(first, 2))
    model = StreamingSGPRegressor(kernel, n_inducing=20, alpha_divergence=alpha, random_state=0)
    for i in PIECES:
        model.partial_fit(X[i], y[i])
    assert np.abs(model.predict(X) - f).max() < 0.2
    deviations = np.sqrt(model.noise_variance_) * model.y_scale_
    assert_allclose(np.sqrt(np.mean(deviations**2)), 0.1, rtol=0.3)
    assert np.isfinite(model.batch_log_density_)


@pytest.mark.parametrize("n_latent", [None, 1])
@pytest.mark.parametrize("sizes", [(20,), (20, 20), (100, 20)])
def test_weights_are_repetitions_where_there_are_gaps(sizes, n_latent, data):
    """Weights of whole numbers say what repeated rows say, in few rows and in units that follow."""
    X, _, y = data
    order = np.random.default_rng(0).permutation(300)
    options = {"n_latent": n_latent, "n_inducing": 10, "max_iter": 3, "random_state": 0}
    weighted, repeated = StreamingSGPRegressor(**options), StreamingSGPRegressor(**options)
    ends = np.cumsum(sizes)
    for lo, hi in zip([0, *ends[:-1]], ends, strict=True):
        i = order[lo:hi]
        i = i[~np.isnan(y[i]).all(axis=1)]
        times = np.arange(len(i)) % 3 + 1
        weighted.partial_fit(X[i], y[i], sample_weight=times)
        again = np.repeat(i, times)
        repeated.partial_fit(X[again], y[again])
        assert_allclose(weighted.y_scale_, repeated.y_scale_, rtol=1e-12)
        if lo == 0:
            assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-6)


def test_words_that_are_numbers_are_those_numbers(data):
    """A table that was read as words tells the same, gaps included."""
    X, _, y = data
    options = {"n_inducing": 10, "max_iter": 2, "random_state": 0}
    words, numbers = StreamingSGPRegressor(**options), StreamingSGPRegressor(**options)
    for i in PIECES:
        words.partial_fit(X[i], y[i, 0].astype(str))
        numbers.partial_fit(X[i], y[i, 0])
    assert_array_equal(words.predict(X), numbers.predict(X))
    assert words.n_missing_ == numbers.n_missing_ == 100


def test_what_can_be_made_an_array_is_a_batch(data):
    """Later batches need no more than the protocol of arrays, as first ones."""
    X, _, y = data
    options = {"n_inducing": 10, "max_iter": 2, "random_state": 0}
    streams = [StreamingSGPRegressor(**options) for _ in range(2)]
    for i in PIECES:
        streams[0].partial_fit(_NotAnArray(X[i]), _NotAnArray(np.nan_to_num(y[i, 0])))
        streams[1].partial_fit(X[i], np.nan_to_num(y[i, 0]))
    streams[0].partial_fit(_NotAnArray(X[:0]), _NotAnArray(y[:0, 0]))
    assert_array_equal(streams[0].predict(X), streams[1].predict(X))


def test_a_batch_without_rows_or_targets_is_none(data):
    """Nothing changes but the number of rows that were left out."""
    X, _, y = data
    for targets in (y[:, 0], y):
        model = StreamingSGPRegressor(n_inducing=10, max_iter=2, random_state=0)
        model.partial_fit(X[:90], targets[:90])
        before, steps, missing = model.predict(X), model.n_steps_, model.n_missing_
        model.partial_fit(X[:0], targets[:0])
        model.partial_fit(X[:7], np.full_like(targets[:7], np.nan))
        assert_array_equal(model.predict(X), before)
        assert (model.n_steps_, model.n_missing_) == (steps, missing + 7)


def test_a_batch_without_labels_is_none(data):
    """The same holds for classes."""
    X, f, _ = data
    model = StreamingSGPClassifier(n_inducing=10, max_iter=2, random_state=0)
    model.partial_fit(X[:90], f[:90, 0] > 0.0)
    before = model.predict_proba(X)
    model.partial_fit(X[:0], f[:0, 0] > 0.0)
    assert_array_equal(model.predict_proba(X), before)


def test_what_cannot_be_left_out_is_refused(data):
    """Errors name the rule; the estimator stays as it was."""
    X, _, y = data
    with pytest.raises(ValueError, match="must begin with a target"):
        StreamingSGPRegressor().partial_fit(X, np.full(300, np.nan))
    with pytest.raises(ValueError, match="fit a stream for each output"):
        StreamingSGPRegressor(likelihood="student_t").partial_fit(X, y)
    model = StreamingSGPRegressor(n_inducing=10, max_iter=2).partial_fit(X, y[:, 1])
    before = model.predict(X)
    with pytest.raises(ValueError, match="nfinity"):
        model.partial_fit(X[:3], np.array([np.nan, np.inf, 1.0]))
    for spoiled in ([[None], [1.0], [np.nan]], [[1.0, None], [np.nan, 1.0], [1.0, 1.0]]):
        with pytest.raises(ValueError, match=r"None in 1 of 3 rows.*write NaN"):
            model.partial_fit(X[:3], np.array(spoiled, dtype=object))
    with pytest.raises(ValueError, match=r"Complex data"):
        model.partial_fit(X[:3], np.array([np.nan, 1j, 1.0]))
    with pytest.raises(ValueError, match="Got dates"):
        model.partial_fit(X[:3], np.array([1.0, np.datetime64("NaT"), 1.0], dtype=object))
    with pytest.raises(ValueError, match="word"):
        model.partial_fit(X[:3], np.array([np.nan, "word", 1.0], dtype=object))
    with pytest.raises(ValueError, match="inconsistent"):
        model.partial_fit(X[:3], np.array([np.nan, 1.0]))
    with pytest.raises(ValueError, match="0 sample"):
        model.partial_fit(np.empty((0, 4)), np.empty(0))
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("n_latent", [None, 1])
def test_the_evidence_counts_targets_that_were_observed(n_latent, rng):
    """In other units each of them has another density, and what is not there has none.

    Gaps of the last batch counted as those of all rows that are kept.
    """
    X = rng.uniform(0.0, 6.0, (64, 1))
    y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])]) + 0.1 * rng.normal(size=(64, 2))
    y[40:52:2, 1] = np.nan

    def evidence(scale):
        options = {"n_inducing": 6, "max_iter": 2, "random_state": 0}
        model = StreamingSGPRegressor(n_latent=n_latent, **options)
        return taught(model, batches(X, scale * y, 40, 52)).log_evidence_

    expected = -np.count_nonzero(~np.isnan(y)) * np.log(1024.0)
    assert_allclose(evidence(1024.0) - evidence(1.0), expected, rtol=1e-9)


def test_a_batch_without_targets_is_checked_as_others(data):
    """Wrong columns, outputs or weights were counted, and a weight for all rows was an error."""
    X, _, y = data
    model = StreamingSGPRegressor(n_inducing=10, max_iter=3, random_state=0)
    model.partial_fit(X[:100], y[:100])
    silent = np.full((5, 2), np.nan)
    for wrong in (
        (np.zeros((5, 3)), silent),
        (X[:5], silent[:, 0]),
        (X[:5], silent, np.full(5, -1.0)),
    ):
        with pytest.raises(ValueError, match=r"features|shape|[Nn]egative|weight"):
            model.partial_fit(*wrong)
    assert model.n_missing_ == np.isnan(y[:100]).all(axis=1).sum()
    before = model.n_missing_
    model.partial_fit(X[:5], silent, 2.0).partial_fit(X[100:150], y[100:150], 2.0)
    assert model.n_missing_ == before + 5 + np.isnan(y[100:150]).all(axis=1).sum()


@pytest.mark.parametrize("kind", ["words", "gap", "words in a frame"])
def test_a_batch_without_targets_is_read_as_test_rows_are(kind, data):
    """Categories of strings had no codes and gaps were refused, where no row had a target."""
    words = np.array(["n", "s"], dtype=object)[np.arange(300) % 2]
    y = data[2][:, 0]
    X = np.column_stack([data[0], np.zeros(300)])
    new, options = X[:5].copy(), {}
    if kind == "gap":
        new[0, 1] = np.nan
    else:
        X = np.array([X[:, 0], words], dtype=object).T
        new, options = np.array([X[:2, 0], ["n", "new"]], dtype=object).T, {"missing": "auto"}
        options["categorical_features"] = [1]
    if "frame" in kind:
        pd = pytest.importorskip("pandas")
        X, new = pd.DataFrame(X, columns=["x", "c"]), pd.DataFrame(new, columns=["x", "c"])
    model = StreamingSGPRegressor(n_inducing=10, max_iter=3, random_state=0, **options)
    model.partial_fit(X[:100], y[:100])
    before, n_missing = model.predict(X), model.n_missing_
    model.partial_fit(new, np.full(len(new), np.nan))
    assert_array_equal(model.predict(X), before)
    assert model.n_missing_ == n_missing + len(new)


def lagged(rng, n=900):
    """A column that matters and one that hardly does, and targets."""
    X = rng.uniform(0.0, 6.0, (n, 2))
    return X, 2.0 * np.sin(X[:, 0]) + 0.02 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weight", [None, np.where(np.arange(60) < 5, 0.0, 1.0)])
def test_a_column_that_falls_silent_is_no_shift(weight, rng):
    """Filled values counted as known: a batch had -130 nats a row, and noise became 30 times."""
    X, y = lagged(rng)
    model = StreamingSGPRegressor(random_state=0)
    for lo in range(0, 600, 60):
        model.partial_fit(X[lo : lo + 60], y[lo : lo + 60])
    silent, batch = X[600:660].copy(), slice(600, 660)
    silent[::2, 0] = np.nan
    before, noise = model.log_density(silent, y[batch]), model.noise_variance_
    model.partial_fit(silent, y[batch], sample_weight=weight)
    assert_allclose(model.batch_log_density_, np.average(before, weights=weight), rtol=1e-9)
    assert model.n_shifts_ == 0
    assert 0.5 * noise < model.noise_variance_ < 2.0 * noise
    error = model.predict(X[660:]) - 2.0 * np.sin(X[660:, 0])
    assert np.sqrt(np.mean(error**2)) < 0.15


def test_a_column_that_does_not_matter_may_fall_silent(rng):
    """Rows teach what is known of them: nearly all."""
    X, y = lagged(rng)
    X[60:, 1] = np.nan
    model = StreamingSGPRegressor(random_state=0)
    for lo in range(0, 900, 60):
        model.partial_fit(X[lo : lo + 60], y[lo : lo + 60])
    grid = np.column_stack([np.linspace(0.2, 5.8, 50), np.full(50, 3.0)])
    assert np.abs(model.predict(grid) - 2.0 * np.sin(grid[:, 0]) - 0.06).max() < 0.15
    assert model.n_shifts_ == 0


def test_labels_whose_inputs_are_missing_are_scored_as_predicted(rng):
    X, y = lagged(rng)
    labels = y > 0.0
    model = StreamingSGPClassifier(random_state=0).partial_fit(X[:200], labels[:200])
    silent = X[200:260].copy()
    silent[:, 0] = np.nan
    before = model.predict_log_proba(silent)[np.arange(60), labels[200:260].astype(int)].mean()
    model.partial_fit(silent, labels[200:260])
    assert_allclose(model.batch_log_density_, before, rtol=1e-9)


@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor])
def test_later_batches_whose_inputs_are_missing_teach_what_is_known(kind, rng):
    """They made a fit worse by .04 to .13 nats a row, with a warning that the function moved."""
    X, y = lagged(rng, 1500)
    model = kind(random_state=0).fit(X[:900], y[:900])
    before = model.log_density(X[1000:], y[1000:]).mean()
    silent = X[900:1000].copy()
    silent[:, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.partial_fit(silent, y[900:1000])
    assert model.log_density(X[1000:], y[1000:]).mean() > before - 0.01


@pytest.mark.parametrize("dtype", ["Float64", object, "float64"])
def test_gaps_of_nullable_columns_are_gaps(dtype, data):
    """Missing values of pandas were told to be left out, with the sensors that were observed."""
    pd = pytest.importorskip("pandas")
    X, _, y = data
    model = StreamingSGPRegressor(n_inducing=8, max_iter=3, random_state=0)
    plain = StreamingSGPRegressor(n_inducing=8, max_iter=3, random_state=0).partial_fit(X, y)
    model.partial_fit(X, pd.DataFrame(y).astype(dtype))
    assert_array_equal(model.predict(X), plain.predict(X))
    assert model.n_missing_ == plain.n_missing_ > 0


@pytest.mark.parametrize("kind", [StreamingSGPRegressor, slow(StreamingSGPClassifier)])
def test_an_absent_row_with_a_missing_input_changes_nothing(kind, rng):
    """Its gap ended what the first rows were kept for."""
    X, y = lagged(rng, 400)
    y = y > 0.0 if kind is StreamingSGPClassifier else y
    models = kind(random_state=0), kind(random_state=0)
    for lo in (0, 100, 250):
        part = slice(lo, {0: 100, 100: 250, 250: 400}[lo])
        models[0].partial_fit(X[part], y[part])
        more, weight = np.vstack([X[part], [[np.nan, 0.0]]]), np.append(np.ones(len(X[part])), 0.0)
        if lo:
            models[1].partial_fit(more, np.append(y[part], y[0]), sample_weight=weight)
        else:
            models[1].partial_fit(X[part], y[part])
    assert_array_equal(models[0].predict(X), models[1].predict(X))
    assert models[0].kernel_ == models[1].kernel_
