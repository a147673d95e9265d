"""AnytimeSGPClassifier: sparse GP classification in blocks, by regressions or by sites."""

from numbers import Real

from .._compat import FitProgress, HasMethods, Interval, StrOptions
from ..data.inputs import any_collection
from ..engines.blocks.engine import BlockModels
from ..kernels._defaults import CLASSES, PROPORTIONAL
from ..optimize.progress import Clock
from . import block_plan, collections, insights, recipes
from .classifier import SGPClassifier
from .constraints import BLOCK_CONSTRAINTS, CLASS_WEIGHT, FIXED_IN_BLOCKS
from .labels import checked_labels, later_rows
from .learning import run_recipe, store_blocks
from .marginal_likelihood import log_marginal_likelihood
from .settings import check_same_parameters, later_problem, previous_fit


class AnytimeSGPClassifier(SGPClassifier):
    """Sparse Gaussian process classification in blocks of rows, at any time.

    Labels become the targets of a regression for each class, whose noise is known for each row
    [1]_. So all models of `AnytimeSGPRegressor` are classifiers, those that use training rows near
    a test row among them. All classes share kernel, inducing inputs and neighbours. Two classes
    have one function and a likelihood of labels instead, by expectation propagation among near
    rows, where labels that are held out prefer this.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels` except ``WhiteKernel``, sums, products
        and powers of them, or :class:`~sklearn_sgp.kernels.Columns`. None means the better of two:
        ``ConstantKernel() * RBF()`` with length scales in the proportion of the columns' spreads,
        or ranges, and a smooth part and a rough one, ``Matern(nu=0.5)``, with length scales that
        are learned one by one; models other than "pic", "lma" and "vif" take the first. Where these
        explain next to nothing, length scales one by one are tried for the first, too, and short
        ones. Starting values and bounds come from the first rows. Length scales are in units of X.

    kernel_priors : dict, default=None
        What is expected of parameters of the kernel: frozen distributions of :mod:`scipy.stats` by
        name. "length_scale" means all of that name but those of missing values, "k1__length_scale"
        the one of that name in ``kernel_.get_params()``. Length scales are in units of X. Learning
        adds log densities of the parameters, not of their logarithms, to its objective. A start of
        yours must be within the support. With ``kernel=None`` a prior of length scales takes the
        place of what ties them.

    likelihood : {"auto", "dirichlet", "probit", "logit", "ordinal"} or instance, default="auto"
        "dirichlet" is a regression for each class. "auto" is, too, but takes "probit" where rows
        held out are predicted better by it, unless ``alpha_epsilon`` is given or ``max_time``. Of
        three classes and more that is a probit of each class against the rest, with up to 512 rows
        and 1,536 rows times classes. A kernel that is held is compared as it is. "probit" and
        "logit", for two classes, are probabilities of one function; so is "ordinal", for classes in
        the order of ``classes_``, with learned thresholds, and an instance of a
        :class:`~sklearn_sgp.likelihoods.Likelihood` that has a ``log_density``. They need a model
        with near rows, and learn from ``init_size`` rows of groups whatever the ``optimizer``.

    model : {"auto", "sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic", "lma", "vif"} or \
            BlockModel or list of (str or BlockModel, float), default="auto"
        "auto" is "vif", or "pic" with a ``block_column``. A list is a mixture of models with
        one test conditional, with weights: ``[("fitc", 0.5), ("pitc", 0.5)]``; where these sum to
        less than 1, rows are trusted less. In one with "lma" or "vif" all models have its blocks.
        "sor" and "dtc" learn under the variational bound, since their own marginal overfits. A
        :class:`~sklearn_sgp.BlockModel` is a model of your own.

    alpha_epsilon : float or "auto", default="auto"
        Concentration of a class that was not seen, from 1e-12 to 100. A small one makes
        probabilities sharper. "auto" takes that of 0.1, 0.01, 0.001, 0.0001 which predicts rows
        left out of near ones best, the smaller ones while each is better than all before. Models
        that do not predict from near rows have 0.01. Only "dirichlet" has one.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They multiply ``sample_weight``. "balanced" gives all classes the
        same total weight.

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

    n_neighbors : int, default=100
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

    optimizer : {"auto", "lbfgs", "adam"} or None, default="auto"
        "auto" learns "pic", "lma" and "vif" from groups of near rows (numbers by Adam, labels by
        L-BFGS), and then chooses inducing inputs. It learns other models by L-BFGS on the objective
        of sampled whole blocks, and then of more. "lbfgs" runs L-BFGS on all blocks. "adam" takes
        stochastic steps, block by block. None computes the posterior at the starting values.

    init_size : int, default=3072
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

    copy_X : bool, default=True
        Whether models that keep training rows, PITC to VIF, keep a copy of them. With False they
        keep the arrays or memory maps that ``fit`` got, until `partial_fit` adds rows; changing
        those changes the model.

    offset_column : int or str, default=None
        Column of X, by index or name, that is added to the function as it is, such as what another
        model says; no input of the kernel. For "probit", "logit" and "ordinal". Indices in
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
    classes_ : ndarray of shape (n_classes,)
        Sorted labels of the classes.

    alpha_epsilon_ : float
        The concentration. Only with regressions: those of "dirichlet", and of "auto" where
        ``likelihood_`` is not of sites.

    temperature_ : float
        What functions are divided by: 1 unless another one gains 0.001 nats for each row that the
        model leaves out, and two standard errors of that. With ``max_time`` rows are left out of
        near ones, and of 8,192 rows and more without it some are held out; there 0.005 nats and one
        standard error are to be gained. Always 1 without near rows. With "probit" and "logit" what
        the decision is divided by, of up to 512 rows by labels that sites have not seen; 1, or
        that of a given likelihood, with ``max_time``, ``offset_column`` or a kernel that is held.
        Only where ``likelihood_`` has one: not "ordinal", nor what "auto" takes of three classes
        and more where that is a probit of each class against the rest.

    kernel_ : Kernel
        The kernel with learned parameters, in the form in which it was given.

    likelihood_ : Likelihood
        The likelihood with learned parameters.

    inducing_points_ : ndarray of shape (n_inducing, n_features)
        Inducing inputs, in units of X; columns of categories as in X, with codes where these are no
        numbers. None of them with ``inducing="fourier"``.

    frequencies_ : ndarray of shape (n_inducing // 2, n_features) or None
        With ``inducing="fourier"``: frequencies of the features, in cycles for each unit of X.

    objective_ : float
        Log marginal likelihood of the regressions (for "vfe" the variational bound), summed over
        classes, in nats; of one function, that of expectation propagation, and of each class
        against the rest the sum of these. It is an estimate if learning ended before all blocks
        were seen.

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

    n_features_in_ : int
        Number of columns of X.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, if all of them are strings.

    See Also
    --------
    SVGPClassifier : A variational model without blocks, with a likelihood of labels.
    AnytimeSGPRegressor : The same models for numbers.

    Notes
    -----
    The concentration a is ``1 + alpha_epsilon`` for the class of a row and ``alpha_epsilon`` for
    the others. The target is ``log(a) - s2 / 2``, the noise variance ``s2 = log(1 + 1 / a)``,
    divided by the weight of the row. Targets are centred by their means over the first rows.
    Probabilities are expectations of a softmax of the functions, divided by `temperature_`.

    Of 8,192 rows and more, without ``max_time``, some are held out once the kernel is learned. Free
    variances of the kernel, then free length scales, are multiplied by what predicts these rows
    best. With "vif" and "lma", `inducing_points_` is empty where near rows alone predict them
    better by more than the standard error. Inducing inputs of your own stay. Of fewer rows those
    left out of groups choose such a factor of the variances. ``docs/theory.md``, section 14, has
    the equations.

    With a default kernel and at most 48 rows, the frequencies of the classes have a share of the
    probabilities. So they have with up to 300 rows whose labels say little, if ``likelihood`` and
    ``alpha_epsilon`` are "auto" and ``max_time`` is None. Few labels can be explained wherever they
    lie, and so can those of many categories, each with a number of its own. So labels that are left
    out decide the share, of more than 300 rows a quarter, and `choices_` has their scores.
    `decision_function` then has log odds. With a default kernel the share is ``0.5 / (n + 1)`` at
    least, of n rows, as any label may go against all that is near. Later batches outweigh it.

    With "probit" and "logit" the likelihood of each row is replaced by a site, a Gaussian.
    Expectation propagation finds it in the exact process of some 300 rows around it, and twice more
    by the whole model. What is left is a regression with noise that is known for each row
    (``docs/theory.md``, section 13). The kernel is learned by the evidence of groups of rows given
    those around them, from the one that a variational bound of 2,048 rows has found. Rows of later
    batches get sites given those of the rows before.

    Later batches of ``partial_fit`` change the posterior only, through the blocks that they add
    rows to. ``kernel``, ``kernel_priors``, ``likelihood``, ``alpha_epsilon``, ``inducing``,
    ``optimize_inducing``, ``categorical_features``, ``missing``, the columns with names of their
    own, and what says which model in which blocks, must stay as in the first batch. After Ctrl-C
    within the anytime solver the estimator has the last q(u). Rows must be arrays or memory maps:
    dask collections are for `SVGPClassifier`.

    References
    ----------
    .. [1] D. Milios, R. Camoriano, P. Michiardi, L. Rosasco, M. Filippone, "Dirichlet-based
       Gaussian Processes for Large-scale Calibrated Classification", NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp import AnytimeSGPClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (1000, 2))
    >>> y = np.where(np.sin(X[:, 0]) + X[:, 1] > 0, "above", "below")
    >>> model = AnytimeSGPClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 2.0], [0.0, -2.0]])
    array(['above', 'below'], dtype='<U5')
    """

    _parameter_constraints = {
        name: value
        for name, value in BLOCK_CONSTRAINTS.items()
        if name not in ("noise_variance", "noise_variance_bounds", "normalize_y", "include_noise")
    } | {
        "alpha_epsilon": [StrOptions({"auto"}), Interval(Real, 1e-12, 100, closed="both")],
        "class_weight": CLASS_WEIGHT,
        "likelihood": [
            StrOptions({"auto", "dirichlet", "probit", "logit", "ordinal"}),
            HasMethods(["log_density", "probabilities"]),
        ],
    }
    _fixed_after_fit = FIXED_IN_BLOCKS

    log_marginal_likelihood = log_marginal_likelihood

    def __init__(
        self,
        kernel=None,
        *,
        kernel_priors=None,
        likelihood="auto",
        model="auto",
        alpha_epsilon="auto",
        class_weight=None,
        alpha_divergence=1.0,
        solver="anytime",
        block_column=None,
        n_blocks=None,
        block_size=1000,
        partition="kmeans",
        markov_order=1,
        n_neighbors=100,
        blocks_per_step=1,
        schedule="average",
        step_size=0.1,
        step_decay=0.9,
        step_power=0.75,
        n_inducing=256,
        inducing="kmeans",
        optimize_inducing=True,
        optimizer="auto",
        init_size=3072,
        n_restarts_optimizer=0,
        max_iter=100,
        max_steps=None,
        max_time=None,
        tol=1e-4,
        n_iter_no_change=5,
        learning_rate=0.01,
        natural_step=0.1,
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
        self.alpha_epsilon = alpha_epsilon
        self.class_weight = class_weight
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
        self.copy_X = copy_X
        self.offset_column = offset_column
        self.categorical_features = categorical_features
        self.missing = missing
        self.jitter = jitter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def leave_one_out(self, X=None, y=None, sample_weight=None):
        """Predict the label of each training row from all others, with all that was learned held.

        Closed form for regressions of labels; for one function the row's own site is left out, and
        the sites of all others stay as they are.

        Parameters
        ----------
        X, y, sample_weight : array-like, default=None, None, None
            The training rows, where equal rows have become one. None means those that the model
            keeps. Only regressions of labels can be given them.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            Probabilities of the classes, in the order of ``classes_``, of the rows of positive
            weight, in their order. NaN where a row is all that is known of the function there.

        Raises
        ------
        ValueError
            If the model does not keep its rows, or merged some of them, and X and y are missing.
            Also if it is a `BlockModel`, alone or in a mixture.
        """
        return insights.left_out(self, X, y, sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = block_plan.takes_many_classes(self)
        return tags

    def _learn_rows(self, X, y, sample_weight, classes=None, is_batch=False):
        """Learn from all rows, or from a first batch."""
        clock, previous = Clock(self.max_time), previous_fit(self)
        if not block_plan.by_regressions(self):
            block_plan.check_sites(self)
        if any_collection(X, y, sample_weight):
            collections.refuse_labels_in_blocks()
        checked = checked_labels(self, X, y, sample_weight, reset=True, classes=classes)
        fit = block_plan.rows_in_blocks(self, *checked)
        recipe = recipes.anytime_classifier(self, previous, classes, block_plan.merges_rows(self))
        progress = FitProgress(self, *fit.for_callbacks(X, y, self._format))
        run_recipe(self, fit, recipe, progress, clock)
        chosen = self._more_attributes(self._fitted)
        if self.verbose and chosen:
            told = ", ".join(f"{name.rstrip('_')}={value:.3g}" for name, value in chosen.items())
            print(f"[{type(self).__name__}] probabilities: {told}")

    def _add_rows(self, X, y, sample_weight):
        """Add a later batch to the blocks."""
        check_same_parameters(self)
        before, merges = self._fitted, block_plan.merges_rows(self)
        rows, n_rows = later_rows(self, X, y, sample_weight, merges)
        if n_rows:  # others are of classes of weight 0
            clock = Clock()
            fitted = BlockModels().add(before, later_problem(self, rows, clock))
            store_blocks(self, fitted, before.targets.after(rows), n_rows, clock.elapsed())

    def _default_kernels(self):
        near = block_plan.uses_near_rows(self)
        return {"ties_length_scales": True, "kernel_set": CLASSES if near else PROPORTIONAL}

    def _more_attributes(self, fitted):
        names, likelihood = ("alpha_epsilon", "temperature"), fitted.likelihood
        return {f"{one}_": getattr(likelihood, one) for one in names if hasattr(likelihood, one)}
