"""StreamingSGPClassifier: streaming sparse GP classification (Bui, Nguyen & Turner 2017)."""

import numpy as np
from sklearn.utils.validation import column_or_1d

from .._compat import _fit_context
from ..optimize.progress import Clock
from .base import SHARED_CONSTRAINTS, transactional
from .classifier import LIKELIHOOD_CONSTRAINT, SparseGPClassifier
from .stream_batches import STREAM_CONSTRAINTS, StreamBatches


class StreamingSGPClassifier(StreamBatches, SparseGPClassifier):
    """Sparse Gaussian process classification for a stream of rows, each seen once.

    With every batch, inducing inputs are chosen anew from the old ones and the batch, kernel and
    inducing inputs are learned on the online bound, and the posterior of the latent functions is
    updated by natural-gradient iterations. What is kept of the past is the posterior alone: memory
    and time of a batch do not depend on how much has been seen.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels` but ``WhiteKernel``, sums, products
        and powers of them, or :class:`~sklearn_sgp.kernels.Columns`. None means
        ``ConstantKernel() * RBF()`` with one length scale for each column, and starting values and
        bounds from the first batch. Length scales are in units of X.

    likelihood : {"auto", "probit", "logit", "softmax"} or instance, default="auto"
        As for :class:`~sklearn_sgp.SVGPClassifier`.

    forget_factor : float, default=1.0
        Power of the old posterior's information in each batch: below 1 the past fades. 0.9 to 0.99
        are worth a trial where the function drifts.

    trust_region : float, default=1.0
        Farthest that one batch may move the natural logarithm of a kernel parameter, times as many
        rows as it has for each row seen before where that is more than one. The first batch may
        move them anywhere, and so may batches of 50 rows and more while nothing was explained.

    min_inducing : int, default=None
        With a number, a stream begins with as few inducing inputs and takes more, up to
        ``n_inducing``, where the rows of a batch are not explained by them but for a variance
        of a tenth. None takes ``n_inducing`` as soon as there are so many useful ones.

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

    optimizer : {"auto", "lbfgs", "adam"} or None, default="auto"
        "auto" and "lbfgs" take steps of L-BFGS on each batch's online bound, "adam" takes steps of
        Adam. None leaves the kernel as it is: inducing inputs are chosen, not learned.

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
        Longest natural-gradient step, in (0, 1].

    jitter : float, default=1e-8
        Variance of each inducing value beyond the function's, relative to the function's. Raised
        tenfold where their covariance is not positive definite, with a warning.

    warm_start : bool, default=False
        Whether ``fit`` starts from the kernel and inducing inputs of the last fit.

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
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    kernel_ : Kernel
        The kernel with learned parameters.

    inducing_points_ : ndarray of shape (n_inducing, n_features)
        Inducing inputs, in units of X.

    objective_ : float
        Online bound of the last batch, in nats: with the kernel and inducing inputs held, a lower
        bound of the log probability of its labels given the batches before.

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

    jitter_ : float
        Jitter in use, relative.

    n_features_in_ : int
        Number of columns seen in ``fit``.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had names that are all strings.

    See Also
    --------
    SVGPClassifier : For rows that can be seen more than once.

    Notes
    -----
    ``docs/theory.md``, section 11, has the equations.

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

    _parameter_constraints = (
        SHARED_CONSTRAINTS | STREAM_CONSTRAINTS | {"likelihood": LIKELIHOOD_CONSTRAINT}
    )

    def __init__(
        self,
        kernel=None,
        *,
        likelihood="auto",
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
        jitter=1e-8,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.likelihood = likelihood
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

        y : array-like of shape (n_samples,)
            Labels: strings, integers or anything else that sorts.

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
        self.classes_ = np.unique(y)
        self._fit_stream(X, y, weight)
        return self

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one more batch.

        The first batch decides starting values; it should have a few hundred rows. Later ones may
        be of any size. Where kernels are learned, rows are kept until there are 25, and the stream
        begins anew with each batch until then. A batch of one class updates the posterior and
        leaves the kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,)
            Labels.

        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; in the first call, where the batch does not have all.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a label comes that is not among the classes, or other inputs or parameters are not
            what they must be; the estimator is then as before, and the next batch can come.
        """
        first = not hasattr(self, "_result")
        X, y, weight = self._checked(X, y, sample_weight, reset=first)
        if first:
            self.classes_ = np.unique(y if classes is None else column_or_1d(classes))
        else:
            self._targets.check_same(classes)
        self._take_batch(X, y, weight, Clock(self.max_time))
        return self

    def _encoded_batch(self, X, y, weight):
        return self._encoded(X, y, weight, self.classes_)
