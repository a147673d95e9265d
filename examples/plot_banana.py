"""
===========================================
Two classes: a boundary, and how sure of it
===========================================

Where would one more inducing input help, and where does the model simply not know?
:class:`~sklearn_sgp.SVGPClassifier` learns the banana data, 400 rows of two classes, with 30
inducing inputs.

You will see the error and the log probability on 4,900 held-out rows, beside a support vector
machine, and ``banana.png``: the probability of a class over the plane with the boundary and the
inducing inputs, and the standard deviation of the latent function, which is small only where there
are data.

``python plot_banana.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from _data import load_small
from sklearn.svm import SVC

from sklearn_sgp import SVGPClassifier

parser = argparse.ArgumentParser(description="A sparse GP classifier on the banana data.")
parser.add_argument("--quick", action="store_true", help="fewer iterations")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

X, y, is_test = load_small("banana")
X_train, y_train, X_test, y_test = X[~is_test], y[~is_test], X[is_test], y[is_test]

# %%
# Fit
# ---
# Kernel and inducing inputs are learned together. :class:`~sklearn_sgp.likelihoods.Probit` is the
# default for two classes.

start = perf_counter()
model = SVGPClassifier(n_inducing=30, max_iter=5 if args.quick else 100, random_state=0)
model.fit(X_train, y_train)
print(
    f"fitted in {perf_counter() - start:.1f} s: error {1 - model.score(X_test, y_test):.4f}, "
    f"mean log probability {model.log_density(X_test, y_test).mean():.4f}"
)
svm = SVC().fit(X_train, y_train)
print(f"support vector machine: error {1 - svm.score(X_test, y_test):.4f}, no probability")

# %%
# A notebook shows an estimator with its parameters, as this page does: open the triangles. The
# question marks lead to the reference.

model

# %%
# What the model knows
# --------------------
# Left: the probability of class 1, averaged over all that the latent function may be. Right: how
# much it may be off. Far from data the probability goes back to one half.

side = np.linspace(-3.5, 3.5, 60 if args.quick else 200)
grid = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
probability = model.predict_proba(grid)[:, 1].reshape(len(side), -1)
deviation = model.predict_std(grid).reshape(len(side), -1)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained", sharey=True)
shade = left.contourf(side, side, probability, np.linspace(0, 1, 21), cmap="RdBu_r", alpha=0.8)
left.contour(side, side, probability, [0.5], colors="k", linewidths=1.5)
left.contour(side, side, probability, [0.05, 0.95], colors="k", linewidths=0.7, linestyles="--")
for label, colour in ((-1, "C0"), (1, "C3")):
    some = X_train[y_train == label]
    left.scatter(*some.T, s=8, color=colour, edgecolor="w", linewidth=0.3)
left.scatter(*model.inducing_points_.T, marker="x", color="k", s=30, label="inducing inputs")
left.set(title="probability of class 1; even odds, 5 % and 95 %", xlabel="first input")
left.set(ylabel="second input", xlim=(-3.5, 3.5), ylim=(-3.5, 3.5))
left.legend(loc="lower right", frameon=True)
figure.colorbar(shade, ax=left)
shade = right.contourf(side, side, deviation, 20, cmap="magma")
right.scatter(*X_train.T, s=3, color="w", alpha=0.6)
right.set(title="standard deviation of the latent function", xlabel="first input")
right.set(xlim=(-3.5, 3.5))
figure.colorbar(shade, ax=right)
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "banana.png", dpi=120)
print(f"saved {args.output / 'banana.png'}")
