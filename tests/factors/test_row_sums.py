"""Sums over rows and their reverse mode against dense products."""

from dataclasses import replace

import numpy as np
import pytest
from dense import EVERY_KERNEL, KERNELS, OUTPUTS, WEIGHTED, assert_gradient, make_case, make_space
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.factors.gradients import Gradient
from sklearn_sgp.factors.passes import Pieces
from sklearn_sgp.factors.row_sums import (
    RowSums,
    RowSumsCotangent,
    row_sums,
    row_sums_gradient,
    weighted_kernel_block,
)

FIELDS = ("gram", "cross", "targets", "diagonal", "weight")


def _dense_sums(case, Kuf, kff, L=None):
    """The sums by whole matrices, of K(Z, X) or of inv(L) K(Z, X)."""
    A = Kuf if L is None else np.linalg.solve(L, Kuf)
    w = np.ones(len(case.y)) if case.weight is None else case.weight
    return (A * w) @ A.T, (A * w) @ case.y, w @ case.y**2, w @ kff, w.sum()


def _row_sums(case, whitened=False, rows=None, **options):
    prior = case.prior
    L_inv = prior.L_inv if whitened else None
    pieces = Pieces.of_rows(case.rows if rows is None else rows, **options)
    return row_sums(prior.kernel, prior.Z, L_inv, pieces)


def _assert_same(sums, expected, rtol=1e-10):
    for field, value in zip(FIELDS, expected, strict=True):
        actual = getattr(sums, field)
        assert_allclose(actual, value, rtol=rtol, atol=rtol * np.abs(value).max(), err_msg=field)


@pytest.mark.parametrize("whitened", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_sums_are_the_dense_sums(kernel, t, weighted, whitened):
    """The sums over chunks and groups are those of whole matrices, targets scaled."""
    case = make_case(kernel, t=t, weighted=weighted)
    L = np.linalg.cholesky(case.matrices()[0]) if whitened else None
    expected = _dense_sums(case, *case.matrices()[1:], L)
    _assert_same(_row_sums(case, whitened, chunk=4), expected)


@pytest.mark.parametrize("chunk", [1, 7, 16, 30, 1000])
def test_any_chunk_gives_the_same_sums(chunk):
    """The size of the chunks changes rounding only."""
    case = make_case(t=2, weighted=True)
    expected = _dense_sums(case, *case.matrices()[1:])
    _assert_same(_row_sums(case, chunk=chunk), expected, rtol=1e-13)


def test_gram_is_exactly_symmetric():
    """Both triangles of the Gram sum hold the same numbers."""
    gram = _row_sums(make_case(), chunk=4).gram
    assert_array_equal(gram, gram.T)


def _both_passes(case, n_jobs):
    """All numbers of a forward and a backward pass, from several groups, in one vector."""
    prior, rng = case.prior, np.random.default_rng(1)
    sums = _row_sums(case, whitened=True, chunk=4, n_jobs=n_jobs)
    cotangent = RowSumsCotangent(np.eye(len(prior.Z)), rng.standard_normal(sums.cross.shape), -0.7)
    pieces = Pieces.of_rows(case.rows, chunk=4, n_jobs=n_jobs)
    grad = row_sums_gradient(prior.kernel, prior.Z, prior.L_inv, pieces, cotangent)
    return np.concatenate([np.ravel(part) for part in (*vars(sums).values(), *grad)])


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.slow_cases("loky")
def test_workers_change_nothing(backend):
    """One worker, two threads or two processes: the same sums and gradients."""
    case = make_case("columns", t=2, weighted=True, n=40)
    with parallel_config(backend=backend):
        assert_allclose(_both_passes(case, 2), _both_passes(case, 1), rtol=1e-12, atol=1e-12)


def _repeated(case, times):
    return replace(
        case, X=np.repeat(case.X, times, axis=0), y=np.repeat(case.y, times, axis=0), weight=None
    )


@pytest.mark.parametrize("whitened", [False, True])
def test_weights_are_repetitions(whitened):
    """An integer weight is that many copies of the row, and weight 0 is no row."""
    case = make_case(t=2)
    times = np.random.default_rng(0).integers(0, 4, len(case.y))
    weighted = _row_sums(replace(case, weight=times.astype(float)), whitened)
    repeated = _row_sums(_repeated(case, times), whitened)
    _assert_same(weighted, [getattr(repeated, field) for field in FIELDS])


def test_sums_add():
    """Sums of two parts of the rows add up to those of all."""
    case = make_case(t=2, weighted=True)
    total = RowSums(np.zeros((5, 5)), np.zeros((5, 2)))
    for part in (slice(0, 11), slice(11, None)):
        total += _row_sums(case, rows=case.rows.select(part))
    whole = _row_sums(case)
    _assert_same(total, [getattr(whole, field) for field in FIELDS])


def test_passes_leave_the_rows_alone():
    """Weights are applied to copies: inputs, targets and weights stay as they were."""
    case = make_case(t=2, weighted=True)
    rows = case.rows
    before = [np.copy(part) for part in (rows.X, rows.y, rows.weight)]
    weighted_kernel_block(case.prior.kernel, case.Z, None, rows)
    _row_sums(case, rows=rows)
    for part, kept in zip((rows.X, rows.y, rows.weight), before, strict=True):
        assert_array_equal(part, kept)


def test_float32_and_read_only_inputs():
    """Inputs in float32, read-only or in Fortran order give the sums of their values."""
    case = make_case(t=2)
    X = case.X.astype(np.float32)
    expected = _row_sums(replace(case, X=X.astype(np.float64)))
    fortran = np.asfortranarray(X)
    fortran.setflags(write=False)
    for given in (X, fortran, np.repeat(X, 2, axis=1)[:, ::2]):
        rows = Rows(given, case.rows.y, None, case.rows.y_mean, case.rows.y_scale)
        sums = _row_sums(case, rows=rows)
        assert_allclose(sums.gram, expected.gram, rtol=1e-6)
        assert_allclose(sums.cross, expected.cross, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("whitened", [False, True])
@WEIGHTED
@OUTPUTS
@EVERY_KERNEL
def test_gradient_of_the_sums(kernel, t, weighted, whitened):
    """It is the gradient of <cotangent, sums> in theta and Z, the Cholesky factor held."""
    case = make_case(kernel, t=t, weighted=weighted)
    prior, start, rng = case.prior, case.parameters, np.random.default_rng(2)
    root = rng.standard_normal((5, 5))
    cotangent = RowSumsCotangent(root + root.T, rng.standard_normal((5, t)), 0.4)
    L, L_inv = (prior.L, prior.L_inv) if whitened else (None, None)
    pieces = Pieces.of_rows(case.rows, chunk=4)
    theta, Z = row_sums_gradient(prior.kernel, prior.Z, L_inv, pieces, cotangent)

    def inner(moved):
        gram, cross, _, diagonal, _ = _dense_sums(case, *case.matrices(moved)[1:], L)
        kernel_part = np.vdot(cotangent.gram, gram) + np.vdot(cotangent.cross, cross)
        return kernel_part + cotangent.diagonal * diagonal

    space = make_space(len(start.theta), np.ones(2), noise=False)
    assert_gradient(Gradient(theta=theta, Z=Z), inner, space, start)


@pytest.mark.parametrize("whitened", [False, True])
def test_gradient_from_kept_blocks(whitened):
    """After a pass that kept its blocks, the gradient is that of blocks made again."""
    case = make_case("columns", t=2, weighted=True)
    prior, cotangent = case.prior, RowSumsCotangent(np.eye(5), np.ones((5, 2)), 0.3)
    L_inv = prior.L_inv if whitened else None
    pieces = Pieces.of_rows(case.rows, m=5, chunk=4)
    row_sums(prior.kernel, prior.Z, L_inv, pieces)
    assert all(pieces.kept)
    fresh = Pieces.of_rows(case.rows, chunk=4)
    both = (row_sums_gradient(prior.kernel, prior.Z, L_inv, p, cotangent) for p in (pieces, fresh))
    for one, other in zip(*both, strict=True):
        assert_array_equal(one, other)


def test_gradient_without_inputs():
    """Without the gradient in Z that of theta is the same, and Z's is the number 0."""
    case = make_case()
    prior, pieces = case.prior, Pieces.of_rows(case.rows)
    cotangent = RowSumsCotangent(np.eye(5), np.ones((5, 1)), 0.3)
    both, one = (
        row_sums_gradient(prior.kernel, prior.Z, None, pieces, cotangent, with_inputs=with_inputs)
        for with_inputs in (True, False)
    )
    assert_array_equal(one[0], both[0])
    assert one[1] == 0.0
