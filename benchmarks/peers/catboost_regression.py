"""CatBoost with a mean and a variance for every row: the loss ``RMSEWithUncertainty``.

Settings are CatBoost's own but for the number of trees. A random tenth of the training rows stops
it early and chooses the number of trees that predict, as in its documentation.
"""

import time

import catboost
import numpy as np
from meters import Allowance
from protocol import allow, emit, main
from scoring import scores

_LOSS, PATIENCE = "RMSEWithUncertainty", 100


class _UntilTimeIsUp:
    """Ends the training, as CatBoost asks after each tree."""

    def __init__(self, seconds):
        self._allowance, self.is_up = Allowance(seconds), False

    def after_iteration(self, _):
        self.is_up = self._allowance.over()
        return not self.is_up


def train(model, problem, **options):
    """Train a model, stopped early by a random tenth of the rows; return the seconds."""
    used, held = problem.held_out()
    begin = time.perf_counter()
    model.fit(
        problem.X[used],
        problem.y[used],
        eval_set=(problem.X[held], problem.y[held]),
        early_stopping_rounds=PATIENCE,
        use_best_model=True,
        **options,
    )
    return time.perf_counter() - begin


def fit(problem, *, trees, seconds):
    """Test scores by its own mean and variance."""
    allow(trees=trees, early_stopping_rounds=PATIENCE, seconds=seconds)
    model = catboost.CatBoostRegressor(
        loss_function=_LOSS,
        iterations=trees,
        posterior_sampling=False,
        random_seed=0,
        allow_writing_files=False,
        verbose=False,
    )
    until = _UntilTimeIsUp(seconds)
    took = train(model, problem, callbacks=[until])
    mean, variance = model.predict(problem.X_test, prediction_type=_LOSS).T
    emit(
        problem=problem.name,
        seconds=took,
        rows=len(problem.y),
        trees=model.tree_count_,
        converged=not until.is_up,
        **scores(problem.y_test, mean, np.sqrt(variance)),
    )


def versions(_):
    emit(catboost=catboost.__version__, numpy=np.__version__)


if __name__ == "__main__":
    main([fit, versions])
