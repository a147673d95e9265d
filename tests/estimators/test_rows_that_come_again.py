"""With total_samples the same rows may come again and again, and count as often as there are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_variants import slow

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.likelihoods import HeteroscedasticStudentT

N, EPOCHS = 600, 8
AT = np.linspace(-2.8, 2.8, 7)[:, None]


def epochs(model, X, y, size):
    """Give a model the same rows again and again; return the mean objective of each epoch."""
    found = []
    for epoch in range(EPOCHS):
        order, values = np.random.default_rng(epoch).permutation(N), []
        for lo in range(0, N, size):
            some = order[lo : lo + size]
            values.append(model.partial_fit(X[some], y[some]).objective_)
        found.append(np.mean(values))
    return np.array(found)


@pytest.mark.quick_cases("student_t-100")
@pytest.mark.parametrize(
    ("likelihood", "size"),
    [
        ("heteroscedastic", 100),
        (HeteroscedasticStudentT(df=8.0), 300),
        ("student_t", 100),
        slow("heteroscedastic", 300),
        slow(HeteroscedasticStudentT(df=8.0), 100),
        slow("student_t", 300),
    ],
)
def test_noise_of_each_row_counts_once(likelihood, size):
    """Objective and noise after any number of epochs are near those of a fit to all rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (N, 1))
    y = np.sin(2.0 * X[:, 0]) + np.exp(-1.5 + 0.7 * X[:, 0]) * rng.standard_normal(N)
    options = {"n_inducing": 20, "likelihood": likelihood, "random_state": 0}
    whole = SVGPRegressor(**options).fit(X, y)
    again = SVGPRegressor(**options, total_samples=N)
    found = epochs(again, X, y, size)
    assert np.abs(found[1:] - whole.objective_).max() < 0.25 * N  # 10,000 and more where they add
    assert_allclose(again.noise_std(AT)[1:], whole.noise_std(AT)[1:], rtol=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [slow(False), True])
def test_the_objective_of_mixed_outputs_does_not_depend_on_the_batch_size(gaps):
    """With held kernel, noise and mixing it is near the bound of all rows for any size of batch."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (N, 1))
    f = np.sin(2.0 * X[:, 0])
    Y = np.column_stack([f, f**2]) + 0.2 * rng.standard_normal((N, 2))
    Y[rng.random(N) < (0.3 if gaps else 0.0), 1] = np.nan
    whole = SVGPRegressor(n_inducing=20, n_latent=2, random_state=0).fit(X, Y).objective_
    for size in (60, 300):
        model = SVGPRegressor(
            n_inducing=20, n_latent=2, total_samples=N, natural_step=0.1, random_state=0
        )
        assert abs(epochs(model, X, Y, size)[-3:].mean() - whole) < 0.1 * N
