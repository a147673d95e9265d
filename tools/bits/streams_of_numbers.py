"""Configurations of StreamingSGPRegressor."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.likelihoods import HeteroscedasticGaussian, Poisson, StudentT

from .cases import add, stream
from .parts import LearnedDispersion, NegativeBinomial, Stop, Watch

BEGINNING = {"n": 5, "first": "partial_fit", "later": (15, 40, 60, 40)}
BATCHES = {"n": 60, "first": "partial_fit", "later": (50, 40)}
Z = np.linspace(-1.8, 1.8, 16).reshape(8, 2) ** 3 % 1.7

add("all defaults", StreamingSGPRegressor(random_state=0), n=150, later=(50, 30))
add("one fit", stream(), n=200, later=(40,))
add("tiny first batches", stream(), **BEGINNING, weight="random")
add("one row at a time", stream(), n=60, first="partial_fit", later=(1, 1, 1))
add("zero weights", stream(), **BATCHES, weight="some zero")
for _alpha in (0.5, 1.0):
    add(f"alpha {_alpha}", stream(alpha_divergence=_alpha), **BATCHES)
    add(f"alpha {_alpha}, tiny first batches", stream(alpha_divergence=_alpha), **BEGINNING)
    add(f"alpha {_alpha}, forgets", stream(alpha_divergence=_alpha, forget_factor=0.9), **BATCHES)
add("alpha of student_t", stream(alpha_divergence=0.5, likelihood="student_t"), "outliers")
add("forgets", stream(forget_factor=0.9), **BEGINNING)
for _inducing in ("greedy", "kmeans", "random"):
    add(_inducing, stream(inducing=_inducing), **BATCHES)
    add(f"{_inducing}, held", stream(inducing=_inducing, optimize_inducing=False), **BATCHES)
    add(f"{_inducing}, few at first", stream(inducing=_inducing, min_inducing=3), **BATCHES)
add("given inducing inputs", stream(inducing=Z), **BATCHES)
add("adam", stream(optimizer="adam"), **BATCHES)
add("lbfgs", stream(optimizer="lbfgs"), **BATCHES)
add("learns nothing", stream(optimizer=None), **BATCHES)
add("learns nothing, given kernel", stream(Matern(nu=1.5), optimizer=None), **BATCHES)
add("learns from one batch", stream(max_steps=1), **BATCHES)
add("wide trust", stream(trust_region=10.0), **BATCHES)
add("narrow trust", stream(trust_region=0.01), **BATCHES)
add("short steps", stream(natural_step=0.3, likelihood="student_t"), "outliers", **BATCHES)
for _name, _table in (
    *(("student_t", "outliers"), ("heteroscedastic", "noisy")),
    *(("heteroscedastic_student_t", "noisy_outliers"), ("auto", "noisy"), ("poisson", "counts")),
):
    add(f"likelihood {_name}", stream(likelihood=_name), _table, **BATCHES)
    add(f"likelihood {_name}, tiny first batches", stream(likelihood=_name), _table, **BEGINNING)
add("likelihood auto of outliers", stream(likelihood="auto"), "outliers", **BATCHES)
add("likelihood auto of skewed", stream(likelihood="auto"), "skewed", **BATCHES)
add("learned df", stream(likelihood=StudentT(df=None)), "outliers", **BATCHES)
add(
    "noise with a kernel",
    stream(likelihood=HeteroscedasticGaussian(Matern(nu=1.5), n_inducing=4)),
    "noisy",
    **BATCHES,
)
add("student_t forgets", stream(likelihood="student_t", forget_factor=0.9), "outliers", **BATCHES)
add(
    "heteroscedastic forgets",
    stream(likelihood="heteroscedastic", forget_factor=0.9),
    "noisy",
    **BATCHES,
)
add("heteroscedastic outputs", stream(likelihood="heteroscedastic"), "outputs", **BATCHES)
add("poisson of two columns", stream(likelihood=Poisson()), "two_counts", **BATCHES)
add("home-made likelihood", stream(RBF(), likelihood=NegativeBinomial()), "counts", **BATCHES)
add(
    "home-made likelihood that learns",
    stream(RBF(), likelihood=LearnedDispersion(5.0)),
    "counts",
    **BATCHES,
)
for _value in (False, (0.5, 2.0), "yeo-johnson", "warped"):
    add(f"normalize_y {_value}", stream(normalize_y=_value), "skewed", **BATCHES)
add("warped, tiny first batches", stream(normalize_y="warped"), "skewed", **BEGINNING)
add("warped outputs", stream(normalize_y="warped"), "skewed_outputs", **BATCHES)
add("outputs", stream(), "outputs", **BATCHES)
add("outputs, noise of each", stream(noise_variance=[0.1, 0.01]), "outputs", **BATCHES)
add("outputs, shared noise", stream(RBF() + WhiteKernel()), "outputs", **BATCHES)
add("outputs, tiny first batches", stream(), "outputs", **BEGINNING)
add("mixed", stream(n_latent=1), "mixed", **BATCHES)
add("mixed, given kernel", stream(Matern(nu=1.5), n_latent=2), "mixed", **BATCHES)
add(
    "mixed, tiny first batches",
    stream(n_latent=2),
    "mixed",
    n=10,
    first="partial_fit",
    later=(20, 40, 40),
)
add("mixed, forgets", stream(n_latent=2, forget_factor=0.9), "mixed", **BATCHES)
add("given kernel", stream(ConstantKernel() * RBF([1.0, 1.0]) + WhiteKernel(0.1)), **BATCHES)
add("fixed noise", stream(noise_variance=0.01, noise_variance_bounds="fixed"), **BATCHES)
add("outliers", stream(), "broken", n=100, first="partial_fit", later=(50, 50, 50))
add("jumps", stream(), "jumps", n=60, first="partial_fit", later=(40, 60, 60))
add("noise at first", stream(), "noise", n=50, first="partial_fit", later=(50, 60, 60))
add("constant targets", stream(), "constant", **BATCHES)
add("repeated inputs", stream(n_inducing=40), "repeated", **BATCHES)
add("close inputs", stream(RBF(), n_inducing=40, jitter=1e-12), "close", **BATCHES)
add("far units", stream(), "far", **BATCHES)
add(
    "places",
    stream(categorical_features=["place"]),
    "places",
    n=80,
    first="partial_fit",
    later=(40, 40),
)
add("typed places", stream(categorical_features="from_dtype"), "typed_places", **BATCHES)
add(
    "places with a kernel",
    stream(RBF() * Columns(Categorical(1), [1]), categorical_features=[1]),
    "places",
    n=80,
    first="partial_fit",
    later=(40, 40),
)
add("codes", stream(categorical_features=[1]), "codes", **BATCHES)
add("warm", stream(warm_start=True), n=120, again=True, later=(20,))
add("cold again", stream(random_state=np.random.RandomState(3)), n=120, again=True, later=(20,))
add(
    "random rows again",
    stream(inducing="random", random_state=np.random.RandomState(3)),
    n=120,
    again=True,
    later=(20,),
)
add("two jobs", stream(n_jobs=2, batch_size=300), n=900)
add("float32", stream(), layout="float32", **BATCHES)
add("Fortran", stream(), layout="F", **BATCHES)
add("frame", stream(Columns(RBF(), ["b"]) + Columns(Matern(), ["a", "b"])), "frame", **BATCHES)
add("prior", stream(), prior=True, n=40)
add("watched", stream(), watch=Watch, n=150)
add("stopped", stream(), watch=Stop, n=150)
add("verbose", stream(verbose=1), n=150, later=(20,))
add("dask", stream(), layout="dask")
add(
    "bump",
    stream(likelihood="heteroscedastic", init_size=400, max_iter=15),
    "bump",
    n=500,
    later=(200, 100),
)
add(
    "uneven",
    stream(likelihood="heteroscedastic", init_size=500, max_iter=15),
    "uneven",
    n=600,
    later=(200, 100),
)
add(
    "uneven, auto",
    stream(likelihood="auto", init_size=500, max_iter=15),
    "uneven",
    n=600,
    later=(200,),
)
add("other parameters later", stream(), **BATCHES, changes={"n_inducing": 14, "trust_region": 0.5})
add("nothing learned later", stream(), **BATCHES, changes={"optimizer": None})
add("another way later", stream(), **BATCHES, changes={"inducing": "random"})
add("mixed, nothing learned", stream(n_latent=1, optimizer=None), "mixed", **BATCHES)
add("mixed, weights", stream(n_latent=2, min_inducing=4), "mixed", weight="random", **BATCHES)
add("mixed, one fit", stream(n_latent=2), "mixed", n=200)
add("many batches", stream(n_inducing=30, init_size=500, batch_size=500), "four", n=3000)
