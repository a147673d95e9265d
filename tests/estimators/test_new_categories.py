"""Categories that were not there before are draws of the levels that were found."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from sklearn_sgp import (
    AnytimeSGPRegressor,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.engines.new_categories import _scatter, _variances_of_new
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.kernels.categories._node import learned_parts

OPTIONS = {"n_inducing": 40, "categorical_features": [1], "random_state": 0}
COUNT = 15
ESTIMATORS = {
    "svgp": SVGPRegressor(**OPTIONS),
    "vfe": AnytimeSGPRegressor(model="vfe", **OPTIONS),
    "vif": AnytimeSGPRegressor(**OPTIONS),
    "stream": StreamingSGPRegressor(**OPTIONS),
    "own": SVGPRegressor(Columns(RBF(), [0]) + 2.0 * Columns(Categorical(1), [1]), **OPTIONS),
}


@pytest.fixture(scope="module")
def data():
    """450 rows of 15 categories, whose levels scatter by 30, and what they have in common."""
    rng = np.random.default_rng(3)
    levels = 30.0 * rng.standard_normal(COUNT)
    X = np.column_stack([rng.uniform(-2, 2, 450), np.arange(450) % COUNT])
    return X, 10.0 * np.sin(2 * X[:, 0]) + levels[X[:, 1].astype(int)] + rng.standard_normal(450)


def at(x, codes):
    return np.column_stack([np.full(len(codes), x), codes])


def of_a_draw(known):
    """The variance of a draw from a population of which some are known."""
    n = len(known)
    return known.var(ddof=1) * (1 + 1 / n) * (n + 1) / (n - 1)


@pytest.mark.quick_cases("own", "stream", "svgp")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_bands_are_as_wide_as_levels_scatter(data, name):
    """Mean and variance of a new category are those of a draw of the known ones' levels."""
    model = ESTIMATORS[name].fit(*data)
    levels = model.predict(at(0.3, np.arange(COUNT)))
    assert np.ptp(levels) > 60.0
    new = at(0.3, [COUNT, COUNT + 7])
    mean, cov = model.predict(new, return_cov=True, include_noise=False)
    assert_allclose(mean, levels.mean(), atol=0.1 * levels.std())
    assert_allclose(np.diag(cov), of_a_draw(levels), rtol=0.12)
    assert abs(cov[0, 1]) < 0.1 * cov[0, 0]


def test_constants_beside_levels(data):
    """They do not say that categories are near one another."""
    X, y = data
    beside = np.column_stack([y, np.full(450, 7.0), np.full(450, -2.0)])
    model = SVGPRegressor(**OPTIONS)
    alone = model.fit(X, y).predict_std(at(0.3, [COUNT]))
    assert_allclose(model.fit(X, beside).predict_std(at(0.3, [COUNT]))[:, 0], alone, rtol=0.05)


@pytest.mark.parametrize("estimator", [SVGPRegressor, AnytimeSGPRegressor])
def test_slopes_along_a_column_that_is_zero(data, estimator):
    """They say nothing of categories, whose variance stays what it was."""
    X, y = data
    slope = Columns(Categorical(1), [1]) * Columns(DotProduct(0.0, "fixed"), [0])
    model = estimator(Columns(Categorical(1), [1]) + slope, **OPTIONS)
    model.fit(np.column_stack([np.zeros(450), X[:, 1]]), y)
    assert np.isfinite(model.predict_std(at(1.0, [0, COUNT]))).all()


@pytest.mark.parametrize("unit", [1e-2, 1e3])
def test_the_unit_of_the_levels_plays_no_role(data, unit):
    """A constant before F has it in another unit, and leaves new categories as they are."""
    X, y = data
    kernel = Columns(RBF(), [0]) + ConstantKernel(unit, "fixed") * Columns(Categorical(1), [1])
    model = SVGPRegressor(kernel, **OPTIONS).fit(X, y)
    levels = model.predict(at(0.3, np.arange(COUNT)))
    std = model.predict_std(at(0.3, [COUNT]), include_noise=False)[0]
    assert_allclose(std**2, of_a_draw(levels), rtol=0.1)


def test_levels_that_no_row_tells_scatter_as_the_prior(data):
    """Of q(u) = p(u) the variance is that of F and b, of a draw from these."""
    fitted = ESTIMATORS["own"].fit(*data)._fitted
    (part,) = learned_parts(fitted.posterior.prior.kernel)
    (found,) = _variances_of_new(fitted.posterior.scaled(0.0), [part]).values()
    F, b = part.covariance.factor, part.covariance.diagonal
    expected = F.var(axis=0, ddof=1).sum() + b.mean()
    assert_allclose(found, expected * (1 + 1 / COUNT) * (COUNT + 1) / (COUNT - 1), rtol=1e-4)


@pytest.mark.quick_cases("svgp", "stream")
@pytest.mark.parametrize("name", ["svgp", "vif", "stream"])
def test_rows_of_one_new_category_share_its_level(data, name):
    """The mean of many rows of a new category is hardly surer than one of them."""
    model = ESTIMATORS[name].fit(*data)
    new = np.column_stack([np.linspace(-1.5, 1.5, 20), np.full(20, COUNT)])
    _, cov = model.predict(new, return_cov=True, include_noise=False)
    assert cov.mean() > 0.95 * np.diag(cov).mean()


def test_several_outputs_have_the_mean_spread(data):
    """Outputs with one kernel have one variance of new categories, the mean in scaled units."""
    X, y = data
    model = SVGPRegressor(**OPTIONS).fit(X, np.column_stack([y, -3.0 * y + 2.0]))
    levels = model.predict(at(0.3, np.arange(COUNT)))
    std = model.predict(at(0.3, [COUNT]), return_std=True)[1][0]
    assert_allclose(std**2, [of_a_draw(one) for one in levels.T], rtol=0.15)


def test_few_levels_say_little_of_others(data):
    """Two levels make a wide band, one is what the kernel makes of it."""
    X, y = data
    for count in (1, 2):
        few = X[:, 1] < count
        model = SVGPRegressor(**OPTIONS).fit(X[few], y[few])
        std = model.predict_std(at(0.3, [COUNT]), include_noise=False)[0]
        assert np.isfinite(std)
        if count == 2:
            levels = model.predict(at(0.3, [0, 1]))
            assert std > 2.0 * levels.std(ddof=1)


def test_given_kernels_are_taken_at_their_word(data):
    """Without learning new categories have the variance that F and b say."""
    kernel = Columns(RBF(), [0]) + Columns(Categorical(1, n_categories=COUNT), [1])
    model = SVGPRegressor(kernel, optimizer=None, **OPTIONS).fit(*data)
    _, cov = model.predict(at(0.3, [COUNT]), return_cov=True, include_noise=False)
    assert cov[0, 0] < 0.6 * of_a_draw(model.predict(at(0.3, np.arange(COUNT))))


@pytest.mark.slow
def test_known_categories_stay_as_they_are(data):
    """Pickles and later batches of new categories keep the band, and learn the new level."""
    X, y = data
    for estimator in (ESTIMATORS["svgp"], ESTIMATORS["stream"], ESTIMATORS["vif"]):
        model = pickle.loads(pickle.dumps(estimator.fit(X, y)))
        before = model.predict_std(at(0.3, [COUNT]))[0]
        more = at(0.0, np.full(25, COUNT))
        more[:, 0] = np.linspace(-2, 2, 25)
        model.partial_fit(more, 10.0 * np.sin(2 * more[:, 0]) + 75.0)
        mean, std = model.predict(at(0.3, [COUNT, COUNT + 1]), return_std=True)
        assert abs(mean[0] - 75.0 - 10.0 * np.sin(0.6)) < 6.0
        assert std[0] < 0.2 * before and std[1] > 0.5 * before


def test_a_fit_that_goes_on_has_them(data):
    """warm_start begins at the kernel that was learned, with new categories as wide."""
    X, y = data
    model = SVGPRegressor(warm_start=True, **OPTIONS)
    first = model.fit(X, y).predict_std(at(0.3, [COUNT]))
    assert_allclose(model.fit(X, y).predict_std(at(0.3, [COUNT])), first, rtol=0.05)


@pytest.mark.parametrize("name", ["svgp", "vfe", "own"])
def test_a_fit_that_goes_on_without_learning_has_them(data, name):
    """They were those of F and b again: 43.5 in place of 48.0 by `SVGPRegressor`."""
    X, y = data
    model = clone(ESTIMATORS[name]).set_params(warm_start=True)
    first = model.fit(X, y).predict_std(at(0.3, [COUNT]))
    model.set_params(optimizer=None).fit(X, y)
    assert_allclose(model.predict_std(at(0.3, [COUNT])), first, rtol=1e-3)


def test_what_was_never_learned_is_taken_at_its_word(data):
    """A fit that goes on from one that has learned nothing adds nothing either."""
    X, y = data
    model = clone(ESTIMATORS["own"]).set_params(optimizer=None, warm_start=True)
    first = model.fit(X, y).predict_std(at(0.3, [COUNT]))
    assert_allclose(model.fit(X, y).predict_std(at(0.3, [COUNT])), first, rtol=1e-6)


@pytest.mark.slow
def test_classes_of_new_categories():
    """A new category of a classifier is less sure than the known ones."""
    rng = np.random.default_rng(0)
    c = rng.integers(0, 12, 600)
    y = (np.array([-3.0, 3.0])[c % 2] + 0.5 * rng.standard_normal(600)) > 0
    X = np.column_stack([rng.standard_normal(600), c])
    model = SVGPClassifier(**OPTIONS).fit(X, y)
    known, new = (model.predict_proba(at(0.0, codes))[:, 1] for codes in (np.arange(12), [12]))
    assert np.abs(known - 0.5).min() > 0.45
    assert abs(new[0] - 0.5) < 0.15


def functions(*terms):
    """A function of the first column for each category, and what is added to it."""
    return sum(terms, Columns(RBF(), [0]) * Columns(Categorical(1), [1]))


DENSE = {**OPTIONS, "n_inducing": 120}
LEVELS = Columns(Categorical(1), [1])
FUNCTIONS = {
    "svgp": SVGPRegressor(functions(), **DENSE),
    "vif": AnytimeSGPRegressor(functions(), **DENSE),
    "stream": StreamingSGPRegressor(functions(), **DENSE),
    "beside": SVGPRegressor(functions(LEVELS), **DENSE),
    "sum": SVGPRegressor(
        Columns(RBF(), [0]) * (LEVELS + Columns(ConstantKernel(0.1), [0])), **DENSE
    ),
}


@pytest.mark.quick_cases("svgp-*", "beside-*")
@pytest.mark.parametrize("size", [0.5, 20.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bands_are_as_wide_as_functions_scatter(name, size):
    """Functions of new categories scatter as those of the known ones, in whatever unit F is."""
    rng = np.random.default_rng(5)
    slope = size * rng.standard_normal(COUNT)
    X = np.column_stack([rng.uniform(-2, 2, 450), np.arange(450) % COUNT])
    y = 3.0 * np.sin(X[:, 0]) + slope[X[:, 1].astype(int)] * np.cos(2 * X[:, 0])
    model = FUNCTIONS[name].fit(X, y + 0.1 * rng.standard_normal(450))
    x = np.linspace(-1.8, 1.8, 30)
    known = np.array([model.predict(at(one, np.arange(COUNT))) for one in x])
    spread = known.var(axis=1, ddof=1).mean()
    new = np.column_stack([x, np.full(30, COUNT)])
    std = model.predict_std(new, include_noise=False)
    assert 0.85 < (std**2).mean() / spread < 1.5  # 32 inducing inputs stand for all places


def test_the_scatter_of_functions_is_that_of_joint_predictions(data):
    """Expected variances over categories, from the joint covariances of the whole process."""
    X, y = data
    model = FUNCTIONS["beside"].fit(X, y)
    posterior = model._fitted.posterior
    parts = learned_parts(posterior.prior.kernel)
    assert [part.is_level for part in parts] == [False, True]
    codes, expected = np.arange(COUNT), []
    for x in (-1.0, 0.4):
        mean, cov = model.predict(at(x, codes), return_cov=True, include_noise=False)
        expected.append(mean.var(ddof=1) + (np.trace(cov) - cov.sum() / COUNT) / (COUNT - 1))
    found = _scatter(posterior, parts, at(0.0, [0, 0]) + [[-1.0, 0.0], [0.4, 0.0]], codes)
    assert_allclose(found * model.y_scale_**2, np.mean(expected), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [SVGPRegressor, StreamingSGPRegressor, AnytimeSGPRegressor],
    ids=["svgp", "stream", "vif"],
)
def test_bands_of_new_categories_hold_what_they_promise(make):
    """90% bands of 40 new categories, and of sums over six rows of one, over 30 tables.

    They held far less where a new category was a draw of the kernel that is learned, not of the
    posterior of the levels.
    """
    of_rows, of_sums = [], []
    for draw in range(30):
        rng, count = np.random.default_rng(1000 + draw), [12, 25, 50, 100][draw % 4]
        levels = 30.0 * rng.standard_normal(count + 40)

        def table(codes, rng=rng, levels=levels):
            x = rng.uniform(-2.0, 2.0, len(codes))
            y = 10.0 * np.sin(2.0 * x) + levels[codes] + rng.standard_normal(len(codes))
            return np.column_stack([x, codes]), y

        model = make(**OPTIONS).fit(*table(np.arange(10 * count) % count))
        X, y = table(np.repeat(count + np.arange(40), 6))
        low, high = model.predict_quantiles(X[::6], (0.05, 0.95)).T
        of_rows.append(np.mean((low <= y[::6]) & (y[::6] <= high)))
        mean, cov = model.predict(X, return_cov=True)
        sums = (y - mean).reshape(40, 6).sum(axis=1)
        blocks = [cov[k : k + 6, k : k + 6].sum() for k in range(0, 240, 6)]
        of_sums.append(np.mean(np.abs(sums) < 1.6449 * np.sqrt(blocks)))
    for held in (of_rows, of_sums):
        error = np.std(held, ddof=1) / np.sqrt(len(held))
        assert error < 0.025
        assert 0.87 - error < np.mean(held) < 0.95 + error
