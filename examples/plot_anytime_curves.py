"""
===============================================
Anytime: good after a few blocks, exact at last
===============================================

A Gaussian process that can be stopped at any moment. :class:`~sklearn_sgp.AnytimeSGPRegressor`
cuts the rows into blocks and improves its answer block by block, after Hoang, Hoang and Low (2015).
The model PIC describes what is smooth by a few inducing inputs and what is local by the data of a
row's own block.

You will see a table and ``anytime_curves.png``: the error and the log density on flights that were
not seen, against steps and against seconds, for PIC, and for FITC and DTC, which have inducing
inputs only; and how much time is saved for how much accuracy (figures 1 to 4 of the paper).

``python plot_anytime_curves.py --help`` lists the options; ``--data`` takes the table of all
2,055,733 flights in place of the 800,000 that ship with the examples.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from _data import load_flights

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.metrics import (
    negative_log_predictive_density,
    predictive_efficiency,
    time_efficiency,
)

N_INDUCING, BLOCK_SIZE, TEST_ROWS = 100, 1000, 10_000

parser = argparse.ArgumentParser(description="Anytime prediction of flight delays.")
parser.add_argument("--data", help="npz with X, y and split (2: test row) to use instead")
parser.add_argument("--quick", action="store_true", help="a few thousand flights, a few seconds")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

X, y, is_test = load_flights(args.data)
X_train, y_train = X[~is_test], y[~is_test]
X_test, y_test = X[is_test][:TEST_ROWS], y[is_test][:TEST_ROWS]
if args.quick:
    N_INDUCING, BLOCK_SIZE = 20, 200
    X_train, y_train, X_test, y_test = X_train[:4000], y_train[:4000], X_test[:500], y_test[:500]

# %%
# Learn once
# ----------
# Kernel, noise and inducing inputs are learned on sampled whole blocks, under the marginal
# likelihood of the model itself. ``solver="exact"`` then visits every block once, in parallel: the
# closed form that the anytime solver will be compared with.

exact, results = {}, {}
for name in ("pic", "fitc", "dtc"):
    start = perf_counter()
    model = AnytimeSGPRegressor(
        model=name,
        n_inducing=N_INDUCING,
        block_size=BLOCK_SIZE,
        solver="exact",
        max_iter=10 if args.quick else 100,
        n_jobs=-1,
        random_state=0,
    ).fit(X_train, y_train)
    exact[name] = model
    print(f"{name}: {model.n_blocks_} blocks, learned and fitted in {perf_counter() - start:.0f} s")


def fixed(model, **options):
    """The same kernel, noise and inducing inputs, with nothing left to learn."""
    return AnytimeSGPRegressor(
        kernel=model.kernel_,
        noise_variance=model.noise_variance_,
        inducing=model.inducing_points_,
        model=model.model,
        block_size=BLOCK_SIZE,
        optimizer=None,
        n_jobs=-1,
        random_state=0,
        **options,
    )


def scored(model, X, y):
    """Root mean squared error and mean log density on the flights held out."""
    start = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - start
    mean, std = model.predict(X_test, return_std=True)
    rmse = np.sqrt(np.mean((y_test - mean) ** 2))
    return seconds, rmse, -negative_log_predictive_density(y_test, mean, std)


# %%
# Stop after 1, 3, 10, ... blocks
# -------------------------------
# One step takes one block. The default schedule averages over all blocks seen so far, so that one
# epoch ends at the closed form to the last digits. The same ``random_state`` takes the same blocks
# in the same order: each run below goes a little further than the one before.

for name, model in exact.items():
    epoch = model.n_blocks_
    steps = [k for k in (1, 3, 10, 30, 60, 100, 300, 1000) if k < epoch] + [epoch]
    rows = [scored(fixed(model, solver="anytime", max_steps=k), X_train, y_train) for k in steps]
    results[name] = (
        np.array(steps),
        np.array(rows).T,
        scored(fixed(model, solver="exact"), X_train, y_train),
    )

print(f"\n{'':6}{'blocks':>8}{'fit':>9}{'RMSE':>12}{'log density':>14}")
for name, (steps, (seconds, rmse, density), full) in results.items():
    for row in zip(steps, seconds, rmse, density, strict=True):
        print("{:6}{:8,}{:7.1f} s{:8.2f} min{:14.4f}".format(name, *row))
    print("{:6}{:>8}{:7.1f} s{:8.2f} min{:14.4f}".format(name, "exact", *full))

# %%
# The pictures
# ------------
# Above: error and density against steps, the closed form dashed. Below: error against seconds, and
# the paper's two efficiencies, time saved against accuracy kept. The seconds hold everything that
# ``fit`` does, the partition into blocks included, which is why they do not begin near zero.

figure, axes = plt.subplots(2, 2, figsize=(10, 7.2), layout="constrained")
for colour, (name, (steps, (seconds, rmse, density), full)) in zip(
    ("C0", "C1", "C2"), results.items(), strict=True
):
    style = {"color": colour, "marker": "o", "ms": 4, "label": name.upper()}
    axes[0, 0].plot(steps, rmse, **style)
    axes[0, 1].plot(steps, density, **style)
    axes[1, 0].plot(seconds, rmse, **style)
    axes[1, 1].plot(
        time_efficiency(full[0], seconds), predictive_efficiency(full[1], rmse), **style
    )
    for panel, value in ((axes[0, 0], full[1]), (axes[0, 1], full[2]), (axes[1, 0], full[1])):
        panel.axhline(value, color=colour, lw=0.8, ls="--")
axes[0, 0].set(xlabel="steps (blocks seen)", ylabel="RMSE (minutes)", xscale="log")
axes[0, 1].set(xlabel="steps (blocks seen)", ylabel="log density (nats a flight)", xscale="log")
axes[1, 0].set(xlabel="seconds of fit", ylabel="RMSE (minutes)")
axes[1, 1].set(xlabel="time of the closed form / time taken", ylabel="its RMSE / RMSE")
for panel in axes.flat:
    panel.spines[["top", "right"]].set_visible(False)
axes[0, 0].legend(frameon=False)
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "anytime_curves.png", dpi=120)
print(f"\nsaved {args.output / 'anytime_curves.png'}")

# %%
# Why natural gradients
# ---------------------
# The same ascent along the plain gradient in mean and covariance, written out on a small problem:
# 20 blocks of 10 rows of a sine, 8 inducing inputs, q(v) whitened. Both see the same blocks in the
# same order. The plain gradient needs a step small enough for the best-informed direction, and then
# crawls along the others; the natural one takes all directions alike, and one length fits all
# problems.

rng = np.random.default_rng(0)
x, z = rng.uniform(0, 6, 200), np.linspace(0, 6, 8)
targets = np.sin(2 * x) + 0.2 * rng.standard_normal(200)


def kernel(a, b):
    return np.exp(-0.5 * (a[:, None] - b) ** 2 / 0.8**2)


whitened = np.linalg.solve(np.linalg.cholesky(kernel(z, z) + 1e-8 * np.eye(8)), kernel(z, x)) / 0.2
parts = [(part @ part.T, part @ t) for part, t in zip(
    np.split(whitened, 20, axis=1), np.split(targets / 0.2, 20), strict=True)]  # fmt: skip
H, h = (sum(some) for some in zip(*parts, strict=True))


def short_of_optimum(mean, covariance):
    """KL divergence from the optimal q(v), in nats: what the objective still lacks."""
    precision = np.eye(8) + H
    error = mean - np.linalg.solve(precision, h)
    product = precision @ covariance
    return 0.5 * (np.trace(product) - 8 - np.linalg.slogdet(product)[1] + error @ precision @ error)


order = [k for _ in range(10) for k in rng.permutation(20)]
state_H, state_h, natural = np.zeros((8, 8)), np.zeros(8), []
mean, root, plain = np.zeros(8), np.eye(8), []
step = 0.5 / np.linalg.eigvalsh(np.eye(8) + H).max()
for t, k in enumerate(order):
    rho = 1 / (1 + t)
    state_H = (1 - rho) * state_H + rho * 20 * parts[k][0]
    state_h = (1 - rho) * state_h + rho * 20 * parts[k][1]
    covariance = np.linalg.inv(np.eye(8) + state_H)
    natural.append(short_of_optimum(covariance @ state_h, covariance))
    # in the mean and in a root of the covariance, which keeps it positive definite
    slope = 20 * (parts[k][1] - parts[k][0] @ mean) - mean
    bend = np.linalg.inv(root).T - (np.eye(8) + 20 * parts[k][0]) @ root
    mean, root = mean + step * slope / (1 + t / 50), root + step * bend / (1 + t / 50)
    plain.append(short_of_optimum(mean, root @ root.T))
print(
    f"after 10 epochs short of the optimum: natural {natural[-1]:.2g}, plain {plain[-1]:.2g} nats"
)

figure, axes = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
axes.plot(np.arange(1, 201), natural, label="natural gradient")
axes.plot(np.arange(1, 201), plain, label="plain gradient")
axes.set(xlabel="steps", ylabel="short of the optimum (nats)", xscale="log", yscale="log")
axes.set(ylim=(1e-3, None))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output / "anytime_gradients.png", dpi=120)

# %%
# PIC starts ahead: even after one block, a prediction sees the data of its own block, and only the
# smooth part is still rough. A few dozen blocks out of hundreds are enough.
