"""What a fit of latent inputs found."""

import time
from dataclasses import dataclass

import numpy as np

from ...data.rows import random_index
from ...gp.jitter import warn_about_jitter
from ...kernels._white_noise import join_noise
from ...optimize.parameters import Parameters
from ..bound import groups_of, posterior_of
from ..expectations import expectations_of
from ..output_model import OutputModel
from ..passes import LatentInputs, latent_sums
from ..row_posteriors import find_inputs
from ..table import Scaling

# Rows whose q(x) other rows may start from.
_CANDIDATES = 1000
# Passes over q(x) and q(u) in turn at the end, at most, and the least gain of one, in nats a row.
_TURNS, _TURN_TOL = 5, 1e-3
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


def finish(parameters, q, table, settings, rng, seconds=np.inf, thorough=True):
    """q(u) and q(x) of all rows in turn, until neither gains; the last is q(x).

    Parameters
    ----------
    parameters : Parameters
        Kernel, noise and inducing inputs.
    q : LatentInputs
    table : Table
    settings : Settings
    rng : numpy.random.RandomState
    seconds : float
        No turn after the first begins that would end later.
    thorough : bool
        Whether rows may also start from one another at the end, as new ones do.

    Returns
    -------
    model : OutputModel
    q, candidates : LatentInputs
    objective : float
    jitter : float
    """
    begin, before = time.perf_counter(), -np.inf
    for _ in range(_TURNS):
        start = time.perf_counter()
        model = optimal_model(parameters, q, table, settings)
        q, values = find_inputs(
            model, table, start=q, max_iter=ROW_ITERATIONS, tol=ROW_TOL, n_jobs=settings.n_jobs
        )
        value = float(values.sum()) - model.posterior.kl()
        now = time.perf_counter()
        if value - before < _TURN_TOL * len(table) or now + (now - start) > begin + seconds:
            break
        before = value
    candidates, last = choose_candidates(q, rng), time.perf_counter() - start
    if thorough and begin + seconds > time.perf_counter() + 3.0 * last:
        q, values = find_inputs(
            model,
            table,
            start=q,
            candidates=candidates,
            max_iter=ROW_ITERATIONS,
            tol=ROW_TOL,
            n_jobs=settings.n_jobs,
        )
        candidates = choose_candidates(q, rng)
    model.warm_cache()
    objective = float(values.sum()) - model.posterior.kl()
    prior = model.posterior.prior
    warn_about_jitter(prior.jitter, settings.jitter)
    return model, q, candidates, objective, prior.jitter
