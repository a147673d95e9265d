"""The latent functions of a fitted model at new inputs, told the blocks of the rows or not."""

from .._parallel import resolved_jobs
from .._warnings import warn_caller
from ..gp.chunks import in_chunks
from .near_rows import PICConditional


class LatentFunctions:
    """A mixin for models of independent rows.

    A fitted estimator holds ``_result``, a `fitting.problem.FitResult`.
    """

    def _with_blocks(self, X, blocks):
        """Return validated inputs, and the numbers of their blocks if blocks matter."""
        X = self._validated_inputs(X)
        return X, self._numbers_of_blocks(X, blocks)

    def _numbers_of_blocks(self, X, blocks):
        """Return the numbers of the blocks of validated inputs if blocks matter."""
        return None

    def _latent(self, moments, X, blocks):
        """Return what the method ``moments`` of the posterior returns, such as "mean_variance"."""
        with self._telling(len(X)):
            return self._latent_of(self._result.posterior, moments, X)

    def _latent_of(self, model, moments, X):
        """Call the method ``moments`` of a model, in chunks unless it returns covariances."""
        function = getattr(model, moments)
        return function(X) if moments == "mean_covariance" else in_chunks(function, X, self.n_jobs)


class LatentFunctionsInBlocks(LatentFunctions):
    """A mixin for models in blocks of rows.

    A fitted estimator also holds ``_blocks``, a `blocks.results.BlockFitResult`, and ``_cache``.
    """

    def _numbers_of_blocks(self, X, blocks):
        found = self._blocks
        if blocks is not None:
            return found.assign(X, found.check_labels(blocks, len(X)))
        if found.labels is not None and found.specification.conditional is PICConditional:
            warn_caller(
                "The model was fitted with labels of blocks and predicts without them: what "
                "the data of a row's own block say is left out. Pass blocks=, with labels as "
                "in fit, or fit without labels to have rows placed by their inputs."
            )
        return found.assign(X)

    def _latent(self, moments, X, blocks):
        specification, posterior = self._blocks.specification, self._result.posterior
        with self._telling(len(X)):
            if specification.conditional is not PICConditional:
                return self._latent_of(specification.conditional(posterior), moments, X)
            conditional = self._blocks.near_rows(resolved_jobs(self.n_jobs), self._cache)
            return getattr(conditional, moments)(X, blocks)  # goes block by block, in chunks
