"""NGBoost with a normal distribution for every row; its own trees and score.

A random tenth of the training rows stops it early and chooses the number of trees that predict.
Steps of 0.05: with the usual 0.01 and 500 trees kin8nm took longer and had a lower density (-0.981
against -0.961), as 500 are too few. Its trees look at every split of every row, so that rows have a
limit.
"""

import time
from importlib.metadata import version

import numpy as np
from ngboost import NGBRegressor
from ngboost.distns import Normal
from protocol import allow, emit, main
from scoring import scores

_RATE, _PATIENCE = 0.05, 50


def fit(problem, *, trees, max_rows):
    """Test scores by its own mean and variance."""
    allow(trees=trees, learning_rate=_RATE, early_stopping_rounds=_PATIENCE, max_rows=max_rows)
    problem = problem.some(max_rows)
    used, held = problem.held_out()
    model = NGBRegressor(
        Dist=Normal, n_estimators=trees, learning_rate=_RATE, random_state=0, verbose=False
    )
    begin = time.perf_counter()
    model.fit(
        problem.X[used],
        problem.y[used],
        X_val=problem.X[held],
        Y_val=problem.y[held],
        early_stopping_rounds=_PATIENCE,
    )
    seconds = time.perf_counter() - begin
    # best_val_loss_itr is counted from zero
    best = None if model.best_val_loss_itr is None else model.best_val_loss_itr + 1
    found = model.pred_dist(problem.X_test, max_iter=best)
    emit(
        problem=problem.name,
        seconds=seconds,
        rows=len(problem.y),
        trees=best,
        **scores(problem.y_test, found.loc, found.scale),
    )


def versions(_):
    emit(ngboost=version("ngboost"), numpy=np.__version__)


if __name__ == "__main__":
    main([fit, versions])
