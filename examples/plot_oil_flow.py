"""
A map of flows in a pipe
========================

Oil, water and gas flow through a pipe in one of three ways. Twelve measurements depend on the way
and on the shares of oil and water, so that rows of twelve numbers lie on three sheets of two
dimensions. A Gaussian process with latent inputs gets ten latent dimensions, switches most of them
off and draws the map, with error bars, without having seen the three ways. Principal components mix
them up.

``--data oil_flow.npz`` reads the measurements of Bishop and James (1993) from a file with ``X``
and ``y``; without it three such sheets are simulated.
"""

import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from sklearn_sgp import BayesianGPLVM
from sklearn_sgp.plotting import EmbeddingDisplay

parser = argparse.ArgumentParser(description="A map of flows in a pipe, by latent inputs.")
parser.add_argument("--quick", action="store_true", help="fewer rows and iterations")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
parser.add_argument("--data", type=Path, help="file with X (n, 12), y (n,) and perhaps split (n,)")
args = parser.parse_args()

# %%
# Measurements
# ------------
# Each way of flow has a sheet of its own: smooth functions of two shares, the sheets not far apart.


def simulated(n, rng):
    """Twelve measurements of each row, and its way of flow."""
    way, shares = rng.integers(3, size=n), rng.uniform(-1.0, 1.0, (n, 2))
    Y = np.empty((n, 12))
    for k in range(3):
        own = way == k
        waves = np.sin(shares[own] @ rng.normal(0.0, 1.0, (2, 8)) + rng.uniform(0.0, 6.0, 8))
        Y[own] = 0.1 * rng.normal(size=12) + waves @ rng.normal(0.0, 0.5, (8, 12))
    return Y + 0.02 * rng.normal(size=Y.shape), way


if args.data is None:
    Y, way = simulated(300 if args.quick else 1000, np.random.default_rng(1))
else:
    with np.load(args.data) as table:
        rows = table["split"] == 0 if "split" in table.files else slice(None)
        Y, way = table["X"][rows].astype(float), table["y"][rows]

# %%
# Fit
# ---
# The labels are not used. Errors are rows whose nearest row in the plane flows in another way.


def errors(X):
    """Number of rows whose nearest neighbour has another label."""
    nearest = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X, return_distance=False)[:, 1]
    return int((way != way[nearest]).sum())


start = perf_counter()
model = BayesianGPLVM(
    10, n_inducing=30 if args.quick else 50, max_iter=150 if args.quick else 500, random_state=0
).fit(Y)
best = np.argsort(-model.relevance_)[:2]
components = PCA(2).fit_transform(Y)
print(
    f"{len(Y)} rows in {perf_counter() - start:.1f} s: {errors(model.embedding_[:, best])} errors "
    f"in two latent dimensions, {errors(components)} in two principal components"
)
large = (model.relevance_ > 0.1 * model.relevance_.max()).sum()
print(f"{large} of 10 latent dimensions have more than a tenth of the largest relevance")

# %%
# The map
# -------
# Bars are standard deviations of latent inputs. Where it is dark, the model knows nothing about
# what such a row would look like.

figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
for k in np.unique(way):
    axes[0].plot(*components[way == k].T, ".", ms=4, label=f"way {k}")
axes[0].set(title=f"principal components: {errors(components)} errors")
EmbeddingDisplay.from_estimator(model, labels=way, ax=axes[1])
axes[1].set(title=f"latent inputs: {errors(model.embedding_[:, best])} errors")
axes[2].bar(np.arange(10), np.sort(model.relevance_)[::-1] / model.relevance_.max(), color="0.4")
axes[2].set(xlabel="latent dimension, sorted", title="relevance, relative to the largest")
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "oil_flow.png", dpi=120)
print(f"saved {args.output / 'oil_flow.png'}")
