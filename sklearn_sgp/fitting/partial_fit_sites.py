"""One more batch of rows into a classifier: what its `partial_fit` does."""

import copy
import time
from dataclasses import dataclass, replace

import numpy as np

from .._core import _linalg as la
from ..optimize.adam import move_by_adam
from .stages import Learned
from ..factors.row_sums import block_store
from ..gp.latents import Latents
from ..optimize.learning import Adam, ParameterSpace
from .._linalg import NotPositiveDefiniteError, product
from ..gp.posterior import Prior, projection, settle_jitter, warn_about_jitter
from ..objectives.sites import SiteProblem

_INNER_TOL = 1e-6  # nats a row


@dataclass(frozen=True)
class OnlineSites:
    """What `partial_fit` carries beside the model.

    Parameters
    ----------
    space : ParameterSpace
    weight : float
        Of all rows so far.
    adam : Adam or None
    seconds : float
        Of the last batch.
    """

    space: ParameterSpace
    weight: float
    adam: Adam | None = None
    seconds: float = 0.0


def absorb_sites(online, learned, rows, *, settings, likelihood, total_samples, choose=None):
    """Add a batch of rows, minibatch by minibatch.

    With ``total_samples=None`` the rows' sites are added to those of the rows before, which stay;
    with a number, (H, h) move towards the minibatch's by ``natural_step``, as if it stood for all
    rows. Then kernel and inducing inputs take one step of Adam.

    Parameters
    ----------
    online : OnlineSites
    learned : Learned
    rows : Rows
    settings : Settings
    likelihood : object
    total_samples : int or None
    choose : callable or None
        ``choose(rows, parameters)``: more inducing inputs.

    Returns
    -------
    online : OnlineSites
    learned : Learned
    """
    begin, space = time.perf_counter(), online.space
    latents, parameters, jitter = learned.posterior, learned.parameters, learned.jitter
    weight, adam, n_steps = online.weight, copy.deepcopy(online.adam), learned.n_steps
    new = parameters.Z[:0] if choose is None else choose(rows, parameters)
    if len(new):
        parameters = replace(parameters, Z=np.vstack([parameters.Z, new]))
        latents, jitter, adam = *_grown(latents, parameters, jitter), None
    for piece in rows.chunks(settings.batch_size):
        weight += piece.total_weight
        total = weight if total_samples is None else total_samples
        s2, n_jobs = parameters.noise_variance, settings.n_jobs
        if total_samples is None:
            store = block_store(len(latents.prior.Z), piece)
            problem = SiteProblem(latents.prior, piece, likelihood, s2, n_jobs, store)
            tol = _INNER_TOL * piece.total_weight
            latents, _, _ = problem.ascend(latents, tol, base=latents)
        whole = piece.weighted(total / piece.total_weight)
        store = block_store(len(latents.prior.Z), whole)
        problem = SiteProblem(latents.prior, whole, likelihood, s2, n_jobs, store)
        found = problem.visit(latents)
        bound = found.value - latents.kl()
        before = latents
        if total_samples is not None:
            latents = latents.towards(found.target, settings.natural_step)
        n_steps += 1
        size = len(space.pack(parameters))
        if settings.optimizer is None or not size:
            continue
        adam = Adam(size, settings.learning_rate) if adam is None else adam
        gradient = problem.gradient(before, found, space.learns_inputs)
        moved = move_by_adam(adam, space, parameters, gradient, latents.prior.delta)
        if moved is not None:
            parameters, prior = moved
            latents = projected(latents, prior)
    latents.prepare()
    learned = Learned(parameters, latents, bound, jitter, learned.n_iter, n_steps)
    seconds = time.perf_counter() - begin
    return replace(online, weight=weight, adam=adam, seconds=seconds), learned


def _grown(latents, parameters, jitter):
    """With inducing inputs appended, of which nothing is known yet."""
    try:
        prior = Prior.build(parameters.kernel, parameters.Z, latents.prior.delta)
    except NotPositiveDefiniteError:
        start = jitter
        prior, jitter = settle_jitter(parameters.kernel, parameters.Z, jitter)
        warn_about_jitter(jitter, start)
    more = len(parameters.Z) - len(latents.h)
    H = tuple(np.pad(H, (0, more)) for H in latents.H)
    return Latents(prior, H, np.pad(latents.h, ((0, more), (0, 0)))), jitter


def projected(latents, prior):
    """The information carried over to other inducing values (docs/theory.md, eq. 22)."""
    W = projection(latents.prior, prior)
    H = []
    for old in latents.H:
        new = product(product(W, old), W, trans_b=True)
        la.symmetrize(new)
        H.append(new)
    return Latents(prior, tuple(H), product(W, latents.h))
