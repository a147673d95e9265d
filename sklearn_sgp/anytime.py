"""AnytimeSGPRegressor: sparse GP regression in blocks, at any time (Hoang, Hoang & Low 2015)."""

from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from ._base import transactional
from ._blocks_course import ROW_BLOCK, Plan, absorb, learn_in_blocks
from ._compat import HasMethods, Interval, StrOptions, _fit_context
from ._learned import SHARED_CONSTRAINTS, BaseLearnedRegressor
from ._regression import Single
from ._start import scaled_rows
from .anytime_steps import Average, RobbinsMonro
from .blocks import Mixture, Model
from .learning import Clock
from .parallel import resolved_jobs
from .partition import Clusterer, KMeansTree, Ordered, check_labels, position_of
from .predictive import Conditional, Deterministic, InBlocks, Independent

_VARIATIONAL = Model("diagonal", 0.0)
# Name: part of the unexplained variance that a factor keeps, and the test conditional.
_MODELS = {
    "sor": ("nothing", Deterministic),
    "dtc": ("nothing", Conditional),
    "vfe": ("diagonal", Conditional),
    "fitc": ("diagonal", Conditional),
    "fic": ("diagonal", Independent),
    "pitc": ("block", Conditional),
    "pic": ("block", InBlocks),
}
_POWERS = {"fitc", "fic", "pitc"}
_PARTITIONS = {"kmeans", "contiguous", "random"}


class AnytimeSGPRegressor(BaseLearnedRegressor):
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

    batch_size : int, default=1024
        Not used: a step takes whole blocks.

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
    >>> from sklearn_sgp.anytime import AnytimeSGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (2000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(2000)
    >>> model = AnytimeSGPRegressor(n_inducing=5, block_size=200, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[1.5], [4.5]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([ 1., -1.]), array([0.1, 0.1]))
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "model": [StrOptions(set(_MODELS)), list, tuple],
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
        batch_size=1024,
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
        """
        clock = Clock(self.max_time)
        previous = getattr(self, "_learned", None) if self.warm_start else None
        X, y, weight = self._validated(
            X, y, sample_weight, reset=True, multi_output=True, y_numeric=True
        )
        self._specification()
        self._labels = None if blocks is None else check_labels(blocks, len(X))
        if blocks is not None and weight is not None:
            keep = weight > 0
            X, y, weight, self._labels = X[keep], y[keep], weight[keep], self._labels[keep]
        self._learn(X, y, weight, clock, previous, merge=blocks is None)
        del self._labels
        return self

    @transactional
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
        if not hasattr(self, "_learned"):
            return self.fit(X, y, sample_weight, blocks)
        X, y, weight = self._validated(
            X, y, sample_weight, reset=False, multi_output=True, y_numeric=True
        )
        y = self._targets_like_before(y)
        keep = slice(None) if weight is None else weight > 0
        weight = None if weight is None else weight[keep]
        rows = scaled_rows(X[keep], y[keep], weight, self._y_scaling())
        numbers = self._numbers_of(rows.X, None if blocks is None else np.asarray(blocks)[keep])
        learned, self._constant, self._blocks = absorb(
            self._learned,
            self._constant,
            self._blocks,
            rows,
            numbers,
            self._specification()[0],
            self.n_jobs,
        )
        self._store(learned, rows.y_scale, self._blocks.rows.total_weight)
        self.n_blocks_ = len(self._blocks)
        self.n_samples_seen_ += len(rows)
        return self

    def _numbers_of(self, X, labels):
        """Blocks of more training rows; unknown labels, or rows without blocks, begin new ones."""
        if labels is None and self._classes is not None:
            raise ValueError("blocks must be given, as they were in the first batch. Got None.")
        if labels is not None:
            labels = self._checked_labels(labels, len(X))
            self._classes = np.concatenate([self._classes, np.setdiff1d(labels, self._classes)])
            return position_of(labels, self._classes)
        if self._partition is not None:
            return self._partition.assign(X)
        return len(self._blocks) + np.arange(len(X)) // ROW_BLOCK

    def _checked_labels(self, labels, n_rows):
        if self._classes is None:
            raise ValueError(
                "blocks must be given to fit for other methods to take them. Got them here only."
            )
        return check_labels(labels, n_rows, self._classes)

    def _specification(self):
        """The model of the factors, and the test conditional."""
        if isinstance(self.model, str):
            part, conditional = _MODELS[self.model]
            if self.alpha_divergence != 1.0 and self.model not in _POWERS:
                raise ValueError(
                    "The 'alpha_divergence' parameter must be 1 unless the model is one of "
                    f"{sorted(_POWERS)}. Got {self.alpha_divergence!r} for {self.model!r}."
                )
            alpha = 0.0 if self.model == "vfe" else float(self.alpha_divergence)
            return Model(part, alpha), conditional
        return _mixture(self.model, self.alpha_divergence)

    def _plan(self, n_rows):
        model, _ = self._specification()
        schedule = None
        if self.solver == "anytime":
            schedule = Average()
            if self.schedule == "robbins-monro":
                schedule = RobbinsMonro(self.step_size, self.step_decay, self.step_power)
        size = self.block_size if self.n_blocks is None else -(-n_rows // self.n_blocks)
        return Plan(
            model=model,
            objective=_objective(model),
            schedule=schedule,
            blocks_per_step=self.blocks_per_step,
            make_partition=partial(_make_partition, self.partition, size),
            labels=self._labels,
        )

    def _course(self, problem):
        outcome = learn_in_blocks(problem, self._plan(len(problem.rows)))
        self._blocks, self._partition = outcome.blocks, outcome.partition
        self._classes, self._constant = outcome.classes, outcome.constant
        self.n_blocks_ = len(outcome.blocks)
        return outcome.learned

    def _posterior_at(self, problem):
        plan = replace(self._plan(len(problem.rows)), labels=None)
        return learn_in_blocks(problem, plan).learned

    def predict(self, X, return_std=False, return_cov=False, blocks=None):
        """Predict new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        return_std : bool, default=False
            Whether to return the standard deviation of each prediction, noise included.

        return_cov : bool, default=False
            Whether to return the joint covariance of the predictions, noise included.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks, if ``fit`` had them. A row without label, or with one never seen,
            belongs to an empty block.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictive mean, in units of y.

        y_std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Only if ``return_std``.

        y_cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets)
            Only if ``return_cov``.
        """
        return self._predict(X, return_std, return_cov, blocks)

    def predict_std(self, X, include_noise=True, blocks=None):
        """Standard deviation of the predictions; see `predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        include_noise : bool, default=True
            True for that of a new observation, False for that of the latent function.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation, in units of y.
        """
        return self._predict_std(X, include_noise, blocks)

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95), blocks=None):
        """Quantiles of new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        quantiles : array-like of float, default=(0.05, 0.5, 0.95)
            Levels, strictly between 0 and 1.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles, in units of y, in the order asked for.
        """
        return self._predict_quantiles(X, quantiles, blocks)

    def log_density(self, X, y, blocks=None):
        """Log predictive density of observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            In nats, for y in its own units; joint over the outputs of a row.
        """
        return self._log_density(X, y, blocks)

    def sample_y(self, X, n_samples=1, random_state=0, method="auto", blocks=None):
        """Draw new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            Inputs.

        n_samples : int, default=1
            Number of draws.

        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        method : {"auto", "joint", "pathwise"}, default="auto"
            "joint" draws from the exact joint distribution. "pathwise" is linear in the number of
            rows, for models whose test conditional is the prior's own: not SoR, FIC and PIC.

        blocks : array-like of shape (n_samples_X,), default=None
            As in `predict`.

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)
            Draws, in units of y, noise included.
        """
        return self._sample_y(X, n_samples, random_state, method, blocks)

    def sample_functions(self, n_samples=1, random_state=0):
        """Draw latent functions that can be evaluated anywhere.

        Parameters
        ----------
        n_samples : int, default=1
            Number of functions.

        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        functions : callable
            ``functions(X)`` of shape (n_samples_X, n_samples), in units of y, without noise.

        Raises
        ------
        ValueError
            For SoR, FIC and PIC, and for kernels without a spectral density.
        """
        check_is_fitted(self, "_posterior")
        self._refuse_paths()
        return super().sample_functions(n_samples, random_state)

    def score(self, X, y, sample_weight=None, blocks=None):
        """Coefficient of determination of the predictive mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        score : float
            At most 1.
        """
        return r2_score(y, self.predict(X, blocks=blocks), sample_weight=sample_weight)

    def _draw_pathwise(self, X, n_samples, rng):
        self._refuse_paths()
        return super()._draw_pathwise(X, n_samples, rng)

    def _refuse_paths(self):
        if self._specification()[1] is not Conditional:
            raise ValueError(
                "Functions can be drawn only where the test conditional is the prior's own. Got "
                f"model={self.model!r}: use sample_y with method='joint', in pieces if need be."
            )

    def _placed(self, X, blocks):
        X = self._validated_inputs(X)
        if blocks is not None:
            return X, position_of(self._checked_labels(blocks, len(X)), self._classes)
        if self._partition is None:
            return X, np.full(len(X), -1)
        return X, self._partition.assign(X)

    @property
    def _latent(self):
        model, conditional = self._specification()
        if conditional is InBlocks:
            n_jobs, s2 = resolved_jobs(self.n_jobs), self.noise_variance_
            return InBlocks(self._posterior, s2, model, self._blocks, n_jobs)
        return conditional(self._posterior)

    def _latent_mean(self, X, blocks):
        return self._moments(self._latent.mean, X, blocks, 1)[0]

    def _latent_mean_variance(self, X, blocks):
        return self._moments(self._latent.mean_variance, X, blocks, 2)

    def _latent_mean_covariance(self, X, blocks):
        return self._latent.mean_covariance(X, blocks)

    def _moments(self, function, X, blocks, count):
        """In chunks of rows, but for PIC, which goes block by block."""
        if isinstance(function.__self__, InBlocks):
            found = function(X, blocks)
            return (found,) if count == 1 else found
        return self._in_chunks(Single(function) if count == 1 else function, X)


def _make_partition(partition, size, scale):
    if partition == "kmeans":
        return KMeansTree(size, scale)
    if isinstance(partition, str):
        return Ordered(size, scale, shuffle=partition == "random")
    return Clusterer(clone(partition), scale)


def _objective(model):
    """What a model learns under: the variational bound in place of the marginal of SoR and DTC."""
    if isinstance(model, Mixture):
        return Mixture(tuple((_objective(part), share) for part, share in model.components))
    return _VARIATIONAL if model.part == "nothing" else model


def _mixture(model, alpha):
    """Mixture and test conditional of a list of names and weights, or a ValueError."""
    try:
        components = tuple((_MODELS[name], name, float(share)) for name, share in model)
    except (TypeError, ValueError, KeyError):
        components = ()
    total = sum(share for _, _, share in components)
    conditionals = {conditional for (_, conditional), _, _ in components}
    if len(conditionals) != 1 or not np.isclose(total, 1.0) or alpha != 1.0:
        raise ValueError(
            f"The 'model' parameter must be one of {sorted(_MODELS)}, or pairs of a name and a "
            "weight with one test conditional and weights that sum to 1, with alpha_divergence=1. "
            f"Got {model!r}."
        )
    parts = tuple(
        (Model(part, 0.0 if name == "vfe" else 1.0), share) for (part, _), name, share in components
    )
    return Mixture(parts), conditionals.pop()
