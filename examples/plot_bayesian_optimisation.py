"""
======================================
Search for an optimum with few answers
======================================

A function that costs an hour a value, or a day in a laboratory, is not to be searched on a grid. A
Gaussian process of the values so far says where the next one is worth most: where the mean is low,
or where little is known. Expected improvement weighs the two.

Two test problems, each with noise: Branin's in two dimensions, with three equal minima, and
Hartmann's in three. Each search begins with some random places, the same for all models: a sparse
process that is fitted anew for each value, a stream that learns each value as it comes, and
scikit-learn's exact process. ``bayesian_optimisation.png`` has the regret: how far the place that
each model believes to be best is from the best there is.
"""

import argparse
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm, qmc
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from sklearn_sgp import StreamingSGPRegressor, SVGPRegressor

parser = argparse.ArgumentParser(description="Expected improvement on two test problems.")
parser.add_argument("--quick", action="store_true", help="fewer seeds and evaluations")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the pictures")
parser.add_argument("--seeds", type=int, default=None, help="number of searches")
parser.add_argument("--evaluations", type=int, default=None, help="values that each may ask for")
args = parser.parse_args()
N_SEEDS = args.seeds or (3 if args.quick else 20)
N_EVALUATIONS = args.evaluations or (20 if args.quick else 50)
N_FIRST = 10
warnings.simplefilter("ignore", ConvergenceWarning)  # of length scales at their bounds
# a search goes where values are low: to a stream that looks like a change
warnings.filterwarnings("ignore", message="Batches should go on")

# %%
# Two problems
# ------------
# Both are to be made small, over the unit square and cube, and have their minima inside.


def branin(X):
    """Branin's function; its minimum is 0.398."""
    a, b = 15 * X[:, 0] - 5, 15 * X[:, 1]
    valley = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
    return valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10


WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
STEEPNESS = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
CENTRES = 1e-4 * np.array(
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)


def hartmann(X):
    """Hartmann's function of three inputs; its minimum is -3.863."""
    squares = (STEEPNESS * (X[:, None] - CENTRES) ** 2).sum(axis=2)
    return -np.exp(-squares) @ WEIGHTS


PROBLEMS = {  # name: function, dimensions, minimum, deviation of the noise
    "Branin": (branin, 2, 0.397887, 2.0),
    "Hartmann": (hartmann, 3, -3.86278, 0.1),
}

# %%
# Three models
# ------------
# Kernel and limits of the noise are the same, one length scale for each input. Deviations are those
# of the function, as optimisers mean them, by ``include_noise=False``. With ``warm_start=True`` a
# fit goes on from what the one before has learned. ``GaussianProcessRegressor`` has the noise in a
# ``WhiteKernel``, which is in the deviations that it tells: it has to be taken out. The stream
# begins anew with each value until there are 25, and keeps none from then on. Noise has a limit
# from below, as few values may be explained without any, and a stream learns of it slowly.

NOISE_BOUNDS = (1e-4, 1.0)  # variances, in those of the values


def scaled_kernel(n_inputs):
    """The kernel of all models."""
    return ConstantKernel() * Matern(np.full(n_inputs, 0.3), (0.05, 10.0), nu=2.5)


class FittedAnew:
    """A sparse process, fitted to all values for each that comes."""

    def __init__(self, n_inputs):
        self.model = SVGPRegressor(
            scaled_kernel(n_inputs),
            n_inducing=64,
            noise_variance_bounds=NOISE_BOUNDS,
            include_noise=False,
            warm_start=True,
            random_state=0,
        )

    def learn(self, X, y):
        """Learn from all values."""
        self.model.fit(X, y)


class Streamed:
    """A stream of values, each learned once."""

    def __init__(self, n_inputs):
        self.n_learned = 0
        self.model = StreamingSGPRegressor(
            scaled_kernel(n_inputs),
            n_inducing=64,
            noise_variance_bounds=NOISE_BOUNDS,
            include_noise=False,
            random_state=0,
        )

    def learn(self, X, y):
        """Learn from those that are new."""
        self.model.partial_fit(X[self.n_learned :], y[self.n_learned :])
        self.n_learned = len(X)


class Exact:
    """The exact process of scikit-learn, fitted anew too."""

    def __init__(self, n_inputs):
        kernel = scaled_kernel(n_inputs) + WhiteKernel(0.1, NOISE_BOUNDS)
        self.model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)

    def learn(self, X, y):
        """Learn from all values."""
        self.model.fit(X, y)


MODELS = {
    "SVGPRegressor": FittedAnew,
    "StreamingSGPRegressor": Streamed,
    "GaussianProcessRegressor": Exact,
}


def function_moments(model, X):
    """Mean and deviation of the function, without the noise of a value."""
    mean, std = model.predict(X, return_std=True)
    if isinstance(model, GaussianProcessRegressor):
        noise = model.kernel_.k2.noise_level * model._y_train_std**2
        std = np.sqrt(np.maximum(std**2 - noise, 1e-12))
    return mean, std


# %%
# The search
# ----------
# Expected improvement over the lowest mean at the places so far: with noise the lowest *value* is
# luck. It is looked for among 1,000 random places and 200 close to the place believed best.


def next_place(model, X, rng):
    """The place that promises most."""
    best = X[np.argmin(model.predict(X))]
    wide, near = rng.uniform(size=(1000, X.shape[1])), rng.normal(best, 0.03, (200, X.shape[1]))
    places = np.clip(np.vstack([wide, near]), 0, 1)
    mean, std = function_moments(model, places)
    gain = model.predict(X).min() - mean
    return places[np.argmax(gain * norm.cdf(gain / std) + std * norm.pdf(gain / std))]


def search(make, problem, seed):
    """Regret after each value, and the seconds of all fits and predictions."""
    function, n_inputs, minimum, noise = PROBLEMS[problem]
    rng = np.random.default_rng(seed)
    X = qmc.Sobol(n_inputs, rng=seed).random(16)[:N_FIRST]
    y = function(X) + noise * rng.normal(size=N_FIRST)
    learner, regrets, begin = make(n_inputs), [], time.process_time()
    for _ in range(N_EVALUATIONS - N_FIRST):
        learner.learn(X, y)
        model = learner.model
        place = next_place(model, X, rng)
        X = np.vstack([X, place])
        y = np.append(y, function(X[-1:]) + noise * rng.normal())
        believed = X[np.argmin(model.predict(X))]
        regrets.append(function(believed[None])[0] - minimum)
    return np.array(regrets), time.process_time() - begin


# %%
# Regret
# ------
# Lines are means over the searches, bands two standard errors of them.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for ax, problem in zip(axes, PROBLEMS, strict=True):
    for name, make in MODELS.items():
        runs = [search(make, problem, seed) for seed in range(N_SEEDS)]
        regrets = np.array([run[0] for run in runs])
        mean, error = regrets.mean(axis=0), regrets.std(axis=0) / np.sqrt(N_SEEDS)
        evaluations = np.arange(N_FIRST + 1, N_EVALUATIONS + 1)
        (line,) = ax.plot(evaluations, mean, label=name)
        low, high = np.maximum(mean - 2 * error, 1e-3), mean + 2 * error
        ax.fill_between(evaluations, low, high, color=line.get_color(), alpha=0.2, lw=0)
        seconds = np.mean([run[1] for run in runs])
        print(
            f"{problem}, {name}: regret {mean[-1]:.3f} +- {error[-1]:.3f} after {N_EVALUATIONS} "
            f"values of {N_SEEDS} searches, {seconds:.1f} s of CPU each"
        )
    ax.set(title=problem, xlabel="values asked for", ylabel="regret", yscale="log")
axes[0].legend()
fig.savefig(args.output / "bayesian_optimisation.png", dpi=150)
