"""
====================
What kernels can say
====================

A kernel is what a model believes before it has seen a row: which functions are likely. The best way
to see that is to draw some. Each panel of ``kernels.png`` has three functions drawn from one
kernel, with the same random numbers in all panels; ``kernels_together.png`` has sums, products and
kernels over several columns.

An estimator that was not fitted draws from its prior, so that any kernel can be looked at before it
is used.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Categorical, Columns

parser = argparse.ArgumentParser(description="Functions drawn from kernels.")
parser.add_argument("--quick", action="store_true", help="a coarser grid")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the pictures")
args = parser.parse_args()
N_PLACES = 100 if args.quick else 300


def draws(kernel, X, n_draws=3):
    """Functions from the prior at X, of shape (n_rows, n_draws), without noise."""
    prior = SVGPRegressor(kernel, noise_variance=1e-6)
    return prior.sample_y(X, n_samples=n_draws, random_state=4)


# %%
# One kernel
# ----------
# The first four kernels differ in how rough a function may be: infinitely smooth (RBF), two, one
# or no derivatives (Matern). A rational quadratic mixes many length scales. The others say
# something about the whole axis: a period, a line.

x = np.linspace(0, 6, N_PLACES)[:, None]
kernels = {
    "RBF(0.8)": RBF(0.8),
    "Matern(0.8, nu=2.5)": Matern(0.8, nu=2.5),
    "Matern(0.8, nu=1.5)": Matern(0.8, nu=1.5),
    "Matern(0.8, nu=0.5)": Matern(0.8, nu=0.5),
    "RationalQuadratic(0.8, alpha=0.3)": RationalQuadratic(0.8, alpha=0.3),
    "RBF(3.0)": RBF(3.0),
    "ExpSineSquared(1.0, periodicity=2.0)": ExpSineSquared(1.0, 2.0),
    "DotProduct(1.0)": DotProduct(1.0),
}
figure, panes = plt.subplots(2, 4, figsize=(13, 5.2), sharex=True, layout="constrained")
for pane, (name, kernel) in zip(panes.flat, kernels.items(), strict=True):
    pane.plot(x, draws(kernel, x), lw=1.2)
    pane.set_title(name, fontsize="medium")
for pane in panes[-1]:
    pane.set_xlabel("x")
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "kernels.png", dpi=120)

# %%
# Together
# --------
# A sum of kernels is a sum of functions: something smooth plus something rough, or a trend plus a
# season. A product with a smooth kernel lets a season change slowly. ``Columns`` gives each column
# a kernel of its own: a sum of them is an additive model, without interactions. ``Categorical``
# in a product gives every category a function, and alike categories alike functions.

together = {
    "RBF(2.0) + 0.05 * Matern(0.5, nu=0.5)": RBF(2.0) + ConstantKernel(0.05) * Matern(0.5, nu=0.5),
    "DotProduct(0.1) + ExpSineSquared(1.0, 1.0)": DotProduct(0.1) + ExpSineSquared(1.0, 1.0),
    "RBF(3.0) * ExpSineSquared(1.0, 1.0)": RBF(3.0) * ExpSineSquared(1.0, 1.0),
}
figure, panes = plt.subplots(2, 3, figsize=(13, 6.4), layout="constrained")
for pane, (name, kernel) in zip(panes[0], together.items(), strict=True):
    pane.plot(x, draws(kernel, x), lw=1.2)
    pane.set_title(name, fontsize="medium")
    pane.set_xlabel("x")

side = np.linspace(0, 4, 25 if args.quick else 40)
plane = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
surfaces = {
    "RBF([0.8, 0.8]): anything smooth": RBF([0.8, 0.8]),
    "Columns(RBF(0.8), [0]) + Columns(RBF(0.8), [1])": Columns(RBF(0.8), [0])
    + Columns(RBF(0.8), [1]),
}
for pane, (name, kernel) in zip(panes[1], surfaces.items(), strict=False):
    surface = draws(kernel, plane, 1).reshape(len(side), len(side))
    pane.pcolormesh(side, side, surface.T, shading="gouraud")
    pane.set_title(name, fontsize="medium")
    pane.set(xlabel="column 0", ylabel="column 1", aspect="equal")

alike = Categorical(
    1, factor=np.array([[1.0], [0.9], [-0.2]]), diagonal=np.array([0.02, 0.02, 1.0])
)
kernel = Columns(alike, [0]) * Columns(RBF(0.8), [1])
rows = np.vstack([np.column_stack([np.full(len(x), code), x]) for code in range(3)])
functions = draws(kernel, rows, 1).reshape(3, -1)
for function, name in zip(functions, ["coast A", "coast B", "hill"], strict=True):
    panes[1, 2].plot(x, function, label=name)
panes[1, 2].set_title("Columns(Categorical(), [0]) * Columns(RBF(0.8), [1])", fontsize="medium")
panes[1, 2].set_xlabel("column 1")
panes[1, 2].legend(frameon=False, fontsize="small")
figure.savefig(args.output / "kernels_together.png", dpi=120)
print(f"saved {args.output / 'kernels.png'} and {args.output / 'kernels_together.png'}")

# %%
# A draw that cannot look like your data is a kernel that cannot learn them: a model with
# ``RBF(3.0)`` takes all that is faster for noise. Length scales and variances are learned; the form
# is not, but for the few that ``kernel=None`` compares.
