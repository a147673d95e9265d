"""Learning by precisions of the rows before sites, for noise that both can learn.

An iteration with sites takes several passes for q(u), one with precisions two. So kernel, noise and
inducing inputs are learned by the coordinate ascent of `heteroscedastic`, and sites go on from
there, to their own tighter bound (docs/theory.md, section 13).
"""

from dataclasses import replace

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..engines.variational.inference import ConjugateInference, knowing
from ..likelihoods import Gaussian
from .heteroscedastic import alternate_noise
from .left_out_errors import with_variance_scale

# Iterations with sites, and where these learn parameters of the likelihood. With 10 of both, df of
# 2,000 houses of California ended at 3.1, with 200 at 2.3, for 0.007 nats a row.
_SITE_ITERATIONS, _LIKELIHOOD_ITERATIONS = 10, 20


def learn_before_sites(problem, learn):
    """Learn with sites, from the end of a coordinate ascent with precisions.

    The likelihood has sites and a ``row_precision``; ``learn(problem)`` asks for a `Fitted` (see
    `estimators.asking`).
    """
    settings, likelihood = problem.settings, problem.start.likelihood
    in_full = settings.n_restarts_optimizer > 0 or np.isfinite(problem.trace.clock.max_time)
    if in_full or not (problem.learns and settings.optimizer == "auto"):
        return (yield from learn(problem))
    inference = ConjugateInference(Gaussian(), problem.rows.y.shape[1])
    easier = replace(problem, start=_gaussian(problem.start), inference=inference)
    try:
        easier, fitted, _ = yield from alternate_noise(easier, likelihood, learn)
        if fitted.interrupted:  # nothing with sites is there
            raise KeyboardInterrupt
        if not problem.trace.stopped:
            fitted = yield from with_variance_scale(easier, likelihood, fitted)
    except NotPositiveDefiniteError:
        # which takes more, or says what is wrong with the rows
        return (yield from learn(problem))
    start = _with_sites(fitted, problem.start)
    most = _LIKELIHOOD_ITERATIONS if start.space.learns("likelihood") else _SITE_ITERATIONS
    shorter = replace(settings, max_iter=min(most, settings.max_iter))
    if len(fitted.posterior.H) == problem.inference.n_latent:
        # where noise hardly is, sites that begin at the prior end where most rows are outliers
        problem = knowing(problem, (fitted.posterior, fitted.weight))
    # the first fit has said where learning fell short
    shorter = replace(problem, start=start, settings=shorter, is_interim=True)
    return (yield from learn(shorter))


def _gaussian(start):
    """Put Gaussian noise in the place of the start's own."""
    return replace(
        start,
        likelihood=Gaussian(),
        space=start.space.without("likelihood"),
        alternatives=tuple(_gaussian(other) for other in start.alternatives),
    )


def _with_sites(fitted, given):
    """Start with the kernel that was chosen, at the parameters that were learned."""
    chosen, theta = fitted.start, fitted.likelihood.theta
    parameters, groups = fitted.parameters, chosen.space.groups
    if len(theta):
        parameters = parameters.with_values(likelihood=theta)
        groups = (*groups, given.space.group("likelihood"))
    return replace(
        chosen,
        likelihood=given.likelihood,
        parameters=parameters,
        space=replace(chosen.space, groups=groups),
        alternatives=(),
    )
