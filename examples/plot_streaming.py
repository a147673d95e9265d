"""
=================================
A posterior that follows the data
=================================

Rows come from left to right, 200 at a time, and are gone once seen. What does the model know after
each batch, and does it keep what it knew? :class:`~sklearn_sgp.StreamingSGPRegressor` chooses its
inducing inputs anew with every batch, from the old ones and the new rows, learns the length scale
and the noise, and updates the posterior.

You will see, batch by batch, the error of what was seen so far, the noise it believes in and
seconds, beside an exact GP on all rows at the end; and ``streaming.png``, a row of panels: the
mean, the 90 % band of the function, the inducing inputs, and the rows of the batch among those that
are gone.

``python plot_streaming.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from sklearn_sgp import StreamingSGPRegressor

parser = argparse.ArgumentParser(description="A streaming sparse GP on a line.")
parser.add_argument("--quick", action="store_true", help="fewer rows")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()


def truth(x):
    return np.sin(2.0 * x) + 0.5 * np.cos(3.1 * x)


rng = np.random.default_rng(0)
size = 60 if args.quick else 200
X = np.sort(rng.uniform(0.0, 10.0, (5 * size, 1)), axis=0)
y = truth(X[:, 0]) + 0.1 * rng.standard_normal(len(X))

# %%
# One batch after another
# -----------------------
# A stream is a loop of ``partial_fit``.

grid = np.linspace(-0.5, 10.5, 400)[:, None]
model = StreamingSGPRegressor(n_inducing=30, random_state=0)
figure, panels = plt.subplots(1, 5, figsize=(16, 3.2), sharey=True, layout="constrained")
for k, panel in enumerate(panels):
    batch = slice(k * size, (k + 1) * size)
    start = perf_counter()
    model.partial_fit(X[batch], y[batch])
    seconds = perf_counter() - start

    seen = grid[(grid[:, 0] > 0.0) & (grid[:, 0] < X[batch].max())]
    error = np.sqrt(np.mean((model.predict(seen) - truth(seen[:, 0])) ** 2))
    noise = np.sqrt(model.noise_variance_) * model.y_scale_
    print(
        f"batch {k + 1}: RMSE so far {error:.4f}, noise {noise:.3f}, "
        f"{len(model.inducing_points_)} inducing inputs, {seconds:.2f} s"
    )
    mean, std = model.predict(grid), model.predict_std(grid, include_noise=False)
    panel.fill_between(grid[:, 0], mean - 1.645 * std, mean + 1.645 * std, color="C0", alpha=0.25)
    panel.plot(grid[:, 0], mean, "C0", label="mean, 90 % band")
    panel.plot(grid[:, 0], truth(grid[:, 0]), "k--", linewidth=0.8, label="truth")
    panel.plot(X[: batch.start], y[: batch.start], ",", color="0.5")
    panel.plot(X[batch], y[batch], ".", markersize=2, color="C1", label="this batch")
    panel.plot(model.inducing_points_, np.full(len(model.inducing_points_), -3.2), "k|")
    panel.set(title=f"after batch {k + 1}", ylim=(-3.5, 3.5), xlabel="x")
panels[0].legend(loc="upper right", fontsize="small")
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "streaming.png", dpi=120)
print(f"saved {args.output / 'streaming.png'}")

# %%
# Against all rows at once
# ------------------------

exact = GaussianProcessRegressor(
    ConstantKernel() * RBF() + WhiteKernel(0.01), normalize_y=True, random_state=0
).fit(X, y)
seen = grid[(grid[:, 0] > 0.0) & (grid[:, 0] < 10.0)]
error = np.sqrt(np.mean((exact.predict(seen) - truth(seen[:, 0])) ** 2))
print(f"exact GP on all {len(X)} rows at once: RMSE {error:.4f}")
print(f"length scales: {model.kernel_.k2.length_scale:.2f} streaming, ", end="")
print(f"{exact.kernel_.k1.k2.length_scale:.2f} exact")
