"""Numbers far from all others in a column, and columns of tiny numbers, hide nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore:max_iter", "ignore:y should vary")
RNG = np.random.default_rng(1)
X, X_TEST = RNG.uniform(-2.0, 2.0, (120, 2)), RNG.uniform(-2.0, 2.0, (200, 2))
REGRESSORS = [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor]
CLASSIFIERS = [SVGPClassifier, AnytimeSGPClassifier, StreamingSGPClassifier]


def function(inputs):
    return np.sin(3.0 * inputs[:, 0]) + inputs[:, 1]


Y = function(X) + 0.1 * RNG.standard_normal(120)


def made(make, **options):
    return make(n_inducing=25, n_jobs=1, random_state=0, **options)


@pytest.mark.quick_cases("*-1-100.0", "*-6--9999.0")
@pytest.mark.parametrize("size", [100.0, -9999.0])
@pytest.mark.parametrize("n_far", [1, 6])
@pytest.mark.parametrize("make", REGRESSORS)
def test_far_inputs_hide_no_function(make, n_far, size):
    """One row of 120 far away, or six, in a column by which the others are explained."""
    far = X.copy()
    far[:n_far, 0] = size
    error = made(make).fit(far, Y).predict(X_TEST) - function(X_TEST)
    assert np.sqrt(np.mean(error**2)) < 0.1  # 0.6 and more where it is the unit of the column


@pytest.mark.quick_cases("AnytimeSGPClassifier")
@pytest.mark.parametrize("make", CLASSIFIERS)
def test_far_inputs_hide_no_classes(make):
    """Nor is a classifier blind to what the other rows say."""
    far = X.copy()
    far[17, 0] = 1e6
    model = made(make).fit(far, Y > 0.0)
    assert model.score(X_TEST, function(X_TEST) > 0.0) > 0.9


@pytest.mark.parametrize("make", REGRESSORS)
def test_inputs_too_far_are_told_of(make):
    """Beside 1e12 no digits of the others are left: a warning names the column and the cure."""
    far = X[:60].copy()
    far[:3, 1] = 1e12
    with pytest.warns(UserWarning, match=r"more than a million times .* in column 1"):
        made(make, max_iter=10).fit(far, Y[:60])


@pytest.mark.slow_cases("AnytimeSGPClassifier")
@pytest.mark.parametrize("make", [*REGRESSORS, *CLASSIFIERS])
def test_inputs_whose_squares_are_zero(make):
    """Columns of 1e-200 and 1e-300 are learned from as those of 1."""
    targets, found = Y if make in REGRESSORS else Y > 0.0, []
    for unit in (1.0, 1e-200, 1e-300):
        model = made(make, max_iter=10).fit(unit * X[:60], targets[:60])
        ask = model.predict if make in REGRESSORS else model.predict_proba
        found.append(ask(unit * X_TEST))
    for answer in found[1:]:
        assert_allclose(answer, found[0], atol=1e-3)


@pytest.mark.parametrize("make", [StreamingSGPRegressor, StreamingSGPClassifier])
@pytest.mark.parametrize(("unit", "weight"), [(1e-303, 1.0), (1e-300, 1e8)])
@pytest.mark.filterwarnings("ignore:sample_weight should count rows")
def test_columns_whose_slopes_are_not_finite(make, unit, weight):
    """Streams warned of an overflow from inside a kernel's gradient."""
    targets = Y if make in REGRESSORS else Y > 0.0
    weight = np.full(60, weight)
    with pytest.raises(ValueError, match="Columns of X must vary by more than"):
        made(make, max_iter=10).fit(unit * X[:60], targets[:60], weight)


@pytest.mark.parametrize("noise", [{"bounds": (1e-12, 1e-10)}, {"": 1e-12, "bounds": "fixed"}])
def test_columns_whose_slopes_are_not_finite_beside_little_noise(noise):
    """Streams whose noise is next to nothing warned of an overflow in the same gradient."""
    given = {f"noise_variance_{name}".rstrip("_"): value for name, value in noise.items()}
    model = StreamingSGPRegressor(max_iter=5, random_state=0, **given)
    with pytest.raises(ValueError, match="noise variances down to 1e-12"):
        model.fit(1e-300 * X[:60], Y[:60])


def test_columns_whose_slopes_are_not_finite_beside_a_fixed_term_of_noise():
    """Noise was taken for the least that may be learned, a millionth, whatever its term says."""
    kernel = RBF() + WhiteKernel(1e-12, "fixed")
    with pytest.raises(ValueError, match="noise variances down to 1e-12"):
        StreamingSGPRegressor(kernel, max_iter=5).fit(1e-300 * X[:60], Y[:60])


@pytest.mark.filterwarnings("ignore:sample_weight should count rows")
@pytest.mark.parametrize("make", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_columns_whose_slopes_are_not_finite_in_later_batches(make):
    """Weights of later rows may be larger; the stream goes on as it was."""
    targets, later = Y if make in REGRESSORS else Y > 0.0, np.full(30, 1e8)
    model = made(make, max_iter=3).partial_fit(1e-300 * X[:40], targets[:40])
    with pytest.raises(ValueError, match="Columns of X must vary by more than"):
        model.partial_fit(1e-300 * X[40:70], targets[40:70], sample_weight=later)
    assert model.n_samples_seen_ == 40


@pytest.mark.parametrize("make", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_later_batches_may_vary_less_than_those_before(make):
    """A number next to zero, beside zeros, ended a stream whose column varies by four."""
    targets, later = Y if make in REGRESSORS else Y > 0.0, X[40:70].copy()
    later[:, 0] = 0.0
    later[7, 0] = 1e-310
    model = made(make, max_iter=3).partial_fit(X[:40], targets[:40])
    model.partial_fit(later, targets[40:70])
    assert np.isfinite(model.predict(X)).all() and model.n_samples_seen_ == 70


def test_columns_whose_squares_are_zero():
    """Latent inputs are those of the columns in any unit."""
    columns, found = np.column_stack([X, Y])[:40], []
    for unit in (1.0, 1e-200, 1e-300):
        model = BayesianGPLVM(n_components=1, n_inducing=8, max_iter=5, random_state=0)
        found.append(model.fit_transform(unit * columns))
    for answer in found[1:]:
        assert_allclose(answer, found[0], atol=1e-6)


@pytest.mark.parametrize("make", REGRESSORS)
def test_small_targets_are_refused_or_told_of(make):
    """In their own units nothing is learned of them; variances of scaled ones are zero."""
    with pytest.raises(ValueError, match="y must hold numbers of at least 1e-50"):
        made(make).set_params(normalize_y=False).fit(X, 1e-100 * Y)
    with pytest.warns(UserWarning, match="y should vary by more than 1e-146"):
        made(make).fit(X, 1e-200 * Y)
    made(make).set_params(normalize_y=False).fit(X[:9], np.zeros(9))


@pytest.mark.parametrize(
    "make, options",
    [(SVGPRegressor, {}), (AnytimeSGPRegressor, {"model": "fitc"}), (SVGPClassifier, {})],
)
def test_inducing_inputs_far_from_tiny_inputs_say_nothing(make, options):
    """Beside columns in units of 1e-300 those of 1e4 and 1e90 are as far as can be: no overflow."""
    tiny, y = 1e-300 * X[:60], Y[:60] > 0.0 if make is SVGPClassifier else Y[:60]
    options = {"optimize_inducing": False, "random_state": 0, "max_iter": 20, **options}
    near = make(inducing=tiny[:15], **options).fit(tiny, y)
    inducing = np.vstack([tiny[:15], [[1e4, 1e4], [1e90, -1e90]]])
    model = make(inducing=inducing, **options).fit(tiny, y)
    np.testing.assert_array_equal(model.inducing_points_, inducing)
    assert_allclose(model.predict(1e-300 * X_TEST), near.predict(1e-300 * X_TEST), atol=1e-3)
