"""The compiled stationary covariances against their formulas, values and reverse mode."""

import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core import _stationary, _triangles

FALSE_TRUE = [False, True]


def read_only(array):
    array.flags.writeable = False
    return array


def normal(rng, *shape):
    return read_only(rng.standard_normal(shape))


def periodic(r2, shape):
    return np.exp(-2.0 * np.sin(np.pi * np.sqrt(r2) / shape[1]) ** 2 / shape[0] ** 2)


FORMULAS = {
    "squared_exponential": lambda r2, shape: np.exp(-0.5 * r2),
    "matern12": lambda r2, shape: np.exp(-np.sqrt(r2)),
    "matern32": lambda r2, shape: (1 + np.sqrt(3 * r2)) * np.exp(-np.sqrt(3 * r2)),
    "matern52": lambda r2, shape: (1 + np.sqrt(5 * r2) + 5 * r2 / 3) * np.exp(-np.sqrt(5 * r2)),
    "rational_quadratic": lambda r2, shape: (1 + r2 / (2 * shape[0])) ** -shape[0],
    "periodic": periodic,
}
# relative error of a value and, through r2, of its argument where that is large
TOLERANCE = 1e-13
SHAPE = read_only(np.array([0.7, 1.9]))
profiles = pytest.mark.parametrize("profile", FORMULAS)


def value(profile, Z, X, variance=1.0, direct=True, shape=SHAPE):
    """The block by the compiled core."""
    out = np.empty((len(Z), len(X)))
    Xt = np.ascontiguousarray(X.T)
    _stationary.value_block(_stationary.PROFILES[profile], Z, Xt, variance, shape, out, direct)
    return out


def vjp(profile, Z, X, G, variance=1.0, direct=True):
    """Cotangent of the squared distances, and the three sums."""
    G, sums, Xt = G.copy(), np.empty(3), np.ascontiguousarray(X.T)
    _stationary.vjp_block(_stationary.PROFILES[profile], Z, Xt, variance, SHAPE, G, sums, direct)
    return G, sums


def squared_distances(Z, X):
    return ((Z[:, None, :].astype(float) - X) ** 2).sum(axis=-1)


@pytest.mark.parametrize("scales", [[0.3], [0.3, 2.0, 1e-300]])
@pytest.mark.parametrize("transposed", FALSE_TRUE)
def test_inputs_are_scaled(scales, transposed, rng):
    """Inputs less their center, over the length scales, end at 1e100; NaN stays NaN."""
    X, center, scales = rng.standard_normal((7, 6))[:, ::2], normal(rng, 3), np.array(scales)
    X[2, 0], X[3, 1], X[4, 2] = np.nan, np.inf, -1e100
    out = np.empty((3, 7)).T if transposed else np.empty((7, 3))
    _stationary.scale_rows(read_only(X), center, scales, out)
    with np.errstate(over="ignore"):
        assert_array_equal(out, np.clip((X - center) / scales, -1e100, 1e100))


def test_inputs_of_other_shapes_are_refused():
    """Center, scales and result have to be of the columns of X."""
    X, one = np.zeros((4, 3)), np.ones(1)
    for center, scales, out in [
        (np.ones(2), one, X),
        (np.ones(3), np.ones(2), X),
        (np.ones(3), one, X[:, :2]),
        (np.ones(3), one, X[:2]),
    ]:
        with pytest.raises(ValueError, match="scale_rows"):
            _stationary.scale_rows(X, center, scales, out.copy())


@pytest.mark.parametrize(
    ("m", "n", "d"), [(3, 1, 1), (1, 9, 2), (5, 16, 4), (70, 37, 7), (66, 8, 13)]
)
@pytest.mark.parametrize("direct", FALSE_TRUE)
@profiles
def test_values(profile, direct, m, n, d, rng):
    """A block is variance * profile(|z - x|^2), by differences or by products."""
    Z, X = (normal(rng, rows, d) for rows in (m, n))
    K = value(profile, Z, X, 1.7, direct)
    expected = 1.7 * FORMULAS[profile](squared_distances(Z, X), SHAPE)
    # by products r2 has an absolute error of some eps * |x|^2, r its square root near 0
    atol = 0.0 if direct else 20 * d * np.finfo(float).eps
    assert_allclose(K, expected, rtol=TOLERANCE, atol=atol)


def small_blocks(Z, X, rows, columns, out, *, row_ends=None, upper=False, direct=True):
    """The entries of two blocks by the compiled core."""
    bounds = np.array([0, 3, 5] if row_ends is None else row_ends), np.array([0, 3, 5])
    _stationary.value_blocks(0, Z, X, rows, columns, *bounds, 1.7, SHAPE, out, direct, upper)
    return out


@pytest.mark.parametrize("direct", FALSE_TRUE)
def test_small_blocks(direct, rng):
    """Blocks of chosen rows and columns, or their upper triangles, follow one another."""
    Z, X = normal(rng, 6, 3), normal(rng, 9, 3)
    rows, columns = np.array([2, 3, 0, 5, 1]), np.array([8, 8, 0, 4, 2])
    K = 1.7 * np.exp(-0.5 * squared_distances(Z, X))
    parts = [K[np.ix_(rows[part], columns[part])] for part in (slice(3), slice(3, 5))]
    expected = np.concatenate([part.ravel() for part in parts])
    found = small_blocks(Z, X, rows, columns, np.empty(13), direct=direct)
    assert_allclose(found, expected, rtol=1e-12)
    expected = np.concatenate([part[np.triu_indices(len(part))] for part in parts])
    found = small_blocks(Z, X, rows, columns, np.empty(9), upper=True, direct=direct)
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"out": np.empty(12)}, "shapes"),
        ({"Z": np.zeros((6, 2))}, "shapes"),
        ({"rows": np.full(5, 6)}, "those of rows"),
        ({"columns": np.full(5, -1)}, "those of rows"),
        ({"rows": np.arange(4)}, "must divide"),
        ({"row_ends": [0, 2, 5], "upper": True, "out": np.empty(6)}, "shapes"),
    ],
)
def test_small_blocks_check_what_they_get(changes, message):
    """Indices outside of the inputs and lengths that do not agree raise."""
    index = np.arange(5)
    given = {"Z": np.zeros((6, 3)), "X": np.zeros((9, 3)), "out": np.empty(13)}
    with pytest.raises(ValueError, match=message):
        small_blocks(**(given | {"rows": index, "columns": index} | changes))


@pytest.mark.parametrize("direct", FALSE_TRUE)
@profiles
def test_reverse_mode(profile, direct, rng):
    """The cotangent of r2 and the sums are those of differences of the formula."""
    Z, X, G = (normal(rng, *s) for s in ((67, 5), (21, 5), (67, 21)))
    r2, step = squared_distances(Z, X), 1e-5
    formula = FORMULAS[profile]
    slope = (formula(r2 + step, SHAPE) - formula(r2 - step, SHAPE)) / (2 * step)
    in_shape = [
        (formula(r2, SHAPE + step * e) - formula(r2, SHAPE - step * e)) / (2 * step)
        for e in np.eye(2)
    ]
    expected = [1.7 * (G * D).sum() for D in (formula(r2, SHAPE), *in_shape)]
    cotangent, sums = vjp(profile, Z, X, G, 1.7, direct)
    tolerance = 1e-8
    assert_allclose(cotangent, 1.7 * G * slope, rtol=100 * tolerance, atol=10 * tolerance)
    assert_allclose(sums, expected, rtol=10 * tolerance, atol=100 * tolerance)


@profiles
def test_reverse_mode_of_a_triangle(profile, rng):
    """With a symmetric cotangent the lower triangle, counted twice, gives all sums."""
    X, G = normal(rng, 23, 5), rng.standard_normal((23, 23))
    G = G + G.T
    full, sums = vjp(profile, X, X, G)
    lower, sums_of_lower = G.copy(), np.empty(3)
    Xt, number = np.ascontiguousarray(X.T), _stationary.PROFILES[profile]
    _stationary.vjp_block(number, X, Xt, 1.0, SHAPE, lower, sums_of_lower, True, True)
    assert_allclose(lower, np.tril(2.0 * full, -1) + np.diag(np.diagonal(full)), rtol=1e-12)
    assert_allclose(sums_of_lower, sums, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="square and direct"):
        _stationary.vjp_block(number, X, Xt, 1.0, SHAPE, lower, sums, False, True)


def triangles_vjp(profile, X, rows, bounds, G):
    """What G becomes, the sums and the squared differences of each column."""
    G, sums, squares = G.copy(), np.empty(3), np.empty(X.shape[1])
    number = _stationary.PROFILES[profile]
    _triangles.vjp_triangles(number, X, rows, bounds, 1.7, SHAPE, G, sums, squares)
    return G, sums, squares


@profiles
def test_reverse_mode_of_many_triangles(profile, rng):
    """It is that of each triangle's matrix with a cotangent that is zero below the diagonal."""
    X, rows = normal(rng, 30, 5), rng.integers(0, 30, 26)
    bounds, parts, expected_sums, expected_squares = np.array([0, 9, 9, 26]), [], 0.0, 0.0
    G = rng.standard_normal(9 * 10 // 2 + 17 * 18 // 2)
    start = 0
    for lo, hi in itertools.pairwise(bounds):
        own, upper = X[rows[lo:hi]], np.triu_indices(hi - lo)
        of_block = np.zeros((hi - lo, hi - lo))
        of_block[upper] = G[start : start + len(upper[0])]
        start += len(upper[0])
        if hi > lo:
            full, sums = vjp(profile, own, own, of_block, 1.7)
            parts.append(full[upper])
            expected_sums = expected_sums + sums
            squared = (own[:, None] - own) ** 2
            expected_squares = expected_squares + np.einsum("ij,ijq->q", np.triu(full), squared)
    found, sums, squares = triangles_vjp(profile, X, rows, bounds, G)
    assert_allclose(found, np.concatenate(parts), rtol=1e-12)
    assert_allclose(sums, expected_sums, rtol=1e-11, atol=1e-12)
    assert_allclose(squares, expected_squares, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"G": np.empty(8)}, "shapes"),
        ({"rows": np.full(5, 9)}, "those of rows"),
        ({"rows": np.arange(4)}, "must divide"),
    ],
)
def test_many_triangles_check_what_they_get(changes, message):
    """Indices outside of the inputs and lengths that do not agree raise."""
    given = {"rows": np.arange(5), "bounds": np.array([0, 3, 5]), "G": np.empty(9)} | changes
    with pytest.raises(ValueError, match=message):
        triangles_vjp("matern32", np.zeros((9, 3)), **given)


def with_slopes(profile, X, rows, bounds, G, by_products=False):
    """Values, slopes times G, the sum of G K and the squared differences of each column."""
    K, slopes = np.empty_like(G), np.empty_like(G)
    index, squares = (read_only(rows), read_only(bounds)), np.empty(X.shape[1])
    _triangles.values_and_slopes(_stationary.PROFILES[profile], X, *index, 1.7, K, slopes)
    total = _triangles.slopes_vjp(
        X, *index, read_only(K), slopes, read_only(G), squares, by_products
    )
    return K, slopes, total, squares


@pytest.mark.parametrize("by_products", FALSE_TRUE)
@pytest.mark.parametrize("profile", sorted(_triangles.WITH_SLOPES))
def test_values_with_their_slopes(profile, by_products, rng):
    """In one pass values and gradients are what they are in two, for inputs far from 0 as well."""
    X = rng.standard_normal((40, 15)) / 4.0 + 30.0
    rows, bounds = rng.integers(0, 40, 45), np.array([0, 21, 21, 22, 45])
    rows[3] = rows[7]  # two equal rows
    G = rng.standard_normal(21 * 22 // 2 + 1 + 23 * 24 // 2)
    expected, sums, of_columns = triangles_vjp(profile, X, rows, bounds, G)
    out, index = np.empty_like(G), (rows, rows, bounds, bounds)
    _stationary.value_blocks(
        _stationary.PROFILES[profile], X, X, *index, 1.7, SHAPE, out, True, True
    )
    K, slopes, total, squares = with_slopes(profile, X, rows, bounds, G, by_products)
    assert_allclose(K, out, rtol=1e-14)
    assert_allclose(slopes, expected, rtol=1e-13)
    assert_allclose(total, sums[0], rtol=1e-12)
    scale = np.abs(of_columns).max()
    assert_allclose(squares, of_columns, rtol=1e-10, atol=1e-11 * scale)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"G": np.empty(8)}, "shapes"),
        ({"rows": np.full(5, 9)}, "those of rows"),
        ({"bounds": np.array([0, 6, 5])}, "must divide"),
        ({"profile": "periodic"}, "keeps no slopes"),
    ],
)
def test_values_with_slopes_check_what_they_get(changes, message):
    """Indices, lengths and profiles that do not fit raise."""
    given = {"profile": "matern32", "rows": np.arange(5), "bounds": np.array([0, 3, 5])}
    with pytest.raises(ValueError, match=message):
        with_slopes(X=np.zeros((9, 3)), **({"G": np.empty(9)} | given | changes))


@pytest.mark.parametrize("direct", FALSE_TRUE)
@profiles
def test_coincident_points(profile, direct):
    """At distance 0 the value is the variance and the gradient finite."""
    X = np.zeros((4, 3))
    assert_array_equal(value(profile, X, X, 1.7, direct), 1.7)
    cotangent, sums = vjp(profile, X, X, np.ones((4, 4)), 1.7, direct)
    assert np.isfinite(cotangent).all() and np.isfinite(sums).all()
    assert_allclose(sums[0], 16 * 1.7)


@pytest.mark.parametrize("direct", FALSE_TRUE)
@pytest.mark.parametrize(
    "profile", [p for p in FORMULAS if p not in ("periodic", "rational_quadratic")]
)
def test_far_distances_give_exactly_zero(profile, direct):
    """Values too small for normal numbers are exactly 0, and so is their gradient."""
    Z, X = np.zeros((1, 1)), np.geomspace(1e3, 1e8, 50)[:, None]
    assert_array_equal(value(profile, Z, X, direct=direct), 0.0)
    cotangent, sums = vjp(profile, Z, X, np.ones((1, 50)), direct=direct)
    assert_array_equal(cotangent, 0.0)
    assert_array_equal(sums, 0.0)


@profiles
def test_no_denormals(profile):
    """No distance gives a number between 0 and the smallest normal one."""
    X = np.linspace(0.0, 800.0, 200_001)[:, None]
    K = value(profile, np.zeros((1, 1)), X)
    assert not ((K > 0) & (K < np.finfo(float).tiny)).any()


def test_exponential_is_accurate_to_four_ulp():
    """Over [-700, 0] the polynomial differs from numpy's exp by less than 4 ulp."""
    r = np.sqrt(np.concatenate([np.linspace(0.0, 1400.0, 100_001), np.geomspace(1e-20, 1, 1000)]))
    expected = np.exp(-0.5 * (r * r))
    K = value("squared_exponential", np.zeros((1, 1)), r[:, None])[0]
    assert (np.abs(K - expected) / np.spacing(expected)).max() < 4.0


@pytest.mark.parametrize("direct", FALSE_TRUE)
@profiles
def test_nan_stays_nan(profile, direct):
    """An input or parameter that is not a number shows in the values, never as 0 or 1."""
    X = np.array([[0.1], [np.nan], [0.2]])
    K = value(profile, np.zeros((1, 1)), X, direct=direct)
    assert_array_equal(np.isnan(K), [[False, True, False]])
    _, sums = vjp(profile, np.zeros((1, 1)), X, np.ones((1, 3)), direct=direct)
    assert np.isnan(sums[0])


@pytest.mark.parametrize(("m", "n"), [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("direct", FALSE_TRUE)
def test_empty_blocks(m, n, direct):
    """Blocks without rows or columns are fine, and their sums are 0."""
    Z, X = np.zeros((m, 2)), np.zeros((n, 2))
    assert value("matern32", Z, X, direct=direct).shape == (m, n)
    assert_array_equal(vjp("matern32", Z, X, np.empty((m, n)), direct=direct)[1], 0.0)


@pytest.mark.parametrize(
    "shapes",
    [
        {"Z": (3, 4)},
        {"Xt": (3, 5)},
        {"out": (5, 3)},
        {"shape": (1,)},
        {"sums": (2,)},
    ],
    ids=lambda shapes: next(iter(shapes)),
)
def test_wrong_block_shapes_are_refused(shapes):
    """Shapes that do not agree raise before any memory is read."""
    right = {"Z": (3, 2), "Xt": (2, 5), "shape": (2,), "out": (3, 5), "sums": (3,)}
    Z, Xt, shape, out, sums = (np.ones(s) for s in (right | shapes).values())
    with pytest.raises(ValueError, match="vjp_block: shapes do not agree"):
        _stationary.vjp_block(0, Z, Xt, 1.0, shape, out, sums, True)
    if "sums" not in shapes:
        with pytest.raises(ValueError, match="value_block: shapes do not agree"):
            _stationary.value_block(0, Z, Xt, 1.0, shape, out, True)


@cache
def all_blocks():
    """Values and reverse mode of every profile and path, one after the other."""
    rng = np.random.default_rng(0)
    Z, X, G = (rng.uniform(-3.0, 3.0, s) for s in ((5, 6), (41, 6), (5, 41)))
    results = []
    for profile in FORMULAS:
        for direct in FALSE_TRUE:
            results += [value(profile, Z, X, 1.7, direct), *vjp(profile, Z, X, G, 1.7, direct)]
        cotangents = rng.standard_normal(41 * 42 // 2)
        triangle = np.arange(41), np.array([0, 41]), cotangents
        results += triangles_vjp(profile, X, *triangle)
        if profile in _triangles.WITH_SLOPES:
            results += with_slopes(profile, X, *triangle)
    return results


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize("level", ["0", "1"])
def test_instruction_sets_agree(level, tmp_path):
    """Lower instruction sets give the same numbers, to rounding, as the best this machine has."""
    path = tmp_path / "blocks.npz"
    code = (
        "import sys, numpy as np; sys.path.insert(0, sys.argv[1]); import test_stationary as t; "
        "np.savez(sys.argv[2], *t.all_blocks()); print(t._stationary.simd_level())"
    )
    arguments = [sys.executable, "-c", code, os.path.dirname(__file__), str(path)]
    environment = os.environ | {"SKLEARN_SGP_SIMD": level}
    ran = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    levels = ["baseline", "avx2", "avx512"]
    assert levels.index(ran.stdout.strip()) <= int(level)
    with np.load(path) as blocks:
        for block, expected in zip(blocks.values(), all_blocks(), strict=True):
            assert_allclose(block, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("number", [-1, len(_stationary.PROFILES)])
def test_a_number_of_no_profile_is_refused(number, rng):
    """No block is computed by another profile in the place of one that does not exist."""
    X, out, sums, squares = normal(rng, 4, 2), np.empty((4, 4)), np.empty(3), np.empty(2)
    Xt, bounds, index = np.ascontiguousarray(X.T), np.array([0, 4]), np.arange(4)
    both, entries = (index, index, bounds, bounds), np.empty(16)
    blocks, triangles = _stationary, _triangles
    calls = [
        lambda: blocks.value_block(number, X, Xt, 1.0, SHAPE, out, True),
        lambda: blocks.value_blocks(number, X, X, *both, 1.0, SHAPE, entries, True),
        lambda: blocks.vjp_block(number, X, Xt, 1.0, SHAPE, out, sums, True),
        lambda: triangles.vjp_triangles(
            number, X, index, bounds, 1.0, SHAPE, np.empty(10), sums, squares
        ),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=f"numbers of PROFILES. Got {number}"):
            call()


def test_threads_agree(rng):
    """Blocks computed at once in two Python threads are those of one thread, bit for bit."""
    jobs = [(p, normal(rng, 40, 5), normal(rng, 300, 5), d) for p in FORMULAS for d in FALSE_TRUE]
    alone = [value(p, Z, X, 1.0, direct) for p, Z, X, direct in jobs]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda job: value(*job[:3], 1.0, job[3]), jobs * 3))
    for block, expected in zip(together, alone * 3, strict=True):
        assert_array_equal(block, expected)
