"""
========================================
Flight delays: a GP on 700,000 real rows
========================================

How late will a flight arrive? This example learns it from 700,000 flights within the USA in
January to April 2008, with the eight inputs of Hensman, Fusi and Lawrence (2013, section 4.3),
and scores the answer on 100,000 flights it has not seen. An exact Gaussian process would need
a 700,000 x 700,000 matrix, about 4 terabytes. :class:`~sklearn_sgp.AnytimeSGPRegressor`
summarises the flights in 256 inducing inputs, adds to each prediction what the flights near it
know, and fits on a laptop. With ``likelihood="auto"`` it learns a scale on which delays scatter
alike, too.

You will see a table against a linear model and gradient boosting, three flights with their
error bars, and ``flight_delays.png``: the delay by hour of departure with three bands, how many
flights of each hour, weekday and month the 90 % band holds, and the relevance of each input
(figure 9 of the paper).

``python plot_flight_delays.py --help`` lists the options; ``--data`` takes the table of all
2,055,733 flights and learns from all but the 100,000 test flights.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from _data import FLIGHT_FEATURES, load_flights

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.metrics import interval_coverage, negative_log_predictive_density
from sklearn_sgp.plotting import RelevanceDisplay

parser = argparse.ArgumentParser(description="Flight delays with a sparse Gaussian process.")
parser.add_argument("--data", help="npz with X, y and split (2: test row) to use instead")
parser.add_argument("--quick", action="store_true", help="20,000 of the flights")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

# %%
# The flights
# -----------
# One row is one flight: age of the plane in years, distance in miles, minutes in the air,
# departure and arrival in minutes after midnight (the actual times, as in the paper), weekday,
# day and month. The target is the arrival delay in minutes, negative when early. No outlier is
# removed. Inputs go in as they are: every input has its own length scale.

X, y, is_test = load_flights(args.data)
X_train, y_train, X_test, y_test = X[~is_test], y[~is_test], X[is_test], y[is_test]
if args.quick:
    X_train, y_train = X_train[:20_000], y_train[:20_000]
    X_test, y_test = X_test[:10_000], y_test[:10_000]

print(
    f"{len(y_train):,} flights to learn from, {len(y_test):,} to predict; "
    f"the delay has mean {y_train.mean():.1f} and standard deviation {y_train.std():.1f} min"
)

# %%
# The mean
# --------
# The default kernel has a smooth and a rough part, each with one length scale for each input. It is
# learned from groups of flights that are near one another. For the mean, that is all it takes.

start = perf_counter()
default = AnytimeSGPRegressor(n_jobs=-1, random_state=0).fit(X_train, y_train)
gp_seconds = {"AnytimeSGPRegressor()": perf_counter() - start}

# %%
# The whole distribution
# ----------------------
# Most flights are a few minutes early or late and a few are hours late, and the scatter is not the
# same at six in the morning and at nine in the evening. ``likelihood="auto"`` finds a scale on
# which delays are less skewed, and whether the noise that is left has heavy tails or differs by
# flight. Delays are whole minutes: it notices, and puts no spikes on these.

start = perf_counter()
model = AnytimeSGPRegressor(likelihood="auto", n_jobs=-1, random_state=0).fit(X_train, y_train)
gp_seconds["AnytimeSGPRegressor(likelihood='auto')"] = perf_counter() - start

of_default = default.predict_distribution(X_test)
start = perf_counter()
predicted = model.predict_distribution(X_test)
mean = predicted.mean()
lower, upper = predicted.ppf(0.05), predicted.ppf(0.95)
print(
    f"predicted {len(y_test):,} flights in {perf_counter() - start:.1f} s; the noise is "
    f"{model.likelihood_}, delays are multiples of {model.resolution_:g} min"
)

# %%
# Against a linear model and gradient boosting
# --------------------------------------------
# These predict a number, not a distribution. To score theirs as well, each gets a Gaussian
# whose standard deviation is that of its residuals on a tenth of the training flights that it
# was not fitted to.

from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

n_fit = len(y_train) * 9 // 10
rivals = {
    "linear regression": LinearRegression(),
    "gradient boosting, defaults": HistGradientBoostingRegressor(random_state=0),
    "gradient boosting, up to 1,000 trees": HistGradientBoostingRegressor(
        max_iter=1000, early_stopping=True, random_state=0
    ),
}
results = {}
for name, rival in rivals.items():
    start = perf_counter()
    rival.fit(X_train[:n_fit], y_train[:n_fit])
    seconds = perf_counter() - start
    residual_std = np.std(y_train[n_fit:] - rival.predict(X_train[n_fit:]))
    results[name] = seconds, rival.predict(X_test), np.full(len(y_test), residual_std)

print(f"\n{'held-out flights':40}{'fit':>7}{'RMSE':>11}{'log density':>13}{'in 90 % band':>14}")


def report(name, seconds, prediction, log_density, low, high):
    rmse = np.sqrt(np.mean((y_test - prediction) ** 2))
    coverage = interval_coverage(y_test, low, high)
    print(f"{name:40}{seconds:5.1f} s{rmse:7.2f} min{log_density:13.4f}{coverage:13.1%}")


for name, (seconds, prediction, width) in results.items():
    density = -negative_log_predictive_density(y_test, prediction, width)
    ends = prediction - 1.645 * width, prediction + 1.645 * width
    report(name, seconds, prediction, density, *ends)
for each, (name, fit_seconds) in zip((of_default, predicted), gp_seconds.items(), strict=True):
    lower, upper = each.ppf(0.05), each.ppf(0.95)
    report(name, fit_seconds, each.mean(), each.logpdf(y_test).mean(), lower, upper)

# %%
# RMSE is in minutes, lower is better; the log density is in nats a flight, higher is better. A band
# of a single width holds more than the 90 % it promises, because a few flights hours late have
# widened it beyond what the many ordinary ones need. What trees cannot cut out of eight columns is
# what near flights know: one route, much the same times, and so the same timetable, to which a
# delay is the difference.
#
# Three flights
# -------------
# One that the model expects early, one in the middle and one it expects late, with the ends of
# their 90 % intervals. These are not symmetric: a flight can be hours late, but not hours early.

flights = np.argsort(mean)[(np.array([0.05, 0.5, 0.95]) * len(mean)).astype(int)]
weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
print()
for i in flights:
    _, miles, _, departure, _, weekday, day, month = X_test[i].astype(int)
    clock = f"{departure // 60:02d}:{departure % 60:02d}"
    print(
        f"{weekdays[weekday - 1]} {day}/{month}, off at {clock}, {miles:,} miles: "
        f"{mean[i]:+.0f} min, 90 % between {lower[i]:+.0f} and {upper[i]:+.0f}; "
        f"it was {y_test[i]:+.0f} min"
    )

# %%
# Right by the hour, not only on average
# --------------------------------------
# Left: for the held-out flights of each hour, the average of the predicted means, and what 50, 80
# and 90 % of their delays should be between, by five draws from each predicted distribution; with
# what was observed (the grey lines after midnight end above the picture). Middle: the share of the
# flights of each hour, weekday and month that is in its 90 % band, where there are at least 1,000
# flights; grey is 87 to 93 %. Right: the standard deviation of each input over its length scale. An
# input with a long length scale, a short bar, hardly moves the prediction.

hour = (X_test[:, 3].astype(int) // 60 - 3) % 24 + 3  # a day of flights begins at three
least = 1000 if len(y_test) > 10_000 else 100
inside = (lower <= y_test) & (y_test <= upper)


def share_inside(groups):
    """Values with enough flights, and the share of theirs in the band."""
    values, counts = np.unique(groups, return_counts=True)
    values = values[counts >= least]
    return values, np.array([inside[groups == value].mean() for value in values])


strata = {
    "hour": share_inside(hour),
    "weekday": share_inside(X_test[:, 5].astype(int)),
    "month": share_inside(X_test[:, 7].astype(int)),
}
for name, (_, shares) in strata.items():
    print(f"in the 90 % band by {name}: {shares.min():.1%} to {shares.max():.1%}")

hours = np.array([h for h in range(3, 27) if np.sum(hour == h) >= 20])


def by_hour(statistic):
    return np.array([statistic[hour == h].mean() for h in hours])


figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(14.5, 4.6), width_ratios=[1.9, 1.1, 0.9], layout="constrained"
)
draws = predicted.rvs(size=(5, len(y_test)), random_state=0)
levels = [0.05, 0.1, 0.25, 0.75, 0.9, 0.95]
bands = np.array([np.quantile(draws[:, hour == h], levels) for h in hours]).T
for k, share, alpha in [(0, 90, 0.15), (1, 80, 0.2), (2, 50, 0.3)]:
    label = f"predicted for {share} %"
    left.fill_between(hours, bands[k], bands[-1 - k], color="C0", alpha=alpha, lw=0, label=label)
seen_low, seen_high = np.array([np.quantile(y_test[hour == h], [0.05, 0.95]) for h in hours]).T
left.plot(hours, by_hour(mean), color="C0", lw=2.5, label="predicted mean")
left.vlines(hours, seen_low, seen_high, color="0.45", lw=1, label="observed for 90 %")
left.plot(hours, by_hour(y_test), "o", color="k", ms=4.5, label="observed mean")
left.axhline(0, color="0.7", lw=0.8, zorder=0)
left.set(
    xlabel="hour of departure",
    ylabel="arrival delay (minutes)",
    title=f"{len(y_test):,} held-out flights",
    ylim=(-75, 215),
)
left.set_xticks(range(3, 27, 3), labels=[f"{h % 24}:00" for h in range(3, 27, 3)])
left.legend(loc="upper left", frameon=False, ncols=2)

middle.axhspan(0.87, 0.93, color="0.9", lw=0)
middle.axhline(0.9, color="0.6", lw=0.8)
place = 0
ticks, labels = [], []
for k, (name, (values, shares)) in enumerate(strata.items()):
    at = place + np.arange(len(values))
    middle.plot(at, shares, "o-", color=f"C{k}", ms=4, lw=1)
    ticks, labels, place = [*ticks, at.mean()], [*labels, f"by {name}"], at[-1] + 6
middle.set(title="Share of flights in their 90 % band", ylim=(0.8, 1.0))
middle.set_xticks(ticks, labels=labels)

RelevanceDisplay.from_estimator(
    model, feature_names=FLIGHT_FEATURES, scale=X_train.std(axis=0), ax=right
)
right.set_xscale("log")  # some inputs are a hundred times as relevant as others
right.set(title="Relevance of each input", xlabel="standard deviations per length scale")
for axes in (left, middle, right):
    axes.spines[["top", "right"]].set_visible(False)
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "flight_delays.png", dpi=120)
print(f"\nsaved {args.output / 'flight_delays.png'}")

# %%
# Delays build up through the day and are passed on from flight to flight; the few that leave
# after midnight are mostly those that should have left long before, because the departure time
# is the actual one. The band is narrow in the morning and wide in the evening, and it is as
# lopsided as the delays are.
