"""
====================================
Are the error bars right, and where?
====================================

Two models of flight delays. The first has the same Gaussian noise everywhere. The second learns how
the noise depends on the flight, and a scale on which delays are normal. Which one keeps what its
intervals promise, over all flights and in the morning, at noon and in the evening?

You will see ``calibration.png``: the share of flights that intervals of any probability hold, and
``residuals.png``: standardised residuals against the prediction and some inputs.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from _data import FLIGHT_FEATURES, load_flights

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.plotting import CalibrationDisplay, ResidualDisplay

parser = argparse.ArgumentParser(description="Error bars of flight delays, checked.")
parser.add_argument("--quick", action="store_true", help="a few thousand flights, a few seconds")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the pictures")
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)
n_rows, n_inducing, max_iter = (2_000, 20, 20) if args.quick else (20_000, 100, 200)

# %%
# Two models
# ----------
# ``likelihood="auto"`` compares kinds of noise and warps of the targets, and takes what predicts
# best.

X, y, is_test = load_flights()
X_train, y_train = X[~is_test][:n_rows], y[~is_test][:n_rows]
X_test, y_test = X[is_test][:n_rows], y[is_test][:n_rows]
settings = {"n_inducing": n_inducing, "max_iter": max_iter, "random_state": 0}
models = {
    "the same noise everywhere": SVGPRegressor(**settings),
    'likelihood="auto"': SVGPRegressor(likelihood="auto", **settings),
}
for model in models.values():
    model.fit(X_train, y_train)

# %%
# Promised and kept
# -----------------
# On the diagonal, intervals of probability p hold a share p of the flights. Above it they are too
# wide, below it too narrow. Take flights that the models did not see.

departure = X_test[:, FLIGHT_FEATURES.index("departure time")]
part_of_day = np.array(["before 9", "9 to 16", "after 16"])[np.digitize(departure, [540, 960])]

figure, panes = plt.subplots(1, 2, figsize=(10.5, 5), layout="constrained")
print(f"{'share in the 90 % interval':28}{'all':>10}", *np.unique(part_of_day), sep="  ")
for pane, (name, model) in zip(panes, models.items(), strict=True):
    display = CalibrationDisplay.from_estimator(model, X_test, y_test, groups=part_of_day, ax=pane)
    pane.set_title(name)
    (shares,) = display.coverage[:, np.isclose(display.levels, 0.9)].T
    print(f"{name:28}", *(f"{share:8.1%}" for share in shares), sep="  ")
figure.savefig(args.output / "calibration.png", dpi=120)

# %%
# One noise for all flights is too large for most: delays are mostly small, and a few are very
# large. Its 90 % intervals hold more than they promise, and its 50 % intervals hold far more.
#
# What the residuals say
# ----------------------
# A line off zero is structure that the mean leaves. A band that is narrower than the dashed lines
# in one place and wider in another is noise that depends on the input, and one that reaches
# further up than down is skewed.

model = models["the same noise everywhere"]
columns = [FLIGHT_FEATURES.index(name) for name in ("departure time", "distance")]
mean, std = model.predict(X_test, return_std=True)
display = ResidualDisplay.from_predictions(
    y_test,
    mean,
    std,
    columns=[X_test[:, column] for column in columns],
    names=["departure, minutes after midnight", "distance, miles"],
    random_state=0,
)
for pane in display.axes_:
    pane.set_ylim(-3, 5)
display.figure_.savefig(args.output / "residuals.png", dpi=120)
print(f"saved {args.output / 'calibration.png'} and {args.output / 'residuals.png'}")
