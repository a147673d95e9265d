"""How a regressor of independent rows learns, from all of them or from a later batch."""

from ..._compat import FitProgress, _fit_context
from ...fitting import stages
from ...fitting.partial_fit import scaled_to_total
from ...optimize.progress import Clock
from ..base import transactional


class RegressionBatches:
    """A mixin of `SVGPRegressor`: its ways to learn."""

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows at once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. A float32 array or memory map is never copied as a whole.

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
        """
        clock = Clock(self.max_time)
        X, y, weight = self._checked(X, y, sample_weight, reset=True)
        data, progress = self._encoded(X, y, weight), FitProgress(self, X, y)
        self._learn(data, progress, clock, stages.learn)
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
        X, y, weight = self._checked(X, y, sample_weight, reset=first)
        if first:
            data, progress = self._encoded(X, y, weight), FitProgress(self, X, y)
            self._learn(data, progress, clock, stages.learn)
            if self.total_samples is not None:
                self._result = scaled_to_total(self._result, self.total_samples)
        else:
            rows = self._later_rows(X, y, weight)
            self._targets = self._targets.joined(self._targets.columns(y), weight)
            self._add_to_posterior(rows, clock)
        return self
