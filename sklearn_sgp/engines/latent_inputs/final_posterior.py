"""The end of a fit of latent inputs: q(u) and q(x) of all rows, in turn."""

import time

import numpy as np

from ...data.rows import random_index
from ...gp.jitter import warn_about_jitter
from ...latents.bound import groups_of, posterior_of
from ...latents.expectations import expectations_of
from ...latents.output_model import OutputModel
from ...latents.passes import latent_sums
from ...latents.row_posteriors import find_inputs
from ...optimize import time_shares

# Rows whose q(x) other rows may start from.
_CANDIDATES = 1000
# Passes over q(x) and q(u) in turn, at most, and the least gain of one, in nats a row.
_TURNS, _TURN_TOL = 5, 1e-3
# Forward passes that take as long as the least that rows can do from several starts.
_FEWEST_PASSES = 10.0


def without_inputs(parameters):
    """Remove q(x) from `Parameters`."""
    return parameters.without("mean").without("log_variance")


def with_inputs(parameters, q):
    """Set q(x) of `Parameters`."""
    return parameters.with_values(mean=q.mean, log_variance=np.log(q.variance))


def output_model(posterior, parameters, P):
    """Return the `OutputModel` of P outputs, given q(u)."""
    return OutputModel(posterior, np.broadcast_to(parameters.noise_variance, P).astype(float))


def optimal_model(parameters, q, table, settings):
    """Return the `OutputModel` with the q(u) that is optimal for q(x)."""
    prior = settings.prior(parameters)
    sums = latent_sums(expectations_of(prior.kernel, prior.Z), q, table, settings.n_jobs)
    groups = groups_of(table.pattern, parameters.noise_variance)
    return output_model(posterior_of(prior, groups, sums), parameters, table.Y.shape[1])


def choose_candidates(q, rng):
    """Draw the q(x) of some rows at most, which others may start from."""
    if len(q.mean) <= _CANDIDATES:
        return q
    return q[np.sort(random_index(len(q.mean), _CANDIDATES, rng))]


def final_posteriors(parameters, q, table, settings, rng, seconds):
    """Find q(u) and q(x) of all rows in turn, until neither gains; the last is q(x).

    Rows may start from one another at the end, as new ones do. Besides q(x) the memory does not
    depend on the number of rows. Rows rest when so many seconds are over. Returns the
    `OutputModel`, q(x), the candidates and the objective.
    """
    end, before = time.perf_counter() + seconds, -np.inf

    def improved(model, q, share, candidates=None):
        return find_inputs(
            model,
            table,
            start=q,
            candidates=candidates,
            n_jobs=settings.n_jobs,
            seconds=share * (end - time.perf_counter()),
        )

    for _ in range(_TURNS):
        begin = time.perf_counter()
        model = optimal_model(parameters, q, table, settings)
        forward = time.perf_counter() - begin
        q, values = improved(model, q, time_shares.LAST_TURN)
        value, now = float(values.sum()) - model.posterior.kl(), time.perf_counter()
        is_late = now - begin > time_shares.LAST_TURN * (end - now)
        if value - before < _TURN_TOL * len(table) or is_late:
            break
        before = value
    candidates = choose_candidates(q, rng)
    if time.perf_counter() + _FEWEST_PASSES * forward < end:
        q, values = improved(model, q, 1.0, candidates)
        candidates = choose_candidates(q, rng)
    model.warm_cache()
    objective = float(values.sum()) - model.posterior.kl()
    warn_about_jitter(model.posterior.prior.jitter, settings.jitter)
    return model, q, candidates, objective
