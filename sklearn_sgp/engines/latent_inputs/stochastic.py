"""Stochastic variational inference of latent inputs (Hensman et al. 2013, section 3.3).

A step takes a minibatch of rows: their q(x) move given q(u), each row alone; then q(u) takes a
natural-gradient step, then kernel, noise and inducing inputs a step of Adam.
"""

import time
from functools import partial

import numpy as np

from ...gp.posterior import Posterior
from ...latents.bound import groups_of, inputs_of, latent_bound, posterior_of
from ...latents.expectations import expectations_of
from ...latents.passes import LatentInputs, latent_sums
from ...latents.row_posteriors import find_inputs
from ...optimize.adam import Adam, adam_step
from ...optimize.parameters import ParameterSpace
from .projection_gradient import projection_gradient
from .result import choose_candidates, optimal_model, output_model, with_inputs, without_inputs

# Iterations of the q(x) of a row that a step meets for the first time, and later.
_FIRST_ITERATIONS, _LATER_ITERATIONS, _TOL = 15, 4, 1e-3
# Share of the time left in which rows that no step met are found at the end.
_UNMET_SHARE = 0.4
# Epochs from one in which rows may jump to where others are to the next.
_JUMP_EPOCHS = 10
# Steps between one look at the gains and the next, at least.
_JUDGED_STEPS = 20
# The final passes take as long as so many steps on all rows.
_FINISH_STEPS = 1.0
# Rows whose q(x) callbacks see.
_FOLLOWED = 1000


def learned_space(space):
    """The groups that Adam moves: all but q(x)."""
    groups = (group for group in space.groups if group.name not in ("mean", "log_variance"))
    return ParameterSpace(tuple(groups))


def each_own(posterior, pattern):
    """The posterior with an H for each output where their patterns of missing entries differ."""
    P = len(pattern)
    if len(posterior.H) == P or len(np.unique(pattern)) == 1:
        return posterior
    return Posterior(posterior.prior, posterior.H * P, posterior.h)


class Minibatches:
    """State of the stochastic stage.

    Parameters
    ----------
    parameters : Parameters
        Kernel, noise, inducing inputs; no q(x).
    posterior : Posterior
        Of all rows.
    n_rows : int
        Number of rows that minibatches stand for.
    space : ParameterSpace
    settings : Settings
    adam : Adam or None
    """

    def __init__(self, parameters, posterior, n_rows, space, settings, adam=None):
        self.parameters, self.posterior, self.n_rows = parameters, posterior, n_rows
        self.space, self.settings = learned_space(space), settings
        size = len(self.space.pack(parameters))
        self.adam = Adam(size, settings.learning_rate) if adam is None else adam
        self.row_seconds = 0.0  # of the q(x) of a row in a step

    def model(self, P):
        return output_model(self.posterior, self.parameters, P)

    def information(self, table, q):
        """Posterior with the information of some rows only."""
        prior = self.posterior.prior
        sums = latent_sums(expectations_of(prior.kernel, prior.Z), q, table, self.settings.n_jobs)
        found = posterior_of(prior, groups_of(table.pattern, self.parameters.noise_variance), sums)
        if len(found.H) == len(self.posterior.H):
            return found
        return Posterior(prior, found.H * len(self.posterior.H), found.h)

    def gradient(self, table, q, target):
        """Estimates of the bound of all rows and of its gradient, q(u) projected along the way.

        Parameters
        ----------
        table : Table
            Some rows.
        q : LatentInputs
        target : Posterior
            Their `information`.
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
        """A step of Adam from some rows; returns the estimate of the bound of all rows."""
        value, gradient = self.gradient(table, q, target)
        if self.space.groups:
            gradient = gradient.scaled(1.0 / self.n_rows)  # of a row, as Adam's floor expects
            delta = self.posterior.prior.delta
            moved = adam_step(self.adam, self.space, self.parameters, gradient, delta)
            if moved is not None:
                self.parameters = moved[0]
                self.posterior = self.posterior.projected(moved[1])
        return value


def learn_from_minibatches(problem, start, parameters, index, clock):
    """Learn from all rows of a table, a minibatch at a time.

    Parameters
    ----------
    problem : LatentProblem
    start : LatentStart
    parameters : Parameters
        With q(x) of the rows of ``index``.
    index : ndarray of int or None
        Rows whose q(x) are known; None for all.
    clock : Clock

    Returns
    -------
    parameters : Parameters
        Without q(x).
    q : LatentInputs
        Of all rows.
    n_epochs, n_steps : int
    """
    table, settings, trace = problem.table, problem.settings, problem.trace
    n = len(table)
    trace.begin(f"stochastic steps of {settings.batch_size} rows")
    q, known, sample = _all_inputs(parameters, index, n)
    if index is not None:
        table_of_sample = table.select(index)
    else:
        table_of_sample = table
    bare = without_inputs(parameters)
    model = optimal_model(bare, sample, table_of_sample, settings)
    posterior = each_own(model.posterior.scaled(n / len(table_of_sample)), table.pattern)
    state = Minibatches(bare, posterior, n, start.space, settings)
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
        estimates, order = [], problem.rng.permutation(n)
        for lo in range(0, n, settings.batch_size):
            rows = np.sort(order[lo : lo + settings.batch_size])
            jumps = n_epochs % _JUMP_EPOCHS == _JUMP_EPOCHS - 1
            estimates.append(_step(state, table, rows, q, known, candidates, jumps))
            n_steps += 1
            if late() or n_steps == settings.max_steps:
                break
        n_epochs += 1
        value, followed = float(np.mean(estimates)), np.flatnonzero(known)[:_FOLLOWED]
        trace.follow(table.select(followed), len(followed))
        trace.add(value, partial(with_inputs, state.parameters, q[followed]))
        candidates = choose_candidates(q[np.flatnonzero(known)], problem.rng)
        recent = [*recent, value][-window:]
        is_due = n_epochs % window == 0
        if n_steps == settings.max_steps or (is_due and plateau.reached(float(np.mean(recent)))):
            break
    unknown = np.flatnonzero(~known)
    if len(unknown):
        seconds = _UNMET_SHARE * trace.clock.left()
        found = _found(state, table, unknown, None, candidates, settings, seconds)
        _set(q, known, unknown, found[0])
    return state.parameters, q, n_epochs, n_steps


def _all_inputs(parameters, index, n):
    """q(x) of all rows, which of them are known, and those of the sample."""
    sample = inputs_of(parameters)
    if index is None:
        return sample, np.ones(n, dtype=bool), sample
    Q = sample.mean.shape[1]
    q, known = LatentInputs(np.zeros((n, Q)), np.ones((n, Q))), np.zeros(n, dtype=bool)
    _set(q, known, index, sample)
    return q, known, sample


def _set(q, known, rows, found):
    q.mean[rows], q.variance[rows] = found
    known[rows] = True


def _found(state, table, rows, start, candidates, settings, seconds=np.inf):
    """q(x) of some rows given q(u), and their bounds."""
    part = table.select(rows)
    max_iter = _FIRST_ITERATIONS if start is None else _LATER_ITERATIONS
    model = state.model(table.Y.shape[1])
    return find_inputs(
        model,
        part,
        start=start,
        candidates=candidates,
        max_iter=max_iter,
        tol=_TOL,
        n_jobs=settings.n_jobs,
        seconds=seconds,
    )


def _step(state, table, rows, q, known, candidates, jumps=False):
    """One minibatch: q(x), q(u), then the parameters; returns an estimate of the bound.

    Rows that are met for the first time start from where others are, and all rows where ``jumps``.

    The estimate is of the bound before q(u) moves: from then on it has seen these rows, with more
    weight than the others, and their bounds say too much.
    """
    settings, bounds = state.settings, 0.0
    new, old, begin = rows[~known[rows]], rows[known[rows]], time.perf_counter()
    if len(new):
        found, values = _found(state, table, new, None, candidates, settings)
        _set(q, known, new, found)
        bounds += values.sum()
    if len(old):
        others = candidates if jumps else None
        found, values = _found(state, table, old, q[old], others, settings)
        _set(q, known, old, found)
        bounds += values.sum()
    if not jumps:
        state.row_seconds = (time.perf_counter() - begin) / len(rows)
    part, scale = table.select(rows), state.n_rows / len(rows)
    estimate = scale * float(bounds) - state.posterior.kl()
    target = state.information(part, q[rows])
    state.posterior = state.posterior.towards(target, settings.natural_step, scale)
    state.move(part, q[rows], target)
    return estimate
