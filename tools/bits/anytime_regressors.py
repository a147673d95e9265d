"""Configurations of AnytimeSGPRegressor."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.likelihoods import HeteroscedasticGaussian, StudentT

from .cases import LATER, add, anytime
from .parts import Halves, Stop, Watch

MODELS = ("sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic", "lma", "vif")
MIXTURES = {
    "of rows": [("dtc", 0.5), ("fitc", 0.5)],
    "of blocks": [("pitc", 0.3), ("dtc", 0.7)],
}
LOCAL = ("pic", "lma", "vif")
MATERN = ConstantKernel() * Matern([1.0, 1.0], nu=1.5)

add("all defaults", AnytimeSGPRegressor(random_state=0, max_iter=10), n=150, later=(30,))
for _model in ("auto", *MODELS):
    add(_model, anytime(_model), later=LATER, weight="some zero")
    add(f"{_model}, exact", anytime(_model, solver="exact"), later=(30,))
    add(f"{_model}, learns nothing", anytime(_model, MATERN, optimizer=None), later=(30,))
for _name, _mixture in MIXTURES.items():
    add(f"mixture {_name}", anytime(_mixture), later=(30,))
    add(f"mixture {_name}, exact", anytime(_mixture, solver="exact"))
for _model in ("fitc", "fic", "pitc"):
    for _alpha in (0.0, 0.5):
        add(f"{_model}, alpha {_alpha}", anytime(_model, alpha_divergence=_alpha), later=(30,))
add("alpha of a model without", anytime("dtc", alpha_divergence=0.5))
for _model in ("vfe", "fitc", "pitc", *LOCAL):
    add(
        f"{_model}, robbins-monro",
        anytime(_model, schedule="robbins-monro", max_iter=3),
        later=(30,),
    )
    add(f"{_model}, adam", anytime(_model, optimizer="adam"), later=(30,))
    add(f"{_model}, lbfgs", anytime(_model, optimizer="lbfgs"))
    add(f"{_model}, outputs", anytime(_model), "outputs", later=(30,))
add(
    "robbins-monro in other steps",
    anytime(
        "pitc",
        schedule="robbins-monro",
        step_size=0.5,
        step_decay=0.1,
        step_power=1.0,
        blocks_per_step=2,
        natural_step=0.5,
    ),
)
add("two blocks a step", anytime("pic", blocks_per_step=2, max_steps=3), n=150)
add("adam with max_steps", anytime("fitc", optimizer="adam", max_steps=3))
for _partition in ("contiguous", "random", Halves()):
    for _model in ("pitc", "pic", "lma"):
        name = _partition if isinstance(_partition, str) else "clusterer"
        add(f"{_model}, {name}", anytime(_model, partition=_partition), later=(30,))
add("four blocks", anytime("pic", n_blocks=4), weight="random")
add("order 0", anytime("lma", markov_order=0), later=(30,))
add("order 2", anytime("lma", markov_order=2, block_size=15), later=(30,))
add("no neighbours", anytime("vif", n_neighbors=0))
add("many neighbours", anytime("vif", n_neighbors=500), later=(30,))
add("groups of neighbours", anytime("vif", n_neighbors=4), n=400, later=(60, 60))
add("lma of a chain", anytime("lma", block_size=20), "line", n=200, later=(50,))

for _model in ("pitc", "pic", "lma"):
    add(f"{_model}, labels", anytime(_model), labels=5, later=LATER)
    add(
        f"{_model}, labels, exact",
        anytime(_model, solver="exact"),
        labels=5,
        weight="some zero",
        later=(30,),
    )
    add(f"{_model}, labels, outputs", anytime(_model), "outputs", labels=4)
    add(
        f"{_model}, labels, learns nothing",
        anytime(_model, MATERN, optimizer=None),
        labels=6,
        later=(30,),
    )
    add(
        f"{_model}, labels, student_t",
        anytime(_model, likelihood="student_t"),
        "outliers",
        labels=5,
    )
    add(f"{_model}, labels, warm", anytime(_model, warm_start=True), labels=5, again=True)
add("auto, labels", anytime("auto"), labels=5, later=(30,))
add("fitc, labels", anytime("fitc"), labels=5)
add("labels, adam", anytime("pic", optimizer="adam"), labels=5, later=(30,))
add("labels, lbfgs", anytime("pic", optimizer="lbfgs"), labels=5)
add("labels, robbins-monro", anytime("pic", schedule="robbins-monro"), labels=5)
add("labels, greedy", anytime("pic", inducing="greedy", normalize_y="warped"), "skewed", labels=5)
add("labels, random rows", anytime("pitc", inducing="random"), labels=5)
add("labels, heteroscedastic", anytime("pic", likelihood="heteroscedastic"), "noisy", labels=5)
add(
    "labels and places",
    anytime("pic", categorical_features=["place"]),
    "places",
    labels=5,
    later=(30,),
)
add("labels and Fortran", anytime("pic"), labels=5, layout="F")
add("labels in batches", anytime("pic"), labels=5, first="partial_fit", later=(40, 40))
add("labels in batches, lma", anytime("lma"), labels=5, first="partial_fit", later=(40, 40))
add(
    "labels of given kernel", anytime("pic", Columns(RBF(), [1]) + Columns(RBF(), [0, 1])), labels=5
)
add("labels, two jobs", anytime("pic", n_jobs=2), labels=8, n=900)
add(
    "labels on dask",
    anytime("pic", MATERN, optimizer=None, solver="exact"),
    labels=25,
    n=2500,
    layout="dask",
)
add(
    "labels on dask, pitc",
    anytime("pitc", MATERN, solver="exact", max_iter=3),
    labels=25,
    n=2500,
    layout="dask",
    weight="some zero",
)
add(
    "dask",
    anytime("pic", MATERN, optimizer=None, solver="exact", block_size=100),
    n=2500,
    layout="dask",
)
add("dask of fitc", anytime("fitc", solver="exact", max_iter=3), n=2500, layout="dask")

for _model in ("fitc", "pic", "vif"):
    for _name, _table in (
        *(("student_t", "outliers"), ("heteroscedastic", "noisy")),
        *(("heteroscedastic_student_t", "noisy_outliers"), ("auto", "noisy")),
    ):
        add(f"{_model}, {_name}", anytime(_model, likelihood=_name), _table, n=120, later=(30,))
add("lma, heteroscedastic", anytime("lma", likelihood="heteroscedastic"), "noisy")
add("lma, student_t", anytime("lma", likelihood="student_t"), "outliers", weight="random")
add("vif, learned df", anytime("vif", likelihood=StudentT(df=None)), "outliers", later=(30,))
add("vif, auto of outliers", anytime(likelihood="auto"), "outliers", n=150)
add("vif, auto of skewed", anytime(likelihood="auto"), "skewed", n=150)
add(
    "pic, noise with a kernel",
    anytime("pic", likelihood=HeteroscedasticGaussian(Matern(nu=1.5), n_inducing=4)),
    "noisy",
)
add("vif, heteroscedastic outputs", anytime(likelihood="heteroscedastic"), "outputs")
add("poisson", anytime(likelihood="poisson"), "counts")
for _value in (False, (0.5, 2.0), "yeo-johnson", "warped"):
    add(f"normalize_y {_value}", anytime(normalize_y=_value), "skewed", later=(30,))
add("fitc, warped", anytime("fitc", normalize_y="warped"), "skewed", later=(30,))
add("pic, warped outputs", anytime("pic", normalize_y="warped"), "skewed_outputs")
add("outputs, noise of each", anytime(noise_variance=[0.1, 0.01]), "outputs", later=(30,))
add("outputs, shared noise", anytime("pic", MATERN + WhiteKernel()), "outputs")
add(
    "known noise",
    anytime(noise_variance=1.0, noise_variance_bounds="fixed", normalize_y=False),
    weight="precisions",
)
for _model in LOCAL:
    add(f"{_model}, warm", anytime(_model, warm_start=True), again=True, later=(20,))
    add(f"{_model}, restarts", anytime(_model, MATERN, n_restarts_optimizer=1))
    add(f"{_model}, own rows", anytime(_model, copy_X=False), later=(20,))
    add(f"{_model}, stages", anytime(_model, init_size=60), n=300)
    add(f"{_model}, two jobs", anytime(_model, n_jobs=2, max_iter=3), n=700)
    add(
        f"{_model}, places",
        anytime(_model, categorical_features=["place"]),
        "places",
        later=(40, 30),
    )
add("fitc, warm", anytime("fitc", warm_start=True), again=True)
add("fitc, stages", anytime("fitc", init_size=60, n_restarts_optimizer=1), n=300)
add("cold again", anytime(random_state=np.random.RandomState(3)), again=True, later=(20,))
add("pic, cold again", anytime("pic", random_state=np.random.RandomState(3)), again=True)
add(
    "places with a kernel",
    anytime("pic", RBF() * Columns(Categorical(1), [1]), categorical_features=[1]),
    "places",
    later=(30,),
)
add("typed places", anytime(categorical_features="from_dtype"), "typed_places", later=(30,))
add("many codes", anytime(categorical_features=[1]), "many_codes", n=250)
add("codes", anytime("fitc", categorical_features=[1]), "codes", later=(20,))
add("greedy", anytime(inducing="greedy"), later=(20,))
add("random rows", anytime("pic", inducing="random", optimize_inducing=False))
add("far units", anytime(), "far", later=(20,))
add("wide", anytime(), "wide")
add("repeated inputs", anytime(), "repeated", later=(20,))
add("constant targets", anytime("pic"), "constant")
add("five rows", anytime(), n=5)
add("float32", anytime(), layout="float32", later=(20,))
add("pic, float32", anytime("pic"), layout="float32", later=(20,))
add("Fortran", anytime(), layout="F", later=(20,))
add("frame", anytime("vif", Columns(RBF(), ["b"]) + Columns(Matern(), ["a", "b"])), "frame")
add("batches", anytime(), first="partial_fit", later=(60, 40))
add("batches of pic", anytime("pic"), first="partial_fit", later=(60, 40))
add(
    "batches of robbins-monro",
    anytime("pitc", schedule="robbins-monro"),
    first="partial_fit",
    later=(60, 40),
)
add("surprising batches", anytime(), "jumps", later=(40,))
add("prior", anytime(), prior=True, n=40)
add("prior of a kernel", anytime("pic", MATERN), prior=True, n=40)
add("watched", anytime("fitc", max_iter=3), watch=Watch)
add("watched vif", anytime("vif", max_iter=3), watch=Watch)
add("watched pic", anytime("pic", max_iter=3), watch=Watch)
add("stopped", anytime("pic"), watch=Stop)
add("verbose", anytime(verbose=2), later=(20,))
add("verbose pic", anytime("pic", verbose=1))
add(
    "many near rows",
    anytime("vif", n_neighbors=30, block_size=200, max_iter=6, init_size=500),
    "four",
    n=2500,
)
add(
    "many rows in blocks",
    anytime("pic", block_size=250, max_iter=6, init_size=500),
    "four",
    n=2500,
    later=(500,),
)
add("many rows in a chain", anytime("lma", block_size=250, max_iter=3, init_size=400), n=2000)
add("many rows of fitc", anytime("fitc", init_size=600, block_size=250), "four", n=3000)
add(
    "many rows of noise",
    anytime("vif", likelihood="heteroscedastic", max_iter=3, init_size=500),
    "noisy",
    n=2000,
)
add("negative shares", anytime([("fitc", 1.5), ("dtc", -0.5)], solver="exact"), later=(30,))
add("negative shares, anytime", anytime([("fitc", 1.5), ("dtc", -0.5)], max_iter=2))
add("no inducing inputs", anytime(n_inducing=0), later=(20,))
add("no inducing inputs, lma", anytime("lma", n_inducing=0), later=(20,))
add("bump", anytime(likelihood="heteroscedastic", max_iter=15), "bump", n=600, later=(100,))
add(
    "uneven",
    anytime("fitc", likelihood="heteroscedastic", max_iter=15),
    "uneven",
    n=800,
    later=(200,),
)
add(
    "uneven, vif", anytime(likelihood="heteroscedastic", max_iter=15), "uneven", n=800, later=(200,)
)
add("heavy tails", anytime("vif", max_iter=15, init_size=500), "outliers", n=1700)
add(
    "heavy tails of blocks",
    anytime("pic", likelihood="student_t", max_iter=10, init_size=500),
    "outliers",
    n=1700,
)
add("many repeated inputs", anytime("vif", max_iter=8, init_size=500), "repeated", n=1800)
add("many near rows of outputs", anytime("vif", max_iter=6, init_size=500), "outputs", n=1800)
add(
    "many near rows, more iterations",
    anytime("vif", max_iter=45, n_inducing=5, init_size=300),
    "wave",
    n=1600,
)
add(
    "many near rows of codes",
    anytime("vif", categorical_features=[1], max_iter=6, init_size=500),
    "many_codes",
    n=1700,
)
add(
    "many near rows, warped",
    anytime("vif", normalize_y="warped", max_iter=6, init_size=500),
    "skewed",
    n=1700,
)
add(
    "many rows in blocks, two jobs",
    anytime("pic", n_jobs=2, block_size=150, max_iter=3, init_size=400),
    n=2500,
)
add("stopped in steps", anytime("pitc", MATERN, optimizer=None, block_size=10), watch=Stop)
add("more inducing inputs", anytime(warm_start=True), again=True, changes={"n_inducing": 15})
add("warm places", anytime(warm_start=True, categorical_features=["place"]), "places", again=True)
add(
    "dask frame",
    anytime("pic", MATERN, optimizer=None, solver="exact", block_size=200),
    "frame",
    n=2600,
    layout="dask frame",
)
add(
    "dask of pic that learns",
    anytime("pic", solver="exact", max_iter=2, block_size=150, init_size=400),
    n=2500,
    layout="dask",
)
add("few rows on dask", anytime("pic", solver="exact"), layout="dask")
