"""A function that goes up and down along one of many columns is found."""

from contextlib import nullcontext
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from slow_variants import slow

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.engines import learned_directions, one_column
from sklearn_sgp.engines.blocks import engine
from sklearn_sgp.engines.variational import engine as variational

KINDS = [AnytimeSGPRegressor, SVGPRegressor]
PAIRS = list(combinations(range(8), 2))


def waves(n, n_columns, periods, seed=0, noise=0.1):
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n, n_columns))
    y = np.sin(2.0 * np.pi * periods * X[:, -1]) + 0.5 * X[:, 0]
    return X, 3.0 + 20.0 * (y + noise * rng.standard_normal(n))


def error(model, n_columns, periods, n_outputs=1):
    T, f = waves(200, n_columns, periods, seed=1, noise=0.0)
    f = np.column_stack([f] * n_outputs) if n_outputs > 1 else f
    return np.sqrt(np.mean((model.predict(T) - f) ** 2)) / f.std()


@pytest.mark.quick_cases("case0-SVGPRegressor", "case1-AnytimeSGPRegressor")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", [(150, 8, 4), (150, 8, 10), (200, 16, 6)])
def test_fast_waves_along_one_of_many_columns(kind, case):
    model = kind(random_state=0).fit(*waves(*case))
    assert error(model, *case[1:]) < 0.25


def test_outputs_that_share_a_kernel():
    X, y = waves(150, 8, 6)
    rng = np.random.RandomState(2)
    Y = np.column_stack([y, y + rng.standard_normal(len(y))])
    model = SVGPRegressor(random_state=0, normalize_y=False).fit(X, Y)
    assert error(model, 8, 6, n_outputs=2) < 0.25


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("periods", [0.5, 1.0])
def test_nothing_is_tried_where_the_fit_has_found_it(kind, periods, monkeypatch):
    tried, own = [], one_column._missed

    def missed(*parts):
        tried.append(own(*parts))
        return tried[-1]

    monkeypatch.setattr(one_column, "_missed", missed)
    kind(random_state=0).fit(*waves(150, 4, periods))
    assert tried and tried == [None] * len(tried)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_alone_is_left_alone(kind):
    rng = np.random.RandomState(0)
    X, y = rng.uniform(size=(150, 8)), rng.standard_normal(150)
    model = kind(random_state=0).fit(X, y)
    assert model.predict(X).std() < 0.3


@pytest.mark.filterwarnings("ignore")  # of iterations that end early
@pytest.mark.parametrize("n", [1, 2])
def test_rows_too_few_for_neighbours(n):
    rng = np.random.RandomState(0)
    X, y = 3.0 * rng.uniform(size=(n, 10)), np.arange(float(n))
    model = SVGPRegressor(inducing="fourier", n_inducing=8, max_iter=5, random_state=1)
    assert np.isfinite(model.fit(X, y).predict(X)).all()  # one row was an IndexError


def test_a_given_kernel_is_learned_as_it_is(monkeypatch):
    X, y = waves(150, 8, 6)
    kernel = RBF(np.ones(8))
    given = SVGPRegressor(kernel, random_state=0).fit(X, y)
    monkeypatch.setattr(one_column, "_OF_COLUMN", ())
    plain = SVGPRegressor(kernel, random_state=0).fit(X, y)
    assert_array_equal(given.predict(X[:5]), plain.predict(X[:5]))


def waves_of_two(n, n_columns, periods, product, seed=0, noise=0.1):
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n, n_columns))
    a, b = 2.0 * np.pi * periods * X[:, [2, 5]].T
    f = 1.4 * np.sin(a) * np.sin(b + 1.0) if product else np.sin(a) + np.sin(b + 1.0)
    return X, f + noise * rng.standard_normal(n), f


@pytest.mark.quick_cases("False-case0-AnytimeSGPRegressor")
@pytest.mark.parametrize(
    "kind", [AnytimeSGPRegressor, pytest.param(SVGPRegressor, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("product", "case"), [(False, (250, 8, 4)), (True, (250, 12, 2))])
def test_fast_waves_along_two_of_many_columns(kind, product, case):
    X, y, _ = waves_of_two(*case, product)
    T, _, f = waves_of_two(200, *case[1:], product, seed=1)
    model = kind(random_state=0).fit(X, y)
    assert np.sqrt(np.mean((model.predict(T) - f) ** 2)) < 0.3 * f.std()


def test_pairs_of_noise_are_none():
    """The nearest row of one of 28 pairs does not explain noise, in none of forty draws."""
    for seed in range(40):
        rng = np.random.RandomState(seed)
        rows = np.round(rng.standard_normal((120, 8)), 1), rng.standard_normal((120, 1))
        each = [one_column._explained_by_nearest(rows[0][:, p], rows[1]) for p in PAIRS]
        assert max(each) < 6.0 / np.sqrt(120)


@pytest.mark.quick_cases("SVGPRegressor-ends1", "AnytimeSGPRegressor-ends0")
@pytest.mark.filterwarnings("ignore")  # of a fit that explains nothing
@pytest.mark.parametrize("ends", [NotPositiveDefiniteError("lost"), KeyboardInterrupt()])
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_fit_outlives_the_second_one(kind, ends, monkeypatch):
    """It was lost with the other one: Ctrl-C left no fit, and rounding was an error."""

    def fails(problem):
        raise ends

    module = engine if kind is AnytimeSGPRegressor else variational
    again = one_column.or_fast_along_columns
    monkeypatch.setattr(module, "or_fast_along_columns", lambda *given: again(*given[:2], fails))
    (X, y), model = waves(150, 8, 6), kind(random_state=0)
    with pytest.raises(KeyboardInterrupt) if isinstance(ends, KeyboardInterrupt) else nullcontext():
        model.fit(X, y)
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_fit_outlives_ctrl_c_amid_the_search(kind, monkeypatch):
    """What one column explains is looked for when a fit has ended: it was lost."""

    def interrupted(*_):
        raise KeyboardInterrupt

    X, y = waves(80, 4, 1)
    monkeypatch.setattr(one_column, "_missed", lambda *_: None)
    monkeypatch.setattr(learned_directions, "_MOST_TURNED", 1)
    plain = kind(random_state=0).fit(X, y)
    monkeypatch.setattr(one_column, "_missed", interrupted)
    model = kind(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))


def test_labels_begin_fast_along_the_columns_that_tell_most_of_them(monkeypatch):
    """One column that goes up and down, and two whose product is the class."""
    X = np.random.RandomState(0).uniform(-1.0, 1.0, (320, 5))
    start = SimpleNamespace(parameters=SimpleNamespace(expression=None))

    def along(start, pairs, columns, share):
        return SimpleNamespace(parameters=(sorted(columns), share))

    monkeypatch.setattr(one_column, "_along", along)
    monkeypatch.setattr(one_column, "scales_by_column", lambda _: [(slice(None), np.arange(5))])
    waves, signs = np.sin(12.0 * X[:, 3]) > 0.0, X[:, 0] * X[:, 2] > 0.0
    columns, share = one_column.along_columns_of_labels(start, X, waves.astype(int))[0]
    assert columns == [3] and share < 1.0
    columns, share = one_column.along_columns_of_labels(start, X, signs.astype(int))[-1]
    assert columns == [0, 2] and share < 1.0
    monkeypatch.setattr(one_column, "scales_by_column", lambda _: [])
    assert one_column.along_columns_of_labels(start, X, waves.astype(int)) == []


@pytest.mark.parametrize("seed", [1, slow(2)])
def test_a_second_column_is_found_beside_a_fast_one(seed):
    """It explained little of the targets, and much of what was left: 75 to 100 nats were missed."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (800, 30))
    y = np.sin(4.0 * X[:, 3]) + 0.5 * np.abs(X[:, 7]) + 0.3 * rng.normal(size=800)
    model = SVGPRegressor(random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.82


def test_a_fit_on_chunks_reads_each_of_them_a_few_times():
    """Targets of a collection were asked one by one whether they are missing."""
    array = pytest.importorskip("dask.array")
    rng, loads = np.random.default_rng(0), []
    X = rng.uniform(-2.0, 2.0, (2400, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(2400)
    chunks = array.from_array(X, chunks=(400, 2)).map_blocks(
        lambda block: loads.append(1) or block, dtype=float, meta=np.empty((0, 0))
    )
    model = SVGPRegressor(n_inducing=20, random_state=0)
    model.fit(chunks, array.from_array(y, chunks=400))
    assert model.score(X, y) > 0.9
    assert len(loads) < 600
