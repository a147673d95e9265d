"""Every estimator with every parameter: what a case may ask for."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans
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

import sklearn_sgp
from sklearn_sgp.kernels import Columns
from sklearn_sgp.likelihoods import HeteroscedasticGaussian, Poisson, StudentT

# By name, so that the repr of a case is all there is to know about it.
KERNELS = {
    "RBF": lambda d: RBF(1.0),
    "scaled RBF": lambda d: ConstantKernel(2.0) * RBF(np.full(d, 0.7)),
    "fixed RBF": lambda d: RBF(1.0, "fixed"),
    "long RBF": lambda d: RBF(1e5, (1e-8, 1e8)),
    "short RBF": lambda d: RBF(1e-5, (1e-8, 1e8)),
    "Matern 1/2": lambda d: Matern(1.0, nu=0.5),
    "Matern 3/2": lambda d: Matern(1.0, nu=1.5),
    "Matern 5/2": lambda d: ConstantKernel() * Matern(np.full(d, 1.0), nu=2.5),
    "rational quadratic": lambda d: RationalQuadratic(),
    "periodic": lambda d: ExpSineSquared(),
    "linear": lambda d: DotProduct(),
    "cubic": lambda d: DotProduct() ** 3,
    "with noise": lambda d: RBF() + WhiteKernel(),
    "sum": lambda d: RBF() + 0.5 * DotProduct() + ConstantKernel(),
    "columns": lambda d: Columns(RBF(), [0]) * Columns(Matern(), [d - 1]),
    "user's own": lambda d: PairwiseKernel(metric="rbf"),
    "huge constant": lambda d: ConstantKernel(1e12, "fixed") * RBF(),
    "tiny constant": lambda d: ConstantKernel(1e-12, "fixed") * RBF(),
    "constant": lambda d: ConstantKernel(),
}
LIKELIHOODS = {
    "StudentT(df=3)": lambda: StudentT(df=3.0),
    "StudentT(df=None)": lambda: StudentT(df=None),
    "Poisson()": Poisson,
    "HeteroscedasticGaussian(n_inducing=3)": lambda: HeteroscedasticGaussian(n_inducing=3),
}
PARTITIONS = {"a clusterer": lambda: MiniBatchKMeans(3, n_init=1, random_state=0)}

_SHARED = {
    "kernel": list(KERNELS),
    "n_inducing": [8, 1, 2, 40],
    "inducing": ["kmeans", "greedy", "random", "rows", "far away", "one place"],
    "optimize_inducing": [False],
    "optimizer": ["lbfgs", "adam", None],
    "init_size": [1, 5, 100],
    "n_restarts_optimizer": [1],
    "max_steps": [1, 3],
    "max_time": [1e-9, 0.05],
    "tol": [0.0, 1e3],
    "n_iter_no_change": [1],
    "learning_rate": [1e-6, 0.5, 10.0],
    "natural_step": [1.0, 1e-3],
    "jitter": [0.0, 1e-6, 1e-3],
    "warm_start": [True],
    "n_jobs": [2, None],
    "categorical_features": ["from_dtype", (0,)],
}
_BATCHES = {"batch_size": [1, 3, 64], "total_samples": [1, 100]}
_NUMBERS = {
    "noise_variance": [1e-12, 1e-3, 1.0, 1e6],
    "noise_variance_bounds": ["fixed", (1e-12, 1e-10), (1.0, 1e9)],
    "normalize_y": [False, "yeo-johnson", "warped", (3.0, 1e-3)],
    "likelihood": [
        "student_t",
        "heteroscedastic",
        "heteroscedastic_student_t",
        "auto",
        "StudentT(df=3)",
        "StudentT(df=None)",
        "HeteroscedasticGaussian(n_inducing=3)",
    ],
}
_COUNTS = {"likelihood": ["gaussian", *_NUMBERS["likelihood"], "poisson", "Poisson()"]}
_CLASSES = {"likelihood": ["probit", "logit", "softmax"]}
_WEIGHTED = {"class_weight": ["balanced"]}
_BLOCKS = {
    "model": ["vif", "pic", "lma", "pitc", "fitc", "fic", "vfe", "sor", "dtc", "mixture"],
    "alpha_divergence": [0.5, 1e-9, 0.0],
    "solver": ["exact"],
    "n_blocks": [1, 3, 1000],
    "block_size": [1, 4, 1000],
    "partition": ["contiguous", "random", "a clusterer"],
    "markov_order": [0, 3],
    "n_neighbors": [0, 1, 5],
    "blocks_per_step": [2, 100],
    "schedule": ["robbins-monro"],
    "step_size": [1.0, 1e-6],
    "copy_X": [False],
}
_STREAM = {
    "forget_factor": [0.9, 1e-6],
    "trust_region": [1e-6, 100.0],
    "min_inducing": [1, 5],
    "batch_size": [1, 4],
}
_LATENT = {
    "n_components": [2, 1, 5],
    "kernel": ["RBF", "scaled RBF", "linear", "sum", "Matern 3/2", "with noise", "periodic"],
    "noise": ["columns"],
    "normalize": [False],
    "n_starts": [2],
}
_NOT_LATENT = {"categorical_features", "n_restarts_optimizer"}

PARAMETERS = {
    "SVGPRegressor": _SHARED | _BATCHES | _NUMBERS | _COUNTS | {"n_latent": [1, 2]},
    "SVGPClassifier": _SHARED | _BATCHES | _CLASSES | _WEIGHTED,
    "AnytimeSGPRegressor": _SHARED | _NUMBERS | _BLOCKS,
    "AnytimeSGPClassifier": _SHARED | _BLOCKS | _WEIGHTED | {"alpha_epsilon": [0.01, 1e-12, 100.0]},
    "StreamingSGPRegressor": _SHARED
    | _STREAM
    | _NUMBERS
    | _COUNTS
    | {"alpha_divergence": [0.5, 1.0]},
    "StreamingSGPClassifier": _SHARED | _STREAM | _CLASSES,
    "BayesianGPLVM": {k: v for k, v in _SHARED.items() if k not in _NOT_LATENT}
    | {"batch_size": [1, 3], "noise_variance_bounds": ["fixed"], "noise_variance": [1e-6, 1.0]}
    | _LATENT,
}
for _name, _known in PARAMETERS.items():
    if "Streaming" in _name or _name == "BayesianGPLVM":
        _known.pop("n_restarts_optimizer", None)
ESTIMATORS = list(PARAMETERS)


def _inducing(value, X):
    """Inducing inputs that are given, near the rows or not."""
    rows = np.asarray(X)[:5].astype(float)
    given = {"rows": rows, "far away": rows + 1e4 * (1.0 + np.abs(rows)), "one place": 0.0 * rows}
    return given.get(value, value)


def estimator_of(name, parameters, X, random_state):
    """Make an estimator that learns a little.

    Parameters
    ----------
    name : str
    parameters : sequence of (str, value)
        Objects by their names here.
    X : array of shape (n, d)
        Numbers that inputs are like.
    random_state : int
    """
    kind = getattr(sklearn_sgp, name)
    chosen = dict(parameters)
    d = dict(parameters).get("n_components", 2) if name == "BayesianGPLVM" else X.shape[1]
    if "kernel" in chosen:
        chosen["kernel"] = KERNELS[chosen["kernel"]](d)
    if chosen.get("likelihood") in LIKELIHOODS:
        chosen["likelihood"] = LIKELIHOODS[chosen["likelihood"]]()
    if chosen.get("partition") in PARTITIONS:
        chosen["partition"] = PARTITIONS[chosen["partition"]]()
    if chosen.get("model") == "mixture":
        chosen["model"] = [("dtc", 0.5), ("fitc", 0.5)]
    if isinstance(chosen.get("categorical_features"), tuple):
        chosen["categorical_features"] = list(chosen["categorical_features"])
    if "inducing" in chosen:
        X = np.linspace(-1.0, 1.0, 5 * d).reshape(5, d) if name == "BayesianGPLVM" else X
        chosen["inducing"] = _inducing(chosen["inducing"], X)
    small = {"n_inducing": 8, "max_iter": 3, "n_jobs": 1, "random_state": random_state}
    if name.startswith("Anytime"):
        small |= {"block_size": 15, "n_neighbors": 8}
    return kind(**(small | chosen))
