"""Rounds of a batch: inducing inputs are chosen, hyperparameters learned on the online bound."""

from dataclasses import replace

import numpy as np

from ...data.distinct import contains_rows
from ...data.inducing import greedy_error
from ...data.rows import noise_of_each
from ...kernels._length_scales import scale_mask
from ...optimize.adam import Adam, adam_step
from ...optimize.frequencies import holding_function
from ...optimize.lbfgs import ascend_lbfgs
from ...predict.inducing import InducingPoints
from ...predict.multi_output import MixedOutputs
from ..ascent import Ascents, inputs_at_kinks, lbfgs_memory
from ..fitted import Fitted
from .bands import MOST_OF_A_MISS
from .exact_bound import ExactBound
from .inducing import NO_PAIRS, identity_pairs, restrict
from .plan import THINNING_TOL, Batch, Learned, Proposal
from .search_space import NOISE_MOVES, plausible, trusted
from .waiting import NONE_WAITING

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
# Share of the rows before up to which a batch is a step of learning that the next ones go on with;
# see `plan.StreamPlan.going_on`. Without a limit a stream of three columns that had begun anew
# after a shift found its two idle columns late, and lost 0.1 nats a row.
_FEW_OF_ALL = 0.1
# Nor is it where its residuals are larger or smaller than predicted by two standard errors: then
# the kernel has to move on. A sine that quickens has -.568 nats a row without that, -.556 with it
# (six draws; in the second half of each -.001 to .066 more).
_SURPRISING = 4.0
# A kernel may move as far as the noise does where n / 2 times the squared logarithm of the mean
# squared standardised residual is so much; that is 1 in the mean where predictions are right.
# Weekly CO2, sea temperatures and speech by lags in batches of 26, 12 and 60 rows have -0.615,
# -0.702 and 13.62 nats a row without, -0.588, -0.683 and 13.62 with 20, and -0.574, -0.680 and
# 13.62 with 100, where noise is held as the kernel is. Then noise does not follow the seasons of a
# pressure by the day, which loses 0.045; with noise that is free CO2 has -0.560.
_AGAINST = 100.0
# Shares of the way, in logarithms, to the noise that a stream starts with.
_RISES = 0.25, 0.5, 0.75, 1.0
# Rows that wait are worth no inducing input where a smaller share of the noise variance is left:
# the bound loses 0.005 nats a row at most.
_HARDLY_ANYTHING = 0.01


def sees_signal(fitted, rows, weight_seen):
    """Return whether a model sees more than a smooth function sees in pure noise.

    As long as it does not, its kernel is the one that says least, and may be wrong by any factor
    where the function begins to move. The rows are the last batch, the weight that of all rows so
    far.
    """
    variance = fitted.posterior.mean(rows.X).var(axis=0)
    least, parameters = _SIGNAL, fitted.parameters
    if parameters.has_features:
        least = max(least, _SIGNAL_OF_A_FEATURE * len(parameters.Z))
    return bool((variance * weight_seen > least * parameters.noise_variance).any())


def best_of_rounds(parameters, batch, plan):
    """Return what is `Learned` from a batch, beginning with some parameters.

    Without an old posterior the given inducing inputs are those of the first round.
    """
    best, n_iter = None, 0
    first = plan.weight_learned == 0.0 or plan.restarts
    radius, share, told, leeway = np.inf, np.inf, 1.0, 1.0
    if not first:
        # parameters that rest on fewer rows than now come are no more than a start
        weight = plan.waiting.weight + batch.rows.total_weight
        share, radius = _reach(weight, plan)
        goes_on = share <= _FEW_OF_ALL
        if batch.old is not None and share < 1.0:
            misfit = _misfit(parameters, batch, plan)
            leeway = max(misfit / _AGAINST, share)
            goes_on = goes_on and not _SURPRISING < misfit < np.inf
        if share <= 1.0:
            plan = plan.going_on(weight) if goes_on else plan.of_later(weight)
        told = weight / (weight + plan.weight_learned)
    space = plausible(plan.start, parameters, batch.rows)
    fall = NOISE_MOVES if plan.noise_fell else 1.0
    space = trusted(space, parameters, radius, radius * min(leeway, 1.0), fall)
    space = space.weighted(told).in_units(plan.first_step)
    space = space.without("log_noise") if plan.holds_noise else space
    space = holding_function(space) if plan.holds_function else space
    for k in range(_FIRST_ROUNDS if share > 1.0 and plan.learns else 1):
        try:
            proposal = _proposal(parameters, batch, plan, k)
            found = _optimized(proposal, batch, plan, space)
        except np.linalg.LinAlgError:
            if best is None:
                raise
            break  # what the round before has found is valid
        n_iter += found.n_iter
        if best is None or found.merit(space) > best.merit(space):
            best = found
        if plan.trace.stopped:
            break
        parameters = best.parameters
    return _at_first_scales(best, batch, plan)._replace(n_iter=n_iter)


def continued(parameters, weight, plan):
    """Return the same from all rows, which are known, with kernel and noise as they are at first.

    Unless those of the start explain the rows better, or the kernel with more noise does: fewer
    rows than inducing inputs may have been taken for a function without noise, and inducing inputs
    that held the function of fewer rows may not hold that of all. ``weight`` is that of the batch,
    for which there are so many iterations; where nothing is learned there are none.
    """
    batch, evidence = Batch(plan.known.rows), plan.known.evidence
    plan.trace.constant -= evidence
    if not plan.learns:
        found = without_learning(_proposal(parameters, batch, plan, 1), batch, plan)
        return found._replace(value=found.value - evidence)
    weight += plan.waiting.weight
    radius = _reach(weight, plan)[1]
    plan = replace(plan.of_later(weight), waiting=NONE_WAITING)
    start = plan.start.parameters
    if plan.is_noise_given:
        start = start.with_values(log_noise=parameters.log_noise)
    ways = [_proposal(one, batch, plan, 1) for one in (parameters, start)]
    values = [without_learning(one, batch, plan).value for one in ways]
    if values[1] > values[0]:
        more = _with_more_noise(parameters, plan.start)
        ways += [_proposal(one, batch, plan, 1) for one in more]
        values += [without_learning(one, batch, plan).value for one in ways[2:]]
    best = int(np.argmax(values))
    space = plausible(plan.start, ways[best].parameters, batch.rows)
    space = trusted(space, parameters, np.inf if best else radius)
    found = _optimized(ways[best], batch, plan, space)
    return found._replace(value=found.value - evidence)


def _with_more_noise(parameters, start):
    """List parameters whose noise is more, up to that of the start where that is learned."""
    most = start.parameters.log_noise
    if not start.space.learns("log_noise") or np.shape(most) != np.shape(parameters.log_noise):
        return []
    rise = np.maximum(most - parameters.log_noise, 0.0)
    shares = _RISES if np.any(rise > 0.0) else ()
    return [parameters.with_values(log_noise=parameters.log_noise + one * rise) for one in shares]


def _reach(weight, plan):
    """Return what share of the rows before some weight is, and how far it may move parameters."""
    share = weight / plan.weight_learned
    return share, plan.trust_region * max(min(1.0, weight / _ROWS_TO_MOVE), share)


def _misfit(parameters, batch, plan):
    """Return what speaks against the predictions of a batch; inf where that is not told."""
    is_plain = plan.start.likelihood.conjugate and not plan.holds_noise
    if not is_plain or parameters.has_features or parameters.mixes_outputs:
        return np.inf
    rows, old, _ = batch
    mean, variance = old.posterior.mean_variance(np.ascontiguousarray(rows.X, dtype=np.float64))
    variance = variance + noise_of_each(rows, parameters.noise_variance)
    squares = np.minimum((rows.targets - mean) ** 2 / variance, MOST_OF_A_MISS**2)
    middle = max(float(np.nanmean(squares)), np.finfo(np.float64).tiny)
    return 0.5 * rows.total_weight * np.log(middle) ** 2


def _proposal(parameters, batch, plan, number):
    """Return what a round begins with: new inducing inputs, but those given of a first one."""
    Z, kept = parameters.Z, NO_PAIRS
    if number or batch.old is not None:
        Z, kept = choose_inducing(parameters, batch, plan)
    return propose(parameters.with_values(Z=Z), kept, plan)


def _at_first_scales(found, batch, plan):
    """Go back, without a signal, to the length scales that the stream began with.

    The learned ones grow without end. A few inducing inputs then stand for all rows, and a later
    batch cannot tell where the function was flat.
    """
    if not (plan.restarts and plan.keeps_scales):
        return found
    weight = batch.weight_seen + batch.rows.total_weight
    if sees_signal(fitted_from(plan, found), batch.rows, weight):
        return found
    parameters = found.parameters
    is_scale = scale_mask(parameters.expression)
    theta = np.where(is_scale, plan.start.parameters.theta, parameters.theta)
    parameters = parameters.with_values(theta=theta)
    Z, kept = plan.choose(batch, parameters)
    return without_learning(propose(parameters.with_values(Z=Z), kept, plan), batch, plan)


def choose_inducing(parameters, batch, plan):
    """Choose inducing inputs; return which of the old ones are among them.

    Where some have to go, the batch is first added with up to twice as many, and a greedy subset of
    them is left. A batch that is not learned from has to be quick.
    """
    rows, old, _ = batch
    most = None if plan.inducing is None else plan.inducing.thins_to
    if old is None or most is None or not (plan.learns or plan.waits):
        return plan.choose(batch, parameters)
    if plan.waits and _are_explained(rows, parameters, old.prior):
        return old.prior.Z, identity_pairs(old.prior.Z)
    Z, kept = plan.choose(batch, parameters, spare=most)
    if len(Z) <= most:
        return Z, kept
    wide = propose(parameters.with_values(Z=Z), kept, plan)
    posterior = plan.bound(batch, wide, THINNING_TOL).posterior(wide.parameters)[0]
    prior = posterior.prior
    return restrict(Z, kept, greedy_error(prior.K, prior.L @ posterior.v_mean, most))


def _are_explained(rows, parameters, prior):
    """Return whether inducing inputs leave hardly anything of the function at some rows."""
    X = np.ascontiguousarray(rows.X, dtype=np.float64)
    rest = prior.kernel.diag(X) - (prior.whitened(X) ** 2).sum(axis=0)
    return bool(rest.max() < _HARDLY_ANYTHING * np.min(parameters.noise_variance))


def propose(parameters, kept, plan):
    """Return a `Proposal`; ``kept`` says which old inducing inputs the parameters have."""
    return Proposal(parameters, kept, plan.prior(parameters))


def without_learning(proposal, batch, plan):
    """Return what is `Learned` where the parameters stay as they are proposed."""
    posterior, value = plan.bound(batch, proposal).posterior(proposal.parameters)
    plan.trace.add(value, lambda: proposal.parameters)
    return Learned(proposal, posterior, value)


def fitted_from(plan, learned, before=None):
    """Return the `Fitted` of a stream after a batch, and after what was fitted before, if any."""
    proposal, posterior, value, n_iter = learned
    posterior.warm_cache()
    n_steps = 1
    if before is not None:
        n_iter, n_steps = before.n_iter + n_iter, before.n_steps + 1
    parameters = proposal.parameters
    kind = MixedOutputs if parameters.mixes_outputs else InducingPoints
    predictor = kind(posterior, parameters.noise_variance)
    told = value, proposal.prior.jitter, max(n_iter, 1), n_steps
    return Fitted(plan.start, parameters, predictor, *told, cut_by=proposal.cut_by)


def _optimized(proposal, batch, plan, space):
    """Return what is `Learned` within a space of parameters, beginning with those proposed."""
    rows, settings = batch.rows, plan.settings
    is_mixed = proposal.parameters.mixes_outputs
    if batch.old is None and not is_mixed and contains_rows(proposal.parameters.Z, rows):
        space = space.without("Z")
    space = _holding_kept(space, proposal)
    if not plan.learns or not len(space.pack(proposal.parameters)):
        return without_learning(proposal, batch, plan)
    bound = plan.bound(batch, proposal)
    objective = plan.waiting.beside(bound)
    if settings.optimizer == "adam":
        parameters, n_iter = _by_adam(objective, space, proposal, plan)
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
                changed=runs.moves,
                **lbfgs_memory(exact),
            )
            runs.add(*found, objective)
        parameters, n_iter = runs.parameters, runs.n_iter
        proposal = replace(proposal, cut_by=runs.cut_by)
    posterior, value = bound.posterior(parameters)
    return Learned(replace(proposal, parameters=parameters), posterior, value, n_iter)


def _runs(space, proposal, rows, plan, exact):
    """Return the runs of L-BFGS on a batch, none of which has begun."""
    most, is_given = plan.settings.max_iter, plan.inducing is None
    if exact and is_given:
        most *= _EXACT_ITERATIONS
    held = inputs_at_kinks(space, proposal.parameters, rows)
    options = {"is_exact": exact, "probes": is_given}
    return Ascents(space, proposal.parameters, most, plan.trace, held, **options)


def _holding_kept(space, proposal):
    """Return the space where old inducing inputs stay where they are.

    Moving one discards information, with every batch anew.
    """
    new = np.delete(np.arange(len(proposal.parameters.Z)), proposal.kept[:, 0])
    return space.with_group("Z", rows=new) if len(proposal.kept) else space


def _by_adam(objective, space, proposal, plan):
    parameters, settings = proposal.parameters, plan.settings
    adam = Adam(len(space.pack(parameters)), settings.learning_rate)
    n_iter = 0
    while n_iter < settings.max_iter:
        n_iter += 1
        value, gradient = objective(parameters)
        moved = adam_step(adam, space, parameters, gradient, proposal.prior.delta)
        if moved is not None:
            parameters = moved[0]
        if plan.trace.add(value, lambda: proposal.parameters) or plan.trace.clock.left() < 0:
            break
    return parameters, n_iter
