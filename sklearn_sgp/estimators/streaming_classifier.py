"""StreamingSGPClassifier: streaming sparse GP classification (Bui, Nguyen & Turner 2017)."""

import numpy as np
from sklearn.utils import check_random_state

from ..engines.streams.begin_anew import NOT_BEGUN, Turns
from ..engines.ties import LOOSE_TIES
from ..kernels._defaults import LABELS
from ..optimize.progress import Clock
from ..predict.classes import Classes
from . import recipes, streaming
from .classifier import SGPClassifier
from .constraints import CLASSIFIER_CONSTRAINTS, STREAM_CONSTRAINTS
from .dropouts import is_empty
from .labels import are_grouped, checked_labels
from .steps import rows_with
from .validation import rows_of_weight


class StreamingSGPClassifier(SGPClassifier):
    """Sparse Gaussian process classification for a stream of rows, each seen once.

    Every batch chooses its inducing inputs from the old ones and its rows, learns kernel and
    inducing inputs on the online bound, and updates the posterior of the latent functions by
    natural-gradient iterations. Once it has begun, the estimator keeps the posterior and no rows,
    so that memory and time of a batch do not depend on the number of rows so far.

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
        yours must be within the support. Each batch counts them by its share of the rows so far.
        With ``kernel=None`` a prior of length scales takes the place of what ties them.

    likelihood : {"auto", "probit", "logit", "softmax", "ordinal"} or instance, default="auto"
        Probability of a class given the latent functions. "probit" and "logit" are for two classes,
        "softmax" is for any number of classes. "auto" means "probit" for two classes and "softmax"
        for more. "ordinal" is for classes in the order of ``classes_``, such as grades: one
        function and learned thresholds, as a cumulative probit model has them. An instance is a
        :class:`~sklearn_sgp.likelihoods.Likelihood`.

    old_posterior_power : float or "auto", default="auto"
        Power, from 0 to 1, of the factor of the old posterior. It matters where inducing inputs are
        dropped or moved: above 0 what the new ones cannot tell of an old one counts as lost. "auto"
        means that of a batch's rows, which is 0 for other likelihoods than Gaussian noise, but at
        least 0.5. With 0 a noise-free series with room for two thirds of the inducing inputs that
        it needs had errors of 0.3, with 0.5 of 0.02. 0 is the variational algorithm of [1]_.

    forget_factor : float or "auto", default=1.0
        Power to which each batch raises the old posterior's information, that about the noise
        included. Below 1 the past fades. "auto" takes for each batch the power of 1, 0.99, 0.97,
        0.9 and 0.75 whose predictions of the batches so far have had the highest density, later
        ones counting more (Gaussian noise; else 1).
        Values from 0.9 to 0.99 are worth a try if the function drifts. Predictions are then for the
        time of the last batch: how far the function moves until the next one is not part of them.
        If it moves far, 90 % bands hold about 80 % of the next rows, and the time should be a
        column of X.

    trust_region : float, default=1.0
        Largest change of the natural logarithm of a kernel parameter in one batch. In batches of
        less than 40 rows the limit is smaller in proportion. Where a batch has r times as many rows
        as were learned from so far, and r is above 1, it is r times as large. The first batch has
        no limit. Later batches of 50 rows or more have none as long as the classes of all rows
        before looked like noise.

    min_inducing : int, default=None
        A stream begins with this number of inducing inputs. It takes more, up to ``n_inducing``,
        until the largest conditional variance of the batch's rows is below a tenth of the noise
        variance (below 0.1 for a likelihood without noise). None means that each batch takes as
        many as are useful, up to ``n_inducing``.

    n_inducing : int, default=100
        Largest number of inducing inputs. Fewer distinct rows give fewer inducing inputs.

    inducing : {"greedy", "kmeans", "random", "fourier"} or array-like of shape \
            (n_inducing, n_features), default="greedy"
        How inducing inputs are chosen from the old ones and the rows of a batch. "greedy" takes
        those of largest conditional variance, one after another. If it has to drop some for a batch
        that is learned from, it keeps those that the others would predict worst. "kmeans" takes
        centres and "random" takes random ones; an old inducing input then counts as many rows as
        its share of all rows before. An array gives the inducing inputs of all batches. "fourier"
        takes features in their place: cosines and sines of ``n_inducing // 2`` frequencies, drawn
        from the spectral density of a stationary kernel. Kernel and frequencies are learned from
        the rows with which the stream begins, and held from then on. These rows are kept until
        there are five for each number that is learned of the frequencies.

    optimize_inducing : bool, default=True
        Whether the inducing inputs are learned together with the kernel. Each one is learned with
        the batch that it comes from, and given ones are learned with the first batch. Later it is
        held, since moving it would lose information.

    optimizer : {"auto", "lbfgs", "adam"} or None, default="auto"
        "auto" and "lbfgs" run L-BFGS on the online bound of each batch. "adam" takes steps of Adam
        on it. None only chooses inducing inputs and updates the posterior.

    init_size : int, default=1024
        Number of rows of the first batch of ``fit``.

    batch_size : int, default=1024
        Number of rows of each later batch of ``fit``.

    max_iter : int, default=20
        Largest number of iterations of the optimiser on a batch. A later batch has one of L-BFGS
        for each five rows, and after ten times its rows it ends where one gains less than ten times
        ``tol``.

    max_steps : int, default=None
        Number of batches that are learned from. Later batches only update the posterior. None means
        all batches.

    max_time : float, default=None
        Seconds of one call after which batches only update the posterior.

    tol : float, default=1e-4
        Smallest gain of the objective for each row, in nats, that counts as progress.

    n_iter_no_change : int, default=5
        An optimiser stops after so many iterations or epochs in a row without progress.

    learning_rate : float, default=0.01
        Step size of Adam.

    natural_step : float, default=1.0
        Largest length of a natural-gradient step, in (0, 1]. Gaussian noise takes no such steps.

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
        Value added to the diagonal of the inducing inputs' covariance, relative to its mean. Each
        batch begins with a hundredth of it, which is raised tenfold while the sum is not positive
        definite, above ``jitter`` with a warning.

    warm_start : bool, default=False
        Whether ``fit`` starts from the parameters that the last fit learned.

    n_jobs : int, default=None
        Number of parallel jobs over groups of rows. None means as many threads as BLAS would use. A
        backend of ``joblib.parallel_config`` is respected.

    random_state : int, RandomState instance or None, default=None
        Seed of all random choices, such as those of rows and inducing inputs. With an int, a stream
        that was saved and loaded goes on as if it had not been.

    verbose : int, default=0
        Whether to print a line for each batch, with the time left of ``max_time``, and some in a
        long prediction.

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
        Online bound of the last batch, in nats, for y as it was given. If the kernel and the old
        inducing inputs are held, it is a lower bound on the log evidence of the batch given all
        batches before.

    log_evidence_ : float
        Sum of the online bounds of all batches. It estimates the log evidence, and it is no bound
        once inducing inputs have moved.

    log_prior_ : float
        Log density of ``kernel_priors`` at what was learned, 0 without them. Learning maximises its
        sum with the objective.

    objectives_ : ndarray
        Online bound after every iteration on the last batch, with what rows say that waited for it.

    fit_times_ : ndarray
        Seconds of learning until each entry of ``objectives_``.

    choices_ : list of dict
        What the fit compared, as a table: keys are ``choice``, ``candidate``, ``score`` (nats a
        row, of scaled targets), ``standard_error`` of it less the best, ``seconds``, ``taken``.

    batch_log_density_ : float or None
        Mean log density of the last batch's rows, of labels their log probability, before they were
        learned from, in nats, for y as it was given. None after a first batch.

    batch_log_densities_ : ndarray
        The same of the last 100 batches that had rows before them.

    n_missing_ : int
        Number of rows that were left out, as all their targets are NaN.

    n_shifts_ : int
        Number of times that level, noise or function were other than before, or that rows were far
        less probable than before.

    n_iter_ : int
        Number of iterations of the optimiser so far, at least 1.

    n_steps_ : int
        Number of batches.

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
    SVGPClassifier : A model for rows that can be seen more than once.

    Notes
    -----
    This estimator is for batches that come in an order: places that are seen once, classes whose
    boundary moves (with ``forget_factor`` below 1). On a boundary that rotates it had 0.25 nats a
    row where :meth:`SVGPClassifier.partial_fit` had 0.58. If each batch is a mixture of all that
    there is, :meth:`SVGPClassifier.partial_fit` is better. It takes one step where this one takes
    up to ``max_iter`` iterations on each batch. On the electricity prices of elec2 it had 0.47 nats
    in 3 s, and this one 0.60 in 67 s. A smaller ``max_iter`` makes batches faster.

    A warning tells that a batch is far less probable than those before, once, and ``n_shifts_``
    counts it. The stream learns from it as from any other.

    ``fit`` makes one pass over the rows in their order, as if they came in batches; with a
    ``forget_factor`` of 1 a table that is sorted by class is taken at random. The first batch of
    ``partial_fit`` decides starting values, so it should have a few hundred rows. Later batches may
    have any size. If the kernel is learned, rows are kept until there are 25 of positive weight,
    and the stream begins anew with each batch until then. With the default kernel up to 512 rows
    are kept to begin anew each time that they have doubled, unless something fades or is far away.
    Labels of few rows say little, and a kernel that has missed their boundaries would be for ever.
    A batch of one class updates the posterior and leaves the kernel as it is. Batches that are
    sorted by class have a first one that lacks some of ``classes``. If nothing fades, up to 1,024
    rows of all classes so far are then kept to predict from. The stream begins anew with them each
    time that those of all classes but the commonest have doubled, and where the last class comes.
    ``kernel``, ``kernel_priors``, ``likelihood``, ``optimize_inducing`` and
    ``categorical_features`` must stay as in the first batch.

    The latent functions have a prior mean that comes from the frequencies of the classes in the
    first batch, counted with ``sample_weight``; later batches leave it as it is. A class that this
    batch lacks counts as frequent as the geometric mean of the others.
    ``likelihood=Probit(0.0)``, or for several classes ``Softmax(0.0)``, has no prior mean.

    With a default kernel and at most 24 rows, the frequencies of the classes have a share of the
    probabilities. So they have where a stream begins with up to 600 rows times classes, the bound
    gains less than 15 nats on them, and ``max_time`` is None. Few labels can be explained wherever
    they lie. So labels that are left out decide the share, in five times the time of a fit, and
    `choices_` has their scores. Labels of many categories can be explained so, too: of more than
    300 rows a quarter is left out, once. `decision_function` then has log odds. Later batches
    outweigh the share.

    ``docs/theory.md``, sections 10 and 11, has the equations.

    References
    ----------
    .. [1] T. D. Bui, C. V. Nguyen, R. E. Turner, "Streaming Sparse Gaussian Process
       Approximations", NIPS 2017. https://arxiv.org/abs/1705.07131

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp import StreamingSGPClassifier
    >>> rng = np.random.default_rng(0)
    >>> model = StreamingSGPClassifier(n_inducing=20, random_state=0)
    >>> for left in range(-3, 3):
    ...     X = rng.uniform([left, -3], [left + 1, 3], (100, 2))
    ...     y = np.where(np.sin(X[:, 0]) + X[:, 1] > 0, "above", "below")
    ...     model = model.partial_fit(X, y, classes=["above", "below"])
    >>> model.predict([[-2.0, 2.0], [2.0, -2.0]])
    array(['above', 'below'], dtype='<U5')
    """

    _parameter_constraints = CLASSIFIER_CONSTRAINTS | STREAM_CONSTRAINTS
    _takes_inducing_later = True  # then they stay where the stream has them

    def _power(self):
        """Return alpha of the variational bound."""
        return 0.0

    def __init__(
        self,
        kernel=None,
        *,
        kernel_priors=None,
        likelihood="auto",
        old_posterior_power="auto",
        forget_factor=1.0,
        trust_region=1.0,
        min_inducing=None,
        n_inducing=100,
        inducing="greedy",
        optimize_inducing=True,
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
        self.old_posterior_power = old_posterior_power
        self.forget_factor = forget_factor
        self.trust_region = trust_region
        self.min_inducing = min_inducing
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
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
        self.offset_column = offset_column
        self.categorical_features = categorical_features
        self.missing = missing
        self.jitter = jitter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn_rows(self, X, y, sample_weight, classes=None, is_batch=False):
        """Learn from all rows in one pass, or from a first batch.

        They are taken in their order, unless that is by label and nothing fades: then it is random.
        """
        clock, given = Clock(self.max_time), (X, y)
        checked = checked_labels(self, X, y, sample_weight, reset=True, classes=classes)
        inputs, y, weight = rows_of_weight(*checked)
        self.classes_ = np.unique(y) if classes is None else classes
        if not is_batch and self.forget_factor == 1.0 and are_grouped(y):
            order = check_random_state(self.random_state).permutation(len(y))
            inputs, y = inputs.select(order), y[order]
            weight = None if weight is None else weight[order]
        if is_batch:
            streaming.take_batch(self, inputs, y, weight, clock)
        else:
            streaming.one_pass(self, inputs, y, weight, given, clock)

    def _add_rows(self, X, y, sample_weight):
        """Learn from a later batch; one without rows changes nothing."""
        clock = Clock(self.max_time)
        if is_empty(self, X, y):
            return
        classes = self.classes_
        checked = checked_labels(self, X, y, sample_weight, reset=False, classes=classes)
        inputs, y, weight = rows_of_weight(*checked)
        streaming.take_batch(self, inputs, y, weight, clock)

    def _default_kernels(self):
        ties = {"ties_length_scales": True, "ties": LOOSE_TIES}
        return {**ties, "kernel_set": LABELS}

    def _later_rows(self, inputs, y, weight):
        targets = self._fitted.targets
        return rows_with(inputs.X, targets.encode(y), weight, targets, None, inputs.offset)

    def _recipe(self, engine, initial):
        return recipes.streaming_classifier(self, engine, initial)

    def _log_densities(self, fitted, rows, inputs):
        """Return log probabilities of labels, (n,)."""
        place = fitted.targets.places(rows.y)
        return self._log_probabilities(fitted, inputs)[np.arange(len(place)), place]

    def _expected_densities(self, fitted, rows, inputs):
        """Return what `_log_densities` are expected to be, and their variances, (n,) each."""
        log_p = np.maximum(self._log_probabilities(fitted, inputs), -1e3)  # p log p is 0 there
        p = np.exp(log_p)
        mean = (p * log_p).sum(axis=1)
        return mean, (p * log_p**2).sum(axis=1) - mean**2

    def _log_probabilities(self, fitted, inputs):
        model = Classes(fitted.predictor, fitted.likelihood, fitted.targets, self.n_jobs)
        return self._format.seen_by(model, inputs).log_probabilities(inputs)

    def _begins_anew(self, y):
        """Return when the stream begins anew: of labels that never fade, as these come."""
        never_fade = self.forget_factor in (1.0, "auto")
        return Turns.of(y, self.classes_) if never_fade else NOT_BEGUN
