"""StreamingSGPRegressor: streaming sparse GP regression (Bui, Nguyen & Turner 2017)."""

from numbers import Real

from .._compat import Interval, _fit_context
from ..data.rows import drop_zero_weight
from ..optimize.progress import Clock
from .base import transactional
from .regressor import LIKELIHOOD_CONSTRAINT, REGRESSOR_CONSTRAINTS, SparseGPRegressor
from .stream_batches import STREAM_CONSTRAINTS, StreamBatches


class StreamingSGPRegressor(StreamBatches, SparseGPRegressor):
    """Sparse Gaussian process regression for a stream of rows, each seen once.

    With every batch, inducing inputs are chosen anew from the old ones and the batch, kernel, noise
    and inducing inputs are learned on the online bound, and the posterior is updated. What is kept
    of the past is the posterior alone: memory and time of a batch do not depend on how much has
    been seen.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels`, sums, products and powers of them,
        or :class:`~sklearn_sgp.kernels.Columns`. ``WhiteKernel`` terms of the outermost sum are the
        noise. None means ``ConstantKernel() * RBF()`` with one length scale for each column, and
        starting values and bounds from the first batch. The kernel refers to normalised targets
        (see ``normalize_y``) and to inputs in their own units.

    likelihood : {"gaussian", "student_t", "poisson"} or instance, default="gaussian"
        As for :class:`~sklearn_sgp.SVGPRegressor`.

    alpha_divergence : float, default=0.0
        Of the rows of a batch: 0 is the variational bound, 1 is expectation propagation, and what
        is between is Power-EP. The old posterior enters with at least 0.5, which matters where
        inducing inputs are dropped. Likelihoods other than Gaussian noise take 0.

    forget_factor : float, default=1.0
        Power of the old posterior's information in each batch: below 1 the past fades. 0.9 to 0.99
        are worth a trial where the function drifts.

    trust_region : float, default=1.0
        Farthest that one batch may move the natural logarithm of a kernel parameter or of the noise
        variance; five times as far for noise that rises. Both limits are multiplied by
        max(1, rows in the batch / rows learned from so far). The first batch may move them
        anywhere, and so may batches of 50 rows and more while all before were constant or noise.

    min_inducing : int, default=None
        With a number, a stream begins with as few inducing inputs and takes more, up to
        ``n_inducing``, until the largest conditional variance of the batch's rows is below a tenth
        of the noise variance. None takes ``n_inducing`` as soon as there are so many useful ones.

    n_inducing : int, default=100
        Largest number of inducing inputs.

    inducing : {"greedy", "kmeans", "random"} or array-like of shape (n_inducing, n_features), \
            default="greedy"
        How inducing inputs are chosen from the old ones and the rows of a batch: one by one, as
        k-means centres or at random, an old one standing for its share of the rows before. "greedy"
        takes those of greatest conditional variance; where some have to go for a batch that is
        learned from, those stay that the others would predict worst. Given ones stay.

    optimize_inducing : bool, default=True
        Whether inducing inputs are learned with the kernel, each with the batch that it comes from.
        Later it stays where it is, or some of what is known there would be lost.

    noise_variance : float, default=None
        Starting value of the variance of the noise, in units of normalised targets. None starts
        at 0.1.

    noise_variance_bounds : pair of float or "fixed", default=(1e-6, 1e3)
        Bounds of the noise variance; "fixed" keeps it where it starts.

    optimizer : {"auto", "lbfgs", "adam"} or None, default="auto"
        "auto" and "lbfgs" take steps of L-BFGS on each batch's online bound, "adam" takes steps of
        Adam. None leaves kernel and noise as they are: inducing inputs are chosen, not learned.

    init_size : int, default=1024
        Rows of the first batch of `fit`.

    batch_size : int, default=1024
        Rows of each later batch of `fit`.

    max_iter : int, default=20
        Largest number of iterations of the optimiser on a batch.

    max_steps : int, default=None
        Number of batches that are learned from; later ones only update the posterior.

    max_time : float, default=None
        Seconds of one call after which batches only update the posterior.

    tol : float, default=1e-4
        Gain of the bound for each row, in nats, below which an iteration counts as none.

    n_iter_no_change : int, default=5
        Learning from a batch stops after so many iterations without gain.

    learning_rate : float, default=0.01
        Step of Adam.

    natural_step : float, default=1.0
        Longest natural-gradient step for likelihoods other than Gaussian noise, in (0, 1].

    normalize_y : bool or tuple of (mean, scale), default=True
        Whether targets are centred and scaled inside by those of the first batch, or the centre and
        scale to use.

    jitter : float, default=1e-8
        Variance of each inducing value beyond the function's, relative to the function's. Raised
        tenfold where their covariance is not positive definite, with a warning.

    warm_start : bool, default=False
        Whether ``fit`` starts from the kernel, noise and inducing inputs of the last fit.

    n_jobs : int, default=None
        Number of jobs over blocks of rows. None means as many threads as BLAS would use; a backend
        of ``joblib.parallel_config`` is respected.

    random_state : int, RandomState instance or None, default=None
        Seed of the choice of inducing inputs. With an int, a stream that was saved and loaded goes
        on as if it had not been.

    verbose : int, default=0
        Whether to print a line for each batch.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with learned parameters, in the shape it was given.

    noise_variance_ : float
        Learned variance of the noise, in units of normalised targets.

    inducing_points_ : ndarray of shape (n_inducing, n_features)
        Inducing inputs, in units of X.

    objective_ : float
        Online bound of the last batch, in nats, for y in its own units: with the kernel and the old
        inducing inputs held, a lower bound of the log density of the batch given those before.

    log_evidence_ : float
        Sum of the online bounds of all batches: an estimate of the log evidence, and no bound once
        inducing inputs have moved.

    objectives_, fit_times_ : ndarray
        Online bound after each iteration on the last batch, and seconds since the call began.

    n_iter_ : int
        Iterations of the optimiser so far, at least 1.

    n_steps_ : int
        Number of batches.

    n_samples_seen_ : int
        Number of rows of positive weight so far.

    y_mean_, y_scale_ : float or ndarray of shape (n_targets,)
        Centre and scale of the targets.

    jitter_ : float
        Jitter in use, relative.

    n_features_in_ : int
        Number of columns seen in ``fit``.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had names that are all strings.

    See Also
    --------
    SVGPRegressor : For rows that can be seen more than once.

    Notes
    -----
    ``docs/theory.md``, section 11, has the equations. A batch of n rows costs O((n + m) m^2) for
    each iteration, O(m^2) memory is carried.

    References
    ----------
    .. [1] T. D. Bui, C. V. Nguyen, R. E. Turner, "Streaming Sparse Gaussian Process
       Approximations", NIPS 2017. https://arxiv.org/abs/1705.07131

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp import StreamingSGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> model = StreamingSGPRegressor(n_inducing=30, random_state=0)
    >>> for left in range(10):
    ...     X = left + rng.uniform(0, 1, (100, 1))
    ...     model = model.partial_fit(X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(100))
    >>> mean, std = model.predict([[1.5], [4.5], [9.5]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([ 1. , -1. , -0.1]), array([0.1, 0.1, 0.1]))
    """

    _parameter_constraints = (
        REGRESSOR_CONSTRAINTS
        | STREAM_CONSTRAINTS
        | {
            "likelihood": LIKELIHOOD_CONSTRAINT,
            "alpha_divergence": [Interval(Real, 0, 1, closed="both")],
        }
    )

    def __init__(
        self,
        kernel=None,
        *,
        likelihood="gaussian",
        alpha_divergence=0.0,
        forget_factor=1.0,
        trust_region=1.0,
        min_inducing=None,
        n_inducing=100,
        inducing="greedy",
        optimize_inducing=True,
        noise_variance=None,
        noise_variance_bounds=(1e-6, 1e3),
        optimizer="auto",
        init_size=1024,
        batch_size=1024,
        max_iter=20,
        max_steps=None,
        max_time=None,
        tol=1e-4,
        n_iter_no_change=5,
        learning_rate=0.01,
        natural_step=1.0,
        normalize_y=True,
        jitter=1e-8,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.likelihood = likelihood
        self.alpha_divergence = alpha_divergence
        self.forget_factor = forget_factor
        self.trust_region = trust_region
        self.min_inducing = min_inducing
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
        self.noise_variance = noise_variance
        self.noise_variance_bounds = noise_variance_bounds
        self.optimizer = optimizer
        self.init_size = init_size
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.max_steps = max_steps
        self.max_time = max_time
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.learning_rate = learning_rate
        self.natural_step = natural_step
        self.normalize_y = normalize_y
        self.jitter = jitter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """One pass over the rows, in their order, as if they came in batches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Several columns are independent outputs with a shared kernel.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If inputs or parameters are not what they must be; the estimator is then as before.
        """
        X, y, weight = self._checked(X, y, sample_weight, reset=True)
        self._fit_stream(*drop_zero_weight(X, y, weight))
        return self

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from one more batch.

        The first batch decides starting values and the scaling of the targets; it should have a few
        hundred rows. Later ones may be of any size. Where kernels are learned, rows are kept until
        there are 25, and the stream begins anew with each batch until then.

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
            If inputs or parameters are not what they must be; the estimator is then as before, and
            the next batch can come.
        """
        first = not hasattr(self, "_result")
        X, y, weight = self._checked(X, y, sample_weight, reset=first)
        self._take_batch(X, y, weight, Clock(self.max_time))
        return self

    def _encoded_batch(self, X, y, weight):
        data = self._encoded(X, y, weight)
        if self.alpha_divergence > 0.0 and not data.likelihood.conjugate:
            raise ValueError(
                "The 'alpha_divergence' parameter must be 0 for a likelihood other than Gaussian "
                f"noise. Got {self.alpha_divergence} with {self.likelihood!r}."
            )
        if self.normalize_y is not True or not data.likelihood.scales_targets:
            return data
        return data._replace(targets=data.targets.with_scale_of_constants(data.y))
