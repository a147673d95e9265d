"""One batch of a stream: new inducing inputs, hyperparameters on the online bound, posterior."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import check_random_state

from ..._linalg import single_blas_thread
from ..._warnings import warn_caller
from ...data.distinct import contains_rows
from ...data.inducing import greedy_error
from ...data.rows import column_mean_std
from ...gp.jitter import factorise_with_jitter, warn_about_jitter
from ...gp.prior import Prior
from ...kernels._length_scales import input_scales, scale_mask
from ...optimize.adam import Adam, adam_step
from ...optimize.frequencies import holding_function
from ...optimize.lbfgs import ascend_lbfgs
from ...optimize.parameters import Parameters
from ...optimize.progress import Trace
from ...predict.inducing import InducingPoints
from ...predict.multi_output import MixedOutputs
from ..ascent import Ascents, inputs_at_kinks, lbfgs_memory
from ..base import Fitted, Problem, Settings, Start
from ..explained import is_doubtful
from ..variational.class_regressions import learns_by_regressions
from ..variational.class_start import begun_with_regressions, with_iterations_of_regressions
from ..variational.inference import INNER_TOL, inference_for
from ..variational.schedule import run
from .exact_bound import ExactBound, exact_or_not
from .inducing import NO_PAIRS, StreamInducing, identity_pairs, restrict
from .mixed_bound import MixedOnlineBound
from .old_posterior import OldPosterior
from .online_bound import ConjugateOnlineBound, SiteOnlineBound
from .search_space import plausible, trusted, within
from .shorter_scales import better_start, with_best_units
from .units import of_ones, with_ones
from .waiting import NONE_WAITING, Waiting

# The first batch to learn from is learned from twice, as its inducing inputs are first chosen by a
# kernel that is only a guess; nothing holds its parameters near where they start. So is one with
# more rows than were learned from before: of 1,000 random streams one had errors 9 times its bands.
_FIRST_ROUNDS = 2
# Given inducing inputs that contain all rows make the exact process, whose evidence costs little:
# it may take so many times the iterations. With as many as others have 6 of 40 designs ended up to
# 2.7 nats below scikit-learn's optimum from the same start.
_EXACT_ITERATIONS = 10
# Squares that the mean explains, in variances of the noise. Of 60 first batches of pure noise, with
# 60 to 400 rows and 1 to 5 inputs, 57 had less.
_SIGNAL = 20.0
# The same for each Fourier feature. Of 24 first batches of 80 rows of pure noise with 20 and 40
# features the most was 2.9 with learned frequencies, 0.3 with drawn ones; of 24 with a sine of
# amplitude 1 and noise of 0.3 all but one had 7.7 and more.
_SIGNAL_OF_A_FEATURE = 4.0
# So many rows may move kernel and noise as far as the trust region reaches, fewer in proportion:
# the noise of 3 rows says nothing of that of 1,000 before. With 200, batches of ten rows of ten
# tables learn too late (0.15 nats a row worse than with 40, which is 0.09 better than no limit).
_ROWS_TO_MOVE = 40.0
# A later batch has one iteration of L-BFGS for each so many rows. On 10 parts of four tables in
# batches of 60 densities are 0.002 nats a row lower than with 20 (no table by more than 0.006), in
# three quarters of the time. With 10 rows it is 0.001 and half of the time, but one of 300 random
# streams was too sure, by a mean squared standardised residual of 5.9; with 5 the largest is 3.2.
_ROWS_OF_AN_ITERATION = 5.0
# Functions that hardly bend have an amplitude of many standard deviations of the targets. With 100
# the jitter asked for, 1e-8 of its square, would count as noise of 1e-4, and bands be 2 to 7 times
# too wide. The ladder begins at such a share of it.
_JITTER_SHARE = 1e-2
# Rows of a first batch of several classes whose labels judge. Of four draws of red wine in three
# classes streams of 900 rows lose 0.027 nats a row with first batches of 150, gain 0.004 with 200
# and nothing with 300; three classes of two periods in the plane gain 0.1 with 300.
_ROWS_THAT_JUDGE = 256
# Gains, in nats a row, with which iterations for q(u) end. What thins out inducing inputs needs
# little: ten digits in batches of 200 take 11 passes in the place of 31 for it, and end with the
# same log probability to 0.001. Functions as large as labels held out choose take many passes: with
# 1e-5 a third fewer than with `INNER_TOL`, with log probabilities of new rows as good to 0.002.
_THINNING_TOL, _LABELS_TOL = 1e-3, 1e-5
# Least power of the old posterior's factor, unless another is asked for. With 0 what is known of an
# old inducing value counts in full even where the new ones do not determine it, and a posterior
# that has to drop some contradicts itself: on a noise-free series with 100 inducing inputs and room
# for 150 the RMSE went up to 0.3 from 0.04, with 0.5 it ends at 0.02. Nothing changes where old
# inducing inputs are kept.
LEAST_POWER = 0.5


@dataclass(frozen=True)
class StreamPlan:
    """Plan of a batch.

    Parameters
    ----------
    start : Start
        Of the stream.
    inducing : StreamInducing or None
        None where inducing inputs were given.
    n_outputs : int
        Columns of the targets, or classes.
    alpha : float
        Power of the rows of the batch.
    restarts : bool
        Whether kernel and noise begin at the start again, as there is no signal so far.
    keeps_scales : bool
        Whether the length scales go back to the start then.
    weight_learned : float
        Weight of the rows that kernel and noise were learned from so far.
    learns : bool
        Whether kernel, noise and inducing inputs are learned from this batch.
    seed : int, RandomState or None
    follows_units : bool
        Whether centre and scale of the targets follow the rows; see `units`.
    holds_noise : bool
        Whether the noise variance stays: where noise differs from row to row, that has its level.
    earlier_theta : ndarray or None
        What a default kernel has learned from most of the rows of a first batch.
    old_power : float
        Power of the old posterior's factor.
    waiting : Waiting
        Earlier rows that this batch is learned from with.
    waits : bool
        Whether its own rows are left to be learned from with later ones.
    holds_function : bool
        Whether kernel and Fourier features stay; see `optimize.frequencies.holding_function`.
    """

    start: Start
    settings: Settings
    inducing: StreamInducing | None
    n_outputs: int
    alpha: float
    forget_factor: float
    trust_region: float
    restarts: bool
    keeps_scales: bool
    weight_learned: float
    learns: bool
    seed: object
    trace: Trace
    follows_units: bool = False
    holds_noise: bool = False
    earlier_theta: np.ndarray | None = None
    old_power: float = LEAST_POWER
    holds_function: bool = False
    waiting: Waiting = NONE_WAITING
    waits: bool = False

    def of_later(self, weight):
        """Return the plan of a batch that few rows are learned from, of so much weight."""
        if self.settings.optimizer == "adam":
            return self
        most = min(self.settings.max_iter, max(int(np.ceil(weight / _ROWS_OF_AN_ITERATION)), 1))
        return replace(self, settings=replace(self.settings, max_iter=most))

    def choose(self, rows, parameters, old, seen, spare=0):
        """Choose inducing inputs (m, d); return also the pairs of new and old that are the same."""
        if self.inducing is None:
            moves = parameters.has_features and not self.holds_function
            return parameters.Z, NO_PAIRS if moves else identity_pairs(parameters.Z)
        kernel, noise = parameters.kernel, float(np.min(parameters.noise_variance))
        scale = input_scales(kernel, column_mean_std(rows.X, rows.observations)[1])
        rng = check_random_state(self.seed)
        return self.inducing.choose(rows, kernel, noise, old, seen, scale, rng, spare)

    def prior(self, parameters, noise_variance=np.inf):
        """Factorise p(u) at some parameters, with a jitter that is small beside some noise."""
        jitter = _JITTER_SHARE * self.settings.jitter
        return factorise_with_jitter(parameters.kernel, parameters.Z, jitter, noise_variance)

    def problem(self, rows):
        """Return the problem of a batch alone."""
        likelihood = self.start.likelihood
        inference, rng = inference_for(likelihood, self.n_outputs), check_random_state(self.seed)
        return Problem(rows, self.start, inference, self.settings, self.trace, rng)

    @property
    def inner_tol(self):
        """Gain, in nats a row, with which iterations for q(u) end."""
        return _LABELS_TOL if learns_by_regressions(self) else INNER_TOL

    def bound(self, rows, old, proposal, tol=None):
        """Return the online bound of a batch; its q(u) is found to `inner_tol`, or to ``tol``."""
        likelihood = self.start.likelihood
        arguments = rows, old, proposal.kept, proposal.prior.delta
        options = {
            "with_inputs": self.start.space.learns("Z"),
            "n_jobs": self.settings.n_jobs,
            "power": self.old_power,
        }
        if proposal.parameters.mixes_outputs:
            return MixedOnlineBound(*arguments, **options)
        if likelihood.conjugate:
            bound = ConjugateOnlineBound(*arguments, alpha=self.alpha, **options)
            return bound if old is not None else exact_or_not(bound, proposal, self.prior)
        return SiteOnlineBound(
            *arguments,
            likelihood=likelihood,
            n_latent=likelihood.n_latent(self.n_outputs),
            tol=tol or self.inner_tol,
            rho=self.settings.natural_step,
            **options,
        )


@dataclass(frozen=True)
class Proposal:
    """Inducing inputs and hyperparameters for a batch, with the prior that settled the jitter."""

    parameters: Parameters
    kept: np.ndarray
    prior: Prior


def sees_signal(fitted, rows, weight_seen):
    """Return whether a model sees more than a smooth function sees in pure noise.

    As long as it does not, its kernel is the one that says least, and may be wrong by any factor
    where the function begins to move.

    Parameters
    ----------
    rows : Rows
        The last batch.
    weight_seen : float
        Of all rows so far.
    """
    variance = fitted.posterior.mean(rows.X).var(axis=0)
    least, parameters = _SIGNAL, fitted.parameters
    if parameters.has_features:
        least = max(least, _SIGNAL_OF_A_FEATURE * len(parameters.Z))
    return bool((variance * weight_seen > least * parameters.noise_variance).any())


def first_batch(rows, plan):
    """Learn from the rows with which a stream begins; return a `Fitted`, and see `_ones`."""
    with single_blas_thread():
        begun = _by_labels(rows, plan)
        if begun is None:
            found, n_iter = _best_of_rounds(plan.start.parameters, rows, None, 0.0, plan)
            begun = _or_elsewhere(found, n_iter, rows, None, 0.0, plan)
        plan, found, n_iter = begun
        ones = _ones(plan, rows, None, None, found[0])
    warn_about_jitter(found[0].prior.jitter, plan.settings.jitter)
    return _fitted(plan, *found, n_iter, 1), ones


def _by_labels(rows, plan):
    """Return plan, what is found and iterations, as `_or_elsewhere`; None where that is no way.

    Kernel and inducing inputs of several classes begin as in a fit of all rows: at regressions of
    the labels, whose length scales and variance labels held out then choose.
    """
    problem = with_iterations_of_regressions(plan.problem(rows))
    may_begin = plan.learns and not plan.start.parameters.has_features
    if not (may_begin and learns_by_regressions(problem)) or len(rows) < _ROWS_THAT_JUDGE:
        return None
    try:
        fitted = run(problem)[1]
        parameters, kept = fitted.parameters, NO_PAIRS
        if plan.inducing is not None:
            Z, kept = _chosen(parameters, rows, None, 0.0, replace(plan, learns=False))
            parameters = parameters.with_values(Z=Z)
        return plan, _updated(_settled(parameters, kept, plan), rows, None, plan), fitted.n_iter
    except np.linalg.LinAlgError:  # huge weights: the bound says more of them
        return None


def _or_elsewhere(found, n_iter, rows, old, weight_seen, plan):
    """Return plan, what is found and iterations; from another start if that is better.

    That is asked of classes that a default kernel hardly explains, where a stream begins.
    """
    begins = old is None or plan.restarts or plan.forget_factor == 0.0
    if not plan.learns or not begins:
        return plan, found, n_iter
    found, n_iter = _or_as_before(found, n_iter, rows, old, weight_seen, plan)
    better = None
    if plan.inducing is not None:
        better = better_start(plan.start, found[0].parameters, rows, plan.inducing.n_inducing)
    if better is not None:
        return plan, *_better_from(better, found, n_iter, rows, old, weight_seen, plan)
    problem, fitted = plan.problem(rows), _fitted(plan, *found, n_iter, 1)
    if not is_doubtful(problem, fitted, found[2]):
        return plan, found, n_iter
    elsewhere = begun_with_regressions(problem, fitted.parameters)
    if elsewhere is None:
        return plan, found, n_iter
    start = elsewhere.start
    other = replace(plan, start=replace(start, parameters=plan.start.parameters))
    try:
        Z, _ = _chosen(start.parameters, rows, old, weight_seen, replace(other, learns=False))
        begin = start.parameters.with_values(Z=Z)
        again, more = _best_of_rounds(begin, rows, old, weight_seen, other)
    except np.linalg.LinAlgError:
        return plan, found, n_iter
    if again[2] > found[2]:
        return other, again, n_iter + more
    return plan, found, n_iter + more


def _or_as_before(found, n_iter, rows, old, weight_seen, plan):
    """Return what is found and iterations; from what was learned before if that begins better.

    One of 7 streams of a fast sine had found it, and in 960 rows found it with half its length
    scale, too short for the inducing inputs.
    """
    if np.shape(plan.earlier_theta) != np.shape(plan.start.parameters.theta):
        return found, n_iter
    parameters = with_best_units(plan.start.parameters.with_values(theta=plan.earlier_theta), rows)
    parameters = plan.start.space.clipped(parameters)
    try:
        Z, kept = _chosen(parameters, rows, old, weight_seen, replace(plan, learns=False))
        before = _settled(parameters.with_values(Z=Z), kept, plan)
        is_better = _updated(before, rows, old, plan)[2] > found[2]
    except np.linalg.LinAlgError:
        return found, n_iter
    if not is_better:
        return found, n_iter
    return _better_from(parameters, found, n_iter, rows, old, weight_seen, plan)


def _better_from(parameters, found, n_iter, rows, old, weight_seen, plan):
    """Return what is found and iterations; from other parameters if that is better."""
    try:
        Z, _ = _chosen(parameters, rows, old, weight_seen, replace(plan, learns=False))
        begin = parameters.with_values(Z=Z)
        again, more = _best_of_rounds(begin, rows, old, weight_seen, plan)
    except np.linalg.LinAlgError:
        return found, n_iter
    return again if again[2] > found[2] else found, n_iter + more


def next_batch(fitted, rows, weight_seen, plan):
    """Learn from one more batch; return as `first_batch`.

    Parameters
    ----------
    weight_seen : float
        Of all rows so far.
    """
    before, ones = fitted.parameters, getattr(fitted.state, "ones", None)
    old = OldPosterior.of(fitted.posterior).tempered(plan.forget_factor)
    with single_blas_thread():
        try:
            begin = within(plan.start.space, before) if plan.learns else before
            if plan.restarts:
                begin = plan.start.parameters
                if not begin.has_features:
                    begin = begin.with_values(Z=before.Z)
                if plan.holds_noise:
                    begin = begin.with_values(log_noise=before.log_noise)
            found, n_iter = _best_of_rounds(begin, rows, old, weight_seen, plan)
            plan, found, n_iter = _or_elsewhere(found, n_iter, rows, old, weight_seen, plan)
        except np.linalg.LinAlgError as error:
            # with the old kernel and inducing inputs information is only added
            prior = replace(old.prior, jitter=fitted.jitter)
            proposal = Proposal(before, identity_pairs(before.Z), prior)
            found, n_iter = _updated(proposal, rows, old, plan), 0
            warn_caller(
                "Kernel, noise and inducing inputs must have a positive definite covariance to "
                f"learn from this batch. Got: {error}. They stay as they were, and the batch was "
                "added to the posterior."
            )
        ones = _ones(plan, rows, old, ones, found[0])
    warn_about_jitter(found[0].prior.jitter, max(fitted.jitter, plan.settings.jitter))
    return _fitted(plan, *found, fitted.n_iter + n_iter, fitted.n_steps + 1), ones


def _ones(plan, rows, old, ones, proposal):
    """Return the h of targets that are all 1, at what is found: the stream's other centres.

    None where the units of the targets stay.
    """
    if not plan.follows_units:
        return None
    past = None
    if old is not None:
        past = OldPosterior(with_ones(old.posterior, plan.forget_factor * ones), 0.0)
    bound = plan.bound(of_ones(rows), past, proposal)
    posterior = bound.posterior(proposal.parameters)[0]
    return getattr(posterior, "of_each_output", posterior).h


def _best_of_rounds(parameters, rows, old, weight_seen, plan):
    """Return proposal, posterior and bound, and the number of iterations.

    Without an old posterior the given inducing inputs are those of the first round.
    """
    best, n_iter = None, 0
    first = plan.weight_learned == 0.0 or plan.restarts
    radius = share = np.inf
    if not first:
        # parameters that rest on fewer rows than now come are no more than a start
        weight = plan.waiting.weight + rows.total_weight
        share = weight / plan.weight_learned
        radius = plan.trust_region * max(min(1.0, weight / _ROWS_TO_MOVE), share)
        plan = plan.of_later(weight) if share <= 1.0 else plan
    space = trusted(plausible(plan.start, parameters, rows), parameters, radius)
    space = space.without("log_noise") if plan.holds_noise else space
    space = holding_function(space) if plan.holds_function else space
    for k in range(_FIRST_ROUNDS if share > 1.0 and plan.learns else 1):
        try:
            proposal = _proposal(parameters, rows, old, weight_seen, plan, k)
            found, more = _optimized(proposal, rows, old, plan, space)
        except np.linalg.LinAlgError:
            if best is None:
                raise
            break  # what the round before has found is valid
        n_iter += more
        if best is None or found[2] > best[2]:
            best = found
        if plan.trace.stopped:
            break
        parameters = best[0].parameters
    return _at_first_scales(best, rows, old, weight_seen, plan), n_iter


def _proposal(parameters, rows, old, weight_seen, plan, number):
    """Return what a round begins with: new inducing inputs, but those given of a first one."""
    Z, kept = parameters.Z, NO_PAIRS
    if number or old is not None:
        Z, kept = _chosen(parameters, rows, old, weight_seen, plan)
    return _settled(parameters.with_values(Z=Z), kept, plan)


def _at_first_scales(found, rows, old, weight_seen, plan):
    """Go back, without a signal, to the length scales that the stream began with.

    The learned ones grow without end. A few inducing inputs then stand for all rows, and a later
    batch cannot tell where the function was flat.
    """
    if not (plan.restarts and plan.keeps_scales):
        return found
    if sees_signal(_fitted(plan, *found, 0, 0), rows, weight_seen + rows.total_weight):
        return found
    parameters = found[0].parameters
    is_scale = scale_mask(parameters.expression)
    theta = np.where(is_scale, plan.start.parameters.theta, parameters.theta)
    parameters = parameters.with_values(theta=theta)
    Z, kept = plan.choose(rows, parameters, _old_inputs(parameters, old), weight_seen)
    return _updated(_settled(parameters.with_values(Z=Z), kept, plan), rows, old, plan)


def _old_inputs(parameters, old):
    return parameters.Z[:0] if old is None else old.prior.Z


def _chosen(parameters, rows, old, weight_seen, plan):
    """Choose inducing inputs; return which of the old ones are among them.

    Where some have to go, the batch is first added with up to twice as many, and a greedy subset of
    them is left. A batch that is not learned from has to be quick.
    """
    old_Z = _old_inputs(parameters, old)
    most = None if plan.inducing is None else plan.inducing.thins_to
    if old is None or most is None or not (plan.learns or plan.waits):
        return plan.choose(rows, parameters, old_Z, weight_seen)
    Z, kept = plan.choose(rows, parameters, old_Z, weight_seen, spare=most)
    if len(Z) <= most:
        return Z, kept
    wide = _settled(parameters.with_values(Z=Z), kept, plan)
    posterior = plan.bound(rows, old, wide, _THINNING_TOL).posterior(wide.parameters)[0]
    prior = posterior.prior
    return restrict(Z, kept, greedy_error(prior.K, prior.L @ posterior.v_mean, most))


def _fitted(plan, proposal, posterior, value, n_iter, n_steps):
    posterior.warm_cache()
    jitter, n_iter = proposal.prior.jitter, max(n_iter, 1)
    parameters = proposal.parameters
    kind = MixedOutputs if parameters.mixes_outputs else InducingPoints
    predictor = kind(posterior, parameters.noise_variance)
    return Fitted(plan.start, parameters, predictor, value, jitter, n_iter, n_steps)


def _settled(parameters, kept, plan):
    return Proposal(parameters, kept, plan.prior(parameters))


def _updated(proposal, rows, old, plan):
    """Return proposal, posterior and bound without learning."""
    posterior, value = plan.bound(rows, old, proposal).posterior(proposal.parameters)
    plan.trace.add(value, lambda: proposal.parameters)
    return proposal, posterior, value


def _optimized(proposal, rows, old, plan, space):
    """Return proposal, posterior and bound, and the number of iterations."""
    settings = plan.settings
    is_mixed = proposal.parameters.mixes_outputs
    if old is None and not is_mixed and contains_rows(proposal.parameters.Z, rows):
        space = space.without("Z")
    if not plan.learns or not len(space.pack(proposal.parameters)):
        return _updated(proposal, rows, old, plan), 0
    bound = plan.bound(rows, old, proposal)
    objective = plan.waiting.beside(bound)
    if settings.optimizer == "adam":
        parameters, n_iter = _by_adam(bound, objective, space, proposal, plan)
    else:
        exact = isinstance(bound, ExactBound)
        runs = _runs(space, proposal, rows, plan, exact)
        while not runs.is_over:
            found = ascend_lbfgs(
                objective,
                space,
                runs.parameters,
                max_iter=runs.left,
                plateau=settings.plateau(rows.total_weight, exact=exact),
                trace=plan.trace,
                seconds=plan.trace.clock.left(),
                changed=lambda gradient: runs.moves(_held(bound, proposal, gradient)),
                **lbfgs_memory(exact),
            )
            runs.add(*found)
        parameters, n_iter = runs.parameters, runs.n_iter
    posterior, value = bound.posterior(parameters)
    return (replace(proposal, parameters=parameters), posterior, value), n_iter


def _runs(space, proposal, rows, plan, exact):
    """Return the runs of L-BFGS on a batch, none of which has begun."""
    most = plan.settings.max_iter
    if exact and plan.inducing is None:
        most *= _EXACT_ITERATIONS
    held = inputs_at_kinks(space, proposal.parameters, rows)
    return Ascents(space, proposal.parameters, most, plan.trace, held, is_exact=exact)


def _held(bound, proposal, gradient):
    """Return the gradient that leaves old inducing inputs where they are.

    Moving one discards information, with every batch anew.
    """
    if bound.with_inputs and len(proposal.kept):
        gradient["Z"][proposal.kept[:, 0]] = 0.0
    return gradient


def _by_adam(bound, objective, space, proposal, plan):
    parameters, settings = proposal.parameters, plan.settings
    adam = Adam(len(space.pack(parameters)), settings.learning_rate)
    for _ in range(settings.max_iter):
        value, gradient = objective(parameters)
        gradient = _held(bound, proposal, gradient)
        moved = adam_step(adam, space, parameters, gradient, proposal.prior.delta)
        if moved is not None:
            parameters = moved[0]
        if plan.trace.add(value, lambda: proposal.parameters) or plan.trace.clock.left() < 0:
            break
    return parameters, settings.max_iter
