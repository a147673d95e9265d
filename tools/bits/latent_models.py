"""Configurations of BayesianGPLVM."""

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

from sklearn_sgp import BayesianGPLVM
from sklearn_sgp.kernels import Columns

from .cases import add, latent
from .parts import Stop, Watch

KERNELS = {
    "RBF": 2.0 * RBF([1.0, 1.0]),
    "linear": DotProduct(),
    "closed sum": ConstantKernel() * RBF() + DotProduct() + ConstantKernel(0.1),
    "Matern 3/2": Matern(nu=1.5),
    "Matern 1/2 and noise": Matern(nu=0.5) + WhiteKernel(0.1),
    "rational quadratic": RationalQuadratic(),
    "columns": Columns(RBF(), [0]) * Columns(Matern(nu=2.5), [1]),
    "periodic": ExpSineSquared(periodicity=6.0),
    "powers": (RBF() + DotProduct()) ** 2,
    "user's own": PairwiseKernel(metric="rbf"),
}
for _name, _kernel in KERNELS.items():
    add(f"kernel {_name}", latent(kernel=_kernel, max_iter=3), "curve_with_holes", n=60)
add("small", latent(), "curve", later=(20, 10))
add("holes", latent(), "curve_with_holes", later=(20, 10))
add("all defaults", BayesianGPLVM(random_state=0, max_iter=20), "curve")
add("one dimension", latent(1), "curve_with_holes", later=(20,))
add("four dimensions", latent(4), "curve_with_holes", later=(20,))
add("four dimensions of points", latent(4, kernel=Matern(nu=1.5), max_iter=3), "curve", n=60)
add("noise of columns", latent(noise="columns"), "curve_with_holes", later=(20,))
add("not normalised", latent(normalize=False), "curve", later=(20,))
add("fixed noise", latent(noise_variance=0.01, noise_variance_bounds="fixed"), "curve")
add(
    "noise of each column",
    latent(noise="columns", noise_variance=[0.1, 0.1, 0.2, 0.3, 0.1]),
    "curve",
)
for _optimizer in ("lbfgs", "adam", None):
    add(
        f"optimizer {_optimizer}",
        latent(optimizer=_optimizer, batch_size=30),
        "curve_with_holes",
        later=(20,),
    )
add("starts", latent(n_starts=2), "curve_with_holes")
add("stages", latent(init_size=50, batch_size=30, max_iter=3), "curve_with_holes", n=150)
add("stages of columns", latent(init_size=50, batch_size=30, noise="columns"), "curve", n=150)
add("adam with max_steps", latent(optimizer="adam", batch_size=20, max_steps=3), "curve")
for _inducing in ("greedy", "random", np.linspace(-1.0, 1.0, 12).reshape(6, 2)):
    add(
        f"inducing {_inducing if isinstance(_inducing, str) else 'given'}",
        latent(inducing=_inducing),
        "curve",
        later=(20,),
    )
add("held inducing inputs", latent(optimize_inducing=False), "curve_with_holes", later=(20,))
add("batches", latent(batch_size=20), "curve_with_holes", first="partial_fit", later=(50, 30))
add("constant columns", latent(), "curve_with_constants", n=80, later=(40,))
add("frame", latent(), "curve_frame", later=(20,))
add("warm", latent(warm_start=True), "curve_with_holes", again=True, later=(20,))
add("cold again", latent(random_state=np.random.RandomState(3)), "curve_with_holes", again=True)
add("two jobs", latent(n_jobs=2), "curve_with_holes", n=400)
add("float32", latent(), "curve", layout="float32")
add("Fortran", latent(), "curve_with_holes", layout="F")
add("few rows", latent(), "curve", n=5)
add("natural steps", latent(natural_step=0.5, learning_rate=0.01, optimizer="adam"), "curve")
add("watched", latent(), "curve_with_holes", watch=Watch)
add("stopped", latent(), "curve", watch=Stop)
add("verbose", latent(verbose=2), "curve_with_holes", later=(20,))
add("many rows", latent(init_size=400, batch_size=500, max_iter=3), "curve_with_holes", n=2500)
