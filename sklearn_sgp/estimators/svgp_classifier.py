"""SVGPClassifier: variational sparse GP classification (Hensman, Fusi & Lawrence 2013)."""

from numbers import Integral

import numpy as np
from sklearn.utils.validation import column_or_1d

from .._compat import FitProgress, Interval, StrOptions, _fit_context
from ..optimize.progress import Clock
from .base import SHARED_CONSTRAINTS, transactional
from .classifier import LIKELIHOOD_CONSTRAINT, SparseGPClassifier
from .partial_fits import PartialFits


class SVGPClassifier(PartialFits, SparseGPClassifier):
    """Sparse Gaussian process classification for many rows.

    Latent functions, one for two classes and one for each of more, are summarised by their values
    at ``n_inducing`` inducing inputs, which they share. With default settings, kernel and inducing
    inputs are learned on a subset of the rows by L-BFGS on the variational bound at its optimal
    posterior, refined on larger subsets, and the posterior is then found from all rows by
    natural-gradient iterations. No learning rate needs tuning.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels` but ``WhiteKernel``, sums, products
        and powers of them, or :class:`~sklearn_sgp.kernels.Columns`. None means
        ``ConstantKernel() * RBF()`` with one length scale for each column, and a weak prior that
        ties these together where rows are few. Length scales are in units of X.

    likelihood : {"auto", "probit", "logit", "softmax"} or instance, default="auto"
        Probability of a class given the latent functions: "auto" is probit for two classes and
        softmax for more.

    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply ``sample_weight``.

    total_samples : int, default=None
        Only for ``partial_fit``. None takes all rows as new. A number is the size of the whole data
        set, of which rows may come again.

    n_inducing : int, default=256
        Number of inducing inputs. Fewer distinct rows give fewer.

    inducing : {"kmeans", "greedy", "random"} or array-like of shape (n_inducing, n_features), \
            default="kmeans"
        How inducing inputs are chosen: k-means centres, rows of greatest conditional variance,
        random rows, or the given ones.

    optimize_inducing : bool, default=True
        Whether the inducing inputs are learned with the kernel.

    optimizer : {"auto", "lbfgs", "adam"} or None, default="auto"
        How kernel and inducing inputs are learned: "auto" by L-BFGS on a subset of rows and then
        on larger ones, "lbfgs" on all rows, "adam" by stochastic steps only; None leaves them.

    init_size : int, default=8192
        Rows of the warm start.

    batch_size : int, default=1024
        Rows of a stochastic step.

    max_iter : int, default=100
        Largest number of epochs of the stochastic stage, and of iterations of each L-BFGS stage.

    max_steps : int, default=None
        Largest number of stochastic steps.

    max_time : float, default=None
        Seconds after which learning stops; the time of the final passes over the rows is kept free.

    tol : float, default=1e-4
        Gain of the bound for each row, in nats, below which an epoch or iteration counts as none.

    n_iter_no_change : int, default=5
        Learning stops after so many epochs or iterations without gain.

    learning_rate : float, default=0.01
        Step of Adam in kernel and inducing inputs.

    natural_step : float, default=0.1
        Length of a stochastic natural-gradient step, in (0, 1].

    jitter : float, default=1e-8
        Smallest value added to the diagonal of the inducing inputs' covariance, relative to its
        mean. Raised tenfold where that covariance is not positive definite, with a warning.

    warm_start : bool, default=False
        Whether ``fit`` starts from the kernel and inducing inputs of the last fit.

    n_jobs : int, default=None
        Number of jobs over groups of rows. None means as many threads as BLAS would use; a backend
        of ``joblib.parallel_config`` is respected.

    random_state : int, RandomState instance or None, default=None
        Seed of the choice of rows and inducing inputs.

    verbose : int, default=0
        Whether to print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    kernel_ : Kernel
        The kernel with learned parameters.

    inducing_points_ : ndarray of shape (n_inducing, n_features)
        Inducing inputs, in units of X.

    objective_ : float
        The variational bound on the log probability of the training labels, in nats.

    objectives_ : ndarray
        The bound, or its estimate, after every epoch or iteration.

    fit_times_ : ndarray
        Seconds since the start of ``fit`` at each entry of ``objectives_``.

    n_iter_ : int
        Number of epochs and iterations; the final passes count as one.

    n_steps_ : int
        Number of stochastic steps.

    n_samples_seen_ : int
        Number of rows of positive weight that the posterior rests on.

    jitter_ : float
        Jitter in use, relative.

    n_features_in_ : int
        Number of columns seen in ``fit``.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had names that are all strings.

    See Also
    --------
    SVGPRegressor : The same for numbers.

    Notes
    -----
    Every latent function has its own covariance matrices, so softmax costs about as many times a
    binary fit as there are classes, but for the kernel blocks and the factor of the inducing
    inputs' covariance, which are shared. ``docs/theory.md``, sections 6 and 10, have the equations.

    References
    ----------
    .. [1] J. Hensman, N. Fusi, N. D. Lawrence, "Gaussian Processes for Big Data", UAI 2013.
    .. [2] J. Hensman, A. Matthews, Z. Ghahramani, "Scalable Variational Gaussian Process
       Classification", AISTATS 2015.

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

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "likelihood": LIKELIHOOD_CONSTRAINT,
        "class_weight": [None, StrOptions({"balanced"}), dict],
        "total_samples": [None, Interval(Integral, 1, None, closed="left")],
    }
    _ties_length_scales = True

    def __init__(
        self,
        kernel=None,
        *,
        likelihood="auto",
        class_weight=None,
        total_samples=None,
        n_inducing=256,
        inducing="kmeans",
        optimize_inducing=True,
        optimizer="auto",
        init_size=8192,
        batch_size=1024,
        max_iter=100,
        max_steps=None,
        max_time=None,
        tol=1e-4,
        n_iter_no_change=5,
        learning_rate=0.01,
        natural_step=0.1,
        jitter=1e-8,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.likelihood = likelihood
        self.class_weight = class_weight
        self.total_samples = total_samples
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
        """Learn from all rows at once.

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
        clock = Clock(self.max_time)
        X, y, weight = self._checked(X, y, sample_weight, reset=True)
        data, progress = self._encoded(X, y, weight, np.unique(y)), FitProgress(self, X, y)
        self._fit_rows(data, progress, clock, previous=self._previous())
        return self

    @transactional
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one more batch of rows.

        The first batch decides inducing inputs and the kernel; it should be large and mixed, with
        all classes in it. Each later batch adds its rows to the posterior and, unless
        ``optimizer=None``, moves kernel and inducing inputs by one stochastic step for every
        ``batch_size`` rows. Where batches are sorted, by class or by inputs, take
        `StreamingSGPClassifier`, which learns anew from each.

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
            what they must be; the estimator is then as before.
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' is not supported for partial_fit, which does not know how "
                "many rows of each class will come: give a dict."
            )
        clock, first = Clock(self.max_time), not hasattr(self, "_result")
        X, y, weight = self._checked(X, y, sample_weight, reset=first)
        if first:
            known = np.unique(y) if classes is None else np.unique(column_or_1d(classes))
            self._fit_first(self._encoded(X, y, weight, known), FitProgress(self, X, y), clock)
        else:
            self._targets.check_same(classes)
            self._add_rows(self._later_rows(X, y, weight))
        return self
