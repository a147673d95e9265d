"""Near rows have joint predictions across their cells."""

import numpy as np
import pytest
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from slow_variants import slow

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.predict import joint_across_cells

KERNEL = ConstantKernel(1.0) * RBF([0.4, 0.5]) + ConstantKernel(0.1) * Matern(0.5, nu=0.5)
NOISE = 0.02
GIVEN = {"optimizer": None, "noise_variance": NOISE, "normalize_y": False, "random_state": 0}


def rows_of(rng, n, n_outputs=1):
    X = rng.uniform(-1.0, 1.0, (n, 2))
    y = np.column_stack([np.sin(4.0 * X[:, 0] + k) * X[:, 1] for k in range(n_outputs)])
    y += np.sqrt(NOISE) * rng.standard_normal(y.shape)
    return X, y[:, 0] if n_outputs == 1 else y


def shares_of(partition, T):
    """Return what each cell counts for each row, by the two nearest centres: (n, n_cells)."""
    if not hasattr(partition, "centres") or isinstance(partition.centres, list):  # a tree of LMA
        cells = partition.assign(T)
        return (cells[:, None] == np.arange(cells.max() + 1)).astype(float)
    points = T / partition.scale
    away = np.linalg.norm(points[:, None] - partition.centres, axis=2)
    share = np.zeros_like(away)
    for i, one in enumerate(away):
        k, other, third = np.argsort(one)[:3]
        room = min(one[third], 1.3 * one[k]) - one[k]
        second = max(0.0, 1.0 - (one[other] - one[k]) / room) ** 2
        share[i, [k, other]] = np.array([1.0, second]) / (1.0 + second)
    return share


def dense(model, T, noise):
    """The covariances of what predictions get wrong, by matrices of all rows.

    Where two cells are joined, variances are the largest that theirs allow.
    """
    predictor = fitted(model).predictor
    blocks, posterior = predictor.blocks, predictor.posterior
    X, n = np.asarray(blocks.rows.X), len(blocks.rows)
    kernel, both = model.kernel_, np.vstack([X, T])
    A = posterior.prior.whitened(both)
    S = kernel(both) - A.T @ A
    S[:n, :n] += np.diag(noise)
    share = shares_of(predictor.partition, T)
    W, std = np.zeros((len(T), len(both))), np.zeros(len(T))
    of_u = posterior.precisions[0].covariance
    for i, k in zip(*np.nonzero(share), strict=True):
        (near,), one = blocks.near([k]), np.zeros(len(both))
        one[n + i] = 1.0
        one[near] = -np.linalg.solve(S[np.ix_(near, near)], S[near, n + i])
        W[i] += share[i, k] * one
        std[i] += share[i, k] * np.sqrt(one @ S @ one + one @ A.T @ of_u @ A @ one)
    b = W @ A.T
    covariance = W @ S @ W.T + b @ of_u @ b.T
    factor = std / np.sqrt(np.diag(covariance))
    return covariance * np.outer(factor, factor)


CASES = [
    {"model": "vif", "n_neighbors": 4, "n_inducing": 6},
    {"model": "vif", "n_neighbors": 4, "n_inducing": 0},
    {"model": "lma", "block_size": 25, "n_inducing": 6},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("together", [1, 1024])
def test_covariances_are_those_of_the_errors(rng, monkeypatch, case, together):
    """Every pair of rows, whatever their cells, has the covariance of its errors."""
    monkeypatch.setattr(joint_across_cells, "_TOGETHER_ROWS", together)
    (X, y), T = rows_of(rng, 220), rng.uniform(-1.0, 1.0, (60, 2))
    weight = rng.uniform(0.5, 2.0, 220)
    ours = AnytimeSGPRegressor(KERNEL, **GIVEN, **case).fit(X, y, weight)
    mean, covariance = ours.predict(T, return_cov=True)
    assert len(np.unique(fitted(ours).state.partition.assign(T))) > 3
    of_rows = NOISE / np.ravel(fitted(ours).state.blocks.rows.weights[0])
    assert_allclose(covariance - NOISE * np.eye(60), dense(ours, T, of_rows), rtol=1e-6, atol=1e-9)
    assert_allclose(mean, ours.predict(T), rtol=1e-10)
    assert_allclose(np.sqrt(np.diag(covariance)), ours.predict_std(T), rtol=1e-9)


def test_outputs_with_noise_of_their_own(rng):
    """Each output has the covariances that it has alone."""
    (X, y), T = rows_of(rng, 200, 2), rng.uniform(-1.0, 1.0, (20, 2))
    given = {**GIVEN, "n_neighbors": 4, "n_inducing": 6, "inducing": "random"}
    noise = np.array([0.02, 0.1])
    both = AnytimeSGPRegressor(KERNEL, **{**given, "noise_variance": noise}).fit(X, y)
    covariance = both.predict(T, return_cov=True)[1]
    for c in range(2):
        one = AnytimeSGPRegressor(KERNEL, **{**given, "noise_variance": noise[c]}).fit(X, y[:, c])
        assert_allclose(covariance[:, :, c], one.predict(T, return_cov=True)[1], rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("n_inducing", [slow(0), 30])
def test_sums_and_differences_are_those_of_the_exact_process(rng, n_inducing):
    """Deviations of pairs across cells, and of averages, are within 5 percent of the exact ones."""
    (X, y), T = rows_of(rng, 1500), rng.uniform(-1.0, 1.0, (300, 2))
    ours = AnytimeSGPRegressor(KERNEL, n_inducing=n_inducing, **GIVEN).fit(X, y)
    covariance = ours.predict(T, return_cov=True)[1] - NOISE * np.eye(300)
    L = np.linalg.cholesky(KERNEL(X) + NOISE * np.eye(1500))
    V = np.linalg.solve(L, KERNEL(X, T))
    exact = KERNEL(T) - V.T @ V
    cells = fitted(ours).state.partition.assign(T)
    i, j = rng.integers(0, 300, (2, 800))
    apart = cells[i] != cells[j]
    rows, first, second = np.arange(apart.sum()), i[apart], j[apart]
    pairs = np.zeros((len(rows), 300))
    pairs[rows, first] = 1.0
    averages = np.vstack([np.ones(300), T[:, 0] > 0.0, np.abs(T).max(axis=1) < 0.3])
    for sign in (1.0, -1.0):
        pairs[rows, second] = sign
        for weights in (pairs, averages):
            variances = [np.einsum("ki,ij,kj->k", weights, C, weights) for C in (covariance, exact)]
            assert_allclose(np.sqrt(variances[0]), np.sqrt(variances[1]), rtol=0.05)


def test_correlations_hold_where_few_near_rows_make_deviations_large(rng):
    """With the exact deviations of single rows, differences and sums have the exact ones, too."""
    kernel, (X, T) = RBF([1.0] * 4), (rng.uniform(-1.0, 1.0, (n, 4)) for n in (1500, 150))
    ours = AnytimeSGPRegressor(kernel, n_neighbors=20, n_inducing=30, **GIVEN)
    covariance = ours.fit(X, np.sin(X[:, 0])).predict(T, return_cov=True, include_noise=False)[1]
    V = np.linalg.solve(np.linalg.cholesky(kernel(X) + NOISE * np.eye(1500)), kernel(X, T))
    exact = kernel(T) - V.T @ V
    ratio = np.sqrt(np.diag(exact) / np.diag(covariance))
    assert np.median(ratio) < 0.9
    covariance *= np.outer(ratio, ratio)
    i, j = np.triu_indices(150, 1)
    for sign in (1.0, -1.0):
        of_ours, wanted = (C[i, i] + C[j, j] + 2.0 * sign * C[i, j] for C in (covariance, exact))
        off = np.abs(np.sqrt(of_ours / wanted) - 1.0)
        assert np.quantile(off, 0.95) < 0.05


@pytest.mark.slow
def test_more_inducing_inputs_bring_the_exact_sums_and_differences(rng):
    """Of a smooth function in many columns they say what few near rows cannot."""
    kernel, (X, T) = RBF([1.0] * 4), (rng.uniform(-1.0, 1.0, (n, 4)) for n in (1500, 100))
    V = np.linalg.solve(np.linalg.cholesky(kernel(X) + NOISE * np.eye(1500)), kernel(X, T))
    exact = kernel(T) - V.T @ V
    i, j = np.triu_indices(100, 1)
    worst = []
    for n_inducing in (30, 300):
        ours = AnytimeSGPRegressor(kernel, n_neighbors=20, n_inducing=n_inducing, **GIVEN)
        ours.fit(X, np.sin(X[:, 0]))
        covariance = ours.predict(T, return_cov=True, include_noise=False)[1]
        for sign in (1.0, -1.0):
            variances = [C[i, i] + C[j, j] + 2.0 * sign * C[i, j] for C in (covariance, exact)]
            worst.append(np.abs(np.sqrt(variances[0] / variances[1]) - 1.0).max())
    assert min(worst[:2]) > 0.15
    assert max(worst[2:]) < 0.05


def across_borders(model, rng):
    """Return pairs of places a hair apart, between which the nearest cell changes."""
    partition, pairs = fitted(model).predictor.partition, []
    while len(pairs) < 40:
        a, b = rng.uniform(-1.0, 1.0, (2, 1, partition.centres.shape[1]))
        first, last = partition.assign(a)[0], partition.assign(b)[0]
        if first == last:
            continue
        for _ in range(40):
            middle = (a + b) / 2.0
            here = partition.assign(middle)[0]
            a, b = (middle, b) if here == first else (a, middle)
        pairs.append(np.vstack([a, b]))
    return np.vstack(pairs)


@pytest.mark.quick_cases("*-0")
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_nothing_jumps_where_the_nearest_cell_changes(seed, n_columns):
    """Means, deviations, slopes' means and drawn functions go on from one cell to the next."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (900, n_columns))
    y = np.sin(4.0 * X).sum(axis=1) + np.sqrt(NOISE) * rng.standard_normal(900)
    kernel = ConstantKernel(2.0) * RBF([0.5] * n_columns)
    ours = AnytimeSGPRegressor(kernel, n_neighbors=10, n_inducing=8, **GIVEN).fit(X, y)
    places = across_borders(ours, rng)
    mean, std = ours.predict(places), ours.predict_std(places, include_noise=False)
    assert np.abs(np.diff(mean.reshape(-1, 2))).max() < 1e-5 * std.min()
    assert np.abs(np.diff(np.log(std).reshape(-1, 2))).max() < 1e-5
    drawn = ours.sample_functions(2, random_state=0)(places)
    assert np.abs(np.diff(drawn.reshape(-1, 2, 2), axis=1)).max() < 1e-5 * std.min()
    covariance = ours.predict(places, return_cov=True)[1] - NOISE * np.eye(len(places))
    for i in range(0, len(places), 2):
        one, other, between = covariance[i, i], covariance[i + 1, i + 1], covariance[i, i + 1]
        assert between > (1.0 - 1e-5) * np.sqrt(one * other)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_slopes_are_those_of_joined_means(rng, n_columns):
    """Slopes are limits of differences of means, also where two cells are joined."""
    X = rng.uniform(-1.0, 1.0, (900, n_columns))
    y = np.sin(4.0 * X).sum(axis=1) + np.sqrt(NOISE) * rng.standard_normal(900)
    kernel = ConstantKernel(2.0) * RBF([0.5] * n_columns)
    ours = AnytimeSGPRegressor(kernel, n_neighbors=10, n_inducing=8, **GIVEN).fit(X, y)
    T, step = rng.uniform(-1.0, 1.0, (200, n_columns)), 1e-6
    assert fitted(ours).predictor.partition.weights(T).n_further > 20
    slopes = ours.predict_gradient(T)
    for column in range(n_columns):
        moved = np.zeros(n_columns)
        moved[column] = step
        differences = (ours.predict(T + moved) - ours.predict(T - moved)) / (2.0 * step)
        assert_allclose(slopes[:, column], differences, rtol=1e-4, atol=1e-4)


def test_rows_of_a_new_category_share_its_level(rng):
    """The average of rows of one new category is hardly surer than one of them."""
    X = np.column_stack([rng.uniform(-1.0, 1.0, (900, 2)), rng.integers(0, 12, 900)])
    kernel = Columns(RBF(0.5), [0, 1]) + Columns(Categorical(n_categories=12), [2])
    level = rng.standard_normal(12)
    y = np.sin(4.0 * X[:, 0]) + level[X[:, 2].astype(int)] + 0.1 * rng.standard_normal(900)
    T = np.column_stack([rng.uniform(-1.0, 1.0, (60, 2)), np.full(60, 40.0)])
    ours = AnytimeSGPRegressor(kernel, n_neighbors=40, **GIVEN).fit(X, y)
    covariance = ours.predict(T, return_cov=True)[1] - NOISE * np.eye(60)
    assert len(np.unique(fitted(ours).state.partition.assign(T))) > 3
    assert np.sqrt(covariance.mean()) > 0.97 * np.sqrt(np.diag(covariance)).mean()
    T[::2, 2] = 41.0  # two categories have levels of their own
    apart = ours.predict(T, return_cov=True)[1]
    assert apart[::2, 1::2].mean() < 0.6 * covariance.mean()


def test_many_cells_take_fewer_near_rows(rng, monkeypatch):
    """Where near rows of all cells are too many, variances stay, and correlations nearly so."""
    (X, y), T = rows_of(rng, 900), rng.uniform(-1.0, 1.0, (80, 2))
    ours = AnytimeSGPRegressor(KERNEL, n_neighbors=40, n_inducing=20, **GIVEN).fit(X, y)
    mean, exact = ours.predict(T, return_cov=True)
    monkeypatch.setattr(joint_across_cells, "_MOST_KERNEL_ENTRIES", 1000)
    again, covariance = ours.predict(T, return_cov=True)
    assert_array_equal(again, mean)
    assert_allclose(np.diag(covariance), np.diag(exact), rtol=1e-9)
    assert np.linalg.eigvalsh(covariance)[0] > 0.0
    functions = [C - NOISE * np.eye(80) for C in (covariance, exact)]
    std = np.sqrt(np.diag(functions[1]))
    one, other = (C / np.outer(std, std) for C in functions)
    assert np.abs(one - other).max() < 0.3 and np.abs(one - other).mean() < 0.02


@pytest.mark.slow
@pytest.mark.quick_cases("{'model': 'vif', 'n_neighbors': 4, 'n_inducing': 6}")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_functions_have_the_joint_distribution(rng, case):
    """Functions that are drawn have means and covariances of joint predictions."""
    (X, y), T = rows_of(rng, 300), rng.uniform(-1.0, 1.0, (25, 2))
    ours = AnytimeSGPRegressor(KERNEL, **GIVEN, **case).fit(X, y)
    mean, covariance = ours.predict(T, return_cov=True)
    covariance -= NOISE * np.eye(25)
    drawn = ours.sample_functions(800, random_state=0)
    draws, std = drawn(T), np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(axis=1) - mean) / std).max() < 5.0 / np.sqrt(800)
    assert_allclose(draws.std(axis=1), std, rtol=0.15)
    assert np.abs(np.cov(draws) - covariance).max() < 0.2 * np.outer(std, std).max()
    assert_allclose(drawn(T[::-1])[::-1], draws, rtol=1e-7, atol=1e-9)  # one function


def test_thousands_of_rows_are_drawn_by_functions(rng):
    """sample_y goes over to functions beyond 2,000 rows, which have the predicted deviations."""
    (X, y), T = rows_of(rng, 600), rng.uniform(-1.0, 1.0, (2100, 2))
    ours = AnytimeSGPRegressor(KERNEL, n_neighbors=20, n_inducing=20, **GIVEN).fit(X, y)
    draws = ours.sample_y(T, 30)
    mean, std = ours.predict(T, return_std=True)
    assert draws.shape == (2100, 30)
    assert_allclose(((draws - mean[:, None]) / std[:, None]).std(), 1.0, atol=0.05)
    few = ours.sample_y(T[:40], 2000, method="joint")
    assert_allclose(few.std(axis=1), std[:40], rtol=0.1)
