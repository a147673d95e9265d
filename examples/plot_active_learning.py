"""
=======================================
Which value to ask for next in a stream
=======================================

A thousand places could be measured, most of them near two towns, and each value costs a day. Which
ones give a map of the whole country? :class:`~sklearn_sgp.StreamingSGPRegressor` says how sure it
is of each place: the next value is asked for where its deviation is largest, learned as a batch of
one row, and need not be kept (Bui, Nguyen and Turner 2017, section 5).

You will see the error all over the country after each value, beside that of places taken at random,
and ``active_learning.png``: the errors, and which places were asked for.

``python plot_active_learning.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sklearn_sgp import StreamingSGPRegressor

parser = argparse.ArgumentParser(description="A stream that asks for its next row, or does not.")
parser.add_argument("--quick", action="store_true", help="fewer countries and values")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

N_PLACES, N_FIRST, NOISE = 1000, 30, 0.1
N_COUNTRIES, N_MORE = (3, 40) if args.quick else (10, 60)

# %%
# The countries
# -------------
# Nine of ten places are near one of two towns, which are elsewhere in each country. What counts is
# the error all over the square.


def height(X):
    return np.sin(2.0 * X[:, 0]) * np.cos(1.5 * X[:, 1]) + 0.5 * np.sin(X[:, 0] * X[:, 1])


def country(seed):
    """Places that could be measured, and what would be found there, in random order."""
    rng = np.random.default_rng(seed)
    town = rng.uniform(0.5, 2.5, (2, 2))[rng.integers(2, size=N_PLACES)]
    near_town = np.clip(town + 0.3 * rng.standard_normal((N_PLACES, 2)), 0.0, 3.0)
    anywhere = rng.uniform(0.0, 3.0, (N_PLACES, 2))
    X = np.where(rng.random((N_PLACES, 1)) < 0.9, near_town, anywhere)
    return X, height(X) + NOISE * rng.standard_normal(N_PLACES)


side = np.linspace(0.0, 3.0, 50)
everywhere = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)

# %%
# Asked for, or taken as they come
# --------------------------------
# Both begin with the same random places. ``include_noise=False`` makes deviations those of the
# function. A stream that finds its own units, as it does by default, also watches whether its
# targets change in time, and follows them; here only the place changes, and ``normalize_y`` gives
# the units.


def explored(seed, asks):
    """Root mean squared errors after each value, and places in the order of their values."""
    X, y = country(seed)
    model = StreamingSGPRegressor(
        n_inducing=60, normalize_y=(0.0, 1.0), include_noise=False, random_state=0
    )
    model.partial_fit(X[:N_FIRST], y[:N_FIRST])
    known, left, errors = [], np.arange(N_FIRST, N_PLACES), []
    for _ in range(N_MORE):
        chosen = np.argmax(model.predict_std(X[left])) if asks else 0
        known.append(left[chosen])
        left = np.delete(left, chosen)
        model.partial_fit(X[known[-1:]], y[known[-1:]])
        error = model.predict(everywhere) - height(everywhere)
        errors.append(np.sqrt(np.mean(error**2)))
    return np.array(errors), X[known]


begin, found = time.process_time(), {}
for asks, name in ((False, "at random"), (True, "asked for")):
    runs = [explored(seed, asks) for seed in range(N_COUNTRIES)]
    errors = np.array([run[0] for run in runs])
    found[name] = errors, runs[0][1]
    spread = errors.std(axis=0, ddof=1) / np.sqrt(N_COUNTRIES)
    print(
        f"{name}: RMSE {errors[:, 9].mean():.3f} after 10 more values, {errors[:, -1].mean():.3f} "
        f"+- {spread[-1]:.3f} after {N_MORE} (mean of {N_COUNTRIES} countries)"
    )
random, asked = (errors for errors, _ in found.values())
reached = [1 + np.sum(mine >= theirs[-1]) for mine, theirs in zip(asked, random, strict=True)]
values = 2 * N_COUNTRIES * N_MORE
print(
    f"what {N_MORE} random values reach is reached by {np.median(reached):.0f} that are asked for "
    f"(median); {1000 * (time.process_time() - begin) / values:.0f} ms a value, maps included"
)

# %%
# The pictures
# ------------

figure, (left, *maps) = plt.subplots(
    1, 3, figsize=(12, 3.8), width_ratios=[1.4, 1, 1], layout="constrained"
)
for (name, (errors, places)), panel, colour in zip(found.items(), maps, ("C3", "C0"), strict=True):
    count = np.arange(N_FIRST + 1, N_FIRST + N_MORE + 1)
    left.plot(count, errors.T, color=colour, lw=0.5, alpha=0.4)
    left.plot(count, errors.mean(axis=0), color=colour, lw=2, label=name)
    X, _ = country(0)
    panel.plot(*X.T, ".", color="0.8", ms=3)
    panel.plot(*X[:N_FIRST].T, ".", color="k", ms=5)
    panel.plot(*places.T, "o", color=colour, ms=5)
    panel.set(title=f"{name}, first country", aspect="equal", xticks=[], yticks=[])
left.set(xlabel="values so far", ylabel="RMSE all over the country", yscale="log")
left.legend(frameon=False)
left.spines[["top", "right"]].set_visible(False)
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "active_learning.png", dpi=120)
print(f"saved {args.output / 'active_learning.png'}")
