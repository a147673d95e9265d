"""SVGPRegressor with Student-t noise and with counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.likelihoods import Gaussian, Poisson, StudentT


@pytest.fixture
def outliers(rng):
    """200 rows of a sine, every tenth target far off: X, y and the sine."""
    X = rng.uniform(0.0, 6.0, (200, 1))
    f = np.sin(2.0 * X[:, 0])
    y = f + 0.1 * rng.standard_normal(200)
    y[::10] += rng.choice([-4.0, 4.0], 20)
    return X, y, f


@pytest.fixture
def counts(rng):
    X = rng.uniform(0.0, 6.0, (300, 1))
    rate = np.exp(1.0 + np.sin(X[:, 0]))
    return X, rng.poisson(rate).astype(float), rate


def quick(likelihood, **parameters):
    return SVGPRegressor(**{"likelihood": likelihood, "n_inducing": 15, "random_state": 0,
                            **parameters})  # fmt: skip


def test_student_t_is_not_moved_by_outliers(outliers):
    """Student-t noise halves the error that outliers cause, and makes the targets more likely."""
    X, y, f = outliers
    errors = {
        name: np.sqrt(np.mean((quick(name).fit(X, y).predict(X) - f) ** 2))
        for name in ("gaussian", "student_t")
    }
    assert errors["student_t"] < 0.5 * errors["gaussian"]
    better = quick("student_t").fit(X, y).log_density(X, y).mean()
    assert better > quick("gaussian").fit(X, y).log_density(X, y).mean() + 0.2


def test_counts_are_learned(counts):
    """Rates are found, better than by Gaussian noise; counts are not scaled and have no noise."""
    X, y, rate = counts
    model = quick("poisson").fit(X, y)
    assert np.abs(model.predict(X) / rate - 1.0).max() < 0.35
    assert model.log_density(X, y).mean() > quick("gaussian").fit(X, y).log_density(X, y).mean()
    assert model.y_mean_ == 0.0 and model.y_scale_ == 1.0
    assert not hasattr(model, "noise_variance_")


@pytest.mark.parametrize("likelihood", ["student_t", "poisson"])
@pytest.mark.quick_cases("student_t")
def test_predictions_are_of_y(outliers, counts, likelihood):
    """Mean, std and quantiles are those of many draws of new observations, joint or pathwise."""
    X, y, _ = outliers if likelihood == "student_t" else counts
    model = quick(likelihood).fit(X, y)
    new = np.array([[0.5], [2.0], [5.5]])
    mean, std = model.predict(new, return_std=True)
    assert_allclose(model.predict(new), mean, rtol=1e-9)
    levels = [0.1, 0.5, 0.9]
    quantiles = model.predict_quantiles(new, levels)
    for method, n in (("joint", 20_000), ("pathwise", 4_000)):  # functions of their own take longer
        draws = model.sample_y(new, n, method=method, random_state=1)
        error = draws.std(axis=1) / np.sqrt(draws.shape[1])
        assert (np.abs(draws.mean(axis=1) - mean) < 6 * error).all()
        below = (draws[:, None, :] <= quantiles[:, :, None]).mean(axis=2)
        strictly = (draws[:, None, :] < quantiles[:, :, None]).mean(axis=2)
        assert (below > np.array(levels) - 0.03).all()
        assert (strictly < np.array(levels) + 0.03).all()
    if likelihood == "poisson":
        assert_allclose(draws.std(axis=1), std, rtol=0.1)
        assert_array_equal(quantiles, np.round(quantiles))
    mean_again, covariance = model.predict(new, return_cov=True)
    assert_allclose(mean_again, mean, rtol=1e-6)
    assert_allclose(np.sqrt(np.diag(covariance)), std, rtol=1e-6)


@pytest.mark.slow
def test_densities_integrate_to_one(outliers, counts):
    """Predictive densities sum to one, and those of counts have the predicted mean and std."""
    X, y, _ = outliers
    grid = np.linspace(-200.0, 200.0, 200_001)
    model = quick("student_t").fit(X, y)
    density = np.exp(model.log_density(np.full((len(grid), 1), 2.0), grid))
    assert_allclose(density.sum() * (grid[1] - grid[0]), 1.0, atol=2e-4)
    X, y, _ = counts
    model, grid = quick("poisson").fit(X, y), np.arange(300.0)
    density = np.exp(model.log_density(np.full((300, 1), 2.0), grid))
    assert_allclose(density.sum(), 1.0, rtol=1e-6)
    mean, std = model.predict([[2.0]], return_std=True)
    assert_allclose(density @ grid, mean[0], rtol=1e-6)
    assert_allclose(density @ (grid - mean) ** 2, std[0] ** 2, rtol=1e-5)


class GaussianBySites(Gaussian):
    """Gaussian noise whose closed form is not used."""

    conjugate = False


def test_gaussian_through_the_general_path_is_the_gaussian_path(wave):
    """By natural-gradient iterations the fit ends where the closed form does."""
    X, y = wave
    model = SVGPRegressor(n_inducing=10, max_iter=8, random_state=0)
    plain = clone(model).fit(X, y)
    general = clone(model).set_params(likelihood=GaussianBySites()).fit(X, y)
    assert plain._fitted.state.exact and not general._fitted.state.exact
    assert_allclose(general.objective_, plain.objective_, rtol=1e-4)
    assert_allclose(general.noise_variance_, plain.noise_variance_, rtol=1e-2)
    for one, other in zip(
        general.predict(X, return_std=True), plain.predict(X, return_std=True), strict=True
    ):
        assert_allclose(one, other, atol=2e-2 * np.std(y))


@pytest.mark.parametrize("likelihood", ["student_t", "poisson"])
def test_several_outputs(outliers, counts, likelihood):
    """Several outputs with one kernel are the outputs one by one."""
    X, y, _ = outliers if likelihood == "student_t" else counts
    Y = np.column_stack([y, np.roll(y, 1)])
    kernel = 1.0 * RBF(1.0)
    options = {"kernel": kernel, "optimizer": None, "inducing": X[:15]}
    both = quick(likelihood, **options).fit(X, Y)
    apart = [quick(likelihood, **options).fit(X, column) for column in Y.T]
    for method in ("predict", "predict_std"):
        expected = np.column_stack([getattr(model, method)(X[:9]) for model in apart])
        assert_allclose(getattr(both, method)(X[:9]), expected, rtol=1e-4, atol=1e-5)
    expected = sum(model.log_density(X, y) for model, y in zip(apart, Y.T, strict=True))
    assert_allclose(both.log_density(X, Y), expected, rtol=1e-4, atol=1e-4)
    quantiles = np.stack([model.predict_quantiles(X[:9]) for model in apart], axis=1)
    assert_allclose(both.predict_quantiles(X[:9]), quantiles, rtol=1e-4, atol=1e-4)
    assert both.sample_y(X[:9], 3).shape == (9, 2, 3)
    assert both.sample_y(X[:9], 3, method="pathwise").shape == (9, 2, 3)
    assert both.predict(X[:9], return_cov=True)[1].shape == (9, 9, 2)


@pytest.mark.parametrize("likelihood", ["student_t", "poisson"])
@pytest.mark.parametrize("total", [None, 200])
def test_partial_fit_comes_near(outliers, counts, likelihood, total):
    """Batches of new rows, or rows that come again, lead near what fit finds."""
    X, y, _ = outliers if likelihood == "student_t" else counts
    X, y = X[:200], y[:200]
    model = quick(likelihood, inducing=X[:15], normalize_y=(0.0, 1.0), kernel=1.0 * RBF(1.0))
    model.set_params(optimizer=None, noise_variance=0.02 if likelihood == "student_t" else None)
    whole = clone(model).fit(X, y)
    model.set_params(total_samples=total, natural_step=0.3)
    for _ in range(1 if total is None else 15):
        for part in np.array_split(np.arange(200), 4):
            model.partial_fit(X[part], y[part])
    assert np.abs(model.predict(X) - whole.predict(X)).max() < 0.15 * np.std(whole.predict(X)) + 0.3


def test_instances(outliers, counts):
    """Instances are taken with their own parameters: few degrees of freedom suit outliers."""
    X, y, _ = outliers
    few = quick(StudentT(df=3.0)).fit(X, y)
    many = quick(StudentT(df=50.0)).fit(X, y)
    assert few.log_density(X, y).mean() > many.log_density(X, y).mean()
    assert few.noise_variance_ < many.noise_variance_
    model = quick(Poisson(offset=1.0)).fit(*counts[:2])
    assert np.isfinite(model.objective_)


def test_all_counts_zero():
    """Counts that are all zero give small finite rates."""
    X = np.linspace(0.0, 1.0, 30)[:, None]
    model = quick("poisson").fit(X, np.zeros(30))
    mean, std = model.predict(X, return_std=True)
    assert (mean < 0.2).all() and np.isfinite(std).all()


def test_errors(counts):
    """What is no count, noise in the kernel of counts, and a classifier's likelihood are errors."""
    X, y, _ = counts
    for bad in (y - 1.0, y + 0.5):
        with pytest.raises(ValueError, match="must hold counts"):
            quick("poisson").fit(X, bad)
    with pytest.raises(ValueError, match="WhiteKernel"):
        quick("poisson", kernel=1.0 * RBF() + WhiteKernel()).fit(X, y)
    with pytest.raises(ValueError, match="'likelihood' parameter"):
        quick("probit").fit(X, y)


def test_student_t_residuals_have_the_learned_scale(outliers):
    """The learned scale is that of the many small errors, not of the outliers."""
    X, y, _ = outliers
    model = quick("student_t").fit(X, y)
    scale = np.sqrt(model.noise_variance_) * model.y_scale_
    assert 0.05 < scale < 0.25
    assert stats.t(4.0).sf(4.0 / scale) < 1e-3
