"""One more batch of rows into a fitted model: what `partial_fit` does."""

import copy
import time
from dataclasses import dataclass, replace

import numpy as np

from ..data.inducing import new_inducing_inputs
from ..data.rows import column_mean_std
from ..optimize.adam import Adam, adam_step
from .problem import RowScalars


@dataclass(frozen=True)
class PartialFitState:
    """What `partial_fit` carries in the `FitResult`; its size does not depend on the rows.

    Parameters
    ----------
    scalars : RowScalars
        Of all rows so far, for the objective.
    exact : bool
        True while the sums were all made at the current hyperparameters and every row was counted
        once, so that they give the bound itself.
    adam : Adam or None
    seconds : float
        Of the last batch.
    """

    scalars: RowScalars
    exact: bool
    adam: Adam | None = None
    seconds: float = 0.0

    @classmethod
    def of(cls, result):
        """After a fit, or after a later batch."""
        if result.partial is not None:
            return result.partial
        if result.scalars is None:
            return cls(RowScalars(result.weight, 0.0, 0.0), exact=False)
        return cls(result.scalars, exact=True)


def scaled_to_total(result, total):
    """The result with the information of its rows scaled to a total weight."""
    posterior = result.posterior.scaled(total / result.weight)
    posterior.warm_cache()
    return replace(result, posterior=posterior)


def more_inducing_inputs(method, n_inducing, rows, parameters, rng):
    """Inducing inputs that a batch adds where there are fewer than ``n_inducing``."""
    count = n_inducing - len(parameters.Z)
    if not isinstance(method, str) or count <= 0:
        return parameters.Z[:0]
    std = column_mean_std(rows.X, rows.weight)[1]
    return new_inducing_inputs(method, rows, parameters.Z, count, parameters.kernel, std, rng)


def add_rows(result, rows, *, settings, inference, total_samples=None, new_Z=None):
    """Add a batch of rows, minibatch by minibatch.

    With ``total_samples=None`` a row's information is added to (H, h): the natural-gradient step
    of length b_t / N_t with the sums rescaled to N_t rows. With a number, (H, h) move towards the
    minibatch's by ``natural_step``, as if it stood for all rows (docs/theory.md, eq. 15). Then
    kernel, noise and inducing inputs take one step of Adam.

    Parameters
    ----------
    result : FitResult
    rows : Rows
        The batch, targets scaled as before.
    settings : Settings
    inference : ConjugateInference or SiteInference
    total_samples : int or None
    new_Z : ndarray of shape (k, d) or None
        More inducing inputs.

    Returns
    -------
    result : FitResult
        Its ``partial`` has the seconds that the batch took.
    """
    begin, space, state = time.perf_counter(), result.start.space, PartialFitState.of(result)
    parameters, posterior, jitter = result.parameters, result.posterior, result.jitter
    scalars, exact, adam = state.scalars, state.exact, copy.deepcopy(state.adam)
    if new_Z is not None and len(new_Z):
        parameters = parameters.with_values(Z=np.vstack([parameters.Z, new_Z]))
        prior = settings.larger_prior(posterior.prior, parameters.Z, jitter)
        posterior, jitter, adam = posterior.padded(prior), prior.jitter, None
    n_free, n_steps = len(space.pack(parameters)), result.n_steps
    learns = settings.optimizer is not None and n_free > 0
    is_new = total_samples is None
    for piece in rows.chunks(settings.batch_size):
        weight = scalars.weight + piece.total_weight
        added = inference.add(
            posterior,
            parameters,
            piece,
            total=weight if is_new else total_samples,
            is_new=is_new,
            natural_step=settings.natural_step,
            gradient=space.learns("Z") if learns else None,
            n_jobs=settings.n_jobs,
        )
        posterior, n_steps = added.q, n_steps + 1
        exact = exact and is_new
        if added.scalars is None:
            scalars = replace(scalars, weight=weight)
        else:
            scalars = scalars.plus(added.scalars)
        if not learns:
            continue
        adam = Adam(n_free, settings.learning_rate) if adam is None else adam
        delta = posterior.prior.delta
        moved = adam_step(adam, space, parameters, added.terms.gradient, delta)
        if moved is not None:
            parameters, prior = moved
            posterior, exact = posterior.projected(prior), False
    posterior.warm_cache()
    if exact:
        objective = inference.bound(posterior, parameters, scalars)
    else:
        total = scalars.weight if is_new else total_samples
        objective = inference.estimate(posterior, parameters, piece, total, added.terms)
    return replace(
        result,
        parameters=parameters,
        posterior=posterior,
        objective=objective,
        jitter=jitter,
        n_steps=n_steps,
        weight=scalars.weight if is_new else total_samples,
        scalars=scalars if exact else None,
        partial=PartialFitState(scalars, exact, adam, time.perf_counter() - begin),
    )
