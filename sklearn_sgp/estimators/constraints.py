"""What parameters of the estimators may be."""

from numbers import Integral, Real

from sklearn.gaussian_process.kernels import Kernel

from .._compat import HasMethods, Interval, StrOptions
from ..engines.blocks.models import NAMES
from ..factors.own_model import BlockModel
from ..likelihoods._names import CLASSIFICATION, REGRESSION
from ..optimize.momentum import STOCHASTIC

# What `partial_fit` takes from the first batch; "inducing" only where it is an array.
FIXED_AFTER_FIT = (
    "kernel",
    "kernel_priors",
    "likelihood",
    "inducing",
    "optimize_inducing",
    "noise_variance",
    "noise_variance_bounds",
    "normalize_y",
    "categorical_features",
    "missing",
    "block_column",
    "offset_column",
    "n_latent",
)
# The same of models in blocks, which rows of later batches join.
FIXED_IN_BLOCKS = (
    *FIXED_AFTER_FIT,
    "model",
    "alpha_divergence",
    "alpha_epsilon",
    "block_size",
    "n_blocks",
    "partition",
    "markov_order",
    "n_neighbors",
)
# The same of a table.
LATENT_FIXED_AFTER_FIT = (
    "n_components",
    "kernel",
    "inducing",
    "optimize_inducing",
    "noise_variance",
    "noise_variance_bounds",
    "noise",
    "normalize",
)

SHARED_CONSTRAINTS = {
    "kernel": [None, Kernel],
    "kernel_priors": [None, dict],
    "n_inducing": [Interval(Integral, 1, None, closed="left")],
    "inducing": [StrOptions({"kmeans", "greedy", "random", "fourier"}), "array-like"],
    "optimize_inducing": ["boolean"],
    "optimizer": [None, StrOptions({"auto", "lbfgs", "adam"})],
    "init_size": [Interval(Integral, 1, None, closed="left")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "max_steps": [None, Interval(Integral, 1, None, closed="left")],
    "max_time": [None, Interval(Real, 0, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "natural_step": [Interval(Real, 0, 1, closed="right")],
    "categorical_features": [None, StrOptions({"from_dtype"}), "array-like"],
    "missing": [StrOptions({"auto", "error"})],
    "jitter": [Interval(Real, 0, 1e-3, closed="both")],
    "warm_start": ["boolean"],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
NOISE_CONSTRAINTS = {
    "noise_variance": [None, Interval(Real, 0, None, closed="neither"), "array-like"],
    "noise_variance_bounds": [StrOptions({"fixed"}), "array-like"],
}
COLUMN = [None, str, Interval(Integral, 0, None, closed="left")]
REGRESSOR_CONSTRAINTS = (
    SHARED_CONSTRAINTS
    | NOISE_CONSTRAINTS
    | {
        "likelihood": [StrOptions(set(REGRESSION)), HasMethods(["moments"])],
        "normalize_y": ["boolean", StrOptions({"yeo-johnson", "warped"}), tuple],
        "offset_column": COLUMN,
        "include_noise": ["boolean"],
    }
)
_CLASS_LIKELIHOODS = [
    StrOptions({"auto", *CLASSIFICATION}),
    HasMethods(["expected_log_density", "probabilities"]),
]
CLASSIFIER_CONSTRAINTS = SHARED_CONSTRAINTS | {
    "likelihood": _CLASS_LIKELIHOODS,
    "offset_column": COLUMN,
}
ROWS_CONSTRAINTS = {
    "optimizer": [None, StrOptions({"auto", "lbfgs", *STOCHASTIC})],
    "total_samples": [None, Interval(Integral, 1, None, closed="left")],
    "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
}
STREAM_CONSTRAINTS = {
    "forget_factor": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
    "old_posterior_power": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
    "trust_region": [Interval(Real, 0, None, closed="neither")],
    "min_inducing": [None, Interval(Integral, 1, None, closed="left")],
}
N_LATENT = [None, Interval(Integral, 1, None, closed="left")]
CLASS_WEIGHT = [None, StrOptions({"balanced"}), dict]
BLOCK_CONSTRAINTS = {
    name: value for name, value in REGRESSOR_CONSTRAINTS.items() if name != "batch_size"
} | {
    "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
    "model": [StrOptions({"auto", *NAMES}), list, tuple, BlockModel],
    "n_inducing": [Interval(Integral, 0, None, closed="left")],
    "alpha_divergence": [Interval(Real, 0, 1, closed="both")],
    "solver": [StrOptions({"exact", "anytime"})],
    "block_column": COLUMN,
    "n_blocks": [None, Interval(Integral, 1, None, closed="left")],
    "block_size": [Interval(Integral, 1, None, closed="left")],
    "partition": [StrOptions({"kmeans", "contiguous", "random"}), HasMethods(["fit", "predict"])],
    "blocks_per_step": [Interval(Integral, 1, None, closed="left")],
    "schedule": [StrOptions({"average", "robbins-monro", "gradient"})],
    "step_size": [Interval(Real, 0, 1, closed="right")],
    "step_decay": [Interval(Real, 0, None, closed="left")],
    "step_power": [Interval(Real, 0.5, 1, closed="right")],
    "markov_order": [Interval(Integral, 0, None, closed="left")],
    "n_neighbors": [Interval(Integral, 0, None, closed="left")],
    "copy_X": ["boolean"],
}
_OF_X = ("categorical_features", "missing", "kernel_priors")
LATENT_CONSTRAINTS = {
    name: value for name, value in SHARED_CONSTRAINTS.items() if name not in _OF_X
} | {
    **NOISE_CONSTRAINTS,
    "inducing": [StrOptions({"kmeans", "greedy", "random"}), "array-like"],
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "noise": [StrOptions({"columns", "shared"})],
    "normalize": ["boolean"],
    "n_starts": [Interval(Integral, 1, None, closed="left")],
}
