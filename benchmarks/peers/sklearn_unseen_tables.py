"""Histogram gradient boosting and ridge regression on tables that nobody has chosen.

Both predict one normal distribution for each row, whose deviation is that of five-fold residuals.
"""

import time

import numpy as np
from problems import unseen
from protocol import allow, emit, main
from scoring import scores
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

_ROUNDS, _RATE, _FOLDS = 200, 0.05, 5
_PENALTIES = np.logspace(-3, 4, 20)
_LEAST_DEVIATION = 1e-6


def boosting(_, *, every, first, seed, is_made):
    """Histogram gradient boosting with early stopping."""
    allow(max_iter=_ROUNDS, learning_rate=_RATE, folds=_FOLDS)
    for table in _tables(every, first, seed, is_made):
        model = HistGradientBoostingRegressor(
            categorical_features="from_dtype", learning_rate=_RATE, max_iter=_ROUNDS,
            early_stopping=True, random_state=0,
        )  # fmt: skip
        _emit_scores(table, model, _with_categories(table.X), _with_categories(table.X_test))


def ridge(_, *, every, first, seed, is_made):
    """Ridge regression on standardised numbers and indicators of categories and missing values."""
    allow(penalties=len(_PENALTIES), folds=_FOLDS)
    for table in _tables(every, first, seed, is_made):
        model = make_pipeline(_encoder(table.X), RidgeCV(_PENALTIES))
        _emit_scores(table, model, table.X, table.X_test)


def _tables(every, first, seed, is_made):
    return unseen.made(seed) if is_made else unseen.tables(every, first, seed)


def _emit_scores(table, model, X, X_test):
    begin = time.process_time()
    try:
        with threadpool_limits(1):  # more wait for each other on so few rows
            left_out = table.y - cross_val_predict(model, X, table.y, cv=_FOLDS)
            std = np.full(len(X_test), max(left_out.std(), _LEAST_DEVIATION))
            mean = model.fit(X, table.y).predict(X_test)
    except Exception as error:  # the others still run
        emit(table=table.name, failed=f"{type(error).__name__}: {error}"[:200])
        return
    seconds = time.process_time() - begin
    emit(table=table.name, seconds=seconds, **scores(table.y_test, mean, std))


def _is_category(values):
    return str(values.dtype) == "category" or values.dtype == bool


def _with_categories(X):
    """Categories as text: others were not seen in training, and truth is no number."""
    X = X.copy()
    for c in X:
        if _is_category(X[c]):
            X[c] = X[c].astype(str).astype("category")
    return X


def _encoder(X):
    categories = [c for c in X if _is_category(X[c])]
    numbers = [c for c in X if c not in categories]
    filled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore")
    parts = [(filled, numbers), (one_hot, categories)]
    return make_column_transformer(*(part for part in parts if part[1]))


if __name__ == "__main__":
    main([boosting, ridge])
