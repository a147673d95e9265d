"""
===============================================
Your own table: a Gaussian process and boosting
===============================================

Which predicts your table better, gradient boosting or a Gaussian process? This script takes a
CSV file with a line of names, holds out a fifth of its rows, fits both and prints the errors and
the log densities, which also say whether the error bars can be trusted::

    python plot_against_boosting.py --data file.csv --target y

Without ``--data`` the table is that of house prices of England and Wales: the logarithm of the
price by latitude and longitude, 20,000 postcodes. Columns that are not numbers and rows with
missing numbers are left out, which is said.

You will see the table and ``against_boosting.png``: predictions with their 90 % bands, and how
often bands of any width hold the truth.
"""

import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from _data import load_house_prices
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.metrics import interval_coverage, negative_log_predictive_density

MAX_ROWS = 20_000  # of the table that is shipped

parser = argparse.ArgumentParser(description="A Gaussian process and boosting on one table.")
parser.add_argument("--data", type=Path, help="CSV file with a line of names")
parser.add_argument("--target", help="name of the column to predict; the last one if not given")
parser.add_argument(
    "--max-time", type=float, default=120.0, help="seconds for the fit of the process"
)
parser.add_argument("--quick", action="store_true", help="few rows, a few seconds")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()
if args.quick:
    MAX_ROWS = 2000

# %%
# The table
# ---------
# Inputs go in as they are: every column has its own length scale. A column of text could be
# turned into numbers first, by scikit-learn's ``OrdinalEncoder`` or ``OneHotEncoder``.


def read(path, target):
    """Inputs and target of a CSV file."""
    table = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    names = list(table.dtype.names)
    target = names[-1] if target is None else target
    if target not in names:
        raise SystemExit(f"--target must be one of {', '.join(names)}. Got {target}.")
    numeric = [name for name in names if np.issubdtype(table[name].dtype, np.number)]
    if target not in numeric:
        raise SystemExit(f"The target must be a column of numbers. {target} is not.")
    inputs = [name for name in numeric if name != target]
    if left_out := sorted(set(names) - set(numeric)):
        print(f"left out, as they are not numbers: {', '.join(left_out)}")
    X = np.column_stack([table[name].astype(float) for name in inputs])
    y = table[target].astype(float)
    whole = np.isfinite(X).all(axis=1) & np.isfinite(y)
    if not whole.all():
        print(f"left out, as numbers are missing: {np.sum(~whole):,} of {len(y):,} rows")
    return X[whole], y[whole], target


if args.data is None:
    X, y, _ = load_house_prices()
    some = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
    X, y, name = X[some], y[some], "log price"
else:
    X, y, name = read(args.data, args.target)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
print(f"{len(y_train):,} rows to learn from, {len(y_test):,} to predict, {X.shape[1]} columns")

# %%
# Both, with defaults
# -------------------
# Boosting predicts a number. Its band is that of a Gaussian whose standard deviation is the one
# of its errors on a tenth of the training rows that it did not see, which also choose among three
# learning rates and sizes of trees.

start = perf_counter()
model = AnytimeSGPRegressor(max_time=args.max_time, random_state=0).fit(X_train, y_train)
mean, std = model.predict(X_test, return_std=True)
results = {"AnytimeSGPRegressor()": (perf_counter() - start, mean, std)}

print("now boosting, three times up to 2,000 trees", flush=True)
start, candidates = perf_counter(), []
X_fit, X_held, y_fit, y_held = train_test_split(X_train, y_train, test_size=0.1, random_state=0)
for rate, leaves in ((0.1, 31), (0.05, 63), (0.03, 127)):
    boosting = HistGradientBoostingRegressor(
        learning_rate=rate,
        max_leaf_nodes=leaves,
        max_iter=100 if args.quick else 2000,
        early_stopping=True,
        random_state=0,
    ).fit(X_fit, y_fit)
    candidates.append((np.std(y_held - boosting.predict(X_held)), boosting))
error, boosting = min(candidates, key=lambda pair: pair[0])
predicted = boosting.predict(X_test)
results["gradient boosting, best of three"] = (
    perf_counter() - start,
    predicted,
    np.full(len(y_test), error),
)

print(f"\n{'held-out rows':34}{'seconds':>8}{'RMSE':>10}{'log density':>13}{'in 90 % band':>14}")
for title, (seconds, prediction, width) in results.items():
    rmse = np.sqrt(np.mean((y_test - prediction) ** 2))
    log_density = -negative_log_predictive_density(y_test, prediction, width)
    covered = interval_coverage(y_test, prediction - 1.645 * width, prediction + 1.645 * width)
    print(f"{title:34}{seconds:8.1f}{rmse:10.4g}{log_density:13.3f}{covered:14.1%}")

# %%
# Pictures
# --------
# Left: a hundred held-out rows from the lowest prediction to the highest. Right: the share of held-
# out rows that bands of a given level hold. On the diagonal a band holds what it promises.

some = np.random.default_rng(1).permutation(len(y_test))[:100]
some = some[np.argsort(mean[some])]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), constrained_layout=True)
left.errorbar(range(len(some)), mean[some], 1.645 * std[some], fmt=".", lw=0.8, label="90 % band")
left.plot(range(len(some)), y_test[some], "kx", ms=4, label="observed")
left.set(xlabel="held-out rows, by prediction", ylabel=name)
left.legend()
levels = np.linspace(0.05, 0.99, 40)
for title, (_, prediction, width) in results.items():
    away = np.abs(y_test - prediction) / width
    right.plot(levels, [np.mean(away < norm.ppf(0.5 + level / 2)) for level in levels], label=title)
right.plot([0, 1], [0, 1], "k:", lw=0.8)
right.set(xlabel="level of the band", ylabel="share of rows that it holds")
right.legend()
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "against_boosting.png", dpi=120)
