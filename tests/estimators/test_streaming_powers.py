"""Powers of a stream's two kinds of factors: the equations of Bui et al. (2017) to the letter."""

import numpy as np
import pytest
from dense import log_normal
from numpy.testing import assert_allclose, assert_array_equal
from stream_helpers import FIXED, batches, fixed, make_line, taught

from sklearn_sgp import StreamingSGPClassifier, StreamingSGPRegressor

NOISE = 0.05


def _paper(kernel, pieces, Zs, alpha):
    """Mean and covariance of the last inducing values, and the energy of each batch.

    Eqs. 6 to 8 as they stand: each batch has the rows and, as pseudo targets, the old posterior
    over the old prior. The energy of Power-EP is that of the paper's appendix; 0 is its limit.
    """
    m = S = Z_old = None
    energies = []
    for (X, y), Z in zip(pieces, Zs, strict=True):
        Kbb, Kbf = kernel(Z), kernel(Z, X)
        T = kernel.diag(X) - np.sum(Kbf * np.linalg.solve(Kbb, Kbf), axis=0)
        K, targets, R = Kbf, y[:, None], np.diag(NOISE + alpha * T)
        lost, kappa = T / NOISE, 0.0
        if Z_old is not None:
            Kaa, Kba = kernel(Z_old), kernel(Z, Z_old)
            V = Kaa - Kba.T @ np.linalg.solve(Kbb, Kba)
            S_inv = np.linalg.inv(S)
            D = np.linalg.inv(S_inv - np.linalg.inv(Kaa))
            D = 0.5 * (D + D.T)
            K, targets = np.hstack([Kbf, Kba]), np.vstack([targets, D @ S_inv @ m])
            past, none = D + alpha * V, np.zeros((len(X), len(Z_old)))
            R = np.block([[R, none], [none.T, past]])
            lost = np.append(lost, np.linalg.eigvals(np.linalg.solve(D, V)).real)
            logs = (np.linalg.slogdet(M)[1] for M in (S_inv, Kaa, 2.0 * np.pi * D))
            kappa = 0.5 * (sum(logs) + float((m.T @ (S_inv @ D @ S_inv - S_inv) @ m).item()))
        penalty = 0.5 * lost.sum()
        if alpha > 0.0:
            penalty = 0.5 * (1.0 - alpha) / alpha * np.log1p(alpha * lost).sum()
        covariance = K.T @ np.linalg.solve(Kbb, K) + R
        energies.append(log_normal(targets, covariance) + kappa - penalty)
        gain = np.linalg.solve(covariance, K.T).T
        m, S, Z_old = gain @ targets, Kbb - gain @ K.T, Z
    return m, S, energies


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_a_stream_that_drops_inducing_inputs_is_the_papers(alpha, rng):
    """With the two powers equal, means, deviations and energies are those of eqs. 6 to 8."""
    X, y = make_line(rng)
    model = fixed(alpha_divergence=alpha, old_posterior_power=alpha, n_inducing=6, jitter=0.0)
    pieces, Zs, found = batches(X, y, 250, 400, 650), [], []
    for piece in pieces:
        model.partial_fit(*piece)
        Zs.append(model.inducing_points_)
        found.append(model.objective_)
    assert not np.isin(Zs[0], Zs[-1]).all()
    assert np.isin(Zs[2], Zs[-1]).any()
    m, S, energies = _paper(FIXED, pieces, Zs, alpha)
    assert_allclose(found, energies, rtol=1e-8)
    P = np.linalg.solve(FIXED(Zs[-1]), FIXED(Zs[-1], X))
    variance = FIXED.diag(X) - np.sum(P * ((FIXED(Zs[-1]) - S) @ P), axis=0)
    assert_allclose(model.predict(X), (P.T @ m)[:, 0], atol=1e-8)
    assert_allclose(model.predict_std(X, include_noise=False), np.sqrt(variance), atol=1e-8)


def test_the_default_power_is_that_of_the_rows_but_at_least_a_half(rng):
    """By default max(alpha, 1/2), bit for bit; 0 is another model once inputs are dropped."""
    X, y = make_line(rng)
    pieces = batches(X, y, 250, 400, 650)

    def predicted(alpha, power):
        model = fixed(n_inducing=6, alpha_divergence=alpha, old_posterior_power=power)
        return taught(model, pieces).predict(X)

    assert_array_equal(predicted(0.0, "auto"), predicted(0.0, 0.5))
    assert_array_equal(predicted(0.8, "auto"), predicted(0.8, 0.8))
    assert np.abs(predicted(0.0, "auto") - predicted(0.0, 0.0)).max() > 0.01


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_classes_and_counts_take_the_power(power, rng):
    """Other likelihoods have the old posterior's factor to that power; kept inputs do not care."""
    X, y = make_line(rng)
    Z = np.linspace(0.0, 9.0, 8)[:, None]
    options = {"optimizer": None, "old_posterior_power": power, "jitter": 0.0}
    labels, counts = np.where(y > 0.0, "up", "down"), np.floor(np.exp(y))
    for kind, targets, likelihood in (
        (StreamingSGPClassifier, labels, "auto"),
        (StreamingSGPRegressor, counts, "poisson"),
    ):
        pieces = batches(X, targets, 250, 400, 650)

        def objective(inducing, kind=kind, pieces=pieces, likelihood=likelihood, **other):
            found = kind(FIXED, likelihood=likelihood, inducing=inducing, **{**options, **other})
            return taught(found.set_params(n_inducing=6), pieces).log_evidence_

        assert_allclose(objective(Z), objective(Z, old_posterior_power="auto"), rtol=1e-7)
        assert abs(objective("greedy") - objective("greedy", old_posterior_power="auto")) > 1e-3


@pytest.mark.parametrize("power", [-0.1, 1.1, "half", None])
def test_powers_out_of_range_are_refused(power, rng):
    """A power is a number from 0 to 1, or "auto"."""
    X, y = make_line(rng)
    with pytest.raises(ValueError, match="old_posterior_power"):
        StreamingSGPRegressor(old_posterior_power=power).fit(X, y)
