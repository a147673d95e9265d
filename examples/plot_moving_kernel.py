"""
=================================================
Why a stream must know which kernel made its past
=================================================

Streaming variational Bayes takes the posterior after one batch as the prior of the next. That is
right as long as the model stays. A Gaussian process whose kernel is learned along the stream does
not stay: the posterior after the first batches holds the first kernel's prior wherever no row has
been yet, and no later batch takes it out again (Bui, Nguyen and Turner 2017, section 3.3).
Their streaming bound divides the old posterior by the prior that made it, and multiplies by the
prior of the kernel that it tries. :class:`~sklearn_sgp.StreamingSGPRegressor` learns by it.

You will see the length scale, the noise and the log density of new rows after each batch, for both
ways written out in a few lines of NumPy, beside the exact process on all rows so far, and
``moving_kernel.png``, which draws them.

``python plot_moving_kernel.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import StreamingSGPRegressor

parser = argparse.ArgumentParser(description="A stream whose kernel moves, in two ways.")
parser.add_argument("--quick", action="store_true", help="fewer batches")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

NOISE, SIZE, N_BATCHES = 0.2, 20, 5 if args.quick else 15
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 10.0, SIZE * N_BATCHES))
x_new = np.linspace(0.0, 10.0, 500)


def truth(x):
    return np.sin(3.0 * x) + 0.5 * np.cos(4.3 * x)


y = truth(x) + NOISE * rng.standard_normal(len(x))
y_new = truth(x_new) + NOISE * rng.standard_normal(len(x_new))
z = np.linspace(0.0, 10.0, 40)  # inducing inputs, which stay

# %%
# Two ways to go on
# -----------------
# The unknowns are the logarithms of length scale and noise variance; the kernel has variance 1.
# Both ways begin with a length scale of 3, six times too long, and learn after every batch, from
# that batch and what they kept.


def gram(a, b, scale):
    return np.exp(-0.5 * ((a[:, None] - b) / scale) ** 2)


class Model:
    """K(Z, Z), the projection of rows on it, and what it leaves of their variance."""

    def __init__(self, theta, x):
        self.scale, self.s2 = np.exp(theta)
        self.K = gram(z, z, self.scale) + 1e-6 * np.eye(len(z))
        self.A = np.linalg.solve(self.K, gram(z, x, self.scale)).T
        self.left = np.sum(1.0 - np.sum((self.A @ self.K) * self.A, axis=1)) / self.s2


def log_normal(y, covariance):
    L = np.linalg.cholesky(covariance)
    half = np.linalg.solve(L, y)
    return -0.5 * half @ half - np.log(np.diag(L)).sum() - 0.5 * len(y) * np.log(2.0 * np.pi)


class Plain:
    """The old posterior N(m, S) of u is the prior of the next batch, whatever kernel made it."""

    def __init__(self):
        first = Model(np.log([3.0, 0.1]), x[:1])
        self.m, self.S = np.zeros(len(z)), first.K

    def objective(self, theta, x, y):
        model = Model(theta, x)
        covariance = model.A @ self.S @ model.A.T + model.s2 * np.eye(len(y))
        return log_normal(y - model.A @ self.m, covariance) - 0.5 * model.left

    def add(self, theta, x, y):
        model = Model(theta, x)
        AS = model.A @ self.S
        gain = np.linalg.solve(AS @ model.A.T + model.s2 * np.eye(len(y)), AS).T
        self.m, self.S = self.m + gain @ (y - model.A @ self.m), self.S - gain @ AS

    def posterior(self, model):
        return self.m, self.S


class Divided:
    """What is kept is the old posterior over its prior: exp(-u^T D u / 2 + d^T u)."""

    def __init__(self):
        self.D, self.d = np.zeros((len(z), len(z))), np.zeros(len(z))

    def objective(self, theta, x, y):
        model = Model(theta, x)
        D, d = self.D + model.A.T @ model.A / model.s2, self.d + model.A.T @ y / model.s2
        rows = -0.5 * y @ y / model.s2 - 0.5 * len(y) * np.log(2.0 * np.pi * model.s2)
        L = np.linalg.cholesky(model.K)
        precision, Ld = np.eye(len(z)) + L.T @ D @ L, L.T @ d
        evidence = 0.5 * Ld @ np.linalg.solve(precision, Ld) - 0.5 * np.linalg.slogdet(precision)[1]
        return rows + evidence - 0.5 * model.left

    def add(self, theta, x, y):
        model = Model(theta, x)
        self.D += model.A.T @ model.A / model.s2
        self.d += model.A.T @ y / model.s2

    def posterior(self, model):
        L = np.linalg.cholesky(model.K)
        S = L @ np.linalg.solve(np.eye(len(z)) + L.T @ self.D @ L, L.T)
        return S @ self.d, S


def exact(theta, x, y):
    scale, s2 = np.exp(theta)
    return log_normal(y, gram(x, x, scale) + s2 * np.eye(len(y)))


def learned(objective, theta, *rows):
    bounds = [(np.log(0.05), np.log(20.0)), (np.log(1e-4), np.log(10.0))]
    return minimize(lambda t: -objective(t, *rows), theta, method="L-BFGS-B", bounds=bounds).x


def density(way, theta):
    """Mean log density of new rows all over the line."""
    model = Model(theta, x_new)
    m, S = way.posterior(model)
    variance = 1.0 + model.s2 - np.sum((model.A @ (model.K - S)) * model.A, axis=1)
    error = y_new - model.A @ m
    return np.mean(-0.5 * error**2 / variance - 0.5 * np.log(2.0 * np.pi * variance))


# %%
# Along the stream
# ----------------

ways = {"plain": Plain(), "divided by its prior": Divided()}
found = {name: [] for name in [*ways, "exact"]}
theta = dict.fromkeys(found, np.log([3.0, 0.1]))
print(f"{'batch':>5}  {'length scale':^30}  {'log density':^18}")
print(f"{'':5}  {'plain':>8} {'divided':>9} {'exact':>9}   {'plain':>8} {'divided':>9}")
for k in range(N_BATCHES):
    rows = slice(k * SIZE, (k + 1) * SIZE)
    for name, way in ways.items():
        theta[name] = learned(way.objective, theta[name], x[rows], y[rows])
        way.add(theta[name], x[rows], y[rows])
        found[name].append([*np.exp(theta[name]), density(way, theta[name])])
    theta["exact"] = learned(exact, theta["exact"], x[: rows.stop], y[: rows.stop])
    found["exact"].append([*np.exp(theta["exact"]), np.nan])
    scales = [found[name][-1][0] for name in found]
    last = [found[name][-1][2] for name in ways]
    print(("{:5}  " + "{:9.3f} " * 3 + "  {:9.3f} {:9.3f}").format(k + 1, *scales, *last))

ours = StreamingSGPRegressor(RBF(3.0), noise_variance=0.1, n_inducing=len(z), random_state=0)
ours.set_params(normalize_y=False)
for k in range(N_BATCHES):
    rows = slice(k * SIZE, (k + 1) * SIZE)
    ours.partial_fit(x[rows, None], y[rows])
print(
    "StreamingSGPRegressor, whose inducing inputs move: length scale "
    f"{ours.kernel_.length_scale:.3f}, log density "
    f"{ours.log_density(x_new[:, None], y_new).mean():.3f}"
)

# %%
# The pictures
# ------------

figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
batches = np.arange(1, N_BATCHES + 1)
for (name, course), colour in zip(found.items(), ("C3", "C0", "k"), strict=True):
    scale, noise, log_density = np.array(course).T
    style = {"color": colour, "label": name, "ls": "--" if name == "exact" else "-"}
    for panel, line in zip(panels, (scale, np.sqrt(noise), log_density), strict=True):
        panel.plot(batches, line, **style)
panels[0].set(xlabel="batches", ylabel="length scale", yscale="log")
panels[1].set(xlabel="batches", ylabel="standard deviation of the noise", yscale="log")
panels[2].set(xlabel="batches", ylabel="log density of new rows")
panels[0].legend(frameon=False)
for panel in panels:
    panel.spines[["top", "right"]].set_visible(False)
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "moving_kernel.png", dpi=120)
print(f"saved {args.output / 'moving_kernel.png'}")
