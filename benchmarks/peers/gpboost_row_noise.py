"""GPBoost's Gaussian noise whose log variance is a Gaussian process of its own, by Vecchia.

Likelihood "gaussian_heteroscedastic_fixed_and_random", whose name was "gaussian_heteroscedastic"
before 1.8, Matern 3/2 with a length scale for each input, an intercept for the mean and one for
the log variance; all else is GPBoost's own. It returns mean and variance of y, which are taken for
those of a normal distribution.
"""

import time

import gpboost
import numpy as np
from protocol import allow, emit, main
from scoring import scores


def fit(problem, *, max_rows):
    """Test scores given random rows, at most so many."""
    allow(max_rows=max_rows)
    some = problem.some(max_rows)
    model = gpboost.GPModel(
        gp_coords=np.ascontiguousarray(some.X),
        cov_function="matern_ard",
        cov_fct_shape=1.5,
        gp_approx="vecchia",
        likelihood="gaussian_heteroscedastic_fixed_and_random",
        seed=0,
    )
    begin = time.perf_counter()
    model.fit(y=some.y, X=np.ones((len(some.y), 1)))
    seconds = time.perf_counter() - begin
    found = model.predict(
        gp_coords_pred=problem.X_test,
        X_pred=np.ones((len(problem.X_test), 1)),
        predict_var=True,
        predict_response=True,
    )
    result = scores(problem.y_test, found["mu"], np.sqrt(found["var"]))
    emit(problem=problem.name, number=0, seconds=seconds, rows=len(some.y), **result)


if __name__ == "__main__":
    main([fit])
