"""Slopes, terms, novelty, left-out rows and importances are those of the dense posterior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.engines.variational import schedule
from sklearn_sgp.kernels import Categorical, Columns

N, NOISE = 60, 0.05
rng = np.random.default_rng(3)
X = rng.uniform(-2.0, 2.0, (N, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.4 * X[:, 1] ** 2 + rng.normal(0.0, np.sqrt(NOISE), N)
TEST = rng.uniform(-1.5, 1.5, (9, 2))
HELD = {"optimizer": None, "noise_variance": NOISE, "normalize_y": False, "random_state": 0}
SMOOTH = ConstantKernel(1.5) * RBF([0.8, 1.7])
MIXED = (
    ConstantKernel(0.7) * Columns(Matern(0.9, nu=2.5), [1]) * Columns(RationalQuadratic(1.1), [0])
    + DotProduct(0.5) ** 2
    + ConstantKernel(0.3) * Columns(ExpSineSquared(1.2, 3.0), [0])
    + RBF([1.0, 2.0])
)
MODELS = {
    "svgp": SVGPRegressor(inducing=X, **HELD),
    "few": SVGPRegressor(n_inducing=15, **HELD),
    "vfe": AnytimeSGPRegressor(model="vfe", inducing=X, **HELD),
    "vif": AnytimeSGPRegressor(model="vif", n_inducing=8, n_neighbors=200, **HELD),
    "no inducing": AnytimeSGPRegressor(model="vif", n_inducing=0, n_neighbors=200, **HELD),
    "pic": AnytimeSGPRegressor(model="pic", n_inducing=15, block_size=20, **HELD),
    "stream": StreamingSGPRegressor(n_inducing=15, **HELD),
    "outputs": SVGPRegressor(n_inducing=15, n_latent=1, **HELD),
}
EXACT = ["svgp", "vfe", "vif", "no inducing"]
every = pytest.mark.parametrize("name", MODELS)
exact = pytest.mark.parametrize("name", EXACT)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def fitted(name, kernel=SMOOTH):
    model = clone(MODELS[name]).set_params(kernel=kernel)
    return model.fit(X, np.column_stack([Y, -Y])) if name == "outputs" else model.fit(X, Y)


def dense(kernel):
    """Inverse of the covariance of the rows, and what it makes of the targets."""
    inverse = np.linalg.inv(kernel(X) + NOISE * np.eye(N))
    return inverse, inverse @ Y


def differences(function, step):
    """Central differences of a function in each column, as last axis."""
    parts = [function(TEST + step * e) - function(TEST - step * e) for e in np.eye(2)]
    return np.stack(parts, axis=-1) / (2.0 * step)


@every
@pytest.mark.parametrize("kernel", [SMOOTH, MIXED], ids=["smooth", "mixed"])
def test_slopes_are_those_of_the_mean(name, kernel):
    """Slopes are limits of differences of the predicted mean, in each column and output."""
    model = fitted(name, kernel)
    slopes = model.predict_gradient(TEST)
    assert_allclose(slopes, differences(model.predict, 1e-5), rtol=1e-6, atol=1e-6)


@exact
@pytest.mark.parametrize("kernel", [SMOOTH, MIXED], ids=["smooth", "mixed"])
def test_deviations_of_slopes_are_those_of_differences(name, kernel):
    """The variance of a slope is the limit of that of differences of the exact posterior."""
    inverse, _ = dense(kernel)
    step, (_, std) = 1e-3, fitted(name, kernel).predict_gradient(TEST, return_std=True)
    for k, unit in enumerate(np.eye(2)):
        ends = np.vstack([TEST + step * unit, TEST - step * unit])
        K = kernel(ends) - kernel(ends, X) @ inverse @ kernel(X, ends)
        n = len(TEST)
        variance = np.diag(K)[:n] + np.diag(K)[n:] - 2.0 * np.diag(K[:n, n:])
        assert_allclose(std[:, k], np.sqrt(variance) / (2.0 * step), rtol=2e-3)


@exact
@pytest.mark.parametrize("kernel", [SMOOTH, MIXED], ids=["smooth", "mixed"])
def test_gradients_of_an_optimiser_are_those_of_the_exact_process(name, kernel):
    """At one row: the slope of the mean, and of the root of k(x, x) - k(x, X) A k(X, x)."""
    model, (inverse, _) = fitted(name, kernel), dense(kernel)

    def std(points):
        cross = kernel(points, X)
        return np.sqrt(kernel.diag(points) - np.einsum("ij,jk,ik->i", cross, inverse, cross))

    slopes, expected = model.predict_gradient(TEST), differences(std, 1e-4)
    for k, row in enumerate(TEST[:, None]):
        mean, deviation, *gradients = model.predict(
            row, return_std=True, return_mean_grad=True, return_std_grad=True, include_noise=False
        )
        assert_allclose(mean, model.predict(row), rtol=1e-10)
        assert_allclose(deviation, std(row), rtol=1e-6)
        assert_allclose(gradients[0], slopes[k], rtol=1e-6, atol=1e-6)
        assert_allclose(gradients[1], expected[k], rtol=1e-5, atol=1e-6)


def test_gradients_of_an_optimiser_come_as_they_are_asked_for():
    """Each alone or both, in units of y and of the column, float32 too; of one row only."""
    model = fitted("svgp")
    both = model.predict(TEST[:1], return_mean_grad=True, return_std_grad=True)
    assert [part.shape for part in both] == [(1,), (2,), (2,)]
    assert len(model.predict(TEST[:1], return_std=True, return_mean_grad=True)) == 3
    assert_allclose(model.predict(TEST[:1], return_std_grad=True)[1], both[2])
    single = model.predict(TEST[:1].astype(np.float32), return_mean_grad=True)[1]
    assert_allclose(single, both[1], rtol=1e-5, atol=1e-5)
    far = clone(model).set_params(kernel=ConstantKernel(1.5) * RBF([800.0, 1.7e-4]))
    far = far.set_params(inducing=X * [1e3, 1e-4]).fit(X * [1e3, 1e-4], Y)
    scaled = far.predict(TEST[:1] * [1e3, 1e-4], return_mean_grad=True)[1]
    assert_allclose(scaled * [1e3, 1e-4], both[1], rtol=1e-6)
    several = fitted("outputs").predict(TEST[:1], return_mean_grad=True, return_std_grad=True)
    assert [part.shape for part in several] == [(1, 2), (2, 2), (2, 2)]
    with pytest.raises(ValueError, match="Got 9 rows: ask row by row, or take predict_gradient"):
        model.predict(TEST, return_mean_grad=True)
    with pytest.raises(RuntimeError, match="At most one"):
        model.predict(TEST[:1], return_mean_grad=True, return_cov=True)


def test_slopes_of_rough_functions_have_no_bounds():
    """Where the process has no slope, that of the mean is finite and its deviation infinite."""
    model = fitted("svgp", Matern([1.0, 2.0], nu=0.5))
    slopes, std = model.predict_gradient(TEST, return_std=True)
    assert np.isfinite(slopes).all()
    assert (std == np.inf).all()


def test_slopes_scale_with_units():
    """Slopes are in units of y for each unit of the column, whatever the scaling of targets."""
    model = SVGPRegressor(SMOOTH, inducing=X, optimizer=None, noise_variance=0.1, random_state=0)
    slopes, std = model.fit(X, Y).predict_gradient(TEST, return_std=True)
    more = clone(model).fit(X, 7.0 + 50.0 * Y).predict_gradient(TEST, return_std=True)
    assert_allclose(more[0], 50.0 * slopes, rtol=1e-6)
    assert_allclose(more[1], 50.0 * std, rtol=1e-6)


def test_columns_without_slopes():
    """Categories and labels of blocks have NaN for slopes, and others those of their own column."""
    group = np.arange(N) % 3
    whole = np.column_stack([group, X[:, 0], group // 2, X[:, 1]])
    kernel = Columns(RBF([0.8, 1.7]), [0, 2]) * Columns(Categorical(n_categories=3), [1])
    model = AnytimeSGPRegressor(
        kernel, model="pic", block_column=0, categorical_features=[2], n_inducing=9, **HELD
    )
    slopes = model.fit(whole, Y).predict_gradient(whole[:5])
    assert np.isnan(slopes[:, [0, 2]]).all()
    step = np.array([0.0, 1e-5, 0.0, 0.0])
    expected = model.predict(whole[:5] + step) - model.predict(whole[:5] - step)
    assert_allclose(slopes[:, 1], expected / 2e-5, rtol=1e-5, atol=1e-7)


def test_categories_of_the_kernel_have_no_slopes():
    """Codes that the kernel alone calls categories have NaN, as those that are told to have."""
    table = np.column_stack([np.arange(N) % 3, X[:, 0]])
    kernel = Columns(Categorical(), [0]) * Columns(RBF(0.8), [1])
    model = SVGPRegressor(kernel, n_inducing=9, **HELD).fit(table, Y)
    slopes, std = model.predict_gradient(table[:5], return_std=True)
    assert np.isnan(slopes[:, 0]).all() and np.isnan(std[:, 0]).all()
    step = np.array([0.0, 1e-5])
    expected = model.predict(table[:5] + step) - model.predict(table[:5] - step)
    assert_allclose(slopes[:, 1], expected / 2e-5, rtol=1e-5, atol=1e-7)
    gradients = model.predict(table[:1], return_mean_grad=True, return_std_grad=True)[1:]
    assert all(np.isnan(one[0]) and np.isfinite(one[1]) for one in gradients)


@pytest.mark.parametrize("option", [{"likelihood": "poisson"}, {"normalize_y": "yeo-johnson"}])
def test_slopes_and_terms_of_other_means_are_refused(option):
    """A mean that is no linear function of the latent one has none here, and says so."""
    model = SVGPRegressor(RBF(), n_inducing=5, max_iter=2, random_state=0, **option)
    model.fit(X, np.round(10.0 * np.exp(2.0 * Y)))
    with pytest.raises(ValueError, match="Slopes need a mean that is linear"):
        model.predict_gradient(TEST)
    with pytest.raises(ValueError, match="Terms need a mean that is linear"):
        model.predict_terms(TEST)


@every
def test_terms_add_up(name):
    """The terms of a sum and the centre of the targets make the predicted mean."""
    model = fitted(name, MIXED)
    if name == "few":  # noise in the kernel is no term
        model = model.set_params(kernel=MIXED + WhiteKernel(NOISE), noise_variance=None).fit(X, Y)
    terms = model.predict_terms(TEST)
    assert terms.shape[-1] == 4
    assert_allclose(terms.sum(axis=-1) + model.y_mean_, model.predict(TEST), atol=1e-9)


@exact
def test_terms_are_those_of_the_dense_posterior(name):
    """Mean and variance of each term given the rows are those of the joint normal distribution."""
    (inverse, weights), sizes = dense(MIXED), []
    terms, std = fitted(name, MIXED).predict_terms(TEST, return_std=True)
    kernels, kernel = [], MIXED
    while hasattr(kernel, "k1") and type(kernel).__name__ == "Sum":
        kernels.insert(0, kernel.k2)
        kernel = kernel.k1
    for place, term in enumerate([kernel, *kernels]):
        cross = term(TEST, X)
        variance = term.diag(TEST) - np.einsum("ij,jk,ik->i", cross, inverse, cross)
        assert_allclose(terms[:, place], cross @ weights, rtol=1e-5, atol=1e-6)
        assert_allclose(std[:, place] ** 2, variance, rtol=1e-4, atol=1e-6)
        sizes.append(variance.mean())
    assert len(sizes) == 4


def test_a_kernel_that_is_no_sum_has_one_term():
    """Then the term is the function itself."""
    model = fitted("svgp")
    mean, std = model.predict_terms(TEST, return_std=True)
    assert_allclose(mean[:, 0], model.predict(TEST), rtol=1e-9)
    assert_allclose(std[:, 0], model.predict_std(TEST, include_noise=False), rtol=1e-6)


@exact
def test_novelty_is_the_share_that_is_left(name):
    """Novelty is the dense posterior variance over the prior one, and 1 far away."""
    inverse, _ = dense(SMOOTH)
    cross = SMOOTH(TEST, X)
    left = SMOOTH.diag(TEST) - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    model = fitted(name)
    assert_allclose(model.novelty(TEST), left / SMOOTH.diag(TEST), rtol=1e-5)
    assert_allclose(model.novelty(TEST + 100.0), 1.0, rtol=1e-9)


@every
def test_novelty_is_between_zero_and_one(name):
    """Whatever the model, known places are near 0 and unknown ones at 1."""
    model = fitted(name)
    here, far = model.novelty(X), model.novelty(X + 100.0)
    assert here.shape == (N,)
    assert (here >= 0.0).all() and here.mean() < 0.2
    assert_allclose(far, 1.0, rtol=1e-9)


@exact
def test_left_out_rows_are_those_of_the_dense_model(name):
    """Each row given all others, in the order of the rows, as the dense formula has it."""
    inverse, weights = dense(SMOOTH)
    variance = 1.0 / np.diag(inverse)
    model = fitted(name)
    given = () if "vif" in name or name == "no inducing" else (X, Y)
    mean, std = model.leave_one_out(*given)
    assert_allclose(mean, Y - variance * weights, rtol=1e-4, atol=1e-4)
    assert_allclose(std, np.sqrt(variance), rtol=1e-4)


@pytest.mark.parametrize("noise", [1e-10, 1e-8])
def test_left_out_rows_without_noise(noise):
    """Rows of functions with next to no noise are told with all digits."""
    rows = np.random.default_rng(0).uniform(size=(60, 2))
    y = np.sin(5.0 * rows[:, 0]) * np.cos(4.0 * rows[:, 1])
    kernel = ConstantKernel(1.0, "fixed") * Matern(0.5, "fixed", nu=2.5)
    given = HELD | {"noise_variance": noise, "noise_variance_bounds": "fixed"}
    model = SVGPRegressor(kernel, inducing=rows, **given).fit(rows, y)
    inverse = np.linalg.inv(kernel(rows) + noise * np.eye(60))
    mean, std = model.leave_one_out(rows, y)
    deviation = 1.0 / np.sqrt(np.diag(inverse))
    assert_allclose(std, deviation, rtol=1e-6)
    assert_allclose((y - mean) / deviation, inverse @ y * deviation, atol=1e-3)


@pytest.mark.parametrize("name", ["few", "pic"])
def test_left_out_rows_are_those_of_fits_without_them(name):
    """The same Z and kernel without a row predict it as it is left out."""
    if name == "pic":
        model = AnytimeSGPRegressor(SMOOTH, model="pitc", inducing=X[:15], block_size=1, **HELD)
    else:
        model = SVGPRegressor(SMOOTH, inducing=X[:15], **HELD)
    model.fit(X, Y)
    mean, std = model.leave_one_out(X, Y)
    for k in (0, 17, 59):
        others = np.arange(N) != k
        fresh = clone(model).fit(X[others], Y[others])
        expected = fresh.predict(X[[k]], return_std=True)
        assert_allclose((mean[k], std[k]), np.ravel(expected), rtol=1e-5)


def test_left_out_rows_come_in_their_order():
    """Kept rows are told as they came, repeated and weighted ones where they are given again."""
    model = fitted("vif")
    assert_allclose(model.leave_one_out()[0], model.leave_one_out(X, Y)[0], rtol=1e-12)
    labels = np.arange(N) // 20
    blocks = AnytimeSGPRegressor(SMOOTH, model="pic", block_column=2, n_inducing=9, **HELD)
    blocks.fit(np.column_stack([X, labels]), Y)
    own = blocks.leave_one_out()
    again = blocks.leave_one_out(np.column_stack([X, labels]), Y)
    assert_allclose(own, again, rtol=1e-9)
    twice, y = np.vstack([X, X[:5]]), np.append(Y, Y[:5])
    model.fit(twice, y)
    with pytest.raises(ValueError, match="some were equal, became 60: pass X="):
        model.leave_one_out()
    inverse = np.linalg.inv(SMOOTH(twice) + NOISE * np.eye(N + 5))
    expected = y - inverse @ y / np.diag(inverse)
    assert_allclose(model.leave_one_out(twice, y)[0], expected, rtol=1e-4, atol=1e-4)
    more = fitted("vif").partial_fit(X[:9] + 0.01, Y[:9])
    assert len(more.leave_one_out()[0]) == N + 9


@pytest.mark.parametrize(("model", "column"), [("pic", None), ("pic", 2), ("lma", 2)])
def test_left_out_rows_of_later_batches_come_in_their_order(model, column):
    """They were told block after block, those of labels as if they were in other blocks."""
    table = X if column is None else np.column_stack([X, np.arange(N) % 4])
    blocks = {"block_column": column, "block_size": 10, "n_inducing": 9}
    blocks = AnytimeSGPRegressor(SMOOTH, model=model, **blocks, **HELD)
    blocks.fit(table[:40], Y[:40])
    given = blocks.leave_one_out(table[:40], Y[:40])
    assert_allclose(clone(blocks).fit(table[:40], Y[:40]).leave_one_out(), given, rtol=1e-9)
    for batch in (slice(40, 50), slice(50, N)):
        blocks.partial_fit(table[batch], Y[batch])
    own, given = blocks.leave_one_out(), blocks.leave_one_out(table, Y)
    assert_allclose(own, given, rtol=1e-9)
    assert np.abs(own[0] - Y).mean() < 0.5 * np.abs(Y - Y.mean()).mean()


def test_left_out_rows_are_in_their_own_block():
    """A row that another block has, too, is left out where it is."""
    table = np.column_stack([np.vstack([X, X]), np.repeat([0, 1], N)])
    y = np.append(Y, np.roll(Y, 1))
    table[N], y[N] = [*X[0], 1], Y[0]
    model = AnytimeSGPRegressor(SMOOTH, model="pic", block_column=2, n_inducing=9, **HELD)
    own = model.fit(table, y).leave_one_out()
    again = clone(model).fit(table, y).leave_one_out(table, y)
    assert_allclose(again, own, rtol=1e-9)


@pytest.mark.parametrize("partition", ["kmeans", "contiguous", "random"])
@pytest.mark.parametrize("model", ["pic", "lma"])
def test_left_out_rows_of_blocks_from_everywhere(model, partition):
    """Each is left out of its own block, wherever its inputs are: exact, as u is all rows."""
    blocks = {"model": model, "partition": partition, "block_size": 15}
    model = AnytimeSGPRegressor(SMOOTH, inducing=X, **blocks, **HELD)
    inverse, weights = dense(SMOOTH)
    mean, std = model.fit(X, Y).leave_one_out()
    assert_allclose(mean, Y - weights / np.diag(inverse), rtol=1e-4, atol=1e-4)
    assert_allclose(std, 1.0 / np.sqrt(np.diag(inverse)), rtol=1e-4)


def test_left_out_rows_of_runs_that_repeat_each_other():
    """Rows that come again in another block are left out there, given again or not."""
    twice, y = np.vstack([X, X[:20]]), np.append(Y, Y[:20])
    blocks = {"model": "pic", "partition": "contiguous", "block_size": 16}
    model = AnytimeSGPRegressor(SMOOTH, n_inducing=9, **blocks, **HELD).fit(twice, y)
    own = model.leave_one_out()
    assert_allclose(model.leave_one_out(twice, y), own, rtol=1e-9)
    assert np.abs(own[0][:20] - own[0][N:]).max() > 0.01


@pytest.mark.slow
@pytest.mark.quick_cases("True")
@pytest.mark.parametrize("holes", [False, True])
def test_left_out_rows_have_their_noise(holes):
    """Rows that are given again have the noise that the fit found for each, merged or not."""
    wide = np.random.default_rng(0).uniform(-2.0, 2.0, (200, 2))
    y = wide[:, 0] + 0.1 * np.exp(wide[:, 1]) * np.random.default_rng(1).standard_normal(200)
    likelihood = "gaussian" if holes else "heteroscedastic"
    wide[::3, 1] = np.nan if holes else wide[::3, 1]
    model = AnytimeSGPRegressor(n_neighbors=5, likelihood=likelihood, random_state=0)
    own = model.fit(wide, y).leave_one_out()
    assert np.ptp(own[1]) > 0.1
    assert_allclose(model.leave_one_out(wide, y), own, rtol=1e-9, atol=1e-12)
    order = np.random.default_rng(0).permutation(200)
    shuffled = model.leave_one_out(wide[order], y[order])
    assert_allclose(shuffled, np.array(own)[:, order], rtol=1e-7, atol=1e-9)
    twice = np.vstack([wide, wide[:50]])
    again = model.fit(twice, np.append(y, y[:50])).leave_one_out(twice, np.append(y, y[:50]))
    assert_allclose(np.array(again)[:, 200:], np.array(again)[:, :50], rtol=1e-5, atol=1e-8)
    assert np.abs(again[0][100:200] - own[0][100:200]).mean() < 0.2


def test_left_out_rows_that_are_not_there():
    """Models without rows, streams, other rows and mixed outputs say what is missing."""
    with pytest.raises(ValueError, match="keeps no training rows here: pass X="):
        fitted("svgp").leave_one_out()
    with pytest.raises(ValueError, match="all 60 training rows"):
        fitted("svgp").leave_one_out(X[:9], Y[:9])
    with pytest.raises(ValueError, match="rows that the model does not keep"):
        fitted("vif").leave_one_out(X + 1.0, Y)
    with pytest.raises(ValueError, match="sees each once"):
        fitted("stream").leave_one_out(X, Y)
    with pytest.raises(ValueError, match="outputs that are independent"):
        fitted("outputs").leave_one_out(X, np.column_stack([Y, -Y]))


@pytest.mark.slow
def test_importances_tell_what_counts():
    """They add up to one, do not depend on units, and are zero for what has no say."""
    wide = rng.uniform(-2.0, 2.0, (150, 4))
    y = np.sin(2.0 * wide[:, 0]) + wide[:, 1] + rng.normal(0.0, 0.1, 150)
    for model, target in [
        (SVGPRegressor(n_inducing=30, random_state=0), y),
        (AnytimeSGPRegressor(random_state=0), y),
        (AnytimeSGPRegressor(n_inducing=0, random_state=0), y),
        (SVGPClassifier(n_inducing=20, random_state=0), y > 0.0),
        (AnytimeSGPClassifier(random_state=0), y > 0.0),
    ]:
        share = model.fit(wide, target).feature_importances_
        assert_allclose(share.sum(), 1.0)
        assert share[:2].min() > share[2:].max()
    select = SelectFromModel(SVGPRegressor(n_inducing=20, random_state=0), threshold=0.1)
    assert select.fit(wide, y).get_support().tolist() == [True, True, False, False]


def test_equal_columns_are_equally_important():
    """A function of metres and kilometres has equal shares, and labels of blocks have none."""
    U = rng.uniform(0.0, 1.0, (200, 2))
    y = np.sin(6.0 * U[:, 0]) + np.sin(6.0 * U[:, 1])
    model = SVGPRegressor(n_inducing=40, random_state=0).fit(U * [1.0, 1000.0], y)
    assert_allclose(model.feature_importances_, 0.5, atol=0.08)
    whole = np.column_stack([np.arange(200) % 4, U])
    blocks = AnytimeSGPRegressor(
        RBF([0.3, 0.3]), model="pic", block_column=0, optimizer=None, n_inducing=30, random_state=0
    ).fit(whole, y)
    assert blocks.feature_importances_[0] == 0.0
    assert_allclose(blocks.feature_importances_.sum(), 1.0)


@pytest.mark.parametrize("n_inducing", [0, 1])
def test_importances_of_labelled_blocks_without_inducing_inputs(n_inducing):
    """They were all zero: rows that are kept were predicted as if they were in no block."""
    U = rng.uniform(-1.0, 1.0, (90, 2))
    table = np.column_stack([U[:, 0], np.arange(90) // 30, U[:, 1]])
    model = AnytimeSGPRegressor(
        RBF([1.0, 1.0]), model="lma", block_column=1, n_inducing=n_inducing, **HELD
    )
    share = model.fit(table, np.sin(2.0 * U[:, 0]) + 0.1 * U[:, 1]).feature_importances_
    assert_allclose(share.sum(), 1.0)
    assert share[0] > 0.8
    assert share[1] == 0.0


def test_clients_find_their_columns():
    """What rests on the attribute of scikit-learn's process finds inputs with the right columns."""
    model = SVGPRegressor(n_inducing=5, max_iter=2, random_state=0)
    assert not hasattr(model, "X_train_")
    assert model.fit(X, Y).X_train_.shape == (5, 2)


@pytest.mark.parametrize("name", ["svgp", "vif", "outputs"])
def test_the_functions_own_deviation(name):
    """Deviations, covariances and draws are the function's by parameter or argument."""
    noisy = fitted(name)
    quiet = clone(noisy).set_params(include_noise=False)
    quiet.fit(X, np.column_stack([Y, -Y]) if name == "outputs" else Y)
    _, std = quiet.predict(TEST, return_std=True)
    assert_allclose(std, noisy.predict_std(TEST, include_noise=False), rtol=1e-10)
    assert_allclose(std, noisy.predict(TEST, return_std=True, include_noise=False)[1], rtol=1e-10)
    assert_allclose(noisy.predict_std(TEST) ** 2, std**2 + NOISE, rtol=1e-6)
    assert_allclose(quiet.predict_std(TEST, include_noise=True), noisy.predict_std(TEST))
    _, covariance = noisy.predict(TEST, return_cov=True, include_noise=False)
    diagonal = np.einsum("iipp->ip" if name == "outputs" else "ii->i", covariance)
    assert_allclose(diagonal, std**2, rtol=1e-6, atol=1e-9)
    draws = quiet.sample_y(TEST, 4000)
    assert_allclose(draws.std(axis=-1), std, rtol=0.1, atol=1e-3)
    assert_allclose(noisy.sample_y(TEST, 9, include_noise=False), quiet.sample_y(TEST, 9))


def test_drawn_functions_have_no_noise():
    """Pathwise draws and counts have function values, too."""
    model = SVGPRegressor(SMOOTH, n_inducing=15, **HELD).fit(X, Y)
    draws = model.sample_y(TEST, 4000, method="pathwise", include_noise=False)
    assert_allclose(draws.std(axis=1), model.predict_std(TEST, include_noise=False), rtol=0.2)
    counts = SVGPRegressor(RBF(), likelihood="poisson", n_inducing=5, max_iter=5, random_state=0)
    counts.fit(X, np.round(np.exp(Y)))
    function = counts.sample_y(TEST, 9, include_noise=False)
    assert not np.array_equal(function, np.round(function))


def test_means_do_not_depend_on_it():
    """With a warp the mean is that of observations, whatever the deviations are of."""
    model = SVGPRegressor(n_inducing=10, max_iter=10, normalize_y="yeo-johnson", random_state=0)
    model.fit(X, np.exp(Y))
    mean, std = model.predict(TEST, return_std=True, include_noise=False)
    assert_allclose(mean, model.predict(TEST), rtol=1e-9)
    assert (std < model.predict_std(TEST)).all()
    assert_allclose(model.predict(TEST, return_cov=True, include_noise=False)[0], mean, rtol=1e-6)


@pytest.mark.parametrize("name", ["pitc", "pic"])
def test_left_out_rows_of_a_part_are_refused(name):
    """Messages sent in a circle: some were equal, pass X= and y=; then X and y were too many."""
    blocks = {"model": name, "block_size": 10, "n_inducing": 9, "max_steps": 2}
    model = AnytimeSGPRegressor(SMOOTH, **blocks, **HELD).fit(X, Y)
    for rows in ((), (X, Y)):
        with pytest.raises(ValueError, match=r"rests on all its rows.*more steps \(max_steps\)"):
            model.leave_one_out(*rows)
    model.set_params(max_steps=None).fit(X, Y).leave_one_out()


def test_left_out_rows_of_independent_rows_cut_off_are_refused(monkeypatch):
    """All rows were asked for, of which q(u) rests on some."""
    monkeypatch.setattr(schedule, "_affordable", lambda problem, *_: np.arange(0, N, 2))
    model = SVGPRegressor(SMOOTH, n_inducing=9, **HELD).fit(X, Y)
    with pytest.raises(ValueError, match=f"Got q.u. of {N // 2}, as learning ended"):
        model.leave_one_out(X, Y)
