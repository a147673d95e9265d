"""SVGPClassifier: variational sparse GP classification (Hensman, Fusi & Lawrence 2013)."""

from .._compat import FitProgress
from ..data.inputs import any_collection
from ..engines.variational.partial_fit import scaled_to_total
from ..kernels._defaults import LABELS
from ..optimize.progress import Clock
from . import collections, recipes
from .choose_engine import variational
from .classifier import SGPClassifier
from .constraints import CLASS_WEIGHT, CLASSIFIER_CONSTRAINTS, ROWS_CONSTRAINTS
from .fit import Fit
from .labels import checked_labels, later_rows
from .learning import run_recipe, store_batch
from .marginal_likelihood import log_marginal_likelihood
from .settings import check_same_parameters, later_problem, previous_fit
from .validation import rows_of_weight


class SVGPClassifier(SGPClassifier):
    """Sparse Gaussian process classification for many rows.

    Two classes have one latent function; more classes have one each. The model summarises these
    functions by their values at ``n_inducing`` inducing inputs, which they share. With default
    settings, L-BFGS learns kernel and inducing inputs on a subset of the rows and then on larger
    subsets. With two classes, or fewer than 160 rows, it follows the variational bound at its
    optimal posterior, else that of regressions of the labels, which have a closed form.
    Natural-gradient iterations then find the posterior from all rows. No learning rate needs
    tuning.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels` except ``WhiteKernel``, sums, products
        and powers of them, or :class:`~sklearn_sgp.kernels.Columns`. None means ``ConstantKernel()
        * RBF()`` with one length scale for each column; its starting values and bounds come from
        the data, or from the first batch. Length scales are in units of X.

    kernel_priors : dict, default=None
        What is expected of parameters of the kernel: frozen distributions of :mod:`scipy.stats` by
        name. "length_scale" means all of that name but those of missing values, "k1__length_scale"
        the one of that name in ``kernel_.get_params()``. Length scales are in units of X. Learning
        adds log densities of the parameters, not of their logarithms, to its objective. A start of
        yours must be within the support. With ``kernel=None`` a prior of length scales takes the
        place of what ties them.

    likelihood : {"auto", "probit", "logit", "softmax", "ordinal"} or instance, default="auto"
        Probability of a class given the latent functions. "probit" and "logit" are for two classes,
        "softmax" is for any number of classes. "auto" means "probit" for two classes and "softmax"
        for more. "ordinal" is for classes in the order of ``classes_``, such as grades: one
        function and learned thresholds, as a cumulative probit model has them. An instance is a
        :class:`~sklearn_sgp.likelihoods.Likelihood`.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They multiply ``sample_weight``. "balanced" gives all classes the
        same total weight.

    total_samples : int, default=None
        Only ``partial_fit`` uses it. None means that all rows are new. A number is that of the rows
        of the whole data set, which may come more than once. Each batch, the first as well, then
        moves the posterior by ``natural_step`` towards what its rows say if they stand for all. A
        row counts as one whatever its weight, and not at all if its weight is zero.

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

    max_iter : int, default=100
        Largest number of iterations of each L-BFGS stage, and of epochs of stochastic steps. A
        warning says so if it ends learning while the objective visibly rises.

    max_steps : int, default=None
        Largest number of stochastic steps. None means no limit.

    max_time : float, default=None
        Seconds after which learning stops. Time for the final posterior is kept free.

    tol : float, default=1e-4
        Smallest gain of the objective for each row, in nats, that counts as progress. A stage on a
        subset of the rows that another stage follows takes ten times this value. With "auto" and
        more than 2,048 rows learning also ends where 100 iterations more would gain less than 0.01.

    n_iter_no_change : int, default=5
        An optimiser stops after so many iterations or epochs in a row without progress.

    learning_rate : float, default=0.01
        Step size of Adam.

    natural_step : float, default=0.1
        Length of a stochastic natural-gradient step, in (0, 1].

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

    n_features_in_ : int
        Number of columns of X.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, if all of them are strings.

    See Also
    --------
    SVGPRegressor : The same model for numbers and counts.
    StreamingSGPClassifier : A model for rows that are seen once.

    Notes
    -----
    The first batch of ``partial_fit`` decides inducing inputs and starting values. A later batch
    joins the posterior. It also moves kernel and inducing inputs by one stochastic step for every
    ``batch_size`` rows, unless ``optimizer=None``. After ``max_steps`` or most of ``max_time``, the
    rows left only join the posterior, or are left out with ``total_samples``. ``kernel``,
    ``kernel_priors``, ``likelihood``, ``inducing``, ``optimize_inducing`` and
    ``categorical_features`` must stay as in the first batch. If batches are sorted by class or by
    inputs, `StreamingSGPClassifier` is better, as it learns anew from each batch.

    ``fit`` reads a dask array or dataframe, or a data set of HDF5 or Zarr, partition by partition
    (``docs/large_data.md``).

    The length scales of the default kernel have a weak prior that ties them together. It matters if
    there are few rows.

    The latent functions have a prior mean that comes from the frequencies of the classes, counted
    with ``sample_weight`` and ``class_weight``; later batches leave it as it is. Far from the rows,
    probabilities go towards these frequencies. ``likelihood=Probit(0.0)``, or for several classes
    ``Softmax(0.0)``, has no prior mean.

    With ``optimizer="auto"``, kernel and inducing inputs of a softmax of 160 rows and more are
    learned by regressions of the labels with known noise [3]_. A pass over the rows serves all
    classes. Then variances of the functions and a temperature, ``likelihood_.temperature``, are
    chosen by labels that are held out until then. They are those of at most 2,048 rows and a fifth
    of all. With ``kernel=None`` length scales are learned one by one, and in the proportion of the
    columns' spreads by one number; the better of both is taken. Neither depends on the units of the
    columns. ``objectives_`` has the bounds of the regressions before its last entry.

    The default kernel may explain next to nothing of the labels, or less than neighbours do. Probit
    and logit, and a softmax of fewer rows, are then learned once more, from where regressions of up
    to 320 labels explain most: with short length scales, in proportion or one by one. The better
    bound is kept.

    With a default kernel and at most 24 rows, the frequencies of the classes have a share of the
    probabilities. So they have where the bound of up to 600 rows times classes gains less than 15
    nats on them and ``max_time`` is None. Few labels can be explained wherever they lie. So labels
    that are left out decide the share, in five times the time of a fit, and `choices_` has their
    scores. Labels of many categories, each with a number of its own, can be explained so, too: of
    more than 300 rows a quarter is left out, once. `decision_function` then has log odds. Later
    batches outweigh the share.

    The last posterior of a softmax, and ``optimizer="lbfgs"`` or "adam", take C times as long as
    for two classes, as every latent function has covariance matrices of its own.
    ``docs/theory.md``, sections 6, 10 and 14, has the equations.

    References
    ----------
    .. [1] J. Hensman, N. Fusi, N. D. Lawrence, "Gaussian Processes for Big Data", UAI 2013.
    .. [2] J. Hensman, A. Matthews, Z. Ghahramani, "Scalable Variational Gaussian Process
       Classification", AISTATS 2015.
    .. [3] D. Milios, R. Camoriano, P. Michiardi, L. Rosasco, M. Filippone, "Dirichlet-based
       Gaussian Processes for Large-scale Calibrated Classification", NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp import SVGPClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (1000, 2))
    >>> y = np.where(np.sin(X[:, 0]) + X[:, 1] > 0, "above", "below")
    >>> model = SVGPClassifier(n_inducing=20, random_state=0).fit(X, y)
    >>> model.predict([[0.0, 2.0], [0.0, -2.0]])
    array(['above', 'below'], dtype='<U5')
    >>> bool(model.predict_proba([[0.0, 2.0]])[0, 0] > 0.99)
    True
    """

    _parameter_constraints = (
        CLASSIFIER_CONSTRAINTS | ROWS_CONSTRAINTS | {"class_weight": CLASS_WEIGHT}
    )

    log_marginal_likelihood = log_marginal_likelihood

    def __init__(
        self,
        kernel=None,
        *,
        kernel_priors=None,
        likelihood="auto",
        class_weight=None,
        total_samples=None,
        n_inducing=256,
        inducing="kmeans",
        optimize_inducing=True,
        optimizer="auto",
        init_size=8192,
        batch_size=1024,
        n_restarts_optimizer=0,
        max_iter=100,
        max_steps=None,
        max_time=None,
        tol=1e-4,
        n_iter_no_change=5,
        learning_rate=0.01,
        natural_step=0.1,
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
        self.class_weight = class_weight
        self.total_samples = total_samples
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
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
        self.offset_column = offset_column
        self.categorical_features = categorical_features
        self.missing = missing
        self.jitter = jitter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn_rows(self, X, y, sample_weight, classes=None, is_batch=False):
        """Learn from all rows, or from a first batch."""
        clock, previous = Clock(self.max_time), previous_fit(self)
        if any_collection(X, y, sample_weight) and not is_batch:
            fit = collections.labels_of(self, X, y, sample_weight)
        else:
            checked = checked_labels(self, X, y, sample_weight, reset=True, classes=classes)
            fit = Fit.of(*rows_of_weight(*checked), is_batch=is_batch)
            X, y = fit.for_callbacks(X, y, self._format)
        recipe = recipes.svgp_classifier(self, previous, classes)
        run_recipe(self, fit, recipe, FitProgress(self, X, y), clock)
        if is_batch and self.total_samples is not None:
            self._fitted = scaled_to_total(self._fitted, self.total_samples, self.natural_step)
            self._mark = None  # it is no fit of these rows any more

    def _add_rows(self, X, y, sample_weight):
        """Add a later batch to the posterior."""
        clock = Clock(self.max_time)
        check_same_parameters(self)
        rows, _ = later_rows(self, X, y, sample_weight)
        if len(rows):  # others are of classes of weight 0
            self._fitted = fitted = self._fitted.after_labels(rows.y)
            fitted = variational(self).add(fitted, later_problem(self, rows, clock))
            total, targets = self.total_samples, fitted.targets
            if total is None or self.n_samples_seen_ < total:  # else rows come again
                targets = targets.after(rows)
            store_batch(self, fitted, targets)

    def _default_kernels(self):
        return {"ties_length_scales": True, "kernel_set": LABELS}
