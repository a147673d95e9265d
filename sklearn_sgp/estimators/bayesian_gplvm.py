"""BayesianGPLVM: latent inputs by variational inference (Titsias & Lawrence 2010)."""

import numpy as np

from .._compat import FitProgress, _fit_context
from .._parallel import single_blas_thread
from ..engines.latent_inputs.engine import LatentInputs
from ..engines.latent_inputs.new_columns import columns_that_vary, with_new_columns
from ..engines.latent_inputs.solver import snapshot
from ..engines.latent_inputs.state import LatentTrace
from ..latents.table import Columns
from ..optimize.progress import Clock, Trace
from .attributes import set_attributes
from .base import transaction
from .constraints import LATENT_CONSTRAINTS, LATENT_FIXED_AFTER_FIT
from .latent_answers import LatentAnswers
from .latent_tables import (
    checked_table,
    fit_to_go_on_from,
    latent_attributes,
    latent_choices,
    latent_problem,
)
from .settings import check_parameters, check_same_parameters, fingerprints


class BayesianGPLVM(LatentAnswers):
    """Nonlinear principal components with error bars, from tables with missing values.

    Each column is a Gaussian process of a few latent inputs, which every row has its own of. The
    model finds a normal distribution of the latent inputs of each row, and with it a map of the
    rows, a density of new rows, and missing values with their standard deviations. Unneeded latent
    dimensions are switched off. L-BFGS on the variational bound learns all of this from up to
    ``init_size`` rows; minibatches of all rows go on from there.

    Parameters
    ----------
    n_components : int, default=2
        Largest number of latent dimensions.

    kernel : Kernel, default=None
        Covariance of the columns as functions of the latent inputs: sums, products and powers of
        the kernels of :mod:`sklearn.gaussian_process.kernels`. None means ``ConstantKernel() *
        RBF()`` with one length scale for each latent dimension, whose starting values come from
        principal components. Expectations under the latent inputs have a closed form for one
        ``RBF()``, times constants and plus ``DotProduct()`` and ``ConstantKernel()``; other kernels
        take points, see Notes. A ``WhiteKernel`` in the outermost sum is the noise.

    n_inducing : int, default=100
        Largest number of inducing inputs. Fewer distinct rows give fewer inducing inputs.

    inducing : {"kmeans", "greedy", "random"} or array-like of shape (n_inducing, n_components), \
            default="kmeans"
        How inducing inputs are chosen among the latent inputs at the start: k-means centres, rows
        of largest conditional variance, or random rows. An array gives them.

    optimize_inducing : bool, default=True
        Whether the inducing inputs are learned together with the kernel.

    noise_variance : float or array-like of shape (n_features,), default=None
        Starting value of the noise variance, in units of the normalised columns. None means half of
        what principal components leave, between 0.01 and 0.5.

    noise_variance_bounds : pair of floats > 0 or "fixed", default=(1e-6, 1e3)
        Bounds of the noise variance, or "fixed" to keep it at its starting value.

    noise : {"shared", "columns"}, default="shared"
        Whether all normalised columns share one noise variance, or each has its own.

    normalize : bool, default=True
        Whether columns are centred and scaled to unit variance. Kernel and noise then refer to the
        normalised columns. Constant columns stay constant, with a standard deviation of 0.001.

    optimizer : {"auto", "lbfgs", "adam"} or None, default="auto"
        "auto" runs L-BFGS on at most ``init_size`` rows, then takes stochastic steps if there are
        more. "lbfgs" runs L-BFGS on all rows, "adam" takes stochastic steps from the start. None
        finds the latent inputs only.

    n_starts : int, default=1
        Number of starts of L-BFGS: principal components, and others disturbed at random.

    init_size : int, default=5000
        Number of rows of the L-BFGS stage.

    batch_size : int, default=1024
        Largest number of rows of a stochastic step; all steps have nearly as many.

    max_iter : int, default=1000
        Largest number of iterations of L-BFGS, and of epochs of stochastic steps.

    max_steps : int, default=None
        Largest number of stochastic steps. None means no limit.

    max_time : float, default=None
        Seconds after which learning stops. Time for the latent inputs of all rows is kept free.

    tol : float, default=1e-4
        Smallest gain of the objective for each row, in nats, that counts as progress. Stochastic
        steps take ten times this value.

    n_iter_no_change : int, default=5
        An optimiser stops after so many iterations or epochs in a row without progress.

    learning_rate : float, default=0.001
        Step size of Adam.

    natural_step : float, default=0.1
        Length of a stochastic natural-gradient step, in (0, 1].

    jitter : float, default=1e-6
        Smallest value added to the diagonal of the inducing inputs' covariance, relative to its
        mean. It is raised tenfold, with a warning, while the sum is not positive definite.

    warm_start : bool, default=False
        Whether ``fit`` starts from the parameters that the last fit learned.

    n_jobs : int, default=None
        Number of parallel jobs over groups of rows. None means as many threads as BLAS would use. A
        backend of ``joblib.parallel_config`` is respected.

    random_state : int, RandomState instance or None, default=None
        Seed of all random choices, such as those of rows and inducing inputs.

    verbose : int, default=0
        1 prints a line for each stage of a fit, with the time left of ``max_time``, and some in a
        long prediction, 2 one for each iteration or epoch, too.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Means of the latent inputs of the training rows.

    embedding_std_ : ndarray of shape (n_samples, n_components)
        Their standard deviations.

    relevance_ : ndarray of shape (n_components,)
        How much the columns depend on each latent dimension: squared inverse length scales, near
        zero for dimensions that are switched off. Without length scales it is the variance of
        ``embedding_``, to which the same applies.

    kernel_ : Kernel
        The kernel with learned parameters, in the form in which it was given.

    inducing_points_ : ndarray of shape (n_inducing, n_components)
        Inducing inputs.

    noise_variance_ : float or ndarray of shape (n_features,)
        Learned noise variance, in units of the normalised columns.

    mean_ : ndarray of shape (n_features,)
        Means of the columns; zeros without ``normalize``.

    scale_ : ndarray of shape (n_features,)
        Standard deviations of the columns, 1 for constant ones; ones without ``normalize``.

    calibration_ : ndarray of shape (2,)
        Factors of the noise variance and of the other variance of a filled-in value, see Notes.

    objective_ : float
        Variational bound on the log density of what was observed in the training rows, in nats and
        for Y as it was given. After ``partial_fit`` it is an estimate from the last batch.

    objectives_ : ndarray
        The objective, or an estimate of it, after every iteration or epoch.

    fit_times_ : ndarray
        Seconds of learning until each entry of ``objectives_``.

    n_iter_ : int
        Number of iterations and epochs. The final pass counts as one.

    n_steps_ : int
        Number of stochastic steps.

    n_samples_seen_ : int
        Number of rows so far.

    jitter_ : float
        The value of ``jitter`` that was used.

    n_features_in_ : int
        Number of columns of Y.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of Y, if all of them are strings.

    See Also
    --------
    sklearn.decomposition.PCA : The linear map, without missing values.
    SVGPClassifier : A classifier for the latent inputs, in a pipeline.

    Notes
    -----
    NaN is a missing value. Whether a value is missing must not depend on what it would have been.

    A latent dimension has a standard normal prior, and the map is defined up to signs and, for
    equal length scales, rotations.

    The distribution of a row's latent inputs has a diagonal covariance and is found given the
    model, so that new rows and training rows are treated alike. It is narrower than the truth where
    latent dimensions depend on one another or where little of a row is observed. ``impute``
    corrects for that: ``fit`` hides some values, fills them in, and finds the two factors of
    ``calibration_`` with which they are most likely and 90 % intervals hold 90 % of them. A table
    with missing values, of up to ``init_size`` rows, is learned without a twentieth to a tenth of
    what was observed, which joins at the end. In other tables values of some rows are hidden after
    the fit; with up to 5,000 rows, some iterations make the model forget these rows first. Standard
    deviations of ``transform`` are not corrected.

    Kernels without a closed form take a product of 20, 9 or 6 Gauss-Hermite points for each of one,
    two or three latent dimensions, and 256 quasi-random points for more. A linear kernel is exact
    then. With standard deviations of half a length scale, second moments of an RBF are off by at
    most 1e-13, 1e-6 and 2e-4 of the largest in one, two and three dimensions, and by 4 % in five.

    A step costs O(b m^2 (Q + T)) for b rows, m inducing inputs, Q latent dimensions and T patterns
    of missing entries of the columns, one where nothing is missing. Besides the data the memory is
    O(n Q + T m^2). ``docs/theory.md``, section 17, has the equations.

    References
    ----------
    .. [1] M. K. Titsias, N. D. Lawrence, "Bayesian Gaussian Process Latent Variable Model", AISTATS
       2010.
    .. [2] J. Hensman, N. Fusi, N. D. Lawrence, "Gaussian Processes for Big Data", UAI 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp import BayesianGPLVM
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-2, 2, 200)
    >>> Y = np.column_stack([np.sin(t), np.cos(t), t]) + 0.05 * rng.normal(size=(200, 3))
    >>> Y[:20, 0] = np.nan
    >>> model = BayesianGPLVM(1, n_inducing=20, random_state=0).fit(Y)
    >>> model.embedding_.shape
    (200, 1)
    >>> filled, std = model.impute(Y, return_std=True)
    >>> bool(np.abs(filled[:20, 0] - np.sin(t[:20])).max() < 0.3)
    True
    """

    _parameter_constraints = LATENT_CONSTRAINTS
    _fixed_after_fit = LATENT_FIXED_AFTER_FIT

    def __init__(
        self,
        n_components=2,
        *,
        kernel=None,
        n_inducing=100,
        inducing="kmeans",
        optimize_inducing=True,
        noise_variance=None,
        noise_variance_bounds=(1e-6, 1e3),
        noise="shared",
        normalize=True,
        optimizer="auto",
        n_starts=1,
        init_size=5000,
        batch_size=1024,
        max_iter=1000,
        max_steps=None,
        max_time=None,
        tol=1e-4,
        n_iter_no_change=5,
        learning_rate=0.001,
        natural_step=0.1,
        jitter=1e-6,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
        self.noise_variance = noise_variance
        self.noise_variance_bounds = noise_variance_bounds
        self.noise = noise
        self.normalize = normalize
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.init_size = init_size
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.max_steps = max_steps
        self.max_time = max_time
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.learning_rate = learning_rate
        self.natural_step = natural_step
        self.jitter = jitter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- Learning

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, Y, y=None):
        """Learn the latent inputs of all rows, and the map from them to the columns.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_features)
            Rows, with NaN where a value is missing.

        y : object, default=None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If Y or a parameter is not valid. The estimator is then as before.
        """
        clock = Clock(self.max_time)
        with transaction(self):
            self._learn_rows(Y, FitProgress(self, Y, y), clock)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, Y, y=None):
        """Learn from one more batch of rows.

        The first batch decides scaling, inducing inputs and starting values. Each later batch finds
        its latent inputs, adds its information to the map, and moves kernel, noise and inducing
        inputs by one stochastic step for every ``batch_size`` rows, unless ``optimizer=None`` or
        ``max_time`` is over. Columns that were constant take part once they vary, as observed in
        all earlier rows. Earlier latent inputs stay as they are in ``embedding_``.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_features)
            New rows, with NaN where a value is missing.

        y : object, default=None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If Y or a parameter is not valid, or if a parameter has changed that needs a new
            ``fit``. The estimator is then as before.
        """
        check_parameters(self)
        clock = Clock(self.max_time)
        with transaction(self):
            if self._fitted is None:
                self._learn_rows(Y, FitProgress(self, Y, y), clock)
            else:
                self._add_rows(Y, clock)
        return self

    def _learn_rows(self, Y, progress, clock):
        """Learn from all rows, or from a first batch."""
        Y = checked_table(self, Y, reset=True)
        columns, trace = Columns.of(Y, self.normalize), LatentTrace(clock)
        table = columns.table(Y)
        progress.begin()
        engine = LatentInputs(latent_choices(self, columns), fit_to_go_on_from(self, columns))
        problem = latent_problem(self, table, trace)
        log_scale = float(table.log_scales().sum())

        def attributes_now(parameters):
            return latent_attributes(snapshot(problem, parameters), columns)

        following = self._following(trace, progress, log_scale, attributes_now)
        with following, single_blas_thread():
            fitted = engine.fit(problem)
        set_attributes(self, latent_attributes(fitted, columns))
        self._given = fingerprints(self)
        self.objectives_ = np.array(trace.objectives) - log_scale
        self.fit_times_ = np.array(trace.times)
        if self.verbose:
            self._print_end(trace)
        progress.end()

    def _add_rows(self, Y, clock):
        """Learn from a later batch."""
        check_same_parameters(self)
        Y = checked_table(self, Y)
        columns = columns_that_vary(self._fitted.targets, Y)
        choices = latent_choices(self, columns)
        fitted = with_new_columns(self._fitted, columns, choices)
        problem = latent_problem(self, columns.table(Y), Trace(clock))
        with single_blas_thread():
            fitted = LatentInputs(choices).add(fitted, problem)
        set_attributes(self, latent_attributes(fitted, columns))
        self.objectives_ = np.append(self.objectives_, self.objective_)
        seconds = self.fit_times_[-1:].sum() + clock.elapsed()  # no entry yet: 0
        self.fit_times_ = np.append(self.fit_times_, seconds)
