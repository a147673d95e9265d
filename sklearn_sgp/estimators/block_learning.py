"""How a regressor in blocks of rows learns, from all rows at once or from a later batch."""

from functools import partial
from numbers import Integral, Real

from sklearn.utils import check_random_state

from .._compat import FitProgress, HasMethods, Interval, StrOptions
from ..collections.detection import any_collection
from ..data.rows import drop_zero_weight
from ..engines.blocks import solver
from ..engines.blocks.models import NAMES, specification
from ..engines.blocks.schedules import Average, RobbinsMonro
from ..engines.blocks.state import BlockPlan
from ..factors.cells import FactorCache
from ..likelihoods._names import NORMAL, has_row_precision
from ..optimize.progress import Clock
from ..partitions.conditioning import ChainChoice, NeighboursChoice
from ..partitions.partition import PartitionChoice, check_labels
from .base import transactional
from .collections import encoded_for_blocks
from .tasks import REGRESSOR_CONSTRAINTS

BLOCK_CONSTRAINTS = {
    name: value for name, value in REGRESSOR_CONSTRAINTS.items() if name != "batch_size"
} | {
    "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
    "likelihood": [StrOptions(set(NORMAL)), HasMethods(["moments"])],
    "model": [StrOptions({"auto", *NAMES}), list, tuple],
    "n_inducing": [Interval(Integral, 0, None, closed="left")],
    "alpha_divergence": [Interval(Real, 0, 1, closed="both")],
    "solver": [StrOptions({"exact", "anytime"})],
    "n_blocks": [None, Interval(Integral, 1, None, closed="left")],
    "block_size": [Interval(Integral, 1, None, closed="left")],
    "partition": [StrOptions({"kmeans", "contiguous", "random"}), HasMethods(["fit", "predict"])],
    "blocks_per_step": [Interval(Integral, 1, None, closed="left")],
    "schedule": [StrOptions({"average", "robbins-monro"})],
    "step_size": [Interval(Real, 0, 1, closed="right")],
    "step_decay": [Interval(Real, 0, None, closed="left")],
    "step_power": [Interval(Real, 0.5, 1, closed="right")],
    "markov_order": [Interval(Integral, 0, None, closed="left")],
    "n_neighbors": [Interval(Integral, 0, None, closed="left")],
    "copy_X": ["boolean"],
}
# Rows of a group of "vif": half as many as its neighbours, so that factorisations serve many rows.
_LEAST_GROUP = 30
# Memory for factorised blocks that were predicted in.
_CACHE_BYTES = 256 << 20


class BlockLearning:
    """A mixin that learns in blocks.

    A fitted estimator holds ``_blocks``, a `blocks.results.BlockFitResult`, and ``_cache``.
    """

    batch_size = None  # steps take whole blocks

    def _fit_all(self, X, y, sample_weight, blocks, **known):
        """Learn from all rows at once; Ctrl-C comes through after what was learned is stored."""
        self._fit_blocks(X, y, sample_weight, blocks, **known)
        if self._blocks.interrupted:
            raise KeyboardInterrupt
        return self

    @transactional
    def _fit_blocks(self, X, y, sample_weight, blocks, **known):
        clock = Clock(self.max_time)
        if any_collection(X, y, sample_weight, blocks):
            data, labels = encoded_for_blocks(self, X, y, sample_weight, blocks), None
            return self._learn_blocks(data, FitProgress(self, X, y), clock, labels)
        given = X, y
        X, y, weight = self._checked(X, y, sample_weight, reset=True, **known)
        model = self._chosen_model(blocks)
        if not self.n_inducing and model not in ("lma", "vif"):
            raise ValueError(
                "n_inducing must be positive unless the model is 'lma' or 'vif', which need no "
                f"inducing inputs. Got 0 for {model!r}."
            )
        if blocks is not None and self.model == "vif":
            raise ValueError(
                "blocks must not be given with model='vif', which finds near rows itself. Leave "
                "them out, or take 'lma' or 'pic'."
            )
        labels = None if blocks is None else check_labels(blocks, len(X))
        ordered = labels is not None or self.partition == "contiguous"
        if ordered:
            X, y, weight, labels = drop_zero_weight(X, y, weight, labels)
        data = self._encoded(X, y, weight, merges=not ordered, **known)
        progress = FitProgress(self, *self._for_callbacks(given, (X, y)))
        return self._learn_blocks(data, progress, clock, labels)

    def _learn_blocks(self, data, progress, clock, labels):
        before = getattr(self, "_blocks", None) if self.warm_start else None
        learner = partial(solver.learn, plan=self._plan(len(data.X), labels), before=before)
        self._learn(data, progress, clock, learner, labels=labels)

    @transactional
    def _add_rows(self, X, y, sample_weight, blocks, **known):
        self._check_same_parameters()
        X, y, weight = self._checked(X, y, sample_weight, reset=False, **known)
        labels = None if blocks is None else self._blocks.check_labels(blocks, len(X))
        before, labelled = self._blocks, self._later_rows(X, y, weight, labels)
        if not len(labelled):  # classes of weight 0 only
            return
        rows, noise = self._with_precisions(labelled)
        rng = check_random_state(self.random_state)
        found = solver.add_rows(before, rows, self._settings(), rng)
        self._warn_if_surprising(labelled)
        if noise is not None:  # the constant of the rows before is in the evidence already
            found = found.with_noise(noise, noise.constant - before.result.row_noise.constant)
        targets = self._targets.joined(self._targets.columns(y), weight)
        self._store(found, targets, found.result.weight)
        if before.progress.is_complete:
            self.n_samples_seen_ += len(rows)
        else:
            self.n_samples_seen_ = found.progress.n_rows

    def _plan(self, n_rows, labels):
        model = self._chosen_model(labels)
        schedule = None
        if self.solver == "anytime":
            schedule = Average()
            if self.schedule == "robbins-monro":
                schedule = RobbinsMonro(self.step_size, self.step_decay, self.step_power)
        size = self.block_size if self.n_blocks is None else -(-n_rows // self.n_blocks)
        return BlockPlan(
            specification=specification(model, self.alpha_divergence),
            schedule=schedule,
            blocks_per_step=self.blocks_per_step,
            partition=PartitionChoice(self.partition, size),
            block_size=self.block_size,
            copies=self.copy_X,
            continues=self.warm_start,
            conditioning=self._conditioning(model),
            inducing=self.inducing if isinstance(self.inducing, str) else None,
        )

    def _chosen_model(self, labels):
        """Return the model; "auto" is VIF, which finds near rows itself, or PIC of given blocks."""
        if self.model != "auto":
            return self.model
        return "vif" if labels is None else "pic"

    def _alternates(self, likelihood):
        by_precisions = has_row_precision(likelihood)
        if not (likelihood.conjugate or by_precisions):
            raise ValueError(
                "The 'likelihood' parameter must be Gaussian noise, or Gaussian given a precision "
                f"of each row: one of {sorted(NORMAL)}. Got {self.likelihood!r}, which "
                "SVGPRegressor takes."
            )
        return by_precisions

    def _uses_near_rows(self):
        return specification(self._chosen_model(None), self.alpha_divergence).uses_near_rows

    def _ties_length_scales(self):
        return self._uses_near_rows()

    def _default_kernels(self):
        return "local" if self._uses_near_rows() else "one"

    def _conditioning(self, model):
        """Return what rows are conditioned on, or None."""
        if model == "lma":
            return ChainChoice(self.markov_order)
        if model == "vif":
            size = max(_LEAST_GROUP, self.n_neighbors // 2)
            return NeighboursChoice(int(self.n_neighbors), size, self.n_jobs)
        return None

    def _fitted_attributes(self, found, targets, weight):
        blocks = {
            "_blocks": found,
            "_cache": FactorCache(_CACHE_BYTES),
            "n_blocks_": found.n_blocks,
        }
        return super()._fitted_attributes(found, targets, weight) | blocks
