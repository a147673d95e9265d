"""SVGPRegressor: stochastic variational sparse GP regression (Hensman, Fusi & Lawrence 2013)."""

from numbers import Integral

from .._compat import FitProgress, Interval, _fit_context
from ..optimize.progress import Clock
from .base import transactional
from .partial_fits import PartialFits
from .regressor import LIKELIHOOD_CONSTRAINT, REGRESSOR_CONSTRAINTS, SparseGPRegressor


class SVGPRegressor(PartialFits, SparseGPRegressor):
    """Sparse Gaussian process regression for many rows.

    The function is summarised by its values at ``n_inducing`` inducing inputs, whose posterior is
    kept explicitly. With default settings, kernel, noise and inducing inputs are learned on a
    subset of the rows by L-BFGS on the variational bound, refined on larger subsets, and the
    posterior is then computed exactly from all rows. Cost is linear in the number of rows, memory
    does not depend on it, and no learning rate needs tuning.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels`, sums, products and powers of them,
        or :class:`~sklearn_sgp.kernels.Columns`. ``WhiteKernel`` terms of the outermost sum are the
        noise. None means ``ConstantKernel() * RBF()`` with one length scale for each column, and
        starting values and bounds from the data. The kernel refers to normalised targets (see
        ``normalize_y``) and to inputs in their own units.

    likelihood : {"gaussian", "student_t", "poisson"} or instance, default="gaussian"
        Distribution of an observation given the function: Gaussian noise; Student-t noise with 4
        degrees of freedom, whose squared scale is the noise variance, for targets with outliers
        (``StudentT(df=...)`` for others); or counts whose logarithmic rate is the function, about
        that of the mean count. Counts are never normalised and have no noise variance.

    total_samples : int, default=None
        Only for ``partial_fit``. None takes all rows as new, so that with fixed kernel and
        inducing inputs any split of the data gives what ``fit`` gives. A number is the size of the
        whole data set, of which rows may come again.

    n_inducing : int, default=256
        Number of inducing inputs. Fewer distinct rows give fewer.

    inducing : {"kmeans", "greedy", "random"} or array-like of shape (n_inducing, n_features), \
            default="kmeans"
        How inducing inputs are chosen: k-means centres, rows of greatest conditional variance,
        random rows, or the given ones.

    optimize_inducing : bool, default=True
        Whether the inducing inputs are learned with the kernel.

    noise_variance : float, default=None
        Starting value of the variance of the noise, in units of normalised targets. None starts
        at 0.1.

    noise_variance_bounds : pair of float or "fixed", default=(1e-6, 1e3)
        Bounds of the noise variance; "fixed" keeps it where it starts.

    optimizer : {"auto", "lbfgs", "adam"} or None, default="auto"
        "auto" goes through the stages above; "lbfgs" follows the bound of all rows; "adam" takes
        stochastic steps only, without a warm start; None leaves kernel, noise and inducing inputs
        as they are and computes the posterior.

    init_size : int, default=8192
        Rows of the warm start.

    batch_size : int, default=1024
        Rows of a stochastic step.

    max_iter : int, default=200
        Largest number of epochs of the stochastic stage, and of iterations of each L-BFGS stage.

    max_steps : int, default=None
        Largest number of stochastic steps.

    max_time : float, default=None
        Seconds after which learning stops; the time of the final pass over the rows is kept free.

    tol : float, default=1e-5
        Gain of the bound for each row, in nats, below which an epoch or iteration counts as none;
        ten times that where a larger subset of the rows follows.

    n_iter_no_change : int, default=5
        Learning stops after so many epochs or iterations without gain.

    learning_rate : float, default=0.01
        Step of Adam in kernel, noise and inducing inputs.

    natural_step : float, default=0.1
        Length of a natural-gradient step, in (0, 1].

    normalize_y : bool or tuple of (mean, scale), default=True
        Whether targets are centred and scaled to unit variance inside, or the centre and scale to
        use. Under ``partial_fit`` the first batch decides.

    jitter : float, default=1e-8
        Smallest value added to the diagonal of the inducing inputs' covariance, relative to its
        mean. Raised tenfold where that covariance is not positive definite, with a warning.

    warm_start : bool, default=False
        Whether ``fit`` starts from the kernel, noise and inducing inputs of the last fit.

    n_jobs : int, default=None
        Number of jobs over blocks of rows. None means as many threads as BLAS would use; a backend
        of ``joblib.parallel_config`` is respected.

    random_state : int, RandomState instance or None, default=None
        Seed of the choice of rows and inducing inputs.

    verbose : int, default=0
        Whether to print progress.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with learned parameters, in the shape it was given.

    noise_variance_ : float
        Learned variance of the noise, in units of normalised targets.

    inducing_points_ : ndarray of shape (n_inducing, n_features)
        Inducing inputs, in units of X.

    objective_ : float
        Variational bound of the log evidence of the training rows, in nats, for y in its own
        units; after a ``partial_fit`` that moved the kernel, its estimate from the last minibatch.

    objectives_ : ndarray
        The bound, or its estimate, after every epoch or iteration.

    fit_times_ : ndarray
        Seconds since the start of ``fit`` at each entry of ``objectives_``.

    n_iter_ : int
        Number of epochs and iterations; the final pass counts as one.

    n_steps_ : int
        Number of stochastic steps.

    n_samples_seen_ : int
        Number of rows of positive weight that the posterior rests on.

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
    sklearn.gaussian_process.GaussianProcessRegressor : Exact, for up to a few thousand rows.

    Notes
    -----
    The bound is that of Titsias [2]_, for which the posterior of Hensman et al. [1]_ is optimal;
    ``docs/theory.md`` has the equations. One pass over n rows with m inducing inputs costs
    O(n m^2), prediction of a mean O(m) a row and of a standard deviation O(m^2).

    References
    ----------
    .. [1] J. Hensman, N. Fusi, N. D. Lawrence, "Gaussian Processes for Big Data", UAI 2013.
       https://arxiv.org/abs/1309.6835
    .. [2] M. K. Titsias, "Variational Learning of Inducing Variables in Sparse Gaussian
       Processes", AISTATS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp import SVGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (2000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(2000)
    >>> model = SVGPRegressor(n_inducing=20, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[1.5], [4.5]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([ 1., -1.]), array([0.1, 0.1]))
    """

    _parameter_constraints = REGRESSOR_CONSTRAINTS | {
        "likelihood": LIKELIHOOD_CONSTRAINT,
        "total_samples": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        kernel=None,
        *,
        likelihood="gaussian",
        total_samples=None,
        n_inducing=256,
        inducing="kmeans",
        optimize_inducing=True,
        noise_variance=None,
        noise_variance_bounds=(1e-6, 1e3),
        optimizer="auto",
        init_size=8192,
        batch_size=1024,
        max_iter=200,
        max_steps=None,
        max_time=None,
        tol=1e-5,
        n_iter_no_change=5,
        learning_rate=0.01,
        natural_step=0.1,
        normalize_y=True,
        jitter=1e-8,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.likelihood = likelihood
        self.total_samples = total_samples
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
        """Learn from all rows at once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; a float32 array or memory map is never copied whole.

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
        clock = Clock(self.max_time)
        X, y, weight = self._checked(X, y, sample_weight, reset=True)
        data, progress = self._encoded(X, y, weight), FitProgress(self, X, y)
        self._fit_rows(data, progress, clock, previous=self._previous())
        return self

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from one more batch of rows.

        The first batch decides inducing inputs, starting values and the scaling of the targets;
        it should be large and mixed enough for that. Each later batch adds its rows to the
        posterior and, unless ``optimizer=None``, moves kernel, noise and inducing inputs by one
        stochastic step for every ``batch_size`` rows. Where later rows come from elsewhere, as in
        a time series, take `StreamingSGPRegressor`, whose inducing inputs follow them: here too few
        inducing inputs lie near them, and errors exceed the predicted noise.

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
        """
        clock, first = Clock(self.max_time), not hasattr(self, "_result")
        X, y, weight = self._checked(X, y, sample_weight, reset=first)
        if first:
            self._fit_first(self._encoded(X, y, weight), FitProgress(self, X, y), clock)
        else:
            self._add_rows(self._later_rows(X, y, weight))
        return self
