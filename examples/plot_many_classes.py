"""
============
Many classes
============

A classifier with a latent function for each class seems to cost as many fits as there are classes.
:class:`~sklearn_sgp.AnytimeSGPClassifier` makes each of them a regression whose noise is known, so
that one kernel, one search for near rows and one inverse of each group of them serve all.

You will see 26 classes learned from 16,000 rows of 16 columns, each class a mixture of eight normal
distributions, so that the smallest possible error is known; and ``many_classes.png``: how the error
falls when the rows it is least sure of are passed on, and the pairs of classes that it confuses
most, with how often its probabilities say that it should.

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
centres = rng.normal(scale=1.75, size=(n_classes, 8, 16))
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
# A pair of classes is confused as often as one of them is predicted for the other. Probabilities
# say how often that should happen.

place = np.searchsorted(model.classes_, y_test)
observed, expected = np.zeros((2, n_classes, n_classes))
np.add.at(observed, (place, probability.argmax(axis=1)), 1.0)
np.add.at(expected.T, probability.argmax(axis=1), probability)
observed, expected = observed + observed.T, expected + expected.T
pairs = [(i, j) for i in range(n_classes) for j in range(i)]
pairs = sorted(pairs, key=lambda pair: -observed[pair])[:10][::-1]

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
height, at = 0.4, np.arange(len(pairs))
right.barh(at + height / 2, [observed[pair] for pair in pairs], height, label="observed")
right.barh(at - height / 2, [expected[pair] for pair in pairs], height, label="by probabilities")
right.set_yticks(at, [f"{model.classes_[j]} and {model.classes_[i]}" for i, j in pairs])
right.set(xlabel="rows", title="Most confused pairs")
right.legend(loc="lower right")

path = args.output / "many_classes.png"
figure.savefig(path, dpi=110)
print(f"\nsaved {path}")
