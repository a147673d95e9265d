"""Configurations of SVGPRegressor."""

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.likelihoods import (
    HeteroscedasticGaussian,
    HeteroscedasticStudentT,
    Poisson,
    StudentT,
)

from .cases import LATER, add, svgp
from .parts import LearnedDispersion, NegativeBinomial, Stop, Watch

Z = np.linspace(-1.8, 1.8, 16).reshape(8, 2) ** 3 % 1.7
KERNELS = {
    "RBF": 2.0 * RBF([1.0, 2.0]),
    "Matern 1/2": Matern([1.0, 2.0], nu=0.5),
    "Matern 3/2": Matern(nu=1.5),
    "Matern 5/2 and noise": ConstantKernel() * Matern(nu=2.5) + WhiteKernel(0.2),
    "rational quadratic": RationalQuadratic(),
    "periodic": Columns(ExpSineSquared(periodicity=3.0), [0]) + Columns(RBF(), [1]),
    "linear and cubic": RBF() + DotProduct() + 0.1 * DotProduct() ** 3,
    "product of columns": Columns(RBF(), [0]) * Columns(Matern(nu=1.5), [1]),
    "user's own": PairwiseKernel(metric="rbf"),
    "powers": (RBF() + DotProduct()) ** 2 * RationalQuadratic(),
    "fixed": RBF([0.5, 1.0], "fixed"),
    "tight bounds": RBF(0.5, (0.45, 0.55)),
    "noises": RBF() + WhiteKernel(0.1) + WhiteKernel(0.01, "fixed"),
}
for _name, _kernel in KERNELS.items():
    add(f"kernel {_name}", svgp(_kernel), later=(20,))

add("all defaults", SVGPRegressor(random_state=0), later=(30,))
add("small", svgp(), later=LATER, weight="some zero")
add("restarts", svgp(n_restarts_optimizer=2))
add("lbfgs", svgp(optimizer="lbfgs"), later=LATER)
add("adam", svgp(optimizer="adam", batch_size=30), later=LATER)
add("adam with max_steps", svgp(optimizer="adam", batch_size=30, max_steps=4), later=LATER)
add("learns nothing", svgp(optimizer=None), later=LATER)
add("learns nothing, given kernel", svgp(Matern(nu=1.5), optimizer=None), later=LATER)
add("stages", svgp(init_size=50), n=300, weight="random")
add("growing subsets", svgp(init_size=30, batch_size=60), n=600)
add("greedy", svgp(inducing="greedy"))
add("random rows", svgp(inducing="random"))
add("given inducing inputs", svgp(inducing=Z))
add("held inducing inputs", svgp(optimize_inducing=False), later=LATER)
add("large tol", svgp(tol=1e3, n_iter_no_change=1))
add("far units", svgp(), "far", later=LATER)
add("wide", svgp(), "wide")
add("one column", svgp(), "line", later=LATER)
add("five rows", svgp(), n=5)
add("one row", svgp(), n=1, later=(10,))
add("repeated inputs", svgp(n_inducing=40), "repeated", later=LATER)
add("close inputs", svgp(RBF(), n_inducing=40, jitter=1e-12), "close")
add("constant targets", svgp(), "constant")
add(
    "known noise",
    svgp(noise_variance=1.0, noise_variance_bounds="fixed", normalize_y=False),
    weight="precisions",
)
add("noise at a bound", svgp(noise_variance_bounds=(0.5, 1.0), max_iter=20))
for _value in (False, (0.5, 2.0), "yeo-johnson", "warped"):
    add(f"normalize_y {_value}", svgp(normalize_y=_value), "skewed", later=LATER)
add("warped, learns nothing", svgp(normalize_y="warped", optimizer=None), "skewed")
add("warped outputs", svgp(normalize_y="warped"), "skewed_outputs", later=(20,))
add("warped weights", svgp(normalize_y="warped"), "skewed", weight="some zero", n=160)
add("yeo-johnson outputs", svgp(normalize_y="yeo-johnson"), "skewed_outputs", weight="some zero")
add("outputs", svgp(), "outputs", later=LATER)
add("outputs and a shared noise", svgp(RBF() + WhiteKernel()), "outputs")
add(
    "outputs, noise of each",
    svgp(noise_variance=[0.1, 0.01], normalize_y=([0, 1], [1, 2])),
    "outputs",
    later=LATER,
)
add("outputs, adam", svgp(optimizer="adam", batch_size=40), "outputs")
add("mixed by one", svgp(n_latent=1), "mixed", later=LATER)
add("mixed, shared noise", svgp(RBF() + WhiteKernel(), n_latent=2), "mixed", weight="some zero")
add("mixed, all observed", svgp(n_latent=2), "outputs", later=(30,))
add("mixed, warm", svgp(n_latent=1, warm_start=True), "mixed", again=True)
add("mixed, learns nothing", svgp(n_latent=1, optimizer=None), "mixed")
add("mixed, stages", svgp(n_latent=1, init_size=60), "mixed", n=250)
for _name, _table in (
    *(("student_t", "outliers"), ("heteroscedastic", "noisy")),
    *(("heteroscedastic_student_t", "noisy_outliers"), ("auto", "noisy"), ("poisson", "counts")),
):
    add(f"likelihood {_name}", svgp(likelihood=_name), _table, n=150, later=LATER)
add("likelihood auto of outliers", svgp(likelihood="auto"), "outliers", n=150)
add("likelihood auto of skewed", svgp(likelihood="auto"), "skewed", n=150)
add("likelihood auto of outputs", svgp(likelihood="auto"), "outputs", n=150)
add("student_t with df 3", svgp(likelihood=StudentT(df=3.0)), "outliers", weight="random")
add("student_t with learned df", svgp(likelihood=StudentT(df=None)), "outliers", later=LATER)
add("student_t of outputs", svgp(likelihood="student_t"), "outputs", later=(20,))
add("student_t, adam", svgp(likelihood="student_t", optimizer="adam", batch_size=40), "outliers")
add("student_t, lbfgs", svgp(likelihood="student_t", optimizer="lbfgs"), "outliers")
add("student_t, stages", svgp(likelihood="student_t", init_size=50), "outliers", n=250)
add("student_t, warm", svgp(likelihood=StudentT(df=None), warm_start=True), "outliers", again=True)
add("student_t, warped", svgp(likelihood="student_t", normalize_y="warped"), "skewed")
add(
    "heteroscedastic with a kernel",
    svgp(likelihood=HeteroscedasticGaussian(Matern(nu=1.5), n_inducing=4)),
    "noisy",
    n=150,
    later=(30,),
)
add(
    "heteroscedastic_student_t with df 4",
    svgp(likelihood=HeteroscedasticStudentT(df=4.0)),
    "noisy_outliers",
    n=150,
)
add("heteroscedastic outputs", svgp(likelihood="heteroscedastic"), "outputs", later=(20,))
add(
    "heteroscedastic, warm",
    svgp(likelihood="heteroscedastic", warm_start=True),
    "noisy",
    again=True,
)
add("heteroscedastic weights", svgp(likelihood="heteroscedastic"), "noisy", weight="some zero")
add("heteroscedastic, stages", svgp(likelihood="heteroscedastic", init_size=60), "noisy", n=300)
add("poisson of two columns", svgp(likelihood=Poisson()), "two_counts", later=(20,))
add("poisson, adam", svgp(likelihood="poisson", optimizer="adam", batch_size=40), "counts")
add("poisson weights", svgp(likelihood="poisson"), "counts", weight="some zero")
add("home-made likelihood", svgp(RBF(), likelihood=NegativeBinomial()), "counts", later=LATER)
add(
    "home-made likelihood that learns",
    svgp(RBF(), likelihood=LearnedDispersion(5.0)),
    "counts",
    later=LATER,
)
add("batches", svgp(batch_size=25), first="partial_fit", later=(60, 40, 30))
add(
    "batches of a known total",
    svgp(total_samples=400, batch_size=30),
    first="partial_fit",
    later=(60, 60),
    weight="some zero",
)
add(
    "batches of outliers",
    svgp(likelihood="student_t", batch_size=20),
    "outliers",
    first="partial_fit",
    later=(40, 40),
)
add("batches after max_steps", svgp(batch_size=20, max_steps=1), later=(60,))
add("surprising batches", svgp(), "jumps", later=(40, 40))
add("warm", svgp(warm_start=True), again=True, later=(20,))
add("warm, adam", svgp(warm_start=True, optimizer="adam", batch_size=40), again=True)
add("cold again", svgp(random_state=np.random.RandomState(3)), again=True, later=(20,))
add("two jobs", svgp(n_jobs=2, init_size=600), n=2500, later=(1500,))
add("float32", svgp(), layout="float32", later=(20,))
add("Fortran", svgp(), layout="F", later=(20,))
add("lists", svgp(), layout="list")
add(
    "frame", svgp(Columns(RBF(), ["b"]) + Columns(Matern(nu=1.5), ["a", "b"])), "frame", later=(20,)
)
add("places", svgp(categorical_features=["place"]), "places", later=(60, 30))
add(
    "typed places",
    svgp(categorical_features="from_dtype", n_inducing=20),
    "typed_places",
    later=(30,),
)
add(
    "places with a kernel",
    svgp(
        RBF() * Columns(Categorical(1), [1]) + Columns(Categorical(), [1]),
        categorical_features=[False, True, False],
    ),
    "places",
    later=(30,),
)
add("codes", svgp(categorical_features=[1]), "codes", later=(20,))
add("many codes", svgp(categorical_features=[1], n_inducing=30), "many_codes", n=150)
add("codes, heteroscedastic", svgp(categorical_features=[1], likelihood="heteroscedastic"), "codes")
add("kernels compared", svgp(max_iter=25), "four", n=150)
add("dask", svgp(init_size=400), layout="dask", n=2600, weight="some zero")
add(
    "dask of student_t",
    svgp(likelihood="student_t", optimizer=None),
    "outliers",
    layout="dask",
    n=2500,
)
add("dask of few rows", svgp(), layout="dask", n=300)
add("dask of lbfgs", svgp(optimizer="lbfgs", max_iter=2), "outputs", layout="dask", n=2500)
add("dask of adam", svgp(optimizer="adam"), layout="dask")
add("prior", svgp(), prior=True, n=40)
add("prior of a kernel", svgp(KERNELS["linear and cubic"]), prior=True, n=40)
add("prior of outputs", svgp(noise_variance=[0.1, 0.2]), "outputs", prior=True, n=40)
add("prior of student_t", svgp(likelihood="student_t"), "outliers", prior=True, n=40)
add("watched", svgp(init_size=40), watch=Watch)
add("stopped", svgp(likelihood="student_t"), watch=Stop)
add("watched adam", svgp(optimizer="adam", batch_size=40), watch=Watch)
add("verbose", svgp(verbose=2, init_size=50), n=160, later=(20,))
add("rough parts", svgp(init_size=200, n_inducing=20, max_iter=25), "four", n=1500)
add("rough parts of outputs", svgp(init_size=200, max_iter=25), "outputs", n=1500)
add("no noise", svgp(init_size=2000, n_inducing=60), "smooth", n=4500)
add("no noise, lbfgs", svgp(optimizer="lbfgs", n_inducing=40), "smooth", n=4500)
add("no noise, adam", svgp(optimizer="adam", n_inducing=40, max_iter=2), "smooth", n=300)
add("fast waves", svgp(RBF(5.0, (1.0, 10.0))), "fast", n=300)
add("few rows of many", svgp(init_size=200), n=12000)
add("greedy of many rows", svgp(init_size=200, inducing="greedy"), n=9000)
add("one column of targets", svgp(), "one_axis_more", later=(20,))
add(
    "bump",
    svgp(likelihood="heteroscedastic", n_inducing=20, max_iter=20),
    "bump",
    n=800,
    later=(200,),
)
add(
    "uneven",
    svgp(likelihood="heteroscedastic", n_inducing=15, max_iter=15),
    "uneven",
    n=800,
    later=(200,),
)
add("uneven, auto", svgp(likelihood="auto", n_inducing=15, max_iter=15), "uneven", n=800)
add("more inducing inputs", svgp(warm_start=True), again=True, changes={"n_inducing": 15})
add("warm places", svgp(warm_start=True, categorical_features=["place"]), "places", again=True)
add("warm after another kernel", svgp(warm_start=True), again=True, changes={"kernel": RBF()})
add(
    "warm, warped",
    svgp(warm_start=True, normalize_y="warped"),
    "skewed",
    again=True,
    changes={"n_inducing": 5},
)
add("batches after another optimizer", svgp(), later=(40,), changes={"optimizer": None})
add("dask frame", svgp(init_size=400), "frame", n=2600, layout="dask frame", weight="random")
add("dask of sampled rows", svgp(init_size=300, max_iter=25), "four", n=2800, layout="dask")
add("dask of poisson", svgp(likelihood="poisson", max_iter=3), "counts", n=2500, layout="dask")
for _name, _change in (
    ("heteroscedastic", {"likelihood": "heteroscedastic"}),
    ("warped", {"normalize_y": "warped"}),
    ("mixed", {"n_latent": 1}),
    ("categories", {"categorical_features": [0]}),
):
    add(f"dask of {_name}", svgp(**_change), layout="dask")
for _kernel in (DotProduct(), Matern(nu=2.5), RationalQuadratic(), Columns(RBF(), [1])):
    add(f"two mix {_kernel!r}", svgp(_kernel, n_latent=2), "outputs", later=(20,))
add("many rows", svgp(init_size=800, n_inducing=30), "four", n=6000)
add("many rows of noise", svgp(likelihood="heteroscedastic", init_size=400), "noisy", n=2500)
add("many rows, auto", svgp(likelihood="auto", init_size=400), "noisy_outliers", n=2500)
