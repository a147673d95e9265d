"""One batch of a stream: new inducing inputs, hyperparameters on the online bound, posterior."""

import time
from dataclasses import dataclass, replace

import numpy as np

from ..optimize.adam import move_by_adam
from ..fitting.stages import Learned, Settings
from .._warnings import warn_caller
from .old_posterior import Carried
from ..kernels._length_scales import scale_mask
from ..optimize.learning import Adam, Parameters, ParameterSpace, Plateau, Trace, ascend_lbfgs
from .._linalg import NotPositiveDefiniteError
from .._parallel import one_blas_thread_each
from ..gp.posterior import settle_jitter, warn_about_jitter
from .inducing import NOTHING_KEPT, all_kept, most_told, thinned

# The first batch to learn from is learned from twice, as its inducing inputs are first chosen by a
# kernel that is only a guess; nothing holds its parameters near where they start.
_FIRST_ROUNDS = 2
# Squares that the mean explains, in variances of the noise. Of 60 first batches of pure noise, with
# 60 to 400 rows and 1 to 5 inputs, 57 had less.
_SIGNAL = 20.0
# Noise may rise by so many times as much: else rows that the inducing inputs cannot explain are
# believed, batch after batch (of 180 random streams 7 ended with bands half as wide as the errors
# or less, now 2; on terrain the RMSE fell from 36 m to 29).
_NOISE_RISE = 5.0


@dataclass(frozen=True)
class Plan:
    """How batches are taken.

    Parameters
    ----------
    settings : Settings
    space : ParameterSpace
    make_bound : callable
        ``make_bound(rows, carried, kept, delta, with_inputs, n_jobs)``: one of stream_bounds.py.
    choose : callable
        ``choose(rows, parameters, old, seen, spare)``: inducing inputs and which are kept.
    most : int or None
        So many of them are left where the choice may take more at first.
    forget_factor, trust_region : float
    start : Parameters or None
        Kernel and noise to begin from as long as there is no signal.
    keeps_scales : bool
        Whether the length scales go back to the start then.
    noise_of : callable
        ``noise_of(parameters)``: what variances of the function are compared with.
    taught : float
        Weight of the rows that kernel and noise were learned from so far.
    learns : bool
    trace : Trace
    """

    settings: Settings
    space: ParameterSpace
    make_bound: object
    choose: object
    most: int | None
    forget_factor: float
    trust_region: float
    start: Parameters | None
    keeps_scales: bool
    noise_of: object
    taught: float
    learns: bool
    trace: Trace

    def sees_signal(self, posterior, parameters, rows, seen):
        """Whether a model sees more in the rows so far than a smooth function sees in pure noise.

        As long as it does not, its kernel is the one that says least, and may be wrong by any
        factor where the function begins to move. ``rows`` are the last batch, ``seen`` is the
        weight of all.
        """
        spread = float(posterior.mean(rows.X).var(axis=0).max())
        return spread * seen > _SIGNAL * self.noise_of(parameters)


@dataclass(frozen=True)
class Proposal:
    """Inducing inputs and hyperparameters for a batch, and the bound they are judged by."""

    parameters: Parameters
    kept: np.ndarray
    delta: float
    jitter: float


def first_batch(rows, start, plan):
    """Learn from the rows with which a stream begins.

    Parameters
    ----------
    rows : rows.Rows
    start : Parameters
        With inducing inputs.
    plan : Plan

    Returns
    -------
    learned : Learned
    """
    with one_blas_thread_each(plan.settings.n_jobs):
        (proposal, posterior, value), n_iter = _best_of_rounds(start, rows, None, 0.0, plan)
    warn_about_jitter(proposal.jitter, plan.settings.jitter)
    return _result(proposal, posterior, value, n_iter, 1)


def next_batch(learned, rows, seen, plan):
    """Learn from one more batch.

    Parameters
    ----------
    learned : Learned
    rows : rows.Rows
    seen : float
        Weight of all rows so far.
    plan : Plan

    Returns
    -------
    learned : Learned
    """
    old = learned.parameters
    carried = Carried.of(learned.posterior).tempered(plan.forget_factor)
    with one_blas_thread_each(plan.settings.n_jobs):
        try:
            begin = old if plan.start is None else replace(plan.start, Z=old.Z)
            found, n_iter = _best_of_rounds(begin, rows, carried, seen, plan)
        except (NotPositiveDefiniteError, np.linalg.LinAlgError) as error:
            # with the old kernel and inducing inputs information is only added
            proposal = Proposal(old, all_kept(old.Z), carried.prior.delta, learned.jitter)
            found, n_iter = _updated(proposal, rows, carried, plan), 0
            warn_caller(
                "Kernel, noise and inducing inputs must have a positive definite covariance to "
                f"learn from this batch. Got: {error}. They stay as they were, and the batch was "
                "added to the posterior."
            )
    proposal, posterior, value = found
    warn_about_jitter(proposal.jitter, max(learned.jitter, plan.settings.jitter))
    return _result(proposal, posterior, value, learned.n_iter + n_iter, learned.n_steps + 1)


def _best_of_rounds(parameters, rows, carried, seen, plan):
    """Proposal, posterior and bound, and the number of iterations.

    Without a carried factor the given inducing inputs are those of the first round.
    """
    best, n_iter = None, 0
    first = plan.taught == 0.0 or plan.start is not None
    # parameters that rest on fewer rows than now come are no more than a start
    radius = np.inf if first else plan.trust_region * max(1.0, rows.total_weight / plan.taught)
    for k in range(_FIRST_ROUNDS if first and plan.learns else 1):
        Z, kept = parameters.Z, NOTHING_KEPT
        if k or carried is not None:
            Z, kept = _chosen(parameters, rows, carried, seen, plan)
        proposal = _settled(replace(parameters, Z=Z), kept, plan)
        found, more = _learned(proposal, rows, carried, plan, radius)
        n_iter += more
        if best is None or found[2] > best[2]:
            best = found
        parameters = best[0].parameters
    return _at_first_scales(best, rows, carried, seen, plan), n_iter


def _at_first_scales(found, rows, carried, seen, plan):
    """Without a signal, the posterior for the length scales that the stream began with.

    The learned ones have no end: a few inducing inputs then stand for all rows, and nobody can say
    later where the function was flat.
    """
    proposal, posterior, _ = found
    parameters, total = proposal.parameters, seen + rows.total_weight
    if plan.start is None or not plan.keeps_scales:
        return found
    if plan.sees_signal(posterior, parameters, rows, total):
        return found
    is_scale = scale_mask(parameters.expression)
    theta = np.where(is_scale, plan.start.theta, parameters.theta)
    parameters = replace(parameters, theta=theta)
    Z, kept = plan.choose(rows, parameters, _old_inputs(parameters, carried), seen)
    return _updated(_settled(replace(parameters, Z=Z), kept, plan), rows, carried, plan)


def _old_inputs(parameters, carried):
    return parameters.Z[:0] if carried is None else carried.prior.Z


def _chosen(parameters, rows, carried, seen, plan):
    """Inducing inputs, and which of the old ones are among them.

    Where some have to go, the batch is first added with up to twice as many, and those are left
    that tell most of the posterior. A batch that is not learned from has to be quick.
    """
    old = _old_inputs(parameters, carried)
    if carried is None or plan.most is None or not plan.learns:
        return plan.choose(rows, parameters, old, seen)
    Z, kept = plan.choose(rows, parameters, old, seen, spare=plan.most)
    if len(Z) <= plan.most:
        return Z, kept
    wide = _settled(replace(parameters, Z=Z), kept, plan)
    posterior = _bound(wide, rows, carried, plan).last(wide.parameters)[0]
    prior = posterior.prior
    means = np.hstack([prior.L @ part.v_mean for part in posterior.posteriors])
    return thinned(Z, kept, most_told(prior.K, means, plan.most))


def _result(proposal, posterior, value, n_iter, n_steps):
    posterior.prepare()
    return Learned(proposal.parameters, posterior, value, proposal.jitter, max(n_iter, 1), n_steps)


def _settled(parameters, kept, plan):
    prior, jitter = settle_jitter(parameters.kernel, parameters.Z, plan.settings.jitter)
    return Proposal(parameters, kept, prior.delta, jitter)


def _bound(proposal, rows, carried, plan):
    return plan.make_bound(
        rows, carried, proposal.kept, proposal.delta, plan.space.learns_inputs, plan.settings.n_jobs
    )


def _updated(proposal, rows, carried, plan):
    """Proposal, posterior and bound without learning."""
    posterior, value = _bound(proposal, rows, carried, plan).last(proposal.parameters)
    plan.trace.add(value, lambda: proposal.parameters)
    return proposal, posterior, value


def _learned(proposal, rows, carried, plan, trust_region):
    """Proposal, posterior and bound, and the number of iterations."""
    settings = plan.settings
    space = trusted(plan.space, proposal.parameters, trust_region)
    if not plan.learns or not len(space.pack(proposal.parameters)):
        return _updated(proposal, rows, carried, plan), 0
    bound = _bound(proposal, rows, carried, plan)
    held = _with_kept_held(bound, proposal.kept)
    begin, weight = time.perf_counter(), rows.total_weight
    if settings.optimizer == "adam":
        parameters, n_iter = _by_adam(held, space, proposal, plan)
    else:
        parameters, _, n_iter = ascend_lbfgs(
            held,
            space,
            proposal.parameters,
            max_iter=settings.max_iter,
            plateau=Plateau(settings.tol * weight, settings.n_iter_no_change),
            trace=plan.trace,
            time_left=plan.trace.clock.left() - (time.perf_counter() - begin),
        )
    posterior, value = bound.last(parameters)
    return (replace(proposal, parameters=parameters), posterior, value), n_iter


def _with_kept_held(bound, kept):
    """The bound with a gradient that leaves old inducing inputs where they are.

    One that stays keeps all that is known of it, one that moves loses some with every batch.
    """

    def value_and_gradient(parameters):
        value, gradient = bound(parameters)
        if bound.with_inputs:
            gradient.Z[kept[:, 0]] = 0.0
        return value, gradient

    return value_and_gradient


def _by_adam(bound, space, proposal, plan):
    parameters, settings = proposal.parameters, plan.settings
    adam = Adam(len(space.pack(parameters)), settings.learning_rate)
    for _ in range(settings.max_iter):
        value, gradient = bound(parameters)
        moved = move_by_adam(adam, space, parameters, gradient, proposal.delta)
        if moved is not None:
            parameters = moved[0]
        if plan.trace.add(value, lambda: proposal.parameters) or plan.trace.clock.left() < 0:
            break
    return parameters, settings.max_iter


def trusted(space, parameters, radius):
    """The space with log parameters bound to within ``radius`` of where they are.

    Parameters
    ----------
    space : ParameterSpace
    parameters : Parameters
    radius : float
        `_NOISE_RISE` times that for noise that rises.

    Returns
    -------
    space : ParameterSpace
    """
    if np.isinf(radius):
        return space
    theta, noise_bounds = parameters.theta, space.noise_bounds
    lower, upper = space.theta_bounds.reshape(-1, 2).T
    bounds = np.column_stack(
        [np.clip(theta - radius, lower, upper), np.clip(theta + radius, lower, upper)]
    )
    if noise_bounds is not None:
        ends = parameters.log_noise - radius, parameters.log_noise + _NOISE_RISE * radius
        noise_bounds = tuple(np.clip(ends, *noise_bounds))
    return replace(space, theta_bounds=bounds, noise_bounds=noise_bounds)
