"""SVGPRegressor takes kernel, noise and inducing inputs as given, and says what it learned."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Hyperparameter,
    Kernel,
    NormalizedKernelMixin,
    StationaryKernelMixin,
    WhiteKernel,
)
from svgp_regressors import assert_same_model, fixed

from sklearn_sgp import SVGPRegressor

ATTRIBUTES = (
    "kernel_ likelihood_ noise_variance_ inducing_points_ objective_ objectives_ fit_times_ "
    "n_iter_ n_steps_ n_samples_seen_ y_mean_ y_scale_ jitter_ n_features_in_"
).split()


class OwnKernel(RBF):
    """A kernel of the user's own, which happens to be RBF."""


class Waves(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    """A kernel of the user's own with a parameter of either sign."""

    def __init__(self, phase=1.0, phase_bounds="fixed"):
        self.phase, self.phase_bounds = phase, phase_bounds

    @property
    def hyperparameter_phase(self):
        """The parameter."""
        return Hyperparameter("phase", "numeric", self.phase_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        distances = cdist(X, X if Y is None else Y, "sqeuclidean")
        K = np.exp(-0.5 * np.exp(self.phase) * distances)
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K


def test_attributes(toy):
    """Every promised attribute is there after fit, and no training row is kept."""
    X, y = toy
    model = SVGPRegressor(n_inducing=10, max_iter=3).fit(X, y)
    assert [name for name in ATTRIBUTES if not hasattr(model, name)] == []
    assert model.inducing_points_.shape == (10, 2)
    assert model.n_samples_seen_ == len(X)
    assert_allclose([model.y_mean_, model.y_scale_], [y.mean(), y.std()], rtol=1e-12)
    assert type(model.y_mean_) is type(model.noise_variance_) is float
    assert type(model.n_iter_) is int and type(model.n_steps_) is int


def test_no_training_rows_are_kept(rng):
    """A pickled model does not grow with the rows it was fitted to."""
    X = rng.uniform(-2.0, 2.0, (3000, 2))
    sizes = [len(pickle.dumps(fixed().fit(X[:n], X[:n, 0]))) for n in (100, 3000)]
    assert abs(sizes[1] - sizes[0]) < 100


def test_given_kernel_is_never_changed(toy):
    """fit and partial_fit leave the kernel that was given as it was; kernel_ holds the learned."""
    kernel = 2.0 * RBF([1.0, 2.0]) + WhiteKernel(0.3)
    before, theta = repr(kernel), kernel.theta.copy()
    model = SVGPRegressor(kernel, n_inducing=10, max_iter=3).fit(*toy).partial_fit(*toy)
    assert model.kernel is kernel and repr(kernel) == before
    assert_array_equal(kernel.theta, theta)
    assert np.all(model.kernel_.theta != theta)


@pytest.mark.filterwarnings("ignore:The optimal value found")
@pytest.mark.parametrize(
    ("kernel", "kept"),
    [
        (ConstantKernel(2.0, "fixed") * RBF(1.0), lambda k: k.k1.constant_value == 2.0),
        (RBF(0.5, (0.45, 0.55)), lambda k: 0.45 < k.length_scale < 0.55 + 1e-9),
        (RBF(1.0) + WhiteKernel(0.3, "fixed"), lambda k: k.k2.noise_level == 0.3),
        (RBF(1.0) + WhiteKernel(0.3, (0.2, 0.4)), lambda k: 0.2 <= k.k2.noise_level <= 0.4),
    ],
)
def test_fixed_and_bounds_are_respected(wave, kernel, kept):
    """A hyperparameter that is fixed stays, one with bounds stays within them."""
    model = SVGPRegressor(kernel, n_inducing=10, max_iter=10, random_state=0).fit(*wave)
    assert kept(model.kernel_)


@pytest.mark.filterwarnings("ignore:The optimal value found")
@pytest.mark.parametrize("bounds", ["fixed", (0.2, 0.4)])
def test_noise_bounds_are_respected(wave, bounds):
    """noise_variance_bounds keeps the noise where it starts, or within the bounds."""
    model = SVGPRegressor(noise_variance=0.3, noise_variance_bounds=bounds, n_inducing=10)
    noise = model.set_params(max_iter=10, random_state=0).fit(*wave).noise_variance_
    assert_allclose(noise, 0.3 if bounds == "fixed" else 0.2, rtol=1e-12)


def test_several_white_kernels_are_one_noise(toy):
    """The WhiteKernel terms of the outermost sum add up to the noise."""
    kernel = WhiteKernel(0.2) + RBF(1.0) + WhiteKernel(0.1)
    two = fixed(kernel=kernel, noise_variance=None).fit(*toy)
    one = fixed(kernel=RBF(1.0), noise_variance=0.3).fit(*toy)
    assert_allclose(two.noise_variance_, 0.3, rtol=1e-12)
    assert_same_model(one, two, toy[0])


@pytest.mark.parametrize("inducing", ["kmeans", "greedy", "random"])
def test_inducing_inputs_are_chosen_as_asked(toy, inducing):
    """Each way gives n_inducing distinct inputs; greedy and random ones are rows of X."""
    X, y = toy
    model = SVGPRegressor(n_inducing=12, inducing=inducing, optimizer=None, random_state=0)
    Z = model.fit(X, y).inducing_points_
    assert Z.shape == np.unique(Z, axis=0).shape == (12, 2)
    rows = {tuple(row) for row in X}
    assert all((tuple(z) in rows) == (inducing != "kmeans") for z in Z)


def test_given_inducing_inputs_are_used_and_not_changed(toy):
    """An array of inducing inputs is where learning starts, and is itself left alone."""
    Z = toy[0][:9].copy()
    held = SVGPRegressor(inducing=Z, optimize_inducing=False, max_iter=3).fit(*toy)
    moved = SVGPRegressor(inducing=Z, max_iter=3).fit(*toy)
    assert_array_equal(held.inducing_points_, Z)
    assert_array_equal(Z, toy[0][:9])
    assert np.any(moved.inducing_points_ != Z)
    assert not np.shares_memory(held.inducing_points_, Z)


def test_default_kernel(wave):
    """kernel=None is ConstantKernel() * RBF() with one length scale for each column."""
    X = np.column_stack([wave[0], 100.0 * np.random.default_rng(3).standard_normal(600)])
    model = SVGPRegressor(n_inducing=20, random_state=0).fit(X, wave[1])
    assert model.kernel_.k1.constant_value > 0
    relevant, irrelevant = model.kernel_.k2.length_scale / X.std(axis=0)
    assert irrelevant > 10.0 * relevant


def test_unknown_kernels_work_and_say_so_once(wave):
    """A kernel without gradients of ours is learned by differences, Z held, with one warning."""
    X, y = wave
    model = SVGPRegressor(2.0 * OwnKernel(1.0), n_inducing=15, inducing="greedy", random_state=0)
    with pytest.warns(ConvergenceWarning, match="finite differences") as caught:
        model.set_params(max_iter=15).fit(X, y)
    assert len(caught) == 1
    assert isinstance(model.kernel_.k2, OwnKernel) and model.kernel_.k2.length_scale != 1.0
    assert all(z in X for z in model.inducing_points_)
    known = SVGPRegressor(2.0 * RBF(1.0), optimize_inducing=False, inducing="greedy")
    known.set_params(**{"n_inducing": 15, "random_state": 0, "max_iter": 15}).fit(X, y)
    assert_same_model(known, model, X, rtol=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("held", [0.0, -1.0])
def test_held_parameters_of_own_kernels_may_have_any_sign(toy, held):
    """Fixed hyperparameters of 0 or less were refused, which scikit-learn takes."""
    X, y = toy
    kernel = ConstantKernel(2.0) * Waves(held)
    model = SVGPRegressor(kernel, n_inducing=len(X), noise_variance=0.1, optimizer=None)
    exact = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None, normalize_y=True)
    assert_allclose(model.fit(X, y).predict(X), exact.fit(X, y).predict(X), rtol=0.01, atol=0.01)
    model.set_params(optimizer="auto", max_iter=3).fit(X, y)
    assert model.kernel_.k2.phase == held
    with pytest.raises(ValueError, match="k2__phase of the 'kernel' parameter must be positive"):
        model.set_params(kernel=ConstantKernel() * Waves(held, (1e-3, 1.0))).fit(X, y)
    with pytest.raises(ValueError, match=r"k2__length_scale of .* must be positive"):
        model.set_params(kernel=Waves(held) + RBF(held, "fixed")).fit(X, y)
