"""StreamingSGPRegressor: streaming sparse GP regression (Bui, Nguyen & Turner 2017)."""

from dataclasses import replace
from numbers import Real

import numpy as np

from .._compat import Interval
from ..data.targets import observed_columns
from ..engines.streams.begin_anew import NOT_BEGUN
from ..kernels._defaults import STREAM
from ..likelihoods._names import needs_row_noise, regression_likelihood
from ..optimize.progress import Clock
from ..predict.stream_residuals import with_residuals
from ..predict.vouched_bands import at_any_level, with_vouched_bands
from . import recipes, streaming
from .constraints import N_LATENT, REGRESSOR_CONSTRAINTS, STREAM_CONSTRAINTS
from .dropouts import is_empty, present_rows
from .mixed_outputs import mixes_outputs
from .numbers import later_rows
from .regressor import SGPRegressor
from .stream_steps import has_gaps
from .validation import rows_of_weight
from .watching import expected_of_observed, log_densities_of_observed


class StreamingSGPRegressor(SGPRegressor):
    """Sparse Gaussian process regression for a stream of rows, each seen once.

    Every batch chooses its inducing inputs from the old ones and its rows, learns kernel, noise and
    inducing inputs on the online bound, and updates the posterior. The estimator keeps the
    posterior, its first rows, and a sample of all, at most four for each inducing input. So memory
    and time of a batch do not depend on the number of rows so far.

    Parameters
    ----------
    kernel : Kernel, default=None
        Any kernel of :mod:`sklearn.gaussian_process.kernels`, sums, products and powers of them, or
        :class:`~sklearn_sgp.kernels.Columns`. ``WhiteKernel`` terms of the outermost sum are the
        noise. None means ``ConstantKernel() * RBF()`` with one length scale for each column, which
        few rows tie together, and straight lines beside it where the first rows speak for them (see
        Notes). Starting values and bounds come from the data, or from the first batch. The kernel
        refers to normalised targets (see ``normalize_y``) and to inputs in their own units.

    kernel_priors : dict, default=None
        What is expected of parameters of the kernel and the noise: frozen distributions of
        :mod:`scipy.stats` by name. "length_scale" means all of that name but those of missing
        values, "k1__length_scale" the one of that name in ``kernel_.get_params()``;
        "noise_variance" is the noise, without a ``WhiteKernel``. Length scales are in units of X.
        Learning adds log densities of the parameters, not of their logarithms, to its objective. A
        start of yours must be within the support. Each batch counts them by its share of the rows
        so far. With ``kernel=None`` a prior of length scales takes the place of the weak one that
        ties them.

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

    alpha_divergence : float, default=0.0
        Power of the factors of a batch's rows. 0 gives the variational bound, 1 gives expectation
        propagation, and a value between gives Power-EP. Likelihoods other than Gaussian noise take
        0 only. With the same number as ``old_posterior_power`` each batch is that of [1]_ to the
        letter: both 0 are its variational algorithm.

    old_posterior_power : float or "auto", default="auto"
        Power, from 0 to 1, of the factor of the old posterior. It matters where inducing inputs are
        dropped or moved: above 0 what the new ones cannot tell of an old one counts as lost. "auto"
        means that of a batch's rows, which is 0 for other likelihoods than Gaussian noise, but at
        least 0.5. With 0 a noise-free series with room for two thirds of the inducing inputs that
        it needs had errors of 0.3, with 0.5 of 0.02. 0 is the variational algorithm of [1]_.

    n_latent : int, default=None
        None means that columns of y are independent outputs. A number is that of latent functions
        which all outputs mix, ``f = W g`` with W the ``mixing_``, at most as many as outputs. They
        share strength, and a target that is NaN was not observed, in ``log_density``, too. The
        noise must be Gaussian, ``alpha_divergence`` 0, and the first batch must have observations
        of each output. Independent outputs with Gaussian noise may be NaN, too.

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
        Largest change of the natural logarithm of a kernel parameter or of the noise variance in
        one batch. The noise variance may rise five times as far. In batches of less than 40 rows
        both limits are smaller in proportion. Where a batch has r times as many rows as were
        learned from so far, and r is above 1, they are r times as large. The first batch has no
        limit. Later batches of 50 rows or more have none as long as all rows before looked constant
        or like noise. With Gaussian noise the kernel moves less where a batch is about as far from
        its predictions as they say: at least by the share that the batch is of the rows so far. The
        standard deviation of the default kernel of numbers rises no further than ten root mean
        squares of the batch's normalised targets, or 10 where that is more.

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

    noise_variance : float or array-like of shape (n_targets,), default=None
        Starting value of the noise variance, one or one for each output, in units of normalised
        targets. None means a tenth of their variance. A ``WhiteKernel`` term is one for all.

    noise_variance_bounds : pair of float or "fixed", default=(1e-6, 1e3)
        Bounds of the noise variance, by default times that of the targets. "fixed" holds the start.

    optimizer : {"auto", "lbfgs", "adam"} or None, default="auto"
        "auto" and "lbfgs" run L-BFGS on the online bound of each batch. "adam" takes steps of Adam
        on it. None only chooses inducing inputs and updates the posterior.

    init_size : int, default=1024
        Number of rows of the first batch of ``fit``.

    batch_size : int, default=1024
        Number of rows of each later batch of ``fit``.

    max_iter : int, default=20
        Largest number of iterations of the optimiser on a batch. A first one whose rows are all
        among given inducing inputs may take ten times as many. A later batch has one of L-BFGS for
        each five rows, and after ten times its rows it ends where one gains less than ten times
        ``tol``; with Gaussian noise the kernel waits until ten rows have come.

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

    band_scale_ : float or ndarray of shape (n_targets,)
        Factor of the usual predicted deviations. It is below 1 as far as the rows so far were
        nearer to their predictions, as what inducing inputs leave out is measured. It is above 1 as
        far as rows of later batches were further off. It is 1 where noise is given, differs from
        row to row or is not Gaussian, and for outputs that are mixed. Where rows of the sample say
        that bands depend on the place, factors below 1 give way to theirs. What residuals of the
        sample tell of a place among its rows makes these bands narrower still, and moves the mean.
        Densities and quantiles then know that one row more may be like none before; deviations do
        not.

    n_shifts_ : int
        Number of times that level, noise or function were other than before, or that rows were far
        less probable than before.

    n_iter_ : int
        Number of iterations of the optimiser so far, at least 1.

    n_steps_ : int
        Number of batches.

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
    SVGPRegressor : A model for rows that can be seen more than once.

    Notes
    -----
    ``docs/theory.md``, section 11, has the equations. With m inducing inputs, each iteration on a
    batch of n rows costs O((n + m) m^2). The memory between batches is O(m^2).

    ``fit`` makes one pass over the rows in their order, as if they came in batches. The first batch
    of ``partial_fit`` decides starting values and the scaling of targets, so it should have a few
    hundred rows. Later batches may have any size. If the kernel is learned, rows are kept until
    there are 25 of positive weight. Until then the stream begins anew with each batch, and its
    bands are guesses. With batches of 10 rows, 90 % bands held 81 to 100 % of new rows later on
    (ten tables). With the default kernel and Gaussian noise 512 rows (1,024 of noise) are kept to
    begin anew each time that they have doubled, unless something fades, has changed or is limited
    by ``max_time``. Each time with 25 rows or more it asks whether ``ConstantKernel() * Linear()``
    beside the kernel raises the bound by 5 nats more than its parameter costs, which ``choices_``
    tells. That is for numbers that are all there, and Gaussian noise. Each batch so far may lie
    beyond those before in one column, as time does. What came next then decides between that kernel
    and a level that wanders: a random walk, a trend that wanders, and a smooth function of the
    other columns. ``kernel``, ``kernel_priors``, ``likelihood``, ``optimize_inducing``,
    ``noise_variance``, ``noise_variance_bounds``, ``normalize_y``, ``categorical_features`` and
    ``n_latent`` must stay as in the first batch.

    Centre and scale of the targets, ``y_mean_`` and ``y_scale_``, are those of all rows so far
    (``forget_factor`` included) with Gaussian noise and unless ``normalize_y`` gives them. What was
    learned follows exactly; what was given, such as a kernel with ``optimizer=None``, refers to the
    units of all rows. With fewer than 25 distinct rows kernel and noise may claim only so much:
    after one reading the bands are those of the prior.

    Rows whose targets are NaN are left out and counted, independent outputs may each have gaps, and
    a batch without rows or targets changes nothing. None is refused.

    Each batch is compared with its predictions before it is learned from. They may fail in a way
    that batches before do not explain, and not for a few outliers only. A warning then says whether
    level, noise or function changed, and ``n_shifts_`` counts it. The stream follows: the level of
    all that is known moves, the noise variance is another, or the past counts less. A level that
    moves for good is that of all times, those before the shift included. This is for Gaussian
    noise, learned kernels, and units that follow the rows. With others a warning tells that a batch
    is far less probable than those before, and the stream learns from it as from any other.

    Where rows come at random places, a level that moves from batch to batch is followed, too. Its
    steps, a slope and the scatter of single batches are found from what came next. Everything that
    is known moves along, and predictions are those of the next batch, with the variance of its
    level. Nothing is moved where the level stays, where inputs differ from batch to batch, or in
    batches of fewer than eight rows.

    With Gaussian noise one broken reading moves the function for good. A row that differs from its
    prediction by more than 10 prior standard deviations gives a warning, once the stream has
    learned from 50 rows and seen a signal. Where warnings are errors, the stream stays as it was.
    With ``likelihood="student_t"`` such rows do no harm, at about three times the time.

    References
    ----------
    .. [1] T. D. Bui, C. V. Nguyen, R. E. Turner, "Streaming Sparse Gaussian Process
       Approximations", NIPS 2017. https://arxiv.org/abs/1705.07131

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp import StreamingSGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> model = StreamingSGPRegressor(n_inducing=30, random_state=0)
    >>> for left in range(10):
    ...     X = left + rng.uniform(0, 1, (100, 1))
    ...     model = model.partial_fit(X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(100))
    >>> mean, std = model.predict([[1.5], [4.5], [9.5]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([ 1. , -1. , -0.1]), array([0.1, 0.1, 0.1]))
    """

    _parameter_constraints = (
        REGRESSOR_CONSTRAINTS
        | STREAM_CONSTRAINTS
        | {"alpha_divergence": [Interval(Real, 0, 1, closed="both")], "n_latent": N_LATENT}
    )
    _takes_inducing_later = True  # then they stay where the stream has them
    _mixes_by_sites, _mixable = False, "Gaussian noise"  # what `n_latent` may be given with

    def __init__(
        self,
        kernel=None,
        *,
        kernel_priors=None,
        likelihood="gaussian",
        alpha_divergence=0.0,
        old_posterior_power="auto",
        n_latent=None,
        forget_factor=1.0,
        trust_region=1.0,
        min_inducing=None,
        n_inducing=100,
        inducing="greedy",
        optimize_inducing=True,
        noise_variance=None,
        noise_variance_bounds=(1e-6, 1e3),
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
        self.alpha_divergence = alpha_divergence
        self.old_posterior_power = old_posterior_power
        self.n_latent = n_latent
        self.forget_factor = forget_factor
        self.trust_region = trust_region
        self.min_inducing = min_inducing
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
        """Learn from all rows in one pass, in their order, or from a first batch."""
        clock = Clock(self.max_time)
        batch = present_rows(self, X, y, sample_weight, reset=True)
        inputs, y, weight, n_missing, given = batch
        observed_columns(y)  # those of weight zero are refused, too, before rows are left out
        if is_batch:
            streaming.take_batch(self, inputs, y, weight, clock)
        else:
            streaming.one_pass(self, *rows_of_weight(inputs, y, weight), given, clock)
        streaming.count_missing(self, n_missing)

    def _add_rows(self, X, y, sample_weight):
        """Learn from a later batch; one in which nothing was observed changes nothing."""
        clock = Clock(self.max_time)
        if is_empty(self, X, y):
            return
        batch = present_rows(self, X, y, sample_weight, reset=False)
        if batch is None:
            streaming.count_missing(self, len(y))
            return
        inputs, y, weight, n_missing, _ = batch
        streaming.take_batch(self, inputs, y, weight, clock)
        streaming.count_missing(self, n_missing)

    def _more_attributes(self, fitted):
        share = fitted.state.band_share[0]
        return {"band_scale_": fitted.targets.each_output(np.sqrt(share))}

    def _model_of(self, fitted):
        """Return the distribution of observations, with bands as narrow as rows vouch for."""
        variance = fitted.targets.scaled_variance(fitted.state.levels.variance)
        model = at_any_level(super()._model_of(fitted), variance)
        places = fitted.state.places
        # they were measured with one noise, which a variance scale may have taken the place of
        tells = fitted.targets.keeps_means and not fitted.noise.differs
        near, residuals = (places.near, places.residuals) if tells else (None, None)
        model = with_vouched_bands(model, *fitted.state.band_share, near)
        if residuals is None or np.any(variance):
            return model
        return with_residuals(model, residuals, fitted.start.units.variance)

    def _default_kernels(self):
        return {"ties_length_scales": True, "kernel_set": STREAM}

    def _recipe(self, engine, initial):
        if self.alpha_divergence > 0.0:
            self._check_alpha()
        return recipes.streaming_regressor(self, engine, initial)

    def _check_alpha(self):
        """Refuse a power of the factors that the model does not have."""
        if mixes_outputs(self):
            raise ValueError(
                "The 'alpha_divergence' parameter must be 0 with n_latent. Got "
                f"{self.alpha_divergence} with n_latent={self.n_latent}."
            )
        likelihood = regression_likelihood(self.likelihood)
        if not needs_row_noise(likelihood) and not likelihood.conjugate:
            raise ValueError(
                "The 'alpha_divergence' parameter must be 0 for a likelihood other than Gaussian "
                f"noise. Got {self.alpha_divergence} with {self.likelihood!r}."
            )

    def _later_rows(self, inputs, y, weight):
        if self.alpha_divergence > 0.0:
            self._check_alpha()
        fitted = self._fitted
        if not mixes_outputs(self) and np.isnan(y.astype(np.float64)).any():
            fitted = replace(fitted, targets=fitted.targets.with_gaps())
        return later_rows(fitted, inputs, y, weight)

    def _log_densities(self, fitted, rows, inputs):
        """Return log densities of rows in units of y, (n,)."""
        model = self._format.seen_by(self._model_of(fitted), inputs)
        if has_gaps(rows) and not mixes_outputs(self):
            return log_densities_of_observed(model, rows, inputs)
        y = fitted.targets.unwarped(rows.y)
        return model.log_density(inputs, y[:, 0] if fitted.targets.ndim == 1 else y)

    def _expected_densities(self, fitted, rows, inputs):
        """Return what `_log_densities` are expected to be, and their variances, (n,) each."""
        model = self._format.seen_by(self._model_of(fitted), inputs)
        return expected_of_observed(model, rows, inputs)

    def _begins_anew(self, y):
        """Return when the stream begins anew: with twice as many rows, whatever they are."""
        return NOT_BEGUN

    def _power(self):
        """Return alpha of the power by which factors enter."""
        return float(self.alpha_divergence)
