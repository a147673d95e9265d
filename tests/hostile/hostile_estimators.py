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
from sklearn_sgp import BlockModel
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.likelihoods import (
    Censored,
    HeteroscedasticGaussian,
    HeteroscedasticStudentT,
    Logit,
    Poisson,
    Softmax,
    StudentT,
)

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
    "directions": lambda d: Columns(RBF(), slice(None), np.ones((1, d)), (-10.0, 10.0)),
    "user's own": lambda d: PairwiseKernel(metric="rbf"),
    "huge constant": lambda d: ConstantKernel(1e12, "fixed") * RBF(),
    "tiny constant": lambda d: ConstantKernel(1e-12, "fixed") * RBF(),
    "constant": lambda d: ConstantKernel(),
    "powers": lambda d: (RBF() + DotProduct()) ** 2 * RationalQuadratic(),
    "fixed scales": lambda d: Matern(np.full(d, 0.3), "fixed", nu=np.inf),
    "tight bounds": lambda d: RBF(1.0, (1.0 - 1e-9, 1.0 + 1e-9)),
    "noise inside": lambda d: RBF() * WhiteKernel(),
    "one scale too many": lambda d: RBF(np.full(d + 1, 1.0)),
    "a column too far": lambda d: Columns(RBF(), [d]),
    "categories": lambda d: Columns(Categorical(1), [0]),
    "categories and numbers": lambda d: RBF() + RBF() * Columns(Categorical(), [0]),
    "four categories": lambda d: RBF() * Columns(Categorical(n_categories=4), [0]),
    "a kernel for each": lambda d: [RBF(), ConstantKernel() * Matern()],
}
LIKELIHOODS = {
    "StudentT(df=3)": lambda: StudentT(df=3.0),
    "StudentT(df=None)": lambda: StudentT(df=None),
    "Poisson()": Poisson,
    "Censored(lower=0)": lambda: Censored(lower=0.0),
    "Censored(upper=0.4)": lambda: Censored(upper=0.4),
    "Censored(-0.4, 0.4)": lambda: Censored(lower=-0.4, upper=0.4),
    "HeteroscedasticGaussian(n_inducing=3)": lambda: HeteroscedasticGaussian(n_inducing=3),
    "HeteroscedasticGaussian(Matern())": lambda: HeteroscedasticGaussian(Matern(nu=1.5)),
    "HeteroscedasticStudentT()": HeteroscedasticStudentT,
    "Logit()": Logit,
    "Softmax()": Softmax,
}


class _Deterministic(BlockModel):
    """DTC, as a model of one's own."""

    def terms(self, A, y, K, noise):
        scaled = A / noise
        each = (y**2).sum(axis=1) / noise + y.shape[1] * np.log(2.0 * np.pi * noise)
        return scaled @ A.T, scaled @ y, -0.5 * each.sum()


class _Conditional(BlockModel):
    """PITC, as a model of one's own."""

    full_covariance, test_conditional, learned_as = True, "fic", "pitc"

    def terms(self, A, y, K, noise):
        S = K - A.T @ A + np.diag(noise)
        S_A, S_y = np.linalg.solve(S, A.T), np.linalg.solve(S, y)
        log_det = np.linalg.slogdet(2.0 * np.pi * S)[1]
        return A @ S_A, A @ S_y, -0.5 * ((y * S_y).sum() + y.shape[1] * log_det)


MODELS = {"own DTC": _Deterministic, "own PITC": _Conditional}
PARTITIONS = {"a clusterer": lambda: MiniBatchKMeans(3, n_init=1, random_state=0)}

_SHARED = {
    "kernel": list(KERNELS),
    "n_inducing": [8, 1, 2, 40, 1000],
    "inducing": ["kmeans", "greedy", "random", "rows", "all rows", "far away", "one place"]
    + ["fourier"],
    "optimize_inducing": [False],
    "optimizer": ["lbfgs", "adam", None],
    "init_size": [1, 5, 100],
    "n_restarts_optimizer": [1],
    "max_iter": [1, 30],
    "max_steps": [1, 3],
    "max_time": [1e-9, 0.05],
    "tol": [0.0, 1e3],
    "n_iter_no_change": [1],
    "learning_rate": [1e-6, 0.5, 10.0],
    "natural_step": [1.0, 1e-3],
    "jitter": [0.0, 1e-6, 1e-3],
    "warm_start": [True],
    "n_jobs": [2, None],
    "verbose": [1, 2],
    "callbacks": ["stop", "predict"],
    "missing": ["error", "auto"],
    "categorical_features": ["from_dtype", (0,), ("column 0",), (True,)],
}
_BATCHES = {
    "batch_size": [1, 3, 64],
    "total_samples": [1, 100],
    "optimizer": ["lbfgs", "adam", "sgd", None],
}
_NUMBERS = {
    "include_noise": [False],
    "noise_variance": [1e-12, 1e-3, 1.0, 1e6, (0.1, 1e-3)],
    "noise_variance_bounds": ["fixed", (1e-12, 1e-10), (1.0, 1e9)],
    "normalize_y": [False, "yeo-johnson", "warped", (3.0, 1e-3), ((0.0, 1e3), (1.0, 1e2))],
    "likelihood": [
        "student_t",
        "heteroscedastic",
        "heteroscedastic_student_t",
        "auto",
        "StudentT(df=3)",
        "StudentT(df=None)",
        "HeteroscedasticGaussian(n_inducing=3)",
        "HeteroscedasticGaussian(Matern())",
        "HeteroscedasticStudentT()",
    ],
}
_WIDTHS = ["negative_binomial", "gamma", "beta", "censored"]
_WIDTHS += [name for name in LIKELIHOODS if name.startswith("Censored")]
_COUNTS = {"likelihood": ["gaussian", *_NUMBERS["likelihood"], "poisson", "Poisson()", *_WIDTHS]}
_CLASSES = {"likelihood": ["probit", "logit", "softmax", "Logit()", "Softmax()", "ordinal"]}
_OFFSETS = {"offset_column": [0, 1, -1, 7, "column 0"]}
_WEIGHTED = {"class_weight": ["balanced", ((0, 2.0), (1, 1e-6)), (("yes", 0.0),)]}
_BLOCKS = {
    "model": ["vif", "pic", "lma", "pitc", "fitc", "fic", "vfe", "sor", "dtc", "mixture"]
    + list(MODELS),
    "alpha_divergence": [0.5, 1e-9, 0.0],
    "solver": ["exact"],
    "n_blocks": [1, 3, 1000],
    "block_size": [1, 4, 1000],
    "partition": ["contiguous", "random", "a clusterer"],
    "markov_order": [0, 3],
    "n_neighbors": [0, 1, 5],
    "blocks_per_step": [2, 100],
    "schedule": ["robbins-monro", "gradient"],
    "step_size": [1.0, 1e-6],
    "step_decay": [0.0, 100.0],
    "step_power": [0.51, 1.0],
    "copy_X": [False],
}
_STREAM = {
    "forget_factor": [0.9, 1e-6],
    "old_posterior_power": [0.0, 1.0],
    "trust_region": [1e-6, 100.0],
    "min_inducing": [1, 5],
    "batch_size": [1, 4],
}
_LATENT = {
    "n_components": [2, 1, 5],
    "kernel": ["RBF", "scaled RBF", "linear", "sum", "Matern 3/2", "with noise", "periodic"]
    + ["Matern 1/2", "rational quadratic", "cubic", "columns", "user's own", "constant", "powers"]
    + ["one scale too many", "huge constant", "categories"],
    "noise": ["columns"],
    "normalize": [False],
    "n_starts": [2],
}
_NOT_LATENT = {"missing", "categorical_features", "n_restarts_optimizer"}

PARAMETERS = {
    "SVGPRegressor": _SHARED | _BATCHES | _NUMBERS | _COUNTS | _OFFSETS | {"n_latent": [1, 2]},
    "SVGPClassifier": _SHARED | _BATCHES | _CLASSES | _OFFSETS | _WEIGHTED,
    "AnytimeSGPRegressor": _SHARED | _NUMBERS | _COUNTS | _OFFSETS | _BLOCKS,
    "AnytimeSGPClassifier": _SHARED
    | _OFFSETS
    | _BLOCKS
    | _WEIGHTED
    | {"alpha_epsilon": [0.01, 1e-12, 100.0], "likelihood": ["ordinal"]},
    "StreamingSGPRegressor": _SHARED
    | _STREAM
    | _NUMBERS
    | _COUNTS
    | _OFFSETS
    | {"alpha_divergence": [0.5, 1.0], "n_latent": [1, 2]}
    | {"forget_factor": [0.9, 1e-6, "auto", "auto"]},
    "StreamingSGPClassifier": _SHARED | _STREAM | _CLASSES | _OFFSETS,
    "BayesianGPLVM": {k: v for k, v in _SHARED.items() if k not in _NOT_LATENT}
    | {"batch_size": [1, 3], "noise_variance_bounds": ["fixed"], "noise_variance": [1e-6, 1.0]}
    # 3,000 rows with 1,000 inducing inputs ask for some 10 s of work an evaluation, by n m^2 Q
    | {"n_inducing": [8, 1, 2, 40, 200], "inducing": ["greedy", "random", "rows", "one place"]}
    | _LATENT,
}
for _name, _known in PARAMETERS.items():
    if "Streaming" in _name or _name == "BayesianGPLVM":
        _known.pop("n_restarts_optimizer", None)
ESTIMATORS = list(PARAMETERS)


def _inducing(value, X):
    """Inducing inputs that are given, near the rows or not."""
    if value == "all rows":
        return np.unique(np.asarray(X).astype(float), axis=0)
    rows = np.asarray(X)[:5].astype(float)
    if value == "far away":
        with np.errstate(over="ignore"):  # infinities are numbers to be refused, too
            return rows + 1e4 * (1.0 + np.abs(rows))
    return {"rows": rows, "one place": np.zeros_like(rows)}.get(value, value)


class _Callback:
    """Stops learning after two steps, or looks at an estimator amid a fit."""

    def __init__(self, kind):
        self.kind, self.steps = kind, 0

    def setup(self, estimator, context):
        self.steps = 0

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.steps += context.parent is not None
        if self.kind == "predict" and context.parent is not None:
            amid = fitted_estimator
            ask = amid.transform if hasattr(amid, "transform") else amid.predict
            answer = np.asarray(ask(X[:3]))
            if answer.dtype.kind == "f" and not np.isfinite(answer).all():
                raise AssertionError(f"amid a fit an estimator predicts {answer}")
        return self.kind == "stop" and self.steps >= 2


def values_of(name, parameters, X):
    """Parameters as an estimator takes them.

    Parameters
    ----------
    name : str
    parameters : sequence of (str, value)
        Objects by their names here.
    X : array of shape (n, d)
        Numbers that inputs are like.
    """
    chosen = dict(parameters)
    d = chosen.get("n_components", 2) if name == "BayesianGPLVM" else X.shape[1]
    if "kernel" in chosen:
        chosen["kernel"] = KERNELS[chosen["kernel"]](d)
    if chosen.get("likelihood") in LIKELIHOODS:
        chosen["likelihood"] = LIKELIHOODS[chosen["likelihood"]]()
    if chosen.get("partition") in PARTITIONS:
        chosen["partition"] = PARTITIONS[chosen["partition"]]()
    if chosen.get("model") in MODELS:
        chosen["model"] = MODELS[chosen["model"]]()
    if chosen.get("model") == "mixture":
        chosen["model"] = [("dtc", 0.5), ("fitc", 0.5)]
    if isinstance(chosen.get("class_weight"), tuple):
        chosen["class_weight"] = dict(chosen["class_weight"])
    for key in ("categorical_features", "noise_variance"):
        if isinstance(chosen.get(key), tuple):
            chosen[key] = list(chosen[key])
    if "inducing" in chosen:
        X = np.linspace(-1.0, 1.0, 5 * d).reshape(5, d) if name == "BayesianGPLVM" else X
        chosen["inducing"] = _inducing(chosen["inducing"], X)
    return chosen


def estimator_of(name, parameters, X, random_state):
    """Make an estimator that learns a little; see `values_of`."""
    small = {"n_inducing": 8, "max_iter": 3, "n_jobs": 1, "random_state": random_state}
    if name.startswith("Anytime"):
        small |= {"block_size": 15, "n_neighbors": 8}
    chosen = small | values_of(name, parameters, X)
    callbacks = chosen.pop("callbacks", None)
    model = getattr(sklearn_sgp, name)(**chosen)
    if callbacks is not None and hasattr(model, "set_callbacks"):
        model.set_callbacks(_Callback(callbacks))
    return model
