"""AnytimeSGPRegressor: sparse GP regression in blocks, at any time (Hoang, Hoang & Low 2015)."""

from functools import partial
from numbers import Integral, Real

from .._compat import FitProgress, HasMethods, Interval, StrOptions, _fit_context
from ..blocks import solver
from ..blocks.models import NAMES, specification
from ..blocks.partition import PartitionChoice, check_labels
from ..blocks.schedules import Average, RobbinsMonro
from ..data.rows import drop_zero_weight
from ..optimize.progress import Clock
from .base import transactional
from .block_predictions import BlockPredictions
from .regressor import REGRESSOR_CONSTRAINTS, SparseGPRegressor

_PARTITIONS = {"kmeans", "contiguous", "random"}


class AnytimeSGPRegressor(BlockPredictions, SparseGPRegressor):
    """Sparse Gaussian process regression in blocks of rows, at any time.

    One estimator for the sparse models SoR, DTC, VFE, FITC, FIC, PITC, PIC and those between them.
    They differ in what a block of rows keeps of the prior's variance that the inducing inputs do
    not explain. With PIC, the default, a prediction also sees all data of its own block, so that
    inducing inputs carry what is smooth and blocks what is local.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels`, sums, products and powers of them,
        or :class:`~sklearn_sgp.kernels.Columns`. ``WhiteKernel`` terms of the outermost sum are the
        noise. None means ``ConstantKernel() * RBF()`` with one length scale for each column, and
        starting values and bounds from the data. The kernel refers to normalised targets (see
        ``normalize_y``) and to inputs in their own units.

    model : {"sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic"} or list of (str, float), \
            default="pic"
        The model, or a mixture of models with weights that sum to 1 and one test conditional:
        ``[("dtc", 0.5), ("fitc", 0.5)]``. "sor" and "dtc" learn under the variational bound,
        since their own marginal likelihood overfits; all others learn under their own objective.

    alpha_divergence : float, default=1.0
        Power of the factors, from 0 (variational) to 1 (the model's own); other than 1 only for
        "fitc", "fic" and "pitc".

    solver : {"anytime", "exact"}, default="anytime"
        "exact" visits every block once, in parallel, for the closed form. "anytime" takes
        stochastic natural-gradient steps and can stop after any of them.

    n_blocks : int, default=None
        Number of blocks; None has blocks of ``block_size`` rows.

    block_size : int, default=1000
        Rows of a block on average. None has more than 1.5 times as many, as the cost of a block is
        cubic in its rows.

    partition : {"kmeans", "contiguous", "random"} or clusterer, default="kmeans"
        How rows are put into blocks, from inputs divided by their length scales. A clusterer has
        ``fit`` and ``predict``, and its blocks are as large as it makes them. Test rows go to the
        block that the partition finds for their inputs.

    blocks_per_step : int, default=1
        Blocks of a step of the anytime solver.

    schedule : {"average", "robbins-monro"}, default="average"
        Steps of the anytime solver. "average" takes the mean over all blocks so far, each epoch in
        a new order: unbiased at any time, and the closed form after one epoch, where it stops.
        "robbins-monro" draws blocks with replacement and takes steps of ``step_size / (1 +
        step_decay * step_size * t) ** step_power``, for ``max_iter`` epochs.

    step_size, step_decay, step_power : float, default=0.1, 0.9 and 0.75
        Of the schedule "robbins-monro".

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
        How kernel, noise and inducing inputs are learned: "auto" by L-BFGS on the objective of
        sampled whole blocks, from long and from short length scales; "lbfgs" on all blocks; "adam"
        by stochastic steps, block by block; None leaves them as they are.

    init_size : int, default=8192
        Rows of the sampled blocks of "auto".

    max_iter : int, default=100
        Largest number of epochs of the stochastic stage, and of iterations of each L-BFGS stage.

    max_steps : int, default=None
        Largest number of stochastic steps.

    max_time : float, default=None
        Seconds after which learning stops; the time of the final pass over the rows is kept free.

    tol : float, default=1e-4
        Gain of the bound for each row, in nats, below which an epoch or iteration counts as none.

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
        Log marginal likelihood of the training rows under the model, in nats, for y in its own
        units (for ``model="vfe"`` the variational bound); an estimate before all blocks were seen.

    objectives_ : ndarray
        The objective, or its estimate, after every epoch or iteration.

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

    n_blocks_ : int
        Number of blocks.

    See Also
    --------
    SVGPRegressor : One variational model without blocks, faster to learn.

    Notes
    -----
    The partition decides what local data can say. Rows that belong together for a reason, such as
    flights of one route or readings of one sensor, are better blocks than those of k-means on all
    inputs: give them as ``blocks``. On 1.95 million flights PIC predicts delays with a root mean
    squared error of 34 minutes with k-means, and of 31 with 2,000 blocks of flights of like
    distance and time of departure. Learning from whole blocks wants time: with a ``max_time`` of a
    few seconds the hyperparameters are those of the variational bound, and a warning says so.

    PITC and PIC keep their training rows: a prediction needs those of its block. A block of b rows
    costs O(b^3 + b^2 m + b m^2), a prediction in a block that was hit the same once and
    O(b^2 + b m) a row. ``docs/theory.md``, section 9, has the equations.

    References
    ----------
    .. [1] T. N. Hoang, Q. M. Hoang, B. K. H. Low, "A Unifying Framework of Anytime Sparse Gaussian
       Process Regression Models with Stochastic Variational Inference for Big Data", ICML 2015.
    .. [2] E. Snelson, Z. Ghahramani, "Local and global sparse Gaussian process approximations",
       AISTATS 2007.

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

    _parameter_constraints = {
        name: value for name, value in REGRESSOR_CONSTRAINTS.items() if name != "batch_size"
    } | {
        "model": [StrOptions(NAMES), list, tuple],
        "alpha_divergence": [Interval(Real, 0, 1, closed="both")],
        "solver": [StrOptions({"exact", "anytime"})],
        "n_blocks": [None, Interval(Integral, 1, None, closed="left")],
        "block_size": [Interval(Integral, 1, None, closed="left")],
        "partition": [StrOptions(_PARTITIONS), HasMethods(["fit", "predict"])],
        "blocks_per_step": [Interval(Integral, 1, None, closed="left")],
        "schedule": [StrOptions({"average", "robbins-monro"})],
        "step_size": [Interval(Real, 0, 1, closed="right")],
        "step_decay": [Interval(Real, 0, None, closed="left")],
        "step_power": [Interval(Real, 0.5, 1, closed="right")],
    }

    def __init__(
        self,
        kernel=None,
        *,
        model="pic",
        alpha_divergence=1.0,
        solver="anytime",
        n_blocks=None,
        block_size=1000,
        partition="kmeans",
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
        max_iter=100,
        max_steps=None,
        max_time=None,
        tol=1e-4,
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
        self.model = model
        self.alpha_divergence = alpha_divergence
        self.solver = solver
        self.n_blocks = n_blocks
        self.block_size = block_size
        self.partition = partition
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, blocks=None):
        """Learn from all rows at once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Several columns are independent outputs with a shared kernel.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks, integers or strings, in place of ``partition``.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If inputs or parameters are not what they must be; the estimator is then as before.

        KeyboardInterrupt
            If Ctrl-C comes. Once the anytime solver has made a step the estimator is fitted, and
            has the q(u) of its last step; else it is as before.
        """
        self._fit_blocks(X, y, sample_weight, blocks)
        if self._blocks.interrupted:
            raise KeyboardInterrupt
        return self

    @transactional
    def _fit_blocks(self, X, y, sample_weight, blocks):
        clock = Clock(self.max_time)
        X, y, weight = self._checked(X, y, sample_weight, reset=True)
        labels = None if blocks is None else check_labels(blocks, len(X))
        ordered = labels is not None or self.partition == "contiguous"
        if ordered:
            X, y, weight, labels = drop_zero_weight(X, y, weight, labels)
        data, progress = self._encoded(X, y, weight, merges=not ordered), FitProgress(self, X, y)
        learner = partial(solver.learn, plan=self._plan(len(data.X)))
        self._learn(data, progress, clock, learner, previous=self._previous(), labels=labels)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None, blocks=None):
        """Add rows to blocks: a later batch changes q(u) only, and only by the blocks it hits.

        The first batch decides kernel, noise, inducing inputs, partition and scaling of targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks if the first batch had them; new ones begin new blocks.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if not hasattr(self, "_result"):
            return self.fit(X, y, sample_weight, blocks)
        self._add_rows(X, y, sample_weight, blocks)
        return self

    @transactional
    def _add_rows(self, X, y, sample_weight, blocks):
        X, y, weight = self._checked(X, y, sample_weight, reset=False)
        labels = None if blocks is None else self._blocks.check_labels(blocks, len(X))
        rows = self._later_rows(X, y, weight, labels)
        found = solver.add_rows(self._blocks, rows, self.n_jobs)
        self._store(found, self._targets, found.blocks.rows.total_weight)
        self.n_samples_seen_ += len(rows)

    def _plan(self, n_rows):
        schedule = None
        if self.solver == "anytime":
            schedule = Average()
            if self.schedule == "robbins-monro":
                schedule = RobbinsMonro(self.step_size, self.step_decay, self.step_power)
        size = self.block_size if self.n_blocks is None else -(-n_rows // self.n_blocks)
        return solver.BlockPlan(
            specification=specification(self.model, self.alpha_divergence),
            schedule=schedule,
            blocks_per_step=self.blocks_per_step,
            partition=PartitionChoice(self.partition, size),
        )

    def _fitted_attributes(self, found, targets, weight):
        blocks = {"_blocks": found, "_cache": self._new_cache(), "n_blocks_": len(found.blocks)}
        return super()._fitted_attributes(found, targets, weight) | blocks
