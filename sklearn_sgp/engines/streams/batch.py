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
from .plan import Proposal
from .rounds import best_of_rounds, continued, fitted_from, updated
from .search_space import within
from .units import of_ones, with_ones


def first_batch(rows, plan, every):
    """Learn from the rows with which a stream begins; return a `Fitted`, and see `_ones`.

    ``every`` are the same where some count more, as they stand for others in what is known.
    """
    with single_blas_thread():
        begun = by_labels(rows, plan)
        if begun is None:
            kernels, starts = Comparison("kernel", plan.trace), with_each_kernel(rows, plan)
            for begin, parameters in kernels.over(starts):
                with kernels:
                    found, n_iter = best_of_rounds(parameters, rows, None, 0.0, begin)
                    begun = or_elsewhere(found, n_iter, rows, None, 0.0, begin)
                    kernels.add(begun, score_of(begun, rows))
            if len(kernels.tried) != 1:
                begun = kernels.best_first()[0].result
        plan, found, n_iter = begun
        if every is not rows:
            found = updated(found[0], every, None, plan)
        ones = _ones(plan, rows, None, None, found[0])
    warn_about_jitter(found[0].prior.jitter, plan.settings.jitter)
    return fitted_from(plan, *found, n_iter, 1), ones


def next_batch(fitted, rows, weight_seen, plan):
    """Learn from one more batch; return as `first_batch`.

    ``weight_seen`` is that of all rows so far.
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
                kept = [name for name in before.values if name == "shares"]
                kept += ["log_noise"] if plan.holds_noise else []
                begin = begin.with_values(**{name: before.values[name] for name in kept})
            if plan.known is None:
                found, n_iter = best_of_rounds(begin, rows, old, weight_seen, plan)
                plan, found, n_iter = or_elsewhere(found, n_iter, rows, old, weight_seen, plan)
            else:
                found, n_iter = continued(begin, rows.total_weight, plan)
                rows, old = plan.known.rows, None
        except np.linalg.LinAlgError as error:
            # with the old kernel and inducing inputs information is only added
            prior = replace(old.prior, jitter=fitted.jitter)
            proposal = Proposal(before, identity_pairs(before.Z), prior)
            found, n_iter = updated(proposal, rows, old, plan), 0
            warn_caller(
                "Kernel, noise and inducing inputs must have a positive definite covariance to "
                f"learn from this batch. Got: {error}. They stay as they were, and the batch was "
                "added to the posterior."
            )
        ones = _ones(plan, rows, old, ones, found[0])
    warn_about_jitter(found[0].prior.jitter, max(fitted.jitter, plan.settings.jitter))
    return fitted_from(plan, *found, fitted.n_iter + n_iter, fitted.n_steps + 1), ones


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
    return posterior.of_each_output.h
