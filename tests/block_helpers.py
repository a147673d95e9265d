"""Small problems for models in blocks: rows with labels, an estimator that learns nothing."""

import numpy as np
import pytest
from fitted_models import fitted
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor, BlockModel
from sklearn_sgp.data.rows import ConditionedRows, Rows
from sklearn_sgp.engines.base import Problem, Settings
from sklearn_sgp.engines.blocks.models import specification
from sklearn_sgp.engines.blocks.state import BlockPlan
from sklearn_sgp.engines.start import Choices, start
from sklearn_sgp.engines.variational.inference import inference_for
from sklearn_sgp.factors.block_factors import Model
from sklearn_sgp.likelihoods import Gaussian
from sklearn_sgp.optimize.progress import Clock, Trace
from sklearn_sgp.partitions.blocks import Blocks
from sklearn_sgp.partitions.partition import PartitionChoice

# What the package calls its models, and how rows are put into blocks.
MODELS = pytest.mark.parametrize("model", ["sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic"])
PARTITIONS = pytest.mark.parametrize("partition", ["kmeans", "contiguous", "random"])
# One of each kind of factor.
FACTORS = pytest.mark.parametrize(
    "model", [Model("none"), Model("diagonal"), Model("diagonal", 0.3), Model("full")]
)
# Rows that a group of near rows is conditioned on, and its own; rows may be in several groups.
NEAR_GROUPS = [([7, 3, 11], [0, 1, 2, 5]), ([], [4, 9, 20]), ([0, 1, 2, 3, 4, 5], [21])]

KERNEL = 2.0 * RBF([1.0, 2.0])
NOISE = 0.1
LABELS = np.random.default_rng(7).integers(0, 4, 60)  # of the rows of `toy`
X_TEST = np.random.default_rng(5).uniform(-2.0, 2.0, (9, 2))
TEST_LABELS = np.array([1, 0, 0, 9, 2, 2, 3, 9, 1])  # 9 is not among LABELS
LABEL = 2  # the column of labels, behind the two of `toy`


def labelled(X, labels=LABELS):
    """X with labels of blocks as its last column; X itself if there are none."""
    return X if labels is None else np.column_stack([X, labels])


def with_labels(rows, labels=LABELS):
    """X and y, labels of blocks in the last column of X."""
    X, y = rows
    return labelled(X, labels), y


def column_of(labels):
    """The ``block_column`` of rows with these labels or none."""
    return None if labels is None else LABEL


LABELLED_TEST = labelled(X_TEST, TEST_LABELS)


def inducing(m=8):
    """Well apart, so that no digit is lost in their covariance."""
    angle = 2.0 * np.pi * np.arange(m) / m
    return 1.4 * np.column_stack([np.cos(angle), np.sin(angle)])


def near_pieces(rows, groups=NEAR_GROUPS):
    """`ConditionedRows` of each group, its own rows before those that it is conditioned on."""
    pieces = []
    for before, own in groups:
        places = np.arange(len(own) + len(before))
        group = (places[len(own) :], places[: len(own)])
        pieces.append(ConditionedRows(rows.select(np.array([*own, *before])), (group,)))
    return pieces


def fixed(model="pic", **parameters):
    """A regressor that learns nothing but the posterior, for inputs of two columns."""
    defaults = {
        "kernel": KERNEL,
        "optimizer": None,
        "inducing": inducing(),
        "noise_variance": NOISE,
        "solver": "exact",
        "random_state": 0,
    }
    return AnytimeSGPRegressor(model=model, **(defaults | parameters))


def assert_same_model(one, other, rtol=1e-9, at=X_TEST, other_at=None):
    """Predictions, joint ones too, and objective agree."""
    other_at = at if other_at is None else other_at
    mean, cov = one.predict(at, return_cov=True)
    other_mean, other_cov = other.predict(other_at, return_cov=True)
    assert_allclose(other_mean, mean, rtol=rtol, atol=rtol)
    assert_allclose(other_cov, cov, rtol=rtol, atol=rtol)
    assert_allclose(other.predict_std(other_at), one.predict_std(at), rtol=rtol)
    assert_allclose(other.objective_, one.objective_, rtol=rtol)


def exact_predictions(X, y):
    """Mean, std and covariance of scikit-learn's exact GP with the fixed kernel."""
    exact = GaussianProcessRegressor(KERNEL + WhiteKernel(NOISE), optimizer=None, normalize_y=True)
    mean, std = exact.fit(X, y).predict(X_TEST, return_std=True)
    evidence = exact.log_marginal_likelihood_value_ - len(y) * np.log(y.std())
    return mean, std, exact.predict(X_TEST, return_cov=True)[1], evidence


def labels_of(model, X):
    """Number of the block that each training row of a fitted estimator is in."""
    blocks, where = fitted(model).state.blocks, {tuple(row): i for i, row in enumerate(X)}
    labels = np.empty(len(X), dtype=int)
    for k in range(len(blocks)):
        labels[[where[tuple(row)] for row in blocks(k).X]] = k
    return labels


def blocks_of(case):
    """The 24 rows of a small problem in five blocks, of 3, 6, 1, 7 and 7."""
    return Blocks(case.rows, np.repeat(np.arange(5), [3, 6, 1, 7, 7]))


def problem_of(X, y, labels=None, *, kernel=KERNEL, n_inducing=8, max_time=None, **settings):
    """What a fit needs to know; nothing is learned unless ``optimizer`` is given."""
    rows = Rows(X, y.reshape(len(y), -1), None, np.zeros(1), np.ones(1), labels)
    defaults = {
        "optimizer": None,
        "init_size": 8192,
        "batch_size": None,
        "max_iter": 20,
        "max_steps": None,
        "tol": 1e-4,
        "n_iter_no_change": 5,
        "learning_rate": 0.01,
        "natural_step": 0.1,
        "jitter": 1e-8,
        "n_jobs": 1,
    }
    choices = Choices(kernel, n_inducing, "kmeans", True, NOISE, (1e-6, 1e3))
    rng = np.random.RandomState(0)
    started = start(rows, choices, Gaussian(), rng)
    own = Settings(**(defaults | settings))
    return Problem(rows, started, inference_for(Gaussian(), 1), own, Trace(Clock(max_time)), rng)


def plan_of(model, schedule=None, *, partition="kmeans", block_size=20, per_step=1):
    """How blocks are visited, by the name of a model."""
    choice = PartitionChoice(partition, block_size)
    return BlockPlan(specification(model, 1.0), schedule, per_step, choice)


class OwnPITC(BlockModel):
    """PITC by the interface of a model of one's own."""

    full_covariance, learned_as = True, "pitc"

    def terms(self, A, y, K, noise):
        R = K - A.T @ A + np.diag(noise)
        scaled = np.linalg.solve(R, np.hstack([A.T, y]))
        log_det = np.linalg.slogdet(2.0 * np.pi * R)[1]
        h, m = A @ scaled[:, len(A) :], len(A)
        constant = -0.5 * (np.vdot(y, scaled[:, m:]) + y.shape[1] * log_det)
        return A @ scaled[:, :m], h, constant


class OwnPIC(OwnPITC):
    """PIC by the same."""

    test_conditional = "pic"
