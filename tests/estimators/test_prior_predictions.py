"""Before `fit`, regressors predict and draw from their prior, as scikit-learn's GP does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

KERNELS = [
    ConstantKernel(2.0) * RBF(1.3) + WhiteKernel(0.3),
    DotProduct(0.5) + RBF([1.0, 0.3]) + WhiteKernel(0.1),
    DotProduct(0.0, "fixed") + WhiteKernel(0.1),
]


@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor])
@pytest.mark.parametrize("kernel", KERNELS)
def test_prior_is_scikit_learns(kind, kernel, toy):
    """Mean, deviation and covariance of an unfitted model are those of the kernel."""
    X = np.vstack([[0.0, 0.0], toy[0]])
    ours, exact = kind(kernel), GaussianProcessRegressor(kernel)
    for option in ("return_std", "return_cov"):
        for got, expected in zip(
            ours.predict(X, **{option: True}), exact.predict(X, **{option: True}), strict=True
        ):
            assert_allclose(got, expected, rtol=1e-7, atol=1e-9)
    assert_allclose(ours.predict(X), 0.0)
    assert not [name for name in vars(ours) if name.endswith("_")]


def test_all_predictions_are_there(toy):
    """Quantiles, densities, distributions and draws are those of the prior, noise included."""
    X, y = toy
    model = SVGPRegressor(KERNELS[0], normalize_y=(10.0, 2.0))
    std = 2.0 * np.sqrt(2.3)
    assert_allclose(model.predict_std(X), std)
    assert_allclose(model.predict_std(X, include_noise=False), 2.0 * np.sqrt(2.0))
    assert_allclose(model.predict_quantiles(X, [0.5]), 10.0)
    assert_allclose(model.predict_distribution(X).sf(10.0), 0.5)
    expected = -0.5 * ((y - 10.0) / std) ** 2 - np.log(std * np.sqrt(2.0 * np.pi))
    assert_allclose(model.log_density(X, y), expected)
    draws = model.sample_y(X[:5], 20_000)
    covariance = 4.0 * KERNELS[0](X[:5])
    assert_allclose(np.cov(draws), covariance, atol=0.05 * covariance.max())


def test_the_default_kernel_has_unit_variance(toy):
    """With kernel=None the function has variance 1, and noise the starting variance."""
    X, _ = toy
    assert_allclose(SVGPRegressor().predict_std(X, include_noise=False), 1.0)
    assert_allclose(SVGPRegressor(noise_variance=0.5).predict_std(X), np.sqrt(1.5))


def test_a_fit_ends_it(toy):
    """A prediction before fit leaves no trace in what fit learns."""
    X, y = toy
    model = SVGPRegressor(n_inducing=5, max_iter=3, random_state=0)
    model.predict(np.zeros((2, 7)))
    one = model.fit(X, y).predict(X)
    other = SVGPRegressor(n_inducing=5, max_iter=3, random_state=0).fit(X, y).predict(X)
    assert_allclose(one, other, rtol=0)


@pytest.mark.parametrize(
    "model",
    [
        SVGPRegressor(likelihood="poisson"),
        SVGPRegressor(likelihood="student_t"),
        AnytimeSGPRegressor(likelihood="heteroscedastic"),
        StreamingSGPRegressor(n_latent=1),
    ],
)
def test_other_models_need_a_fit(model, toy):
    """What takes parameters from the targets is an error before fit, as ever."""
    for method in (model.predict, model.sample_y, model.predict_distribution):
        with pytest.raises(NotFittedError):
            method(toy[0])


def test_displays_need_a_fit():
    """A picture of what was learned is an error before fit that says so."""
    pytest.importorskip("matplotlib")
    from sklearn_sgp.plotting import RelevanceDisplay

    with pytest.raises(NotFittedError):
        RelevanceDisplay.from_estimator(SVGPRegressor())


def test_what_needs_learned_values_needs_a_fit(toy):
    """Drawn functions and the marginal likelihood of an unfitted model are errors."""
    for method in (SVGPRegressor().sample_functions, SVGPRegressor().log_marginal_likelihood):
        with pytest.raises(NotFittedError):
            method()


def test_as_many_outputs_as_entries():
    """A noise variance for each output, or a scaling of each, has predictions of so many."""
    X = np.linspace(0.0, 1.0, 5)[:, None]
    noise = SVGPRegressor(RBF(), noise_variance=[0.5, 3.0])
    assert_allclose(noise.predict_std(X), np.sqrt([[1.5, 4.0]] * 5))
    scaled = SVGPRegressor(RBF(), normalize_y=(np.array([1.0, 2.0]), 3.0), noise_variance=1.0)
    mean, std = scaled.predict(X, return_std=True)
    assert_allclose(mean, [[1.0, 2.0]] * 5)
    assert_allclose(std, np.full((5, 2), 3.0 * np.sqrt(2.0)))


def test_a_prior_that_is_not_finite():
    """A kernel that overflows at the rows is refused as by a fit, without a word of numpy's."""
    kernel = (RBF() + DotProduct()) ** 2
    with pytest.raises(ValueError, match="X must hold numbers at which the kernel is at most"):
        SVGPRegressor(kernel).predict([[1e98]])
