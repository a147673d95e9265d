"""The interface of a likelihood, and the defaults of what most likelihoods share.

For each row a likelihood gives the expected log density under N(mean, variance) and its two
derivatives. The bound, the natural-gradient step and all gradients of hyperparameters follow from
these (docs/theory.md, eqs. 12 to 15 and 23).
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ._expected import expected_by_quadrature
from ._tilted import tilted_by_quadrature

SMALLEST_PROBABILITY = np.finfo(np.float64).tiny


class ExpectedLogDensity(NamedTuple):
    """Expected log density of each row, in nats, and its derivatives.

    Attributes
    ----------
    value : ndarray of shape (n,)
        Expected log density, summed over the outputs of a row.
    d_mean, d_variance : ndarray of shape (n, n_latent)
        Derivatives of ``value`` in the latent means and variances.
    d_log_noise : ndarray of shape (n, t), or (n,) of zeros
        Derivatives of ``value`` in the logarithms of the outputs' noise variances; zeros without
        noise.
    d_theta : ndarray of shape (n, k) or None
        Derivative of ``value`` in `Likelihood.theta`. None: the likelihood has no free parameters.
    """

    value: np.ndarray
    d_mean: np.ndarray
    d_variance: np.ndarray
    d_log_noise: np.ndarray
    d_theta: np.ndarray | None = None


class Likelihood(BaseEstimator):
    """Base class of likelihoods, p(y | f), and the documentation of their interface.

    A likelihood of one's own derives from this class and is passed to an estimator as an instance.
    Its parameters are the arguments of its ``__init__``, stored under their names and unchanged, as
    in every scikit-learn estimator: then ``likelihood__df`` can be searched by `GridSearchCV`. A
    class with all of the members below works without deriving from this one.

    In the shapes, n is the number of rows, t that of target columns, and C that of classes.
    ``n_latent`` is t in regression and `n_latent(C)` in classification. Arrays have dtype float64.

    **Attributes**, which may be class attributes:

    ``conjugate`` : bool, default=False
        The optimal q(u) has a closed form. True for Gaussian noise only.
    ``identity_mean`` : bool, default=True
        The mean of y is the latent mean. If False, `predict` calls `moments`, as the mean of y then
        depends on the latent variance.
    ``has_noise`` : bool, default=False
        The likelihood uses the noise variance of the estimator, which is then learned. If False,
        the ``noise_variance`` argument of every method has no meaning and may be None.
    ``scales_targets`` : bool, default=False
        Targets may be centred and scaled (``normalize_y``). Every method but `check_targets` and
        `initialized` then has y, f and the noise variance in the scaled units. If False, y is
        always in its own units.
    ``takes_warps`` : bool, default=True
        Targets may be warped (``normalize_y="warped"``) where they may be scaled.
    ``wider`` : str or None, default=None
        Name of a likelihood for the same targets where they vary more.
    ``needs_all_targets`` : bool, default=False
        `initialized` needs all targets, not only their mean.
    ``natural_step`` : float, default=1.0
        Longest natural-gradient step, in (0, 1]. 1 suits rows with one latent function each.
    ``shift_invariant`` : bool, default=False
        Adding the same number to all latent functions of a row leaves the density as it is.
    ``allows_outliers`` : bool, default=False
        A target of any size is possible. Targets that are much further from the median than most
        then decide neither the centre nor the scale of targets.
    ``max_classes`` : int or None, default=None
        Largest number of classes; None for any number, and for regression.
    ``theta`` : ndarray of shape (k,), default empty
        Logarithms of the likelihood's own free parameters, at the value to start learning from.
    ``theta_bounds`` : ndarray of shape (k, 2), default empty
        Lower and upper bounds of `theta`.

    **Methods with a default**, documented below: `n_latent`, `check_targets`, `initialized`,
    `with_theta`; in regression also `for_scaled_targets`, `are_numbers`, `is_inside`, `for_output`
    and `sf`, for classes `for_classes`, `codes` and `decision`.

    **Methods of which every likelihood must define one**; both make fits and predictions faster.
    With ``log_density`` and `moments`, a likelihood without noise works in every regressor.

    ``log_density(y, f, noise_variance=None)``
        log p(y | f), of the shape to which y (n, 1), one target column or the codes of classes, and
        f (n, k), values of one latent function, are broadcast. `AnytimeSGPRegressor` needs it for
        noise that is not Gaussian given a precision of each row. `expected_log_density`,
        `tilted_moments` and `log_predictive_density` then have a default, by quadrature.
    ``expected_log_density(y, mean, variance, noise_variance)``
        E[log p(y | f)] for f ~ N(mean, variance) as an `ExpectedLogDensity`. Called with batches of
        rows in every pass over the data, in several threads or processes at once, so it must not
        change the likelihood. ``y`` has shape (n, t), or (n, 1) with `codes` in classification;
        ``mean`` and ``variance`` have shape (n, n_latent); the variance may be as small as 1e-300.
        A likelihood that is ``conjugate`` may also get a variance of shape (n,) that all outputs
        share. The sum over rows of ``weight * value`` is what the bound contains.

    **Noise that is Gaussian given a precision of each row** has one of two more attributes, which
    are properties where they depend on parameters.
    ``expected_log_density`` is needed only if `SVGPRegressor` shall go on by its tighter bound,
    while ``has_noise`` and ``scales_targets`` must be True.

    ``row_precision`` : RowPrecision or None, default=None
        How the precisions are found, whether they vary with the input, and how many parameters
        that takes.
    ``noise_choice`` : NoiseChoice or None, default=None
        Several such likelihoods, among which a fit chooses.

    **Methods of a regression likelihood**, for predictions. ``mean`` and ``variance`` are those of
    f, of shape (n, t), and the variance can be zero. `moments` must be defined; without the others
    the prediction that needs one raises NotImplementedError.

    ``moments(mean, variance, noise_variance)``
        Mean and variance of y, both (n, t): for `predict` and `predict_std`.
    ``covariance(mean, covariance, noise_variance)``
        Mean (n, t) and joint covariance (n, n, t) of y from those of f, whose covariance has shape
        (n, n, t), or (n, n, 1) if all outputs share it. It may overwrite the covariance it is
        given. For `predict` with ``return_cov=True``.
    ``quantiles(mean, variance, noise_variance, levels)``
        Quantiles of y, (n, t, n_levels): for `predict_quantiles`.
    ``log_predictive_density(y, mean, variance, noise_variance)``
        log E[p(y | f)], summed over outputs, (n,): for `log_density`. A target that cannot be
        has log density -inf. Without it, and without ``log_density``, the `batch_log_density_` of a
        stream is NaN.
    ``cdf(y, mean, variance, noise_variance)``
        P(Y <= y) for each target, (n, t): for `predict_distribution`. `sf`, P(Y > y), is
        ``1 - cdf`` unless it is defined, which keeps the digits of small probabilities.
    ``draw(f, noise_variance, rng)``
        Observations for latent values of shape (n, t, n_samples), drawn with the
        `numpy.random.RandomState` ``rng``: for `sample_y`.
    ``components(variance, noise_variance)``
        Normal distributions whose mixture y - mean is, of one output and its `for_output`: a
        function of row numbers (k,) that returns variances (k, n_components), and the logarithms
        of their probabilities. For means of targets that are warped (``normalize_y="warped"``).

    **Methods of a classification likelihood.** ``mean`` and ``variance`` have shape (n, n_latent).
    `probabilities` must be defined.

    ``probabilities(mean, variance)``
        E[p(class | f)], (n, C), rows summing to 1: for `predict` and `predict_proba`.
    ``log_predictive_density(y, mean, variance, noise_variance=None)``
        log probability of the class with code y of shape (n, 1), (n,): from `probabilities` unless
        it is defined.
    ``as_regressions(of_class)``
        Optional: a likelihood as `Dirichlet`, with targets and noise variances of two levels, from
        the weights (C,) of the classes. If it is defined, kernel and inducing inputs may be learned
        by regressions of the labels, and the likelihood has a ``temperature``.

    Examples
    --------
    Two methods are enough to learn a regression likelihood and to predict means and deviations:

    >>> import numpy as np
    >>> from sklearn_sgp.likelihoods import ExpectedLogDensity, Likelihood
    >>> class Exponential(Likelihood):
    ...     '''Waiting times with mean exp(f).'''
    ...     identity_mean = False
    ...
    ...     def expected_log_density(self, y, mean, variance, noise_variance=None):
    ...         scaled = y * np.exp(-mean + 0.5 * variance)
    ...         value = (-mean - scaled).sum(axis=1)
    ...         return ExpectedLogDensity(value, scaled - 1, -0.5 * scaled, np.zeros(len(y)))
    ...
    ...     def moments(self, mean, variance, noise_variance=None):
    ...         first = np.exp(mean + 0.5 * variance)
    ...         return first, first**2 * (2 * np.exp(variance) - 1)
    >>> Exponential().n_latent(3)
    3
    """

    conjugate = False
    identity_mean = True
    has_noise = False
    scales_targets = False
    takes_warps = True
    wider = None
    needs_all_targets = False
    natural_step = 1.0
    shift_invariant = False
    allows_outliers = False
    max_classes = None
    row_precision = None
    noise_choice = None
    as_regressions = None

    @property
    def has_equal_noise(self):
        """True if the noise is Gaussian, and the same in all rows."""
        precision = self.row_precision
        return self.conjugate and precision is not None and not precision.differs

    @property
    def has_predictive_density(self):
        """True if log densities of targets can be predicted."""
        own, base = type(self), Likelihood
        is_defined = own.log_predictive_density is not base.log_predictive_density
        follows = own.log_density is not base.log_density or hasattr(self, "probabilities")
        return is_defined or follows

    def n_latent(self, n_outputs):
        """Return the number of latent functions.

        Parameters
        ----------
        n_outputs : int
            Number of target columns in regression, of classes in classification.

        Returns
        -------
        n_latent : int
        """
        return n_outputs

    def check_targets(self, y):
        """Refuse targets that this likelihood gives no density; called for every batch.

        Parameters
        ----------
        y : ndarray of shape (n, t)
            Targets in their own units, neither centred nor scaled.

        Raises
        ------
        ValueError
            If a target cannot be.
        """

    def initialized(self, y, weight):
        """Check the parameters, and take those that are left open from the targets.

        Called once, with the first batch, after `check_targets`.

        Parameters
        ----------
        y : ndarray of shape (n, t)
            Targets in their own units.
        weight : ndarray of shape (n,) or None
            Sample weights; None means 1.

        Returns
        -------
        likelihood : Likelihood
            This instance, or a changed copy.

        Raises
        ------
        ValueError
            If a parameter of the likelihood is not what it must be.
        """
        return self

    def for_scaled_targets(self, center, scale):
        """Suit the likelihood to targets as they are scaled, where ``scales_targets`` is True.

        Called with the first batch, after `initialized`; again where the scale becomes another.
        Targets are learned as ``(y - center) / scale``.

        Parameters
        ----------
        center, scale : ndarray of shape (t,)

        Returns
        -------
        likelihood : Likelihood
            This instance, or a changed copy.
        """
        return self

    def are_numbers(self, y):
        """Return a mask of the targets (n, t), as scaled, that are known as numbers: all of them.

        Others are known only to lie beyond a limit.
        """
        return np.ones(y.shape, dtype=bool)

    @property
    def theta(self):
        """Logarithms of the free parameters at the start of learning, shape (k,)."""
        return np.empty(0)

    @property
    def theta_bounds(self):
        """Bounds of `theta`, shape (k, 2)."""
        return np.empty((0, 2))

    def with_theta(self, theta):
        """Return the likelihood with other values of the free parameters.

        Parameters
        ----------
        theta : ndarray of shape (k,)

        Returns
        -------
        likelihood : Likelihood
            An instance whose parameters are numbers and whose `theta` is the given one.
        """
        return self

    def for_output(self, output):
        """Return the likelihood of one of several outputs.

        It must be defined where a parameter of the likelihood has an entry for each output.

        Parameters
        ----------
        output : int
            Number of the target column.

        Returns
        -------
        likelihood : Likelihood
            This instance, or a changed copy.
        """
        return self

    def for_classes(self, weight):
        """Suit the likelihood to classes whose weights in the first batch are known.

        Called once, with the first batch, before `initialized`.

        Parameters
        ----------
        weight : ndarray of shape (C,)
            Total weight of the rows of each class; 0 for a class that has none yet.

        Returns
        -------
        likelihood : Likelihood
            This instance, or a changed copy.

        Raises
        ------
        ValueError
            If a parameter of the likelihood does not suit these classes.
        """
        return self

    def codes(self, place):
        """Encode classes as `expected_log_density` takes them.

        Parameters
        ----------
        place : ndarray of shape (n,)
            Numbers of the classes, 0 to C - 1.

        Returns
        -------
        codes : ndarray of shape (n, 1)
            -1.0 and 1.0 if ``max_classes`` is 2, otherwise the numbers as floats.
        """
        code = place.astype(np.float64)
        if self.max_classes == 2:
            code = 2.0 * code - 1.0
        return code[:, None]

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return the `ExpectedLogDensity`, by quadrature; see the class."""
        value, d_mean, d_variance, in_theta = expected_by_quadrature(self, y, mean, variance)
        return ExpectedLogDensity(value, d_mean, d_variance, np.zeros(len(y)), in_theta)

    def is_inside(self, y, mean, variance, noise_variance, share):
        """Return a mask of targets within predicted intervals; None where there are no quantiles.

        Parameters
        ----------
        y, mean, variance : ndarray of shape (n, t)
        noise_variance : object
        share : float
            That the intervals should hold.
        """
        if type(self).quantiles is Likelihood.quantiles:
            return None
        levels = np.array([0.5 - 0.5 * share, 0.5 + 0.5 * share])
        low, high = np.moveaxis(self.quantiles(mean, variance, noise_variance, levels), 2, 0)
        return (y >= low) & (y <= high)

    def tilted_moments(self, y, mean, variance, power):
        """Return the integral of p(y | f)^power N(f; mean, variance), with derivatives in the mean.

        Parameters
        ----------
        y : ndarray of shape (n, 1)
            One target column, or codes of classes.
        mean, variance : ndarray of shape (n,)
            Of one latent function.
        power : ndarray of shape (n,)

        Returns
        -------
        moments : TiltedMoments
            ``log_integral``, ``slope`` and ``curvature``, each (n,).
        """

        def log_density(f, rows):
            return power[rows, None] * self.log_density(y[rows], f)

        return tilted_by_quadrature(log_density, mean, variance)

    def decision(self, mean, variance):
        """Return the values of the decision function.

        Parameters
        ----------
        mean, variance : ndarray of shape (n, n_latent)
            Of the latent functions.

        Returns
        -------
        decision : ndarray of shape (n,) or (n, C)
            Log-odds of the second of two classes, or the log probability of each of several.
        """
        # a probability that underflowed has a finite logarithm
        log_p = np.log(np.maximum(self.probabilities(mean, variance), SMALLEST_PROBABILITY))
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def log_density(self, y, f, noise_variance=None):
        """Return log p(y | f); see the class."""
        raise self._without("log_density", "a model that knows its near rows")

    def covariance(self, mean, covariance, noise_variance):
        """Return mean and joint covariance of y; see the class."""
        raise self._without("covariance", "return_cov=True")

    def quantiles(self, mean, variance, noise_variance, levels):
        """Return quantiles of y; see the class."""
        raise self._without("quantiles", "predict_quantiles")

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """Return log p(y), from `probabilities` or by quadrature of `log_density`."""
        if hasattr(self, "probabilities"):
            p = self.probabilities(mean, variance)
            place = (y == self.codes(np.arange(p.shape[1])).T).argmax(axis=1)
            return np.log(np.maximum(p[np.arange(len(y)), place], SMALLEST_PROBABILITY))
        if not self.has_predictive_density:
            raise self._without("log_predictive_density", "log_density")
        variance = np.maximum(np.broadcast_to(variance, mean.shape), SMALLEST_PROBABILITY)
        power = np.ones(len(y))
        each = [
            self.for_output(c).tilted_moments(y[:, [c]], mean[:, c], variance[:, c], power)
            for c in range(y.shape[1])
        ]
        each = np.transpose([one.log_integral for one in each])
        # what is zero everywhere has no integral: such a target cannot be
        return np.where(np.isnan(each) & ~np.isnan(y), -np.inf, each).sum(axis=1)

    def cdf(self, y, mean, variance, noise_variance=None):
        """Return P(Y <= y); see the class."""
        raise self._without("cdf", "cdf of predict_distribution")

    def sf(self, y, mean, variance, noise_variance=None):
        """Return P(Y > y), shape (n, t); see the class."""
        return 1.0 - self.cdf(y, mean, variance, noise_variance)

    def draw(self, f, noise_variance, rng):
        """Draw observations for latent values; see the class."""
        raise self._without("draw", "sample_y")

    def components(self, variance, noise_variance):
        """Return the normal distributions whose mixture y is; see the class."""
        raise self._without("components", "predict with a warp as normalize_y")

    def _without(self, method, needed_for):
        return NotImplementedError(
            f"{needed_for} needs a likelihood with the method '{method}'. Got {self!r}, which does "
            "not define it."
        )
