"""AnytimeSGPRegressor: sparse GP regression in blocks, at any time (Hoang, Hoang & Low 2015)."""

from .._compat import FitProgress
from ..data.inputs import any_collection
from ..engines.blocks.engine import BlockModels
from ..engines.ties import TIES, TIES_WITH_TAILS
from ..kernels._defaults import LOCAL, ONE
from ..optimize.progress import Clock
from . import block_plan, collections, recipes
from .constraints import BLOCK_CONSTRAINTS, FIXED_IN_BLOCKS
from .drift import DriftCheck
from .learning import run_recipe, store_blocks, with_later_rows
from .marginal_likelihood import log_marginal_likelihood
from .numbers import checked_batch, checked_numbers
from .regressor import SGPRegressor
from .settings import check_same_parameters, previous_fit


class AnytimeSGPRegressor(SGPRegressor):
    """Sparse Gaussian process regression in blocks of rows, at any time.

    One estimator for the sparse models SoR to VIF and mixtures of them. They differ in how much of
    the variance that inducing inputs leave rows keep. VIF, the default, PIC and LMA use near rows.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels`, sums, products and powers of them, or
        :class:`~sklearn_sgp.kernels.Columns`. ``WhiteKernel`` terms of the outermost sum are the
        noise. None means one with length scales for each column, whose starting values and bounds
        come from the first rows. For "pic", "lma" and "vif" it is a smooth part, ``RBF`` or
        ``Matern(nu=1.5)``, and a rough one, ``Matern(nu=0.5)``; for others
        ``ConstantKernel() * RBF()``. It refers to normalised targets (see ``normalize_y``) and
        unscaled inputs.

    kernel_priors : dict, default=None
        What is expected of parameters of the kernel and the noise: frozen distributions of
        :mod:`scipy.stats` by name. "length_scale" means all of that name but those of missing
        values, "k1__length_scale" the one of that name in ``kernel_.get_params()``;
        "noise_variance" is the noise, without a ``WhiteKernel``. Length scales are in units of X.
        Learning adds log densities of the parameters, not of their logarithms, to its objective. A
        start of yours must be within the support. With ``kernel=None`` a prior of length scales
        takes the place of the weak one that ties them.

    likelihood : {"gaussian", "student_t", "heteroscedastic", "heteroscedastic_student_t", \
            "auto", "poisson", "negative_binomial", "gamma", "beta", "censored"} or instance, \
            default="gaussian"
        The noise, as in `SVGPRegressor`, with ``variance_scale_``, ``variance_scale_gain_`` and
        ``mean_share_``. All but "gaussian" take about twice as long. "poisson", and instances that
        have a ``log_density``, need a model with near rows, among which they get sites, as do the
        names behind it.

    model : {"auto", "sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic", "lma", "vif"} or \
            BlockModel or list of (str or BlockModel, float), default="auto"
        "auto" is "vif", or "pic" with a ``block_column``. A list is a mixture of models with
        one test conditional, with weights: ``[("fitc", 0.5), ("pitc", 0.5)]``; where these sum to
        less than 1, rows are trusted less. In one with "lma" or "vif" all models have its blocks.
        "sor" and "dtc" learn under the variational bound, since their own marginal overfits. A
        :class:`~sklearn_sgp.BlockModel` is a model of your own.

    alpha_divergence : float, default=1.0
        Power of the factors, from 0 (variational) to 1 (the model's own marginal likelihood). Only
        "fitc", "fic" and "pitc" take values other than 1.

    solver : {"anytime", "exact"}, default="anytime"
        "exact" visits every block once, in parallel, and gives the closed form. "anytime" takes
        stochastic natural-gradient steps and can stop after any of them.

    block_column : int or str, default=None
        Column of X, by index or name, with labels of blocks, integers or strings, instead of
        ``partition``; no input of the kernel. New labels begin blocks, empty ones of test rows.
        Indices in :class:`~sklearn_sgp.kernels.Columns` do not count it.

    n_blocks : int, default=None
        Number of blocks of the first rows. None means blocks of ``block_size`` rows.

    block_size : int, default=1000
        Mean number of rows of a block. Blocks have at most 1.5 times as many rows, as the cost of a
        block is cubic in them.

    partition : {"kmeans", "contiguous", "random"} or clusterer, default="kmeans"
        How rows are put into blocks, by their inputs divided by length scales. A clusterer has
        ``fit`` and ``predict`` and may make blocks of any size. A test row goes to the block that
        the partition finds for its inputs. Unless there is a clusterer, groups of "vif" are those
        of k-means. In a clusterer's block a test row of "vif" uses the rows nearest to the mean of
        the block, so make blocks small.

    markov_order : int, default=1
        Number of blocks before it in the chain that a block of "lma" is conditioned on. 0 is PIC.

    n_neighbors : int, default=200
        Number of earlier rows that a group of rows of "vif" is conditioned on. Groups have half as
        many rows, at least 30; a test row uses twice as many as both together. Fewer are faster.

    blocks_per_step : int, default=1
        Number of blocks of a step of the anytime solver.

    schedule : {"average", "robbins-monro", "gradient"}, default="average"
        Steps of the anytime solver. "average" takes the mean over all blocks so far, in a new order
        in each epoch. It is unbiased at any time, and it stops after one epoch, where it is the
        closed form. "robbins-monro" draws blocks with replacement for ``max_iter`` epochs, and its
        step t has the length ``step_size / (1 + step_decay * step_size * t) ** step_power``.
        "gradient" does so, too, with plain gradients in mean and covariance of the inducing values
        in the place of natural ones: for comparisons, as it needs thousands of steps. All later
        steps are halved where one would leave no covariance.

    step_size, step_decay, step_power : float, default=0.1, 0.9, 0.75
        Length of the first step of "robbins-monro" and "gradient", and how others become shorter.

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
        Whether they are learned with the kernel, but where ``optimizer`` chooses them afterwards.

    noise_variance : float or array-like of shape (n_targets,), default=None
        Starting value of the noise variance, one or one for each output, in units of normalised
        targets. None means a tenth of their variance. A ``WhiteKernel`` term is one for all.

    noise_variance_bounds : pair of float or "fixed", default=(1e-6, 1e3)
        Bounds of the noise variance, by default times that of the targets. "fixed" holds the start.
        Functions without noise, such as simulators, ask for ``(1e-8, 1e3)``: the default kernel
        may then vary far more than the targets.

    optimizer : {"auto", "lbfgs", "adam"} or None, default="auto"
        "auto" learns "pic", "lma" and "vif" from groups of near rows (numbers by Adam, labels by
        L-BFGS), and then chooses inducing inputs. It learns other models by L-BFGS on the objective
        of sampled whole blocks, and then of more. "lbfgs" runs L-BFGS on all blocks. "adam" takes
        stochastic steps, block by block. None computes the posterior at the starting values.

    init_size : int, default=8192
        Number of rows of a pass's groups, or of the blocks of the first L-BFGS stage.

    n_restarts_optimizer : int, default=0
        Number of starts besides the first in the first L-BFGS stage, drawn log-uniformly within the
        bounds of the kernel, and for the noise between 1e-4 and 1. The start with the best
        objective goes on.

    max_iter : int, default=100
        Largest number of iterations of each L-BFGS stage, and of epochs of stochastic steps. A
        warning says so if it ends learning while the objective visibly rises.

    max_steps : int, default=None
        Largest number of stochastic steps. None means no limit.

    max_time : float, default=None
        Seconds after which learning stops. Time for the final posterior is kept free.

    tol : float, default=1e-4
        Smallest gain of the objective for each row, in nats, that counts as progress.

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

    include_noise : bool, default=True
        Whether standard deviations, covariances and draws are those of new observations. False is
        for those of the latent function, which optimisers and active learning mean. Each call may
        say otherwise.

    copy_X : bool, default=True
        Whether models that keep training rows, PITC to VIF, keep a copy of them. With False they
        keep the arrays or memory maps that ``fit`` got, until `partial_fit` adds rows; changing
        those changes the model.

    offset_column : int or str, default=None
        Column of X, by index or name, that is added to the function as it is, such as the logarithm
        of an exposure; no input of the kernel. For likelihoods whose targets are not scaled: those
        of counts, "gamma", "beta", and instances. Indices in
        :class:`~sklearn_sgp.kernels.Columns` do not count it.

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
        Learned noise variance, for each output its own, in units of normalised targets.

    inducing_points_ : ndarray of shape (n_inducing, n_features)
        Inducing inputs, in units of X; columns of categories as in X, with codes where these are no
        numbers. None of them with ``inducing="fourier"``.

    frequencies_ : ndarray of shape (n_inducing // 2, n_features) or None
        With ``inducing="fourier"``: frequencies of the features, in cycles for each unit of X.

    objective_ : float
        Log marginal likelihood of the training rows (for "vfe" the variational bound), in nats, for
        y as it was given. It is an estimate if learning ended before all blocks were seen.

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

    n_blocks_ : int
        Number of blocks.

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
    SVGPRegressor : A variational model without blocks that learns faster.

    Notes
    -----
    Rows that belong together, such as flights of one route, are better blocks by ``block_column``.
    The first pass over the blocks is finished if it takes at most a second more than was kept for
    it. Otherwise a warning says on how many rows the posterior rests. After few ``max_steps`` only
    ``n_samples_seen_`` does.
    After Ctrl-C the estimator has the last q(u) of the anytime solver, and ``warm_start`` goes on.

    Later batches of ``partial_fit`` change the posterior only, through the blocks that they add
    rows to. A block of more than 1.5 times ``block_size`` rows is split, and a new label of a
    clusterer begins one. Rows of "lma" and "vif" form new groups, and cells that they fill are
    split. So other batches of the same rows have other cells. Means then differ by a twentieth of a
    predicted deviation with VIF (in single rows up to half), by a sixth with PIC and LMA (up to
    one). They are as near to those of the exact process. ``block_column``, what says which model in
    which blocks, and what `SVGPRegressor` names must stay as in the first batch; drift is warned of
    as there. With ``solver="exact"``, all models but "lma" and "vif" read dask collections.

    PIC's predictions jump where one block ends and another begins. As its rows are correlated
    within blocks, `sample_y` draws at most 2,000 of them, jointly, unless ``method="joint"``, and
    `sample_functions` raises. So it is with SoR and FIC. LMA conditions each block of a chain on
    the blocks before it, VIF groups of rows on the nearest earlier rows; their rows are correlated
    across cells, and functions can be drawn. With ``n_inducing=0`` VIF
    is Vecchia's approximation, given all rows the exact GP. PITC to VIF keep their training rows. A
    block of b rows costs O(b^3 + b^2 m + b m^2), and again once in prediction, where each row costs
    O(b^2 + b m). ``docs/theory.md``, 9, 12 and 13, has the equations.

    References
    ----------
    .. [1] T. N. Hoang, Q. M. Hoang, B. K. H. Low, "A Unifying Framework of Anytime Sparse Gaussian
       Process Regression Models with Stochastic Variational Inference for Big Data", ICML 2015.
    .. [2] E. Snelson, Z. Ghahramani, "Local and global sparse Gaussian process approximations",
       AISTATS 2007.
    .. [3] K. H. Low, J. Yu, J. Chen, P. Jaillet, "Parallel Gaussian Process Regression for Big
       Data: Low-Rank Representation Meets Markov Approximation", AAAI 2015.
    .. [4] T. Gyger, R. Furrer, F. Sigrist, "Vecchia-Inducing-Points Full-Scale Approximations for
       Gaussian Processes", 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp import AnytimeSGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (2000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(2000)
    >>> model = AnytimeSGPRegressor(n_inducing=5, block_size=200, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[1.5], [4.5]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([ 1., -1.]), array([0.1, 0.1]))
    """

    _parameter_constraints = BLOCK_CONSTRAINTS
    _fixed_after_fit = FIXED_IN_BLOCKS

    log_marginal_likelihood = log_marginal_likelihood

    def __init__(
        self,
        kernel=None,
        *,
        kernel_priors=None,
        likelihood="gaussian",
        model="auto",
        alpha_divergence=1.0,
        solver="anytime",
        block_column=None,
        n_blocks=None,
        block_size=1000,
        partition="kmeans",
        markov_order=1,
        n_neighbors=200,
        blocks_per_step=1,
        schedule="average",
        step_size=0.1,
        step_decay=0.9,
        step_power=0.75,
        n_inducing=256,
        inducing="kmeans",
        optimize_inducing=True,
        noise_variance=None,
        noise_variance_bounds=(1e-6, 1e3),
        optimizer="auto",
        init_size=8192,
        n_restarts_optimizer=0,
        max_iter=100,
        max_steps=None,
        max_time=None,
        tol=1e-4,
        n_iter_no_change=5,
        learning_rate=0.01,
        natural_step=0.1,
        normalize_y=True,
        include_noise=True,
        copy_X=True,
        offset_column=None,
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
        self.model = model
        self.alpha_divergence = alpha_divergence
        self.solver = solver
        self.block_column = block_column
        self.n_blocks = n_blocks
        self.block_size = block_size
        self.partition = partition
        self.markov_order = markov_order
        self.n_neighbors = n_neighbors
        self.blocks_per_step = blocks_per_step
        self.schedule = schedule
        self.step_size = step_size
        self.step_decay = step_decay
        self.step_power = step_power
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
        self.noise_variance = noise_variance
        self.noise_variance_bounds = noise_variance_bounds
        self.optimizer = optimizer
        self.init_size = init_size
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter = max_iter
        self.max_steps = max_steps
        self.max_time = max_time
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.learning_rate = learning_rate
        self.natural_step = natural_step
        self.normalize_y = normalize_y
        self.include_noise = include_noise
        self.copy_X = copy_X
        self.offset_column = offset_column
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
        block_plan.check_noise(self)
        if any_collection(X, y, sample_weight):
            fit = collections.numbers_in_blocks(self, X, y, sample_weight)
        else:
            checked = checked_numbers(self, X, y, sample_weight, reset=True)
            fit = block_plan.rows_in_blocks(self, *checked)
            X, y = fit.for_callbacks(X, y, self._format)
        merges = block_plan.merges_rows(self)
        recipe = recipes.anytime_regressor(self, previous, merges, fit.y is None)
        run_recipe(self, fit, recipe, FitProgress(self, X, y), clock)
        self._drift = DriftCheck.of(self)

    def _add_rows(self, X, y, sample_weight):
        """Add a later batch to the blocks."""
        check_same_parameters(self)
        merges, before = block_plan.merges_rows(self), self._fitted
        batch = checked_batch(self, X, y, sample_weight, merges)
        clock, noise = Clock(), batch.noise
        fitted = with_later_rows(self, BlockModels(), batch, clock)
        # the constant of the rows before is in the evidence already
        fitted = fitted.with_noise(noise, noise.constant - before.row_noise.constant)
        fitted, n_rows = fitted.with_constant(batch.constant), len(batch.inputs.X)
        store_blocks(self, fitted, batch.targets, n_rows, clock.elapsed())

    def _default_kernels(self):
        near = block_plan.uses_near_rows(self)
        ties = {"ties_length_scales": True, "ties": TIES if near else TIES_WITH_TAILS}
        return {**ties, "kernel_set": LOCAL if near else ONE}
