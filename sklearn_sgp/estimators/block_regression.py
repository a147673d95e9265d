"""How a regressor in blocks is fitted, at once or batch by batch."""

from .._compat import _fit_context
from .block_learning import BlockLearning


class RegressionBlocks(BlockLearning):
    """A mixin of `AnytimeSGPRegressor`: its ways to learn."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, blocks=None):
        """Learn from all rows at once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. With ``solver="exact"`` and any model but "lma" and "vif", a dask array or
            dataframe is read partition by partition (``docs/large_data.md``), and other arguments
            may be dask collections, too.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Several columns are independent outputs with a shared kernel, each with a noise
            variance of its own.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks, integers or strings, instead of ``partition``.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If inputs or parameters are not valid. The estimator is then as before.

        KeyboardInterrupt
            If Ctrl-C comes. After a step of the anytime solver the estimator has the last q(u).
        """
        return self._fit_all(X, y, sample_weight, blocks)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None, blocks=None):
        """Learn from one more batch of rows, which are added to blocks.

        The first batch decides kernel, noise, inducing inputs, partition and scaling of targets.
        Later batches change the posterior only, and only through the blocks that they add rows to.
        A block that becomes larger than 1.5 times ``block_size`` is split, a new label of a
        clusterer begins a new block, and rows of "lma" and "vif" form new groups.

        Where kernel or noise were learned, a warning tells of a batch most of whose rows lie more
        than four predicted standard deviations from their predictions. The second batch is looked
        at for that, and others as often as the number of rows doubles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks, if the first batch had them. New labels begin new blocks.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if not hasattr(self, "_result"):
            return self._fit_all(X, y, sample_weight, blocks)
        self._add_rows(X, y, sample_weight, blocks)
        return self
