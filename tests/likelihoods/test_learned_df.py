"""Student-t noise with degrees of freedom that are learned with the kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV

from sklearn_sgp import StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.likelihoods import StudentT


def noisy(df, n=1500, seed=0):
    """Rows of a sine with t-distributed noise of scale 0.3."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_t(df, n)


def model_of(likelihood, **parameters):
    return SVGPRegressor(
        **{"likelihood": likelihood, "n_inducing": 15, "random_state": 0, **parameters}
    )


@pytest.fixture(scope="module")
def fits():
    """Data, a fit with learned and one with fixed degrees of freedom, by the true ones."""
    found = {}
    for df in (3.0, 30.0):
        X, y = noisy(df)
        found[df] = X, y, *(model_of(StudentT(df=d)).fit(X, y) for d in (None, 4.0))
    return found


@pytest.mark.parametrize("df, low, high", [(3.0, 1.5, 6.0), (30.0, 8.0, 1000.0)])
@pytest.mark.slow
def test_degrees_of_freedom_are_found(fits, df, low, high):
    """The learned number is within a factor of two of 3, and far from heavy tails for 30."""
    _, _, model, _ = fits[df]
    assert low < model.likelihood_.df < high
    scale = np.sqrt(model.noise_variance_) * model.y_scale_
    assert 0.2 < scale < 0.45


@pytest.mark.parametrize("df", [3.0, 30.0])
def test_the_fitted_likelihood_tells_what_was_learned(fits, df):
    """likelihood_ has the learned number, the parameter of the estimator stays None."""
    _, _, model, fixed = fits[df]
    assert model.likelihood.df is None
    assert isinstance(model.likelihood_, StudentT)
    assert isinstance(model.likelihood_.df, float) and model.likelihood_.df != 4.0
    assert repr(model.likelihood_) == f"StudentT(df={model.likelihood_.df!r})"
    assert fixed.likelihood_.df == 4.0
    assert len(fixed.likelihood_.theta) == 0


@pytest.mark.parametrize("df", [3.0, 30.0])
def test_what_is_learned_is_not_worse(fits, df):
    """The bound with learned degrees of freedom is not below that with 4, nor the density."""
    _, _, model, fixed = fits[df]
    assert model.objective_ >= fixed.objective_
    rows = noisy(df, seed=1)
    assert model.log_density(*rows).mean() > fixed.log_density(*rows).mean() - 1e-3


@pytest.mark.parametrize("df", [3.0, 30.0])
def test_predictions_use_the_learned_number(fits, df):
    """Standard deviations, quantiles and densities are those of the learned likelihood."""
    X, _, model, _ = fits[df]
    latent = model.predict_std(X[:5], include_noise=False)
    learned = model.likelihood_.df
    noise = model.noise_variance_ * model.y_scale_**2 * learned / (learned - 2.0)
    assert_allclose(model.predict_std(X[:5]), np.sqrt(latent**2 + noise), rtol=1e-6)
    rows = noisy(df, seed=2)
    inside = model.predict_quantiles(rows[0], [0.05, 0.95])
    covered = (inside[:, 0] < rows[1]) & (rows[1] < inside[:, 1])
    assert abs(covered.mean() - 0.9) < 0.03


@pytest.mark.slow
def test_a_search_over_degrees_of_freedom():
    """GridSearchCV over likelihood__df takes numbers and None, and prefers heavy tails here."""
    X, y = noisy(3.0, n=300)
    y[::15] += 6.0
    search = GridSearchCV(
        model_of(StudentT(), max_iter=20),
        {"likelihood__df": [2.5, 200.0, None]},
        cv=2,
        scoring=lambda model, X, y: model.log_density(X, y).mean(),
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["likelihood__df"] in (2.5, None)
    best = search.best_estimator_
    assert best.likelihood.df == search.best_params_["likelihood__df"]
    assert best.likelihood_.df < 10.0


@pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
def test_every_optimizer_learns_the_number(optimizer):
    """L-BFGS on all rows and stochastic steps move the number away from 4, each downwards here."""
    X, y = noisy(2.2, n=600)
    model = model_of(
        StudentT(df=None), optimizer=optimizer, batch_size=100, max_iter=25, learning_rate=0.02
    ).fit(X, y)
    assert 2.05 <= model.likelihood_.df < 3.8


def test_without_an_optimizer_the_number_stays_at_its_start():
    """With optimizer=None degrees of freedom are 4, where learning would start."""
    model = model_of(StudentT(df=None), optimizer=None).fit(*noisy(30.0, n=200))
    assert_allclose(model.likelihood_.df, 4.0)


def test_weights_are_repetitions():
    """Rows of weight 2 teach the same degrees of freedom as rows that come twice."""
    X, y = noisy(3.0, n=120)
    weight = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
    index = np.repeat(np.arange(120), weight.astype(int))
    one = model_of(StudentT(df=None), max_iter=30).fit(X, y, sample_weight=weight)
    other = clone(one).fit(X[index], y[index])
    assert_allclose(one.likelihood_.df, other.likelihood_.df, rtol=1e-6)


def test_a_warm_start_keeps_the_learned_number(fits):
    """With warm_start a second fit begins at the number that the first one found."""
    X, y, _, _ = fits[3.0]
    again = model_of(StudentT(df=None), warm_start=True, max_iter=60).fit(X, y)
    learned = again.likelihood_.df
    again.set_params(optimizer=None).fit(X, y)
    assert_allclose(again.likelihood_.df, learned, rtol=1e-12)


def test_partial_fit_moves_the_number():
    """Later batches move the learned number; without an optimiser they leave it alone."""
    X, y = noisy(2.3, n=1200)
    model = model_of(StudentT(df=None), max_iter=5, batch_size=50, learning_rate=0.05)
    model.partial_fit(X[:200], y[:200])
    before = model.likelihood_.df
    for lo in range(200, 1200, 200):
        model.partial_fit(X[lo : lo + 200], y[lo : lo + 200])
    assert model.likelihood_.df != before and np.isfinite(model.objective_)
    after = model.likelihood_.df
    model.set_params(optimizer=None).partial_fit(X[:50], y[:50])
    assert model.likelihood_.df == after


def test_a_stream_learns_the_number():
    """Batch by batch a stream finds heavy tails, too."""
    X, y = noisy(2.5, n=1500)
    model = StreamingSGPRegressor(
        1.0 * RBF(1.0), likelihood=StudentT(df=None), n_inducing=15, random_state=0
    )
    for lo in range(0, 1500, 300):
        model.partial_fit(X[lo : lo + 300], y[lo : lo + 300])
    assert 2.05 <= model.likelihood_.df < 5.0
    assert np.abs(model.predict(X) - np.sin(2.0 * X[:, 0])).max() < 0.4
