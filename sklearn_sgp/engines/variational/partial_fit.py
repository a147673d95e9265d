"""One more batch of rows into a fitted model: what `partial_fit` does."""

import copy
import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..._warnings import warn_caller
from ...data.column_spread import column_mean_std
from ...data.inducing import greedy_error, inputs_of_new_categories, new_inducing_inputs
from ...data.rows import random_index
from ...gp.jitter import factorise_larger
from ...optimize.adam import Adam, adam_step
from ...optimize.budget import Budget, measured_seconds
from ...optimize.frequencies import holding_function
from ...optimize.momentum import Momentum, stochastic_optimizer
from ...optimize.progress import Clock
from ..fitted import State
from ..minibatches import even_slices
from .scalars import RowScalars

# What adding rows takes of the time that adding them and a step in the parameters take.
_SHARE_OF_ADDING = 0.5


@dataclass(frozen=True)
class RowState(State):
    """State for later batches besides q(u); its size does not depend on the number of rows.

    Parameters
    ----------
    scalars : RowScalars
        Of all rows so far, for the objective.
    exact : bool
        True while the sums were all made at the current hyperparameters and every row was counted
        once, so that they give the bound itself.
    adam : Adam, Momentum or None
    seconds : float
        Of the last batch.
    n_added : int
        Rows of the last batch that were used.
    """

    scalars: RowScalars
    exact: bool
    adam: Adam | Momentum | None = None
    seconds: float = 0.0
    n_added: int = 0

    def with_site_constant(self, constant):
        """Add a constant that some rows have to the bound."""
        return replace(self, scalars=self.scalars.with_constant(constant))

    @classmethod
    def after_fit(cls, scalars, weight, is_whole):
        """Return the state after a fit.

        Parameters
        ----------
        scalars : RowScalars or None
            None where the bound has no closed form.
        weight : float
            Of all rows.
        is_whole : bool
            Whether the posterior rests on all of them.
        """
        if scalars is None:
            return cls(RowScalars(weight, np.zeros(1), 0.0), exact=False)
        return cls(scalars, exact=is_whole)


def scaled_to_total(fitted, total, natural_step=1.0):
    """Take a natural-gradient step from the prior, with rows that stand for a larger data set.

    The information of the rows, on the noise as well, is scaled to that of all. ``total`` is a
    number of rows.
    """
    factor, noise = natural_step * total / fitted.n_samples, fitted.row_noise
    posterior = fitted.posterior.scaled(factor)
    posterior.warm_cache()
    return replace(
        fitted,
        predictor=fitted.predictor.with_posterior(posterior),
        row_noise=noise.scaled(factor),
        state=replace(fitted.state, exact=False),  # rows are counted more than once
        told_mean=fitted.told_mean.mapped(
            partial(scaled_to_total, total=total, natural_step=natural_step)
        ),
    )


def more_inducing_inputs(method, n_inducing, rows, parameters, rng):
    """Choose inducing inputs that a batch adds.

    Categories that come for the first time have some in any case, for which others have to go where
    there are ``n_inducing`` already. Other rows have as many as there are fewer.
    """
    if not isinstance(method, str) or parameters.has_features:
        return parameters.Z[:0]
    kernel, std = parameters.kernel, column_mean_std(rows.X, rows.observations)[1]
    new = inputs_of_new_categories(method, rows, parameters.Z, n_inducing, kernel, std, rng)
    Z = np.vstack([parameters.Z, new])
    count = n_inducing - len(Z)
    if count <= 0:
        return new
    return np.vstack([new, new_inducing_inputs(method, rows, Z, count, kernel, std, rng)])


def add_rows(
    fitted,
    rows,
    *,
    settings,
    inference,
    clock=None,
    total_samples=None,
    new_Z=None,
    n_inducing=np.inf,
):
    """Add a batch of rows, minibatch by minibatch.

    With ``total_samples=None`` a row's information is added to (H, h): the natural-gradient step
    of length b_t / N_t with the sums rescaled to N_t rows. With a number, (H, h) move towards the
    minibatch's by ``natural_step``, as if it stood for all rows (docs/theory.md, eq. 15). Then
    kernel, noise and inducing inputs take one step of Adam, or "sgd". After ``max_steps`` steps or
    the time of the clock rows are only added.

    Parameters
    ----------
    rows : Rows
        The batch, targets scaled as before.
    clock : Clock or None
    total_samples : int or None
        Number of rows, whatever their weights: a minibatch of b rows stands for so many if each
        counts ``total_samples / b`` times its weight.
    new_Z : ndarray of shape (k, d) or None
        More inducing inputs.
    n_inducing : int
        Largest number of inducing inputs: of the old ones those that the others predict worst stay.

    Returns
    -------
    fitted : Fitted
        Its ``state`` has the seconds that the batch took, and the number of rows that were used.
    """
    begin = time.perf_counter()
    steps = _BatchSteps(fitted, settings, inference, total_samples)
    if new_Z is not None and len(new_Z):
        steps.make_room(n_inducing - len(new_Z))
        steps.enlarge(new_Z)
    budget = Budget(Clock() if clock is None else clock)
    pieces = _take_steps(steps, _minibatches(rows, settings.batch_size), budget)
    if steps.is_new:
        _add_rest(steps, pieces, budget)
        if steps.n_added < len(rows):
            warn_caller(
                f"max_time={clock.max_time:g} seconds leave no time for all {len(rows)} rows of "
                f"this batch: the posterior rests on {steps.n_added} of them. Raise max_time, "
                "lower n_inducing, or give smaller batches."
            )
    return steps.fitted(time.perf_counter() - begin)


def _minibatches(rows, size):
    """Return minibatches of random rows, to be selected when their turn comes.

    A sorted batch must not lead the steps from end to end, nor `max_time` leave its last rows out.
    """
    if len(rows) <= size:
        return [lambda: rows]
    order = random_index(len(rows), len(rows), np.random.RandomState(0))
    return [partial(rows.select, order[part]) for part in even_slices(len(rows), size)]


def _take_steps(steps, pieces, budget):
    """Take steps until their number or the time ends them; return the minibatches that are left."""
    settings = steps.settings
    most = np.inf if settings.max_steps is None else settings.max_steps
    if steps.is_new and not steps.learns:
        most = 0
    for done, piece in enumerate(pieces):
        is_late = budget.left() <= 0.0 and (steps.is_new or done > 0)
        if done >= most or is_late:
            return pieces[done:]
        seconds = measured_seconds(partial(steps.step, piece()))
        budget.keep_for_finish(_SHARE_OF_ADDING * seconds * (len(pieces) - done - 1))
    return []


def _add_rest(steps, pieces, budget):
    """Add minibatches, one at least, and of the others as many as there is time for."""
    if pieces:
        seconds = measured_seconds(partial(steps.add, pieces[0]()))
        for piece in pieces[1 : 1 + budget.affordable(len(pieces) - 1, seconds)]:
            steps.add(piece())


class _BatchSteps:
    """q(u) and parameters between the minibatches of a batch; parameters as those of `add_rows`."""

    def __init__(self, fitted, settings, inference, total_samples):
        state = fitted.state
        self.previous, self.settings, self.inference = fitted, settings, inference
        self.total_samples, self.is_new = total_samples, total_samples is None
        self.space, self.parameters = fitted.start.space, fitted.parameters
        if self.is_new and self.parameters.has_features:
            self.space = holding_function(self.space)
        self.posterior, self.jitter = fitted.posterior, fitted.jitter
        self.scalars, self.exact, self.adam = state.scalars, state.exact, copy.deepcopy(state.adam)
        self.n_free = len(self.space.pack(self.parameters))
        self.learns = settings.optimizer is not None and self.n_free > 0
        self.n_steps = self.n_added = 0

    def make_room(self, most):
        """Leave out inducing inputs until there are at most so many."""
        prior = self.posterior.prior
        if len(prior.Z) <= most:
            return
        picked = greedy_error(*self.posterior.inducing_values, max(int(most), 1))
        self.parameters = self.parameters.with_values(Z=prior.Z[picked])
        self.posterior, self.exact = self.posterior.restricted(picked), False

    def enlarge(self, new_Z):
        """Add inducing inputs."""
        self.parameters = self.parameters.with_values(Z=np.vstack([self.parameters.Z, new_Z]))
        prior = factorise_larger(self.posterior.prior, self.parameters.Z, self.jitter)
        self.posterior, self.jitter = self.posterior.padded(prior), prior.jitter
        self.adam, self.n_free = None, len(self.space.pack(self.parameters))

    @property
    def n_samples(self):
        """Number of rows that q(u) stands for."""
        return self.previous.n_samples + self.n_added if self.is_new else self.total_samples

    def add(self, piece, gradient=None):
        """Change q(u) by some rows; ``gradient`` as in `Inference.add`."""
        self.n_added += len(piece)
        self.piece, self.scale = piece, self.n_samples / len(piece)
        self.added = self.inference.add(
            self.posterior,
            self.parameters,
            piece,
            scale=self.scale,
            is_new=self.is_new,
            natural_step=self.settings.natural_step,
            gradient=gradient,
            n_jobs=self.settings.n_jobs,
        )
        self.posterior, self.exact = self.added.q, self.exact and self.is_new
        if self.added.scalars is None:
            weight = self.scalars.weight + piece.total_weight
            self.scalars = replace(self.scalars, weight=weight)
        else:
            self.scalars = self.scalars.plus(self.added.scalars)

    def step(self, piece):
        """Change q(u) by some rows, and where anything is learned the parameters, too."""
        self.n_steps += 1
        self.add(piece, self.space.learns("Z") if self.learns else None)
        if not self.learns:
            return
        self.adam = stochastic_optimizer(self.n_free, self.settings, self.adam)
        gradient, delta = self.added.terms.gradient, self.posterior.prior.delta
        moved = adam_step(self.adam, self.space, self.parameters, gradient, delta)
        if moved is not None:
            self.parameters, prior = moved
            self.posterior, self.exact = self.posterior.projected(prior), False

    def fitted(self, seconds):
        """Return the fitted model, after so many seconds."""
        self.posterior.warm_cache()
        weight = self.scalars.weight
        if self.exact:
            objective = self.inference.bound(self.posterior, self.parameters, self.scalars)
        else:
            weight = self.scale * self.piece.total_weight
            objective = self.inference.estimate(
                self.posterior, self.parameters, self.piece, self.scale, self.added.terms
            )
        return replace(
            self.previous,
            parameters=self.parameters,
            predictor=self.inference.predictor(self.posterior, self.parameters.noise_variance),
            objective=objective,
            jitter=self.jitter,
            n_steps=self.previous.n_steps + self.n_steps,
            weight=weight,
            n_samples=self.n_samples,
            state=RowState(self.scalars, self.exact, self.adam, seconds, self.n_added),
        )
