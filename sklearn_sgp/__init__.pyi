"""Types of the public estimators; tests/test_type_hints.py compares them with the code.

A stub, since constructors share their parameters and `predict` returns one array, or two: written
into the classes, that would hide what they do. scikit-learn has no type hints, so its classes,
kernels among them, are Any.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel

from ._show_versions import show_versions as show_versions
from .likelihoods import Likelihood
from .predict.distribution import PredictiveDistribution

__all__ = [
    "TRUSTED_TYPES",
    "AnytimeSGPClassifier",
    "AnytimeSGPRegressor",
    "BayesianGPLVM",
    "BlockModel",
    "SVGPClassifier",
    "SVGPRegressor",
    "StreamingSGPClassifier",
    "StreamingSGPRegressor",
    "__version__",
    "show_versions",
]

__version__: str
TRUSTED_TYPES: list[str]

_Array: TypeAlias = NDArray[np.float64]
_Maybe: TypeAlias = ArrayLike | None
_Seed: TypeAlias = int | np.random.RandomState | None
_Noisy: TypeAlias = Literal[
    "gaussian", "student_t", "heteroscedastic", "heteroscedastic_student_t", "auto"
]
_WithSites: TypeAlias = Literal["poisson", "negative_binomial", "gamma", "beta", "censored"]
_Model: TypeAlias = Literal["auto", "sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic", "lma", "vif"]

class BlockModel:
    full_covariance: bool
    test_conditional: Literal["sor", "dtc", "fic", "pic"]
    learned_as: Literal["vfe", "fitc", "pitc"]
    def terms(
        self, A: _Array, y: _Array, K: _Array, noise: _Array
    ) -> tuple[_Array, _Array, float]: ...

# Parameters -----------------------------------------------------------------------------------

class _Shared(TypedDict, total=False):
    n_inducing: int
    inducing: Literal["kmeans", "greedy", "random", "fourier"] | ArrayLike
    optimize_inducing: bool
    init_size: int
    max_iter: int
    max_steps: int | None
    max_time: float | None
    tol: float
    n_iter_no_change: int
    learning_rate: float
    natural_step: float
    jitter: float
    warm_start: bool
    n_jobs: int | None
    random_state: _Seed
    verbose: int

class _Optimizer(TypedDict, total=False):
    optimizer: Literal["auto", "lbfgs", "adam"] | None

class _WithX(_Shared, total=False):
    kernel_priors: Mapping[str, Any] | None
    offset_column: int | str | None
    categorical_features: Literal["from_dtype"] | ArrayLike | None
    missing: Literal["auto", "error"]

class _Noise(TypedDict, total=False):
    noise_variance: float | ArrayLike | None
    noise_variance_bounds: Literal["fixed"] | tuple[float, float] | ArrayLike
    normalize_y: bool | Literal["yeo-johnson", "warped"] | tuple[ArrayLike, ArrayLike]
    include_noise: bool

class _Rows(TypedDict, total=False):
    optimizer: Literal["auto", "lbfgs", "adam", "sgd"] | None
    total_samples: int | None
    batch_size: int
    n_restarts_optimizer: int

class _Stream(TypedDict, total=False):
    forget_factor: float | Literal["auto"]
    old_posterior_power: float | Literal["auto"]
    trust_region: float
    min_inducing: int | None
    batch_size: int

class _Blocks(TypedDict, total=False):
    model: _Model | BlockModel | Sequence[tuple[str | BlockModel, float]]
    alpha_divergence: float
    solver: Literal["exact", "anytime"]
    block_column: int | str | None
    n_blocks: int | None
    block_size: int
    partition: Literal["kmeans", "contiguous", "random"] | BaseEstimator
    markov_order: int
    n_neighbors: int
    blocks_per_step: int
    schedule: Literal["average", "robbins-monro", "gradient"]
    step_size: float
    step_decay: float
    step_power: float
    n_restarts_optimizer: int
    copy_X: bool

class _SVGPRegressor(_WithX, _Noise, _Rows, total=False):
    likelihood: _Noisy | _WithSites | Likelihood
    n_latent: int | None

class _SVGPClassifier(_WithX, _Rows, total=False):
    likelihood: Literal["auto", "probit", "logit", "softmax", "ordinal"] | Likelihood
    class_weight: Literal["balanced"] | Mapping[Any, float] | None

class _AnytimeRegressor(_WithX, _Optimizer, _Noise, _Blocks, total=False):
    likelihood: _Noisy | _WithSites | Likelihood

class _AnytimeClassifier(_WithX, _Optimizer, _Blocks, total=False):
    likelihood: Literal["auto", "dirichlet", "probit", "logit", "ordinal"] | Likelihood
    alpha_epsilon: Literal["auto"] | float
    class_weight: Literal["balanced"] | Mapping[Any, float] | None

class _StreamingRegressor(_WithX, _Optimizer, _Noise, _Stream, total=False):
    likelihood: _Noisy | _WithSites | Likelihood
    alpha_divergence: float
    n_latent: int | None

class _StreamingClassifier(_WithX, _Optimizer, _Stream, total=False):
    likelihood: Literal["auto", "probit", "logit", "softmax", "ordinal"] | Likelihood

class _Latent(_Shared, _Optimizer, total=False):
    kernel: Kernel | None
    noise_variance: float | ArrayLike | None
    noise_variance_bounds: Literal["fixed"] | tuple[float, float] | ArrayLike
    noise: Literal["shared", "columns"]
    normalize: bool
    n_starts: int
    batch_size: int

# What all estimators have ---------------------------------------------------------------------

class _Estimator(BaseEstimator):
    kernel_: Kernel
    inducing_points_: _Array
    objective_: float
    objectives_: _Array
    fit_times_: _Array
    jitter_: float
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_iter_: int
    n_samples_seen_: int
    n_steps_: int

class _SupervisedEstimator(_Estimator):
    log_prior_: float
    choices_: list[dict[str, Any]]
    frequencies_: _Array | None
    likelihood_: Likelihood
    categories_: list[NDArray[Any]] | None
    is_categorical_: NDArray[np.bool_] | None
    feature_importances_: _Array

class _Regressor(_SupervisedEstimator):
    X_train_: _Array
    noise_variance_: float | _Array
    y_mean_: float | _Array
    y_scale_: float | _Array
    resolution_: float | _Array
    variance_scale_: tuple[float, float]
    variance_scale_gain_: float
    mean_share_: float | _Array
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: _Maybe = None) -> Self: ...
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: _Maybe = None) -> Self: ...
    def noise_std(self, X: ArrayLike) -> _Array: ...
    def sample_functions(
        self, n_samples: int = 1, random_state: _Seed = 0
    ) -> Callable[[ArrayLike], _Array]: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        quantiles: _Maybe = None,
        include_noise: bool | None = None,
        return_mean_grad: Literal[False] = False,
        return_std_grad: Literal[False] = False,
    ) -> _Array: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[True],
        return_cov: Literal[False] = False,
        quantiles: None = None,
        include_noise: bool | None = None,
        return_mean_grad: Literal[False] = False,
        return_std_grad: Literal[False] = False,
    ) -> tuple[_Array, _Array]: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[False] = False,
        *,
        return_cov: Literal[True],
        quantiles: None = None,
        include_noise: bool | None = None,
        return_mean_grad: Literal[False] = False,
        return_std_grad: Literal[False] = False,
    ) -> tuple[_Array, _Array]: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: Literal[False] = False,
        quantiles: None = None,
        include_noise: bool | None = None,
        *,
        return_mean_grad: Literal[True],
        return_std_grad: bool = False,
    ) -> tuple[_Array, ...]: ...
    def predict_std(self, X: ArrayLike, include_noise: bool | None = None) -> _Array: ...
    @overload
    def predict_gradient(self, X: ArrayLike, return_std: Literal[False] = False) -> _Array: ...
    @overload
    def predict_gradient(
        self, X: ArrayLike, return_std: Literal[True]
    ) -> tuple[_Array, _Array]: ...
    @overload
    def predict_terms(self, X: ArrayLike, return_std: Literal[False] = False) -> _Array: ...
    @overload
    def predict_terms(self, X: ArrayLike, return_std: Literal[True]) -> tuple[_Array, _Array]: ...
    def novelty(self, X: ArrayLike) -> _Array: ...
    def leave_one_out(
        self, X: _Maybe = None, y: _Maybe = None, sample_weight: _Maybe = None
    ) -> tuple[_Array, _Array]: ...
    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.5, 0.95)
    ) -> _Array: ...
    def predict_distribution(self, X: ArrayLike) -> PredictiveDistribution: ...
    def log_density(self, X: ArrayLike, y: ArrayLike, resolution: ArrayLike = 0.0) -> _Array: ...
    def sample_y(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: _Seed = 0,
        method: Literal["auto", "joint", "pathwise"] = "auto",
        include_noise: bool | None = None,
    ) -> _Array: ...
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: _Maybe = None) -> float: ...

class _WithEvidence:
    @overload
    def log_marginal_likelihood(
        self,
        theta: _Maybe = None,
        eval_gradient: Literal[False] = False,
        clone_kernel: bool = True,
        *,
        X: _Maybe = None,
        y: _Maybe = None,
        sample_weight: _Maybe = None,
    ) -> float: ...
    @overload
    def log_marginal_likelihood(
        self,
        theta: _Maybe,
        eval_gradient: Literal[True],
        clone_kernel: bool = True,
        *,
        X: _Maybe = None,
        y: _Maybe = None,
        sample_weight: _Maybe = None,
    ) -> tuple[float, _Array]: ...

class _Classifier(_SupervisedEstimator):
    classes_: NDArray[Any]
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: _Maybe = None) -> Self: ...
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: _Maybe = None, sample_weight: _Maybe = None
    ) -> Self: ...
    def predict(self, X: ArrayLike) -> NDArray[Any]: ...
    def predict_proba(self, X: ArrayLike) -> _Array: ...
    def predict_log_proba(self, X: ArrayLike) -> _Array: ...
    def decision_function(self, X: ArrayLike) -> _Array: ...
    def predict_std(self, X: ArrayLike) -> _Array: ...
    def log_density(self, X: ArrayLike, y: ArrayLike) -> _Array: ...
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: _Maybe = None) -> float: ...

# The estimators -------------------------------------------------------------------------------

class SVGPRegressor(_WithEvidence, _Regressor):
    mixing_: _Array | None
    output_correlation_: _Array | None
    def __init__(
        self, kernel: Kernel | None = None, **parameters: Unpack[_SVGPRegressor]
    ) -> None: ...

class SVGPClassifier(_WithEvidence, _Classifier):
    def __init__(
        self, kernel: Kernel | None = None, **parameters: Unpack[_SVGPClassifier]
    ) -> None: ...

class _WithBatches:
    log_evidence_: float
    batch_log_density_: float | None
    batch_log_densities_: _Array
    n_missing_: int
    n_shifts_: int

class StreamingSGPRegressor(_WithBatches, _Regressor):
    band_scale_: float | _Array
    mixing_: _Array | None
    output_correlation_: _Array | None
    def __init__(
        self, kernel: Kernel | None = None, **parameters: Unpack[_StreamingRegressor]
    ) -> None: ...

class StreamingSGPClassifier(_WithBatches, _Classifier):
    def __init__(
        self, kernel: Kernel | None = None, **parameters: Unpack[_StreamingClassifier]
    ) -> None: ...

class AnytimeSGPRegressor(_WithEvidence, _Regressor):
    n_blocks_: int
    def __init__(
        self, kernel: Kernel | None = None, **parameters: Unpack[_AnytimeRegressor]
    ) -> None: ...

class AnytimeSGPClassifier(_WithEvidence, _Classifier):
    alpha_epsilon_: float
    n_blocks_: int
    temperature_: float
    def __init__(
        self, kernel: Kernel | None = None, **parameters: Unpack[_AnytimeClassifier]
    ) -> None: ...
    def leave_one_out(
        self, X: _Maybe = None, y: _Maybe = None, sample_weight: _Maybe = None
    ) -> _Array: ...

class BayesianGPLVM(_Estimator):
    embedding_: _Array
    embedding_std_: _Array
    relevance_: _Array
    mean_: _Array
    scale_: _Array
    calibration_: _Array
    noise_variance_: float | _Array
    def __init__(self, n_components: int = 2, **parameters: Unpack[_Latent]) -> None: ...
    def fit(self, Y: ArrayLike, y: object = None) -> Self: ...
    def partial_fit(self, Y: ArrayLike, y: object = None) -> Self: ...
    def fit_transform(self, Y: ArrayLike, y: object = None) -> _Array: ...
    @overload
    def transform(self, Y: ArrayLike, return_std: Literal[False] = False) -> _Array: ...
    @overload
    def transform(self, Y: ArrayLike, return_std: Literal[True]) -> tuple[_Array, _Array]: ...
    @overload
    def inverse_transform(self, X: ArrayLike, return_std: Literal[False] = False) -> _Array: ...
    @overload
    def inverse_transform(
        self, X: ArrayLike, return_std: Literal[True]
    ) -> tuple[_Array, _Array]: ...
    @overload
    def impute(self, Y: ArrayLike, return_std: Literal[False] = False) -> _Array: ...
    @overload
    def impute(self, Y: ArrayLike, return_std: Literal[True]) -> tuple[_Array, _Array]: ...
    def score_samples(self, Y: ArrayLike) -> _Array: ...
    def score(self, Y: ArrayLike, y: object = None) -> float: ...
    def sample(self, n_samples: int = 1, random_state: _Seed = None) -> _Array: ...
