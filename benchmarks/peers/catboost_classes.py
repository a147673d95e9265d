"""CatBoost's classifier with its own settings but for the number of trees, stopped early."""

import time

import catboost
from protocol import allow, emit, main
from scoring import class_scores

_PATIENCE = 100


def fit(problem, *, trees=2000):
    """Test scores; a random tenth of the training rows chooses the number of trees."""
    allow(trees=trees, early_stopping_rounds=_PATIENCE)
    used, held = problem.held_out()
    model = catboost.CatBoostClassifier(
        iterations=trees, random_seed=0, allow_writing_files=False, verbose=False
    )
    begin = time.perf_counter()
    model.fit(
        problem.X[used],
        problem.y[used],
        eval_set=(problem.X[held], problem.y[held]),
        early_stopping_rounds=_PATIENCE,
        use_best_model=True,
    )
    seconds = time.perf_counter() - begin
    scores = class_scores(problem.y_test, model.predict_proba(problem.X_test))
    emit(problem=problem.name, seconds=seconds, trees=model.tree_count_, **scores)


if __name__ == "__main__":
    main([fit])
