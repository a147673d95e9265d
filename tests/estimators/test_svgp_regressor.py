"""SVGPRegressor keeps what its interface promises: shapes, units, scikit-learn, exactness."""

import copy
import pickle
import tracemalloc
import warnings

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.impute import IterativeImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Columns
from sklearn_sgp.metrics import log_density_scorer

try:
    from sklearn.callback import ProgressBar, ScoringMonitor
except ImportError:
    ProgressBar = ScoringMonitor = None

needs_callbacks = pytest.mark.skipif(
    ProgressBar is None, reason="scikit-learn has callbacks from 1.9 on"
)

KERNEL = 2.0 * RBF([1.0, 2.0])
ATTRIBUTES = (
    "kernel_ noise_variance_ inducing_points_ objective_ objectives_ fit_times_ n_iter_ n_steps_ "
    "n_samples_seen_ y_mean_ y_scale_ jitter_ n_features_in_"
).split()
# Each takes another way through the stages on 600 rows.
WAYS = {
    "auto, few rows": {},
    "auto, L-BFGS on all rows": {"init_size": 150},
    "auto, growing subsets": {"init_size": 60, "batch_size": 200, "max_iter": 10},
    "lbfgs": {"optimizer": "lbfgs"},
    "adam": {"optimizer": "adam", "batch_size": 100, "learning_rate": 0.05, "max_iter": 30},
    "None": {"optimizer": None, "kernel": RBF(0.5), "noise_variance": 0.02},
}


class OwnKernel(RBF):
    """A kernel of the user's own, which happens to be RBF."""


def fixed(**parameters):
    """A regressor that learns nothing but the posterior, for inputs of two columns."""
    Z = np.random.default_rng(1).uniform(-2.0, 2.0, (12, 2))
    defaults = {"kernel": KERNEL, "optimizer": None, "inducing": Z, "noise_variance": 0.1}
    return SVGPRegressor(**(defaults | parameters))


def assert_same_model(one, other, X, rtol=1e-7):
    """Predictions and objective agree."""
    assert_allclose(one.predict(X), other.predict(X), rtol=rtol, atol=rtol)
    assert_allclose(one.predict_std(X), other.predict_std(X), rtol=rtol)
    assert_allclose(one.objective_, other.objective_, rtol=rtol)


# Predictions


@pytest.mark.parametrize("outputs", [(), (1,), (2,)])
def test_shapes(rng, toy, outputs):
    """Predictions have the shape of y, further axes coming last."""
    X = toy[0]
    y = rng.standard_normal((len(X), *outputs))
    model, X_new, n = fixed().fit(X, y), X[:7], 7
    mean, std = model.predict(X_new, return_std=True)
    cov = model.predict(X_new, return_cov=True)[1]
    assert model.predict(X_new).shape == mean.shape == std.shape == (n, *outputs)
    assert model.predict_std(X_new).shape == (n, *outputs)
    assert cov.shape == (n, n, *outputs)
    assert model.predict_quantiles(X_new).shape == (n, *outputs, 3)
    assert model.predict_quantiles(X_new, [0.5]).shape == (n, *outputs, 1)
    assert model.sample_y(X_new, 4).shape == (n, *outputs, 4)
    assert model.sample_y(X_new, 4, method="pathwise").shape == (n, *outputs, 4)
    assert model.sample_functions(4)(X_new).shape == (n, *outputs, 4)
    assert model.log_density(X_new, y[:7]).shape == (n,)
    assert np.shape(model.y_mean_) == np.shape(model.y_scale_) == outputs


def test_everything_predicted_is_float64(toy):
    """float32 inputs and targets give float64 results."""
    X, y = (a.astype(np.float32) for a in toy)
    model = fixed().fit(X, y)
    results = *model.predict(X, return_std=True), model.sample_y(X), model.predict_quantiles(X)
    assert {a.dtype for a in results} == {np.dtype(np.float64)}


def test_std_and_cov_cannot_both_be_asked_for(toy):
    """predict raises RuntimeError for both at once, as GaussianProcessRegressor does."""
    with pytest.raises(RuntimeError, match="At most one of return_std or return_cov"):
        fixed().fit(*toy).predict(toy[0], return_std=True, return_cov=True)


@pytest.mark.parametrize(
    "predict",
    [
        lambda model, X: model.predict(X),
        lambda model, X: model.predict_std(X),
        lambda model, X: model.predict_quantiles(X),
        lambda model, X: model.sample_y(X),
        lambda model, X: model.sample_functions(),
        lambda model, X: model.log_density(X, X[:, 0]),
    ],
)
def test_nothing_predicts_before_fit(toy, predict):
    """Every predicting method says that the estimator is not fitted."""
    with pytest.raises(NotFittedError):
        predict(SVGPRegressor(), toy[0])


def test_std_is_that_of_an_observation(toy_outputs):
    """std includes the noise; include_noise=False leaves it out; cov has std**2 as diagonal."""
    X, y = toy_outputs
    model = fixed().fit(X, y)
    std, latent = model.predict_std(X), model.predict_std(X, include_noise=False)
    noise = model.noise_variance_ * model.y_scale_**2
    assert_allclose(std**2 - latent**2, np.tile(noise, (len(X), 1)), rtol=1e-9)
    assert_array_equal(model.predict(X, return_std=True)[1], std)
    cov = model.predict(X, return_cov=True)[1]
    assert_allclose(np.diagonal(cov).T, std**2, rtol=1e-9)
    assert_allclose(cov, cov.transpose(1, 0, 2), rtol=1e-12)


def test_mean_alone_computes_no_variance(toy, monkeypatch):
    """predict(X) never enters the code that computes variances."""
    model = fixed().fit(*toy)
    expected = model.predict(toy[0], return_std=True)[0]

    def refuse(*args):
        raise AssertionError("a variance was computed")

    for name in ("mean_variance", "mean_covariance"):
        monkeypatch.setattr(type(model._posterior), name, refuse)
    assert_allclose(model.predict(toy[0]), expected, rtol=1e-9)


def test_prediction_goes_in_chunks(toy, monkeypatch):
    """Chunks of any size give the same predictions, and none has more rows than it should."""
    model = fixed().fit(*toy)
    X = np.tile(toy[0], (2, 1))
    mean, std = model.predict(X, return_std=True)
    monkeypatch.setattr("sklearn_sgp.estimators.base.PREDICT_CHUNK", 7)
    monkeypatch.setattr("sklearn_sgp.estimators.base.PREDICT_TASK", 21)
    sizes, whole = [], type(model._posterior).mean_variance
    monkeypatch.setattr(
        type(model._posterior), "mean_variance", lambda q, X: sizes.append(len(X)) or whole(q, X)
    )
    again, again_std = model.predict(X, return_std=True)
    assert_allclose(again, mean, rtol=1e-12)
    assert_allclose(again_std, std, rtol=1e-12)
    assert sum(sizes) == len(X) and max(sizes) == 7


def test_quantiles_are_those_of_the_predictive_normal(toy_outputs):
    """predict_quantiles inverts the normal distribution of a new observation."""
    X, y = toy_outputs
    model, levels = fixed().fit(X, y), [0.9, 0.01, 0.5]
    mean, std = model.predict(X, return_std=True)
    expected = norm.ppf(levels, mean[..., None], std[..., None])
    assert_allclose(model.predict_quantiles(X, levels), expected, rtol=1e-9)


def test_log_density_is_that_of_the_predictive_normal(toy_outputs):
    """log_density is in y's own units, and sums over the outputs of a row."""
    X, y = toy_outputs
    model = fixed().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert_allclose(model.log_density(X, y), norm.logpdf(y, mean, std).sum(axis=1), rtol=1e-9)
    one = fixed().fit(X, y[:, 0])
    scaled = fixed().fit(X, 1000.0 * y[:, 0])
    change = scaled.log_density(X, 1000.0 * y[:, 0]) - one.log_density(X, y[:, 0])
    assert_allclose(change, -np.log(1000.0), rtol=1e-9)


# Samples


@pytest.mark.parametrize("method", ["joint", "pathwise"])
def test_draws_have_the_predictive_moments(toy_outputs, method):
    """Draws of sample_y have the mean and covariance that predict gives, noise included."""
    X, y = toy_outputs
    model, n_draws = fixed().fit(X, y), 4000
    X_new = np.array([[0.0, 0.0], [0.3, -0.2], [1.5, 1.5], [6.0, 6.0]])
    mean, cov = model.predict(X_new, return_cov=True)
    # a call's features are shared by its draws: only the mean over calls is that of the prior
    rng, calls = np.random.RandomState(1), 100
    draws = [model.sample_y(X_new, n_draws // calls, rng, method=method) for _ in range(calls)]
    draws = np.concatenate(draws, axis=-1)
    for output in range(2):
        unit = np.sqrt(np.diagonal(cov[..., output]))
        error = (draws[:, output].mean(axis=1) - mean[:, output]) / unit
        assert np.abs(error).max() < 5.0 / np.sqrt(n_draws)
        measured = np.cov(draws[:, output]) / np.outer(unit, unit)
        assert_allclose(measured, cov[..., output] / np.outer(unit, unit), atol=0.08)


def test_functions_have_the_latent_moments(toy):
    """Functions of sample_functions have the latent mean and standard deviation, without noise."""
    model = fixed().fit(*toy)
    X_new = np.array([[0.0, 0.0], [1.5, 1.5], [6.0, 6.0]])
    rng = np.random.RandomState(0)
    values = np.hstack([model.sample_functions(40, rng)(X_new) for _ in range(100)])
    std = model.predict_std(X_new, include_noise=False)
    assert np.abs((values.mean(axis=1) - model.predict(X_new)) / std).max() < 5.0 / np.sqrt(4000)
    assert_allclose(values.std(axis=1), std, rtol=0.06)


def test_functions_are_functions(toy):
    """A drawn function has one value at each input, whatever is asked beside it, pickled too."""
    model = fixed().fit(*toy)
    functions, X = model.sample_functions(3, random_state=0), toy[0]
    values = functions(X)
    assert_allclose(functions(X[20:30]), values[20:30], rtol=1e-9)
    assert_array_equal(pickle.loads(pickle.dumps(functions))(X), values)
    assert_array_equal(model.sample_functions(3, random_state=0)(X), values)
    assert np.abs(model.sample_functions(3, random_state=1)(X) - values).min() > 0


def test_auto_samples_jointly_up_to_2000_rows(toy, monkeypatch):
    """sample_y(method="auto") is the joint draw for few rows and the pathwise one above."""
    model, X = fixed().fit(*toy), toy[0]
    assert_array_equal(model.sample_y(X), model.sample_y(X, method="joint"))
    assert np.any(model.sample_y(X) != model.sample_y(X, method="pathwise"))
    assert type(model).sample_y.__globals__["_JOINT_ROWS"] == 2000
    monkeypatch.setattr("sklearn_sgp.estimators.regressor._JOINT_ROWS", 30)
    assert_array_equal(model.sample_y(X), model.sample_y(X, method="pathwise"))


def test_sampling_follows_the_seed(toy):
    """The same random_state gives the same draws, another one others; the default is 0."""
    model, X = fixed().fit(*toy), toy[0]
    assert_array_equal(model.sample_y(X, 2), model.sample_y(X, 2, random_state=0))
    assert np.any(model.sample_y(X, 2) != model.sample_y(X, 2, random_state=1))


@pytest.mark.parametrize(
    "draw",
    [
        lambda model, X: model.sample_functions(),
        lambda model, X: model.sample_y(X, method="pathwise"),
        lambda model, X: model.sample_y(np.tile(X, (40, 1))),
    ],
)
def test_no_pathwise_draws_without_a_spectral_density(toy, draw):
    """A kernel without a spectral density raises ValueError with the cure: joint draws."""
    model = fixed(kernel=PairwiseKernel(metric="rbf")).fit(*toy)
    with pytest.raises(ValueError, match="joint"):
        draw(model, toy[0])
    assert np.isfinite(model.sample_y(toy[0])).all()


# Exactness


@pytest.mark.parametrize("noise", [1e-3, 0.1])
@pytest.mark.parametrize(
    "kernel",
    [
        1.5 * RBF([1.0, 2.0]),
        Matern([1.0, 2.0], nu=0.5),
        2.0 * Matern(1.5, nu=1.5),
        Matern([1.0, 2.0], nu=2.5),
        Matern(1.0, nu=np.inf),
        RationalQuadratic(1.0, 0.7),
        ConstantKernel(0.5) + RBF(0.7) * DotProduct(1.2),
        Columns(ExpSineSquared(1.0, 2.0), [0]) + Columns(RBF(1.0), [1]),
        RBF(1.0) ** 2 + 0.3 * DotProduct(0.5),
    ],
    ids=str,
)
def test_exact_gp_where_every_row_is_an_inducing_input(toy, kernel, noise):
    """With Z = X the model is scikit-learn's GaussianProcessRegressor, its bound the evidence."""
    X, y = toy
    model = SVGPRegressor(kernel, optimizer=None, inducing=X, noise_variance=noise).fit(X, y)
    whole_kernel = model.kernel_ + WhiteKernel(model.noise_variance_)
    exact = GaussianProcessRegressor(whole_kernel, optimizer=None, normalize_y=True).fit(X, y)
    X_new = np.random.default_rng(2).uniform(-3.0, 3.0, (25, 2))
    mean, std = exact.predict(X_new, return_std=True)
    cov = exact.predict(X_new, return_cov=True)[1]
    # a mean may cross zero and a covariance vanish: there the unit of y is the measure
    assert_allclose(model.predict(X_new), mean, rtol=1e-6, atol=1e-7 * y.std())
    assert_allclose(model.predict_std(X_new), std, rtol=1e-6)
    assert_allclose(model.predict(X_new, return_cov=True)[1], cov, rtol=1e-6, atol=1e-7 * y.var())
    evidence = exact.log_marginal_likelihood_value_ - len(y) * np.log(y.std())
    assert_allclose(model.objective_, evidence, rtol=1e-6)


def test_exact_gp_with_the_noise_in_the_kernel(toy):
    """kernel_ keeps the WhiteKernel, so GaussianProcessRegressor(kernel_) is the same model."""
    X, y = toy
    kernel = 1.5 * RBF(1.0) + WhiteKernel(0.05)
    model = SVGPRegressor(kernel, inducing=X, optimize_inducing=False, max_iter=5).fit(X, y)
    exact = GaussianProcessRegressor(model.kernel_, optimizer=None, normalize_y=True).fit(X, y)
    mean, std = exact.predict(X + 0.1, return_std=True)
    assert_allclose(model.predict(X + 0.1), mean, rtol=1e-6)
    assert_allclose(model.predict_std(X + 0.1), std, rtol=1e-6)
    assert_allclose(model.kernel_.k2.noise_level, model.noise_variance_, rtol=1e-12)


def test_each_output_is_a_model_of_its_own(toy_outputs):
    """With a fixed kernel several outputs are as many independent models, objectives summed."""
    X, y = toy_outputs
    both, apart = fixed().fit(X, y), [fixed().fit(X, column) for column in y.T]
    assert_allclose(both.predict(X), np.column_stack([m.predict(X) for m in apart]), rtol=1e-9)
    stds = np.column_stack([m.predict_std(X) for m in apart])
    assert_allclose(both.predict_std(X), stds, rtol=1e-9)
    assert_allclose(both.objective_, sum(m.objective_ for m in apart), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1e5])
def test_objective_is_in_units_of_y(toy, scale):
    """Rescaling y by c lowers every objective by n log c, and leaves the learned kernel alone."""
    X, y = toy
    one = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0).fit(X, y)
    other = clone(one).fit(X, scale * y)
    change = -len(y) * np.log(scale)
    assert_allclose(other.objective_ - one.objective_, change, rtol=1e-6)
    assert_allclose(other.objectives_ - one.objectives_, change, rtol=1e-6)
    assert_allclose(other.kernel_.theta, one.kernel_.theta, rtol=1e-6)


def test_objective_without_normalisation_is_the_evidence_itself(toy):
    """With normalize_y=False nothing is subtracted or divided anywhere."""
    X, y = toy
    model = fixed(kernel=30.0 * RBF(2.0), inducing=X, normalize_y=False).fit(X, y)
    covariance = model.kernel_(X) + 0.1 * np.eye(len(X))
    evidence = multivariate_normal(np.zeros(len(X)), covariance).logpdf(y)
    assert_allclose(model.objective_, evidence, rtol=1e-6)
    assert (model.y_mean_, model.y_scale_) == (0.0, 1.0)


# Learning


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_learning_ends_in_a_good_model(wave, way):
    """All stages learn a sine from 600 rows, and their traces are complete and in order."""
    X, y = wave
    model = SVGPRegressor(n_inducing=15, random_state=0).set_params(**WAYS[way]).fit(X, y)
    assert model.score(X, y) > 0.97
    assert np.mean(np.abs(y - model.predict(X)) < 2.0 * model.predict_std(X)) > 0.9
    assert len(model.objectives_) == len(model.fit_times_) == model.n_iter_ >= 1
    assert np.isfinite(model.objectives_).all() and (np.diff(model.fit_times_) > 0).all()
    assert model.fit_times_[0] > 0
    assert model.objectives_[-1] == model.objective_
    assert (model.n_steps_ > 0) == (way == "adam")


def test_released_hyperparameters_do_not_throw_the_bound_down(wave):
    """No epoch of stochastic steps has a bound below that of the first, hyperparameters held."""
    for seed in range(3):
        model = SVGPRegressor(n_inducing=10, optimizer="adam", batch_size=100, random_state=seed)
        epochs = model.set_params(learning_rate=0.05).fit(*wave).objectives_[:-1]
        assert epochs[1:].min() > epochs[0]


def test_default_learning_raises_the_objective(wave):
    """Learning ends above the objective of the starting values, and finds the noise."""
    X, y = wave
    start = SVGPRegressor(n_inducing=15, optimizer=None, random_state=0).fit(X, y)
    model = clone(start).set_params(optimizer="auto").fit(X, y)
    assert model.objective_ > start.objective_ + 100.0
    assert_allclose(np.sqrt(model.noise_variance_) * model.y_scale_, 0.1, rtol=0.1)
    assert np.any(model.inducing_points_ != start.inducing_points_)


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


def test_warm_start(wave):
    """warm_start goes on from what the last fit learned; without it fit starts anew."""
    X, y = wave
    model = SVGPRegressor(n_inducing=10, max_iter=2, random_state=0)
    first = clone(model).fit(X, y).objective_
    assert clone(model).fit(X, y).fit(X, y).objective_ == first
    warm = clone(model).set_params(warm_start=True).fit(X, y)
    assert warm.objective_ == first
    assert warm.fit(X, y).objective_ > first + 1.0


def test_max_steps(wave):
    """max_steps ends the stochastic stage after so many steps."""
    model = SVGPRegressor(n_inducing=10, optimizer="adam", batch_size=100, max_steps=7)
    assert model.fit(*wave).n_steps_ == 7


@pytest.mark.parametrize("way", ["auto, few rows", "auto, growing subsets", "lbfgs", "adam"])
def test_max_time_ends_with_a_usable_model(wave, way):
    """With a budget far too small, fit ends soon, on all rows, with what it has."""
    model = SVGPRegressor(n_inducing=10, random_state=0).set_params(**WAYS[way])
    model.set_params(max_time=0.02, max_iter=100_000, tol=0.0).fit(*wave)
    assert model.fit_times_[-1] < 5.0
    assert np.isfinite(model.predict(wave[0])).all()
    assert np.isfinite(model.objective_)


def test_max_time_that_all_rows_exceed(wave, monkeypatch):
    """If a pass over all rows does not fit, fewer rows count for all of them, with a warning."""
    X, y = np.tile(wave[0], (20, 1)), np.tile(wave[1], 20)
    model = SVGPRegressor(n_inducing=10, optimizer=None, random_state=0)
    whole = clone(model).fit(X, y)
    monkeypatch.setattr("sklearn_sgp.fitting.stages._finish_seconds", lambda *args: 1e6)
    with pytest.warns(ConvergenceWarning, match=r"max_time.* of them"):
        part = model.set_params(max_time=1e-3).fit(X, y)
    assert_allclose(part.predict(X), whole.predict(X), atol=0.1)
    assert_allclose(part.objective_, whole.objective_, rtol=0.1)


def test_verbose_prints(toy, capsys):
    """verbose=1 prints a line for every entry of the trace; verbose=0 prints nothing."""
    model = SVGPRegressor(n_inducing=5, max_iter=3).fit(*toy)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1).fit(*toy)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(model.objectives_)
    assert f"{model.objective_:.6g}" in lines[-1]


def test_normalize_y_given_as_mean_and_scale(toy):
    """A pair (mean, scale) is used as given: the same as scaling by hand."""
    X, y = toy
    model = fixed(normalize_y=(3.0, 2.0)).fit(X, y)
    by_hand = fixed(normalize_y=False).fit(X, (y - 3.0) / 2.0)
    assert (model.y_mean_, model.y_scale_) == (3.0, 2.0)
    assert_allclose(model.predict(X), 3.0 + 2.0 * by_hand.predict(X), rtol=1e-9)
    assert_allclose(model.predict_std(X), 2.0 * by_hand.predict_std(X), rtol=1e-9)
    assert_allclose(model.objective_, by_hand.objective_ - len(y) * np.log(2.0), rtol=1e-9)


# Callbacks


def stop_after(n_steps):
    """A callback that asks to stop after so many steps."""

    class Stop:
        def __init__(self):
            self.steps = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.steps += context.parent is not None
            return self.steps >= n_steps

    return Stop()


@needs_callbacks
@pytest.mark.parametrize("way", ["auto, few rows", "auto, growing subsets", "lbfgs", "adam"])
def test_a_callback_can_stop_the_fit(wave, way):
    """A callback that returns True ends the fit cleanly, with the exact posterior."""
    model = SVGPRegressor(n_inducing=10, random_state=0).set_params(**WAYS[way])
    model.set_callbacks(stop_after(2)).fit(*wave)
    assert model.n_iter_ == 3  # two steps, and the final pass
    frozen = SVGPRegressor(
        model.kernel_,
        optimizer=None,
        inducing=model.inducing_points_,
        noise_variance=model.noise_variance_,
    )
    assert_same_model(frozen.fit(*wave), model, wave[0], rtol=1e-6)


@needs_callbacks
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("way", "tolerance"),
    [("auto, few rows", 1e-6), ("lbfgs", 1e-6), ("auto, growing subsets", 0.2)],
)
def test_scoring_monitor(wave, way, tolerance, weighted):
    """ScoringMonitor scores every step by our scorers and by scikit-learn's, and learning shows.

    Amid a fit the posterior rests on ``init_size`` rows only, hence the last tolerance.
    """
    X, y = wave
    monitor = ScoringMonitor(scoring={"log_p": log_density_scorer, "r2": "r2"})
    model = SVGPRegressor(n_inducing=10, random_state=0).set_params(**WAYS[way])
    weight = np.full(len(X), 2.0) if weighted else None
    model.set_callbacks(monitor).fit(X, y, sample_weight=weight)
    log = monitor.get_logs().data
    steps = [row for row in log if row["task_name"] == "step"]
    assert len(steps) == len(model.objectives_)
    assert steps[-1]["log_p"] > steps[0]["log_p"]
    assert_allclose(steps[-1]["log_p"], model.log_density(X, y).mean(), rtol=tolerance)
    assert_allclose(steps[-1]["r2"], model.score(X, y), rtol=tolerance)


@needs_callbacks
def test_callbacks_change_nothing(wave):
    """A fit that is watched learns what it learns unwatched, and the model still pickles."""
    model = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0)
    plain = clone(model).fit(*wave)
    watched = clone(model).set_callbacks(ScoringMonitor(scoring={"r2": "r2"})).fit(*wave)
    assert_array_equal(watched.predict(wave[0]), plain.predict(wave[0]))
    assert watched.objective_ == plain.objective_
    assert_array_equal(pickle.loads(pickle.dumps(watched)).predict(wave[0]), plain.predict(wave[0]))


@needs_callbacks
def test_progress_bar(wave, capsys):
    """ProgressBar shows the fit, alone and inside a pipeline in a search."""
    pytest.importorskip("rich")
    model = SVGPRegressor(n_inducing=5, max_iter=2).set_callbacks(ProgressBar())
    model.fit(*wave)
    assert "SVGPRegressor" in capsys.readouterr().out
    pipeline = make_pipeline(StandardScaler(), SVGPRegressor(n_inducing=5, max_iter=2))
    search = GridSearchCV(pipeline, {"svgpregressor__n_inducing": [4, 5]}, cv=2)
    search.set_callbacks(ProgressBar(max_propagation_depth=3)).fit(*wave)
    assert "SVGPRegressor" in capsys.readouterr().out


# partial_fit


def test_objective_after_partial_fit_is_no_fiction(wave):
    """Where kernel and Z have moved, objective_ still is near the bound of the rows so far."""
    X, y = wave
    model = SVGPRegressor(n_inducing=15, batch_size=100, max_iter=20, random_state=0)
    for lo in range(0, 600, 200):
        model.partial_fit(X[lo : lo + 200], y[lo : lo + 200])
    again = SVGPRegressor(model.kernel_, inducing=model.inducing_points_, optimizer=None)
    again.set_params(
        noise_variance=model.noise_variance_, normalize_y=(model.y_mean_, model.y_scale_)
    )
    assert abs(model.objective_ - again.fit(X, y).objective_) < 0.2 * len(X)


@pytest.mark.parametrize("cuts", [[30], [1, 2, 59], [10, 11, 25, 40]])
@pytest.mark.parametrize("weighted", [False, True])
def test_partial_fit_in_any_split_equals_fit(toy_outputs, rng, cuts, weighted):
    """With kernel, noise, Z and scaling fixed, batches of any size add up to what fit gives."""
    X, y = toy_outputs
    weight = rng.uniform(0.0, 3.0, len(X)) if weighted else None
    whole = fixed(normalize_y=(1.0, 2.0)).fit(X, y, sample_weight=weight)
    parts = fixed(normalize_y=(1.0, 2.0), batch_size=7)
    for rows in np.split(np.arange(len(X)), cuts):
        parts.partial_fit(X[rows], y[rows], None if weight is None else weight[rows])
    assert_same_model(whole, parts, X)
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == len(X)


def test_partial_fit_continues_fit(toy):
    """partial_fit after fit adds rows to the fitted model."""
    X, y = toy
    whole = fixed(normalize_y=(0.0, 1.0)).fit(X, y)
    parts = fixed(normalize_y=(0.0, 1.0)).fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert_same_model(whole, parts, X)


def test_fit_after_partial_fit_starts_anew(toy):
    """fit forgets what partial_fit has learned."""
    X, y = toy
    model = fixed().partial_fit(X[:30], y[:30]).fit(X[30:], y[30:])
    assert_same_model(fixed().fit(X[30:], y[30:]), model, X)


def test_first_batch_decides_the_scaling(toy):
    """Under partial_fit, y_mean_ and y_scale_ stay those of the first batch."""
    X, y = toy
    model = fixed().partial_fit(X[:20], y[:20])
    scaling = model.y_mean_, model.y_scale_
    assert_allclose(scaling, [y[:20].mean(), y[:20].std()], rtol=1e-12)
    model.partial_fit(X[20:], 50.0 + 9.0 * y[20:])
    assert (model.y_mean_, model.y_scale_) == scaling


def test_partial_fit_learns(wave):
    """Batch by batch the model gets better at rows it has not seen."""
    X, y = wave
    model = SVGPRegressor(n_inducing=15, batch_size=20, max_iter=3, random_state=0)
    start = model.partial_fit(X[:50], y[:50]).kernel_.theta
    scores = [model.log_density(X[500:], y[500:]).mean()]
    for lo in range(50, 500, 50):
        model.partial_fit(X[lo : lo + 50], y[lo : lo + 50])
        scores.append(model.log_density(X[500:], y[500:]).mean())
    assert scores[-1] > scores[0] + 0.1
    assert np.all(model.kernel_.theta != start)
    assert len(model.objectives_) == len(model.fit_times_) and (np.diff(model.fit_times_) > 0).all()
    assert model.n_samples_seen_ == 500


@pytest.mark.parametrize("weighted", [False, True])
def test_total_samples_allows_rows_to_come_again(toy, weighted):
    """With total_samples=N, many epochs by hand at fixed kernel come to what fit gives."""
    X, y = toy
    weight = np.full(len(X), 2.0) if weighted else None
    total = 120 if weighted else 60
    scaling = (float(y.mean()), float(y.std()))
    model = fixed(total_samples=total, natural_step=0.05, batch_size=15, normalize_y=scaling)
    for _ in range(100):
        model.partial_fit(X, y, weight)
    whole = fixed(normalize_y=scaling).fit(X, y, sample_weight=weight)
    error = np.abs(model.predict(X) - whole.predict(X)) / whole.predict_std(X)
    assert error.max() < 0.1
    assert_allclose(model.predict_std(X), whole.predict_std(X), rtol=0.05)


@pytest.mark.parametrize("inducing", ["kmeans", "greedy", "random"])
def test_inducing_inputs_grow_after_a_small_first_batch(wave, inducing):
    """A first batch with few distinct rows gives a smaller Z, which grows to n_inducing."""
    X, y = wave
    model = SVGPRegressor(n_inducing=12, inducing=inducing, max_iter=5, random_state=0)
    model.partial_fit(np.tile(X[:5], (2, 1)), np.tile(y[:5], 2))
    assert len(model.inducing_points_) == 5
    model.partial_fit(X[5:8], y[5:8])
    assert len(model.inducing_points_) == 8
    for lo in range(8, 408, 100):
        model.partial_fit(X[lo : lo + 100], y[lo : lo + 100])
    assert len(model.inducing_points_) == 12
    assert np.isfinite(model.objective_)
    assert model.score(X[408:], y[408:]) > 0.5


def test_new_inducing_inputs_change_nothing_by_themselves(wave):
    """Rows of hardly any weight add inducing inputs and leave the predictions alone."""
    X, y = wave
    model = SVGPRegressor(RBF(0.5), optimizer=None, n_inducing=15, random_state=0)
    mean, std = model.partial_fit(X[:8], y[:8]).predict(X, return_std=True)
    model.partial_fit(X[8:100], y[8:100], np.full(92, 1e-12))
    assert len(model.inducing_points_) == 15
    again, again_std = model.predict(X, return_std=True)
    assert_allclose(again, mean, atol=1e-6)
    assert_allclose(again_std, std, rtol=1e-6)


def test_given_inducing_inputs_do_not_grow(toy):
    """Inducing inputs that were given stay as many as they are."""
    model = fixed().partial_fit(*toy).partial_fit(*toy)
    assert_array_equal(model.inducing_points_, fixed().inducing)


# Weights


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_weights_are_repetitions(toy, n_jobs):
    """Weight 2 is the row twice and weight 0 no row, at fixed hyperparameters."""
    X, y = toy
    weight = np.random.default_rng(4).integers(0, 4, len(X))
    weighted = fixed(n_jobs=n_jobs).fit(X, y, sample_weight=weight)
    repeated = fixed(n_jobs=n_jobs).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_same_model(weighted, repeated, X)
    assert weighted.n_samples_seen_ == np.count_nonzero(weight)
    kept = fixed().fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    assert_same_model(weighted, kept, X)


@pytest.mark.parametrize("seed", range(8))
def test_weights_are_repetitions_when_everything_is_learned(seed):
    """The equivalence holds through all of learning, on data that the model can interpolate."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(size=(15, 30)), rng.integers(0, 3, 15).astype(float)
    weight = rng.integers(0, 5, 15)
    order = rng.permutation(weight.sum())
    model = SVGPRegressor(max_iter=25, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X.repeat(weight, axis=0)[order], y.repeat(weight)[order])
    assert_same_model(weighted, repeated, X)


# Units and representations of the data


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_do_not_matter(toy, factor):
    """Rescaling X, y or both by 1e±8 gives the same predictions with kernel=None."""
    X, y = toy
    model = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0)
    mean, std = clone(model).fit(X, y).predict(X, return_std=True)
    for a, b in [(factor, 1.0), (1.0, factor), (factor, factor), (factor, 1.0 / factor)]:
        again, again_std = clone(model).fit(a * X, b * y).predict(a * X, return_std=True)
        assert_allclose(again, b * mean, rtol=1e-6)
        assert_allclose(again_std, b * std, rtol=1e-6)


def test_order_of_columns_does_not_matter(toy):
    """Permuted columns give the same predictions with kernel=None."""
    X, y = toy
    X = np.column_stack([X, X[:, 0] * X[:, 1]])
    model = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0, inducing="greedy")
    mean = clone(model).fit(X, y).predict(X)
    order = [2, 0, 1]
    assert_allclose(clone(model).fit(X[:, order], y).predict(X[:, order]), mean, rtol=1e-6)


@pytest.mark.parametrize("kernel", [None, Matern(1.0, nu=1.5), Columns(RBF(1.0), [1]) * RBF(1.0)])
def test_far_off_inputs_lose_no_digits(rng, kernel):
    """X and X + 1e6 give the same model, up to what the sum itself rounds away."""
    X = rng.integers(-2048, 2048, (60, 2)) / 1024.0  # so that X + 1e6 is exact
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    model = SVGPRegressor(kernel, n_inducing=10, max_iter=5, inducing="greedy", random_state=0)
    # learning amplifies rounding, and inducing inputs have one of 1e-10 at 1e6
    for optimizer, rtol in [(None, 1e-9), ("auto", 1e-3)]:
        model.set_params(optimizer=optimizer)
        near, far = clone(model).fit(X, y), clone(model).fit(X + 1e6, y)
        mean, std = near.predict(X, return_std=True)
        far_mean, far_std = far.predict(X + 1e6, return_std=True)
        assert_allclose(far_mean, mean, rtol=rtol, atol=rtol)
        assert_allclose(far_std, std, rtol=rtol)


def test_float32_is_close_to_float64(toy):
    """float32 inputs give what the same numbers in float64 give."""
    X, y = toy
    X32 = X.astype(np.float32)
    one = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0).fit(X32, y)
    other = clone(one).fit(X32.astype(np.float64), y)
    assert_same_model(other, one, X32, rtol=1e-6)
    assert_allclose(other.predict(X), fixed().fit(X, y).predict(X), atol=1.0)
    close = clone(one).set_params(optimizer=None)
    assert_same_model(clone(close).fit(X, y), close.fit(X32, y), X, rtol=1e-4)


def test_memory_maps_are_not_copied(tmp_path):
    """Fitting a float32 memory map allocates less than the map holds, and gives the same model."""
    n, d = 400_000, 8
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=(n, d))
    X[:] = np.random.default_rng(0).uniform(size=(n, d))
    X.flush()
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=(n, d))
    y = np.asarray(X[:, 0], dtype=np.float64)
    model = SVGPRegressor(RBF(np.ones(d)), optimizer=None, n_inducing=5, inducing="random")
    tracemalloc.start()
    try:
        model.set_params(random_state=0).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        model.predict(X)
        peak_predict = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes
    assert peak_predict < X.nbytes
    assert_array_equal(model.predict(X[:9]), clone(model).fit(np.array(X), y).predict(X[:9]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_layout_of_the_inputs_does_not_matter(toy, order):
    """Read-only, Fortran-ordered and strided inputs give the same model, and are not changed."""
    X, y = toy
    wide = np.array(np.column_stack([X, X]), order=order)
    wide.flags.writeable = False
    model = SVGPRegressor(n_inducing=10, max_iter=3, random_state=0)
    view = wide[:, :2]
    assert_same_model(clone(model).fit(X, y), clone(model).fit(view, y), X)
    backwards = X[::-1].copy()[::-1]
    assert_same_model(clone(model).fit(X, y), clone(model).fit(backwards, y), X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(toy, library):
    """Data frames work, their column names are kept, and other names are refused."""
    frames = pytest.importorskip(library)
    X, y = toy
    frame = frames.DataFrame({"place": X[:, 0], "time": X[:, 1]})
    model = fixed().fit(frame, y)
    if not hasattr(model, "feature_names_in_"):
        pytest.skip("this scikit-learn cannot read the names of this library")
    assert model.feature_names_in_.tolist() == ["place", "time"]
    assert_array_equal(model.predict(frame), fixed().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["time", "place"]])
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[["time", "place"]], y)


# Repeatability


@pytest.mark.parametrize("way", ["auto, few rows", "auto, growing subsets", "adam"])
def test_same_seed_same_model(wave, way):
    """The same random_state gives the same model to the last bit."""
    X, y = wave
    model = SVGPRegressor(n_inducing=8, random_state=3).set_params(**WAYS[way] | {"max_iter": 3})
    one, other = clone(model).fit(X, y), clone(model).fit(X, y)
    assert_array_equal(one.predict(X), other.predict(X))
    assert one.objective_ == other.objective_
    third = clone(model).set_params(random_state=4).fit(X, y)
    assert np.any(third.predict(X) != one.predict(X))


@pytest.mark.parametrize("way", ["auto, few rows", "auto, growing subsets", "adam"])
def test_any_number_of_jobs_agrees(rng, way):
    """n_jobs=1, 2 and processes give the same model to rounding; so do predictions."""
    X = rng.uniform(0.0, 6.0, (2500, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(2500)
    model = SVGPRegressor(n_inducing=8, random_state=0).set_params(**WAYS[way])
    model.set_params(max_iter=2, batch_size=1200)
    one, two = clone(model).set_params(n_jobs=1).fit(X, y), clone(model).set_params(n_jobs=2)
    assert_same_model(one, two.fit(X, y), X, rtol=1e-9)
    with joblib.parallel_config("loky", n_jobs=2):
        assert_same_model(one, clone(model).fit(X, y), X, rtol=1e-9)


def test_jobs_share_predictions(toy, monkeypatch):
    """Predictions of several tasks by threads and processes are those of one job."""
    monkeypatch.setattr("sklearn_sgp.estimators.base.PREDICT_TASK", 16)
    model, X = fixed().fit(*toy), toy[0]
    mean, std = model.predict(X, return_std=True)
    for n_jobs, backend in [(2, "threading"), (2, "loky")]:
        with joblib.parallel_config(backend, n_jobs=n_jobs):
            again, again_std = model.predict(X, return_std=True)
        assert_allclose(again, mean, rtol=1e-12)
        assert_allclose(again_std, std, rtol=1e-12)


@pytest.mark.parametrize("fitted_by", ["fit", "partial_fit"])
def test_pickle_and_joblib_round_trips(toy_outputs, tmp_path, fitted_by):
    """A model that was saved and loaded predicts the same bits, and learns on."""
    X, y = toy_outputs
    model = getattr(SVGPRegressor(n_inducing=10, max_iter=3, random_state=0), fitted_by)(X, y)
    joblib.dump(model, tmp_path / "model")
    for loaded in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert_array_equal(loaded.predict(X), model.predict(X))
        assert_array_equal(loaded.predict_std(X), model.predict_std(X))
        assert_array_equal(loaded.sample_y(X, 2), model.sample_y(X, 2))
        assert_array_equal(loaded.sample_functions(2)(X), model.sample_functions(2)(X))
        learned_on = copy.deepcopy(model).partial_fit(X, y)
        assert_array_equal(loaded.partial_fit(X, y).predict(X), learned_on.predict(X))


# Company


def test_grid_search_over_kernel_parameters(toy):
    """kernel__ parameters are searched, scored by log_density_scorer, and used."""
    X, y = toy
    search = GridSearchCV(
        fixed(kernel=1.0 * RBF(1.0), inducing=X),
        {"kernel__k2__length_scale": [0.01, 1.0, 100.0], "noise_variance": [0.01, 10.0]},
        scoring=log_density_scorer,
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"kernel__k2__length_scale": 1.0, "noise_variance": 0.01}
    assert search.best_estimator_.kernel_.k2.length_scale == 1.0


def test_clone_has_the_parameters_and_nothing_learned(toy):
    """clone copies the parameters, arrays and kernels included, and nothing fitted."""
    model = fixed(max_iter=7).fit(*toy)
    again = clone(model)
    assert again.kernel == model.kernel and again.max_iter == 7
    assert_array_equal(again.inducing, model.inducing)
    assert set(vars(again)) == set(model.get_params(deep=False))
    assert_array_equal(again.fit(*toy).predict(toy[0]), model.predict(toy[0]))


def test_pipeline_and_cross_validation(toy):
    """Pipelines pass return_std on, and cross-validation scores well."""
    X, y = toy
    pipeline = make_pipeline(StandardScaler(), SVGPRegressor(n_inducing=15, max_iter=20))
    mean, std = pipeline.fit(X, y).predict(X, return_std=True)
    assert mean.shape == std.shape == (60,)
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.9
    assert cross_val_score(pipeline, X, y, cv=3, scoring=log_density_scorer).min() > -1.5


def test_multi_output_regressor(toy_outputs):
    """MultiOutputRegressor gives every output its own kernel."""
    X, y = toy_outputs
    model = MultiOutputRegressor(SVGPRegressor(n_inducing=15, max_iter=20)).fit(X, y)
    assert model.predict(X).shape == (60, 2)
    assert model.score(X, y) > 0.95


def test_bagging_regressor(toy):
    """BaggingRegressor trains on bootstrap samples, by weight or by repetition."""
    bagging = BaggingRegressor(SVGPRegressor(n_inducing=15, max_iter=5), 3, random_state=0)
    assert bagging.fit(*toy).score(*toy) > 0.9


def test_transformed_target_regressor(rng):
    """TransformedTargetRegressor predicts the transformed mean."""
    X = rng.uniform(-2.0, 2.0, (60, 1))
    y = np.exp(np.sin(2.0 * X[:, 0]))
    model = TransformedTargetRegressor(fixed(kernel=RBF(1.0), inducing=X[:20]), func=np.log)
    model.set_params(inverse_func=np.exp)
    assert model.fit(X, y).score(X, y) > 0.95


def test_iterative_imputer_draws_from_the_posterior(toy):
    """IterativeImputer(sample_posterior=True) fills holes, with a spread around the truth."""
    X, y = toy
    data = np.column_stack([X[:, 0], np.sin(X[:, 0]), y])
    holes = data.copy()
    holes[::6, 1] = np.nan
    imputer = IterativeImputer(
        SVGPRegressor(n_inducing=10, max_iter=10), sample_posterior=True, max_iter=2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the imputer's own, after two rounds
        filled = imputer.set_params(random_state=0).fit_transform(holes)
    assert_array_equal(filled[~np.isnan(holes)], data[~np.isnan(holes)])
    assert np.abs(filled[::6, 1] - data[::6, 1]).max() < 0.5


@pytest.mark.parametrize("optimize_inducing", [False, True])
def test_partial_fit_that_learns_does_no_harm(optimize_inducing):
    """Batches that move kernel, noise and Z predict new rows no worse than the first one did."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (1800, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.standard_normal(1800)
    model = SVGPRegressor(n_inducing=40, optimize_inducing=optimize_inducing, random_state=0)
    densities = []
    for lo in range(0, 1500, 300):
        model.partial_fit(X[lo : lo + 300], y[lo : lo + 300])
        densities.append(model.log_density(X[1500:], y[1500:]).mean())
    assert min(densities[1:]) > densities[0] - 0.02
    assert densities[-1] > densities[0]
