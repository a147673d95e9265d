"""Stochastic variational inference of latent inputs (Hensman et al. 2013, section 3.3).

A step takes a minibatch of rows: their q(x) move given q(u), each row alone; then q(u) takes a
natural-gradient step, then kernel, noise and inducing inputs a step of Adam.
"""

import time
from functools import partial

import numpy as np

from ..._linalg import product, sandwich
from ..._sampling import fixed_index
from ...gp.posterior import Posterior
from ...latents.bound import groups_of, inputs_of, latent_bound, posterior_of
from ...latents.expectations import expectations_of
from ...latents.passes import InputPosteriors, latent_sums
from ...latents.row_posteriors import find_inputs
from ...optimize import time_shares
from ...optimize.adam import adam_step
from ...optimize.momentum import stochastic_optimizer
from ..minibatches import even_slices, mean_by_rows
from .final_posterior import (
    choose_candidates,
    optimal_model,
    output_model,
    with_inputs,
    without_inputs,
)
from .start import learned_space

# Iterations of the q(x) of a row that a step meets for the first time, and later.
_UNMET_ITERATIONS, _MET_ITERATIONS, _STEP_TOL = 15, 4, 1e-3
# Epochs from one in which rows may jump to where others are to the next.
_JUMP_EPOCHS = 10
# Steps between one look at the gains and the next, at least.
_JUDGED_STEPS = 20
# The final passes take as long as so many steps on all rows.
_FINISH_STEPS = 1.0
# Rows whose q(x) callbacks see.
_FOLLOWED = 1000


def each_own(posterior, pattern):
    """Give each output an H of its own where their patterns of missing entries differ."""
    P = len(pattern)
    if len(posterior.H) == P or len(np.unique(pattern)) == 1:
        return posterior
    return Posterior(posterior.prior, posterior.H * P, posterior.h)


class Minibatches:
    """The state of the stochastic stage.

    Parameters
    ----------
    parameters : Parameters
        Kernel, noise, inducing inputs; no q(x).
    posterior : Posterior
        Of all rows.
    n_rows : int
        Number of rows that minibatches stand for.
    adam : Adam or None
        That of earlier steps, which goes on.
    """

    def __init__(self, parameters, posterior, n_rows, space, settings, adam=None):
        self.parameters, self.posterior, self.n_rows = parameters, posterior, n_rows
        self.space, self.settings = learned_space(space), settings
        size = len(self.space.pack(parameters))
        self.adam = stochastic_optimizer(size, settings, adam) if size else adam
        self.row_seconds = 0.0  # of the q(x) of a row in a step

    def model(self, P):
        """Return the `OutputModel` of P outputs."""
        return output_model(self.posterior, self.parameters, P)

    def information(self, table, q):
        """Return the posterior with the information of some rows only."""
        prior = self.posterior.prior
        sums = latent_sums(expectations_of(prior.kernel, prior.Z), q, table, self.settings.n_jobs)
        groups = groups_of(table.pattern, self.parameters.noise_variance)
        posterior = posterior_of(prior, groups, sums)
        if len(posterior.H) == len(self.posterior.H):
            return posterior
        return Posterior(prior, posterior.H * len(self.posterior.H), posterior.h)

    def gradient(self, table, q, target):
        """Estimate the bound of all rows and its gradient, q(u) projected along the way.

        The table has some rows, and ``target`` their `information`.
        """
        scale, kl = self.n_rows / len(table), self.posterior.kl()
        value, gradient = latent_bound(
            with_inputs(self.parameters, q),
            table,
            self.posterior.prior.delta,
            given=self.posterior,
            n_jobs=self.settings.n_jobs,
        )
        gradient = gradient.scaled(scale)
        if self.space.learns("theta") or self.space.learns("Z"):
            theta, Z = projection_gradient(self.posterior, target, scale)
            gradient["theta"] = gradient["theta"] + theta
            gradient["Z"] = gradient["Z"] + Z
        return scale * (value + kl) - kl, gradient

    def move(self, table, q, target):
        """Take a step of Adam from some rows; return the estimate of the bound of all rows."""
        value, gradient = self.gradient(table, q, target)
        if self.space.groups:
            gradient = gradient.scaled(1.0 / self.n_rows)  # of a row, as Adam's floor expects
            delta = self.posterior.prior.delta
            moved = adam_step(self.adam, self.space, self.parameters, gradient, delta)
            if moved is not None:
                self.parameters = moved[0]
                self.posterior = self.posterior.projected(moved[1])
        return value


def learn_from_minibatches(problem, parameters, index, clock):
    """Learn from all rows of a table, a minibatch at a time.

    Parameters
    ----------
    problem : Problem
        Its trace has the start.
    parameters : Parameters
        With q(x) of the rows of ``index``.
    index : ndarray of int or None
        Rows whose q(x) are known; None for all.

    Returns
    -------
    parameters : Parameters
        Without q(x).
    q : InputPosteriors
        Of all rows.
    n_epochs, n_steps : int
    """
    table, settings, trace = problem.rows, problem.settings, problem.trace
    n = len(table)
    trace.begin(f"stochastic steps of {settings.batch_size} rows")
    q, known, sample = _all_inputs(parameters, index, n)
    table_of_sample = table if index is None else table.select(index)
    bare = without_inputs(parameters)
    model = optimal_model(bare, sample, table_of_sample, settings)
    posterior = each_own(model.posterior.scaled(n / len(table_of_sample)), table.pattern)
    state = Minibatches(bare, posterior, n, trace.start.space, settings)
    candidates = choose_candidates(sample, problem.rng)
    plateau = settings.plateau(n, interim=True)
    n_epochs = n_steps = 0
    # an epoch of few steps gains little, and its estimate says little about the next
    recent, window = [], -(-_JUDGED_STEPS * settings.batch_size // n)

    def late():
        # a pass over all rows at the end, and before it one over those not met yet
        reserve = (_FINISH_STEPS * n + (~known).sum()) * state.row_seconds
        return min(clock.left(), trace.clock.left() - reserve) <= 0

    while n_epochs < settings.max_iter and not trace.stopped and not late():
        estimates, sizes, order = [], [], problem.rng.permutation(n)
        for part in even_slices(n, settings.batch_size):
            rows = np.sort(order[part])
            jumps = n_epochs % _JUMP_EPOCHS == _JUMP_EPOCHS - 1
            estimates.append(_step(state, table, rows, q, known, candidates, jumps))
            sizes.append(len(rows))
            n_steps += 1
            if late() or n_steps == settings.max_steps:
                break
        n_epochs += 1
        value, met = float(mean_by_rows(estimates, sizes)), np.flatnonzero(known)
        followed = met[fixed_index(len(met), _FOLLOWED)]
        trace.follow(table.select(followed), len(followed))
        trace.add(value, partial(with_inputs, state.parameters, q[followed]))
        candidates = choose_candidates(q[np.flatnonzero(known)], problem.rng)
        recent = [*recent, value][-window:]
        is_due = n_epochs % window == 0
        if n_steps == settings.max_steps or (is_due and plateau.reached(float(np.mean(recent)))):
            break
    unknown = np.flatnonzero(~known)
    if len(unknown):
        seconds = time_shares.UNMET_ROWS * trace.clock.left()
        own, _ = _inputs(state, table, unknown, None, candidates, settings, seconds)
        _set(q, known, unknown, own)
    return state.parameters, q, n_epochs, n_steps


def _all_inputs(parameters, index, n):
    """Return q(x) of all rows, which of them are known, and those of the sample."""
    sample = inputs_of(parameters)
    if index is None:
        return sample, np.ones(n, dtype=bool), sample
    Q = sample.mean.shape[1]
    q, known = InputPosteriors(np.zeros((n, Q)), np.ones((n, Q))), np.zeros(n, dtype=bool)
    _set(q, known, index, sample)
    return q, known, sample


def _set(q, known, rows, own):
    q.mean[rows], q.variance[rows] = own
    known[rows] = True


def _inputs(state, table, rows, start, candidates, settings, seconds=np.inf):
    """Find q(x) of some rows given q(u), and their bounds."""
    part = table.select(rows)
    max_iter = _UNMET_ITERATIONS if start is None else _MET_ITERATIONS
    model = state.model(table.Y.shape[1])
    return find_inputs(
        model,
        part,
        start=start,
        candidates=candidates,
        max_iter=max_iter,
        tol=_STEP_TOL,
        n_jobs=settings.n_jobs,
        seconds=seconds,
    )


def _step(state, table, rows, q, known, candidates, jumps=False):
    """Move q(x), q(u), then the parameters by one minibatch; return an estimate of the bound.

    Rows that are met for the first time start from where others are, and all rows where ``jumps``.

    The estimate is of the bound before q(u) moves: from then on it has seen these rows, with more
    weight than the others, and their bounds say too much.
    """
    settings, bounds = state.settings, 0.0
    new, old, begin = rows[~known[rows]], rows[known[rows]], time.perf_counter()
    if len(new):
        own, values = _inputs(state, table, new, None, candidates, settings)
        _set(q, known, new, own)
        bounds += values.sum()
    if len(old):
        others = candidates if jumps else None
        own, values = _inputs(state, table, old, q[old], others, settings)
        _set(q, known, old, own)
        bounds += values.sum()
    if not jumps:
        state.row_seconds = (time.perf_counter() - begin) / len(rows)
    part, scale = table.select(rows), state.n_rows / len(rows)
    estimate = scale * float(bounds) - state.posterior.kl()
    target = state.information(part, q[rows])
    state.posterior = state.posterior.towards(target, settings.natural_step, scale)
    state.move(part, q[rows], target)
    return estimate


def projection_gradient(posterior, target, scale):
    """Differentiate the bound through the projected q(u) in theta and Z, at no move (eq. 71).

    The gradient of the bound holds q(v). A step of kernel or inducing inputs moves q(v) too, since
    it carries (H, h) over to the new inducing values. Where q(u) is optimal that changes nothing,
    at any other q(u) the step would follow the gradient of another move, and the bound may fall.

    Parameters
    ----------
    target : Posterior
        Information of some rows, with as many H as the posterior.
    scale : float
        What these rows are multiplied by to stand for all rows.
    """
    prior = posterior.prior
    C = np.zeros(prior.K.shape)
    for wanted, (precision, own) in zip(target.H, posterior.by_precision, strict=True):
        H, S = precision.H, precision.covariance
        h, V = posterior.h[:, own], np.ascontiguousarray(posterior.v_mean[:, own])
        lack = scale * (target.h[:, own] - product(wanted, V)) - V
        h_bar = product(S, lack)
        A = product(h_bar, V, trans_b=True)
        inner = product(S, product(H - scale * wanted, S))
        H_bar = -0.5 * (A + A.T + h.shape[1] * inner)
        C += 2.0 * product(H_bar, H)
        C += product(h_bar, np.ascontiguousarray(h), trans_b=True)
    G = sandwich(prior.L_inv, C, trans=True)
    of_factor = prior.kernel.gram_vjp(prior.Z, prior.gram_cotangent(C))
    of_block = prior.kernel.block_vjp(prior.Z, prior.Z, np.ascontiguousarray(G))
    return of_factor[0] + of_block[0], of_factor[1] + of_block[1]
