"""SVGPRegressor works inside scikit-learn's searches, pipelines and ensembles."""

import warnings

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import IterativeImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from svgp_regressors import fixed

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.metrics import log_density_scorer


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
