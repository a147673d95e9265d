"""
====================================
A sparse GP at work, on toy problems
====================================

Three small pictures of how :class:`~sklearn_sgp.SVGPRegressor` learns, after figures 2, 3 and
4 of Hensman, Fusi and Lawrence (2013).

- ``sgp_toy_batches.png``: data arrive in batches and are thrown away; q(u), the distribution
  of the function at the inducing inputs, is all that is kept of them.
- ``sgp_toy_learning.png``: inducing inputs that start in a bad place find a good one, and what
  holding kernel and noise fixed for the first epoch does for the objective.
- ``sgp_toy_convergence.png``: the objective after each iteration of L-BFGS.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.plotting import ConvergenceDisplay, PosteriorDisplay

N_EPOCHS = 40

parser = argparse.ArgumentParser(description="How a sparse Gaussian process learns.")
parser.add_argument("--quick", action="store_true", help="fewer epochs")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the pictures")
args = parser.parse_args()
if args.quick:
    N_EPOCHS = 4
args.output.mkdir(parents=True, exist_ok=True)

# %%
# Batch after batch
# -----------------
# A function on a line, ten inducing inputs, and 32 noisy values of it in four batches. Kernel,
# noise and inducing inputs are given and stay (``optimizer=None``), so ``partial_fit`` only
# updates q(u).

rng = np.random.default_rng(3)
x = rng.uniform(0, 4, size=(32, 1))
y = np.sin(3 * x[:, 0]) * np.exp(-0.2 * x[:, 0]) + 0.15 * rng.standard_normal(32)
batches = np.array_split(np.arange(32), [4, 10, 18])

line = {
    "kernel": ConstantKernel(0.5) * RBF(0.45),
    "noise_variance": 0.15**2,
    "inducing": np.linspace(0, 4, 10)[:, None],
    "optimizer": None,
    "normalize_y": False,
}
model = SVGPRegressor(**line)
figure, panes = plt.subplots(
    1, 4, figsize=(13, 3.4), sharex=True, sharey=True, layout="constrained"
)
for number, (pane, batch) in enumerate(zip(panes, batches, strict=True)):
    model.partial_fit(x[batch], y[batch])

    PosteriorDisplay.from_estimator(model, ax=pane)
    pane.get_legend().remove()
    Z = model.inducing_points_
    u_std = model.predict_std(Z, include_noise=False)
    bars = {"fmt": "none", "color": "C3", "lw": 1.5, "label": "q(u)"}
    pane.errorbar(Z[:, 0], model.predict(Z), 2 * u_std, **bars)
    before = np.concatenate([[], *batches[:number]]).astype(int)
    pane.plot(x[before], y[before], "o", mfc="none", color="0.4", ms=5, label="seen before")
    pane.plot(x[batch], y[batch], "o", color="k", ms=5, label="this batch")
    pane.set(title=f"after batch {number + 1}", ylim=(-2, 2), xlabel="x", ylabel="")
handles, labels = panes[-1].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
figure.savefig(args.output / "sgp_toy_batches.png", dpi=120)

at_once = SVGPRegressor(**line).fit(x, y)
difference = np.abs(model.predict(x) - at_once.predict(x)).max()
print(f"four batches against one fit: predictions differ by at most {difference:.1e}")

# %%
# Red bars are two standard deviations of q(u). Where no batch has brought data they are those
# of the prior; each batch shortens them. Nothing is lost by throwing the data away: with
# kernel and inducing inputs fixed, four batches give the model of one fit, to rounding.
#
# Two dimensions: stochastic steps by hand
# ----------------------------------------
# 1,000 values of a function on a square, and 25 inducing inputs that all start in the middle
# of it. With ``total_samples`` rows may come back, epoch after epoch, and every
# ``partial_fit`` is one step of the paper: a natural gradient step on q(u) and, with
# ``optimizer="adam"``, a gradient step on kernel, noise and inducing inputs.
#
# The paper holds kernel and noise for the first epoch, until q(u) has heard of all the data.
# We run it both ways; ``optimizer=None`` is what holds them. (The very first batch only makes
# q(u), in both.)

X = rng.uniform(-3, 3, size=(1000, 2))
target = np.sin(1.5 * X[:, 0]) + np.cos(1.2 * X[:, 1]) * X[:, 0] / 2
target += 0.2 * rng.standard_normal(len(X))

square = {
    "kernel": ConstantKernel(1.0) * RBF([1.0, 1.0]),
    "noise_variance": 0.1,
    "inducing": rng.uniform(-1, 1, size=(25, 2)),
    "normalize_y": False,
}
steps = {"total_samples": len(X), "natural_step": 0.1, "learning_rate": 0.05}


def run(held_steps):
    """The fitted model and the objective at every step, in nats a row."""
    model, objective = SVGPRegressor(**square, **steps), []
    order = np.random.default_rng(0)
    for _ in range(N_EPOCHS):
        for batch in np.array_split(order.permutation(len(X)), 20):
            model.set_params(optimizer=None if len(objective) < held_steps else "adam")
            model.partial_fit(X[batch], target[batch])
            objective.append(model.objective_ / len(X))
    return model, np.array(objective)


start = SVGPRegressor(**square, optimizer=None).fit(X, target)
learned, with_held = run(held_steps=20)
_, without = run(held_steps=1)
full = SVGPRegressor(**square, optimizer="lbfgs", max_iter=500).fit(X, target)

# %%
# For reference, L-BFGS follows the same objective on all rows at once, with the best q(u) for
# every kernel it tries.

print(f"\n{'objective, nats a row, last epoch':36}")
print(f"{'start, best q(u)':36}{start.objective_ / len(X):9.3f}")
print(f"{'steps, first epoch held':36}{with_held[-20:].mean():9.3f}")
print(f"{'steps, nothing held':36}{without[-20:].mean():9.3f}")
print(f"{'L-BFGS on all rows':36}{full.objective_ / len(X):9.3f}")
print(f"noise standard deviation learned: {np.sqrt(learned.noise_variance_):.3f} (true: 0.2)")

figure, panes = plt.subplot_mosaic(
    [["mean before", "std before", "objective"], ["mean after", "std after", "objective"]],
    figsize=(13, 6.2),
    width_ratios=[1, 1, 1.2],
    layout="constrained",
)
for when, fitted in [("before", start), ("after", learned)]:
    maps = [panes[f"mean {when}"], panes[f"std {when}"]]
    PosteriorDisplay.from_estimator(
        fitted, X, target, subsample=300, random_state=0, include_noise=False, ax=maps
    )
    for pane, name in zip(maps, ["mean", "standard deviation"], strict=True):
        pane.set(title=f"{name}, {when}", aspect="equal", xlabel="", ylabel="")

curves = panes["objective"]
for objective, color, name in [
    (with_held, "C0", "kernel and noise held in epoch 1"),
    (without, "C1", "nothing held"),
]:
    epochs = np.arange(1, len(objective) + 1) / 20
    curves.plot(epochs[1:], objective[1:], color=color, lw=0.5, alpha=0.35)
    curves.plot(epochs[9::20], objective.reshape(-1, 20).mean(axis=1), color=color, label=name)
curves.axhline(full.objective_ / len(X), color="0.4", ls="--", lw=1, label="L-BFGS on all rows")
curves.set(xlabel="epoch", ylabel="nats a row", ylim=(-1.5, 0.3))
curves.set_title("objective, by step and by epoch")
curves.legend(loc="lower right", frameon=False)
figure.savefig(args.output / "sgp_toy_learning.png", dpi=120)

# %%
# The inducing inputs spread over the square and the uncertain rim recedes. Both runs come
# close to where L-BFGS ends, by noisy steps. Holding kernel and noise costs an epoch, is made
# up for within ten, and gains nothing here: natural gradients find q(u) within an epoch, so that
# the kernel moves by a q(u) that means something from the start. It was so for three draws of the
# inducing inputs, with q(u) held as what the data say or as its moments (as the paper has it),
# begun at the first batch or at the prior, and with steps of 0.1 and 0.01. A fit with
# ``optimizer="adam"`` holds the first epoch, as the paper does. The default ``optimizer="auto"``
# begins with L-BFGS on a subset of the rows, and has no such start to survive.
#
# Has it converged?
# -----------------
# Estimators keep the objective after every iteration. A curve that still rises at its end asks for
# a larger ``max_iter``, which a warning says too.

display = ConvergenceDisplay.from_estimator(full, x="entries", per_row=True)
display.ax_.set(title="L-BFGS on all rows", ylabel="nats a row")
display.figure_.savefig(args.output / "sgp_toy_convergence.png", dpi=120)
print(
    f"\nsaved sgp_toy_batches.png, sgp_toy_learning.png, sgp_toy_convergence.png in {args.output}"
)
