"""Old information that is negative in some directions, as that of Student-t sites."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from stream_helpers import bound_of, check_gradient, two_steps

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.engines.streams.old_posterior import OldPosterior
from sklearn_sgp.engines.streams.signed_roots import SignedRoot
from sklearn_sgp.gp.posterior import Posterior

SPECTRA = {
    "positive": [30.0, 5.0, 1.0, 0.3, 0.1, 0.02],
    "one negative": [9e3, 50.0, 2.0, 1e-4, -1e-3, -0.4],
    "without information": [40.0, 3.0, 0.5, 0.0, -0.2, -0.7],
    "all negative": [-0.1, -0.2, -0.3, -0.4, -0.5, -0.6],
}


def information(name):
    """Return H (6, 6) with given eigenvalues, and any h (6, 1)."""
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    H = vectors @ np.diag(SPECTRA[name]) @ vectors.T
    return 0.5 * (H + H.T), rng.standard_normal((6, 1))


@pytest.mark.parametrize("name", SPECTRA)
def test_nothing_of_the_information_is_left_out(name):
    """R^T S R is H and R^T g is h, whatever the signs of the eigenvalues."""
    H, h = information(name)
    root = SignedRoot.of(H, h)
    assert_allclose(root.R.T @ root.signed(root.R), H, atol=1e-13 * np.abs(H).max())
    assert_allclose(root.R.T @ root.g, h, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("name", SPECTRA)
def test_power_means_are_those_of_the_definition(name, alpha):
    """Divided roots are (I + alpha H V)^-1 H and h, and the determinant of I + alpha H V."""
    H, h = information(name)
    F = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]  # V = I
    root = SignedRoot.of(H, h)
    divided = root.divided(np.ascontiguousarray(root.R @ F), alpha)
    inverse = np.linalg.inv(np.eye(6) + alpha * H)
    assert_allclose(divided.information(), inverse @ H, atol=1e-8)
    assert_allclose(divided.shift(), inverse @ h, atol=1e-6)
    assert_allclose(divided.log_det, -np.linalg.slogdet(inverse)[1], rtol=1e-9)


def test_lost_information_is_told():
    """Where what b leaves open is more than negative information can bear there is no mean."""
    root = SignedRoot.of(*information("one negative"))
    with pytest.raises(NotPositiveDefiniteError):
        root.divided(2.0 * root.R, 1.0)


@pytest.mark.parametrize("name", SPECTRA)
def test_gradient_of_the_online_bound(name):
    """The bound of a batch after such a posterior has the gradient of its differences."""
    posterior, rows, kept, new, _ = two_steps(0.5)
    H, h = information(name)
    bound = bound_of(rows, OldPosterior.of(Posterior(posterior.prior, (H,), h)), kept, 0.5, 1e-6)
    check_gradient(bound, new)


@pytest.mark.slow
def test_streams_of_student_t_rows_keep_what_the_first_batch_said():
    """Means of later batches do not lose the function of an earlier one."""
    for columns, seed in ((4, 104), (6, 104), (6, 108)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, columns))
        f = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, -1]
        y = f + (0.1 + 0.2 * (X[:, 0] > 0.0)) * rng.standard_t(2.5, 300)
        model = StreamingSGPRegressor(n_inducing=30, random_state=0, likelihood="student_t")
        for lo in range(0, 240, 80):
            model.partial_fit(X[lo : lo + 80], y[lo : lo + 80])
        assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.1
