"""The stochastic stage: minibatch steps on q(u), kernel, noise and inducing inputs together."""

from dataclasses import replace
from functools import partial

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from ..optimize.learning import Adam
from .._linalg import NotPositiveDefiniteError
from ..objectives.uncollapsed import minibatch_bound
from ..objectives.collapsed import suitable_form
from ..gp.posterior import DIRECT_GRADIENT_LIMIT, Prior, settle_jitter
from ..gp.coordinates import WhitenedState


class StochasticState:
    """q(u) and hyperparameters between stochastic steps.

    The data part of q(u) stays fixed, in the coordinates of the form in use, when the
    hyperparameters move: q(u) follows the kernel at once.
    """

    def __init__(self, parameters, q, choose_form):
        self.parameters, self.delta = parameters, q.prior.delta
        self.choose_form = choose_form
        self.q = self._in_form(q, parameters)

    def _in_form(self, q, parameters):
        form = self.choose_form(q.prior, parameters.noise_variance)
        return q if isinstance(q, form) else form.hold(q.posterior)

    def natural_step(self, terms, rho):
        """(H, h) towards the batch's target: a convex combination, so I + H stays definite."""
        H = np.multiply(self.q.H, 1.0 - rho, out=empty(self.q.H.shape))
        la.axpy(rho, terms.target_H, H)
        h = (1.0 - rho) * self.q.h + rho * terms.target_h
        self.q = replace(self.q, H=H, h=h)

    def move(self, parameters):
        """To other hyperparameters; raises NotPositiveDefiniteError and stays where it is."""
        prior = Prior.build(parameters.kernel, parameters.Z, self.delta)
        self.q = self._in_form(replace(self.q, prior=prior), parameters)
        self.parameters = parameters


def ascend_stochastic(problem, parameters, reserve):
    """Natural gradient on q(u), Adam on the rest; epochs until the smoothed bound is flat.

    In the first epoch only q(u) moves, as in Hensman et al. (2013, section 4.1).

    Parameters
    ----------
    problem : Problem
    parameters : Parameters
    reserve : float
        Seconds of the budget that are for the exact finish.

    Returns
    -------
    parameters : Parameters
    n_iter, n_steps : int
        Epochs and steps.
    """
    settings, rows, trace = problem.settings, problem.rows, problem.trace
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, settings.jitter)
    m, t = len(prior.Z), rows.y.shape[1]
    state = StochasticState(
        parameters,
        WhitenedState(prior, np.zeros((m, m)), np.zeros((m, t))),
        partial(_stochastic_form, rows, settings.learning_rate),
    )
    stepper = _Stepper(problem, state)
    plateau, n_iter = problem.plateau(rows.total_weight), 0
    for epoch in range(settings.max_iter):
        complete = stepper.epoch(move=epoch > 0, reserve=reserve)
        n_iter += 1
        if stepper.values and trace.add(np.mean(stepper.values), stepper.parameters):
            break
        if not complete or plateau.reached(np.mean(stepper.values)):
            break
    return stepper.parameters(), n_iter, stepper.n_steps


def _stochastic_form(rows, learning_rate, prior, noise_variance):
    """Direct coordinates only where a step in kernel or Z cannot throw q(u) off.

    Held as L H L^T, the data part takes a relative change of K(Z, Z) times its condition number
    (docs/theory.md, eq. 14); whitened, none of it.
    """
    if learning_rate * prior.condition > 1.0:
        return WhitenedState
    return suitable_form(rows, prior, noise_variance, DIRECT_GRADIENT_LIMIT)


class _Stepper:
    """Runs stochastic steps and keeps what lasts from one to the next."""

    def __init__(self, problem, state):
        self.problem, self.state = problem, state
        self.space = problem.space
        self.x = self.space.pack(state.parameters)
        self.bounds = self.space.bounds(state.parameters)
        self.adam = Adam(len(self.x), problem.settings.learning_rate)
        self.n_steps, self.values = 0, []

    def parameters(self):
        return self.state.parameters

    def epoch(self, move, reserve):
        """One pass over all rows in random order; False if a budget ended it."""
        settings, rows, self.values = self.problem.settings, self.problem.rows, []
        order = self.problem.rng.permutation(len(rows))
        for lo in range(0, len(rows), settings.batch_size):
            spent = settings.max_steps is not None and self.n_steps >= settings.max_steps
            if spent or self.problem.trace.clock.left() < reserve:
                return False
            self.step(rows.select(np.sort(order[lo : lo + settings.batch_size])), move)
        return True

    def step(self, batch, move):
        state, settings = self.state, self.problem.settings
        terms = minibatch_bound(
            state.q,
            self.problem.likelihood,
            state.parameters.noise_variance,
            batch,
            self.problem.rows.total_weight / batch.total_weight,
            with_inputs=self.space.learns_inputs,
        )
        self.n_steps += 1
        self.values.append(terms.value)
        state.natural_step(terms, settings.natural_step)
        if not move:
            return
        x = self.adam.step(self.x, self.space.pack_gradient(terms.gradient), self.bounds)
        try:
            state.move(self.space.unpack(x, state.parameters))
        except NotPositiveDefiniteError:
            # the hyperparameters stay; a shorter step is tried from the next batch on
            self.adam.learning_rate *= 0.5
        else:
            self.x = x
