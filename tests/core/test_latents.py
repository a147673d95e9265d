"""Expectations under Gaussian inputs: against quadrature, sampling, differences and one another."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core import _latents


def arguments(n=5, Q=3, m=7, seed=0):
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(size=(n, Q)), rng.uniform(0.05, 1.0, (n, Q))
    Z, scale, kappa = rng.normal(size=(m, Q)), rng.uniform(0.5, 2.0, Q), 1.7
    return mean, variance, Z, scale, kappa


def expectations(mean, variance, Z, scale, kappa):
    """What the core makes of the arguments."""
    m = len(Z)
    i, j = np.tril_indices(m)
    D = ((Z[i] - Z[j]) ** 2 / (4.0 * scale**2)).sum(axis=1)
    first, second = np.empty((len(mean), m)), np.empty((len(mean), len(i)))
    Zt = np.ascontiguousarray(Z.T)
    _latents.expectations(mean, variance, Zt, scale, kappa, D, first, second)
    return first, second, D


def kernel(X, Z, scale, kappa):
    return kappa * np.exp(-0.5 * (((X[:, None] - Z) / scale) ** 2).sum(axis=2))


def by_quadrature(mean, variance, Z, scale, kappa, nodes=40):
    """The same by a product of Gauss-Hermite rules."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    Q = mean.shape[1]
    points = np.stack(np.meshgrid(*[x] * Q), axis=-1).reshape(-1, Q)
    weights = np.stack(np.meshgrid(*[w / w.sum()] * Q), axis=-1).reshape(-1, Q).prod(axis=1)
    i, j = np.tril_indices(len(Z))
    first, second = [], []
    for mu, s in zip(mean, variance, strict=True):
        K = kernel(mu + np.sqrt(s) * points, Z, scale, kappa)
        first.append(weights @ K)
        second.append((K.T * weights @ K)[i, j])
    return np.array(first), np.array(second)


@pytest.mark.parametrize("Q", [1, 2])
def test_expectations_are_those_of_quadrature(Q):
    """First and second moments agree with 40 Gauss-Hermite points a dimension to 1e-8."""
    case = arguments(Q=Q)
    first, second, _ = expectations(*case)
    dense_first, dense_second = by_quadrature(*case)
    assert_allclose(first, dense_first, rtol=1e-8)
    assert_allclose(second, dense_second, rtol=1e-8)


def test_expectations_are_those_of_samples():
    """They agree with 200,000 draws to five standard errors, in five dimensions."""
    mean, variance, Z, scale, kappa = arguments(n=1, Q=5, m=3)
    first, second, _ = expectations(mean, variance, Z, scale, kappa)
    X = mean + np.sqrt(variance) * np.random.default_rng(1).normal(size=(200_000, 5))
    K = kernel(X, Z, scale, kappa)
    i, j = np.tril_indices(3)
    for drawn, exact in ((K, first[0]), (K[:, i] * K[:, j], second[0])):
        assert (np.abs(drawn.mean(axis=0) - exact) < 5 * drawn.std(axis=0) / 200_000**0.5).all()


def test_certain_inputs_have_the_kernel_itself():
    """Without variance the moments are kernel values and their products."""
    mean, variance, Z, scale, kappa = arguments()
    first, second, _ = expectations(mean, 0.0 * variance, Z, scale, kappa)
    K = kernel(mean, Z, scale, kappa)
    i, j = np.tril_indices(len(Z))
    assert_allclose(first, K, rtol=1e-12)
    assert_allclose(second, K[:, i] * K[:, j], rtol=1e-12)


def reverse(case, first_, second_):
    mean, variance, Z, scale, kappa = case
    (n, Q), m = mean.shape, len(Z)
    _, _, D = expectations(*case)
    out = {
        "value": np.empty(n),
        "mean": np.empty((n, Q)),
        "variance": np.empty((n, Q)),
        "Zt": np.zeros((Q, m)),
        "scale": np.zeros(Q),
        "V": np.zeros(len(D)),
        "totals": np.zeros(2),
    }
    Zt = np.ascontiguousarray(Z.T)
    _latents.expectations_vjp(mean, variance, Zt, scale, kappa, D, first_, second_, *out.values())
    return out


@pytest.mark.parametrize("Q", [1, 3, 6])
def test_cotangents_of_q_are_differences(Q):
    """Cotangents of means and variances equal central differences to 1e-6."""
    case = arguments(Q=Q)
    rng = np.random.default_rng(2)
    n, m = len(case[0]), len(case[2])
    first_, second_ = rng.normal(size=(n, m)), rng.normal(size=(n, m * (m + 1) // 2))
    both = np.where(np.equal(*np.tril_indices(m)), 1.0, 2.0)  # entries off the diagonal count twice

    def values(which, change):
        moved = list(case)
        moved[which] = case[which] + change
        first, second, _ = expectations(*moved)
        return (first * first_).sum(axis=1) + (second * second_ * both).sum(axis=1)

    found = reverse(case, first_, second_)
    assert_allclose(found["value"], values(0, 0.0), rtol=1e-12)
    for which, name in ((0, "mean"), (1, "variance")):
        for q in range(Q):
            step = 1e-6 * np.eye(1, Q, q)
            slope = (values(which, step) - values(which, -step)) / 2e-6
            assert_allclose(found[name][:, q], slope, rtol=1e-6, atol=1e-6)


def test_totals_and_weights_are_sums():
    """V is the sum of cotangents times moments, and totals count both triangles."""
    case = arguments()
    rng = np.random.default_rng(3)
    first, second, _ = expectations(*case)
    first_, second_ = rng.normal(size=first.shape), rng.normal(size=second.shape)
    found = reverse(case, first_, second_)
    both = np.where(np.equal(*np.tril_indices(len(case[2]))), 1.0, 2.0)
    assert_allclose(found["V"], (second * second_).sum(axis=0), rtol=1e-10, atol=1e-12)
    totals = [(first * first_).sum(), (second * second_ * both).sum()]
    assert_allclose(found["totals"], totals, rtol=1e-10)


def test_one_cotangent_serves_all_rows():
    """A single row of cotangents of second moments is that of every row."""
    case = arguments()
    rng = np.random.default_rng(4)
    n, m = len(case[0]), len(case[2])
    first_, second_ = rng.normal(size=(n, m)), rng.normal(size=(1, m * (m + 1) // 2))
    one, each = reverse(case, first_, second_), reverse(case, first_, np.repeat(second_, n, axis=0))
    for name in one:
        assert_array_equal(one[name], each[name])


def test_combine_is_a_product_row_by_row():
    """Rows get the product, and to the last bit the same alone as among others."""
    rng = np.random.default_rng(5)
    weight, A = rng.normal(size=(9, 13)), rng.normal(size=(13, 21))
    out, alone = np.empty((9, 21)), np.empty((1, 21))
    _latents.combine(weight, A, out)
    assert_allclose(out, weight @ A, rtol=1e-12, atol=1e-12)
    for i in range(9):
        _latents.combine(weight[i : i + 1], A, alone)
        assert_array_equal(alone[0], out[i])


def test_shapes_must_agree():
    """Arrays of other shapes are refused, not read beyond their ends."""
    mean, variance, Z, scale, kappa = arguments()
    Zt, D = np.ascontiguousarray(Z.T), np.zeros(28)
    with pytest.raises(ValueError, match="shapes do not agree"):
        _latents.expectations(
            mean, variance, Zt, scale, kappa, D, np.empty((5, 7)), np.empty((5, 27))
        )
    with pytest.raises(ValueError, match="shapes do not agree"):
        _latents.combine(np.ones((2, 3)), np.ones((4, 5)), np.ones((2, 5)))


def sums():
    """Of all that expectations and their reverse mode return, for one case."""
    case = arguments(Q=5, m=19)
    first, second, _ = expectations(*case)
    found = reverse(case, np.ones(first.shape), np.ones(second.shape))
    return [float(np.sum(part)) for part in (first, second, *found.values())]


_SUMS = "import sys; sys.path.insert(0, sys.argv[1]); import test_latents as t; print(t.sums())"


@pytest.mark.parametrize("level", ["0", pytest.param("1", marks=pytest.mark.slow)])
def test_instruction_sets_agree(level):
    """Narrower instruction sets give the same numbers to rounding."""
    here = os.path.dirname(__file__)

    command = [sys.executable, "-c", _SUMS, here]
    environment = os.environ | {"SKLEARN_SGP_SIMD": level}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert_allclose(eval(done.stdout), sums(), rtol=1e-11)
