"""
====================
Categories as inputs
====================

A station, a carrier or a product is no number, and one column of zeros and ones for each says only
whether two of them are the same. :class:`~sklearn_sgp.kernels.Categorical` learns how alike they
are: ``categorical_features=`` puts it into the default kernel, ``Columns(Categorical(), [...])``
into any other.

You will see the daily curves of 60 stations, each of which is a mixture of two curves that nobody
has seen, learned from 12 rows a station: by a model that does not know the station, one that has a
column for each station, and one that learns which are alike. ``categories.png`` has two stations
with few rows, the correlations of all that were learned beside the true ones, and the errors.

``python plot_categories.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from sklearn_sgp import SVGPRegressor

parser = argparse.ArgumentParser(description="Stations that share their daily curves.")
parser.add_argument("--quick", action="store_true", help="fewer stations")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

# %%
# The data
# --------
# A curve with a peak in the morning and one in the evening, and one with a peak at noon. Stations
# have names, in no order that would tell which are alike, and the first two only five rows each.

n_stations, n_each = (20, 15) if args.quick else (60, 12)
rng = np.random.default_rng(0)
angle = rng.permutation(np.linspace(0.0, np.pi, n_stations))
weights = np.column_stack([np.cos(angle), np.sin(angle)])
level = 0.5 * rng.standard_normal(n_stations)
names = np.array([f"station {k:02d}" for k in range(n_stations)], dtype=object)


def curve(hour, station):
    """Expected value at an hour of the day."""
    commute = np.exp(-0.5 * ((hour - 8) / 1.5) ** 2) + np.exp(-0.5 * ((hour - 18) / 2) ** 2)
    noon = np.exp(-0.5 * ((hour - 13) / 3) ** 2)
    basis = np.stack([2.0 * commute - 0.7, 2.0 * noon - 0.7], axis=-1)
    return level[station] + (weights[station] * basis).sum(axis=-1)


def observed(station):
    """Rows of some stations at random hours: a table of hour and name, and what was measured."""
    hour = rng.uniform(0.0, 24.0, len(station))
    table = np.column_stack([hour.astype(object), names[station]])
    return table, curve(hour, station) + 0.2 * rng.standard_normal(len(station))


count = np.where(np.arange(n_stations) < 2, 5, n_each)
X, y = observed(np.repeat(np.arange(n_stations), count))
X_test, y_test = observed(np.repeat(np.arange(n_stations), 50))

# %%
# Three models, and boosting
# --------------------------


def hours(table):
    """The hour alone."""
    return table[:, :1].astype(float)


def one_hot(table):
    """The hour, and a column of zeros and ones for each station."""
    return np.column_stack([table[:, 0], table[:, 1:] == names]).astype(float)


options = {"random_state": 0, "n_inducing": 150, "max_iter": 1000}
if args.quick:
    options["tol"] = 1e-3
models = {
    "no stations": (SVGPRegressor(**options), hours),
    "one-hot": (SVGPRegressor(**options), one_hot),
    "categories": (SVGPRegressor(categorical_features=[1], **options), lambda table: table),
}
errors = {}
for name, (model, columns) in models.items():
    start = perf_counter()
    model.fit(columns(X), y)
    seconds = perf_counter() - start
    errors[name] = np.sqrt(np.mean((model.predict(columns(X_test)) - y_test) ** 2))
    density = model.log_density(columns(X_test), y_test).mean()
    print(f"{name:12s} RMSE {errors[name]:.3f}, log density {density:6.3f}, {seconds:.1f} s")
codes = {name: k for k, name in enumerate(names)}
as_codes = [
    np.column_stack([table[:, 0], [codes[name] for name in table[:, 1]]]).astype(float)
    for table in (X, X_test)
]
boosting = HistGradientBoostingRegressor(categorical_features=[1], random_state=0)
errors["boosting"] = np.sqrt(
    np.mean((boosting.fit(as_codes[0], y).predict(as_codes[1]) - y_test) ** 2)
)
print(f"{'boosting':12s} RMSE {errors['boosting']:.3f} (noise alone: 0.2)")

# %%
# What it has learned
# -------------------
# Middle: the correlation of two stations is that of their functions, levels left out, as the
# learned kernel has it. The true one is that of two mixtures of the curves. Right, below: a station
# that was not there may be like any of the others, so that its mean is theirs and its band is wide.

model = models["categories"][0]
print(f"\n{model.kernel_}")
whole = np.arange(n_stations)[:, None].astype(float)


def correlations(covariance):
    """From covariances."""
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation)


order = np.argsort(angle)
grid = np.linspace(0.0, 24.0, 200)
figure, axes = plt.subplots(2, 3, figsize=(11, 6), layout="constrained")
for station, axis in zip((0, 1), axes[:, 0], strict=True):
    table = np.column_stack([grid.astype(object), np.full(200, names[station])])
    mean, std = model.predict(table), model.predict_std(table, include_noise=False)
    axis.fill_between(grid, mean - 2 * std, mean + 2 * std, alpha=0.3, linewidth=0)
    axis.plot(grid, mean, label="mean, 2 sd")
    axis.plot(grid, curve(grid, station), "k--", linewidth=1, label="truth")
    own = X[:, 1] == names[station]
    axis.plot(hours(X)[own], y[own], "k.", label="all its rows")
    axis.set(title=names[station], xlabel="hour", xlim=(0, 24))
axes[0, 0].legend(fontsize="small")

terms = model.kernel_.get_params()
learned = next(value for name, value in terms.items() if type(value).__name__ == "Categorical")(
    whole
)
for axis, matrix, title in (
    (axes[0, 1], correlations(learned), "learned correlations"),
    (axes[1, 1], correlations(weights @ weights.T), "true correlations"),
):
    picture = axis.imshow(matrix[np.ix_(order, order)], vmin=-1, vmax=1, cmap="RdBu")
    axis.set(title=title, xticks=[], yticks=[], xlabel="stations, alike ones together")
figure.colorbar(picture, ax=axes[:, 1], shrink=0.6)

axes[0, 2].barh(list(errors), list(errors.values()))
axes[0, 2].axvline(0.2, color="k", linestyle="--", linewidth=1)
axes[0, 2].set(title="RMSE (dashed: the noise)")
axes[0, 2].invert_yaxis()

table = np.column_stack([grid.astype(object), np.full(200, "a new station")])
mean, std = model.predict(table), model.predict_std(table, include_noise=False)
axes[1, 2].fill_between(grid, mean - 2 * std, mean + 2 * std, alpha=0.3, linewidth=0)
axes[1, 2].plot(grid, mean)
for station in range(n_stations):
    axes[1, 2].plot(grid, curve(grid, station), "k", linewidth=0.3, alpha=0.5)
axes[1, 2].set(title="a new station, and all others", xlabel="hour", xlim=(0, 24))

args.output.mkdir(parents=True, exist_ok=True)
path = args.output / "categories.png"
figure.savefig(path, dpi=110)
print(f"\nsaved {path}")
