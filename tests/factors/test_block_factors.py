"""Block factors of every model against their definitions, and their gradients."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from dense import KERNELS, central_difference, exact_gp, log_normal, make_case
from joblib import parallel_config
from numpy.testing import assert_allclose

from sklearn_sgp.factors import block_sums as block_objectives
from sklearn_sgp.factors import row_sums as factors
from sklearn_sgp.factors.block_sums import block_evidence, factor_store
from sklearn_sgp.factors.block_factors import Model, PulledBack, make_block, pull_back
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.gp.posterior import Prior

MODELS = {
    "dtc": Model("nothing"),
    "vfe": Model("diagonal", 0.0),
    "power-ep": Model("diagonal", 0.4),
    "fitc": Model("diagonal", 1.0),
    "block power-ep": Model("block", 0.4),
    "block variational": Model("block", 0.0),
    "pitc": Model("block", 1.0),
}
EVERY_MODEL = pytest.mark.parametrize("name", MODELS)
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])


def split(case, n_blocks=3):
    """Blocks of rows of positive weight."""
    rows = case.rows
    if rows.weight is not None:
        rows = rows.select(rows.weight > 0)
    edges = np.linspace(0, len(rows), n_blocks + 1).astype(int)
    return [rows.select(slice(lo, hi)) for lo, hi in pairwise(edges)]


def definition(case, rows, model):
    """Kuu (m, m), P (n, m), R (n, n) and c of a block, written as in theory, section 9."""
    noise, alpha = case.noise, model.alpha
    w = np.ones(len(rows)) if rows.weight is None else rows.weight
    Kuu = case.kernel(case.Z) + case.delta * np.eye(len(case.Z))
    Kbu = case.kernel(rows.X, case.Z)
    P = np.linalg.solve(Kuu, Kbu.T).T
    T = case.kernel(rows.X) - P @ Kbu.T
    whole = model.part == "block" and alpha > 0.0
    if model.part == "nothing":
        T = np.zeros_like(T)
    elif not whole:
        T = np.diag(np.diagonal(T))
    if whole:
        R, unit = alpha * T + np.diag(noise / w), noise
        log_det = np.linalg.slogdet(np.eye(len(w)) + alpha * T * (w / noise))[1]
    else:
        unit = noise + alpha * np.diagonal(T)
        R, log_det = np.diag(unit / w), np.sum(w * np.log(unit / noise))
    powers = np.sum(0.5 * (1.0 - w) * np.log(2.0 * np.pi * unit) - 0.5 * np.log(w))
    if alpha == 0.0:
        c = 0.5 * np.sum(w * np.diagonal(T)) / noise
    else:
        c = (1.0 - alpha) / (2.0 * alpha) * log_det
    return Kuu, P, R, c - powers


def block_diagonal(parts):
    n = sum(map(len, parts))
    whole, lo = np.zeros((n, n)), 0
    for part in parts:
        whole[lo : lo + len(part), lo : lo + len(part)] = part
        lo += len(part)
    return whole


def blocks_of(case, model, parameters, n_blocks=3):
    prior = Prior.build(parameters.kernel, parameters.Z, case.delta)
    noise = parameters.noise_variance
    some = split(case, n_blocks)
    return prior, [(rows, make_block(prior, rows, noise, model)) for rows in some]


def evidence(case, model, n_blocks=3):
    """log Z from the sums of blocks."""
    _, blocks = blocks_of(case, model, case.parameters, n_blocks)
    m, t = len(case.Z), case.y.shape[1]
    H, h = np.zeros((m, m)), np.zeros((m, t))
    constant = sum(block.add_to(H, h) for _, block in blocks)
    B = np.eye(m) + np.tril(H) + np.tril(H, -1).T
    return constant - 0.5 * t * np.linalg.slogdet(B)[1] + 0.5 * np.sum(h * np.linalg.solve(B, h))


def random_q(m, t, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((m, m))
    return rng.standard_normal((m, t)), root @ root.T / m + 0.1 * np.eye(m)


@EVERY_MODEL
@WEIGHTED
@pytest.mark.parametrize("t", [1, 2])
def test_sums_give_the_evidence(name, weighted, t):
    case, model = make_case(t=t, weighted=weighted), MODELS[name]
    parts = [definition(case, rows, model) for rows in split(case)]
    Kuu, P = parts[0][0], np.vstack([part[1] for part in parts])
    R = block_diagonal([part[2] for part in parts])
    y = np.vstack([rows.targets for rows in split(case)])
    expected = log_normal(y, P @ Kuu @ P.T + R) - t * sum(part[3] for part in parts)
    assert_allclose(evidence(case, model), expected, rtol=1e-9)


@EVERY_MODEL
@WEIGHTED
@pytest.mark.parametrize("t", [1, 2])
def test_value_is_the_expected_log_factor(name, weighted, t):
    case, model = make_case(t=t, weighted=weighted), MODELS[name]
    mean, covariance = random_q(len(case.Z), t)
    prior, blocks = blocks_of(case, model, case.parameters)
    for rows, block in blocks:
        _, P, R, c = definition(case, rows, model)
        error = rows.targets - P @ prior.L @ mean
        spread = P @ prior.L @ covariance @ prior.L.T @ P.T
        expected = log_normal(error, R) - 0.5 * t * np.trace(np.linalg.solve(R, spread)) - t * c
        assert_allclose(block.gradient(mean, covariance).value, expected, rtol=1e-9)


@EVERY_MODEL
@WEIGHTED
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_are_those_of_the_value(name, weighted, kernel):
    case, model = make_case(kernel, t=2, weighted=weighted), MODELS[name]
    mean, covariance = random_q(len(case.Z), 2)
    start, m = case.parameters, len(case.Z)

    def at(x):
        theta, log_noise, Z = x[: len(start.theta)], x[len(start.theta)], x[len(start.theta) + 1 :]
        return replace(start, theta=theta, log_noise=log_noise, Z=Z.reshape(m, -1))

    def value(x):
        _, blocks = blocks_of(case, model, at(x))
        return sum(block.gradient(mean, covariance).value for _, block in blocks)

    x = np.concatenate([start.theta, [start.log_noise], start.Z.ravel()])
    prior, blocks = blocks_of(case, model, start)
    pulled = PulledBack.total(
        pull_back(prior, rows.X, block.A, block.gradient(mean, covariance))
        for rows, block in blocks
    )
    theta, log_noise, Z = pulled.gradient(prior)
    ours = np.concatenate([theta, [log_noise], Z.ravel()])
    assert_allclose(ours, central_difference(value, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["vfe", "power-ep", "fitc", "block power-ep", "pitc"])
def test_a_weight_of_two_is_a_row_twice(name):
    case, model = make_case(n=12), MODELS[name]
    weight = np.ones(12)
    weight[3] = 2.0
    heavy = replace(case, weight=weight)
    twice = replace(
        case, X=np.insert(case.X, 3, case.X[3], axis=0), y=np.insert(case.y, 3, case.y[3], axis=0)
    )
    assert_allclose(evidence(heavy, model, 1), evidence(twice, model, 1), rtol=1e-9)


def test_one_whole_block_is_the_exact_gp():
    case = make_case(delta=1e-10)
    expected, _, _ = exact_gp(
        case.kernel(case.X), case.y, case.noise, np.zeros((len(case.y), 1)), np.eye(1)
    )
    assert_allclose(evidence(case, MODELS["pitc"], 1), expected, rtol=1e-8)


def test_single_rows_make_pitc_fitc():
    case = make_case()
    n = len(case.y)
    assert_allclose(
        evidence(case, MODELS["pitc"], n), evidence(case, MODELS["fitc"], n), rtol=1e-10
    )


def test_evidence_grows_with_alpha_to_that_of_the_whole():
    case = make_case()
    path = [evidence(case, Model("block", alpha)) for alpha in (0.0, 1e-7, 0.3, 0.7, 1.0)]
    assert_allclose(path[0], path[1], rtol=1e-5)
    assert (np.diff(path[1:]) > 0).all()


@EVERY_MODEL
@WEIGHTED
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_gradient_of_the_evidence(name, weighted, n_jobs):
    case, model = make_case(t=2, weighted=weighted), MODELS[name]
    start, m = case.parameters, len(case.Z)
    blocks = split(case)

    def at(x):
        theta, log_noise, Z = x[: len(start.theta)], x[len(start.theta)], x[len(start.theta) + 1 :]
        return replace(start, theta=theta, log_noise=log_noise, Z=Z.reshape(m, -1))

    x = np.concatenate([start.theta, [start.log_noise], start.Z.ravel()])
    value, parts = block_evidence(start, blocks, case.delta, model, n_jobs=n_jobs)
    assert_allclose(value, evidence(case, model), rtol=1e-10)
    ours = np.concatenate([parts.theta, [parts.log_noise], parts.Z.ravel()])
    expected = central_difference(lambda x: block_evidence(at(x), blocks, case.delta, model)[0], x)
    assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)


def test_the_variational_evidence_is_the_collapsed_bound():
    case = make_case(t=2, weighted=True)
    value, gradient = block_evidence(case.parameters, split(case), case.delta, MODELS["vfe"])
    bound, expected = collapsed_bound(case.parameters, case.rows, case.delta)
    assert_allclose(value, bound, rtol=1e-10)
    for ours, other in zip(gradient, expected, strict=True):
        assert_allclose(ours, other, rtol=1e-7, atol=1e-8)


@EVERY_MODEL
def test_factors_that_are_too_large_to_keep_are_made_again(name, monkeypatch):
    """The gradient is the same, and nothing is kept for workers of other processes either."""
    case = make_case(n=24, t=2)
    args = case.parameters, split(case, 6), case.delta, MODELS[name]
    made = count_calls(monkeypatch, "make_block")
    value, gradient = block_evidence(*args)
    assert len(made) == 6
    assert factor_store(len(case.Z), args[1], args[3]) is not None
    with parallel_config("loky"):
        assert factor_store(len(case.Z), args[1], args[3]) is None
    monkeypatch.setattr(factors, "_STORE_BYTES", 0)
    again, same = block_evidence(*args)
    assert len(made) == 18
    assert again == value
    for a, b in zip(gradient, same, strict=True):
        assert_allclose(a, b, rtol=1e-12)


def count_calls(monkeypatch, name):
    """What a function of block_objectives returned, from now on."""
    function, found = getattr(block_objectives, name), []

    def counted(*args):
        found.append(function(*args))
        return found[-1]

    monkeypatch.setattr(block_objectives, name, counted)
    return found
