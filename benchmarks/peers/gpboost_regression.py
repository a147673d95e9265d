"""GPBoost's Gaussian processes for many rows: Vecchia, and Vecchia of what inducing inputs leave.

Matern 3/2 with a length scale for each input; all else is GPBoost's own. Kernel and noise are
learned from random rows, which GPBoost cannot end by time: the limit of the call does. With them it
then predicts from more rows, if there are more.
"""

import time

import gpboost
import numpy as np
from protocol import allow, emit, main
from scoring import scores


def _model(problem, gp_approx):
    return gpboost.GPModel(
        gp_coords=np.ascontiguousarray(problem.X),
        cov_function="matern_ard",
        cov_fct_shape=1.5,
        gp_approx=gp_approx,
        seed=0,
    )


def fit(problem, *, gp_approx, max_rows_to_learn, max_rows):
    """Test scores given the rows learned from, then given all: the last record is the best."""
    allow(gp_approx=gp_approx, max_rows_to_learn=max_rows_to_learn, max_rows=max_rows)
    some, begin = problem.some(max_rows_to_learn), time.perf_counter()
    learned = _model(some, gp_approx)
    learned.fit(y=some.y)
    seconds = time.perf_counter() - begin
    _emit(some, seconds, learned)
    more = problem.some(max_rows)
    if len(more.y) > len(some.y):
        parameters = np.asarray(learned.get_cov_pars(format_pandas=False)).ravel()
        _emit(more, seconds, _model(more, gp_approx), y=more.y, cov_pars=parameters)


def _emit(problem, seconds, model, **given):
    found = model.predict(gp_coords_pred=problem.X_test, predict_var=True, **given)
    result = scores(problem.y_test, found["mu"], np.sqrt(found["var"]))
    emit(problem=problem.name, seconds=seconds, rows=len(problem.y), **result)


def versions(_):
    emit(gpboost=gpboost.__version__, numpy=np.__version__)


if __name__ == "__main__":
    main([fit, versions])
