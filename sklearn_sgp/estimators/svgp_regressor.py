"""SVGPRegressor: stochastic variational sparse GP regression (Hensman, Fusi & Lawrence 2013)."""

from .._compat import FitProgress
from ..data.inputs import any_collection
from ..engines.variational.partial_fit import scaled_to_total
from ..kernels._defaults import ONE, SMOOTH
from ..optimize.momentum import STOCHASTIC
from ..optimize.progress import Clock
from . import collections, recipes
from .choose_engine import variational
from .constraints import N_LATENT, REGRESSOR_CONSTRAINTS, ROWS_CONSTRAINTS
from .drift import DriftCheck
from .fit import Fit
from .learning import run_recipe, store_batch, with_later_rows
from .marginal_likelihood import log_marginal_likelihood
from .mixed_outputs import learns_means, mixes_outputs
from .numbers import checked_batch, checked_numbers
from .regressor import SGPRegressor
from .settings import check_same_parameters, previous_fit


class SVGPRegressor(SGPRegressor):
    """Sparse Gaussian process regression for many rows.

    The model summarises the function by its values at ``n_inducing`` inducing inputs and keeps
    their posterior. With default settings, L-BFGS on the variational bound learns kernel, noise and
    inducing inputs on a subset of the rows and then on larger subsets. The posterior is then
    computed exactly from all rows. The cost is linear in the number of rows, the memory does not
    depend on it, and no learning rate needs tuning.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels`, sums, products and powers of them, or
        :class:`~sklearn_sgp.kernels.Columns`. ``WhiteKernel`` terms of the outermost sum are the
        noise. None means one with length scales for each column, whose starting values and bounds
        come from the data, or from the first batch. It is the best of ``ConstantKernel()`` times
        ``RBF()``, ``Matern(nu=1.5)``, or ``RBF()`` and a rough part, ``Matern(nu=0.5)``, by their
        bounds after 20 iterations. Without learning, with "adam", or where ``max_iter`` is 20 or
        less, it is the first of these. The kernel refers to normalised targets and unscaled inputs.

    kernel_priors : dict, default=None
        What is expected of parameters of the kernel and the noise: frozen distributions of
        :mod:`scipy.stats` by name. "length_scale" means all of that name but those of missing
        values, "k1__length_scale" the one of that name in ``kernel_.get_params()``;
        "noise_variance" is the noise, without a ``WhiteKernel``. Length scales are in units of X.
        Learning adds log densities of the parameters, not of their logarithms, to its objective. A
        start of yours must be within the support. With ``kernel=None`` a prior of length scales
        takes the place of the weak one that ties them.

    likelihood : {"gaussian", "student_t", "heteroscedastic", "heteroscedastic_student_t", "auto", \
            "poisson", "negative_binomial", "gamma", "beta", "censored"} or instance, \
            default="gaussian"
        Distribution of an observation given the function. "gaussian" is Gaussian noise. "student_t"
        is Student-t noise with 4 degrees of freedom, for outliers; its squared scale is the noise
        variance. ``StudentT(df=3.0)`` has another number of them, ``StudentT(df=None)`` learns it,
        for each output.
        The noise variance of "heteroscedastic" depends on X: its logarithm is a Gaussian process,
        learned in turn with the function. "heteroscedastic_student_t" has learned tails, too.
        "auto" takes the one of these whose bound is best after a fit with Gaussian noise, which
        ``likelihood_`` tells, and takes ``normalize_y=True`` for "warped". These three also learn a
        variance scale: a factor of predicted deviations, latent function and noise, that depends on
        X, if left-out rows are predicted better. ``variance_scale_`` has its smallest and largest
        value, ``variance_scale_gain_`` the nats a row that it gains. With "auto", but for streams,
        ``mean_share_`` is the share of the distribution's own mean in what ``predict`` returns, by
        squared errors of left-out rows; the rest is that with Gaussian noise and no warp. "poisson"
        is for counts, whose log rate is the function plus the log of the mean count. Counts are
        never normalised and have no noise variance. So it is with "negative_binomial", counts whose
        learned dispersion makes them vary more, "gamma", positive numbers, and "beta", shares.
        "censored" is Gaussian noise where several targets are at the smallest or the largest one
        and are known only to lie beyond it; :class:`~sklearn_sgp.likelihoods.Censored` has other
        limits. An instance is a :class:`~sklearn_sgp.likelihoods.Likelihood`.

    total_samples : int, default=None
        Only ``partial_fit`` uses it. None means that all rows are new. A number is that of the rows
        of the whole data set, which may come more than once. Each batch, the first as well, then
        moves the posterior by ``natural_step`` towards what its rows say if they stand for all. A
        row counts as one whatever its weight, and not at all if its weight is zero.

    n_latent : int, default=None
        None means that columns of y are independent outputs. A number is that of latent functions
        which all outputs mix, ``f = W g`` with W the ``mixing_``, at most as many as outputs. They
        share strength, and a target that is NaN was not observed, in ``log_density``, too. That is
        joint over a row for Gaussian noise, else summed over its outputs. Likelihoods of noise that
        differs from row to row are not there, nor is "auto": write a row for each target, and its
        output as a category. Later batches then change the posterior only. Where targets are NaN,
        or noise is not Gaussian, centres are learned (``normalize_y=True``).

    n_inducing : int, default=256
        Largest number of inducing inputs. Fewer distinct rows give fewer inducing inputs.

    inducing : {"kmeans", "greedy", "random", "fourier"} or array-like of shape \
            (n_inducing, n_features), default="kmeans"
        How inducing inputs are chosen: k-means centres, rows of largest conditional variance, or
        random rows. An array gives the inducing inputs themselves. "fourier" takes features in
        their place: cosines and sines of ``n_inducing // 2`` frequencies, drawn from the kernel's
        spectral density and learned with the rest. They need stationary kernels without
        categories, in blocks ``model="sor"``, "dtc" or "vfe", and many rows: with fewer than 20
        for each number that is learned of the frequencies intervals may be too narrow.

    optimize_inducing : bool, default=True
        Whether the inducing inputs are learned together with the kernel.

    noise_variance : float or array-like of shape (n_targets,), default=None
        Starting value of the noise variance, one or one for each output, in units of normalised
        targets. None means a tenth of their variance. A ``WhiteKernel`` term is one for all.

    noise_variance_bounds : pair of float or "fixed", default=(1e-6, 1e3)
        Bounds of the noise variance, by default times that of the targets. "fixed" holds the start.
        Functions without noise, such as simulators, ask for ``(1e-8, 1e3)``: the default kernel
        may then vary far more than the targets.

    optimizer : {"auto", "lbfgs", "adam", "sgd"} or None, default="auto"
        "auto" runs L-BFGS on a subset of the rows and then on larger subsets. "lbfgs" runs L-BFGS
        on all rows. "adam" takes stochastic steps from the start. "sgd" takes those of [1]_: plain
        gradients with a momentum of 0.9, for which ``learning_rate`` must be some thousand times
        smaller. None computes the posterior at the starting values.

    init_size : int, default=8192
        Number of rows of the first L-BFGS stage.

    batch_size : int, default=1024
        Largest number of rows of a stochastic step; all steps have nearly as many.

    n_restarts_optimizer : int, default=0
        Number of starts besides the first in the first L-BFGS stage, drawn log-uniformly within the
        bounds of the kernel, and for the noise between 1e-4 and 1. The start with the best
        objective goes on.

    max_iter : int, default=200
        Largest number of iterations of each L-BFGS stage, and of epochs of stochastic steps. A
        warning says so if it ends learning while the objective visibly rises.

    max_steps : int, default=None
        Largest number of stochastic steps. None means no limit.

    max_time : float, default=None
        Seconds after which learning stops. Time for the final posterior is kept free.

    tol : float, default=1e-5
        Smallest gain of the objective for each row, in nats, that counts as progress. A stage on a
        subset of the rows that another stage follows takes ten times this value. With "auto" and
        more than 2,048 rows learning also ends where 100 iterations more would gain less than 0.01.

    n_iter_no_change : int, default=5
        An optimiser stops after so many iterations or epochs in a row without progress.

    learning_rate : float, default=0.01
        Step size of Adam.

    natural_step : float, default=0.1
        Length of a stochastic natural-gradient step, in (0, 1].

    normalize_y : bool, "yeo-johnson", "warped" or tuple of (mean, scale), default=True
        Whether targets are centred and scaled to unit variance inside the model. Predictions stay
        in units of y. A tuple gives centre and scale. Before that, "yeo-johnson" transforms each
        column of y, about its median and scaled by quantiles, by scikit-learn's
        ``PowerTransformer``. "warped" does so by a monotone function that is learned with kernel
        and noise, or given these if ``optimizer=None``. Of batches, the first decides. With a
        likelihood for outliers, a target counts here as at most 148 median absolute deviations from
        the median.

    offset_column : int or str, default=None
        Column of X, by index or name, that is added to the function as it is, such as the logarithm
        of an exposure; no input of the kernel. For likelihoods whose targets are not scaled: those
        of counts, "gamma", "beta", and instances. Indices in
        :class:`~sklearn_sgp.kernels.Columns` do not count it.

    include_noise : bool, default=True
        Whether standard deviations, covariances and draws are those of new observations. False is
        for those of the latent function, which optimisers and active learning mean. Each call may
        say otherwise.

    categorical_features : array-like of {bool, int, str} or "from_dtype", default=None
        Columns of X that are categories, as a mask, indices or names; "from_dtype" takes those of a
        dataframe's categorical type. Values of several kinds in the first rows are compared as
        strings. Missing values are one category, and each value that comes later is one of its own.
        With ``kernel=None`` each category has a random intercept and a function of the other
        columns; where kernels are compared, the latter must raise the objective. Any other kernel
        should have a :class:`~sklearn_sgp.kernels.Categorical` for each of these columns.

    missing : {"auto", "error"}, default="auto"
        What NaN in numeric columns of X is. "auto" takes it for a value that is missing. It becomes
        what the other columns of its row make expected, and the kernel sees where each column that
        lacks values in the first rows does. "error" refuses it.

    jitter : float, default=1e-8
        Value added to the diagonal of the inducing inputs' covariance, relative to its mean, less
        beside small noise. It is raised tenfold, with a warning, where that is singular.

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
    kernel_ : Kernel
        The kernel with learned parameters, in the form in which it was given.

    likelihood_ : Likelihood
        The likelihood with learned parameters.

    noise_variance_ : float or ndarray of shape (n_targets,)
        Learned noise variance, for each output its own, in units of normalised targets, for
        likelihoods with noise.

    mixing_ : ndarray of shape (n_targets, n_latent) or None
        Weights of the latent functions in the outputs, in units of normalised targets, up to a
        rotation. None without ``n_latent``.

    output_correlation_ : ndarray of shape (n_targets, n_targets) or None
        Correlations of the outputs' functions under the prior. None without ``n_latent``.

    inducing_points_ : ndarray of shape (n_inducing, n_features)
        Inducing inputs, in units of X; columns of categories as in X, with codes where these are no
        numbers. None of them with ``inducing="fourier"``.

    frequencies_ : ndarray of shape (n_inducing // 2, n_features) or None
        With ``inducing="fourier"``: frequencies of the features, in cycles for each unit of X.

    objective_ : float
        Variational bound on the log evidence of the training rows, in nats, for y as it was given.
        After ``partial_fit`` it may be an estimate from the last minibatch.

    log_prior_ : float
        Log density of ``kernel_priors`` at what was learned, 0 without them. Learning maximises its
        sum with the objective.

    objectives_ : ndarray
        The objective, or an estimate of it, after every iteration or epoch.

    fit_times_ : ndarray
        Seconds of learning until each entry of ``objectives_``.

    choices_ : list of dict
        What the fit compared, as a table: keys are ``choice``, ``candidate``, ``score`` (nats a
        row, of scaled targets), ``standard_error`` of it less the best, ``seconds``, ``taken``.

    n_iter_ : int
        Number of iterations and epochs. The final posterior counts as one.

    n_steps_ : int
        Number of stochastic steps.

    n_samples_seen_ : int
        Number of rows of positive weight so far.

    y_mean_, y_scale_, resolution_ : float or ndarray of shape (n_targets,)
        Centre and scale of the targets, after the transformation that ``normalize_y`` names, and
        the step that y was rounded to, 0 for none.

    is_categorical_ : ndarray of shape (n_features_in_,) or None
        Which columns are categories by ``categorical_features``.

    categories_ : list of ndarray or None
        For each of these columns its values so far, in the order of their codes, which
        ``inducing_points_`` have where these are no numbers. None is a missing value, or a code
        that no value has.

    jitter_ : float
        The value of ``jitter`` that was used.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column in the changes of the latent function's mean, adding up to one.

    X_train_ : ndarray of shape (n_inducing, n_features)
        ``inducing_points_``, under the name that clients of scikit-learn's process look for.

    n_features_in_ : int
        Number of columns of X.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, if all of them are strings.

    See Also
    --------
    sklearn.gaussian_process.GaussianProcessRegressor : The exact model, for up to a few thousand
        rows.
    StreamingSGPRegressor : A model for rows that are seen once.

    Notes
    -----
    The posterior of Hensman et al. [1]_ is optimal for the bound of Titsias [2]_
    (``docs/theory.md``, sections 5 and 6). One pass over n rows with m inducing inputs costs O(n
    m^2); each predicted mean costs O(m), each standard deviation O(m^2). ``fit`` reads a dask array
    or dataframe, or a data set of HDF5 or Zarr, partition by partition (``docs/large_data.md``).

    The first batch of ``partial_fit`` decides inducing inputs, starting values and the scaling of
    targets. A later batch joins the posterior. It also moves kernel, noise and inducing inputs by
    one stochastic step for every ``batch_size`` rows, unless ``optimizer=None``. After
    ``max_steps`` or most of ``max_time``, the rows left only join the posterior, or are left out
    with ``total_samples``. With Gaussian noise and all of this held, any split of the rows gives
    the model of ``fit``. A category that comes later gets its share of the inducing inputs; where
    there are ``n_inducing`` already, those that the others predict best go.

    ``kernel``, ``kernel_priors``, ``likelihood``, ``inducing``, ``optimize_inducing``,
    ``noise_variance``, ``noise_variance_bounds``, ``normalize_y``, ``categorical_features`` and
    ``n_latent`` must stay as in the first batch. A warning tells of drift: most rows of a batch lie
    more than four predicted standard deviations from their predictions. The second batch is
    checked, then others as often as the number of rows doubles. If rows come from ever new places,
    take `StreamingSGPRegressor`, whose inducing inputs follow them.

    Targets that are skewed, or whose noise grows with their size, are for ``normalize_y="warped"``
    [3]_ or "yeo-johnson" [4]_. Means are then integrals, quantiles and densities exact. A warp is
    learned from groups of near rows, and kept if it raises the density of others. Only whole-number
    weights count rows for the power of "yeo-johnson".

    If the noise variance of each row is known, as ``se**2``, fix the noise at 1 and give each row
    the weight ``1 / se**2``::

        model = SVGPRegressor(noise_variance=1.0, noise_variance_bounds="fixed", normalize_y=False)
        model.fit(X, y - y.mean(), sample_weight=1 / se**2)

    With Z = X this is ``GaussianProcessRegressor(alpha=se**2)``. Take ``predict_std(X,
    include_noise=False)``, and add the variance of the new observation's own noise. With weights
    ``w``, ``objective_`` is less than the bound by ``((w - 1) * log(2 * pi) + log(w)).sum() / 2``.

    References
    ----------
    .. [1] J. Hensman, N. Fusi, N. D. Lawrence, "Gaussian Processes for Big Data", UAI 2013.
       https://arxiv.org/abs/1309.6835
    .. [2] M. K. Titsias, "Variational Learning of Inducing Variables in Sparse Gaussian
       Processes", AISTATS 2009.
    .. [3] E. Snelson, C. E. Rasmussen, Z. Ghahramani, "Warped Gaussian Processes", NIPS 2003.
    .. [4] I.-K. Yeo, R. A. Johnson, "A New Family of Power Transformations to Improve Normality or
       Symmetry", Biometrika 87 (2000).

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

    _parameter_constraints = REGRESSOR_CONSTRAINTS | ROWS_CONSTRAINTS | {"n_latent": N_LATENT}

    # what `n_latent` may be given with
    _mixes_by_sites = True
    _mixable = "noise that is the same in all rows, or a likelihood without noise"

    log_marginal_likelihood = log_marginal_likelihood

    def __init__(
        self,
        kernel=None,
        *,
        kernel_priors=None,
        likelihood="gaussian",
        total_samples=None,
        n_latent=None,
        n_inducing=256,
        inducing="kmeans",
        optimize_inducing=True,
        noise_variance=None,
        noise_variance_bounds=(1e-6, 1e3),
        optimizer="auto",
        init_size=8192,
        batch_size=1024,
        n_restarts_optimizer=0,
        max_iter=200,
        max_steps=None,
        max_time=None,
        tol=1e-5,
        n_iter_no_change=5,
        learning_rate=0.01,
        natural_step=0.1,
        normalize_y=True,
        offset_column=None,
        include_noise=True,
        categorical_features=None,
        missing="auto",
        jitter=1e-8,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.kernel_priors = kernel_priors
        self.likelihood = likelihood
        self.total_samples = total_samples
        self.n_latent = n_latent
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
        self.noise_variance = noise_variance
        self.noise_variance_bounds = noise_variance_bounds
        self.optimizer = optimizer
        self.init_size = init_size
        self.batch_size = batch_size
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter = max_iter
        self.max_steps = max_steps
        self.max_time = max_time
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.learning_rate = learning_rate
        self.natural_step = natural_step
        self.normalize_y = normalize_y
        self.offset_column = offset_column
        self.include_noise = include_noise
        self.categorical_features = categorical_features
        self.missing = missing
        self.jitter = jitter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn_rows(self, X, y, sample_weight, is_batch=False):
        """Learn from all rows, or from a first batch."""
        clock, previous = Clock(self.max_time), previous_fit(self)
        if any_collection(X, y, sample_weight) and not is_batch:
            fit = collections.numbers_of(self, X, y, sample_weight)
        else:
            checked = checked_numbers(self, X, y, sample_weight, reset=True)
            fit = Fit.of(*checked, is_batch=is_batch)
            X, y = fit.for_callbacks(X, y, self._format)
        recipe = recipes.svgp_regressor(self, previous, fit.y is None)
        run_recipe(self, fit, recipe, FitProgress(self, X, y), clock)
        self._drift = DriftCheck.of(self)
        if is_batch and self.total_samples is not None:
            self._fitted = scaled_to_total(self._fitted, self.total_samples, self.natural_step)
            self._mark = None  # it is no fit of these rows any more

    def _add_rows(self, X, y, sample_weight):
        """Add a later batch to the posterior."""
        clock = Clock(self.max_time)
        check_same_parameters(self)
        batch = checked_batch(self, X, y, sample_weight)
        engine, learns = variational(self), not mixes_outputs(self)
        fitted = with_later_rows(self, engine, batch, clock, learns).with_noise(batch.noise)
        share = 1.0 if self.total_samples is None else self.total_samples / len(batch.rows)
        store_batch(self, fitted.with_constant(share * batch.constant), batch.targets)

    def _default_kernels(self):
        return {
            "ties_length_scales": True,
            "kernel_set": ONE if self.optimizer in STOCHASTIC else SMOOTH,
            "learns_means": learns_means(self),
        }
