"""What rows that are not learned from yet say of the noise."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from stream_helpers import rows_of

from sklearn_sgp.engines.streams.waiting import NONE_WAITING
from sklearn_sgp.factors.gradients import Gradient


class Moments:
    """A predictor with given means and variances."""

    def __init__(self, rng):
        self.rng, self.given = rng, []

    def moments(self, inputs, n_jobs):
        """Return random ones, and remember them."""
        n = len(inputs.X)
        self.given.append((self.rng.standard_normal((n, 2)), self.rng.uniform(0.1, 1.0, (n, 2))))
        return self.given[-1]


def waiting_of(pieces, predictor):
    """What is known of some batches."""
    outputs = SimpleNamespace(mixes_outputs=False)
    found, fitted = NONE_WAITING, SimpleNamespace(predictor=predictor, parameters=outputs)
    for rows in pieces:
        found = found.joined(fitted, rows)
    return found


def expected(pieces, predictor, log_noise, share=1.0):
    """Expected log density of Gaussian noise, by 40 nodes of quadrature for each target."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    total = 0.0
    for rows, (mean, variance) in zip(pieces, predictor.given, strict=True):
        f = share * (mean[..., None] + np.sqrt(variance)[..., None] * nodes)
        y, std = share * rows.targets[..., None], np.exp(0.5 * np.asarray(log_noise))
        std = np.broadcast_to(std, rows.targets.shape[1:])[:, None]
        each = norm.logpdf(y, f, std) @ (weights / weights.sum())
        total += np.nansum(rows.weights[1][:, None] * each)
    return total


@pytest.mark.parametrize("log_noise", [-1.3, np.array([-1.3, 0.4])])
def test_their_expected_log_density(log_noise, rng):
    """It is that of quadrature up to a constant, with weights and gaps, in any units."""
    pieces = [rows_of(7, t=2, weighted=True), rows_of(4, seed=1, t=2)]
    pieces[1].y[2, 1] = np.nan
    predictor = Moments(rng)
    waiting = waiting_of(pieces, predictor)
    assert waiting.weight == sum(rows.total_weight for rows in pieces)
    for share in (1.0, 0.3):
        there = waiting.in_units(np.array([share, share]))
        gain = there.log_density(log_noise)[0] - there.log_density(0.0 * log_noise)[0]
        right = expected(pieces, predictor, log_noise, share)
        right -= expected(pieces, predictor, 0.0 * log_noise, share)
        assert_allclose(gain, right, rtol=1e-10)


@pytest.mark.parametrize("log_noise", [-1.3, np.array([-1.3, 0.4])])
def test_its_derivative(log_noise, rng):
    """Value and slope of an objective beside which rows wait are those of both."""
    waiting = waiting_of([rows_of(7, t=2)], Moments(rng))

    def bound(parameters):
        value = parameters.log_noise
        return float(np.sum(np.sin(value))), Gradient(log_noise=np.cos(value), theta=np.ones(2))

    objective, step = waiting.beside(bound), 1e-6
    _, gradient = objective(SimpleNamespace(log_noise=log_noise))
    for move in np.atleast_2d(np.eye(np.size(log_noise))):
        move = move if np.ndim(log_noise) else move[0]
        ends = [
            objective(SimpleNamespace(log_noise=log_noise + s * move))[0] for s in (step, -step)
        ]
        assert_allclose(
            np.sum(gradient["log_noise"] * move), np.diff(ends[::-1])[0] / (2 * step), rtol=1e-6
        )
    assert_allclose(gradient["theta"], 1.0)
    assert NONE_WAITING.beside(bound) is bound
