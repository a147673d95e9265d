"""One batch of a stream: it begins the stream, or is learned from after those before."""

from dataclasses import replace

import numpy as np

from ..._parallel import single_blas_thread
from ..._warnings import warn_caller
from ...gp.jitter import warn_about_jitter
from ...optimize.choices import Comparison
from .beginnings import by_labels, or_elsewhere, score_of, with_each_kernel
from .inducing import identity_pairs
from .old_posterior import OldPosterior
from .plan import Batch, Proposal
from .rounds import best_of_rounds, continued, fitted_from, without_learning
from .search_space import within
from .units import of_ones, with_ones


def first_batch(rows, plan, every):
    """Learn from the rows with which a stream begins; return a `Fitted`, and see `_ones`.

    ``every`` are the same where some count more, as they stand for others in what is known.
    """
    with single_blas_thread():
        batch, begun = Batch(rows), by_labels(rows, plan)
        if begun is None:
            kernels, starts = Comparison("kernel", plan.trace), with_each_kernel(rows, plan)
            for begin, parameters in kernels.over(starts):
                with kernels:
                    found = best_of_rounds(parameters, batch, begin)
                    begun = or_elsewhere(found, batch, begin)
                    kernels.add(begun, score_of(begun, rows))
            if len(kernels.tried) != 1:
                begun = kernels.best_first()[0].result
        plan, found = begun
        if every is not rows:
            of_all = without_learning(found.proposal, Batch(every), plan)
            found = of_all._replace(n_iter=found.n_iter)
        ones = _ones(plan, batch, found.proposal)
    return fitted_from(plan, found), ones


def next_batch(fitted, rows, weight_seen, plan):
    """Learn from one more batch; return as `first_batch`.

    ``weight_seen`` is that of all rows so far.
    """
    before = fitted.parameters
    old = OldPosterior.of(fitted.posterior).tempered(plan.forget_factor)
    batch, constant = Batch(rows, old, weight_seen), plan.trace.constant
    with single_blas_thread():
        try:
            begin = within(plan.start.space, before) if plan.learns else before
            if plan.restarts:
                begin = plan.start.parameters
                if not begin.has_features:
                    begin = begin.with_values(Z=before.Z)
                kept = [name for name in before.values if name == "shares"]
                kept += ["log_noise"] if plan.holds_noise or plan.is_noise_given else []
                begin = begin.with_values(**{name: before.values[name] for name in kept})
            if plan.known is None:
                found = best_of_rounds(begin, batch, plan)
                plan, found = or_elsewhere(found, batch, plan)
            else:
                found = continued(begin, rows.total_weight, plan)
                batch = Batch(plan.known.rows)
        except np.linalg.LinAlgError as error:
            # with the old kernel and inducing inputs information is only added
            prior = replace(old.prior, jitter=fitted.jitter)
            proposal = Proposal(before, identity_pairs(before.Z), prior)
            plan.trace.constant = constant
            found = without_learning(proposal, batch, plan)
            warn_caller(
                "Kernel, noise and inducing inputs must have a positive definite covariance to "
                f"learn from this batch. Got: {error}. They stay as they were, and the batch was "
                "added to the posterior."
            )
        ones = _ones(plan, batch, found.proposal, fitted.state)
    warn_about_jitter(found.proposal.prior.jitter, max(fitted.jitter, plan.settings.jitter))
    return fitted_from(plan, found, fitted), ones


def _ones(plan, batch, proposal, state=None):
    """Return the h of targets that are all 1, at what is found: the stream's other centres.

    None where the units of the targets stay. ``state`` is that of the stream before, if any.
    """
    if not plan.follows_units:
        return None
    past = None
    if batch.old is not None:
        ones = plan.forget_factor * state.ones
        past = OldPosterior(with_ones(batch.old.posterior, ones), 0.0)
    bound = plan.bound(Batch(of_ones(batch.rows), past), proposal)
    posterior = bound.posterior(proposal.parameters)[0]
    return posterior.of_each_output.h
