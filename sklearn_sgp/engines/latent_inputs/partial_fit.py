"""One more batch of rows into a learned model of latent inputs."""

import copy
import time
from dataclasses import replace

import numpy as np

from ...latents.pace import Pace
from ...latents.passes import LatentInputs
from ...latents.row_posteriors import find_inputs
from ...optimize.parameters import ParameterSpace
from .result import ROW_ITERATIONS, ROW_TOL, choose_candidates
from .stochastic import Minibatches, each_own

# Share of the time in which rows are met for the first time; then all of them move once more.
_FIRST_SHARE = 0.5


def add_rows(result, start, table, settings, rng, seconds=np.inf):
    """The result after a later batch.

    Parameters
    ----------
    result : LatentResult
    start : LatentStart
    table : Table
        The batch.
    settings : Settings
    rng : numpy.random.RandomState
    seconds : float
        When these are over kernel, noise and inducing inputs stay, and rows rest; all rows join.

    Returns
    -------
    result : LatentResult
    start : LatentStart
        With the state of Adam.
    """
    P, n, n_steps = table.Y.shape[1], len(table), 0
    end = time.perf_counter() + seconds
    space = start.space if settings.optimizer is not None else ParameterSpace(())
    own = each_own(result.model.posterior, table.pattern)
    state = Minibatches(
        result.parameters, own, result.n_rows, space, settings, copy.deepcopy(start.adam)
    )

    def found(model, part, q, candidates, seconds):
        return find_inputs(
            model,
            part,
            start=q,
            candidates=candidates,
            max_iter=ROW_ITERATIONS,
            tol=ROW_TOL,
            n_jobs=settings.n_jobs,
            seconds=seconds,
        )

    parts, first = [], Pace(_FIRST_SHARE * seconds, n)
    for lo in range(0, n, settings.batch_size):
        part = table.select(slice(lo, lo + settings.batch_size))
        left = first.deadline(len(part)) - time.perf_counter()
        q, _ = found(state.model(P), part, None, result.candidates, left)
        target = state.information(part, q)
        state.posterior = state.posterior.joined(target)
        state.n_rows += len(part)
        if time.perf_counter() < end:
            state.move(part, q, target)
            n_steps += 1
        parts.append(q)
    q = LatentInputs(*(np.concatenate([part[k] for part in parts]) for k in (0, 1)))
    model = state.model(P)
    left = end - time.perf_counter()
    # where time is short rows go on from where they are
    candidates = result.candidates if left >= _FIRST_SHARE * seconds else None
    q, values = found(model, table, q, candidates, left)
    every = LatentInputs(*(np.concatenate([result.q[k], q[k]]) for k in (0, 1)))
    return replace(
        result,
        parameters=state.parameters,
        model=model,
        q=every,
        candidates=choose_candidates(every, rng),
        objective=state.n_rows * float(values.mean()) - model.posterior.kl(),
        log_scale=result.log_scale + float(table.log_scales().sum()),
        n_steps=result.n_steps + n_steps,
        n_rows=state.n_rows,
    ), replace(start, adam=state.adam)
