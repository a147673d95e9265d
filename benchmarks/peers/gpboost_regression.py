"""GPBoost's Gaussian processes for many rows: Vecchia, and Vecchia of what inducing inputs leave.

Matern 3/2 with a length scale for each input; all else is GPBoost's own. Kernel and noise are
learned from random rows, and with them it then predicts from more rows, if there are more. GPBoost
cannot be ended by time, only the call as a whole: with several numbers of rows to learn from, the
last that was done counts. The model with inducing inputs takes 48 s for 1,000 rows of power_plant
on one core, the one without 21 s for 4,000.
"""

import time

import gpboost
import numpy as np
from protocol import allow, emit, main
from scoring import scores

_INDUCING = 200  # GPBoost's own number, of which it demands fewer than rows


def model_of(problem, gp_approx, likelihood="gaussian"):
    """A model of the inputs of a problem."""
    n = len(problem.y)
    return gpboost.GPModel(
        gp_coords=np.ascontiguousarray(problem.X),
        cov_function="matern_ard",
        cov_fct_shape=1.5,
        gp_approx=gp_approx,
        num_ind_points=min(_INDUCING, n // 2),
        likelihood=likelihood,
        seed=0,
    )


def fit(problem, *, gp_approx, rows_to_learn, max_rows):
    """Test scores given the rows learned from, then given all: the last record is the best."""
    allow(gp_approx=gp_approx, rows_to_learn=rows_to_learn, max_rows=max_rows)
    more = problem.some(max_rows)
    # as many as there are, where there are fewer, and once
    for rows in sorted({min(rows, len(problem.y)) for rows in rows_to_learn}):
        some, begin = problem.some(rows), time.perf_counter()
        learned = model_of(some, gp_approx)
        learned.fit(y=some.y)
        seconds = time.perf_counter() - begin
        _emit(some, rows, seconds, learned)
        if len(more.y) > len(some.y):
            parameters = np.asarray(learned.get_cov_pars(format_pandas=False)).ravel()
            given = {"y": more.y, "cov_pars": parameters}
            _emit(more, rows, seconds, model_of(more, gp_approx), **given)


def _emit(problem, rows_learned, seconds, model, **given):
    found = model.predict(gp_coords_pred=problem.X_test, predict_var=True, **given)
    result = scores(problem.y_test, found["mu"], np.sqrt(found["var"]))
    rows = {"rows": len(problem.y), "rows_learned": rows_learned}
    emit(problem=problem.name, seconds=seconds, **rows, **result)


def versions(_):
    emit(gpboost=gpboost.__version__, numpy=np.__version__)


if __name__ == "__main__":
    main([fit, versions])
