"""The plan of a fit in blocks, and the state that it leaves for later rows."""

from dataclasses import dataclass, replace

import numpy as np

from ...factors.joined_rows import NO_BLOCKS, KnownBlocks
from ...partitions.blocks import AnyBlocks, NotKept
from ...partitions.partition import Partition, PartitionChoice
from ...predict.inducing import InducingPoints, OfBlocks, OfMixture
from ...predict.near_rows import NearRows
from ..fitted import State
from .models import Specification

# Largest block of a model whose blocks are dense: its matrices take 3 GB each.
LARGEST_BLOCK = 20_000


@dataclass(frozen=True)
class BlockPlan:
    """Everything that distinguishes one fit in blocks from another.

    Parameters
    ----------
    schedule : RobbinsMonro, Average or None
        None visits every block once, in parallel.
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
        """True if predictions use training rows beside the inducing inputs."""
        return self.specification.uses_near_rows

    @property
    def model(self):
        """The model of the posterior."""
        return self.specification.model

    @property
    def objective(self):
        """The model whose evidence is followed."""
        return self.specification.objective


@dataclass(frozen=True)
class Progress:
    """Progress of an anytime fit, for the next one to go on.

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
    def share(self):
        """Share of the blocks that q(u) rests on."""
        return float(self.seen.mean())

    @property
    def is_complete(self):
        """True if q(u) rests on all blocks."""
        return bool(self.seen.all())


@dataclass(frozen=True)
class BlockState(State):
    """State that a fit in blocks leaves for later rows.

    Parameters
    ----------
    constant : float
        Of the evidence.
    blocks : AnyBlocks or NotKept
        A model of independent rows needs them no more.
    partition : Partition
        Assigns rows to blocks; see partitions/partition.py and near_cells.py.
    block_size : int
        Blocks may grow to 1.5 times as many rows.
    site_constant : float
        Part of the constant by which the evidence of a likelihood that is not Gaussian is more than
        that of the regression that its sites are.
    held : KnownBlocks
        Factors of blocks that rows of later batches joined.
    """

    specification: Specification
    constant: float
    blocks: AnyBlocks | NotKept
    partition: Partition
    block_size: int
    progress: Progress
    site_constant: float = 0.0
    held: KnownBlocks = NO_BLOCKS

    is_in_blocks = True

    @property
    def n_blocks(self):
        return len(self.progress.seen)

    @property
    def attributes(self):
        """Fitted attributes of an estimator."""
        return {"n_blocks_": self.n_blocks}

    @property
    def keeps_rows(self):
        """True if training rows are at hand."""
        return self.blocks.keeps_rows

    @property
    def labels(self):
        """The user's labels of the blocks, in their order, or None."""
        return self.partition.labels

    def with_constant(self, constant):
        """Add a constant to the evidence."""
        return replace(self, constant=self.constant + constant)

    def with_site_constant(self, constant):
        """Add a constant that the sites of some rows have to the evidence."""
        changed = self.with_constant(constant)
        return replace(changed, site_constant=self.site_constant + constant)

    def predictor(self, posterior, noise_variance):
        """Return the predictor of the model, given q(u)."""
        specified = self.specification
        near = NearRows(posterior, noise_variance, self.blocks, self.partition)
        if specified.uses_near_rows:
            return near
        told = posterior, noise_variance, specified.conditional
        if specified.alpha is not None:
            return InducingPoints(*told, specified.alpha)
        components = specified.model.components
        if not self.blocks.is_kept:
            return OfMixture(*told, components=components)
        return OfBlocks(*told, components=components, near=near)


def check_sizes(blocks, model):
    """Return the same blocks, or raise a ValueError where a dense one is too large."""
    largest = blocks.largest if model.dense else 0
    if largest > LARGEST_BLOCK:
        raise ValueError(
            f"A block must have at most {LARGEST_BLOCK} rows, as it takes memory quadratic in "
            f"them. Got one of {largest}: split it, or use a model of independent rows, 'fitc'."
        )
    return blocks
