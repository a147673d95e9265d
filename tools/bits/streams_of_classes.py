"""Configurations of StreamingSGPClassifier."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from sklearn_sgp import StreamingSGPClassifier
from sklearn_sgp.kernels import Columns
from sklearn_sgp.likelihoods import Probit, Softmax

from .cases import CLASSES, add, stream_classes
from .parts import Stop, Watch

for _table, _classes in CLASSES.items():
    batches = {"first": "partial_fit", "classes": _classes}
    add(_table, stream_classes(), _table, n=60, later=(50, 40), **batches)
    add(f"{_table}, one fit", stream_classes(), _table, n=150, later=(40,))
    add(
        f"{_table}, tiny first batches",
        stream_classes(),
        _table,
        n=4,
        later=(15, 40),
        **batches,
        weight="random",
    )
    add(
        f"{_table}, forgets",
        stream_classes(forget_factor=0.9),
        _table,
        n=60,
        later=(50,),
        weight="some zero",
        **batches,
    )
    add(f"{_table}, adam", stream_classes(optimizer="adam"), _table, n=60, later=(40,), **batches)
    add(
        f"{_table}, learns nothing",
        stream_classes(optimizer=None),
        _table,
        n=60,
        later=(40,),
        **batches,
    )
THREE = {"n": 60, "later": (50,), "first": "partial_fit", "classes": CLASSES["three"]}
for _name in ("probit", "logit", "softmax"):
    add(f"likelihood {_name}", stream_classes(likelihood=_name), "two", n=120, later=(30,))
add("probit without a mean", stream_classes(likelihood=Probit(0.0)), "two", n=120)
add("softmax without a mean", stream_classes(likelihood=Softmax(0.0)), "three", **THREE)
add("all defaults", StreamingSGPClassifier(random_state=0), "three", n=150, later=(40,))
for _inducing in ("kmeans", "random"):
    add(_inducing, stream_classes(inducing=_inducing, min_inducing=3), "three", **THREE)
add("held inducing inputs", stream_classes(optimize_inducing=False), "three", **THREE)
add("given kernel", stream_classes(Columns(RBF(), [0]) + Matern(nu=1.5)), "three", **THREE)
add(
    "late classes",
    stream_classes(),
    "late_class",
    n=30,
    first="partial_fit",
    later=(50, 20),
    classes=CLASSES["three"],
)
add("one class", stream_classes(), "late_class", n=30)
add("learns from one batch", stream_classes(max_steps=1, trust_region=0.1), "three", **THREE)
add("short steps", stream_classes(natural_step=0.3), "three", **THREE)
add("places", stream_classes(categorical_features=["place"]), "place_labels", n=80, later=(40,))
add("warm", stream_classes(warm_start=True), "three", n=120, again=True)
add("cold again", stream_classes(random_state=np.random.RandomState(3)), "three", again=True)
add("two jobs", stream_classes(n_jobs=2, batch_size=300), "two", n=900)
add("float32", stream_classes(), "three", layout="float32", **THREE)
add("watched", stream_classes(max_iter=3), "three", watch=Watch, n=150)
add("stopped", stream_classes(), "two", watch=Stop, n=150)
add("verbose", stream_classes(verbose=1), "three", n=150)
