"""How a regressor of independent rows learns, from all of them or from a later batch."""

from functools import partial

from .._compat import FitProgress, _fit_context
from ..collections.detection import any_collection
from ..engines.variational import schedule as stages
from ..engines.variational.partial_fit import scaled_to_total
from ..likelihoods._names import has_row_precision, has_sites
from ..noise.before_sites import learn_before_sites
from ..optimize.progress import Clock
from .base import transactional
from .collections import encoded_numbers


class RegressionBatches:
    """A mixin of `SVGPRegressor`: its ways to learn."""

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows at once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. A float32 array or memory map is never copied as a whole. A dask array or
            dataframe, or a data set of HDF5 or Zarr, is read partition by partition
            (``docs/large_data.md``); ``y`` and ``sample_weight`` may be dask collections, too.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Several columns are independent outputs with a shared kernel, each with a noise
            variance of its own, or mix latent functions (``n_latent``) and may be NaN.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If inputs or parameters are not valid. The estimator is then as before.

        RuntimeError
            If the workers that hold a dask collection are gone. The estimator is then as before.
        """
        clock = Clock(self.max_time)
        learner = stages.learn
        if any_collection(X, y, sample_weight):
            data = encoded_numbers(self, X, y, sample_weight)
        else:
            given = X, y
            X, y, weight = self._checked(X, y, sample_weight, reset=True)
            data = self._encoded(X, y, weight)
            learner = self._learner(data.likelihood)
            X, y = self._for_callbacks(given, (X, y))
        self._learn(data, FitProgress(self, X, y), clock, learner)
        return self

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from one more batch of rows.

        The first batch decides inducing inputs, starting values and the scaling of the targets, so
        it should be large and mixed. Each later batch adds its rows to the posterior. It also moves
        kernel, noise and inducing inputs by one stochastic step for every ``batch_size`` rows,
        unless ``optimizer=None``. After ``max_steps`` of these steps or most of ``max_time``, the
        rows of the batch that are left only join the posterior, or with ``total_samples`` are left
        out. With Gaussian noise, and with kernel, noise, inducing inputs and scaling fixed, any
        split of the rows gives the model that ``fit`` gives.

        ``kernel``, ``likelihood``, ``inducing``, ``optimize_inducing``, ``noise_variance``,
        ``noise_variance_bounds``, ``normalize_y``, ``categorical_features`` and ``n_latent`` are
        those of the first batch: a change of one of them needs a new ``fit``. Other parameters may
        change between batches.

        A category that comes later gets its share of the inducing inputs. Where there are
        ``n_inducing`` already, those that the others predict best go.

        Where kernel or noise were learned, a warning tells of a batch most of whose rows lie more
        than four predicted standard deviations from their predictions. The second batch is looked
        at for that, and others as often as the number of rows doubles.

        If later rows come from other places, as in a time series, `StreamingSGPRegressor` is
        better, as its inducing inputs follow the rows. Here too few inducing inputs lie near such
        rows, and errors exceed the predicted noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If inputs or parameters are not valid, or if a parameter has changed that needs a new
            ``fit``. The estimator is then as before.
        """
        clock, first = Clock(self.max_time), not hasattr(self, "_result")
        if not first:
            self._check_same_parameters()
        given = X, y
        X, y, weight = self._checked(X, y, sample_weight, reset=first)
        if first:
            data = self._encoded(X, y, weight)
            progress = FitProgress(self, *self._for_callbacks(given, (X, y)))
            self._learn(data, progress, clock, self._learner(data.likelihood))
            if self.total_samples is not None:
                self._result = scaled_to_total(self._result, self.total_samples)
        else:
            rows = self._later_rows(X, y, weight)
            self._targets = self._targets.joined(self._targets.columns(y), weight)
            self._add_to_posterior(rows, clock)
        return self

    @staticmethod
    def _learner(likelihood):
        """Return how the function is learned: by precisions of the rows first, where these do."""
        if has_row_precision(likelihood) and has_sites(likelihood):
            return partial(learn_before_sites, learner=stages.learn)
        return stages.learn
