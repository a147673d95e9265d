"""The base of regressors: targets, predictions in their units, later batches."""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import _fit_context
from ..data.checks import check_n_samples, refuse_iterator
from ..data.inputs import InputFormat
from ..likelihoods._names import regression_likelihood
from ..predict.distribution import check_levels
from ..predict.drawn_functions import FunctionsInUnits
from ..predict.observations import Observations
from ..predict.rescaled import Rescaled
from . import insights, mixed_outputs
from .base import BaseSGP, ask, model_at, transaction
from .numbers import training_rows
from .settings import check_parameters
from .validation import takes_missing

# Largest covariance, in rows, of which sample_y(method="auto") takes a root.
_JOINT_ROWS = 2000


class SGPRegressor(MultiOutputMixin, RegressorMixin, BaseSGP):
    """The base of regressors.

    A subclass has ``_learn_rows``, ``_add_rows`` and what they need; see `BaseSGP`.
    """

    _format = InputFormat()
    _drift = None  # drift.DriftCheck; None for streams, and where kernel and noise were given

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = self._fitted is not None or not self._has_prior
        tags.input_tags.allow_nan = takes_missing(self)
        return tags

    # ---- Learning

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. A float32 array or memory map is never copied as a whole.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Several columns are independent outputs with a shared kernel, each with a noise
            variance and tails of its own, or mix latent functions (``n_latent``, where there is
            this parameter) and may be NaN.

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
        with transaction(self):
            self._learn_rows(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from one more batch of rows.

        The first batch decides the scaling of the targets and all starting values, so it should be
        large and mixed. What later batches change, and which parameters have to stay as in the
        first, is in the notes on the class.

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
            ``fit``. The estimator is then as before, and the next batch can come.
        """
        check_parameters(self)
        with transaction(self):
            if self._fitted is None:
                self._learn_rows(X, y, sample_weight, is_batch=True)
            else:
                self._add_rows(X, y, sample_weight)
        return self

    @property
    def _has_prior(self):
        """True if there are predictions before `fit`: other noise takes parameters from targets."""
        try:
            is_conjugate = regression_likelihood(self.likelihood).conjugate
        except ValueError:  # tags and `dir` are of any parameters; `fit` refuses this one
            return False
        return is_conjugate and not mixed_outputs.mixes_outputs(self)

    # ---- Predictions

    def predict(
        self,
        X,
        return_std=False,
        return_cov=False,
        quantiles=None,
        include_noise=None,
        return_mean_grad=False,
        return_std_grad=False,
    ):
        """Predict new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        return_std : bool, default=False
            Whether to return the standard deviation of each prediction, with the noise as
            ``include_noise`` says.

        return_cov : bool, default=False
            Whether to return the joint covariance of the predictions, with the noise as
            ``include_noise`` says. Its memory is quadratic in ``n_samples``.

        quantiles : array-like of float, default=None
            Levels, strictly between 0 and 1, of quantiles that are returned in place of the mean,
            as by :meth:`predict_quantiles`. Pipelines and searches pass the argument on.

        include_noise : bool, default=None
            Whether deviations and covariances are those of a new observation; False is for those of
            the latent function. None means the parameter of the estimator.

        return_mean_grad, return_std_grad : bool, default=False, False
            Whether to return the gradients of mean and standard deviation in X as well, of one row,
            by central differences. Optimisers such as those of scikit-optimize ask so;
            :meth:`predict_gradient` has slopes of the mean at many rows, in closed form.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictive mean, in units of y.

        y_std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation of a new observation, in units of y. Only if ``return_std``.

        mean_grad, std_grad : ndarray of shape (n_features,) or (n_targets, n_features)
            Gradients, in units of y for each unit of the column; NaN in columns of categories and
            of labels of blocks. Each only if it is asked for.

        y_cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets)
            Covariance of new observations. Only if ``return_cov``. Outputs that mix latent
            functions (``n_latent``) have covariances with one another, too. The shape is then
            (n_samples, n_samples, n_targets, n_targets). Entry [i, j, p, r] is the covariance of
            output p in row i and output r in row j.

        values : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles, in units of y. In place of all else if ``quantiles`` are given.

        Raises
        ------
        RuntimeError
            If more than one of ``return_std``, ``return_cov`` and ``quantiles`` is asked for.

        ValueError
            If a level is not strictly between 0 and 1, or if gradients are asked for of more than
            one row.
        """
        with_gradients = bool(return_mean_grad or return_std_grad)
        if (quantiles is not None) + bool(return_std or with_gradients) + bool(return_cov) > 1:
            raise RuntimeError(
                "At most one of return_std or return_cov can be requested, or quantiles alone."
            )
        if quantiles is not None:
            return self.predict_quantiles(X, quantiles)
        if with_gradients:
            told = insights.moments_with_differences(self, X, self._includes_noise(include_noise))
            wanted = True, return_std, return_mean_grad, return_std_grad
            return tuple(one for one, is_wanted in zip(told, wanted, strict=True) if is_wanted)
        if return_cov or return_std:
            include_noise = self._includes_noise(include_noise)
            method = "mean_cov" if return_cov else "mean_std"
            return ask(self, method, X, include_noise=include_noise)
        return ask(self, "mean", X)

    def _includes_noise(self, include_noise):
        return self.include_noise if include_noise is None else include_noise

    def predict_std(self, X, include_noise=None):
        """Predict standard deviations, of rows that are like the others (see :meth:`log_density`).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        include_noise : bool, default=None
            True gives the standard deviation of a new observation, False that of the latent
            function. None means the parameter of the estimator.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation, in units of y.
        """
        return ask(self, "std", X, include_noise=self._includes_noise(include_noise))

    predict_gradient, predict_terms = insights.predict_gradient, insights.predict_terms
    novelty, leave_one_out = insights.novelty, insights.leave_one_out

    # Class docstrings say what these are: with docstrings of their own they would be links there.
    @property
    def X_train_(self):
        check_is_fitted(self, "kernel_")
        return self.inducing_points_

    @property
    def feature_importances_(self):
        return insights.feature_importances(self)

    def noise_std(self, X):
        """Predict the standard deviation of the noise alone.

        It depends on X with heteroscedastic noise, and with transformed targets, where the latent
        function is taken to be its predictive mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation, in units of y.

        Raises
        ------
        ValueError
            If the likelihood has no noise besides the function, as that of counts.
        """
        return ask(self, "noise_std", X)

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Predict quantiles of new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        quantiles : array-like of float, default=(0.05, 0.5, 0.95)
            Levels, strictly between 0 and 1.

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles, in units of y, in the order of ``quantiles``.

        Raises
        ------
        ValueError
            If a level is not strictly between 0 and 1.
        """
        levels = np.atleast_1d(check_levels("quantiles", quantiles, max_ndim=1))
        return ask(self, "quantiles", X, levels=levels)

    def predict_distribution(self, X):
        """Predict the distributions of new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        distribution : PredictiveDistribution
            Has ``mean``, ``median``, ``std``, ``var``, ``cdf``, ``sf``, ``ppf``, ``interval``,
            ``pdf``, ``logpdf`` and ``rvs``, as frozen distributions of :mod:`scipy.stats`, in units
            of y.
        """
        model, inputs = model_at(self, X)
        with self._telling(len(inputs.X)):
            return model.distribution(inputs)

    def log_density(self, X, y, resolution=0.0):
        """Compute the log predictive density of observations.

        Where default kernels find next to no noise, n rows cannot exclude that a new one is unlike
        all of them. So a share of 1 / (n + 2) is as wide as two targets are apart. So it is in
        ``predict_quantiles`` and ``predict_distribution``; deviations are without it, those of
        ``predict_distribution`` too. A normal density of mean and deviation expects no such row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        resolution : float or array-like of shape (n_targets,), default=0.0
            Step that y was rounded to, as ``resolution_``: the log probability of an interval of
            this width about y, less the log of the width. 0 takes the density, which may be a spike
            where y has few values. Where a warp is taken for targets that are 0 or more, 0 has
            a probability; 0 then takes the log of that for each y of 0.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log density of each row, in nats, for y as it is given: that of all its outputs, which
            are independent but for ``n_latent`` with Gaussian noise.

        Raises
        ------
        ValueError
            If y does not have the shape that it had in ``fit``, or holds infinity, or NaN where
            ``n_latent`` does not allow for targets that were not observed. If ``resolution`` is
            negative.
        """
        return ask(self, "log_density", X, y, resolution=resolution)

    def sample_y(self, X, n_samples=1, random_state=0, method="auto", include_noise=None):
        """Draw new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            Inputs.

        n_samples : int, default=1
            Number of draws.

        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        method : {"auto", "joint", "pathwise"}, default="auto"
            "joint" draws from the joint distribution, at a cost that is cubic in the rows, with
            ``n_latent`` in rows times outputs. "pathwise" evaluates random functions, whose prior
            part is approximate (see :meth:`sample_functions`). "auto" is "joint" for at most 2,000
            of these.

        include_noise : bool, default=None
            Whether to draw observations; False draws the latent function, as
            :meth:`sample_functions` does. None means the parameter of the estimator.

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)
            Draws, in units of y.

        Raises
        ------
        ValueError
            If ``n_samples`` is negative or no int, if ``method`` is unknown, or if it is
            "pathwise" and functions cannot be drawn (see :meth:`sample_functions`).
        """
        if method not in ("auto", "joint", "pathwise"):
            raise ValueError(
                f"The 'method' parameter must be 'auto', 'joint' or 'pathwise'. Got {method!r}."
            )
        check_n_samples(n_samples)
        model, inputs = model_at(self, X)
        rng, include_noise = check_random_state(random_state), self._includes_noise(include_noise)
        if method == "auto":
            size = len(inputs.X) * model.n_joint_outputs
            method = "joint" if size <= _JOINT_ROWS else "pathwise"
        with self._telling(len(inputs.X)):
            if method == "joint":
                return model.joint_draws(inputs, n_samples, rng, include_noise)
            self._check_functions(model.predictor)
            return model.pathwise_draws(inputs, n_samples, rng, include_noise)

    def sample_functions(self, n_samples=1, random_state=0):
        """Draw latent functions that can be evaluated anywhere (Wilson et al. 2020).

        What the data say is exact, the prior part is approximate: sums of 2,048 random waves, drawn
        anew for every 16 functions, so that their error averages out over many.

        The column that ``offset_column`` names is added to them, as it is where X is predicted. The
        constant of a likelihood of counts, amounts or shares, ``likelihood_.offset``, is not.

        Parameters
        ----------
        n_samples : int, default=1
            Number of functions.

        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        functions : callable
            ``functions(X)`` of shape (n_samples_X, n_samples), or
            (n_samples_X, n_targets, n_samples) for several targets, in units of y, without noise.

        Raises
        ------
        ValueError
            If ``n_samples`` is negative or no int, if the kernel has no spectral density, or if
            blocks or rows are independent given the inducing inputs, as with SoR, FIC and PIC.
        """
        check_is_fitted(self, "kernel_")
        check_n_samples(n_samples)
        model = self._model()
        self._check_functions(model.predictor)
        functions = model.predictor.functions(n_samples, check_random_state(random_state))
        return FunctionsInUnits(functions, model.targets, self.n_jobs, self._format)

    def _check_functions(self, predictor):
        if not predictor.has_functions:
            raise ValueError(
                "Functions can be drawn only where no blocks or rows are independent given the "
                f"inducing inputs. Got model={self.model!r}: use sample_y with method='joint', in "
                "pieces if need be."
            )

    def score(self, X, y, sample_weight=None):
        """Compute the coefficient of determination of the predictive mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations. With ``n_latent`` NaN is a target that was not observed.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The mean over the outputs of their coefficients, each at most 1.
        """
        refuse_iterator("y", y)
        refuse_iterator("sample_weight", sample_weight)
        mixed = self._fitted is not None and self._fitted.parameters.mixes_outputs
        if mixed:
            y = check_array(y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan")
        if not (mixed and mixed_outputs.has_missing(y)):
            return super().score(X, y, sample_weight)
        return mixed_outputs.score(y, self.predict(X), sample_weight)

    def _training_rows(self, X, y, sample_weight):
        return training_rows(self, X, y, sample_weight)

    def _model(self):
        """Return the distribution of observations."""
        return self._model_of(self._fitted)

    def _model_of(self, fitted):
        predictor, scale = fitted.predictor, fitted.variance_scale
        return Observations.of(
            predictor if scale is None else Rescaled(predictor, scale),
            self.likelihood_,
            fitted.unlike_rows,
            fitted.noise_variance,
            fitted.noise,
            fitted.targets,
            self.n_jobs,
            fitted.told_mean,
        )
