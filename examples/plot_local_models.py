"""
=================================================
Smooth and rough: what near rows add to a summary
=================================================

Inducing inputs summarise a function that is smooth. What is rough between them has to come from
rows near the place that is predicted. This example shows four ways to have it, on a function of
one input with a smooth and a rough part, and on steps in the plane:

- :class:`~sklearn_sgp.SVGPRegressor` has inducing inputs alone and takes the rest for noise;
- PIC adds the rows of the block that a place belongs to, and jumps where blocks end;
- LMA adds the rows of the blocks beside it in a chain, too (Low et al. 2015);
- VIF adds the nearest rows, whatever block they are in (Gyger, Furrer and Sigrist 2026).

You will see their errors and ``local_models.png``.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor

N_LINE, N_PLANE = 1500, 4000

parser = argparse.ArgumentParser(description="SVGP, PIC, LMA and VIF.")
parser.add_argument("--quick", action="store_true", help="few rows, a few seconds")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()
if args.quick:
    N_LINE, N_PLANE = 400, 600

MODELS = {
    "SVGP": SVGPRegressor(n_inducing=15, random_state=0),
    "PIC": AnytimeSGPRegressor(model="pic", n_inducing=15, block_size=60, random_state=0),
    "LMA": AnytimeSGPRegressor(model="lma", n_inducing=15, block_size=60, random_state=0),
    "VIF": AnytimeSGPRegressor(model="vif", n_inducing=15, n_neighbors=60, random_state=0),
}

# %%
# A line
# ------
# A wave and a walk, with noise. The kernel has a part for each. PIC and LMA take blocks along the
# line, which makes LMA's chain the line itself.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 10.0, N_LINE))
walk = np.cumsum(rng.normal(0.0, np.sqrt(np.diff(x, prepend=0.0))))
truth = 2.0 * np.sin(x) + 0.7 * walk
learned_from = rng.random(N_LINE) < 0.6
y = truth + rng.normal(0.0, 0.1, N_LINE)
kernel = ConstantKernel() * RBF(3.0) + ConstantKernel(0.1) * Matern(3.0, nu=0.5)
line, errors = {}, {}
for name, model in MODELS.items():
    model.set_params(kernel=kernel)
    if name in ("PIC", "LMA"):
        model.set_params(partition="contiguous")
    model.fit(x[learned_from, None], y[learned_from])
    line[name] = model.predict(x[:, None], return_std=True)
    error = line[name][0][~learned_from] - truth[~learned_from]
    errors[name] = [np.sqrt(np.mean(error**2))]

# %%
# Steps in the plane
# ------------------
# Fields with an edge between them. Default kernels; blocks are those of k-means.

places = rng.uniform(0.0, 1.0, (N_PLANE, 2))


def height(at):
    """A slope, and fields at heights of their own."""
    field = (np.floor(4 * at[:, 0]) + 4 * np.floor(4 * at[:, 1])).astype(int)
    return at.sum(axis=1) + np.random.default_rng(2).normal(0.0, 0.5, 40)[field]


measured = height(places) + rng.normal(0.0, 0.1, N_PLANE)
side = 60 if args.quick else 120
ticks = (np.arange(side) + 0.5) / side
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
plane = {}
for name, model in MODELS.items():
    model.set_params(kernel=None)
    if name in ("PIC", "LMA"):
        model.set_params(partition="kmeans")
    plane[name] = model.fit(places, measured).predict(grid)
    errors[name].append(np.sqrt(np.mean((plane[name] - height(grid)) ** 2)))

print(f"{'error to the truth':20}{'line':>8}{'plane':>8}")
for name, (on_line, on_plane) in errors.items():
    print(f"{name:20}{on_line:8.3f}{on_plane:8.3f}")

# %%
# Pictures
# --------
# Above: the line from 4 to 6, with the 90 % band of an observation. Below: the plane.

figure, axes = plt.subplots(2, 4, figsize=(13, 6), constrained_layout=True)
near = (x > 4.0) & (x < 6.0)
for column, name in enumerate(MODELS):
    mean, std = line[name]
    top, bottom = axes[:, column]
    top.plot(x[near], truth[near], "k", lw=0.8, label="truth")
    low, high = mean - 1.645 * std, mean + 1.645 * std
    top.fill_between(x[near], low[near], high[near], alpha=0.3, label="90 % band")
    top.plot(x[near], mean[near], lw=1.2, label="mean")
    top.set(title=f"{name}: error {errors[name][0]:.3f}")
    bottom.imshow(plane[name].reshape(side, side), origin="lower", extent=(0, 1, 0, 1))
    bottom.set(title=f"{name}: error {errors[name][1]:.3f}", xticks=[], yticks=[])
axes[0, 0].legend()
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "local_models.png", dpi=120)
