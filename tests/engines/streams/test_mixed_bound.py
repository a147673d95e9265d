"""The online bound of mixed outputs: batch posterior, exact process, differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from stream_helpers import DELTA, kernel_of, parameters_of, split

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams.inducing import NO_PAIRS, identity_pairs
from sklearn_sgp.engines.streams.mixed_bound import MixedOnlineBound
from sklearn_sgp.engines.streams.old_posterior import OldPosterior
from sklearn_sgp.optimize.parameters import Group, ParameterSpace

NOISE, W = np.array([0.1, 0.2, 0.15]), np.array([[1.0, 0.3], [-0.6, 0.8], [0.4, 1.1]])
SPACE = ParameterSpace(tuple(Group(name, None) for name in ("theta", "log_noise", "mixing", "Z")))


def rows_of(n, seed=0, complete=False):
    """Three outputs of two inputs, of which some are not there."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-2.0, 2.0, (n, 2)), rng.standard_normal((n, 3))
    if not complete:
        y[rng.random(y.shape) < 0.4] = np.nan
        y[0] = 0.3
    return Rows(X, y, rng.uniform(0.5, 2.0, n), np.zeros(3), np.ones(3))


def mixed_parameters(Z, mixing=W, noise=NOISE, **kernel):
    parameters = parameters_of(Z, **kernel)
    return parameters.with_values(mixing=mixing, log_noise=np.log(noise))


def run(batches, Zs, kepts, power=0.5):
    """Posterior and summed bounds after some batches, each with its own inducing inputs."""
    old, total = None, 0.0
    for rows, Z, kept in zip(batches, Zs, kepts, strict=True):
        bound = MixedOnlineBound(rows, old, kept, DELTA, power=power)
        posterior, value = bound.posterior(mixed_parameters(Z))
        old, total = OldPosterior.of(posterior), total + value
    return posterior, total


@pytest.mark.parametrize("complete", [False, True])
def test_any_split_gives_the_batch_posterior_and_its_evidence(complete):
    """At fixed parameters and Z a stream ends where one batch does, with its evidence."""
    rows, Z = rows_of(40, complete=complete), rows_of(7, seed=1).X
    batch, evidence = run([rows], [Z], [NO_PAIRS])
    kepts = [NO_PAIRS, *[identity_pairs(Z)] * 3]
    stream, total = run(split(rows, 1, 18, 25), [Z] * 4, kepts)
    assert_allclose(total, evidence, rtol=1e-10)
    assert_allclose(stream.coupled.H, batch.coupled.H, rtol=1e-9, atol=1e-9)
    assert_allclose(stream.v_mean, batch.v_mean, rtol=1e-8, atol=1e-10)


def test_exact_process_where_every_row_becomes_an_inducing_input():
    """With every row kept, means and summed bounds are those of the exact process."""
    rows = rows_of(21)
    pieces, Zs, kepts, so_far = split(rows, 6, 13), [], [], np.empty((0, 2))
    for piece in pieces:
        kepts.append(identity_pairs(so_far))
        so_far = np.vstack([so_far, piece.X])
        Zs.append(so_far)
    posterior, total = run(pieces, Zs, kepts)
    n, p = np.nonzero(~np.isnan(rows.y))
    y, noise, kernel, B = rows.y[n, p], NOISE[p] / rows.weight[n], kernel_of(), W @ W.T
    K = kernel(rows.X)[np.ix_(n, n)] * B[np.ix_(p, p)] + np.diag(noise)
    evidence = -0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(2.0 * np.pi * K)[1])
    # the normaliser of a weighted row counts as often as the row
    evidence += (
        0.5 * (np.log(2.0 * np.pi * noise) - rows.weight[n] * np.log(2.0 * np.pi * NOISE[p])).sum()
    )
    assert_allclose(total, evidence, rtol=1e-6)
    X = rows_of(5, seed=3).X
    cross = kernel(X, rows.X[n])[:, None] * B[np.arange(3)[:, None], p]
    assert_allclose(posterior.mean(X), cross @ np.linalg.solve(K, y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("complete", [False, True])
def test_all_gradients(power, complete):
    """In kernel, noise, mixing and Z, old inducing inputs kept, moved and dropped."""
    first, second = rows_of(25, complete=complete), rows_of(12, seed=5, complete=complete)
    Z_old, Z = rows_of(6, seed=1).X, rows_of(7, seed=2).X
    Z[4], Z[5] = Z_old[1], Z_old[3] + 0.05
    posterior, _ = run([first], [Z_old], [NO_PAIRS])
    kept = np.array([[4, 1], [5, 3]])
    bound = MixedOnlineBound(second, OldPosterior.of(posterior), kept, DELTA, power=power)
    turned = W + 0.1 * np.arange(6).reshape(3, 2)
    parameters = mixed_parameters(Z, turned, 1.4 * NOISE, length_scale=(0.9, 1.1), variance=2.0)
    x = SPACE.pack(parameters)
    value, gradient = bound(parameters)
    assert_allclose(value, bound.posterior(parameters)[1], rtol=1e-12)
    away = [4 * 2, 4 * 2 + 1]  # an inducing input that has not moved is another formula there
    free = np.setdiff1d(np.arange(len(x)), len(x) - Z.size + np.array(away))

    def at(x):
        return bound.posterior(SPACE.unpack(x, parameters))[1]

    eye = 1e-5 * np.eye(len(x))[free]
    expected = [(at(x + e) - at(x - e)) / 2e-5 for e in eye]
    assert_allclose(SPACE.pack_gradient(gradient)[free], expected, rtol=1e-5, atol=1e-5)


def test_a_fading_past():
    """The old factor to a power is that of as many times its information; W may be another."""
    rows, Z = rows_of(30), rows_of(7, seed=1).X
    posterior, _ = run([rows], [Z], [NO_PAIRS])
    old = OldPosterior.of(posterior).tempered(0.5)
    bound = MixedOnlineBound(rows, old, identity_pairs(Z), DELTA)
    faded, _ = bound.posterior(mixed_parameters(Z))
    assert_allclose(faded.H, 1.5 * posterior.H, rtol=1e-8, atol=1e-9)


def test_a_later_batch_may_change_the_mixing():
    """With kernel, noise and Z held, the posterior is that of all rows with the last mixing."""
    rows, Z, other = rows_of(40), rows_of(7, seed=1).X, W[:, ::-1] + 0.5
    first, second = split(rows, 25)
    posterior, _ = run([first], [Z], [NO_PAIRS])
    bound = MixedOnlineBound(second, OldPosterior.of(posterior), identity_pairs(Z), DELTA)
    stream, _ = bound.posterior(mixed_parameters(Z, other))
    batch, _ = MixedOnlineBound(rows, None, NO_PAIRS, DELTA).posterior(mixed_parameters(Z, other))
    assert_allclose(stream.H, batch.H, rtol=1e-9, atol=1e-9)
    assert_allclose(stream.v_mean, batch.v_mean, rtol=1e-8, atol=1e-9)
