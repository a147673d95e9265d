"""
======================================
Handwritten digits it is least sure of
======================================

A classifier that knows when it does not know can pass the hard cases on.
:class:`~sklearn_sgp.SVGPClassifier` with ten classes learns half of scikit-learn's 1,797 digits and
says of the other half how sure it is.

You will see how the error falls when the least sure digits are passed on, and
``digits_uncertainty.png``: the twelve digits it is least sure of with its three best guesses, and
the calibration of its probabilities.

``python plot_digits_uncertainty.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import SVGPClassifier

parser = argparse.ArgumentParser(description="Digits a sparse GP classifier is least sure of.")
parser.add_argument("--quick", action="store_true", help="fewer inducing inputs and iterations")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[: len(y) // 2], order[len(y) // 2 :]

# %%
# Fit
# ---
# More than two classes mean :class:`~sklearn_sgp.likelihoods.Softmax`. One length scale for all 64
# pixels is enough here, so the kernel is given; everything else is learned.

start = perf_counter()
model = SVGPClassifier(
    ConstantKernel(10.0) * RBF(20.0),
    n_inducing=30 if args.quick else 100,
    max_iter=3 if args.quick else 100,
    random_state=0,
).fit(X[train], y[train])
probability = model.predict_proba(X[test])
guess, sure = model.classes_[probability.argmax(axis=1)], probability.max(axis=1)
wrong = guess != y[test]
print(
    f"fitted in {perf_counter() - start:.1f} s: error {wrong.mean():.3f}, mean log probability "
    f"{model.log_density(X[test], y[test]).mean():.3f}"
)
for share in (0.0, 0.02, 0.05, 0.1):
    kept = sure >= np.quantile(sure, share)
    print(f"{share:4.0%} of the digits passed on: error of the others {wrong[kept].mean():.4f}")

# %%
# The least sure, and calibration
# -------------------------------
# Left: the twelve digits it is least sure of. Right: of the digits given a probability of so much,
# how many are right? On the diagonal, as many.

figure = plt.figure(figsize=(11, 4.6), layout="constrained")
pictures, calibration = figure.subfigures(1, 2, width_ratios=[2, 1])
for axes, i in zip(pictures.subplots(3, 4).flat, np.argsort(sure)[:12], strict=True):
    axes.imshow(X[test[i]].reshape(8, 8), cmap="gray_r", interpolation="nearest")
    best = np.argsort(-probability[i])[:3]
    text = "  ".join(f"{model.classes_[c]}: {probability[i, c]:.0%}" for c in best)
    axes.set_title(text, fontsize=8, color="C3" if wrong[i] else "k")
    axes.set_xlabel(f"it is {y[test[i]]}", fontsize=8)
    axes.set(xticks=[], yticks=[])
pictures.suptitle("least sure; in red where the first guess is wrong")

axes = calibration.subplots()
edges = np.unique(np.quantile(sure, np.linspace(0, 1, 7)))
bins = np.clip(np.searchsorted(edges, sure, "right") - 1, 0, len(edges) - 2)
said = [sure[bins == k].mean() for k in range(len(edges) - 1)]
seen = [1 - wrong[bins == k].mean() for k in range(len(edges) - 1)]
axes.plot([0.2, 1], [0.2, 1], color="0.7", lw=1)
axes.plot(said, seen, "o-")
axes.set(xlabel="probability of the first guess", ylabel="share that is right", title="calibration")
axes.spines[["top", "right"]].set_visible(False)
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "digits_uncertainty.png", dpi=120)
print(f"saved {args.output / 'digits_uncertainty.png'}")
