"""CatBoost's classifier with its own settings but for the number of trees, stopped early."""

import catboost
from protocol import allow, emit, main
from scoring import class_scores

from peers.catboost_regression import PATIENCE, train


def fit(problem, *, trees=2000):
    """Test scores; a random tenth of the training rows chooses the number of trees."""
    allow(trees=trees, early_stopping_rounds=PATIENCE)
    model = catboost.CatBoostClassifier(
        iterations=trees, random_seed=0, allow_writing_files=False, verbose=False
    )
    seconds = train(model, problem)
    scores = class_scores(problem.y_test, model.predict_proba(problem.X_test))
    emit(problem=problem.name, seconds=seconds, trees=model.tree_count_, **scores)


if __name__ == "__main__":
    main([fit])
