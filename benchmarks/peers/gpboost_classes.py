"""GPBoost's Gaussian processes for two classes: Vecchia with a Laplace approximation.

Matern 3/2 with a length scale for each input; all else is GPBoost's own. Kernel parameters are
learned from random rows, and with them it then predicts from more rows, if there are more.
"""

import time
from dataclasses import replace

import numpy as np
from protocol import allow, emit, main
from scoring import class_scores

from peers.gpboost_regression import model_of

_PROBIT = "bernoulli_probit"


def classes(problem, *, rows_to_learn=3000, max_rows=20_000):
    """Test scores of two classes, probit."""
    allow(rows_to_learn=rows_to_learn, max_rows=max_rows)
    varies = np.ptp(problem.some(rows_to_learn).X, axis=0) > 0.0  # it refuses others
    problem = replace(problem, X=problem.X[:, varies], X_test=problem.X_test[:, varies])
    model, seconds = _fitted(problem, rows_to_learn, max_rows)
    found = model.predict(gp_coords_pred=problem.X_test, predict_var=True, predict_response=True)
    probability = np.clip(found["mu"], 1e-12, 1.0 - 1e-12)
    scores = class_scores(problem.y_test, np.column_stack([1.0 - probability, probability]))
    emit(problem=problem.name, seconds=seconds, rows=min(len(problem.y), max_rows), **scores)


def _fitted(problem, rows_to_learn, max_rows):
    begin, some, more = time.perf_counter(), problem.some(rows_to_learn), problem.some(max_rows)
    learned = model_of(some, "vecchia", _PROBIT)
    learned.fit(y=some.y)
    if len(more.y) == len(some.y):
        return learned, time.perf_counter() - begin
    parameters = np.asarray(learned.get_cov_pars(format_pandas=False)).ravel()
    model = model_of(more, "vecchia", _PROBIT)
    model.fit(y=more.y, params={"init_cov_pars": parameters, "maxit": 0})
    return model, time.perf_counter() - begin


if __name__ == "__main__":
    main([classes])
