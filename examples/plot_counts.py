"""
=================================
Counts, and targets with outliers
=================================

Not every target is a number with Gaussian noise. ``likelihood="poisson"`` is for counts,
``likelihood="student_t"`` for numbers of which a few are far off: the names stand for
:class:`~sklearn_sgp.likelihoods.Poisson` and :class:`~sklearn_sgp.likelihoods.StudentT`.
Predictions, intervals and densities are those of the target itself.

You will see the log density of each model beside the Gaussian one, and ``counts.png``: coal mining
disasters in Britain over a century, a count for every third of a year, and the acceleration of a
rider's head in a motorcycle accident.

``python plot_counts.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from _data import load_small
from sklearn.model_selection import KFold

from sklearn_sgp import SVGPRegressor

parser = argparse.ArgumentParser(description="Poisson and Student-t likelihoods.")
parser.add_argument("--quick", action="store_true", help="two folds in place of ten")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

# %%
# Which likelihood?
# -----------------
# The mean log density of rows that were held out decides, in nats a row: probabilities of counts,
# and densities in units of the target. A density is no probability, so a Gaussian for counts may be
# above one where the counts are few; that it is still below says enough.

folds = KFold(2 if args.quick else 10, shuffle=True, random_state=0)
figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
sets = [
    ("coal_mining", "poisson", "year", "disasters in a third of a year"),
    ("mcycle", "student_t", "milliseconds after the impact", "acceleration (g)"),
]
for panel, (name, likelihood, x_label, y_label) in zip(panels, sets, strict=True):
    X, y, _ = load_small(name)
    for candidate in ("gaussian", likelihood):
        model = SVGPRegressor(likelihood=candidate, n_inducing=20, random_state=0)
        held_out = [
            model.fit(X[train], y[train]).log_density(X[test], y[test])
            for train, test in folds.split(X)
        ]
        print(f"{name:12}{candidate:10} mean log density {np.concatenate(held_out).mean():.3f}")

    # %%
    # Mean and 90 % interval of a new observation. Those of counts are whole numbers.

    model = SVGPRegressor(likelihood=likelihood, n_inducing=20, random_state=0).fit(X, y)
    grid = np.linspace(X.min(), X.max(), 400)[:, None]
    low, high = model.predict_quantiles(grid, [0.05, 0.95]).T
    panel.fill_between(
        grid[:, 0], low, high, color="C0", alpha=0.2, lw=0, label="90 % of observations"
    )
    panel.plot(grid[:, 0], model.predict(grid), color="C0", lw=2, label="mean")
    panel.plot(X[:, 0], y, ".", color="0.3", ms=4, label="observed")
    panel.set(xlabel=x_label, ylabel=y_label, title=f'likelihood="{likelihood}"')
    panel.spines[["top", "right"]].set_visible(False)
panels[0].legend(frameon=False)
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "counts.png", dpi=120)
print(f"saved {args.output / 'counts.png'}")
