"""What a user gets who chooses nothing: the model, its kernel, and what both can follow."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process.kernels import Matern

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.metrics import interval_coverage, negative_log_predictive_density

QUICK = {"n_inducing": 40, "init_size": 2000, "max_iter": 30, "random_state": 0}


def table(rng, n=1500):
    """Smooth in two columns, rough in place, with noise."""
    X = rng.uniform(0.0, 4.0, (n, 3))
    place = np.floor(6.0 * X[:, 2])
    steps = np.random.default_rng(3).normal(0.0, 0.6, 40)[place.astype(int)]
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + steps + 0.1 * rng.standard_normal(n)


def covered(y, mean, std):
    """Share of the 90 % intervals that hold their target."""
    return interval_coverage(y, mean - 1.645 * std, mean + 1.645 * std)


@pytest.fixture(scope="module")
def data():
    X, y = table(np.random.default_rng(0))
    return X[:1100], y[:1100], X[1100:], y[1100:]


@pytest.fixture(scope="module")
def default(data):
    """A fit that no test changes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "max_iter=")
        return AnytimeSGPRegressor(**QUICK | {"max_iter": 10}).fit(*data[:2])


@pytest.mark.filterwarnings("ignore:max_iter=")
def test_the_default_is_vif(data):
    """The same predictions as with the model named."""
    X, y, X_test, _ = data
    X, y = X[:300], y[:300]
    model = AnytimeSGPRegressor(**QUICK | {"max_iter": 3}).fit(X, y)
    named = clone(model).set_params(model="vif").fit(X, y)
    assert (model.predict(X_test) == named.predict(X_test)).all()


@pytest.mark.filterwarnings("ignore:max_iter=")
def test_the_default_with_blocks_is_pic(data):
    """Blocks that the user knows are blocks of PIC."""
    X, y, X_test, _ = data
    X, X_test = (np.column_stack([part, np.floor(part[:, 2])]) for part in (X[:300], X_test))
    model = AnytimeSGPRegressor(block_column=3, **QUICK | {"max_iter": 3}).fit(X, y[:300])
    named = clone(model).set_params(model="pic").fit(X, y[:300])
    assert model.n_blocks_ == 4
    assert (model.predict(X_test) == named.predict(X_test)).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:max_iter=")
def test_it_is_ahead_of_boosting_on_steps_and_waves(data, default):
    """In error and density, with intervals that cover what they say."""
    X, y, X_test, y_test = data
    mean, std = default.predict(X_test, return_std=True)
    boosted = HistGradientBoostingRegressor(random_state=0).fit(X, y).predict(X_test)
    assert np.mean((mean - y_test) ** 2) < np.mean((boosted - y_test) ** 2)
    error = np.full(len(y_test), np.std(boosted - y_test))  # its best constant band
    ours = negative_log_predictive_density(y_test, mean, std)
    assert ours < negative_log_predictive_density(y_test, boosted, error)
    assert 0.85 < covered(y_test, mean, std) < 0.96


@pytest.mark.slow
def test_the_default_kernel_has_a_rough_part(default):
    """A sum whose last part is Matern 1/2, with a length scale for each column."""
    rough = default.kernel_.k2.k2
    assert isinstance(rough, Matern)
    assert rough.nu == 0.5
    assert rough.length_scale.shape == (3,)


def test_models_of_inducing_inputs_alone_have_one_smooth_kernel(data):
    """FITC, as the variational models, cannot follow what is rough between inducing inputs."""
    model = AnytimeSGPRegressor(model="fitc", optimizer=None, **QUICK).fit(*data[:2])
    assert not hasattr(model.kernel_, "k1") or not hasattr(model.kernel_.k1, "k1")


@pytest.mark.filterwarnings("ignore:max_iter=", "ignore:A length scale", "ignore:The noise")
def test_pure_noise_is_the_constant_with_an_honest_band(rng):
    """50 rows and 30 columns that mean nothing."""
    X, y = rng.standard_normal((50, 30)), rng.standard_normal(50)
    X_test, y_test = rng.standard_normal((400, 30)), rng.standard_normal(400)
    mean, std = AnytimeSGPRegressor(random_state=0).fit(X, y).predict(X_test, return_std=True)
    assert covered(y_test, mean, std) > 0.8
    assert np.sqrt(np.mean((mean - y_test) ** 2)) < 1.25


@pytest.mark.filterwarnings("ignore:max_iter=", "ignore:A length scale", "ignore:The noise")
def test_repeated_rows_with_equal_targets_leave_a_function(rng):
    """They say that there is no noise; learning that is cut short must find more than that."""
    X = rng.standard_normal((700, 8))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(700)
    model = AnytimeSGPRegressor(**{**QUICK, "max_iter": 1})
    model.fit(np.vstack([X[:500], X[:500]]), np.append(y[:500], y[:500]))
    assert model.score(X[500:], y[500:]) > 0.6
