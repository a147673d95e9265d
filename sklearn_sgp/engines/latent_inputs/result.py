"""What a fit of latent inputs found."""

import time
from dataclasses import dataclass

import numpy as np

from ...data.rows import random_index
from ...gp.jitter import warn_about_jitter
from ...kernels._white_noise import join_noise
from ...latents.bound import groups_of, posterior_of
from ...latents.expectations import expectations_of
from ...latents.output_model import OutputModel
from ...latents.passes import LatentInputs, latent_sums
from ...latents.row_posteriors import find_inputs
from ...latents.table import Scaling
from ...optimize.parameters import Parameters

# Rows whose q(x) other rows may start from.
_CANDIDATES = 1000
# Passes over q(x) and q(u) in turn at the end, at most, the least gain of one, in nats a row, and
# the largest share of the time left that one takes.
_TURNS, _TURN_TOL, _TURN_SHARE = 5, 1e-3, 0.4
# Forward passes that take as long as the least that rows can do from several starts.
_FEWEST_PASSES = 10.0
ROW_ITERATIONS, ROW_TOL = 100, 1e-6


@dataclass(frozen=True)
class LatentResult:
    """A learned model with the latent inputs of its training rows.

    Parameters
    ----------
    kernel : Kernel
        As it was given.
    parameters : Parameters
        Kernel, noise and inducing inputs; without q(x).
    model : OutputModel
    q : LatentInputs
        Of all training rows so far.
    candidates : LatentInputs
    scaling : Scaling
    objective : float
        In nats, for outputs as scaled.
    jitter : float
    n_iter, n_steps : int
    n_rows : int
        Rows that the posterior stands for.
    log_scale : float
        What the objective loses in units of Y.
    factors : ndarray of shape (2,)
        Of the noise and of the other variance of filled-in values.
    """

    kernel: object
    parameters: Parameters
    model: OutputModel
    q: LatentInputs
    candidates: LatentInputs
    scaling: Scaling
    objective: float
    jitter: float
    n_iter: int
    n_steps: int
    n_rows: int
    log_scale: float
    factors: np.ndarray

    @property
    def sklearn_kernel(self):
        """The learned kernel in the shape it was given."""
        kernel, noise = self.parameters.kernel.sklearn_kernel, self.parameters.noise_variance
        return join_noise(self.kernel, kernel, noise)


def without_inputs(parameters):
    """`Parameters` without q(x)."""
    values = {k: v for k, v in parameters.values.items() if k not in ("mean", "log_variance")}
    return Parameters(parameters.expression, values)


def with_inputs(parameters, q):
    return parameters.with_values(mean=q.mean, log_variance=np.log(q.variance))


def output_model(posterior, parameters, P):
    return OutputModel(posterior, np.broadcast_to(parameters.noise_variance, P).astype(float))


def optimal_model(parameters, q, table, settings):
    """`OutputModel` with the optimal q(u) of q(x)."""
    prior = settings.prior(parameters)
    sums = latent_sums(expectations_of(prior.kernel, prior.Z), q, table, settings.n_jobs)
    groups = groups_of(table.pattern, parameters.noise_variance)
    return output_model(posterior_of(prior, groups, sums), parameters, table.Y.shape[1])


def choose_candidates(q, rng):
    """q(x) of some rows at most, which others may start from."""
    if len(q.mean) <= _CANDIDATES:
        return q
    return q[np.sort(random_index(len(q.mean), _CANDIDATES, rng))]


def finish(parameters, q, table, settings, rng, seconds=np.inf):
    """q(u) and q(x) of all rows in turn, until neither gains; the last is q(x).

    Rows may start from one another at the end, as new ones do. Besides q(x) the memory does not
    depend on the number of rows.

    Parameters
    ----------
    parameters : Parameters
        Kernel, noise and inducing inputs.
    q : LatentInputs
    table : Table
    settings : Settings
    rng : numpy.random.RandomState
    seconds : float
        Rows rest when these are over.

    Returns
    -------
    model : OutputModel
    q, candidates : LatentInputs
    objective : float
    jitter : float
    """
    end, before = time.perf_counter() + seconds, -np.inf

    def found(model, q, share, candidates=None):
        return find_inputs(
            model,
            table,
            start=q,
            candidates=candidates,
            max_iter=ROW_ITERATIONS,
            tol=ROW_TOL,
            n_jobs=settings.n_jobs,
            seconds=share * (end - time.perf_counter()),
        )

    for _ in range(_TURNS):
        begin = time.perf_counter()
        model = optimal_model(parameters, q, table, settings)
        forward = time.perf_counter() - begin
        q, values = found(model, q, _TURN_SHARE)
        value, now = float(values.sum()) - model.posterior.kl(), time.perf_counter()
        if value - before < _TURN_TOL * len(table) or now - begin > _TURN_SHARE * (end - now):
            break
        before = value
    candidates = choose_candidates(q, rng)
    if time.perf_counter() + _FEWEST_PASSES * forward < end:
        q, values = found(model, q, 1.0, candidates)
        candidates = choose_candidates(q, rng)
    model.warm_cache()
    objective = float(values.sum()) - model.posterior.kl()
    prior = model.posterior.prior
    warn_about_jitter(prior.jitter, settings.jitter)
    return model, q, candidates, objective, prior.jitter
