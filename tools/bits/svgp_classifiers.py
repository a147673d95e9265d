"""Configurations of SVGPClassifier."""

from sklearn.gaussian_process.kernels import Matern

from sklearn_sgp import SVGPClassifier
from sklearn_sgp.likelihoods import Logit, Probit, Softmax

from .cases import CLASSES, LATER, add, svgp_classes
from .parts import Stop, Watch

for _table in ("two", "three", "five", "truth"):
    add(_table, svgp_classes(), _table, later=LATER)
    add(f"{_table}, adam", svgp_classes(optimizer="adam", batch_size=40), _table, later=(20,))
add("all defaults", SVGPClassifier(random_state=0), "three")
for _name in ("probit", "logit", "softmax"):
    add(f"likelihood {_name}", svgp_classes(likelihood=_name), "two", later=(20,))
add("probit without a mean", svgp_classes(likelihood=Probit(0.0)), "two")
add("logit instance", svgp_classes(likelihood=Logit()), "two", weight="some zero")
add("softmax without a mean", svgp_classes(likelihood=Softmax(0.0)), "three", later=(20,))
add("probit of three", svgp_classes(likelihood="probit"), "three")
for _table in ("two", "three"):
    add(f"{_table}, lbfgs", svgp_classes(optimizer="lbfgs"), _table)
    add(f"{_table}, learns nothing", svgp_classes(optimizer=None), _table, later=(20,))
    add(f"{_table}, balanced", svgp_classes(class_weight="balanced"), _table, later=(20,))
    add(f"{_table}, stages", svgp_classes(init_size=60), _table, n=300, weight="random")
    add(
        f"{_table}, known total",
        svgp_classes(total_samples=300, batch_size=20),
        _table,
        first="partial_fit",
        later=(40, 40),
        classes=CLASSES[_table],
    )
    add(f"{_table}, warm", svgp_classes(warm_start=True), _table, again=True)
    add(
        f"{_table}, dask",
        svgp_classes(init_size=400, max_iter=3),
        _table,
        n=2500,
        layout="dask",
        weight="some zero",
    )
    add(f"{_table}, given kernel", svgp_classes(2.0 * Matern(nu=1.5)), _table, later=(20,))
    add(f"{_table}, restarts", svgp_classes(n_restarts_optimizer=1), _table)
    add(f"{_table}, watched", svgp_classes(max_iter=3), _table, watch=Watch)
add("weights of classes", svgp_classes(class_weight={"a": 3.0, "b": 0.5}), "three", later=(20,))
add(
    "late classes",
    svgp_classes(),
    "late_class",
    n=30,
    first="partial_fit",
    later=(50, 20),
    classes=("a", "b", "c"),
)
add("rare class", svgp_classes(), "rare_class", weight="some zero")
add("one class", svgp_classes(), "late_class", n=30)
add("places", svgp_classes(categorical_features=["place"]), "place_labels", later=(60,))
add("float32", svgp_classes(inducing="greedy"), "three", layout="float32")
add("stopped", svgp_classes(), "three", watch=Stop)
add("verbose", svgp_classes(verbose=2), "three", later=(20,))
add(
    "two, dask, balanced",
    svgp_classes(class_weight="balanced", max_iter=2),
    "two",
    n=2500,
    layout="dask",
)
add("five, many rows", svgp_classes(init_size=300, max_iter=25), "five", n=1500)
add("few rows of many", svgp_classes(init_size=300), "two", n=12000)
add(
    "more inducing inputs",
    svgp_classes(warm_start=True),
    "three",
    again=True,
    changes={"n_inducing": 15},
)
add(
    "warm after other weights",
    svgp_classes(warm_start=True),
    "two",
    again=True,
    changes={"class_weight": {"no": 3.0}},
)
add("three, many rows", svgp_classes(init_size=1000, max_iter=3), "three", n=4000)
add("two, many rows and jobs", svgp_classes(init_size=1000, max_iter=3, n_jobs=2), "two", n=4000)
