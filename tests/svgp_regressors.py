"""Small SVGP regressors to try, and what must hold of them."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import SVGPRegressor

KERNEL = 2.0 * RBF([1.0, 2.0])


# Each takes another way through the stages on 600 rows.
WAYS = {
    "auto, few rows": {},
    "auto, L-BFGS on all rows": {"init_size": 150},
    "auto, growing subsets": {"init_size": 60, "batch_size": 200, "max_iter": 10},
    "lbfgs": {"optimizer": "lbfgs"},
    "adam": {"optimizer": "adam", "batch_size": 100, "learning_rate": 0.05, "max_iter": 30},
    "None": {"optimizer": None, "kernel": RBF(0.5), "noise_variance": 0.02},
}


def fixed(**parameters):
    """A regressor that learns nothing but the posterior, for inputs of two columns."""
    Z = np.random.default_rng(1).uniform(-2.0, 2.0, (12, 2))
    defaults = {"kernel": KERNEL, "optimizer": None, "inducing": Z, "noise_variance": 0.1}
    return SVGPRegressor(**(defaults | parameters))


def quick(kernel=None, **parameters):
    """A regressor that learns a little."""
    return SVGPRegressor(
        kernel, **({"n_inducing": 15, "max_iter": 5, "random_state": 0} | parameters)
    )


def assert_same_model(one, other, X, rtol=1e-7):
    """Predictions and objective agree."""
    assert_allclose(one.predict(X), other.predict(X), rtol=rtol, atol=rtol)
    assert_allclose(one.predict_std(X), other.predict_std(X), rtol=rtol)
    assert_allclose(one.objective_, other.objective_, rtol=rtol)


def assert_finite(model, X):
    """All that the model says at X and far from it is finite, and spreads are positive."""
    for points in (X, X + 1e3 * (1.0 + np.abs(X))):
        mean, std = model.predict(points, return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()
        assert np.isfinite(model.sample_y(points[:20])).all()
        assert np.isfinite(model.log_density(points, mean)).all()
    assert np.isfinite(model.objective_) and np.isfinite(model.objectives_).all()
    assert np.isfinite(model.inducing_points_).all()
    assert np.all(model.noise_variance_ > 0) and np.isfinite(model.noise_variance_).all()


def with_entry(array, value):
    array = array.copy()
    array.flat[3] = value
    return array
