"""What distinguishes one fit in blocks from another, and what it leaves behind."""

from dataclasses import dataclass, replace

import numpy as np

from ...gp.chunks import in_chunks
from ...gp.conditionals import SoRConditional, without_own
from ...partitions.blocks import AnyBlocks
from ...partitions.conditioning import are_near
from ...partitions.partition import PartitionChoice, check_labels, position_of
from ...predict.near_rows import PICConditional
from ..base import FitResult
from .models import Specification

# Largest block of a model whose blocks are dense: its matrices take 3 GB each.
LARGEST_BLOCK = 20_000


@dataclass(frozen=True)
class BlockPlan:
    """What distinguishes one fit in blocks from another.

    Parameters
    ----------
    specification : Specification
    schedule : RobbinsMonro, Average or None
        None visits every block once, in parallel.
    blocks_per_step : int
    partition : PartitionChoice
        Where the rows have no labels.
    block_size : int
        Blocks may grow to 1.5 times as many rows, if the partition's own are smaller.
    copies : bool
        Whether rows that are kept are copied.
    continues : bool
        Whether a later fit may go on from the q(u) of this one.
    conditioning : ChainChoice, NeighboursChoice or None
        What rows are conditioned on, where the model says so.
    inducing : str or None
        How inducing inputs are chosen again once a kernel is learned; None to leave them.
    """

    specification: Specification
    schedule: object
    blocks_per_step: int
    partition: PartitionChoice
    block_size: int = 1000
    copies: bool = True
    continues: bool = False
    conditioning: object = None
    inducing: str | None = None

    @property
    def uses_near_rows(self):
        """Whether predictions use training rows beside the inducing inputs."""
        return self.specification.uses_near_rows

    @property
    def model(self):
        """Of the posterior."""
        return self.specification.model

    @property
    def objective(self):
        """The model whose evidence is followed."""
        return self.specification.objective


@dataclass(frozen=True)
class Progress:
    """How far an anytime fit has come, for the next one to go on.

    Parameters
    ----------
    seen : ndarray of bool, shape (n_blocks,)
        Blocks that q(u) rests on.
    n_rows : int
        Rows in these blocks.
    n_seen : int
        Blocks so far, each as often as it came.
    seed : int
        Of the order in which independent rows were put into blocks.
    mark : tuple or None
        Fingerprint of rows, parameters and plan; None if no later fit may go on.
    """

    seen: np.ndarray
    n_rows: int
    n_seen: int = 0
    seed: int = 0
    mark: tuple | None = None

    @property
    def is_complete(self):
        """Whether q(u) rests on all blocks."""
        return bool(self.seen.all())


@dataclass(frozen=True)
class BlockFitResult:
    """What a fit in blocks leaves behind.

    Parameters
    ----------
    result : FitResult
    specification : Specification
    constant : float
        Of the evidence.
    blocks : AnyBlocks or None
        None for a model of independent rows, which needs them no more.
    partition : object or None
        Assigns rows to blocks by their inputs; see partition.py.
    labels : ndarray or None
        The user's labels, in the order of the blocks.
    block_size : int
        Blocks may grow to 1.5 times as many rows.
    progress : Progress
    interrupted : bool
        Whether Ctrl-C ended the fit after some step.
    """

    result: FitResult
    specification: Specification
    constant: float
    blocks: AnyBlocks | None
    partition: object
    labels: np.ndarray | None
    block_size: int
    progress: Progress
    interrupted: bool = False

    @property
    def n_blocks(self):
        return len(self.progress.seen)

    def with_noise(self, noise, constant=None):
        """The same with noise of each row; see `FitResult.with_noise`."""
        constant = noise.constant if constant is None else constant
        result = self.result.with_noise(noise, constant)
        return replace(self, result=result, constant=self.constant + constant)

    def near_rows(self, n_jobs, cache=None):
        """The test conditional of models that use the rows near a test row."""
        found, around = self.result, self.blocks.around
        noise_variance = found.parameters.noise_variance
        return PICConditional(found.posterior, noise_variance, around, n_jobs, cache)

    def moments_of(self, rows, n_jobs):
        """Mean (n, t) and variance (n, t) or (n, 1) of the function at training rows.

        Of dense blocks as the rows of the block say, of FITC as the row itself does.
        """
        if self.blocks is not None:
            numbers = self.assign(rows.X, rows.labels)
            return self.near_rows(n_jobs).mean_variance(rows.X, numbers)
        posterior = self.result.posterior
        conditional = self.specification.conditional(posterior)
        mean, variance = in_chunks(conditional.mean_variance, rows.X, n_jobs)
        model = self.specification.model.components[0][0]
        if model.residual == "none" or model.alpha == 0.0:  # such a row says nothing of itself
            return mean, variance
        through_u = in_chunks(SoRConditional(posterior).mean_variance, rows.X, n_jobs)[1]
        return self._given_themselves(rows, mean, through_u, variance - through_u)

    def left_out_moments(self, rows, places, n_jobs):
        """As those of `FitResult`: of near rows without the row itself, where it is among them."""
        if not self.specification.uses_near_rows:
            model = self.specification.model.components[0][0]
            alpha = 0.0 if model.residual == "none" else model.alpha
            conditional = self.specification.conditional
            return self.result.without_factors(rows, conditional, alpha, n_jobs)
        numbers = self.assign(rows.X, rows.labels)
        mean, variance = self.near_rows(n_jobs).mean_variance(rows.X, numbers)
        places = np.arange(len(rows)) if places is None else places
        known = are_near(self.blocks, places, numbers)[:, None]
        noise = self.result.noise_variance / rows.weights[0].reshape(len(rows), -1)
        without = without_own(mean, variance, rows.targets, noise)
        return tuple(np.where(known, *both) for both in zip(without, (mean, variance), strict=True))

    def drawn(self, n_rows, size, rng):
        """Places of about so many of the training rows; whole blocks, where these are dense."""
        if self.blocks is None:
            return self.result.drawn(n_rows, size, rng)
        return self.blocks.drawn(size, rng)

    def _given_themselves(self, rows, mean, through_u, residual):
        """Moments where each row also says something of its own residual."""
        weight, counts = rows.weights
        noise = self.result.noise_variance * (counts / weight.T).T.reshape(len(rows), -1)
        gain = residual / (residual + noise)
        moved = mean + gain * (rows.targets - mean)
        return moved, (1.0 - gain) ** 2 * through_u + residual * (1.0 - gain)

    def check_labels(self, labels, n_rows):
        """Labels of blocks as the first batch had them, or a ValueError."""
        if self.labels is None:
            raise ValueError(
                "blocks must be given to fit for other methods to take them. The model was fitted "
                "without labels: fit it with blocks=."
            )
        return check_labels(labels, n_rows, self.labels)

    def assign(self, X, labels=None):
        """Number of the block of each row, -1 for none."""
        if labels is not None:
            return position_of(labels, self.labels)
        if self.partition is None:
            return np.full(len(X), -1)
        return self.partition.assign(X)


def check_sizes(blocks, model):
    """The same blocks, or a ValueError where a dense one is too large."""
    largest = int(np.diff(blocks.bounds).max())
    if model.dense and largest > LARGEST_BLOCK:
        raise ValueError(
            f"A block must have at most {LARGEST_BLOCK} rows, as it takes memory quadratic in "
            f"them. Got one of {largest}: split it, or use a model of independent rows, 'fitc'."
        )
    return blocks
