"""
Digits with half of their pixels missing
========================================

Half of the pixels of all digits are hidden at random, so that no picture is complete. A Gaussian
process with latent inputs learns from what is left, fills the rest in and says how sure it is: its
90 % intervals should hold 90 % of the hidden pixels. The error is compared with that of nearest
neighbours and of column means.
"""

import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer, SimpleImputer

from sklearn_sgp import BayesianGPLVM

parser = argparse.ArgumentParser(description="Missing pixels of digits, with error bars.")
parser.add_argument("--quick", action="store_true", help="fewer digits and iterations")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

X, _ = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X = X[rng.permutation(len(X))[: 300 if args.quick else None]]
X = X[:, X.std(axis=0) > 0.5]  # pixels that are not always white
hidden = rng.random(X.shape) < 0.5
Y = np.where(hidden, np.nan, X)

# %%
# Fill in
# -------

start = perf_counter()
model = BayesianGPLVM(
    5 if args.quick else 8,
    n_inducing=25 if args.quick else 50,
    max_iter=100 if args.quick else 200,
    random_state=0,
).fit(Y)
filled, std = model.impute(Y, return_std=True)
seconds = perf_counter() - start
inside = np.abs(filled - X)[hidden] < 1.645 * std[hidden]


def error(table):
    """Root mean squared error of the hidden pixels."""
    return np.sqrt(np.mean((table - X)[hidden] ** 2))


print(f"latent inputs:     error {error(filled):.2f} of 16 grey levels, in {seconds:.0f} s")
print(f"nearest neighbours: error {error(KNNImputer(n_neighbors=10).fit_transform(Y)):.2f}")
print(f"column means:       error {error(SimpleImputer().fit_transform(Y)):.2f}")
print(f"90 % intervals hold {inside.mean():.1%} of the hidden pixels")

# %%
# Before and after
# ----------------
# Hidden pixels are blue on the left. On the right, the darker a pixel, the less sure the model is.

shown = load_digits().data.std(axis=0) > 0.5


def picture(values):
    """Eight times eight pixels, 0 where they are always white."""
    image = np.zeros(64)
    image[shown] = values
    return image.reshape(8, 8)


figure, axes = plt.subplots(6, 4, figsize=(6, 9), layout="constrained")
for row, i in zip(axes, range(6), strict=True):
    given = np.ma.masked_invalid(picture(Y[i]))
    gray = plt.get_cmap("gray_r").with_extremes(bad="lightsteelblue")
    row[0].imshow(given, cmap=gray, vmin=0, vmax=16)
    row[1].imshow(picture(filled[i]), cmap="gray_r", vmin=0, vmax=16)
    row[2].imshow(picture(X[i]), cmap="gray_r", vmin=0, vmax=16)
    row[3].imshow(picture(std[i]), cmap="Purples", vmin=0, vmax=8)
for ax, title in zip(axes[0], ("given", "filled in", "truth", "standard deviation"), strict=True):
    ax.set_title(title, fontsize=9)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "missing_pixels.png", dpi=120)
print(f"saved {args.output / 'missing_pixels.png'}")
