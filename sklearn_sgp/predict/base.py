"""The interface of predictors: what a fitted model says of its function, in scaled units."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np


class Predictor(Protocol):
    """Predicts latent functions. It can be pickled without the estimator that holds it.

    ``inputs`` are `Inputs` or `Rows`, n is their number, t that of functions. Variances and
    covariances have one entry at last, (n, 1) or (n, n, 1), where all functions share them.
    """

    most_rows: int  # training rows whose moments cost little beside a fit
    knows_rows: bool  # whether training rows are among those that they are predicted from
    leaves_out: bool  # whether it is known what each training row says, for `left_out`

    def mean(self, inputs, n_jobs=None):
        """Return means, (n, t)."""

    def moments(self, inputs, n_jobs=None):
        """Return means (n, t) and variances (n, t) or (n, 1)."""

    def joint(self, inputs, n_jobs=None):
        """Return means (n, t) and joint covariances (n, n, t) or (n, n, 1)."""

    def of_functional(self, kernel):
        """Return what predicts a linear functional of the functions, such as their slopes.

        It has ``moments`` alone; the kernel is one of kernels/_functionals.py.
        """

    def novelty(self, inputs, n_jobs=None):
        """Return the share of the prior variance that the data leave, (n,), over all functions."""

    def functions(self, n_samples, rng):
        """Draw functions: a callable on X (n, d), result (n, t, n_samples)."""

    def mean_at(self, X):
        """Return means at inputs X, (n, t), as those of functions that are drawn."""

    def training_moments(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows, given all of them; ``places`` as of `left_out`."""

    def left_out(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows, each given all others; NaN where there are none.

        ``places`` are those of these rows among all, None for all of them.
        """

    def drawn(self, n_rows, size, rng):
        """Draw the places of about so many of the training rows."""

    def separated(self):
        """Separate the predictor from training rows; return it and `AnyBlocks`, or None.

        The predictor goes to all workers, the blocks to those that need them: `with_blocks`. None
        where new rows need no training rows, or rows of many blocks: the predictor has them then.
        """

    def ready(self):
        """Return the predictor as an estimator holds it, with room for what predictions reuse."""

    def without_caches(self):
        """Return the predictor with nothing that can be computed again, as it is saved."""


@dataclass(frozen=True)
class AroundPredictor:
    """Says of functions what a predictor says; who derives from it changes some of that."""

    predictor: Predictor

    @property
    def posterior(self):
        """q(u)."""
        return self.predictor.posterior

    def mean(self, inputs, n_jobs=None):
        """Return means; see `Predictor`."""
        return self.predictor.mean(inputs, n_jobs)

    def mean_at(self, X):
        """Return means at inputs."""
        return self.predictor.mean_at(X)

    def of_functional(self, kernel):
        """Return the predictor of a functional; see `Predictor`."""
        return self.predictor.of_functional(kernel)

    def novelty(self, inputs, n_jobs=None):
        """Return the share of the prior variance that is left."""
        return self.predictor.novelty(inputs, n_jobs)

    def left_out(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows, each given all others; see `Predictor`."""
        return self.predictor.left_out(rows, places, n_jobs)

    def number(self, inputs):
        """Return the number of the block of each row; see `NearRows`."""
        return self.predictor.number(inputs)

    def separated(self):
        """Separate the predictor from training rows; see `Predictor`."""
        predictor, blocks = self.predictor.separated()
        return replace(self, predictor=predictor), blocks

    def with_blocks(self, blocks, labels):
        """Return the predictor with some blocks; see `NearRows`."""
        return replace(self, predictor=self.predictor.with_blocks(blocks, labels))

    @property
    def has_functions(self):
        """True if draws of functions have the right distribution."""
        return self.predictor.has_functions


def share_left(variance, prior):
    """Return the share of prior variances that is left, from 0 to 1, the mean over functions.

    Where the prior variance, (n, 1) or (n, t), is zero everything is known.
    """
    share = np.divide(variance, prior, out=np.zeros(variance.shape), where=prior > 0.0)
    return np.clip(share, 0.0, 1.0).mean(axis=1)


@dataclass(frozen=True)
class KnownMoments:
    """Hold what is predicted of some rows, computed once, for all who ask."""

    mean: np.ndarray
    variance: np.ndarray

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        return self.mean, self.variance
