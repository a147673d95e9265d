"""Blocks whose covariance rounding makes indefinite: more jitter, or an error with a cure."""

import numpy as np
import pytest
from block_helpers import fixed
from fitted_models import fitted
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.engines.blocks import final_posterior as finish
from sklearn_sgp.factors import block_factors
from sklearn_sgp.factors.block_factors import SingularBlockError

CURE = "Lower the largest sample_weight, raise noise_variance"


@pytest.fixture
def smooth():
    """150 rows of a sine without noise, X (150, 1) sorted and y (150,)."""
    X = np.sort(np.random.default_rng(0).uniform(0.0, 6.0, (150, 1)), axis=0)
    return X, np.sin(X[:, 0])


def model(**parameters):
    defaults = {"kernel": RBF(2.0), "inducing": "kmeans", "n_inducing": 20, "block_size": 50}
    return fixed(**(defaults | parameters))


def failing(monkeypatch, count):
    """Let the factors of the first blocks fail as rounding would."""
    cholesky, calls = block_factors.cholesky, iter(range(10**6))

    def rounded(R, **options):
        if next(calls) < count:
            raise block_factors.NotPositiveDefiniteError("potrf stopped")
        return cholesky(R, **options)

    monkeypatch.setattr(block_factors, "cholesky", rounded)


@pytest.mark.parametrize("solver", ["exact", "anytime"])
def test_a_block_that_fails_gets_more_jitter(smooth, solver, monkeypatch):
    """The jitter climbs until all blocks factorise, and predictions and later rows use it."""
    X, y = smooth
    plain = model(solver=solver).fit(X, y)
    failing(monkeypatch, 2)
    ours = model(solver=solver).fit(X, y)
    assert_allclose(ours.jitter_, 100.0 * plain.jitter_)
    assert fitted(ours).posterior.prior.jitter == ours.jitter_
    assert ours.n_samples_seen_ == 150
    assert_allclose(ours.predict(X), plain.predict(X), atol=1e-2)
    ours.partial_fit(X[:5] + 0.01, y[:5])
    assert fitted(ours).posterior.prior.jitter == ours.jitter_


def test_a_later_block_that_fails_gets_more_jitter(smooth, monkeypatch):
    """A later batch climbs too, and the posterior then rests on all rows at the new jitter."""
    X, y = smooth
    ours = model(normalize_y=(0.0, 1.0)).fit(X[::2], y[::2])
    before = ours.jitter_
    failing(monkeypatch, 2)
    ours.partial_fit(X[1::2], y[1::2])
    assert_allclose(ours.jitter_, 10.0 * before)
    assert ours.n_samples_seen_ == 150
    assert_allclose(ours.predict(X), y, atol=0.1)


def test_a_jitter_above_the_one_asked_for_is_said_once(smooth, monkeypatch):
    """However many rungs it climbs, one warning says so."""
    failing(monkeypatch, 4)
    with pytest.warns(UserWarning, match="needed a jitter") as seen:
        model(jitter=1e-8).fit(*smooth)
    assert len(seen) == 1


@pytest.mark.filterwarnings("ignore:sample_weight should count rows")
@pytest.mark.parametrize("optimizer", [None, "auto"])
@pytest.mark.parametrize("solver", ["exact", "anytime"])
def test_what_no_jitter_helps_is_an_error_with_a_cure(smooth, optimizer, solver):
    """Weights of 1e16 leave no noise: a ValueError says so, and nothing is fitted."""
    ours = model(optimizer=optimizer, solver=solver, max_iter=2)
    with pytest.raises(ValueError, match=CURE) as caught:
        ours.fit(*smooth, np.full(150, 1e16))
    assert isinstance(caught.value, SingularBlockError)
    assert not hasattr(ours, "kernel_")


def test_other_failures_have_a_cure_too(smooth, monkeypatch):
    """Where q(u) itself is never positive definite, an error says what to change."""

    def never(self, constant=0.0):
        raise block_factors.NotPositiveDefiniteError("potrf stopped")

    monkeypatch.setattr(finish.Posterior, "log_evidence", never)
    with pytest.raises(ValueError, match=r"precision of q\(u\) must be positive definite"):
        model(model="fitc").fit(*smooth)


@pytest.mark.parametrize("noise", [1e-8, 1e-13])
def test_noise_below_rounding_works(smooth, noise):
    """With noise of less than rounding the fit follows the rows."""
    ours = model(noise_variance=noise, noise_variance_bounds="fixed", n_inducing=40)
    mean, std = ours.fit(*smooth).predict(smooth[0], return_std=True)
    assert_allclose(mean, smooth[1], atol=1e-3)
    assert np.isfinite(std).all()


def test_defaults_work_on_data_without_noise(smooth):
    """The call of the bug report works and follows the sine."""
    ours = AnytimeSGPRegressor(n_inducing=30, block_size=50, random_state=0, n_jobs=1, max_iter=8)
    assert np.sqrt(np.mean((ours.fit(*smooth).predict(smooth[0]) - smooth[1]) ** 2)) < 1e-3
