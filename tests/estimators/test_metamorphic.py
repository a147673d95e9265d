"""What must not matter to a fit, for every estimator: units, shifts, order, layout and names.

Differences are the largest of any prediction, in standard deviations of y, or of probabilities.
They are rounding, and what an optimiser makes of it. Another draw of random rows or starts is not
looked for: it follows from another order of the columns, where inducing inputs are k-means centres,
from another order of more than 2,048 rows, and from any other order of the rows of a stream.
"""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF
from slow_variants import slow_but

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.kernels.categories import _kernel

pytestmark = pytest.mark.filterwarnings("ignore")  # of max_iter, bounds and jitter
N_ROWS, LARGEST = 240, 1e-3
BATCHES = {"batch_size": 80, "init_size": 80}
POWERS, SHIFTS = 2.0 ** np.array([10, -10, 3]), np.array([100.0, -30.0, 7.0])


def table(kind, n_rows=N_ROWS, seed=0):
    """X and y: numbers, skewed ones, counts, several outputs, categories or labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    f = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]
    y = f + (0.1 + 0.2 * (X[:, 0] > 0.0)) * rng.normal(size=n_rows)
    if kind == "categories":
        X[:, 2] = rng.integers(0, 6, n_rows)
        levels = np.array([1.0, -1.0, 0.0, 2.0, 0.5, -2.0])
        return X, f + levels[X[:, 2].astype(int)] + 0.1 * rng.normal(size=n_rows)
    if kind == "outputs":
        Y = np.column_stack([f, 2.0 * f + np.cos(X[:, 1]), np.cos(X[:, 1]) - f])
        return X, Y + rng.normal(size=(n_rows, 3)) * [0.1, 0.2, 0.3]
    if kind == "skewed":
        return X, np.exp(y)
    if kind == "counts":
        return X, rng.poisson(np.exp(1.0 + np.sin(X[:, 0]))).astype(float)
    if kind == "labels":
        return X, np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    return X, y


def of(make, kind, **options):
    return make, kind, {"n_inducing": 25, "random_state": 0, **options}


REGRESSORS = {"svgp": SVGPRegressor, "vif": AnytimeSGPRegressor, "stream": StreamingSGPRegressor}
CASES = {}
for name, make in REGRESSORS.items():
    more = BATCHES if name == "stream" else {}
    for noise in ("gaussian", "student_t", "heteroscedastic", "auto"):
        CASES[f"{name} {noise}"] = of(make, "numbers", likelihood=noise, **more)
    for warp in ("warped", "yeo-johnson"):
        CASES[f"{name} {warp}"] = of(make, "skewed", normalize_y=warp, **more)
    CASES[f"{name} outputs"] = of(make, "outputs", **more)
    CASES[f"{name} categories"] = of(make, "categories", categorical_features=[2], **more)
    if name != "vif":
        CASES[f"{name} n_latent"] = of(make, "outputs", n_latent=2, **more)
    if name == "svgp":
        tails = {"likelihood": "student_t", "n_latent": 2}
        CASES[f"{name} n_latent student_t"] = of(make, "outputs", **tails)
        CASES[f"{name} poisson"] = of(make, "counts", likelihood="poisson", **more)
for model in ("pic", "lma", "pitc", "fitc", "fic", "vfe", "dtc", "sor"):
    CASES[model] = of(AnytimeSGPRegressor, "numbers", model=model, block_size=60)
    if model in ("pic", "fitc", "vfe"):
        # of vfe more iterations along a ridge amplify the rounding of sums over classes to 1e-2
        more = {"block_size": 60, "max_iter": 40}
        CASES[f"{model} labels"] = of(AnytimeSGPClassifier, "labels", model=model, **more)
CASES["svgp labels"] = of(SVGPClassifier, "labels")
CASES["vif labels"] = of(AnytimeSGPClassifier, "labels")
CASES["stream labels"] = of(StreamingSGPClassifier, "labels", **BATCHES)
UNITS, ORIGINS = np.array([1000.0, 0.3048, 12.3]), np.array([-5e4, 273.15, 0.0])


def answers(model, X):
    if hasattr(model, "predict_proba"):
        return [model.predict_proba(X)]
    mean, std = model.predict(X, return_std=True)
    latent = model.predict_std(X, include_noise=False)
    return [mean, std, latent, model.predict_quantiles(X, [0.1, 0.5, 0.9])]


@cache
def plain_answers(name):
    """What a case's own fit predicts, which all tests compare with."""
    make, kind, options = CASES[name]
    return answers(make(**options).fit(*table(kind)), table(kind, 60, seed=1)[0])


class Fits:
    """A case's fit, and how far others are from it."""

    def __init__(self, name):
        self.make, self.kind, self.options = CASES[name]
        self.X, self.y = table(self.kind)
        self.T = table(self.kind, 60, seed=1)[0]
        self.own = np.array([1.0, 1.0, 0.0 if self.kind == "categories" else 1.0])
        self.unit = 1.0 if self.kind == "labels" else np.std(self.y)
        self.expected = plain_answers(name)

    def answers(self, X, y, T, **more):
        return answers(self.make(**self.options).fit(X, y, **more), T)

    def check(self, found, most=LARGEST):
        for part, expected in zip(found, self.expected, strict=True):
            assert_allclose(part, expected, rtol=0.0, atol=most * self.unit)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_units_of_the_columns(name):
    """Columns in other units, and from other origins, give the same predictions."""
    fits = Fits(name)
    powers, shifts = POWERS**fits.own, SHIFTS * fits.own
    fits.check(fits.answers(fits.X * powers, fits.y, fits.T * powers))
    fits.check(fits.answers(fits.X + shifts, fits.y, fits.T + shifts))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[1] != "labels"])
def test_units_of_the_targets(name):
    """Targets in other units, and from another origin, give the same predictions.

    Warps know whether targets are positive, and have another origin only where they are not.
    """
    fits = Fits(name)
    if fits.kind == "counts":
        pytest.skip("a count has no other unit")
    origin = 0.0 if "warped" in name else -5e4
    for unit, shift in ((1000.0, origin), (1.0 / 1024, 0.0)):
        mean, std, latent, quantiles = fits.answers(fits.X, unit * fits.y + shift, fits.T)
        fits.check([(mean - shift) / unit, std / unit, latent / unit, (quantiles - shift) / unit])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_order_and_layout(name):
    """Another order of the rows, and other strides of the arrays, change nothing."""
    fits = Fits(name)
    X, y = np.asfortranarray(fits.X), np.repeat(fits.y, 2, axis=0)[::2]
    fits.check(fits.answers(X, y, fits.T), 1e-9)
    if "stream" not in name:
        order = np.random.default_rng(5).permutation(N_ROWS)
        fits.check(fits.answers(fits.X[order], fits.y[order], fits.T), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_weights_of_rows(name):
    """Rows of weight zero are not there, and whole weights are copies."""
    fits = Fits(name)
    kept = np.arange(N_ROWS) % 5 > 0
    fits.expected = fits.answers(fits.X[kept], fits.y[kept], fits.T)
    fits.check(fits.answers(fits.X, fits.y, fits.T, sample_weight=kept.astype(float)), 1e-9)
    if "stream" not in name and "n_latent" not in name:
        weight = np.random.default_rng(5).integers(1, 4, N_ROWS)
        often = np.repeat(np.arange(N_ROWS), weight)
        fits.expected = fits.answers(fits.X[often], fits.y[often], fits.T)
        fits.check(fits.answers(fits.X, fits.y, fits.T, sample_weight=weight), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[1] == "labels"])
def test_names_of_classes(name):
    """Other names of the classes, in another order, give the same probabilities."""
    fits, names = Fits(name), np.array(["zebra", "apple", "mango"])
    (found,) = fits.answers(fits.X, names[fits.y], fits.T)
    back = np.empty_like(found)
    back[:, np.argsort(names)] = found
    fits.check([back])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["svgp outputs", "vif outputs", "stream outputs", "svgp n_latent"])
def test_order_of_outputs(name):
    """Outputs in another order are predicted the same, by runs that go on to the end.

    With the default tolerance those of svgp end .004 nats and .004 deviations apart.
    """
    fits, order = Fits(name), [2, 0, 1]
    fits.options = {**fits.options, "tol": 1e-9, "max_iter": 1000}
    fits.expected = [part[:, order] for part in fits.answers(fits.X, fits.y, fits.T)]
    fits.check(fits.answers(fits.X, fits.y[:, order], fits.T))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("categories")])
def test_codes_of_categories(name, monkeypatch):
    """Other codes of the categories change nothing where the draw of factors follows them."""
    fits, new = Fits(name), np.array([3, 0, 5, 1, 4, 2])
    start = _kernel.starting_factor
    monkeypatch.setattr(_kernel, "starting_factor", lambda *sizes: start(*sizes)[np.argsort(new)])
    X, T = fits.X.copy(), fits.T.copy()
    X[:, 2], T[:, 2] = new[X[:, 2].astype(int)], new[T[:, 2].astype(int)]
    fits.check(fits.answers(X, fits.y, T))


OF_MANY_ROWS = ["svgp gaussian", "svgp student_t", "svgp poisson", "vfe", "fitc", "svgp labels"]


@pytest.mark.parametrize("name", slow_but(["svgp gaussian"], OF_MANY_ROWS))
def test_order_of_many_rows(name):
    """Of 20,500 rows, too, where nothing is drawn from them: kernel and inducing inputs given."""
    make, kind, options = CASES[name]
    X, y = table(kind, 20_500)
    T, order = table(kind, 60, seed=1)[0], np.random.default_rng(5).permutation(len(X))
    model = make(RBF([1.5, 3.0, 30.0]), **options)
    model.set_params(inducing=X[:25], optimize_inducing=False, optimizer=None)
    expected = answers(model.fit(X, y), T)
    for part, own in zip(answers(model.fit(X[order], y[order]), T), expected, strict=True):
        assert_allclose(part, own, rtol=1e-6, atol=1e-6 * np.std(y))


SOME = ["svgp gaussian", "fitc", "vif yeo-johnson", "svgp n_latent"]


OTHERS = ["svgp outputs", "svgp categories", "fitc labels", "stream student_t"]


@pytest.mark.quick_cases("fitc", "svgp gaussian")
@pytest.mark.parametrize("name", [*SOME, *slow_but(OTHERS[:1], OTHERS)])
def test_units_of_the_columns_of_some(name):
    """Columns in other units, which are no powers of two, and from other origins change nothing."""
    fits = Fits(name)
    X, T = (UNITS**fits.own * one + ORIGINS * fits.own for one in (fits.X, fits.T))
    fits.check(fits.answers(X, fits.y, T), 1e-6)


@pytest.mark.parametrize("name", SOME)
def test_units_of_the_targets_of_some(name):
    """Targets in another unit, and from another origin, are fitted in the same way."""
    fits = Fits(name)
    mean, std, latent, quantiles = fits.answers(fits.X, 1000.0 * fits.y - 5e4, fits.T)
    parts = [(mean + 5e4) / 1e3, std / 1e3, latent / 1e3, (quantiles + 5e4) / 1e3]
    fits.check(parts, 1e-9)
