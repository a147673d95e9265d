"""Default kernels of straight lines: taken where a trend asks for them, and nowhere else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.linear_model import LinearRegression

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines import lines
from sklearn_sgp.kernels import Linear

REGRESSORS = [SVGPRegressor, AnytimeSGPRegressor]
# Monthly passengers of an airline in thousands, 1949 to 1960 (Box and Jenkins, 1976).
PASSENGERS = np.array(
    """
    112 118 132 129 121 135 148 148 136 119 104 118
    115 126 141 135 125 149 170 170 158 133 114 140
    145 150 178 163 172 178 199 199 184 162 146 166
    171 180 193 181 183 218 230 242 209 191 172 194
    196 196 236 235 229 243 264 272 237 211 180 201
    204 188 235 227 234 264 302 293 259 229 203 229
    242 233 267 269 270 315 364 347 312 274 237 278
    284 277 317 313 318 374 413 405 355 306 271 306
    315 301 356 348 355 422 465 467 404 347 305 336
    340 318 362 348 363 435 491 505 404 359 310 337
    360 342 406 396 420 472 548 559 463 407 362 405
    417 391 419 461 472 535 622 606 508 461 390 432
""".split(),
    dtype=float,
)
LAGS, MONTHS = 12, 132


def errors_by_recursion(model):
    """Learn from all years but the last, and predict that from predictions alone."""
    X = np.array([PASSENGERS[k - LAGS : k] for k in range(LAGS, MONTHS)])
    model.fit(X, PASSENGERS[LAGS:MONTHS])
    series = list(PASSENGERS[:MONTHS])
    while len(series) < len(PASSENGERS):
        series.append(float(model.predict(np.array([series[-LAGS:]]))[0]))
    return np.abs(np.subtract(series, PASSENGERS)[MONTHS:]).mean()


@pytest.mark.parametrize("kind", REGRESSORS)
def test_airline_passengers(kind):
    """A year of passengers by recursion has at most the error of linear regression."""
    model = kind(random_state=0)
    assert errors_by_recursion(model) <= errors_by_recursion(LinearRegression())
    assert "Linear" in str(model.kernel_)
    taken = [choice["candidate"] for choice in model.choices_ if choice["taken"]]
    assert taken[-1] == "Linear"


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("n_columns", [1, 4])
def test_trend_goes_on(kind, n_columns):
    """Rows on a line with noise are predicted on it beyond the data, whatever kernel is taken."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (150, n_columns))
    y = 3.0 * X[:, 0] + 0.1 * rng.standard_normal(150)
    new = rng.uniform(0.0, 1.0, (50, n_columns)) + 2.0 * np.eye(n_columns)[0]
    mean, std = kind(random_state=0).fit(X, y).predict(new, return_std=True)
    assert_allclose(mean, 3.0 * new[:, 0], atol=0.3)
    assert (np.abs(mean - 3.0 * new[:, 0]) < 3.0 * std).all()


@pytest.mark.parametrize("kind", REGRESSORS)
def test_lines_are_left_alone(kind):
    """Where rows are on no line, none is tried."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (120, 1))
    model = kind(random_state=0).fit(X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(120))
    assert not any("Linear" in choice["candidate"] for choice in model.choices_)


def sales(seed, n):
    """Sales of shops in three towns, in line with their size; a few shops are far larger."""
    rng = np.random.default_rng(seed)
    town, size = rng.integers(0, 3, n), np.exp(1.3 * rng.normal(size=n))
    X = np.column_stack([town, size, rng.normal(size=n)])
    y = 2.0 * size + X[:, 2] + np.array([0.0, 1.0, -2.0])[town]
    return X, y + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_lines_beside_categories(kind):
    """Large shops are predicted from few and smaller ones, though towns have levels of their own.

    A smooth kernel alone had errors of 1.7 and more, where the noise has a deviation of 0.5.
    """
    model = kind(categorical_features=[0], random_state=0).fit(*sales(1, 120))
    assert "Linear" in str(model.kernel_) and "Categorical" in str(model.kernel_)
    X, y = sales(101, 500)
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.6


def test_no_trend_beside_categories():
    """Where nothing but categories tells of the targets, lines are not tried."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 90), rng.normal(size=90)])
    y = X[:, 0] + 0.3 * rng.standard_normal(90)
    model = AnytimeSGPRegressor(categorical_features=[0], random_state=0).fit(X, y)
    assert not any("Linear" in choice["candidate"] for choice in model.choices_)


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("max_iter", [1, 3, 200])
@pytest.mark.parametrize("n", [1, 2, 20])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_rows_are_learned_from(kind, max_iter, n):
    """Lines through the only place with rows are 0 there: no fit takes them, and none fails."""
    y = np.random.default_rng(0).normal(size=n)
    model = kind(likelihood="gaussian", max_iter=max_iter, random_state=0)
    mean, std = model.fit(np.full((n, 2), 3.0), y).predict([[3.0, 3.0]], return_std=True)
    assert np.isfinite(mean) and std > 0.0
    assert "Linear" not in str(model.kernel_)


def test_one_inducing_input_at_the_center():
    """An inducing input where all lines are 0 leaves a fit as it is without lines."""
    X = np.linspace(-1.0, 1.0, 41)[:, None]
    model = SVGPRegressor(inducing=np.zeros((1, 1)), optimize_inducing=False, random_state=0)
    model.fit(X, 2.0 * X[:, 0])
    assert np.isfinite(model.predict(X)).all()
    assert "Linear" not in str(model.kernel_)


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("n_columns", [1, 3])
def test_as_many_rows_as_a_line_has_numbers_are_no_line(kind, n_columns):
    """A plane goes through any so many points, and would be sure of itself."""
    X = np.vstack([np.eye(n_columns), -np.ones(n_columns)])
    model = kind(random_state=0).fit(X, np.arange(n_columns + 1.0))
    assert "Linear" not in str(model.kernel_)
    assert model.predict_std(X).max() > 0.01


@pytest.mark.parametrize("kind", REGRESSORS)
def test_lines_are_found_far_from_the_origin(kind):
    """Columns such as seconds since 1970 have the lines that they have from their mean on."""
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(0.0, 1.0, (60, 2)) * 1024.0)
    y = X @ [1.0, -2.0] + 10.0 * rng.normal(size=60)
    far = kind(random_state=0).fit(X + [2.0**31, -(2.0**40)], y)
    assert "Linear" in str(far.kernel_)
    near = kind(random_state=0).fit(X, y)
    new = X + 500.0
    assert_allclose(far.predict(new + [2.0**31, -(2.0**40)]), near.predict(new), rtol=1e-3)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_kernel_of_lines_is_exact(kind):
    """The kernel that is learned, given to the exact process, has the same predictions."""
    model = kind(random_state=0)
    errors_by_recursion(model)
    X = np.array([PASSENGERS[k - LAGS : k] for k in range(LAGS, MONTHS)])
    kernel = model.kernel_ + WhiteKernel(model.noise_variance_)
    exact = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
    mean, std = exact.fit(X, PASSENGERS[LAGS:MONTHS]).predict(X[:20] + 50.0, return_std=True)
    ours = model.predict(X[:20] + 50.0, return_std=True)
    assert_allclose(ours[0], mean, rtol=1e-4)
    assert_allclose(ours[1], std, rtol=1e-3)


def reduced(rows):
    """What `lines` sees of some rows, as `may_be_lines` asks for it."""
    return lines._reduced(rows, lines._levels_and_lines(rows, ())[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_evidence_of_lines(weighted, n_targets):
    """It is the largest log density of the targets under lines of any scales and noise."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, 30) if weighted else np.ones(30, dtype=int)
    X = np.repeat(rng.normal(size=(30, 3)), counts, axis=0)
    slopes = np.array([[1.0, -2.0, 0.0], [0.5, 1.5, 0.0]])[:n_targets].T
    y = np.repeat(rng.normal(size=(30, n_targets)), counts, axis=0) + X @ slopes
    first = np.cumsum(counts) - counts
    weight = counts.astype(float) if weighted else None
    shift, scale = y.mean(axis=0), y.std(axis=0)
    rows = Rows(X[first], y[first], weight, shift, scale)
    centred, targets = X - X.mean(axis=0), (y - shift) / scale

    def cost(theta):
        K = centred * np.exp(theta[:-1]) @ centred.T + np.exp(theta[-1]) * np.eye(len(X))
        return -multivariate_normal(cov=K).logpdf(targets.T).sum()

    best = minimize(cost, [-1.0, -1.0, -3.0, -1.0], bounds=[(-12.0, 5.0)] * 4)
    assert lines._evidence(*reduced(rows)) == pytest.approx(-best.fun, abs=0.1)


def test_few_rows_are_near_a_line_whatever_they_are_of():
    """A level and three slopes ask for more than eight rows, each category for one more."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 2, 12), rng.normal(size=(12, 3))])
    X[:2, 0] = 0.0, 1.0
    y = (X @ [0.0, 3.0, 1.0, -2.0])[:, None] + 0.01 * rng.standard_normal((12, 1))

    def may_be_lines(n, first, categorical):
        rows = Rows(X[:n, first:], y[:n], None, y[:n].mean(axis=0), y[:n].std(axis=0))
        return lines.may_be_lines(rows, -100.0, categorical)

    assert [may_be_lines(n, 1, ()) for n in (8, 9)] == [False, True]
    assert [may_be_lines(n, 0, (0,)) for n in (10, 11)] == [False, True]


def test_lines_that_explain_most():
    """They do where little is left to a kernel, beyond what the levels of categories say."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 2, 60), rng.normal(size=60)])
    y = X @ [3.0, 1.0] + 0.3 * rng.standard_normal(60)
    rows = Rows(X, (y - y.mean())[:, None], None, np.zeros(1), np.ones(1))
    columns = lines._levels_and_lines(rows, (0,))
    least, most = (lines._evidence(*lines._reduced(rows, each)) for each in columns)
    assert most - least > 30.0
    assert lines.explain_most(rows, most + 0.1 * (most - least), (0,))
    assert not lines.explain_most(rows, most + (most - least), (0,))


@pytest.mark.parametrize("kind", ["constant column", "copied column", "wide", "exact", "zeros"])
def test_evidence_of_rows_that_are_singular(kind):
    """It is a finite number whatever the columns and targets are."""
    X = np.random.default_rng(0).normal(size=(12, 30 if kind == "wide" else 3))
    if kind == "constant column":
        X[:, 1] = 5.0
    X[:, 2] = X[:, 0] if kind == "copied column" else X[:, 2]
    y = np.zeros(12) if kind == "zeros" else X[:, 0] - X[:, 0].mean()
    rows = Rows(X, y[:, None], None, np.zeros(1), np.ones(1))
    assert np.isfinite(lines._evidence(*reduced(rows)))


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_importances_of_lines(kind, scale):
    """Shares of columns are those of squared slopes, in all units, and bars are their scales."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    y = X @ [2.0, -1.0, 0.0] + 0.1 * rng.standard_normal(200)
    bounds = (1e-3 * scale, 1e9 * scale)
    kernel = Linear(scale * np.ones(3), scale * X.mean(axis=0), bounds)
    model = kind(kernel, random_state=0).fit(scale * X, y)
    assert_allclose(model.feature_importances_, [0.8, 0.2, 0.0], atol=0.1)
    pytest.importorskip("matplotlib").use("Agg")
    from sklearn_sgp.plotting import RelevanceDisplay

    display = RelevanceDisplay.from_estimator(model)
    (bars,) = np.atleast_2d(display.relevances)
    assert_allclose(bars[1] / bars[0], 0.5, rtol=0.2)
    assert bars[2] < 0.1 * bars[0]
