"""Configurations of AnytimeSGPClassifier."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from sklearn_sgp import AnytimeSGPClassifier
from sklearn_sgp.kernels import Columns

from .anytime_regressors import MIXTURES, MODELS
from .cases import CLASSES, LATER, add, anytime_classes
from .parts import Halves, Stop, Watch

add("all defaults", AnytimeSGPClassifier(random_state=0, max_iter=10), "three", later=(30,))
for _model in MODELS:
    add(_model, anytime_classes(_model), "three", later=(30,))
    add(f"{_model}, exact", anytime_classes(_model, solver="exact"), "two", weight="some zero")
add("mixture", anytime_classes(MIXTURES["of rows"]), "three")
add("fitc, alpha", anytime_classes("fitc", alpha_divergence=0.5), "three")
for _table in ("two", "three", "five"):
    add(_table, anytime_classes(), _table, later=LATER)
    add(f"{_table}, pic", anytime_classes("pic"), _table, later=(30,))
    add(f"{_table}, epsilon", anytime_classes("pic", alpha_epsilon=0.01), _table, weight="random")
    add(f"{_table}, labels", anytime_classes("pic"), _table, labels=5, later=LATER)
    add(
        f"{_table}, batches",
        anytime_classes(),
        _table,
        n=60,
        first="partial_fit",
        later=(60,),
        classes=CLASSES[_table],
    )
add("lma, labels", anytime_classes("lma"), "three", labels=5, later=(30,), weight="some zero")
add("pitc, labels", anytime_classes("pitc"), "two", labels=5, later=(30,))
add("auto, labels", anytime_classes(), "three", labels=5)
add("labels, learns nothing", anytime_classes("pic", Matern(), optimizer=None), "two", labels=5)
add(
    "labels in batches",
    anytime_classes("pic"),
    "three",
    labels=5,
    first="partial_fit",
    later=(40,),
    classes=CLASSES["three"],
)
for _optimizer in ("lbfgs", "adam", None):
    add(f"optimizer {_optimizer}", anytime_classes(optimizer=_optimizer), "three", later=(20,))
    add(f"pic, optimizer {_optimizer}", anytime_classes("pic", optimizer=_optimizer), "two")
add("balanced", anytime_classes(class_weight="balanced"), "three")
add("weights of classes", anytime_classes("pic", class_weight={"no": 3.0}), "two")
add("given kernel", anytime_classes("vif", Columns(RBF(), [0]) + Matern(nu=1.5)), "three")
add(
    "late classes",
    anytime_classes(),
    "late_class",
    n=30,
    first="partial_fit",
    later=(50,),
    classes=CLASSES["three"],
)
add("rare class", anytime_classes(), "rare_class")
add("one class", anytime_classes(), "late_class", n=30)
add("warm", anytime_classes(warm_start=True), "three", again=True, later=(20,))
add(
    "cold again", anytime_classes("pic", random_state=np.random.RandomState(3)), "three", again=True
)
add("own rows", anytime_classes("pic", copy_X=False), "three", later=(20,))
add("two jobs", anytime_classes(n_jobs=2), "three", n=600)
add("robbins-monro", anytime_classes("pitc", schedule="robbins-monro"), "three", later=(20,))
add("clusterer", anytime_classes("pic", partition=Halves()), "three", later=(20,))
add("restarts", anytime_classes("fitc", n_restarts_optimizer=1, init_size=60), "three", n=200)
add("places", anytime_classes(categorical_features=["place"]), "place_labels", later=(40,))
add("float32", anytime_classes(), "three", layout="float32")
add("watched", anytime_classes(max_iter=3), "three", watch=Watch)
add("stopped", anytime_classes("pic"), "three", watch=Stop)
add("verbose", anytime_classes(verbose=2), "three")
add("many near rows", anytime_classes(max_iter=4, block_size=200, init_size=600), "three", n=2500)
add("held-out rows", anytime_classes(max_iter=2, block_size=400, init_size=600), "two", n=8300)
add(
    "held-out rows in blocks",
    anytime_classes("pic", max_iter=2, block_size=200, init_size=600, alpha_epsilon=0.01),
    "three",
    n=8300,
)
