"""
===================================
A boundary that grows from the left
===================================

The banana data again, but sorted by the first input and cut into three batches, each seen once:
the hardest order there is. Does :class:`~sklearn_sgp.StreamingSGPClassifier` keep the part of the
boundary whose rows are gone?

You will see the error on 4,900 held-out rows after each batch, beside a classifier that sees all
rows at once and a linear one that streams, and ``streaming_classification.png``: three panels with
the probability of a class, the boundary, the inducing inputs, and the rows of the batch.

``python plot_streaming_classification.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from _data import load_small
from sklearn.linear_model import SGDClassifier

from sklearn_sgp import StreamingSGPClassifier, SVGPClassifier

parser = argparse.ArgumentParser(description="A streaming sparse GP classifier on banana.")
parser.add_argument("--quick", action="store_true", help="fewer iterations")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

X, y, is_test = load_small("banana")
X_test, y_test = X[is_test], y[is_test]
X, y = X[~is_test], y[~is_test]
order = np.argsort(X[:, 0], kind="stable")

# %%
# Three batches
# -------------
# The first call names all classes, as a batch may lack one.

model = StreamingSGPClassifier(n_inducing=30, max_iter=5 if args.quick else 20, random_state=0)
linear = SGDClassifier(loss="log_loss", random_state=0)
side = np.linspace(-3.5, 3.5, 60 if args.quick else 160)
grid = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
figure, panels = plt.subplots(1, 3, figsize=(13, 4.3), sharey=True, layout="constrained")
for k, (panel, batch) in enumerate(zip(panels, np.array_split(order, 3), strict=True)):
    model.partial_fit(X[batch], y[batch], classes=[-1, 1])
    linear.partial_fit(X[batch], y[batch], classes=[-1, 1])
    error, worse = 1.0 - model.score(X_test, y_test), 1.0 - linear.score(X_test, y_test)
    print(f"after batch {k + 1}: error {error:.3f}; linear model {worse:.3f}")
    probability = model.predict_proba(grid)[:, 1].reshape(len(side), -1)
    shade = panel.contourf(side, side, probability, np.linspace(0, 1, 21), cmap="RdBu_r", alpha=0.8)
    panel.contour(side, side, probability, [0.5], colors="k", linewidths=1.5)
    panel.scatter(*X[batch].T, s=8, c=np.where(y[batch] > 0, "C3", "C0"), edgecolor="w", lw=0.3)
    panel.scatter(*model.inducing_points_.T, marker="x", color="k", s=25)
    panel.set(title=f"after batch {k + 1}: error {error:.3f}", xlim=(-3.5, 3.5), ylim=(-3.5, 3.5))
figure.colorbar(shade, ax=panels, label="probability of class 1")
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "streaming_classification.png", dpi=120)
print(f"saved {args.output / 'streaming_classification.png'}")

at_once = SVGPClassifier(n_inducing=30, max_iter=5 if args.quick else 100, random_state=0).fit(X, y)
print(f"all rows at once: error {1.0 - at_once.score(X_test, y_test):.3f}")
