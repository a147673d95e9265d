"""Each batch is scored before it is learned from; shifts are told, and followed."""

import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import StreamingSGPClassifier, StreamingSGPRegressor

AT = 6


def rows(rng, n=48):
    X = rng.uniform(0.0, 10.0, (n, 1))
    return X, 3.0 * np.sin(X[:, 0]) + 0.5 * rng.normal(size=n)


def told(change, seed, n_batches=14, **options):
    """A stream whose batches change from AT on: shares in 90 % bands, shifts told, messages."""
    rng = np.random.default_rng(seed)
    model = StreamingSGPRegressor(n_inducing=30, random_state=0, **options)
    model.partial_fit(*rows(rng, 240))
    held, shifts = [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(n_batches):
            X, y = rows(rng)
            y = change(X, y) if k >= AT else y
            mean, std = model.predict(X, return_std=True)
            held.append(np.mean(np.abs(y - mean) < 1.645 * std))
            shifts.append(model.partial_fit(X, y).n_shifts_)
    words = [str(one.message) for one in caught]
    return np.array(held), np.diff([0, *shifts]), words, model


@pytest.mark.quick_cases("0-8.0")
@pytest.mark.parametrize("size", [-20.0, 2.5, 8.0])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_level_that_moves_for_good_is_told_and_followed(size, seed):
    """Once, within two batches; then bands hold what they say, and the function is kept."""
    held, shifts, words, model = told(lambda X, y: y + size, seed)
    assert shifts[:AT].sum() == 0
    assert shifts[AT : AT + 2].sum() == 1
    assert shifts.sum() == 1
    assert len(words) == 1 and "level moved by" in words[0]
    assert 0.8 < held[AT + 2 :].mean() < 0.97
    grid = np.linspace(0.5, 9.5, 40)[:, None]
    assert_allclose(model.predict(grid), 3.0 * np.sin(grid[:, 0]) + size, atol=0.5)


@pytest.mark.slow
@pytest.mark.quick_cases("noise")
@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: y + 5.0 * np.random.default_rng(len(y)).normal(size=len(y)),
        lambda X, y: -y,
        lambda X, y: 10.0 * y,
        lambda X, y: 3.0 * np.sin(1.7 * X[:, 0] + 1.0) + (y - 3.0 * np.sin(X[:, 0])),
    ],
    ids=["noise", "sign", "scale", "period"],
)
def test_noise_or_a_function_that_changes_is_told_and_followed(change):
    """From the third batch on, bands hold .8 to .97 of the next rows, over three streams."""
    runs = [told(change, seed) for seed in (0, 1, 2)]
    for _, shifts, _, _ in runs:
        assert shifts[:AT].sum() == 0
        assert shifts[AT : AT + 2].sum() >= 1
    assert 0.8 < np.mean([held[AT + 2 :].mean() for held, *_ in runs]) < 0.97


@pytest.mark.slow
@pytest.mark.quick_cases("0.0")
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_function_without_noise_has_none_that_falls(noise):
    """Rows far nearer than predicted are no news where rows before them were as near."""
    rng = np.random.default_rng(0)
    model = StreamingSGPRegressor(n_inducing=40, random_state=0)
    for _ in range(8):
        X = rng.uniform(0.0, 10.0, (60, 1))
        y = np.sin(2.0 * X[:, 0]) + 0.5 * np.cos(5.0 * X[:, 0]) + noise * rng.normal(size=60)
        model.partial_fit(X, y)  # a warning is an error
    assert model.n_shifts_ == 0


def test_noise_that_grows_is_told_by_rows_that_come_one_by_one():
    """Eight rows of either sign far off are no level that moved, one after another."""
    rng = np.random.default_rng(0)
    model, held, words = StreamingSGPRegressor(n_inducing=30, random_state=0), [], []
    model.partial_fit(*(rows(rng, 200)))
    for _ in range(24):
        X = rng.uniform(0.0, 10.0, (1, 1))
        y = 3.0 * np.sin(X[:, 0]) + 5.0 * rng.normal(size=1)
        mean, std = model.predict(X, return_std=True)
        held.append(abs(y - mean)[0] < 1.645 * std[0])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit(X, y)
        words += [str(one.message) for one in caught]
    assert model.n_shifts_ == 1
    assert len(words) == 1 and "deviations of its noise" in words[0] and "level" not in words[0]
    assert np.mean(held[8:]) > 0.75


def test_noise_that_falls_is_told_by_two_batches():
    """One quiet batch may lack what made the noise."""
    _, shifts, words, _ = told(lambda X, y: 3.0 * np.sin(X[:, 0]), 0)
    assert shifts[:AT].sum() == shifts[AT] == 0
    assert shifts[AT + 1] == 1
    assert any("deviations of its noise" in one for one in words)


@pytest.mark.slow
def test_outliers_are_no_shift():
    """A fifth of the rows of a batch far off, and single ones, are outliers."""

    def spikes(X, y):
        return np.where(np.arange(len(y)) % 5 == 0, y + 30.0, y)

    _, shifts, words, _ = told(lambda X, y: y, 0)
    assert shifts.sum() == 0 and not words
    rng = np.random.default_rng(0)
    model = StreamingSGPRegressor(n_inducing=30, random_state=0).partial_fit(*rows(rng, 240))
    for k in range(4):
        X, y = rows(rng)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="y should be near")
            model.partial_fit(X, spikes(X, y) if k == 3 else y)
    assert model.n_shifts_ == 0


def level_in_pieces(seed, size, level=8.0, outputs=1, **options):
    """A stream in pieces of a few rows, whose level moves after 24 of 48: it, and their inputs."""
    rng = np.random.default_rng(seed)
    model = StreamingSGPRegressor(n_inducing=20, max_iter=5, random_state=0, **options)
    X, y = rows(rng, 288)
    y[-24:] += level
    y = y if outputs == 1 else np.column_stack([y, -y])
    model.partial_fit(X[:240], y[:240])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for k in range(240, 288, size):
            model.partial_fit(X[k : k + size], y[k : k + size])
            if k + size == 264:
                assert model.n_shifts_ == 0
    return model, X[240:]


@pytest.mark.quick_cases("1")
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 3))])
def test_row_by_row_a_level_is_told_after_some_rows(seed):
    """One row says nothing of a level; eight do, and that they are where it is."""
    model, X = level_in_pieces(seed, 1)
    assert model.n_shifts_ >= 1
    off = model.predict(X) - 3.0 * np.sin(X[:, 0]) - 8.0
    assert_allclose(off, 0.0, atol=1.5)
    assert np.sqrt(np.mean(off**2)) < 0.8  # 1.2, 0.2, 1.6, 7.5 with levels of rows apart


@pytest.mark.quick_cases("3-options0", "6-options1", "2-options3")
@pytest.mark.parametrize(
    "size, options",
    [
        (3, {}),
        (6, {}),
        (1, {"outputs": 2}),
        (2, {"forget_factor": 0.97}),
        (2, {"forget_factor": "auto"}),
        (2, {"inducing": "fourier"}),
        (3, {"alpha_divergence": 0.5}),
    ],
)
def test_levels_of_few_rows_at_a_time(size, options):
    """In pieces, with several outputs, fading or features, the function is kept where it moved."""
    model, X = level_in_pieces(1, size, **options)
    assert model.n_shifts_ >= 1
    right = 3.0 * np.sin(X[:, 0]) + 8.0
    right = right if options.get("outputs", 1) == 1 else np.column_stack([right, -right])
    assert np.sqrt(np.mean((model.predict(X) - right) ** 2)) < 0.8


@pytest.mark.quick_cases("1")
@pytest.mark.parametrize("outputs", [1, 2])
def test_rows_that_are_gathered_follow_units_and_pickles(outputs):
    """Between two decisions a saved stream goes on bit for bit, and other units change no level."""
    rng = np.random.default_rng(3)
    model = StreamingSGPRegressor(n_inducing=20, max_iter=3, random_state=0)
    X, y = rows(rng, 160)
    y[120:] += 6.0
    y = y if outputs == 1 else np.column_stack([y, -2.0 * y])
    model.partial_fit(X[:120], y[:120])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for k in range(120, 125):
            model.partial_fit(X[k : k + 1], y[k : k + 1])
        gathered = model._fitted.state.watch.gathered
        assert gathered.rows == len(gathered.alone) == 5
        factor = np.arange(1.0, outputs + 1.0)
        there = gathered.in_units(factor)
        assert_allclose(there.z, gathered.z)
        assert_allclose(there.as_one_batch().z, gathered.as_one_batch().z)
        assert_allclose(there.mean_level, factor * gathered.mean_level)
        again = pickle.loads(pickle.dumps(model))
        for one in (model, again):
            for k in range(125, 160):
                one.partial_fit(X[k : k + 1], y[k : k + 1])
    assert model.n_shifts_ == again.n_shifts_ >= 1
    assert_array_equal(model.predict(X), again.predict(X))


def test_a_stream_that_gathered_without_rows_goes_on():
    """Sums of short batches that were saved without their rows still tell."""
    rng = np.random.default_rng(4)
    model = StreamingSGPRegressor(n_inducing=20, max_iter=3, random_state=0)
    model.partial_fit(*rows(rng, 120)).partial_fit(*rows(rng, 3))
    state = model._fitted.state
    bare = replace(state.watch.gathered, alone=())
    state = replace(state, watch=replace(state.watch, gathered=bare))
    model._fitted = replace(model._fitted, state=state)
    for _ in range(3):
        model.partial_fit(*rows(rng, 3))
    assert model.n_shifts_ == 0


def test_a_batch_is_scored_before_it_is_learned_from(rng):
    """`batch_log_density_` is the mean of `log_density` before, and the last hundred are kept."""
    X, y = rows(rng, 400)
    weight = rng.uniform(0.5, 2.0, 400)
    model = StreamingSGPRegressor(n_inducing=20, max_iter=2, random_state=0)
    model.partial_fit(X[:200], y[:200])
    assert model.batch_log_density_ is None
    expected = []
    for lo in range(200, 400, 50):
        i = slice(lo, lo + 50)
        expected.append(np.average(model.log_density(X[i], y[i]), weights=weight[i]))
        model.partial_fit(X[i], y[i], sample_weight=weight[i])
        assert_allclose(model.batch_log_density_, expected[-1], rtol=1e-6)
    assert_allclose(model.batch_log_densities_, expected, rtol=1e-6)
    short = StreamingSGPRegressor(max_iter=2, random_state=0).partial_fit(X[:5], y[:5])
    before = short.log_density(X[5:9], y[5:9]).mean()
    assert_allclose(short.partial_fit(X[5:9], y[5:9]).batch_log_density_, before, rtol=1e-6)


def test_labels_are_scored_too(rng):
    """The score of a batch of labels is their mean log probability."""
    X = rng.uniform(0.0, 3.0, (200, 1))
    labels = np.where(np.sin(4.0 * X[:, 0]) > 0.0, "a", "b")
    model = StreamingSGPClassifier(n_inducing=15, max_iter=5, random_state=0)
    model.partial_fit(X[:120], labels[:120])
    p = model.predict_proba(X[120:])
    expected = np.log(np.where(labels[120:] == "a", *p.T)).mean()
    model.partial_fit(X[120:], labels[120:])
    assert_allclose(model.batch_log_density_, expected, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_are_scored_as_predicted(rng, classes):
    """Labels that nothing explains are scored with the share that frequencies have."""
    X, y = rng.standard_normal((40, 3)), rng.integers(0, classes, 40)
    model = StreamingSGPClassifier(max_iter=5, random_state=0)
    model.partial_fit(X[:20], y[:20], classes=range(classes))
    assert model._fitted.targets.frequencies is not None
    expected = model.log_density(X[20:], y[20:]).mean()
    assert_allclose(model.partial_fit(X[20:], y[20:]).batch_log_density_, expected, rtol=1e-9)


def test_a_shift_survives_a_pickle():
    """A stream that was saved before a shift goes on bit for bit."""
    rng = np.random.default_rng(0)
    model = StreamingSGPRegressor(n_inducing=20, max_iter=5, random_state=0)
    model.partial_fit(*rows(rng, 240)).partial_fit(*rows(rng))
    again = pickle.loads(pickle.dumps(model))
    X, y = rows(rng)
    for one in (model, again):
        with pytest.warns(UserWarning, match="level moved"):
            one.partial_fit(X, y + 30.0)
        one.partial_fit(X, y + 30.0)
    assert_array_equal(model.predict(X), again.predict(X))
    assert model.n_shifts_ == again.n_shifts_ == 1


@pytest.mark.slow
def test_a_fading_past_is_chosen_by_what_came_next():
    """forget_factor="auto" follows a drift better than 1 does, and is as good as it without."""
    scores = {}
    for drift in (0.0, 0.25):
        for factor in (1.0, "auto"):
            rng = np.random.default_rng(0)
            model = StreamingSGPRegressor(n_inducing=20, forget_factor=factor, random_state=0)
            model.partial_fit(*rows(rng, 200))
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Batches should go on")
                for k in range(15):
                    X, _ = rows(rng)
                    y = 3.0 * np.sin(X[:, 0] + drift * k) + 0.5 * rng.normal(size=48)
                    model.partial_fit(X, y)
            scores[drift, factor] = np.mean(model.batch_log_densities_[5:])
    assert scores[0.25, "auto"] > scores[0.25, 1.0] + 0.1
    assert scores[0.0, "auto"] > scores[0.0, 1.0] - 0.02


@pytest.mark.slow
@pytest.mark.quick_cases("1")
@pytest.mark.parametrize("seed", [0, 1, 3])  # in seed 2 shifts of the level are told
def test_bands_that_hold_too_few_are_told(seed):
    """A walk in time goes on otherwise than a smooth kernel that was given, batch after batch."""
    X = np.arange(600.0)[:, None]
    y = np.cumsum(np.random.default_rng(seed).normal(size=600))
    model = StreamingSGPRegressor(1.0 * RBF(30.0), random_state=0)
    with pytest.warns(UserWarning, match=r"bands of 90 %.*take differences of y"):
        for begin in range(0, 600, 60):
            model.partial_fit(X[begin : begin + 60], y[begin : begin + 60])
    assert max(model._fitted.state.watch.held) <= 1.0


@pytest.mark.slow
def test_bands_that_hold_enough_are_not_told():
    """Differences of a random walk are noise, of which nothing is said."""
    y = np.random.default_rng(0).normal(size=600)
    X = np.column_stack([np.r_[0.0, y[:-1]], np.r_[0.0, 0.0, y[:-2]]])
    model = StreamingSGPRegressor(random_state=0)
    for begin in range(0, 600, 60):
        model.partial_fit(X[begin : begin + 60], y[begin : begin + 60])
    assert min(model._fitted.state.watch.held) > 0.75


@pytest.mark.quick_cases("6")
@pytest.mark.parametrize("seed", [0, 1, 6])
def test_days_without_rain_are_no_noise_that_fell(seed):
    """Two batches of zeros alone say nothing of how much falls on other days."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9 * 16, 2))
    y = rng.exponential(3.0, len(X)) * (rng.uniform(size=len(X)) < 0.07)
    y[7 * 16 :] = 0.0
    model = StreamingSGPRegressor(random_state=0)
    for low in range(0, len(X), 16):
        model.partial_fit(X[low : low + 16], y[low : low + 16])
    assert model.n_shifts_ == 0
    assert (model.predict(X, return_std=True)[1] > 0.5 * y.std()).all()


@pytest.mark.parametrize("size", [60, 4])
def test_given_noise_stays_where_it_is_given(size, rng):
    """Noise that was fixed became 30 or 100 times as much, for good."""
    X = rng.uniform(0.0, 6.0, (660, 1))
    y = np.sin(X[:, 0]) + np.where(np.arange(660) < 600, 0.1, 1.0) * rng.standard_normal(660)
    model = StreamingSGPRegressor(noise_variance=0.01, noise_variance_bounds="fixed")
    for lo in range(0, 600, 60):
        model.partial_fit(X[lo : lo + 60], y[lo : lo + 60])
    before = model.noise_variance_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for lo in range(600, 660, size):
            model.partial_fit(X[lo : lo + size], y[lo : lo + size])
    assert model.n_shifts_ > 0
    assert_allclose(model.noise_variance_, before, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Batches should go on", "ignore:y should be near")
def test_a_sensor_that_went_wrong_and_fell_silent_ends_nothing(rng):
    """The answer was sought in targets that were not observed: each later batch was an error."""
    X = rng.uniform(0.0, 6.0, (400, 1))
    Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])]) + 0.1 * rng.standard_normal((400, 2))
    model = StreamingSGPRegressor(random_state=0).partial_fit(X[:200], Y[:200])
    for lo in range(200, 360, 20):
        model.partial_fit(X[lo : lo + 20], Y[lo : lo + 20])
    wrong, silent = Y[360:367] + [0.0, 40.0], Y[367:400].copy()
    silent[:, 1] = np.nan
    model.partial_fit(X[360:367], wrong)
    for lo in (0, 10, 20):
        model.partial_fit(X[367 + lo : 377 + lo], silent[lo : lo + 10])
    assert model.n_samples_seen_ == 397
    assert np.isfinite(model.predict(X)).all()


def test_a_level_is_told_in_units_of_y(rng):
    """With a warp it was told in those of the warp."""
    X = rng.uniform(0.0, 6.0, (500, 1))
    y = np.exp(4.6 + 0.2 * np.sin(X[:, 0]) + 0.05 * rng.standard_normal(500))
    model = StreamingSGPRegressor(normalize_y="yeo-johnson", random_state=0)
    for lo in range(0, 400, 50):
        model.partial_fit(X[lo : lo + 50], y[lo : lo + 50])
    with pytest.warns(UserWarning, match="its level moved by") as told:
        model.partial_fit(X[400:450], 2.0 * y[400:450])
    moved = float(re.search(r"moved by ([\d.]+\d)", str(told[0].message))[1])
    assert 50.0 < moved < 200.0


@pytest.mark.parametrize("options", [{"normalize_y": False}, {"optimizer": None}])
def test_a_fading_past_is_chosen_where_units_or_parameters_are_given(options, rng):
    """There "auto" was always 1."""
    X = rng.uniform(0.0, 6.0, (1200, 1))
    time = np.repeat(np.arange(20), 60)
    y = np.sin(X[:, 0] + 0.25 * time) + 0.05 * rng.standard_normal(1200)
    errors = []
    for factor in (1.0, "auto"):
        model = StreamingSGPRegressor(
            RBF(1.0), forget_factor=factor, random_state=0, noise_variance=0.01, **options
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for k in range(20):
                model.partial_fit(X[time == k], y[time == k])
        errors.append(np.abs(model.predict(X[-60:]) - y[-60:]).mean())
    assert errors[1] < 0.7 * errors[0]


def test_iterations_are_those_of_all_beginnings(rng):
    """They fell where a stream began anew with more rows."""
    X = rng.uniform(0.0, 6.0, (120, 1))
    model, told = StreamingSGPRegressor(random_state=0), []
    for lo in range(0, 120, 10):
        model.partial_fit(X[lo : lo + 10], np.sin(X[lo : lo + 10, 0]))
        told.append(model.n_iter_)
    assert (np.diff(told) >= 0).all() and told[-1] > told[0]


@pytest.mark.parametrize("seed", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 3))])
def test_a_noisy_spell_moves_no_level_where_noise_is_given(seed):
    """The mean of the first rows of a spell, at random, moved all rows before it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (480, 1))
    spread = np.where(np.arange(480) < 400, 0.1, 0.6)
    y = np.sin(X[:, 0]) + spread * rng.normal(size=480)
    model = StreamingSGPRegressor(
        noise_variance=0.01, noise_variance_bounds="fixed", random_state=0
    ).partial_fit(X[:200], y[:200])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for lo in range(200, 480, 4):
            model.partial_fit(X[lo : lo + 4], y[lo : lo + 4])
    assert model.n_shifts_ > 0
    assert not any("level moved" in str(one.message) for one in caught)
    grid = np.linspace(0.3, 5.7, 40)[:, None]
    assert abs(np.mean(model.predict(grid) - np.sin(grid[:, 0]))) < 0.1


def test_a_fading_past_is_not_asked_of_a_batch_that_is_lost_in_rounding():
    """Comparing shares ended in an error, where learning from the batch does not."""
    x = np.linspace(0.0, 1.0, 90)
    model = StreamingSGPRegressor(
        RBF(1.0), noise_variance=1e-18, optimizer=None, forget_factor="auto", normalize_y=False
    ).partial_fit(x[:, None], np.sin(x))
    model.partial_fit(x[:, None] + 10.0, np.sin(x))
    assert model.n_steps_ == 2
    assert_allclose(model.predict(x[:, None] + 10.0), np.sin(x), atol=1e-3)
