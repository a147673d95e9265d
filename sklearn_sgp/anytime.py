"""AnytimeSGPRegressor: sparse GP regression in blocks, at any time (Hoang, Hoang & Low 2015)."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_is_fitted, has_fit_parameter  # noqa: F401

from ._base import transactional
from ._blocks_course import Plan, learn_in_blocks
from ._compat import HasMethods, Interval, StrOptions, _fit_context
from ._learned import SHARED_CONSTRAINTS, BaseLearnedRegressor
from .anytime_steps import Average, RobbinsMonro
from .blocks import Model
from .learning import Clock
from .partition import Clusterer, KMeansTree, Ordered, check_labels, position_of
from .predictive import Conditional, Deterministic, InBlocks, Independent

_VARIATIONAL = Model("diagonal", 0.0)
# Name: part of the unexplained variance that a factor keeps, and the test conditional.
_MODELS = {
    "sor": ("nothing", Deterministic),
    "dtc": ("nothing", Conditional),
    "vfe": ("diagonal", Conditional),
    "fitc": ("diagonal", Conditional),
    "fic": ("diagonal", Independent),
    "pitc": ("block", Conditional),
    "pic": ("block", InBlocks),
}
_PARTITIONS = {"kmeans", "contiguous", "random"}


class AnytimeSGPRegressor(BaseLearnedRegressor):
    """Sparse Gaussian process regression in blocks of rows."""

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "model": [StrOptions(set(_MODELS))],
        "alpha_divergence": [Interval(Real, 0, 1, closed="both")],
        "solver": [StrOptions({"exact", "anytime"})],
        "n_blocks": [None, Interval(Integral, 1, None, closed="left")],
        "block_size": [Interval(Integral, 1, None, closed="left")],
        "partition": [StrOptions(_PARTITIONS), HasMethods(["fit", "predict"])],
        "blocks_per_step": [Interval(Integral, 1, None, closed="left")],
        "schedule": [StrOptions({"average", "robbins-monro"})],
        "step_size": [Interval(Real, 0, 1, closed="right")],
        "step_decay": [Interval(Real, 0, None, closed="left")],
        "step_power": [Interval(Real, 0.5, 1, closed="right")],
    }

    def __init__(
        self,
        kernel=None,
        *,
        model="pic",
        alpha_divergence=1.0,
        solver="anytime",
        n_blocks=None,
        block_size=1000,
        partition="kmeans",
        blocks_per_step=1,
        schedule="average",
        step_size=0.1,
        step_decay=0.9,
        step_power=0.75,
        n_inducing=256,
        inducing="kmeans",
        optimize_inducing=True,
        noise_variance=None,
        noise_variance_bounds=(1e-6, 1e3),
        optimizer="auto",
        init_size=8192,
        batch_size=1024,
        max_iter=100,
        max_steps=None,
        max_time=None,
        tol=1e-4,
        n_iter_no_change=5,
        learning_rate=0.01,
        natural_step=0.1,
        normalize_y=True,
        jitter=1e-8,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.model = model
        self.alpha_divergence = alpha_divergence
        self.solver = solver
        self.n_blocks = n_blocks
        self.block_size = block_size
        self.partition = partition
        self.blocks_per_step = blocks_per_step
        self.schedule = schedule
        self.step_size = step_size
        self.step_decay = step_decay
        self.step_power = step_power
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
        self.noise_variance = noise_variance
        self.noise_variance_bounds = noise_variance_bounds
        self.optimizer = optimizer
        self.init_size = init_size
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.max_steps = max_steps
        self.max_time = max_time
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.learning_rate = learning_rate
        self.natural_step = natural_step
        self.normalize_y = normalize_y
        self.jitter = jitter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, blocks=None):
        """Learn from all rows at once."""
        clock = Clock(self.max_time)
        previous = getattr(self, "_learned", None) if self.warm_start else None
        X, y, weight = self._validated(
            X, y, sample_weight, reset=True, multi_output=True, y_numeric=True
        )
        self._labels = None
        if blocks is not None:
            labels = check_labels(blocks, len(X))
            if weight is not None:
                keep = weight > 0
                X, y, weight, labels = X[keep], y[keep], weight[keep], labels[keep]
            self._labels = labels
        self._learn(X, y, weight, clock, previous, merge=blocks is None)
        del self._labels
        return self

    def _specification(self):
        part, conditional = _MODELS[self.model]
        alpha = 0.0 if self.model == "vfe" else float(self.alpha_divergence)
        return Model(part, alpha), conditional

    def _plan(self, n_rows):
        model, _ = self._specification()
        schedule = None
        if self.solver == "anytime":
            schedule = Average()
            if self.schedule == "robbins-monro":
                schedule = RobbinsMonro(self.step_size, self.step_decay, self.step_power)
        size = self.block_size if self.n_blocks is None else -(-n_rows // self.n_blocks)
        return Plan(
            model=model,
            objective=_VARIATIONAL if model.part == "nothing" else model,
            schedule=schedule,
            blocks_per_step=self.blocks_per_step,
            make_partition=lambda scale: self._make_partition(size, scale),
            labels=self._labels,
        )

    def _make_partition(self, size, scale):
        if self.partition == "kmeans":
            return KMeansTree(size, scale)
        if isinstance(self.partition, str):
            return Ordered(size, scale, shuffle=self.partition == "random")
        return Clusterer(self.partition, scale)

    def _course(self, problem):
        outcome = learn_in_blocks(problem, self._plan(len(problem.rows)))
        self._blocks, self._partition, self._classes = (
            outcome.blocks,
            outcome.partition,
            outcome.classes,
        )
        return outcome.learned

    def _posterior_at(self, problem):
        return learn_in_blocks(problem, self._plan(len(problem.rows))).learned

    def predict(self, X, return_std=False, return_cov=False, blocks=None):
        """Predict new observations."""
        return self._predict(X, return_std, return_cov, blocks)

    def predict_std(self, X, include_noise=True, blocks=None):
        """Standard deviation of the predictions."""
        return self._predict_std(X, include_noise, blocks)

    def _placed(self, X, blocks):
        X = self._validated_inputs(X)
        check_is_fitted(self, "_blocks")
        if blocks is not None:
            labels = check_labels(blocks, len(X))
            if self._classes is None:
                raise ValueError("blocks were not given to fit, so predictions cannot take them.")
            return X, position_of(labels, self._classes)
        if self._partition is None:
            return X, np.full(len(X), -1)
        return X, self._partition.assign(X)

    @property
    def _latent(self):
        model, conditional = self._specification()
        if conditional is InBlocks:
            return InBlocks(self._posterior, self.noise_variance_, model, self._blocks, self.n_jobs)
        return conditional(self._posterior)

    def _latent_mean(self, X, blocks):
        return self._latent.mean(X, blocks)

    def _latent_mean_variance(self, X, blocks):
        return self._latent.mean_variance(X, blocks)

    def _latent_mean_covariance(self, X, blocks):
        return self._latent.mean_covariance(X, blocks)
