"""
============
Many classes
============

A classifier with a latent function for each class seems to cost as many fits as there are classes.
:class:`~sklearn_sgp.AnytimeSGPClassifier` makes each of them a regression whose noise is known, so
that one kernel, one search for near rows and one inverse of each group of them serve all.

You will see 26 classes learned from 16,000 rows of 16 columns, each class a mixture of eight normal
distributions, so that the smallest possible error is known; and ``many_classes.png``: how the error
falls when the rows it is least sure of are passed on, and how often it is wrong about each class,
beside how often its probabilities say that it should be.

``python plot_many_classes.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path
from string import ascii_uppercase
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import logsumexp

from sklearn_sgp import AnytimeSGPClassifier

parser = argparse.ArgumentParser(description="26 classes by a sparse GP classifier.")
parser.add_argument("--quick", action="store_true", help="six classes and fewer rows")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

# %%
# The data
# --------
# Centres are drawn from a normal distribution, wide enough that components overlap a little.

n_classes, n_train, n_test = (6, 900, 600) if args.quick else (26, 16_000, 4_000)
rng = np.random.default_rng(0)
centres = rng.normal(scale=1.5, size=(n_classes, 8, 16))
label = rng.integers(n_classes, size=n_train + n_test)
X = centres[label, rng.integers(8, size=len(label))] + rng.normal(size=(len(label), 16))
y = np.array(list(ascii_uppercase))[label]
X_train, X_test, y_train, y_test = X[:n_train], X[n_train:], y[:n_train], y[n_train:]


def bayes_error(X, label):
    """Share of rows of which another class is more probable than their own."""
    squares = ((X[:, None, None] - centres) ** 2).sum(axis=-1)  # (n, classes, components)
    return np.mean(logsumexp(-0.5 * squares, axis=2).argmax(axis=1) != label)


# %%
# Fit
# ---

start = perf_counter()
options = {"max_iter": 5, "init_size": 500, "alpha_epsilon": 0.001} if args.quick else {}
model = AnytimeSGPClassifier(random_state=0, **options).fit(X_train, y_train)
fitted = perf_counter() - start
probability = model.predict_proba(X_test)
guess, sure = model.classes_[probability.argmax(axis=1)], probability.max(axis=1)
wrong = guess != y_test
least = np.mean(
    [
        bayes_error(*part)
        for part in zip(
            np.array_split(X_test, 20), np.array_split(label[n_train:], 20), strict=True
        )
    ]
)
print(
    f"{n_classes} classes from {n_train:,} rows in {fitted:.0f} s: error {wrong.mean():.4f} (least "
    f"possible: {least:.4f}), mean log probability {model.log_density(X_test, y_test).mean():.3f}"
)
print(
    f"alpha_epsilon {model.alpha_epsilon_:g}, temperature {model.temperature_:.2f}; "
    f"mean confidence {sure.mean():.4f}, right {1.0 - wrong.mean():.4f}"
)

# %%
# What it is not sure of
# ----------------------
# A row that is given to a class has another one with the probability that is left: summed over the
# rows that each class gets, that is how many of them should be wrong.

given = probability.argmax(axis=1)
observed = np.bincount(given, weights=wrong, minlength=n_classes)
expected = np.bincount(given, weights=1.0 - sure, minlength=n_classes)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
shares = np.linspace(0.0, 0.3, 31)
errors = [wrong[sure >= np.quantile(sure, share)].mean() for share in shares]
left.plot(100.0 * shares, 100.0 * np.array(errors))
left.set(
    xlabel="rows passed on, the least sure ones (%)",
    ylabel="error of the others (%)",
    title="Error where it is sure",
    ylim=(0.0, None),
)
for letter, x, height in zip(model.classes_, expected, observed, strict=True):
    right.annotate(letter, (x, height), ha="center", va="center", color="C0")
end = 1.1 * max(observed.max(), expected.max(), 1.0)
right.plot([0.0, end], [0.0, end], color="0.6", linewidth=1)
right.set(
    xlabel="wrong rows, by the probabilities",
    ylabel="wrong rows",
    title="Rows that each class gets",
    xlim=(0.0, end),
    ylim=(0.0, end),
)

args.output.mkdir(parents=True, exist_ok=True)
path = args.output / "many_classes.png"
figure.savefig(path, dpi=110)
print(f"\nsaved {path}")
